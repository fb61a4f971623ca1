"""Scans, running sums and products along a dimension; and differences, which undo sums."""

from __future__ import annotations

from aten._core.tensor import Tensor
from aten.ops.definition import normalized_dims, op
from aten.prims import Prim, Value
from aten.registry import ops


@op
def cumsum(self: Value, dim: int) -> Value:
    return _scan("cumsum", self, dim)


@op
def cumprod(self: Value, dim: int) -> Value:
    return _scan("cumprod", self, dim)


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
