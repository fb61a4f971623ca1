# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Elements in another order, repeated, framed, or taken by their place in a matrix: always copies.

Each is a few moves between strided places. A function here returns None for arguments that the
operator's Python function refuses or answers in another way.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from aten._core.base.device cimport CPU, PRESERVE_FORMAT
from aten._core.base.dtypes cimport BFLOAT16, BOOL, COMPLEX32, FLOAT32, FLOAT64, item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.python_numbers cimport write_element
from aten._core.tensor.given cimport reads_integer
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, is_lazy
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.filling.factories cimport empty_as
from aten.backends.cpu.kernels.moving.framing cimport (
    CIRCULAR, CONSTANT, REFLECT, REPLICATE, write_framed,
)
from aten.backends.cpu.kernels.moving.moving cimport fill_elements, move_elements
from aten.backends.cpu.kernels.moving.pixels cimport (blocks_added, columns_of_blocks,
                                                      gather_pixels, shuffle_pixels)

cdef extern from *:
    bint __builtin_mul_overflow(int64_t, int64_t, int64_t*) noexcept nogil

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyLong_CheckExact(PyObject*) noexcept
    bint PyFloat_CheckExact(PyObject*) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t) noexcept

cdef enum:
    # Dimensions that are rolled at once: each doubles the moves.
    MOST_ROLLED = 4
    # Rows that are rolled one by one: so many, and none of more bytes.
    LEAST_ROWS = 16
    MOST_ROW_BYTES = 1 << 16
    # Bytes in one chunk of work for the threads.
    GRAIN_BYTES = 1 << 17
    # From so many elements on, other Python threads may run meanwhile.
    RELEASE_ELEMENTS = 1 << 12

# Paddings beyond any dimension. No enumerator: those are computed as C's int.
cdef int64_t MOST_ADDED = <int64_t>1 << 48

ctypedef object (*Rearrangement)(TensorImpl base, PyObject** stack)


cdef class RearrangeKernel(FastPath):
    """Runs a compiled function where the tensor is an ordinary one in memory."""

    cdef Rearrangement function

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.function = <Rearrangement><size_t>_FUNCTIONS[native]

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl base
        if Py_TYPE(stack[0]) != <PyTypeObject*>Tensor:
            return None
        base = <TensorImpl>stack[0]
        if base.device_type != CPU or is_lazy(base):
            return None
        return self.function(base, stack)


cdef inline Py_ssize_t _read_ints(PyObject* values, int64_t* numbers) except -2:
    """How many ordinary integers `values` has; -1 where it is something else, or too long."""
    cdef Py_ssize_t count, place
    if not PyTuple_CheckExact(values):
        return -1
    count = PyTuple_GET_SIZE(values)
    if count > MAXIMUM_DIMS:
        return -1
    for place in range(count):
        if not reads_integer(PyTuple_GET_ITEM(values, place), &numbers[place]):
            return -1
    return count


cdef inline int _place(int64_t dim, int rank) noexcept:
    """`dim` counted from the front; -1 where it is out of range."""
    cdef int bound = rank if rank > 0 else 1
    if dim < -bound or dim >= bound:
        return -1
    return <int>(dim + bound if dim < 0 else dim)


cdef void _move(TensorImpl out, int width, int rank, const int64_t* sizes, char* target,
                const int64_t* target_strides, const char* source,
                const int64_t* source_strides) noexcept:
    """The elements of `out`, all of them: of few, other Python threads wait for the end."""
    if out.count < RELEASE_ELEMENTS:
        move_elements(width, rank, sizes, target, target_strides, source, source_strides)
        return
    with nogil:
        move_elements(width, rank, sizes, target, target_strides, source, source_strides)


