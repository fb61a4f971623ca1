"""The order in memory that results take over from an image: channels before or behind pixels."""

from __future__ import annotations

from aten._core.base.device import MEMORY_FORMATS, memory_format
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

_CHANNELS_LAST = {4: MEMORY_FORMATS["channels_last"], 5: MEMORY_FORMATS["channels_last_3d"]}


def suggested_format(self: Tensor) -> memory_format | None:
    """channels_last or channels_last_3d where the strides say so, else None.

    Strides decide even where sizes of one leave it open.
    """
    order = _CHANNELS_LAST.get(self.dim())
    strides = self.stride()
    if order is None or strides[1] == 0 or strides[1] > strides[-1]:
        return None
    least = 0
    for dim in (1, *range(self.dim() - 1, 1, -1), 0):
        size, stride = self.shape[dim], strides[dim]
        # Where everything but the batch is of size one, the strides look alike either way.
        if size == 0 or stride < least or (dim == 0 and least == strides[1]):
            return None
        least = stride * max(size, 1)
    return order


def empty_image(sizes: list[int] | tuple[int, ...], like: Tensor, element: dtype) -> Tensor:
    """An empty tensor of `sizes` in the order of `like`."""
    return ops.aten.empty.memory_format(
        sizes, dtype=element, device=like.device, memory_format=suggested_format(like)
    )


def ordered_like(made: Tensor, like: Tensor) -> Tensor:
    """`made`, row-major or as `like` lies, in the order of `like`."""
    order = suggested_format(like)
    if order is None or suggested_format(made) is order:
        return made
    return empty_image(made.shape, like, made.dtype).copy_(made)
