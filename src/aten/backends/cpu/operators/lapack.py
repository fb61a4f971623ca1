"""LAPACK over batches: one driver, and the routines by what they do.

Matrices go in and out as stacks: row-major tensors (count, columns, rows) on the CPU, each matrix
column after column, as LAPACK wants them. The library itself is handed in from outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.matrix.lapack import Workspace, plain_stack, run_routine, zeros
from aten.registry import ops

if TYPE_CHECKING:
    import ctypes

Argument = Tensor | str | int | Workspace

_CPU = device("cpu")
_INT64 = DTYPES["int64"]
_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
# Where the routines for complex matrices are called otherwise.
_COMPLEX_NAMES = {
    "syevd": "heevd",
    "orgqr": "ungqr",
    "ormqr": "unmqr",
}
WORK, REAL_WORK, INTEGER_WORK = (Workspace(kind) for kind in ("element", "real", "integer"))
REAL_MEMORY, INTEGER_MEMORY = (Workspace(kind, told=False) for kind in ("real", "integer"))
_opener: Callable[[], ctypes.CDLL] | None = None


def set_lapack_opener(opener: Callable[[], ctypes.CDLL]) -> None:
    """Has `opener()` called when a routine first needs the library, whose integers have 64 bits."""
    global _opener
    _opener = opener


def stack_of(tensor: Tensor, batch: tuple[int, ...] | None = None) -> Tensor:
    """A fresh stack of matrices (*, rows, columns), repeated over `batch`."""
    given = tensor if batch is None else tensor.expand((*batch, *tensor.shape[-2:]))
    made = plain_stack(given)
    if made is not None:
        return made
    turned = given.resolve_conj().resolve_neg().transpose(-2, -1)
    *own, columns, rows = turned.shape
    made = zeros((math.prod(own), columns, rows), turned.dtype)
    made.view(turned.shape).copy_(turned)
    return made


def matrices_of(stack: Tensor, batch: Sequence[int]) -> Tensor:
    """The tensor (*batch, rows, columns) of a stack, column after column in memory."""
    _, columns, rows = stack.shape
    return stack.reshape((*batch, columns, rows)).transpose(-2, -1)


def call(routine: str, *arguments: Argument, reports: bool = True) -> Tensor:
    """Run a routine on each matrix of a batch; returns what it reports of each (`info`).

    Stacks, of matrices, vectors or numbers, have the batch in front; a tensor whose stride there
    is zero serves all of it. Raises RuntimeError for arguments that the routine refuses.
    """
    first = next(argument for argument in arguments if isinstance(argument, Tensor))
    count = first.size(0)
    name = _COMPLEX_NAMES.get(routine, routine) if first.is_complex() else routine
    info = zeros((count,), _INT64)
    if not count:
        return info
    address = address_of(_PREFIXES[first.dtype.name] + name)
    least = run_routine(address, arguments, info, reports)
    if least < 0:
        raise RuntimeError(f"LAPACK's {name} refuses its argument {-least}")
    return info


@cache
def address_of(routine: str) -> int:
    """Where a routine, with its type's letter, lies in the library."""
    import ctypes

    if _opener is None:
        raise RuntimeError("linear algebra needs a LAPACK library, and none was named")
    address = ctypes.cast(getattr(_opener(), f"scipy_{routine}_64_"), ctypes.c_void_p).value
    assert address is not None
    return address


def shared(length: int, element: dtype, count: int) -> Tensor:
    """Memory to work in, the same for all matrices of a batch."""
    return zeros((length,), element).expand((count, length))


def _leading(rows: int) -> int:
    return max(1, rows)


def factor_lu(a: Tensor) -> tuple[Tensor, Tensor]:
    """a = P L U in place; returns pivots (count, k), from 1, and which pivots are zero."""
    count, columns, rows = a.shape
    pivots = zeros((count, min(rows, columns)), _INT64)
    return pivots, call("getrf", rows, columns, a, _leading(rows), pivots)


def solve_lu(lu: Tensor, pivots: Tensor, b: Tensor, form: str = "N") -> None:
    """op(A) X = b in place, given A's factors; op by `form`: as is, T transposed, C adjoint."""
    _, columns, rows = b.shape
    if b.numel():
        call("getrs", form, rows, columns, lu, _leading(rows), pivots, b, _leading(rows))


def factor_cholesky(a: Tensor, triangle: str) -> Tensor:
    """a = L Lᴴ or Uᴴ U in place; returns the order of the first minor that is not positive."""
    rows = a.shape[2]
    return call("potrf", triangle, rows, a, _leading(rows))


