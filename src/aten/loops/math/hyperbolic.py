"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import math

from aten.loops.math import coefficients, tables
from aten.loops.math.building_blocks import (
    bits_of,
    choose,
    clamp,
    computed_in_float64,
    is_float32,
    piecewise_odd_polynomial,
    place_above_one,
    polynomial,
)
from aten.loops.math.exponential import (
    FLOAT32,
    FLOAT64,
    exp_in_two_parts,
    power_of_two,
    reduce_by_ln2_short,
    scaled_exp,
    wide_expm1,
)
from aten.loops.math.logarithm import (
    EXPONENT_FLOAT32,
    LN2_HEAD_FLOAT32,
    LN2_REST_FLOAT32,
    wide_log1p,
)
from aten.prims import Value
from aten.prims import arithmetic as a

LN2 = 0.6931471805599453
# log(2)/2 in two parts, for a k times 2^23
HALF_LN2_FLOAT32 = (LN2_HEAD_FLOAT32 / 2, LN2_REST_FLOAT32 / 2)
# Up to here the polynomial of the hyperbolic tangent goes.
TANH_NEAR = 0.55
# About the inverse of the divisor, which is from 2 to 4.4
ATANH_INVERSE = 0.375
# What is added to a difference of bits before the fraction is cut off. Up to 0.26 k is 0.
ATANH_ROUNDING = round(0.22 * 2**23)


@computed_in_float64
def sinh(x: Value, precise: bool) -> Value:
    """Hyperbolic sine: an odd polynomial below 1, ``e/2 - 1/(2 e)`` with ``e = exp(|x|)`` above.

    Error: float32 0.51 ULP (all inputs), float64 2 ULP.
    """
    if not precise:
        return sinh_of_float32(x)
    magnitude = a.abs(x)
    z = magnitude * magnitude
    small = a.fma(magnitude * z, polynomial(z, coefficients.SINH), magnitude)
    half_exp = scaled_exp(magnitude, halvings=1)
    large = half_exp - 0.25 / half_exp
    return a.copysign(a.where(magnitude < 1.0, small, large), x)


def sinh_of_float32(x: Value) -> Value:
    """`sinh` in float64, of which neither the range nor the last bits are needed.

    With ``x = k log(2) + r`` by the addition theorem, where the functions of ``k log(2)`` are the
    sum and the difference of powers of two.
    """
    bound = FLOAT32.exp_high + 8.0
    growing, r = reduce_by_ln2_short(clamp(x, -bound, bound), FLOAT64.rounder - 1.0)
    above, below = power_of_two(growing), power_of_two(2.0 * (FLOAT64.rounder - 1.0) - growing)
    z = r * r
    sine = r * polynomial(z, (1.0, *coefficients.SINH_SHORT))
    cosine = polynomial(z, (1.0, *coefficients.COSH_SHORT))
    # A zero keeps its sign: what is subtracted from it is 0.
    return a.fma(-cosine, below - above, sine * (above + below))


@computed_in_float64
def cosh(x: Value, precise: bool) -> Value:
    """Hyperbolic cosine: ``e/2 + 1/(2 e)`` with ``e = exp(|x|)``.

    Error: float32 0.51 ULP (all inputs), float64 2 ULP.
    """
    half_exp = scaled_exp(a.abs(x), precise, halvings=1)
    return half_exp + 0.25 / half_exp


def tanh(x: Value) -> Value:
    """Hyperbolic tangent.

    In float32 polynomials on 32 intervals; in float64 ``t / (t + 2)`` with ``t = expm1(2|x|)``.

    Error: float32 0.81 ULP (all inputs), float64 3 ULP.
    """
    magnitude = a.abs(x)
    if is_float32(x):
        positive = tanh_of_positive_float32(magnitude)
    else:
        t = wide_expm1(choose(magnitude > 20.0, x, 40.0, magnitude + magnitude), precise=True)
        positive = t / (t + 2.0)
    return a.copysign(positive, x)


def tanh_by_division(x: Value) -> Value:
    """`tanh` without tables, for processors on which a look-up takes many instructions.

    A polynomial near zero, else ``1 - 2 / (e^2|x| + 1)``, with what the quotient lacks.

    Error: float32 0.9 ULP.
    """
    if not is_float32(x):
        return tanh(x)
    magnitude = a.abs(x)
    square = x * x
    near = a.fma(magnitude * square, polynomial(square, coefficients.TANH_FLOAT32), magnitude)
    # From 10 on it is 1.
    limited = choose(magnitude > 10.0, x, 10.0, magnitude)
    growth, _ = exp_in_two_parts(limited + limited)
    whole = growth + 1.0
    whole_tail = (growth - whole) + 1.0
    share = 2.0 / whole
    lacking = a.fma(-share, whole, a.constant(x, 2.0)) - share * whole_tail
    rest = 1.0 - share
    rest_tail = (1.0 - rest) - share - lacking * (0.5 * share)
    return a.copysign(a.where(magnitude < TANH_NEAR, near, rest + rest_tail), x)


