"""Pooling: maxima and averages over windows; the loops are in _core/pooling.pyx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.dtypes import DTYPES
from aten._core.pooling import average_pool, max_pool
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory_order import empty_image, ordered_like
from aten.ops.pool_windows import Windows, adaptive_window_lists, for_each_dim, window_lists
from aten.ops.requirements import refusal
from aten.registry import ops

_INT64 = DTYPES["int64"]
_FLOAT32 = DTYPES["float32"]
_HALF_TYPES = ("float16", "bfloat16")
_Tables = Sequence[Sequence[int]]


def sizes_of(self: Tensor, windows: Sequence[Windows]) -> list[int]:
    """The sizes of what comes out of pooling `self`."""
    return [*self.shape[: -len(windows)], *(len(begins) for begins, _, _ in windows)]


def batched(self: Tensor, rank: int) -> Tensor:
    """`self` as a batch: with the dimension it may lack."""
    return self if self.dim() == rank + 2 else self.unsqueeze(0)


def widened(self: Tensor) -> Tensor:
    """Half types as float32."""
    if self.dtype.name not in _HALF_TYPES:
        return self
    return ops.aten._to_copy.default(self, dtype=_FLOAT32)  # type: ignore[no-any-return]


def narrowed(out: Tensor, self: Tensor) -> Tensor:
    """`out` in the dtype of `self`."""
    if out.dtype is self.dtype:
        return out
    return ops.aten._to_copy.default(out, dtype=self.dtype)  # type: ignore[no-any-return]


def largest_in_windows(
    name: str,
    self: Tensor,
    begins: _Tables,
    ends: _Tables,
    sizes: Sequence[int],
    steps: Sequence[int],
    apart: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window and its place in the plane, both row-major.

    `apart` says that each plane has windows of its own.
    """
    if self.dtype.kind in ("bool", "complex"):
        raise refusal(name, self.dtype)
    rank = len(begins)
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=widened(self).dtype)
    indices: Tensor = ops.aten.empty.memory_format(sizes, dtype=_INT64)
    max_pool(
        batched(widened(self), rank),
        batched(out, rank),
        batched(indices, rank),
        begins,
        ends,
        steps,
        apart,
    )
    return narrowed(out, self), indices


def _max_pooled(
    name: str,
    rank: int,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    windows = window_lists(name, self, rank, kernel_size, stride, padding, dilation, ceil_mode)
    sizes = sizes_of(self, windows)
    if self.is_meta:
        return empty_image(sizes, self, self.dtype), empty_image(sizes, self, _INT64)
    begins, ends, _ = zip(*windows, strict=True)
    steps = for_each_dim(name, "dilation", dilation, rank)
    out, indices = largest_in_windows(name, self, begins, ends, sizes, steps)
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
    return ops.aten.max_pool2d_with_indices.default(self, *window)[0]  # type: ignore[no-any-return]


@op
def max_pool3d(self: Tensor, *window: Any) -> Tensor:
    return ops.aten.max_pool3d_with_indices.default(self, *window)[0]  # type: ignore[no-any-return]


def _check_line(name: str, self: Tensor, *windows: Sequence[int]) -> None:
    if self.dim() not in (2, 3):
        raise RuntimeError(f"{name}: Expected 2D or 3D input tensor, but got {list(self.shape)}")
    if any(len(given) > 1 for given in windows):
        raise RuntimeError(f"{name}: a window has one size, stride, padding and dilation")


def averaged(self: Tensor, windows: list[Windows], extents: _Tables, divisor: int) -> Tensor:
    """The average of each window, row-major."""
    rank = len(windows)
    source = self if self.is_meta else widened(self)
    sizes = sizes_of(self, windows)
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=source.dtype, device=self.device)
    if not self.is_meta:
        begins, ends, _ = zip(*windows, strict=True)
        average_pool(batched(source, rank), batched(out, rank), begins, ends, extents, divisor)
    return narrowed(out, self)


def divided_extents(windows: Sequence[Windows], count_include_pad: bool) -> list[tuple[int, ...]]:
    """What the averages divide by, in each dimension."""
    return [
        extent
        if count_include_pad
        else tuple(end - begin for begin, end in zip(begins, ends, strict=True))
        for begins, ends, extent in windows
    ]


