"""Pooling: maxima and averages over windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.indexing.scatter import start_of
from aten.ops.memory.conversion import as_type, wide
from aten.ops.memory_order import ordered_like
from aten.ops.requirements import refusal
from aten.ops.windows.pool_places import (
    INT64,
    adaptive_lines,
    extents,
    in_planes,
    largest,
    lines_of,
    padded_extents,
    seen_at,
    seen_by,
)
from aten.ops.windows.pool_windows import Window, average_windows, check_adaptive, max_windows
from aten.registry import ops

_ORDERED = (
    *("uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64"),
)


def check_ordered(name: str, self: Tensor) -> None:
    """Raises NotImplementedError for what maxima are not taken of."""
    if self.dtype.name not in _ORDERED:
        raise refusal(name, self.dtype)


def check_averaged(self: Tensor) -> None:
    """Raises NotImplementedError for what averages are not taken of."""
    if self.dtype.name not in _ORDERED[4:]:
        raise refusal("avg_pool2d", self.dtype)


def check_adaptive_average(
    name: str, kernel: str, self: Tensor, rank: int, size: Sequence[int]
) -> None:
    """Raises RuntimeError for sizes, NotImplementedError for dtypes that do not go together."""
    check_adaptive(name, self.shape, rank, size)
    if not self.is_floating_point() and 0 not in size:
        raise refusal(kernel, self.dtype)
    check_averaged(self)


def check_adaptive_largest(
    name: str, kernel: str, self: Tensor, rank: int, size: Sequence[int]
) -> None:
    """Raises RuntimeError for sizes, NotImplementedError for dtypes that do not go together."""
    check_adaptive(name, self.shape, rank, size)
    if not self.is_floating_point():
        raise refusal(kernel, self.dtype)


def _max_pooled(name: str, rank: int, self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    windows = max_windows(name, self.shape, rank, *window)
    check_ordered(name, self)
    places = in_planes(lines_of(windows, self.device), self.shape[-rank:])
    out, indices = largest(seen_by(self, windows, start_of(self, "amax")), places)
    return ordered_like(out, self), ordered_like(indices, self)


@op
def max_pool2d_with_indices(self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    """The largest element of each window of (N, C, H, W) or (C, H, W), and where it is.

    Positions count through the rows of the plane. A NaN is larger than all numbers. Raises
    RuntimeError for windows and sizes that do not go together.
    """
    return _max_pooled("max_pool2d", 2, self, *window)


@op
def max_pool3d_with_indices(self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    """`max_pool2d_with_indices` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    return _max_pooled("max_pool3d", 3, self, *window)


