"""Discrete Fourier transforms, one dimension after the other, by kernels/fourier/fourier.pyx.

Results lie in memory as torch's do: transformed dimensions innermost.
"""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.fourier.fourier import transform
from aten.ops.definition import op
from aten.ops.fourier.fft import (
    by_stride,
    memory_order,
    require_points,
    resized,
    scales,
    transformed,
)
from aten.registry import ops


@op
def _fft_c2c(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Tensor:
    dims = transformed("_fft_c2c", self, dim, complex_input=True)
    if not dims:
        return self.clone()
    made = _empty_in_order(self, self.shape, by_stride(self, dims), self.dtype)
    given = _as_read(self)
    factors = scales(self.shape, dims, normalization)
    for one, scale in zip(dims, factors, strict=True):
        transform(given, made, one, self.shape[one], not forward, scale)
        given = made
    return made


@op
def _fft_r2c(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Tensor:
    dims = transformed("_fft_r2c", self, dim, complex_input=False)
    sizes = list(self.shape)
    if onesided:
        sizes[dims[-1]] = sizes[dims[-1]] // 2 + 1
    innermost = [*by_stride(self, dims[:-1]), dims[-1]]
    made = _empty_in_order(self, sizes, innermost, self.dtype.to_complex())
    *others, last_dim = dims
    *factors, scale = scales(self.shape, dims, normalization)
    transform(_as_read(self), made, last_dim, self.shape[last_dim], False, scale)
    for one, one_scale in zip(others, factors, strict=True):
        transform(made, made, one, made.shape[one], False, one_scale)
    return made


@op
def _fft_c2r(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    dims = transformed("_fft_c2r", self, dim, complex_input=True)
    require_points(last_dim_size)
    sizes = list(self.shape)
    sizes[dims[-1]] = last_dim_size
    innermost = [*by_stride(self, dims[:-1]), dims[-1]]
    made = _empty_in_order(self, sizes, innermost, self.dtype.to_real())
    *others, last_dim = dims
    *factors, scale = scales(sizes, dims, normalization)
    given = _as_read(resized(self, [last_dim], [last_dim_size // 2 + 1]))
    if others:
        spectrum = ops.aten.empty_like.default(given)
        for one, one_scale in zip(others, factors, strict=True):
            transform(given, spectrum, one, given.shape[one], True, one_scale)
            given = spectrum
    transform(given, made, last_dim, last_dim_size, True, scale)
    return made


def _as_read(self: Tensor) -> Tensor:
    """The numbers as they read."""
    if self.is_conj() or self.is_neg():
        return self.resolve_conj().resolve_neg()
    return self


def _empty_in_order(
    self: Tensor, sizes: Sequence[int], innermost: Sequence[int], element: dtype
) -> Tensor:
    """Uninitialized, the dimensions `innermost` last in memory, the others as in `self`."""
    order = memory_order(self, innermost)
    made = self.new_empty([sizes[dim] for dim in order], dtype=element)
    return made.permute(sorted(range(len(order)), key=lambda place: order[place]))
