# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Windows of three by three that move by one, with 16 multiplications for each 36 of the definition.

Winograd's F(2 × 2, 3 × 3), whose arithmetic is in convolution_transforms.h. What tiles see is copied
band by band, parted into even and odd rows and columns, so that neighbouring tiles look at a run of
memory; where a line of tiles ends there is one that is none. A strip of tiles then becomes sixteen
panels, each multiplied with as many weights, and what comes out the results.

Threads claim bands, or some channels of one. Tiles are lanes that know nothing of each other, and
sums over channels go in order, in stretches that their number alone decides, so bits do not depend on how a result is cut.

Rounding differs from that of a sum of products: where c channels are seen, an error is at most
(c + 12) u times what the algorithm gives for the sizes of all numbers and of its own coefficients,
u = 2^-24, which is some times the sum of the products' sizes (Higham, Accuracy and Stability of
Numerical Algorithms, section 3.1). Infinities that meet themselves with another sign are NaN, and so
are sums beyond the largest number: images with such results are left to others.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_VECTORS, aten_tile_piece, aten_tiles, aten_window_kernels, aten_window_tile, aten_windows,
)
from aten.backends.cpu.kernels.windows.sliding cimport Sliding, copy_slots

cdef enum:
    # Elements that a tile sees, and results of one.
    SEEN = 16
    SIDE = 4
    SIZE = 4                # of an element in bytes
    # Channels and positions below which transforms take longer than they save.
    FEWEST_CHANNELS = 16
    FEWEST_POSITIONS = 100
    # Elements of a copied band, at least and at most, and tiles in one.
    BAND = 1 << 16
    LARGEST_BAND = 1 << 18
    TILES = 192
    PIECES_PER_THREAD = 2
    # Channels of a result multiplied at a time: their sums stay in the second cache.
    ROWS = 64
    LEAST_ROWS = 32
    # Channels summed in registers: the more, the larger are errors.
    STRETCH = 128
    # An odd number of lines of the cache: rows and parts do not keep each other out.
    LINE = 16

cdef struct Tiling:
    const aten_windows* work
    aten_windows tiles      # what each tile sees, as windows that move by two
    const aten_window_kernels* kernels
    Sliding sliding         # copies of them, of one band
    int64_t slots[3][4]     # where copies begin
    int64_t offsets[SEEN]
    char* weights           # sixteen of each, by part, channel of the result, channel
    int64_t weight_row
    int64_t weight_part
    int64_t rows            # lines of tiles in a band
    int64_t bands
    int64_t rows_each       # channels of a result in a piece
    int64_t down
    char* redo
    bint failed

cdef struct Piece:
    int64_t image, group
    int64_t line, lines     # of tiles
    int64_t row, rows       # channels of the result
    char* copied
    char* panels
    char* sums


