"""What formulas of several families call: sizes, dimensions, numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.registry import ops

Dims = int | Sequence[int] | None
Maybe = Tensor | None


def dtype_of(tensor: Tensor) -> dtype:
    """The dtype of a tensor."""
    return tensor.dtype


def sum_to_size(gradient: Tensor, sizes: Sequence[int]) -> Tensor:
    """The sum over what broadcasting repeated, so that `sizes` are left."""
    if tuple(gradient.shape) == tuple(sizes):
        return gradient
    extra = gradient.dim() - len(sizes)
    dims = list(range(extra))
    dims += [
        extra + dim
        for dim, size in enumerate(sizes)
        if size == 1 and gradient.shape[extra + dim] != 1
    ]
    if dims:
        gradient = ops.aten.sum.dim_IntList(gradient, dims, True)
    return ops.aten.reshape(gradient, sizes) if extra else gradient


def dims_of(dim: Dims, rank: int) -> list[int]:
    if not rank or dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(rank))
    return sorted(wrap_dimension(one, rank) for one in ([dim] if isinstance(dim, int) else dim))


def kept(value: Tensor, rank: int, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """A fold over `dim` of a tensor with `rank` dimensions, with the folded ones of size one."""
    if keepdim or not rank:
        return value
    for one in dims_of(dim, rank):
        value = ops.aten.unsqueeze(value, one)
    return value


def spread(value: Tensor, sizes: Sequence[int], dim: Dims = None, keepdim: bool = False) -> Tensor:
    """A fold over `dim` of a tensor of `sizes`, repeated along the folded dimensions."""
    return ops.aten.expand(kept(value, len(sizes), dim, keepdim), sizes)


def count(sizes: Sequence[int], dim: Dims = None) -> int:
    """How many elements `dim` holds."""
    return math.prod(sizes[one] for one in dims_of(dim, len(sizes)))


def extent_of(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """From the first element in memory to behind the last, in elements."""
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def first(dims: Sequence[int]) -> int:
    """The first of the numbers."""
    return dims[0]


def four(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """The numbers as a tuple."""
    return a, b, c, d


def two_zeros(
    gradient: Tensor, first: Sequence[int], second: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Zeros of two sizes."""
    return ops.aten.new_zeros(gradient, first), ops.aten.new_zeros(gradient, second)


def scaled(gradient: Tensor, factor: complex) -> Tensor:
    """`gradient` times the conjugate of a number."""
    factor = factor.conjugate()
    return gradient if factor == 1 else gradient * factor


def inverted(gradient: Tensor, dims: Sequence[int]) -> Tensor:
    """The dimensions of `gradient` where they were before `permute(dims)`."""
    rank = gradient.dim()
    places = [wrap_dimension(dim, rank) for dim in dims]
    return ops.aten.permute(gradient, [places.index(dim) for dim in range(rank)])
