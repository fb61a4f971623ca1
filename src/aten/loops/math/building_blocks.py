"""What the expansions of the math functions have in common.

Everything here is straight-line arithmetic on `aten.prims` values: no branches, and no tables but
those of `lookup`, which fit in registers, so that a loop over it is vectorized by any backend. The
backends must not contract, reassociate or otherwise change it: the error terms below are what a
fast-math optimizer would throw away.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import wraps

from aten.prims import Value
from aten.prims import arithmetic as a

SIGN_BIT = -(1 << 63)  # of the bits of a float64
LOG2_E = 1.4426950408889634
LOG2_E_TAIL = 2.0355273740931033e-17  # log2(e) - LOG2_E
PI = 3.141592653589793
PI_TAIL = 1.2246467991473532e-16  # pi - PI

# Coefficients from which on a polynomial of float64 is split.
_LONG = 8


def is_float32(x: Value) -> bool:
    return bool(x.dtype.name == "float32")


def constant(like: Value, number: float) -> Value:
    return a.constant(like, number)


def choose(condition: Value, like: Value, number: float, otherwise: Value) -> Value:
    """``number`` (as a constant of the dtype of ``like``) where the condition holds."""
    return a.where(condition, a.constant(like, number), otherwise)


def clamp(x: Value, low: float, high: float) -> Value:
    """``x`` limited to [low, high]; NaN stays NaN."""
    raised = choose(x < low, x, low, x)
    return choose(raised > high, x, high, raised)


def exceeds(x: Value, limit: float) -> Value:
    """Whether |x| is above `limit`, or x is NaN: a comparison of integers, the cheapest to fold."""
    return a.bitcast(a.abs(x), integer_of(x)) > bits_of(limit, x)


def integer_of(x: Value) -> str:
    """The integer type as wide as ``x``."""
    return "int32" if is_float32(x) else "int64"


def bits_of(number: float, like: Value) -> int:
    """The bits of a constant of the dtype of ``like``, as a signed integer."""
    floating, integer = ("<f", "<i") if is_float32(like) else ("<d", "<q")
    bits: int = struct.unpack(integer, struct.pack(floating, number))[0]
    return bits


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's rule, coefficients lowest power first.

    Long ones of a float64 are summed by even and odd powers from the third term on, which takes
    half the time where nothing else is there to compute meanwhile (Knuth 2, 4.6.4).
    """
    if is_float32(x) or len(coefficients) < _LONG:
        return horner(x, coefficients)
    upper = by_even_and_odd_powers(x, coefficients[2:])
    slope = a.fma(upper, x, a.constant(x, coefficients[1]))
    return a.fma(slope, x, a.constant(x, coefficients[0]))


def by_even_and_odd_powers(x: Value, coefficients: Sequence[float]) -> Value:
    if len(coefficients) < _LONG // 2:
        return horner(x, coefficients)
    square = x * x
    even = by_even_and_odd_powers(square, coefficients[::2])
    odd = by_even_and_odd_powers(square, coefficients[1::2])
    return a.fma(odd, x, even)


def horner(x: Value, coefficients: Sequence[float]) -> Value:
    result = a.constant(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = a.fma(result, x, a.constant(x, coefficient))
    return result


def piecewise_polynomial(
    x: Value, place: Value, centers: tuple[float, ...], terms: Sequence[tuple[float, ...]]
) -> Value:
    """The polynomial of ``x - c`` whose center and coefficients are looked up at ``place``."""
    distance = x - a.lookup(centers, place)
    leading = a.lookup(terms[0], place)
    return a.fma(polynomial_at(place, distance, terms[1:]), distance, leading)


def piecewise_odd_polynomial(
    x: Value, place: Value, centers: tuple[float, ...], terms: Sequence[tuple[float, ...]]
) -> Value:
    """The same for ``x >= 0``, of a function that is about ``x`` where the center is 0.

    There ``x`` itself takes the place of the first term, and the slope is less by 1. Elsewhere that
    term is larger than the distance.
    """
    distance = x - a.lookup(centers, place)
    leading = a.lookup(terms[0], place)
    leading = a.where(distance > leading, distance, leading)
    return a.fma(polynomial_at(place, distance, terms[1:]), distance, leading)


def polynomial_at(place: Value, x: Value, terms: Sequence[tuple[float, ...]]) -> Value:
    """Horner's rule with coefficients looked up at ``place``, tables of lowest power first."""
    result = a.lookup(terms[-1], place)
    for term in reversed(terms[:-1]):
        result = a.fma(result, x, a.lookup(term, place))
    return result


def place_above_one(x: Value) -> Value:
    """Where ``x`` from 0 to 15 stands in tables that go by five bits of ``x + 1``."""
    return a.bitcast(x + 1.0, "int32") >> 20


def computed_in_float64(expansion: Callable[..., Value]) -> Callable[..., Value]:
    """Make an expansion over float64 serve float32 too, by computing it in float64.

    The expansion gets a keyword ``precise``: whether the result is wanted to the last bits of a
    float64, or only so well that it rounds to the nearest float32.
    """

    @wraps(expansion)
    def expand(*values: Value) -> Value:
        if not is_float32(values[0]):
            return expansion(*values, precise=True)
        wide = [a.convert(value, "float64") for value in values]
        return a.convert(expansion(*wide, precise=False), "float32")

    return expand


def two_sum(x: Value, y: Value) -> tuple[Value, Value]:
    """``x + y`` rounded, and the rounding error (Knuth, The Art of Computer Programming 2)."""
    total = x + y
    from_y = total - x
    return total, (x - (total - from_y)) + (y - from_y)


def ordered_two_sum(x: Value, y: Value) -> tuple[Value, Value]:
    """`two_sum` for |x| >= |y| (Dekker 1971)."""
    total = x + y
    return total, y - (total - x)


def two_product(x: Value, y: Value) -> tuple[Value, Value]:
    """``x * y`` rounded, and the rounding error."""
    product = x * y
    return product, a.fma(x, y, -product)
