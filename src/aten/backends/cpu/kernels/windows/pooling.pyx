# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Pooling over windows of one to three spatial dimensions.

A window is given by where it begins and ends in each dimension, so that all kinds of pooling are
one loop; `Windows` are made once for many calls. Lines of results are shared out over the threads.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.pyport cimport PY_SSIZE_T_MAX
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from aten._core.base.bounded cimport wide_index, within
from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, UINT8, item_size
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, require_memory)
from aten._core.threads.parallel cimport Task, parallel_for
from aten.backends.cpu.kernels.windows.maxima cimport find_lines, find_pixels

cdef enum:
    # Elements looked at in one chunk of work for the threads, and from how many on other Python
    # threads may run meanwhile.
    GRAIN = 32768
    RELEASE_THRESHOLD = 32768

ctypedef fused Real:
    float
    double

ctypedef fused Averaged:
    float
    double
    int64_t

cdef struct Spreading:
    const char* values
    char* out
    const int64_t* indices
    int64_t count                   # values in a plane
    int64_t size                    # elements of the result's
    bint accumulates
    int width                       # bytes of an element


cdef class Windows:
    """Where each window of a dimension begins and ends, and its extent with padding."""

    cdef readonly Py_ssize_t count
    cdef int64_t* begins
    cdef int64_t* ends
    cdef int64_t* extents

    def __cinit__(self, Py_ssize_t count):
        if count > PY_SSIZE_T_MAX // <Py_ssize_t>(4 * sizeof(int64_t)):
            raise MemoryError(f"pooling: no memory for {count} windows")
        self.count = count
        self.begins = <int64_t*>PyMem_Malloc((3 * count + 1) * sizeof(int64_t))
        if self.begins == NULL:
            raise MemoryError(f"pooling: no memory for {count} windows")
        self.ends = self.begins + count
        self.extents = self.ends + count

    def __dealloc__(self):
        PyMem_Free(self.begins)

    def __len__(self):
        return self.count


def regular_windows(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                    int64_t dilation, Py_ssize_t count):
    """`count` windows over a dimension of `size`, each a stride after the one before.

    A window begins at its first element outside of the padding; it ends behind its last.
    """
    cdef Windows made = Windows(count)
    cdef Py_ssize_t place
    cdef int64_t start, stop
    for place in range(count):
        start = place * stride - padding
        stop = start + (kernel - 1) * dilation + 1
        made.extents[place] = min(stop, size + padding) - start
        if start < 0:
            start += (-start + dilation - 1) // dilation * dilation
        made.begins[place] = start
        made.ends[place] = min(stop, size)
    return made


def adaptive_windows(int64_t size, Py_ssize_t count):
    """`count` windows that cover a dimension of `size` evenly."""
    cdef Windows made = Windows(count)
    cdef Py_ssize_t place
    for place in range(count):
        made.begins[place] = place * size // count
        made.ends[place] = ((place + 1) * size + count - 1) // count
        made.extents[place] = made.ends[place] - made.begins[place]
    return made


def windows_at(Tensor begins not None, int64_t kernel):
    """Windows of `kernel` elements that start at `begins`, int64 and row-major."""
    cdef Windows made = Windows(begins.count)
    cdef const int64_t* listed = <const int64_t*>const_data_pointer(begins)
    cdef Py_ssize_t place
    for place in range(made.count):
        made.begins[place] = listed[place]
        made.ends[place] = listed[place] + kernel
        made.extents[place] = kernel
    return made


def max_pool(Tensor input not None, Tensor out not None, Tensor indices, windows, steps,
             bint apart=False):
    """The largest element of each window of `input` (N, C, *) to `out`.

    `out` is row-major; or both have their channels behind their pixels, as `indices` then must. A NaN is
    larger than all numbers. `indices`, int64 and row-major, gets its position in the plane, counted
    in rows. For each spatial dimension there are Windows, and in `steps` the
    distance of a window's elements; if `apart`, each plane has windows of its own, one plane's
    after the other's. Raises NotImplementedError for element types that are not ordered.
    """
    for tensor in (input, out, indices):
        require_memory(<TensorImpl>tensor)
    if not _is_ordered(input.dtype_code):
        raise NotImplementedError(
            f"\"max_pool2d\" not implemented for '{input.dtype.scalar_type_name}'")
    find_maxima(input, out, indices, windows, steps, apart)


