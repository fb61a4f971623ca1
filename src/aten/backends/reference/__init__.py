"""The reference device: every primitive does what its definition says, on NumPy arrays.

Operators decompose into primitives as on any backend that knows only those. Slow and plain: it is
what kernels are compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import registry
from aten._core.base.device import device
from aten._core.base.dtypes import dtype
from aten._core.base.keys import DispatchKey
from aten._core.base.numpy_types import numpy_dtype, numpy_for
from aten._core.tensor import construct
from aten._core.tensor.tensor import Tensor
from aten.prims import Prim, StructuralPrim


def register() -> None:
    """Give every primitive that computes its NumPy meaning on the reference device."""
    for prim in Prim.table.values():
        if prim.kind == "shape":
            continue
        op = registry.operator(f"prims::{prim.name}")
        op.register(DispatchKey.Reference, _kernel(prim), f"aten/prims: reference of {prim.name}")
    for structural in StructuralPrim.table.values():
        op = registry.operator(f"prims::{structural.name}")
        if op.registrations.resolve(DispatchKey.Reference)[0] is not None:
            continue
        place = f"aten/prims: reference of {structural.name}"
        op.register(DispatchKey.Reference, _structural_kernel(structural), place)


def _structural_kernel(prim: StructuralPrim) -> Callable[..., Any]:
    def reference(*arguments: Any, **named: Any) -> Any:
        numpy_for(f"prims.{prim.name} on the reference device")
        made = prim.reference(*map(_as_arrays, arguments), **named)
        if prim.depends_on_values:
            return tensor(made)
        described = prim.result(*arguments, **named)
        if not isinstance(described, list):
            return _of_type(made, described[0])
        pairs = zip(made, described, strict=True)
        return tuple(_of_type(one, element) for one, (element, _) in pairs)

    return reference


def _as_arrays(value: Any) -> Any:
    """Arrays in the place of tensors, alone or in a list."""
    if isinstance(value, Tensor):
        return array(value)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor):
        return [array(one) for one in value]
    return value


def _of_type(made: Any, element: dtype) -> Tensor:
    import numpy

    return tensor(numpy.asarray(made).astype(numpy_dtype(element), copy=False))


def _kernel(prim: Prim) -> Callable[..., Tensor]:
    def reference(*arguments: Any, **named: Any) -> Tensor:
        numpy_for(f"prims.{prim.name} on the reference device")
        arrays = [array(value) for value in arguments if isinstance(value, Tensor)]
        params = {**_positional_params(prim, arguments), **named}
        params.pop("output_dtype", None)
        if "dims" in params:
            every = tuple(range(arrays[0].ndim))
            params["dims"] = every if params["dims"] is None else tuple(params["dims"])
        types = [value.dtype for value in arguments if isinstance(value, Tensor)]
        made = prim.reference(*arrays, **params)
        return tensor(made.astype(numpy_dtype(prim.result_type(types, params)), copy=False))

    return reference


def _positional_params(prim: Prim, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Parameters given by position, under the schema's names."""
    schema = registry.operator(f"prims::{prim.name}")._schema
    return {
        argument.name: value
        for argument, value in zip(schema.arguments, arguments, strict=False)
        if not isinstance(value, Tensor)
    }


def array(value: Tensor) -> Any:
    """A NumPy array over a reference tensor's memory."""
    return construct.on_device(value, device("cpu")).detach().numpy()


def tensor(made: Any) -> Tensor:
    """A reference tensor with the elements of an array."""
    import numpy

    dense = numpy.ascontiguousarray(made)
    if not dense.flags.owndata:
        dense = dense.copy()  # A window on an operand, or on what nobody else keeps.
    whole = construct.from_numpy_array(dense.reshape((-1,)))
    # A NumPy array of one element may have any stride, and one of several dimensions too few.
    strides = [1] * made.ndim
    for dim in range(made.ndim - 1, 0, -1):
        strides[dim - 1] = strides[dim] * max(made.shape[dim], 1)
    shaped = whole.as_strided(made.shape, strides, 0)
    return construct.on_device(shaped, device("reference"))
