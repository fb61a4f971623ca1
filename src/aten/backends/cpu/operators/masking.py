"""Choosing elements by masks, and masks' coordinates."""

from __future__ import annotations

from aten._core.base.device import MEMORY_FORMATS
from aten._core.tensor.memory import check_writable, overlaps
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.indexing import locating, masks
from aten.backends.cpu.operators.places import write
from aten.ops.definition import op
from aten.ops.indexing.indexing import common_shape
from aten.ops.indexing.masking import check_masked_scatter, check_masked_select, require_elements
from aten.ops.indexing.scatter import INT64
from aten.registry import ops

_ROWS = MEMORY_FORMATS["contiguous_format"]


def _positions(mask: Tensor) -> Tensor:
    """Where a mask is true, in row-major order: one int64 for each."""
    return masks.positions(mask.contiguous(), True).select(0, 0)


@op("masked_select", exact_out=True)
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements, in order, where `mask`, broadcast with `self`, is true; 1-d."""
    check_masked_select(self, mask)
    shape = common_shape((self.shape, mask.shape), RuntimeError)
    self, mask = self.expand(shape), mask.expand(shape)
    return masks.compress(self.contiguous(), mask.contiguous())


@op("masked_scatter", exact_out=True)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`self`, broadcast with `mask`, with elements of `source` in order where `mask` is true."""
    shape = common_shape((self.shape, mask.shape), RuntimeError)
    return masked_scatter_(self.expand(shape).clone(memory_format=_ROWS), mask, source)


@op
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Writes elements of `source` in order to where `mask`, broadcast, is true.

    Raises RuntimeError for other dtypes, and where `source` has too few elements.
    """
    check_masked_scatter(self, mask, source)
    mask = mask.expand(self.shape)
    check_writable(self)
    # Copies, where what is written would be read later.
    given = source.clone() if overlaps(self, source) else source
    if self.is_contiguous():
        chosen = mask.clone(memory_format=_ROWS) if overlaps(self, mask) else mask.contiguous()
        _require_enough(source, masks.expand_into(self, chosen, given.contiguous()))
        return self
    places = _positions(mask)
    count = places.numel()
    _require_enough(source, count)
    places = locating.spread_offsets(places, self)
    base = self.as_strided((count,), (0,), self.storage_offset())
    write(base, places, given.reshape((-1,)).narrow(0, 0, count), 1, locating.ANYWHERE)
    return self


def _require_enough(source: Tensor, count: int) -> None:
    if source.numel() < count:
        raise RuntimeError(
            f"masked_scatter: {count} elements are to be written, source has {source.numel()}"
        )


@op("nonzero", exact_out=True)
def nonzero(self: Tensor) -> Tensor:
    """The indices of elements that are not zero, one row each, in row-major order."""
    return _coordinates("nonzero", self).t()


def _coordinates(name: str, self: Tensor) -> Tensor:
    require_elements(name, self)
    return masks.positions(self.ne(0).contiguous(), False)


@op("nonzero_static", exact_out=True)
def nonzero_static(self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of `nonzero`, or all of them and rows of `fill_value`."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: size must not be negative, got {size}")
    made = ops.aten.full((size, self.dim()), fill_value, dtype=INT64, device=self.device)
    found = _coordinates("nonzero_static", self).t()
    count = min(size, found.size(0))
    made.narrow(0, 0, count).copy_(found.narrow(0, 0, count))
    return made
