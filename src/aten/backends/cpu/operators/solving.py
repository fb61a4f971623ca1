"""LU factors, and what they give: solutions, inverses, determinants."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.matrix.lapack import signs_of_swaps, swapped_order, zeros
from aten.backends.cpu.operators.lapack import factor_lu, matrices_of, solve_lu, stack_of
from aten.ops.definition import op
from aten.ops.linear_algebra.matrices import Pair, Quadruple, Triple, conjugate
from aten.ops.linear_algebra.matrix_checks import SINGULAR, refuse_reported, require_square
from aten.ops.linear_algebra.solving import (
    check_lu,
    check_lu_solve,
    check_unpacked,
    checked_solve,
    unpacked,
)

_INT32 = DTYPES["int32"]


@op
def linalg_lu_factor_ex(
    matrix: Tensor, *, pivot: bool = True, check_errors: bool = False
) -> Triple:
    name = "linalg.lu_factor"
    check_lu(name, matrix, pivot)
    lu = stack_of(matrix)
    pivots, info = factor_lu(lu)
    if check_errors:
        refuse_reported(name, info, SINGULAR, RuntimeError)
    batch = matrix.shape[:-2]
    return matrices_of(lu, batch), integers(pivots, batch), integers(info, batch)


def integers(numbers: Tensor, batch: Sequence[int]) -> Tensor:
    """What LAPACK reports of each matrix, as int32."""
    return numbers.to(_INT32).view((*batch, *numbers.shape[1:]))


@op
def lu_unpack(
    factors: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Triple:
    check_unpacked(factors, pivots)
    permutation = lower = upper = factors.new_empty([0])
    if unpack_data:
        lower, upper = unpacked(factors)
    if unpack_pivots:
        rows = factors.shape[-2]
        order = order_of_rows(pivots, rows)
        chosen = zeros((order.size(0), rows, rows), factors.dtype)
        chosen.scatter_(1, order.unsqueeze(1), 1)
        permutation = chosen.view((*factors.shape[:-2], rows, rows))
    return permutation, lower, upper


def order_of_rows(pivots: Tensor, rows: int) -> Tensor:
    """Which row stands in each place after the exchanges: pivots (*, k) to (count, rows)."""
    swaps = pivots_of(pivots)
    _require_rows_named(swaps, rows)
    order = swapped_order(swaps, rows)
    assert order is not None
    return order


def pivots_of(pivots: Tensor, batch: Sequence[int] | None = None) -> Tensor:
    """Pivots (*batch, k) as int64 (count, k), for LAPACK; a copy."""
    shape = tuple(pivots.shape) if batch is None else (*batch, pivots.shape[-1])
    given = pivots.expand(shape).to(DTYPES["int64"], copy=True)
    return given.contiguous().view(math.prod(shape[:-1]), shape[-1])


def _require_rows_named(pivots: Tensor, rows: int) -> None:
    if pivots.numel() and not (pivots.min().item() >= 1 and pivots.max().item() <= rows):
        raise RuntimeError(f"pivots must be rows from 1 to {rows}")


@op
def linalg_lu_solve(
    lu: Tensor, pivots: Tensor, rhs: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    batch = check_lu_solve(lu, pivots, rhs, left)
    swaps = pivots_of(pivots, batch)
    _require_rows_named(swaps, lu.shape[-1])
    return _solution(stack_of(lu, batch), swaps, rhs, batch, left, adjoint)


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
        return matrices_of(made, batch)
    if adjoint:
        made = conjugate(made)
    solve_lu(lu, pivots, made, "N" if adjoint else "T")
    if adjoint:
        made = conjugate(made)
    return matrices_of(made, batch).transpose(-2, -1)


@op
def _linalg_solve_ex(
    matrix: Tensor, rhs: Tensor, *, left: bool = True, check_errors: bool = False
) -> Quadruple:
    columns, is_vector, batch = checked_solve(matrix, rhs, left)
    lu = stack_of(matrix)
    pivots, info = factor_lu(lu)
    if check_errors:
        refuse_reported("linalg.solve", info, SINGULAR)
    own = tuple(matrix.shape[:-2])
    factors, swaps = matrices_of(lu, own), integers(pivots, own)
    if own != batch:
        lu, pivots = stack_of(factors, batch), pivots_of(swaps, batch)
    solution = _solution(lu, pivots, columns, batch, left)
    return (
        solution.squeeze(-1) if is_vector else solution,
        factors,
        swaps,
        integers(info, own),
    )


@op
def linalg_inv_ex(matrix: Tensor, *, check_errors: bool = False) -> Pair:
    require_square("linalg.inv", "A", matrix)
    lu = stack_of(matrix)
    pivots, info = factor_lu(lu)
    if check_errors:
        refuse_reported("linalg.inv", info, SINGULAR)
    inverse = zeros(tuple(lu.shape), lu.dtype)
    inverse.diagonal(0, 1, 2).fill_(1)
    solve_lu(lu, pivots, inverse)
    batch = matrix.shape[:-2]
    return matrices_of(inverse, batch), integers(info, batch)


@op
def _linalg_slogdet(matrix: Tensor) -> Quadruple:
    diagonal, sign, factors, pivots = _diagonal("linalg.slogdet", matrix)
    size = diagonal.abs()
    phases = (diagonal / size).masked_fill_(size == 0, 0)
    batch = matrix.shape[:-2]
    made = (sign * phases.prod(-1)).to(diagonal.dtype).view(batch)
    return made, size.log().sum(-1).view(batch), factors, pivots


@op
def _linalg_det(matrix: Tensor) -> Triple:
    diagonal, sign, factors, pivots = _diagonal("linalg.det", matrix)
    value = (sign * diagonal.prod(-1)).to(diagonal.dtype)
    return value.view(matrix.shape[:-2]), factors, pivots


def _diagonal(name: str, matrix: Tensor) -> Quadruple:
    """U's diagonals, the signs of the permutations, factors and pivots."""
    require_square(name, "A", matrix)
    lu = stack_of(matrix)
    pivots, _ = factor_lu(lu)
    batch = matrix.shape[:-2]
    return (
        lu.diagonal(0, 1, 2),
        signs_of_swaps(pivots),
        matrices_of(lu, batch),
        integers(pivots, batch),
    )
