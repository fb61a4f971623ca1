"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import math

from aten.loops.math import coefficients
from aten.loops.math.building_blocks import (
    LOG2_E,
    choose,
    computed_in_float64,
    is_float32,
    polynomial,
)
from aten.loops.math.exponential import (
    layout_of,
    scaled_exp,
    shifted_exponent,
    wide_expm1,
)
from aten.loops.math.logarithm import wide_log1p
from aten.prims import Value
from aten.prims import arithmetic as a

LN2 = 0.6931471805599453
DOUBLE_LOG2_E_REST_FLOAT32 = 3.851926067e-08  # 2 log2(e), less what a float32 holds of it


@computed_in_float64
def sinh(x: Value, precise: bool) -> Value:
    """Hyperbolic sine: an odd polynomial below 1, ``e/2 - 1/(2 e)`` with ``e = exp(|x|)`` above.

    Error: float32 0.51 ULP (all inputs), float64 2 ULP.
    """
    magnitude = a.abs(x)
    z = magnitude * magnitude
    terms = coefficients.SINH if precise else coefficients.SINH_SHORT
    small = a.fma(magnitude * z, polynomial(z, terms), magnitude)
    half_exp = scaled_exp(magnitude, precise, halvings=1)
    large = half_exp - 0.25 / half_exp
    return a.copysign(a.where(magnitude < 1.0, small, large), x)


@computed_in_float64
def cosh(x: Value, precise: bool) -> Value:
    """Hyperbolic cosine: ``e/2 + 1/(2 e)`` with ``e = exp(|x|)``.

    Error: float32 0.51 ULP (all inputs), float64 2 ULP.
    """
    half_exp = scaled_exp(a.abs(x), precise, halvings=1)
    return half_exp + 0.25 / half_exp


def tanh(x: Value) -> Value:
    """Hyperbolic tangent.

    In float32 an odd polynomial below 1 and ``1 - 2 / (exp(2|x|) + 1)`` above; in float64
    ``t / (t + 2)`` with ``t = expm1(2|x|)``.

    Error: float32 0.98 ULP (all inputs), float64 3 ULP.
    """
    magnitude = a.abs(x)
    if is_float32(x):
        positive = tanh_of_positive_float32(magnitude)
    else:
        t = wide_expm1(choose(magnitude > 20.0, x, 40.0, magnitude + magnitude), precise=True)
        positive = t / (t + 2.0)
    return a.copysign(positive, x)


def tanh_of_positive_float32(x: Value) -> Value:
    z = x * x
    small = a.fma(x * z, polynomial(z, coefficients.TANH_FLOAT32), x)
    limited = choose(x > 10.0, x, 10.0, x)
    rounder, rate = a.constant(x, layout_of(x).rounder), a.constant(x, 2.0 * LOG2_E)
    rounded = a.fma(limited, rate, rounder)
    r = a.fma(limited, rate, -(rounded - rounder))
    r = a.fma(limited, a.constant(x, DOUBLE_LOG2_E_REST_FLOAT32), r)
    power = shifted_exponent(polynomial(r, (1.0, *coefficients.EXP2_FLOAT32)), rounded)
    large = 1.0 - 2.0 / (power + 1.0)
    return a.where(x >= 1.0, large, small)  # NaN by way of the polynomial


@computed_in_float64
def asinh(x: Value, precise: bool) -> Value:
    """Inverse hyperbolic sine: ``log1p(|x| + x^2 / (1 + sqrt(1 + x^2)))``.

    Arguments whose square would overflow are halved first: there it is ``log(2|x|)``.

    Error: float32 0.51 ULP (all inputs), float64 3 ULP.
    """
    magnitude = a.abs(x)
    huge = magnitude > 2.0**500
    limited = choose(huge, x, 1.0, magnitude)
    square = limited * limited
    growth = limited + square / (a.sqrt(square + 1.0) + 1.0)
    value = wide_log1p(a.where(huge, magnitude, growth), precise)
    return a.copysign(a.where(huge, value + LN2, value), x)


@computed_in_float64
def acosh(x: Value, precise: bool) -> Value:
    """Inverse hyperbolic cosine: ``log1p(t + sqrt(2 t + t^2))`` with ``t = x - 1``.

    Error: float32 0.51 ULP (all inputs), float64 3 ULP.
    """
    huge = x > 2.0**500
    t = choose(huge, x, 1.0, x - 1.0)
    growth = t + a.sqrt(a.fma(t, t, t + t))
    value = wide_log1p(a.where(huge, x, growth), precise)
    return choose(x < 1.0, x, math.nan, a.where(huge, value + LN2, value))


@computed_in_float64
def atanh(x: Value, precise: bool) -> Value:
    """Inverse hyperbolic tangent: ``log1p(2|x| / (1 - |x|)) / 2``.

    Error: float32 0.51 ULP (all inputs), float64 3 ULP.
    """
    magnitude = a.abs(x)
    ratio = (magnitude + magnitude) / (1.0 - magnitude)
    value = wide_log1p(ratio, precise) * 0.5
    value = choose(magnitude > 1.0, x, math.nan, value)
    return a.copysign(a.where(magnitude < 2.0**-60, magnitude, value), x)
