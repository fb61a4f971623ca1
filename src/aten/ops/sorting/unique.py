"""Elements and slices without repetition, where each is among them, and how often it was there."""

from __future__ import annotations

import math

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.ops.sorting.sorting import differs_from_last
from aten.ops.unknown_sizes import unknown_size
from aten.registry import ops

_INT64 = DTYPES["int64"]
_SIGNED = {1: DTYPES["int8"], 2: DTYPES["int16"], 4: DTYPES["int32"], 8: DTYPES["int64"]}
_HALVES = frozenset({"float16", "bfloat16"})


@op
def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The different elements in order, each element's place among them, and their counts.

    Every NaN is an element of its own. What is not asked for is empty.
    """
    check_unique("unique", self)
    if not has_data(self):
        count = unknown_size("unique", (self,), 0, self.numel())
        return _empty_results(self, count, return_inverse, return_counts)
    ordered, order = ops.aten.sort.stable(self.reshape((-1,)), stable=True, dim=0)
    begins = _changes(comparable(ordered))
    values = ops.aten.masked_select(ordered, begins)
    nothing = self.new_empty((0,), dtype=_INT64)
    places = _scattered(_numbered(begins), order).reshape(self.shape) if return_inverse else nothing
    return values, places, _counts(begins) if return_counts else nothing


@op
def _unique(
    self: Tensor, sorted: bool = True, return_inverse: bool = False
) -> tuple[Tensor, Tensor]:
    values, places, _ = ops.aten._unique2(self, sorted, return_inverse)
    return values, places


@op
def unique_dim(
    self: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """The different slices of `dim`, ordered by their elements row-major.

    Raises IndexError for a dimension out of range, RuntimeError where slices have no elements.
    """
    slices, rows = checked_slices("unique_dim", self, dim)
    if not has_data(self):
        return _empty_slices("unique_dim", self, slices, dim)
    return results_along(slices, rows, dim, _order_of_rows(rows))


@op
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The elements, or slices of `dim`, that differ from the one before them."""
    if dim is not None:
        return ops.aten.unique_dim_consecutive(self, dim)
    check_unique("unique", self)
    if not has_data(self):
        count = unknown_size("unique_consecutive", (self,), 0, self.numel())
        return _empty_results(self, count, return_inverse, return_counts)
    flat = self.reshape((-1,))
    begins = _changes(comparable(flat))
    values = ops.aten.masked_select(flat, begins)
    nothing = self.new_empty((0,), dtype=_INT64)
    places = _numbered(begins).reshape(self.shape) if return_inverse else nothing
    return values, places, _counts(begins) if return_counts else nothing


