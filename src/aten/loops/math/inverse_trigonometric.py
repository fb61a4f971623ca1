"""Arcus functions."""

from __future__ import annotations

import math

from aten.loops.math import coefficients, tables
from aten.loops.math.building_blocks import (
    PI,
    PI_TAIL,
    bits_of,
    choose,
    computed_in_float64,
    exceeds,
    is_float32,
    ordered_two_sum,
    piecewise_odd_polynomial,
    place_above_one,
    polynomial,
)
from aten.prims import Value
from aten.prims import arithmetic as a

# tan(pi/8) and tan(3 pi/8): between them the arctangent is taken relative to pi/4.
LOWER_BREAK = math.sqrt(2.0) - 1.0
UPPER_BREAK = math.sqrt(2.0) + 1.0

# pi/2 in two parts of 24 bits
HALF_PI_FLOAT32 = (1.5707963705062866, -4.371138828673793e-08)
HALF_PI_TAIL_SHARE = HALF_PI_FLOAT32[1] / HALF_PI_FLOAT32[0]
# Up to here the table of the arctangent goes, and a little further.
ATAN_NEAR = 14.5
# Up to here numbers have inverses that are normal.
LONGEST = 2.0**125
# Rounding errors of products about as large are normal, or nearly.
SHORTEST = 2.0**-110
# Less the bits of a number, those of half its inverse, to 5 percent.
HALF_INVERSE_BITS = 0x7E730000


def arcsine_excess(x: Value, z: Value, precise: bool) -> Value:
    """``asin(x) - x`` for 0 <= x <= 1/2 and ``z = x^2``."""
    terms = coefficients.ASIN if precise else coefficients.ASIN_SHORT
    return x * z * polynomial(z, terms)


def root_and_excess_float32(magnitude: Value, near: Value) -> tuple[Value, Value, Value]:
    """``r``, ``asin(r) - r`` for a float32, and whether ``magnitude`` is at most 1/2.

    There ``r`` is ``near``, which is that or its negative; else it is ``sqrt((1 - magnitude) / 2)``
    rounded, and the excess that of the unrounded root. What rounding took is the residual over
    ``2 r``, for which few bits of the inverse are enough: its bits fall as those of ``r`` grow.
    """
    is_small = magnitude <= 0.5
    half = a.constant(magnitude, 0.5)
    z = a.where(is_small, magnitude * magnitude, a.fma(magnitude, -half, half))
    root = a.sqrt(z)
    inverse = a.bitcast(HALF_INVERSE_BITS - a.bitcast(root, "int32"), "float32")
    rest = choose(is_small, root, 0.0, a.fma(-root, root, z) * inverse)
    r = a.where(is_small, near, root)
    return r, a.fma(r * z, polynomial(z, coefficients.ASIN_FLOAT32), rest), is_small


def asin_float32(x: Value) -> Value:
    """Arcsine, by the formulas of `wide_asin`."""
    magnitude = a.abs(x)
    root, excess, is_small = root_and_excess_float32(magnitude, magnitude)
    half_pi, two = a.constant(x, HALF_PI_FLOAT32[0]), a.constant(x, 2.0)
    high = a.fma(root, -two, half_pi)
    error = a.fma(root, -two, half_pi - high)
    large = high + (error + a.fma(excess, -two, a.constant(x, HALF_PI_FLOAT32[1])))
    return a.copysign(a.where(is_small, root + excess, large), x)


def acos_float32(x: Value) -> Value:
    """Arccosine, by the formulas of `wide_acos`: multiples of pi/2 and of the arcsine of ``r``."""
    root, excess, is_small = root_and_excess_float32(a.abs(x), x)
    times = choose(is_small, x, -1.0, a.copysign(a.constant(x, 2.0), x))
    outer = choose(x < 0.0, x, 2.0 * HALF_PI_FLOAT32[0], a.constant(x, 0.0))
    base = choose(is_small, x, HALF_PI_FLOAT32[0], outer)
    high = a.fma(times, root, base)
    error = a.fma(times, root, base - high)
    tail = a.fma(base, a.constant(x, HALF_PI_TAIL_SHARE), error)
    return high + a.fma(times, excess, tail)


