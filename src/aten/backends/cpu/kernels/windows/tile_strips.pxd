from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.windows.tilings cimport Tiling

cdef enum:
    # Channels summed in registers: the more, the larger are errors.
    STRETCH = 128
    # An odd number of lines of the cache: rows and parts do not keep each other out.
    LINE = 16

cdef struct Piece:
    int64_t image, group
    int64_t line, lines     # of tiles
    int64_t column, columns
    int64_t row, rows       # channels of the result
    const char* weights     # sixteen of each, a part after the other, from channel `first` to `last`
    int64_t weight_row
    int64_t weight_part
    int64_t first, last
    char* copied
    char* panels
    char* sums

# The band of an index: group by group, image by image.
cdef void find_band(const Tiling* tiling, Piece* piece, int64_t index) noexcept nogil

# Where the strip that follows at a place begins, and how wide it is; False at the end.
cdef bint next_strip(const Tiling* tiling, const Piece* piece, int64_t* place,
                     int64_t* width) noexcept nogil

# Copies channels of a band, parted, and makes panels of those that are copied.
cdef void copy_band(const Tiling* tiling, const Piece* piece, int64_t first,
                    int64_t last) noexcept nogil
cdef void see_strip(const Tiling* tiling, const Piece* piece, int64_t first, int64_t last,
                    int64_t place, int64_t width, char* panels) noexcept nogil

# Sums products over the channels whose weights there are, for `width` tiles from a place on; and makes
# the results of such sums, saying whether one of them is not finite.
cdef void sum_strip(const Tiling* tiling, const Piece* piece, int64_t row, int64_t rows,
                    const char* panels, int64_t place, int64_t width, char* sums) noexcept nogil
cdef bint join_strip(const Tiling* tiling, const Piece* piece, int64_t row, int64_t rows,
                     int64_t place, int64_t width, const char* sums) noexcept nogil

# What follows the sums of a piece.
cdef void finish_piece(const Tiling* tiling, const Piece* piece) noexcept nogil


cdef inline int64_t plane_of(const Tiling* tiling) noexcept nogil:
    """Elements of a channel's copy."""
    return tiling.sliding.slots.count * tiling.sliding.height * tiling.sliding.pitch


cdef inline int64_t part_of(const Tiling* tiling, int64_t width) noexcept nogil:
    """Elements from one panel of a strip to the next."""
    return tiling.work.inputs * width + LINE


cdef inline int64_t stretch_of(int64_t channels, int64_t longest) noexcept nogil:
    """Of as many as there have to be, the longest one."""
    cdef int64_t stretches = (channels + longest - 1) // longest
    return (channels + stretches - 1) // stretches
