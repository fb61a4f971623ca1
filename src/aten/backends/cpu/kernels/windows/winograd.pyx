# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Windows of three by three that move by one, with 16 multiplications for 36 of the definition, and
windows of three, with 4 for 6.

Winograd's F(2 × 2, 3 × 3) and F(2, 3), whose arithmetic is in convolution_transforms.h. What tiles
see is copied band by band, as tilings.pyx lays it out. Where taps have places between them, tiles are of
results as far apart, and as many tiles follow each other. A strip of tiles then becomes sixteen panels,
each multiplied with as many weights, and what comes out the results.

Threads claim bands, or channels of some. Tiles are lanes that know nothing of each other, and sums
over channels go in order, in stretches that their number alone decides, so bits do not depend on how
a result is cut. A tile or two at the end of a small image that are more than whole vectors are summed
along the depth instead: 14 × 14 positions are 49 tiles.

Rounding differs from that of a sum of products: where c channels are seen, an error is at most
(c + 12) u times what the algorithm gives for the sizes of all numbers and of its own coefficients,
u = 2^-24, which is some times the sum of the products' sizes (Higham, Accuracy and Stability of
Numerical Algorithms, section 3.1). Infinities that meet themselves with another sign are NaN, and so
are sums beyond the largest number: images with such results are left to others.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_CUT, ATEN_STRETCH, ATEN_VECTORS, aten_tile_piece, aten_tiles, aten_window_kernels,
    aten_window_tile, aten_windows,
)
from aten.backends.cpu.kernels.windows.sliding cimport Sliding, copy_slots
from aten.backends.cpu.kernels.windows.tilings cimport (
    CHANNELS, FEW_CHANNELS, MOST_SPREAD, SEEN, SIDE, SIZE, SMALL, Tiling, first_of, left_in,
    plan_tiles,
)
from aten.backends.cpu.kernels.windows.window_strips cimport LEFT_OVER

cdef enum:
    # Channels and positions below which transforms take longer than they save.
    FEWEST_CHANNELS = 16
    FEWEST_POSITIONS = 180
    # Channels where there are lines alone, of which fewer products are saved.
    FEWEST_OF_LINES = 80
    # Elements of copies that stay in the first cache until their strips are made.
    NEAR = 1 << 12
    # Channels that are on their way to the cache while one is copied.
    AHEAD = 2
    # Channels of a result multiplied at a time: their sums stay in the second cache.
    ROWS = 64
    # Of rounds: channels of a result in a piece, more where few are seen, so that their weights stay in
    # the second cache; and so many elements of panels at least are a round.
    LEAST_ROWS = 8
    FEW_ROWS = 16
    MOST_ROWS = 32
    PANELS = 1 << 20
    # Channels summed in registers: the more, the larger are errors.
    STRETCH = 128
    # An odd number of lines of the cache: rows and parts do not keep each other out.
    LINE = 16

cdef struct Run:
    Tiling tiling
    # Sixteen of each, by part, channel of the result, channel; in rounds the panels of bands.
    char* weights
    int64_t weight_row
    int64_t weight_part
    int64_t few_rows        # channels of the result in a piece of a round
    bint taps_first         # channels of a tap are neighbours in the weights that are given
    # Bands of a round, and elements of the panels of one.
    int64_t first, count, together, band_panels
    char* redo
    bint failed

cdef struct Piece:
    int64_t image, group
    int64_t line, lines     # of tiles
    int64_t column, columns
    int64_t row, rows       # channels of the result
    const char* weights     # sixteen of each, a part after the other
    int64_t weight_part
    char* copied
    char* panels
    char* sums


cdef bint suit_tiles(int64_t inputs, int64_t outputs, int64_t height, int64_t width) noexcept nogil:
    if min(inputs, outputs) < FEWEST_CHANNELS or min(height, width) < SIDE:
        return False
    return height * width >= FEWEST_POSITIONS