def asin(x: Value) -> Value:
    """Arcsine.

    Error: float32 0.72 ULP (all inputs), float64 2 ULP.
    """
    return asin_float32(x) if is_float32(x) else wide_asin(x)


def acos(x: Value) -> Value:
    """Arccosine.

    Error: float32 0.69 ULP (all inputs), float64 2 ULP.
    """
    return acos_float32(x) if is_float32(x) else wide_acos(x)


@computed_in_float64
def wide_asin(x: Value, precise: bool) -> Value:
    """Above 1/2 in magnitude it is ``pi/2 - 2 asin(sqrt((1 - |x|) / 2))``."""
    magnitude = a.abs(x)
    is_small = magnitude <= 0.5
    z = a.where(is_small, x * x, (1.0 - magnitude) * 0.5)
    root = a.where(is_small, magnitude, a.sqrt(z))
    excess = arcsine_excess(root, z, precise)
    high, error = ordered_two_sum(a.constant(x, PI / 2), root * -2.0)
    large = high + (error + (PI_TAIL / 2 - (excess + excess)))
    return a.copysign(a.where(is_small, root + excess, large), x)


@computed_in_float64
def wide_acos(x: Value, precise: bool) -> Value:
    """``pi/2 - asin(x)`` up to 1/2 in magnitude, else from asin(sqrt((1 - |x|) / 2))."""
    magnitude = a.abs(x)
    is_small = magnitude <= 0.5
    z = a.where(is_small, x * x, (1.0 - magnitude) * 0.5)
    root = a.where(is_small, x, a.sqrt(z))
    excess = arcsine_excess(root, z, precise)
    high, error = ordered_two_sum(a.constant(x, PI / 2), -root)
    middle = high + (error + (PI_TAIL / 2 - excess))
    double = (root + excess) * 2.0
    outer = a.where(x < 0.0, PI - (double - PI_TAIL), double)
    return a.where(is_small, middle, outer)


def angle_of_ratio(y: Value, x: Value, precise: bool) -> Value:
    """The arctangent of ``y / x`` for ``y, x >= 0``, not both infinite; 0 where ``y`` is 0."""
    beyond = y > x * UPPER_BREAK
    middle = y > x * LOWER_BREAK
    numerator = a.where(beyond, -x, a.where(middle, y - x, y))
    denominator = a.where(beyond, y, a.where(middle, y + x, x))
    t = choose(y == 0.0, x, 0.0, numerator / denominator)
    z = t * t
    terms = coefficients.ATAN if precise else coefficients.ATAN_SHORT
    excess = t * z * polynomial(z, terms)
    zero = a.constant(x, 0.0)
    base = choose(beyond, x, PI / 2, choose(middle, x, PI / 4, zero))
    base_tail = choose(beyond, x, PI_TAIL / 2, choose(middle, x, PI_TAIL / 4, zero))
    return base + (t + (excess + base_tail))


def atan_float32(x: Value) -> Value:
    """Arctangent: a polynomial below 1, and ``pi/2 - atan(1/x)`` with the inverse in two parts."""
    magnitude = a.abs(x)
    is_large = magnitude >= 1.0
    limited = choose(magnitude > 2.0**60, x, 2.0**60, magnitude)
    zero = a.constant(x, 0.0)
    inverse = -1.0 / limited
    t = a.where(is_large, inverse, magnitude)
    # What rounding took of the inverse, by t / (1 + t^2): where it counts, that is about 0.48.
    rest = a.where(is_large, a.fma(inverse, limited, a.constant(x, 1.0)) * -0.48, zero)
    base = choose(is_large, x, HALF_PI_FLOAT32[0], zero)
    base_tail = choose(is_large, x, HALF_PI_FLOAT32[1], zero)
    z = t * t
    excess = a.fma(t * z, polynomial(z, coefficients.ATAN_FLOAT32), rest + base_tail)
    high, error = ordered_two_sum(base, t)
    # Without a base the sum is the remainder, and its error nothing.
    return a.copysign(high + (error + excess), x)