def solve_cholesky(factor: Tensor, b: Tensor, triangle: str) -> None:
    _, columns, rows = b.shape
    if b.numel():
        call("potrs", triangle, rows, columns, factor, _leading(rows), b, _leading(rows))


def solve_triangular(
    a: Tensor, b: Tensor, *, side: str, triangle: str, form: str, diagonal: str
) -> None:
    """op(A) X = b (side "L") or X op(A) = b ("R") in place; `diagonal` "U" takes it to be ones."""
    count, columns, rows = b.shape
    one = ops.aten.ones((1,), dtype=a.dtype, device=_CPU).expand((count, 1))
    ends = (_leading(a.shape[2]), b, _leading(rows))
    if b.numel():
        call("trsm", side, triangle, form, diagonal, rows, columns, one, a, *ends, reports=False)


def factor_qr(a: Tensor) -> Tensor:
    """a = Q R in place: R, and below it the Householder vectors; returns their factors."""
    count, columns, rows = a.shape
    tau = zeros((count, min(rows, columns)), a.dtype)
    if a.numel():
        call("geqrf", rows, columns, a, _leading(rows), tau, WORK)
    return tau


def form_q(a: Tensor, tau: Tensor) -> None:
    """The columns of Q in place of the Householder vectors."""
    _, columns, rows = a.shape
    if a.numel():
        call("orgqr", rows, columns, tau.shape[1], a, _leading(rows), tau, WORK)


def multiply_q(a: Tensor, tau: Tensor, c: Tensor, *, side: str, form: str) -> None:
    """op(Q) c or c op(Q) in place of c, with Q as Householder vectors."""
    _, columns, rows = c.shape
    ends = (_leading(a.shape[2]), tau, c, _leading(rows), WORK)
    if c.numel():
        call("ormqr", side, form, rows, columns, tau.shape[1], a, *ends)


def eigen_symmetric(a: Tensor, triangle: str, vectors: bool) -> tuple[Tensor, Tensor]:
    """Eigenvalues, ascending; vectors in place of a. Returns them and what did not converge."""
    count, rows, _ = a.shape
    values = zeros((count, rows), a.dtype.to_real())
    works = (WORK, REAL_WORK, INTEGER_WORK) if a.is_complex() else (WORK, INTEGER_WORK)
    if not a.numel():
        return values, zeros((count,), _INT64)
    job = "V" if vectors else "N"
    return values, call("syevd", job, triangle, rows, a, _leading(rows), values, *works)


