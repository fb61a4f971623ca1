"""Sine, cosine and tangent of any angle."""

from __future__ import annotations

from aten.loops.math import coefficients
from aten.loops.math.argument_reduction import Angle, reduce_angle
from aten.loops.math.building_blocks import SIGN_BIT, computed_in_float64, polynomial
from aten.prims import Value
from aten.prims import arithmetic as a


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


@computed_in_float64
def sin(x: Value, precise: bool) -> Value:
    """Sine of an angle in radians.

    Error: float32 0.51 ULP (all inputs), float64 1 ULP.
    """
    angle = reduce_angle(a.abs(x), precise)
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    value = a.where(is_odd(angle.quadrant), cosine, sine)
    # Quadrants 2 and 3 have bit 1 set.
    return with_sign_bit(value, (angle.quadrant << 62) ^ a.bitcast(x, "int64"))


@computed_in_float64
def cos(x: Value, precise: bool) -> Value:
    """Cosine of an angle in radians.

    Error: float32 0.51 ULP (all inputs), float64 1 ULP.
    """
    angle = reduce_angle(a.abs(x), precise)
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    value = a.where(is_odd(angle.quadrant), sine, cosine)
    # Quadrants 1 and 2 are the ones where adding 1 sets bit 1.
    return with_sign_bit(value, (angle.quadrant + 1) << 62)


@computed_in_float64
def tan(x: Value, precise: bool) -> Value:
    """Tangent of an angle in radians.

    Error: float32 0.51 ULP (all inputs), float64 3 ULP.
    """
    angle = reduce_angle(a.abs(x), precise)
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    odd = is_odd(angle.quadrant)
    value = a.where(odd, cosine, sine) / a.where(odd, sine, cosine)
    return with_sign_bit(value, (angle.quadrant << 63) ^ a.bitcast(x, "int64"))
