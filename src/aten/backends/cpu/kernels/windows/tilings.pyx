# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""What tiles of a convolution see, and how an image is cut into bands of them.

A copy has what tiles see parted into even and odd rows and columns, so that neighbouring tiles look at
a run of memory. Two copies of a line serve the four columns that a tile sees, and then there is a place
at the end of each line that is no tile; or each column has a copy of its own, and lines of tiles follow
each other. Of all bands those are taken that take least, as counted in cycles.
"""

from libc.stdint cimport int64_t

from aten._core.threads.parallel cimport thread_count
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_VECTORS, aten_window_kernels, aten_windows,
)
from aten.backends.cpu.kernels.windows.sliding cimport Sliding
from aten.backends.cpu.kernels.windows.window_strips cimport FEW_LEFT, LEFT_OVER

cdef extern from "_core/base/cache_sizes.h" nogil:
    long aten_second_cache()

cdef enum:
    # Elements of a copied band, and its tiles, at most.
    BAND = 1 << 16
    TILES = 256
    PIECES_PER_THREAD = 2
    # Weights, before there are sixteen of nine or four of three, and tiles of as many channels, that
    # decide how threads share.
    MANY_WEIGHTS = 1 << 12
    MANY_OF_LINES = 1 << 20
    MANY_TILES = 3000
    # The same where the second cache is large, of so many bytes: there strips of tiles read weights from
    # it unless there are more than those, and from the third one with fewer bytes than rounds do where
    # there are many tiles.
    LARGE_CACHE = 3 << 19
    NEAR_WEIGHTS = 18 << 10
    SOME_TILES = 180
    LARGE_MANY_TILES = 1000
    # Hundredths of cycles that a vector takes: its products with a weight where it is alone in a strip,
    # and where it is not; what tiles of it see of a channel, their results of one, and its copy.
    ALONE = 73
    TOGETHER = 54
    SEE = 5400
    JOIN = 11500
    COPY = 1000
    # The same of a weight for a tile that is summed along the depth.
    DOT = 12
    # Tiles of an image that has some left over, at most: among more, a vector for these is little.
    MOST_LEFT_OVER = 100


cdef int64_t _second_cache = aten_second_cache()


def second_cache():
    """The bytes of the second cache that images are cut for; 0 where they are not known."""
    return _second_cache


def set_second_cache(int64_t count):
    """Cut images for a second cache of so many bytes. Results have the same bits."""
    global _second_cache
    _second_cache = count


cdef int64_t known_second_cache() noexcept nogil:
    return _second_cache


cdef void plan_tiles(Tiling* tiling, const aten_windows* work,
                     const aten_window_kernels* kernels) noexcept nogil:
    tiling.work = work
    tiling.kernels = kernels
    _describe_tiles(tiling)
    tiling.in_rounds = _has_rounds(tiling)
    _cut(tiling)
    if not tiling.in_rounds and _bands_of_all(tiling) < _fewest_bands(tiling):
        tiling.in_rounds = True
        _cut(tiling)
    _place_seen(tiling)


cdef bint _has_rounds(const Tiling* tiling) noexcept nogil:
    """Whether there are so many weights that it takes less to make them anew for some channels of the
    result than to read them anew for each strip of tiles."""
    cdef const aten_windows* work = tiling.work
    cdef int64_t weights = work.groups * work.outputs * work.inputs
    cdef int64_t tiles = work.batch * tiling.tiles.sizes[1] * tiling.tiles.sizes[2]
    if tiling.seen == SIDE:
        return weights > MANY_OF_LINES
    if weights <= MANY_WEIGHTS:
        return False
    if _second_cache >= LARGE_CACHE:
        return tiles < LARGE_MANY_TILES and (weights > NEAR_WEIGHTS or tiles < SOME_TILES)
    return work.inputs > FEW_CHANNELS or tiles < MANY_TILES


cdef void _describe_tiles(Tiling* tiling) noexcept nogil:
    """Tiles, and copies of what they see: even and odd rows and columns apart."""
    cdef const aten_windows* work = tiling.work
    cdef Sliding* sliding = &tiling.sliding
    cdef bint is_flat = work.taps == SMALL
    tiling.seen = SIDE if is_flat else SEEN
    tiling.dilation[0] = 1 if is_flat else work.places[1][SMALL] - work.places[1][0]
    tiling.dilation[1] = work.places[2][1] - work.places[2][0]
    tiling.tiles = work[0]
    tiling.tiles.step[2] = 2
    tiling.tiles.sizes[2] = _tiles_of(work.sizes[2], tiling.dilation[1])
    if not is_flat:
        tiling.tiles.step[1] = 2
        tiling.tiles.sizes[1] = _tiles_of(work.sizes[1], tiling.dilation[0])
    tiling.left = _left_of(tiling)
    sliding.work = &tiling.tiles
    sliding.kernels = tiling.kernels
    sliding.size = SIZE
    sliding.slots.z = tiling.slots[0]
    sliding.slots.y = tiling.slots[1]
    sliding.slots.x = tiling.slots[2]
    sliding.slots.reach_y = 0 if is_flat else tiling.dilation[0]
    sliding.slots.reach_x = tiling.dilation[1]


cdef int64_t _left_of(const Tiling* tiling) noexcept nogil:
    """Tiles for which a vector is too much. The image alone decides, for their bits differ."""
    cdef int64_t tiles = tiling.tiles.sizes[1] * tiling.tiles.sizes[2]
    cdef int64_t left = tiles % LEFT_OVER
    if tiling.seen == SIDE or tiling.dilation[0] != 1 or tiling.dilation[1] != 1:
        return 0
    return left if left <= FEW_LEFT and LEFT_OVER < tiles <= MOST_LEFT_OVER else 0


cdef inline int64_t _tiles_of(int64_t positions, int64_t spread) noexcept nogil:
    """Of two positions so far apart: as many follow each other, then there are the others'."""
    return (positions + 2 * spread - 1) // (2 * spread) * spread


