"""Picking and placing elements by index tensors and masks, in any mix of dimensions."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten._core.views.views import try_view
from aten.backends.cpu.kernels.indexing import locating, masks, picking
from aten.backends.cpu.kernels.indexing.result_orders import result_like
from aten.backends.cpu.kernels.indexing.taking import is_plain
from aten.backends.cpu.kernels.indexing.taking import take as take_slices
from aten.backends.cpu.operators.places import (
    along,
    check_range,
    require_apart,
    require_other_memory,
    spread,
    write,
)
from aten.ops.definition import op
from aten.ops.indexing.indexing import (
    MASK_TYPES,
    Indices,
    check_mask,
    check_put,
    check_put_at,
    check_take,
    checked_selection,
    expanded_values,
    with_known_masks,
)
from aten.ops.indexing.scatter import INDEX_TYPES, as_int64, at_least_vector
from aten.registry import ops

# Bytes side by side from which on it pays to call for each slice.
_BLOCK = 64
_TAKEN = "out of range: tried to access index {index} on a tensor of {size} elements"


@op("index.Tensor", exact_out=True, knows_meta=True)
def index(self: Tensor, indices: Indices) -> Tensor:
    """Elements at index tensors, broadcast together, one for each dimension or None for all of it.

    A mask of several dimensions stands for as many. The indexed dimensions go where the first of
    them was, or to the front where others lie between them. Raises IndexError for indices of other
    dtypes, that are too many, out of range, or do not broadcast.
    """
    alone = _only_index(self, indices)
    if alone >= 0:
        given = indices[alone]
        assert given is not None
        return take_slices(self, alone, given, True)
    if self.is_meta:
        indices = with_known_masks(self, indices)
    mask = indices[0] if len(indices) == 1 else None
    if mask is not None and mask.dtype.name in MASK_TYPES and mask.shape == self.shape:
        check_mask(self, mask, 0, 0)
        if self.dim() and self.is_contiguous():
            return masks.compress(self, mask.contiguous())
    seen, plain = _without_masks(self, indices)
    base, places, step, choices = locating.choose(seen, plain)
    out = result_like(base, places, plain)
    if not self.is_meta:
        picking.pick(base, places, out, step, choices)
    return out


def _only_index(self: Tensor, indices: Indices) -> int:
    """The dimension of the only index where whole rows can be copied; -1 for all else."""
    dim = len(indices) - 1
    if not 0 <= dim < self.dim() or not is_plain(self) or self.is_meta:
        return -1
    last = indices[dim]
    if last is None or last.dtype.name not in INDEX_TYPES or not is_plain(last):
        return -1
    if not _copies_blocks(self, dim):
        return -1
    return dim if not last.is_meta and all(one is None for one in indices[:dim]) else -1


def _copies_blocks(self: Tensor, dim: int) -> bool:
    """Whether slices of a dimension are long enough to be copied one by one."""
    stride = self.stride(dim)
    return stride * self.itemsize >= _BLOCK or (dim == 0 and stride == 1)


def _choose(self: Tensor, indices: Indices) -> tuple[Tensor, Tensor, int, int]:
    """The elements at the indices, which are checked; see `locating.choose`."""
    return locating.choose(*_without_masks(self, indices))


def _without_masks(self: Tensor, indices: Indices) -> tuple[Tensor, list[Tensor | None]]:
    """The indices with integers in place of masks; and `self`, as a view that fits them.

    Where there is but a mask, its dimensions may become one.
    """
    if all(one is None or one.dtype.name in INDEX_TYPES for one in indices):
        return self, list(indices)
    alone = sum(one is not None for one in indices) == 1
    plain: list[Tensor | None] = []
    for position, one in enumerate(indices):
        if one is None or one.dtype.name in INDEX_TYPES:
            plain.append(one)
            continue
        if one.dtype.name not in MASK_TYPES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        check_mask(self, one, position, len(plain))
        joined = _joined(self, len(plain), one.dim()) if alone and one.dim() > 1 else None
        places = masks.positions(one.contiguous(), joined is not None)
        plain.extend(places.select(0, place) for place in range(places.size(0)))
        self = self if joined is None else joined
    return self, plain


def _joined(self: Tensor, dim: int, count: int) -> Tensor | None:
    """A view with `count` dimensions from `dim` on as one; None where there is none."""
    size = 1
    for place in range(dim, dim + count):
        size *= self.size(place)
    return try_view(self, (*self.shape[:dim], size, *self.shape[dim + count :]))


@op("index_put", inplace="preserve_format")
def index_put(self: Tensor, indices: Indices, values: Tensor, accumulate: bool = False) -> Tensor:
    """Writes `values`, broadcast, to the elements `index` would give; or adds them.

    Of the values for an element that is named twice the last one stays, or all are added in turn.
    Raises what `index` raises, and RuntimeError for values of another dtype or shape.
    """
    check_put(self, values)
    filled = None if accumulate else _filling_mask(self, indices, values)
    if filled is not None:
        return ops.aten.masked_fill_.Tensor(self, filled, values)
    base, places, step, choices = _choose(self, indices)
    source = values if values.shape == base.shape else expanded_values(values, base.shape)
    require_other_memory(self, values, *[one for one in indices if one is not None])
    write(base, places, source, step, choices, "sum" if accumulate else "")
    return self


def _filling_mask(self: Tensor, indices: Indices, values: Tensor) -> Tensor | None:
    """The mask, lined up with `self`, that all else of an index_put of one number is; or None."""
    last = indices[-1] if indices else None
    if last is None or last.dtype.name != "bool" or values.dim():
        return None
    before = len(indices) - 1
    if before + last.dim() > self.dim() or any(one is not None for one in indices[:before]):
        return None
    check_mask(self, last, before, before)
    after = self.dim() - before - last.dim()
    return last.reshape((*last.shape, *(1 for _ in range(after)))) if after else last


@op("_index_put_impl_")
def index_put_impl(
    self: Tensor,
    indices: Indices,
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Tensor:
    return index_put(self, indices, values, accumulate)


@op("index_select", exact_out=True)
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of `dim` at the indices in a vector.

    Raises IndexError for indices that are negative or too large.
    """
    dim, shape = checked_selection(self, dim, index)
    if not shape:
        return take_slices(self.reshape((1,)), 0, index.reshape(()), False)
    if index.numel() >= self.size(dim) and not is_plain(self):
        # The copy is no larger than the result, and its slices are runs of memory.
        self = self.contiguous()
    if _copies_blocks(self, dim):
        return take_slices(self, dim, index.reshape((-1,)).contiguous(), False)
    check_range(index, self.size(dim), "index {index} is out of bounds for a size of {size}")
    out = self.new_empty(shape)
    places = spread(as_int64(at_least_vector(index)), shape, dim)
    picking.pick(along(self, dim, shape), places, out, self.stride(dim), self.size(dim))
    return out


