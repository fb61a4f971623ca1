"""Inverse functions of complex numbers, and logarithms near the unit circle.

Kahan, Branch Cuts for Complex Elementary Functions (1987), for what the functions are on their
cuts and at infinity; Hull, Fairgrieve and Tang, Implementing the Complex Arcsine and Arccosine
Functions Using Exception Handling (1997), for how nothing cancels. Parts are float64 inside.

Error of each part: float32 0.51 ULP, float64 a few ULP.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

from aten.loops.math.building_blocks import PI, choose, two_product, two_sum
from aten.loops.math.inverse_trigonometric import atan2
from aten.loops.math.logarithm import log_of_positive, wide_log1p
from aten.prims import Value
from aten.prims import arithmetic as a
from aten.prims import elementwise as p

LN2 = math.log(2.0)
# Beyond, squares overflow. The asymptotic forms are as good from 2^30 on.
HUGE = 2.0**500
Parts = tuple[Value, Value]


def by_parts(function: Callable[[Value, Value], Parts]) -> Callable[[Value], Value]:
    """A function of a complex number from one of its parts as float64."""

    @wraps(function)
    def of_complex(z: Value) -> Value:
        parts = p.real(z), p.imag(z)
        x, y = (a.convert(part, "float64") for part in parts)
        return p.complex(*(a.convert(part, parts[0].dtype.name) for part in function(x, y)))

    return of_complex


def magnitude(x: Value, y: Value) -> Value:
    """sqrt(x^2 + y^2), of numbers whose squares do not overflow."""
    return a.sqrt(a.fma(x, x, y * y))


def is_infinite(x: Value, y: Value) -> Value:
    return (a.abs(x) == math.inf) | (a.abs(y) == math.inf)


def limited(x: Value, y: Value) -> Parts:
    """Both, or 1 and 1 where one is so large that its square overflows."""
    huge = (a.abs(x) > HUGE) | (a.abs(y) > HUGE)
    return choose(huge, x, 1.0, x), choose(huge, y, 1.0, y)


def direction(x: Value, y: Value) -> Parts:
    """Numbers ``x, y >= 0``, or 1 for those that are infinite and 0 for one beside them."""
    infinite = is_infinite(x, y)

    def kept(value: Value) -> Value:
        standing = choose(value == math.inf, x, 1.0, value - value)
        return a.where(infinite, standing, value)

    return kept(x), kept(y)


def arcsine_parts(x: Value, y: Value) -> tuple[Value, Value, Value]:
    """``|x|``, ``sqrt(A^2 - x^2)`` and ``acosh(A)`` for ``A = (|z + 1| + |z - 1|) / 2``.

    The first two are in the ratio of the arcsine's sine and cosine; the third is its imaginary
    part.
    """
    small_x, small_y = limited(a.abs(x), a.abs(y))
    r, s = magnitude(small_x + 1.0, small_y), magnitude(small_x - 1.0, small_y)
    # Above 1 the square of a small y would be 0.
    s = a.where(small_x == 1.0, small_y, s)
    mean = (r + s) * 0.5
    inside = small_x < 1.0
    square = small_y * small_y
    right, left = r + (small_x + 1.0), s + a.abs(small_x - 1.0)
    # Where x < 1, A - x holds no difference as it stands, and A - 1 has y^2 as a factor; else the
    # other way round. A factor is taken out of the roots: its square might be 0.
    factors = choose(left == 0.0, x, 0.0, 0.5 / right + 0.5 / left)
    doubled = square / right + left
    total = mean + small_x
    root = a.where(small_x <= 1.0, a.sqrt(total * 0.5 * doubled), small_y * a.sqrt(total * factors))
    excess = a.where(inside, square * factors, doubled * 0.5)
    growth = a.where(
        inside,
        small_y * a.sqrt((mean + 1.0) * factors),
        a.sqrt((mean + 1.0) * 0.5 * doubled),
    )
    imaginary = wide_log1p(excess + growth, precise=True)
    huge = (a.abs(x) > HUGE) | (a.abs(y) > HUGE)
    far_x, far_y = direction(a.abs(x), a.abs(y))
    far = log_of_magnitude(a.abs(x), a.abs(y)) + LN2
    return (
        a.where(huge, far_x, small_x),
        a.where(huge, far_y, root),
        a.where(huge, far, imaginary),
    )


def log_of_magnitude(x: Value, y: Value) -> Value:
    """log|z| of numbers ``x, y >= 0``, one of them huge or infinite."""
    larger = a.maximum(x, y)
    ratio = a.minimum(x, y) / larger
    value = log_of_positive(larger, precise=True) + 0.5 * wide_log1p(ratio * ratio, precise=True)
    return choose(is_infinite(x, y), x, math.inf, value)


def wide_asin(x: Value, y: Value) -> Parts:
    opposite, adjacent, imaginary = arcsine_parts(x, y)
    real = a.copysign(atan2(opposite, adjacent), x)
    return a.where(x == 0.0, x, real), a.copysign(imaginary, y)


def wide_acos(x: Value, y: Value) -> Parts:
    adjacent, opposite, imaginary = arcsine_parts(x, y)
    real = choose(x == 0.0, x, PI / 2, atan2(opposite, a.copysign(adjacent, x)))
    return real, a.copysign(imaginary, -y)


def wide_atanh(x: Value, y: Value) -> Parts:
    """log1p(4 x / |1 - z|^2) / 4 and the angle of ``(1 + z) (1 - conj z)`` halved."""
    size = a.abs(x)
    near_x, near_y = limited(size, a.abs(y))
    rest = 1.0 - near_x
    square = near_y * near_y
    real = wide_log1p(near_x * 4.0 / a.fma(rest, rest, square), precise=True) * 0.25
    # Where 1 - x is 0 the square of a small y may be, too.
    beside_pole = log_of_positive(magnitude(near_y, a.constant(x, 2.0)), precise=True)
    beside_pole = (beside_pole - log_of_positive(near_y, precise=True)) * 0.5
    beside_pole = choose(near_y == 0.0, x, math.inf, beside_pole)
    real = a.where((near_x == 1.0) & (near_y < 2.0**-20), beside_pole, real)
    angle = atan2(near_y + near_y, a.fma(rest, near_x + 1.0, -square)) * 0.5
    huge = (size > HUGE) | (a.abs(y) > HUGE)
    larger = a.maximum(size, a.abs(y))
    first, second = size / larger, y / larger
    far = first / larger / (first * first + second * second)
    far = choose(is_infinite(x, y), x, 0.0, far)
    return (
        a.where(x == 0.0, x, a.copysign(a.where(huge, far, real), x)),
        a.copysign(a.where(y == y, choose(huge, x, PI / 2, angle), y), y),
    )


def turned(function: Callable[[Value, Value], Parts]) -> Callable[[Value, Value], Parts]:
    """``-i f(i z)``: the hyperbolic function of a trigonometric one, and back."""

    def of_turned(x: Value, y: Value) -> Parts:
        u, v = function(-y, x)
        return v, -u

    return of_turned


def wide_acosh(x: Value, y: Value) -> Parts:
    real, imaginary = wide_acos(x, y)
    return a.abs(imaginary), a.copysign(real, y)


def wide_log(x: Value, y: Value, excess: Value, size: Value) -> Parts:
    """The logarithm of x + iy, where ``excess`` is ``|z|^2 - 1`` and ``size`` is ``|z|``."""
    near = (size > 0.5) & (size < 2.0)
    return (
        a.where(near, wide_log1p(excess, precise=True) * 0.5, log_of_size(x, y, size)),
        atan2(y, x),
    )


def log_of_size(x: Value, y: Value, size: Value) -> Value:
    value = log_of_positive(size, precise=True)
    value = choose(size == 0.0, x, -math.inf, value)
    value = a.where(size != size, size, value)
    return choose(is_infinite(x, y), x, math.inf, value)


def sum_with_squares(term: Value, x: Value, y: Value) -> Value:
    """``term + x^2 + y^2`` with the errors of all products and sums."""
    first, first_error = two_product(x, x)
    second, second_error = two_product(y, y)
    partial, partial_error = two_sum(term, first)
    total, error = two_sum(partial, second)
    return total + ((error + partial_error) + (first_error + second_error))


@by_parts
def log(x: Value, y: Value) -> Parts:
    large, small = a.maximum(a.abs(x), a.abs(y)), a.minimum(a.abs(x), a.abs(y))
    excess = sum_with_squares(a.constant(x, -1.0), large, small)
    return wide_log(x, y, excess, scaled_magnitude(x, y))


@by_parts
def log1p(x: Value, y: Value) -> Parts:
    excess = sum_with_squares(x + x, x, y)
    real, imaginary = wide_log(x + 1.0, y, excess, scaled_magnitude(x + 1.0, y))
    return a.where((x == 0.0) & (y == 0.0), x, real), imaginary


def scaled_magnitude(x: Value, y: Value) -> Value:
    """|x + iy| without overflow between."""
    return a.abs(p.complex(x, y))


asin, acos, atanh, acosh = (
    by_parts(function) for function in (wide_asin, wide_acos, wide_atanh, wide_acosh)
)
asinh, atan = by_parts(turned(wide_asin)), by_parts(turned(wide_atanh))
