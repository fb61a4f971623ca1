# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Linear algebra of small real matrices: LU, Cholesky and QR factors, and what they give.

Gaussian elimination with partial pivoting, Cholesky's and Householder's methods as in Golub and Van
Loan, Matrix Computations, sections 3.4, 4.2 and 5.2. A matrix's results depend on it alone. A call
is declined, and left to the operator's function and LAPACK, where a matrix is singular, not
positive, not finite, or of such a size that a norm might be lost.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT32
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_flag
from aten._core.tensor.making cimport make_strided
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer, is_lazy
from aten._core.threads.parallel cimport parallel_for

cdef extern from "small_levels.h" nogil:
    const int ATEN_SIDE
    int ATEN_FACTOR, ATEN_INVERSE, ATEN_SOLVE, ATEN_DETERMINANT, ATEN_LOGARITHM, ATEN_CHOLESKY
    int ATEN_CHOLESKY_SOLVE, ATEN_TRIANGULAR, ATEN_QR
    ctypedef struct aten_small_work:
        int what
        int64_t rows, columns, width
        int64_t row_step, column_step, right_row_step, right_column_step
        int upper, unit, turned
        void* out
        void* factors
        void* logarithms
        int32_t* pivots
        int64_t out_size
    int aten_compute_floats(const aten_small_work* work, const float* given, const float* right,
                            int64_t index) noexcept
    int aten_compute_doubles(const aten_small_work* work, const double* given, const double* right,
                             int64_t index) noexcept

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept

cdef enum:
    # Multiplications in one chunk of work for the threads, and in work that one thread does at once.
    GRAIN = 1 << 14

cdef struct Work:
    aten_small_work each
    bint wide                           # float64
    int levels                          # of batches
    int64_t count
    int64_t sizes[MAXIMUM_DIMS]
    int64_t steps[MAXIMUM_DIMS]
    int64_t right_steps[MAXIMUM_DIMS]
    const void* given
    const void* right                   # or NULL
    int declined

# Gives None for calls it declines.
ctypedef object (*Computation)(TensorImpl matrix, PyObject** stack)


cdef class SmallMatrixKernel(FastPath):
    """Computes what is small. Raises KeyError where there is nothing of that name."""

    cdef Computation compute

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.compute = <Computation><size_t>_FUNCTIONS[native]

    cdef object ordinary(self, PyObject** stack):
        return self.compute(<TensorImpl>stack[0], stack) if is_ordinary(stack[0]) else None


cdef bint is_ordinary(PyObject* given) noexcept:
    if Py_TYPE(given) != <PyTypeObject*>Tensor:
        return False
    cdef TensorImpl tensor = <TensorImpl>given
    return (tensor.device_type == CPU and tensor.count > 0 and tensor.rank >= 1
            and (tensor.dtype_code == FLOAT32 or tensor.dtype_code == FLOAT64)
            and not is_lazy(tensor))


cdef bint _begin(Work* work, TensorImpl matrix, int what) noexcept:
    """Whether matrices are small enough."""
    cdef int dim
    if matrix.rank < 2:
        return False
    memset(work, 0, sizeof(Work))
    work.each.what = what
    work.each.rows = matrix.sizes[matrix.rank - 2]
    work.each.columns = work.each.width = matrix.sizes[matrix.rank - 1]
    if work.each.rows > ATEN_SIDE or work.each.columns > ATEN_SIDE:
        return False
    work.wide = matrix.dtype_code == FLOAT64
    work.each.row_step = matrix.strides[matrix.rank - 2]
    work.each.column_step = matrix.strides[matrix.rank - 1]
    work.levels = matrix.rank - 2
    work.count = 1
    for dim in range(work.levels):
        work.sizes[dim] = matrix.sizes[dim]
        work.steps[dim] = matrix.strides[dim]
        work.count *= matrix.sizes[dim]
    return True


cdef inline void _turn(Work* work) noexcept:
    """Reads matrices with rows for columns."""
    work.each.row_step, work.each.column_step = work.each.column_step, work.each.row_step