cdef void _place_seen(Tiling* tiling) noexcept nogil:
    """Where copies of a band begin, and where in them a tile finds the elements that it sees."""
    cdef Sliding* sliding = &tiling.sliding
    cdef int64_t across = tiling.copies, slot, seen, y, x
    sliding.height = tiling.rows + sliding.slots.reach_y
    sliding.slots.count = _slots_of(tiling, across)
    for slot in range(sliding.slots.count):
        tiling.slots[0][slot] = 0
        tiling.slots[1][slot] = tiling.work.places[1][0] + slot // across * tiling.dilation[0]
        tiling.slots[2][slot] = tiling.work.places[2][0] + slot % across * tiling.dilation[1]
    for seen in range(tiling.seen):
        y = seen // SIDE
        x = seen % SIDE
        tiling.offsets[seen] = (
            ((y % 2 * across + x % across) * sliding.height + y // 2 * tiling.dilation[0])
            * sliding.pitch + x // across * tiling.dilation[1])


cdef inline int64_t _slots_of(const Tiling* tiling, int64_t across) noexcept nogil:
    return across if tiling.seen == SIDE else 2 * across


cdef void _cut(Tiling* tiling) noexcept nogil:
    """Choose bands."""
    cdef int64_t length = tiling.tiles.sizes[2], across, least = -1
    cdef int64_t fewest = (length + 2 * TILES - 1) // (2 * TILES)
    # Tiles that are left over are the last of a line that is whole.
    cdef int64_t most = fewest if tiling.left > 0 else 3 + length // (2 * TILES)
    for across in range(fewest, most + 1):
        _cut_lines(tiling, across, 2, &least)
        _cut_lines(tiling, across, SIDE, &least)
    tiling.across = (length + tiling.columns - 1) // tiling.columns
    tiling.sliding.pitch = _pitch_of(tiling, tiling.columns, tiling.copies)
    tiling.bands = (tiling.tiles.sizes[1] + tiling.rows - 1) // tiling.rows * tiling.across


cdef inline int64_t _bands_of_all(const Tiling* tiling) noexcept nogil:
    return tiling.work.batch * tiling.work.groups * tiling.bands


cdef inline int64_t _fewest_bands(const Tiling* tiling) noexcept nogil:
    """As many as threads share well: where weights are near, one each does."""
    cdef int64_t threads = thread_count()
    cdef int64_t weights = tiling.work.groups * tiling.work.outputs * tiling.work.inputs
    if threads == 1 or _second_cache >= LARGE_CACHE and weights > MANY_WEIGHTS:
        return threads
    return PIECES_PER_THREAD * threads


cdef inline int64_t _pitch_of(const Tiling* tiling, int64_t columns, int64_t copies) noexcept nogil:
    """Two copies of a line serve all that tiles see if they go on one tile further."""
    return columns if copies == SIDE else columns + tiling.dilation[1]


cdef void _cut_lines(Tiling* tiling, int64_t across, int64_t copies, int64_t* least) noexcept nogil:
    """Lines in so many parts, so many copies of each; the bands that take least are taken."""
    cdef const aten_windows* work = tiling.work
    cdef int64_t lines = tiling.tiles.sizes[1], spread = tiling.dilation[1]
    cdef int64_t columns = (tiling.tiles.sizes[2] + across - 1) // across
    cdef int64_t copied = work.inputs, pitch, most, rows, cost
    columns = (columns + spread - 1) // spread * spread
    pitch = _pitch_of(tiling, columns, copies)
    if tiling.in_rounds:
        copied = min(copied, <int64_t>CHANNELS)
    most = min(lines, max(<int64_t>1, TILES // pitch))
    most = min(most, max(<int64_t>1, BAND // (copied * _slots_of(tiling, copies) * pitch) - 1))
    for rows in range(1, most + 1):
        cost = _cost(tiling, rows, columns, copies)
        if least[0] < 0 or cost <= least[0]:
            least[0] = cost
            tiling.rows = rows
            tiling.columns = columns
            tiling.copies = copies


cdef int64_t _cost(const Tiling* tiling, int64_t rows, int64_t columns,
                   int64_t copies) noexcept nogil:
    """About how many hundredths of cycles all threads together are kept, if bands have so many lines
    and tiles across."""
    cdef int64_t down = tiling.tiles.sizes[1] // rows, rest = tiling.tiles.sizes[1] % rows
    cdef int64_t across = tiling.tiles.sizes[2] // columns
    cdef int64_t narrow = tiling.tiles.sizes[2] % columns
    cdef int64_t images = tiling.work.batch * tiling.work.groups, threads = thread_count()
    cdef int64_t pieces = images * (down + (rest > 0)) * (across + (narrow > 0))
    cdef int64_t whole = _cost_of(tiling, rows, columns, copies)
    cdef int64_t cost = across * down * whole
    if rest > 0:
        cost += across * _cost_of(tiling, rest, columns, copies)
    if narrow > 0:
        cost += down * _cost_of(tiling, rows, narrow, copies)
    if narrow > 0 and rest > 0:
        cost += _cost_of(tiling, rest, narrow, copies)
    if tiling.in_rounds:
        return images * cost
    return max(images * cost, (pieces + threads - 1) // threads * threads * whole)


cdef int64_t _cost_of(const Tiling* tiling, int64_t rows, int64_t columns,
                      int64_t copies) noexcept nogil:
    """The same of one band."""
    cdef const aten_windows* work = tiling.work
    cdef int lanes = tiling.kernels.lanes
    cdef int64_t pitch = _pitch_of(tiling, columns, copies)
    cdef int64_t left = left_in(tiling, 0, rows)
    cdef int64_t vectors = ((rows - 1) * pitch + columns - left + lanes - 1) // lanes
    cdef int64_t strips = (vectors + ATEN_VECTORS - 1) // ATEN_VECTORS
    cdef int64_t each = vectors // strips, wider = vectors % strips
    cdef int64_t products = wider * _strip_cost(each + 1) + (strips - wider) * _strip_cost(each)
    cdef int64_t copied = (_slots_of(tiling, copies) * (rows + tiling.sliding.slots.reach_y)
                           * ((pitch + lanes - 1) // lanes))
    products += left * DOT
    vectors += left > 0
    return (work.outputs * (tiling.seen * work.inputs * products + vectors * JOIN)
            + work.inputs * (vectors * SEE + copied * COPY))


cdef inline int64_t _strip_cost(int64_t vectors) noexcept nogil:
    return ALONE if vectors == 1 else vectors * TOGETHER
