# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions of few channels: products with what taps see in copies of their planes.

A panel holds what taps see again for each of them, which few rows of weights do not make up for.
Planes are copied with padding around them, and parted by the steps of the window, so that a tap looks
at a run of memory from any strip of positions; where a line of these ends, there are some that are
none.
Sums are made in the order of panels. Where lines of positions are whole vectors they are made where
they lie, else strips go over the ends of lines, and from there to where positions lie.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_ALIAS, ATEN_CUT, ATEN_VECTORS, aten_finish, aten_window_kernels, aten_window_tile,
    aten_windows,
)
from aten.backends.cpu.kernels.windows.sliding cimport Sliding, copy_slots, plan_sliding

cdef enum:
    # Channels of a group that are few; taps and positions of a line that are many. Of a result
    # there are to be few channels, too, or many products in a sum: strips are written twice, but
    # where lines are whole vectors.
    FEW_CHANNELS = 4
    FEW_OUTPUTS = 8
    FEWEST_TAPS = 4
    FEWEST_PRODUCTS = 96
    FEWEST_PRODUCTS_OF_VECTORS = 18
    WHOLE_VECTORS = 16
    FEWEST_COLUMNS = 24
    # Elements of the copies of all channels in a chunk of positions.
    COPIED = 1 << 14
    LINE = 16

cdef struct Gliding:
    const aten_windows* work
    const aten_window_kernels* kernels
    Sliding sliding
    int64_t* offsets        # of each channel and tap, in copies of all channels
    int64_t out_size
    int64_t stretch
    bint failed


cdef bint may_glide(const aten_windows* work) noexcept nogil:
    cdef int64_t products = work.inputs * work.taps
    if not 0 < work.inputs <= FEW_CHANNELS or work.taps < FEWEST_TAPS:
        return False
    if work.sizes[2] < FEWEST_COLUMNS or work.out_strides[2] != 1:
        return False
    if work.outputs <= FEW_OUTPUTS or products >= FEWEST_PRODUCTS:
        return True
    return products >= FEWEST_PRODUCTS_OF_VECTORS and work.sizes[2] % WHOLE_VECTORS == 0


cdef int glide_all(const aten_windows* work, const aten_window_kernels* kernels,
                   const aten_window_kernels* copying, int size, int out_size) noexcept nogil:
    return _glide_planes(work, kernels, copying, size, out_size, True)


cdef int glide_here(const aten_windows* work, const aten_window_kernels* kernels,
                    int size) noexcept nogil:
    return _glide_planes(work, kernels, kernels, size, size, False)


cdef int _glide_planes(const aten_windows* work, const aten_window_kernels* kernels,
                       const aten_window_kernels* copying, int size, int out_size,
                       bint in_parallel) noexcept nogil:
    cdef Gliding gliding
    cdef int64_t depth = work.inputs * work.taps
    cdef int64_t* memory
    cdef int64_t plane, channel, tap, chunks
    if not may_glide(work):
        return 0
    memory = <int64_t*>malloc((4 * work.taps + depth) * sizeof(int64_t))
    if memory == NULL:
        return -1
    gliding.work = work
    gliding.kernels = kernels
    gliding.out_size = out_size
    gliding.offsets = memory + 4 * work.taps
    gliding.failed = False
    gliding.sliding.work = work
    gliding.sliding.kernels = copying
    gliding.sliding.size = size
    if not plan_sliding(&gliding.sliding, memory, COPIED // work.inputs) or (
            8 * gliding.sliding.pitch > 9 * gliding.sliding.columns):
        free(memory)
        return 0
    plane = gliding.sliding.slots.count * gliding.sliding.height * gliding.sliding.pitch
    for channel in range(work.inputs):
        for tap in range(work.taps):
            gliding.offsets[channel * work.taps + tap] = (
                channel * plane + gliding.sliding.slots.offsets[tap])
    chunks = (depth + work.stretch - 1) // work.stretch
    gliding.stretch = (depth + chunks - 1) // chunks
    chunks = gliding.sliding.down * gliding.sliding.across
    if in_parallel:
        parallel_for(work.batch * work.groups * chunks, 1, _glide, &gliding)
    else:
        _glide(&gliding, 0, work.batch * work.groups * chunks)
    free(memory)
    return -1 if gliding.failed else 1


