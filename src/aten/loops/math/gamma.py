"""The logarithm of the gamma function, and its derivative.

Both have zeros away from integers, next to which the result is a small difference: so that a
float32 still has its bits there, all is computed to the last bits of a float64 for it too.
"""

from __future__ import annotations

import math

from aten.loops.math import coefficients
from aten.loops.math.building_blocks import (
    PI,
    choose,
    computed_in_float64,
    is_float32,
    polynomial,
)
from aten.loops.math.logarithm import is_unusual, log_of_positive
from aten.prims import Value
from aten.prims import arithmetic as a

LOG_PI = 1.1447298858494002
HALF_LOG_TWO_PI = 0.9189385332046728


def lgamma(x: Value) -> Value:
    """log|Gamma(x)|.

    Error: float32 0.51 ULP (all inputs). float64: 6 ULP of the larger of the result and 1
    (the result is 0 at 1 and 2, where it keeps its relative accuracy, and once between any two
    negative integers, where it does not).
    """
    if not is_float32(x):
        return lgamma_everywhere(x)
    wide = a.convert(x, "float64")
    of_all = a.convert(lgamma_everywhere(wide), "float32")
    return a.shortcut(is_unusual(x), of_all, a.convert(lgamma_of_positive(wide), "float32"))


def lgamma_everywhere(x: Value) -> Value:
    """`lgamma` of a float64: below 0 it is ``log(pi / |sin(pi x)|) - lgamma(1 - x)``."""
    reflected = x < 0.0
    direct = lgamma_of_positive(a.where(reflected, 1.0 - x, x))
    sine, _ = sine_and_cosine_of_half_turns(x)
    # The sine of a tiny number is pi times it, which may be subnormal.
    is_tiny = a.abs(x) < 2.0**-60
    log_sine = log_of_positive(a.abs(a.where(is_tiny, x, sine)), precise=True)
    mirrored = choose(is_tiny, x, 0.0, a.constant(x, LOG_PI)) - log_sine - direct
    mirrored = choose(sine == 0.0, x, math.inf, mirrored)
    value = choose(x == 0.0, x, math.inf, a.where(reflected, mirrored, direct))
    value = a.where(x != x, x, value)
    return choose(a.abs(x) == math.inf, x, math.inf, value)


def lgamma_of_positive(x: Value) -> Value:
    """`lgamma` of a positive finite float64.

    Up to 3 a polynomial times the factors that have the zeros, for ``x + 1`` where x is below 1;
    Stirling's series from there on.
    """
    logarithm = log_of_positive(x, precise=True)
    below_one = x < 1.0
    distance = a.where(below_one, x - 1.0, x - 2.0)
    zeros = a.fma(distance, distance, distance)
    small = polynomial(distance, coefficients.LGAMMA) * zeros
    small = a.where(below_one, small - logarithm, small)
    reciprocal = 1.0 / x
    series = reciprocal * polynomial(reciprocal * reciprocal, coefficients.STIRLING)
    large = a.fma(x - 0.5, logarithm - 1.0, series + (HALF_LOG_TWO_PI - 0.5))
    return a.where(x < 3.0, small, large)


def sine_and_cosine_of_half_turns(x: Value) -> tuple[Value, Value]:
    """``sin(pi x)`` and ``cos(pi x)``, both for the distance of ``x`` from its nearest integer."""
    offset = x - a.round(x)
    magnitude = a.abs(offset)
    swapped = magnitude > 0.25
    reduced = a.where(swapped, 0.5 - magnitude, magnitude)
    z = reduced * reduced
    sine = reduced * polynomial(z, coefficients.SINPI)
    cosine = polynomial(z, coefficients.COSPI)
    return a.copysign(a.where(swapped, cosine, sine), offset), a.where(swapped, sine, cosine)


@computed_in_float64
def digamma(x: Value, precise: bool) -> Value:
    """The logarithmic derivative of the gamma function.

    Asymptotic series from 8 on; below, eight steps of the recurrence; negative
    arguments by reflection: ``digamma(1 - x) - pi / tan(pi x)``.

    Error: float32 0.51 ULP (every 16th input). float64: 8 ULP of the larger of the result and 1.
    """
    negative = x < 0.0
    positive = a.where(negative, 1.0 - x, x)
    steps = 1.0 / (positive + 7.0)
    for step in range(6, 0, -1):
        steps = steps + 1.0 / (positive + float(step))
    steps = steps + 1.0 / positive
    is_large = positive >= 8.0
    shifted = a.where(is_large, positive, positive + 8.0)
    reciprocal = 1.0 / shifted
    square = reciprocal * reciprocal
    series = square * polynomial(square, coefficients.DIGAMMA)
    value = log_of_positive(shifted, precise=True) - a.fma(reciprocal, a.constant(x, 0.5), series)
    value = a.where(is_large, value, value - steps)
    sine, cosine = sine_and_cosine_of_half_turns(x)
    reflection = choose(sine == 0.0, x, math.nan, cosine / sine * PI)
    value = a.where(negative, value - reflection, value)
    return a.where((x != x) | (x == math.inf), x, value)
