"""Arithmetic, element by element: sums, products, quotients, rounding, signs, powers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from aten._core.base.dtypes import DTYPES, dtype
from aten.ops.definition import converted, op
from aten.ops.requirements import (
    refuse_complex,
    require_alpha,
    require_floating,
    require_inexact,
    require_number,
    require_real,
)
from aten.ops.value_checks import negative_power, zero_divisor
from aten.prims import Number, Prim, Value
from aten.prims import elementwise as p

Types = Mapping[str, dtype]


@op
def add(self: Value, other: Value, *, alpha: Value | Number = 1, types: Types) -> Value:
    require_alpha(types, self.dtype)
    return _plus_multiple(self, other, alpha)


def _plus_multiple(term: Value, factor: Value, multiple: Value | Number) -> Value:
    """`term + factor * multiple`, in floating point rounded once."""
    if isinstance(multiple, Value) and term.dtype.is_floating_point:
        return p.fma(factor, multiple, term)
    return term + factor * multiple


@op
def sub(self: Value, other: Value, *, alpha: Value | Number = 1, types: Types) -> Value:
    _refuse_boolean_subtraction(types)
    require_alpha(types, self.dtype)
    return _plus_multiple(self, -other, alpha) if isinstance(alpha, Value) else self - other * alpha


@op
def rsub(self: Value, other: Value, *, alpha: Value | Number = 1, types: Types) -> Value:
    return sub(other, self, alpha=alpha, types=types)


def _refuse_boolean_subtraction(types: Types) -> None:
    if types["self"].kind == types["other"].kind == "bool":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if "bool" in (types["self"].kind, types["other"].kind):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "Use the `~` or `logical_not()` operator to invert a mask."
        )


@op
def mul(self: Value, other: Value) -> Value:
    return self * other


@op("div", "true_divide", integer_check=zero_divisor)
def div(self: Value, other: Value, *, rounding_mode: str | None = None, types: Types) -> Value:
    if rounding_mode is None:
        return self / other
    if rounding_mode == "floor":
        return floor_divide(self, other, types=types)
    if rounding_mode == "trunc":
        require_number("div_trunc_cpu", self)
        return p.trunc(_step_rounding(types)(self / other))
    raise RuntimeError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"{rounding_mode!r}"
    )


@op(integer_check=zero_divisor)
def floor_divide(self: Value, other: Value, *, types: Types) -> Value:
    """Exact in floating point too: from the remainder, not by rounding the quotient down."""
    require_number("div_floor_cpu", self)
    rounded = _step_rounding(types)
    rest = p.fmod(self, other)
    beyond = (rest != 0) & ((rest < 0) != (other < 0))
    if not self.dtype.is_floating_point:
        quotient = self / other
        return p.where(beyond, quotient - 1, quotient)
    quotient = rounded(rounded(self - rest) / other)
    quotient = p.where(beyond, rounded(quotient - 1), quotient)
    floored = p.floor(quotient)
    floored = p.where(rounded(quotient - floored) > 0.5, rounded(floored + 1), floored)
    floored = p.where(quotient == 0, p.copysign(p.abs(quotient), self / other), floored)
    return p.where(other == 0, self / other, floored)


def _step_rounding(types: Types) -> Callable[[Value], Value]:
    """How each step of a quotient to be rounded is: two tensors of a half type, in that.

    A quotient just below a whole number may round to it. Everything else is computed in the type
    of arithmetic.
    """
    half = types["self"]
    if half is not types["other"] or half.name not in ("float16", "bfloat16"):
        return lambda value: value
    return lambda value: converted(converted(value, half), value.dtype)


@op(integer_check=zero_divisor)
def remainder(self: Value, other: Value) -> Value:
    """The remainder with the sign of the divisor."""
    require_number("remainder_cpu", self)
    rest = p.fmod(self, other)
    return p.where((rest != 0) & ((rest < 0) != (other < 0)), rest + other, rest)


@op(integer_check=zero_divisor)
def fmod(self: Value, other: Value) -> Value:
    require_number("fmod_cpu", self)
    return p.fmod(self, other)


# Powers

# Exponents for which a number as exponent gets code of its own.
_SMALL_EXPONENTS = frozenset({-2, -1, -0.5, 0.5, 1, 2, 3})


@op(integer_check=negative_power, constants={"exponent": _SMALL_EXPONENTS})
def pow(self: Value, exponent: Value | Number) -> Value:
    if not isinstance(exponent, Value):
        return _small_power(self, exponent)
    if self.dtype.kind == "bool":
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if self.dtype.kind in ("float", "complex"):
        return p.pow(self, exponent)
    return _integer_power(self, exponent)


def _small_power(base: Value, exponent: Number) -> Value:
    if exponent in (0.5, -0.5):
        root = p.sqrt(base)
        return root if exponent == 0.5 else 1 / root
    assert isinstance(exponent, (int, float))
    if exponent < 0 and base.dtype.kind in ("signed", "unsigned", "bool"):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    power = base
    for _ in range(1, int(exponent if exponent > 0 else -exponent)):
        power = power * base
    return power if exponent > 0 else 1 / power


def _integer_power(base: Value, exponent: Value) -> Value:
    """By squaring, one step per bit of the exponent; wraps like the product it is.

    A negative exponent gives what the reciprocal truncates to: 0, except for bases 1 and -1.
    """
    bits = 8 * base.dtype.itemsize - (base.dtype.kind == "signed")
    power = one = base.interpreter.constant(1, base.dtype)
    factor, rest = base, exponent
    for _ in range(bits):
        power = power * p.where((rest & 1) != 0, factor, one)
        factor, rest = factor * factor, rest >> 1
    if base.dtype.kind == "unsigned":
        return power
    of_minus_one = p.where((exponent & 1) != 0, base, -base)
    reciprocal = p.where(base == -1, of_minus_one, p.where(base == 1, base, base - base))
    return p.where(exponent < 0, reciprocal, power)


@op
def square(self: Value) -> Value:
    return self * self


@op
def reciprocal(self: Value) -> Value:
    return 1 / self


@op
def rsqrt(self: Value) -> Value:
    return p.rsqrt(self)


@op
def sqrt(self: Value) -> Value:
    return p.sqrt(self)


# Rounding


def _rounded(name: str, prim: Prim, value: Value) -> Value:
    refuse_complex(f"{name} is not supported for complex inputs", value)
    require_number(f"{name}_vml_cpu", value)
    return prim(value)


@op
def ceil(self: Value) -> Value:
    return _rounded("ceil", p.ceil, self)


@op
def floor(self: Value) -> Value:
    return _rounded("floor", p.floor, self)


@op
def trunc(self: Value) -> Value:
    return _rounded("trunc", p.trunc, self)


@op("round")
def round_half_even(self: Value) -> Value:
    return _rounded("round", p.round, self)


@op("round.decimals")
def round_decimals(self: Value, *, decimals: int) -> Value:
    """Scale, round half to even, scale back."""
    require_floating("round_cpu", self)
    digits = max(decimals, -decimals)
    power = 10.0**digits if digits < 309 else math.inf
    return p.round(self / power) * power if decimals < 0 else p.round(self * power) / power


def _constant(like: Value, number: Number) -> Value:
    return like.interpreter.constant(number, like.dtype)


@op
def frac(self: Value) -> Value:
    require_floating("frac_cpu", self)
    return self - p.trunc(self)


# Signs


@op
def abs(self: Value) -> Value:
    if self.dtype.kind == "bool":
        raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'")
    return p.abs(self)


@op
def neg(self: Value) -> Value:
    if self.dtype.kind == "bool":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "Use the `~` or `logical_not()` operator to invert a mask."
        )
    return -self


@op
def sign(self: Value) -> Value:
    """-1, 0 or 1; 0 for NaN."""
    refuse_complex("torch.sign takes real numbers; use torch.sgn for complex ones", self)
    if self.dtype.kind == "bool":
        return self
    return converted(self > 0, self.dtype) - converted(self < 0, self.dtype)


@op
def sgn(self: Value) -> Value:
    """The sign; for complex numbers the number on the unit circle in the same direction."""
    if not self.dtype.is_complex:
        return sign(self)
    size = p.abs(self)
    return p.where(size == 0, self - self, self / converted(size, self.dtype))


@op
def copysign(self: Value, other: Value) -> Value:
    require_real("copysign_cpu", self)
    return p.copysign(self, other)


@op
def nextafter(self: Value, other: Value) -> Value:
    """The next number of the tensor's own type: a step of its bit pattern, away from zero or back.

    From zero the step is the smallest number with the sign of `other`.
    """
    require_floating("nextafter_cpu", self)
    bits = DTYPES[f"int{8 * self.dtype.itemsize}"]
    pattern = p.bitcast(self, dtype=bits)
    left, right = _comparable(self), _comparable(other)
    away = (left < right) == (left > 0)
    moved = p.bitcast(pattern + p.where(away, _constant(pattern, 1), -1), dtype=self.dtype)
    # By a comparison: LLVM takes the sign of a number before it is rounded to a half type, and
    # calls a function that is not there.
    lowest = -(1 << (8 * bits.itemsize - 1))
    signed = p.where(right < 0, _constant(pattern, lowest + 1), _constant(pattern, 1))
    smallest = p.bitcast(signed, dtype=self.dtype)
    moved = p.where(left == 0, smallest, moved)
    moved = p.where(left == right, other, moved)
    return p.where(left != left, self, p.where(right != right, other, moved))


def _comparable(value: Value) -> Value:
    return converted(value, DTYPES["float32"]) if value.dtype.itemsize == 2 else value


# Extremes


def _extreme(name: str, prim: Prim, left: Value, right: Value) -> Value:
    if left.dtype.is_complex:
        raise RuntimeError(f"{name} not implemented for complex tensors.")
    return prim(left, right)


@op
def maximum(self: Value, other: Value) -> Value:
    """NaN if either operand is."""
    return _extreme("maximum", p.maximum, self, other)


@op
def minimum(self: Value, other: Value) -> Value:
    """NaN if either operand is."""
    return _extreme("minimum", p.minimum, self, other)


@op
def fmax(self: Value, other: Value) -> Value:
    """The other operand where one is NaN."""
    larger = _extreme("fmax", p.maximum, self, other)
    return p.where(self != self, other, p.where(other != other, self, larger))


@op
def fmin(self: Value, other: Value) -> Value:
    """The other operand where one is NaN."""
    smaller = _extreme("fmin", p.minimum, self, other)
    return p.where(self != self, other, p.where(other != other, self, smaller))


# Sums of products


@op
def addcmul(self: Value, tensor1: Value, tensor2: Value, *, value: Value | Number = 1) -> Value:
    if self.dtype.kind == "bool":
        raise NotImplementedError("\"addcmul_cpu_out\" not implemented for 'Bool'")
    return _plus_multiple(self, tensor1 * value, tensor2)


@op
def addcdiv(
    self: Value, tensor1: Value, tensor2: Value, *, value: Value | Number = 1, types: Types
) -> Value:
    if not any(types[name].kind in ("float", "complex") for name in ("tensor1", "tensor2")):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; use "
            "(input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype), or without trunc"
        )
    return self + tensor1 * value / tensor2


@op
def lerp(self: Value, end: Value, weight: Value, types: Types) -> Value:
    """From whichever end is nearer, so that weights 0 and 1 give the ends themselves."""
    require_inexact("lerp_kernel", self)
    if types["self"] is not types["end"]:
        raise RuntimeError(
            f"expected dtype {types['self'].name} for `end` but got dtype {types['end'].name}"
        )
    near = p.abs(weight) < 0.5
    return _plus_multiple(p.where(near, self, end), end - self, p.where(near, weight, weight - 1))
