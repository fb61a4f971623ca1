"""Discrete Fourier transforms. Three operators compute; the rest calls them.

Each transform sums x_j exp(∓2πi jk/n), times nothing, 1/√n or 1/n: the normalizations 0, 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from aten._core.base.device import device, layout
from aten._core.base.dtypes import dtype, get_default_dtype
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.row_major import row_major
from aten.registry import ops

_COMPUTED = ("float32", "float64", "complex64", "complex128")


# The three that compute.


@op
def _fft_c2c(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Tensor:
    """Complex numbers to complex ones, over the dimensions `dim`, which then lie innermost."""
    dims = transformed("_fft_c2c", self, dim, complex_input=True)
    if not dims:
        return self.clone()
    made = ops.prims.fft_c2c(self, dim=dims, forward=forward)
    made = _scaled(made, self.shape, dims, normalization)
    return _in_order(made, memory_order(self, by_stride(self, dims)))


@op
def _fft_r2c(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Tensor:
    """Real numbers to complex ones; `onesided`, only half of the last dimension, rounded up."""
    dims = transformed("_fft_r2c", self, dim, complex_input=False)
    made = ops.prims.fft_r2c(self, dim=dims, onesided=onesided)
    made = _scaled(made, self.shape, dims, normalization)
    return _in_order(made, memory_order(self, [*by_stride(self, dims[:-1]), dims[-1]]))


@op
def _fft_c2r(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    """Half of a conjugate-symmetric spectrum back to `last_dim_size` real numbers."""
    dims = transformed("_fft_c2r", self, dim, complex_input=True)
    require_points(last_dim_size)
    half = resized(self, [dims[-1]], [last_dim_size // 2 + 1])
    made = ops.prims.fft_c2r(half, dim=dims, last_dim_size=last_dim_size)
    made = _scaled(made, made.shape, dims, normalization)
    return _in_order(made, memory_order(self, [*by_stride(self, dims[:-1]), dims[-1]]))


def by_stride(self: Tensor, dims: Sequence[int]) -> list[int]:
    """Dimensions by how far apart their elements lie, the farthest first."""
    strides = self.stride()
    return sorted(dims, key=lambda dim: -strides[dim])


def memory_order(self: Tensor, innermost: Sequence[int]) -> list[int]:
    """The dimensions as a transform leaves them in memory: `innermost` last, the others before."""
    return [
        *by_stride(self, [dim for dim in range(self.dim()) if dim not in innermost]),
        *innermost,
    ]


def _in_order(made: Tensor, order: Sequence[int]) -> Tensor:
    """`made` with its dimensions in memory in this order."""
    inverse = sorted(range(len(order)), key=lambda place: order[place])
    return row_major(made.permute(order)).permute(inverse)


def scales(sizes: Sequence[int], dims: Sequence[int], normalization: int) -> list[float]:
    """What the transform of each dimension is multiplied by."""
    powers = (0.0, -0.5, -1.0)
    return [float(sizes[dim]) ** powers[normalization] for dim in dims]


def _scaled(made: Tensor, sizes: Sequence[int], dims: Sequence[int], normalization: int) -> Tensor:
    return made * prod(scales(sizes, dims, normalization)) if normalization else made


def transformed(name: str, self: Tensor, dim: Sequence[int], *, complex_input: bool) -> list[int]:
    """The dimensions from the front. Raises RuntimeError for dtypes and sizes that are refused."""
    if self.is_complex() is not complex_input or self.dtype.kind not in ("float", "complex"):
        kind = "complex" if complex_input else "floating"
        raise RuntimeError(f"{name}: expected a {kind} dtype, got {self.dtype}")
    if self.dtype.name not in _COMPUTED and has_data(self):
        raise RuntimeError(f"{name}: there is no transform of {self.dtype} on {self.device}")
    if not dim and name != "_fft_c2c":
        raise RuntimeError(f"{name}: expected at least one dimension to transform")
    dims = [wrap_dimension(one, self.dim()) for one in dim]
    for one in dims:
        if self.dim() == 0 or self.shape[one] == 0:
            raise RuntimeError(f"{name}: invalid number of data points (0) in dimension {one}")
    return dims


# Arguments.


def _normalization(norm: str | None, forward: bool) -> int:
    """The normalization of a transform, by its mode. Raises RuntimeError for other words."""
    if norm == "ortho":
        return 1
    if norm not in (None, "backward", "forward"):
        raise RuntimeError(f"fft: expected norm to be backward, forward or ortho, got {norm!r}")
    return 2 if (norm == "forward") == forward else 0


def _promoted(self: Tensor, *, to_complex: bool) -> Tensor:
    """As a dtype there are transforms of. Raises RuntimeError for half types on the CPU."""
    element = self.dtype
    if element.kind not in ("float", "complex"):
        element = get_default_dtype()
    if element.name in ("bfloat16", "float16") and has_data(self):
        raise RuntimeError(f"fft: there is no transform of {element} on {self.device}")
    if to_complex and not element.is_complex:
        element = element.to_complex()
    return self if self.dtype is element else self.to(element)


def _require_real(name: str, self: Tensor) -> None:
    if self.is_complex():
        raise RuntimeError(f"{name}: expected a real input, got {self.dtype}")


def resized(self: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """Cut off, or continued with zeros, at the ends of the dimensions; -1 leaves one as it is."""
    pads = [0] * (2 * self.dim())
    for dim, size in zip(dims, sizes, strict=True):
        if size == -1:
            continue
        if size < self.shape[dim]:
            self = self.narrow(dim, 0, size)
        pads[2 * (self.dim() - 1 - dim) + 1] = max(size - self.shape[dim], 0)
    return ops.aten.constant_pad_nd(self, pads) if any(pads) else self


def require_points(count: int) -> None:
    """Raises RuntimeError where there is nothing to transform to."""
    if count < 1:
        raise RuntimeError(f"fft: invalid number of data points ({count}) specified")


def _one_dim(self: Tensor, n: int | None, dim: int) -> tuple[Tensor, int]:
    if self.dim() == 0:
        raise IndexError(f"fft: dim {dim} was asked for, but the tensor has no dimensions")
    dim = wrap_dimension(dim, self.dim())
    require_points(self.shape[dim] if n is None else n)
    return (self if n is None else resized(self, [dim], [n])), dim


def _dims_and_sizes(
    self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    """The dimensions to transform, and to which sizes; -1 keeps a dimension's size."""
    rank = self.dim()
    if dim is not None:
        dims = [wrap_dimension(one, rank) for one in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"fft: expected each of dim once, got {list(dim)}")
        if s is not None and len(s) != len(dims):
            raise RuntimeError(f"fft: expected as many sizes as dims, got {len(s)} and {len(dims)}")
    elif s is not None:
        if len(s) > rank:
            raise RuntimeError(f"fft: got {len(s)} sizes, but the tensor has {rank} dimensions")
        dims = list(range(rank - len(s), rank))
    else:
        dims = list(range(rank))
    sizes = [-1] * len(dims) if s is None else list(s)
    for one, size in zip(dims, sizes, strict=True):
        require_points(self.shape[one] if size == -1 else size)
    return dims, sizes


