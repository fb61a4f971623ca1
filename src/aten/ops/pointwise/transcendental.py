"""Exponentials, logarithms, trigonometric and special functions: one primitive each, or nearly."""

from __future__ import annotations

import math

from aten.ops.definition import op
from aten.ops.pointwise.selection import limited
from aten.ops.requirements import require_floating
from aten.prims import Value
from aten.prims import elementwise as p

LOG2_E = 1 / math.log(2)


@op
def exp(self: Value) -> Value:
    return p.exp(self)


@op
def exp2(self: Value) -> Value:
    return p.exp2(self)


@op
def expm1(self: Value) -> Value:
    return p.expm1(self)


@op
def log(self: Value) -> Value:
    return p.log(self)


@op
def log2(self: Value) -> Value:
    return p.log2(self)


@op
def log10(self: Value) -> Value:
    return p.log10(self)


@op
def log1p(self: Value) -> Value:
    return p.log1p(self)


@op
def sin(self: Value) -> Value:
    return p.sin(self)


@op
def cos(self: Value) -> Value:
    return p.cos(self)


@op
def tan(self: Value) -> Value:
    return p.tan(self)


@op
def asin(self: Value) -> Value:
    return p.asin(self)


@op
def acos(self: Value) -> Value:
    return p.acos(self)


@op
def atan(self: Value) -> Value:
    return p.atan(self)


@op
def sinh(self: Value) -> Value:
    return p.sinh(self)


@op
def cosh(self: Value) -> Value:
    return p.cosh(self)


@op
def tanh(self: Value) -> Value:
    return p.tanh(self)


@op
def asinh(self: Value) -> Value:
    return p.asinh(self)


@op
def acosh(self: Value) -> Value:
    return p.acosh(self)


@op
def atanh(self: Value) -> Value:
    return p.atanh(self)


@op
def erf(self: Value) -> Value:
    require_floating("erf_vml_cpu", self)
    return p.erf(self)


@op
def erfc(self: Value) -> Value:
    require_floating("erfc_vml_cpu", self)
    return p.erfc(self)


@op
def erfinv(self: Value) -> Value:
    require_floating("erfinv_vml_cpu", self)
    return p.erfinv(self)


@op
def lgamma(self: Value) -> Value:
    require_floating("lgamma_vml_cpu", self)
    return p.lgamma(self)


@op
def atan2(self: Value, other: Value) -> Value:
    require_floating("atan2_cpu", self)
    return p.atan2(self, other)


@op
def hypot(self: Value, other: Value) -> Value:
    """sqrt(self^2 + other^2) without overflow between: scaled by the larger of the two.

    Infinite as soon as one is, whatever the other.
    """
    require_floating("hypot_cpu", self)
    left, right = p.abs(self), p.abs(other)
    large, small = p.maximum(left, right), p.minimum(left, right)
    ratio = p.where(large == 0, large, small / large)
    length = large * p.sqrt(1 + ratio * ratio)
    length = p.where(left == math.inf, left, length)
    return p.where(right == math.inf, right, length)


@op
def logaddexp(self: Value, other: Value) -> Value:
    """log(exp(self) + exp(other)): of complex numbers, relative to that of the larger real part."""
    if self.dtype.is_complex:
        return _complex_logaddexp(self, other)
    require_floating("logaddexp_cpu", self)
    total = p.maximum(self, other) + p.log1p(p.exp(-p.abs(self - other)))
    return p.where((self == other) & (p.abs(self) == math.inf), self, total)


def _complex_logaddexp(self: Value, other: Value) -> Value:
    left, right = p.real(self), p.real(other)
    is_less = left < right
    small, large = p.where(is_less, self, other), p.where(is_less, other, self)
    total = large + p.log1p(p.exp(small - large))
    # Of two infinite ones the difference is NaN: they are 0, or else the sum is infinite.
    equal = (left == right) & (p.abs(left) == math.inf)
    extreme = p.where(left < 0, self, p.log(p.exp(self) + p.exp(other)))
    return p.where(equal, extreme, total)


@op
def logaddexp2(self: Value, other: Value) -> Value:
    """log2(2^self + 2^other)."""
    require_floating("logaddexp2_cpu", self)
    total = p.maximum(self, other) + p.log1p(p.exp2(-p.abs(self - other))) * LOG2_E
    return p.where((self == other) & (p.abs(self) == math.inf), self, total)


@op
def xlogy(self: Value, other: Value) -> Value:
    """self log(other); 0 where self is 0, unless other is NaN."""
    require_floating("xlogy_cpu", self)
    product = p.where(self == 0, self - self, self * p.log(other))
    return p.where(other != other, other, product)


@op
def sinc(self: Value) -> Value:
    """sin(pi x) / (pi x), and 1 at 0."""
    angle = self * math.pi
    return p.where(self == 0, 1 + angle, p.sin(angle) / angle)


@op
def sigmoid(self: Value) -> Value:
    return p.sigmoid(self)


@op
def logit(self: Value, eps: float | None = None) -> Value:
    """log(x / (1 - x)), of x limited to [eps, 1 - eps] where there is an eps."""
    require_floating("logit_cpu", self)
    if eps is not None:
        self = limited(self, eps, 1 - eps)
    return p.log(self / (1 - self))


@op
def digamma(self: Value) -> Value:
    require_floating("digamma", self)
    return p.digamma(self)


@op
def deg2rad(self: Value) -> Value:
    return _scaled("deg2rad", self, math.pi / 180)


@op
def rad2deg(self: Value) -> Value:
    return _scaled("rad2deg", self, 180 / math.pi)


def _scaled(name: str, value: Value, factor: float) -> Value:
    if value.dtype.is_complex:
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return value * factor
