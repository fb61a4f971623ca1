"""How the primitives' results change with their operands: the partial derivatives of each.

`PARTIALS[name](result, *operands)` gives a partial derivative for each operand: a value, a number,
or None for zero. Where a function has no derivative in a point, it is what is usual: zero for the
modulus at zero, one half to each of two equal maxima.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from aten.prims import elementwise as p
from aten.prims.prim import Number, Value

Partial = Value | Number | None
Partials = tuple[Partial, ...]

# Results that are constant between jumps, or no numbers that change: no operand has a derivative.
STEPS = frozenset(
    "floor ceil trunc round eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_not "
    "shift_left shift_right_arithmetic shift_right_logical position".split()
)


def _zero_where(condition: Value, value: Value) -> Value:
    return p.where(condition, value - value, value)


def _pow(result: Value, base: Value, exponent: Value) -> Partials:
    to_base = exponent * p.pow(base, exponent - 1)
    to_exponent = result * p.log(base)
    stays = base == 0 if base.dtype.is_complex else (base == 0) & (exponent >= 0)
    none = base.interpreter.constant(0, base.dtype)
    return p.where(exponent == 0, none, to_base), p.where(stays, none, to_exponent)


def _atan2(result: Value, y: Value, x: Value) -> Partials:
    square = x * x + y * y
    none = x.interpreter.constant(0, x.dtype)
    scale = p.where(square == 0, none, 1 / square)
    return x * scale, -y * scale


def _larger(result: Value, a: Value, b: Value) -> Partials:
    return _share(a > b, a == b, a)


def _smaller(result: Value, a: Value, b: Value) -> Partials:
    return _share(a < b, a == b, a)


def _share(first: Value, equal: Value, like: Value) -> Partials:
    one, none, half = (like.interpreter.constant(number, like.dtype) for number in (1, 0, 0.5))
    mine = p.where(equal, half, p.where(first, one, none))
    return mine, 1 - mine


def _abs(result: Value, a: Value) -> Partials:
    one, none = a.interpreter.constant(1, a.dtype), a.interpreter.constant(0, a.dtype)
    return (p.where(a == 0, none, p.copysign(one, a)),)


def _copysign(result: Value, a: Value, b: Value) -> Partials:
    one, none = a.interpreter.constant(1, a.dtype), a.interpreter.constant(0, a.dtype)
    return p.where(a == 0, none, p.copysign(one, a) * p.copysign(one, b)), None


_ROOT_OF_PI = math.sqrt(math.pi)

PARTIALS: dict[str, Callable[..., Partials]] = {
    "add": lambda r, a, b: (1, 1),
    "sub": lambda r, a, b: (1, -1),
    "mul": lambda r, a, b: (b, a),
    # Not by the result, which others may write to: quotients are often changed in place.
    "div": lambda r, a, b: (1 / b, -a / b / b),
    "fma": lambda r, a, b, c: (b, a, 1),
    "neg": lambda r, a: (-1,),
    "abs": _abs,
    "fmod": lambda r, a, b: (1, -p.trunc(a / b)),
    "sqrt": lambda r, a: (0.5 / r,),
    "rsqrt": lambda r, a: (-0.5 * r * r * r,),
    "copysign": _copysign,
    "minimum": _smaller,
    "maximum": _larger,
    "exp": lambda r, a: (r,),
    "exp2": lambda r, a: (r * math.log(2),),
    "expm1": lambda r, a: (r + 1,),
    "log": lambda r, a: (1 / a,),
    "log2": lambda r, a: (1 / (a * math.log(2)),),
    "log10": lambda r, a: (1 / (a * math.log(10)),),
    "log1p": lambda r, a: (1 / (a + 1),),
    "sin": lambda r, a: (p.cos(a),),
    "cos": lambda r, a: (-p.sin(a),),
    "tan": lambda r, a: (1 + r * r,),
    "asin": lambda r, a: (1 / p.sqrt(1 - a * a),),
    "acos": lambda r, a: (-1 / p.sqrt(1 - a * a),),
    "atan": lambda r, a: (1 / (a * a + 1),),
    "atan2": _atan2,
    "sinh": lambda r, a: (p.cosh(a),),
    "cosh": lambda r, a: (p.sinh(a),),
    "tanh": lambda r, a: (1 - r * r,),
    "asinh": lambda r, a: (1 / p.sqrt(a * a + 1),),
    "acosh": lambda r, a: (1 / (p.sqrt(a - 1) * p.sqrt(a + 1)),),
    "atanh": lambda r, a: (1 / (1 - a * a),),
    "erf": lambda r, a: (2 / _ROOT_OF_PI * p.exp(-(a * a)),),
    "erfc": lambda r, a: (-2 / _ROOT_OF_PI * p.exp(-(a * a)),),
    "ndtr": lambda r, a: (1 / math.sqrt(2 * math.pi) * p.exp(a * a * -0.5),),
    "erfinv": lambda r, a: (_ROOT_OF_PI / 2 * p.exp(r * r),),
    "lgamma": lambda r, a: (p.digamma(a),),
    "pow": _pow,
    "sigmoid": lambda r, a: (r * (1 - r),),
}
# Complex numbers' parts change with both parts of their operand; these are linear over the reals.
REAL_LINEAR: dict[str, Callable[..., Any]] = {"real": p.real, "imag": p.imag}
# Results that change with a complex operand as with no complex derivative.
NOT_HOLOMORPHIC = frozenset({"abs", "real", "imag", "complex"})
