"""Structural primitives: factors of matrices, and what iterations find of them.

Operands (*, rows, columns) are stacks of matrices of float32, float64, complex64 or complex128.
Numbers that LAPACK reports of each matrix, 0 for none, are int32, as are pivots, counted from 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.prims.structural import Described, StructuralPrim
from aten.registry import ops

_INT32, _INT64 = DTYPES["int32"], DTYPES["int64"]


class LinAlgError(RuntimeError):
    """A matrix does not allow what is asked for: it is singular, or a method does not converge."""


def _numpy() -> Any:
    import numpy

    return numpy


def _described(tensor: Tensor) -> Described:
    return tensor.dtype, tuple(tensor.shape)


def _stacked(a: Any) -> Any:
    """A copy of matrices (*, rows, columns) as (count, rows, columns)."""
    return a.reshape((math.prod(a.shape[:-2]), *a.shape[-2:])).copy()


def _size(a: Any) -> Any:
    """What LAPACK compares elements by."""
    return abs(a.real) + abs(a.imag) if a.dtype.kind == "c" else abs(a)


def _quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Infinities and NaNs are results here, of singular matrices, and no reason to warn."""

    def call(*arguments: Any, **named: Any) -> Any:
        with _numpy().errstate(all="ignore"):
            return function(*arguments, **named)

    return call


def _found(name: str, function: Callable[[], Any]) -> Any:
    """What an iteration of NumPy's gives. Raises LinAlgError where it does not converge."""
    try:
        return function()
    except _numpy().linalg.LinAlgError as error:
        raise LinAlgError(f"prims.{name}: {error}") from None


def _lu_result(a: Tensor) -> list[Described]:
    *batch, rows, columns = a.shape
    return [_described(a), (_INT32, (*batch, min(rows, columns))), (_INT32, tuple(batch))]


def _lu_reference(a: Any) -> Any:
    numpy = _numpy()
    made = _stacked(a)
    count, rows, columns = made.shape
    pivots = numpy.zeros((count, min(rows, columns)), numpy.int32)
    info = numpy.zeros(count, numpy.int32)
    each = numpy.arange(count)
    for step in range(min(rows, columns)):
        chosen = step + _size(made[:, step:, step]).argmax(1)
        pivots[:, step] = chosen + 1
        above = made[:, step].copy()
        made[:, step] = made[each, chosen]
        made[each, chosen] = above
        pivot = made[:, step, step]
        info[(pivot == 0) & (info == 0)] = step + 1
        below = made[:, step + 1 :, step] / numpy.where(pivot == 0, 1, pivot)[:, None]
        made[:, step + 1 :, step] = below
        made[:, step + 1 :, step + 1 :] -= below[:, :, None] * made[:, step, None, step + 1 :]
    batch = a.shape[:-2]
    return made.reshape(a.shape), pivots.reshape((*batch, *pivots.shape[1:])), info.reshape(batch)


lu = StructuralPrim(
    "lu(Tensor a) -> (Tensor, Tensor, Tensor)",
    result=_lu_result,
    reference=_quietly(_lu_reference),
    doc="L below the diagonal, where it has ones, and U, of a = P L U; for each step the row that "
    "changed places with it; and the first zero on U's diagonal, counted from 1.",
)


def _order_of_pivots_reference(pivots: Any, rows: int) -> Any:
    numpy = _numpy()
    count = math.prod(pivots.shape[:-1])
    order = numpy.tile(numpy.arange(rows), (count, 1))
    for step, others in enumerate(pivots.reshape((count, -1)).T if count else ()):
        for row, other in zip(order, others - 1, strict=True):
            row[step], row[other] = row[other], row[step]
    return order.reshape((*pivots.shape[:-1], rows))


