"""LU factors, and what they give: solutions, inverses, determinants."""

from __future__ import annotations

from typing import Any

from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.lapack import (
    Array,
    factor_lu,
    matrices_of,
    real_type,
    solve_lu,
    stack_of,
    tensor_of,
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

Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]
Quadruple = tuple[Tensor, Tensor, Tensor, Tensor]


@op
def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Triple:
    """L and U in one matrix, pivots (from 1), and the first zero on U's diagonal, else 0."""
    return _factors("linalg.lu_factor", A, pivot, check_errors)


@op
def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> Pair:
    return _factors("linalg.lu_factor", A, pivot, check_errors=True)[:2]


def _factors(name: str, A: Tensor, pivot: bool, check_errors: bool) -> Triple:
    require_inexact_matrix(name, "A", A)
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not there for the CPU")
    lu = stack_of(A)
    pivots, info = factor_lu(lu)
    if check_errors:
        refuse_reported(name, info, SINGULAR)
    batch = tuple(A.shape[:-2])
    return matrices_of(lu, A, batch), integers(pivots, A, batch), integers(info, A, batch)


def integers(array: Array, like: Tensor, batch: tuple[int, ...]) -> Tensor:
    return tensor_of(array.reshape((*batch, *array.shape[1:])).astype("int32"), like)


@op
def linalg_lu(A: Tensor, *, pivot: bool = True) -> Triple:
    """P, L and U with A = P L U."""
    factors, pivots, _ = _factors("linalg.lu", A, pivot, check_errors=False)
    return ops.aten.lu_unpack(factors, pivots)  # type: ignore[no-any-return]


@op
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Triple:
    """P (*, m, m), L (*, m, k) and U (*, k, n) of LU factors; what is not asked for is empty."""
    if LU_pivots.dtype.name != "int32":
        raise RuntimeError(f"lu_unpack: expected LU_pivots of int32, got {LU_pivots.dtype.name}")
    require_inexact_matrix("lu_unpack", "LU_data", LU_data)
    import numpy

    *batch, rows, columns = LU_data.shape
    least = min(rows, columns)
    if tuple(LU_pivots.shape) != (*batch, least):
        raise RuntimeError(
            f"lu_unpack: expected LU_pivots of shape {[*batch, least]}, got {list(LU_pivots.shape)}"
        )
    empty = LU_data.new_empty([0])
    permutation = lower = upper = empty
    if unpack_data:
        lu = stack_of(LU_data)
        # Stacks hold transposed matrices.
        ones = numpy.eye(least, rows, dtype=lu.dtype)
        lower = matrices_of(numpy.triu(lu[:, :least], 1) + ones, LU_data, tuple(batch))
        upper = matrices_of(numpy.tril(lu[:, :, :least]), LU_data, tuple(batch))
    if unpack_pivots:
        order = _permutation(pivots_of(LU_pivots), rows)
        chosen = numpy.eye(rows, dtype=_name_of(LU_data))[order]
        permutation = matrices_of(chosen, LU_data, tuple(batch))
    return permutation, lower, upper


def _name_of(tensor: Tensor) -> str:
    return tensor.dtype.name


def pivots_of(pivots: Tensor, batch: tuple[int, ...] | None = None) -> Array:
    """Pivots (*batch, k) as int64 (count, k), for LAPACK; of tensors without memory, the identity.

    Raises RuntimeError for pivots that name no row.
    """
    import numpy

    from aten.ops.arrays import as_array

    shape = pivots.shape if batch is None else (*batch, pivots.shape[-1])
    if pivots.is_meta:
        given = numpy.broadcast_to(numpy.arange(1, shape[-1] + 1), tuple(shape))
    else:
        given = as_array(pivots.expand(shape))
    count = 1
    for size in shape[:-1]:
        count *= size
    return numpy.array(given, "int64").reshape(count, shape[-1])


def _permutation(pivots: Array, rows: int) -> Array:
    """The row that ends up in each place when rows are swapped one after the other."""
    import numpy

    _require_rows_named(pivots, rows)
    count, swaps = pivots.shape
    order = numpy.tile(numpy.arange(rows), (count, 1))
    every = numpy.arange(count)
    for place in range(swaps):
        other = pivots[:, place] - 1
        order[every, place], order[every, other] = (
            order[every, other],
            order[every, place].copy(),
        )
    return order


def _require_rows_named(pivots: Array, rows: int) -> None:
    if pivots.size and not (pivots.min() >= 1 and pivots.max() <= rows):
        raise RuntimeError(f"pivots must be rows from 1 to {rows}")


@op
def linalg_lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """X with A X = B, or X A = B unless `left`; of A's adjoint if `adjoint`."""
    name = "linalg.lu_solve"
    require_square(name, "LU", LU)
    require_inexact_matrix(name, "B", B)
    require_same(name, LU=LU, B=B)
    if pivots.dtype.name != "int32" or pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            f"{name}: expected pivots of int32 and shape {list(LU.shape[:-1])}, got "
            f"{pivots.dtype.name} and {list(pivots.shape)}"
        )
    require_rows(name, LU.shape[-1], B, -2 if left else -1)
    batch = broadcast_shapes(LU.shape[:-2], B.shape[:-2])
    swaps = pivots_of(pivots, batch)
    _require_rows_named(swaps, LU.shape[-1])
    return _solution(stack_of(LU, batch), swaps, B, batch, left, adjoint)


@op
def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    return ops.aten.linalg_lu_solve(LU_data, LU_pivots, self)  # type: ignore[no-any-return]


