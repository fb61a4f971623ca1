"""Scans, running sums and products along a dimension; and differences, which undo sums."""

from __future__ import annotations

from aten._core.dtypes import DTYPES
from aten._core.tensor import Tensor
from aten.ops.definition import normalized_dims, op
from aten.ops.requirements import refusal
from aten.prims import Prim, Value
from aten.prims import elementwise as p
from aten.registry import ops


@op
def cumsum(self: Value, dim: int) -> Value:
    return _scan("cumsum", self, dim)


@op
def cumprod(self: Value, dim: int) -> Value:
    return _scan("cumprod", self, dim)


@op
def cummax(self: Value, dim: int) -> tuple[Value, Value]:
    """The greatest element so far, NaN from the first one on, and where it stood last."""
    return _running_extreme("cummax", self, dim)


@op
def cummin(self: Value, dim: int) -> tuple[Value, Value]:
    """The least element so far, NaN from the first one on, and where it stood last."""
    return _running_extreme("cummin", self, dim)


def _running_extreme(name: str, value: Value, dim: int) -> tuple[Value, Value]:
    if value.dtype.is_complex or value.dtype.name in ("uint16", "uint32", "uint64"):
        raise refusal(f"{name}_cpu", value.dtype)
    dims = normalized_dims(dim, len(value.shape))
    if not dims:
        return value, value.interpreter.constant(0, DTYPES["int64"])
    values = Prim.table[name](value, dims=dims)
    found = value == values
    if value.dtype.is_floating_point:
        found = found | (value != value)
    places = p.where(found, Prim.table["position"](value, dims=dims), 0)
    return values, Prim.table["cummax"](places, dims=dims)


@op
def diff(
    self: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    if self.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [part for part in (prepend, self, append) if part is not None]
    made = ops.aten.cat(parts, dim) if len(parts) > 1 else self
    if n == 0:
        return made.clone()
    for _ in range(min(n, made.size(dim))):
        length = made.size(dim) - 1
        later, earlier = made.narrow(dim, 1, length), made.narrow(dim, 0, length)
        made = later ^ earlier if made.dtype.name == "bool" else later - earlier
    return made


def _scan(name: str, value: Value, dim: int) -> Value:
    dims = normalized_dims(dim, len(value.shape))
    return Prim.table[name](value, dims=dims) if dims else value
