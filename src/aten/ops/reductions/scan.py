"""Scans, running sums and products along a dimension; and differences, which undo sums."""

from __future__ import annotations

import math

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
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


def check_logcumsumexp(self: Tensor, dim: int) -> int:
    """The dimension from the front. Raises NotImplementedError for integers and bool."""
    dim = wrap_dimension(dim, self.dim())
    if self.dtype.kind not in ("float", "complex"):
        raise refusal("logcumsumexp_out_cpu", self.dtype)
    return dim


@op
def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """log(sum(exp)) of the elements so far, folded in float64."""
    dim = check_logcumsumexp(self, dim)
    if self.numel() == 0 or self.dim() == 0:
        return self.contiguous().clone()
    run = _running_complex if self.dtype.is_complex else _running
    wide = self.to(DTYPES["complex128" if self.dtype.is_complex else "float64"])
    return run(wide, dim).to(self.dtype).contiguous()


def _running(given: Tensor, dim: int) -> Tensor:
    """Of 1, 2, 4, … elements that end in each place, by halves: Hillis and Steele, Data Parallel
    Algorithms (1986)."""
    length = given.size(dim)
    step = 1
    while step < length:
        head, tail = given.narrow(dim, 0, step), given.narrow(dim, step, length - step)
        folded = ops.aten.logaddexp(tail, given.narrow(dim, 0, length - step))
        given = ops.aten.cat([head, folded], dim)
        step *= 2
    return given


def _running_complex(given: Tensor, dim: int) -> Tensor:
    """One after the other: the imaginary part depends on the order, by multiples of 2 pi."""
    rows = ops.aten.unbind(given, dim)
    found = [rows[0]]
    for one in rows[1:]:
        found.append(_log_of_sum(one, found[-1]))
    return ops.aten.stack(found, dim)


def _log_of_sum(left: Tensor, right: Tensor) -> Tensor:
    """log(exp(left) + exp(right)) of complex numbers."""
    where = ops.aten.where
    swapped = ops.aten.real(left) < ops.aten.real(right)
    most, least = where(swapped, right, left), where(swapped, left, right)
    difference = where(ops.aten.real(least) == -math.inf, -math.inf, least - most)
    found = most + difference.exp().log1p()
    missing = left.isnan() | right.isnan()
    return where(missing, complex(math.nan, math.nan), found)


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
