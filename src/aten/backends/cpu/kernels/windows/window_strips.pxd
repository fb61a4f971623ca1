"""Which positions and channels of a convolution are multiplied together."""

from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.windows.direct cimport (
    aten_strip, aten_window_kernels, aten_windows,
)

cdef enum:
    # Strips whose panels are multiplied by turns, so that weights that have no room in the second
    # cache are read once for all of them.
    TOGETHER = 4
    # Positions that are left over of so many are summed along the depth if they are few.
    LEFT_OVER = 16
    FEW_LEFT = 2

cdef struct Panels:
    const aten_windows* work
    const aten_window_kernels* kernels
    int64_t size            # of an element in bytes, and of one of the result
    int64_t out_size
    int64_t channels        # of a stretch, and its taps
    int64_t taps
    int64_t width           # positions of a strip, the first ones; others have a vector less
    int64_t wider
    int64_t positions       # of an image; those from `whole` on are the few left over
    int64_t whole
    int64_t strips          # of an image, and of a piece
    int64_t strips_each
    int64_t rows_each
    int64_t across          # pieces of an image, along positions and channels
    int64_t down
    bint by_rows            # pieces of the same rows follow each other, not of the same strips
    int64_t together        # strips
    int64_t panel           # bytes
    # All panels, strip by strip and stretch by stretch, where rows of weights are shared out: else
    # each thread would make them for itself.
    char* made
    int64_t stretches
    # A piece is summed elsewhere: its positions have gaps in memory, its channels keep each other
    # out of the caches, or sums are no elements of the result.
    bint holds
    bint is_dense           # positions follow each other in memory
    bint is_straight        # so does what they see
    # Results, or what they are made of, have no room in the second cache.
    bint is_far
    bint failed

# The stretches of a depth, by the weights' sizes alone.
cdef void cut_depth(Panels* panels) noexcept nogil
# Strips of positions, and the few left over, if there may be some.
cdef void cut_strips(Panels* panels, bint leaves_over) noexcept nogil
# Strips, and pieces for threads; and how they lie, which the other two leave to the last one.
cdef void cut_result(Panels* panels) noexcept nogil
cdef void plan_panels(Panels* panels) noexcept nogil
# Whether positions of such sizes and strides follow each other in memory.
cdef bint is_dense(const int64_t* sizes, const int64_t* strides) noexcept nogil
# The size of parts of about `wanted` that differ little.
cdef int64_t even_share(int64_t total, int64_t wanted) noexcept nogil
# The positions from a place on, cut where lines end.
cdef void describe_strip(const Panels* panels, int64_t place, aten_strip* strip) noexcept nogil


cdef inline int64_t place_of(const Panels* panels, int64_t strip) noexcept nogil:
    """Its first position."""
    cdef int64_t narrower = max(<int64_t>0, strip - panels.wider)
    return min(strip * panels.width - narrower * panels.kernels.lanes, panels.whole)


cdef inline int64_t columns_of(const Panels* panels, int64_t place) noexcept nogil:
    """Positions of the strip that begins at a place."""
    cdef int64_t width = panels.width
    if place >= panels.wider * width:
        width -= panels.kernels.lanes
    if place < panels.whole:
        return min(width, panels.whole - place)
    return panels.positions - place
