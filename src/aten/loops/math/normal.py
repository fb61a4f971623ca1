"""The normal distribution's tails: scaled complements, logarithms and quantiles."""

from __future__ import annotations

import math

from aten.loops.math import coefficients, special_coefficients
from aten.loops.math.bessel import on_interval
from aten.loops.math.building_blocks import choose, computed_in_float64, polynomial, two_product
from aten.loops.math.error_function import HALF_ROOT_PI, SQRT_HALF, erfc
from aten.loops.math.exponential import scaled_exp
from aten.loops.math.logarithm import log_of_positive, wide_log1p
from aten.prims import Value
from aten.prims import arithmetic as a

ROOT_ONE_OVER_PI = 0.5641895835477563
# Where the polynomial for erfcx ends; what follows are the terms of its asymptotic series.
ENVELOPE_END = 28.0
ASYMPTOTIC_TERMS = tuple((-0.5) ** power * math.prod(range(1, 2 * power, 2)) for power in range(7))
# 1 / sqrt(w) for w from 750, beyond the smallest subnormal number's, down to 5
ERFC_INVERSE_INTERVAL = (750**-0.5, 5**-0.5)


def erfcx_of_positive(x: Value) -> Value:
    limited = a.minimum(x, ENVELOPE_END)
    envelope = polynomial((limited - 4.0) / (limited + 4.0), coefficients.ERFCX)
    near = envelope / (limited + limited + 1.0)
    inverse = 1.0 / x
    far = polynomial(inverse * inverse, ASYMPTOTIC_TERMS) * inverse * ROOT_ONE_OVER_PI
    return a.where(x <= ENVELOPE_END, near, far)


def wide_erfcx(x: Value) -> Value:
    """exp(x^2) erfc(x); of negative numbers it is ``2 exp(x^2) - erfcx(-x)``."""
    magnitude = a.abs(x)
    positive = erfcx_of_positive(magnitude)
    square, rest = two_product(magnitude, magnitude)
    growth = scaled_exp(square)
    growth = a.where(growth == math.inf, growth, a.fma(growth, rest, growth))
    return a.where(x < 0.0, growth + growth - positive, positive)


@computed_in_float64
def erfcx(x: Value, precise: bool) -> Value:
    """exp(x^2) erfc(x).

    Error: float32 0.51 ULP, float64 4 ULP.
    """
    return wide_erfcx(x)


@computed_in_float64
def ndtr(x: Value, precise: bool) -> Value:
    """The share of a normal distribution below x, with its relative accuracy far out, too.

    Error: float32 0.51 ULP, float64 x^2 + 4 ULP.
    """
    return erfc(x * -SQRT_HALF) * 0.5


@computed_in_float64
def log_ndtr(x: Value, precise: bool) -> Value:
    """The logarithm of `ndtr`: below -1 by way of `erfcx`, which does not underflow.

    Error: float32 0.51 ULP, float64 4 ULP.
    """
    scaled = x * SQRT_HALF
    tail = log_of_positive(erfcx_of_positive(a.abs(scaled)) * 0.5, precise=True)
    lower = tail - scaled * scaled
    upper = wide_log1p(erfc(scaled) * -0.5, precise=True)
    value = a.where(x < -1.0, lower, upper)
    return choose(x == -math.inf, x, -math.inf, value)


@computed_in_float64
def ndtri(x: Value, precise: bool) -> Value:
    """The normal distribution's quantile: the inverse of `ndtr`.

    With ``c`` twice the smaller of x and 1 - x, a polynomial in ``w = -log(c (2 - c))``, or in the
    inverse of its root where that is large (after Giles, see `erfinv`), which in float64 a step of
    Newton's method refines.

    Error: float32 0.51 ULP, float64 8 ULP.
    """
    upper = x > 0.5
    share = a.where(upper, 1.0 - x, x)
    double = share + share
    w = -log_of_positive(double * (2.0 - double), precise=True)
    middle = (1.0 - double) * on_interval(w, 0, 5, special_coefficients.ERFINV_MIDDLE)
    root = a.sqrt(a.maximum(w, 5.0))
    inverse_terms = special_coefficients.ERFC_INVERSE_TAIL
    tail = root * on_interval(1.0 / root, *ERFC_INVERSE_INTERVAL, inverse_terms)
    if precise:
        half = scaled_exp(tail * tail * 0.5)
        excess = erfcx_of_positive(tail) - double * half * half
        tail = a.fma(excess, a.constant(x, HALF_ROOT_PI), tail)
    size = a.where(w < 5.0, middle, tail) * math.sqrt(2)
    size = choose(share == 0.0, x, math.inf, size)
    value = a.where(upper, size, -size)
    return choose((x < 0.0) | (x > 1.0), x, math.nan, value)
