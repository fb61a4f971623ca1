"""The CPU's poolings; the loops over windows are in kernels/windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.windows.pooling import (
    Windows,
    adaptive_windows,
    average_pool,
    max_pool,
    regular_windows,
)
from aten.ops.definition import op
from aten.ops.memory.conversion import as_type, wide
from aten.ops.memory_order import ordered_like, suggested_format
from aten.ops.windows.pool import (
    check_adaptive_average,
    check_adaptive_largest,
    check_averaged,
    check_ordered,
)
from aten.ops.windows.pool_places import INT64
from aten.ops.windows.pool_windows import Window, average_windows, check_adaptive, max_windows
from aten.registry import ops

_FLOAT32 = DTYPES["float32"]
# As many windows as are kept for the next call.
_KEPT = 1 << 14


@lru_cache(maxsize=1024)
def _kept_windows(*numbers: int) -> Windows:
    return regular_windows(*numbers)


@lru_cache(maxsize=1024)
def _kept_adaptive_windows(size: int, count: int) -> Windows:
    return adaptive_windows(size, count)


# What is refused is not kept.
_kept_max_windows = lru_cache(maxsize=1024)(max_windows)
kept_average_windows = lru_cache(maxsize=1024)(average_windows)


def lists_of(windows: Sequence[Window]) -> list[Windows]:
    """Begins and ends of regular windows in each dimension."""
    return [
        (_kept_windows if window.results <= _KEPT else regular_windows)(*window)
        for window in windows
    ]


def adaptive_lists(sizes: Sequence[int], counts: Sequence[int]) -> list[Windows]:
    """Begins and ends of windows that cover the sizes evenly."""
    return [
        (_kept_adaptive_windows if count <= _KEPT else adaptive_windows)(size, count)
        for size, count in zip(sizes, counts, strict=True)
    ]


class Prepared(NamedTuple):
    """What the compiled kernel for ordinary calls asks for: of each dimension windows and steps;
    sizes of the result; whether padding does not count, and what to divide by or zero."""

    windows: list[Windows]
    steps: Sequence[int]
    sizes: tuple[int, ...]
    inside: bool
    divisor: int


@lru_cache(maxsize=256)
def prepared(kind: str, rank: int, shape: Sequence[int], *given: Any) -> Prepared | None:
    """`given` are the operator's arguments behind the image; None for what it refuses, and for more
    windows than are kept."""
    try:
        if kind == "adaptive":
            return _prepared_adaptive(rank, shape, *given)
        if kind == "averages":
            windows, inside, divisor = average_windows("", shape, _FLOAT32, rank, *given)
            steps = [1] * rank
        else:
            windows, inside, divisor = max_windows("", shape, rank, *given), False, 0
            steps = [window.dilation for window in windows]
    except RuntimeError:
        return None
    if max(window.results for window in windows) > _KEPT:
        return None
    sizes = (*shape[:-rank], *(window.results for window in windows))
    return Prepared(lists_of(windows), steps, sizes, inside, divisor)


def _prepared_adaptive(rank: int, shape: Sequence[int], counts: Sequence[int]) -> Prepared | None:
    check_adaptive("", shape, rank, counts)
    if max(counts) > _KEPT:
        return None
    lists = adaptive_lists(shape[-rank:], counts)
    return Prepared(lists, [1] * rank, (*shape[:-rank], *counts), True, 0)


def sizes_of(self: Tensor, windows: Sequence[Windows]) -> list[int]:
    """The sizes of what comes out of pooling `self`."""
    return [*self.shape[: -len(windows)], *map(len, windows)]


def batched(self: Tensor, rank: int) -> Tensor:
    """`self` as a batch: with the dimension it may lack."""
    return self if self.dim() == rank + 2 else self.unsqueeze(0)


def largest_in_windows(
    self: Tensor,
    windows: Sequence[Windows],
    sizes: Sequence[int],
    steps: Sequence[int],
    ordered: bool = False,
    apart: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window and its place in the plane.

    Both are row-major; if `ordered`, they may be in the order of `self`. `apart` says that each
    plane has windows of its own.
    """
    out, indices = _largest(self, windows, sizes, steps, ordered, apart, True)
    assert indices is not None
    return out, indices


def _largest(
    self: Tensor,
    windows: Sequence[Windows],
    sizes: Sequence[int],
    steps: Sequence[int],
    ordered: bool,
    apart: bool,
    asks: bool,
) -> tuple[Tensor, Tensor | None]:
    """The same; no places where nobody `asks` for them."""
    rank = len(windows)
    source = wide(self)
    # Without a batch, the second dimension is none of channels.
    ordered = ordered and source.dim() == rank + 2
    out = _empty(source, sizes, source.dtype, ordered)
    indices = _empty(source, sizes, INT64, ordered) if asks else None
    places = indices if indices is None else batched(indices, rank)
    max_pool(batched(source, rank), batched(out, rank), places, windows, steps, apart)
    return as_type(out, self.dtype), indices