cdef object _flip(TensorImpl base, PyObject** stack):
    cdef int64_t dims[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef bint reversed_dims[MAXIMUM_DIMS]
    cdef Py_ssize_t count = _read_ints(stack[1], dims), place
    cdef int64_t shift = 0
    cdef int dim, width = item_size(base.dtype_code)
    cdef const char* source
    cdef Tensor out
    if count < 0:
        return None
    for dim in range(base.rank):
        strides[dim] = base.strides[dim]
        reversed_dims[dim] = False
    for place in range(count):
        dim = _place(dims[place], base.rank)
        if dim < 0 or base.rank == 0 or reversed_dims[dim]:
            return None
        reversed_dims[dim] = True
        shift += (base.sizes[dim] - 1) * base.strides[dim]
        strides[dim] = -base.strides[dim]
    out = empty_as(base, base.dtype_code, CPU, base.device_index, PRESERVE_FORMAT)
    if out.count == 0:
        return out
    source = const_data_pointer(base) + shift * width
    _move(out, width, out.rank, out.sizes, out.storage.data, out.strides, source, strides)
    return out


cdef object _roll(TensorImpl base, PyObject** stack):
    cdef int64_t shifts[MAXIMUM_DIMS]
    cdef int64_t dims[MAXIMUM_DIMS]
    cdef int64_t starts[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef Py_ssize_t count = _read_ints(stack[1], shifts), place
    cdef int dim, rolled = 0
    cdef Tensor out
    if count < 1 or base.count == 0:
        return None
    if PyTuple_CheckExact(stack[2]) and PyTuple_GET_SIZE(stack[2]) == 0:
        if count != 1 or not base.contiguous:
            return None
        out = make_contiguous(base.dtype_code, base.rank, base.sizes, CPU, base.device_index)
        starts[0] = _before(shifts[0], out.count)
        shifts[0] = 1
        _roll_into(out, const_data_pointer(base), 1, &out.count, shifts, starts)
        return out
    if _read_ints(stack[2], dims) != count or base.rank == 0:
        return None
    # Images keep their channels last, and pieces of them may lie otherwise than the whole.
    if (base.rank == 4 or base.rank == 5) and not base.contiguous:
        return None
    for dim in range(base.rank):
        starts[dim] = 0
    for place in range(count):
        dim = _place(dims[place], base.rank)
        if dim < 0:
            return None
        starts[dim] = _before(shifts[place] - starts[dim], base.sizes[dim])
    for dim in range(base.rank):
        rolled += starts[dim] != 0
    if rolled > MOST_ROLLED:
        return None
    out = make_contiguous(base.dtype_code, base.rank, base.sizes, CPU, base.device_index)
    if _rolls_rows(out, base, starts):
        for dim in range(base.rank):
            shifts[dim] = (base.sizes[dim] - starts[dim]) % base.sizes[dim]
        if write_framed(out, base, shifts, CIRCULAR, NULL):
            return out
    memcpy(strides, base.strides, base.rank * sizeof(int64_t))
    _roll_into(out, const_data_pointer(base), out.rank, out.sizes, strides, starts)
    return out


cdef inline bint _rolls_rows(TensorImpl out, TensorImpl base, const int64_t* starts) noexcept:
    """Whether it is many rows of which each is rolled: at once, while its lines are at hand."""
    cdef int last = base.rank - 1
    return (starts[last] != 0 and base.strides[last] == 1
            and base.count // base.sizes[last] >= LEAST_ROWS
            and base.sizes[last] * item_size(base.dtype_code) <= MOST_ROW_BYTES)


cdef inline int64_t _before(int64_t shift, int64_t size) noexcept:
    """The place of the element that a shift brings to the front."""
    cdef int64_t left = shift % size
    return (size - left) % size if left >= 0 else -left


cdef void _roll_into(TensorImpl out, const char* base, int rank, const int64_t* sizes,
                     const int64_t* strides, const int64_t* starts) noexcept:
    """Every corner of the box moved to the opposite one: those of dimensions that start at 0 are
    the whole of them."""
    cdef int64_t corner[MAXIMUM_DIMS]
    cdef int64_t dense[MAXIMUM_DIMS]
    cdef int64_t source, target, stride = 1
    cdef int dim, bit, chosen, corners = 1, width = item_size(out.dtype_code)
    for dim in range(rank - 1, -1, -1):
        dense[dim] = stride
        stride *= sizes[dim]
        corners *= 2 if starts[dim] else 1
    with nogil:
        for chosen in range(corners):
            source = target = 0
            bit = 1
            for dim in range(rank):
                corner[dim] = sizes[dim]
                if starts[dim] == 0:
                    continue
                if chosen & bit:
                    corner[dim] = starts[dim]
                    target += (sizes[dim] - starts[dim]) * dense[dim]
                else:
                    corner[dim] = sizes[dim] - starts[dim]
                    source += starts[dim] * strides[dim]
                bit *= 2
            move_elements(width, rank, corner, out.storage.data + target * width, dense,
                          base + source * width, strides)


cdef object _repeat(TensorImpl base, PyObject** stack):
    cdef int64_t times[MAXIMUM_DIMS]
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t walked[2 * MAXIMUM_DIMS]
    cdef int64_t source_strides[2 * MAXIMUM_DIMS]
    cdef int64_t target_strides[2 * MAXIMUM_DIMS]
    cdef Py_ssize_t count = _read_ints(stack[1], times)
    cdef int64_t size
    cdef int leading, dim, walked_rank = 0
    cdef const char* source
    cdef Tensor out
    if count < base.rank:
        return None
    leading = <int>count - base.rank
    for dim in range(count):
        size = base.sizes[dim - leading] if dim >= leading else 1
        if times[dim] < 0 or __builtin_mul_overflow(size, times[dim], &sizes[dim]):
            return None
    out = make_contiguous(base.dtype_code, <int>count, sizes, CPU, base.device_index)
    if out.count == 0:
        return out
    # Each dimension that is repeated becomes two: which copy, and where in it.
    for dim in range(count):
        size = base.sizes[dim - leading] if dim >= leading else 1
        if times[dim] > 1:
            walked[walked_rank] = times[dim]
            source_strides[walked_rank] = 0
            target_strides[walked_rank] = size * out.strides[dim]
            walked_rank += 1
        if size > 1:
            walked[walked_rank] = size
            source_strides[walked_rank] = base.strides[dim - leading]
            target_strides[walked_rank] = out.strides[dim]
            walked_rank += 1
    if walked_rank > MAXIMUM_DIMS:
        return None
    source = const_data_pointer(base)
    _move(out, item_size(out.dtype_code), walked_rank, walked, out.storage.data, target_strides,
          source, source_strides)
    return out


# Triangles

cdef struct Triangle:
    char* target
    const char* source          # row-major; NULL: what stays is there already
    int64_t rows
    int64_t columns
    int64_t diagonal
    int width
    bint lower


cdef void _cut_rows(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Triangle* triangle = <Triangle*>context
    cdef int64_t row_bytes = triangle.columns * triangle.width, row, bound, first, last
    cdef char* target
    for row in range(begin, end):
        bound = row % triangle.rows + triangle.diagonal + triangle.lower
        bound = max(0, min(bound, triangle.columns)) * triangle.width
        first = 0 if triangle.lower else bound
        last = bound if triangle.lower else row_bytes
        target = triangle.target + row * row_bytes
        memset(target, 0, first)
        if triangle.source != NULL:
            memcpy(target + first, triangle.source + row * row_bytes + first, last - first)
        memset(target + last, 0, row_bytes - last)


cdef object _triangle_of(TensorImpl base, PyObject** stack, bint lower):
    cdef Triangle triangle
    cdef Tensor out
    cdef int code = base.dtype_code, width = item_size(code)
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef const char* source
    cdef int64_t rows
    if base.rank < 2 or not reads_integer(stack[1], &triangle.diagonal):
        return None
    if base.count and not (code <= BOOL or code == BFLOAT16):
        return None
    out = make_contiguous(code, base.rank, base.sizes, CPU, base.device_index)
    if out.count == 0:
        return out
    triangle.rows = base.sizes[base.rank - 2]
    triangle.columns = base.sizes[base.rank - 1]
    # Beyond the matrix's corners nothing changes any more, and sums stay within int64.
    triangle.diagonal = max(-triangle.rows - 1, min(triangle.diagonal, triangle.columns + 1))
    triangle.width = width
    triangle.lower = lower
    triangle.target = out.storage.data
    triangle.source = const_data_pointer(base) if base.contiguous else NULL
    rows = base.count // triangle.columns
    memcpy(strides, base.strides, base.rank * sizeof(int64_t))
    source = const_data_pointer(base)
    with nogil:
        if triangle.source == NULL:
            move_elements(width, out.rank, out.sizes, out.storage.data, out.strides, source,
                          strides)
        parallel_for(rows, max(1, GRAIN_BYTES // (triangle.columns * width)), _cut_rows,
                     &triangle)
    return out


cdef object _tril(TensorImpl base, PyObject** stack):
    return _triangle_of(base, stack, True)


cdef object _triu(TensorImpl base, PyObject** stack):
    return _triangle_of(base, stack, False)


# Frames

cdef bint _fits(PyObject* value, int code) noexcept:
    """Whether a number surely has its value, or its rounding, in the type."""
    if PyFloat_CheckExact(value):
        return code == FLOAT32 or code == FLOAT64
    return PyLong_CheckExact(value) and (<object>value is _ZERO)


cdef object _ZERO = 0


cdef object _pad(TensorImpl base, PyObject** stack):
    """Two counts for each dimension, the last one first; negative ones crop."""
    cdef int64_t counts[MAXIMUM_DIMS]
    cdef int64_t before[MAXIMUM_DIMS]
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef char element[16]
    cdef Py_ssize_t count = _read_ints(stack[1], counts)
    cdef int64_t after
    cdef int dim, place
    cdef bint grows = False
    cdef Tensor out
    if count < 0 or count % 2 or count > 2 * base.rank or not _fits(stack[2], base.dtype_code):
        return None
    # Images keep their channels last.
    if (base.rank == 4 or base.rank == 5) and not base.contiguous:
        return None
    for dim in range(base.rank):
        before[dim] = 0
        sizes[dim] = base.sizes[dim]
        place = 2 * (base.rank - 1 - dim)
        if place >= count:
            continue
        before[dim], after = counts[place], counts[place + 1]
        if max(before[dim], after) > MOST_ADDED or min(before[dim], after) < -MOST_ADDED:
            return None
        grows = grows or before[dim] > 0 or after > 0
        sizes[dim] += before[dim] + after
        if base.sizes[dim] + min(before[dim], 0) + min(after, 0) < 0:
            return None
    if not grows:
        return None
    out = make_contiguous(base.dtype_code, base.rank, sizes, CPU, base.device_index)
    write_element(element, base.dtype_code, <object>stack[2])
    return out if write_framed(out, base, before, CONSTANT, element) else None


cdef object _bordered(TensorImpl base, PyObject** stack, int mode, int rank):
    """Two counts for each of the last dimensions, the last one first, of elements of its own; a
    rank of 0 stands for any number of dimensions, and a row-major result."""
    cdef int64_t counts[MAXIMUM_DIMS]
    cdef int64_t before[MAXIMUM_DIMS]
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef Py_ssize_t count = _read_ints(stack[1], counts)
    cdef int64_t after
    cdef int dim, place
    cdef Tensor out
    if count < 2 or count % 2 or base.rank <= count // 2:
        return None
    if rank and (count != 2 * rank or base.rank > rank + 2 or base.dtype_code == COMPLEX32
                 or base.dtype_code >= BOOL and base.dtype_code != BFLOAT16):
        return None
    # Images keep their channels last.
    if rank and (base.rank == 4 or base.rank == 5) and not base.contiguous:
        return None
    for dim in range(base.rank):
        before[dim] = 0
        sizes[dim] = base.sizes[dim]
        place = 2 * (base.rank - 1 - dim)
        if place < count:
            before[dim], after = counts[place], counts[place + 1]
            # Cropping takes other ways, and so does what is refused.
            if min(before[dim], after) < 0 or max(before[dim], after) > MOST_ADDED:
                return None
            if mode != REPLICATE and (
                    max(before[dim], after) > base.sizes[dim] - (mode == REFLECT)):
                return None
            sizes[dim] += before[dim] + after
        if base.sizes[dim] == 0 or sizes[dim] >= MOST_ADDED:
            return None
    out = make_contiguous(base.dtype_code, base.rank, sizes, CPU, base.device_index)
    return out if write_framed(out, base, before, mode, NULL) else None


cdef object _reflect_line(TensorImpl base, PyObject** stack):
    return _bordered(base, stack, REFLECT, 1)


cdef object _reflect_plane(TensorImpl base, PyObject** stack):
    return _bordered(base, stack, REFLECT, 2)


cdef object _reflect_volume(TensorImpl base, PyObject** stack):
    return _bordered(base, stack, REFLECT, 3)


cdef object _replicate_line(TensorImpl base, PyObject** stack):
    return _bordered(base, stack, REPLICATE, 1)


cdef object _replicate_plane(TensorImpl base, PyObject** stack):
    return _bordered(base, stack, REPLICATE, 2)


cdef object _replicate_volume(TensorImpl base, PyObject** stack):
    return _bordered(base, stack, REPLICATE, 3)


cdef object _go_round(TensorImpl base, PyObject** stack):
    return _bordered(base, stack, CIRCULAR, 0)


cdef dict _FUNCTIONS = {
    "flip": <size_t>_flip,
    "roll": <size_t>_roll,
    "repeat": <size_t>_repeat,
    "col2im": <size_t>blocks_added,
    "im2col": <size_t>columns_of_blocks,
    "pixel_shuffle": <size_t>shuffle_pixels,
    "pixel_unshuffle": <size_t>gather_pixels,
    "tril": <size_t>_tril,
    "triu": <size_t>_triu,
    "constant_pad": <size_t>_pad,
    "reflection_pad1d": <size_t>_reflect_line,
    "reflection_pad2d": <size_t>_reflect_plane,
    "reflection_pad3d": <size_t>_reflect_volume,
    "replication_pad1d": <size_t>_replicate_line,
    "replication_pad2d": <size_t>_replicate_plane,
    "replication_pad3d": <size_t>_replicate_volume,
    "circular_pad": <size_t>_go_round,
}
NAMES = tuple(_FUNCTIONS)
