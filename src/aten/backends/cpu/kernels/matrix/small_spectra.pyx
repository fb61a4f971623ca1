# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Eigenvalues, singular values and least squares of small real matrices.

Those of symmetric matrices are found by kernels of our own, the others by LAPACK, whose routines are
called for a whole batch at once, on all threads, in memory of a size that is known beforehand. A
call is declined, and left to the operator's function, where a matrix is not finite or a method does
not converge.
"""

from cpython.object cimport PyObject
from libc.float cimport DBL_EPSILON, FLT_EPSILON
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT64, INT64
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_flag
from aten._core.tensor.making cimport make_contiguous, make_strided
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.matrix.libraries cimport enter_library, leave_library
from aten.backends.cpu.kernels.matrix.small_matrices cimport (columns_like, is_ordinary,
                                                              numbers_like, place_of)

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>

    static int64_t aten_singular(void *routine, char job, int64_t rows, int64_t columns, void *a,
                                 void *values, void *left, int64_t left_rows, void *right,
                                 int64_t right_rows, void *work, int64_t length, int64_t *integers) {
        typedef void (*Routine)(const char *, const int64_t *, const int64_t *, void *,
                                const int64_t *, void *, void *, const int64_t *, void *,
                                const int64_t *, void *, const int64_t *, int64_t *, int64_t *, size_t);
        int64_t info = 0;
        ((Routine)routine)(&job, &rows, &columns, a, &rows, values, left, &left_rows, right,
                           &right_rows, work, &length, integers, &info, 1);
        return info;
    }

    static int64_t aten_least(void *routine, int64_t rows, int64_t columns, int64_t width, void *a,
                              void *b, int64_t b_rows, int64_t *pivots, const void *ratio,
                              int64_t *rank, void *work, int64_t length) {
        typedef void (*Routine)(const int64_t *, const int64_t *, const int64_t *, void *,
                                const int64_t *, void *, const int64_t *, int64_t *, const void *,
                                int64_t *, void *, const int64_t *, int64_t *);
        int64_t info = 0;
        ((Routine)routine)(&rows, &columns, &width, a, &rows, b, &b_rows, pivots, ratio, rank, work,
                           &length, &info);
        return info;
    }
    """
    int64_t aten_least(void* routine, int64_t rows, int64_t columns, int64_t width, void* a, void* b,
                       int64_t b_rows, int64_t* pivots, const void* ratio, int64_t* rank, void* work,
                       int64_t length) noexcept nogil
    int64_t aten_singular(void* routine, char job, int64_t rows, int64_t columns, void* a,
                          void* values, void* left, int64_t left_rows, void* right,
                          int64_t right_rows, void* work, int64_t length,
                          int64_t* integers) noexcept nogil

cdef extern from "eigen_levels.h" nogil:
    int64_t aten_eigen_of_floats(float* a, int64_t n, bint upper, bint wants_vectors,
                                 float* values)
    int64_t aten_eigen_of_doubles(double* a, int64_t n, bint upper, bint wants_vectors,
                                  double* values)

cdef enum:
    # The most rows and columns.
    SIDE = 32
    # Numbers that routines work in, more than any asks for: so many times the square of the longer
    # side, and blocks for that side itself.
    SQUARES = 20
    BLOCKS = 160
    INTEGERS = 8 * SIDE + 16
    # Rows cubed in one chunk of work for the threads.
    GRAIN = 1 << 9

ctypedef fused Real:
    float
    double

cdef struct Spectra:
    void* routine                               # LAPACK's, or NULL: eigenvalues
    bint wide, upper
    char job
    int levels
    int64_t count, rows, columns, row_step, column_step
    int64_t left_columns, right_rows            # of each left and right matrix
    int64_t sizes[MAXIMUM_DIMS]
    int64_t steps[MAXIMUM_DIMS]
    const void* given
    void* values
    void* left                                  # eigenvectors, or NULL
    void* right
    # Right-hand sides of least squares; NULL where something else is asked for.
    const void* given_right
    int64_t width, right_row_step, right_column_step
    int64_t right_steps[MAXIMUM_DIMS]
    int64_t* ranks
    double ratio
    int declined

ctypedef object (*Computation)(TensorImpl matrix, PyObject** stack, object address_of)


