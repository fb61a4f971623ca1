# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions of images with channels last whose channels see one channel each.

Channels are lanes. A position sees those taps of the window that the image has, which are a rectangle
of it: all of them but at edges. A few channels go through a band of lines at a time, so that their
weights, turned for them, stay in the nearest cache. Threads claim bands of some channels; taps of a
result are summed in order, whatever lies beside it.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.windows.channels_last cimport Lines
from aten.backends.cpu.kernels.windows.direct cimport aten_channels

cdef enum:
    # Vectors of channels that go through a band together.
    VECTORS = 8
    PIECES_PER_THREAD = 4
    # Lines of a band at least.
    FEW_LINES = 4

cdef struct Bands:
    Lines* work
    int64_t width           # channels that go together
    int64_t across          # how many times
    int64_t lines           # of the result in a band
    int64_t bands
    int64_t low, high       # positions of a line that see all columns of the window

cdef struct Taps:
    # Of a dimension of the window those that the image has, and where the first one looks.
    int64_t first, count, place


cdef bint slide_channels_last(Lines* work) noexcept nogil:
    cdef Bands bands
    cdef int64_t pieces, end
    bands.work = work
    bands.width = VECTORS * work.kernels.lanes
    bands.across = (work.channels + bands.width - 1) // bands.width
    pieces = PIECES_PER_THREAD * thread_count()
    bands.bands = (pieces + work.batch * bands.across - 1) // (work.batch * bands.across)
    bands.lines = max((work.seen[0] + bands.bands - 1) // bands.bands, <int64_t>FEW_LINES)
    bands.bands = (work.seen[0] + bands.lines - 1) // bands.lines
    end = work.sizes[1] + work.padding[1] - (work.kernel[1] - 1) * work.dilation[1] - 1
    bands.low = min(work.seen[1], (work.padding[1] + work.stride[1] - 1) // work.stride[1])
    bands.high = min(work.seen[1], end // work.stride[1] + 1 if end >= 0 else 0)
    bands.high = max(bands.low, bands.high)
    parallel_for(work.batch * bands.across * bands.bands, 1, _run_bands, &bands)
    return not work.failed


cdef void _run_bands(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Bands begin … end of all images, those of the same channels after one another."""
    cdef const Bands* bands = <const Bands*>context
    cdef Lines* work = bands.work
    cdef int64_t taps = work.kernel[0] * work.kernel[1]
    cdef char* weights = <char*>malloc(taps * bands.width * work.size)
    cdef int64_t index, first, line, turned = -1
    cdef aten_channels run
    if weights == NULL:
        work.failed = True
        return
    run.weights = weights
    run.weight_column = bands.width
    run.weight_row = work.kernel[1] * bands.width
    run.column_step = work.dilation[1] * work.channels
    run.row_step = work.dilation[0] * work.sizes[1] * work.channels
    run.step = work.stride[1] * work.channels
    run.out_step = work.channels
    for index in range(begin, end):
        first = index // (work.batch * bands.bands) * bands.width
        run.channels = min(bands.width, work.channels - first)
        if first != turned:
            work.kernels.turn(work.weight + first * taps * work.size, taps, run.channels, taps,
                              weights, bands.width)
            turned = first
        run.bias = NULL if work.bias == NULL else <const void*>(work.bias + first * work.size)
        line = index % bands.bands * bands.lines
        _slide_band(bands, &run, index // bands.bands % work.batch, first, line,
                    min(line + bands.lines, work.seen[0]))
    free(weights)


cdef inline void _see(const Lines* work, int dim, int64_t position, Taps* taps) noexcept nogil:
    """What a position of the result sees along a dimension."""
    cdef int64_t dilation = work.dilation[dim]
    cdef int64_t place = position * work.stride[dim] - work.padding[dim]
    cdef int64_t end = min(work.kernel[dim],
                           (work.sizes[dim] - place + dilation - 1) // dilation)
    taps.first = (-place + dilation - 1) // dilation if place < 0 else 0
    taps.count = max(<int64_t>0, end - taps.first)
    taps.place = place + taps.first * dilation


cdef void _slide_band(const Bands* bands, aten_channels* run, int64_t image, int64_t first,
                      int64_t begin, int64_t end) noexcept nogil:
    """Lines begin … end of an image for some channels, from `first` on."""
    cdef const Lines* work = bands.work
    cdef const char* data = work.input + (
        image * work.sizes[0] * work.sizes[1] * work.channels + first) * work.size
    cdef char* out
    cdef int64_t line, x
    cdef Taps rows
    for line in range(begin, end):
        out = work.out + ((image * work.seen[0] + line) * work.seen[1] * work.channels
                          + first) * work.size
        _see(work, 0, line, &rows)
        for x in range(bands.low):
            _slide_run(work, run, &rows, x, 1, data, out)
        if bands.high > bands.low:
            _slide_run(work, run, &rows, bands.low, bands.high - bands.low, data, out)
        for x in range(bands.high, work.seen[1]):
            _slide_run(work, run, &rows, x, 1, data, out)
        if work.finish != NULL:
            work.kernels.finish(work.finish, True, out, work.channels, work.seen[1], run.channels)


cdef inline void _slide_run(const Lines* work, aten_channels* run, const Taps* rows, int64_t first,
                            int64_t count, const char* data, char* out) noexcept nogil:
    """Positions of a line, which see alike."""
    cdef const char* weights = <const char*>run.weights
    cdef Taps columns
    _see(work, 1, first, &columns)
    run.positions = count
    run.rows = rows.count
    run.columns = columns.count
    run.out = out + first * work.channels * work.size
    run.data = data + (rows.place * work.sizes[1] + columns.place) * work.channels * work.size
    run.weights = weights + (rows.first * run.weight_row
                             + columns.first * run.weight_column) * work.size
    work.kernels.slide_channels(run)
    run.weights = weights
