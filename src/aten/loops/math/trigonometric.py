"""Sine, cosine and tangent of any angle.

A near float32 angle is reduced in float32, its remainder carried in two parts; beyond, all is
computed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from aten.loops.math import coefficients, tables
from aten.loops.math.argument_reduction import (
    FAR,
    Angle,
    reduce_angle,
    reduce_near,
    reduce_near_float32,
)
from aten.loops.math.building_blocks import (
    SIGN_BIT,
    computed_in_float64,
    exceeds,
    is_float32,
    polynomial,
)
from aten.prims import Value
from aten.prims import arithmetic as a

BELOW_FAR = math.nextafter(FAR, 0.0)
# In a quarter of a turn
STEPS = 8


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


def sine_float32(x: Value, wide: Value, quarters: int) -> Value:
    """``sin(x + quarters pi/2)`` of a float32; it is ``wide`` where `x` is far.

    With the sine ``S`` and the cosine ``C`` of the nearest multiple of pi/16, and a remainder
    ``r``, it is ``S + (C r - (z (C r P(z) + S Q(z)) + C excess))`` where ``z = r^2``: a sum of
    which the last term alone has to be more than a float32 (Gal and Bachelis, An accurate
    elementary mathematical library, 1991).
    """
    angle = reduce_near_float32(x, STEPS, STEPS * quarters)
    sine, cosine = a.lookup(tables.SINES, angle.step), a.lookup(tables.COSINES, angle.step)
    r, z = angle.r, angle.r * angle.r
    of_sine = sine * polynomial(z, coefficients.COS_FLOAT32)
    terms = a.fma(cosine * r, polynomial(z, coefficients.SIN_FLOAT32), of_sine)
    excess = a.fma(cosine, angle.excess, a.lookup(tables.SINE_EXCESSES, angle.step))
    # Taken off instead of added, so that a zero keeps its sign.
    value = sine + a.fma(cosine, r, -a.fma(z, terms, excess))
    return a.where_rare(angle.is_far, wide, value)


def tan_float32(x: Value, wide: Value) -> Value:
    """Tangent of a float32; it is ``wide`` where `x` is far.

    Of the remainder ``r`` it is ``r + small`` or the negated inverse. An estimate of that is
    enough, since what it lacks is computed and added.
    """
    angle = reduce_near_float32(x, 1)
    r, z = angle.r, angle.r * angle.r
    # The slope of the tangent, to a tenth
    slope = a.fma(z, a.constant(x, 1.6), a.constant(x, 1.0))
    terms = polynomial(z, coefficients.TAN_FLOAT32)
    # What the square lacks is up to a quarter of a unit in the last place of the tangent.
    cube = a.fma(r, a.fma(r, r, -z), r * z)
    small = a.fma(cube, terms, -(angle.excess * slope))
    tangent = r + small
    inverse = a.reciprocal_estimate(tangent)
    too_much = a.fma(inverse, small, a.fma(inverse, r, a.constant(x, -1.0)))
    cotangent = a.fma(inverse, too_much, -inverse)
    return a.where_rare(angle.is_far, wide, a.where(is_odd(angle.step), cotangent, tangent))


def sin(x: Value) -> Value:
    """Sine of an angle in radians.

    Error: float32 0.94 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return sine_float32(x, wide_sin(x), 0)
    return wide_sin(x)


def cos(x: Value) -> Value:
    """Cosine of an angle in radians.

    Error: float32 0.94 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return sine_float32(x, wide_cos(x), 1)
    return wide_cos(x)


def tan(x: Value) -> Value:
    """Tangent of an angle in radians.

    Error: float32 1.00 ULP (all inputs), float64 3 ULP.
    """
    if is_float32(x):
        return tan_float32(x, wide_tan(x))
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
