# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Pooling over windows of one to three spatial dimensions.

A window is given by where it begins and ends in each dimension, so that all kinds of pooling are
one loop. Lines of results are shared out over the threads.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t, uint8_t

from aten._core.device cimport CPU
from aten._core.dtypes cimport (FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, UINT8, item_size)
from aten._core.parallel cimport Task, parallel_for
from aten._core.tensor cimport Tensor, TensorImpl, data_pointer

cdef enum:
    SPATIAL = 3
    # Elements looked at in one chunk of work for the threads, and from how many on other Python
    # threads may run meanwhile.
    GRAIN = 32768
    RELEASE_THRESHOLD = 32768

ctypedef fused Element:
    float
    double
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef fused Real:
    float
    double

ctypedef fused Averaged:
    float
    double
    int64_t

cdef struct Pool:
    int code
    char* data
    char* out
    int64_t* indices                # NULL: not wanted
    int64_t channels
    int64_t batch_stride            # in elements
    int64_t channel_stride
    int64_t sizes[SPATIAL]          # of the input
    int64_t strides[SPATIAL]
    int64_t results[SPATIAL]        # sizes of the result
    int64_t steps[SPATIAL]          # between the elements of a window
    int64_t* begins[SPATIAL]
    int64_t* ends[SPATIAL]
    int64_t* extents[SPATIAL]
    int64_t divisor                 # 0: the product of the extents
    bint apart                      # each plane has windows of its own, one after the other

cdef struct Spreading:
    const char* values
    char* out
    const int64_t* indices
    int64_t count                   # values in a plane
    int64_t size                    # elements of the result's
    bint accumulates
    int width                       # bytes of an element


def max_pool(Tensor input not None, Tensor out not None, Tensor indices, begins, ends, steps,
             bint apart=False):
    """The largest element of each window of `input` (N, C, *) to `out`, which is row-major.

    A NaN is larger than all numbers. `indices`, int64 and row-major, gets its position in the
    plane, counted in rows. For each spatial dimension, `begins` and `ends` have one number per
    result, `steps` the distance of a window's elements; if `apart`, each plane has numbers of its
    own, one plane's after the other's. Raises NotImplementedError for element types that are not
    ordered.
    """
    cdef Pool pool
    cdef list memory = []
    if not _is_ordered(input.dtype_code):
        raise NotImplementedError(
            f"\"max_pool2d\" not implemented for '{input.dtype.scalar_type_name}'")
    _prepare(&pool, input, out, memory, begins, ends, None, steps)
    pool.indices = NULL if indices is None else <int64_t*>data_pointer(indices)
    pool.apart = apart
    _run(&pool, out.count, _find_lines)
    out.storage.version += 1


def average_pool(Tensor input not None, Tensor out not None, begins, ends, extents,
                 int64_t divisor):
    """The sum of each window of `input` (N, C, *), divided, to `out`, which is row-major.

    The divisor is the product of the window's `extents`, unless `divisor` is not zero. Integers
    drop what follows the point. Raises NotImplementedError for other element types than float32,
    float64 and int64.
    """
    cdef Pool pool
    cdef list memory = []
    if input.dtype_code not in (FLOAT32, FLOAT64, INT64):
        raise NotImplementedError(
            f"\"avg_pool2d\" not implemented for '{input.dtype.scalar_type_name}'")
    _prepare(&pool, input, out, memory, begins, ends, extents, [1] * len(begins))
    pool.divisor = divisor
    _run(&pool, out.count, _average_lines)
    out.storage.version += 1