def atan_near_zero_float32(x: Value) -> Value:
    """Arctangent up to `ATAN_NEAR`, by polynomials on 32 intervals."""
    magnitude = a.abs(x)
    place = place_above_one(magnitude)
    value = piecewise_odd_polynomial(magnitude, place, tables.ATAN_CENTERS, tables.ATAN_TERMS)
    return a.copysign(value, x)


def atan(x: Value) -> Value:
    """Arctangent.

    Error: float32 0.78 ULP (all inputs), float64 2 ULP.
    """
    if is_float32(x):
        return a.where_rare(exceeds(x, ATAN_NEAR), atan_float32(x), atan_near_zero_float32(x))
    return wide_atan(x)


@computed_in_float64
def wide_atan(x: Value, precise: bool) -> Value:
    """By the angle of the point (1, |x|)."""
    return a.copysign(angle_of_ratio(a.abs(x), a.constant(x, 1.0), precise), x)


def is_tiny(x: Value, least: float) -> Value:
    """Whether ``0 < x < least``, for a float32 that is not negative."""
    bottom = -(1 << 31)
    # The integers from the largest one down, but for 0, which becomes the least one.
    return bottom - a.bitcast(x, "int32") > -bottom - bits_of(least, x)


def atan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y), with the special cases of C's ``atan2``.

    Error: float32 1.02 ULP (on samples), float64 3 ULP.
    """
    return atan2_float32(y, x) if is_float32(x) else wide_atan2(y, x)


def atan2_float32(y: Value, x: Value) -> Value:
    """By the slope ``t`` against the nearer axis: pi/2 or pi, or nothing, more or less atan(t)."""
    rise, run = a.abs(y), a.abs(x)
    is_steep = a.bitcast(rise, "int32") > a.bitcast(run, "int32")
    longer, shorter = a.where(is_steep, rise, run), a.where(is_steep, run, rise)
    # A shorter one of 0 has slope 0, whatever the longer one is.
    longer = choose(longer < SHORTEST, x, SHORTEST, longer)
    inverse = a.reciprocal_estimate(longer)
    rough = shorter * inverse
    t = a.fma(a.fma(-rough, longer, shorter), inverse, rough)
    z = t * t
    # What rounding took of the slope, by 1 / (1 + z)
    rest = a.fma(-t, longer, shorter) * inverse * a.fma(z, a.constant(z, -0.5), a.constant(z, 1.0))
    excess = a.fma(t * z, polynomial(z, coefficients.ATAN_FLOAT32), rest)
    leftward = a.bitcast(x, "int32") < 0
    sign = a.copysign(a.constant(x, 1.0), x)
    sign = a.where(is_steep, -sign, sign)
    base = choose(leftward, x, 2.0 * HALF_PI_FLOAT32[0], a.constant(x, 0.0))
    base = choose(is_steep, x, HALF_PI_FLOAT32[0], base)
    high = a.fma(sign, t, base)
    error = a.fma(sign, t, base - high)
    tail = a.fma(base, a.constant(x, HALF_PI_TAIL_SHARE), error)
    value = a.copysign(high + a.fma(sign, excess, tail), y)
    is_rare = exceeds(longer, LONGEST) | is_tiny(shorter, SHORTEST)
    return a.where_rare(is_rare, wide_atan2(y, x), value)


@computed_in_float64
def wide_atan2(y: Value, x: Value, precise: bool) -> Value:
    """By the angle of the point (|x|, |y|)."""
    rise, run = a.abs(y), a.abs(x)
    if precise:
        # Sums of the largest numbers would overflow.
        scale = a.where((rise > 2.0**1000) | (run > 2.0**1000), *_scales(x))
        rise, run = rise * scale, run * scale
    diagonal = (rise == math.inf) & (run == math.inf)
    rise, run = choose(diagonal, x, 1.0, rise), choose(diagonal, x, 1.0, run)
    angle = angle_of_ratio(rise, run, precise)
    leftward = a.bitcast(x, "int64") < 0
    angle = a.where(leftward, PI - (angle - PI_TAIL), angle)
    return a.where((x != x) | (y != y), x + y, a.copysign(angle, y))


def _scales(like: Value) -> tuple[Value, Value]:
    return a.constant(like, 2.0**-60), a.constant(like, 1.0)
