"""Exponentials: ``exp``, ``exp2``, ``expm1`` and ``sigmoid``.

All of them write ``x = k log(2) + r`` with an integer ``k`` and ``|r| <= log(2)/2`` (Cody and
Waite, Software Manual for the Elementary Functions, 1980), take a polynomial in ``r`` and scale it
by ``2^k``. Adding 1.5 * 2^(mantissa bits) to a small number rounds it to an integer and leaves
that integer in the low bits of the sum, from where a shift brings it into an exponent field.
"""

from __future__ import annotations

from dataclasses import dataclass

from aten.loops.math import coefficients, tables
from aten.loops.math.building_blocks import (
    LOG2_E,
    choose,
    clamp,
    computed_in_float64,
    exceeds,
    is_float32,
    piecewise_polynomial,
    polynomial,
)
from aten.prims import Value
from aten.prims import arithmetic as a

# Up to here the table of the sigmoid goes, and a little further.
SIGMOID_NEAR = 7.5
# From here on it is 1.
SIGMOID_ONE = 20.0
# Up to here its exponential, and the last bit of that, are normal numbers.
SIGMOID_NORMAL = 60.0


@dataclass(frozen=True)
class Layout:
    """What the reduction needs to know of a floating-point format."""

    integer: str
    mantissa_bits: int
    bias: int
    ln2_high: float
    ln2_low: float
    exp_low: float
    exp_high: float
    exp2_low: float
    exp2_high: float
    exp_usual: float

    @property
    def rounder(self) -> float:
        """Puts an integer plus twice the exponent bias into the low bits of the sum."""
        return self.plain_rounder + 2 * self.bias

    @property
    def plain_rounder(self) -> float:
        """Puts an integer there; of the other bits a shift into an exponent leaves none."""
        return 1.5 * 2.0**self.mantissa_bits

    @property
    def exp2_usual(self) -> float:
        """Up to here in magnitude, ``2^x`` and twice and half of it are normal numbers."""
        return float(self.bias - 3)


FLOAT32 = Layout(
    "int32",
    23,
    127,
    0.693147182464599609375,
    -1.904654290582768e-9,
    -104.0,
    89.0,
    -151.0,
    129.0,
    86.0,
)
FLOAT64 = Layout(
    "int64",
    52,
    1023,
    0.6931471805599453,
    2.3190468138462996e-17,
    -746.0,
    710.0,
    -1076.0,
    1025.0,
    706.0,
)


def layout_of(x: Value) -> Layout:
    return FLOAT32 if is_float32(x) else FLOAT64


def scale_by_rounded(value: Value, rounded: Value, halvings: int = 0) -> Value:
    """``value * 2^(k - halvings)``, where ``rounded`` is ``k + layout.rounder``.

    Two factors, so that the result may be subnormal (with one rounding) or as large as it can.
    """
    layout = layout_of(value)
    bits = a.bitcast(rounded, layout.integer)
    if halvings:
        bits = bits - halvings
    half = bits >> 1
    first = a.bitcast(half << layout.mantissa_bits, value.dtype.name)
    second = a.bitcast((bits - half) << layout.mantissa_bits, value.dtype.name)
    return value * first * second


def shifted_exponent(value: Value, rounded: Value) -> Value:
    """``value * 2^k``, both normal numbers, where ``rounded`` is ``k + layout.plain_rounder``."""
    layout = layout_of(value)
    exponent = a.bitcast(rounded, layout.integer) << layout.mantissa_bits
    return a.bitcast(a.bitcast(value, layout.integer) + exponent, value.dtype.name)


def power_of_two(rounded: Value) -> Value:
    """``2^k`` where ``rounded`` is ``k + layout.rounder`` and ``2^k`` is a normal number."""
    layout = layout_of(rounded)
    bits = a.bitcast(rounded, layout.integer)
    return a.bitcast((bits - layout.bias) << layout.mantissa_bits, rounded.dtype.name)


def reduce_by_ln2(x: Value, plain: bool = False) -> tuple[Value, Value]:
    """``r`` and ``k + layout.rounder``, or the plain one, with ``x = k log(2) + r``."""
    layout = layout_of(x)
    rounder = a.constant(x, layout.plain_rounder if plain else layout.rounder)
    rounded = a.fma(x, a.constant(x, LOG2_E), rounder)
    k = rounded - rounder
    r = a.fma(k, a.constant(x, -layout.ln2_high), x)
    return a.fma(k, a.constant(x, -layout.ln2_low), r), rounded


def exp_terms(x: Value, precise: bool) -> tuple[float, ...]:
    """The coefficients of ``P`` in ``exp(r) = 1 + r + r^2 P(r)``."""
    if is_float32(x):
        return coefficients.EXP_FLOAT32
    return coefficients.EXP if precise else coefficients.EXP_SHORT


