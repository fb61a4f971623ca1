"""LU factors, and what they give: solutions, inverses, determinants."""

from __future__ import annotations

from aten._core.construct import on_device, tensor_from_data
from aten._core.device import device
from aten._core.dtypes import DTYPES
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.known_shapes import known_by_shape
from aten.ops.lapack import (
    factor_lu,
    fresh,
    matrices_of,
    solve_lu,
    stack_of,
    tensor_of,
    zeros,
)
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

_CPU = device("cpu")
_INT32, _INT64 = DTYPES["int32"], DTYPES["int64"]

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


def integers(array: Tensor, like: Tensor, batch: tuple[int, ...]) -> Tensor:
    return tensor_of(array.reshape((*batch, *array.shape[1:])).to(_INT32), like)


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
        given = fresh(on_device(factors.resolve_conj().resolve_neg(), _CPU))
        lower = ops.aten.tril(given.narrow(-1, 0, least), -1)
        lower.diagonal(0, -2, -1).fill_(1)
        lower = tensor_of(lower.contiguous(), factors)
        upper = tensor_of(ops.aten.triu(given.narrow(-2, 0, least)).contiguous(), factors)
    if unpack_pivots:
        order = _permutation(pivots_of(pivots), rows)
        chosen = zeros((len(order), rows, rows), factors.dtype)
        chosen.scatter_(1, order.unsqueeze(1), 1)
        permutation = tensor_of(chosen.reshape((*batch, rows, rows)), factors)
    return permutation, lower, upper


def pivots_of(pivots: Tensor, batch: tuple[int, ...] | None = None) -> Tensor:
    """Pivots (*batch, k) as int64 (count, k), for LAPACK.

    Raises RuntimeError for pivots that name no row.
    """
    shape = pivots.shape if batch is None else (*batch, pivots.shape[-1])
    given = on_device(pivots, _CPU).expand(shape).to(_INT64)
    count = 1
    for size in shape[:-1]:
        count *= size
    return fresh(given).reshape(count, shape[-1])


def _permutation(pivots: Tensor, rows: int) -> Tensor:
    """The row that ends up in each place when rows are swapped one after the other."""
    _require_rows_named(pivots, rows)
    orders = []
    for swaps in pivots.tolist():
        order = list(range(rows))
        for place, other in enumerate(swaps):
            order[place], order[other - 1] = order[other - 1], order[place]
        orders.append(order)
    made = zeros((len(orders), rows), _INT64)
    return made.copy_(tensor_from_data(orders, _INT64)) if made.numel() else made


def _require_rows_named(pivots: Tensor, rows: int) -> None:
    if pivots.numel() and not (int(pivots.min()) >= 1 and int(pivots.max()) <= rows):
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
    if adjoint:
        made = ops.aten.conj_physical(made)
    solve_lu(lu, pivots, made, "N" if adjoint else "T")
    return matrices_of(ops.aten.conj_physical(made) if adjoint else made, rhs, batch).transpose(
        -2, -1
    )


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
    repeated = lu if own == batch else stack_of(factors, batch)
    solution = _solution(repeated, pivots_of(swaps, batch), columns, batch, left)
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
    made = (sign * phases.prod(-1)).reshape(batch)
    logarithm = size.log().sum([-1]).reshape(batch)
    return tensor_of(made, matrix), tensor_of(logarithm, matrix), factors, pivots


@op
@known_by_shape
def _linalg_det(matrix: Tensor) -> Triple:
    """The determinants, and A's factors and pivots."""
    diagonal, sign, factors, pivots = _diagonal("linalg.det", matrix)
    value = sign * diagonal.prod(-1)
    return tensor_of(value.reshape(tuple(matrix.shape[:-2])), matrix), factors, pivots


def _diagonal(name: str, matrix: Tensor) -> Quadruple:
    """U's diagonals, the signs of the permutations, factors and pivots."""
    require_square(name, "A", matrix)
    lu = stack_of(matrix)
    pivots, _ = factor_lu(lu)
    places = ops.aten.arange(1, pivots.shape[1] + 1, dtype=_INT64, device=_CPU)
    swaps = (pivots != places).sum([-1])
    batch = tuple(matrix.shape[:-2])
    factors = matrices_of(lu, matrix, batch), integers(pivots, matrix, batch)
    return fresh(lu.diagonal(0, 1, 2)), 1 - 2 * (swaps % 2), *factors


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