@op
def max_pool1d_with_indices(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window of (N, C, L) or (C, L), and where it is."""
    _check_line("max_pool1d", self, kernel_size, stride, padding, dilation)
    step = (1, *stride) if len(stride) else ()
    out, indices = ops.aten.max_pool2d_with_indices.default(
        self.unsqueeze(-2), (1, *kernel_size), step, (0, *padding), (1, *dilation), ceil_mode
    )
    return out.squeeze(-2), indices.squeeze(-2)


@op
def max_pool1d(self: Tensor, *window: Any) -> Tensor:
    """The largest element of each window of (N, C, L) or (C, L), of floating dtypes."""
    pooled: Tensor = ops.aten.max_pool1d_with_indices.default(self, *window)[0]
    if not self.is_floating_point():
        raise refusal("max_pool1d_impl", self.dtype)
    return pooled.contiguous()


@op
def max_pool2d(self: Tensor, *window: Any) -> Tensor:
    return ops.aten.max_pool2d_with_indices.default(self, *window)[0]


@op
def max_pool3d(self: Tensor, *window: Any) -> Tensor:
    return ops.aten.max_pool3d_with_indices.default(self, *window)[0]


def _check_line(name: str, self: Tensor, *windows: Sequence[int]) -> None:
    if self.dim() not in (2, 3):
        raise RuntimeError(f"{name}: Expected 2D or 3D input tensor, but got {list(self.shape)}")
    if any(len(given) > 1 for given in windows):
        raise RuntimeError(f"{name}: a window has one size, stride, padding and dilation")


def quotients(totals: Tensor, divisors: Tensor | int) -> Tensor:
    """Sums of windows, or what is to be shared out to them, divided; integers are cut off."""
    if totals.dtype is INT64:
        numbers = divisors if isinstance(divisors, Tensor) else totals.new_full((), divisors)
        return ops.aten.div.Tensor_mode(totals, numbers, rounding_mode="trunc")
    return totals / (divisors.to(totals.dtype) if isinstance(divisors, Tensor) else divisors)


def divisors_of(
    windows: Sequence[Window], inside: bool, divisor: int, like: Tensor
) -> Tensor | int:
    """What the sums of windows are divided by."""
    if divisor:
        return divisor
    if inside:
        return extents(lines_of(windows, like.device))
    return padded_extents(windows, like.device)


def _average_pooled(name: str, rank: int, self: Tensor, *window: Any) -> Tensor:
    windows, inside, divisor = average_windows(name, self.shape, self.dtype, rank, *window)
    check_averaged(self)
    seen = seen_by(wide(self), windows, 0)
    divisors = divisors_of(windows, inside, divisor, self)
    return as_type(quotients(seen.sum([-1]), divisors), self.dtype)


@op
def avg_pool2d(self: Tensor, *window: Any) -> Tensor:
    """The average of each window of (N, C, H, W) or (C, H, W).

    The divisor is the window's size, with `count_include_pad` padding included, or
    `divisor_override`. Raises RuntimeError for windows and sizes that do not go together.
    """
    return ordered_like(_average_pooled("avg_pool2d", 2, self, *window), self)


@op
def avg_pool3d(self: Tensor, *window: Any) -> Tensor:
    """`avg_pool2d` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    return _average_pooled("avg_pool3d", 3, self, *window)


@op
def avg_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The average of each window of (N, C, L) or (C, L)."""
    _check_line("avg_pool1d", self, kernel_size, stride, padding)
    step = (1, *stride) if len(stride) else ()
    pooled: Tensor = ops.aten.avg_pool2d.default(
        self.unsqueeze(-2), (1, *kernel_size), step, (0, *padding), ceil_mode, count_include_pad
    )
    return pooled.squeeze(-2)


def _adaptive_averages(self: Tensor, rank: int, size: Sequence[int]) -> Tensor:
    lines = adaptive_lines(self.shape[-rank:], size, self.device)
    places = in_planes(lines, self.shape[-rank:])
    seen = seen_at(wide(self), places, rank, 0)
    return as_type(quotients(seen.sum([-1]), extents(lines)), self.dtype)


@op
def _adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Averages over `output_size` windows that cover (N, C, H, W) or (C, H, W) evenly."""
    name = "adaptive_avg_pool2d"
    check_adaptive_average(name, name, self, 2, output_size)
    return ordered_like(_adaptive_averages(self, 2, output_size), self)


@op
def _adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """`_adaptive_avg_pool2d` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    name = "adaptive_avg_pool3d"
    check_adaptive_average(name, f"{name}_cpu", self, 3, output_size)
    return _adaptive_averages(self, 3, output_size)


def _check_sizes(name: str, rank: int, output_size: Sequence[int]) -> None:
    if len(output_size) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank}")
    if min(output_size) < 0:
        raise RuntimeError(f"{name}: output_size must not be negative, got {list(output_size)}")


def _mean_of_planes(self: Tensor, rank: int) -> Tensor:
    """The average of everything, in the order of the image."""
    out: Tensor = ops.aten.mean.dim(self, list(range(-rank, 0)), True)
    return ordered_like(out, self)


@op
def adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    _check_sizes("adaptive_avg_pool2d", 2, output_size)
    if tuple(output_size) == (1, 1) and self.dim() in (3, 4) and 0 not in self.shape[-3:]:
        return _mean_of_planes(self, 2)
    return ops.aten._adaptive_avg_pool2d.default(self, output_size)


@op
def adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    _check_sizes("adaptive_avg_pool3d", 3, output_size)
    if tuple(output_size) == (1, 1, 1) and self.dim() in (4, 5) and 0 not in self.shape[-4:]:
        return _mean_of_planes(self, 3)
    return ops.aten._adaptive_avg_pool3d.default(self, output_size)


@op
def adaptive_avg_pool1d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Averages over `output_size` windows that cover (N, C, L) or (C, L) evenly."""
    _check_line("adaptive_avg_pool1d", self, output_size)
    _check_sizes("adaptive_avg_pool1d", 1, output_size)
    pooled: Tensor = ops.aten.adaptive_avg_pool2d.default(self.unsqueeze(-2), (1, *output_size))
    return pooled.squeeze(-2)


def _adaptive_largest(self: Tensor, rank: int, size: Sequence[int]) -> tuple[Tensor, Tensor]:
    lines = adaptive_lines(self.shape[-rank:], size, self.device)
    places = in_planes(lines, self.shape[-rank:])
    return largest(seen_at(self, places, rank, float("-inf")), places)


@op
def adaptive_max_pool2d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover (N, C, H, W) or (C, H, W) evenly, and where."""
    name = "adaptive_max_pool2d"
    check_adaptive_largest(name, name, self, 2, output_size)
    out, indices = _adaptive_largest(self, 2, output_size)
    return ordered_like(out, self), ordered_like(indices, self)


@op
def adaptive_max_pool3d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    name = "adaptive_max_pool3d"
    check_adaptive_largest(name, f"{name}_cpu", self, 3, output_size)
    return _adaptive_largest(self, 3, output_size)


@op
def adaptive_max_pool1d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover (N, C, L) or (C, L) evenly, and where they are."""
    _check_line("adaptive_max_pool1d", self, output_size)
    _check_sizes("adaptive_max_pool1d", 1, output_size)
    out, indices = ops.aten.adaptive_max_pool2d.default(self.unsqueeze(-2), (1, *output_size))
    return out.squeeze(-2), indices.squeeze(-2)


def largest_of_windows(self: Tensor, *window: Any) -> Tensor:
    """`max_pool2d_with_indices` for those who do not ask where the largest elements are."""
    return ops.aten.max_pool2d_with_indices.default(self, *window)[0]


# Operators of the namespace `fused`, which compiled programs call and nobody else: their schemas.
FUSED_POOLS: dict[str, Callable[..., Tensor]] = {
    "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0,"
    " int[2] dilation=1, bool ceil_mode=False) -> Tensor": largest_of_windows,
}
