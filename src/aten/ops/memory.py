"""Filling and copying."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aten.ops.definition import converted, op
from aten.ops.value_checks import fits, scalar_tensor
from aten.prims import Number, Value

if TYPE_CHECKING:
    from aten._core.tensor import Tensor


@op("fill.Scalar", check=fits, repeatable=True)
def fill(self: Value, value: Value) -> Value:
    return converted(value, self.dtype)


@op("fill.Tensor", check=scalar_tensor)
def fill_tensor(self: Value, value: Value) -> Value:
    return converted(value, self.dtype)


@op("zero", repeatable=True)
def zero(self: Value) -> Number:
    return 0


@op
def copy(self: Value, src: Value) -> Value:
    return converted(src, self.dtype)


@op
def clone(self: Value) -> Value:
    return self


@op
def positive(self: Tensor) -> Tensor:
    """The tensor itself."""
    if self.dtype.kind == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self
