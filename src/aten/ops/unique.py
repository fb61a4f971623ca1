"""Elements and slices without repetition, where each is among them, and how often it was there."""

from __future__ import annotations

import math
from typing import Any

from aten._core import ordering
from aten._core.dtypes import DTYPES
from aten._core.tensor import Tensor, wrap_dimension
from aten.ops.arrays import as_array, as_bits, from_bits
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops

_HALVES = frozenset({"float16", "bfloat16"})


@op
def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The different elements in order, each element's place among them, and their counts.

    Every NaN is an element of its own. What is not asked for is empty.
    """
    _require_elements_known("unique", self)
    values, places, counts = ordering.unique(self.reshape((-1,)), return_inverse, return_counts)
    return values, places.reshape(self.shape) if return_inverse else places, counts


@op
def _unique(
    self: Tensor, sorted: bool = True, return_inverse: bool = False
) -> tuple[Tensor, Tensor]:
    values, places, _ = _unique2(self, sorted, return_inverse)
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
    slices, moved = _slices("unique_dim", self, dim)
    order = _order_of_slices(moved, slices)
    return _results_along(slices, dim, order, _changes(moved[order]))


@op
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The elements, or slices of `dim`, that differ from the one before them."""
    if dim is not None:
        return unique_dim_consecutive(self, dim)
    import numpy

    flat, rows = _flat_rows("unique", self)
    begins = _changes(rows)
    places = begins.cumsum() - 1 if return_inverse else None
    chosen = numpy.flatnonzero(begins)
    return _results(self, flat, chosen, places, begins if return_counts else None)


@op
def unique_dim_consecutive(
    self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The slices of `dim` that differ from the one before them."""
    import numpy

    slices, moved = _slices("unique", self, dim)
    return _results_along(slices, dim, numpy.arange(len(moved)), _changes(moved))


def _flat_rows(name: str, self: Tensor) -> tuple[Tensor, Any]:
    """All elements one after the other, as a tensor and as an array of numbers."""
    _require_elements_known(name, self)
    flat: Tensor = self.reshape((-1,))
    return flat, _rows_of(flat, 0)


def _slices(name: str, self: Tensor, dim: int) -> tuple[Tensor, Any]:
    """The slices of `dim` as the rows of a matrix: the tensor with `dim` first, and numbers."""
    if self.dim() == 0:
        raise IndexError(f"{name}: dim is {dim}, but the tensor has no dimensions")
    dim = wrap_dimension(dim, self.dim())
    if 0 in self.shape[:dim] + self.shape[dim + 1 :]:
        raise RuntimeError(f"{name}: slices of dim {dim} of shape {list(self.shape)} are empty")
    _require_elements_known(name, self)
    slices = self.movedim(dim, 0)
    return slices, _rows_of(slices.reshape((len(slices), math.prod(slices.shape[1:]))), 1)


def _require_elements_known(name: str, self: Tensor) -> None:
    if self.dtype.is_complex or self.dtype.name.startswith("float8"):
        raise refusal(name, self.dtype)
    if self.is_meta:
        raise NotImplementedError(f"{name}: the elements are not known on the meta device")


def _rows_of(self: Tensor, dim: int) -> Any:
    """The elements as an array of numbers NumPy orders, with `dim` last."""
    import numpy

    return numpy.moveaxis(as_array(self.float() if self.dtype.name in _HALVES else self), dim, -1)


def _ordered_keys(rows: Any) -> Any:
    """Unsigned integers in the order of the elements; all NaNs are one, and greatest."""
    import numpy

    if rows.dtype.kind in "bu":
        return numpy.ascontiguousarray(rows.view(numpy.uint8) if rows.dtype.kind == "b" else rows)
    unsigned = numpy.dtype(f"u{rows.dtype.itemsize}")
    sign = unsigned.type(1 << (8 * unsigned.itemsize - 1))
    if rows.dtype.kind == "i":
        return numpy.ascontiguousarray(rows).view(unsigned) ^ sign
    keys = (rows + rows.dtype.type(0)).view(unsigned)  # -0.0 + 0.0 is 0.0
    inverted = keys.view(f"i{rows.dtype.itemsize}") >> (8 * rows.dtype.itemsize - 1)
    keys ^= inverted.view(unsigned) | sign
    missing = numpy.isnan(rows)
    if missing.any():
        keys[missing] = ~unsigned.type(0)
    return keys


def _changes(rows: Any) -> Any:
    """Whether each element, or row of a matrix, differs from the one before it."""
    import numpy

    begins = numpy.ones(len(rows), bool)
    different = rows[1:] != rows[:-1]
    begins[1:] = different.any(axis=1) if different.ndim == 2 else different
    return begins


def _order_of_slices(moved: Any, slices: Tensor) -> Any:
    """The order of rows by their elements: keys with their high bytes first compare as bytes do."""
    import numpy

    if not moved.size:
        return numpy.arange(len(moved))
    keys = _ordered_keys(moved)
    keys = numpy.ascontiguousarray(keys.astype(keys.dtype.newbyteorder(">")))
    rows = keys.view(f"V{keys.shape[1] * keys.itemsize}")
    return rows.reshape(-1).argsort(kind="stable")


def _scattered(order: Any, values: Any) -> Any:
    import numpy

    made = numpy.empty(order.shape, numpy.int64)
    made[order] = values
    return made


def _integers(array: Any, like: Tensor) -> Tensor:
    import numpy

    if array is None:
        return like.new_empty((0,), dtype=DTYPES["int64"])
    return from_bits(array.astype(numpy.int64), like, DTYPES["int64"])


def _counts(begins: Any) -> Any:
    import numpy

    return numpy.diff(numpy.flatnonzero(begins), append=len(begins))


def _results(
    self: Tensor, flat: Tensor, chosen: Any, places: Any, begins: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Values at `chosen`, inverse and counts; of None, nothing."""
    values = from_bits(as_bits(flat)[chosen], self)
    inverse = _integers(places, self)
    counts = _integers(None if begins is None else _counts(begins), self)
    return values, inverse if places is None else inverse.reshape(self.shape), counts


def _results_along(
    slices: Tensor, dim: int, order: Any, begins: Any
) -> tuple[Tensor, Tensor, Tensor]:
    places = _scattered(order, begins.cumsum() - 1)
    chosen = _integers(order[begins], slices)
    values = ops.aten.index_select(slices, 0, chosen).movedim(0, dim)
    return values, _integers(places, slices), _integers(_counts(begins), slices)
