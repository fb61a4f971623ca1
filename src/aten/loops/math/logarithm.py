"""Logarithms: ``log``, ``log2``, ``log10`` and ``log1p``.

All of them write ``x = 2^k (1 + f)`` with ``1 + f`` around 1. In float64 ``s = f / (2 + f)`` then
gives ``log(1 + f) = 2 atanh(s)`` by a short polynomial, arranged as in FreeBSD's msun (Sun
Microsystems, 1993) so that the rounding errors stay in small terms. In float32 a table brings
``1 + f`` close to 1 first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aten.loops.math import coefficients, tables
from aten.loops.math.building_blocks import (
    LOG2_E,
    LOG2_E_TAIL,
    bits_of,
    choose,
    integer_of,
    is_float32,
    ordered_two_sum,
    polynomial,
    two_product,
    two_sum,
)
from aten.prims import Value
from aten.prims import arithmetic as a

# log(2) and log10(2) in two parts; the first has 32 bits, so that its products with k are exact.
LN2_HEAD = 0.6931471806019545
LN2_REST = -4.2009150726810846e-11
LOG10_2_HEAD = 0.3010299956658855
LOG10_2_REST = -1.9043128467164274e-12
LOG10_E = 0.4342944819032518
LOG10_E_TAIL = 1.098319650216765e-17

ONE_AND_A_HALF_TO_52 = 1.5 * 2.0**52
BITS_OF_ONE_AND_A_HALF_TO_52 = 0x4338000000000000
BITS_OF_ONE = 0x3FF0000000000000
BITS_OF_SQRT_HALF = 0x3FE6A09E667F3BCD
BITS_OF_TWO_THIRDS = 0x3F2AAAAB  # as float32
EXPONENT_FLOAT32 = -(1 << 23)  # a mask: sign and exponent
BITS_OF_THREE_QUARTERS = 0x3F400000  # as float32
BITS_OF_FOUR_FLOAT32 = 0x40800000


def is_unusual(x: Value, least: float | None = None) -> Value:
    """Whether ``x`` is anything but a finite number from ``least`` on: the least normal number."""
    if least is None:
        least = 2.0**-126 if is_float32(x) else 2.0**-1022
    infinity, low = bits_of(math.inf, x), bits_of(least, x)
    bottom = -(1 << (31 if is_float32(x) else 63))
    # Moved to where those numbers become the smallest integers, and smaller ones the largest.
    return a.bitcast(x, integer_of(x)) + (-bottom - low) > bottom + (infinity - low - 1)


def logarithm_edges(x: Value, of_positive: Value) -> Value:
    """The values of a logarithm at 0, infinity, below 0 and at NaN; else `of_positive`."""
    result = a.where((x > 0.0) & (x < math.inf), of_positive, x)
    result = choose(x == 0.0, x, -math.inf, result)
    return choose(x < 0.0, x, math.nan, result)


def with_logarithm_edges(x: Value, of_positive: Value) -> Value:
    """`logarithm_edges`, which are seldom met."""
    return a.shortcut(is_unusual(x), logarithm_edges(x, of_positive), of_positive)


def log(x: Value) -> Value:
    """Natural logarithm.

    Error: float32 0.77 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return log_float32(x, NATURAL)
    return with_logarithm_edges(x, log_of_positive(x, precise=True))


# The same for float32, where k comes as it stands in a number's bits, times 2^23.
LN2_HEAD_FLOAT32 = 0.693145751953125 * 2.0**-23
LN2_REST_FLOAT32 = 1.4286068203094173e-06 * 2.0**-23


def split_float32(x: Value) -> tuple[Value, Value]:
    """``2^23 k`` and ``m`` in [3/4, 3/2) with ``x = 2^k m``."""
    subnormal, unusual = x < 2.0**-126, is_unusual(x)
    normal = a.shortcut(unusual, a.where(subnormal, x * 2.0**23, x), x)
    bits = a.bitcast(normal, "int32")
    exponent = (bits - BITS_OF_THREE_QUARTERS) & EXPONENT_FLOAT32
    k = a.convert(exponent, "float32")
    k = a.shortcut(unusual, a.where(subnormal, k - 23.0 * 2.0**23, k), k)
    return k, a.bitcast(bits - exponent, "float32")


@dataclass(frozen=True)
class Base:
    """The base of a logarithm of float32.

    ``of_two`` and ``of_e`` are the logarithms of 2, times 2^-23, and of e, in two parts; 17 bits
    after the point of the first one times 2^23. ``terms`` are ``P`` in
    ``log(1 + r) = of_e r + r^2 P(r)``.
    """

    of_two: tuple[float, float]
    of_e: tuple[float, float]
    inverses: tuple[float, ...]
    of_inverses: tuple[float, ...]
    terms: tuple[float, ...]


