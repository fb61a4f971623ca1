"""The primitives as operators, `aten.ops.prims`: what a new backend has to register.

On the CPU each is a kernel of its own, made like any other operator's; views and data movement
have one kernel for all backends whose memory the host can address.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from aten import registry
from aten._core.base.device import device, device_types
from aten._core.base.dtypes import dtype, get_default_dtype
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.memory.storage import has_opaque_memory
from aten._core.tensor import construct
from aten._core.tensor.tensor import Tensor
from aten.backends import structured
from aten.ops.definition import load_function
from aten.prims import Number, Prim, StructuralPrim, Value
from aten.prims.prim import Shape
from aten.prims.structure import window_count

# Primitives that move or make data; their kernels are below.
_SCHEMAS = {
    "scalar_tensor": "(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    "copy_to": "(Tensor(a!) a, Tensor b) -> Tensor(a!)",
}


def load() -> None:
    """Define `prims::…`."""
    for prim in Prim.table.values():
        op = registry.define("prims", prim.schema, kind=f"prim {prim.kind}")
        if prim.kind == "shape":
            op.register(DispatchKey.CompositeExplicitAutograd, _broadcast_in_dim)
            continue
        structured.define_by(op, function_of(prim, op), f"aten/prims: {prim.name}")
        if prim.kind == "elementwise":
            structured.install_loops_pointwise(op)
        else:
            structured.install_loops_reduction(op)
    for structural in StructuralPrim.table.values():
        _define_structural(structural)
    for name, schema in _SCHEMAS.items():
        op = registry.define("prims", name + schema, kind="prim data")
        op.register(DispatchKey.CompositeExplicitAutograd, globals()[f"_{name}"])


def _define_structural(prim: StructuralPrim) -> None:
    """Metadata from the primitive's rule; on the CPU the kernel that is registered by its name."""
    op = registry.define("prims", prim.schema, kind="prim structural")
    place = f"aten/prims: {prim.name}"
    if prim.name in _VIEWS:
        op.register(DispatchKey.CompositeExplicitAutograd, _VIEWS[prim.name], place)
        return
    op.register(DispatchKey.Meta, _meta_kernel(prim), place)
    if prim.expansion is not None:
        op.register(DispatchKey.CompositeExplicitAutograd, prim.expansion, place)
    location = f"{_CPU_KERNELS}:{prim.name}"
    op.register(DispatchKey.CPU, _deferred(location), location)
    if any(
        one.key not in (DispatchKey.CPU, DispatchKey.Meta) for one in structured.loop_backends()
    ):
        from aten.backends import structural_loops

        structural_loops.install(op, prim.name)


def _meta_kernel(prim: StructuralPrim) -> Callable[..., Any]:
    """Results without memory, row-major, of the dtypes and shapes that the rule gives."""

    def meta(*arguments: Any, **named: Any) -> Any:
        described = prim.result(*arguments, **named)
        if isinstance(described, list):
            return tuple(_without_memory(*one) for one in described)
        return _without_memory(*described)

    return meta


def _without_memory(element: dtype, shape: Shape) -> Tensor:
    return construct.empty_strided(shape, None, element, device("meta"))


def _deferred(location: str) -> Callable[..., Any]:
    """The function at "module:name", imported when it is first called."""

    function = cache(partial(load_function, location))

    def kernel(*arguments: Any, **named: Any) -> Any:
        return function()(*arguments, **named)

    return kernel


def _windows(
    a: Tensor, window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Tensor:
    counts = [window_count(*one) for one in zip(a.shape, window, stride, dilation, strict=True)]
    steps = [one * step for one, step in zip(a.stride(), stride, strict=True)]
    inner = [one * gap for one, gap in zip(a.stride(), dilation, strict=True)]
    return a.as_strided((*counts, *window), (*steps, *inner), a.storage_offset())


# Views have one kernel for all devices with strides.
_VIEWS: dict[str, Callable[..., Tensor]] = {"windows": _windows}
_CPU_KERNELS = "aten.backends.cpu.operators.primitives"


def function_of(prim: Prim, op: OpOverload) -> Callable[..., Value]:
    """`prim` with the schema's arguments by name."""
    arguments = op._schema.arguments
    tensors = [argument.name for argument in arguments if str(argument.type) == "Tensor"]

    def call(**named: Any) -> Value:
        operands = [named.pop(name) for name in tensors]
        named.pop("output_dtype", None)
        if "dims" in named:
            rank = len(operands[0].shape)
            named["dims"] = tuple(range(rank)) if named["dims"] is None else tuple(named["dims"])
        if "table" in named:
            named["table"] = tuple(named["table"])
        return prim(*operands, **named)

    return call


def _broadcast_in_dim(
    a: Tensor, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> Tensor:
    params = {"shape": shape, "broadcast_dimensions": broadcast_dimensions}
    shape = Prim.table["broadcast_in_dim"].result_shape([tuple(a.shape)], params)
    strides = [0] * len(shape)
    for dim, target in enumerate(broadcast_dimensions):
        if a.shape[dim] != 1:
            strides[target] = a.stride(dim)
    # Nothing is repeated along dimensions of one element: their strides are those of a row-major
    # tensor, which is what the next operator takes them for.
    for dim in reversed(range(len(shape))):
        if shape[dim] == 1:
            last = dim == len(shape) - 1
            strides[dim] = 1 if last else strides[dim + 1] * shape[dim + 1]
    return a.as_strided(shape, tuple(strides), a.storage_offset())


def _scalar_tensor(
    s: Number, *, dtype: dtype | None = None, device: device | None = None
) -> Tensor:
    made = construct.tensor_from_data(s, dtype or _type_of(s))
    return made if device is None else made.to(device)


def _type_of(number: Number) -> dtype | None:
    return get_default_dtype() if isinstance(number, float) else None


def _copy_to(a: Tensor, b: Tensor) -> Tensor:
    """Between devices whose memory the host addresses; a meta tensor takes and gives no data."""
    if a.is_meta or b.is_meta:
        if not a.is_meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return a
    host = device("cpu")
    if has_opaque_memory(device_types()[b.device.type]):
        b = b.to(host)
    if has_opaque_memory(device_types()[a.device.type]):
        # By way of the host, whose tensors the device's own kernel takes.
        return registry.operator("prims::copy_to")(a, b.to(host))  # type: ignore[no-any-return]
    registry.operator("aten::copy_")(construct.on_device(a, host), construct.on_device(b, host))
    return a
