"""Factors of matrices other than LU, and solutions by them: Cholesky, QR, LDL, triangles."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.linear_algebra.matmul import broadcast_shapes
from aten.ops.linear_algebra.matrices import (
    Pair,
    Triple,
    adjoint,
    by_columns,
    by_triangle,
    conjugate,
    exchanged,
    identity,
    over_batch,
    row_numbers,
    rows_at,
)
from aten.ops.linear_algebra.matrix_checks import (
    INDEFINITE,
    SINGULAR,
    refuse_reported,
    require_inexact_matrix,
    require_rows,
    require_same,
    require_square,
)
from aten.registry import ops


@op
def linalg_cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> Pair:
    """L with A = L Lᴴ (or U with Uᴴ U), and the order of the first minor not positive, else 0."""
    require_square("linalg.cholesky", "A", self)
    factor, info = ops.prims.cholesky(adjoint(self) if upper else self)
    if check_errors:
        refuse_reported("linalg.cholesky", info, INDEFINITE)
    return by_columns(adjoint(factor) if upper else factor), info


@op
def linalg_cholesky(self: Tensor, *, upper: bool = False) -> Tensor:
    """Raises LinAlgError for matrices that are not positive-definite."""
    return ops.aten.linalg_cholesky_ex.default(self, upper=upper, check_errors=True)[0]


@op(row_major_out=True)
def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    require_square("cholesky", "A", self)
    factor, info = ops.aten.linalg_cholesky_ex.default(self, upper=upper)
    refuse_reported("cholesky", info, INDEFINITE)
    return factor if factor.numel() else factor.contiguous()


def check_cholesky_solve(self: Tensor, input2: Tensor) -> tuple[int, ...]:
    """The common batch. Raises RuntimeError for shapes and dtypes that do not go together."""
    name = "cholesky_solve"
    require_square(name, "input2", input2)
    require_inexact_matrix(name, "self", self)
    require_same(name, self=self, input2=input2)
    require_rows(name, input2.shape[-1], self, -2)
    return broadcast_shapes(self.shape[:-2], input2.shape[:-2])


@op
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B = self, given A's Cholesky factor `input2`."""
    batch = check_cholesky_solve(self, input2)
    factor, rhs = over_batch(input2, batch), over_batch(self, batch)
    lower, higher = (adjoint(factor), factor) if upper else (factor, adjoint(factor))
    made = by_triangle(lower, rhs, upper=False)
    return by_columns(by_triangle(higher, made, upper=True))


@op
def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    """A's inverse, given its Cholesky factor."""
    require_square("cholesky_inverse", "self", self)
    return ops.aten.cholesky_solve(identity(self), self, upper)


def check_qr(matrix: Tensor, mode: str) -> int:
    """How many rows of R there are. Raises RuntimeError for other words than modes."""
    require_inexact_matrix("linalg.qr", "A", matrix)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"linalg.qr: {mode!r} is not one of reduced, complete, r")
    rows, columns = matrix.shape[-2:]
    return rows if mode == "complete" else min(rows, columns)


@op
def linalg_qr(matrix: Tensor, mode: str = "reduced") -> Pair:
    """Q (*, m, k) and R (*, k, n): k is min(m, n), or m in mode "complete"; "r" leaves out Q."""
    kept = check_qr(matrix, mode)
    factors, tau = ops.prims.geqrf(matrix)
    upper_factor = by_columns(factors.narrow(-2, 0, kept).triu())
    if mode == "r":
        return matrix.new_empty([0]), upper_factor
    return by_columns(ops.prims.householder_product(_of_width(factors, kept), tau)), upper_factor


def _of_width(matrices: Tensor, columns: int) -> Tensor:
    """The first columns, or all and columns of zeros."""
    given = matrices.shape[-1]
    if columns <= given:
        return matrices.narrow(-1, 0, columns)
    none = [0] * matrices.dim()
    return ops.prims.pad(matrices, 0, none, [*none[:-1], columns - given], none)  # type: ignore[no-any-return]


@op
def qr(self: Tensor, some: bool = True) -> Pair:
    return ops.aten.linalg_qr(self, "reduced" if some else "complete")


@op
def geqrf(self: Tensor) -> Pair:
    """R and below it the Householder vectors; and their factors (*, k)."""
    require_inexact_matrix("geqrf", "self", self)
    factors, tau = ops.prims.geqrf(self)
    return by_columns(factors), tau