def tanh_of_positive_float32(x: Value) -> Value:
    # From 10 on the pieces are 1.
    limited = choose(x > 12.0, x, 12.0, x)
    place = place_above_one(limited)
    return piecewise_odd_polynomial(limited, place, tables.TANH_CENTERS, tables.TANH_TERMS)


@computed_in_float64
def asinh(x: Value, precise: bool) -> Value:
    """Inverse hyperbolic sine: ``log1p(|x| + x^2 / (1 + sqrt(1 + x^2)))``.

    Arguments whose square would overflow are halved first: there it is ``log(2|x|)``.

    Error: float32 0.51 ULP (all inputs), float64 3 ULP.
    """
    magnitude = a.abs(x)
    huge = magnitude > 2.0**500
    limited = choose(huge, x, 1.0, magnitude)
    square = limited * limited
    growth = limited + square / (a.sqrt(square + 1.0) + 1.0)
    value = wide_log1p(a.where(huge, magnitude, growth), precise)
    return a.copysign(a.where(huge, value + LN2, value), x)


@computed_in_float64
def acosh(x: Value, precise: bool) -> Value:
    """Inverse hyperbolic cosine: ``log1p(t + sqrt(2 t + t^2))`` with ``t = x - 1``.

    Error: float32 0.51 ULP (all inputs), float64 3 ULP.
    """
    huge = x > 2.0**500
    t = choose(huge, x, 1.0, x - 1.0)
    growth = t + a.sqrt(a.fma(t, t, t + t))
    value = wide_log1p(a.where(huge, x, growth), precise)
    return choose(x < 1.0, x, math.nan, a.where(huge, value + LN2, value))


def atanh(x: Value) -> Value:
    """Inverse hyperbolic tangent.

    In float64 ``log1p(2|x| / (1 - |x|)) / 2``.

    Error: float32 0.80 ULP (all inputs), float64 3 ULP.
    """
    magnitude = a.abs(x)
    if is_float32(x):
        value = choose(magnitude == 1.0, x, math.inf, atanh_of_positive_float32(magnitude))
    else:
        ratio = (magnitude + magnitude) / (1.0 - magnitude)
        value = wide_log1p(ratio, precise=True) * 0.5
        value = a.where(magnitude < 2.0**-60, magnitude, value)
    return a.copysign(choose(magnitude > 1.0, x, math.nan, value), x)


def atanh_of_positive_float32(x: Value) -> Value:
    """``k log(2)/2 + atanh(s)``, where ``2^k`` is close to ``(1 + x) / (1 - x)``.

    By the addition theorem ``s = (x - t) / (1 - t x)`` with ``t = (2^k - 1) / (2^k + 1)``. The
    difference of the bits of two numbers is about that of their logarithms, which is enough for
    ``k``; below 0.26 it is 0, and ``s`` is ``x``.
    """
    total, rest = x + 1.0, 1.0 - x
    distance = a.bitcast(total, "int32") - a.bitcast(rest, "int32")
    exponent = (distance + ATANH_ROUNDING) & EXPONENT_FLOAT32
    scale = a.bitcast(exponent + bits_of(1.0, x), "float32")
    above, below = scale + 1.0, 1.0 - scale
    # Where 1 is lost beside 2^k, 1 + x and 1 - x serve.
    is_far = exponent > (22 << 23)
    dividend = a.where(is_far, a.fma(-scale, rest, total), a.fma(x, above, below))
    divisor = a.where(is_far, a.fma(scale, rest, total), a.fma(x, below, above))
    s = dividend / divisor
    residual = a.fma(-s, divisor, dividend)
    z = s * s
    k = a.convert(exponent, "float32")
    total = a.fma(k, a.constant(x, HALF_LN2_FLOAT32[0]), s)
    error = s - a.fma(k, a.constant(x, -HALF_LN2_FLOAT32[0]), total)
    tail = a.fma(s * z, polynomial(z, coefficients.ATANH_FLOAT32), error)
    tail = a.fma(residual, a.constant(x, ATANH_INVERSE), tail)
    return total + a.fma(k, a.constant(x, HALF_LN2_FLOAT32[1]), tail)
