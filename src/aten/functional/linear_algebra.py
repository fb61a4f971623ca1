"""Norms and factors of matrices whose arguments are freer than their schemas say."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.dtypes import dtype
from aten._core.dispatch.functions import forwards
from aten._core.tensor.memory import write_out
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = ["lu", "norm", "pca_lowrank", "svd_lowrank"]


@forwards("linalg_vector_norm(input, 2)")
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: dtype | None = None,
) -> Tensor:
    """A vector norm of all dimensions or those listed; "nuc" is that of matrices.

    Raises RuntimeError for other names, and for elements that are neither floating nor complex.

    Example:

        >>> aten.norm(aten.tensor([3.0, 4.0]))
        tensor(5.)
    """
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    if isinstance(p, str) and (p != "fro" or len(dims or ()) > 2):
        over = list(range(input.dim())) if dims is None else dims
        return ops.aten.linalg_matrix_norm(input, p, over, keepdim, dtype=dtype, out=out)
    order = p if isinstance(p, (int, float)) else 2
    return ops.aten.linalg_vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)


def lu(
    A: Tensor,  # noqa: N803
    pivot: bool = True,
    get_infos: bool = False,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """LU factors and pivots, and what is singular if `get_infos`; else that is a LinAlgError.

    Example:

        >>> aten.lu(aten.tensor([[4.0, 3.0], [2.0, 1.0]]))[0]
        tensor([[ 4.0000,  3.0000],
                [ 0.5000, -0.5000]])
    """
    factor = ops.aten.linalg_lu_factor_ex if get_infos else ops.aten.linalg_lu_factor
    made: tuple[Tensor, ...] = tuple(factor(A, pivot=pivot))
    if out is None:
        return made
    if len(out) != len(made):
        raise TypeError(f"lu: expected {len(made)} tensors as out, got {len(out)}")
    for given, result in zip(out, made, strict=True):
        write_out("lu", given, result.contiguous(), ops.aten.copy_)
    return tuple(out)


def svd_lowrank(
    A: Tensor,  # noqa: N803
    q: int | None = 6,
    niter: int | None = 2,
    M: Tensor | None = None,  # noqa: N803
) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values of A - M, nearly, and their vectors U and V.

    Example:

        >>> aten.svd_lowrank(aten.tensor([[3.0, 0.0], [0.0, 0.0]]), q=1)[1]
        tensor([3.])
    """
    from aten.ops.linear_algebra.low_rank import svd_lowrank

    return svd_lowrank(A, 6 if q is None else q, 2 if niter is None else niter, M)


def pca_lowrank(
    A: Tensor,  # noqa: N803
    q: int | None = None,
    center: bool = True,
    niter: int = 2,
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of the rows of A; q is the lesser of 6 and its sides if not given.

    Raises ValueError for q above these, and for negative numbers.

    Example:

        >>> aten.pca_lowrank(aten.tensor([[1.0, 1.0], [-1.0, -1.0]]), q=1)[1]
        tensor([2.])
    """
    from aten.ops.linear_algebra.low_rank import pca_lowrank

    return pca_lowrank(A, q, center, niter)
