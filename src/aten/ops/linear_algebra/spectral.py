"""Eigenvalues and singular values of matrices, and what follows from them."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.linear_algebra.matrices import Pair, Triple, adjoint, by_columns
from aten.ops.linear_algebra.matrix_checks import require_inexact_matrix, require_square
from aten.prims import Number
from aten.registry import ops

Tolerance = Tensor | float | None

# The distance from 1 to the next number.
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


@op
def linalg_eig(self: Tensor) -> Pair:
    """Eigenvalues (*, n) and, as columns, eigenvectors (*, n, n), complex."""
    require_square("linalg.eig", "A", self)
    values, vectors = ops.prims.eig(self)
    return values, by_columns(vectors)


@op
def linalg_eigvals(self: Tensor) -> Tensor:
    return ops.aten._linalg_eigvals.default(self)


@op
def _linalg_eigvals(self: Tensor) -> Tensor:
    """Eigenvalues (*, n), complex."""
    require_square("linalg.eigvals", "A", self)
    return ops.prims.eig(self)[0]  # type: ignore[no-any-return]


def checked_triangle(matrix: Tensor, triangle: str) -> str:
    """The letter in upper case. Raises RuntimeError for others, and for what is not square."""
    require_square("linalg.eigh", "A", matrix)
    if triangle.upper() not in ("L", "U"):
        raise RuntimeError(f"linalg.eigh: expected UPLO to be 'L' or 'U', got {triangle!r}")
    return triangle.upper()


@op
def _linalg_eigh(matrix: Tensor, triangle: str = "L", compute_v: bool = True) -> Pair:
    """Eigenvalues of Hermitian matrices, ascending and real, and eigenvectors as columns."""
    is_upper = checked_triangle(matrix, triangle) == "U"
    values, vectors = ops.prims.eigh(adjoint(matrix) if is_upper else matrix)
    return values, by_columns(vectors) if compute_v else matrix.new_empty([0])


@op
def linalg_eigh(self: Tensor, triangle: str = "L") -> Pair:
    return ops.aten._linalg_eigh(self, triangle, True)[:2]


@op
def linalg_eigvalsh(self: Tensor, triangle: str = "L") -> Tensor:
    return ops.aten._linalg_eigh(self, triangle, False)[0]


def check_svd(matrix: Tensor, driver: str | None) -> None:
    """Raises RuntimeError for what are no matrices, and for any driver."""
    require_inexact_matrix("linalg.svd", "A", matrix)
    if driver is not None:
        raise RuntimeError(f"linalg.svd: driver can be chosen for CUDA only, got {driver!r}")


@op
def _linalg_svd(
    matrix: Tensor,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> Triple:
    """U, S (*, k), descending, and Vᴴ with A = U diag(S) Vᴴ; k = min(m, n)."""
    check_svd(matrix, driver)
    left, values, right = ops.prims.svd(matrix, full_matrices=full_matrices and compute_uv)
    if not compute_uv:
        return matrix.new_empty([0]), values, matrix.new_empty([0])
    return by_columns(left), values, by_columns(right)


@op
def linalg_svd(matrix: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Triple:
    return ops.aten._linalg_svd(matrix, full_matrices, True, driver=driver)[:3]


@op
def linalg_svdvals(matrix: Tensor, *, driver: str | None = None) -> Tensor:
    return ops.aten._linalg_svd(matrix, False, False, driver=driver)[1]


@op
def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> Triple:
    """U, S and V; zeros for U and V unless `compute_uv`."""
    left, values, right = ops.aten._linalg_svd(self, not some, compute_uv)
    if compute_uv:
        return left, values, adjoint(right)
    *batch, rows, columns = self.shape
    zeros = [self.new_zeros([*batch, side, side]) for side in (rows, columns)]
    return zeros[0], values, zeros[1]


def _spectrum(matrix: Tensor, hermitian: bool) -> Tensor:
    """Singular values, in no order; the sizes of eigenvalues where matrices are Hermitian."""
    if hermitian:
        return ops.aten.linalg_eigvalsh.default(matrix).abs()
    return ops.aten.linalg_svdvals.default(matrix)


def _threshold(values: Tensor, matrix: Tensor, atol: Tolerance, rtol: Tolerance) -> Tensor:
    """The larger of atol and rtol times the largest value, (*batch, 1).

    Without both, rtol is ε max(m, n); without rtol only, it is 0 for a positive atol.
    """
    largest = values.amax([-1], True) if values.numel() else values.sum([-1], keepdim=True)
    relative: Tensor | float = 0.0 if rtol is None else rtol
    if rtol is None:
        relative = max(matrix.shape[-2:]) * EPSILON[values.dtype.name]
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
    return ops.aten.maximum(pair[0], pair[1] * largest)


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


@op("linalg_pinv.atol_rtol_float")
def linalg_pinv_by_numbers(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    require_inexact_matrix("linalg.pinv", "A", self)
    bounds = [
        None if one is None else ops.aten.full((), one, dtype=DTYPES["float64"], device=self.device)
        for one in (atol, rtol)
    ]
    return ops.aten.linalg_pinv.atol_rtol_tensor(
        self, atol=bounds[0], rtol=bounds[1], hermitian=hermitian
    )


@op("linalg_pinv.atol_rtol_tensor")
def linalg_pinv(
    self: Tensor, *, atol: Tolerance = None, rtol: Tolerance = None, hermitian: bool = False
) -> Tensor:
    """The Moore-Penrose inverse (*, n, m), of the singular values above max(atol, rtol largest)."""
    require_inexact_matrix("linalg.pinv", "A", self)
    if self.numel() == 0:
        return adjoint(self).clone()
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
    return inverse(self, rtol=rcond, hermitian=hermitian)


@op
def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    return ops.aten.linalg_pinv.default(self, rcond)


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
    return ops.aten.where(info == 0, condition, float("inf"))
