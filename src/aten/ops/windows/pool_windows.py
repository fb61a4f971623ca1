"""Where the windows of poolings lie, and which are refused."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from aten._core.base.dtypes import dtype
from aten.ops.requirements import refusal

# The largest number of a window that torch takes.
_LARGEST = (1 << 31) - 1
HALF_TYPES = ("float16", "bfloat16")


class Window(NamedTuple):
    """The windows of one dimension, one for each of the results."""

    size: int
    kernel: int
    stride: int
    padding: int
    dilation: int
    results: int


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


def check_image(name: str, shape: Sequence[int], rank: int) -> None:
    """An image or a batch of them, only the batch may be empty. Raises RuntimeError for others."""
    if len(shape) in (rank + 1, rank + 2) and 0 not in shape[-rank - 1 :]:
        return
    raise RuntimeError(
        f"{name}: Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim "
        f"batch size for input, but got: {list(shape)}"
    )


def max_windows(
    name: str,
    shape: Sequence[int],
    rank: int,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> list[Window]:
    """The windows in each spatial dimension of what has a shape.

    Raises RuntimeError for impossible ones.
    """
    kernel = for_each_dim(name, "kernel_size", kernel_size, rank)
    steps = for_each_dim(name, "stride", stride, rank) if len(stride) else kernel
    padding = for_each_dim(name, "padding", padding, rank)
    dilation = for_each_dim(name, "dilation", dilation, rank)
    _check_windows(kernel, steps, padding, dilation)
    check_image(name, shape, rank)
    each = list(zip(shape[-rank:], kernel, steps, padding, dilation, strict=True))
    counts = [window_count(*one, bool(ceil_mode)) for one in each]
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, shape[-rank - 1 :]))}). Calculated "
            f"output size: ({'x'.join(map(str, [shape[-rank - 1], *counts]))}). Output size "
            f"is too small"
        )
    return [Window(*one, count) for one, count in zip(each, counts, strict=True)]


def average_windows(
    name: str,
    shape: Sequence[int],
    element: dtype,
    rank: int,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> tuple[list[Window], bool, int]:
    """The windows, whether padding does not count, and the divisor or zero.

    Raises RuntimeError for impossible ones, and in three dimensions for windows larger than the
    image without its padding; NotImplementedError there for half types.
    """
    if rank == 3:
        _check_average_3d(name, shape, element, kernel_size)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    windows = max_windows(name, shape, rank, kernel_size, stride, padding, (1,), ceil_mode)
    return windows, not count_include_pad, divisor_override or 0


def _check_average_3d(
    name: str, shape: Sequence[int], element: dtype, kernel_size: Sequence[int]
) -> None:
    kernel = for_each_dim(name, "kernel_size", kernel_size, 3)
    if any(size < window for size, window in zip(shape[-3:], kernel, strict=False)):
        raise RuntimeError(
            f"{name}: input {list(shape)} is smaller than the kernel size {list(kernel)}"
        )
    if element.name in HALF_TYPES:
        raise refusal(f"{name}_out_frame", element)


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


def check_adaptive(name: str, shape: Sequence[int], rank: int, output_size: Sequence[int]) -> None:
    """Raises RuntimeError for other ranks, empty dimensions and negative sizes."""
    if len(output_size) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank}")
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got {list(shape)}"
        )
    if min(output_size) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, output_size))}}}"
        )
    if 0 in shape[-rank - 1 :]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
            f"has sizes {list(shape)}"
        )
