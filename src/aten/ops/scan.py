"""Scans, running sums and products along a dimension; and differences, which undo sums."""

from __future__ import annotations

import math

from aten._core.accumulating import log_sums_of_exponentials
from aten._core.dtypes import DTYPES
from aten._core.tensor import Tensor, wrap_dimension
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
def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """log(sum(exp)) of the elements so far, folded in float64."""
    dim = wrap_dimension(dim, self.dim())
    if self.dtype.kind not in ("float", "complex"):
        raise refusal("logcumsumexp_out_cpu", self.dtype)
    made: Tensor = ops.aten.empty(self.shape, dtype=self.dtype, device=self.device)
    if self.is_meta or self.numel() == 0 or self.dim() == 0:
        return made if self.is_meta or self.numel() == 0 else made.copy_(self)
    if self.dtype.is_complex:
        return made.copy_(_running_complex(self.to(DTYPES["complex128"]), dim))
    if self.dtype.name in ("float32", "float64"):
        log_sums_of_exponentials(self, made, dim)
        return made
    given = self.to(DTYPES["float64"])
    log_sums_of_exponentials(given, given, dim)
    return made.copy_(given)


def _running_complex(given: Tensor, dim: int) -> Tensor:
    """One after the other: the imaginary part depends on the order, by multiples of 2 pi."""
    found = given.clone()
    for place in range(1, given.shape[dim]):
        one, before = given.select(dim, place), found.select(dim, place - 1)
        found.select(dim, place).copy_(_log_of_sum(one, before))
    return found


def _log_of_sum(left: Tensor, right: Tensor) -> Tensor:
    """log(exp(left) + exp(right)) of complex numbers."""
    where = ops.aten.where
    swapped = ops.aten.real(left) < ops.aten.real(right)
    most, least = where(swapped, right, left), where(swapped, left, right)
    difference = where(ops.aten.real(least) == -math.inf, -math.inf, least - most)
    found = most + difference.exp().log1p()
    missing = left.isnan() | right.isnan()
    return where(missing, complex(math.nan, math.nan), found)  # type: ignore[no-any-return]


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
    if n == 0:
        return self.clone()
    parts = [part for part in (prepend, self, append) if part is not None]
    made = ops.aten.cat(parts, dim) if len(parts) > 1 else self
    for _ in range(min(n, made.size(dim))):
        length = made.size(dim) - 1
        later, earlier = made.narrow(dim, 1, length), made.narrow(dim, 0, length)
        made = later ^ earlier if made.dtype.name == "bool" else later - earlier
    return made


def _scan(name: str, value: Value, dim: int) -> Value:
    dims = normalized_dims(dim, len(value.shape))
    if value.dtype.kind == "bool":
        raise refusal(f"{name}_out_cpu", value.dtype)
    return Prim.table[name](value, dims=dims) if dims else value
