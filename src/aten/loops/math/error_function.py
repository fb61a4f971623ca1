"""The error function, its complement and its inverse, and the normal distribution's function."""

from __future__ import annotations

import math

from aten.loops.math import coefficients, tables
from aten.loops.math.building_blocks import (
    choose,
    computed_in_float64,
    exceeds,
    is_float32,
    ordered_two_sum,
    piecewise_odd_polynomial,
    place_above_one,
    polynomial,
    two_product,
)
from aten.loops.math.exponential import (
    reduce_by_ln2_in_two_parts,
    scaled_exp,
    shifted_exponent,
)
from aten.loops.math.logarithm import (
    BITS_OF_TWO_THIRDS,
    EXPONENT_FLOAT32,
    log_of_positive,
)
from aten.prims import Value
from aten.prims import arithmetic as a

SQRT_HALF = 0.7071067811865476
HALF_ROOT_PI = 0.886226925452758
# (1 + x) exp(x^2) erfc(x) where 1 / (1 + x) is 0.375, in two parts
ERFCX_MIDDLE = (0.7900999188423157, 2.080891448646057e-08)
# What erfcx(x) lacks where 1 / (1 + x) lacks a little, in units of that share: 1 to 1.17.
ERFCX_SHARE = 1.13
LARGEST_BELOW_ONE = 1.0 - 2.0**-24  # of float32
LN2_FLOAT32 = math.log(2.0) * 2.0**-23  # for a k times 2^23
# The derivative of erfinv(x) / x by log(1 - x^2): near the center, and as a line in sqrt(w) - 3
ERFINV_CENTER_SLOPE = -0.24
ERFINV_SLOPE = (-0.171, 0.055)
# Up to here 1 / (1 + x) less the middle of its interval is exact.
ERFC_NEAR = 7.0


