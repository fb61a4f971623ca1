"""Choosing between values and limiting them."""

from __future__ import annotations

from aten._core.dtypes import DTYPES
from aten.ops.definition import converted, op
from aten.ops.requirements import refuse_complex, require_number
from aten.prims import Number, Value
from aten.prims import elementwise as p


@op("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(condition: Value, self: Value, other: Value) -> Value:
    if condition.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype.scalar_type_name}"
        )
    return p.where(converted(condition, DTYPES["bool"]), self, other)


def limited(value: Value, low: Value | Number | None, high: Value | Number | None) -> Value:
    """`value` within [low, high]; `high` where the two are crossed, NaN where one of them is."""
    refuse_complex("clamp is not supported for complex types", value)
    if low is not None:
        value = p.maximum(value, low)
    if high is not None:
        value = p.minimum(value, high)
    return value


@op
def clamp(
    self: Value, min: Value | Number | None = None, max: Value | Number | None = None
) -> Value:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    refuse_complex("clamp is not supported for complex types", self)
    require_number("clamp_cpu", self)
    return limited(self, min, max)


@op
def clamp_min(self: Value, min: Value) -> Value:
    refuse_complex("clamp is not supported for complex types", self)
    require_number("clamp_min_scalar_cpu", self)
    return limited(self, min, None)


@op
def clamp_max(self: Value, max: Value) -> Value:
    refuse_complex("clamp is not supported for complex types", self)
    require_number("clamp_max_scalar_cpu", self)
    return limited(self, None, max)


@op("clamp_min.Tensor")
def clamp_min_tensor(self: Value, min: Value) -> Value:
    return limited(self, min, None)


@op("clamp_max.Tensor")
def clamp_max_tensor(self: Value, max: Value) -> Value:
    return limited(self, None, max)
