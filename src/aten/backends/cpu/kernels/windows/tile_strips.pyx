# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Strips of Winograd's tiles: panels of what they see, sums of products, and results.

A band of tiles is copied as tilings.pyx lays it out, and cut into strips of as many vectors as kernels
take. A strip becomes sixteen panels, or four where there are lines alone. Tiles that are left over at
the end of an image are a strip of their own, which is summed along the depth.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_CUT, ATEN_STRETCH, ATEN_VECTORS, aten_tile_piece, aten_tiles, aten_window_tile,
    aten_windows,
)
from aten.backends.cpu.kernels.windows.sliding cimport Sliding, copy_slots
from aten.backends.cpu.kernels.windows.tilings cimport (
    CHANNELS, SEEN, SIZE, Tiling, first_of, left_in,
)
from aten.backends.cpu.kernels.windows.window_strips cimport LEFT_OVER

cdef enum:
    # Channels that are on their way to the cache while one is copied.
    AHEAD = 2


cdef void find_band(const Tiling* tiling, Piece* piece, int64_t index) noexcept nogil:
    """Group by group, image by image."""
    cdef int64_t each = tiling.work.batch * tiling.bands
    piece.group = index // each
    piece.image = index % each // tiling.bands
    piece.line = index % tiling.bands // tiling.across * tiling.rows
    piece.lines = min(tiling.rows, tiling.tiles.sizes[1] - piece.line)
    piece.column = index % tiling.bands % tiling.across * tiling.columns
    piece.columns = min(tiling.columns, tiling.tiles.sizes[2] - piece.column)


cdef inline int64_t _end_of(const Tiling* tiling, const Piece* piece) noexcept nogil:
    """Tiles of a band, and those that are none between them."""
    return (piece.lines - 1) * tiling.sliding.pitch + piece.columns


cdef inline int64_t _left_in(const Tiling* tiling, const Piece* piece) noexcept nogil:
    return left_in(tiling, piece.line, piece.lines)


cdef inline bint _is_left(const Tiling* tiling, const Piece* piece, int64_t place) noexcept nogil:
    """Whether the strip at a place is that of the tiles that are left over."""
    cdef int64_t left = _left_in(tiling, piece)
    return left > 0 and place == _end_of(tiling, piece) - left


cdef bint next_strip(const Tiling* tiling, const Piece* piece, int64_t* place,
                      int64_t* width) noexcept nogil:
    """Where the one that follows at a place begins, and how wide it is; False at the end. Tiles that
    are left over are a strip of their own."""
    cdef int lanes = tiling.kernels.lanes
    cdef int64_t left = _left_in(tiling, piece), whole = _end_of(tiling, piece) - left
    cdef int64_t vectors = (whole - place[0] + lanes - 1) // lanes
    cdef int64_t strips = (vectors + ATEN_VECTORS - 1) // ATEN_VECTORS
    if whole <= place[0] < whole + lanes and left > 0:
        place[0] = whole
        width[0] = lanes
        return True
    if strips <= 0:
        return False
    width[0] = (vectors + strips - 1) // strips * lanes
    return True


cdef void copy_band(const Tiling* tiling, const Piece* piece, int64_t first,
                     int64_t last) noexcept nogil:
    """Channels first … last, parted."""
    cdef const Sliding* sliding = &tiling.sliding
    cdef bint is_near = tiling.dilation[0] == 1 and tiling.dilation[1] == 1
    cdef int64_t channel
    cdef char* copied = piece.copied
    for channel in range(piece.group * tiling.work.inputs + first,
                         piece.group * tiling.work.inputs + last):
        if is_near and tiling.work.input_strides[2] == 1:
            _copy_parted(tiling, piece, channel, copied)
        elif is_near:
            copy_slots(sliding, piece.image, channel, 0, piece.line, piece.column, piece.lines,
                       copied)
        else:
            _copy_spread(tiling, piece, channel, copied)
        copied += plane_of(tiling) * SIZE


