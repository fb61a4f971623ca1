"""Sine, cosine and tangent of any angle.

A float32 angle up to `NEAR` is reduced in float32, its remainder carried in two parts; beyond, all
is computed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from aten.loops.math import coefficients
from aten.loops.math.argument_reduction import (
    FAR,
    Angle,
    reduce_angle,
    reduce_near,
    reduce_near_float32,
)
from aten.loops.math.building_blocks import (
    SIGN_BIT,
    SIGN_BIT_FLOAT32,
    computed_in_float64,
    exceeds,
    is_float32,
    polynomial,
)
from aten.prims import Value
from aten.prims import arithmetic as a

NEAR = 2.0**17
BELOW_FAR = math.nextafter(FAR, 0.0)
# Up to here the square of a tail does not count beside that of the remainder, for any argument.
TAN_NEAR = 2.0**11
SLOPE_OF_COTANGENT = 0.72


def sine_of_reduced(angle: Angle, precise: bool) -> Value:
    """``sin(r + tail)`` for |r| <= pi/4."""
    z = angle.r * angle.r
    terms = coefficients.SIN if precise else coefficients.SIN_SHORT
    small = z * angle.r * polynomial(z, terms)
    if precise:
        small = small + a.fma(z * -0.5, angle.tail, angle.tail)
    return angle.r + small


def cosine_of_reduced(angle: Angle, precise: bool) -> Value:
    """``cos(r + tail)`` for |r| <= pi/4."""
    z = angle.r * angle.r
    terms = coefficients.COS if precise else coefficients.COS_SHORT
    small = z * z * polynomial(z, terms)
    half_square = z * 0.5
    leading = 1.0 - half_square
    if precise:
        small = ((1.0 - leading) - half_square) + a.fma(-angle.r, angle.tail, small)
    return leading + small


def is_odd(quadrant: Value) -> Value:
    return (quadrant & 1) != 0


def with_sign_bit(value: Value, sign: Value) -> Value:
    """``value`` negated where the highest bit of the integer ``sign`` is set."""
    return a.bitcast(a.bitcast(value, "int64") ^ (sign & SIGN_BIT), "float64")


def sine_float32(x: Value, quarters: int) -> Value:
    """``sin(x + quarters pi/2)`` of a float32 up to `NEAR`.

    Of the remainder ``r``, with ``z = r^2``, it is ``r + r z P(z)`` or the cosine
    ``1 - z/2 + z^2 P(z)``, whose first difference is carried with its rounding error: alike enough
    for one sum, so that a lane chooses terms instead of results.
    """
    angle = reduce_near_float32(x, quarters)
    r, excess = angle.r, angle.tail
    odd = is_odd(angle.quadrant)
    z = r * r
    half = a.constant(z, 0.5)
    leading = a.where(odd, a.fma(z, -half, a.constant(z, 1.0)), r)
    terms = a.where(
        odd, polynomial(z, coefficients.COS_FLOAT32), polynomial(z, coefficients.SIN_FLOAT32)
    )
    rest = a.fma(-r, excess, a.fma(z, half, leading - 1.0))
    # Taken off instead of added, so that a zero keeps its sign.
    small = a.fma(-(z * a.where(odd, z, r)), terms, a.where(odd, rest, excess))
    return with_sign_bit_float32(leading - small, angle.quadrant << 30)


def with_sign_bit_float32(value: Value, sign: Value) -> Value:
    """`with_sign_bit` of float32."""
    return a.bitcast(a.bitcast(value, "int32") ^ (sign & SIGN_BIT_FLOAT32), "float32")


def tan_float32(x: Value) -> Value:
    """Tangent of a float32 up to `TAN_NEAR`.

    Of the remainder ``r`` it is ``r / g`` or ``g / -r``, where ``g = r cot(r) = 1 - z P(z)`` with
    ``z = r^2`` is carried with its rounding error: a lane chooses what is divided by what. An
    estimate of the inverse is enough, since what the quotient lacks is computed and added.
    """
    angle = reduce_near_float32(x)
    r, excess = angle.r, angle.tail
    odd = is_odd(angle.quadrant)
    z = r * r
    one = a.constant(x, 1.0)
    terms = polynomial(z, coefficients.COT_FLOAT32)
    g = a.fma(-z, terms, one)
    # By the tail, g falls about 0.72 r times as much.
    g_rest = a.fma(r * SLOPE_OF_COTANGENT, excess, a.fma(-z, terms, 1.0 - g))
    dividend, divisor = a.where(odd, g, r), a.where(odd, -r, g)
    dividend_excess = a.where(odd, 0.0 - g_rest, excess)
    divisor_rest = a.where(odd, excess, g_rest)
    inverse = a.reciprocal_estimate(divisor)
    quotient = dividend * inverse
    # Taken off instead of added, so that a zero keeps its sign.
    too_much = a.fma(quotient, divisor, -dividend) + dividend_excess
    too_much = a.fma(quotient, divisor_rest, too_much)
    return a.fma(-too_much, inverse, quotient)


def sin(x: Value) -> Value:
    """Sine of an angle in radians.

    Error: float32 0.87 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return a.where_rare(exceeds(x, NEAR), wide_sin(x), sine_float32(x, 0))
    return wide_sin(x)


def cos(x: Value) -> Value:
    """Cosine of an angle in radians.

    Error: float32 0.87 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return a.where_rare(exceeds(x, NEAR), wide_cos(x), sine_float32(x, 1))
    return wide_cos(x)


def tan(x: Value) -> Value:
    """Tangent of an angle in radians.

    Error: float32 0.98 ULP (all inputs), float64 3 ULP.
    """
    if is_float32(x):
        return a.where_rare(exceeds(x, TAN_NEAR), wide_tan(x), tan_float32(x))
    return wide_tan(x)


def of_any_angle(function: Callable[[Value, Angle, bool], Value]) -> Callable[[Value], Value]:
    """`function` of an argument and its reduced magnitude; far arguments are seldom met."""

    @computed_in_float64
    def expanded(x: Value, precise: bool) -> Value:
        magnitude = a.abs(x)
        general = function(x, reduce_angle(magnitude, precise), precise)
        if not precise:
            return general
        near = function(x, reduce_near(magnitude), precise)
        return a.shortcut(exceeds(x, BELOW_FAR), general, near)

    return expanded


@of_any_angle
def wide_sin(x: Value, angle: Angle, precise: bool) -> Value:
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    value = a.where(is_odd(angle.quadrant), cosine, sine)
    # Quadrants 2 and 3 have bit 1 set.
    return with_sign_bit(value, (angle.quadrant << 62) ^ a.bitcast(x, "int64"))


@of_any_angle
def wide_cos(x: Value, angle: Angle, precise: bool) -> Value:
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    value = a.where(is_odd(angle.quadrant), sine, cosine)
    # Quadrants 1 and 2 are the ones where adding 1 sets bit 1.
    return with_sign_bit(value, (angle.quadrant + 1) << 62)


@of_any_angle
def wide_tan(x: Value, angle: Angle, precise: bool) -> Value:
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    odd = is_odd(angle.quadrant)
    value = a.where(odd, cosine, sine) / a.where(odd, sine, cosine)
    return with_sign_bit(value, (angle.quadrant << 63) ^ a.bitcast(x, "int64"))
