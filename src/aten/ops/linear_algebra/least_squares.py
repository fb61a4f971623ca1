"""Solutions of systems that have more equations than unknowns, or fewer."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.linear_algebra.matmul import broadcast_shapes
from aten.ops.linear_algebra.matrices import (
    Quadruple,
    adjoint,
    by_columns,
    by_triangle,
    over_batch,
)
from aten.ops.linear_algebra.matrix_checks import require_inexact_matrix, require_same
from aten.ops.linear_algebra.spectral import EPSILON
from aten.registry import ops

_INT64 = DTYPES["int64"]
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def checked_lstsq(
    self: Tensor, b: Tensor, driver: str | None
) -> tuple[Tensor, bool, tuple[int, ...], str]:
    """b as matrices, whether it holds vectors, the common batch and the driver.

    Raises RuntimeError for shapes and dtypes that do not go together, and for other drivers.
    """
    name = "linalg.lstsq"
    require_inexact_matrix(name, "A", self)
    require_same(name, matrix=self, b=b)
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(f"{name}: {driver!r} is not one of {', '.join(_DRIVERS)}")
    *own, rows, _ = self.shape
    is_vector = self.dim() - 1 == b.dim()
    right = b.unsqueeze(-1) if is_vector else b
    if right.dim() != self.dim() or right.shape[-2] != rows:
        raise RuntimeError(
            f"{name}: A of shape {list(self.shape)} and b of {list(b.shape)} do not go together"
        )
    return right, is_vector, broadcast_shapes(tuple(own), right.shape[:-2]), driver


def least_ratio(matrix: Tensor, rcond: float | None) -> float:
    """What singular values are at least of the largest, not to be taken for zero."""
    if rcond is not None:
        return rcond
    return max(matrix.shape[-2:]) * EPSILON[matrix.dtype.to_real().name]


@op(gaps_out=True)
def linalg_lstsq(
    self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Quadruple:
    """The least X of those that minimize |A X - b|: solution, residuals, rank, singular values.

    b has the rank of A, or one less: a batch of vectors. Residuals are there for A of full
    rank with more rows than columns, not for "gelsy"; what is not computed is empty.
    """
    right, is_vector, batch, driver = checked_lstsq(self, b, driver)
    a, given = over_batch(self, batch), over_batch(right, batch)
    rows, columns = a.shape[-2:]
    residuals = self.new_empty([0]).abs()
    values = residuals
    if driver == "gels":
        solution, of_full_rank = _by_reflections(a, given), True
        rank = self.new_empty([0], dtype=_INT64)
    else:
        solution, values, rank = _by_singular_values(a, given, least_ratio(self, rcond))
        of_full_rank = driver != "gelsy" and (
            not has_data(rank) or bool((rank == min(rows, columns)).all())
        )
    if rows > columns and of_full_rank:
        residuals = (a.matmul(solution) - given).abs().square().sum(-2)
    if driver not in ("gelsd", "gelss"):
        values = values.new_empty([0])
    # Where there are more equations than unknowns, they took as much memory.
    none = [0] * a.dim()
    below = [*none[:-2], max(rows - columns, 0), 0]
    solution = by_columns(ops.prims.pad(solution, 0, none, below, none)).narrow(-2, 0, columns)
    return solution.squeeze(-1) if is_vector else solution, residuals, rank, values


def _by_reflections(a: Tensor, b: Tensor) -> Tensor:
    """For matrices of full rank."""
    if a.shape[-2] >= a.shape[-1]:
        q, r = ops.aten.linalg_qr(a)
        return by_triangle(r, adjoint(q).matmul(b), upper=True)
    q, r = ops.aten.linalg_qr(adjoint(a))
    return q.matmul(by_triangle(adjoint(r), b, upper=False))


def _by_singular_values(a: Tensor, b: Tensor, ratio: float) -> tuple[Tensor, Tensor, Tensor]:
    """Solutions, singular values, and how many of them are not taken for zero."""
    left, values, right = ops.aten._linalg_svd(a, False)
    if values.shape[-1] == 0:
        return (
            a.new_zeros((*a.shape[:-2], a.shape[-1], b.shape[-1])),
            values,
            values.sum(-1).to(_INT64),
        )
    if ratio < 0:
        ratio = EPSILON[values.dtype.name]
    above = values > ratio * values.narrow(-1, 0, 1)
    inverted = ops.aten.where(above, values.reciprocal(), 0).to(a.dtype)
    solution = adjoint(right).matmul(inverted.unsqueeze(-1) * adjoint(left).matmul(b))
    return solution, values, above.sum(-1)