cdef void _copy_parted(const Tiling* tiling, const Piece* piece, int64_t channel,
                       char* copied) noexcept nogil:
    """One channel whose lines lie element by element."""
    cdef const aten_windows* work = tiling.work
    cdef const Sliding* sliding = &tiling.sliding
    cdef int64_t pitch = sliding.pitch, step = tiling.tiles.step[1]
    cdef int64_t lines = piece.lines + sliding.slots.reach_y, plane = sliding.height * pitch * SIZE
    cdef int64_t slot, pair, y, above, below
    cdef const char* data = <const char*>work.input + (
        piece.image * work.input_batch + channel * work.input_channel) * SIZE
    cdef char* to
    for slot in range(0, sliding.slots.count, 2):
        y = piece.line * step + sliding.slots.y[slot]
        above = min(lines, max(<int64_t>0, (step - 1 - y) // step))
        below = max(above, min(lines, (work.input_sizes[1] - y + step - 1) // step))
        to = copied + slot * plane
        for pair in range(2):
            memset(to + pair * plane, 0, above * pitch * SIZE)
            memset(to + pair * plane + below * pitch * SIZE, 0, (lines - below) * pitch * SIZE)
        tiling.kernels.part_lines(
            data + (y + above * step) * work.input_strides[1] * SIZE, step * work.input_strides[1],
            work.input_sizes[2], 2 * piece.column + sliding.slots.x[slot], pitch, below - above,
            AHEAD * work.input_channel, to + above * pitch * SIZE, to + plane + above * pitch * SIZE)


cdef void _copy_spread(const Tiling* tiling, const Piece* piece, int64_t channel,
                       char* copied) noexcept nogil:
    """One channel, where taps have places between them."""
    cdef const aten_windows* work = tiling.work
    cdef const Sliding* sliding = &tiling.sliding
    cdef int64_t slot, line, y
    cdef const char* data = <const char*>work.input + (
        piece.image * work.input_batch + channel * work.input_channel) * SIZE
    cdef char* to
    for slot in range(sliding.slots.count):
        to = copied + slot * sliding.height * sliding.pitch * SIZE
        for line in range(piece.lines + sliding.slots.reach_y):
            y = first_of(piece.line + line, tiling.dilation[0]) + sliding.slots.y[slot]
            if 0 <= y < work.input_sizes[1]:
                tiling.kernels.copy_spread(
                    data + y * work.input_strides[1] * SIZE, work.input_strides[2],
                    work.input_sizes[2], 2 * piece.column + sliding.slots.x[slot],
                    tiling.dilation[1], sliding.pitch, to)
            else:
                memset(to, 0, sliding.pitch * SIZE)
            to += sliding.pitch * SIZE


cdef void see_strip(const Tiling* tiling, const Piece* piece, int64_t first, int64_t last,
                     int64_t place, int64_t width, char* panels) noexcept nogil:
    """Panels of the channels that are copied."""
    if _is_left(tiling, piece, place):
        _see_left(tiling, piece, first, last, place, panels)
        return
    tiling.kernels.see_tiles(piece.copied + place * SIZE, tiling.offsets, tiling.seen,
                             last - first, plane_of(tiling), width // tiling.kernels.lanes,
                             panels + first * width * SIZE, width,
                             part_of(tiling, width))


cdef void _see_left(const Tiling* tiling, const Piece* piece, int64_t first, int64_t last,
                    int64_t place, char* panels) noexcept nogil:
    """The same of tiles that are left over: panels are as narrow as they are few."""
    cdef float[SEEN * CHANNELS * LEFT_OVER] whole
    cdef float* narrow = <float*>panels
    cdef int64_t left = _left_in(tiling, piece), lanes = tiling.kernels.lanes
    cdef int64_t begin = first, count, part, index, tile
    while begin < last:
        count = min(<int64_t>CHANNELS, last - begin)
        tiling.kernels.see_tiles(
            piece.copied + ((begin - first) * plane_of(tiling) + place) * SIZE, tiling.offsets,
            tiling.seen, count, plane_of(tiling), 1, whole, lanes, CHANNELS * lanes)
        for part in range(tiling.seen):
            for index in range(count):
                for tile in range(left):
                    narrow[part * part_of(tiling, left) + (begin + index) * left + tile] = (
                        whole[(part * CHANNELS + index) * lanes + tile])
        begin += count


cdef void finish_piece(const Tiling* tiling, const Piece* piece) noexcept nogil:
    """What follows the sums of a piece."""
    cdef const aten_windows* work = tiling.work
    cdef int64_t first = 2 * piece.column
    cdef int64_t last = min(work.sizes[2], 2 * (piece.column + piece.columns))
    cdef int64_t line, half, y
    cdef bint settles = not _settles_itself(tiling)
    if work.finish == NULL or not settles and work.finish.activation == ATEN_CUT:
        return
    for line in range(piece.lines):
        for half in range(2):
            y = first_of(piece.line + line, tiling.dilation[0]) + half * tiling.dilation[0]
            if y < work.sizes[1]:
                tiling.kernels.finish(
                    work.finish, settles,
                    _channel_of(tiling, piece, 0) + (y * work.out_strides[1] + first) * SIZE,
                    work.out_channel, piece.rows, last - first)


cdef inline bint _settles_itself(const Tiling* tiling) noexcept nogil:
    """Whether results are settled as they are joined."""
    return tiling.dilation[1] == 1


cdef inline char* _channel_of(const Tiling* tiling, const Piece* piece, int64_t row) noexcept nogil:
    cdef const aten_windows* work = tiling.work
    cdef int64_t channel = piece.group * work.outputs + piece.row + row
    return <char*>work.out + (piece.image * work.out_batch + channel * work.out_channel) * SIZE


cdef void sum_strip(const Tiling* tiling, const Piece* piece, int64_t row, int64_t rows,
                    const char* panels, int64_t place, int64_t width, char* sums) noexcept nogil:
    """Sums of products over the channels whose weights there are, for `width` tiles from `place` on."""
    cdef const aten_windows* work = tiling.work
    cdef bint is_left = _is_left(tiling, piece, place)
    cdef int64_t columns = _left_in(tiling, piece) if is_left else width
    cdef int64_t part = part_of(tiling, columns)
    # Lanes are sums of their own along the depth: there are more of them, and they are shorter.
    cdef int64_t stretch = stretch_of(work.inputs, ATEN_STRETCH if is_left else STRETCH)
    cdef int64_t index, channel
    cdef aten_window_tile tile
    memset(&tile, 0, sizeof(tile))
    tile.columns = tile.width = columns
    tile.out_row = width
    tile.left_row = piece.weight_row
    for index in range(tiling.seen):
        tile.out = sums + index * (rows * width + LINE) * SIZE
        channel = piece.first
        while channel < piece.last:
            tile.adds = channel > 0
            tile.depth = min(stretch, piece.last - channel)
            tile.left = piece.weights + (index * piece.weight_part + row * piece.weight_row
                                         + channel - piece.first) * SIZE
            tile.right = panels + (index * part + channel * columns) * SIZE
            if is_left:
                tiling.kernels.dots(&tile, rows)
            else:
                tiling.kernels.multiply(&tile, rows)
            channel += stretch


cdef bint join_strip(const Tiling* tiling, const Piece* piece, int64_t row, int64_t rows,
                     int64_t place, int64_t width, const char* sums) noexcept nogil:
    cdef const aten_windows* work = tiling.work
    cdef aten_tiles tiles
    _find_lines(tiling, piece, place, width, &tiles)
    tiles.width = width
    tiles.part = rows * width + LINE
    tiles.finish = work.finish if _settles_itself(tiling) else NULL
    tiles.sums = sums
    tiles.bias = NULL
    tiles.bias_step = work.bias_step
    tiles.out_channel = work.out_channel
    tiles.out_line = tiling.dilation[0] * work.out_strides[1]
    tiles.seen = tiling.seen
    tiles.spread = tiling.dilation[1]
    tiles.length = work.sizes[2]
    if work.bias != NULL:
        tiles.bias = <const char*>work.bias + (
            piece.group * work.outputs + piece.row + row) * work.bias_step * SIZE
    tiles.out = _channel_of(tiling, piece, row)
    return tiling.kernels.join_tiles(&tiles, rows)


cdef void _find_lines(const Tiling* tiling, const Piece* piece, int64_t place, int64_t width,
                      aten_tiles* tiles) noexcept nogil:
    """Where the tiles of a strip stand; one at the end of each line is none."""
    cdef const aten_windows* work = tiling.work
    cdef int64_t pitch = tiling.sliding.pitch
    cdef int64_t end = _end_of(tiling, piece), left = _left_in(tiling, piece)
    cdef int64_t first = place, line, column, count, y
    cdef aten_tile_piece* found
    if place < end - left:
        end -= left
    end = min(end, place + width)
    tiles.pieces = 0
    while place < end:
        line = place // pitch
        column = place - line * pitch
        count = min(piece.columns - column, end - place)
        y = first_of(piece.line + line, tiling.dilation[0])
        if count > 0 and y < work.sizes[1]:
            found = &tiles.piece[tiles.pieces]
            found.place = place - first
            found.count = count
            found.column = piece.column + column
            found.lines = 2 if y + tiling.dilation[0] < work.sizes[1] else 1
            found.out = y * work.out_strides[1]
            tiles.pieces += 1
        place += count if count > 0 else pitch - column
