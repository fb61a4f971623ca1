# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Walks in tiles, for operands that are closest in memory along different dimensions.

Where the output lies row by row and an operand column by column, a walk along either leaps through
the other's memory and uses one element of each cache line it fetches. Such a walk goes tile by tile:
the tile of the operand is turned in a buffer that stays in cache, and the kernel runs on the buffer
as on any operand whose elements are neighbours. Tiles are shared out over the threads.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.moving.iterator cimport MAXIMUM_OPERANDS, Walk

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    /* A square of as many rows as a vector of 16 bytes has lanes. Interleaving row i with row
       i + lanes/2 rotates the bits of an element's (row, lane) by one; after log2(lanes) rounds
       rows and lanes have changed places. */
    #define ATEN_SQUARE(name, element, lanes, low, high)                                        \\
        typedef element name##_vector __attribute__((vector_size(16)));                         \\
        static inline void name(const char* source, ptrdiff_t source_step, char* target,        \\
                                ptrdiff_t target_step) {                                        \\
            name##_vector rows[lanes], mixed[lanes];                                            \\
            for (int row = 0; row < lanes; row++)                                               \\
                memcpy(&rows[row], source + row * source_step, 16);                             \\
            for (int round = 1; round < lanes; round *= 2) {                                    \\
                for (int row = 0; row < lanes / 2; row++) {                                     \\
                    mixed[2 * row] = low(name##_vector, rows[row], rows[row + lanes / 2]);      \\
                    mixed[2 * row + 1] = high(name##_vector, rows[row], rows[row + lanes / 2]); \\
                }                                                                               \\
                for (int row = 0; row < lanes; row++)                                           \\
                    rows[row] = mixed[row];                                                     \\
            }                                                                                   \\
            for (int row = 0; row < lanes; row++)                                               \\
                memcpy(target + row * target_step, &rows[row], 16);                             \\
        }

    #if defined(__clang__) || __GNUC__ >= 12
    #define ATEN_MIX(vector, left, right, ...) __builtin_shufflevector(left, right, __VA_ARGS__)
    #define ATEN_LOW_1(vector, left, right) ATEN_MIX(vector, left, right, \\
        0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
    #define ATEN_HIGH_1(vector, left, right) ATEN_MIX(vector, left, right, \\
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
    #define ATEN_LOW_2(vector, left, right) \\
        ATEN_MIX(vector, left, right, 0, 8, 1, 9, 2, 10, 3, 11)
    #define ATEN_HIGH_2(vector, left, right) \\
        ATEN_MIX(vector, left, right, 4, 12, 5, 13, 6, 14, 7, 15)
    #define ATEN_LOW_4(vector, left, right) ATEN_MIX(vector, left, right, 0, 4, 1, 5)
    #define ATEN_HIGH_4(vector, left, right) ATEN_MIX(vector, left, right, 2, 6, 3, 7)
    #define ATEN_LOW_8(vector, left, right) ATEN_MIX(vector, left, right, 0, 2)
    #define ATEN_HIGH_8(vector, left, right) ATEN_MIX(vector, left, right, 1, 3)
    ATEN_SQUARE(aten_square_1, uint8_t, 16, ATEN_LOW_1, ATEN_HIGH_1)
    ATEN_SQUARE(aten_square_2, uint16_t, 8, ATEN_LOW_2, ATEN_HIGH_2)
    ATEN_SQUARE(aten_square_4, uint32_t, 4, ATEN_LOW_4, ATEN_HIGH_4)
    ATEN_SQUARE(aten_square_8, uint64_t, 2, ATEN_LOW_8, ATEN_HIGH_8)
    #else
    #define ATEN_PLAIN_SQUARE(name, element, lanes)                                             \\
        static inline void name(const char* source, ptrdiff_t source_step, char* target,        \\
                                ptrdiff_t target_step) {                                        \\
            for (int row = 0; row < lanes; row++)                                               \\
                for (int lane = 0; lane < lanes; lane++)                                        \\
                    memcpy(target + lane * target_step + row * sizeof(element),                 \\
                           source + row * source_step + lane * sizeof(element),                 \\
                           sizeof(element));                                                    \\
        }
    ATEN_PLAIN_SQUARE(aten_square_1, uint8_t, 16)
    ATEN_PLAIN_SQUARE(aten_square_2, uint16_t, 8)
    ATEN_PLAIN_SQUARE(aten_square_4, uint32_t, 4)
    ATEN_PLAIN_SQUARE(aten_square_8, uint64_t, 2)
    #endif

    /* `rows` rows of `columns` neighbours become `columns` rows of `rows` neighbours. */
    #define ATEN_TURN(name, square, width, lanes)                                               \\
        static void name(const char* source, ptrdiff_t source_step, char* target,               \\
                         ptrdiff_t target_step, ptrdiff_t rows, ptrdiff_t columns) {            \\
            ptrdiff_t row = 0, column;                                                          \\
            for (; row + lanes <= rows; row += lanes) {                                         \\
                const char* from = source + row * source_step;                                  \\
                char* to = target + row * width;                                                \\
                for (column = 0; column + lanes <= columns; column += lanes)                    \\
                    square(from + column * width, source_step, to + column * target_step,       \\
                           target_step);                                                        \\
                for (; column < columns; column++)                                              \\
                    for (int lane = 0; lane < lanes; lane++)                                    \\
                        memcpy(to + column * target_step + lane * width,                        \\
                               from + lane * source_step + column * width, width);              \\
            }                                                                                   \\
            for (; row < rows; row++)                                                           \\
                for (column = 0; column < columns; column++)                                    \\
                    memcpy(target + column * target_step + row * width,                         \\
                           source + row * source_step + column * width, width);                 \\
        }
    static inline void aten_square_16(const char* source, ptrdiff_t source_step, char* target,
                                      ptrdiff_t target_step) {
        memcpy(target, source, 16);
    }
    ATEN_TURN(aten_turn_1, aten_square_1, 1, 16)
    ATEN_TURN(aten_turn_2, aten_square_2, 2, 8)
    ATEN_TURN(aten_turn_4, aten_square_4, 4, 4)
    ATEN_TURN(aten_turn_8, aten_square_8, 8, 2)
    ATEN_TURN(aten_turn_16, aten_square_16, 16, 1)
    """
    void aten_turn_1(const char*, int64_t, char*, int64_t, int64_t, int64_t) noexcept nogil
    void aten_turn_2(const char*, int64_t, char*, int64_t, int64_t, int64_t) noexcept nogil
    void aten_turn_4(const char*, int64_t, char*, int64_t, int64_t, int64_t) noexcept nogil
    void aten_turn_8(const char*, int64_t, char*, int64_t, int64_t, int64_t) noexcept nogil
    void aten_turn_16(const char*, int64_t, char*, int64_t, int64_t, int64_t) noexcept nogil

cdef enum:
    # Bytes of a tile: half of a small first-level cache.
    TILE_BYTES = 16384
    # Bytes of a tile's run in a turned operand: two cache lines, which processors fetch together.
    RUN_BYTES = 128
    # Rows of a buffer as far apart as a page share few places of the cache: those of multiples of
    # this many bytes are moved apart by a cache line.
    CROWDED_BYTES = 256
    LINE_BYTES = 64
    BUFFER_BYTES = TILE_BYTES + TILE_BYTES // CROWDED_BYTES * LINE_BYTES
    # Fewer points along a side than this are quicker walked as they lie.
    LEAST_SIDE = 8


cdef void turn(const char* source, int64_t source_step, char* target, int64_t target_step,
               int64_t rows, int64_t columns, int64_t width) noexcept nogil:
    """`rows` rows of `columns` neighbours, of `width` bytes each, turned into rows of columns."""
    if width == 4:
        aten_turn_4(source, source_step, target, target_step, rows, columns)
    elif width == 8:
        aten_turn_8(source, source_step, target, target_step, rows, columns)
    elif width == 2:
        aten_turn_2(source, source_step, target, target_step, rows, columns)
    elif width == 1:
        aten_turn_1(source, source_step, target, target_step, rows, columns)
    else:
        aten_turn_16(source, source_step, target, target_step, rows, columns)


cdef inline int64_t _pitch(int64_t length, int64_t width) noexcept nogil:
    """The distance of a buffer's rows in bytes."""
    cdef int64_t bytes = length * width
    return bytes + LINE_BYTES if bytes % CROWDED_BYTES == 0 else bytes


cdef int _closest(Walk* walk, int place) noexcept nogil:
    """The dimension along which an operand's elements lie closest; -1 where it has one element."""
    cdef int found = -1, dim
    for dim in range(walk.rank):
        if walk.strides[dim][place] == 0 or walk.sizes[dim] == 1:
            continue
        if found < 0 or walk.strides[dim][place] < walk.strides[found][place]:
            found = dim
    return found


cdef void _exchange(Walk* walk, int left, int right) noexcept nogil:
    cdef int place
    walk.sizes[left], walk.sizes[right] = walk.sizes[right], walk.sizes[left]
    for place in range(walk.operands):
        walk.strides[left][place], walk.strides[right][place] = (
            walk.strides[right][place], walk.strides[left][place])


cdef inline bint _crosses(Walk* walk, int place, int lead, int closest) noexcept nogil:
    """Whether an operand lies closest along another dimension than `lead`, and moves along both."""
    return (closest >= 0 and closest != lead and walk.strides[lead][place] != 0
            and walk.sizes[closest] >= LEAST_SIDE)


cdef int _find_across(Walk* walk, const int64_t* widths, int lead) noexcept nogil:
    """The dimension for the tiles' other side, best one along which elements are neighbours."""
    cdef int found = -1, place, closest
    for place in range(walk.operands - 1):
        closest = _closest(walk, place)
        if not _crosses(walk, place, lead, closest):
            continue
        if walk.strides[closest][place] == widths[place]:
            return closest
        if found < 0:
            found = closest
    return found


cdef bint tile(Walk* walk, const int64_t* widths, Tiling* tiling) noexcept nogil:
    """Whether `walk`, the last of whose operands is written, is better run in tiles.

    If so, `tiling` says how, the walk's dimensions change places, and the strides of operands that
    are turned become those that the kernel meets. Points must not depend on each other.
    """
    cdef int lead, across, place
    cdef int64_t width = 1
    if walk.rank < 2 or walk.total < LEAST_SIDE * LEAST_SIDE:
        return False
    lead = _closest(walk, walk.operands - 1)
    if lead < 0 or walk.sizes[lead] < LEAST_SIDE:
        return False
    across = _find_across(walk, widths, lead)
    if across < 0:
        return False
    _exchange(walk, 0, lead)
    if across == 0:
        across = lead
    _exchange(walk, 1, across)
    tiling.walk = walk
    tiling.turned = 0
    for place in range(walk.operands - 1):
        if not _crosses(walk, place, 0, _closest(walk, place)):
            continue
        width = max(width, widths[place])
        if walk.strides[1][place] != widths[place] or tiling.turned == MAXIMUM_TURNED:
            continue
        tiling.places[tiling.turned] = place
        tiling.widths[tiling.turned] = widths[place]
        tiling.steps[tiling.turned] = walk.strides[0][place]
        tiling.turned += 1
        walk.strides[0][place] = widths[place]
    _choose_lengths(tiling, width)
    return True


cdef void _choose_lengths(Tiling* tiling, int64_t width) noexcept nogil:
    """How long tiles are, for operands of at most `width` bytes."""
    cdef Walk* walk = tiling.walk
    cdef int64_t points = TILE_BYTES // width
    cdef int side
    tiling.lengths[1] = min(walk.sizes[1], RUN_BYTES // width)
    tiling.lengths[0] = min(walk.sizes[0], points // tiling.lengths[1])
    tiling.lengths[1] = min(walk.sizes[1], points // tiling.lengths[0])
    for side in range(2):
        tiling.counts[side] = (walk.sizes[side] + tiling.lengths[side] - 1) // tiling.lengths[side]


cdef void _run_tile(Tiling* tiling, int64_t first, int64_t second, char** base) noexcept nogil:
    """The tile that begins at points `first` and `second` of the two innermost dimensions."""
    cdef Walk* walk = tiling.walk
    cdef char room[MAXIMUM_TURNED * BUFFER_BYTES + LINE_BYTES]
    cdef char* buffer = <char*>(<size_t>(&room[0] + LINE_BYTES - 1) & ~<size_t>(LINE_BYTES - 1))
    cdef char* data[MAXIMUM_OPERANDS]
    cdef int64_t outer[MAXIMUM_OPERANDS]
    cdef int64_t along = min(walk.sizes[0] - first, tiling.lengths[0])
    cdef int64_t across = min(walk.sizes[1] - second, tiling.lengths[1])
    cdef int place, index
    for place in range(walk.operands):
        outer[place] = walk.strides[1][place]
        data[place] = base[place] + second * outer[place] + first * walk.strides[0][place]
    for index in range(tiling.turned):
        place = tiling.places[index]
        outer[place] = _pitch(along, tiling.widths[index])
        turn(base[place] + second * walk.strides[1][place] + first * tiling.steps[index],
             tiling.steps[index], buffer, outer[place], along, across, tiling.widths[index])
        data[place] = buffer
        buffer += BUFFER_BYTES
    walk.kernel(data, along, walk.strides[0], across, outer, walk.reduced)


cdef void _run_tiles(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Tiles `begin` to `end`, dimension 1 innermost."""
    cdef Tiling* tiling = <Tiling*>context
    cdef Walk* walk = tiling.walk
    cdef char* base[MAXIMUM_OPERANDS]
    cdef int64_t index, left, first, second, position
    cdef int dim, place
    for index in range(begin, end):
        second = index % tiling.counts[1] * tiling.lengths[1]
        left = index // tiling.counts[1]
        first = left % tiling.counts[0] * tiling.lengths[0]
        left //= tiling.counts[0]
        for place in range(walk.operands):
            base[place] = walk.data[place]
        for dim in range(2, walk.rank):
            position = left % walk.sizes[dim]
            left //= walk.sizes[dim]
            for place in range(walk.operands):
                base[place] += position * walk.strides[dim][place]
        _run_tile(tiling, first, second, base)


cdef void run_tiles(Tiling* tiling, int64_t grain) noexcept nogil:
    """Run the walk's kernel over all points, in chunks of about `grain` where threads are free."""
    cdef Walk* walk = tiling.walk
    cdef int64_t tiles = tiling.counts[0] * tiling.counts[1]
    cdef int dim
    for dim in range(2, walk.rank):
        tiles *= walk.sizes[dim]
    parallel_for(tiles, max(1, grain // (tiling.lengths[0] * tiling.lengths[1])), _run_tiles,
                 tiling)
