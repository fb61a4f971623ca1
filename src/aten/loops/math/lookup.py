"""Lookups in tables of constants, for devices that have no such primitive."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.dtypes import DTYPES
from aten.prims import Value
from aten.prims import arithmetic as a


def lookup(index: Value, *, table: Sequence[float]) -> Value:
    """The element of `table` at an int32 modulo its length, chosen bit by bit."""
    element = DTYPES["float32"]
    found = [index.interpreter.constant(number, element) for number in table]
    for bit in range(len(table).bit_length() - 1):
        is_set = (index & (1 << bit)) != 0
        pairs = zip(found[1::2], found[::2], strict=True)
        found = [a.where(is_set, upper, lower) for upper, lower in pairs]
    return found[0]