cdef class SmallSpectrumKernel(FastPath):
    """Computes what is small. `address_of` gives the address of one of LAPACK's routines by its
    name without the type's letter. Raises KeyError where there is nothing called `native`."""

    cdef Computation compute
    cdef object address_of

    def __init__(self, native, address_of, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.compute = <Computation><size_t>_FUNCTIONS[native]
        self.address_of = address_of

    cdef object ordinary(self, PyObject** stack):
        if not is_ordinary(stack[0]):
            return None
        return self.compute(<TensorImpl>stack[0], stack, self.address_of)


cdef bint _begin(Spectra* spectra, TensorImpl matrix) noexcept:
    """Whether matrices are small enough."""
    cdef int dim
    if matrix.rank < 2:
        return False
    spectra.rows = matrix.sizes[matrix.rank - 2]
    spectra.columns = matrix.sizes[matrix.rank - 1]
    spectra.row_step = matrix.strides[matrix.rank - 2]
    spectra.column_step = matrix.strides[matrix.rank - 1]
    spectra.wide = matrix.dtype_code == FLOAT64
    spectra.levels = matrix.rank - 2
    spectra.count = 1
    spectra.declined = 0
    spectra.routine = NULL
    spectra.left = spectra.right = NULL
    spectra.given_right = NULL
    spectra.width = 0
    spectra.left_columns = spectra.right_rows = 0
    for dim in range(spectra.levels):
        spectra.sizes[dim] = matrix.sizes[dim]
        spectra.steps[dim] = matrix.strides[dim]
        spectra.count *= matrix.sizes[dim]
    return spectra.rows <= SIDE and spectra.columns <= SIDE


cdef int _find_routine(Spectra* spectra, object address_of, str name) except -1:
    spectra.routine = <void*><size_t>address_of(("d" if spectra.wide else "s") + name)
    return 0


cdef bint _run(Spectra* spectra, TensorImpl matrix) noexcept:
    """Whether all matrices could be dealt with."""
    cdef int64_t side = max(spectra.rows, spectra.columns)
    spectra.given = const_data_pointer(matrix)
    with nogil:
        parallel_for(spectra.count, max(GRAIN // (side * side * side), 1),
                     _compute_range if spectra.given_right == NULL else _minimize_range, spectra)
    return not spectra.declined


cdef void _compute_range(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Spectra* spectra = <Spectra*>context
    if spectra.wide:
        _compute(spectra, begin, end, <double>0)
    else:
        _compute(spectra, begin, end, <float>0)


cdef void _compute(Spectra* spectra, int64_t begin, int64_t end, Real zero) noexcept nogil:
    cdef int64_t integers[INTEGERS]
    cdef int64_t held = spectra.rows * spectra.columns, index, info
    cdef int64_t left_size = spectra.rows * spectra.left_columns
    cdef int64_t right_size = spectra.right_rows * spectra.columns
    cdef int64_t values = min(spectra.rows, spectra.columns)
    cdef int64_t side = max(spectra.rows, spectra.columns)
    cdef bint singular = spectra.routine != NULL
    cdef int64_t length = SQUARES * side * side + BLOCKS * side if singular else 0
    cdef Real* room = <Real*>malloc((held + length) * sizeof(Real))
    cdef Real* a
    cdef Real* left
    cdef Real* right
    if room == NULL:
        spectra.declined = 1
        return
    for index in range(begin, end):
        left = <Real*>spectra.left + index * left_size if spectra.left != NULL else room
        right = <Real*>spectra.right + index * right_size if spectra.right != NULL else room
        # Eigenvectors come in the place of their matrix.
        a = room + length if singular or spectra.left == NULL else left
        info = 1
        if _load(<const Real*>spectra.given
                 + place_of(spectra.sizes, spectra.steps, spectra.levels, index),
                 spectra.row_step, spectra.column_step, spectra.rows, spectra.columns, a,
                 spectra.rows):
            if singular:
                enter_library()
                info = aten_singular(
                    spectra.routine, spectra.job, spectra.rows, spectra.columns, a,
                    <Real*>spectra.values + index * values, left, spectra.rows, right,
                    max(spectra.right_rows, 1), room, length, integers)
                leave_library()
            elif Real is double:
                info = aten_eigen_of_doubles(a, spectra.rows, spectra.upper, spectra.left != NULL,
                                             <double*>spectra.values + index * values)
            else:
                info = aten_eigen_of_floats(a, spectra.rows, spectra.upper, spectra.left != NULL,
                                            <float*>spectra.values + index * values)
        if info != 0:
            spectra.declined = 1
            break
    free(room)


cdef void _minimize_range(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Spectra* spectra = <Spectra*>context
    if spectra.wide:
        _minimize(spectra, begin, end, <double>spectra.ratio)
    else:
        _minimize(spectra, begin, end, <float>spectra.ratio)


cdef void _minimize(Spectra* spectra, int64_t begin, int64_t end, Real ratio) noexcept nogil:
    cdef int64_t pivots[SIDE]
    cdef int64_t rows = spectra.rows, columns = spectra.columns, width = spectra.width
    cdef int64_t most = max(rows, columns), side = max(most, width), index, place, column, info
    cdef int64_t length = SQUARES * side * side + BLOCKS * side
    cdef Real* room = <Real*>malloc((length + rows * columns + most * width) * sizeof(Real))
    cdef Real* a = room + length
    cdef Real* b = a + rows * columns
    cdef Real* out
    if room == NULL:
        spectra.declined = 1
        return
    for index in range(begin, end):
        for place in range(most * width):
            b[place] = 0
        for place in range(columns):
            pivots[place] = 0
        info = 1
        if _load(<const Real*>spectra.given
                 + place_of(spectra.sizes, spectra.steps, spectra.levels, index),
                 spectra.row_step, spectra.column_step, rows, columns, a, rows) and _load(
                     <const Real*>spectra.given_right
                     + place_of(spectra.sizes, spectra.right_steps, spectra.levels, index),
                     spectra.right_row_step, spectra.right_column_step, rows, width, b, most):
            enter_library()
            info = aten_least(spectra.routine, rows, columns, width, a, b, most, pivots, &ratio,
                              &spectra.ranks[index], room, length)
            leave_library()
        if info != 0:
            spectra.declined = 1
            break
        out = <Real*>spectra.left + index * most * width
        for column in range(width):
            for place in range(columns):
                out[column * most + place] = b[column * most + place]
    free(room)


cdef bint _load(const Real* given, int64_t row_step, int64_t column_step, int64_t rows,
                int64_t columns, Real* a, int64_t leading) noexcept nogil:
    """Copies a matrix column after column; returns whether it is finite."""
    cdef int64_t row, column
    cdef Real x, differences = 0
    for column in range(columns):
        for row in range(rows):
            x = given[row * row_step + column * column_step]
            a[column * leading + row] = x
            differences += x - x
    return differences == 0


cdef Tensor _nothing(TensorImpl matrix):
    cdef int64_t size = 0
    return make_contiguous(matrix.dtype_code, 1, &size, CPU, matrix.device_index)


cdef object _eigen(TensorImpl matrix, PyObject* triangle, bint vectors):
    cdef Spectra spectra
    cdef Tensor values, made = None
    letter = <object>triangle
    if not _begin(&spectra, matrix) or spectra.rows != spectra.columns or letter not in (
            "L", "U", "l", "u"):
        return None
    spectra.upper = letter in "Uu"
    values = numbers_like(matrix, matrix.dtype_code, spectra.rows)
    spectra.values = data_pointer(values)
    if vectors:
        made = columns_like(matrix, spectra.rows, spectra.rows)
        spectra.left = data_pointer(made)
        spectra.left_columns = spectra.rows
    if not _run(&spectra, matrix):
        return None
    return values, made


cdef object _eigh_parts(TensorImpl matrix, PyObject** stack, object address_of):
    cdef bint vectors = False
    if not reads_flag(stack[2], &vectors):
        return None
    made = _eigen(matrix, stack[1], vectors)
    if made is None or vectors:
        return made
    return made[0], _nothing(matrix)


cdef object _eigh(TensorImpl matrix, PyObject** stack, object address_of):
    return _eigen(matrix, stack[1], True)


cdef object _eigvalsh(TensorImpl matrix, PyObject** stack, object address_of):
    made = _eigen(matrix, stack[1], False)
    return None if made is None else made[0]


cdef object _singular(TensorImpl matrix, bint full, bint vectors, PyObject* driver,
                      object address_of):
    cdef Spectra spectra
    cdef Tensor values, left = None, right = None
    cdef int64_t least
    if not _begin(&spectra, matrix) or driver != <PyObject*>None:
        return None
    # Wide matrices' vectors have signs that come about in another way.
    if vectors and spectra.rows < spectra.columns:
        return None
    least = min(spectra.rows, spectra.columns)
    spectra.job = c"N" if not vectors else c"A" if full else c"S"
    values = numbers_like(matrix, matrix.dtype_code, least)
    spectra.values = data_pointer(values)
    if vectors:
        spectra.left_columns = spectra.rows if full else least
        spectra.right_rows = spectra.columns if full else least
        left = columns_like(matrix, spectra.rows, spectra.left_columns)
        right = columns_like(matrix, spectra.right_rows, spectra.columns)
        spectra.left, spectra.right = data_pointer(left), data_pointer(right)
    _find_routine(&spectra, address_of, "gesdd")
    if not _run(&spectra, matrix):
        return None
    return left, values, right


cdef object _svd_parts(TensorImpl matrix, PyObject** stack, object address_of):
    cdef bint full = False, vectors = False
    if not reads_flag(stack[1], &full) or not reads_flag(stack[2], &vectors):
        return None
    made = _singular(matrix, full, vectors, stack[3], address_of)
    if made is None or vectors:
        return made
    return _nothing(matrix), made[1], _nothing(matrix)


cdef object _svd(TensorImpl matrix, PyObject** stack, object address_of):
    cdef bint full = False
    if not reads_flag(stack[1], &full):
        return None
    return _singular(matrix, full, True, stack[2], address_of)


cdef object _svdvals(TensorImpl matrix, PyObject** stack, object address_of):
    made = _singular(matrix, False, False, stack[1], address_of)
    return None if made is None else made[1]


cdef object _lstsq(TensorImpl matrix, PyObject** stack, object address_of):
    """The solution, of whatever rank, which is told; residuals and singular values are not."""
    cdef Spectra spectra
    cdef TensorImpl right
    cdef Tensor made, ranks
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t step, most
    cdef int dim, rank = matrix.rank
    if not is_ordinary(stack[1]) or stack[2] != <PyObject*>None or not _begin(&spectra, matrix):
        return None
    if stack[3] != <PyObject*>None and <object>stack[3] != "gelsy":
        return None
    right = <TensorImpl>stack[1]
    if right.rank != rank or right.dtype_code != matrix.dtype_code or right.sizes[rank - 1] > SIDE:
        return None
    for dim in range(rank - 1):
        if right.sizes[dim] != matrix.sizes[dim]:
            return None
        spectra.right_steps[dim] = right.strides[dim]
    spectra.width = right.sizes[rank - 1]
    spectra.right_row_step = right.strides[rank - 2]
    spectra.right_column_step = right.strides[rank - 1]
    most = max(spectra.rows, spectra.columns)
    spectra.ratio = most * (DBL_EPSILON if spectra.wide else <double>FLT_EPSILON)
    # Where there are more equations than unknowns, the columns lie as far apart as the given ones.
    step = most * spectra.width
    for dim in range(rank - 3, -1, -1):
        sizes[dim], strides[dim] = matrix.sizes[dim], step
        step *= matrix.sizes[dim]
    sizes[rank - 2], sizes[rank - 1] = spectra.columns, spectra.width
    strides[rank - 2], strides[rank - 1] = 1, most
    made = make_strided(matrix.dtype_code, rank, sizes, strides, CPU, matrix.device_index)
    ranks = numbers_like(matrix, INT64, -1)
    spectra.left = data_pointer(made)
    spectra.ranks = <int64_t*>data_pointer(ranks)
    spectra.given_right = const_data_pointer(right)
    _find_routine(&spectra, address_of, "gelsy")
    if not _run(&spectra, matrix):
        return None
    return made, _nothing(matrix), ranks, _nothing(matrix)


cdef dict _FUNCTIONS = {
    "lstsq": <size_t>_lstsq,
    "eigh_parts": <size_t>_eigh_parts,
    "eigh": <size_t>_eigh,
    "eigvalsh": <size_t>_eigvalsh,
    "svd_parts": <size_t>_svd_parts,
    "svd": <size_t>_svd,
    "svdvals": <size_t>_svdvals,
}
NAMES = tuple(_FUNCTIONS)
