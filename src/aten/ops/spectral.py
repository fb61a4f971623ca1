"""Eigenvalues and singular values of matrices, and what follows from them."""

from __future__ import annotations

from aten._core.dtypes import DTYPES
from aten._core.lapack import zeros
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.known_shapes import known_by_shape
from aten.ops.lapack import (
    eigen_general,
    eigen_symmetric,
    least_squares,
    matrices_of,
    singular_values,
    stack_of,
    tensor_of,
)
from aten.ops.matmul import broadcast_shapes
from aten.ops.matrix_checks import (
    DIVERGED,
    refuse_reported,
    require_finite,
    require_inexact_matrix,
    require_same,
    require_square,
)
from aten.ops.solving import Pair, Quadruple, Triple
from aten.prims import Number
from aten.registry import ops

Tolerance = Tensor | float | None

# The distance from 1 to the next number.
_EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@op
def linalg_eig(self: Tensor) -> Pair:
    """Eigenvalues (*, n) and, as columns, eigenvectors (*, n, n), complex."""
    return _eigen("linalg.eig", self, vectors=True)


@op
def linalg_eigvals(self: Tensor) -> Tensor:
    return ops.aten._linalg_eigvals.default(self)  # type: ignore[no-any-return]


@op
def _linalg_eigvals(self: Tensor) -> Tensor:
    """Eigenvalues (*, n), complex."""
    return _eigen("linalg.eigvals", self, vectors=False)[0]


@known_by_shape
def _eigen(name: str, matrix: Tensor, vectors: bool) -> Pair:

    require_square(name, "A", matrix)
    stack = stack_of(matrix)
    require_finite(name, stack)
    values, right, info = eigen_general(stack, vectors)
    refuse_reported(name, info, DIVERGED)
    columns = matrices_of(right, matrix, tuple(matrix.shape[:-2]))
    return tensor_of(values.view(matrix.shape[:-1]), matrix), columns


@op
@known_by_shape
def _linalg_eigh(matrix: Tensor, triangle: str = "L", compute_v: bool = True) -> Pair:
    """Eigenvalues of Hermitian matrices, ascending and real, and eigenvectors as columns."""

    name = "linalg.eigh"
    require_square(name, "A", matrix)
    if triangle.upper() not in ("L", "U"):
        raise RuntimeError(f"{name}: expected UPLO to be 'L' or 'U', got {triangle!r}")
    vectors = stack_of(matrix)
    require_finite(name, vectors)
    values, info = eigen_symmetric(vectors, triangle.upper(), compute_v)
    refuse_reported(name, info, DIVERGED)
    made = tensor_of(values.view(matrix.shape[:-1]), matrix)
    if not compute_v:
        return made, matrix.new_empty([0])
    return made, matrices_of(vectors, matrix, tuple(matrix.shape[:-2]))


@op
def linalg_eigh(self: Tensor, triangle: str = "L") -> Pair:
    return ops.aten._linalg_eigh(self, triangle, True)  # type: ignore[no-any-return]


@op
def linalg_eigvalsh(self: Tensor, triangle: str = "L") -> Tensor:
    return ops.aten._linalg_eigh(self, triangle, False)[0]  # type: ignore[no-any-return]


