"""The CPU's kernels of structural primitives: most are an operator's, which has the compiled loop.

Each function is named like the primitive it serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.random.generator import Generator
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.operators.solving import order_of_rows
from aten.prims import Number
from aten.registry import ops

Dims = Sequence[int]
_FOLDS = {"prod": "prod", "amax": "amax", "amin": "amin"}


def iota(
    length: int,
    *,
    start: int,
    step: int,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    element = dtype or DTYPES["int64"]
    if step == 0:
        return ops.aten.full((length,), start, dtype=element)
    stop = start + step * length
    return ops.aten.arange.start_step(start, stop, step, dtype=element)


def cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    return ops.aten.cat(tensors, dim)


def pad(a: Tensor, value: Number, low: Dims, high: Dims, interior: Dims) -> Tensor:
    spread = [size + max(size - 1, 0) * gap for size, gap in zip(a.shape, interior, strict=True)]
    sizes = [size + x + y for size, x, y in zip(spread, low, high, strict=True)]
    made: Tensor = ops.aten.full(sizes, value, dtype=a.dtype)
    target, source = made, a
    for dim, (x, y, gap) in enumerate(zip(low, high, interior, strict=True)):
        step = gap + 1
        # The first and the last element of the source that stay, and where the first one goes.
        first = -(min(x, 0) // step)
        kept = max((spread[dim] + min(y, 0) - 1) // step + 1, first)
        source = source.narrow(dim, first, min(kept, a.shape[dim]) - first)
        begin = x + first * step
        target = ops.aten.slice.Tensor(target, dim, begin, sizes[dim], step)
        target = target.narrow(dim, 0, source.shape[dim])
    target.copy_(source)
    return made


def rev(a: Tensor, dims: Dims) -> Tensor:
    return ops.aten.flip(a, dims)


def gather(a: Tensor, index: Tensor, dim: int) -> Tensor:
    return ops.aten.gather(a, dim, index)


def scatter(a: Tensor, index: Tensor, src: Tensor, dim: int, combine: str) -> Tensor:
    if combine == "replace":
        return ops.aten.scatter.src(a, dim, index, src)
    if combine == "sum":
        return ops.aten.scatter_add(a, dim, index, src)
    return ops.aten.scatter_reduce.two(a, dim, index, src, _FOLDS[combine])


def sort(a: Tensor, dim: int, descending: bool, stable: bool) -> tuple[Tensor, Tensor]:
    return ops.aten.sort.stable(a, stable=stable, dim=dim, descending=descending)


def nonzero(a: Tensor) -> Tensor:
    return ops.aten.nonzero(a)


def dot_general(
    a: Tensor, b: Tensor, contract_a: Dims, contract_b: Dims, batch_a: Dims, batch_b: Dims
) -> Tensor:
    free_a = [dim for dim in range(a.dim()) if dim not in (*batch_a, *contract_a)]
    free_b = [dim for dim in range(b.dim()) if dim not in (*batch_b, *contract_b)]
    left, right = (
        a.permute((*batch_a, *free_a, *contract_a)),
        b.permute((*batch_b, *contract_b, *free_b)),
    )
    batches, rows = len(batch_a), len(batch_a) + len(free_a)
    sizes = (*left.shape[:rows], *right.shape[batches + len(contract_b) :])
    inner = _product(left.shape[rows:])
    count = _product(left.shape[:batches])
    product = ops.aten.bmm(
        left.reshape((count, _product(left.shape[batches:rows]), inner)),
        right.reshape((count, inner, _product(sizes[rows:]))),
    )
    return product.reshape(sizes)


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def conv_general(
    input: Tensor,
    weight: Tensor,
    stride: Dims,
    low: Dims,
    high: Dims,
    dilation: Dims,
    input_dilation: Dims,
    groups: int,
) -> Tensor:
    rank = input.dim() - 2
    if tuple(low) != tuple(high) or min(low) < 0 or any(one != 1 for one in input_dilation):
        gaps = (0, 0, *(one - 1 for one in input_dilation))
        input = ops.prims.pad(input, 0, (0, 0, *low), (0, 0, *high), gaps)
        low = (0,) * rank
    return ops.aten.convolution(
        input, weight, None, stride, low, dilation, False, (0,) * rank, groups
    )


def fft_c2c(self: Tensor, *, dim: Dims, forward: bool) -> Tensor:
    return ops.aten._fft_c2c(self, dim, 0, forward)


def fft_r2c(self: Tensor, *, dim: Dims, onesided: bool) -> Tensor:
    return ops.aten._fft_r2c(self, dim, 0, onesided)


def fft_c2r(self: Tensor, *, dim: Dims, last_dim_size: int) -> Tensor:
    return ops.aten._fft_c2r(self, dim, 0, last_dim_size)


def lu(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return ops.aten.linalg_lu_factor_ex.default(a)


def order_of_pivots(pivots: Tensor, rows: int) -> Tensor:
    return order_of_rows(pivots, rows).view((*pivots.shape[:-1], rows))


def cholesky(a: Tensor) -> tuple[Tensor, Tensor]:
    return ops.aten.linalg_cholesky_ex.default(a)


def geqrf(a: Tensor) -> tuple[Tensor, Tensor]:
    return ops.aten.geqrf(a)


def householder_product(a: Tensor, tau: Tensor) -> Tensor:
    return ops.aten.linalg_householder_product(a, tau)


def solve_triangular(a: Tensor, b: Tensor, *, upper: bool, unitriangular: bool) -> Tensor:
    return ops.aten.linalg_solve_triangular(a, b, upper=upper, unitriangular=unitriangular)


def eigh(a: Tensor) -> tuple[Tensor, Tensor]:
    return ops.aten._linalg_eigh(a)


def eig(a: Tensor) -> tuple[Tensor, Tensor]:
    return ops.aten.linalg_eig(a)


def svd(A: Tensor, *, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]:  # noqa: N803
    return ops.aten._linalg_svd(A, full_matrices)


def ldl(a: Tensor, *, hermitian: bool) -> tuple[Tensor, Tensor, Tensor]:
    return ops.aten.linalg_ldl_factor_ex(a, hermitian=hermitian)


def uniform(
    shape: Sequence[int],
    *,
    low: float,
    high: float,
    dtype: dtype,
    device: Any,
    stride: Sequence[int],
    generator: Generator | None = None,
) -> Tensor:
    made = ops.aten.empty_strided(shape, stride, dtype=dtype)
    return ops.aten.uniform_(made, low, high, generator=generator)


def normal(
    shape: Sequence[int],
    *,
    mean: float,
    std: float,
    dtype: dtype,
    device: Any,
    requires_grad: bool,
    generator: Generator | None = None,
) -> Tensor:
    made = ops.aten.empty.memory_format(shape, dtype=dtype)
    made = ops.aten.normal_(made, mean, std, generator=generator)
    return made.requires_grad_() if requires_grad else made
