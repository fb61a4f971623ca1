"""The error function, its complement and its inverse, and the normal distribution's function."""

from __future__ import annotations

import math

from aten.loops.math import coefficients, tables
from aten.loops.math.building_blocks import (
    bits_of,
    choose,
    exceeds,
    is_float32,
    piecewise_odd_polynomial,
    piecewise_polynomial,
    place_above_one,
    polynomial,
    polynomial_at,
    two_product,
)
from aten.loops.math.exponential import FLOAT32, FLOAT64, power_of_two, scaled_exp
from aten.loops.math.logarithm import log_of_positive
from aten.prims import Value
from aten.prims import arithmetic as a

SQRT_HALF = 0.7071067811865476
HALF_ROOT_PI = 0.886226925452758
LARGEST_BELOW_ONE = 1.0 - 2.0**-24  # of float32
MANTISSA_FLOAT32 = (1 << 23) - 1
ERFINV_UPSCALE = 2.0**64
# Of the table for erfc: its intervals are even in ``x (x + bend)``; and where it ends.
ERFC_BEND, ERFC_SCALE = 1.5, 1.25
ERFC_END = 4.325
ERFC_ZERO = 10.25  # of float32


def erf(x: Value) -> Value:
    """The error function: in float32 polynomials on 32 intervals.

    In float64 ``x + x P(x^2 - 1/2)`` up to 1.125, and one minus a power of two beyond.

    Error: float32 0.80 ULP (all inputs), float64 1 ULP.
    """
    magnitude = a.abs(x)
    if is_float32(x):
        # From 5 on the pieces are 1.
        limited = choose(magnitude > 6.0, x, 6.0, magnitude)
        place = place_above_one(limited)
        value = piecewise_odd_polynomial(limited, place, tables.ERF_CENTERS, tables.ERF_TERMS)
        return a.copysign(value, x)
    tail = 1.0 - erfc_beside_one(magnitude)
    value = a.where(magnitude < 1.125, erf_near_zero(magnitude), tail)
    return a.copysign(value, x)


def erfc_beside_one(x: Value) -> Value:
    """`erfc` of a float64 from 1.125 on to what one minus it needs, as a power of two."""
    # From 6 on one minus it is one.
    limited = choose(x > 6.0, x, 6.0, x)
    exponent = polynomial(limited - 1.125, coefficients.ERF_TAIL_EXPONENT)
    rounded = exponent + a.constant(x, FLOAT64.rounder)
    rest = exponent - (rounded - FLOAT64.rounder)
    # A product, as what is no number is to stay none.
    return polynomial(rest, (1.0, *coefficients.EXP2)) * power_of_two(rounded)


def ndtr(x: Value) -> Value:
    """The share of a normal distribution below x.

    In float32 to an absolute error, which is what products with it need: an odd polynomial up to
    2.125, beyond it one for the tail, and nothing from 5.5625.

    Error: float32 2^-23 (absolute, all inputs), float64 x^2 + 4 ULP.
    """
    if not is_float32(x):
        return erfc(x * -SQRT_HALF) * 0.5
    magnitude = a.abs(x)
    center = polynomial(a.fma(x, x, a.constant(x, -1.0)), coefficients.NDTR_CENTER_FLOAT32)
    tail = polynomial(magnitude - 3.84375, coefficients.NDTR_TAIL_FLOAT32)
    tail = choose(magnitude > 5.5625, x, 0.0, tail)
    outside = a.where(x < 0.0, tail, 1.0 - tail)
    return a.where(magnitude < 2.125, a.fma(x, center, a.constant(x, 0.5)), outside)


def erf_near_zero(x: Value) -> Value:
    """``erf(x)`` for |x| <= 1.125."""
    terms = coefficients.ERF_CENTER_FLOAT32 if is_float32(x) else coefficients.ERF_CENTER
    return a.fma(x, polynomial(a.fma(x, x, a.constant(x, -0.5)), terms), x)


def erfc(x: Value) -> Value:
    """1 - erf(x), also where it is small.

    Error: float32 0.96 ULP (all inputs), float64 4 ULP.
    """
    magnitude = a.abs(x)
    if is_float32(x):
        near = erfc_by_interval(magnitude)
        complement = a.where(magnitude <= ERFC_END, near, erfc_far_out(magnitude))
        complement = a.shortcut(exceeds(x, ERFC_END), complement, near)
    else:
        complement = erfc_of_positive(magnitude)
        complement = a.where(magnitude < 0.5, 1.0 - erf_near_zero(magnitude), complement)
    return a.where(x < 0.0, 2.0 - complement, complement)


