"""Where the windows of poolings lie, and which are refused."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from aten._core.pooling import Windows, adaptive_windows, regular_windows
from aten._core.tensor import Tensor

# The largest number of a window that torch takes.
_LARGEST = (1 << 31) - 1
# As many windows as are kept for the next call.
_KEPT = 1 << 14


@lru_cache(maxsize=1024)
def _kept_windows(*numbers: int) -> Windows:
    return regular_windows(*numbers)


@lru_cache(maxsize=1024)
def _kept_adaptive_windows(size: int, count: int) -> Windows:
    return adaptive_windows(size, count)


def window_count(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """How many windows there are in a dimension of `size`."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    # No window begins in the padding behind the end.
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def for_each_dim(name: str, what: str, given: Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for each dimension, from as many or from one. Raises RuntimeError for others."""
    if len(given) not in (1, rank):
        words = {1: "one int", 2: "two ints", 3: "three ints"}
        raise RuntimeError(
            f"{name}: {what} must either be a single int, or a tuple of {words[rank]}"
        )
    return tuple(given) * (rank // len(given)) if len(given) != rank else tuple(given)


def check_image(name: str, self: Tensor, rank: int) -> None:
    """An image or a batch of them, only the batch may be empty. Raises RuntimeError for others."""
    if self.dim() in (rank + 1, rank + 2) and 0 not in self.shape[-rank - 1 :]:
        return
    raise RuntimeError(
        f"{name}: Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim "
        f"batch size for input, but got: {list(self.shape)}"
    )


def window_lists(
    name: str,
    self: Tensor,
    rank: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> list[Windows]:
    """The windows in each spatial dimension. Raises RuntimeError for impossible ones."""
    kernel = for_each_dim(name, "kernel_size", kernel_size, rank)
    steps = for_each_dim(name, "stride", stride, rank) if len(stride) else kernel
    padding = for_each_dim(name, "padding", padding, rank)
    dilation = for_each_dim(name, "dilation", dilation, rank)
    _check_windows(kernel, steps, padding, dilation)
    check_image(name, self, rank)
    each = list(zip(self.shape[-rank:], kernel, steps, padding, dilation, strict=True))
    counts = [window_count(*one, bool(ceil_mode)) for one in each]
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, self.shape[-rank - 1 :]))}). Calculated "
            f"output size: ({'x'.join(map(str, [self.shape[-rank - 1], *counts]))}). Output size "
            f"is too small"
        )
    return [
        (_kept_windows if count <= _KEPT else regular_windows)(*one, count)
        for one, count in zip(each, counts, strict=True)
    ]


def _check_windows(
    kernel: Sequence[int], steps: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> None:
    if max(*kernel, *steps, *padding, *dilation) > _LARGEST or prod(kernel) > 1 << 62:
        raise RuntimeError(f"integer out of range in a window of kernel_size={list(kernel)}")
    if min(kernel) <= 0:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got kernel_size={list(kernel)}"
        )
    if 0 in steps:
        raise RuntimeError("stride should not be zero")
    if min(steps) < 0:
        raise RuntimeError(f"stride should be greater than zero, but got stride={list(steps)}")
    if min(dilation) <= 0:
        raise RuntimeError(
            f"dilation should be greater than zero, but got dilation={list(dilation)}"
        )
    for one, pad, spread in zip(kernel, padding, dilation, strict=True):
        if pad < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {pad}")
        if pad > ((one - 1) * spread + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={pad}, "
                f"kernel_size={one} and dilation={spread}"
            )
        if pad > one // 2:
            raise RuntimeError(
                f"pad should be smaller than or equal to half of kernel size, but got pad={pad}, "
                f"kernel_size={one}"
            )


def adaptive_window_lists(
    name: str, self: Tensor, rank: int, output_size: Sequence[int]
) -> list[Windows]:
    """`output_size` windows that cover the dimensions evenly.

    Raises RuntimeError for other ranks, empty dimensions and negative sizes.
    """
    if len(output_size) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank}")
    if self.dim() not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got {list(self.shape)}"
        )
    if min(output_size) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, output_size))}}}"
        )
    if 0 in self.shape[-rank - 1 :]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
            f"has sizes {list(self.shape)}"
        )
    return [
        (_kept_adaptive_windows if count <= _KEPT else adaptive_windows)(size, count)
        for size, count in zip(self.shape[-rank:], output_size, strict=True)
    ]
