# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Resampling: weighted sums of neighbours along one dimension, and elements repeated along two.

Lines of the result are shared out over the threads; each is computed alone.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from aten._core.base.bounded cimport within
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT16, INT64, UINT8, dtype_from_code, item_size
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, require_memory)
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.moving.row_levels cimport aten_add_rows_double, aten_add_rows_float

cdef enum:
    # Multiplications in one chunk of work for the threads.
    GRAIN = 16384
    # Rows that are claimed together, as the first ones begin with rows that others have weighed, too,
    # unless the parts are few.
    FEWEST_ROWS = 8
    MOST_PARTS = 8
    # Lines that are weighed and added in one call, if they are not so short.
    LINES = 16
    SHORT = 8

ctypedef fused Real:
    float
    double

cdef struct Weighing:
    int code
    const char* data                # (outer, size, inner), row-major
    char* out                       # (outer, wanted, inner)
    const int64_t* begins           # the first neighbour of each result
    const int64_t* counts           # how many there are
    const char* weights             # (wanted, taps)
    int64_t taps
    int64_t size
    int64_t wanted
    int64_t inner
    int precision                   # of 16-bit weights: bits after the point

cdef struct Plane:
    Weighing across                 # a row of the image to one of the result
    Weighing down                   # rows to rows
    int64_t height                  # of the image
    int failed                      # whether a thread had no memory for its rows


