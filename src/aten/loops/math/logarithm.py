"""Logarithms: ``log``, ``log2``, ``log10`` and ``log1p``.

All of them write ``x = 2^k (1 + f)`` with ``1 + f`` around 1. In float64 ``s = f / (2 + f)`` then
gives ``log(1 + f) = 2 atanh(s)`` by a short polynomial, arranged as in FreeBSD's msun (Sun
Microsystems, 1993) so that the rounding errors stay in small terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aten.loops.math import coefficients
from aten.loops.math.building_blocks import (
    LOG2_E,
    LOG2_E_TAIL,
    choose,
    computed_in_float64,
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


def with_logarithm_edges(x: Value, of_positive: Value) -> Value:
    """The values of a logarithm at 0, infinity, below 0 and at NaN."""
    result = a.where((x > 0.0) & (x < math.inf), of_positive, x)
    result = choose(x == 0.0, x, -math.inf, result)
    return choose(x < 0.0, x, math.nan, result)


def log(x: Value) -> Value:
    """Natural logarithm.

    Error: float32 0.91 ULP (all inputs), float64 1 ULP.
    """
    if is_float32(x):
        return with_logarithm_edges(x, log_of_positive_float32(x))
    return with_logarithm_edges(x, log_of_positive(x, precise=True))


def log_of_positive_float32(x: Value) -> Value:
    """The sum of ``k log(2)`` and ``f`` is carried with its rounding error."""
    subnormal = x < 2.0**-126
    bits = a.bitcast(a.where(subnormal, x * 2.0**23, x), "int32")
    shifted = bits - 0x3F2AAAAB  # the bits of 2/3: 1 + f lies in [2/3, 4/3)
    k_bits = shifted >> 23
    f = a.bitcast(bits - (k_bits << 23), "float32") - 1.0
    k = a.convert(k_bits, "float32")
    k = a.where(subnormal, k - 23.0, k)
    tail = f * f * polynomial(f, coefficients.LOG_FLOAT32)
    # 16 bits of log(2): its products with k are exact.
    k_ln2 = k * 0.693145751953125
    total = k_ln2 + f
    error = f - (total - k_ln2)
    return total + a.fma(k, a.constant(x, 1.4286068203094173e-06), tail + error)


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
    bits = a.bitcast(x, "int64")
    subnormal = x < 2.0**-1022
    if precise and rest is None:
        bits = a.bitcast(a.where(subnormal, x * 2.0**54, x), "int64")
    k_bits = (bits - BITS_OF_SQRT_HALF) >> 52
    exponent = k_bits << 52
    f = a.bitcast(bits - exponent, "float64") - 1.0
    # Few processors convert a 64-bit integer, all add.
    k = a.bitcast(k_bits + BITS_OF_ONE_AND_A_HALF_TO_52, "float64") - ONE_AND_A_HALF_TO_52
    if rest is not None:
        # 2^-k has no normal pattern for k = 1024; the rest does not count there.
        scale = a.bitcast(-exponent + BITS_OF_ONE, "float64")
        return k, a.fma(rest, choose(k_bits > 1022, f, 0.0, scale), f)
    return (a.where(subnormal, k - 54.0, k) if precise else k), f


def decompose(x: Value, precise: bool, rest: Value | None = None) -> Decomposition:
    """Take the positive finite float64 ``x + rest`` apart."""
    k, f = split_exponent(x, precise, rest)
    s = f / (f + 2.0)
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


@computed_in_float64
def log2(x: Value, precise: bool) -> Value:
    """Logarithm to base 2.

    Error: float32 0.51 ULP (all inputs), float64 1 ULP.
    """
    return with_logarithm_edges(x, log2_of_positive(x, precise))


@computed_in_float64
def log10(x: Value, precise: bool) -> Value:
    """Logarithm to base 10.

    Error: float32 0.51 ULP (all inputs), float64 1 ULP.
    """
    value = log_in_base(x, precise, (LOG10_E, LOG10_E_TAIL), (LOG10_2_HEAD, LOG10_2_REST))
    return with_logarithm_edges(x, value)


@computed_in_float64
def log1p(x: Value, precise: bool) -> Value:
    """log(1 + x), also where it is small.

    Error: float32 0.51 ULP (all inputs), float64 2 ULP.
    """
    return wide_log1p(x, precise)


def wide_log1p(x: Value, precise: bool) -> Value:
    """``log(1 + x)`` of a float64: the sum is carried with its rounding error."""
    total, error = two_sum(a.constant(x, 1.0), x)
    value = with_logarithm_edges(total, log_of_positive(total, precise, error))
    return a.where(a.abs(x) < 2.0**-60, x, value)
