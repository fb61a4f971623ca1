"""The reference device: every primitive does what its definition says, on NumPy arrays.

Operators decompose into primitives as on any backend that knows only those. Slow and plain: it is
what kernels are compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import registry
from aten._core import construct
from aten._core.device import device
from aten._core.keys import DispatchKey
from aten._core.numpy_types import numpy_dtype, numpy_for
from aten._core.tensor import Tensor
from aten.prims import Prim


def register() -> None:
    """Give every primitive that computes its NumPy meaning on the reference device."""
    for prim in Prim.table.values():
        if prim.kind == "shape":
            continue
        op = registry.operator(f"prims::{prim.name}")
        op.register(DispatchKey.Reference, _kernel(prim), f"aten/prims: reference of {prim.name}")


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
    return construct.on_device(value, device("cpu")).numpy()


def tensor(made: Any) -> Tensor:
    """A reference tensor with the elements of an array."""
    import numpy

    contiguous = numpy.ascontiguousarray(made).reshape(made.shape)
    return construct.on_device(construct.from_numpy_array(contiguous), device("reference"))