def weigh(Tensor input not None, Tensor out not None, int dim, Tensor begins not None,
          Tensor counts not None, Tensor weights not None, int precision=0):
    """Each line of `out` along `dim` is a weighted sum of neighbouring lines of `input`.

    Both are row-major, of one element type: float32 or float64 with weights of that type, or uint8
    with int16 weights of which `precision` bits follow the point; their sums are rounded.
    `weights` is (results, taps); `begins` and `counts`, int64, say which neighbours they are for.
    """
    cdef Weighing work
    cdef int64_t outer = 1
    cdef int other
    for tensor in (input, out, begins, counts, weights):
        require_memory(<TensorImpl>tensor)
    if (input.dtype_code not in (FLOAT32, FLOAT64, UINT8) or out.dtype_code != input.dtype_code
            or weights.dtype_code != (INT16 if input.dtype_code == UINT8 else input.dtype_code)):
        raise _refusal("upsample", input)
    if out.count == 0:
        return
    work.code = input.dtype_code
    work.out = data_pointer(out)
    work.data = const_data_pointer(input)
    work.begins = <const int64_t*>const_data_pointer(begins)
    work.counts = <const int64_t*>const_data_pointer(counts)
    work.weights = const_data_pointer(weights)
    work.taps = weights.sizes[1]
    work.size = input.sizes[dim]
    work.wanted = out.sizes[dim]
    work.precision = precision
    work.inner = 1
    for other in range(dim):
        outer *= input.sizes[other]
    for other in range(dim + 1, input.rank):
        work.inner *= input.sizes[other]
    with nogil:
        parallel_for(outer * work.wanted, max(1, GRAIN // (work.inner * work.taps)), _weigh_lines,
                     &work)
    count_write(out)


def weigh_planes(Tensor input not None, Tensor out not None, int dim, across not None,
                 down not None):
    """`weigh` along the dimension behind `dim` and then along `dim` itself, in one go.

    `across` and `down` are begins, counts and weights of the two. `input` and `out` are row-major,
    float32 or float64. Raises MemoryError.
    """
    cdef Plane work
    cdef int64_t rows, each
    cdef int other
    work.failed = 0
    _read_table(&work.across, input, input, across)
    _read_table(&work.down, input, input, down)
    require_memory(out)
    if (input.dtype_code not in (FLOAT32, FLOAT64) or out.dtype_code != input.dtype_code
            or input.rank != out.rank or not 0 <= dim < input.rank - 1):
        raise _refusal("upsample", input)
    if out.count == 0:
        return
    work.height = input.sizes[dim]
    work.across.size = input.sizes[dim + 1]
    work.across.wanted = out.sizes[dim + 1]
    work.across.inner = 1
    for other in range(dim + 2, input.rank):
        work.across.inner *= input.sizes[other]
    work.down.wanted = out.sizes[dim]
    work.across.data = const_data_pointer(input)
    work.across.out = data_pointer(out)
    each = work.across.wanted * work.across.inner
    rows = out.count // each
    each *= (work.across.taps * work.height // work.down.wanted
             + work.across.taps + work.down.taps)
    with nogil:
        parallel_for(rows, max(1, 2 * GRAIN // each, min(rows // MOST_PARTS, <int64_t>FEWEST_ROWS)),
                     _weigh_rows, &work)
    if work.failed:
        raise MemoryError()
    count_write(out)


cdef int _read_table(Weighing* work, TensorImpl input, TensorImpl like, table) except -1:
    """What says how to weigh, for `weigh_planes`."""
    cdef Tensor begins, counts, weights
    begins, counts, weights = table
    for tensor in (input, begins, counts, weights):
        require_memory(<TensorImpl>tensor)
    if weights.dtype_code != like.dtype_code:
        raise _refusal("upsample", input)
    work.code = input.dtype_code
    work.begins = <const int64_t*>const_data_pointer(begins)
    work.counts = <const int64_t*>const_data_pointer(counts)
    work.weights = const_data_pointer(weights)
    work.taps = weights.sizes[1]
    return 0


cdef void _weigh_rows(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Rows begin … end of the result, counted through all images."""
    cdef Plane* work = <Plane*>context
    if work.across.code == FLOAT32:
        _weigh_plane(work, begin, end, <float*>work.across.out)
    else:
        _weigh_plane(work, begin, end, <double*>work.across.out)


cdef void _weigh_plane(Plane* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    """Rows of the image are weighed across when a result first needs them, and kept for the next."""
    cdef int64_t places = work.across.wanted, width = places * work.across.inner
    cdef int64_t taps = work.down.taps, line, place, row, first, image, begins, count
    cdef int64_t earlier = -1, ready = 0
    cdef const Real* weights
    cdef Real* kept = <Real*>malloc(taps * width * sizeof(Real))
    if kept == NULL:
        work.failed = 1
        return
    for line in range(begin, end):
        image = line // work.down.wanted
        place = line % work.down.wanted
        if image != earlier:
            earlier, ready = image, 0
        weights = <const Real*>work.down.weights + place * taps
        begins, count = work.down.begins[place], work.down.counts[place]
        for row in range(max(begins, ready), begins + count):
            first = (image * work.height + row) * places
            _weigh_reals(&work.across, first, first + places, kept + row % taps * width)
        ready = max(ready, begins + count)
        _weigh_line(weights, count, kept, begins % taps, taps, width, out + line * width)
    free(kept)


cdef inline void _weigh_line(const Real* weights, int64_t count, const Real* lines, int64_t first,
                             int64_t turn, int64_t width, Real* out) noexcept nogil:
    """The weighed sum of `count` lines of `width` elements, added in their order, from the `first` on;
    behind the last of `turn` is the first of all."""
    cdef int64_t places[LINES]
    cdef int64_t place = first, at = 0, line, several
    if count == 0:
        memset(out, 0, width * sizeof(Real))
        return
    if width < SHORT:
        _weigh_few(weights, count, lines, place, turn, width, out)
        return
    while at < count:
        several = min(count - at, <int64_t>LINES)
        for line in range(several):
            places[line] = place
            place += 1
            if place == turn:
                place = 0
        if Real is float:
            aten_add_rows_float(lines, width, places, weights + at, several, width, at > 0, out)
        else:
            aten_add_rows_double(lines, width, places, weights + at, several, width, at > 0, out)
        at += several


cdef inline void _weigh_few(const Real* weights, int64_t count, const Real* lines, int64_t first,
                            int64_t turn, int64_t width, Real* out) noexcept nogil:
    """As `_weigh_line`, of a few elements."""
    cdef int64_t at, place, tap
    cdef Real total
    for at in range(width):
        total = -0.0
        place = first
        for tap in range(count):
            total += weights[tap] * lines[place * width + at]
            place += 1
            if place == turn:
                place = 0
        out[at] = total


cdef void _weigh_lines(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Lines begin … end of the result."""
    cdef const Weighing* work = <const Weighing*>context
    if work.code == FLOAT32:
        _weigh_reals(work, begin, end, <float*>work.out + begin * work.inner)
    elif work.code == FLOAT64:
        _weigh_reals(work, begin, end, <double*>work.out + begin * work.inner)
    else:
        _weigh_bytes(work, begin, end)


cdef void _weigh_reals(const Weighing* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    """Lines begin … end of the result; `out` is where the first goes."""
    cdef int64_t inner = work.inner, place = begin % work.wanted, line
    cdef const Real* image = <const Real*>work.data + begin // work.wanted * work.size * inner
    if inner == 1:
        _weigh_elements(work, begin, end, out)
        return
    for line in range(begin, end):
        _weigh_line(<const Real*>work.weights + place * work.taps, work.counts[place], image,
                    work.begins[place], work.size, inner, out)
        out += inner
        place += 1
        if place == work.wanted:
            place = 0
            image += work.size * inner


cdef void _weigh_elements(const Weighing* work, int64_t begin, int64_t end,
                          Real* out) noexcept nogil:
    """Lines of one element each: rows of the result, of which the first may be begun already."""
    cdef int64_t place = begin % work.wanted, tap, line
    cdef const Real* row = <const Real*>work.data + begin // work.wanted * work.size
    cdef const Real* weights = <const Real*>work.weights + place * work.taps
    cdef const Real* source
    cdef Real total
    for line in range(end - begin):
        source = row + work.begins[place]
        if work.counts[place] == 2:
            total = weights[0] * source[0] + weights[1] * source[1]
        else:
            total = weights[0] * source[0] if work.counts[place] else 0
            for tap in range(1, work.counts[place]):
                total += weights[tap] * source[tap]
        out[line] = total
        place += 1
        weights += work.taps
        if place == work.wanted:
            place = 0
            weights = <const Real*>work.weights
            row += work.size


cdef void _weigh_bytes(const Weighing* work, int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t line, place, tap, x
    cdef int64_t inner = work.inner
    cdef int32_t total
    cdef const int16_t* weights
    cdef const uint8_t* source
    cdef uint8_t* target
    for line in range(begin, end):
        place = line % work.wanted
        weights = <const int16_t*>work.weights + place * work.taps
        source = (<const uint8_t*>work.data
                  + (line // work.wanted * work.size + work.begins[place]) * inner)
        target = <uint8_t*>work.out + line * inner
        for x in range(inner):
            total = 1 << (work.precision - 1) if work.precision > 0 else 0
            for tap in range(work.counts[place]):
                total += weights[tap] * <int32_t>source[tap * inner + x]
            target[x] = <uint8_t>min(max(total >> work.precision, 0), 255)


cdef object _refusal(str name, TensorImpl input):
    return NotImplementedError(
        f"\"{name}\" not implemented for '{dtype_from_code(input.dtype_code).scalar_type_name}'")


cdef struct Repeating:
    const char* data                # (outer, height, width), row-major elements of `item` bytes
    char* out                       # (outer, results down, results across)
    const int64_t* down             # the line of each line of the result
    const int64_t* across
    int64_t item
    int64_t height, width
    int64_t lines, places           # of the result

ctypedef fused Raw:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


def repeat_planes(Tensor input not None, Tensor out not None, Tensor across not None,
                  Tensor down not None):
    """Each line of `out` (N, H', W', *) has of the line `down` of `input` (N, H, W, *) the elements
    `across`.

    Both are row-major and of one dtype, places int64 vectors of H' and W'; what is out of range counts
    as 0. Raises ValueError for other operands.
    """
    cdef Repeating work
    cdef int dim
    for tensor in (input, out, across, down):
        require_memory(<TensorImpl>tensor)
    if (input.dtype_code != out.dtype_code or input.rank != out.rank or input.rank < 3
            or across.dtype_code != INT64 or down.dtype_code != INT64
            or not (input.contiguous and out.contiguous and across.contiguous and down.contiguous)
            or input.sizes[0] != out.sizes[0] or out.sizes[1] != down.count
            or out.sizes[2] != across.count):
        raise ValueError("repeat_planes: operands do not go together")
    work.item = item_size(input.dtype_code)
    for dim in range(3, input.rank):
        if input.sizes[dim] != out.sizes[dim]:
            raise ValueError("repeat_planes: operands do not go together")
        work.item *= input.sizes[dim]
    if out.count == 0 or input.count == 0:
        return
    work.out = data_pointer(out)
    work.data = const_data_pointer(input)
    work.across = <const int64_t*>const_data_pointer(across)
    work.down = <const int64_t*>const_data_pointer(down)
    work.height, work.width = input.sizes[1], input.sizes[2]
    work.lines, work.places = out.sizes[1], out.sizes[2]
    with nogil:
        parallel_for(out.sizes[0] * work.lines, max(1, 4 * GRAIN // (work.places * work.item)),
                     _repeat_lines, &work)
    count_write(out)


cdef void _repeat_lines(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Repeating* work = <const Repeating*>context
    cdef int64_t size = work.places * work.item, row, line, source, before = -1
    cdef char* out
    for row in range(begin, end):
        line = row % work.lines
        source = row // work.lines * work.height + within(work.down[line], work.height)
        out = work.out + row * size
        if source == before:
            memcpy(out, out - size, size)
        else:
            _repeat_places(work, work.data + source * work.width * work.item, out)
        before = source


cdef void _repeat_places(const Repeating* work, const char* source, char* out) noexcept nogil:
    cdef int64_t place
    if work.item == 1:
        _repeat_elements(work, <const uint8_t*>source, <uint8_t*>out)
    elif work.item == 2:
        _repeat_elements(work, <const uint16_t*>source, <uint16_t*>out)
    elif work.item == 4:
        _repeat_elements(work, <const uint32_t*>source, <uint32_t*>out)
    elif work.item == 8:
        _repeat_elements(work, <const uint64_t*>source, <uint64_t*>out)
    else:
        for place in range(work.places):
            memcpy(out + place * work.item,
                   source + within(work.across[place], work.width) * work.item, work.item)


cdef inline void _repeat_elements(const Repeating* work, const Raw* source, Raw* out) noexcept nogil:
    cdef int64_t place
    for place in range(work.places):
        out[place] = source[within(work.across[place], work.width)]
