"""Functions of complex numbers, by way of those of their parts.

The principal branches, with the cut along the negative real axis. Error: a few units in the last
place of the result's magnitude.
"""

from __future__ import annotations

import math

from aten.loops.math.complex_inverse import log
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


def exp(z: Value) -> Value:
    x, y = parts(z)
    growth = real_exp(x)
    return p.complex(product(growth, real_cos(y)), product(growth, real_sin(y), y))


def product(growth: Value, turn: Value, zero: Value | None = None) -> Value:
    """``growth * turn`` but 0 where either is: infinity times sin(0) is 0, and so is 0 times NaN.

    ``zero`` is what has the sign of ``turn`` where that is 0.
    """
    value = a.where(growth == 0.0, a.copysign(growth, turn), growth * turn)
    if zero is None:
        return value
    return a.where(
        zero == 0.0, a.copysign(zero, zero * a.copysign(a.constant(zero, 1.0), growth)), value
    )


def exp2(z: Value) -> Value:
    return exp(scaled(z, math.log(2.0)))


def expm1(z: Value) -> Value:
    """The real part is ``expm1(x) cos(y) + (cos(y) - 1)``; the last by the half angle's sine."""
    x, y = parts(z)
    half_sine = real_sin(y * 0.5)
    real = real_expm1(x) * real_cos(y) - 2.0 * half_sine * half_sine
    return p.complex(real, p.imag(exp(z)))


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
    x, y = parts(z)
    real = a.where(x == 0.0, x, real_sinh(x) * real_cos(y))
    return p.complex(real, product(real_cosh(x), real_sin(y), y))


def cosh(z: Value) -> Value:
    x, y = parts(z)
    return p.complex(real_cosh(x) * real_cos(y), product(real_sinh(x), real_sin(y), y))


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
    return p.complex(real, a.where(infinite, a.copysign(zero, y), real_sin(turn) / divisor))


def sin(z: Value) -> Value:
    return -times_i(sinh(times_i(z)))


def cos(z: Value) -> Value:
    return cosh(times_i(z))


def tan(z: Value) -> Value:
    return -times_i(tanh(times_i(z)))


def sigmoid(z: Value) -> Value:
    return 1.0 / (exp(-z) + 1.0)


def pow(z: Value, w: Value) -> Value:
    """exp(w log z); 0 to any power but 0 is 0."""
    one = z.interpreter.constant(1.0, z.dtype)
    power = a.where(z == 0.0, z, exp(w * log(z)))
    return a.where(w == 0.0, one, power)
