"""LU factors, and what they give: solutions, inverses, determinants."""

from __future__ import annotations

import math

from aten._core.dtypes import DTYPES
from aten._core.lapack import signs_of_swaps, swapped_order, zeros
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.known_shapes import known_by_shape
from aten.ops.lapack import factor_lu, matrices_of, on_host, solve_lu, stack_of, tensor_of
from aten.ops.matmul import broadcast_shapes
from aten.ops.matrix_checks import (
    SINGULAR,
    refuse_reported,
    require_inexact_matrix,
    require_rows,
    require_same,
    require_square,
)
from aten.registry import ops

_INT32 = DTYPES["int32"]
Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]
Quadruple = tuple[Tensor, Tensor, Tensor, Tensor]


@op
def linalg_lu_factor_ex(
    matrix: Tensor, *, pivot: bool = True, check_errors: bool = False
) -> Triple:
    """L and U in one matrix, pivots (from 1), and the first zero on U's diagonal, else 0."""
    return _factors("linalg.lu_factor", matrix, pivot, check_errors)


@op
def linalg_lu_factor(matrix: Tensor, *, pivot: bool = True) -> Pair:
    return ops.aten.linalg_lu_factor_ex.default(matrix, pivot=pivot, check_errors=True)[:2]  # type: ignore[no-any-return]


@known_by_shape
def _factors(name: str, matrix: Tensor, pivot: bool, check_errors: bool) -> Triple:
    require_inexact_matrix(name, "A", matrix)
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not there for the CPU")
    lu = stack_of(matrix)
    pivots, info = factor_lu(lu)
    if check_errors:
        refuse_reported(name, info, SINGULAR, RuntimeError)
    batch = tuple(matrix.shape[:-2])
    return (
        matrices_of(lu, matrix, batch),
        integers(pivots, matrix, batch),
        integers(info, matrix, batch),
    )


def integers(numbers: Tensor, like: Tensor, batch: tuple[int, ...]) -> Tensor:
    return tensor_of(numbers.to(_INT32).view((*batch, *numbers.shape[1:])), like)


@op
def linalg_lu(matrix: Tensor, *, pivot: bool = True) -> Triple:
    """P, L and U with A = P L U."""
    factors, pivots, _ = _factors("linalg.lu", matrix, pivot, check_errors=False)
    return ops.aten.lu_unpack(factors, pivots)  # type: ignore[no-any-return]


