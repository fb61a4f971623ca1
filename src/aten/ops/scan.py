"""Scans: running sums and products along a dimension."""

from __future__ import annotations

from aten.ops.definition import normalized_dims, op
from aten.prims import Prim, Value


@op
def cumsum(self: Value, dim: int) -> Value:
    return _scan("cumsum", self, dim)


@op
def cumprod(self: Value, dim: int) -> Value:
    return _scan("cumprod", self, dim)


def _scan(name: str, value: Value, dim: int) -> Value:
    dims = normalized_dims(dim, len(value.shape))
    return Prim.table[name](value, dims=dims) if dims else value
