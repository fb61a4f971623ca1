"""Reduction of an angle to a quadrant and a remainder, exact for every finite argument.

Nothing is looked up in memory. A float32 is multiplied by 1/(2 pi) in parts so short that the
products are exact, and whole turns are taken off each product. A float64 has too many bits for
that: up to 2^20 it is reduced after Cody and Waite (1980), beyond after Payne and Hanek (1983) in
integers, where the needed bits of 2/pi are chosen by a tree of selects.
"""

from __future__ import annotations

from dataclasses import dataclass

from aten.loops.math.building_blocks import (
    PI,
    ordered_two_sum,
    two_product,
    two_sum,
)
from aten.loops.math.coefficients import TURN_CHUNKS, TWO_OVER_PI_WORDS
from aten.prims import Value
from aten.prims import arithmetic as a

TWO_OVER_PI = 0.6366197723675814
# pi/2 in three parts of 53 bits
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# The same in three parts of 24 bits, none of them negative
HALF_PI_FLOAT32 = (1.5707962512969971, 7.549789415861596e-08, 5.390302953474238e-15)
ROUNDER = 1.5 * 2.0**52
ROUNDER_FLOAT32 = 1.5 * 2.0**23
LOW_WORD = 0xFFFFFFFF
# From here on a float64 is far.
FAR = 2.0**20
# From so many multiples of pi/2 on, a float32 is.
FAR_FLOAT32 = 2.0**17
# What the bits of a float have from 2 on
_FROM_TWO_ON = 1 << 30


@dataclass(frozen=True)
class Angle:
    """``quadrant * pi/2 + r + tail`` with |r| <= pi/4, but for whole turns.

    The quadrant is an integer of which only the two lowest bits count.
    """

    quadrant: Value
    r: Value
    tail: Value


@dataclass(frozen=True)
class NearAngle:
    """``step * pi/(2 steps) + r - excess``, |r| at most half a step, unless it ``is_far``.

    Only the lowest bits of the integer ``step`` count: those of a period.
    """

    step: Value
    r: Value
    excess: Value
    is_far: Value


def reduce_angle(x: Value, precise: bool) -> Angle:
    """Reduce a float64 angle ``x >= 0``; when not ``precise``, one that is a float32 too."""
    if not precise:
        return reduce_by_exact_products(x)
    near = reduce_near(x)
    far = reduce_far(x)
    is_near = x < FAR
    return Angle(
        a.where(is_near, near.quadrant, far.quadrant),
        a.where(is_near, near.r, far.r),
        a.where(is_near, near.tail, far.tail),
    )


def reduce_by_exact_products(x: Value) -> Angle:
    """For arguments of 24 bits: 24 + 29 bits are a float64.

    The sum of the fractions tells the quadrant; taking the quadrant off the leading fraction before
    summing again leaves a remainder with all its bits, however small it is.
    """
    fractions = []
    for chunk in TURN_CHUNKS:
        turns = x * chunk
        fractions.append(turns - a.round(turns))
    total = fractions[0]
    for fraction in fractions[1:]:
        total = total + fraction
    rounded = a.fma(total, a.constant(x, 4.0), a.constant(x, ROUNDER))
    remainder = a.fma(rounded - ROUNDER, a.constant(x, -0.25), fractions[0])
    for fraction in fractions[1:]:
        remainder = remainder + fraction
    return Angle(a.bitcast(rounded, "int64"), remainder * (2.0 * PI), a.constant(x, 0.0))


def reduce_near(x: Value) -> Angle:
    """Subtract a multiple of pi/2 in three parts; the first difference is exact."""
    rounded = a.fma(x, a.constant(x, TWO_OVER_PI), a.constant(x, ROUNDER))
    k = rounded - ROUNDER
    first = a.fma(k, a.constant(x, -HALF_PI[0]), x)
    second, second_error = two_product(k, a.constant(x, -HALF_PI[1]))
    r, error = two_sum(first, second)
    tail = a.fma(k, a.constant(x, -HALF_PI[2]), error + second_error)
    r, tail = ordered_two_sum(r, tail)
    return Angle(a.bitcast(rounded, "int64"), r, tail)


