"""Chebyshev's polynomials of the four kinds, by the angle whose cosine is the argument.

Mason and Handscomb, Chebyshev Polynomials (2002), section 1.2. Beyond [-1, 1] the angle is
imaginary. Negative arguments are mirrored, so that the angle is at most pi/2, where it is accurate.
Zero for negative degrees.

Error: float32 1 ULP of the larger of the result and 1, float64 in proportion to the degree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aten.loops.math.building_blocks import choose, computed_in_float64
from aten.loops.math.hyperbolic import acosh, cosh, sinh
from aten.loops.math.inverse_trigonometric import acos
from aten.loops.math.trigonometric import cos, sin
from aten.prims import Value
from aten.prims import arithmetic as a


@dataclass(frozen=True)
class Angle:
    """The argument's magnitude is ``cos(turn)``, or ``cosh(growth)`` where it is above 1."""

    is_turn: Value
    turn: Value
    growth: Value

    @staticmethod
    def of(x: Value) -> Angle:
        magnitude = a.abs(x)
        one = a.constant(x, 1.0)
        is_turn = magnitude <= 1.0
        return Angle(
            is_turn, acos(a.where(is_turn, magnitude, one)), acosh(a.maximum(magnitude, one))
        )

    def cosine(self, multiple: Value | float) -> Value:
        return a.where(self.is_turn, cos(self.turn * multiple), cosh(self.growth * multiple))

    def sine(self, multiple: Value | float) -> Value:
        return a.where(self.is_turn, sin(self.turn * multiple), sinh(self.growth * multiple))


def mirrored(x: Value, n: Value, magnitude: Value) -> Value:
    """With the sign of ``(-1)^n`` for negative ``x``; 1 for ``n = 0`` and 0 below."""
    half = n * 0.5
    odd = a.trunc(half) != half
    value = a.where((x < 0.0) & odd, -magnitude, magnitude)
    value = choose(n == 0.0, x, 1.0, value)
    return choose(n < 0.0, x, 0.0, value)


Expansion = Callable[[Value, Value], Value]


def of_degree(slope: float, offset: float) -> Callable[[Expansion], Callable[..., Value]]:
    """In float64, of the degree cut to an integer; that of degree 1 is ``slope x + offset``."""

    def decorate(expansion: Expansion) -> Callable[..., Value]:
        @computed_in_float64
        def expand(x: Value, n: Value, precise: bool) -> Value:
            degree = a.trunc(n)
            value = mirrored(x, degree, expansion(x, degree))
            value = a.where(degree == 1.0, x * slope + offset, value)
            return a.where((x != x) & (degree > 0.0), x, value)

        return expand

    return decorate


@of_degree(1.0, 0.0)
def t(x: Value, n: Value) -> Value:
    return Angle.of(x).cosine(n)


@of_degree(2.0, 0.0)
def u(x: Value, n: Value) -> Value:
    angle = Angle.of(x)
    return a.where(a.abs(x) == 1.0, n + 1.0, angle.sine(n + 1.0) / angle.sine(1.0))


@of_degree(2.0, -1.0)
def v(x: Value, n: Value) -> Value:
    return a.where(x < 0.0, ratio_of_sines(x, n), ratio_of_cosines(x, n))


@of_degree(2.0, 1.0)
def w(x: Value, n: Value) -> Value:
    return a.where(x < 0.0, ratio_of_cosines(x, n), ratio_of_sines(x, n))


def ratio_of_cosines(x: Value, n: Value) -> Value:
    angle = Angle.of(x)
    return angle.cosine(n + 0.5) / angle.cosine(0.5)


def ratio_of_sines(x: Value, n: Value) -> Value:
    angle = Angle.of(x)
    return a.where(a.abs(x) == 1.0, n + n + 1.0, angle.sine(n + 0.5) / angle.sine(0.5))
