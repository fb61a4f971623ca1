"""LAPACK over batches: one driver, and the routines by what they do.

Matrices go in and out as stacks: arrays (count, columns, rows), each matrix column after column, as
LAPACK wants them. The library itself is handed in from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aten._core.dtypes import dtype
from aten._core.libraries import library_call
from aten._core.tensor import Tensor
from aten.ops.arrays import as_array, from_bits

if TYPE_CHECKING:
    import ctypes

Array = Any

_PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}
# Where the routines for complex matrices are called otherwise.
_COMPLEX_NAMES = {
    "syevd": "heevd",
    "orgqr": "ungqr",
    "ormqr": "unmqr",
}
_opener: Callable[[], ctypes.CDLL] | None = None


class Workspace:
    """Stands for a work array as long as the routine asks for, and its length where `told`; of
    `kind` "element", "real" or "integer"."""

    __slots__ = ("kind", "told")

    def __init__(self, kind: str, told: bool = True) -> None:
        self.kind = kind
        self.told = told


WORK, REAL_WORK, INTEGER_WORK = (Workspace(kind) for kind in ("element", "real", "integer"))
REAL_MEMORY, INTEGER_MEMORY = (Workspace(kind, told=False) for kind in ("real", "integer"))


def set_lapack_opener(opener: Callable[[], ctypes.CDLL]) -> None:
    """Has `opener()` called when a routine first needs the library, whose integers have 64 bits."""
    global _opener
    _opener = opener


def stack_of(tensor: Tensor, batch: tuple[int, ...] | None = None) -> Array:
    """A fresh stack of matrices (*, rows, columns), repeated over `batch`."""
    import numpy

    *own, rows, columns = tensor.shape
    shape = (*(own if batch is None else batch), rows, columns)
    given = as_array(tensor.resolve_conj().resolve_neg().expand(shape))
    return numpy.array(given.swapaxes(-1, -2), order="C").reshape(_count(shape), columns, rows)


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape[:-2]:
        count *= size
    return count


def matrices_of(stack: Array, like: Tensor, batch: tuple[int, ...]) -> Tensor:
    """The tensor (*batch, rows, columns) of a stack, column after column in memory."""
    _, columns, rows = stack.shape
    return tensor_of(stack.reshape(*batch, columns, rows), like).transpose(-2, -1)


def tensor_of(array: Array, like: Tensor, element: dtype | None = None) -> Tensor:
    """The array as tensor, on the device of `like`."""
    from aten._core.dtypes import DTYPES

    return from_bits(array, like, element or DTYPES[array.dtype.name])


def call(routine: str, *arguments: Any, reports: bool = True) -> Array:
    """Run a routine on each matrix of a batch; returns what it reports of each (`info`).

    Stacks, of matrices, vectors or numbers, have the batch in front; an array whose stride there
    is zero serves all of it. Raises RuntimeError for arguments that the routine refuses.
    """
    import numpy

    stacks = [argument for argument in arguments if isinstance(argument, numpy.ndarray)]
    element, count = stacks[0].dtype, len(stacks[0])
    name = _COMPLEX_NAMES.get(routine, routine) if element.kind == "c" else routine
    function = getattr(_library(), f"scipy_{_PREFIXES[element.char]}{name}_64_")
    info = numpy.zeros(count, numpy.int64)
    if not count:
        return info
    types = {"element": element, "real": real_type(element), "integer": numpy.int64}
    wanted = {argument for argument in arguments if isinstance(argument, Workspace)}
    passed = [*arguments, info] if reports else list(arguments)
    spaces = {one: numpy.zeros(1, types[one.kind]) for one in wanted}
    if wanted:
        _run(function, passed, spaces, 1, asks=True)
        spaces = {
            one: numpy.empty(max(1, int(space[0].real)), space.dtype)
            for one, space in spaces.items()
        }
    _run(function, passed, spaces, count)
    if (info < 0).any():
        raise RuntimeError(f"LAPACK's {name} refuses its argument {-int(info.min())}")
    return info


def _library() -> ctypes.CDLL:
    if _opener is None:
        raise RuntimeError("linear algebra needs a LAPACK library, and none was named")
    return _opener()


def _run(
    function: Any,
    arguments: list[Any],
    spaces: dict[Workspace, Array],
    count: int,
    asks: bool = False,
) -> None:
    """Call the function for `count` matrices; `asks` has it tell the lengths of workspaces."""
    import ctypes

    passed: list[Any] = []
    moved = []
    characters = 0
    for argument in arguments:
        if isinstance(argument, Workspace):
            space = spaces[argument]
            passed.append(ctypes.c_void_p(_address(space)))
            if argument.told:
                passed.append(ctypes.byref(ctypes.c_int64(-1 if asks else space.size)))
        elif isinstance(argument, str):
            passed.append(ctypes.c_char_p(argument.encode()))
            characters += 1
        elif isinstance(argument, int):
            passed.append(ctypes.byref(ctypes.c_int64(argument)))
        else:
            start = _address(argument)
            pointer = ctypes.c_void_p(start)
            passed.append(pointer)
            moved.append((pointer, start, argument.strides[0]))
    # Fortran's compilers pass the lengths of texts behind everything else.
    passed += [ctypes.c_size_t(1)] * characters
    for index in range(count):
        for pointer, start, step in moved:
            pointer.value = start + index * step
        with library_call:
            function(*passed)


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def real_type(element: Any) -> Any:
    """The NumPy type of the parts of complex numbers; of real ones, theirs."""
    import numpy

    return numpy.empty(0, element).real.dtype


def shared(value: Any, count: int) -> Array:
    """One array for all matrices of a batch: a constant, or memory to work in."""
    import numpy

    array = numpy.atleast_1d(value)
    return numpy.broadcast_to(array, (count, *array.shape))


def _leading(rows: int) -> int:
    return max(1, rows)


def factor_lu(a: Array) -> tuple[Array, Array]:
    """a = P L U in place; returns pivots (count, k), from 1, and which pivots are zero."""
    import numpy

    count, columns, rows = a.shape
    pivots = numpy.zeros((count, min(rows, columns)), numpy.int64)
    return pivots, call("getrf", rows, columns, a, _leading(rows), pivots)


def solve_lu(lu: Array, pivots: Array, b: Array, form: str = "N") -> None:
    """op(A) X = b in place, given A's factors; op by `form`: as is, T transposed, C adjoint."""
    _, columns, rows = b.shape
    if b.size:
        call("getrs", form, rows, columns, lu, _leading(rows), pivots, b, _leading(rows))