def _empty(source: Tensor, sizes: Sequence[int], element: dtype, ordered: bool) -> Tensor:
    """Room for results; if `ordered`, with channels behind pixels where the source has them."""
    behind = ordered and source.stride(1) == 1 and source.shape[1] > 1
    return ops.aten.empty.memory_format(
        sizes,
        dtype=element,
        device=source.device,
        memory_format=suggested_format(source) if behind else None,
    )


def _max_pooled(
    name: str, rank: int, self: Tensor, window: Sequence[Any], asks: bool = True
) -> tuple[Tensor, Any]:
    windows = _kept_max_windows(name, self.shape, rank, *window)
    check_ordered(name, self)
    lists = lists_of(windows)
    steps = [window.dilation for window in windows]
    out, indices = _largest(self, lists, sizes_of(self, lists), steps, True, False, asks)
    return ordered_like(out, self), indices if indices is None else ordered_like(indices, self)


def largest_of_windows(self: Tensor, *window: Any) -> Tensor:
    """`fused::max_pool2d`: the largest elements of windows alone."""
    return _max_pooled("max_pool2d", 2, self, window, False)[0]


@op
def max_pool2d_with_indices(self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    """The largest element of each window of (N, C, H, W) or (C, H, W), and where it is.

    Positions count through the rows of the plane. A NaN is larger than all numbers. Raises
    RuntimeError for windows and sizes that do not go together.
    """
    return _max_pooled("max_pool2d", 2, self, window)


@op
def max_pool3d_with_indices(self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    """`max_pool2d_with_indices` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    return _max_pooled("max_pool3d", 3, self, window)


def averaged(self: Tensor, windows: list[Windows], inside: bool, divisor: int) -> Tensor:
    """The average of each window; padding does not count if `inside`.

    Row-major, or in two dimensions maybe in the order of `self`.
    """
    rank = len(windows)
    source = wide(self)
    sizes = sizes_of(self, windows)
    out = _empty(source, sizes, source.dtype, ordered=rank == 2)
    average_pool(batched(source, rank), batched(out, rank), windows, inside, divisor)
    return as_type(out, self.dtype)


def _average_pooled(name: str, rank: int, self: Tensor, *window: Any) -> Tensor:
    windows, inside, divisor = kept_average_windows(name, self.shape, self.dtype, rank, *window)
    check_averaged(self)
    return averaged(self, lists_of(windows), inside, divisor)


@op
def avg_pool2d(self: Tensor, *window: Any) -> Tensor:
    """The average of each window of (N, C, H, W) or (C, H, W)."""
    return ordered_like(_average_pooled("avg_pool2d", 2, self, *window), self)


@op
def avg_pool3d(self: Tensor, *window: Any) -> Tensor:
    """`avg_pool2d` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    return _average_pooled("avg_pool3d", 3, self, *window)


@op
def _adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Averages over `output_size` windows that cover (N, C, H, W) or (C, H, W) evenly."""
    name = "adaptive_avg_pool2d"
    check_adaptive_average(name, name, self, 2, output_size)
    windows = adaptive_lists(self.shape[-2:], output_size)
    return ordered_like(averaged(self, windows, True, 0), self)


@op
def _adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """`_adaptive_avg_pool2d` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    name = "adaptive_avg_pool3d"
    check_adaptive_average(name, f"{name}_cpu", self, 3, output_size)
    return averaged(self, adaptive_lists(self.shape[-3:], output_size), True, 0)


def _adaptive_largest(
    self: Tensor, rank: int, output_size: Sequence[int], ordered: bool
) -> tuple[Tensor, Tensor]:
    windows = adaptive_lists(self.shape[-rank:], output_size)
    return largest_in_windows(self, windows, sizes_of(self, windows), (1,) * rank, ordered=ordered)


@op
def adaptive_max_pool2d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover (N, C, H, W) or (C, H, W) evenly, and where."""
    name = "adaptive_max_pool2d"
    check_adaptive_largest(name, name, self, 2, output_size)
    out, indices = _adaptive_largest(self, 2, output_size, True)
    return ordered_like(out, self), ordered_like(indices, self)


@op
def adaptive_max_pool3d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    name = "adaptive_max_pool3d"
    check_adaptive_largest(name, f"{name}_cpu", self, 3, output_size)
    return _adaptive_largest(self, 3, output_size, False)