def _order_of_pivots(pivots: Tensor, rows: int) -> Tensor:
    """One exchange after the other, in all matrices at once."""
    where = ops.aten.where
    numbers = ops.prims.iota(rows, start=0, step=1, device=pivots.device)
    order = numbers.expand((*pivots.shape[:-1], rows))
    for step in range(pivots.shape[-1]):
        other = pivots.narrow(-1, step, 1).to(_INT64) - 1
        places = where(numbers == step, other, where(numbers == other, step, numbers))
        order = ops.prims.gather(order, places, order.dim() - 1)
    return order.contiguous()  # type: ignore[no-any-return]


order_of_pivots = StructuralPrim(
    "order_of_pivots(Tensor pivots, SymInt rows) -> Tensor",
    result=lambda pivots, rows: (_INT64, (*pivots.shape[:-1], rows)),
    reference=_order_of_pivots_reference,
    expansion=_order_of_pivots,
    doc="Which row, counted from 0, comes to stand in each place when rows change places as the "
    "pivots (*, k) of `lu` say.",
)


def _cholesky_reference(a: Any) -> Any:
    numpy = _numpy()
    made = _stacked(a)
    count, rows, _ = made.shape
    info = numpy.zeros(count, numpy.int32)
    for step in range(rows):
        before = made[:, step, :step]
        pivot = made[:, step, step].real - (abs(before) ** 2).sum(1)
        positive = pivot > 0
        info[~positive & (info == 0)] = step + 1
        root = numpy.sqrt(numpy.where(positive, pivot, 1))
        made[:, step, step] = root
        folded = (made[:, step + 1 :, :step] @ before.conj()[:, :, None])[:, :, 0]
        made[:, step + 1 :, step] = (made[:, step + 1 :, step] - folded) / root[:, None]
    return numpy.tril(made).reshape(a.shape), info.reshape(a.shape[:-2])


cholesky = StructuralPrim(
    "cholesky(Tensor a) -> (Tensor, Tensor)",
    result=lambda a: [_described(a), (_INT32, tuple(a.shape[:-2]))],
    reference=_quietly(_cholesky_reference),
    doc="L of a = L Lᴴ, of which the lower triangle is looked at; and the order of the first minor "
    "that is not positive, of whose matrix the factor is none.",
)


def _geqrf_result(a: Tensor) -> list[Described]:
    *batch, rows, columns = a.shape
    return [_described(a), (a.dtype, (*batch, min(rows, columns)))]


def _geqrf_reference(a: Any) -> Any:
    numpy = _numpy()
    if a.size == 0:
        return a.copy(), numpy.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    factors, tau = numpy.linalg.qr(a, mode="raw")
    return factors.swapaxes(-2, -1), tau


geqrf = StructuralPrim(
    "geqrf(Tensor a) -> (Tensor, Tensor)",
    result=_geqrf_result,
    reference=_geqrf_reference,
    doc="R of a = Q R, below it the vectors of the reflections whose product Q is, each without "
    "the one it begins with; and the reflections' factors.",
)


def _householder_product_reference(a: Any, tau: Any) -> Any:
    numpy = _numpy()
    rows, columns = a.shape[-2:]
    made = numpy.zeros(a.shape, a.dtype)
    made[...] = numpy.eye(rows, columns)
    for step in reversed(range(tau.shape[-1])):
        vector = a[..., step, None].copy()
        vector[..., :step, :] = 0
        vector[..., step, :] = 1
        seen = vector.conj().swapaxes(-2, -1) @ made
        made -= tau[..., step, None, None] * (vector @ seen)
    return made


householder_product = StructuralPrim(
    "householder_product(Tensor a, Tensor tau) -> Tensor",
    result=lambda a, tau: _described(a),
    reference=_householder_product_reference,
    doc="The first columns, as many as `a` has, of the product of the reflections 1 - tau v vᴴ, "
    "whose vectors are the first columns of `a`, as `geqrf` gives them.",
)