def eigen_general(a: Tensor, vectors: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues and right eigenvectors, complex, and what did not converge."""
    count, rows, _ = a.shape
    made = a.dtype.to_complex()
    right = zeros((count, rows, rows), a.dtype)
    unused = zeros((count, 1), a.dtype)
    job = "V" if vectors else "N"
    if not a.numel():
        return zeros((count, rows), made), right.to(made), zeros((count,), _INT64)
    ends = (unused, 1, right, _leading(rows), WORK)
    if a.is_complex():
        values = zeros((count, rows), made)
        real = shared(2 * rows, made.to_real(), count)
        return values, right, call("geev", "N", job, rows, a, rows, values, *ends, real)
    parts = zeros((2, count, rows), a.dtype)
    info = call("geev", "N", job, rows, a, rows, parts[0], parts[1], *ends)
    return ops.aten.complex(parts[0], parts[1]), _complex_vectors(right, parts[1]), info


def _complex_vectors(right: Tensor, imaginary: Tensor) -> Tensor:
    """Vectors of conjugate pairs, of which LAPACK returns real and imaginary parts by turns."""
    first, second = (imaginary > 0).unsqueeze(-1), (imaginary < 0).unsqueeze(-1)
    real = ops.aten.where(second, right.roll(1, 1), right)
    part = ops.aten.where(first, right.roll(-1, 1), ops.aten.where(second, -right, 0.0))
    return ops.aten.complex(real, part)


def singular_values(a: Tensor, job: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """U, S and Vᴴ with `job` "A"ll, "S"ome or "N"o vectors; and what did not converge."""
    count, columns, rows = a.shape
    least, most = min(rows, columns), max(rows, columns)
    size = {"A": (rows, columns), "S": (least, least), "N": (0, 0)}[job]
    values = zeros((count, least), a.dtype.to_real())
    left = zeros((count, size[0], rows), a.dtype)
    right = zeros((count, columns, size[1]), a.dtype)
    if not a.numel():
        _fill_identity(left)
        _fill_identity(right)
        return left, values, right, zeros((count,), _INT64)
    if rows < columns and job != "N" and not a.is_complex():
        return left, values, right, _wide_singular_values(a, left, values, right)
    ends: tuple[Argument, ...] = (
        values,
        *_given(left, rows),
        *_given(right, _leading(size[1])),
        WORK,
    )
    if a.is_complex():
        length = max(5 * least * least + 7 * least, 2 * most * least + 2 * least * least + least)
        ends = (*ends, shared(length, values.dtype, count))
    ends = (*ends, shared(8 * least, _INT64, count))
    return left, values, right, call("gesdd", job, rows, columns, a, rows, *ends)


def _wide_singular_values(a: Tensor, left: Tensor, values: Tensor, right: Tensor) -> Tensor:
    """Values and vectors of real matrices with more columns than rows, without an LQ step before.

    That is how signs come out as users of MKL know them.
    """
    count, columns, rows = a.shape
    steps = zeros((count, max(1, rows - 1)), a.dtype)
    tau_left, tau_right = (zeros((count, rows), a.dtype) for _ in range(2))
    call("gebrd", rows, columns, a, rows, values, steps, tau_left, tau_right, WORK)
    turned = zeros((count, rows, rows), a.dtype)
    unused = zeros((count, 1), a.dtype)
    memory = shared(3 * rows * rows + 4 * rows, a.dtype, count)
    integers = shared(8 * rows, _INT64, count)
    ends = (left, rows, turned, rows, unused, unused, memory, integers)
    info = call("bdsdc", "L", "I", rows, values, steps, *ends)
    _fill_identity(right)
    right[:, :rows, :rows] = turned
    height = right.shape[2]
    call("ormbr", "Q", "L", "N", rows, rows, columns, a, rows, tau_left, left, rows, WORK)
    call("ormbr", "P", "R", "T", height, columns, rows, a, rows, tau_right, right, height, WORK)
    return info


def _given(stack: Tensor, leading: int) -> tuple[Tensor, int]:
    """A stack and its leading dimension; an empty one as memory that is not looked at."""
    return (stack if stack.numel() else zeros((stack.size(0), 1), stack.dtype)), leading


def _fill_identity(stack: Tensor) -> None:
    stack.diagonal(0, 1, 2).fill_(1)


def factor_ldl(a: Tensor, hermitian: bool) -> tuple[Tensor, Tensor]:
    """a = L D Lᵀ (Lᴴ) in place, of its lower triangle; returns pivots and which are zero."""
    count, rows, _ = a.shape
    pivots = zeros((count, rows), _INT64)
    if not a.numel():
        return pivots, zeros((count,), _INT64)
    routine = "hetrf" if hermitian and a.is_complex() else "sytrf"
    return pivots, call(routine, "L", rows, a, rows, pivots, WORK)


def solve_ldl(ldl: Tensor, pivots: Tensor, b: Tensor, hermitian: bool) -> None:
    _, columns, rows = b.shape
    routine = "hetrs" if hermitian and b.is_complex() else "sytrs"
    if b.numel():
        call(routine, "L", rows, columns, ldl, rows, pivots, b, rows)


def least_squares(a: Tensor, b: Tensor, driver: str, rcond: float) -> tuple[Tensor, Tensor, Tensor]:
    """Minimizers of |A X - b| in place of the first rows of b, which has as many as A's longer
    side; ranks, singular values and info."""
    count, columns, rows = a.shape
    ranks = zeros((count, 1), _INT64)
    values = zeros((count, min(rows, columns)), a.dtype.to_real())
    sizes = (rows, columns, b.shape[1], a, _leading(rows), b, _leading(b.shape[2]))
    if not (a.numel() and b.numel()):
        b.zero_()
        return ranks, values, zeros((count,), _INT64)
    if driver == "gels":
        return ranks, values, call("gels", "N", *sizes, WORK)
    bound = ops.aten.full((1,), rcond, dtype=values.dtype, device=_CPU).expand((count, 1))
    extra = _least_squares_memory(a, driver)
    if driver == "gelsy":
        pivots = zeros((count, columns), _INT64)
        return ranks, values, call("gelsy", *sizes, pivots, bound, ranks, WORK, *extra)
    return ranks, values, call(driver, *sizes, values, bound, ranks, WORK, *extra)


def _least_squares_memory(a: Tensor, driver: str) -> tuple[Argument, ...]:
    """What the drivers want beside WORK."""
    if driver == "gelsd":
        return (REAL_MEMORY, INTEGER_MEMORY) if a.is_complex() else (INTEGER_MEMORY,)
    if not a.is_complex():
        return ()
    length = max(2 * a.shape[1], 5 * min(a.shape[1:]), 1)
    return (shared(length, a.dtype.to_real(), a.size(0)),)
