"""``pow``, ``sqrt`` and ``rsqrt``."""

from __future__ import annotations

import math

from aten.loops.math import coefficients
from aten.loops.math.building_blocks import (
    LOG2_E,
    LOG2_E_TAIL,
    SIGN_BIT,
    choose,
    computed_in_float64,
    exceeds,
    is_float32,
    ordered_two_sum,
    polynomial,
    two_product,
    two_sum,
)
from aten.loops.math.exponential import exp2_of_sum
from aten.loops.math.logarithm import (
    decompose,
    is_unusual,
    log2_of_positive,
    logarithm_edges,
    split_exponent,
)
from aten.prims import Value
from aten.prims import arithmetic as a

# Times the logarithm of a float32 it is far from overflowing a float64.
LARGEST_USUAL_POWER = 2.0**100
THIRD = 1.0 / 3.0
THIRD_TAIL = 1.850371707708594e-17  # 1/3 - THIRD


def sqrt(x: Value) -> Value:
    """The square root.

    Of the usual float32s without the processor's own operation, which takes longer than all this:
    a root and half its inverse from an estimate (Goldschmidt 1964), then what the root's square
    lacks (Markstein 1990), which is a normal number from 2^-100 on.

    Error: 0.5 ULP.
    """
    if not is_float32(x):
        return a.sqrt(x)
    inverse = a.rsqrt_estimate(x)
    root, half = x * inverse, inverse * 0.5
    step = a.fma(-root, half, a.constant(x, 0.5))
    root, half = a.fma(root, step, root), a.fma(half, step, half)
    usual = a.fma(a.fma(-root, root, x), half, root)
    return a.shortcut(is_unusual(x, 2.0**-100), a.sqrt(x), usual)


def rsqrt(x: Value) -> Value:
    """1 / sqrt(x): a first approximation, then one step of Newton's method on the residual.

    Error: float32 0.58 ULP (all inputs), float64 1 ULP.
    """
    rough = 1.0 / a.sqrt(x)
    if is_float32(x):
        rough = a.where_rare(is_unusual(x), rough, a.rsqrt_estimate(x))
    product, rest = two_product(x, rough)
    residual = a.fma(-product, rough, a.constant(x, 1.0)) - rest * rough
    refined = a.fma(rough * 0.5, residual, rough)
    return a.shortcut(is_unusual(x), a.where((x > 0.0) & (x < math.inf), refined, rough), refined)


def pow(x: Value, y: Value) -> Value:
    """x^y as ``2^(y log2|x|)``, with the special cases of C's ``pow``.

    Error: float32 0.51 ULP (on samples), float64 2 ULP.
    """
    if is_float32(x):
        is_rare = is_unusual(x) | exceeds(y, LARGEST_USUAL_POWER)
        return a.where_rare(is_rare, wide_pow(x, y), pow_of_positive_float32(x, y))
    return wide_pow(x, y)


def pow_of_positive_float32(x: Value, y: Value) -> Value:
    """`pow` of a positive normal float32 to a finite power, computed in float64 to 2^-30."""
    parts = decompose(a.convert(x, "float64"), precise=False)
    logarithm = parts.f - (parts.half_square - parts.correction)
    logarithm = a.fma(logarithm, a.constant(logarithm, LOG2_E), parts.k)
    exponent = a.convert(y, "float64") * logarithm
    return a.convert(exp2_of_sum(exponent, None, precise=False), "float32")


@computed_in_float64
def wide_pow(x: Value, y: Value, precise: bool) -> Value:
    """`pow` of float64s.

    The logarithm and its product with ``y`` are carried in two parts: an absolute error in the
    exponent is a relative one in the result, and the exponent goes up to 1074.
    """
    magnitude = a.abs(x)
    high, low = log2_in_two_parts(magnitude) if precise else (log2_of_positive(magnitude), None)
    high = logarithm_edges(magnitude, high)
    exponent = y * high
    tail = None
    if low is not None:
        error = a.fma(y, high, -exponent) + y * low
        tail = a.where(a.abs(exponent) < 2000.0, error, a.constant(x, 0.0))
    value = choose(magnitude == 1.0, x, 1.0, exp2_of_sum(exponent, tail, precise))
    return with_power_edges(x, y, value)


def with_power_edges(x: Value, y: Value, of_magnitude: Value) -> Value:
    """Put sign, NaN and one where C's ``pow`` has them; ``of_magnitude`` is ``|x|^y``."""
    half = y * 0.5
    fractional = a.trunc(y) != y
    odd = (a.trunc(y) == y) & (a.trunc(half) != half)
    sign = a.where(odd, a.bitcast(x, "int64") & SIGN_BIT, a.bitcast(x, "int64") & 0)
    value = a.bitcast(a.bitcast(of_magnitude, "int64") ^ sign, "float64")
    value = choose((x < 0.0) & (x > -math.inf) & fractional, x, math.nan, value)
    value = a.where((x != x) | (y != y), x + y, value)
    return choose((x == 1.0) | (y == 0.0), x, 1.0, value)


def log2_in_two_parts(x: Value) -> tuple[Value, Value]:
    """The base-2 logarithm of a positive finite float64, with about 65 good bits.

    ``log(1 + f) = 2 atanh(s)`` and ``atanh(s) = s (1 + z/3 + z^2 G(z))`` with ``z = s^2``; all but
    ``G`` is computed in two parts.
    """
    k, f = split_exponent(x, precise=True)
    divisor, divisor_tail = ordered_two_sum(a.constant(x, 2.0), f)
    reciprocal = 1.0 / divisor
    s = f * reciprocal
    s_tail = (a.fma(-s, divisor, f) - s * divisor_tail) * reciprocal
    z, z_tail = two_product(s, s)
    z_tail = z_tail + (s + s) * s_tail
    slope, slope_tail = ordered_two_sum(
        a.constant(x, THIRD), z * polynomial(z, coefficients.LOG_TAIL)
    )
    growth, growth_tail = two_product(z, slope)
    growth_tail = growth_tail + a.fma(z, slope_tail + THIRD_TAIL, z_tail * slope)
    extra, extra_tail = two_product(s, growth)
    extra_tail = extra_tail + a.fma(s, growth_tail, s_tail * growth)
    half_log, half_log_tail = ordered_two_sum(s, extra)
    half_log_tail = half_log_tail + (extra_tail + s_tail)
    scale = a.constant(x, 2.0 * LOG2_E)
    fraction, fraction_tail = two_product(half_log, scale)
    fraction_tail = fraction_tail + a.fma(
        half_log, a.constant(x, 2.0 * LOG2_E_TAIL), half_log_tail * scale
    )
    total, error = two_sum(k, fraction)
    return ordered_two_sum(total, error + fraction_tail)