def _spectrum_dims(
    name: str, self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None
) -> tuple[list[int], list[int], int]:
    """As `_dims_and_sizes`, with half a last dimension; and how long it is in full."""
    dims, sizes = _dims_and_sizes(self, s, dim)
    _require_dims(name, dims)
    last = sizes[-1] if sizes[-1] != -1 else 2 * (self.shape[dims[-1]] - 1)
    require_points(last)
    sizes[-1] = last // 2 + 1
    return dims, sizes, last


def _require_dims(name: str, dims: list[int]) -> None:
    if not dims:
        raise RuntimeError(f"{name}: expected at least one dimension to transform")


# Of one dimension.


@op(row_major_out=True)
def fft_fft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The spectrum of `n` numbers along `dim`; these are cut off, or continued with zeros.

    norm: "backward" (the default) leaves the sums, "forward" divides them by n, "ortho" by √n.
    """
    self = _promoted(self, to_complex=False)
    self, dim = _one_dim(self, n, dim)
    mode = _normalization(norm, True)
    if self.is_complex():
        return ops.aten._fft_c2c(self, (dim,), mode, True)
    return ops.aten._fft_r2c(self, (dim,), mode, False)


@op(row_major_out="complex")
def fft_ifft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft_fft`."""
    self, dim = _one_dim(_promoted(self, to_complex=True), n, dim)
    return ops.aten._fft_c2c(self, (dim,), _normalization(norm, False), False)


