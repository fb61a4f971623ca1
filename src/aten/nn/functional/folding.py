"""Blocks of images as columns, and back."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = ["fold", "unfold"]


Sizes = int | Sequence[int]


def unfold(
    input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """The blocks of (N, C, H, W) or (C, H, W) as columns: (N, C * block, count).

    Example:

        >>> aten.nn.functional.unfold(aten.arange(4.0).view(1, 1, 2, 2), 2)
        tensor([[[0.],
                 [1.],
                 [2.],
                 [3.]]])
    """
    return ops.aten.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Images of `output_size` with the columns (N, C * block, count) added to their blocks.

    Example:

        >>> aten.nn.functional.fold(aten.ones(1, 4, 1), (2, 2), (2, 2))
        tensor([[[[1., 1.],
                  [1., 1.]]]])
    """
    return ops.aten.col2im(input, output_size, kernel_size, dilation, padding, stride)
