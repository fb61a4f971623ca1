"""Choosing between values and limiting them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from aten._core.base.dtypes import DTYPES, dtype
from aten.ops.definition import converted, op
from aten.ops.requirements import refusal, refuse_complex, require_number
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
    if not value.dtype.is_floating_point:
        value = value if low is None else p.maximum(value, low)
        return value if high is None else p.minimum(value, high)
    # Of floats maxima are more than a choice: of zeros the positive one, and NaN from both sides.
    # NaN in bounds is looked for apart, which for numbers happens once.
    if low is not None:
        value = _or_nan(p.where(value < low, low, value), low)
    if high is not None:
        value = _or_nan(p.where(value > high, high, value), high)
    return value


def _or_nan(value: Value, bound: Value | Number) -> Value:
    if isinstance(bound, int | float) and bound == bound:
        return value
    return p.where(bound != bound, bound, value)


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


_LARGEST = {
    "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
    "float32": (2 - 2.0**-23) * 2.0**127,
    "float64": (2 - 2.0**-52) * 2.0**1023,
}


@op
def nan_to_num(
    self: Value,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    types: Mapping[str, dtype],
) -> Value:
    """Zero for NaN and the dtype's outermost numbers for infinities, where nothing else is named.

    Complex numbers part by part.
    """
    element = types["self"]
    if element.is_complex:
        parts = (
            nan_to_num(part(self), nan, posinf, neginf, types={"self": element.to_real()})
            for part in (p.real, p.imag)
        )
        return p.complex(*parts)
    if not element.is_floating_point:
        return self
    if element.name not in _LARGEST:
        raise refusal("nan_to_num", element)
    limit = _LARGEST[element.name]
    value = p.where(self == math.inf, limit if posinf is None else posinf, self)
    value = p.where(self == -math.inf, -limit if neginf is None else neginf, value)
    return p.where(self != self, 0.0 if nan is None else nan, value)


@op
def heaviside(self: Value, values: Value, types: Mapping[str, dtype]) -> Value:
    """The unit step: 0 below zero, `values` at zero, 1 above; 0 for NaN."""
    if self.dtype.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if types["self"] is not types["values"]:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return p.where(self == 0, values, converted(self > 0, self.dtype))
