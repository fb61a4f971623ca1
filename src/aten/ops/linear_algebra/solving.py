"""LU factors, and what they give: solutions, inverses, determinants."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.linear_algebra.matmul import broadcast_shapes
from aten.ops.linear_algebra.matrices import (
    Pair,
    Quadruple,
    Triple,
    by_columns,
    by_triangle,
    conjugate,
    identity,
    over_batch,
    row_numbers,
    rows_at,
    rows_to,
)
from aten.ops.linear_algebra.matrix_checks import (
    SINGULAR,
    refuse_reported,
    require_inexact_matrix,
    require_rows,
    require_same,
    require_square,
)
from aten.registry import ops


def check_lu(name: str, matrix: Tensor, pivot: bool) -> None:
    """Raises RuntimeError for what has no LU factors with pivots."""
    require_inexact_matrix(name, "A", matrix)
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not there for the CPU")


@op
def linalg_lu_factor_ex(
    matrix: Tensor, *, pivot: bool = True, check_errors: bool = False
) -> Triple:
    """L and U in one matrix, pivots (from 1), and the first zero on U's diagonal, else 0."""
    name = "linalg.lu_factor"
    check_lu(name, matrix, pivot)
    factors, pivots, info = ops.prims.lu(matrix)
    if check_errors:
        refuse_reported(name, info, SINGULAR, RuntimeError)
    return by_columns(factors), pivots, info


@op
def linalg_lu_factor(matrix: Tensor, *, pivot: bool = True) -> Pair:
    return ops.aten.linalg_lu_factor_ex.default(matrix, pivot=pivot, check_errors=True)[:2]


@op
def linalg_lu(matrix: Tensor, *, pivot: bool = True) -> Triple:
    """P, L and U with A = P L U."""
    check_lu("linalg.lu", matrix, pivot)
    factors, pivots, _ = ops.aten.linalg_lu_factor_ex.default(matrix, pivot=pivot)
    return ops.aten.lu_unpack(factors, pivots)


def check_unpacked(factors: Tensor, pivots: Tensor) -> None:
    """Raises RuntimeError for what are not factors and their pivots."""
    if pivots.dtype.name != "int32":
        raise RuntimeError(f"lu_unpack: expected LU_pivots of int32, got {pivots.dtype.name}")
    require_inexact_matrix("lu_unpack", "LU_data", factors)
    *batch, rows, columns = factors.shape
    expected = [*batch, min(rows, columns)]
    if list(pivots.shape) != expected:
        raise RuntimeError(
            f"lu_unpack: expected LU_pivots of shape {expected}, got {list(pivots.shape)}"
        )


