"""Formulas for pointwise operators."""

from __future__ import annotations

import math
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.autograd.formulas.common import Maybe
from aten.registry import ops


def or_nan(condition: Tensor, other: Tensor) -> Tensor:
    """The condition, or that `other` is not a number."""
    return condition | ops.aten.isnan(other)


def apart(self: Tensor, other: Tensor) -> Tensor:
    """`self` - `other`, 0 for equal ones: infinities that are equal add halves, too."""
    return ops.aten.where(self == other, 0, self - other)


def unkept(p: float, train: bool | None) -> float:
    """What dropout multiplies with what it keeps."""
    if train is False:
        return 1.0
    return 0.0 if p == 1 else 1 / (1 - p)


def clamped(gradient: Tensor, self: Tensor, min: Any, max: Any) -> Tensor:
    """The gradient where nothing was cut off."""
    inside = _inside(self, min, max)
    return gradient if inside is None else ops.aten.where(inside, gradient, 0)


def _inside(self: Tensor, min: Any, max: Any) -> Maybe:
    above = None if min is None else self >= min
    below = None if max is None else self <= max
    if above is None:
        return below
    return above if below is None else above & below


def clamped_by_tensors(
    gradient: Tensor, self: Tensor, min: Maybe, max: Maybe
) -> tuple[Tensor, Maybe, Maybe]:
    """The gradients of what was clamped and of both bounds."""
    to_min = to_max = None
    if min is not None:
        low = self < min
        to_min = ops.aten.where(low & (min < max) if max is not None else low, gradient, 0)
    if max is not None:
        high = self > max
        to_max = ops.aten.where(high | (max < min) if min is not None else high, gradient, 0)
    return clamped(gradient, self, min, max), to_min, to_max


def power_of_number(gradient: Tensor, self: Tensor, exponent: complex) -> Tensor:
    """The gradient of `self ** exponent`."""
    if exponent == 0:
        return ops.aten.zeros_like(gradient)
    if exponent == 1:
        return gradient
    if exponent == 2:
        return gradient * (self * 2).conj()
    return gradient * (exponent * self ** (exponent - 1)).conj()


def quotient_by(gradient: Tensor, other: Any, rounding_mode: str | None) -> Tensor:
    """The gradient of a quotient's dividend."""
    if rounding_mode is not None:
        return ops.aten.zeros_like(gradient)
    return gradient / (other.conj() if isinstance(other, Tensor) else other)


def quotient_of(gradient: Tensor, self: Tensor, other: Tensor, rounding_mode: str | None) -> Tensor:
    """The gradient of a quotient's divisor."""
    if rounding_mode is not None:
        return ops.aten.zeros_like(gradient)
    return -gradient * ((self / other) / other).conj()


def gamma_density(shape: Tensor, value: Tensor) -> Tensor:
    """The density of the gamma distribution: what igamma's slope is."""
    return ops.aten.exp((shape - 1) * ops.aten.log(value) - value - ops.aten.lgamma(shape))


def slope_of_i1(self: Tensor, result: Tensor) -> Tensor:
    """i0(x) - i1(x) / x, and one half at zero."""
    safe = ops.aten.where(self == 0, 1, self)
    return ops.aten.where(self == 0, 0.5, ops.aten.i0(safe) - result / safe)


def slope_of_i1e(self: Tensor, result: Tensor) -> Tensor:
    """i0e(x) - i1e(x) · (sgn(x) + 1 / x), and one half at zero."""
    safe = ops.aten.where(self == 0, 1, self)
    slope = ops.aten.special_i0e(safe) - result * (ops.aten.sgn(safe) + 1 / safe)
    return ops.aten.where(self == 0, 0.5, slope)


def slope_of_sinc(gradient: Tensor, self: Tensor) -> Tensor:
    """(cos(πx)·πx - sin(πx)) / (πx²), and zero at zero."""
    product = self * math.pi
    square = self * product
    slope = (product * ops.aten.cos(product) - ops.aten.sin(product)) / square
    return gradient * ops.aten.where(square == 0, 0, slope).conj()
