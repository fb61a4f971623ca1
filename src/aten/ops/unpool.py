"""Poolings over random windows, and the way back from pooled elements to their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.dtypes import DTYPES
from aten._core.pooling import Windows, average_pool_backward, spread_planes, windows_at
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory_order import ordered_like
from aten.ops.pool import (
    batched,
    check_average_3d,
    largest_in_windows,
    narrowed,
    sizes_of,
    widened,
)
from aten.ops.pool_windows import adaptive_window_lists, check_image, window_lists
from aten.ops.requirements import refusal
from aten.registry import ops

_INT64 = DTYPES["int64"]


def _interval_begins(samples: Tensor, size: int, pool: int, count: int) -> Tensor:
    """Begins of `count` windows of `pool` elements for each of the `samples` from [0, 1).

    Graham, Fractional max-pooling (2014): steps of a mean length, at a random phase; the last
    window ends at the border. All is computed in the samples' dtype.
    """
    phase = samples.unsqueeze(-1)
    last: Tensor = ops.aten.full.default([samples.shape[0], 1], size - pool, dtype=_INT64)
    if count == 1:
        return last
    room, steps, places = (
        ops.aten.arange.start(first, end, dtype=samples.dtype)
        for first, end in ((size - pool, size - pool + 1), (count - 1, count), (0, count - 1))
    )
    step = room / steps
    begins = ((places + phase) * step).to(_INT64) - (phase * step).to(_INT64)
    return ops.aten.cat.default([begins.clamp(0, size - pool), last], 1)  # type: ignore[no-any-return]


def _fractional_pooled(
    name: str,
    rank: int,
    self: Tensor,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    random_samples: Tensor,
) -> tuple[Tensor, Tensor]:
    if len(kernel_size) not in (1, rank) or len(output_size) not in (1, rank):
        raise RuntimeError(f"{name}: kernel_size and output_size must be of one or {rank} numbers")
    kernel = [*kernel_size] * (rank if len(kernel_size) == 1 else 1)
    counts = [*output_size] * (rank if len(output_size) == 1 else 1)
    check_image(name, self, rank)
    if min(kernel) <= 0 or min(counts) <= 0:
        raise RuntimeError(f"{name}: kernel_size and output_size must be positive")
    for size, pool, count in zip(self.shape[-rank:], kernel, counts, strict=True):
        if pool + count - (rank == 2) > size:
            raise RuntimeError(
                f"{name}: {count} windows of {pool} are too many for a dimension of {size}"
            )
    batch = batched(self, rank)
    planes = batch.shape[0] * batch.shape[1]
    _check_samples(name, self, rank, random_samples, batch)
    if not self.is_floating_point():
        raise refusal(f"{name}_out_frame", self.dtype)
    _require_unit_interval(name, random_samples)
    sizes = [*self.shape[:-rank], *counts]
    if self.is_meta:
        return self.new_empty(sizes), self.new_empty(sizes, dtype=_INT64)
    samples = random_samples.reshape(planes, rank)
    # In two dimensions the first sample is for the width.
    order = (1, 0) if rank == 2 else range(rank)
    windows = []
    for place, size, pool, count in zip(order, self.shape[-rank:], kernel, counts, strict=True):
        begins = _interval_begins(samples[:, place], size, pool, count)
        windows.append(windows_at(begins.contiguous(), pool))
    return largest_in_windows(name, self, windows, sizes, (1,) * rank, apart=True)


def _check_samples(
    name: str, self: Tensor, rank: int, random_samples: Tensor, batch: Tensor
) -> None:
    if random_samples.dtype is not self.dtype:
        raise RuntimeError(
            f"{name}: random_samples must have the dtype of the input, {self.dtype}, but got "
            f"{random_samples.dtype}"
        )
    if tuple(random_samples.shape) != (*batch.shape[:2], rank):
        raise RuntimeError(
            f"{name}: expected random_samples of shape {[*batch.shape[:2], rank]}, but got "
            f"{list(random_samples.shape)}"
        )


def _require_unit_interval(name: str, random_samples: Tensor) -> None:
    if random_samples.is_meta or random_samples.numel() == 0:
        return
    if not bool(random_samples.ge(0).logical_and(random_samples.lt(1)).all()):
        raise RuntimeError(
            f"{name}: expected random_samples from [0, 1), but they go from "
            f"{random_samples.min().item()} to {random_samples.max().item()}"
        )


@op
def fractional_max_pool2d(self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    """The largest elements of `output_size` windows that start at random, and where they are.

    `random_samples` (N, C, 2) from [0, 1) decide where. Raises RuntimeError for other samples, and
    for sizes that do not go together.
    """
    return _fractional_pooled("fractional_max_pool2d", 2, self, *window)


@op
def fractional_max_pool3d(self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` with one more dimension."""
    return _fractional_pooled("fractional_max_pool3d", 3, self, *window)


def _spread(values: Tensor, indices: Tensor, sizes: Sequence[int], rank: int, add: bool) -> Tensor:
    """Zeros of `sizes`, with the values of each plane written, or added, to their places in it."""
    source = widened(values)
    out: Tensor = ops.aten.zeros.default(sizes, dtype=source.dtype, device=values.device)
    if not values.is_meta and out.numel():
        spread_planes(
            source.contiguous().flatten(0, -rank - 1).flatten(1),
            indices.contiguous(),
            out.flatten(0, -rank - 1).flatten(1),
            add,
        )
    return narrowed(out, values)


def _check_places(name: str, values: Tensor, indices: Tensor) -> None:
    if indices.dtype is not _INT64:
        raise RuntimeError(f"{name}: elements in indices should be int64, got {indices.dtype}")
    if values.shape != indices.shape:
        raise RuntimeError(
            f"{name}: expected shape of indices to be that of the input, {list(values.shape)}, but "
            f"got {list(indices.shape)}"
        )