def erfc_by_interval(x: Value) -> Value:
    """`erfc` of a float32 from 0 to `ERFC_END`: polynomials in the distance from a middle."""
    scale, rounder = a.constant(x, ERFC_SCALE), a.constant(x, FLOAT32.plain_rounder)
    rounded = a.fma(a.fma(x, scale, scale * ERFC_BEND), x, rounder)
    place = a.bitcast(rounded, "int32")
    middles, *terms = tables.ERFC
    return piecewise_polynomial(x, place, middles, terms)


def erfc_far_out(x: Value) -> Value:
    """`erfc` of a float32 from `ERFC_END` on, in float64, where the square is exact."""
    wide = a.convert(choose(x > ERFC_ZERO, x, ERFC_ZERO, x), "float64")
    inverse = 1.0 / wide
    decay = scaled_exp(-(wide * wide), precise=False)
    envelope = inverse * polynomial(inverse * inverse, coefficients.ERFCX_FAR)
    return a.convert(decay * envelope, "float32")


def erfc_of_positive(x: Value) -> Value:
    """``exp(-x^2)`` times a function that varies little, which is a polynomial in (x-4)/(x+4).

    Shepherd and Laframboise, Mathematics of Computation 36 (1981), with newly fitted coefficients.
    The rounding error of ``x^2`` is made good after the exponential.
    """
    limited = choose(x > 28.0, x, 28.0, x)
    square, rest = two_product(limited, limited)
    decay = scaled_exp(-square)
    decay = a.fma(-decay, rest, decay)
    envelope = polynomial((limited - 4.0) / (limited + 4.0), coefficients.ERFCX)
    return decay * (envelope / (limited + limited + 1.0))


def erfinv(x: Value) -> Value:
    """The inverse error function.

    In float32 ``x`` times a polynomial in ``1 - |x|``, one for each binade. In float64 ``x`` times
    one in ``w = -log(1 - x^2)``, or in its root where ``w`` is large (Giles, Approximating the
    erfinv function, GPU Computing Gems, 2011; the coefficients are new); a step of Newton's method
    follows, on ``erf`` below 1 and on ``erfc`` above.

    Error: float32 0.85 ULP (all inputs), float64 3 ULP.
    """
    magnitude = a.abs(x)
    edge = choose(magnitude == 1.0, x, math.inf, a.constant(x, math.nan))
    if is_float32(x):
        usual = erfinv_float32(x)
        value = a.where(magnitude < 1.0, usual, a.copysign(edge, x))
        return a.shortcut(exceeds(x, LARGEST_BELOW_ONE), value, usual)
    value = a.where(magnitude < 1.0, erfinv_of_positive(magnitude), edge)
    return a.copysign(value, x)


def erfinv_of_positive(x: Value) -> Value:
    """`erfinv` of a float64 below 1."""
    w = -log_of_positive((1.0 - x) * (x + 1.0), precise=False)
    center = polynomial(w - 2.5, coefficients.ERFINV_CENTER)
    tail = polynomial(a.sqrt(w) - 3.0, coefficients.ERFINV_TAIL)
    value = x * a.where(w < 5.0, center, tail)
    excess = a.where(
        value < 1.0,
        erf_near_zero(value) - x,
        (1.0 - x) - erfc_of_positive(value),
    )
    inverse_slope = scaled_exp(value * value, precise=False) * HALF_ROOT_PI
    return a.fma(-excess, inverse_slope, value)


def erfinv_float32(x: Value) -> Value:
    """`erfinv` of a float32 between -1 and 1; scaled, so that subnormal results round once."""
    bits = a.bitcast(1.0 - a.abs(x), "int32")
    mantissa = a.bitcast((bits & MANTISSA_FLOAT32) | bits_of(1.0, x), "float32")
    place, h = bits >> 23, mantissa - 1.5
    values, rests, *slopes = tables.ERFINV
    slope = polynomial_at(place, h, slopes)
    difference = a.fma(slope, h, a.lookup(rests, place))
    scaled = x * ERFINV_UPSCALE
    value = a.fma(scaled, a.lookup(values, place), scaled * difference)
    return value * (1.0 / ERFINV_UPSCALE)