@op
def lu_unpack(
    factors: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Triple:
    """P (*, m, m), L (*, m, k) and U (*, k, n) of LU factors; what is not asked for is empty."""
    check_unpacked(factors, pivots)
    permutation = lower = upper = factors.new_empty([0])
    if unpack_data:
        lower, upper = unpacked(factors)
    if unpack_pivots:
        rows = factors.shape[-2]
        places = row_numbers(factors, rows).unsqueeze(-1)
        permutation = (places == ops.prims.order_of_pivots(pivots, rows).unsqueeze(-2)).to(
            factors.dtype
        )
    return permutation, lower, upper


def unpacked(factors: Tensor) -> Pair:
    """L and U."""
    least = min(factors.shape[-2:])
    lower = factors.narrow(-1, 0, least).tril(-1).contiguous()
    ones = ops.aten.eye(*lower.shape[-2:], dtype=factors.dtype, device=factors.device)
    return lower + ones, factors.narrow(-2, 0, least).triu().contiguous()


def check_lu_solve(lu: Tensor, pivots: Tensor, rhs: Tensor, left: bool) -> tuple[int, ...]:
    """The common batch. Raises RuntimeError for factors, pivots and sides that do not fit."""
    name = "linalg.lu_solve"
    require_square(name, "LU", lu)
    require_inexact_matrix(name, "B", rhs)
    require_same(name, lu=lu, rhs=rhs)
    if pivots.dtype.name != "int32" or pivots.shape != lu.shape[:-1]:
        raise RuntimeError(
            f"{name}: expected pivots of int32 and shape {list(lu.shape[:-1])}, got "
            f"{pivots.dtype.name} and {list(pivots.shape)}"
        )
    require_rows(name, lu.shape[-1], rhs, -2 if left else -1)
    return broadcast_shapes(lu.shape[:-2], rhs.shape[:-2])


@op
def linalg_lu_solve(
    lu: Tensor, pivots: Tensor, rhs: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """X with A X = B, or X A = B unless `left`; of A's adjoint if `adjoint`."""
    batch = check_lu_solve(lu, pivots, rhs, left)
    return _solution(lu, pivots, over_batch(rhs, batch), left, adjoint)


@op
def lu_solve(self: Tensor, factors: Tensor, pivots: Tensor) -> Tensor:
    return ops.aten.linalg_lu_solve(factors, pivots, self)


def _solution(
    lu: Tensor, pivots: Tensor, rhs: Tensor, left: bool, of_adjoint: bool = False
) -> Tensor:
    """For the batch of `rhs`. From the right, Xᵀ solves for Aᵀ and Bᵀ."""
    order = ops.prims.order_of_pivots(pivots, lu.shape[-1]).expand((*rhs.shape[:-2], lu.shape[-1]))
    lu = over_batch(lu, rhs.shape[:-2])
    if left:
        solve = _by_turned_factors if of_adjoint else _by_factors
        return by_columns(solve(conjugate(lu) if of_adjoint else lu, order, rhs))
    turned = rhs.transpose(-2, -1)
    if of_adjoint:
        made = _by_factors(conjugate(lu), order, turned)
    else:
        made = _by_turned_factors(lu, order, turned)
    return by_columns(made).transpose(-2, -1)


def _by_factors(lu: Tensor, order: Tensor, rhs: Tensor) -> Tensor:
    """X with P L U X = B."""
    made = by_triangle(lu, rows_at(rhs, order), upper=False, unitriangular=True)
    return by_triangle(lu, made, upper=True)


def _by_turned_factors(lu: Tensor, order: Tensor, rhs: Tensor) -> Tensor:
    """X with (P L U)ᵀ X = B."""
    turned = lu.transpose(-2, -1)
    made = by_triangle(turned, rhs, upper=False)
    return rows_to(by_triangle(turned, made, upper=True, unitriangular=True), order)


def checked_solve(matrix: Tensor, rhs: Tensor, left: bool) -> tuple[Tensor, bool, tuple[int, ...]]:
    """B as matrices, whether it holds vectors, and the common batch. Raises RuntimeError."""
    name = "linalg.solve"
    require_square(name, "A", matrix)
    require_same(name, matrix=matrix, rhs=rhs)
    is_vector = rhs.dim() == 1 or rhs.shape == matrix.shape[:-1]
    if is_vector and not left:
        raise RuntimeError(f"{name}: a vector has no solution from the right (left=False)")
    columns = rhs.unsqueeze(-1) if is_vector else rhs
    require_inexact_matrix(name, "B", columns)
    require_rows(name, matrix.shape[-1], columns, -2 if left else -1)
    return columns, is_vector, broadcast_shapes(matrix.shape[:-2], columns.shape[:-2])


@op
def _linalg_solve_ex(
    matrix: Tensor, rhs: Tensor, *, left: bool = True, check_errors: bool = False
) -> Quadruple:
    """X with A X = B, A's factors and pivots, and info as linalg_lu_factor_ex has it.

    B is a batch of vectors if its shape is A's without the last dimension, or it is a vector.
    """
    columns, is_vector, batch = checked_solve(matrix, rhs, left)
    factors, pivots, info = ops.aten.linalg_lu_factor_ex.default(matrix)
    if check_errors:
        refuse_reported("linalg.solve", info, SINGULAR)
    solution = _solution(factors, pivots, over_batch(columns, batch), left)
    return solution.squeeze(-1) if is_vector else solution, factors, pivots, info


@op
def linalg_solve_ex(
    matrix: Tensor, rhs: Tensor, *, left: bool = True, check_errors: bool = False
) -> Pair:
    result, _, _, info = ops.aten._linalg_solve_ex(
        matrix, rhs, left=left, check_errors=check_errors
    )
    return result, info


@op
def linalg_solve(matrix: Tensor, rhs: Tensor, *, left: bool = True) -> Tensor:
    """Raises LinAlgError for singular matrices."""
    return ops.aten._linalg_solve_ex(matrix, rhs, left=left, check_errors=True)[0]


@op
def linalg_inv_ex(matrix: Tensor, *, check_errors: bool = False) -> Pair:
    """The inverses, and info as linalg_lu_factor_ex has it."""
    require_square("linalg.inv", "A", matrix)
    factors, pivots, info = ops.aten.linalg_lu_factor_ex.default(matrix)
    if check_errors:
        refuse_reported("linalg.inv", info, SINGULAR)
    return _solution(factors, pivots, identity(matrix).expand(matrix.shape), True), info


@op
def linalg_inv(matrix: Tensor) -> Tensor:
    """Raises LinAlgError for singular matrices."""
    return ops.aten.linalg_inv_ex.default(matrix, check_errors=True)[0]


@op
def _linalg_slogdet(matrix: Tensor) -> Quadruple:
    """Sign and logarithm of the absolute value of the determinants; A's factors and pivots."""
    diagonal, sign, factors, pivots = _diagonal("linalg.slogdet", matrix)
    size = diagonal.abs()
    phases = ops.aten.where(size == 0, 0.0, diagonal / size)
    return (sign * phases.prod(-1)).to(matrix.dtype), size.log().sum(-1), factors, pivots


@op
def _linalg_det(matrix: Tensor) -> Triple:
    """The determinants, and A's factors and pivots."""
    diagonal, sign, factors, pivots = _diagonal("linalg.det", matrix)
    return (sign * diagonal.prod(-1)).to(matrix.dtype), factors, pivots


def _diagonal(name: str, matrix: Tensor) -> Quadruple:
    """U's diagonals, the signs of the permutations, factors and pivots."""
    require_square(name, "A", matrix)
    factors, pivots, _ = ops.aten.linalg_lu_factor_ex.default(matrix)
    moved = (pivots != row_numbers(matrix, matrix.shape[-1]) + 1).sum(-1)
    sign = 1 - 2 * ops.aten.remainder(moved, 2)
    return factors.diagonal(0, -2, -1), sign, factors, pivots


@op
def linalg_det(matrix: Tensor) -> Tensor:
    return ops.aten._linalg_det(matrix)[0]


@op
def linalg_slogdet(matrix: Tensor) -> Pair:
    return ops.aten._linalg_slogdet(matrix)[:2]


@op
def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinants; of negative ones, NaN."""
    sign, logarithm = ops.aten.linalg_slogdet.default(self)
    return sign.log() + logarithm
