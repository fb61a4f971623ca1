"""Sine, cosine and tangent of any angle.

A float32 angle up to `NEAR` is reduced in float32, its remainder carried in two parts; beyond, all
is computed in float64.
"""

from __future__ import annotations

from aten.loops.math import coefficients
from aten.loops.math.argument_reduction import Angle, reduce_angle, reduce_near_float32
from aten.loops.math.building_blocks import (
    SIGN_BIT,
    SIGN_BIT_FLOAT32,
    computed_in_float64,
    exceeds,
    is_float32,
    ordered_two_sum,
    polynomial,
    two_product,
)
from aten.prims import Value
from aten.prims import arithmetic as a

NEAR = 2.0**17


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


def sine_of_reduced_float32(angle: Angle) -> Value:
    """`sine_of_reduced` of float32."""
    z = angle.r * angle.r
    return angle.r + a.fma(z * angle.r, polynomial(z, coefficients.SIN_FLOAT32), angle.tail)


def cosine_of_reduced_float32(angle: Angle) -> Value:
    """`cosine_of_reduced` of float32; ``1 - z/2`` is carried with its rounding error."""
    z = angle.r * angle.r
    minus_half = a.constant(z, -0.5)
    leading = a.fma(z, minus_half, a.constant(z, 1.0))
    small = a.fma(
        z * z, polynomial(z, coefficients.COS_FLOAT32), a.fma(z, minus_half, 1.0 - leading)
    )
    return leading + a.fma(-angle.r, angle.tail, small)


def with_sign_bit_float32(value: Value, sign: Value) -> Value:
    """`with_sign_bit` of float32."""
    return a.bitcast(a.bitcast(value, "int32") ^ (sign & SIGN_BIT_FLOAT32), "float32")


def sin_float32(x: Value) -> Value:
    """Sine of a float32 up to `NEAR`."""
    angle = reduce_near_float32(a.abs(x))
    sine, cosine = sine_of_reduced_float32(angle), cosine_of_reduced_float32(angle)
    value = a.where(is_odd(angle.quadrant), cosine, sine)
    return with_sign_bit_float32(value, (angle.quadrant << 30) ^ a.bitcast(x, "int32"))


def cos_float32(x: Value) -> Value:
    """Cosine of a float32 up to `NEAR`."""
    angle = reduce_near_float32(a.abs(x))
    sine, cosine = sine_of_reduced_float32(angle), cosine_of_reduced_float32(angle)
    value = a.where(is_odd(angle.quadrant), sine, cosine)
    return with_sign_bit_float32(value, (angle.quadrant + 1) << 30)


def tan_float32(x: Value) -> Value:
    """Tangent of a float32 up to `NEAR`.

    The tangent of the remainder is carried in two parts, and so is its reciprocal's residual.
    """
    angle = reduce_near_float32(a.abs(x))
    r, tail = ordered_two_sum(angle.r, angle.tail)
    z, rest = two_product(r, r)
    cube = a.fma(r, rest, z * r)
    tangent, rest = ordered_two_sum(r, cube * polynomial(z, coefficients.TAN_FLOAT32))
    slope = a.fma(tangent, tangent, a.constant(x, 1.0))
    rest = a.fma(tail, slope, rest)
    reciprocal = 1.0 / tangent
    residual = a.fma(-reciprocal, rest, a.fma(-reciprocal, tangent, a.constant(x, 1.0)))
    cotangent = a.fma(reciprocal, residual, reciprocal)
    value = a.where(is_odd(angle.quadrant), cotangent, tangent + rest)
    return with_sign_bit_float32(value, (angle.quadrant << 31) ^ a.bitcast(x, "int32"))


def sin(x: Value) -> Value:
    """Sine of an angle in radians.

    Error: float32 0.8 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return a.where_rare(exceeds(x, NEAR), wide_sin(x), sin_float32(x))
    return wide_sin(x)


def cos(x: Value) -> Value:
    """Cosine of an angle in radians.

    Error: float32 0.8 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return a.where_rare(exceeds(x, NEAR), wide_cos(x), cos_float32(x))
    return wide_cos(x)


def tan(x: Value) -> Value:
    """Tangent of an angle in radians.

    Error: float32 0.9 ULP (all inputs), float64 3 ULP.
    """
    if is_float32(x):
        return a.where_rare(exceeds(x, NEAR), wide_tan(x), tan_float32(x))
    return wide_tan(x)


@computed_in_float64
def wide_sin(x: Value, precise: bool) -> Value:
    angle = reduce_angle(a.abs(x), precise)
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    value = a.where(is_odd(angle.quadrant), cosine, sine)
    # Quadrants 2 and 3 have bit 1 set.
    return with_sign_bit(value, (angle.quadrant << 62) ^ a.bitcast(x, "int64"))


@computed_in_float64
def wide_cos(x: Value, precise: bool) -> Value:
    angle = reduce_angle(a.abs(x), precise)
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    value = a.where(is_odd(angle.quadrant), sine, cosine)
    # Quadrants 1 and 2 are the ones where adding 1 sets bit 1.
    return with_sign_bit(value, (angle.quadrant + 1) << 62)


@computed_in_float64
def wide_tan(x: Value, precise: bool) -> Value:
    angle = reduce_angle(a.abs(x), precise)
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    odd = is_odd(angle.quadrant)
    value = a.where(odd, cosine, sine) / a.where(odd, sine, cosine)
    return with_sign_bit(value, (angle.quadrant << 63) ^ a.bitcast(x, "int64"))
