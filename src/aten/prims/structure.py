"""Structural primitives: what moves, places, sorts and contracts whole tensors.

Index operands are int64 and inside: what wraps or refuses indices stands in the operators, except
that a kernel raises IndexError rather than leave its operand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.prims.prim import Shape
from aten.prims.structural import Described, StructuralPrim

Number = bool | int | float | complex
# What two elements that meet in one place of a scatter become.
COMBINATIONS = ("replace", "sum", "prod", "amax", "amin")


def _described(tensor: Tensor) -> Described:
    return tensor.dtype, tuple(tensor.shape)


def _numpy() -> Any:
    import numpy

    return numpy


def _iota_result(
    length: int,
    start: int,
    step: int,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Described:
    if length < 0:
        raise RuntimeError(f"prims.iota: length must not be negative, but is {length}")
    return dtype or DTYPES["int64"], (length,)


def _iota_reference(
    length: int,
    start: int,
    step: int,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    return start + step * _numpy().arange(length)


iota = StructuralPrim(
    "iota(SymInt length, *, SymInt start, SymInt step, ScalarType? dtype=None, "
    "Device? device=None, bool requires_grad=False) -> Tensor",
    result=_iota_result,
    reference=_iota_reference,
    doc="The integers start, start + step, …; `length` of them.",
)


def _cat_result(tensors: Sequence[Tensor], dim: int) -> Described:
    element, shape = _described(tensors[0])
    for tensor in tensors[1:]:
        other = tuple(tensor.shape)
        fits = shape[:dim] == other[:dim] and shape[dim + 1 :] == other[dim + 1 :]
        if tensor.dtype is not element or not fits or len(other) != len(shape):
            raise RuntimeError(
                f"prims.cat: expected {element} tensors of shape {list(shape)} but for dimension "
                f"{dim}, got {tensor.dtype} and {list(other)}"
            )
    joined = sum(tensor.shape[dim] for tensor in tensors)
    return element, (*shape[:dim], joined, *shape[dim + 1 :])


cat = StructuralPrim(
    "cat(Tensor[] tensors, int dim) -> Tensor",
    result=_cat_result,
    reference=lambda tensors, dim: _numpy().concatenate(tensors, axis=dim),
    doc="Tensors of one dtype one after the other along `dim`; the other sizes agree.",
)


def _pad_result(
    a: Tensor, value: Number, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Described:
    if not len(low) == len(high) == len(interior) == a.dim():
        raise RuntimeError(
            f"prims.pad: low, high and interior must have {a.dim()} numbers each, got "
            f"{list(low)}, {list(high)}, {list(interior)}"
        )
    sizes = [
        first + last + size + max(size - 1, 0) * between
        for size, first, last, between in zip(a.shape, low, high, interior, strict=True)
    ]
    if any(size < 0 for size in sizes) or any(between < 0 for between in interior):
        raise RuntimeError(
            f"prims.pad: low {list(low)}, high {list(high)} and interior {list(interior)} leave "
            f"nothing of sizes {list(a.shape)}"
        )
    return a.dtype, tuple(sizes)


def _pad_reference(
    a: Any, value: Number, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Any:
    numpy = _numpy()
    spread = [size + max(size - 1, 0) * gap for size, gap in zip(a.shape, interior, strict=True)]
    wide = numpy.full(spread, value, a.dtype)
    wide[tuple(slice(None, None, gap + 1) for gap in interior)] = a
    widths = [(max(x, 0), max(y, 0)) for x, y in zip(low, high, strict=True)]
    wide = numpy.pad(wide, widths, constant_values=value) if widths else wide
    ends = zip(wide.shape, low, high, strict=True)
    return wide[tuple(slice(max(-x, 0), size - max(-y, 0)) for size, x, y in ends)]


pad = StructuralPrim(
    "pad(Tensor a, Scalar value, SymInt[] low, SymInt[] high, SymInt[] interior) -> Tensor",
    result=_pad_result,
    reference=_pad_reference,
    doc="`low` elements of `value` before each dimension, `high` after it, `interior` between any "
    "two of its elements; negative ones take elements away from the ends.",
)

rev = StructuralPrim(
    "rev(Tensor a, int[] dims) -> Tensor",
    result=lambda a, dims: _described(a),
    reference=lambda a, dims: _numpy().flip(a, tuple(dims)),
    doc="The dimensions `dims` from their ends.",
)


def _gather_result(a: Tensor, index: Tensor, dim: int) -> Described:
    if a.dim() != index.dim():
        raise RuntimeError(
            f"prims.gather: index must have the operand's {a.dim()} dimensions, has {index.dim()}"
        )
    return a.dtype, tuple(index.shape)


def _window_of(a: Any, index: Any, dim: int) -> Any:
    """The part of `a` that an index, smaller in other dimensions, may lead to."""
    return a[tuple(slice(None) if at == dim else slice(n) for at, n in enumerate(index.shape))]


def _gather_reference(a: Any, index: Any, dim: int) -> Any:
    return _numpy().take_along_axis(_window_of(a, index, dim), index, dim)


gather = StructuralPrim(
    "gather(Tensor a, Tensor index, int dim) -> Tensor",
    result=_gather_result,
    reference=_gather_reference,
    doc="result[i][j][k] = a[i][index[i][j][k]][k] for dim 1, and so on; in the other dimensions "
    "the index is not larger than the operand.",
)


def _scatter_result(a: Tensor, index: Tensor, src: Tensor, dim: int, combine: str) -> Described:
    if combine not in COMBINATIONS:
        raise RuntimeError(f"prims.scatter: combine must be one of {COMBINATIONS}, got {combine!r}")
    if a.dtype is not src.dtype:
        raise RuntimeError(f"prims.scatter: expected src of {a.dtype}, got {src.dtype}")
    return _described(a)


def _scatter_reference(a: Any, index: Any, src: Any, dim: int, combine: str) -> Any:
    numpy = _numpy()
    made = a.copy()
    places = list(numpy.indices(index.shape, sparse=True))
    places[dim] = index
    source = src[tuple(slice(size) for size in index.shape)]
    if combine == "replace":
        made[tuple(places)] = source
        return made
    function = {"sum": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}[combine]
    getattr(numpy, function).at(made, tuple(places), source)
    return made


scatter = StructuralPrim(
    "scatter(Tensor a, Tensor index, Tensor src, int dim, str combine) -> Tensor",
    result=_scatter_result,
    reference=_scatter_reference,
    doc="A copy of `a` where src[i][j][k] replaces, or is combined with, what is at "
    "[i][index[i][j][k]][k] for dim 1; in row-major order of the index.",
)


def _sort_reference(a: Any, dim: int, descending: bool, stable: bool) -> Any:
    numpy = _numpy()
    key = numpy.flip(a, dim) if descending else a
    order = numpy.argsort(key, axis=dim, kind="stable")
    if descending:
        order = numpy.flip(a.shape[dim] - 1 - order, dim)
    return numpy.take_along_axis(a, order, dim), order.astype(numpy.int64)


sort = StructuralPrim(
    "sort(Tensor a, int dim, bool descending, bool stable) -> (Tensor, Tensor)",
    result=lambda a, dim, descending, stable: [
        _described(a),
        (DTYPES["int64"], tuple(a.shape)),
    ],
    reference=_sort_reference,
    doc="The elements in order along `dim`, NaN above all others, and where each was. Equal ones "
    "keep their order if `stable`.",
)

nonzero = StructuralPrim(
    "nonzero(Tensor a) -> Tensor",
    result=lambda a: _refused_without_values("nonzero"),
    depends_on_values=True,
    reference=lambda a: _numpy().argwhere(a).astype(_numpy().int64),
    doc="The places of elements that are not zero, a row for each, in row-major order.",
)


def _refused_without_values(name: str) -> Described:
    raise NotImplementedError(
        f"prims.{name}: the result's size depends on elements, which the meta device does not have"
    )


Dims = Sequence[int]


def _free(a: Any, batch: Dims, contract: Dims) -> list[int]:
    return [dim for dim in range(len(a.shape)) if dim not in (*batch, *contract)]


def _dot_general_result(
    a: Tensor,
    b: Tensor,
    contract_a: Dims,
    contract_b: Dims,
    batch_a: Dims,
    batch_b: Dims,
) -> Described:
    paired = [*zip(contract_a, contract_b, strict=True), *zip(batch_a, batch_b, strict=True)]
    if a.dtype is not b.dtype or any(a.shape[left] != b.shape[right] for left, right in paired):
        raise RuntimeError(
            f"prims.dot_general: {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)} do not go "
            f"together over {list(contract_a)}, {list(contract_b)} and batches {list(batch_a)}, "
            f"{list(batch_b)}"
        )
    shape = [a.shape[dim] for dim in batch_a]
    shape += [a.shape[dim] for dim in _free(a, batch_a, contract_a)]
    shape += [b.shape[dim] for dim in _free(b, batch_b, contract_b)]
    return a.dtype, tuple(shape)


def _dot_general_reference(
    a: Any, b: Any, contract_a: Dims, contract_b: Dims, batch_a: Dims, batch_b: Dims
) -> Any:
    numpy = _numpy()
    free_a, free_b = _free(a, batch_a, contract_a), _free(b, batch_b, contract_b)
    batches = [a.shape[dim] for dim in batch_a]
    inner = math.prod(a.shape[dim] for dim in contract_a)
    rows, columns = [a.shape[dim] for dim in free_a], [b.shape[dim] for dim in free_b]
    left = a.transpose((*batch_a, *free_a, *contract_a))
    right = b.transpose((*batch_b, *contract_b, *free_b))
    made = numpy.matmul(
        left.reshape((*batches, math.prod(rows), inner)),
        right.reshape((*batches, inner, math.prod(columns))),
    )
    return made.reshape((*batches, *rows, *columns))


dot_general = StructuralPrim(
    "dot_general(Tensor a, Tensor b, int[] contract_a, int[] contract_b, int[] batch_a, "
    "int[] batch_b) -> Tensor",
    result=_dot_general_result,
    reference=_dot_general_reference,
    doc="Sums of products over the contracted dimensions, for each place of the batch dimensions. "
    "The result has the batch dimensions, then what is left of `a`, then of `b`.",
)


def window_count(size: int, window: int, step: int, dilation: int) -> int:
    """How many windows fit into a dimension."""
    return max((size - dilation * (window - 1) - 1) // step + 1, 0)


def _conv_general_result(
    input: Tensor,
    weight: Tensor,
    stride: Dims,
    low: Dims,
    high: Dims,
    dilation: Dims,
    input_dilation: Dims,
    groups: int,
) -> Described:
    wide = [
        first + last + size + (size - 1) * (spread - 1)
        for size, first, last, spread in zip(
            input.shape[2:], low, high, input_dilation, strict=True
        )
    ]
    sizes = [
        window_count(*one) for one in zip(wide, weight.shape[2:], stride, dilation, strict=True)
    ]
    return input.dtype, (input.shape[0], weight.shape[0], *sizes)


def _summable(a: Any) -> Any:
    """Inexact types in the widest one, so that the sum's order does not show."""
    numpy = _numpy()
    if a.dtype.kind in "iub":
        return a
    return a.astype(numpy.complex128 if a.dtype.kind == "c" else numpy.float64)


