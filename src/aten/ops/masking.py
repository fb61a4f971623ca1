"""Choosing elements by masks, and masks' coordinates."""

from __future__ import annotations

from typing import Any

from aten._core import locating, masks
from aten._core.device import MEMORY_FORMATS
from aten._core.memory import check_writable, overlaps
from aten._core.tensor import Tensor
from aten.ops.definition import converted, op
from aten.ops.places import INT64, common_shape, write
from aten.ops.value_checks import fits, scalar_fill
from aten.prims import Value
from aten.prims import elementwise as p
from aten.registry import ops

_ROWS = MEMORY_FORMATS["contiguous_format"]


@op("masked_fill.Tensor", check=scalar_fill)
def masked_fill_by_tensor(self: Value, mask: Value, value: Value) -> Value:
    return masked_fill(self, mask, value)


@op("masked_fill.Scalar", check=fits)
def masked_fill(self: Value, mask: Value, value: Value) -> Value:
    if mask.dtype.name != "bool":
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.name}"
        )
    return p.where(mask, converted(value, self.dtype), self)


@op("masked_fill_.Scalar", "masked_fill_.Tensor")
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """As `masked_fill`; elements that share memory get the value where the mask has one of them.

    Raises RuntimeError where `mask` is larger than `self`.
    """
    if mask.shape == self.shape and self.is_contiguous():
        return _fill_masked(self, mask, value)
    if common_shape((self.shape, mask.shape), RuntimeError) != tuple(self.shape):
        raise RuntimeError(
            f"masked_fill_: a mask of shape {list(mask.shape)} does not fit {list(self.shape)}"
        )
    sizes, strides = list(self.shape), self.stride()
    shared = [dim for dim, size in enumerate(sizes) if size > 1 and strides[dim] == 0]
    target = self
    if shared and mask.dtype.name == "bool":
        mask = ops.aten.any.dims(mask.expand(sizes), shared, True)
        for dim in shared:
            sizes[dim] = 1
        target = self.as_strided(sizes, strides, self.storage_offset())
    _fill_masked(target, mask, value)
    return self


def _fill_masked(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    by_tensor = isinstance(value, Tensor)
    fill = ops.aten.masked_fill.Tensor_out if by_tensor else ops.aten.masked_fill.Scalar_out
    return fill(self, mask, value, out=self)  # type: ignore[no-any-return]


def _positions(mask: Tensor) -> Tensor:
    """Where a mask is true, in row-major order: one int64 for each."""
    return masks.positions(mask.contiguous(), True).select(0, 0)


def _require_elements(name: str, self: Tensor) -> None:
    if self.is_meta:
        raise NotImplementedError(f"{name}: the elements are not known on the meta device")


@op("masked_select", exact_out=True)
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements, in order, where `mask`, broadcast with `self`, is true; 1-d."""
    if mask.dtype.name != "bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    _require_elements("masked_select", mask)
    _require_elements("masked_select", self)
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
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"masked_scatter: self and source must have one dtype, got "
            f"{self.dtype.scalar_type_name} and {source.dtype.scalar_type_name}"
        )
    if mask.dtype.name != "bool":
        raise RuntimeError(
            f"masked_scatter: expected a mask of bools, got {mask.dtype.scalar_type_name}"
        )
    mask = mask.expand(self.shape)
    if self.is_meta or mask.is_meta:
        return self
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


@op
def argwhere(self: Tensor) -> Tensor:
    return ops.aten.nonzero(self)  # type: ignore[no-any-return]


@op("where")
def where_true(condition: Tensor) -> tuple[Tensor, ...]:
    return ops.aten.nonzero_numpy.default(condition)  # type: ignore[no-any-return]


@op
def nonzero_numpy(self: Tensor) -> tuple[Tensor, ...]:
    """For each dimension, the indices of elements that are not zero."""
    found = ops.aten.nonzero(_with_dimension(self))
    return ops.aten.unbind(found, 1)  # type: ignore[no-any-return]


def _with_dimension(self: Tensor) -> Tensor:
    return self.reshape((1,)) if self.dim() == 0 else self


def _coordinates(name: str, self: Tensor) -> Tensor:
    _require_elements(name, self)
    return masks.positions(self.ne(0).contiguous(), False)


@op("nonzero_static", exact_out=True)
def nonzero_static(self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of `nonzero`, or all of them and rows of `fill_value`."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: size must not be negative, got {size}")
    made = ops.aten.full((size, self.dim()), fill_value, dtype=INT64, device=self.device)
    if self.is_meta:
        return made  # type: ignore[no-any-return]
    found = _coordinates("nonzero_static", self).t()
    count = min(size, found.size(0))
    made.narrow(0, 0, count).copy_(found.narrow(0, 0, count))
    return made  # type: ignore[no-any-return]