def factor_cholesky(a: Array, triangle: str) -> Array:
    """a = L Lᴴ or Uᴴ U in place; returns the order of the first minor that is not positive."""
    rows = a.shape[2]
    return call("potrf", triangle, rows, a, _leading(rows))


def solve_cholesky(factor: Array, b: Array, triangle: str) -> None:
    _, columns, rows = b.shape
    if b.size:
        call("potrs", triangle, rows, columns, factor, _leading(rows), b, _leading(rows))


def solve_triangular(
    a: Array, b: Array, *, side: str, triangle: str, form: str, diagonal: str
) -> None:
    """op(A) X = b (side "L") or X op(A) = b ("R") in place; `diagonal` "U" takes it to be ones."""
    import numpy

    count, columns, rows = b.shape
    one = shared(numpy.ones(1, a.dtype), count)
    ends = (_leading(a.shape[2]), b, _leading(rows))
    if b.size:
        call("trsm", side, triangle, form, diagonal, rows, columns, one, a, *ends, reports=False)


def factor_qr(a: Array) -> Array:
    """a = Q R in place: R, and below it the Householder vectors; returns their factors."""
    import numpy

    count, columns, rows = a.shape
    tau = numpy.zeros((count, min(rows, columns)), a.dtype)
    if a.size:
        call("geqrf", rows, columns, a, _leading(rows), tau, WORK)
    return tau


def form_q(a: Array, tau: Array) -> None:
    """The columns of Q in place of the Householder vectors."""
    _, columns, rows = a.shape
    if a.size:
        call("orgqr", rows, columns, tau.shape[1], a, _leading(rows), tau, WORK)


