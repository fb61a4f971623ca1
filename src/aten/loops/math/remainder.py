"""The remainder of a division."""

from __future__ import annotations

import math

from aten.loops.math.building_blocks import bits_of, integer_of, is_float32
from aten.prims import Value
from aten.prims import arithmetic as a


def fmod(x: Value, y: Value) -> Value:
    """``x - n y`` with the integer ``n = x / y`` rounded toward zero; it has the sign of ``x``.

    Exact. The rounded quotient is ``n`` or, where the exact one is just below an integer, one
    more; either gives a remainder without rounding as long as it has no more bits than a mantissa.
    Larger quotients, and divisors that are not finite or too small, go the long way. A remainder by
    zero, or of an infinity, comes out as NaN by itself.
    """
    mantissa_bits = 23 if is_float32(x) else 52
    dividend, divisor = a.abs(x), a.abs(y)
    rest = a.fma(-a.trunc(dividend / divisor), divisor, dividend)
    rest = a.where(rest < 0.0, rest + divisor, rest)
    integer = integer_of(x)
    dividend_bits, divisor_bits = a.bitcast(dividend, integer), a.bitcast(divisor, integer)
    largest = bits_of(math.inf, x) - 1
    least_normal = 1 << mantissa_bits
    is_long = (
        (dividend_bits - divisor_bits > (mantissa_bits - 1) << mantissa_bits)
        | (divisor_bits > largest)
        | (-divisor_bits > -least_normal)
    ) & (divisor > 0.0)
    return a.where_rare(is_long, a.fmod(x, y), a.copysign(rest, x))
