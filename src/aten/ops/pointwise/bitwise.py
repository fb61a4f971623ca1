"""Bits of integers and of bool."""

from __future__ import annotations

from aten.ops.definition import op
from aten.ops.requirements import require_bits
from aten.prims import Value


@op
def bitwise_not(self: Value) -> Value:
    require_bits("bitwise_not_cpu", self)
    return ~self


@op
def bitwise_and(self: Value, other: Value) -> Value:
    require_bits("bitwise_and_cpu", self)
    return self & other


@op
def bitwise_or(self: Value, other: Value) -> Value:
    require_bits("bitwise_or_cpu", self)
    return self | other


@op
def bitwise_xor(self: Value, other: Value) -> Value:
    require_bits("bitwise_xor_cpu", self)
    return self ^ other


@op
def bitwise_left_shift(self: Value, other: Value) -> Value:
    require_bits("lshift_cpu", self, boolean=False)
    return self << other


@op
def bitwise_right_shift(self: Value, other: Value) -> Value:
    """Copies of the sign come in from the left."""
    require_bits("rshift_cpu", self, boolean=False)
    return self >> other