def check_householder_product(input: Tensor, tau: Tensor) -> None:
    """Raises RuntimeError for vectors and factors that do not go together."""
    name = "linalg.householder_product"
    require_inexact_matrix(name, "input", input)
    require_same(name, input=input, tau=tau)
    rows, columns = input.shape[-2:]
    _require_reflections(name, input, tau)
    if columns > rows:
        raise RuntimeError(f"{name}: input has {columns} columns and only {rows} rows")


@op
def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of the product of reflections: input (*, m, n), tau (*, k), k ≤ n ≤ m."""
    check_householder_product(input, tau)
    return by_columns(ops.prims.householder_product(input, tau))


@op
def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    """Another name of `linalg_householder_product`."""
    return ops.aten.linalg_householder_product.default(self, input2)


def _require_reflections(name: str, vectors: Tensor, tau: Tensor) -> None:
    if tau.dim() != vectors.dim() - 1 or tau.shape[:-1] != vectors.shape[:-2]:
        raise RuntimeError(
            f"{name}: the batches of shapes {list(vectors.shape)} and tau's {list(tau.shape)} "
            "differ"
        )
    most = min(vectors.shape[-2:])
    if tau.shape[-1] > most:
        raise RuntimeError(f"{name}: tau has {tau.shape[-1]} factors for {most} vectors")


def check_ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool) -> None:
    """Raises RuntimeError for vectors, factors and matrices that do not go together."""
    name = "ormqr"
    require_inexact_matrix(name, "self", self)
    require_inexact_matrix(name, "input3", input3)
    require_same(name, self=self, input2=input2, input3=input3)
    require_rows(name, self.shape[-2], input3, -2 if left else -1)
    _require_reflections(name, self, input2)
    if input3.shape[:-2] != self.shape[:-2]:
        raise RuntimeError(
            f"{name}: the batches of shapes {list(self.shape)} and {list(input3.shape)} differ"
        )


@op
def ormqr(
    self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Q C, or C Q unless `left`; with Qᴴ if `transpose`: Q as vectors self and factors input2."""
    check_ormqr(self, input2, input3, left)
    reflections = ops.prims.householder_product(_of_width(self, self.shape[-2]), input2)
    if transpose:
        reflections = adjoint(reflections)
    return by_columns(reflections.matmul(input3) if left else input3.matmul(reflections))


def checked_triangle(name: str, matrix: Tensor, rhs: Tensor, left: bool) -> tuple[int, ...]:
    """The common batch. Raises RuntimeError for shapes and dtypes that do not go together."""
    require_square(name, "A", matrix)
    require_inexact_matrix(name, "B", rhs)
    require_same(name, matrix=matrix, rhs=rhs)
    require_rows(name, matrix.shape[-1], rhs, -2 if left else -1)
    return broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])


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
    batch = checked_triangle("linalg.solve_triangular", self, rhs, left)
    matrix, given = over_batch(self, batch), over_batch(rhs, batch)
    if left:
        return by_columns(by_triangle(matrix, given, upper=upper, unitriangular=unitriangular))
    turned = by_triangle(
        matrix.transpose(-2, -1),
        given.transpose(-2, -1),
        upper=not upper,
        unitriangular=unitriangular,
    )
    return by_columns(turned.transpose(-2, -1))


