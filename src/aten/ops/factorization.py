"""Factors of matrices other than LU, and solutions by them: Cholesky, QR, LDL, triangles."""

from __future__ import annotations

from aten._core.lapack import zeros
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.known_shapes import known_by_shape
from aten.ops.lapack import (
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
    tensor_of,
)
from aten.ops.matmul import broadcast_shapes
from aten.ops.matrix_checks import (
    INDEFINITE,
    SINGULAR,
    refuse_reported,
    require_inexact_matrix,
    require_rows,
    require_same,
    require_square,
)
from aten.ops.solving import Pair, Triple, integers, pivots_of
from aten.registry import ops


@op
def linalg_cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> Pair:
    """L with A = L Lᴴ (or U with Uᴴ U), and the order of the first minor not positive, else 0."""
    return _cholesky("linalg.cholesky", self, upper, check_errors)


@op
def linalg_cholesky(self: Tensor, *, upper: bool = False) -> Tensor:
    """Raises LinAlgError for matrices that are not positive-definite."""
    return ops.aten.linalg_cholesky_ex.default(self, upper=upper, check_errors=True)[0]  # type: ignore[no-any-return]


@op
def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    return _cholesky("cholesky", self, upper, check_errors=True)[0].contiguous()


@known_by_shape
def _cholesky(name: str, matrix: Tensor, upper: bool, check_errors: bool) -> Pair:
    require_square(name, "A", matrix)
    factor = stack_of(matrix)
    info = factor_cholesky(factor, _triangle(upper))
    if check_errors:
        refuse_reported(name, info, INDEFINITE)
    batch = tuple(matrix.shape[:-2])
    # Stacks hold transposed matrices.
    kept = factor.tril() if upper else factor.triu()
    return matrices_of(kept, matrix, batch), integers(info, matrix, batch)


def _triangle(upper: bool) -> str:
    return "U" if upper else "L"


@op
@known_by_shape
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B = self, given A's Cholesky factor `input2`."""
    name = "cholesky_solve"
    require_square(name, "input2", input2)
    require_inexact_matrix(name, "self", self)
    require_same(name, self=self, input2=input2)
    require_rows(name, input2.shape[-1], self, -2)
    batch = broadcast_shapes(self.shape[:-2], input2.shape[:-2])
    rhs = stack_of(self, batch)
    solve_cholesky(stack_of(input2, batch), rhs, _triangle(upper))
    return matrices_of(rhs, self, batch)


@op
def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    """A's inverse, given its Cholesky factor."""
    require_square("cholesky_inverse", "self", self)
    return ops.aten.cholesky_solve(_identity(self), self, upper)  # type: ignore[no-any-return]


def _identity(like: Tensor) -> Tensor:
    return ops.aten.eye(like.shape[-1], dtype=like.dtype, device=like.device)  # type: ignore[no-any-return]


@op
@known_by_shape
def linalg_qr(matrix: Tensor, mode: str = "reduced") -> Pair:
    """Q (*, m, k) and R (*, k, n): k is min(m, n), or m in mode "complete"; "r" leaves out Q."""
    require_inexact_matrix("linalg.qr", "A", matrix)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"linalg.qr: {mode!r} is not one of reduced, complete, r")
    *batch, rows, columns = matrix.shape
    kept = rows if mode == "complete" else min(rows, columns)
    factors = stack_of(matrix)
    tau = factor_qr(factors)
    upper_factor = matrices_of(factors.narrow(2, 0, kept).tril(), matrix, tuple(batch))
    if mode == "r":
        return matrix.new_empty([0]), upper_factor
    q = zeros((factors.size(0), kept, rows), factors.dtype)
    given = min(kept, columns)
    q.narrow(1, 0, given).copy_(factors.narrow(1, 0, given))
    _form_q(q, tau)
    return matrices_of(q, matrix, tuple(batch)), upper_factor


def _form_q(q: Tensor, tau: Tensor) -> None:
    if tau.numel():
        form_q(q, tau)
        return
    q.zero_().diagonal(0, 1, 2).fill_(1)


@op
def qr(self: Tensor, some: bool = True) -> Pair:
    return ops.aten.linalg_qr(self, "reduced" if some else "complete")  # type: ignore[no-any-return]


@op
@known_by_shape
def geqrf(self: Tensor) -> Pair:
    """R and below it the Householder vectors; and their factors (*, k)."""
    require_inexact_matrix("geqrf", "self", self)
    batch = tuple(self.shape[:-2])
    factors = stack_of(self)
    tau = factor_qr(factors)
    return matrices_of(factors, self, batch), tensor_of(tau.view((*batch, tau.size(1))), self)