NATURAL = Base(
    (LN2_HEAD_FLOAT32, LN2_REST_FLOAT32),
    (1.0, 0.0),
    tables.LOG_INVERSES,
    tables.LOG_OF_INVERSES,
    coefficients.LOG_NEAR_ONE_FLOAT32,
)
TWO = Base(
    (2.0**-23, 0.0),
    (1.4426950216293335, 1.925963033500011e-08),
    tables.LOG2_INVERSES,
    tables.LOG2_OF_INVERSES,
    coefficients.LOG2_NEAR_ONE_FLOAT32,
)
TEN = Base(
    (0.301025390625 * 2.0**-23, 4.605039066518657e-06 * 2.0**-23),
    (0.4342944920063019, -1.0103049952192578e-08),
    tables.LOG10_INVERSES,
    tables.LOG10_OF_INVERSES,
    coefficients.LOG10_NEAR_ONE_FLOAT32,
)


def log_float32(x: Value, base: Base) -> Value:
    """``k log(2) + log(1/c) + log(1 + r)`` with ``x = 2^k m`` and ``r = c m - 1``.

    The inverse ``c`` is looked up by five bits of ``m``. The first sum is exact, and 0 about 1.
    """
    k, m = split_float32(x)
    place = a.bitcast(m, "int32") >> 18
    r = a.fma(m, a.lookup(base.inverses, place), a.constant(x, -1.0))
    head = a.fma(k, a.constant(x, base.of_two[0]), a.lookup(base.of_inverses, place))
    return with_logarithm_edges(x, head + log_near_one(r, k, base))


def log_near_one(r: Value, k: Value, base: Base) -> Value:
    """``log(1 + r)``, and what the head lacks of ``k log(2)``."""
    slope = polynomial(r, base.terms)
    rest = a.constant(r, base.of_two[1])
    if base.of_e == (1.0, 0.0):
        return a.fma(r, r * slope, a.fma(k, rest, r))
    small = r * a.fma(r, slope, a.constant(r, base.of_e[1]))
    if base.of_two[1]:
        small = a.fma(k, rest, small)
    return a.fma(r, a.constant(r, base.of_e[0]), small)


def log_of_scaled_float32(k: Value, f: Value, rest: Value) -> Value:
    """``k/2^23 log(2) + log(1 + f) + rest``; the sum of ``k log(2)`` and ``f`` with its error."""
    # 16 bits of log(2): its products with k are exact.
    total = a.fma(k, a.constant(f, LN2_HEAD_FLOAT32), f)
    error = f - a.fma(k, a.constant(f, -LN2_HEAD_FLOAT32), total)
    tail = f * f * polynomial(f, coefficients.LOG_FLOAT32) + rest + error
    return total + a.fma(k, a.constant(f, LN2_REST_FLOAT32), tail)


@dataclass(frozen=True)
class Decomposition:
    """``x = 2^k (1 + f)``, and ``log(1 + f) = f - half_square + correction``."""

    k: Value
    f: Value
    half_square: Value
    correction: Value


def split_exponent(x: Value, precise: bool, rest: Value | None = None) -> tuple[Value, Value]:
    """``k`` and ``f`` of a positive finite float64 ``x``; ``1 + f`` lies in [sqrt(1/2), sqrt(2)).

    With a ``rest`` they are those of ``x + rest``; it is far below ``x``, which is not subnormal.
    """
    may_be_subnormal = precise and rest is None
    subnormal, unusual = x < 2.0**-1022, is_unusual(x)
    normal = x
    if may_be_subnormal:
        normal = a.shortcut(unusual, a.where(subnormal, x * 2.0**54, x), x)
    bits = a.bitcast(normal, "int64")
    k_bits = (bits - BITS_OF_SQRT_HALF) >> 52
    exponent = k_bits << 52
    f = a.bitcast(bits - exponent, "float64") - 1.0
    # Few processors convert a 64-bit integer, all add.
    k = a.bitcast(k_bits + BITS_OF_ONE_AND_A_HALF_TO_52, "float64") - ONE_AND_A_HALF_TO_52
    if rest is not None:
        # 2^-k has no normal pattern for k = 1024; the rest does not count there.
        scale = a.bitcast(-exponent + BITS_OF_ONE, "float64")
        return k, a.fma(rest, choose(k_bits > 1022, f, 0.0, scale), f)
    if may_be_subnormal:
        k = a.shortcut(unusual, a.where(subnormal, k - 54.0, k), k)
    return k, f


