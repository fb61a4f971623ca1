"""Factors of matrices other than LU, and solutions by them: Cholesky, QR, LDL, triangles."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.matrix.lapack import zeros
from aten.backends.cpu.operators.lapack import (
    factor_cholesky,
    factor_ldl,
    factor_qr,
    form_q,
    matrices_of,
    multiply_q,
    solve_cholesky,
    solve_ldl,
    solve_triangular,
    stack_of,
)
from aten.backends.cpu.operators.solving import integers, pivots_of
from aten.ops.definition import op
from aten.ops.linear_algebra.factorization import (
    check_cholesky_solve,
    check_householder_product,
    check_ldl_solve,
    check_ormqr,
    check_qr,
    checked_triangle,
)
from aten.ops.linear_algebra.matrices import Pair, Triple
from aten.ops.linear_algebra.matrix_checks import (
    INDEFINITE,
    SINGULAR,
    refuse_reported,
    require_inexact_matrix,
    require_square,
)


@op
def linalg_cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> Pair:
    name = "linalg.cholesky"
    require_square(name, "A", self)
    factor = stack_of(self)
    info = factor_cholesky(factor, _triangle(upper))
    if check_errors:
        refuse_reported(name, info, INDEFINITE)
    batch = self.shape[:-2]
    # Stacks hold transposed matrices.
    return matrices_of(factor.tril() if upper else factor.triu(), batch), integers(info, batch)


def _triangle(upper: bool) -> str:
    return "U" if upper else "L"


@op
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    batch = check_cholesky_solve(self, input2)
    rhs = stack_of(self, batch)
    solve_cholesky(stack_of(input2, batch), rhs, _triangle(upper))
    return matrices_of(rhs, batch)


@op
def linalg_qr(matrix: Tensor, mode: str = "reduced") -> Pair:
    kept = check_qr(matrix, mode)
    *batch, rows, columns = matrix.shape
    factors = stack_of(matrix)
    tau = factor_qr(factors)
    upper_factor = matrices_of(factors.narrow(2, 0, kept).tril(), batch)
    if mode == "r":
        return matrix.new_empty([0]), upper_factor
    q = zeros((factors.size(0), kept, rows), factors.dtype)
    given = min(kept, columns)
    q.narrow(1, 0, given).copy_(factors.narrow(1, 0, given))
    _form_q(q, tau)
    return matrices_of(q, batch), upper_factor


def _form_q(q: Tensor, tau: Tensor) -> None:
    if tau.numel():
        form_q(q, tau)
        return
    q.zero_().diagonal(0, 1, 2).fill_(1)


@op
def geqrf(self: Tensor) -> Pair:
    require_inexact_matrix("geqrf", "self", self)
    batch = self.shape[:-2]
    factors = stack_of(self)
    tau = factor_qr(factors)
    return matrices_of(factors, batch), tau.view((*batch, tau.size(1)))


@op
def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    check_householder_product(input, tau)
    q = stack_of(input)
    _form_q(q, _factors_of(tau))
    return matrices_of(q, input.shape[:-2])


def _factors_of(tau: Tensor) -> Tensor:
    """tau (*, k) as (count, k)."""
    return stack_of(tau.unsqueeze(-1)).squeeze(1)


@op
def ormqr(
    self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    check_ormqr(self, input2, input3, left)
    made = stack_of(input3)
    adjoint = "C" if made.is_complex() else "T"
    side, form = "L" if left else "R", adjoint if transpose else "N"
    multiply_q(stack_of(self), _factors_of(input2), made, side=side, form=form)
    return matrices_of(made, self.shape[:-2])


@op
def linalg_solve_triangular(
    self: Tensor,
    rhs: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    batch = checked_triangle("linalg.solve_triangular", self, rhs, left)
    solution = stack_of(rhs, batch)
    solve_triangular(
        stack_of(self, batch),
        solution,
        side="L" if left else "R",
        triangle=_triangle(upper),
        form="N",
        diagonal="U" if unitriangular else "N",
    )
    return matrices_of(solution, batch)


@op
def linalg_ldl_factor_ex(
    self: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> Triple:
    name = "linalg.ldl_factor_ex"
    require_square(name, "self", self)
    batch = self.shape[:-2]
    factors = stack_of(self)
    pivots, info = factor_ldl(factors, hermitian)
    if check_errors:
        refuse_reported(name, info, SINGULAR)
    lower = factors.triu()  # stacks hold transposed matrices
    return matrices_of(lower, batch), integers(pivots, batch), integers(info, batch)


@op
def linalg_ldl_solve(ld: Tensor, pivots: Tensor, rhs: Tensor, *, hermitian: bool = False) -> Tensor:
    batch = check_ldl_solve(ld, pivots, rhs)
    swaps = pivots_of(pivots, batch)
    for row in swaps.tolist():
        _require_blocks(row)
    solution = stack_of(rhs, batch)
    solve_ldl(stack_of(ld, batch), swaps, solution, hermitian)
    return matrices_of(solution, batch)


def _require_blocks(pivots: list[int]) -> None:
    """Pivots name rows; two equal negative ones in a row stand for a block of D."""
    place = 0
    while place < len(pivots):
        width = 1 if pivots[place] > 0 else 2
        same = pivots[place : place + width].count(pivots[place])
        if same < width or not 1 <= abs(pivots[place]) <= len(pivots):
            raise RuntimeError(
                f"linalg.ldl_solve: pivots {pivots} are not those of a factorization"
            )
        place += width
