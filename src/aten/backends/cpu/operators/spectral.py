"""Eigenvalues and singular values of matrices, and least squares."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.matrix.lapack import zeros
from aten.backends.cpu.operators.lapack import (
    eigen_general,
    eigen_symmetric,
    least_squares,
    matrices_of,
    singular_values,
    stack_of,
)
from aten.ops.definition import op
from aten.ops.linear_algebra.least_squares import checked_lstsq, least_ratio
from aten.ops.linear_algebra.matrices import Pair, Quadruple, Triple
from aten.ops.linear_algebra.matrix_checks import (
    DIVERGED,
    refuse_reported,
    require_finite,
    require_square,
)
from aten.ops.linear_algebra.spectral import check_svd, checked_triangle


@op
def linalg_eig(self: Tensor) -> Pair:
    return _eigen("linalg.eig", self, vectors=True)


@op
def _linalg_eigvals(self: Tensor) -> Tensor:
    return _eigen("linalg.eigvals", self, vectors=False)[0]


def _eigen(name: str, matrix: Tensor, vectors: bool) -> Pair:
    require_square(name, "A", matrix)
    stack = stack_of(matrix)
    require_finite(name, stack)
    values, right, info = eigen_general(stack, vectors)
    refuse_reported(name, info, DIVERGED)
    return values.view(matrix.shape[:-1]), matrices_of(right, matrix.shape[:-2])


@op
def _linalg_eigh(matrix: Tensor, triangle: str = "L", compute_v: bool = True) -> Pair:
    name = "linalg.eigh"
    triangle = checked_triangle(matrix, triangle)
    vectors = stack_of(matrix)
    require_finite(name, vectors)
    values, info = eigen_symmetric(vectors, triangle, compute_v)
    refuse_reported(name, info, DIVERGED)
    made = values.view(matrix.shape[:-1])
    if not compute_v:
        return made, matrix.new_empty([0])
    return made, matrices_of(vectors, matrix.shape[:-2])


@op
def _linalg_svd(
    matrix: Tensor,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> Triple:
    name = "linalg.svd"
    check_svd(matrix, driver)
    stack = stack_of(matrix)
    require_finite(name, stack)
    job = "N" if not compute_uv else "A" if full_matrices else "S"
    left, values, right, info = singular_values(stack, job)
    refuse_reported(name, info, DIVERGED)
    batch = matrix.shape[:-2]
    made = values.view((*batch, values.size(1)))
    if not compute_uv:
        return matrix.new_empty([0]), made, matrix.new_empty([0])
    return matrices_of(left, batch), made, matrices_of(right, batch)


@op(gaps_out=True)
def linalg_lstsq(
    self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Quadruple:
    name = "linalg.lstsq"
    right, is_vector, batch, driver = checked_lstsq(self, b, driver)
    rows, columns = self.shape[-2:]
    a, given = stack_of(self, batch), stack_of(right, batch)
    require_finite(name, a)
    require_finite(name, given)
    made = zeros((given.size(0), given.size(1), max(rows, columns)), given.dtype)
    made.narrow(2, 0, rows).copy_(given)
    ranks, values, info = least_squares(a, made, driver, least_ratio(self, rcond))
    refuse_reported(name, info, DIVERGED)
    solution = matrices_of(made, batch).narrow(-2, 0, columns)
    residuals = self.new_empty([0]).abs()
    rank, singular = (one.new_empty([0]) for one in (ranks, values))
    if (
        rows > columns
        and driver != "gelsy"
        and (driver == "gels" or bool((ranks == columns).all()))
    ):
        left_over = made.narrow(2, columns, rows - columns).abs().square().sum(-1)
        residuals = left_over.view((*batch, left_over.size(1)))
    if driver != "gels":
        rank = ranks.view(batch)
    if driver in ("gelsd", "gelss"):
        singular = values.view((*batch, values.size(1)))
    return solution.squeeze(-1) if is_vector else solution, residuals, rank, singular