def multiply_q(a: Array, tau: Array, c: Array, *, side: str, form: str) -> None:
    """op(Q) c or c op(Q) in place of c, with Q as Householder vectors."""
    _, columns, rows = c.shape
    ends = (_leading(a.shape[2]), tau, c, _leading(rows), WORK)
    if c.size:
        call("ormqr", side, form, rows, columns, tau.shape[1], a, *ends)


def eigen_symmetric(a: Array, triangle: str, vectors: bool) -> tuple[Array, Array]:
    """Eigenvalues, ascending; vectors in place of a. Returns them and what did not converge."""
    import numpy

    count, rows, _ = a.shape
    values = numpy.zeros((count, rows), real_type(a.dtype))
    works = (WORK, REAL_WORK, INTEGER_WORK) if a.dtype.kind == "c" else (WORK, INTEGER_WORK)
    if not a.size:
        return values, numpy.zeros(count, numpy.int64)
    job = "V" if vectors else "N"
    return values, call("syevd", job, triangle, rows, a, _leading(rows), values, *works)


def eigen_general(a: Array, vectors: bool) -> tuple[Array, Array, Array]:
    """Eigenvalues and right eigenvectors, complex, and what did not converge."""
    import numpy

    count, rows, _ = a.shape
    is_complex = a.dtype.kind == "c"
    made = numpy.result_type(a.dtype, numpy.complex64)
    right = numpy.zeros_like(a)
    unused = numpy.zeros((count, 1), a.dtype)
    job = "V" if vectors else "N"
    if not a.size:
        return numpy.zeros((count, rows), made), right.astype(made), numpy.zeros(count, int)
    ends = (unused, 1, right, _leading(rows), WORK)
    if is_complex:
        values = numpy.zeros((count, rows), made)
        real = shared(numpy.zeros(2 * rows, real_type(made)), count)
        return values, right, call("geev", "N", job, rows, a, rows, values, *ends, real)
    parts = numpy.zeros((2, count, rows), a.dtype)
    info = call("geev", "N", job, rows, a, rows, parts[0], parts[1], *ends)
    return (parts[0] + 1j * parts[1]).astype(made), _complex_vectors(right, parts[1], made), info


def _complex_vectors(right: Array, imaginary: Array, made: Any) -> Array:
    """Vectors of conjugate pairs, of which LAPACK returns real and imaginary parts by turns."""
    vectors = right.astype(made)
    for index, column in zip(*(imaginary > 0).nonzero(), strict=True):
        real, part = right[index, column], right[index, column + 1]
        vectors[index, column] = real + 1j * part
        vectors[index, column + 1] = real - 1j * part
    return vectors


def singular_values(a: Array, job: str) -> tuple[Array, Array, Array, Array]:
    """U, S and Vᴴ with `job` "A"ll, "S"ome or "N"o vectors; and what did not converge."""
    import numpy

    count, columns, rows = a.shape
    least, most = min(rows, columns), max(rows, columns)
    size = {"A": (rows, columns), "S": (least, least), "N": (0, 0)}[job]
    values = numpy.zeros((count, least), real_type(a.dtype))
    left = numpy.zeros((count, size[0], rows), a.dtype)
    right = numpy.zeros((count, columns, size[1]), a.dtype)
    if not a.size:
        _fill_identity(left)
        _fill_identity(right)
        return left, values, right, numpy.zeros(count, numpy.int64)
    if rows < columns and job != "N" and a.dtype.kind == "f":
        return left, values, right, _wide_singular_values(a, left, values, right)
    ends: tuple[Any, ...] = (values, *_given(left, rows), *_given(right, _leading(size[1])), WORK)
    if a.dtype.kind == "c":
        length = max(5 * least * least + 7 * least, 2 * most * least + 2 * least * least + least)
        ends = (*ends, shared(numpy.zeros(length, values.dtype), count))
    ends = (*ends, shared(numpy.zeros(8 * least, numpy.int64), count))
    return left, values, right, call("gesdd", job, rows, columns, a, rows, *ends)


