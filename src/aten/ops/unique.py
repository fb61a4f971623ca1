"""Elements and slices without repetition, where each is among them, and how often it was there."""

from __future__ import annotations

import math
import sys

from aten._core import ordering
from aten._core.construct import on_device, tensor_from_data
from aten._core.device import device
from aten._core.dtypes import DTYPES
from aten._core.tensor import Tensor, wrap_dimension
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops

_CPU = device("cpu")
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
    slices, rows = _slices("unique_dim", self, dim)
    order = _order_of_rows(rows)
    begins = _changes(_comparable(ops.aten.index_select(rows, 0, order)))
    return _results_along(self, slices, dim, order, begins)


@op
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The elements, or slices of `dim`, that differ from the one before them."""
    if dim is not None:
        return unique_dim_consecutive(self, dim)
    _require_elements_known("unique", self)
    flat = on_device(self.reshape((-1,)), _CPU)
    begins = _changes(_comparable(flat))
    chosen = begins.nonzero().reshape((-1,))
    values = on_device(ops.aten.index_select(flat, 0, chosen), self.device)
    nothing = self.new_empty((0,), dtype=_INT64)
    places = (
        on_device(_numbered(begins).reshape(self.shape), self.device) if return_inverse else nothing
    )
    return values, places, on_device(_counts(begins), self.device) if return_counts else nothing


@op
def unique_dim_consecutive(
    self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The slices of `dim` that differ from the one before them."""
    slices, rows = _slices("unique", self, dim)
    order = ops.aten.arange(len(rows), dtype=_INT64, device=_CPU)
    return _results_along(self, slices, dim, order, _changes(_comparable(rows)))


def _slices(name: str, self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The slices of `dim`: the tensor with `dim` first, and as the rows of a matrix."""
    if self.dim() == 0:
        raise IndexError(f"{name}: dim is {dim}, but the tensor has no dimensions")
    dim = wrap_dimension(dim, self.dim())
    if 0 in self.shape[:dim] + self.shape[dim + 1 :]:
        raise RuntimeError(f"{name}: slices of dim {dim} of shape {list(self.shape)} are empty")
    _require_elements_known(name, self)
    slices = on_device(self, _CPU).movedim(dim, 0)
    return slices, slices.reshape((len(slices), math.prod(slices.shape[1:])))


def _require_elements_known(name: str, self: Tensor) -> None:
    if self.dtype.is_complex or self.dtype.name.startswith("float8"):
        raise refusal(name, self.dtype)
    if self.is_meta:
        raise NotImplementedError(f"{name}: the elements are not known on the meta device")


def _comparable(rows: Tensor) -> Tensor:
    """Elements that differ where those of `rows` do: integers as signed ones, halves as floats."""
    if rows.dtype.is_floating_point:
        return rows.float() if rows.dtype.name in _HALVES else rows
    return rows.contiguous().view(_SIGNED[rows.itemsize])


def _ordered_keys(rows: Tensor) -> Tensor:
    """Integers whose bits are in the order of the elements; all NaNs are one, and greatest."""
    keys = _comparable(rows)
    if not rows.dtype.is_floating_point:
        return keys if rows.dtype.kind in ("bool", "unsigned") else keys ^ _sign(keys)
    numbers = keys + 0.0  # -0.0 + 0.0 is 0.0
    bits = numbers.contiguous().view(_SIGNED[numbers.itemsize])
    ordered = ops.aten.where(bits < 0, ops.aten.bitwise_not(bits), bits ^ _sign(bits))
    return ops.aten.where(numbers.isnan(), -1, ordered)  # type: ignore[no-any-return]


def _sign(bits: Tensor) -> int:
    return -(1 << (8 * bits.itemsize - 1))


def _changes(rows: Tensor) -> Tensor:
    """Whether each element, or row of a matrix, differs from the one before it."""
    begins: Tensor = ops.aten.ones.default((len(rows),), dtype=DTYPES["bool"], device=_CPU)
    if len(rows) > 1:
        different = rows.narrow(0, 1, len(rows) - 1).ne(rows.narrow(0, 0, len(rows) - 1))
        begins.narrow(0, 1, len(rows) - 1).copy_(
            different.any(1) if different.dim() == 2 else different
        )
    return begins


def _order_of_rows(rows: Tensor) -> Tensor:
    """The order of rows by their elements: keys with their high bytes first compare as bytes do."""
    order = list(range(len(rows)))
    if rows.numel():
        keys = _ordered_keys(rows).contiguous()
        parts = keys.view(DTYPES["uint8"]).reshape((*rows.shape, keys.itemsize))
        # The machine's own bytes begin with the lowest.
        mirrored = parts.flip([-1]).contiguous() if sys.byteorder == "little" else parts
        memory = bytes(memoryview(mirrored.untyped_storage()))
        width = rows.shape[1] * keys.itemsize
        order.sort(key=lambda row: memory[row * width : (row + 1) * width])
    made: Tensor = ops.aten.empty.memory_format((len(order),), dtype=_INT64, device=_CPU)
    return made.copy_(tensor_from_data(order, _INT64))


def _numbered(begins: Tensor) -> Tensor:
    """The number of the run that each element is in."""
    return begins.to(_INT64).cumsum(0) - 1


def _counts(begins: Tensor) -> Tensor:
    """How long each run is."""
    starts = begins.nonzero().reshape((-1,))
    end = starts.new_full((1,), len(begins))
    return ops.aten.diff(starts, 1, 0, None, end)  # type: ignore[no-any-return]


def _results_along(
    self: Tensor, slices: Tensor, dim: int, order: Tensor, begins: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    places = ops.aten.empty_like(order).index_copy_(0, order, _numbered(begins))
    chosen = ops.aten.masked_select(order, begins)
    values = ops.aten.index_select(slices, 0, chosen).movedim(0, dim)
    return (
        on_device(values, self.device),
        on_device(places, self.device),
        on_device(_counts(begins), self.device),
    )