cdef int find_maxima(Tensor input, Tensor out, Tensor indices, windows, steps,
                     bint apart) except -1:
    cdef Pool pool
    _prepare(&pool, input, out, windows, steps, False)
    pool.indices = NULL if indices is None else <int64_t*>data_pointer(indices)
    pool.apart = apart
    if _has_channels_behind(input, out):
        _run(&pool, out.count, find_pixels, pool.channels)
    else:
        _run(&pool, out.count, find_lines, pool.results[2])
    count_write(out)
    return 0


def average_pool(Tensor input not None, Tensor out not None, windows, bint inside,
                 int64_t divisor):
    """The sum of each window of `input` (N, C, *), divided, to `out`, ordered as for `max_pool`.

    The divisor is the window's size, padding included unless `inside`, or `divisor` unless that
    is zero. Integers
    drop what follows the point. Raises NotImplementedError for other element types than float32,
    float64 and int64.
    """
    require_memory(input)
    require_memory(out)
    if input.dtype_code not in (FLOAT32, FLOAT64, INT64):
        raise NotImplementedError(
            f"\"avg_pool2d\" not implemented for '{input.dtype.scalar_type_name}'")
    find_averages(input, out, windows, [1] * len(windows), inside, divisor)


cdef int find_averages(Tensor input, Tensor out, windows, steps, bint inside,
                       int64_t divisor) except -1:
    cdef Pool pool
    _prepare(&pool, input, out, windows, steps, inside)
    pool.divisor = divisor
    if _has_channels_behind(input, out):
        _run(&pool, out.count, _average_pixels, pool.channels)
    else:
        _run(&pool, out.count, _average_lines, pool.results[2])
    count_write(out)
    return 0


