"""The logarithm of the gamma function, and its derivative.

Both have zeros away from integers, next to which the result is a small difference: so that a
float32 still has its bits there, they are computed to the last bits of a float64 for it too, but
lgamma of positive numbers, whose zeros are factors.
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
SHIFT_STEPS = 6


def lgamma(x: Value) -> Value:
    """log|Gamma(x)|.

    Error: float32 0.51 ULP (all inputs). float64: 6 ULP of the larger of the result and 1
    (the result is 0 at 1 and 2, where it keeps its relative accuracy, and once between any two
    negative integers, where it does not).
    """
    if is_float32(x):
        return a.where_rare(is_unusual(x), wide_lgamma(x), lgamma_of_positive_float32(x))
    return wide_lgamma(x)


def lgamma_of_positive_float32(x: Value) -> Value:
    """`lgamma` of a positive normal float32, computed in float64 to 2^-33.

    Up to 3 a polynomial times the factors that have the zeros, for ``x + 1`` where x is below 1;
    Stirling's series from there on.
    """
    wide = a.convert(x, "float64")
    logarithm = log_of_positive(wide, precise=False)
    below_one = x < 1.0
    distance = a.where(below_one, wide - 1.0, wide - 2.0)
    zeros = a.fma(distance, distance, distance)
    small = polynomial(distance, coefficients.LGAMMA_SHORT) * zeros
    small = a.where(below_one, small - logarithm, small)
    reciprocal = 1.0 / wide
    series = reciprocal * polynomial(reciprocal * reciprocal, coefficients.STIRLING_SHORT)
    large = a.fma(wide - 0.5, logarithm - 1.0, series + (HALF_LOG_TWO_PI - 0.5))
    return a.convert(a.where(x < 3.0, small, large), "float32")


@computed_in_float64
def wide_lgamma(x: Value, precise: bool) -> Value:
    """`lgamma` of a float64.

    Below -1/2 by reflection: ``log(pi / |x sin(pi x)|) - lgamma(-x)``.
    """
    reflected = x < -0.5
    direct = lgamma_above_minus_half(a.where(reflected, -x, x))
    sine, _ = sine_and_cosine_of_half_turns(x)
    area = a.abs(x * sine)
    log_area = log_of_positive(area, precise=True)
    mirrored = a.where(area > 0.0, LOG_PI - log_area - direct, a.constant(x, math.inf))
    value = a.where(reflected, mirrored, direct)
    value = a.where(x != x, x, value)
    return choose(a.abs(x) == math.inf, x, math.inf, value)


def lgamma_above_minus_half(x: Value) -> Value:
    """``lgamma(x)`` for ``x > -1/2``.

    Up to 8 the argument is brought to within 1/2 of 2, and the factors on the way are multiplied
    up, so that one logarithm serves; from 8 on it is Stirling's series.
    """
    below_half, below_three_halves = x < 0.5, x < 1.5
    distance, product = x - 2.0, a.constant(x, 1.0)
    for _ in range(SHIFT_STEPS):
        is_far = distance >= 0.5
        product = a.where(is_far, product * (distance + 1.0), product)
        distance = a.where(is_far, distance - 1.0, distance)
    distance = a.where(below_half, x, a.where(below_three_halves, x - 1.0, distance))
    is_large = x >= 8.0
    factor = a.where(is_large, x, product)
    factor = a.where(below_half, a.abs(a.fma(x, x, x)), a.where(below_three_halves, x, factor))
    logarithm = log_of_positive(factor, precise=True)
    near_two = distance * polynomial(distance, coefficients.LGAMMA)
    moderate = near_two + a.where(below_three_halves, -logarithm, logarithm)
    reciprocal = 1.0 / x
    series = reciprocal * polynomial(reciprocal * reciprocal, coefficients.STIRLING)
    large = a.fma(x - 0.5, logarithm - 1.0, series + (HALF_LOG_TWO_PI - 0.5))
    return choose(x == 0.0, x, math.inf, a.where(is_large, large, moderate))


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

    Error: float32 0.51 ULP (all inputs). float64: 8 ULP of the larger of the result and 1.
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
