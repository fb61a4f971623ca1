"""Factors of matrices that are nearly of low rank, found by multiplying with random ones.

Halko, Martinsson, Tropp: Finding Structure with Randomness (2009), algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.ops.linear_algebra.matrices import adjoint
from aten.registry import ops

Triple = tuple[Tensor, Tensor, Tensor]


def svd_lowrank(matrix: Tensor, rank: int, iterations: int, subtracted: Tensor | None) -> Triple:
    """U (*, m, q), S (*, q) and V (*, n, q), of `matrix` less what is `subtracted`.

    Raises RuntimeError for vectors.
    """
    if matrix.dim() < 2:
        raise RuntimeError(f"svd_lowrank: expected matrices, got a tensor of rank {matrix.dim()}")
    if subtracted is not None:
        matrix = matrix - subtracted
    is_wide = matrix.shape[-2] < matrix.shape[-1]
    tall = adjoint(matrix) if is_wide else matrix
    basis = _approximate_basis(tall, rank, iterations)
    left, values, right = ops.aten.linalg_svd(adjoint(basis).matmul(tall), False)
    pair = basis.matmul(left), adjoint(right)
    return (pair[1], values, pair[0]) if is_wide else (pair[0], values, pair[1])


def pca_lowrank(matrix: Tensor, rank: int | None, center: bool, iterations: int) -> Triple:
    """As svd_lowrank, of the matrix with the mean of its rows subtracted if `center`.

    Raises ValueError for a rank above the matrix's sides, or a negative number.
    """
    least = min(matrix.shape[-2:]) if matrix.dim() >= 2 else 0
    wanted = min(6, least) if rank is None else rank
    if not 0 <= wanted <= least:
        raise ValueError(f"pca_lowrank: q is {wanted}, the matrix's smaller side {least}")
    if iterations < 0:
        raise ValueError(f"pca_lowrank: expected niter of 0 or more, got {iterations}")
    mean = matrix.mean([-2], True) if center else None
    return svd_lowrank(matrix, wanted, iterations, mean)


def _approximate_basis(matrix: Tensor, rank: int, iterations: int) -> Tensor:
    """Orthonormal columns whose span nearly holds those of the matrix."""
    columns = matrix.shape[-1]
    random = ops.aten.randn([columns, rank], dtype=matrix.dtype, device=matrix.device)
    basis: Tensor = ops.aten.linalg_qr(matrix.matmul(random))[0]
    for _ in range(iterations):
        basis = ops.aten.linalg_qr(adjoint(matrix).matmul(basis))[0]
        basis = ops.aten.linalg_qr(matrix.matmul(basis))[0]
    return basis