def average_pool_backward(Tensor gradient not None, Tensor out not None, begins, ends, extents,
                          int64_t divisor):
    """Add each element of `gradient`, divided, to its window of `out`; both (N, C, *), row-major.

    The arguments are those of `average_pool`. Takes float32, float64 and int64.
    """
    cdef Pool pool
    cdef list memory = []
    cdef int64_t planes
    _prepare(&pool, out, gradient, memory, begins, ends, extents, [1] * len(begins))
    pool.divisor = divisor
    planes = out.sizes[0] * out.sizes[1]
    if gradient.count == 0:
        return
    with nogil:
        parallel_for(planes, max(1, GRAIN // (gradient.count // planes)), _spread_averages, &pool)
    out.storage.version += 1


def spread_planes(Tensor values not None, Tensor indices not None, Tensor out not None,
                  bint accumulates):
    """Write, or add, `values` (planes, count) to the places `indices`, int64, in `out` (planes, *).

    All are row-major; adding takes float32 and float64. Raises RuntimeError for an index out of
    range, and leaves `out` as it is.
    """
    cdef Spreading work
    cdef int64_t planes = values.sizes[0], place, index
    cdef const int64_t* listed = <const int64_t*>data_pointer(indices)
    if values.count == 0:
        return
    work.values = data_pointer(values)
    work.out = data_pointer(out)
    work.indices = listed
    work.count = values.count // planes
    work.size = out.count // planes
    work.accumulates = accumulates
    work.width = item_size(values.dtype_code)
    for place in range(values.count):
        index = listed[place]
        if not 0 <= index < work.size:
            raise RuntimeError(f"Found an invalid max index: {index} (output volumes are of size "
                               f"{work.size})")
    with nogil:
        parallel_for(planes, max(1, GRAIN // work.count), _spread_planes, &work)
    out.storage.version += 1


cdef void _spread_planes(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Planes begin … end."""
    cdef const Spreading* work = <const Spreading*>context
    if work.width == 4:
        if work.accumulates:
            _add_at(work, begin, end, <float*>work.out)
        else:
            _put_at(work, begin, end, <float*>work.out)
    elif work.accumulates:
        _add_at(work, begin, end, <double*>work.out)
    else:
        _put_at(work, begin, end, <double*>work.out)


cdef void _add_at(const Spreading* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    cdef int64_t plane, place
    for plane in range(begin, end):
        for place in range(plane * work.count, (plane + 1) * work.count):
            out[plane * work.size + work.indices[place]] += (<const Real*>work.values)[place]


cdef void _put_at(const Spreading* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    cdef int64_t plane, place
    for plane in range(begin, end):
        for place in range(plane * work.count, (plane + 1) * work.count):
            out[plane * work.size + work.indices[place]] = (<const Real*>work.values)[place]


cdef inline bint _is_ordered(int code) noexcept:
    return code == UINT8 or INT8 <= code <= INT64 or code == FLOAT32 or code == FLOAT64


cdef class _Numbers:
    """A C array of a sequence's integers."""

    cdef int64_t* values

    def __cinit__(self, sequence):
        cdef Py_ssize_t count = len(sequence), index
        self.values = <int64_t*>PyMem_Malloc((count + 1) * sizeof(int64_t))
        if self.values == NULL:
            raise MemoryError()
        for index in range(count):
            self.values[index] = sequence[index]

    def __dealloc__(self):
        PyMem_Free(self.values)


cdef int64_t* _numbers(sequence, list memory) except NULL:
    cdef _Numbers made = _Numbers(sequence)
    memory.append(made)
    return made.values


cdef int _prepare(Pool* pool, TensorImpl input, TensorImpl out, list memory, begins, ends, extents,
                  steps) except -1:
    cdef int dim, source
    cdef int rank = input.rank - 2
    cdef int64_t planes = input.sizes[0] * input.sizes[1]
    if input.device_type != CPU:
        raise NotImplementedError(f"pooling: there are no compiled loops for {input.device}")
    pool.code = input.dtype_code
    pool.data = data_pointer(input)
    pool.out = data_pointer(out)
    pool.indices = NULL
    pool.channels = input.sizes[1]
    pool.batch_stride = input.strides[0]
    pool.channel_stride = input.strides[1]
    pool.divisor = 0
    pool.apart = False
    for dim in range(SPATIAL):
        source = dim - (SPATIAL - rank)
        pool.sizes[dim] = input.sizes[source + 2] if source >= 0 else 1
        pool.strides[dim] = input.strides[source + 2] if source >= 0 else 0
        pool.results[dim] = out.sizes[source + 2] if source >= 0 else 1
        pool.steps[dim] = steps[source] if source >= 0 else 1
        pool.begins[dim] = _numbers(begins[source] if source >= 0 else (0,) * planes, memory)
        pool.ends[dim] = _numbers(ends[source] if source >= 0 else (1,) * planes, memory)
        pool.extents[dim] = _numbers(
            (1,) * pool.results[dim] if extents is None or source < 0 else extents[source], memory)
    return 0


cdef int _run(Pool* pool, int64_t count, Task lines) except -1:
    """Lines of results, all of them; each is a row of one channel of one image."""
    cdef int64_t width = pool.results[2], looked, index
    cdef int dim
    if count == 0:
        return 0
    looked = 1
    for dim in range(SPATIAL):
        index = pool.results[dim] // 2
        looked *= max(1, (pool.ends[dim][index] - pool.begins[dim][index]) // pool.steps[dim])
    if count * looked < RELEASE_THRESHOLD:
        lines(pool, 0, count // width)
        return 0
    with nogil:
        parallel_for(count // width, max(1, GRAIN // (looked * width)), lines, pool)
    return 0


cdef inline void _locate(const Pool* pool, int64_t line, int64_t* offset, int64_t* z,
                         int64_t* y) noexcept nogil:
    """The plane a line belongs to, as an offset in the input, and the line's place there."""
    cdef int64_t plane = line // (pool.results[0] * pool.results[1])
    z[0] = line // pool.results[1] % pool.results[0]
    y[0] = line % pool.results[1]
    offset[0] = (plane // pool.channels * pool.batch_stride
                 + plane % pool.channels * pool.channel_stride)


cdef void _find_lines(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Lines begin … end of the result."""
    cdef const Pool* pool = <const Pool*>context
    if pool.code == FLOAT32:
        _find_largest(pool, begin, end, <float*>pool.out)
    elif pool.code == FLOAT64:
        _find_largest(pool, begin, end, <double*>pool.out)
    elif pool.code == UINT8:
        _find_largest(pool, begin, end, <uint8_t*>pool.out)
    elif pool.code == INT8:
        _find_largest(pool, begin, end, <int8_t*>pool.out)
    elif pool.code == INT16:
        _find_largest(pool, begin, end, <int16_t*>pool.out)
    elif pool.code == INT32:
        _find_largest(pool, begin, end, <int32_t*>pool.out)
    else:
        _find_largest(pool, begin, end, <int64_t*>pool.out)


cdef void _find_largest(const Pool* pool, int64_t begin, int64_t end, Element* out) noexcept nogil:
    cdef int64_t line, x, offset, row, column, plane
    for line in range(begin, end):
        _locate(pool, line, &offset, &row, &column)
        plane = line // (pool.results[0] * pool.results[1]) if pool.apart else 0
        for x in range(pool.results[2]):
            out[line * pool.results[2] + x] = _largest(
                pool, <Element*>pool.data + offset, row + plane * pool.results[0],
                column + plane * pool.results[1], x + plane * pool.results[2],
                NULL if pool.indices == NULL else pool.indices + line * pool.results[2] + x)


cdef inline Element _lowest(Element unused) noexcept nogil:
    """What a window gives that dilation leads past the only elements there are."""
    if Element is float or Element is double:
        return -INFINITY
    elif Element is uint8_t:
        return 0
    else:
        return <Element>(<uint64_t>1 << (8 * sizeof(Element) - 1))


cdef inline bint _is_nan(Element value) noexcept nogil:
    if Element is float or Element is double:
        return value != value
    else:
        return False


cdef inline Element _largest(const Pool* pool, const Element* plane, int64_t row, int64_t column,
                             int64_t x, int64_t* position) noexcept nogil:
    cdef int64_t i, j, k
    cdef int64_t first = pool.begins[0][row], second = pool.begins[1][column]
    cdef int64_t third = pool.begins[2][x]
    cdef int64_t found = (first * pool.sizes[1] + second) * pool.sizes[2] + third
    cdef const Element* line
    cdef Element largest = _lowest(<Element>0)
    cdef Element value
    i = first
    while i < pool.ends[0][row]:
        j = second
        while j < pool.ends[1][column]:
            line = plane + i * pool.strides[0] + j * pool.strides[1]
            k = third
            while k < pool.ends[2][x]:
                value = line[k * pool.strides[2]]
                if value > largest or _is_nan(value):
                    largest = value
                    found = (i * pool.sizes[1] + j) * pool.sizes[2] + k
                k += pool.steps[2]
            j += pool.steps[1]
        i += pool.steps[0]
    if position != NULL:
        position[0] = found
    return largest


cdef void _average_lines(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Lines begin … end of the result."""
    cdef const Pool* pool = <const Pool*>context
    if pool.code == FLOAT32:
        _average(pool, begin, end, <float*>pool.out)
    elif pool.code == FLOAT64:
        _average(pool, begin, end, <double*>pool.out)
    else:
        _average(pool, begin, end, <int64_t*>pool.out)


cdef void _average(const Pool* pool, int64_t begin, int64_t end, Averaged* out) noexcept nogil:
    cdef const Averaged* plane
    cdef int64_t line, x, offset, row, column, divisor
    for line in range(begin, end):
        _locate(pool, line, &offset, &row, &column)
        plane = <Averaged*>pool.data + offset
        for x in range(pool.results[2]):
            divisor = pool.divisor
            if divisor == 0:
                divisor = (pool.extents[0][row] * pool.extents[1][column] * pool.extents[2][x])
            out[line * pool.results[2] + x] = _total(pool, plane, row, column, x) / divisor


cdef inline Averaged _total(const Pool* pool, const Averaged* plane, int64_t row, int64_t column,
                            int64_t x) noexcept nogil:
    cdef int64_t i, j, k
    cdef const Averaged* line
    cdef Averaged total = 0
    for i in range(pool.begins[0][row], pool.ends[0][row]):
        for j in range(pool.begins[1][column], pool.ends[1][column]):
            line = plane + i * pool.strides[0] + j * pool.strides[1]
            for k in range(pool.begins[2][x], pool.ends[2][x]):
                total += line[k * pool.strides[2]]
    return total


cdef void _spread_averages(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Planes begin … end of the gradient."""
    cdef const Pool* pool = <const Pool*>context
    if pool.code == FLOAT32:
        _spread_average(pool, begin, end, <const float*>pool.out)
    elif pool.code == FLOAT64:
        _spread_average(pool, begin, end, <const double*>pool.out)
    else:
        _spread_average(pool, begin, end, <const int64_t*>pool.out)


cdef void _spread_average(const Pool* pool, int64_t begin, int64_t end,
                          const Averaged* gradient) noexcept nogil:
    cdef int64_t lines = pool.results[0] * pool.results[1]
    cdef int64_t line, x, i, j, k, offset, row, column, divisor
    cdef Averaged share
    cdef Averaged* target
    for line in range(begin * lines, end * lines):
        _locate(pool, line, &offset, &row, &column)
        for x in range(pool.results[2]):
            divisor = pool.divisor
            if divisor == 0:
                divisor = pool.extents[0][row] * pool.extents[1][column] * pool.extents[2][x]
            share = gradient[line * pool.results[2] + x] / divisor
            for i in range(pool.begins[0][row], pool.ends[0][row]):
                for j in range(pool.begins[1][column], pool.ends[1][column]):
                    target = (<Averaged*>pool.data + offset + i * pool.strides[0]
                              + j * pool.strides[1])
                    for k in range(pool.begins[2][x], pool.ends[2][x]):
                        target[k * pool.strides[2]] += share
