"""The CPU's poolings over random windows, and the way back from pooled elements to their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.windows.pooling import (
    Windows,
    average_pool_backward,
    spread_planes,
    windows_at,
)
from aten.backends.cpu.operators.windows.pool import (
    adaptive_lists,
    batched,
    kept_average_windows,
    largest_in_windows,
    lists_of,
)
from aten.ops.definition import op
from aten.ops.memory.conversion import as_type, wide
from aten.ops.memory_order import ordered_like
from aten.ops.windows.unpool import (
    check_adaptive_backward,
    check_adaptive_max_backward,
    check_averages_backward,
    check_fractional_backward,
    check_max_backward,
    check_steps,
    check_unpooled,
    fractions,
    interval_begins,
)
from aten.registry import ops


def _fractional_pooled(name: str, rank: int, self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    parts = fractions(name, rank, self, *window)
    _require_finite(name, window[-1])
    windows = []
    for part in parts:
        begins = interval_begins(part.samples, part.size, part.kernel, part.results)
        windows.append(windows_at(begins.contiguous(), part.kernel))
    sizes = [*self.shape[:-rank], *(part.results for part in parts)]
    return largest_in_windows(self, windows, sizes, (1,) * rank, apart=True)


def _require_finite(name: str, random_samples: Tensor) -> None:
    if not bool(random_samples.isfinite().all()):
        raise RuntimeError(f"{name}: expected finite random_samples, got infinities or NaN")


@op
def fractional_max_pool2d(self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    """The largest elements of `output_size` windows that start at random, and where they are.

    `random_samples` (N, C, 2), of which all but the fractions counts little, decide where. Raises
    RuntimeError for infinities and NaN among them, and for sizes that do not go together.
    """
    return _fractional_pooled("fractional_max_pool2d", 2, self, *window)


@op
def fractional_max_pool3d(self: Tensor, *window: Any) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` with one more dimension."""
    return _fractional_pooled("fractional_max_pool3d", 3, self, *window)


def _spread(values: Tensor, indices: Tensor, sizes: Sequence[int], rank: int, add: bool) -> Tensor:
    """Zeros of `sizes`, with the values of each plane written, or added, to their places in it."""
    source = wide(values)
    out: Tensor = ops.aten.zeros.default(sizes, dtype=source.dtype, device=values.device)
    if out.numel():
        spread_planes(
            source.contiguous().flatten(0, -rank - 1).flatten(1),
            indices.contiguous(),
            out.flatten(0, -rank - 1).flatten(1),
            add,
        )
    return as_type(out, values.dtype)


@op
def max_unpool2d(self: Tensor, indices: Tensor, output_size: Sequence[int]) -> Tensor:
    """Zeros of `output_size` with the elements of `self` at `indices` of their planes.

    Where an index occurs twice, the last one counts. Raises RuntimeError for indices out of range
    and of other dtypes than int64.
    """
    check_unpooled("max_unpool2d", self, indices, output_size, 2)
    out = _spread(self, indices, [*self.shape[:-2], *output_size], 2, add=False)
    return ordered_like(out, self)


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
    return _spread(self, indices, [*self.shape[:-3], *output_size], 3, add=False)


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


@op
def adaptive_max_pool2d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    check_adaptive_max_backward(2, grad_output, self, indices)
    return _spread(grad_output, indices, self.shape, 2, add=True)


@op
def adaptive_max_pool3d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    check_adaptive_max_backward(3, grad_output, self, indices)
    return _spread(grad_output, indices, self.shape, 3, add=True)


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


def _averages_backward(
    grad_output: Tensor,
    self: Tensor,
    windows: Sequence[Windows],
    inside: bool = True,
    divisor: int = 0,
) -> Tensor:
    """The gradient, divided, added to all elements of its window."""
    rank = len(windows)
    source = wide(grad_output)
    out: Tensor = ops.aten.zeros.default(self.shape, dtype=source.dtype)
    average_pool_backward(
        batched(source.contiguous(), rank), batched(out, rank), windows, inside, divisor
    )
    return as_type(out, self.dtype)


def _average_pool_backward(
    name: str, rank: int, grad_output: Tensor, self: Tensor, *window: Any
) -> Tensor:
    windows, inside, divisor = kept_average_windows(name, self.shape, self.dtype, rank, *window)
    check_averages_backward(name, grad_output, self, [one.results for one in windows])
    return _averages_backward(grad_output, self, lists_of(windows), inside, divisor)


@op
def avg_pool2d_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """The gradient of `avg_pool2d`."""
    out = _average_pool_backward("avg_pool2d_backward", 2, grad_output, self, *window)
    return ordered_like(out, self)


@op
def avg_pool3d_backward(grad_output: Tensor, self: Tensor, *window: Any) -> Tensor:
    """The gradient of `avg_pool3d`."""
    return _average_pool_backward("avg_pool3d_backward", 3, grad_output, self, *window)


def _adaptive_backward(name: str, grad_output: Tensor, self: Tensor, rank: int) -> Tensor:
    check_adaptive_backward(name, grad_output, self, rank)
    windows = adaptive_lists(self.shape[-rank:], grad_output.shape[-rank:])
    return _averages_backward(grad_output, self, windows)


@op
def _adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of `_adaptive_avg_pool2d`."""
    out = _adaptive_backward("adaptive_avg_pool2d_backward", grad_output, self, 2)
    return ordered_like(out, self)


@op
def _adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of `_adaptive_avg_pool3d`."""
    return _adaptive_backward("adaptive_avg_pool3d_backward", grad_output, self, 3)