@op
def triangular_solve(
    self: Tensor,
    matrix: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Pair:
    """X with A X = B = self, or Aᵀ X = B; and A, repeated over the common batch."""
    batch = checked_triangle("triangular_solve", matrix, self, True)
    solution = ops.aten.linalg_solve_triangular(
        matrix.transpose(-2, -1) if transpose else matrix,
        self,
        upper=upper is not transpose,
        unitriangular=unitriangular,
    )
    return solution, by_columns(over_batch(matrix, batch)).clone()


@op
def linalg_ldl_factor_ex(
    self: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> Triple:
    """L and the block diagonal D of A = L D Lᵀ (Lᴴ) in one matrix, pivots, and info."""
    name = "linalg.ldl_factor_ex"
    require_square(name, "self", self)
    factors, pivots, info = ops.prims.ldl(self, hermitian=hermitian)
    if check_errors:
        refuse_reported(name, info, SINGULAR)
    return by_columns(factors), pivots, info


@op
def linalg_ldl_factor(self: Tensor, *, hermitian: bool = False) -> Pair:
    """Raises LinAlgError for singular matrices."""
    return ops.aten.linalg_ldl_factor_ex(self, hermitian=hermitian, check_errors=True)[:2]


def check_ldl_solve(ld: Tensor, pivots: Tensor, rhs: Tensor) -> tuple[int, ...]:
    """The common batch. Raises RuntimeError for shapes and dtypes that do not go together."""
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
    return broadcast_shapes(ld.shape[:-2], rhs.shape[:-2])


@op
def linalg_ldl_solve(ld: Tensor, pivots: Tensor, rhs: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, given A's LDL factors."""
    batch = check_ldl_solve(ld, pivots, rhs)
    length = ld.shape[-1]
    if length == 0:
        return by_columns(over_batch(rhs, batch)).clone()
    ld, made = over_batch(ld, batch), over_batch(rhs, batch)
    pivots = pivots.expand((*batch, length)).to(DTYPES["int64"])
    first = _first_of_blocks(pivots)
    beside = ld.diagonal(-1, -2, -1).masked_fill(first.narrow(-1, 0, length - 1).logical_not(), 0)
    lower = ld.tril(-1) - ops.aten.diag_embed(beside, -1)
    exchanges = _exchanges(pivots, first)
    for step, exchange in enumerate(exchanges):
        made = rows_at(made, exchange)
        made = made - lower.narrow(-1, step, 1) * made.narrow(-2, step, 1)
    made = _by_blocks(ld.diagonal(0, -2, -1), beside, first, made, hermitian)
    turned = adjoint(lower) if hermitian else lower.transpose(-2, -1)
    for step in reversed(range(length)):
        folded = turned.narrow(-2, step, 1).matmul(made)
        here = (row_numbers(ld, length) == step).unsqueeze(-1)
        made = rows_at(ops.aten.where(here, made - folded, made), exchanges[step])
    return by_columns(made)


def _first_of_blocks(pivots: Tensor) -> Tensor:
    """Which rows begin a block of two: negative ones come in pairs."""
    negative = pivots < 0
    before, found = negative.new_zeros((*pivots.shape[:-1], 1)), []
    for step in range(pivots.shape[-1]):
        before = negative.narrow(-1, step, 1) & before.logical_not()
        found.append(before)
    return ops.aten.cat(found, -1)


def _exchanges(pivots: Tensor, first: Tensor) -> list[Tensor]:
    """For each step the order of the rows after it: of a block of two, the second moves first."""
    numbers = row_numbers(pivots, pivots.shape[-1])
    moved = ops.aten.where(first, numbers + 1, numbers)
    # The second row of a block has been moved with the first.
    second = (pivots < 0) & first.logical_not()
    other = ops.aten.where(second, numbers, pivots.abs() - 1)
    return [
        exchanged(numbers, moved.narrow(-1, step, 1), other.narrow(-1, step, 1))
        for step in range(pivots.shape[-1])
    ]


def _by_blocks(
    diagonal: Tensor, beside: Tensor, first: Tensor, rhs: Tensor, hermitian: bool
) -> Tensor:
    """X with D X = B; `beside` (*, n - 1) is the diagonal below D's, not 0 within blocks only."""
    if hermitian and diagonal.is_complex():
        diagonal = ops.aten.real(diagonal).to(diagonal.dtype)
    none = [0] * diagonal.dim()
    one = [*none[:-1], 1]
    above = conjugate(beside) if hermitian else beside
    # For each row, what the other row of its block has: below it, or above.
    low, high = ops.prims.pad(beside, 0, none, one, none), ops.prims.pad(above, 0, none, one, none)
    last = ops.prims.pad(beside, 0, one, none, none)
    second = first.roll(1, -1)
    paired = first | second
    other = ops.aten.where(first, high, last)
    across = diagonal.roll(-1, -1).where(first, diagonal.roll(1, -1))
    product = (low * high) + (low * high).roll(1, -1)
    determinant = ops.aten.where(paired, diagonal * across - product, diagonal)
    own = ops.aten.where(paired, across, 1)
    partner = rhs.roll(-1, -2).where(first.unsqueeze(-1), rhs.roll(1, -2))
    found = own.unsqueeze(-1) * rhs
    found = found - ops.aten.where(paired.unsqueeze(-1), other.unsqueeze(-1) * partner, 0)
    return found / determinant.unsqueeze(-1)
