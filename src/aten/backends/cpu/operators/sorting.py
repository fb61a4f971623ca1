"""Sorting, and choosing by rank, which kernels/ordering/ordering.pyx does."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.ordering import ordering
from aten.ops.definition import op
from aten.ops.sorting.order_statistics import check_mode
from aten.ops.sorting.sorting import (
    check_kthvalue,
    check_sort,
    check_topk,
    require_length,
    require_ranks,
)
from aten.registry import ops

# Types whose unstable sort leaves equal elements as the algorithm does that torch has for them.
_UNSTABLE = frozenset({"bool", "uint8", "int8", "int16", "float16", "bfloat16"})


@op("sort.stable")
def sort_stable(
    self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[Tensor, Tensor]:
    return _sorted(self, dim, descending, bool(stable))


@op
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    return _sorted(self, dim, descending, stable=False)


def _sorted(self: Tensor, dim: int, descending: bool, stable: bool) -> tuple[Tensor, Tensor]:
    dim = check_sort(self, dim)
    values: Tensor = ops.aten.empty_like(self)
    indices: Tensor = ops.aten.empty_like(self, dtype=DTYPES["int64"])
    way = "sort" if self.dtype.name in _UNSTABLE and not stable else "stable sort"
    ordering.choose(self, dim, way, 0, descending, values, indices)
    return values, indices


@op
def topk(
    self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    dim = check_topk(self, k, dim)
    sizes = list(self.shape)
    if sizes:
        sizes[dim] = k
    values, indices = self.new_empty(sizes), self.new_empty(sizes, dtype=DTYPES["int64"])
    if values.numel():
        way = "least" if sorted else "least unsorted"
        # Of a tensor without dimensions even none is its only element.
        ordering.choose(self, dim, way, k if sizes else 1, largest, values, indices)
    return values, indices


@op(exact_out=True)
def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    dim = check_kthvalue(self, k, dim)
    return _chosen_along(self, dim, keepdim, "rank", k - 1)


@op("median.dim")
def median_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    dim = require_length("median", self, dim)
    require_ranks("median", self)
    return _chosen_along(self, dim, keepdim, "median")


@op("nanmedian.dim")
def nanmedian_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    dim = require_length("nanmedian", self, dim)
    require_ranks("median", self)
    return _chosen_along(self, dim, keepdim, "median of numbers")


@op
def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _chosen_along(self, check_mode(self, dim), keepdim, "mode")


def _chosen_along(
    self: Tensor, dim: int, keepdim: bool, way: str, rank: int = 0
) -> tuple[Tensor, Tensor]:
    """One element of every row along `dim`, as `ordering.choose` finds it: values and indices."""
    sizes = [1 if place == dim else size for place, size in enumerate(self.shape)]
    values, indices = self.new_empty(sizes), self.new_empty(sizes, dtype=DTYPES["int64"])
    if values.numel():
        ordering.choose(self, dim, way, rank, False, values, indices)
    if keepdim or not sizes:
        return values, indices
    return values.squeeze(dim), indices.squeeze(dim)