def _solve_triangular_result(a: Tensor, b: Tensor, upper: bool, unitriangular: bool) -> Described:
    if a.dtype is not b.dtype or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"prims.solve_triangular: {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)} do not "
            "go together"
        )
    return _described(b)


def _solve_triangular_reference(a: Any, b: Any, upper: bool, unitriangular: bool) -> Any:
    made = b.copy()
    length = a.shape[-1]
    for step in reversed(range(length)) if upper else range(length):
        if not unitriangular:
            made[..., step, :] /= a[..., step, step, None]
        rest = slice(0, step) if upper else slice(step + 1, None)
        made[..., rest, :] -= a[..., rest, step, None] * made[..., step, None, :]
    return made


solve_triangular = StructuralPrim(
    "solve_triangular(Tensor a, Tensor b, *, bool upper, bool unitriangular) -> Tensor",
    result=_solve_triangular_result,
    reference=_quietly(_solve_triangular_reference),
    doc="x with a x = b, for as many matrices a as b. The other triangle of `a` is not looked at, "
    "nor is the diagonal where it is taken to be ones.",
)


def _eigh_reference(a: Any) -> Any:
    if not _numpy().isfinite(a).all():
        raise LinAlgError("prims.eigh: the matrices have elements that are not finite")
    return _found("eigh", lambda: _numpy().linalg.eigh(a, "L"))


eigh = StructuralPrim(
    "eigh(Tensor a) -> (Tensor, Tensor)",
    result=lambda a: [(a.dtype.to_real(), tuple(a.shape[:-1])), _described(a)],
    reference=_eigh_reference,
    doc="Eigenvalues of Hermitian matrices, of which the lower triangle is looked at, ascending; "
    "and as columns eigenvectors of length 1. Raises LinAlgError where they are not found.",
)
eig = StructuralPrim(
    "eig(Tensor a) -> (Tensor, Tensor)",
    result=lambda a: [
        (a.dtype.to_complex(), tuple(a.shape[:-1])),
        (a.dtype.to_complex(), tuple(a.shape)),
    ],
    reference=lambda a: _found("eig", lambda: _numpy().linalg.eig(a)),
    doc="Eigenvalues and as columns eigenvectors of length 1, complex. Raises LinAlgError where "
    "they are not found.",
)


def _svd_result(A: Tensor, full_matrices: bool) -> list[Described]:  # noqa: N803
    *batch, rows, columns = A.shape
    least = min(rows, columns)
    sides = (rows, columns) if full_matrices else (least, least)
    return [
        (A.dtype, (*batch, rows, sides[0])),
        (A.dtype.to_real(), (*batch, least)),
        (A.dtype, (*batch, sides[1], columns)),
    ]


def _svd_reference(a: Any, full_matrices: bool) -> Any:
    if not _numpy().isfinite(a).all():
        # LAPACK's iteration may never end on these.
        raise LinAlgError("prims.svd: the matrices have elements that are not finite")
    return _found("svd", lambda: _numpy().linalg.svd(a, full_matrices=full_matrices))


svd = StructuralPrim(
    "svd(Tensor A, *, bool full_matrices) -> (Tensor U, Tensor S, Tensor Vh)",
    result=_svd_result,
    reference=_svd_reference,
    doc="A = U diag(S) Vh, S descending; U and Vh are square if `full_matrices`, else of as many "
    "columns and rows as there are values. Raises LinAlgError where they are not found.",
)

# Bunch and Kaufman, Some Stable Methods for Calculating Inertia and Solving Symmetric Linear
# Systems (1977): how large a diagonal element is, by those below it, to be a block of its own.
_LARGE_ENOUGH = (1 + math.sqrt(17)) / 8


def _ldl_result(a: Tensor, hermitian: bool) -> list[Described]:
    return [_described(a), (_INT32, tuple(a.shape[:-1])), (_INT32, tuple(a.shape[:-2]))]


