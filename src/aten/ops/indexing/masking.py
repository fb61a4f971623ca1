"""Choosing elements by masks, and masks' coordinates."""

from __future__ import annotations

from typing import Any

from aten._core.base.errors import NoElementsError
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import converted, op
from aten.ops.indexing.indexing import common_shape
from aten.ops.indexing.scatter import INT64
from aten.ops.unknown_sizes import unknown_count
from aten.ops.value_checks import fits, scalar_fill
from aten.prims import Value
from aten.prims import elementwise as p
from aten.registry import ops


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
    return fill(self, mask, value, out=self)


def require_elements(name: str, self: Tensor) -> None:
    if not has_data(self):
        raise NoElementsError(f"{name}: the elements are not known on the meta device")


@op
def argwhere(self: Tensor) -> Tensor:
    return ops.aten.nonzero(self)


@op("where")
def where_true(condition: Tensor) -> tuple[Tensor, ...]:
    return ops.aten.nonzero_numpy.default(condition)


@op
def nonzero_numpy(self: Tensor) -> tuple[Tensor, ...]:
    """For each dimension, the indices of elements that are not zero."""
    found = ops.aten.nonzero(_with_dimension(self))
    return ops.aten.unbind(found, 1)


def _with_dimension(self: Tensor) -> Tensor:
    return self.reshape((1,)) if self.dim() == 0 else self


def check_masked_select(self: Tensor, mask: Tensor) -> None:
    """Raises RuntimeError for a mask of another dtype."""
    if mask.dtype.name != "bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")


@op("masked_select", exact_out=True)
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements, in order, where `mask`, broadcast with `self`, is true; 1-d."""
    check_masked_select(self, mask)
    shape = common_shape((self.shape, mask.shape), RuntimeError)
    if not (has_data(mask) and has_data(self)):
        return self.new_empty((unknown_count("masked_select", mask.expand(shape)),))
    places = ops.prims.nonzero(mask.expand(shape).reshape((-1,))).reshape((-1,))
    if places.numel() == 0:
        return self.new_empty((0,))
    return ops.prims.gather(self.expand(shape).reshape((-1,)), places, 0)  # type: ignore[no-any-return]


def check_masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> None:
    """Raises RuntimeError for other dtypes."""
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"masked_scatter: self and source must have one dtype, got "
            f"{self.dtype.scalar_type_name} and {source.dtype.scalar_type_name}"
        )
    if mask.dtype.name != "bool":
        raise RuntimeError(
            f"masked_scatter: expected a mask of bools, got {mask.dtype.scalar_type_name}"
        )


@op("masked_scatter", exact_out=True)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`self`, broadcast with `mask`, with elements of `source` in order where `mask` is true.

    Raises IndexError where `source` has too few elements.
    """
    check_masked_scatter(self, mask, source)
    shape = common_shape((self.shape, mask.shape), RuntimeError)
    mask = mask.expand(shape)
    if source.numel() == 0 or mask.numel() == 0:
        return self.expand(shape).contiguous().clone()
    flat = mask.reshape((-1,))
    # Where nothing is written, the first element is as good as any.
    places = (flat.cumsum(0) - 1).masked_fill(flat.logical_not(), 0)
    picked = ops.prims.gather(source.reshape((-1,)), places, 0).reshape(shape)
    return ops.aten.where.self(mask, picked, self.expand(shape)).contiguous()


@op
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Writes elements of `source` in order to where `mask`, broadcast, is true.

    Raises RuntimeError for other dtypes, IndexError where `source` has too few elements.
    """
    check_masked_scatter(self, mask, source)
    return self.copy_(ops.aten.masked_scatter(self, mask.expand(self.shape), source))


@op("nonzero", exact_out=True)
def nonzero(self: Tensor) -> Tensor:
    """The indices of elements that are not zero, one row each, in row-major order."""
    if not has_data(self):
        # One column after the other in memory.
        count = unknown_count("nonzero", self)
        return self.new_empty((self.dim(), count), dtype=INT64).transpose(0, 1)
    return ops.prims.nonzero(self)  # type: ignore[no-any-return]


@op("nonzero_static", exact_out=True)
def nonzero_static(self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of `nonzero`, or all of them and rows of `fill_value`."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: size must not be negative, got {size}")
    made: Tensor = ops.aten.full(
        (size + 1, self.dim()), fill_value, dtype=INT64, device=self.device
    )
    if self.dim() == 0 or self.numel() == 0:
        return made.narrow(0, 0, size).clone()
    found = self.ne(0).reshape((-1,))
    rows = found.cumsum(0) - 1
    # Those that are zero, or too many, go to the row behind the last.
    rows = rows.masked_fill(found.logical_not(), size).clamp(max=size)
    place = ops.aten.arange(self.numel(), device=self.device)
    columns: list[Tensor] = []
    for count in reversed(self.shape):
        columns.insert(0, ops.aten.remainder(place, count))
        place = ops.aten.floor_divide(place, count)
    table = ops.aten.stack(columns, 1)
    window = rows.unsqueeze(1).expand(table.shape)
    return ops.prims.scatter(made, window, table, 0, "replace").narrow(0, 0, size).clone()  # type: ignore[no-any-return]