@op
@known_by_shape
def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of the product of reflections: input (*, m, n), tau (*, k), k ≤ n ≤ m."""
    name = "linalg.householder_product"
    require_inexact_matrix(name, "input", input)
    require_same(name, input=input, tau=tau)
    *batch, rows, columns = input.shape
    _require_reflections(name, input, tau, min(rows, columns))
    if columns > rows:
        raise RuntimeError(f"{name}: input has {columns} columns and only {rows} rows")
    q = stack_of(input)
    _form_q(q, _factors_of(tau))
    return matrices_of(q, input, tuple(batch))


@op
def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    """Another name of `linalg_householder_product`."""
    return ops.aten.linalg_householder_product.default(self, input2)  # type: ignore[no-any-return]


def _require_reflections(name: str, vectors: Tensor, tau: Tensor, most: int) -> None:
    if tau.dim() != vectors.dim() - 1 or tau.shape[:-1] != vectors.shape[:-2]:
        raise RuntimeError(
            f"{name}: the batches of shapes {list(vectors.shape)} and tau's {list(tau.shape)} "
            "differ"
        )
    if tau.shape[-1] > most:
        raise RuntimeError(f"{name}: tau has {tau.shape[-1]} factors for {most} vectors")


def _factors_of(tau: Tensor) -> Tensor:
    """tau (*, k) as (count, k)."""
    return stack_of(tau.unsqueeze(-1)).squeeze(1)


@op
@known_by_shape
def ormqr(
    self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Q C, or C Q unless `left`; with Qᴴ if `transpose`: Q as vectors self and factors input2."""
    name = "ormqr"
    require_inexact_matrix(name, "self", self)
    require_inexact_matrix(name, "input3", input3)
    require_same(name, self=self, input2=input2, input3=input3)
    require_rows(name, self.shape[-2], input3, -2 if left else -1)
    _require_reflections(name, self, input2, min(self.shape[-2:]))
    batch = tuple(self.shape[:-2])
    if tuple(input3.shape[:-2]) != batch:
        raise RuntimeError(
            f"{name}: the batches of shapes {list(self.shape)} and {list(input3.shape)} differ"
        )
    made = stack_of(input3)
    adjoint = "C" if made.is_complex() else "T"
    side, form = "L" if left else "R", adjoint if transpose else "N"
    multiply_q(stack_of(self), _factors_of(input2), made, side=side, form=form)
    return matrices_of(made, input3, batch)


@op
def linalg_solve_triangular(
    self: Tensor,
    rhs: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    """X with A X = B, or X A = B unless `left`; only A's triangle is looked at."""
    return _by_triangle("linalg.solve_triangular", self, rhs, upper, left, unitriangular, "N")


@op
@known_by_shape
def triangular_solve(
    self: Tensor,
    matrix: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Pair:
    """X with A X = B = self, or Aᵀ X = B; and A, repeated over the common batch."""
    form = "T" if transpose else "N"
    solution = _by_triangle("triangular_solve", matrix, self, upper, True, unitriangular, form)
    batch = tuple(solution.shape[:-2])
    return solution, matrices_of(stack_of(matrix, batch), matrix, batch)


@known_by_shape
def _by_triangle(
    name: str, matrix: Tensor, rhs: Tensor, upper: bool, left: bool, unitriangular: bool, form: str
) -> Tensor:
    require_square(name, "A", matrix)
    require_inexact_matrix(name, "B", rhs)
    require_same(name, matrix=matrix, rhs=rhs)
    require_rows(name, matrix.shape[-1], rhs, -2 if left else -1)
    batch = broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    solution = stack_of(rhs, batch)
    solve_triangular(
        stack_of(matrix, batch),
        solution,
        side="L" if left else "R",
        triangle=_triangle(upper),
        form=form,
        diagonal="U" if unitriangular else "N",
    )
    return matrices_of(solution, rhs, batch)


@op
@known_by_shape
def linalg_ldl_factor_ex(
    self: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> Triple:
    """L and the block diagonal D of A = L D Lᵀ (Lᴴ) in one matrix, pivots, and info."""
    name = "linalg.ldl_factor_ex"
    require_square(name, "self", self)
    batch = tuple(self.shape[:-2])
    factors = stack_of(self)
    pivots, info = factor_ldl(factors, hermitian)
    if check_errors:
        refuse_reported(name, info, SINGULAR)
    lower = factors.triu()  # stacks hold transposed matrices
    return (
        matrices_of(lower, self, batch),
        integers(pivots, self, batch),
        integers(info, self, batch),
    )


@op
def linalg_ldl_factor(self: Tensor, *, hermitian: bool = False) -> Pair:
    """Raises LinAlgError for singular matrices."""
    return ops.aten.linalg_ldl_factor_ex(self, hermitian=hermitian, check_errors=True)[:2]  # type: ignore[no-any-return]


@op
@known_by_shape
def linalg_ldl_solve(ld: Tensor, pivots: Tensor, rhs: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, given A's LDL factors."""
    name = "linalg.ldl_solve"
    require_square(name, "LD", ld)
    require_inexact_matrix(name, "B", rhs)
    require_same(name, ld=ld, rhs=rhs)
    require_rows(name, ld.shape[-1], rhs, -2)
    if pivots.dtype.kind not in ("signed", "unsigned") or pivots.shape != ld.shape[:-1]:
        raise RuntimeError(
            f"{name}: expected integer pivots of shape {list(ld.shape[:-1])}, got "
            f"{pivots.dtype.name} of {list(pivots.shape)}"
        )
    batch = broadcast_shapes(ld.shape[:-2], rhs.shape[:-2])
    swaps = pivots_of(pivots, batch)
    for row in swaps.tolist():
        _require_blocks(name, row)
    solution = stack_of(rhs, batch)
    solve_ldl(stack_of(ld, batch), swaps, solution, hermitian)
    return matrices_of(solution, rhs, batch)


def _require_blocks(name: str, pivots: list[int]) -> None:
    """Pivots name rows; two equal negative ones in a row stand for a block of D."""
    place = 0
    while place < len(pivots):
        width = 1 if pivots[place] > 0 else 2
        same = pivots[place : place + width].count(pivots[place])
        if same < width or not 1 <= abs(pivots[place]) <= len(pivots):
            raise RuntimeError(f"{name}: pivots {pivots} are not those of a factorization")
        place += width
