"""Arithmetic, element by element."""

from __future__ import annotations

from aten.ops.definition import op
from aten.prims import Number, Value


@op
def add(self: Value, other: Value, *, alpha: Value | Number = 1) -> Value:
    return self + other * alpha
