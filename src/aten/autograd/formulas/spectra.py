"""Formulas for Fourier transforms: their own adjoints, but for the half that is left out."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.registry import ops


def of_real_spectrum(
    gradient: Tensor, sizes: Sequence[int], dim: Sequence[int], onesided: bool
) -> Tensor:
    """Of `prims.fft_r2c`: the missing half counts nothing."""
    if not dim:
        return ops.aten.real(gradient)
    last = wrap_dimension(dim[-1], len(sizes))
    missing = sizes[last] - gradient.shape[last]
    if onesided and missing:
        pad = [0, 0] * (len(sizes) - 1 - last) + [0, missing]
        gradient = ops.aten.constant_pad_nd(gradient, pad)
    return ops.aten.real(ops.prims.fft_c2c(gradient, dim=dim, forward=False))


def of_half_spectrum(gradient: Tensor, sizes: Sequence[int], dim: Sequence[int]) -> Tensor:
    """Of `prims.fft_c2r`: what stands for two of a spectrum counts twice."""
    made = ops.prims.fft_r2c(gradient, dim=dim, onesided=True)
    last = wrap_dimension(dim[-1], len(sizes))
    twice = gradient.shape[last] - made.shape[last]
    if twice > 0:
        inner = ops.aten.narrow(made, last, 1, twice)
        made = ops.aten.slice_scatter(made, inner * 2, last, 1, 1 + twice)
    if made.shape[last] < sizes[last]:
        pad = [0, 0] * (len(sizes) - 1 - last) + [0, sizes[last] - made.shape[last]]
        made = ops.aten.constant_pad_nd(made, pad)
    return made


def fft_c2c(gradient: Tensor, dim: Sequence[int], forward: bool) -> Tensor:
    """The unscaled transform."""
    return ops.prims.fft_c2c(gradient, dim=dim, forward=forward)