cdef bint has_tiles(const aten_windows* work) noexcept nogil:
    cdef int64_t tap
    cdef int dim
    if work.taps != 9 or work.inputs < FEWEST_CHANNELS or work.outputs < FEWEST_CHANNELS:
        return False
    if work.sizes[0] != 1 or work.input_sizes[0] != 1 or work.out_strides[2] != 1:
        return False
    if work.sizes[1] * work.sizes[2] < FEWEST_POSITIONS or min(work.sizes[1], work.sizes[2]) < SIDE:
        return False
    for dim in range(3):
        if work.step[dim] != 1:
            return False
    if work.sizes[2] >= LARGEST_BAND or (
            work.inputs > LARGEST_BAND // (4 * (work.sizes[2] + 3))):
        return False
    for tap in range(9):
        if work.places[0][tap] != 0:
            return False
        if work.places[1][tap] != work.places[1][0] + tap // 3:
            return False
        if work.places[2][tap] != work.places[2][0] + tap % 3:
            return False
    # Padding beyond the image is not worth a copy.
    return (-work.input_sizes[1] < work.places[1][0] <= 0
            and -work.input_sizes[2] < work.places[2][0] <= 0)


cdef bint convolve_tiles(const aten_windows* work, const aten_window_kernels* kernels,
                         char* redo) noexcept nogil:
    cdef Tiling tiling
    cdef int64_t channels = work.groups * work.outputs
    tiling.work = work
    tiling.kernels = kernels
    tiling.redo = redo
    tiling.failed = False
    tiling.weight_row = (work.inputs + LINE - 1) // LINE * LINE + LINE
    tiling.weight_part = tiling.weight_row * channels
    tiling.weights = <char*>malloc(SEEN * tiling.weight_part * SIZE)
    if tiling.weights == NULL:
        return False
    _describe_tiles(&tiling)
    _cut(&tiling)
    _place_seen(&tiling)
    parallel_for(channels, max(<int64_t>1, (1 << 12) // work.inputs), _spread_weights, &tiling)
    if not tiling.failed:
        parallel_for(work.batch * work.groups * tiling.bands * tiling.down, 1, _run_pieces, &tiling)
    free(tiling.weights)
    return not tiling.failed


cdef void _describe_tiles(Tiling* tiling) noexcept nogil:
    """Tiles, and copies of what they see: even and odd rows and columns apart."""
    cdef const aten_windows* work = tiling.work
    cdef Sliding* sliding = &tiling.sliding
    cdef int64_t slot
    tiling.tiles = work[0]
    tiling.tiles.step[1] = tiling.tiles.step[2] = 2
    tiling.tiles.sizes[1] = (work.sizes[1] + 1) // 2
    tiling.tiles.sizes[2] = (work.sizes[2] + 1) // 2
    for slot in range(4):
        tiling.slots[0][slot] = 0
        tiling.slots[1][slot] = work.places[1][0] + slot // 2
        tiling.slots[2][slot] = work.places[2][0] + slot % 2
    sliding.work = &tiling.tiles
    sliding.kernels = tiling.kernels
    sliding.size = SIZE
    sliding.slots.count = 4
    sliding.slots.z = tiling.slots[0]
    sliding.slots.y = tiling.slots[1]
    sliding.slots.x = tiling.slots[2]
    sliding.slots.reach_y = sliding.slots.reach_x = 1
    sliding.pitch = tiling.tiles.sizes[2] + 1


cdef void _place_seen(Tiling* tiling) noexcept nogil:
    """Where in the copy of a band a tile finds the elements that it sees."""
    cdef Sliding* sliding = &tiling.sliding
    cdef int64_t seen, y, x
    sliding.height = tiling.rows + 1
    for seen in range(SEEN):
        y = seen // SIDE
        x = seen % SIDE
        tiling.offsets[seen] = (((y % 2 * 2 + x % 2) * sliding.height + y // 2) * sliding.pitch
                                + x // 2)


cdef void _cut(Tiling* tiling) noexcept nogil:
    """Choose bands and pieces."""
    cdef const aten_windows* work = tiling.work
    cdef int64_t lines = tiling.tiles.sizes[1]
    cdef int64_t pitch = tiling.tiles.sizes[2] + 1
    cdef int64_t images = work.batch * work.groups
    cdef int64_t wanted = PIECES_PER_THREAD * thread_count()
    cdef int64_t rows, most, cost, least = -1
    most = min(lines, max(<int64_t>1, TILES // pitch))
    most = min(most, max(<int64_t>1, BAND // (work.inputs * 4 * pitch) - 1))
    tiling.rows = 1
    # The more a band has, the fewer lines are copied twice; but vectors are to be full.
    for rows in range(1, most + 1):
        cost = _cost(tiling, rows, lines, pitch)
        if least < 0 or cost <= least:
            least = cost
            tiling.rows = rows
    tiling.bands = (lines + tiling.rows - 1) // tiling.rows
    tiling.rows_each = work.outputs
    tiling.down = 1
    if images * tiling.bands < wanted:
        tiling.down = (wanted + images * tiling.bands - 1) // (images * tiling.bands)
        tiling.rows_each = max(<int64_t>LEAST_ROWS,
                               (work.outputs + tiling.down - 1) // tiling.down)
        tiling.rows_each = (tiling.rows_each + 7) // 8 * 8
        tiling.down = (work.outputs + tiling.rows_each - 1) // tiling.rows_each


cdef int64_t _cost(const Tiling* tiling, int64_t rows, int64_t lines, int64_t pitch) noexcept nogil:
    """About how long all bands take, if so many lines are one."""
    cdef int lanes = tiling.kernels.lanes
    cdef int64_t whole = lines // rows, rest = lines % rows
    cdef int64_t vectors = whole * ((rows * pitch - 1 + lanes - 1) // lanes)
    cdef int64_t copied = whole * (rows + 1)
    if rest > 0:
        vectors += (rest * pitch - 1 + lanes - 1) // lanes
        copied += rest + 1
    return (vectors * (SEEN * tiling.work.outputs + 64) * lanes + copied * pitch * 32)


cdef void _spread_weights(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Sixteen of nine weights, for channels begin … end of the result."""
    cdef Tiling* tiling = <Tiling*>context
    cdef const aten_windows* work = tiling.work
    cdef int64_t width = (work.inputs + LINE - 1) // LINE * LINE
    cdef char* turned = <char*>malloc(9 * width * SIZE)
    cdef int64_t channel
    if turned == NULL:
        tiling.failed = True
        return
    memset(turned, 0, 9 * width * SIZE)
    for channel in range(begin, end):
        tiling.kernels.turn(<const char*>work.weight + channel * work.weight_row * SIZE, 9,
                            work.inputs, 9, turned, width)
        tiling.kernels.spread_weights(turned, width, width,
                                      tiling.weights + channel * tiling.weight_row * SIZE,
                                      tiling.weight_part)
    free(turned)


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Tiling* tiling = <Tiling*>context
    cdef const aten_windows* work = tiling.work
    cdef int64_t widest = ATEN_VECTORS * tiling.kernels.lanes
    cdef int64_t copied = work.inputs * 4 * tiling.sliding.height * tiling.sliding.pitch + 2 * widest
    cdef int64_t panels = SEEN * (work.inputs * widest + LINE)
    cdef int64_t sums = SEEN * (min(<int64_t>ROWS, tiling.rows_each) * widest + LINE)
    cdef char* memory = <char*>malloc((copied + panels + sums) * SIZE + 64)
    cdef char* aligned = <char*>((<size_t>memory + 63) // 64 * 64)
    cdef int64_t index, image, piece
    cdef Piece given
    if memory == NULL:
        tiling.failed = True
        return
    given.panels = aligned
    given.sums = given.panels + panels * SIZE
    given.copied = given.sums + sums * SIZE
    # What lies beyond is looked at, and is no part of a result.
    memset(given.copied, 0, copied * SIZE)
    for index in range(begin, end):
        image = index // (tiling.bands * tiling.down)
        piece = index - image * tiling.bands * tiling.down
        given.image = image // work.groups
        given.group = image % work.groups
        given.line = piece // tiling.down * tiling.rows
        given.lines = min(tiling.rows, tiling.tiles.sizes[1] - given.line)
        given.row = piece % tiling.down * tiling.rows_each
        given.rows = min(tiling.rows_each, work.outputs - given.row)
        _run_piece(tiling, &given)
    free(memory)


cdef void _run_piece(Tiling* tiling, const Piece* piece) noexcept nogil:
    """Some channels of a band, strip after strip."""
    cdef const aten_windows* work = tiling.work
    cdef const Sliding* sliding = &tiling.sliding
    cdef int lanes = tiling.kernels.lanes
    cdef int64_t plane = 4 * sliding.height * sliding.pitch
    cdef int64_t tiles = piece.lines * sliding.pitch - 1
    cdef int64_t vectors = (tiles + lanes - 1) // lanes
    cdef int64_t strips = (vectors + ATEN_VECTORS - 1) // ATEN_VECTORS
    cdef int64_t place = 0, channel, width, part, row
    cdef char* out
    for channel in range(work.inputs):
        copy_slots(sliding, piece.image, piece.group * work.inputs + channel, 0, piece.line, 0,
                   piece.lines, piece.copied + channel * plane * SIZE)
    while strips > 0:
        width = (vectors + strips - 1) // strips * lanes
        part = work.inputs * width + LINE
        tiling.kernels.see_tiles(piece.copied + place * SIZE, tiling.offsets, work.inputs, plane,
                                 width // lanes, piece.panels, width, part)
        _multiply_strip(tiling, piece, place, width, part)
        place += width
        vectors -= width // lanes
        strips -= 1
    if work.finish == NULL:
        return
    for row in range(piece.rows):
        out = _channel_of(tiling, piece, row) + 2 * piece.line * work.out_strides[1] * SIZE
        tiling.kernels.finish(work.finish, True, out, work.out_strides[1],
                              min(2 * piece.lines, work.sizes[1] - 2 * piece.line), work.sizes[2])


cdef inline char* _channel_of(const Tiling* tiling, const Piece* piece, int64_t row) noexcept nogil:
    cdef const aten_windows* work = tiling.work
    cdef int64_t channel = piece.group * work.outputs + piece.row + row
    return <char*>work.out + (piece.image * work.out_batch + channel * work.out_channel) * SIZE


cdef void _multiply_strip(Tiling* tiling, const Piece* piece, int64_t place, int64_t width,
                          int64_t part) noexcept nogil:
    """The results of `width` tiles from `place` on, whose panels are there."""
    cdef const aten_windows* work = tiling.work
    cdef int64_t first = piece.group * work.outputs + piece.row
    cdef int64_t stretches = (work.inputs + STRETCH - 1) // STRETCH
    cdef int64_t stretch = (work.inputs + stretches - 1) // stretches
    cdef int64_t row = 0, rows, index, channel
    cdef aten_window_tile tile
    cdef aten_tiles tiles
    _find_lines(tiling, piece, place, width, &tiles)
    tile.columns = tile.width = tile.out_row = tiles.width = width
    tile.left_row = tiling.weight_row
    tile.bias = tile.source = NULL
    tile.bias_step = tile.source_row = 0
    tile.ahead = False
    tile.finish = NULL
    tiles.sums = piece.sums
    tiles.bias = NULL
    tiles.bias_step = work.bias_step
    tiles.out_channel = work.out_channel
    tiles.out_line = work.out_strides[1]
    while row < piece.rows:
        rows = min(<int64_t>ROWS, piece.rows - row)
        tiles.part = rows * width + LINE
        for index in range(SEEN):
            tile.out = piece.sums + index * tiles.part * SIZE
            channel = 0
            while channel < work.inputs:
                tile.adds = channel > 0
                tile.depth = min(stretch, work.inputs - channel)
                tile.left = tiling.weights + (
                    index * tiling.weight_part + (first + row) * tiling.weight_row + channel) * SIZE
                tile.right = piece.panels + (index * part + channel * width) * SIZE
                tiling.kernels.multiply(&tile, rows)
                channel += stretch
        if work.bias != NULL:
            tiles.bias = <const char*>work.bias + (first + row) * work.bias_step * SIZE
        tiles.out = _channel_of(tiling, piece, row)
        if tiling.kernels.join_tiles(&tiles, rows):
            tiling.redo[piece.image] = 1
        row += rows


cdef void _find_lines(const Tiling* tiling, const Piece* piece, int64_t place, int64_t width,
                      aten_tiles* tiles) noexcept nogil:
    """Where the tiles of a strip stand; one at the end of each line is none."""
    cdef const aten_windows* work = tiling.work
    cdef int64_t pitch = tiling.sliding.pitch
    cdef int64_t end = min(place + width, piece.lines * pitch - 1)
    cdef int64_t first = place, line, column, count
    cdef aten_tile_piece* found
    tiles.pieces = 0
    while place < end:
        line = place // pitch
        column = place - line * pitch
        count = min(pitch - 1 - column, end - place)
        if count > 0:
            found = &tiles.piece[tiles.pieces]
            found.place = place - first
            found.count = min(2 * count, work.sizes[2] - 2 * column)
            line += piece.line
            found.lines = min(<int64_t>2, work.sizes[1] - 2 * line)
            found.out = 2 * line * work.out_strides[1] + 2 * column
            tiles.pieces += 1
        place += max(count, <int64_t>1)
