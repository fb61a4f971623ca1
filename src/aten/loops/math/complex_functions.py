"""Functions of complex numbers, by way of those of their parts.

The principal branches, with the cut along the negative real axis. Error: a few units in the last
place of the result's magnitude.
"""

from __future__ import annotations

import math

from aten.loops.math.building_blocks import choose
from aten.loops.math.complex_inverse import is_infinite, log
from aten.loops.math.exponential import exp as real_exp
from aten.loops.math.exponential import expm1 as real_expm1
from aten.loops.math.hyperbolic import cosh as real_cosh
from aten.loops.math.hyperbolic import sinh as real_sinh
from aten.loops.math.trigonometric import cos as real_cos
from aten.loops.math.trigonometric import sin as real_sin
from aten.prims import Value
from aten.prims import arithmetic as a
from aten.prims import elementwise as p


def parts(z: Value) -> tuple[Value, Value]:
    return p.real(z), p.imag(z)


def times_i(z: Value) -> Value:
    x, y = parts(z)
    return p.complex(-y, x)


def scaled(z: Value, factor: float) -> Value:
    """Part by part: a product of complex numbers would turn infinity times 0 into NaN."""
    x, y = parts(z)
    return p.complex(x * factor, y * factor)


def directionless(x: Value, turn: Value) -> Value:
    """Whether an infinite ``x`` says how large a result is, and no angle where it lies."""
    return (a.abs(x) == math.inf) & (turn != turn)


def exp(z: Value) -> Value:
    """0 where x is -inf, at any angle; real where y is 0."""
    x, y = parts(z)
    growth, cosine, sine = real_exp(x), real_cos(y), real_sin(y)
    lost = directionless(x, cosine)
    side = a.copysign(a.constant(y, 1.0), y)
    imaginary = growth * a.where(lost & (growth == 0.0), side, sine)
    return p.complex(growth * choose(lost, x, 1.0, cosine), a.where(y == 0.0, y, imaginary))


def exp2(z: Value) -> Value:
    return exp(scaled(z, math.log(2.0)))


def expm1(z: Value) -> Value:
    """The real part is ``expm1(x) cos(y) + (cos(y) - 1)``; the last by the half angle's sine."""
    x, y = parts(z)
    half_sine = real_sin(y * 0.5)
    real = real_expm1(x) * real_cos(y) - 2.0 * half_sine * half_sine
    return p.complex(real, a.where(y == 0.0, y, real_exp(x) * real_sin(y)))


def log2(z: Value) -> Value:
    return scaled(log(z), 1.0 / math.log(2.0))


def log10(z: Value) -> Value:
    return scaled(log(z), 1.0 / math.log(10.0))


def sqrt(z: Value) -> Value:
    """The larger part from (|x| + |z|) / 2, where nothing cancels; the other from y / 2."""
    x, y = parts(z)
    large = a.sqrt(a.abs(x) * 0.5 + a.abs(z) * 0.5)
    small = a.where(large == 0.0, large, a.abs(y) * 0.5 / large)
    infinite = a.abs(x) == math.inf
    small = a.where(infinite, a.where(y == y, 0.0 * a.minimum(large, 1.0), y), small)
    tall = a.abs(y) == math.inf
    large, small = a.where(tall, a.abs(y), large), a.where(tall, a.abs(y), small)
    right = x >= 0.0
    return p.complex(a.where(right, large, small), a.copysign(a.where(right, small, large), y))


def rsqrt(z: Value) -> Value:
    return 1.0 / sqrt(z)


def sinh(z: Value) -> Value:
    return hyperbolic_sine(z, math.inf)


def hyperbolic_sine(z: Value, beyond: float) -> Value:
    """Of no sign that C would give, the real part at infinity without an angle is ``beyond``."""
    x, y = parts(z)
    cosine = real_cos(y)
    real = choose(directionless(x, cosine), x, beyond, real_sinh(x) * cosine)
    imaginary = a.where(y == 0.0, y, real_cosh(x) * real_sin(y))
    return p.complex(a.where(x == 0.0, x, real), imaginary)


def cosh(z: Value) -> Value:
    """The imaginary part is 0 where x is, at any angle, and where y is."""
    x, y = parts(z)
    cosine, sine = real_cos(y), real_sin(y)
    real = choose(directionless(x, cosine), x, math.inf, real_cosh(x) * cosine)
    imaginary = choose((x == 0.0) & (sine != sine), x, 0.0, real_sinh(x) * sine)
    side = a.copysign(a.constant(x, 1.0), choose(x != x, x, 1.0, x))
    return p.complex(real, a.where(y == 0.0, y * side, imaginary))


def tanh(z: Value) -> Value:
    """(sinh 2x + i sin 2y) / (cosh 2x + cos 2y), with x limited to where it is 1."""
    x, y = parts(z)
    limited = a.where(a.abs(x) > 20.0, a.copysign(a.constant(x, 20.0), x), x)
    double, turn = limited + limited, y + y
    divisor = real_cosh(double) + real_cos(turn)
    infinite = a.abs(x) == math.inf
    one, zero = a.constant(x, 1.0), a.constant(x, 0.0)
    real = a.where(infinite, a.copysign(one, x), real_sinh(double) / divisor)
    real = a.where(x == 0.0, x, real)
    imaginary = a.where(infinite, a.copysign(zero, y), real_sin(turn) / divisor)
    return p.complex(real, a.where(y == 0.0, y, imaginary))


def sin(z: Value) -> Value:
    return -times_i(hyperbolic_sine(times_i(z), -math.inf))


def cos(z: Value) -> Value:
    return cosh(times_i(z))


def tan(z: Value) -> Value:
    return -times_i(tanh(times_i(z)))


def sigmoid(z: Value) -> Value:
    return 1.0 / (exp(-z) + 1.0)


def pow(z: Value, w: Value) -> Value:
    """exp(w log z), and 1 where w is 0."""
    one = z.interpreter.constant(1.0, z.dtype)
    return a.where(w == 0.0, one, exp(infinite_product(w, log(z))))


def infinite_product(z: Value, w: Value) -> Value:
    """``z w`` as C11, annex G, has it: infinite where a factor is, whatever else is NaN."""
    product = z * w
    real, imaginary = parts(product)
    first, second = is_infinite(*parts(z)), is_infinite(*parts(w))
    lost = (real != real) & (imaginary != imaginary) & (first | second)
    kept = p.complex(*standing(z, first)) * p.complex(*standing(w, second))
    return p.complex(
        a.where(lost, p.real(kept) * math.inf, real),
        a.where(lost, p.imag(kept) * math.inf, imaginary),
    )


def standing(z: Value, infinite: Value) -> tuple[Value, Value]:
    """Parts that tell the direction: 1 for infinity and 0 for numbers beside it, and for NaN."""

    def one(part: Value) -> Value:
        size = choose(part != part, part, 0.0, part)
        size = a.where(infinite, choose(a.abs(part) == math.inf, part, 1.0, part - part), size)
        return a.copysign(choose(size != size, part, 0.0, size), part)

    return one(p.real(z)), one(p.imag(z))
