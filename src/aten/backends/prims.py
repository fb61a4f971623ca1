"""The primitives as operators, `aten.ops.prims`: what a new backend has to register.

On the CPU each is a kernel of its own, made like any other operator's; views and data movement
have one kernel for all backends whose memory the host can address.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import registry
from aten._core import construct
from aten._core.device import device
from aten._core.dispatcher import OpOverload
from aten._core.dtypes import dtype, get_default_dtype
from aten._core.keys import DispatchKey
from aten._core.tensor import Tensor
from aten.backends import structured
from aten.prims import Number, Prim, Value

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
        structured.define_by(op, _function(prim, op), f"aten/prims: {prim.name}")
        if prim.kind == "elementwise":
            structured.install_loops_pointwise(op)
        else:
            structured.install_loops_reduction(op)
    for name, schema in _SCHEMAS.items():
        op = registry.define("prims", name + schema, kind="prim data")
        op.register(DispatchKey.CompositeExplicitAutograd, globals()[f"_{name}"])


def _function(prim: Prim, op: OpOverload) -> Callable[..., Value]:
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
    return a.as_strided(shape, tuple(strides), a.storage_offset())


def _scalar_tensor(
    s: Number, *, dtype: dtype | None = None, device: device | None = None
) -> Tensor:
    made = construct.tensor_from_data(s, dtype or _type_of(s))
    return made if device is None else construct.on_device(made, device)


def _type_of(number: Number) -> dtype | None:
    return get_default_dtype() if isinstance(number, float) else None


def _copy_to(a: Tensor, b: Tensor) -> Tensor:
    """Between devices whose memory the host addresses; a meta tensor takes and gives no data."""
    if a.is_meta or b.is_meta:
        if not a.is_meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return a
    host = device("cpu")
    registry.operator("aten::copy_")(construct.on_device(a, host), construct.on_device(b, host))
    return a