@op("take", exact_out=True)
def take(self: Tensor, index: Tensor) -> Tensor:
    """The elements at positions among all of `self`; negative ones count from the end.

    Raises IndexError for positions out of range, RuntimeError for other dtypes than int64.
    """
    check_take(index)
    out = self.new_empty(index.shape)
    if index.numel() == 0:
        return out
    if self.numel() == 0:
        raise IndexError("take(): there are no elements to take")
    base, at, choices = _flat_places(self, index)
    picking.pick(base, at, out, 1, choices)
    return out


def _flat_places(self: Tensor, index: Tensor) -> tuple[Tensor, Tensor, int]:
    """The first element of `self` seen in the index's shape, offsets from there and their bound."""
    count = self.numel()
    negative = check_range(index, count, _TAKEN, low=-count)
    at, choices = index, count
    if not self.is_contiguous():
        at, choices = locating.spread_offsets(index.contiguous(), self), locating.ANYWHERE
    elif negative:
        at = locating.spread_offsets(index.contiguous(), self.reshape((-1,)))
    strides = (0,) * index.dim()
    return self.as_strided(index.shape, strides, self.storage_offset()), at, choices


@op("put", inplace="preserve_format")
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Writes, or adds, the elements of `source` in order to positions among all of `self`.

    Raises IndexError for positions out of range or too many, RuntimeError for other dtypes.
    """
    check_put_at(self, index, source)
    if index.numel() == 0:
        return self
    require_apart(self, index, source)
    if self.numel() == 0:
        raise IndexError("put_(): there are no elements to put anything in place of")
    base, at, choices = _flat_places(self, index)
    write(base, at, source.reshape(index.shape), 1, choices, "sum" if accumulate else "")
    return self
