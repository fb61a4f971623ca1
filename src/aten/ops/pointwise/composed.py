"""Pointwise operators that are made of others, or that repeat a step until no element needs it."""

from __future__ import annotations

from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.memory import before_write
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.pointwise.stepwise import is_any
from aten.ops.requirements import refusal
from aten.prims import Number, broadcast_shapes
from aten.registry import ops


@op
def ldexp(self: Tensor, other: Tensor) -> Tensor:
    """self * 2^other, in the type of self where that is floating and `other` are whole numbers.

    These are rounded once, as C's ldexp does: 2^other alone may be out of range.
    """
    if not self.is_floating_point() or other.is_floating_point() or other.is_complex():
        return self * ops.aten.pow(2.0, other)
    if other.dtype.kind == "bool":
        raise refusal("ldexp", other.dtype)
    exponent = other.double().clamp(-_BEYOND_FLOAT64, _BEYOND_FLOAT64)
    return _scaled(self.double(), exponent).to(self.dtype)


# No number of float64 is left finite and other than 0 by powers of 2 beyond this one.
_BEYOND_FLOAT64 = 2200.0


def _scaled(number: Tensor, exponent: Tensor) -> Tensor:
    """Of float64: steps of powers that are none too large, downwards such as round but once.

    What the first steps make subnormal is 0 after the last, which is 2^-53 or smaller.
    """
    for _ in range(2):
        step = (exponent > 1023).double() * 1023.0 - (exponent < -1022).double() * 969.0
        number = number * step.exp2()
        exponent = exponent - step
    return number * exponent.exp2()


@op
def float_power(self: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """The power in float64, or in complex128."""
    common = result_type(self, exponent)
    element = DTYPES["complex128" if common.is_complex else "float64"]
    operands: list[Any] = [
        value.to(element) if isinstance(value, Tensor) else value for value in (self, exponent)
    ]
    return ops.aten.pow(*operands)


@op("float_power_")
def float_power_in_place(self: Tensor, exponent: Tensor | Number) -> Tensor:
    """Raises RuntimeError unless the base has the result's dtype."""
    result: Tensor = ops.aten.float_power(before_write(self), exponent)
    if result.dtype is not self.dtype:
        raise RuntimeError(
            f"float_power_: the base has dtype {self.dtype.scalar_type_name}, but the result has "
            f"{result.dtype.scalar_type_name}"
        )
    return self.copy_(result)


@op
def frexp(self: Tensor) -> tuple[Tensor, Tensor]:
    """A mantissa in [1/2, 1) and an int32 exponent: self is mantissa * 2^exponent.

    Zeros, infinities and NaN are their own mantissas, with exponents of 0.
    """
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, not {self.dtype}")
    return ops.fused.frexp_mantissa(self), ops.fused.frexp_exponent(self)


def integers(name: str, self: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Both operands at their common type and shape. Raises NotImplementedError for other types."""
    element = result_type(self, other)
    if element.kind not in ("signed", "unsigned"):
        raise refusal(f"{name}_cpu", element)
    shape = broadcast_shapes([tuple(self.shape), tuple(other.shape)])
    return self.to(element).expand(shape), other.to(element).expand(shape)


@op
def gcd(self: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor, by Euclid's algorithm; 0 of two zeros.

    The least integer has no absolute value: with it, results may be negative.
    """
    return common_divisors(*integers("gcd", self, other))


def common_divisors(self: Tensor, other: Tensor) -> Tensor:
    """What `gcd` gives for operands of one type and shape."""
    right, left = self.abs(), other.abs()
    while is_any(right != 0):
        rest = left.fmod(right.masked_fill(right == 0, 1))
        done = right == 0
        left, right = ops.aten.where(done, left, right), rest.masked_fill(done, 0)
    return left


@op
def lcm(self: Tensor, other: Tensor) -> Tensor:
    """The least common multiple; 0 where an operand is. Products of short integers are whole."""
    left, right = integers("lcm", self, other)
    divisor = ops.aten.gcd.default(left, right)
    quotient = left.floor_divide(divisor.masked_fill(divisor == 0, 1))
    wide = DTYPES["int32"] if left.itemsize < 4 else left.dtype
    return (quotient.to(wide) * right).abs().to(left.dtype)