def _ldl_reference(a: Any, hermitian: bool) -> Any:
    numpy = _numpy()
    made = _stacked(a)
    pivots = numpy.zeros(made.shape[:-1], numpy.int32)
    info = numpy.zeros(len(made), numpy.int32)
    for place, matrix in enumerate(made):
        info[place] = _bunch_kaufman(matrix, pivots[place], hermitian and a.dtype.kind == "c")
    batch = a.shape[:-2]
    lower = numpy.tril(made).reshape(a.shape)
    return lower, pivots.reshape((*batch, *pivots.shape[1:])), info.reshape(batch)


def _bunch_kaufman(a: Any, pivots: Any, hermitian: bool) -> int:
    """The lower triangle of one matrix becomes its factors."""
    reported = step = 0
    while step < len(a):
        if hermitian:
            a[step, step] = a[step, step].real
        width, row = _block(a, step)
        if not width:
            reported = reported or step + 1
            width = 1
        else:
            _exchange(a, step, step + width - 1, row, hermitian)
            _eliminate(a, step, width, hermitian)
        pivots[step : step + width] = row + 1 if width == 1 else -(row + 1)
        step += width
    return reported


def _block(a: Any, step: int) -> tuple[int, int]:
    """The width of the next block of D, 0 where there is nothing to eliminate; and the row that
    comes to its end."""
    diagonal, below = _size(a[step, step]), _size(a[step + 1 :, step])
    largest = below.max(initial=0)
    if not max(diagonal, largest) > 0:
        return 0, step
    if diagonal >= _LARGE_ENOUGH * largest:
        return 1, step
    row = step + 1 + int(below.argmax())
    beside = max(_size(a[row, step:row]).max(), _size(a[row + 1 :, row]).max(initial=0))
    if diagonal >= _LARGE_ENOUGH * largest * (largest / beside):
        return 1, step
    return (1, row) if _size(a[row, row]) >= _LARGE_ENOUGH * beside else (2, row)


def _exchange(a: Any, step: int, first: int, second: int, hermitian: bool) -> None:
    """Rows and columns `first` and `second` of what is left change places."""
    if first == second:
        return
    turned = _numpy().conj if hermitian else (lambda values: values)
    behind = slice(second + 1, None)
    a[behind, first], a[behind, second] = a[behind, second].copy(), a[behind, first].copy()
    between = slice(first + 1, second)
    column, row = a[between, first].copy(), a[second, between].copy()
    a[between, first], a[second, between] = turned(row), turned(column)
    a[second, first] = turned(a[second, first])
    a[first, first], a[second, second] = a[second, second], a[first, first]
    before = slice(step, first)
    a[first, before], a[second, before] = a[second, before].copy(), a[first, before].copy()


def _eliminate(a: Any, step: int, width: int, hermitian: bool) -> None:
    """The columns of the block become those of L."""
    numpy = _numpy()
    behind, block = slice(step + width, None), slice(step, step + width)
    columns, turned = a[behind, block].copy(), numpy.conj if hermitian else numpy.asarray
    if hermitian:
        for place in range(step, step + width):
            a[place, place] = a[place, place].real
    lower = numpy.tril(a[block, block])
    diagonal = lower + turned(numpy.tril(lower, -1).T)
    # L D = columns, and what D leaves of the rest.
    a[behind, block] = numpy.linalg.solve(diagonal.T, columns.T).T
    a[behind, behind] -= a[behind, block] @ turned(columns.T)


ldl = StructuralPrim(
    "ldl(Tensor a, *, bool hermitian) -> (Tensor, Tensor, Tensor)",
    result=_ldl_result,
    reference=_quietly(_ldl_reference),
    doc="L and D in one lower triangle, of a = L D Lᵀ, or L D Lᴴ; D has blocks of one or two rows. "
    "A pivot is the row that changed places with its own; two of a block are negative, and the row "
    "that changed places with the second. And the first block of zero, counted from 1.",
)