@op
@known_by_shape
def lu_unpack(
    factors: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Triple:
    """P (*, m, m), L (*, m, k) and U (*, k, n) of LU factors; what is not asked for is empty."""
    if pivots.dtype.name != "int32":
        raise RuntimeError(f"lu_unpack: expected LU_pivots of int32, got {pivots.dtype.name}")
    require_inexact_matrix("lu_unpack", "LU_data", factors)
    *batch, rows, columns = factors.shape
    least = min(rows, columns)
    if tuple(pivots.shape) != (*batch, least):
        raise RuntimeError(
            f"lu_unpack: expected LU_pivots of shape {[*batch, least]}, got {list(pivots.shape)}"
        )
    permutation = lower = upper = factors.new_empty([0])
    if unpack_data:
        lower = factors.narrow(-1, 0, least).tril(-1).contiguous()
        lower.diagonal(0, -2, -1).fill_(1)
        upper = factors.narrow(-2, 0, least).triu().contiguous()
    if unpack_pivots:
        swaps = pivots_of(pivots)
        _require_rows_named(swaps, rows)
        order = swapped_order(swaps, rows)
        assert order is not None
        chosen = zeros((swaps.size(0), rows, rows), factors.dtype)
        chosen.scatter_(1, order.unsqueeze(1), 1)
        permutation = tensor_of(chosen.view((*batch, rows, rows)), factors)
    return permutation, lower, upper


def pivots_of(pivots: Tensor, batch: tuple[int, ...] | None = None) -> Tensor:
    """Pivots (*batch, k) as int64 (count, k), for LAPACK; a copy."""
    shape = tuple(pivots.shape) if batch is None else (*batch, pivots.shape[-1])
    given = on_host(pivots.expand(shape)).to(DTYPES["int64"], copy=True)
    return given.contiguous().view(math.prod(shape[:-1]), shape[-1])


def _require_rows_named(pivots: Tensor, rows: int) -> None:
    if pivots.numel() and not (pivots.min().item() >= 1 and pivots.max().item() <= rows):
        raise RuntimeError(f"pivots must be rows from 1 to {rows}")


@op
@known_by_shape
def linalg_lu_solve(
    lu: Tensor, pivots: Tensor, rhs: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """X with A X = B, or X A = B unless `left`; of A's adjoint if `adjoint`."""
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
    batch = broadcast_shapes(lu.shape[:-2], rhs.shape[:-2])
    swaps = pivots_of(pivots, batch)
    _require_rows_named(swaps, lu.shape[-1])
    return _solution(stack_of(lu, batch), swaps, rhs, batch, left, adjoint)


@op
def lu_solve(self: Tensor, factors: Tensor, pivots: Tensor) -> Tensor:
    return ops.aten.linalg_lu_solve(factors, pivots, self)  # type: ignore[no-any-return]


def _solution(
    lu: Tensor,
    pivots: Tensor,
    rhs: Tensor,
    batch: tuple[int, ...],
    left: bool,
    adjoint: bool = False,
) -> Tensor:
    """From the right, Xᵀ solves for Aᵀ and Bᵀ."""
    made = stack_of(rhs if left else rhs.transpose(-2, -1), batch)
    if left:
        solve_lu(lu, pivots, made, "C" if adjoint else "N")
        return matrices_of(made, rhs, batch)
    turned = adjoint and made.is_complex()
    if turned:
        made = ops.aten.conj_physical(made)
    solve_lu(lu, pivots, made, "N" if adjoint else "T")
    if turned:
        made = ops.aten.conj_physical(made)
    return matrices_of(made, rhs, batch).transpose(-2, -1)


@op
@known_by_shape
def _linalg_solve_ex(
    matrix: Tensor, rhs: Tensor, *, left: bool = True, check_errors: bool = False
) -> Quadruple:
    """X with A X = B, A's factors and pivots, and info as linalg_lu_factor_ex has it.

    B is a batch of vectors if its shape is A's without the last dimension, or it is a vector.
    """
    name = "linalg.solve"
    require_square(name, "A", matrix)
    require_same(name, matrix=matrix, rhs=rhs)
    is_vector = rhs.dim() == 1 or rhs.shape == matrix.shape[:-1]
    if is_vector and not left:
        raise RuntimeError(f"{name}: a vector has no solution from the right (left=False)")
    columns = rhs.unsqueeze(-1) if is_vector else rhs
    require_inexact_matrix(name, "B", columns)
    require_rows(name, matrix.shape[-1], columns, -2 if left else -1)
    batch = broadcast_shapes(matrix.shape[:-2], columns.shape[:-2])
    lu = stack_of(matrix)
    pivots, info = factor_lu(lu)
    if check_errors:
        refuse_reported(name, info, SINGULAR)
    own = tuple(matrix.shape[:-2])
    factors, swaps = matrices_of(lu, matrix, own), integers(pivots, matrix, own)
    if own != batch:
        lu, pivots = stack_of(factors, batch), pivots_of(swaps, batch)
    solution = _solution(lu, pivots, columns, batch, left)
    return (
        solution.squeeze(-1) if is_vector else solution,
        factors,
        swaps,
        integers(info, matrix, own),
    )


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
    return ops.aten._linalg_solve_ex(matrix, rhs, left=left, check_errors=True)[0]  # type: ignore[no-any-return]


@op
def linalg_inv_ex(matrix: Tensor, *, check_errors: bool = False) -> Pair:
    """The inverses, and info as linalg_lu_factor_ex has it."""
    return _inverse("linalg.inv", matrix, check_errors)


@op
def linalg_inv(matrix: Tensor) -> Tensor:
    """Raises LinAlgError for singular matrices."""
    return ops.aten.linalg_inv_ex.default(matrix, check_errors=True)[0]  # type: ignore[no-any-return]


@known_by_shape
def _inverse(name: str, matrix: Tensor, check_errors: bool) -> Pair:
    require_square(name, "A", matrix)
    lu = stack_of(matrix)
    pivots, info = factor_lu(lu)
    if check_errors:
        refuse_reported(name, info, SINGULAR)
    inverse = zeros(tuple(lu.shape), lu.dtype)
    inverse.diagonal(0, 1, 2).fill_(1)
    solve_lu(lu, pivots, inverse)
    batch = tuple(matrix.shape[:-2])
    return matrices_of(inverse, matrix, batch), integers(info, matrix, batch)


@op
@known_by_shape
def _linalg_slogdet(matrix: Tensor) -> Quadruple:
    """Sign and logarithm of the absolute value of the determinants; A's factors and pivots."""
    diagonal, sign, factors, pivots = _diagonal("linalg.slogdet", matrix)
    size = diagonal.abs()
    phases = ops.aten.where(size == 0, 0.0, diagonal / size)
    batch = tuple(matrix.shape[:-2])
    made = (sign * phases.prod(-1)).to(diagonal.dtype).view(batch)
    logarithm = size.log().sum(-1).view(batch)
    return tensor_of(made, matrix), tensor_of(logarithm, matrix), factors, pivots


@op
@known_by_shape
def _linalg_det(matrix: Tensor) -> Triple:
    """The determinants, and A's factors and pivots."""
    diagonal, sign, factors, pivots = _diagonal("linalg.det", matrix)
    value = (sign * diagonal.prod(-1)).to(diagonal.dtype)
    return tensor_of(value.view(tuple(matrix.shape[:-2])), matrix), factors, pivots


def _diagonal(name: str, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """U's diagonals, the signs of the permutations, factors and pivots."""
    require_square(name, "A", matrix)
    lu = stack_of(matrix)
    pivots, _ = factor_lu(lu)
    batch = tuple(matrix.shape[:-2])
    factors = matrices_of(lu, matrix, batch), integers(pivots, matrix, batch)
    return lu.diagonal(0, 1, 2), signs_of_swaps(pivots), *factors


@op
def linalg_det(matrix: Tensor) -> Tensor:
    return ops.aten._linalg_det(matrix)[0]  # type: ignore[no-any-return]


@op
def linalg_slogdet(matrix: Tensor) -> Pair:
    return ops.aten._linalg_slogdet(matrix)[:2]  # type: ignore[no-any-return]


@op
def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinants; of negative ones, NaN."""
    sign, logarithm = ops.aten.linalg_slogdet.default(self)
    return sign.log() + logarithm  # type: ignore[no-any-return]