@op(row_major_out=True)
def fft_rfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n // 2 + 1 numbers of the spectrum of real numbers; the others are conjugate."""
    _require_real("rfft", self)
    self, dim = _one_dim(_promoted(self, to_complex=False), n, dim)
    return ops.aten._fft_r2c(self, (dim,), _normalization(norm, True), True)


@op(row_major_out=True)
def fft_irfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft_rfft`; n is even unless it is given."""
    return _from_half(self, n, dim, _normalization(norm, False), conjugated=False)


@op(row_major_out=True)
def fft_hfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real spectrum of a signal that is conjugate-symmetric, of which half is given."""
    return _from_half(self, n, dim, _normalization(norm, True), conjugated=True)


def _from_half(self: Tensor, n: int | None, dim: int, mode: int, *, conjugated: bool) -> Tensor:
    self = _promoted(self, to_complex=True)
    if self.dim() == 0:
        raise IndexError(f"fft: dim {dim} was asked for, but the tensor has no dimensions")
    dim = wrap_dimension(dim, self.dim())
    count = 2 * (self.shape[dim] - 1) if n is None else n
    require_points(count)
    self = resized(self, [dim], [count // 2 + 1])
    if conjugated:
        self = ops.aten.conj_physical(self)
    return ops.aten._fft_c2r(self, (dim,), mode, count)


@op
def fft_ihfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft_hfft`: half of a conjugate-symmetric signal."""
    _require_real("ihfft", self)
    self, dim = _one_dim(_promoted(self, to_complex=False), n, dim)
    half = ops.aten._fft_r2c(self, (dim,), _normalization(norm, False), True)
    return ops.aten.conj_physical(half)


# Of many dimensions.


@op("fft_fftn", "fft_fft2", row_major_out=True)
def fft_fftn(
    self: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """`fft_fft` over each of `dim`, to the sizes `s`; over all dimensions if neither is given."""
    return _complex_transform(self, s, dim, norm, True)


@op("fft_ifftn", "fft_ifft2", row_major_out=True)
def fft_ifftn(
    self: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of `fft_fftn`."""
    return _complex_transform(self, s, dim, norm, False)


def _complex_transform(
    self: Tensor,
    s: Sequence[int] | None,
    dim: Sequence[int] | None,
    norm: str | None,
    forward: bool,
) -> Tensor:
    dims, sizes = _dims_and_sizes(self, s, dim)
    self = resized(_promoted(self, to_complex=True), dims, sizes)
    return ops.aten._fft_c2c(self, dims, _normalization(norm, forward), forward)


