"""What tiles of a convolution see, and how an image is cut into bands of them."""

from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.windows.direct cimport aten_window_kernels, aten_windows
from aten.backends.cpu.kernels.windows.sliding cimport Sliding

cdef enum:
    # Elements that a tile sees, and results of one.
    SEEN = 16
    SIDE = 4
    SMALL = 3               # and the side of a window
    SIZE = 4                # of an element in bytes
    # Places between the taps of a window, at most.
    MOST_SPREAD = 16
    # Channels of what is seen in a piece of a round, and those whose weights are few.
    CHANNELS = 16
    FEW_CHANNELS = 256

cdef struct Tiling:
    const aten_windows* work
    aten_windows tiles      # what each tile sees, as windows that move by two
    const aten_window_kernels* kernels
    Sliding sliding         # copies of them, of one band
    int64_t slots[3][2 * SIDE]  # where copies begin
    int64_t offsets[SEEN]
    int64_t seen            # elements of a tile: SEEN, or SIDE where there are lines alone
    int64_t dilation[2]
    int64_t left            # tiles at the end of an image that are summed along the depth
    bint in_rounds          # threads share channels of the result in place of bands
    int64_t columns         # tiles of a line in a band
    int64_t copies          # of a line: of every other element, or of all that a tile sees
    int64_t rows            # lines of tiles in a band
    int64_t across          # bands of an image along its lines, and all of them
    int64_t bands

cdef void plan_tiles(Tiling* tiling, const aten_windows* work,
                     const aten_window_kernels* kernels) noexcept nogil


# The bytes of the second cache that images are cut for, 0 where they are not known.
cdef int64_t known_second_cache() noexcept nogil


cdef inline int64_t left_in(const Tiling* tiling, int64_t line, int64_t lines) noexcept nogil:
    """How many of these lines' tiles are those that are left over."""
    return tiling.left if line + lines == tiling.tiles.sizes[1] else 0


cdef inline int64_t first_of(int64_t tile, int64_t spread) noexcept nogil:
    """The first position of a tile."""
    return tile // spread * 2 * spread + tile % spread
