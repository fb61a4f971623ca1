"""The standard's extension for linear algebra: of matrices, the last two axes of stacks of them.

Matrices of floats, of both precisions, real or complex. Raised everywhere: RuntimeError for fewer
than two dimensions, matrices that are not square where they must be and dtypes that are no floats;
LinAlgError for matrices that cannot be inverted or factored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from aten import registry
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.array_api.array import Array, operands, plain, wrap
from aten.array_api.linear_algebra import (
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from aten.array_api.manipulation import axes_of, broadcast_shapes
from aten.array_api.statistics import sum as _sum

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
_ops = registry.ops.aten


class Eigen(NamedTuple):
    """Eigenvalues (…, M) and eigenvectors (…, M, M), a column for each."""

    eigenvalues: Array
    eigenvectors: Array


class QR(NamedTuple):
    """Columns at right angles, and a triangle above the diagonal, whose product is the matrix."""

    Q: Array
    R: Array


class LogDeterminant(NamedTuple):
    """The sign of a determinant, a complex one of size 1, and the logarithm of its size."""

    sign: Array
    logabsdet: Array


class SVD(NamedTuple):
    """Left singular vectors, singular values from the greatest, and right singular vectors."""

    U: Array
    S: Array
    Vh: Array


def _wrapped(kind: Any, values: Any) -> Any:
    return kind(*map(wrap, values))


def cholesky(x: Tensor, /, *, upper: bool = False) -> Array:
    """The triangle L with L Lᴴ = x, or with `upper` U with Uᴴ U = x, of a positive definite x."""
    return wrap(_ops.linalg_cholesky(plain(x), upper=upper).resolve_conj())


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three elements along an axis; the other axes broadcast.

    Raises ValueError for other than three elements.
    """
    left, right = operands("cross", plain(x1), plain(x2))
    given = []
    for x in (left, right):
        (place,) = axes_of(axis, x.dim())
        if x.shape[place] != 3:
            raise ValueError(f"cross: axis {axis} has {x.shape[place]} elements, expected 3")
        given.append(_ops.movedim(x, place, -1))
    shape = broadcast_shapes(*(tuple(x.shape) for x in given))
    a, b = (_ops.unbind(_ops.expand(x, shape), -1) for x in given)
    parts = [
        _ops.sub(_ops.mul(a[i], b[j]), _ops.mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    return wrap(_ops.movedim(_ops.stack(parts, -1), -1, axis))


def det(x: Tensor, /) -> Array:
    """The determinants, of shape (…)."""
    return wrap(_ops.linalg_det(plain(x)))


def diagonal(x: Tensor, /, *, offset: int = 0) -> Array:
    """A view of the diagonals, `offset` places to the right of the main one."""
    return wrap(_ops.diagonal(plain(x), offset, -2, -1))


def eig(x: Tensor, /) -> Eigen:
    """Complex eigenvalues and eigenvectors, in no order."""
    return _wrapped(Eigen, _ops.linalg_eig(plain(x)))  # type: ignore[no-any-return]


def eigvals(x: Tensor, /) -> Array:
    """Complex eigenvalues (…, M), in no order."""
    return wrap(_ops.linalg_eigvals(plain(x)))


def eigh(x: Tensor, /) -> Eigen:
    """Eigenvalues, which are real, from the least, and eigenvectors of Hermitian matrices.

    Only the lower triangle is read.
    """
    return _wrapped(Eigen, _ops.linalg_eigh(plain(x)))  # type: ignore[no-any-return]


def eigvalsh(x: Tensor, /) -> Array:
    """Eigenvalues (…, M) of Hermitian matrices, which are real, from the least."""
    return wrap(_ops.linalg_eigvalsh(plain(x)))


def inv(x: Tensor, /) -> Array:
    """The inverse matrices."""
    return wrap(_ops.linalg_inv(plain(x)))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Array:
    """The norms of matrices, real: fro, nuc, 1, -1, 2, -2, inf or -inf.

    Raises RuntimeError for others.
    """
    given = plain(x)
    return wrap(_ops.linalg_matrix_norm(given, "fro" if ord is None else ord, keepdim=keepdims))


def matrix_power(x: Tensor, n: int, /) -> Array:
    """The product of n times the matrix; of its inverse for negative n, one for none."""
    return wrap(_ops.linalg_matrix_power(plain(x), n))


def matrix_rank(x: Tensor, /, *, rtol: Tensor | float | None = None) -> Array:
    """How many singular values are greater than `rtol` times the greatest one, as int64.

    Without `rtol` it is the greater size times the dtype's eps.
    """
    given = plain(x)
    if isinstance(rtol, Tensor):
        values = _ops.linalg_svdvals(given)
        greatest = _ops.amax(values, [-1], True)
        limits = _ops.mul(greatest, _ops.unsqueeze(plain(rtol), -1))
        return wrap(_ops.sum(_ops.gt(values, limits), [-1]))
    return wrap(_ops.linalg_matrix_rank(given, rtol=rtol))


def outer(x1: Tensor, x2: Tensor, /) -> Array:
    """The products of each element of one vector and each of the other, (n, m).

    Raises ValueError for other than vectors.
    """
    left, right = operands("outer", plain(x1), plain(x2))
    if left.dim() != 1 or right.dim() != 1:
        raise ValueError(f"outer: expected vectors, not {left.dim()} and {right.dim()} dimensions")
    return wrap(_ops.mul(_ops.unsqueeze(left, 1), right))


def pinv(x: Tensor, /, *, rtol: Tensor | float | None = None) -> Array:
    """The pseudo-inverse matrices; singular values below `rtol` times the greatest are zero."""
    if isinstance(rtol, Tensor):
        rtol = plain(rtol)
    return wrap(_ops.linalg_pinv(plain(x), rtol=rtol))


def qr(x: Tensor, /, *, mode: str = "reduced") -> QR:
    """Q and R, with as many columns of Q as needed, or with `mode` "complete" all of them.

    Raises ValueError for other modes.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode must be 'reduced' or 'complete', not {mode!r}")
    return _wrapped(QR, _ops.linalg_qr(plain(x), mode))  # type: ignore[no-any-return]


def slogdet(x: Tensor, /) -> LogDeterminant:
    """The determinants as a sign and the logarithm of their size, which does not overflow."""
    return _wrapped(LogDeterminant, _ops.linalg_slogdet(plain(x)))  # type: ignore[no-any-return]


def solve(x1: Tensor, x2: Tensor, /) -> Array:
    """The solutions y of x1 y = x2; `x2` is a vector if it has one dimension, else matrices."""
    left, right = operands("solve", plain(x1), plain(x2))
    if right.dim() == 1:
        return wrap(_ops.squeeze(_ops.linalg_solve(left, _ops.unsqueeze(right, -1)), [-1]))
    # With as many dimensions as matrices have, these are never taken for a stack of vectors.
    missing = left.dim() - right.dim()
    right = _ops.reshape(right, [1] * max(missing, 0) + [*right.shape])
    return wrap(_ops.linalg_solve(left, right))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVD:
    """U, S and Vh with U diag(S) Vh = x; all columns of U and rows of Vh, or only those needed."""
    return _wrapped(SVD, _ops.linalg_svd(plain(x), full_matrices))  # type: ignore[no-any-return]


def svdvals(x: Tensor, /) -> Array:
    """The singular values, from the greatest."""
    return wrap(_ops.linalg_svdvals(plain(x)))


def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Array:
    """The sums of the diagonals; dtypes as in `sum`."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """The norms, real, along axes or of all elements: of any order, 0 counts what is not zero."""
    given = plain(x)
    if axis == ():
        return wrap(_ops.linalg_vector_norm(_ops.unsqueeze(given, -1), ord, [-1]))
    axes = None if axis is None else axes_of(axis, given.dim())
    return wrap(_ops.linalg_vector_norm(given, ord, axes, keepdims))