def average_pool_backward(Tensor gradient not None, Tensor out not None, windows, bint inside,
                          int64_t divisor):
    """Add each element of `gradient`, divided, to its window of `out`; both (N, C, *), row-major.

    The arguments are those of `average_pool`. Raises NotImplementedError for other element types
    than float32, float64 and int64.
    """
    cdef Pool pool
    cdef int64_t planes
    require_memory(gradient)
    require_memory(out)
    if gradient.dtype_code not in (FLOAT32, FLOAT64, INT64) or out.dtype_code != gradient.dtype_code:
        raise NotImplementedError(
            f"\"avg_pool_backward\" not implemented for '{gradient.dtype.scalar_type_name}'")
    _prepare(&pool, out, gradient, windows, [1] * len(windows), inside, True)
    pool.divisor = divisor
    planes = out.sizes[0] * out.sizes[1]
    if gradient.count == 0:
        return
    with nogil:
        parallel_for(planes, max(1, GRAIN // (gradient.count // planes)), _spread_averages, &pool)
    count_write(out)


def spread_planes(Tensor values not None, Tensor indices not None, Tensor out not None,
                  bint accumulates):
    """Write, or add, `values` (planes, count) to the places `indices`, int64, in `out` (planes, *).

    All are row-major. Raises RuntimeError for an index out of range, and leaves `out` as it is;
    NotImplementedError for other element types than float32 and float64, and where nothing is
    added, others of their widths.
    """
    cdef Spreading work
    for tensor in (values, indices, out):
        require_memory(<TensorImpl>tensor)
    cdef bint moves = not accumulates and item_size(values.dtype_code) in (4, 8)
    if (out.dtype_code != values.dtype_code or indices.dtype_code != INT64
            or not (moves or values.dtype_code in (FLOAT32, FLOAT64))):
        raise NotImplementedError(
            f"\"max_unpool\" not implemented for '{values.dtype.scalar_type_name}'")
    cdef int64_t planes = values.sizes[0], place, index
    cdef const int64_t* listed = <const int64_t*>const_data_pointer(indices)
    if values.count == 0:
        return
    work.values = const_data_pointer(values)
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
    count_write(out)


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


cdef inline int64_t _place_in_plane(const Spreading* work, int64_t place) noexcept nogil:
    """What an index names, which others may have changed since all were seen to be in the plane."""
    return within(wide_index(work.indices + place), work.size)


cdef void _add_at(const Spreading* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    cdef int64_t plane, place
    for plane in range(begin, end):
        for place in range(plane * work.count, (plane + 1) * work.count):
            out[plane * work.size + _place_in_plane(work, place)] += (<const Real*>work.values)[place]


cdef void _put_at(const Spreading* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    cdef int64_t plane, place
    for plane in range(begin, end):
        for place in range(plane * work.count, (plane + 1) * work.count):
            out[plane * work.size + _place_in_plane(work, place)] = (<const Real*>work.values)[place]


cdef inline bint _is_ordered(int code) noexcept:
    return code == UINT8 or INT8 <= code <= INT64 or code == FLOAT32 or code == FLOAT64


# The one window of a dimension that is not there.
cdef int64_t NOTHING = 0
cdef int64_t ONE = 1


cdef int _prepare(Pool* pool, TensorImpl input, TensorImpl out, windows, steps,
                  bint inside, bint backward=False) except -1:
    """What kernels know of planes and windows. `input` is read and `out` written, or `backward`."""
    cdef int dim, source
    cdef int rank = input.rank - 2
    cdef Windows own
    if input.device_type != CPU:
        raise NotImplementedError(f"pooling: there are no compiled loops for {input.device}")
    pool.code = input.dtype_code
    data_pointer(input if backward else out)
    pool.data = <char*>const_data_pointer(input)
    pool.out = <char*>const_data_pointer(out)
    pool.indices = NULL
    pool.channels = input.sizes[1]
    pool.batch_stride = input.strides[0]
    pool.channel_stride = input.strides[1]
    pool.divisor = 0
    pool.apart = False
    pool.inside = inside
    for dim in range(SPATIAL):
        source = dim - (SPATIAL - rank)
        pool.sizes[dim] = input.sizes[source + 2] if source >= 0 else 1
        pool.strides[dim] = input.strides[source + 2] if source >= 0 else 0
        pool.results[dim] = out.sizes[source + 2] if source >= 0 else 1
        pool.steps[dim] = steps[source] if source >= 0 else 1
        pool.present[dim] = source >= 0
        if source >= 0:
            own = windows[source]
            pool.begins[dim] = own.begins
            pool.ends[dim] = own.ends
            pool.extents[dim] = own.extents
        else:
            pool.begins[dim] = &NOTHING
            pool.ends[dim] = pool.extents[dim] = &ONE
    return 0


cdef inline bint _has_channels_behind(TensorImpl input, TensorImpl out) noexcept:
    return not out.contiguous and input.strides[1] == 1 and out.strides[1] == 1


cdef int _run(Pool* pool, int64_t count, Task lines, int64_t width) except -1:
    """Lines of `width` results, all of them: rows of a channel, or the channels of a pixel."""
    cdef int64_t looked, index
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
    """The rows of a line's windows are added up first, all columns at once; then each window's."""
    cdef Averaged* sums = <Averaged*>malloc(max(pool.sizes[2], <int64_t>1) * sizeof(Averaged))
    cdef const Averaged* plane
    cdef const Averaged* summed
    cdef int64_t line, offset, row, column, step
    for line in range(begin, end):
        locate(pool, line, &offset, &row, &column)
        plane = <const Averaged*>pool.data + offset
        summed, step = sums, 1
        if _has_one_row(pool, row, column):
            summed = (plane + pool.begins[0][row] * pool.strides[0]
                      + pool.begins[1][column] * pool.strides[1])
            step = pool.strides[2]
        elif sums != NULL:
            _add_rows(pool, plane, row, column, sums)
        if summed == NULL:
            _average_columns(pool, plane, row, column, out + line * pool.results[2])
        elif step == 1:
            _average_row(pool, summed, 1, row, column, out + line * pool.results[2])
        else:
            _average_row(pool, summed, step, row, column, out + line * pool.results[2])
    free(sums)


cdef inline void _average_row(const Pool* pool, const Averaged* summed, int64_t step, int64_t row,
                              int64_t column, Averaged* out) noexcept nogil:
    """The windows of a line whose rows have been added up."""
    cdef int64_t x, k
    cdef Averaged total
    for x in range(pool.results[2]):
        total = 0
        for k in range(pool.begins[2][x], pool.ends[2][x]):
            total += summed[k * step]
        out[x] = total / _divisor(pool, row, column, x)


cdef void _average_columns(const Pool* pool, const Averaged* plane, int64_t row, int64_t column,
                           Averaged* out) noexcept nogil:
    """As `_add_rows` and `_average_row`, a column at a time: for want of memory."""
    cdef int64_t x, i, j, k
    cdef Averaged total, of_column
    for x in range(pool.results[2]):
        total = 0
        for k in range(pool.begins[2][x], pool.ends[2][x]):
            of_column = 0
            for i in range(pool.begins[0][row], pool.ends[0][row]):
                for j in range(pool.begins[1][column], pool.ends[1][column]):
                    of_column += plane[i * pool.strides[0] + j * pool.strides[1]
                                       + k * pool.strides[2]]
            total += of_column
        out[x] = total / _divisor(pool, row, column, x)


cdef inline bint _has_one_row(const Pool* pool, int64_t row, int64_t column) noexcept nogil:
    return (pool.ends[0][row] - pool.begins[0][row] == 1
            and pool.ends[1][column] - pool.begins[1][column] == 1)


cdef inline void _add_rows(const Pool* pool, const Averaged* plane, int64_t row, int64_t column,
                           Averaged* sums) noexcept nogil:
    cdef int64_t i, j, k, width = pool.sizes[2]
    cdef const Averaged* line
    for k in range(width):
        sums[k] = 0
    for i in range(pool.begins[0][row], pool.ends[0][row]):
        for j in range(pool.begins[1][column], pool.ends[1][column]):
            line = plane + i * pool.strides[0] + j * pool.strides[1]
            if pool.strides[2] == 1:
                for k in range(width):
                    sums[k] += line[k]
            else:
                for k in range(width):
                    sums[k] += line[k * pool.strides[2]]


cdef void _average_pixels(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Pixels begin … end of the result, all channels of each."""
    cdef const Pool* pool = <const Pool*>context
    if pool.code == FLOAT32:
        _average_all_channels(pool, begin, end, <float*>pool.out)
    elif pool.code == FLOAT64:
        _average_all_channels(pool, begin, end, <double*>pool.out)
    else:
        _average_all_channels(pool, begin, end, <int64_t*>pool.out)


cdef void _average_all_channels(const Pool* pool, int64_t begin, int64_t end,
                                Averaged* out) noexcept nogil:
    cdef int64_t place[SPATIAL]
    cdef int64_t pixel, offset, divisor
    cdef const aten_pixels* loops = aten_pixels_of(Averaged is double)
    for pixel in range(begin, end):
        locate_pixel(pool, pixel, &offset, place)
        divisor = _divisor(pool, place[0], place[1], place[2])
        if not _average_together(pool, loops, <const Averaged*>pool.data + offset, place,
                                 divisor, out + pixel * pool.channels):
            _average_channels(pool, <const Averaged*>pool.data + offset, place, divisor,
                              out + pixel * pool.channels)


cdef bint _average_together(const Pool* pool, const aten_pixels* loops, const Averaged* image,
                            const int64_t* place, int64_t divisor, Averaged* out) noexcept nogil:
    """All channels of one pixel of the result, in registers; False where its window is too large, or
    elements are integers."""
    cdef const void* lines[MOST_PIXELS]
    cdef int64_t count
    if Averaged is int64_t:
        return False
    else:
        count = list_pixels(pool, <const char*>image, sizeof(Averaged), place, lines, NULL)
        if count < 0:
            return False
        if Averaged is float:
            loops.average_floats(lines, count, <float>divisor, out, pool.channels)
        else:
            loops.average_doubles(lines, count, <double>divisor, out, pool.channels)
        return True


cdef void _average_channels(const Pool* pool, const Averaged* image, const int64_t* place,
                            int64_t divisor, Averaged* totals) noexcept nogil:
    cdef int64_t channel, i, j, k
    cdef const Averaged* source
    for channel in range(pool.channels):
        totals[channel] = 0
    for i in range(pool.begins[0][place[0]], pool.ends[0][place[0]]):
        for j in range(pool.begins[1][place[1]], pool.ends[1][place[1]]):
            for k in range(pool.begins[2][place[2]], pool.ends[2][place[2]]):
                source = (image + i * pool.strides[0] + j * pool.strides[1]
                          + k * pool.strides[2])
                for channel in range(pool.channels):
                    totals[channel] += source[channel]
    for channel in range(pool.channels):
        totals[channel] = totals[channel] / divisor


cdef inline int64_t _divisor(const Pool* pool, int64_t row, int64_t column,
                             int64_t x) noexcept nogil:
    if pool.divisor != 0:
        return pool.divisor
    if pool.inside:
        return ((pool.ends[0][row] - pool.begins[0][row])
                * (pool.ends[1][column] - pool.begins[1][column])
                * (pool.ends[2][x] - pool.begins[2][x]))
    return pool.extents[0][row] * pool.extents[1][column] * pool.extents[2][x]


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
        locate(pool, line, &offset, &row, &column)
        for x in range(pool.results[2]):
            divisor = _divisor(pool, row, column, x)
            share = gradient[line * pool.results[2] + x] / divisor
            for i in range(pool.begins[0][row], pool.ends[0][row]):
                for j in range(pool.begins[1][column], pool.ends[1][column]):
                    target = (<Averaged*>pool.data + offset + i * pool.strides[0]
                              + j * pool.strides[1])
                    for k in range(pool.begins[2][x], pool.ends[2][x]):
                        target[k * pool.strides[2]] += share