cdef bint _add_right(Work* work, TensorImpl matrix, PyObject* given, bint vectors) noexcept:
    """Whether right-hand sides, matrices or `vectors`, are of the same batch and not too wide."""
    cdef int dim, own = matrix.rank - (1 if vectors else 0)
    if not is_ordinary(given):
        return False
    cdef TensorImpl right = <TensorImpl>given
    if right.rank != own or right.dtype_code != matrix.dtype_code:
        return False
    for dim in range(matrix.rank - 1):
        if right.sizes[dim] != matrix.sizes[dim]:
            return False
    work.each.width = 1 if vectors else right.sizes[own - 1]
    if work.each.width > ATEN_SIDE:
        return False
    work.each.right_row_step = right.strides[matrix.rank - 2]
    work.each.right_column_step = 0 if vectors else right.strides[own - 1]
    for dim in range(work.levels):
        work.right_steps[dim] = right.strides[dim]
    return True


cdef bint _add_left(Work* work, TensorImpl matrix, PyObject* given) noexcept:
    """As `_add_right`, of what stands on the left: both are read with rows for columns."""
    cdef int dim, rank = matrix.rank
    if not is_ordinary(given):
        return False
    cdef TensorImpl left = <TensorImpl>given
    if left.rank != rank or left.dtype_code != matrix.dtype_code:
        return False
    for dim in range(rank):
        if dim != rank - 2 and left.sizes[dim] != matrix.sizes[dim]:
            return False
    work.each.width = left.sizes[rank - 2]
    if work.each.width > ATEN_SIDE:
        return False
    work.each.right_row_step = left.strides[rank - 1]
    work.each.right_column_step = left.strides[rank - 2]
    for dim in range(work.levels):
        work.right_steps[dim] = left.strides[dim]
    _turn(work)
    return True


cdef Tensor columns_like(TensorImpl matrix, int64_t rows, int64_t columns):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t step = rows * columns
    cdef int dim, rank = matrix.rank
    for dim in range(rank - 3, -1, -1):
        sizes[dim] = matrix.sizes[dim]
        strides[dim] = step
        step *= matrix.sizes[dim]
    sizes[rank - 2], sizes[rank - 1] = rows, columns
    strides[rank - 2], strides[rank - 1] = 1, rows
    return make_strided(matrix.dtype_code, rank, sizes, strides, CPU, matrix.device_index)


cdef Tensor numbers_like(TensorImpl matrix, int code, int64_t of_each):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t step = 1
    cdef int dim, rank = matrix.rank - 2
    for dim in range(rank):
        sizes[dim] = matrix.sizes[dim]
    if of_each >= 0:
        sizes[rank] = of_each
        rank += 1
    for dim in range(rank - 1, -1, -1):
        strides[dim] = step
        step *= sizes[dim]
    return make_strided(code, rank, sizes, strides, CPU, matrix.device_index)


cdef Tensor _no_reports(TensorImpl matrix):
    cdef Tensor info = numbers_like(matrix, INT32, -1)
    memset(data_pointer(info), 0, info.count * sizeof(int32_t))
    return info


