"""Comparisons, logic and predicates: what gives bool."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES, get_default_dtype
from aten.ops.definition import converted, op
from aten.ops.pointwise.pointwise import Types
from aten.ops.requirements import refuse_complex, require_real
from aten.prims import Value
from aten.prims import elementwise as p


@op
def eq(self: Value, other: Value) -> Value:
    return self == other


@op
def ne(self: Value, other: Value) -> Value:
    return self != other


@op
def lt(self: Value, other: Value) -> Value:
    require_real("lt_cpu", self)
    return self < other


@op
def le(self: Value, other: Value) -> Value:
    require_real("le_cpu", self)
    return self <= other


@op
def gt(self: Value, other: Value) -> Value:
    require_real("gt_cpu", self)
    return self > other


@op
def ge(self: Value, other: Value) -> Value:
    require_real("ge_cpu", self)
    return self >= other


def _truth(value: Value) -> Value:
    return converted(value, DTYPES["bool"])


@op
def logical_not(self: Value) -> Value:
    return ~_truth(self)


@op
def logical_and(self: Value, other: Value) -> Value:
    return _truth(self) & _truth(other)


@op
def logical_or(self: Value, other: Value) -> Value:
    return _truth(self) | _truth(other)


@op
def logical_xor(self: Value, other: Value) -> Value:
    return _truth(self) ^ _truth(other)


@op
def isnan(self: Value) -> Value:
    return self != self


@op
def isinf(self: Value) -> Value:
    if self.dtype.is_complex:
        return isinf(p.real(self)) | isinf(p.imag(self))
    if not self.dtype.is_floating_point:
        return _truth(self) & False
    return p.abs(self) == float("inf")


def _is_infinity(name: str, value: Value, infinity: float) -> Value:
    if value.dtype.is_complex:
        raise RuntimeError(f"{name} does not support complex inputs.")
    return value == infinity if value.dtype.is_floating_point else _truth(value) & False


@op
def isposinf(self: Value) -> Value:
    return _is_infinity("isposinf", self, float("inf"))


@op
def isneginf(self: Value) -> Value:
    return _is_infinity("isneginf", self, float("-inf"))


@op
def isfinite(self: Value) -> Value:
    if self.dtype.is_complex:
        return isfinite(p.real(self)) & isfinite(p.imag(self))
    if not self.dtype.is_floating_point:
        return _truth(self) | True
    return p.abs(self) < float("inf")


@op
def signbit(self: Value) -> Value:
    """Whether the sign bit is set: also of -0.0 and of NaN."""
    refuse_complex("signbit is not implemented for complex tensors.", self)
    if not self.dtype.is_floating_point:
        return self < 0
    return p.bitcast(self, dtype=DTYPES[f"int{8 * self.dtype.itemsize}"]) < 0


@op
def isclose(
    self: Value,
    other: Value,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
    *,
    types: Types,
) -> Value:
    """|self - other| <= atol + rtol |other|, or equal."""
    left, right = types["self"], types["other"]
    if left is not right:
        raise RuntimeError(f"{left.scalar_type_name} did not match {right.scalar_type_name}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(
                f"{name} must be greater than or equal to zero, but got {tolerance:g}"
            )
    close = self == other
    if equal_nan and left.kind in ("float", "complex"):
        close = close | ((self != self) & (other != other))
    if left.kind not in ("float", "complex"):
        self, other = (converted(value, get_default_dtype()) for value in (self, other))
    difference = p.abs(self - other)
    return close | (isfinite(difference) & (difference <= p.abs(other) * rtol + atol))