@op("fft_rfftn", "fft_rfft2", row_major_out=True)
def fft_rfftn(
    self: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """`fft_rfft` over the last of `dim`, then `fft_fft` over the others."""
    _require_real("rfftn", self)
    dims, sizes = _dims_and_sizes(self, s, dim)
    _require_dims("rfftn", dims)
    self = resized(_promoted(self, to_complex=False), dims, sizes)
    return ops.aten._fft_r2c(self, dims, _normalization(norm, True), True)


@op("fft_irfftn", "fft_irfft2", row_major_out=True)
def fft_irfftn(
    self: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of `fft_rfftn`."""
    dims, sizes, last = _spectrum_dims("irfftn", self, s, dim)
    self = resized(_promoted(self, to_complex=True), dims, sizes)
    return ops.aten._fft_c2r(self, dims, _normalization(norm, False), last)


@op("fft_hfftn", "fft_hfft2", row_major_out=True)
def fft_hfftn(
    self: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """`fft_fft` over all but the last of `dim`, then `fft_hfft` over that."""
    dims, sizes, last = _spectrum_dims("hfftn", self, s, dim)
    self = resized(_promoted(self, to_complex=True), dims, sizes)
    mode = _normalization(norm, True)
    if len(dims) > 1:
        self = ops.aten._fft_c2c(self, dims[:-1], mode, True)
    return ops.aten._fft_c2r(ops.aten.conj_physical(self), dims[-1:], mode, last)


@op("fft_ihfftn", "fft_ihfft2", row_major_out=True)
def fft_ihfftn(
    self: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of `fft_hfftn`."""
    dims, sizes = _dims_and_sizes(self, s, dim)
    _require_dims("ihfftn", dims)
    _require_real("ihfftn", self)
    self = resized(_promoted(self, to_complex=False), dims, sizes)
    mode = _normalization(norm, False)
    half = ops.aten.conj_physical(ops.aten._fft_r2c(self, dims[-1:], mode, True))
    return ops.aten._fft_c2c(half, dims[:-1], mode, False) if len(dims) > 1 else half


# Frequencies and their order.


@op
def fft_fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """The frequencies of `fft_fft`: 0, 1, …, then from -n/2 to -1, over n·d."""
    options = _frequency_options("fftfreq", dtype, layout, device, pin_memory)
    if n < 0:
        raise RuntimeError(f"fftfreq: expected n >= 0, got {n}")
    positive = ops.aten.arange((n + 1) // 2, **options)
    negative = ops.aten.arange(-(n // 2), 0, **options) if n > 0 else positive[:0]
    return ops.aten.cat((positive, negative)).mul_(_inverse(n * d))


@op
def fft_rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """The frequencies of `fft_rfft`: 0, 1, …, n/2, over n·d."""
    options = _frequency_options("rfftfreq", dtype, layout, device, pin_memory)
    return ops.aten.arange(int(n / 2) + 1, **options).mul_(_inverse(n * d))


def _frequency_options(
    name: str,
    element: dtype | None,
    order: layout | None,
    place: device | None,
    pinned: bool | None,
) -> dict[str, Any]:
    element = element or get_default_dtype()
    if element.kind not in ("float", "complex"):
        raise RuntimeError(f"{name}: expected a floating or complex dtype, got {element}")
    return {"dtype": element, "layout": order, "device": place, "pin_memory": pinned}


def _inverse(value: float) -> float:
    return 1 / value if value else float("inf")


@op
def fft_fftshift(self: Tensor, dim: Sequence[int] | None = None) -> Tensor:
    """The zero frequency moved to the middle of each of `dim`, or of all dimensions."""
    dims, halves = _halves(self, dim)
    return ops.aten.roll(self, halves, dims)


@op
def fft_ifftshift(self: Tensor, dim: Sequence[int] | None = None) -> Tensor:
    """The inverse of `fft_fftshift`."""
    dims, halves = _halves(self, dim)
    return ops.aten.roll(self, [-half for half in halves], dims)


def _halves(self: Tensor, dim: Sequence[int] | None) -> tuple[list[int], list[int]]:
    given = range(self.dim()) if dim is None else dim
    dims = [wrap_dimension(one, self.dim()) for one in given]
    return dims, [self.shape[one] // 2 for one in dims]