cdef bint has_tiles(const aten_windows* work) noexcept nogil:
    cdef bint is_flat = work.taps == SMALL and work.sizes[1] == 1 and work.input_sizes[1] == 1
    cdef int64_t tap, spread, down = 0
    cdef int dim
    if work.taps != SMALL * SMALL and not is_flat:
        return False
    if work.sizes[0] != 1 or work.input_sizes[0] != 1 or work.out_strides[2] != 1:
        return False
    for dim in range(3):
        if work.step[dim] != 1:
            return False
    spread = work.places[2][1] - work.places[2][0]
    if not is_flat:
        down = work.places[1][SMALL] - work.places[1][0]
    if spread < 1 or spread > MOST_SPREAD or down > MOST_SPREAD or not is_flat and down < 1:
        return False
    for tap in range(work.taps):
        if work.places[0][tap] != 0:
            return False
        if work.places[1][tap] != work.places[1][0] + tap // SMALL * down:
            return False
        if work.places[2][tap] != work.places[2][0] + tap % SMALL * spread:
            return False
    if is_flat:
        return (work.places[1][0] == 0 and work.sizes[2] >= 2 * FEWEST_POSITIONS
                and min(work.inputs, work.outputs) >= FEWEST_OF_LINES * (1 if spread == 1 else 2)
                and -work.input_sizes[2] < work.places[2][0] <= 0)
    # Padding beyond the image is not worth a copy.
    return (suit_tiles(work.inputs, work.outputs, work.sizes[1] // down, work.sizes[2] // spread)
            and -work.input_sizes[1] < work.places[1][0] <= 0
            and -work.input_sizes[2] < work.places[2][0] <= 0)


cdef bint convolve_tiles(const aten_windows* work, const aten_window_kernels* kernels,
                         char* redo, bint taps_first) noexcept nogil:
    cdef Run run
    cdef const Tiling* tiling = &run.tiling
    cdef int64_t channels = work.groups * work.outputs
    run.redo = redo
    run.taps_first = taps_first
    run.failed = False
    plan_tiles(&run.tiling, work, kernels)
    run.weight_row = (work.inputs + LINE - 1) // LINE * LINE + LINE
    run.weight_part = run.weight_row * channels
    if tiling.in_rounds:
        return _run_rounds(&run)
    run.weights = <char*>malloc(tiling.seen * run.weight_part * SIZE)
    if run.weights == NULL:
        return False
    parallel_for(channels, max(<int64_t>1, (1 << 12) // work.inputs), _spread_all, &run)
    if not run.failed:
        parallel_for(work.batch * work.groups * tiling.bands, 1, _run_pieces, &run)
    free(run.weights)
    return not run.failed


cdef bint _run_rounds(Run* run) noexcept nogil:
    """Weights that have no room in a cache are made as they are multiplied, with all panels of some
    bands one after the other."""
    cdef const Tiling* tiling = &run.tiling
    cdef const aten_windows* work = tiling.work
    cdef int64_t band = work.batch * tiling.bands, group, elements
    run.band_panels = _panels_of(tiling, _strips_of(tiling))
    run.few_rows = MOST_ROWS if work.inputs <= FEW_CHANNELS else FEW_ROWS
    while run.few_rows > LEAST_ROWS and (
            _longest(work.outputs, run.few_rows // 2) < _longest(work.outputs, run.few_rows)):
        run.few_rows //= 2
    # Reading panels once more and making weights once more cost about the same.
    elements = max(<int64_t>PANELS, work.outputs * work.inputs * work.taps)
    run.together = min(band, max(<int64_t>1, elements // run.band_panels))
    run.weights = <char*>malloc((run.together * run.band_panels + LINE) * SIZE)
    if run.weights == NULL:
        return False
    for group in range(work.groups):
        run.first = group * band
        while run.first < (group + 1) * band and not run.failed:
            run.count = min(run.together, (group + 1) * band - run.first)
            parallel_for(run.count * ((work.inputs + CHANNELS - 1) // CHANNELS), 1, _see_bands,
                         run)
            if not run.failed:
                parallel_for((work.outputs + run.few_rows - 1) // run.few_rows, 1,
                             _run_channels, run)
            run.first += run.count
    free(run.weights)
    return not run.failed


cdef inline int64_t _longest(int64_t outputs, int64_t rows) noexcept nogil:
    """Channels of the thread that has most of them, in pieces of so many."""
    cdef int64_t threads = thread_count()
    return ((outputs + rows - 1) // rows + threads - 1) // threads * rows


cdef int64_t _strips_of(const Tiling* tiling) noexcept nogil:
    """Of a whole band."""
    cdef int64_t tiles = tiling.rows * tiling.sliding.pitch
    cdef int64_t widest = ATEN_VECTORS * tiling.kernels.lanes
    return (tiles + widest - 1) // widest + (tiling.left > 0)


cdef void _see_bands(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Panels of a few channels of bands."""
    cdef Run* run = <Run*>context
    cdef const Tiling* tiling = &run.tiling
    cdef int64_t inputs = tiling.work.inputs
    cdef int64_t parts = (inputs + CHANNELS - 1) // CHANNELS
    cdef int64_t index, first, last, end_of_part, place, width
    cdef Piece piece
    cdef char* panels
    cdef int64_t together = min(<int64_t>CHANNELS, max(<int64_t>1, NEAR // _plane_of(tiling)))
    cdef char* memory = _take(run, &piece, together, 0, 0)
    if memory == NULL:
        return
    for index in range(begin, end):
        _find_band(tiling, &piece, run.first + index // parts)
        first = index % parts * CHANNELS
        end_of_part = min(first + CHANNELS, inputs)
        while first < end_of_part:
            last = min(first + together, end_of_part)
            _copy_band(tiling, &piece, first, last)
            panels = run.weights + index // parts * run.band_panels * SIZE
            place = 0
            while _next_strip(tiling, &piece, &place, &width):
                _see_strip(tiling, &piece, first, last, place, width, panels)
                panels += tiling.seen * _part_of(tiling, width) * SIZE
                place += width
            first = last
    free(memory)


cdef void _run_channels(void* context, int64_t begin, int64_t end) noexcept nogil:
    """A few channels of the result for the bands of a round."""
    cdef Run* run = <Run*>context
    cdef const Tiling* tiling = &run.tiling
    cdef const aten_windows* work = tiling.work
    cdef int64_t band, place, width, index
    cdef Piece piece
    cdef char* panels
    cdef char* weights
    cdef char* memory
    piece.weight_part = run.few_rows * run.weight_row + LINE
    memory = _take(run, &piece, 0, tiling.seen * piece.weight_part, run.few_rows)
    if memory == NULL:
        return
    weights = piece.panels
    piece.weights = weights
    for index in range(begin, end):
        piece.row = index * run.few_rows
        piece.rows = min(run.few_rows, work.outputs - piece.row)
        for band in range(run.count):
            _find_band(tiling, &piece, run.first + band)
            if band == 0:
                _spread_weights(run, piece.group * work.outputs + piece.row, piece.rows, weights,
                                piece.weight_part)
            panels = run.weights + band * run.band_panels * SIZE
            place = 0
            while _next_strip(tiling, &piece, &place, &width):
                _multiply_strip(run, &piece, panels, place, width)
                panels += tiling.seen * _part_of(tiling, width) * SIZE
                place += width
            _finish(tiling, &piece)
    free(memory)


cdef void _spread_all(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Run* run = <Run*>context
    _spread_weights(run, begin, end - begin,
                    run.weights + begin * run.weight_row * SIZE, run.weight_part)


cdef void _spread_weights(Run* run, int64_t first, int64_t count, char* out,
                          int64_t part) noexcept nogil:
    """Sixteen of nine weights, `part` apart, for some channels of the result."""
    cdef const Tiling* tiling = &run.tiling
    cdef const aten_windows* work = tiling.work
    cdef int64_t width = (work.inputs + LINE - 1) // LINE * LINE
    cdef int64_t taps = work.taps
    # Squares reach beyond the last tap.
    cdef char* turned = <char*>malloc((taps + LINE) * width * SIZE)
    cdef const char* weight = <const char*>work.weight + first * work.weight_row * SIZE
    cdef int64_t row, tap
    if turned == NULL:
        run.failed = True
        return
    memset(turned, 0, taps * width * SIZE)
    for row in range(count):
        if run.taps_first:
            for tap in range(taps):
                memcpy(turned + tap * width * SIZE, weight + tap * work.inputs * SIZE,
                       work.inputs * SIZE)
        else:
            tiling.kernels.part_weights(weight, taps, work.inputs, turned, width)
        weight += work.weight_row * SIZE
        tiling.kernels.spread_weights(turned, tiling.seen, width, width,
                                      out + row * run.weight_row * SIZE, part)
    free(turned)


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Run* run = <Run*>context
    cdef const Tiling* tiling = &run.tiling
    cdef const aten_windows* work = tiling.work
    cdef int64_t index
    cdef Piece piece
    cdef char* memory = _take(run, &piece, work.inputs, _panels_of(tiling, 1), work.outputs)
    if memory == NULL:
        return
    piece.weight_part = run.weight_part
    for index in range(begin, end):
        _find_band(tiling, &piece, index)
        piece.row = 0
        piece.rows = work.outputs
        piece.weights = run.weights + piece.group * work.outputs * run.weight_row * SIZE
        _run_piece(run, &piece)
    free(memory)


cdef inline void _find_band(const Tiling* tiling, Piece* piece, int64_t index) noexcept nogil:
    """Group by group, image by image."""
    cdef int64_t each = tiling.work.batch * tiling.bands
    piece.group = index // each
    piece.image = index % each // tiling.bands
    piece.line = index % tiling.bands // tiling.across * tiling.rows
    piece.lines = min(tiling.rows, tiling.tiles.sizes[1] - piece.line)
    piece.column = index % tiling.bands % tiling.across * tiling.columns
    piece.columns = min(tiling.columns, tiling.tiles.sizes[2] - piece.column)


cdef inline int64_t _plane_of(const Tiling* tiling) noexcept nogil:
    """Elements of a channel's copy."""
    return tiling.sliding.slots.count * tiling.sliding.height * tiling.sliding.pitch


cdef inline int64_t _panels_of(const Tiling* tiling, int64_t strips) noexcept nogil:
    """Elements."""
    return strips * tiling.seen * (tiling.work.inputs * ATEN_VECTORS * tiling.kernels.lanes + LINE)


cdef char* _take(Run* run, Piece* piece, int64_t channels, int64_t panels,
                 int64_t rows) noexcept nogil:
    """Memory for a band of so many channels, so many elements of panels, and sums."""
    cdef const Tiling* tiling = &run.tiling
    cdef int64_t widest = ATEN_VECTORS * tiling.kernels.lanes
    cdef int64_t copied = channels * _plane_of(tiling) + 2 * widest + 2 * MOST_SPREAD
    cdef int64_t sums = tiling.seen * (min(<int64_t>ROWS, rows) * widest + LINE)
    cdef char* memory = <char*>malloc((copied + panels + sums) * SIZE + 64)
    if memory == NULL:
        run.failed = True
        return NULL
    piece.panels = <char*>((<size_t>memory + 63) // 64 * 64)
    piece.sums = piece.panels + panels * SIZE
    piece.copied = piece.sums + sums * SIZE
    # What lies beyond is looked at, and is no part of a result.
    memset(piece.copied, 0, copied * SIZE)
    return memory


cdef void _run_piece(Run* run, const Piece* piece) noexcept nogil:
    """Some channels of a band, strip after strip."""
    cdef const Tiling* tiling = &run.tiling
    cdef int64_t place = 0, width
    _copy_band(tiling, piece, 0, tiling.work.inputs)
    while _next_strip(tiling, piece, &place, &width):
        _see_strip(tiling, piece, 0, tiling.work.inputs, place, width, piece.panels)
        _multiply_strip(run, piece, piece.panels, place, width)
        place += width
    _finish(tiling, piece)


cdef inline int64_t _end_of(const Tiling* tiling, const Piece* piece) noexcept nogil:
    """Tiles of a band, and those that are none between them."""
    return (piece.lines - 1) * tiling.sliding.pitch + piece.columns


cdef inline int64_t _left_in(const Tiling* tiling, const Piece* piece) noexcept nogil:
    return left_in(tiling, piece.line, piece.lines)


cdef inline bint _is_left(const Tiling* tiling, const Piece* piece, int64_t place) noexcept nogil:
    """Whether the strip at a place is that of the tiles that are left over."""
    cdef int64_t left = _left_in(tiling, piece)
    return left > 0 and place == _end_of(tiling, piece) - left


cdef bint _next_strip(const Tiling* tiling, const Piece* piece, int64_t* place,
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


cdef void _copy_band(const Tiling* tiling, const Piece* piece, int64_t first,
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
        copied += _plane_of(tiling) * SIZE


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


cdef void _see_strip(const Tiling* tiling, const Piece* piece, int64_t first, int64_t last,
                     int64_t place, int64_t width, char* panels) noexcept nogil:
    """Panels of the channels that are copied."""
    if _is_left(tiling, piece, place):
        _see_left(tiling, piece, first, last, place, panels)
        return
    tiling.kernels.see_tiles(piece.copied + place * SIZE, tiling.offsets, tiling.seen,
                             last - first, _plane_of(tiling), width // tiling.kernels.lanes,
                             panels + first * width * SIZE, width,
                             _part_of(tiling, width))


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
            piece.copied + ((begin - first) * _plane_of(tiling) + place) * SIZE, tiling.offsets,
            tiling.seen, count, _plane_of(tiling), 1, whole, lanes, CHANNELS * lanes)
        for part in range(tiling.seen):
            for index in range(count):
                for tile in range(left):
                    narrow[part * _part_of(tiling, left) + (begin + index) * left + tile] = (
                        whole[(part * CHANNELS + index) * lanes + tile])
        begin += count


cdef inline int64_t _part_of(const Tiling* tiling, int64_t width) noexcept nogil:
    """Elements from one panel of a strip to the next."""
    return tiling.work.inputs * width + LINE


cdef void _finish(const Tiling* tiling, const Piece* piece) noexcept nogil:
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


cdef void _multiply_strip(Run* run, const Piece* piece, const char* panels, int64_t place,
                          int64_t width) noexcept nogil:
    """The results of `width` tiles from `place` on, of which there are panels."""
    cdef const Tiling* tiling = &run.tiling
    cdef const aten_windows* work = tiling.work
    cdef bint is_left = _is_left(tiling, piece, place)
    cdef int64_t columns = _left_in(tiling, piece) if is_left else width
    cdef int64_t part = _part_of(tiling, columns)
    # Lanes are sums of their own along the depth: there are more of them, and they are shorter.
    cdef int64_t longest = ATEN_STRETCH if is_left else STRETCH
    cdef int64_t stretches = (work.inputs + longest - 1) // longest
    cdef int64_t stretch = (work.inputs + stretches - 1) // stretches
    cdef int64_t row = 0, rows, index, channel
    cdef aten_window_tile tile
    cdef aten_tiles tiles
    _find_lines(tiling, piece, place, width, &tiles)
    memset(&tile, 0, sizeof(tile))
    tile.columns = tile.width = columns
    tile.out_row = tiles.width = width
    tile.left_row = run.weight_row
    tiles.finish = work.finish if _settles_itself(tiling) else NULL
    tiles.sums = piece.sums
    tiles.bias = NULL
    tiles.bias_step = work.bias_step
    tiles.out_channel = work.out_channel
    tiles.out_line = tiling.dilation[0] * work.out_strides[1]
    tiles.seen = tiling.seen
    tiles.spread = tiling.dilation[1]
    tiles.length = work.sizes[2]
    while row < piece.rows:
        rows = min(<int64_t>ROWS, piece.rows - row)
        tiles.part = rows * width + LINE
        for index in range(tiling.seen):
            tile.out = piece.sums + index * tiles.part * SIZE
            channel = 0
            while channel < work.inputs:
                tile.adds = channel > 0
                tile.depth = min(stretch, work.inputs - channel)
                tile.left = piece.weights + (
                    index * piece.weight_part + row * run.weight_row + channel) * SIZE
                tile.right = panels + (index * part + channel * columns) * SIZE
                if is_left:
                    tiling.kernels.dots(&tile, rows)
                else:
                    tiling.kernels.multiply(&tile, rows)
                channel += stretch
        if work.bias != NULL:
            tiles.bias = <const char*>work.bias + (
                piece.group * work.outputs + piece.row + row) * work.bias_step * SIZE
        tiles.out = _channel_of(tiling, piece, row)
        if tiling.kernels.join_tiles(&tiles, rows):
            run.redo[piece.image] = 1
        row += rows


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