def _average_pooled(
    name: str,
    rank: int,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    windows = window_lists(name, self, rank, kernel_size, stride, padding, (1,), ceil_mode)
    extents = divided_extents(windows, count_include_pad)
    return averaged(self, windows, extents, divisor_override or 0)


def check_average_3d(name: str, self: Tensor, kernel_size: Sequence[int]) -> None:
    """Refuse half types, and windows larger than the image without its padding."""
    kernel = for_each_dim(name, "kernel_size", kernel_size, 3)
    if any(size < window for size, window in zip(self.shape[-3:], kernel, strict=False)):
        raise RuntimeError(
            f"{name}: input {list(self.shape)} is smaller than the kernel size {list(kernel)}"
        )
    if self.dtype.name in _HALF_TYPES:
        raise refusal(f"{name}_out_frame", self.dtype)


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
    check_average_3d("avg_pool3d", self, window[0])
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


def _adaptive_averages(
    name: str, kernel: str, self: Tensor, rank: int, size: Sequence[int]
) -> Tensor:
    windows = adaptive_window_lists(name, self, rank, size)
    if not self.is_floating_point() and 0 not in size:
        raise refusal(kernel, self.dtype)
    return averaged(self, windows, [extents for _, _, extents in windows], 0)


@op
def _adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Averages over `output_size` windows that cover (N, C, H, W) or (C, H, W) evenly."""
    name = "adaptive_avg_pool2d"
    return ordered_like(_adaptive_averages(name, name, self, 2, output_size), self)


@op
def _adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """`_adaptive_avg_pool2d` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    return _adaptive_averages(
        "adaptive_avg_pool3d", "adaptive_avg_pool3d_cpu", self, 3, output_size
    )


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
    return ops.aten._adaptive_avg_pool2d.default(self, output_size)  # type: ignore[no-any-return]


@op
def adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    _check_sizes("adaptive_avg_pool3d", 3, output_size)
    if tuple(output_size) == (1, 1, 1) and self.dim() in (4, 5) and 0 not in self.shape[-4:]:
        return _mean_of_planes(self, 3)
    return ops.aten._adaptive_avg_pool3d.default(self, output_size)  # type: ignore[no-any-return]


@op
def adaptive_avg_pool1d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Averages over `output_size` windows that cover (N, C, L) or (C, L) evenly."""
    _check_line("adaptive_avg_pool1d", self, output_size)
    _check_sizes("adaptive_avg_pool1d", 1, output_size)
    pooled: Tensor = ops.aten.adaptive_avg_pool2d.default(self.unsqueeze(-2), (1, *output_size))
    return pooled.squeeze(-2)


def _adaptive_largest(
    name: str, kernel: str, self: Tensor, rank: int, size: Sequence[int]
) -> tuple[Tensor, Tensor]:
    windows = adaptive_window_lists(name, self, rank, size)
    if not self.is_floating_point():
        raise refusal(kernel, self.dtype)
    sizes = sizes_of(self, windows)
    if self.is_meta:
        return self.new_empty(sizes), self.new_empty(sizes, dtype=_INT64)
    begins, ends, _ = zip(*windows, strict=True)
    return largest_in_windows(kernel, self, begins, ends, sizes, (1,) * rank)


@op
def adaptive_max_pool2d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover (N, C, H, W) or (C, H, W) evenly, and where."""
    name = "adaptive_max_pool2d"
    out, indices = _adaptive_largest(name, name, self, 2, output_size)
    return ordered_like(out, self), ordered_like(indices, self)


@op
def adaptive_max_pool3d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    return _adaptive_largest("adaptive_max_pool3d", "adaptive_max_pool3d_cpu", self, 3, output_size)


@op
def adaptive_max_pool1d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The largest elements of windows that cover (N, C, L) or (C, L) evenly, and where they are."""
    _check_line("adaptive_max_pool1d", self, output_size)
    _check_sizes("adaptive_max_pool1d", 1, output_size)
    out, indices = ops.aten.adaptive_max_pool2d.default(self.unsqueeze(-2), (1, *output_size))
    return out.squeeze(-2), indices.squeeze(-2)