def exp_minus_one_of_reduced(r: Value, precise: bool) -> Value:
    """``exp(r) - 1`` for ``|r| <= log(2)/2``."""
    return a.fma(r * r, polynomial(r, exp_terms(r, precise)), r)


def apart_from_zeros(x: Value, low: float, high: float) -> tuple[Value, Value]:
    """Whether ``x`` is below `low`, and ``x`` up to `high`, or 0 there.

    Where a power is zero, it is not computed: a processor takes a hundred times as long for a
    product that underflows, and masks are full of minus infinity.
    """
    is_zero = x < low
    limited = choose(is_zero, x, 0.0, x)
    return is_zero, choose(limited > high, x, high, limited)


def scaled_exp(x: Value, precise: bool = True, halvings: int = 0) -> Value:
    """``exp(x) / 2^halvings``; overflows and underflows where the quotient does.

    When not ``precise``, where it would as a float32.
    """
    if not precise:
        return scaled_exp_of_float32(x, halvings)
    layout = layout_of(x)
    terms = (1.0, 1.0, *exp_terms(x, precise))
    is_zero, limited = apart_from_zeros(x, layout.exp_low, layout.exp_high + halvings)
    r, rounded = reduce_by_ln2(limited)
    general = scale_by_rounded(polynomial(r, terms), rounded, halvings)
    general = choose(is_zero, x, 0.0, general)
    if halvings:
        return general
    r, rounded = reduce_by_ln2(x, plain=True)
    usual = shifted_exponent(polynomial(r, terms), rounded)
    return a.shortcut(exceeds(x, layout.exp_usual), general, usual)


def scaled_exp_of_float32(x: Value, halvings: int) -> Value:
    """`scaled_exp` in float64, of which neither the range nor the last bits are needed."""
    limited = clamp(x, FLOAT32.exp_low - 8.0, FLOAT32.exp_high + 8.0)
    rounded, r = reduce_by_ln2_short(limited, FLOAT64.rounder - halvings)
    return polynomial(r, (1.0, 1.0, *coefficients.EXP_SHORT)) * power_of_two(rounded)


def reduce_by_ln2_short(x: Value, rounder: float) -> tuple[Value, Value]:
    """``k + rounder`` and ``r`` of a float64 that is to be a float32."""
    rounded = a.fma(x, a.constant(x, LOG2_E), a.constant(x, rounder))
    return rounded, a.fma(rounded - rounder, a.constant(x, -FLOAT64.ln2_high), x)


def exp(x: Value) -> Value:
    """e^x.

    Error: float32 0.90 ULP (all inputs), float64 1 ULP.
    """
    return scaled_exp(x)


def exp2(x: Value) -> Value:
    """2^x; the reduction ``x - k`` is exact.

    Error: float32 0.91 ULP (all inputs), float64 1 ULP.
    """
    return exp2_of_sum(x, None, precise=True)


def exp2_of_sum(x: Value, tail: Value | None, precise: bool) -> Value:
    """``2^(x + tail)``, where the tail is at most a few units in the last place of ``x``.

    When not ``precise``, a float64 that is as good as infinite or zero as a float32 may be so
    earlier.
    """
    terms: tuple[float, ...]
    if is_float32(x):
        terms = coefficients.EXP2_FLOAT32
    else:
        terms = coefficients.EXP2 if precise else coefficients.EXP2_SHORT

    def reduced(limited: Value, rounder: float) -> tuple[Value, Value]:
        rounded = limited + a.constant(x, rounder)
        r = limited - (rounded - rounder)
        return polynomial(r if tail is None else r + tail, (1.0, *terms)), rounded

    wide = precise or is_float32(x)
    layout = layout_of(x)
    limits = layout if wide else FLOAT32
    if not wide:
        value, rounded = reduced(clamp(x, limits.exp2_low, limits.exp2_high), layout.rounder)
        return value * power_of_two(rounded)
    is_zero, limited = apart_from_zeros(x, limits.exp2_low, limits.exp2_high)
    general = choose(is_zero, x, 0.0, scale_by_rounded(*reduced(limited, layout.rounder)))
    if tail is not None:
        return general
    usual = shifted_exponent(*reduced(x, layout.plain_rounder))
    return a.shortcut(exceeds(x, layout.exp2_usual), general, usual)


def wide_expm1(x: Value, precise: bool) -> Value:
    """``exp(x) - 1`` of a float64 as ``2^k (exp(r) - 1) + (2^k - 1)``, both parts halved.

    Halving keeps ``2^k`` finite at the upper end. Arguments so small that it would cost bits of
    the result are their own result.
    """
    if not precise:
        return expm1_of_float32(x)
    r, rounded = reduce_by_ln2(clamp(x, -40.0, 710.0))
    half_scale = power_of_two(rounded - 1.0)
    half = a.fma(half_scale, exp_minus_one_of_reduced(r, precise), half_scale - 0.5)
    return a.where(a.abs(x) < 2.0**-60, x, half + half)


