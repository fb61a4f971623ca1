"""Floating-point numbers taken apart: operators of the namespace `fused`, which `frexp` calls."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from aten.prims import Value
from aten.prims import arithmetic as a


class _Parts(NamedTuple):
    """A number as a wider type may hold it, its bits once it is normal, and what it is."""

    number: Value
    bits: Value
    is_small: Value
    is_whole: Value
    mantissa_bits: int


# By which the smallest numbers are multiplied, as a power of 2.
_RAISED = 60


def _parts_of(self: Value) -> _Parts:
    """Numbers below the least normal one are scaled first. Whole are zeros, infinities and NaN."""
    double = self.dtype.name == "float64"
    number = self if double else a.convert(self, "float32")
    mantissa_bits, least = (52, 2.0**-1022) if double else (23, 2.0**-126)
    size = a.abs(number)
    is_small = size < least
    normal = a.where(is_small, number * 2.0**_RAISED, number)
    bits = a.bitcast(normal, "int64" if double else "int32")
    return _Parts(number, bits, is_small, (number == 0.0) | ~(size < inf), mantissa_bits)


def _exponent_mask(parts: _Parts) -> int:
    return 0x7FF if parts.mantissa_bits == 52 else 0xFF


def frexp_mantissa(self: Value) -> Value:
    """`self` without its exponent, from 1/2 up to 1."""
    parts = _parts_of(self)
    mask, half = _exponent_mask(parts), _exponent_mask(parts) // 2 - 1
    bits = (parts.bits & ~(mask << parts.mantissa_bits)) | (half << parts.mantissa_bits)
    mantissa = a.bitcast(bits, parts.number.dtype.name)
    return a.convert(a.where(parts.is_whole, parts.number, mantissa), self.dtype.name)


def frexp_exponent(self: Value) -> Value:
    """The exponent of `self` to the mantissa of `frexp_mantissa`, an int32."""
    parts = _parts_of(self)
    mask = _exponent_mask(parts)
    exponent = ((parts.bits >> parts.mantissa_bits) & mask) - (mask // 2 - 1)
    exponent = a.where(parts.is_small, exponent - _RAISED, exponent)
    return a.convert(a.where(parts.is_whole, exponent * 0, exponent), "int32")


# Their schemas.
EXPONENTS: dict[str, Callable[[Value], Value]] = {
    "frexp_mantissa(Tensor self) -> Tensor": frexp_mantissa,
    "frexp_exponent(Tensor self) -> Tensor": frexp_exponent,
}
