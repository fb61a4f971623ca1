"""What the operators on matrices share: how results lie in memory, and rows that change places."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.ops.row_major import row_major
from aten.registry import ops

Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]
Quadruple = tuple[Tensor, Tensor, Tensor, Tensor]


def by_columns(matrices: Tensor) -> Tensor:
    """The matrices column after column in memory, as LAPACK, and so torch, gives them."""
    return row_major(matrices.transpose(-2, -1)).transpose(-2, -1)


def adjoint(matrix: Tensor) -> Tensor:
    """The conjugates of the transposed matrices."""
    return conjugate(matrix.transpose(-2, -1))


def conjugate(tensor: Tensor) -> Tensor:
    return ops.aten.conj_physical(tensor) if tensor.is_complex() else tensor


def over_batch(matrices: Tensor, batch: Sequence[int]) -> Tensor:
    """Matrices (*, rows, columns), repeated over `batch`."""
    return matrices.expand((*batch, *matrices.shape[-2:]))


def identity(like: Tensor) -> Tensor:
    """The identity that has as many columns as `like`."""
    return ops.aten.eye(like.shape[-1], dtype=like.dtype, device=like.device)


def row_numbers(like: Tensor, rows: int) -> Tensor:
    """The numbers of `rows` rows, on the device of `like`."""
    return ops.aten.arange(rows, device=like.device)


def exchanged(numbers: Tensor, first: Tensor | int, second: Tensor) -> Tensor:
    """The numbers of rows (rows), two of which, (*, 1), have changed places: (*, rows)."""
    where = ops.aten.where
    return where(numbers == first, second, where(numbers == second, first, numbers))


def rows_at(matrices: Tensor, order: Tensor) -> Tensor:
    """The rows (*, rows, columns) that an order (*, rows) names, in this order."""
    places = order.unsqueeze(-1).expand(matrices.shape)
    return ops.prims.gather(matrices, places, matrices.dim() - 2)  # type: ignore[no-any-return]


def rows_to(matrices: Tensor, order: Tensor) -> Tensor:
    """Each row where the order names it: the inverse of `rows_at`."""
    places = order.unsqueeze(-1).expand(matrices.shape)
    return ops.prims.scatter(matrices, places, matrices, matrices.dim() - 2, "replace")  # type: ignore[no-any-return]


def by_triangle(
    matrices: Tensor, rhs: Tensor, *, upper: bool, unitriangular: bool = False
) -> Tensor:
    """X with A X = B, of the same batch."""
    return ops.prims.solve_triangular(  # type: ignore[no-any-return]
        matrices, rhs, upper=upper, unitriangular=unitriangular
    )