def _solution(
    lu: Array, pivots: Array, B: Tensor, batch: tuple[int, ...], left: bool, adjoint: bool = False
) -> Tensor:
    """From the right, Xᵀ solves for Aᵀ and Bᵀ."""
    rhs = stack_of(B if left else B.transpose(-2, -1), batch)
    if left:
        solve_lu(lu, pivots, rhs, "C" if adjoint else "N")
        return matrices_of(rhs, B, batch)
    if adjoint:
        rhs = rhs.conj()
    solve_lu(lu, pivots, rhs, "N" if adjoint else "T")
    return matrices_of(rhs.conj() if adjoint else rhs, B, batch).transpose(-2, -1)


@op
def _linalg_solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False
) -> Quadruple:
    """X with A X = B, A's factors and pivots, and info as linalg_lu_factor_ex has it.

    B is a batch of vectors if its shape is A's without the last dimension, or it is a vector.
    """
    name = "linalg.solve"
    require_square(name, "A", A)
    require_same(name, A=A, B=B)
    is_vector = B.dim() == 1 or B.shape == A.shape[:-1]
    if is_vector and not left:
        raise RuntimeError(f"{name}: a vector has no solution from the right (left=False)")
    matrix = B.unsqueeze(-1) if is_vector else B
    require_inexact_matrix(name, "B", matrix)
    require_rows(name, A.shape[-1], matrix, -2 if left else -1)
    batch = broadcast_shapes(A.shape[:-2], matrix.shape[:-2])
    lu = stack_of(A)
    pivots, info = factor_lu(lu)
    if check_errors:
        refuse_reported(name, info, SINGULAR)
    own = tuple(A.shape[:-2])
    factors, swaps = matrices_of(lu, A, own), integers(pivots, A, own)
    repeated = lu if own == batch else stack_of(factors, batch)
    X = _solution(repeated, pivots_of(swaps, batch), matrix, batch, left)
    return X.squeeze(-1) if is_vector else X, factors, swaps, integers(info, A, own)


@op
def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Pair:
    result, _, _, info = ops.aten._linalg_solve_ex(A, B, left=left, check_errors=check_errors)
    return result, info


@op
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Raises LinAlgError for singular matrices."""
    return ops.aten._linalg_solve_ex(A, B, left=left, check_errors=True)[0]  # type: ignore[no-any-return]


@op
def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> Pair:
    """The inverses, and info as linalg_lu_factor_ex has it."""
    return _inverse("linalg.inv", A, check_errors)


@op
def linalg_inv(A: Tensor) -> Tensor:
    """Raises LinAlgError for singular matrices."""
    return _inverse("linalg.inv", A, check_errors=True)[0]


def _inverse(name: str, A: Tensor, check_errors: bool) -> Pair:
    import numpy

    require_square(name, "A", A)
    lu = stack_of(A)
    pivots, info = factor_lu(lu)
    if check_errors:
        refuse_reported(name, info, SINGULAR)
    inverse = numpy.zeros_like(lu)
    inverse[:] = numpy.eye(lu.shape[1], dtype=lu.dtype)
    solve_lu(lu, pivots, inverse)
    batch = tuple(A.shape[:-2])
    return matrices_of(inverse, A, batch), integers(info, A, batch)


@op
def _linalg_slogdet(A: Tensor) -> Quadruple:
    """Sign and logarithm of the absolute value of the determinants; A's factors and pivots."""
    import numpy

    diagonal, sign, factors, pivots = _diagonal("linalg.slogdet", A)
    size = numpy.abs(diagonal)
    with numpy.errstate(all="ignore"):
        phases = numpy.where(size == 0, 0, diagonal / size)
        total = numpy.log(size).sum(-1)
    batch = tuple(A.shape[:-2])
    made = numpy.asarray(sign * phases.prod(-1), diagonal.dtype).reshape(batch)
    logarithm = numpy.asarray(total, real_type(diagonal.dtype)).reshape(batch)
    return tensor_of(made, A), tensor_of(logarithm, A), factors, pivots


@op
def _linalg_det(A: Tensor) -> Triple:
    """The determinants, and A's factors and pivots."""
    import numpy

    diagonal, sign, factors, pivots = _diagonal("linalg.det", A)
    with numpy.errstate(all="ignore"):
        value = numpy.asarray(sign * diagonal.prod(-1), diagonal.dtype)
    return tensor_of(value.reshape(tuple(A.shape[:-2])), A), factors, pivots


def _diagonal(name: str, A: Tensor) -> tuple[Array, Any, Tensor, Tensor]:
    """U's diagonals, the signs of the permutations, factors and pivots."""
    import numpy

    require_square(name, "A", A)
    lu = stack_of(A)
    pivots, _ = factor_lu(lu)
    swaps = (pivots != numpy.arange(1, pivots.shape[1] + 1)).sum(-1)
    batch = tuple(A.shape[:-2])
    factors = matrices_of(lu, A, batch), integers(pivots, A, batch)
    return numpy.diagonal(lu, axis1=1, axis2=2).copy(), 1 - 2 * (swaps % 2), *factors


@op
def linalg_det(A: Tensor) -> Tensor:
    return ops.aten._linalg_det(A)[0]  # type: ignore[no-any-return]


@op
def linalg_slogdet(A: Tensor) -> Pair:
    return ops.aten._linalg_slogdet(A)[:2]  # type: ignore[no-any-return]


@op
def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinants; of negative ones, NaN."""
    sign, logarithm = linalg_slogdet(self)
    return sign.log() + logarithm