def _unpooled(
    name: str, self: Tensor, indices: Tensor, output_size: Sequence[int], rank: int
) -> Tensor:
    if len(output_size) != rank:
        raise RuntimeError(
            f"{name}: there should be exactly {rank} elements in output_size, but got "
            f"{list(output_size)}"
        )
    _check_places(name, self, indices)
    check_image(name, self, rank)
    if not self.is_floating_point():
        raise refusal(name, self.dtype)
    return _spread(self, indices, [*self.shape[:-rank], *output_size], rank, add=False)


@op
def max_unpool2d(self: Tensor, indices: Tensor, output_size: Sequence[int]) -> Tensor:
    """Zeros of `output_size` with the elements of `self` at `indices` of their planes.

    Where an index occurs twice, the last one counts. Raises RuntimeError for indices out of range
    and of other dtypes than int64.
    """
    return ordered_like(_unpooled("max_unpool2d", self, indices, output_size, 2), self)


@op
def max_unpool3d(
    self: Tensor,
    indices: Tensor,
    output_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> Tensor:
    """`max_unpool2d` with one more dimension."""
    if len(stride) != 3 or len(padding) != 3:
        raise RuntimeError("max_unpool3d: stride and padding must be of three numbers each")
    if min(stride) <= 0:
        raise RuntimeError(f"max_unpool3d: strides should be positive, got {list(stride)}")
    return _unpooled("max_unpool3d", self, indices, output_size, 3)


def _largest_backward(
    name: str, grad_output: Tensor, self: Tensor, indices: Tensor, sizes: Sequence[int], rank: int
) -> Tensor:
    """The gradient added up at the elements that were the largest."""
    _check_gradient(name, grad_output, self, sizes)
    _check_places(name, grad_output, indices)
    if not self.is_floating_point():
        raise refusal(name, self.dtype)
    return _spread(grad_output, indices, self.shape, rank, add=True)


def _check_gradient(name: str, grad_output: Tensor, self: Tensor, sizes: Sequence[int]) -> None:
    if grad_output.dtype is not self.dtype:
        raise RuntimeError(
            f"{name}: expected dtype {self.dtype} for `grad_output` but got {grad_output.dtype}"
        )
    if tuple(grad_output.shape) != tuple(sizes):
        raise RuntimeError(
            f"{name}: expected grad_output of shape {list(sizes)}, but got "
            f"{list(grad_output.shape)}"
        )


@op
def max_pool2d_with_indices_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """The gradient of `max_pool2d`: each element of `grad_output` goes where it came from."""
    name = "max_pool2d_backward"
    sizes = sizes_of(self, window_lists(name, self, 2, *window[:-1]))
    out = _largest_backward(name, grad_output, self, window[-1], sizes, 2)
    return ordered_like(out, self)


@op
def max_pool3d_with_indices_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """`max_pool2d_with_indices_backward` with one more dimension."""
    name = "max_pool3d_with_indices_backward"
    sizes = sizes_of(self, window_lists(name, self, 3, *window[:-1]))
    out = _largest_backward(name, grad_output, self, window[-1], sizes, 3)
    return ordered_like(out, self)


@op
def adaptive_max_pool2d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    sizes = (*self.shape[:-2], *grad_output.shape[-2:])
    return _largest_backward("adaptive_max_pool2d", grad_output, self, indices, sizes, 2)


@op
def adaptive_max_pool3d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    sizes = (*self.shape[:-3], *grad_output.shape[-3:])
    return _largest_backward("adaptive_max_pool3d", grad_output, self, indices, sizes, 3)


def _averages_backward(
    name: str,
    grad_output: Tensor,
    self: Tensor,
    windows: Sequence[Windows],
    inside: bool = True,
    divisor: int = 0,
) -> Tensor:
    """The gradient, divided, added to all elements of its window."""
    _check_gradient(name, grad_output, self, sizes_of(self, windows))
    if not self.is_floating_point() and self.dtype is not _INT64:
        raise refusal(name, self.dtype)
    rank = len(windows)
    source = widened(grad_output)
    out: Tensor = ops.aten.zeros.default(self.shape, dtype=source.dtype, device=self.device)
    if not self.is_meta:
        average_pool_backward(
            batched(source.contiguous(), rank), batched(out, rank), windows, inside, divisor
        )
    return narrowed(out, self)


def _average_pool_backward(
    name: str,
    rank: int,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    windows = window_lists(name, self, rank, kernel_size, stride, padding, (1,), ceil_mode)
    return _averages_backward(
        name, grad_output, self, windows, not count_include_pad, divisor_override or 0
    )


@op
def avg_pool2d_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """The gradient of `avg_pool2d`."""
    out = _average_pool_backward("avg_pool2d_backward", 2, grad_output, self, *window)
    return ordered_like(out, self)


@op
def avg_pool3d_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """The gradient of `avg_pool3d`."""
    check_average_3d("avg_pool3d_backward", self, window[0])
    return _average_pool_backward("avg_pool3d_backward", 3, grad_output, self, *window)


def _adaptive_backward(name: str, grad_output: Tensor, self: Tensor, rank: int) -> Tensor:
    windows = adaptive_window_lists(name, self, rank, grad_output.shape[-rank:])
    if not self.is_floating_point():
        raise refusal(name, self.dtype)
    return _averages_backward(name, grad_output, self, windows)


@op
def _adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of `_adaptive_avg_pool2d`."""
    out = _adaptive_backward("adaptive_avg_pool2d_backward", grad_output, self, 2)
    return ordered_like(out, self)


@op
def _adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of `_adaptive_avg_pool3d`."""
    return _adaptive_backward("adaptive_avg_pool3d_backward", grad_output, self, 3)