def _conv_general_reference(
    input: Any,
    weight: Any,
    stride: Dims,
    low: Dims,
    high: Dims,
    dilation: Dims,
    input_dilation: Dims,
    groups: int,
) -> Any:
    numpy = _numpy()
    input, weight = _summable(input), _summable(weight)
    wide = _pad_reference(
        input,
        0,
        (0, 0, *low),
        (0, 0, *high),
        (0, 0, *(spread - 1 for spread in input_dilation)),
    )
    seen = _windows_reference(wide, (1, 1, *weight.shape[2:]), (1, 1, *stride), (1, 1, *dilation))
    rank = weight.ndim - 2
    # batch, channels, positions…, 1, 1, window… → batch, groups, channels, positions…, window…
    batch, places = seen.shape[0], seen.shape[2 : 2 + rank]
    seen = seen.reshape((batch, groups, weight.shape[1], *places, *weight.shape[2:]))
    kernels = weight.reshape((groups, weight.shape[0] // groups, *weight.shape[1:]))
    place, window = "uvw"[:rank], "xyz"[:rank]
    sums = f"ngc{place}{window},goc{window}->ngo{place}"
    made = numpy.einsum(sums, seen, kernels, optimize=True)
    return made.reshape((batch, weight.shape[0], *places))


conv_general = StructuralPrim(
    "conv_general(Tensor input, Tensor weight, SymInt[] stride, SymInt[] low, SymInt[] high, "
    "SymInt[] dilation, SymInt[] input_dilation, SymInt groups) -> Tensor",
    result=_conv_general_result,
    reference=_conv_general_reference,
    doc="Sums of products of `weight`, (channels out, channels in a group, window…), with windows "
    "of `input`, (batch, channels, …): spread by input_dilation and padded with zeros first.",
)


def _windows_result(a: Tensor, window: Dims, stride: Dims, dilation: Dims) -> Described:
    counts = [window_count(*one) for one in zip(a.shape, window, stride, dilation, strict=True)]
    return a.dtype, (*counts, *window)


def _windows_reference(a: Any, window: Dims, stride: Dims, dilation: Dims) -> Any:
    numpy = _numpy()
    counts = [window_count(*one) for one in zip(a.shape, window, stride, dilation, strict=True)]
    steps = [one * step for one, step in zip(a.strides, stride, strict=True)]
    inner = [one * gap for one, gap in zip(a.strides, dilation, strict=True)]
    return numpy.lib.stride_tricks.as_strided(a, (*counts, *window), (*steps, *inner))


windows = StructuralPrim(
    "windows(Tensor(a) a, SymInt[] window, SymInt[] stride, SymInt[] dilation) -> Tensor(a)",
    result=_windows_result,
    reference=_windows_reference,
    doc="A view of all windows: the number of windows in each dimension, then their sizes. Every "
    "dimension has a window, of size 1 where nothing is windowed.",
)


def _shape_of(sizes: Sequence[int]) -> Shape:
    return tuple(sizes)


def _fft_c2r_result(self: Tensor, dim: Dims, last_dim_size: int) -> Described:
    shape = list(self.shape)
    shape[dim[-1]] = last_dim_size
    return self.dtype.to_real(), _shape_of(shape)


def _fft_r2c_result(self: Tensor, dim: Dims, onesided: bool) -> Described:
    shape = list(self.shape)
    if onesided:
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    return self.dtype.to_complex(), _shape_of(shape)


def _fft_c2c_reference(self: Any, dim: Dims, forward: bool) -> Any:
    numpy = _numpy()
    if forward:
        return numpy.fft.fftn(self, axes=dim, norm="backward")
    return numpy.fft.ifftn(self, axes=dim, norm="forward")


def _fft_r2c_reference(self: Any, dim: Dims, onesided: bool) -> Any:
    fft = _numpy().fft
    return fft.rfftn(self, axes=dim) if onesided else fft.fftn(self, axes=dim)


fft_c2c = StructuralPrim(
    "fft_c2c(Tensor self, *, int[] dim, bool forward) -> Tensor",
    result=lambda self, dim, forward: _described(self),
    reference=_fft_c2c_reference,
    doc="The discrete Fourier transform of complex elements along `dim`, forward or backward; not "
    "scaled either way.",
)
fft_r2c = StructuralPrim(
    "fft_r2c(Tensor self, *, int[] dim, bool onesided) -> Tensor",
    result=_fft_r2c_result,
    reference=_fft_r2c_reference,
    doc="The forward transform of real elements; `onesided` leaves out what follows from symmetry "
    "in the last of `dim`.",
)
fft_c2r = StructuralPrim(
    "fft_c2r(Tensor self, *, int[] dim, SymInt last_dim_size) -> Tensor",
    result=_fft_c2r_result,
    reference=lambda self, dim, last_dim_size: _numpy().fft.irfftn(
        self,
        s=[*(self.shape[one] for one in dim[:-1]), last_dim_size],
        axes=dim,
        norm="forward",
    ),
    doc="The backward transform of a onesided spectrum to real elements; not scaled.",
)