cdef void _glide(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Chunks begin … end of all groups."""
    cdef Gliding* gliding = <Gliding*>context
    cdef const aten_windows* work = gliding.work
    cdef const Sliding* sliding = &gliding.sliding
    cdef int64_t chunks = sliding.down * sliding.across
    cdef int64_t bands = sliding.down // work.sizes[0]
    cdef int64_t widest = ATEN_VECTORS * gliding.kernels.lanes
    cdef int64_t plane = sliding.slots.count * sliding.height * sliding.pitch
    cdef int64_t copied = work.inputs * plane + widest
    cdef char* memory = <char*>malloc((copied + work.outputs * widest + 2 * LINE) * sliding.size)
    cdef char* held
    cdef int64_t index, image, group, chunk, z, y, x, channel, rows, columns
    if memory == NULL:
        gliding.failed = True
        return
    # What lies beyond is looked at, and is no part of a result.
    memset(memory, 0, copied * sliding.size)
    held = <char*>((<size_t>(memory + copied * sliding.size) + 63) // 64 * 64)
    for index in range(begin, end):
        image = index // chunks // work.groups
        group = index // chunks % work.groups
        chunk = index % chunks
        z = chunk // sliding.across // bands
        y = chunk // sliding.across % bands * sliding.rows
        x = chunk % sliding.across * sliding.columns
        rows = min(sliding.rows, work.sizes[1] - y)
        columns = min(sliding.columns, work.sizes[2] - x)
        for channel in range(work.inputs):
            copy_slots(sliding, image, group * work.inputs + channel, z, y, x, rows,
                       memory + channel * plane * sliding.size)
        _multiply_chunk(gliding, memory, image, group, z, y, x, rows, columns, held)
    free(memory)


cdef void _multiply_chunk(const Gliding* gliding, const char* copied, int64_t image, int64_t group,
                          int64_t z, int64_t y, int64_t x, int64_t rows, int64_t columns,
                          char* held) noexcept nogil:
    """Strip after strip of the positions of a chunk."""
    cdef const aten_windows* work = gliding.work
    cdef int64_t size = gliding.sliding.size
    cdef int64_t first = group * work.outputs, line
    cdef aten_window_tile tile
    cdef char* out = <char*>work.out + (
        image * work.out_batch + first * work.out_channel + z * work.out_strides[0]
        + y * work.out_strides[1] + x) * gliding.out_size
    memset(&tile, 0, sizeof(tile))
    tile.left_row = work.weight_row
    tile.bias_step = work.bias_step
    if work.bias != NULL:
        tile.bias = <const char*>work.bias + first * work.bias_step * size
    if _is_whole(gliding, columns):
        tile.out_row = work.out_channel
        for line in range(rows):
            _multiply_line(gliding, &tile, copied + line * gliding.sliding.pitch * size, first,
                           columns, out + line * work.out_strides[1] * size)
    else:
        _multiply_lines(gliding, &tile, copied, first, rows, columns, held, out)


cdef bint _is_whole(const Gliding* gliding, int64_t columns) noexcept nogil:
    """Whether sums of a line can be made where they lie: in whole vectors, of channels that do not
    keep each other out of the caches."""
    cdef const aten_windows* work = gliding.work
    cdef int64_t size = gliding.sliding.size
    return (columns % gliding.kernels.lanes == 0 and gliding.out_size == size
            and (work.inputs * work.taps <= gliding.stretch
                 or work.out_channel * size % ATEN_ALIAS != 0))


cdef void _multiply_line(const Gliding* gliding, aten_window_tile* tile, const char* copied,
                         int64_t first, int64_t columns, char* out) noexcept nogil:
    """The positions of a line, in strips of about as many."""
    cdef int64_t lanes = gliding.kernels.lanes
    cdef int64_t vectors = columns // lanes
    cdef int64_t strips = (vectors + ATEN_VECTORS - 1) // ATEN_VECTORS
    cdef int64_t size = gliding.sliding.size
    while strips > 0:
        tile.width = tile.columns = (vectors + strips - 1) // strips * lanes
        tile.out = out
        _multiply_strip(gliding, tile, copied, first, gliding.work.finish)
        copied += tile.columns * size
        out += tile.columns * size
        vectors -= tile.columns // lanes
        strips -= 1


cdef void _multiply_lines(const Gliding* gliding, aten_window_tile* tile, const char* copied,
                          int64_t first, int64_t rows, int64_t columns, char* held,
                          char* out) noexcept nogil:
    """The positions of some lines, in strips that go over their ends."""
    cdef int64_t lanes = gliding.kernels.lanes
    cdef int64_t count = (rows - 1) * gliding.sliding.pitch + columns
    cdef int64_t vectors = (count + lanes - 1) // lanes
    cdef int64_t strips = (vectors + ATEN_VECTORS - 1) // ATEN_VECTORS
    cdef int64_t place = 0
    tile.out = held
    while strips > 0:
        tile.width = tile.columns = tile.out_row = (vectors + strips - 1) // strips * lanes
        _multiply_strip(gliding, tile, copied + place * gliding.sliding.size, first, NULL)
        _write_strip(gliding, held, place, min(tile.columns, count - place), tile.columns, columns,
                     out)
        place += tile.columns
        vectors -= tile.columns // lanes
        strips -= 1


cdef void _multiply_strip(const Gliding* gliding, aten_window_tile* tile, const char* copied,
                          int64_t first, const aten_finish* finish) noexcept nogil:
    """All channels of a strip, one stretch of the depth after the other."""
    cdef const aten_windows* work = gliding.work
    cdef int64_t depth = work.inputs * work.taps, begin = 0
    tile.right = copied
    while begin < depth:
        tile.depth = min(gliding.stretch, depth - begin)
        tile.left = <const char*>work.weight + (
            first * work.weight_row + begin) * gliding.sliding.size
        tile.offsets = gliding.offsets + begin
        tile.adds = begin > 0
        tile.finish = finish if begin + tile.depth == depth else NULL
        gliding.kernels.multiply(tile, work.outputs)
        begin += gliding.stretch
    if finish != NULL and finish.activation != ATEN_CUT:
        gliding.kernels.finish(finish, False, <char*>tile.out, tile.out_row, work.outputs,
                               tile.columns)


cdef void _write_strip(const Gliding* gliding, const char* held, int64_t place, int64_t count,
                       int64_t width, int64_t columns, char* out) noexcept nogil:
    """A strip's positions to their lines."""
    cdef const aten_windows* work = gliding.work
    cdef int64_t pitch = gliding.sliding.pitch
    cdef int64_t done = 0, line, column, here
    cdef char* to
    while done < count:
        line = (place + done) // pitch
        column = (place + done) % pitch
        here = min(columns - column, count - done)
        if here > 0:
            to = out + (line * work.out_strides[1] + column) * gliding.out_size
            gliding.kernels.copy_lines(held + done * gliding.sliding.size, width, 1, 0, here, here,
                                       work.outputs, to, work.out_channel)
            if work.finish != NULL:
                gliding.kernels.finish(work.finish, True, to, work.out_channel, work.outputs, here)
        done += min(pitch - column, count - done)