@op
def unique_dim_consecutive(
    self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The slices of `dim` that differ from the one before them."""
    slices, rows = checked_slices("unique", self, dim)
    if not has_data(self):
        return _empty_slices("unique_dim_consecutive", self, slices, dim)
    order = ops.aten.arange(len(rows), dtype=_INT64, device=self.device)
    return results_along(slices, rows, dim, order)


def _empty_results(
    self: Tensor, count: int, return_inverse: bool, return_counts: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """So many different elements, of which nothing is known."""
    nothing = self.new_empty((0,), dtype=_INT64)
    places = self.new_empty(self.shape, dtype=_INT64) if return_inverse else nothing
    counts = self.new_empty((count,), dtype=_INT64) if return_counts else nothing
    return self.new_empty((count,)), places, counts


def _empty_slices(
    name: str, self: Tensor, slices: Tensor, dim: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The different slices of `dim`, of which nothing is known."""
    count = unknown_size(name, (self, dim % self.dim()), 0, len(slices))
    places = self.new_empty((len(slices),), dtype=_INT64)
    values = slices.new_empty((count, *slices.shape[1:])).movedim(0, dim)
    return values, places, self.new_empty((count,), dtype=_INT64)


def checked_slices(name: str, self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The slices of `dim`: the tensor with `dim` first, and as the rows of a matrix.

    Raises IndexError for a dimension out of range, RuntimeError where slices have no elements.
    """
    if self.dim() == 0:
        raise IndexError(f"{name}: dim is {dim}, but the tensor has no dimensions")
    dim = wrap_dimension(dim, self.dim())
    if 0 in self.shape[:dim] + self.shape[dim + 1 :]:
        raise RuntimeError(f"{name}: slices of dim {dim} of shape {list(self.shape)} are empty")
    check_unique(name, self)
    slices = self.movedim(dim, 0)
    return slices, slices.reshape((len(slices), math.prod(slices.shape[1:])))


def check_unique(name: str, self: Tensor) -> None:
    """Raises NotImplementedError for elements without an order."""
    if self.dtype.is_complex or self.dtype.name.startswith("float8"):
        raise refusal(name, self.dtype)


def comparable(rows: Tensor) -> Tensor:
    """Elements that differ where those of `rows` do: integers as signed ones, halves as floats."""
    if rows.dtype.is_floating_point:
        return rows.float() if rows.dtype.name in _HALVES else rows
    return rows.contiguous().view(_SIGNED[rows.itemsize])


def _order_of_rows(rows: Tensor) -> Tensor:
    """The order of rows by their elements.

    Elements are replaced by their ranks in the column, these by the ranks of pairs of neighbours,
    until a row is one rank: each round sorts all columns at once, of which half are left.
    """
    ranks = _ranks(rows)
    while ranks.size(1) > 1:
        pairs = ranks.size(1) // 2
        both = ranks.narrow(1, 0, 2 * pairs).reshape((len(rows), pairs, 2))
        joined = _ranks(both.select(2, 0) * len(rows) + both.select(2, 1))
        ranks = ops.aten.cat([joined, ranks.narrow(1, 2 * pairs, ranks.size(1) - 2 * pairs)], 1)
    return ops.aten.argsort.stable(ranks.select(1, 0), stable=True)


def _ranks(columns: Tensor) -> Tensor:
    """How many different elements of its column are below each; all NaNs are one, and greatest."""
    if len(columns) == 0:
        return columns.to(_INT64)
    ordered, order = ops.aten.sort.stable(columns, stable=True, dim=0)
    numbers = differs_from_last(ordered, 0).to(_INT64).cumsum(0)
    return _scattered(numbers, order)


def _scattered(numbers: Tensor, order: Tensor) -> Tensor:
    """Each number where `order` says it belongs, along the first dimension."""
    return ops.prims.scatter(numbers, order, numbers, 0, "replace")  # type: ignore[no-any-return]


def _changes(rows: Tensor) -> Tensor:
    """Whether each element, or row of a matrix, differs from the one before it."""
    count = len(rows)
    first = ops.aten.ones.default((min(count, 1),), dtype=DTYPES["bool"], device=rows.device)
    if count < 2:
        return first
    different = rows.narrow(0, 1, count - 1).ne(rows.narrow(0, 0, count - 1))
    later = different.any(1) if different.dim() == 2 else different
    return ops.aten.cat([first, later])


def _numbered(begins: Tensor) -> Tensor:
    """The number of the run that each element is in."""
    return begins.to(_INT64).cumsum(0) - 1


def _counts(begins: Tensor) -> Tensor:
    """How long each run is."""
    starts = begins.nonzero().reshape((-1,))
    end = starts.new_full((1,), len(begins))
    return ops.aten.diff(starts, 1, 0, None, end)


def results_along(
    slices: Tensor, rows: Tensor, dim: int, order: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The slices that differ from the one before them in `order`; places, and counts."""
    begins = _changes(comparable(ops.aten.index_select(rows, 0, order)))
    chosen = ops.aten.masked_select(order, begins)
    values = ops.aten.index_select(slices, 0, chosen).movedim(0, dim)
    return values, _scattered(_numbered(begins), order), _counts(begins)
