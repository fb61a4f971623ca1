"""Bessel functions of orders 0 and 1, and the Airy function.

Near zero a polynomial (with the logarithm that Y and K have there), elsewhere the asymptotic form
with polynomials for its slowly varying factors: Abramowitz and Stegun, Handbook of Mathematical
Functions (1964), chapters 9 and 10. The coefficients are our own. float32 is computed in float64,
so that its error is that of one rounding, but next to zeros of the functions, where an absolute
error of 2^-50 remains; that of float64 is 2^-48 of the larger of the result and its amplitude.
"""

from __future__ import annotations

import math

from aten.loops.math import special_coefficients as coefficients
from aten.loops.math.argument_reduction import reduce_angle
from aten.loops.math.building_blocks import choose, computed_in_float64, polynomial
from aten.loops.math.exponential import scaled_exp
from aten.loops.math.logarithm import log_of_positive
from aten.loops.math.power import rsqrt
from aten.loops.math.trigonometric import (
    cosine_of_reduced,
    is_odd,
    sine_of_reduced,
    with_sign_bit,
)
from aten.prims import Value
from aten.prims import arithmetic as a

TWO_OVER_PI = 2 / math.pi
ROOT_ONE_OVER_PI = math.sqrt(1 / math.pi)
ROOT_HALF = math.sqrt(0.5)
Terms = tuple[float, ...]


def on_interval(x: Value, low: float, high: float, terms: Terms) -> Value:
    """The polynomial fitted over [low, high]; beyond, the value at the end."""
    half, middle = (high - low) / 2, (high + low) / 2
    limited = a.minimum(a.maximum(x, low), high)
    return polynomial((limited - middle) * (1 / half), terms)


def sine_and_cosine(x: Value, precise: bool) -> tuple[Value, Value]:
    """Of an angle ``x >= 0``."""
    angle = reduce_angle(x, precise)
    sine, cosine = sine_of_reduced(angle, precise), cosine_of_reduced(angle, precise)
    odd = is_odd(angle.quadrant)
    return (
        with_sign_bit(a.where(odd, cosine, sine), angle.quadrant << 62),
        with_sign_bit(a.where(odd, sine, cosine), (angle.quadrant + 1) << 62),
    )


def hankel(x: Value, p: Terms, q: Terms) -> tuple[Value, Value]:
    """The amplitudes ``P`` and ``Q`` at ``x >= 8``, both times ``1 / sqrt(pi x)``."""
    inverse = 8.0 / x
    square = inverse * inverse
    scale = rsqrt(x) * ROOT_ONE_OVER_PI
    scale = choose(x == math.inf, x, 0.0, scale)
    return on_interval(square, 0, 1, p) * scale, on_interval(square, 0, 1, q) * inverse * scale


def far_from_zero(x: Value, order: int, precise: bool) -> tuple[Value, Value]:
    """``J`` and ``Y`` of the order at ``x >= 8``; 0 at infinity.

    The cosine of ``x - pi/4`` is ``(cos x + sin x) / sqrt(2)``, and so on.
    """
    terms = (
        (coefficients.BESSEL_P0, coefficients.BESSEL_Q0)
        if order == 0
        else (coefficients.BESSEL_P1, coefficients.BESSEL_Q1)
    )
    p, q = hankel(x, *terms)
    sine, cosine = sine_and_cosine(choose(x == math.inf, x, 8.0, x), precise)
    total, difference = cosine + sine, sine - cosine
    cosine_chi, sine_chi = (total, difference) if order == 0 else (difference, -total)
    return p * cosine_chi - q * sine_chi, p * sine_chi + q * cosine_chi


@computed_in_float64
def bessel_j0(x: Value, precise: bool) -> Value:
    magnitude = a.abs(x)
    near = on_interval(x * x, 0, 64, coefficients.BESSEL_J0)
    return a.where(magnitude < 8.0, near, far_from_zero(magnitude, 0, precise)[0])


@computed_in_float64
def bessel_j1(x: Value, precise: bool) -> Value:
    magnitude = a.abs(x)
    near = magnitude * on_interval(x * x, 0, 64, coefficients.BESSEL_J1)
    value = a.where(magnitude < 8.0, near, far_from_zero(magnitude, 1, precise)[0])
    return a.where(x < 0.0, -value, value)


def with_second_kind_edges(x: Value, value: Value) -> Value:
    """-infinity at 0; the functions of the second kind are complex below."""
    value = choose(x == 0.0, x, -math.inf, value)
    return choose(x < 0.0, x, math.nan, value)


@computed_in_float64
def bessel_y0(x: Value, precise: bool) -> Value:
    square = x * x
    near = on_interval(square, 0, 64, coefficients.BESSEL_Y0)
    first = on_interval(square, 0, 64, coefficients.BESSEL_J0)
    near = a.fma(log_of_positive(x, precise) * TWO_OVER_PI, first, near)
    return with_second_kind_edges(x, a.where(x < 8.0, near, far_from_zero(x, 0, precise)[1]))


@computed_in_float64
def bessel_y1(x: Value, precise: bool) -> Value:
    square = x * x
    first = x * on_interval(square, 0, 64, coefficients.BESSEL_J1)
    regular = x * on_interval(square, 0, 64, coefficients.BESSEL_Y1)
    near = a.fma(log_of_positive(x, precise), first, -1.0 / x) * TWO_OVER_PI + regular
    return with_second_kind_edges(x, a.where(x < 8.0, near, far_from_zero(x, 1, precise)[1]))


