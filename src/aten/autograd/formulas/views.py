"""Formulas for views: gradients back to where the elements are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.autograd.formulas.common import extent_of
from aten.registry import ops


def slice_backward_of(
    gradient: Tensor,
    sizes: Sequence[int],
    dim: int,
    start: int | None,
    end: int | None,
    step: int,
) -> Tensor:
    """Zeros with `gradient` where the slice was."""
    end = sizes[dim] if end is None else end
    return ops.aten.slice_backward(gradient, sizes, dim, start or 0, end, step)


def restrided(
    gradient: Tensor,
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """The gradient of a tensor of which `as_strided` has shown elements, some more than once.

    It is put together in memory laid out as the tensor's own storage is.
    """
    offset = self.storage_offset() if storage_offset is None else storage_offset
    first = min(offset, self.storage_offset())
    extent = max(
        offset + extent_of(size, stride),
        self.storage_offset() + extent_of(self.shape, self.stride()),
    )
    room = ops.aten.new_zeros(gradient, (max(extent - first, 0),))
    places = ops.aten.arange(extent - first, device=gradient.device)
    shown = ops.aten.as_strided(places, size, stride, offset - first)
    room = ops.aten.index_add(room, 0, shown.reshape(-1), gradient.reshape(-1))
    where = ops.aten.as_strided(places, self.shape, self.stride(), self.storage_offset() - first)
    found = ops.aten.index_select(room, 0, where.reshape(-1)).reshape(self.shape)
    repeats = ops.aten.zeros_like(room, dtype=gradient.dtype)
    ones = ops.aten.ones_like(where, dtype=gradient.dtype).reshape(-1)
    shares = ops.aten.index_add(repeats, 0, where.reshape(-1), ones)
    share = ops.aten.index_select(shares, 0, where.reshape(-1)).reshape(self.shape)
    return found / share


def rewindowed(
    gradient: Tensor,
    sizes: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """The sum of what windows over a tensor of `sizes` have for each of its elements."""
    places = ops.aten.arange(math.prod(sizes), device=gradient.device).reshape(tuple(sizes))
    shown = ops.prims.windows(places, window, stride, dilation)
    room = ops.aten.new_zeros(gradient, (math.prod(sizes),))
    return ops.aten.index_add(room, 0, shown.reshape(-1), gradient.reshape(-1)).reshape(sizes)


def gathered_up(gradient: Tensor, sizes: Sequence[int], dims: Sequence[int]) -> Tensor:
    """The sum over what `broadcast_in_dim` repeated."""
    folded = [dim for dim in range(gradient.dim()) if dim not in dims]
    folded += [
        place
        for size, place in zip(sizes, dims, strict=True)
        if size == 1 and gradient.shape[place] != 1
    ]
    if folded:
        gradient = ops.aten.sum.dim_IntList(gradient, folded, True)
    return ops.aten.reshape(gradient, sizes)


def reinterpreted(gradient: Tensor, element: dtype) -> Tensor:
    """Complex numbers as their parts, or parts as complex numbers; zeros for other types."""
    if gradient.dtype.to_real() is not element.to_real():
        raise NotImplementedError(
            f"the derivative of a view of {element} elements as {gradient.dtype}"
        )
    return gradient.resolve_conj().contiguous().view(element)