def erf(x: Value) -> Value:
    """The error function: ``x + x P(x^2 - 1/2)`` up to 1.125, and ``1 - erfc(x)`` beyond.

    In float32 polynomials on 32 intervals.

    Error: float32 0.80 ULP (all inputs), float64 1 ULP.
    """
    magnitude = a.abs(x)
    if is_float32(x):
        # From 5 on the pieces are 1.
        limited = choose(magnitude > 6.0, x, 6.0, magnitude)
        place = place_above_one(limited)
        value = piecewise_odd_polynomial(limited, place, tables.ERF_CENTERS, tables.ERF_TERMS)
        return a.copysign(value, x)
    complement = erfc_of_positive(magnitude, precise=True)
    value = a.where(magnitude < 1.125, erf_near_zero(magnitude), 1.0 - complement)
    return a.copysign(value, x)


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

    Error: float32 0.93 ULP (every 16th input), float64 4 ULP.
    """
    if is_float32(x):
        return a.where_rare(exceeds(x, ERFC_NEAR), wide_erfc(x), erfc_float32(x))
    return wide_erfc(x)


def erfc_float32(x: Value) -> Value:
    """`erfc` up to `ERFC_NEAR`: ``exp(-x^2)`` times ``w Q(w)`` with ``w = 1 / (1 + |x|)``.

    The factors are carried in two parts. Of what rounding took of ``w``, the product lacks
    about `ERFCX_SHARE` times as large a share.
    """
    magnitude, one = a.abs(x), a.constant(x, 1.0)
    square, square_rest = two_product(magnitude, magnitude)
    r, rounded, k_tail = reduce_by_ln2_in_two_parts(-square)
    decay, decay_tail = ordered_two_sum(one, r)
    decay_tail = a.fma(r * r, polynomial(r, coefficients.EXP_FLOAT32), decay_tail)

    width = magnitude + 1.0
    width_rest = (1.0 - width) + magnitude
    inverse = 1.0 / width
    missing = a.fma(-inverse, width_rest, a.fma(-inverse, width, one))
    u = inverse - 0.375
    terms, middle = polynomial(u, coefficients.ERFCX_FLOAT32), a.constant(x, ERFCX_MIDDLE[0])
    envelope = a.fma(u, terms, middle)
    envelope_tail = a.fma(u, terms, middle - envelope) + ERFCX_MIDDLE[1]

    correction = a.fma(missing, a.constant(x, ERFCX_SHARE), k_tail - square_rest)
    decay_tail = a.fma(decay + decay_tail, correction, decay_tail)
    product, rest = two_product(decay, envelope)
    rest = a.fma(decay_tail, envelope, a.fma(decay, envelope_tail, rest))
    value = product * inverse
    rest = a.fma(rest, inverse, a.fma(product, inverse, -value))
    complement = shifted_exponent(value + rest, rounded)
    return a.where(x < 0.0, 2.0 - complement, complement)


@computed_in_float64
def wide_erfc(x: Value, precise: bool) -> Value:
    """`erfc` of a float64."""
    magnitude = a.abs(x)
    complement = erfc_of_positive(magnitude, precise)
    if precise:
        complement = a.where(magnitude < 0.5, 1.0 - erf_near_zero(magnitude), complement)
    return a.where(x < 0.0, 2.0 - complement, complement)


def erfc_of_positive(x: Value, precise: bool) -> Value:
    """``exp(-x^2)`` times a function that varies little, which is a polynomial in (x-4)/(x+4).

    Shepherd and Laframboise, Mathematics of Computation 36 (1981), with newly fitted coefficients.
    The rounding error of ``x^2`` is made good after the exponential.
    """
    end = 28.0 if precise else 10.25
    limited = choose(x > end, x, end, x)
    square, rest = two_product(limited, limited)
    decay = scaled_exp(-square, precise)
    decay = a.fma(-decay, rest, decay)
    terms = coefficients.ERFCX if precise else coefficients.ERFCX_SHORT
    envelope = polynomial((limited - 4.0) / (limited + 4.0), terms)
    return decay * (envelope / (limited + limited + 1.0))


def erfinv(x: Value) -> Value:
    """The inverse error function.

    ``x`` times a polynomial in ``w = -log(1 - x^2)``, or in its root where ``w`` is large (Giles,
    Approximating the erfinv function, GPU Computing Gems, 2011; the coefficients are new). In
    float64 one step of Newton's method follows, on ``erf`` below 1 and on ``erfc`` above.

    Error: float32 0.97 ULP (all inputs), float64 3 ULP.
    """
    magnitude = a.abs(x)
    inside = erfinv_of_positive_float32 if is_float32(x) else erfinv_of_positive
    usual = inside(magnitude)
    edge = choose(magnitude == 1.0, x, math.inf, a.constant(x, math.nan))
    value = a.where(magnitude < 1.0, usual, edge)
    return a.copysign(a.shortcut(exceeds(x, LARGEST_BELOW_ONE), value, usual), x)


def erfinv_of_positive(x: Value) -> Value:
    """`erfinv` of a float64 below 1."""
    w = -log_of_positive((1.0 - x) * (x + 1.0), precise=False)
    center = polynomial(w - 2.5, coefficients.ERFINV_CENTER)
    tail = polynomial(a.sqrt(w) - 3.0, coefficients.ERFINV_TAIL)
    value = x * a.where(w < 5.0, center, tail)
    excess = a.where(
        value < 1.0,
        erf_near_zero(value) - x,
        (1.0 - x) - erfc_of_positive(value, precise=True),
    )
    inverse_slope = scaled_exp(value * value) * HALF_ROOT_PI
    return a.fma(-excess, inverse_slope, value)


def erfinv_of_positive_float32(x: Value) -> Value:
    """`erfinv` of a float32 below 1: ``x`` or ``2 x``, and ``x`` times a polynomial.

    The logarithm's absolute error counts, and hardly that: a short polynomial is enough. What its
    rounding and the root's took is made good where the root is used.
    """
    rounded = a.fma(-x, x, a.constant(x, 1.0))
    missing = a.fma(-x, x, 1.0 - rounded)
    complement = a.bitcast(rounded, "int32")
    exponent = (complement - BITS_OF_TWO_THIRDS) & EXPONENT_FLOAT32
    f = a.bitcast(complement - exponent, "float32") - 1.0
    k, ln2 = a.convert(exponent, "float32"), a.constant(x, LN2_FLOAT32)
    log_of_fraction = a.fma(f * f, polynomial(f, coefficients.LOG_SHORT_FLOAT32), f)
    logarithm = a.fma(k, ln2, log_of_fraction)
    rest = a.fma(k, ln2, -logarithm) + log_of_fraction
    u, first = logarithm + 1.0, a.constant(x, coefficients.ERFINV_CENTER_FLOAT32[0])
    terms = polynomial(u, coefficients.ERFINV_CENTER_FLOAT32[1:])
    center = a.fma(u, terms, first)
    center_rest = a.fma(u, terms, first - center)
    # The complement's own rounding error counts where the complement is not far below 1.
    rest = rest + missing
    center_rest = a.fma(rest, a.constant(x, ERFINV_CENTER_SLOPE), center_rest)
    root = a.sqrt(-logarithm)
    u = root - 3.0
    slope = a.fma(u, a.constant(x, ERFINV_SLOPE[1]), a.constant(x, ERFINV_SLOPE[0]))
    tail = polynomial(u, coefficients.ERFINV_TAIL_FLOAT32)
    tail = (root - 2.0) + a.fma(a.fma(root, root, logarithm) + rest, slope, tail)
    is_far = logarithm < -3.5
    factor, added = a.where(is_far, tail, center), a.where(is_far, x + x, x)
    value = a.fma(x, factor, added)
    rest = a.fma(x, factor, added - value)
    return value + a.fma(x, choose(is_far, x, 0.0, center_rest), rest)
