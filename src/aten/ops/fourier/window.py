"""Window functions: weights that fade a stretch of a signal in and out.

A periodic window is one of a point more, without its last point. Formulas: Harris, On the use of
windows for harmonic analysis with the discrete Fourier transform (1978).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from aten._core.base.device import layout
from aten._core.base.dtypes import dtype, get_default_dtype
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops


def _window(
    name: str,
    window_length: int,
    periodic: bool,
    options: dict[str, Any],
    weights: Callable[[Tensor, int], Tensor],
) -> Tensor:
    """`weights` of the points 0, 1, … of as many as it is told.

    Raises RuntimeError for negative lengths, dtypes that are not floating, and sparse layouts.
    """
    element: dtype = options.get("dtype") or get_default_dtype()
    order: layout | None = options.get("layout")
    if order is not None and order.name != "strided":
        raise RuntimeError(f"{name}: expected a strided layout, got {order}")
    if element.kind not in ("float", "complex"):
        raise RuntimeError(f"{name}: expected a floating dtype, got {element}")
    if window_length < 0:
        raise RuntimeError(f"{name}: expected window_length >= 0, got {window_length}")
    options = {**options, "dtype": element}
    if window_length < 2:
        return ops.aten.ones((window_length,), **options)
    count = window_length + periodic
    points = ops.aten.arange(count, **options)
    return weights(points, count).narrow(0, 0, window_length)


def _cosines(*amplitudes: float) -> Callable[[Tensor, int], Tensor]:
    """Sums of cosines of whole periods, with alternating signs."""

    def weights(points: Tensor, count: int) -> Tensor:
        angle = points.mul_(2 * math.pi / (count - 1))
        total = angle.cos().mul_(-amplitudes[1]).add_(amplitudes[0])
        for order, amplitude in enumerate(amplitudes[2:], 2):
            total.add_(angle.mul(order).cos_(), alpha=amplitude * (-1) ** order)
        return total

    return weights


def _triangle(points: Tensor, count: int) -> Tensor:
    slopes = points.mul_(2 / (count - 1)).sub_(1).abs_()
    return slopes.neg_().add_(1)


@op("hann_window")
@op("hann_window.periodic")
def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A raised cosine, 0 at the ends."""
    return _window("hann_window", window_length, periodic, options, _cosines(0.5, 0.5))


@op("hamming_window")
@op("hamming_window.periodic")
@op("hamming_window.periodic_alpha")
@op("hamming_window.periodic_alpha_beta")
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Any,
) -> Tensor:
    """alpha - beta cos(2πk/n)."""
    return _window("hamming_window", window_length, periodic, options, _cosines(alpha, beta))


@op("bartlett_window")
@op("bartlett_window.periodic")
def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle, 0 at the ends."""
    return _window("bartlett_window", window_length, periodic, options, _triangle)


@op("blackman_window")
@op("blackman_window.periodic")
def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Blackman's three cosines."""
    cosines = _cosines(0.42, 0.5, 0.08)
    return _window("blackman_window", window_length, periodic, options, cosines)


@op("kaiser_window")
@op("kaiser_window.periodic")
@op("kaiser_window.beta")
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Tensor:
    """Kaiser & Schafer, On the use of the I0-sinh window for spectrum analysis (1980)."""

    def weights(points: Tensor, count: int) -> Tensor:
        middle = (count - 1) / 2
        heights = points.sub_(middle).div_(middle).square_().neg_().add_(1).sqrt_()
        scale = ops.aten.i0(ops.aten.scalar_tensor(beta, dtype=points.dtype, device=points.device))
        return ops.aten.i0(heights.mul_(beta)).div_(scale)

    return _window("kaiser_window", window_length, periodic, options, weights)