cdef bint _run(Work* work, TensorImpl matrix, TensorImpl right, Tensor out, Tensor factors,
               Tensor pivots) except -1:
    """Whether all matrices could be dealt with."""
    cdef int64_t effort = (work.each.rows * work.each.columns
                           * (work.each.columns + work.each.width + 8))
    work.each.out = data_pointer(out) if out is not None else NULL
    work.each.out_size = out.count // work.count if out is not None else 0
    work.each.factors = data_pointer(factors) if factors is not None else NULL
    work.each.pivots = <int32_t*>data_pointer(pivots) if pivots is not None else NULL
    work.given = const_data_pointer(matrix)
    work.right = const_data_pointer(right) if right is not None else NULL
    if work.count * effort <= GRAIN:
        _compute_range(work, 0, work.count)
        return not work.declined
    with nogil:
        parallel_for(work.count, max(GRAIN // effort, 1), _compute_range, work)
    return not work.declined


cdef int64_t place_of(const int64_t* sizes, const int64_t* steps, int levels,
                      int64_t index) noexcept nogil:
    cdef int64_t place = 0
    cdef int dim
    for dim in range(levels - 1, -1, -1):
        place += index % sizes[dim] * steps[dim]
        index //= sizes[dim]
    return place


cdef void _compute_range(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Work* work = <Work*>context
    cdef int64_t index, at, right_at
    cdef int done
    for index in range(begin, end):
        at = place_of(work.sizes, work.steps, work.levels, index)
        right_at = place_of(work.sizes, work.right_steps, work.levels, index)
        if work.wide:
            done = aten_compute_doubles(
                &work.each, <const double*>work.given + at,
                <const double*>work.right + right_at if work.right != NULL else NULL, index)
        else:
            done = aten_compute_floats(
                &work.each, <const float*>work.given + at,
                <const float*>work.right + right_at if work.right != NULL else NULL, index)
        if not done:
            work.declined = 1
            return


cdef inline bint _is_square(const Work* work) noexcept:
    return work.each.rows == work.each.columns


cdef object _invert(TensorImpl matrix):
    cdef Work work
    cdef Tensor out
    if not _begin(&work, matrix, ATEN_INVERSE) or not _is_square(&work):
        return None
    out = columns_like(matrix, work.each.rows, work.each.rows)
    return out if _run(&work, matrix, None, out, None, None) else None


cdef object _inv(TensorImpl matrix, PyObject** stack):
    return _invert(matrix)


cdef object _inv_ex(TensorImpl matrix, PyObject** stack):
    made = _invert(matrix)
    return None if made is None else (made, _no_reports(matrix))


cdef object _lu_factor_ex(TensorImpl matrix, PyObject** stack):
    cdef Work work
    cdef bint pivot = False
    cdef Tensor factors, pivots
    if not reads_flag(stack[1], &pivot) or not pivot or not _begin(&work, matrix, ATEN_FACTOR):
        return None
    factors = columns_like(matrix, work.each.rows, work.each.columns)
    pivots = numbers_like(matrix, INT32, min(work.each.rows, work.each.columns))
    if not _run(&work, matrix, None, None, factors, pivots):
        return None
    return factors, pivots, _no_reports(matrix)


cdef object _lu_factor(TensorImpl matrix, PyObject** stack):
    made = _lu_factor_ex(matrix, stack)
    return None if made is None else made[:2]


cdef object _solved(TensorImpl matrix, PyObject** stack, bint with_factors):
    cdef Work work
    cdef bint left = False, vectors
    cdef TensorImpl right
    cdef Tensor out, factors = None, pivots = None
    if not is_ordinary(stack[1]) or not reads_flag(stack[2], &left) or not left:
        return None
    right = <TensorImpl>stack[1]
    vectors = right.rank == matrix.rank - 1
    if not _begin(&work, matrix, ATEN_SOLVE) or not _is_square(&work) or (
            not _add_right(&work, matrix, stack[1], vectors)):
        return None
    if vectors:
        out = numbers_like(matrix, matrix.dtype_code, work.each.rows)
    else:
        out = columns_like(matrix, work.each.rows, work.each.width)
    if with_factors:
        factors = columns_like(matrix, work.each.rows, work.each.rows)
        pivots = numbers_like(matrix, INT32, work.each.rows)
    if not _run(&work, matrix, right, out, factors, pivots):
        return None
    return (out, factors, pivots, _no_reports(matrix)) if with_factors else out


cdef object _solve(TensorImpl matrix, PyObject** stack):
    return _solved(matrix, stack, False)


cdef object _solve_ex(TensorImpl matrix, PyObject** stack):
    return _solved(matrix, stack, True)


cdef object _determined(TensorImpl matrix, bint logarithm, bint with_factors):
    cdef Work work
    cdef Tensor out, factors = None, pivots = None, logarithms = None
    if (not _begin(&work, matrix, ATEN_LOGARITHM if logarithm else ATEN_DETERMINANT)
            or not _is_square(&work)):
        return None
    out = numbers_like(matrix, matrix.dtype_code, -1)
    if logarithm:
        logarithms = numbers_like(matrix, matrix.dtype_code, -1)
        work.each.logarithms = data_pointer(logarithms)
    if with_factors:
        factors = columns_like(matrix, work.each.rows, work.each.rows)
        pivots = numbers_like(matrix, INT32, work.each.rows)
    if not _run(&work, matrix, None, out, factors, pivots):
        return None
    made = (out, logarithms) if logarithm else (out,)
    return (*made, factors, pivots) if with_factors else made if logarithm else out


cdef object _det(TensorImpl matrix, PyObject** stack):
    return _determined(matrix, False, False)


cdef object _det_factors(TensorImpl matrix, PyObject** stack):
    return _determined(matrix, False, True)


cdef object _slogdet(TensorImpl matrix, PyObject** stack):
    return _determined(matrix, True, False)


cdef object _slogdet_factors(TensorImpl matrix, PyObject** stack):
    return _determined(matrix, True, True)


cdef object _cholesky(TensorImpl matrix, PyObject** stack):
    cdef Work work
    cdef bint upper = False
    cdef Tensor out
    if not reads_flag(stack[1], &upper) or not _begin(&work, matrix, ATEN_CHOLESKY) or (
            not _is_square(&work)):
        return None
    # An upper factor is computed, of the triangle that is asked for; by rows it is the lower one.
    work.each.turned = not upper
    if not upper:
        _turn(&work)
    out = columns_like(matrix, work.each.rows, work.each.rows)
    return out if _run(&work, matrix, None, out, None, None) else None


cdef object _cholesky_ex(TensorImpl matrix, PyObject** stack):
    made = _cholesky(matrix, stack)
    return None if made is None else (made, _no_reports(matrix))


cdef object _cholesky_solve(TensorImpl right, PyObject** stack):
    cdef Work work
    cdef bint upper = False
    cdef TensorImpl matrix
    cdef Tensor out
    if not is_ordinary(stack[1]) or not reads_flag(stack[2], &upper):
        return None
    matrix = <TensorImpl>stack[1]
    if not _begin(&work, matrix, ATEN_CHOLESKY_SOLVE) or not _is_square(&work) or (
            not _add_right(&work, matrix, stack[0], False)):
        return None
    if upper:
        _turn(&work)
    out = columns_like(matrix, work.each.rows, work.each.width)
    return out if _run(&work, matrix, right, out, None, None) else None


cdef object _solve_triangular(TensorImpl matrix, PyObject** stack):
    cdef Work work
    cdef bint upper = False, left = False, unit = False
    cdef Tensor out
    if not (reads_flag(stack[2], &upper) and reads_flag(stack[3], &left)
            and reads_flag(stack[4], &unit)):
        return None
    if not _begin(&work, matrix, ATEN_TRIANGULAR) or not _is_square(&work):
        return None
    work.each.upper, work.each.unit = upper == left, unit
    if left:
        if not _add_right(&work, matrix, stack[1], False):
            return None
        out = columns_like(matrix, work.each.rows, work.each.width)
    else:
        if not _add_left(&work, matrix, stack[1]):
            return None
        work.each.turned = True
        out = columns_like(matrix, work.each.width, work.each.rows)
    return out if _run(&work, matrix, <TensorImpl>stack[1], out, None, None) else None


cdef object _qr(TensorImpl matrix, PyObject** stack):
    cdef Work work
    cdef Tensor out, factors
    mode = <object>stack[1]
    if mode not in ("reduced", "complete") or not _begin(&work, matrix, ATEN_QR):
        return None
    work.each.width = work.each.rows
    if mode == "reduced":
        work.each.width = min(work.each.rows, work.each.columns)
    out = columns_like(matrix, work.each.rows, work.each.width)
    factors = columns_like(matrix, work.each.width, work.each.columns)
    return (out, factors) if _run(&work, matrix, None, out, factors, None) else None


cdef dict _FUNCTIONS = {
    "inv": <size_t>_inv,
    "inv_ex": <size_t>_inv_ex,
    "lu_factor": <size_t>_lu_factor,
    "lu_factor_ex": <size_t>_lu_factor_ex,
    "solve": <size_t>_solve,
    "solve_ex": <size_t>_solve_ex,
    "det": <size_t>_det,
    "det_factors": <size_t>_det_factors,
    "slogdet": <size_t>_slogdet,
    "slogdet_factors": <size_t>_slogdet_factors,
    "cholesky": <size_t>_cholesky,
    "cholesky_ex": <size_t>_cholesky_ex,
    "cholesky_solve": <size_t>_cholesky_solve,
    "solve_triangular": <size_t>_solve_triangular,
    "qr": <size_t>_qr,
}
NAMES = tuple(_FUNCTIONS)