@op
@known_by_shape
def _linalg_svd(
    matrix: Tensor,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> Triple:
    """U, S (*, k), descending, and Vᴴ with A = U diag(S) Vᴴ; k = min(m, n)."""

    name = "linalg.svd"
    require_inexact_matrix(name, "A", matrix)
    if driver is not None:
        raise RuntimeError(f"{name}: driver can be chosen for CUDA only, got {driver!r}")
    stack = stack_of(matrix)
    require_finite(name, stack)
    job = "N" if not compute_uv else "A" if full_matrices else "S"
    left, values, right, info = singular_values(stack, job)
    refuse_reported(name, info, DIVERGED)
    batch = tuple(matrix.shape[:-2])
    made = tensor_of(values.view((*batch, values.size(1))), matrix)
    if not compute_uv:
        return matrix.new_empty([0]), made, matrix.new_empty([0])
    return matrices_of(left, matrix, batch), made, matrices_of(right, matrix, batch)


@op
def linalg_svd(matrix: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Triple:
    return ops.aten._linalg_svd(matrix, full_matrices, True, driver=driver)  # type: ignore[no-any-return]


@op
def linalg_svdvals(matrix: Tensor, *, driver: str | None = None) -> Tensor:
    return ops.aten._linalg_svd(matrix, False, False, driver=driver)[1]  # type: ignore[no-any-return]


@op
def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> Triple:
    """U, S and V; zeros for U and V unless `compute_uv`."""
    left, values, right = ops.aten._linalg_svd(self, not some, compute_uv)
    if compute_uv:
        return left, values, adjoint(right)
    *batch, rows, columns = self.shape
    zeros = [self.new_zeros([*batch, side, side]) for side in (rows, columns)]
    return zeros[0], values, zeros[1]


def adjoint(matrix: Tensor) -> Tensor:
    """The conjugates of the transposed matrices."""
    transposed = matrix.transpose(-2, -1)
    return ops.aten.conj_physical(transposed) if matrix.is_complex() else transposed


def _spectrum(matrix: Tensor, hermitian: bool) -> Tensor:
    """Singular values, in no order; the sizes of eigenvalues where matrices are Hermitian."""
    if hermitian:
        return ops.aten.linalg_eigvalsh.default(matrix).abs()  # type: ignore[no-any-return]
    return ops.aten.linalg_svdvals.default(matrix)  # type: ignore[no-any-return]


def _threshold(values: Tensor, matrix: Tensor, atol: Tolerance, rtol: Tolerance) -> Tensor:
    """The larger of atol and rtol times the largest value, (*batch, 1).

    Without both, rtol is ε max(m, n); without rtol only, it is 0 for a positive atol.
    """
    largest = values.amax([-1], True) if values.numel() else values.sum([-1], keepdim=True)
    relative: Tensor | float = 0.0 if rtol is None else rtol
    if rtol is None:
        relative = max(matrix.shape[-2:]) * _EPSILON[values.dtype.name]
        if isinstance(atol, Tensor):
            relative = ops.aten.where(atol > 0, 0.0, relative)
        elif atol:
            relative = 0.0
    absolute: Tensor | float = 0.0 if atol is None else atol
    pair = [
        one.unsqueeze(-1) if isinstance(one, Tensor) else values.new_full([], one)
        for one in (absolute, relative)
    ]
    for one in pair:
        if one.is_complex():
            raise RuntimeError("tolerances must be real, got a complex tensor")
    return ops.aten.maximum(pair[0], pair[1] * largest)  # type: ignore[no-any-return]


@op("linalg_matrix_rank.atol_rtol_float", "linalg_matrix_rank.atol_rtol_tensor")
def linalg_matrix_rank(
    self: Tensor, *, atol: Tolerance = None, rtol: Tolerance = None, hermitian: bool = False
) -> Tensor:
    """How many singular values are above max(atol, rtol times the largest)."""
    return _rank(self, atol, rtol, hermitian)


def _rank(self: Tensor, atol: Tolerance, rtol: Tolerance, hermitian: bool) -> Tensor:
    require_inexact_matrix("linalg.matrix_rank", "input", self)
    if 0 in self.shape[-2:]:
        return self.new_zeros(self.shape[:-2], dtype=DTYPES["int64"])
    values = _spectrum(self, hermitian)
    return (values > _threshold(values, self, atol, rtol)).sum([-1])


@op("linalg_matrix_rank")
def linalg_matrix_rank_above(self: Tensor, tol: Tolerance, hermitian: bool = False) -> Tensor:
    return _rank(self, tol, 0.0, hermitian)


@op("linalg_pinv.atol_rtol_float", "linalg_pinv.atol_rtol_tensor")
def linalg_pinv(
    self: Tensor, *, atol: Tolerance = None, rtol: Tolerance = None, hermitian: bool = False
) -> Tensor:
    """The Moore-Penrose inverse (*, n, m), of the singular values above max(atol, rtol largest)."""
    require_inexact_matrix("linalg.pinv", "A", self)
    *batch, rows, columns = self.shape
    if self.numel() == 0:
        return self.new_zeros([*batch, columns, rows])
    if hermitian:
        values, left = ops.aten.linalg_eigh.default(self)
        right = left
        size = values.abs()
    else:
        left, values, transposed = ops.aten.linalg_svd.default(self, False)
        right, size = adjoint(transposed), values
    above = size > _threshold(size, self, atol, rtol)
    inverted = ops.aten.where(above, values.reciprocal(), 0.0).to(self.dtype)
    scaled: Tensor = right * inverted.unsqueeze(-2)
    return scaled.matmul(adjoint(left))


@op("linalg_pinv")
def linalg_pinv_above(self: Tensor, rcond: Tolerance, hermitian: bool = False) -> Tensor:
    pinv = ops.aten.linalg_pinv
    inverse = pinv.atol_rtol_tensor if isinstance(rcond, Tensor) else pinv.atol_rtol_float
    return inverse(self, rtol=rcond, hermitian=hermitian)  # type: ignore[no-any-return]


@op
def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    return ops.aten.linalg_pinv.default(self, rcond)  # type: ignore[no-any-return]


@op
def linalg_cond(self: Tensor, p: Number | str | None = None) -> Tensor:
    """The norm of A times that of its inverse; infinite for singular matrices.

    `p` is 2 (the default), -2, 1, -1, inf, -inf, "fro" or "nuc"; for 2 and -2 matrices need not be
    square.
    """
    name = "linalg.cond"
    require_inexact_matrix(name, "A", self)
    if p in (None, 2, -2):
        values: Tensor = ops.aten.linalg_svdvals.default(self)
        if values.shape[-1] == 0:
            return values.new_zeros(values.shape[:-1])
        ends = values.select(-1, 0), values.select(-1, -1)
        return ends[1] / ends[0] if p == -2 else ends[0] / ends[1]
    require_square(name, "A", self)
    if self.numel() == 0:
        return self.new_zeros(self.shape[:-2], dtype=self.dtype.to_real())
    norm = ops.aten.linalg_matrix_norm
    inverse, info = ops.aten.linalg_inv_ex(self)
    condition = norm(self, p) * norm(inverse, p)
    return ops.aten.where(info == 0, condition, float("inf"))  # type: ignore[no-any-return]


@op
@known_by_shape
def linalg_lstsq(
    self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Quadruple:
    """The least X of those that minimize |A X - b|: solution, residuals, rank, singular values.

    b has the rank of A, or one less: a batch of vectors. Residuals are there for A of full
    rank with more rows than columns, not for "gelsy"; what is not computed is empty.
    """
    name = "linalg.lstsq"
    require_inexact_matrix(name, "A", self)
    require_same(name, matrix=self, b=b)
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(f"{name}: {driver!r} is not one of {', '.join(_DRIVERS)}")
    *own, rows, columns = self.shape
    is_vector = self.dim() - 1 == b.dim()
    right = b.unsqueeze(-1) if is_vector else b
    if right.dim() != self.dim() or right.shape[-2] != rows:
        raise RuntimeError(
            f"{name}: A of shape {list(self.shape)} and b of {list(b.shape)} do not go together"
        )
    batch = broadcast_shapes(tuple(own), right.shape[:-2])
    a, given = stack_of(self, batch), stack_of(right, batch)
    require_finite(name, a)
    require_finite(name, given)
    made = zeros((given.size(0), given.size(1), max(rows, columns)), given.dtype)
    made.narrow(2, 0, rows).copy_(given)
    bound = max(rows, columns) * _EPSILON[a.dtype.to_real().name] if rcond is None else rcond
    ranks, values, info = least_squares(a, made, driver, bound)
    refuse_reported(name, info, DIVERGED)
    solution = matrices_of(made, right, batch).narrow(-2, 0, columns)
    residuals = self.new_empty([0]).abs()
    rank, singular = (one.new_empty([0]) for one in (ranks, values))
    if (
        rows > columns
        and driver != "gelsy"
        and (driver == "gels" or bool((ranks == columns).all()))
    ):
        left_over = made.narrow(2, columns, rows - columns).abs().square().sum(-1)
        residuals = tensor_of(left_over.view((*batch, left_over.size(1))), self)
    if driver != "gels":
        rank = ranks.view(batch)
    if driver in ("gelsd", "gelss"):
        singular = values.view((*batch, values.size(1)))
    return (
        solution.squeeze(-1) if is_vector else solution,
        residuals,
        tensor_of(rank, self),
        tensor_of(singular, self),
    )