def _wide_singular_values(a: Array, left: Array, values: Array, right: Array) -> Array:
    """Values and vectors of real matrices with more columns than rows, without an LQ step before.

    That is how signs come out as users of MKL know them.
    """
    import numpy

    count, columns, rows = a.shape
    steps = numpy.zeros((count, max(1, rows - 1)), a.dtype)
    tau_left, tau_right = numpy.zeros((2, count, rows), a.dtype)
    call("gebrd", rows, columns, a, rows, values, steps, tau_left, tau_right, WORK)
    turned = numpy.zeros((count, rows, rows), a.dtype)
    unused = numpy.zeros((count, 1), a.dtype)
    memory = shared(numpy.zeros(3 * rows * rows + 4 * rows, a.dtype), count)
    integers = shared(numpy.zeros(8 * rows, numpy.int64), count)
    ends = (left, rows, turned, rows, unused, unused, memory, integers)
    info = call("bdsdc", "L", "I", rows, values, steps, *ends)
    _fill_identity(right)
    right[:, :rows, :rows] = turned
    height = right.shape[2]
    call("ormbr", "Q", "L", "N", rows, rows, columns, a, rows, tau_left, left, rows, WORK)
    call("ormbr", "P", "R", "T", height, columns, rows, a, rows, tau_right, right, height, WORK)
    return info


def _given(stack: Array, leading: int) -> tuple[Array, int]:
    """A stack and its leading dimension; an empty one as memory that is not looked at."""
    import numpy

    return (stack if stack.size else numpy.zeros((len(stack), 1), stack.dtype)), leading


def _fill_identity(stack: Array) -> None:
    import numpy

    least = min(stack.shape[1:])
    stack[:, numpy.arange(least), numpy.arange(least)] = 1


def factor_ldl(a: Array, hermitian: bool) -> tuple[Array, Array]:
    """a = L D Lᵀ (Lᴴ) in place, of its lower triangle; returns pivots and which are zero."""
    import numpy

    count, rows, _ = a.shape
    pivots = numpy.zeros((count, rows), numpy.int64)
    if not a.size:
        return pivots, numpy.zeros(count, numpy.int64)
    routine = "hetrf" if hermitian and a.dtype.kind == "c" else "sytrf"
    return pivots, call(routine, "L", rows, a, rows, pivots, WORK)


def solve_ldl(ldl: Array, pivots: Array, b: Array, hermitian: bool) -> None:
    _, columns, rows = b.shape
    routine = "hetrs" if hermitian and b.dtype.kind == "c" else "sytrs"
    if b.size:
        call(routine, "L", rows, columns, ldl, rows, pivots, b, rows)


def least_squares(a: Array, b: Array, driver: str, rcond: float) -> tuple[Array, Array, Array]:
    """Minimizers of |A X - b| in place of the first rows of b, which has as many as A's longer
    side; ranks, singular values and info."""
    import numpy

    count, columns, rows = a.shape
    ranks = numpy.zeros((count, 1), numpy.int64)
    values = numpy.zeros((count, min(rows, columns)), real_type(a.dtype))
    sizes = (rows, columns, b.shape[1], a, _leading(rows), b, _leading(b.shape[2]))
    if not (a.size and b.size):
        b[:] = 0
        return ranks, values, numpy.zeros(count, numpy.int64)
    if driver == "gels":
        return ranks, values, call("gels", "N", *sizes, WORK)
    bound = shared(numpy.asarray(rcond, values.dtype), count)
    extra = _least_squares_memory(a, driver)
    if driver == "gelsy":
        pivots = numpy.zeros((count, columns), numpy.int64)
        return ranks, values, call("gelsy", *sizes, pivots, bound, ranks, WORK, *extra)
    return ranks, values, call(driver, *sizes, values, bound, ranks, WORK, *extra)


def _least_squares_memory(a: Array, driver: str) -> tuple[Any, ...]:
    """What the drivers want beside WORK."""
    import numpy

    if driver == "gelsd":
        return (REAL_MEMORY, INTEGER_MEMORY) if a.dtype.kind == "c" else (INTEGER_MEMORY,)
    if a.dtype.kind != "c":
        return ()
    length = max(2 * a.shape[1], 5 * min(a.shape[1:]), 1)
    return (shared(numpy.zeros(length, real_type(a.dtype)), len(a)),)