def expm1_of_float32(x: Value) -> Value:
    """`wide_expm1` in float64, of which neither the range nor the last bits are needed."""
    rounded, r = reduce_by_ln2_short(clamp(x, -40.0, FLOAT32.exp_high + 8.0), FLOAT64.rounder)
    scale = power_of_two(rounded)
    # A zero keeps its sign: it is a factor, and what is subtracted from it is 0.
    growth = polynomial(r, (1.0, *coefficients.EXP_SHORT)) * r
    return a.fma(scale, growth, -(1.0 - scale))


@computed_in_float64
def expm1(x: Value, precise: bool) -> Value:
    """e^x - 1, also where it is small.

    Error: float32 0.51 ULP (all inputs), float64 2 ULP.
    """
    return wide_expm1(x, precise)


def sigmoid(x: Value) -> Value:
    """1 / (1 + e^-x), written with e^-|x| so that nothing overflows.

    Error: float32 0.89 ULP (all inputs), float64 3 ULP.
    """
    if is_float32(x):
        is_far, near = exceeds(x, SIGMOID_NEAR), sigmoid_near_zero_float32(x)
        # What is right far out is not near zero: loops that do not test take this choice.
        return a.where_rare(is_far, a.where(is_far, sigmoid_far_out_float32(x), near), near)
    decay = scaled_exp(-a.abs(x))
    return choose(x >= 0.0, x, 1.0, decay) / (decay + 1.0)


def sigmoid_by_division(x: Value) -> Value:
    """`sigmoid` without tables, for processors on which a look-up takes many instructions.

    ``e^-|x|`` is a sum of two parts, and what the quotient lacks of the exact one is added to it.

    Error: float32 0.9 ULP.
    """
    if not is_float32(x):
        return sigmoid(x)
    is_far = exceeds(x, SIGMOID_NORMAL)
    decay, tail = exp_in_two_parts(-a.abs(x))
    one, zero, is_positive = a.constant(x, 1.0), a.constant(x, 0.0), x >= 0.0
    whole = decay + 1.0
    whole_tail = (1.0 - whole) + decay + tail
    part, part_tail = a.where(is_positive, one, decay), a.where(is_positive, zero, tail)
    share = part / whole
    lacking = a.fma(-share, whole, part) + a.fma(-share, whole_tail, part_tail)
    near = a.fma(lacking, a.where(is_positive, share, 1.0 - share), share)
    return a.where_rare(is_far, a.where(is_far, sigmoid_far_out_float32(x), near), near)


def exp_in_two_parts(x: Value) -> tuple[Value, Value]:
    """``e^x`` of a float32 and what it lacks, where the power of two is a normal number."""
    r, rounded = reduce_by_ln2(x)
    slope, scale = polynomial(r, (1.0, *coefficients.EXP_FLOAT32)), power_of_two(rounded)
    exp_r = a.fma(r, slope, a.constant(x, 1.0))
    return exp_r * scale, a.fma(r, slope, 1.0 - exp_r) * scale


def sigmoid_near_zero_float32(x: Value) -> Value:
    """``1 / (1 + e^-x)`` up to `SIGMOID_NEAR`, by polynomials on 32 intervals."""
    rounded = a.fma(x, a.constant(x, 2.0), a.constant(x, FLOAT32.plain_rounder))
    place = a.bitcast(rounded, "int32")
    return piecewise_polynomial(x, place, tables.SIGMOID_CENTERS, tables.SIGMOID_TERMS)


def sigmoid_far_out_float32(x: Value) -> Value:
    """``1 / (1 + e^-x)`` beyond `SIGMOID_NEAR`, where a few powers of ``e^-|x|`` are enough.

    For negative numbers the exponential's own error is all there is room for, so it is a sum of two
    parts. For others, 1 is reached early, and what underflows is not computed.
    """
    is_zero = x < FLOAT32.exp_low
    limited = choose(is_zero, x, 0.0, choose(x > SIGMOID_ONE, x, SIGMOID_ONE, x))
    r, rounded = reduce_by_ln2(-a.abs(limited))
    one, slope = a.constant(x, 1.0), polynomial(r, (1.0, *coefficients.EXP_FLOAT32))
    exp_r = a.fma(r, slope, one)
    exp_tail = a.fma(r, slope, 1.0 - exp_r)
    decay = scale_by_rounded(exp_r, rounded)
    share = decay * (1.0 - decay)
    lower = scale_by_rounded(exp_r + a.fma(-exp_r, share, exp_tail), rounded)
    return a.where(x < 0.0, choose(is_zero, x, 0.0, lower), 1.0 - share)