def series_of_i(x: Value, order: int) -> Value:
    """``I0(x)`` or ``I1(x)`` for 0 <= x <= 8."""
    terms = coefficients.MODIFIED_I1 if order else coefficients.MODIFIED_I0
    eighth = a.minimum(x, 8.0) * 0.125
    value = polynomial(eighth * eighth, terms)
    return x * value if order else value


def modified_i(x: Value, order: int, *, scaled: bool) -> Value:
    """``I(x)`` for ``x >= 0``, ``scaled`` by ``exp(-x)``. The factor is halved, not to overflow."""
    near = series_of_i(x, order)
    terms = coefficients.MODIFIED_I1_LARGE if order else coefficients.MODIFIED_I0_LARGE
    root = a.where(x == math.inf, 0.0 * a.minimum(x, 8.0), rsqrt(x))
    far = on_interval(8.0 / x, 0, 1, terms) * root
    if scaled:
        return a.where(x < 8.0, near * scaled_exp(-x), far)
    half = scaled_exp(x * 0.5)
    far = choose(x == math.inf, x, math.inf, far * half * half)
    return a.where(x < 8.0, near, far)


@computed_in_float64
def i0(x: Value, precise: bool) -> Value:
    return modified_i(a.abs(x), 0, scaled=False)


@computed_in_float64
def i0e(x: Value, precise: bool) -> Value:
    return modified_i(a.abs(x), 0, scaled=True)


@computed_in_float64
def i1(x: Value, precise: bool) -> Value:
    value = modified_i(a.abs(x), 1, scaled=False)
    return a.where(x < 0.0, -value, value)


@computed_in_float64
def i1e(x: Value, precise: bool) -> Value:
    value = modified_i(a.abs(x), 1, scaled=True)
    return a.where(x < 0.0, -value, value)


modified_bessel_i0, modified_bessel_i1 = i0, i1


def modified_k(x: Value, order: int, *, scaled: bool) -> Value:
    """``K(x)``, ``scaled`` by ``exp(x)``; infinity at 0 and NaN below."""
    square = x * x
    logarithm = log_of_positive(x * 0.5, precise=True)
    if order == 0:
        regular = on_interval(square, 0, 4, coefficients.MODIFIED_K0)
        near = a.fma(-logarithm, series_of_i(x, 0), regular)
    else:
        regular = x * on_interval(square, 0, 4, coefficients.MODIFIED_K1)
        near = a.fma(logarithm, series_of_i(x, 1), regular) + 1.0 / x
    terms = coefficients.MODIFIED_K1_LARGE if order else coefficients.MODIFIED_K0_LARGE
    far = on_interval(2.0 / x, 0, 1, terms) * choose(x == math.inf, x, 0.0, rsqrt(x))
    if scaled:
        near = near * scaled_exp(a.minimum(x, 2.0))
    else:
        half = scaled_exp(x * -0.5)
        far = far * half * half
    value = choose(x == 0.0, x, math.inf, a.where(x <= 2.0, near, far))
    return choose(x < 0.0, x, math.nan, value)


@computed_in_float64
def modified_bessel_k0(x: Value, precise: bool) -> Value:
    return modified_k(x, 0, scaled=False)


@computed_in_float64
def modified_bessel_k1(x: Value, precise: bool) -> Value:
    return modified_k(x, 1, scaled=False)


@computed_in_float64
def scaled_modified_bessel_k0(x: Value, precise: bool) -> Value:
    return modified_k(x, 0, scaled=True)


@computed_in_float64
def scaled_modified_bessel_k1(x: Value, precise: bool) -> Value:
    return modified_k(x, 1, scaled=True)


@computed_in_float64
def spherical_bessel_j0(x: Value, precise: bool) -> Value:
    """sin(x) / x."""
    magnitude = a.abs(x)
    sine, _ = sine_and_cosine(choose(magnitude == math.inf, x, 0.0, magnitude), precise)
    return choose(x == 0.0, x, 1.0, sine / magnitude)


@computed_in_float64
def airy_ai(x: Value, precise: bool) -> Value:
    """Ai(x), of which the decay right of 2 and the oscillation left of -4 are asymptotic forms."""
    center = on_interval(x, -4, 2, coefficients.AIRY_CENTER)
    magnitude = a.maximum(a.abs(x), 1.0)
    root = a.sqrt(magnitude)
    zeta = magnitude * root * (2.0 / 3.0)
    fourth_root = rsqrt(root)
    fraction = (2.0 / magnitude) * a.sqrt(2.0 / magnitude)
    decay = scaled_exp(-zeta) * fourth_root
    right = on_interval(fraction, 0, 1, coefficients.AIRY_RIGHT) * decay
    inverse = 4.0 / magnitude
    cube = inverse * inverse * inverse
    f = on_interval(cube, 0, 1, coefficients.AIRY_F)
    g = on_interval(cube, 0, 1, coefficients.AIRY_G) / zeta
    sine, cosine = sine_and_cosine(choose(zeta == math.inf, x, 8.0, zeta), precise=True)
    wave = (f * (sine + cosine) - g * (cosine - sine)) * ROOT_HALF
    left = wave * fourth_root * ROOT_ONE_OVER_PI
    value = a.where(x < -4.0, left, a.where(x > 2.0, right, center))
    return choose(a.abs(x) == math.inf, x, 0.0, value)
