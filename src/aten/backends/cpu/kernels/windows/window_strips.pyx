# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Which positions and channels of a convolution are multiplied together.

Positions become strips of up to three vectors, and the channels that are seen stretches, which the
weights' sizes alone decide. Pieces are strips, rows of weights or both, so that threads have as much to
do each.
"""

from libc.stdint cimport int64_t

from aten._core.threads.parallel cimport thread_count
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_ALIAS, ATEN_VECTORS, aten_piece, aten_strip, aten_windows,
)
from aten.backends.cpu.kernels.windows.tilings cimport known_second_cache

cdef enum:
    # Pieces for each thread, to even out a slow one, more of them where strips are so few that
    # threads would have one more than others; and elements of the result in one, which is read again
    # at every stretch.
    PIECES_PER_THREAD = 4
    PIECES_OF_FEW = 8
    PIECE = 1 << 16
    FEWEST_ROWS = 32
    # One part in so many is no matter.
    EVEN = 24
    # Bytes of weights that have no room in the second cache.
    MANY_WEIGHTS = 1 << 17
    # Bytes of the second cache where the system does not say.
    SOME_CACHE = 1 << 20


cdef int64_t even_share(int64_t total, int64_t wanted) noexcept nogil:
    """The size of parts of about `wanted` that differ little."""
    cdef int64_t parts = max(<int64_t>1, (total + wanted - 1) // wanted)
    return (total + parts - 1) // parts


cdef void cut_depth(Panels* panels) noexcept nogil:
    """Choose the stretches, by the weights' sizes alone."""
    cdef const aten_windows* work = panels.work
    cdef int64_t depth = work.stretch
    panels.channels = max(<int64_t>1, even_share(work.inputs,
                                                  max(<int64_t>1, depth // max(<int64_t>1, work.taps))))
    panels.taps = even_share(work.taps, depth)


cdef void cut_strips(Panels* panels, bint leaves_over) noexcept nogil:
    cdef const aten_windows* work = panels.work
    cdef int lanes = panels.kernels.lanes
    cdef int64_t vectors
    panels.positions = work.sizes[0] * work.sizes[1] * work.sizes[2]
    panels.whole = panels.positions
    if leaves_over and panels.positions % LEFT_OVER <= FEW_LEFT:
        panels.whole -= panels.positions % LEFT_OVER
    vectors = (panels.whole + lanes - 1) // lanes
    panels.strips = max(<int64_t>1, (vectors + ATEN_VECTORS - 1) // ATEN_VECTORS)
    # Their vectors differ by one at most: one that is alone takes longer than its share.
    panels.width = max(<int64_t>1, (vectors + panels.strips - 1) // panels.strips) * lanes
    panels.wider = vectors - panels.strips * (panels.width // lanes - 1)
    if panels.whole == 0:
        panels.strips = 0
    if panels.whole < panels.positions:
        panels.strips += 1


cdef void cut_result(Panels* panels) noexcept nogil:
    """Choose the strips and pieces."""
    cdef const aten_windows* work = panels.work
    cdef int64_t images = work.batch * work.groups
    cdef int64_t wanted = PIECES_PER_THREAD * thread_count()
    cut_strips(panels, True)
    panels.rows_each = work.outputs
    panels.strips_each = max(<int64_t>1, PIECE // (panels.width * work.outputs))
    panels.strips_each = min(panels.strips_each,
                             max(<int64_t>1, panels.strips * images // wanted))
    panels.strips_each = _even_strips(panels, images)
    panels.across = (panels.strips + panels.strips_each - 1) // panels.strips_each
    panels.down = 1
    if panels.strips * images < PIECES_OF_FEW * thread_count():
        wanted = PIECES_OF_FEW * thread_count()
        if _cut_by_rows(panels):
            plan_panels(panels)
            return
    if images * panels.across < wanted:
        panels.down = (wanted + images * panels.across - 1) // (images * panels.across)
        panels.rows_each = max(<int64_t>FEWEST_ROWS,
                               (work.outputs + panels.down - 1) // panels.down)
        panels.rows_each = (panels.rows_each + 7) // 8 * 8
        panels.down = (work.outputs + panels.rows_each - 1) // panels.rows_each
    plan_panels(panels)


cdef inline int64_t _longest(const Panels* panels, int64_t images, int64_t each) noexcept nogil:
    """Strips of all threads, if each had as many as the one that has most, in pieces of `each`."""
    cdef int64_t threads = thread_count()
    cdef int64_t pieces = images * ((panels.strips + each - 1) // each)
    return (pieces + threads - 1) // threads * threads * each


cdef int64_t _even_strips(const Panels* panels, int64_t images) noexcept nogil:
    """The strips of a piece: as many as may be, or fewer, where threads share these better."""
    cdef int64_t found = panels.strips_each, each
    for each in range(panels.strips_each - 1, 0, -1):
        if (EVEN + 1) * _longest(panels, images, each) < EVEN * _longest(panels, images, found):
            found = each
    return found


cdef bint _cut_by_rows(Panels* panels) noexcept nogil:
    """Give every thread as many rows of weights, where that is possible: few strips are no shares.
    What a strip sees is packed once by each thread, then, or once for all of them."""
    cdef int64_t threads = thread_count(), outputs = panels.work.outputs
    cdef int64_t parts = threads * max(<int64_t>1, min(
        (PIECES_PER_THREAD + panels.strips - 1) // panels.strips,
        outputs // (FEWEST_ROWS * threads)))
    cdef int64_t rows = ((outputs + parts - 1) // parts + 3) // 4 * 4
    if rows < FEWEST_ROWS // 2 or 16 * outputs < 15 * rows * parts:
        return False
    panels.rows_each = rows
    panels.strips_each = even_share(panels.strips, TOGETHER)
    panels.across = (panels.strips + panels.strips_each - 1) // panels.strips_each
    panels.down = (outputs + rows - 1) // rows
    panels.by_rows = True
    return True


cdef void plan_panels(Panels* panels) noexcept nogil:
    """How pieces lie, and their panels."""
    cdef const aten_windows* work = panels.work
    panels.is_dense = is_dense(work.sizes, work.out_strides)
    panels.is_straight = _is_straight(work)
    panels.holds = not panels.is_dense or panels.out_size != panels.size or (
        work.out_channel * panels.size % ATEN_ALIAS == 0
        and panels.channels * panels.taps < work.inputs * work.taps)
    panels.is_far = _is_far(panels, max(work.outputs, work.inputs))
    panels.panel = (panels.channels * panels.taps * max(panels.width, <int64_t>LEFT_OVER)
                    * panels.size + 63) // 64 * 64
    panels.together = 1
    if panels.rows_each * panels.channels * panels.taps * panels.size > MANY_WEIGHTS:
        panels.together = min(panels.strips_each, <int64_t>TOGETHER)


cdef bint _is_far(const Panels* panels, int64_t channels) noexcept nogil:
    """Whether so many channels of each group, at all positions, are more than half of the second
    cache, which others share."""
    cdef const aten_windows* work = panels.work
    cdef int64_t bytes = work.batch * work.groups * channels * panels.positions * panels.size
    return 2 * bytes > (known_second_cache() or <int64_t>SOME_CACHE)


cdef bint is_dense(const int64_t* sizes, const int64_t* strides) noexcept nogil:
    """Whether positions follow each other in memory."""
    cdef int64_t stride = 1
    cdef int dim
    for dim in range(2, -1, -1):
        if strides[dim] != stride and sizes[dim] != 1:
            return False
        stride *= sizes[dim]
    return True


cdef bint _is_straight(const aten_windows* work) noexcept nogil:
    cdef int dim
    if work.taps != 1 or not is_dense(work.input_sizes, work.input_strides):
        return False
    for dim in range(3):
        if work.places[dim][0] != 0 or work.sizes[dim] != work.input_sizes[dim]:
            return False
        if work.step[dim] != 1 and work.sizes[dim] != 1:
            return False
    return True


cdef void describe_strip(const Panels* panels, int64_t place, aten_strip* strip) noexcept nogil:
    """Cut the positions from `place` on into pieces."""
    cdef const int64_t* sizes = panels.work.sizes
    cdef int lanes = panels.kernels.lanes
    cdef int64_t line = place // sizes[2]
    cdef int64_t x = place - line * sizes[2]
    cdef int64_t z = line // sizes[1]
    cdef int64_t y = line - z * sizes[1]
    cdef int64_t column = 0
    cdef aten_piece* piece
    strip.columns = columns_of(panels, place)
    strip.width = (strip.columns + lanes - 1) // lanes * lanes
    strip.pieces = 0
    while column < strip.columns:
        piece = &strip.piece[strip.pieces]
        piece.column = column
        piece.count = min(min(lanes - column % lanes, sizes[2] - x), strip.columns - column)
        piece.z = z
        piece.y = y
        piece.x = x
        strip.pieces += 1
        column += piece.count
        x += piece.count
        if x == sizes[2]:
            x = 0
            y += 1
        if y == sizes[1]:
            y = 0
            z += 1
