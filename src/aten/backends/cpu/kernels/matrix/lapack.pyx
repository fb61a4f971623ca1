# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True, freethreading_compatible=False
"""Routines of LAPACK, run on each matrix of a batch with no Python in between.

LAPACK's routines take addresses only. Stacks are row-major tensors (count, columns, rows), each
matrix column after column, and whatever else there is one of for each matrix.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT64, dtype, item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS, int_tuple, read_sizes
from aten._core.base.strides cimport contiguous_strides, storage_extent
from aten._core.memory.storage cimport Storage, allocate
from aten._core.tensor.making cimport make_contiguous, make_tensor
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer, is_lazy
from aten.backends.cpu.kernels.matrix.libraries cimport enter_library, leave_library
from aten.backends.cpu.kernels.moving.moving cimport move_elements

cdef enum:
    # Addresses, and behind them the lengths of texts; none of LAPACK's routines takes as many.
    MOST_ARGUMENTS = 32

# The widest element, for the lengths that routines tell.
cdef size_t WIDEST = 16

# Elements of a tensor, whose bytes are a number of 64 bits even with as much again behind it.
cdef int64_t MOST_ELEMENTS = <int64_t>1 << 56

# A routine reads the arguments it has, and none of those that follow.
ctypedef void (*Routine)(
    void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*,
    void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*,
    void*, void*, void*, void*) noexcept nogil


cdef class Workspace:
    """Stands for a work array as long as the routine asks for, and its length where `told`; of
    `kind` "element", "real" or "integer"."""

    cdef readonly str kind
    cdef readonly bint told

    def __init__(self, str kind not None, bint told=True):
        self.kind = kind
        self.told = told


cdef struct Call:
    int count                               # of arguments, lengths of texts included
    void* passed[MOST_ARGUMENTS]
    int64_t steps[MOST_ARGUMENTS]           # bytes from one matrix to the next
    int64_t numbers[MOST_ARGUMENTS]         # what `passed` points to: integers and lengths
    char letters[MOST_ARGUMENTS]
    int64_t widths[MOST_ARGUMENTS]          # bytes of a workspace's elements, or 0
    int64_t codes[MOST_ARGUMENTS]           # their dtypes
    bint told[MOST_ARGUMENTS]
    void* spaces[MOST_ARGUMENTS]            # what is to be freed


def run_routine(size_t address, tuple arguments not None, Tensor info not None,
                bint reports=True):
    """Call the routine at `address` once for each matrix; returns the least it reports of one.

    Arguments are tensors on the CPU whose first dimension counts the matrices, letters, integers of
    64 bits and Workspaces. The first tensor's dtype is that of workspaces. `info` (count),
    of int64, is the last argument of routines that report.
    Raises TypeError for other arguments, MemoryError where there is none for the workspaces.
    """
    cdef Call call
    cdef int64_t index, least = 0, count = info.count
    cdef const int64_t* reported
    if info.dtype_code != INT64 or info.rank != 1 or not info.contiguous:
        raise TypeError("run_routine: expected a row of int64 for what is reported")
    memset(&call, 0, sizeof(call))
    try:
        _collect(&call, (*arguments, info) if reports else arguments, count)
        if _has_spaces(&call):
            with nogil:
                _apply(&call, <Routine>address, 0)
            _make_spaces(&call)
        with nogil:
            _run(&call, <Routine>address, count)
    finally:
        _free_spaces(&call)
    reported = <const int64_t*>const_data_pointer(info)
    for index in range(count):
        least = min(least, reported[index])
    return least


cdef int _collect(Call* call, tuple arguments, int64_t count) except -1:
    cdef int place = 0, code = -1, texts = 0
    cdef Tensor tensor
    cdef Workspace space
    for argument in arguments:
        # Two places may be filled now, and each text wants one more.
        if place + texts + 3 > MOST_ARGUMENTS:
            raise TypeError(f"run_routine: {len(arguments)} arguments are too many")
        if isinstance(argument, Tensor):
            tensor = argument
            if tensor.device_type != CPU or is_lazy(tensor) or tensor.rank == 0 or (
                    tensor.sizes[0] != count):
                raise TypeError(f"run_routine: expected tensors on the CPU for {count} matrices, "
                                f"got {list(tensor.shape)} on {tensor.device}")
            code = tensor.dtype_code if code < 0 else code
            call.passed[place] = data_pointer(tensor)
            call.steps[place] = tensor.strides[0] * item_size(tensor.dtype_code)
        elif isinstance(argument, str):
            call.letters[place] = ord(argument)
            call.passed[place] = &call.letters[place]
            texts += 1
        elif isinstance(argument, Workspace):
            space = argument
            call.codes[place] = _code_of(space.kind, code)
            call.widths[place] = item_size(<int>call.codes[place])
            call.told[place] = space.told
            call.spaces[place] = _memory(WIDEST)
            call.passed[place] = call.spaces[place]
            if space.told:
                place += 1
                call.numbers[place] = -1
                call.passed[place] = &call.numbers[place]
        else:
            call.numbers[place] = argument
            call.passed[place] = &call.numbers[place]
        place += 1
    # Fortran's compilers pass the lengths of texts behind everything else.
    for _ in range(texts):
        call.passed[place] = <void*>1
        place += 1
    call.count = place
    return 0


cdef int _code_of(str kind, int code) except -1:
    if kind == "integer":
        return INT64
    if kind == "real":
        return FLOAT32 if code in (FLOAT32, COMPLEX64) else FLOAT64
    if code not in (FLOAT32, FLOAT64, COMPLEX64, COMPLEX128):
        raise TypeError("run_routine: expected a tensor of LAPACK's types first")
    return code


cdef void* _memory(size_t size) except NULL:
    cdef void* made = PyMem_RawMalloc(size)
    if made == NULL:
        raise MemoryError()
    memset(made, 0, min(size, WIDEST))
    return made


cdef bint _has_spaces(Call* call) noexcept:
    cdef int place
    for place in range(call.count):
        if call.widths[place]:
            return True
    return False


cdef int _make_spaces(Call* call) except -1:
    """Memory as long as the routine has told, in the place of that it told it in."""
    cdef int place
    cdef int64_t length
    cdef void* made
    for place in range(call.count):
        if call.widths[place] == 0:
            continue
        length = max(1, _told_length(call.spaces[place], <int>call.codes[place]))
        made = _memory(max(<size_t>(length * call.widths[place]), WIDEST))
        PyMem_RawFree(call.spaces[place])
        call.spaces[place] = call.passed[place] = made
        if call.told[place]:
            call.numbers[place + 1] = length
    return 0


cdef int64_t _told_length(void* space, int code) noexcept:
    if code == INT64:
        return (<int64_t*>space)[0]
    if code == FLOAT32 or code == COMPLEX64:
        return <int64_t>(<float*>space)[0]
    return <int64_t>(<double*>space)[0]


cdef void _free_spaces(Call* call) noexcept:
    cdef int place
    for place in range(MOST_ARGUMENTS):
        PyMem_RawFree(call.spaces[place])


cdef void _run(Call* call, Routine routine, int64_t count) noexcept nogil:
    cdef int64_t index
    for index in range(count):
        _apply(call, routine, index)


cdef void _apply(Call* call, Routine routine, int64_t index) noexcept nogil:
    cdef void* a[MOST_ARGUMENTS]
    cdef int place
    for place in range(MOST_ARGUMENTS):
        a[place] = call.passed[place]
        if call.steps[place]:
            a[place] = <char*>a[place] + index * call.steps[place]
    enter_library()
    routine(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
            a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25],
            a[26], a[27], a[28], a[29], a[30], a[31])
    leave_library()


cdef Tensor _make_roomy(int code, int rank, const int64_t* sizes, int device_type,
                        int device_index):
    """A row-major tensor with memory behind its last element that nobody sees.

    OpenBLAS, when it scales a complex vector by zero, reads the element that would come next: one
    stride beyond the last one, which is a column where the vector is a row.
    """
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t width = item_size(code), extent, room
    cdef Storage storage
    contiguous_strides(rank, sizes, strides)
    extent = storage_extent(rank, sizes, strides)
    if extent < 0 or extent > MOST_ELEMENTS:
        raise RuntimeError(f"linear algebra: no memory for matrices of sizes "
                           f"{list(int_tuple(rank, sizes))}")
    room = 1 + sizes[rank - 1] if extent and rank else 0
    storage = allocate((extent + room) * width, device_type, device_index)
    storage.bytes = extent * width
    return make_tensor(storage, code, rank, sizes, strides, 0)


def zeros(tuple sizes not None, dtype element not None):
    """A row-major tensor of zeros on the CPU: a stack, or what there is one of for each matrix."""
    cdef int64_t values[MAXIMUM_DIMS]
    cdef int rank = <int>read_sizes(sizes, values, MAXIMUM_DIMS)
    cdef Tensor made = _make_roomy(element.code, rank, values, CPU, -1)
    if made.count:
        memset(data_pointer(made), 0, made.count * item_size(element.code))
    return made


def plain_stack(TensorImpl matrices not None):
    """The matrices (*, rows, columns) as a fresh stack; None where they are not plain memory."""
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t shape[3]
    cdef int rank = matrices.rank, dim, width = item_size(matrices.dtype_code)
    cdef Tensor made
    if matrices.device_type != CPU or is_lazy(matrices) or rank < 2:
        return None
    shape[0] = 1
    for dim in range(rank - 2):
        shape[0] *= matrices.sizes[dim]
        sizes[dim] = matrices.sizes[dim]
        strides[dim] = matrices.strides[dim]
    shape[1] = sizes[rank - 2] = matrices.sizes[rank - 1]
    shape[2] = sizes[rank - 1] = matrices.sizes[rank - 2]
    strides[rank - 2] = matrices.strides[rank - 1]
    strides[rank - 1] = matrices.strides[rank - 2]
    made = _make_roomy(matrices.dtype_code, 3, shape, CPU, matrices.device_index)
    if made.count:
        _move_into(made, rank, sizes, const_data_pointer(matrices), strides, width)
    return made


cdef void _move_into(Tensor made, int rank, const int64_t* sizes, const char* source,
                     const int64_t* strides, int width) noexcept:
    cdef int64_t dense[MAXIMUM_DIMS]
    cdef int64_t step = 1
    cdef int dim
    for dim in range(rank - 1, -1, -1):
        dense[dim] = step
        step *= sizes[dim]
    with nogil:
        move_elements(width, rank, sizes, made.storage.data, dense, source, strides)


cdef int _require_pivots(Tensor pivots) except -1:
    if pivots.dtype_code != INT64 or pivots.rank != 2 or not pivots.contiguous:
        raise TypeError("expected row-major pivots (count, k) of int64")
    return 0


def swapped_order(Tensor pivots not None, int64_t rows):
    """The row (count, rows) that ends up in each place when rows are swapped one after the other.

    `pivots` (count, k), from 1; None where they name other rows.
    """
    cdef int64_t sizes[2]
    cdef int64_t matrix, place, other, width
    cdef const int64_t* given
    cdef int64_t* order
    cdef Tensor made
    _require_pivots(pivots)
    sizes[0], sizes[1], width = pivots.sizes[0], rows, pivots.sizes[1]
    given = <const int64_t*>const_data_pointer(pivots)
    made = make_contiguous(INT64, 2, sizes, CPU, -1)
    order = <int64_t*>data_pointer(made)
    for matrix in range(sizes[0]):
        for place in range(rows):
            order[place] = place
        for place in range(width):
            other = given[place] - 1
            if other < 0 or other >= rows or place >= rows:
                return None
            order[place], order[other] = order[other], order[place]
        order += rows
        given += width
    return made


def signs_of_swaps(Tensor pivots not None):
    """1.0 for an even number of rows (count, k) that pivots swap with others, -1.0 for an odd."""
    cdef int64_t count, matrix, place, width
    cdef bint odd
    cdef const int64_t* given
    cdef double* signs
    cdef Tensor made
    _require_pivots(pivots)
    count, width = pivots.sizes[0], pivots.sizes[1]
    given = <const int64_t*>const_data_pointer(pivots)
    made = make_contiguous(FLOAT64, 1, &count, CPU, -1)
    signs = <double*>data_pointer(made)
    for matrix in range(count):
        odd = False
        for place in range(width):
            odd ^= given[matrix * width + place] != place + 1
        signs[matrix] = -1.0 if odd else 1.0
    return made
