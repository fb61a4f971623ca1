"""Poolings over random windows, and the way back from pooled elements to their places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory.conversion import as_type, wide
from aten.ops.memory_order import ordered_like
from aten.ops.requirements import refusal
from aten.ops.windows.pool import divisors_of, quotients
from aten.ops.windows.pool_places import (
    INT64,
    adaptive_lines,
    added,
    extents,
    in_planes,
    largest,
    lines_from,
    lines_of,
    seen_at,
)
from aten.ops.windows.pool_windows import average_windows, check_adaptive, check_image, max_windows
from aten.registry import ops


def interval_begins(samples: Tensor, size: int, pool: int, count: int) -> Tensor:
    """Begins of `count` windows of `pool` elements for each of the `samples`, which are finite.

    Graham, Fractional max-pooling (2014): steps of a mean length, at a random phase; the last
    window ends at the border. All is computed in the samples' dtype.
    """
    phase = samples.unsqueeze(-1)
    last: Tensor = ops.aten.full.default(
        [samples.shape[0], 1], size - pool, dtype=INT64, device=samples.device
    )
    if count == 1:
        return last
    room, steps, places = (
        ops.aten.arange.start(first, end, dtype=samples.dtype, device=samples.device)
        for first, end in ((size - pool, size - pool + 1), (count - 1, count), (0, count - 1))
    )
    step = room / steps
    begins = ((places + phase) * step).to(INT64) - (phase * step).to(INT64)
    return ops.aten.cat.default([begins.clamp(0, size - pool), last], 1)


class Fraction(NamedTuple):
    """One dimension of random windows: its size, the windows' and their number, and samples
    (planes) that decide where they begin."""

    size: int
    kernel: int
    results: int
    samples: Tensor


def fractions(
    name: str,
    rank: int,
    self: Tensor,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    random_samples: Tensor,
) -> list[Fraction]:
    """The windows in each dimension. Raises RuntimeError for what does not go together."""
    if len(kernel_size) not in (1, rank) or len(output_size) not in (1, rank):
        raise RuntimeError(f"{name}: kernel_size and output_size must be of one or {rank} numbers")
    kernel = [*kernel_size] * (rank if len(kernel_size) == 1 else 1)
    counts = [*output_size] * (rank if len(output_size) == 1 else 1)
    check_image(name, self.shape, rank)
    if min(kernel) <= 0 or min(counts) <= 0:
        raise RuntimeError(f"{name}: kernel_size and output_size must be positive")
    for size, pool, count in zip(self.shape[-rank:], kernel, counts, strict=True):
        if pool + count - (rank == 2) > size:
            raise RuntimeError(
                f"{name}: {count} windows of {pool} are too many for a dimension of {size}"
            )
    leading = (1, *self.shape)[-rank - 2 : -rank]
    _check_samples(name, self, rank, random_samples, leading)
    if not self.is_floating_point():
        raise refusal(f"{name}_out_frame", self.dtype)
    samples = random_samples.reshape((prod(leading), rank))
    # In two dimensions the first sample is for the width.
    order = (1, 0) if rank == 2 else range(rank)
    return [
        Fraction(size, pool, count, samples.select(1, place))
        for place, size, pool, count in zip(order, self.shape[-rank:], kernel, counts, strict=True)
    ]


def _check_samples(
    name: str, self: Tensor, rank: int, random_samples: Tensor, leading: Sequence[int]
) -> None:
    if random_samples.dtype is not self.dtype:
        raise RuntimeError(
            f"{name}: random_samples must have the dtype of the input, {self.dtype}, but got "
            f"{random_samples.dtype}"
        )
    if tuple(random_samples.shape) != (*leading, rank):
        raise RuntimeError(
            f"{name}: expected random_samples of shape {[*leading, rank]}, but got "
            f"{list(random_samples.shape)}"
        )


def _fractional_pooled(name: str, rank: int, self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    parts = fractions(name, rank, self, *window)
    lines = [
        lines_from(interval_begins(part.samples, part.size, part.kernel, part.results), part.kernel)
        for part in parts
    ]
    places = in_planes(lines, self.shape[-rank:])
    shape = (*self.shape[:-rank], *places.shape[1:])
    return largest(seen_at(self, places, rank, 0), places.reshape(shape))


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


def check_places(name: str, values: Tensor, indices: Tensor) -> None:
    if indices.dtype is not INT64:
        raise RuntimeError(f"{name}: elements in indices should be int64, got {indices.dtype}")
    if values.shape != indices.shape:
        raise RuntimeError(
            f"{name}: expected shape of indices to be that of the input, {list(values.shape)}, but "
            f"got {list(indices.shape)}"
        )


def check_unpooled(
    name: str, self: Tensor, indices: Tensor, output_size: Sequence[int], rank: int
) -> None:
    """Raises RuntimeError for other ranks, sizes and indices than max_unpool takes."""
    if len(output_size) != rank:
        raise RuntimeError(
            f"{name}: there should be exactly {rank} elements in output_size, but got "
            f"{list(output_size)}"
        )
    check_places(name, self, indices)
    check_image(name, self.shape, rank)
    if not self.is_floating_point():
        raise refusal(name, self.dtype)


def _spread(values: Tensor, indices: Tensor, sizes: Sequence[int], rank: int, add: bool) -> Tensor:
    """Zeros of `sizes`, with the values of each plane written, or added, to their places in it."""
    source = wide(values)
    planes, count = prod(sizes[:-rank]), prod(values.shape[-rank:])
    out = source.new_zeros((planes, prod(sizes[-rank:])))
    combine = ops.aten.scatter_add if add else ops.aten.scatter.src
    made = combine(out, 1, indices.reshape((planes, count)), source.reshape((planes, count)))
    return as_type(made.reshape(sizes), values.dtype)


@op
def max_unpool2d(self: Tensor, indices: Tensor, output_size: Sequence[int]) -> Tensor:
    """Zeros of `output_size` with the elements of `self` at `indices` of their planes.

    Where an index occurs twice, the last one counts. Raises RuntimeError for indices of other
    dtypes than int64.
    """
    check_unpooled("max_unpool2d", self, indices, output_size, 2)
    out = _spread(self, indices, (*self.shape[:-2], *output_size), 2, add=False)
    return ordered_like(out, self)


def check_steps(stride: Sequence[int], padding: Sequence[int]) -> None:
    """Raises RuntimeError for what max_unpool3d, which has no use for them, does not take."""
    if len(stride) != 3 or len(padding) != 3:
        raise RuntimeError("max_unpool3d: stride and padding must be of three numbers each")
    if min(stride) <= 0:
        raise RuntimeError(f"max_unpool3d: strides should be positive, got {list(stride)}")


@op
def max_unpool3d(
    self: Tensor,
    indices: Tensor,
    output_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> Tensor:
    """`max_unpool2d` with one more dimension."""
    check_steps(stride, padding)
    check_unpooled("max_unpool3d", self, indices, output_size, 3)
    return _spread(self, indices, (*self.shape[:-3], *output_size), 3, add=False)


def check_largest_backward(
    name: str, grad_output: Tensor, self: Tensor, indices: Tensor, sizes: Sequence[int]
) -> None:
    """Raises RuntimeError for other shapes and dtypes than those of the results of pooling."""
    check_gradient(name, grad_output, self, sizes)
    check_places(name, grad_output, indices)
    if not self.is_floating_point():
        raise refusal(name, self.dtype)


def check_gradient(name: str, grad_output: Tensor, self: Tensor, sizes: Sequence[int]) -> None:
    if grad_output.dtype is not self.dtype:
        raise RuntimeError(
            f"{name}: expected dtype {self.dtype} for `grad_output` but got {grad_output.dtype}"
        )
    if tuple(grad_output.shape) != tuple(sizes):
        raise RuntimeError(
            f"{name}: expected grad_output of shape {list(sizes)}, but got "
            f"{list(grad_output.shape)}"
        )


def check_max_backward(
    name: str, rank: int, grad_output: Tensor, self: Tensor, *window: Any
) -> None:
    """Raises RuntimeError where the gradient is not one of what such windows, and the indices
    behind them, give."""
    windows = max_windows(name, self.shape, rank, *window[:-1])
    sizes = (*self.shape[:-rank], *(one.results for one in windows))
    check_largest_backward(name, grad_output, self, window[-1], sizes)


@op
def max_pool2d_with_indices_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """The gradient of `max_pool2d`: each element of `grad_output` goes where it came from."""
    check_max_backward("max_pool2d_backward", 2, grad_output, self, *window)
    return ordered_like(_spread(grad_output, window[-1], self.shape, 2, add=True), self)


@op
def max_pool3d_with_indices_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """`max_pool2d_with_indices_backward` with one more dimension."""
    check_max_backward("max_pool3d_with_indices_backward", 3, grad_output, self, *window)
    return ordered_like(_spread(grad_output, window[-1], self.shape, 3, add=True), self)


def check_adaptive_max_backward(
    rank: int, grad_output: Tensor, self: Tensor, indices: Tensor
) -> None:
    """Raises RuntimeError for other shapes and dtypes than those of the results of pooling."""
    sizes = (*self.shape[:-rank], *grad_output.shape[-rank:])
    check_largest_backward(f"adaptive_max_pool{rank}d", grad_output, self, indices, sizes)


@op
def adaptive_max_pool2d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    check_adaptive_max_backward(2, grad_output, self, indices)
    return _spread(grad_output, indices, self.shape, 2, add=True)


@op
def adaptive_max_pool3d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    check_adaptive_max_backward(3, grad_output, self, indices)
    return _spread(grad_output, indices, self.shape, 3, add=True)


def check_averages_backward(
    name: str, grad_output: Tensor, self: Tensor, counts: Sequence[int]
) -> None:
    """Raises RuntimeError for a gradient of other shapes, NotImplementedError for other dtypes."""
    check_gradient(name, grad_output, self, (*self.shape[: -len(counts)], *counts))
    if not self.is_floating_point() and self.dtype is not INT64:
        raise refusal(name, self.dtype)


def _average_backward(
    name: str, rank: int, grad_output: Tensor, self: Tensor, *window: Any
) -> Tensor:
    """The gradient, divided, added to all elements of its window."""
    windows, inside, divisor = average_windows(name, self.shape, self.dtype, rank, *window)
    check_averages_backward(name, grad_output, self, [one.results for one in windows])
    each = quotients(wide(grad_output), divisors_of(windows, inside, divisor, self))
    places = in_planes(lines_of(windows, self.device), self.shape[-rank:])
    return _added_to_windows(each, places, self, rank)


def _added_to_windows(each: Tensor, places: Tensor, self: Tensor, rank: int) -> Tensor:
    values = each.unsqueeze(-1).expand((*each.shape, places.shape[-1]))
    return as_type(added(values, places, self.shape, rank), self.dtype)


@op
def avg_pool2d_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """The gradient of `avg_pool2d`."""
    out = _average_backward("avg_pool2d_backward", 2, grad_output, self, *window)
    return ordered_like(out, self)


@op
def avg_pool3d_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """The gradient of `avg_pool3d`."""
    return _average_backward("avg_pool3d_backward", 3, grad_output, self, *window)


def check_adaptive_backward(name: str, grad_output: Tensor, self: Tensor, rank: int) -> None:
    """Raises RuntimeError for a gradient of other shapes, NotImplementedError for other dtypes."""
    counts = grad_output.shape[-rank:]
    check_adaptive(name, self.shape, rank, counts)
    if not self.is_floating_point():
        raise refusal(name, self.dtype)
    check_averages_backward(name, grad_output, self, counts)


def _adaptive_backward(grad_output: Tensor, self: Tensor, rank: int) -> Tensor:
    lines = adaptive_lines(self.shape[-rank:], grad_output.shape[-rank:], self.device)
    each = quotients(wide(grad_output), extents(lines))
    return _added_to_windows(each, in_planes(lines, self.shape[-rank:]), self, rank)


@op
def _adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of `_adaptive_avg_pool2d`."""
    check_adaptive_backward("adaptive_avg_pool2d_backward", grad_output, self, 2)
    return ordered_like(_adaptive_backward(grad_output, self, 2), self)


@op
def _adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of `_adaptive_avg_pool3d`."""
    check_adaptive_backward("adaptive_avg_pool3d_backward", grad_output, self, 3)
    return _adaptive_backward(grad_output, self, 3)


def check_fractional_backward(
    grad_output: Tensor, self: Tensor, output_size: Sequence[int], indices: Tensor
) -> None:
    """Raises RuntimeError for other shapes and dtypes than those of the results of pooling."""
    rank = len(output_size)
    sizes = (*self.shape[:-rank], *output_size)
    name = f"fractional_max_pool{rank}d_backward"
    check_largest_backward(name, grad_output, self, indices, sizes)


@op
def fractional_max_pool_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    indices: Tensor,
) -> Tensor:
    """The gradient of `fractional_max_pool2d` and `fractional_max_pool3d`."""
    check_fractional_backward(grad_output, self, output_size, indices)
    return _spread(grad_output, indices, self.shape, len(output_size), add=True)
