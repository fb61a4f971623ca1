"""Arcus functions."""

from __future__ import annotations

import math

from aten.loops.math import coefficients
from aten.loops.math.building_blocks import (
    PI,
    PI_TAIL,
    choose,
    computed_in_float64,
    ordered_two_sum,
    polynomial,
)
from aten.prims import Value
from aten.prims import arithmetic as a

# tan(pi/8) and tan(3 pi/8): between them the arctangent is taken relative to pi/4.
LOWER_BREAK = math.sqrt(2.0) - 1.0
UPPER_BREAK = math.sqrt(2.0) + 1.0


def arcsine_excess(x: Value, z: Value, precise: bool) -> Value:
    """``asin(x) - x`` for 0 <= x <= 1/2 and ``z = x^2``."""
    terms = coefficients.ASIN if precise else coefficients.ASIN_SHORT
    return x * z * polynomial(z, terms)


@computed_in_float64
def asin(x: Value, precise: bool) -> Value:
    """Arcsine; above 1/2 it is ``pi/2 - 2 asin(sqrt((1 - |x|) / 2))``.

    Error: float32 0.51 ULP (all inputs), float64 2 ULP.
    """
    magnitude = a.abs(x)
    is_small = magnitude <= 0.5
    z = a.where(is_small, x * x, (1.0 - magnitude) * 0.5)
    root = a.where(is_small, magnitude, a.sqrt(z))
    excess = arcsine_excess(root, z, precise)
    high, error = ordered_two_sum(a.constant(x, PI / 2), root * -2.0)
    large = high + (error + (PI_TAIL / 2 - (excess + excess)))
    return a.copysign(a.where(is_small, root + excess, large), x)


@computed_in_float64
def acos(x: Value, precise: bool) -> Value:
    """Arccosine: ``pi/2 - asin(x)`` up to 1/2 in magnitude, else from asin(sqrt((1 - |x|) / 2)).

    Error: float32 0.51 ULP (all inputs), float64 2 ULP.
    """
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


@computed_in_float64
def atan(x: Value, precise: bool) -> Value:
    """Arctangent.

    Error: float32 0.51 ULP (all inputs), float64 2 ULP.
    """
    return a.copysign(angle_of_ratio(a.abs(x), a.constant(x, 1.0), precise), x)


@computed_in_float64
def atan2(y: Value, x: Value, precise: bool) -> Value:
    """The angle of the point (x, y), with the special cases of C's ``atan2``.

    Error: float32 0.51 ULP (on samples), float64 3 ULP.
    """
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