def inverse_of(x: Value) -> Value:
    """``1 / x`` of a normal number, almost rounded: an estimate and twice Newton's method."""
    inverse = a.reciprocal_estimate(x)
    for _ in range(2):
        inverse = a.fma(a.fma(-inverse, x, a.constant(x, 1.0)), inverse, inverse)
    return inverse


def decompose(x: Value, precise: bool, rest: Value | None = None) -> Decomposition:
    """Take the positive finite float64 ``x + rest`` apart."""
    k, f = split_exponent(x, precise, rest)
    s = f * inverse_of(f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    terms = coefficients.LOG if precise else coefficients.LOG_SHORT
    correction = s * a.fma(z, polynomial(z, terms), half_square)
    return Decomposition(k, f, half_square, correction)


def log_of_positive(x: Value, precise: bool, rest: Value | None = None) -> Value:
    """``log(x + rest)`` for positive finite float64 ``x`` and a ``rest`` far below it."""
    parts = decompose(x, precise, rest)
    small = a.fma(parts.k, a.constant(x, LN2_REST), parts.correction)
    return a.fma(parts.k, a.constant(x, LN2_HEAD), -((parts.half_square - small) - parts.f))


def log_in_base(
    x: Value, precise: bool, base: tuple[float, float], of_two: tuple[float, float]
) -> Value:
    """``log(x)`` times the number ``base``, where ``of_two`` is the logarithm of 2 to that base."""
    parts = decompose(x, precise)
    high, low = ordered_two_sum(parts.f, -parts.half_square)
    low = low + parts.correction
    head, tail = two_product(high, a.constant(x, base[0]))
    tail = a.fma(low, a.constant(x, base[0]), a.fma(high, a.constant(x, base[1]), tail))
    total, error = two_sum(parts.k * of_two[0], head)
    return total + (a.fma(parts.k, a.constant(x, of_two[1]), tail) + error)


def log2_of_positive(x: Value, precise: bool = False) -> Value:
    """``log2(x)`` for positive finite float64 ``x``."""
    return log_in_base(x, precise, (LOG2_E, LOG2_E_TAIL), (1.0, 0.0))


def log2(x: Value) -> Value:
    """Logarithm to base 2.

    Error: float32 0.72 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return log_float32(x, TWO)
    return with_logarithm_edges(x, log2_of_positive(x, precise=True))


def log10(x: Value) -> Value:
    """Logarithm to base 10.

    Error: float32 0.81 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return log_float32(x, TEN)
    value = log_in_base(x, True, (LOG10_E, LOG10_E_TAIL), (LOG10_2_HEAD, LOG10_2_REST))
    return with_logarithm_edges(x, value)


def log1p(x: Value) -> Value:
    """log(1 + x), also where it is small.

    Error: float32 0.94 ULP (all inputs), float64 2 ULP.
    """
    return log1p_float32(x) if is_float32(x) else wide_log1p(x, precise=True)


def log1p_float32(x: Value) -> Value:
    """``1 + x = 2^k (1 + f)`` with ``f = x 2^-k + (2^-k - 1)``, whose rounding error is carried.

    What is lost in the sum 1 + x, from which k is found, does not matter.
    """
    total = x + 1.0
    exponent = (a.bitcast(total, "int32") - BITS_OF_TWO_THIRDS) & EXPONENT_FLOAT32
    # 2^-k is no normal number for k = 128, four times that is.
    scale = a.bitcast(BITS_OF_FOUR_FLOAT32 - exponent, "float32")
    offset = a.fma(scale, a.constant(x, 0.25), a.constant(x, -1.0))
    f = a.fma(x * 0.25, scale, offset)
    rest = a.fma(x * 0.25, scale, offset - f)
    value = log_of_scaled_float32(a.convert(exponent, "float32"), f, a.fma(-rest, f, rest))
    value = a.where(total < math.inf, value, total)
    value = choose(total == 0.0, x, -math.inf, value)
    value = choose(total < 0.0, x, math.nan, value)
    # A zero keeps its sign, and the smallest numbers are their own results.
    return a.where(a.abs(x) < 2.0**-30, x, value)


def wide_log1p(x: Value, precise: bool) -> Value:
    """``log(1 + x)`` of a float64: the sum is carried with its rounding error."""
    total, error = two_sum(a.constant(x, 1.0), x)
    value = with_logarithm_edges(total, log_of_positive(total, precise, error))
    return a.where(a.abs(x) < 2.0**-60, x, value)