def reduce_near_float32(x: Value, steps: int, first_step: int = 0) -> NearAngle:
    """`reduce_near` of a float32 by one of ``steps`` parts of pi/2; the first difference is exact.

    So is what the second one takes away: where it cancels, the first has few bits. ``first_step``
    is added to the step. A zero keeps its sign, and its excess is +0, so that sums that take the
    excess off do so, too.

    The step is counted in units that make `FAR_FLOAT32` the number 2: of near angles one bit is
    never set, which is the cheapest to test, many at a time.
    """
    unit = 2.0 / (FAR_FLOAT32 * steps)
    rounder = (ROUNDER_FLOAT32 + first_step) * unit
    rounded = a.fma(x, a.constant(x, TWO_OVER_PI * steps * unit), a.constant(x, rounder))
    count = rounded - rounder
    high, middle, low = (a.constant(x, part / steps / unit) for part in HALF_PI_FLOAT32)
    first = a.fma(-count, high, x)
    r = first - count * middle
    excess = a.fma(count, low, a.fma(count, middle, r - first))
    is_far = (a.bitcast(count, "int32") & _FROM_TWO_ON) != 0
    return NearAngle(a.bitcast(rounded, "int32"), r, excess, is_far)


def reduce_far(x: Value) -> Angle:
    """Payne and Hanek: ``x 2/pi`` modulo 4 as a fixed-point number with 126 bits of fraction."""
    bits = a.bitcast(x, "int64")
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    # x = mantissa * 2^(exponent - 1075); bits of 2/pi above the units of 4 do not matter.
    exponent = bits >> 52
    window = bits_of_two_over_pi(exponent - (1075 + 2 - 64))
    words = product_words(mantissa, window)
    upper = words[3]
    quadrant = ((upper + (1 << 29)) >> 30) & 3
    upper = upper - (quadrant << 30)
    # A quadrant of 4 is one of 0: the remainder is then negative.
    upper = a.where(upper > (1 << 30), upper - (1 << 32), upper)
    parts = [
        small_integer_to_float(word) * 2.0 ** (-30 - 32 * i)
        for i, word in enumerate([upper, *reversed(words[:3])])
    ]
    high, error = ordered_two_sum(parts[0], parts[1])
    low = error + (parts[2] + parts[3])
    high, low = ordered_two_sum(high, low)
    r, tail = two_product(high, a.constant(x, HALF_PI[0]))
    tail = tail + a.fma(high, a.constant(x, HALF_PI[1]), low * HALF_PI[0])
    nan_if_infinite = x - x
    return Angle(quadrant, r + nan_if_infinite, tail)


def small_integer_to_float(integer: Value) -> Value:
    """An int64 below 2^51 in magnitude as float64."""
    return a.bitcast(integer + 0x4338000000000000, "float64") - ROUNDER


def bits_of_two_over_pi(position: Value) -> list[Value]:
    """192 bits from a bit position on, as three words."""
    index, shift = position >> 6, position & 63
    words: list[Value] = [a.constant(position, word) for word in TWO_OVER_PI_WORDS]
    for step in (16, 8, 4, 2, 1):
        chosen = (index & step) != 0
        # After this step the index is below `step`, and four words from there are used.
        words = [
            a.where(chosen, words[i + step], words[i]) if i + step < len(words) else words[i]
            for i in range(min(step + 3, len(words)))
        ]
    return [
        (words[i] << shift)
        | a.shift_right_logical(a.shift_right_logical(words[i + 1], 1), 63 - shift)
        for i in range(3)
    ]


def product_words(mantissa: Value, window: list[Value]) -> list[Value]:
    """The upper four 32-bit words, lowest first, of ``mantissa * window`` modulo 2^192.

    What the words below would carry is left out but for the next one: it is too little to matter.
    """
    m_low, m_high = mantissa & LOW_WORD, mantissa >> 32
    window_words = [
        word
        for value in reversed(window)
        for word in (value & LOW_WORD, a.shift_right_logical(value, 32))
    ]
    low_products = [word * m_low for word in window_words]
    high_products = [word * m_high for word in window_words]
    words: list[Value] = []
    carry: Value | None = None
    for column in range(2, 6):
        total = (low_products[column] & LOW_WORD) + (high_products[column - 1] & LOW_WORD)
        total = total + a.shift_right_logical(low_products[column - 1], 32)
        total = total + a.shift_right_logical(high_products[column - 2], 32)
        if carry is not None:
            total = total + carry
        words.append(total & LOW_WORD)
        carry = a.shift_right_logical(total, 32)
    return words
