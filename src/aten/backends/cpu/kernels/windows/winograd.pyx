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
    ATEN_VECTORS, aten_window_kernels, aten_windows,
)
from aten.backends.cpu.kernels.windows.tile_strips cimport (
    LINE, STRETCH, Piece, copy_band, find_band, finish_piece, join_strip, next_strip, part_of,
    plane_of, see_strip, stretch_of, sum_strip,
)
from aten.backends.cpu.kernels.windows.tilings cimport (
    CHANNELS, FEW_CHANNELS, MOST_SPREAD, SIDE, SIZE, SMALL, Tiling, known_second_cache, plan_tiles,
)

cdef enum:
    # Channels and positions below which transforms take longer than they save.
    FEWEST_CHANNELS = 16
    FEWEST_POSITIONS = 180
    # Channels where there are lines alone, of which fewer products are saved.
    FEWEST_OF_LINES = 80
    # Elements of copies that stay in the first cache until their strips are made.
    NEAR = 1 << 12
    # Channels of a result multiplied at a time: their sums stay in the second cache.
    ROWS = 64
    # Of rounds: channels of a result in a piece, more where few are seen, so that their weights stay in
    # the second cache; and so many elements of panels at least are a round.
    LEAST_ROWS = 8
    FEW_ROWS = 16
    MOST_ROWS = 32
    PANELS = 1 << 20

cdef struct Run:
    Tiling tiling
    # Sixteen of each, by part, channel of the result, channel; in rounds the panels of bands.
    char* weights
    int64_t weight_row
    int64_t weight_part
    # Of rounds: channels of the result in a piece, and channels whose products are summed before the
    # next ones have their turn.
    int64_t few_rows
    int64_t depth
    bint taps_first         # channels of a tap are neighbours in the weights that are given
    # Bands of a round, and elements of the panels of one.
    int64_t first, count, together, band_panels
    char* redo
    bint failed

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
    # Reading panels once more and making weights once more cost about the same.
    elements = max(<int64_t>PANELS, work.outputs * work.inputs * work.taps)
    run.together = min(band, max(<int64_t>1, elements // run.band_panels))
    run.weights = <char*>malloc((run.together * run.band_panels + LINE) * SIZE)
    if run.weights == NULL:
        return False
    _cut_rounds(run)
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


cdef void _cut_rounds(Run* run) noexcept nogil:
    """Choose channels that are multiplied together."""
    cdef const Tiling* tiling = &run.tiling
    cdef const aten_windows* work = tiling.work
    cdef int64_t strips = run.together * _strips_of(tiling) * ATEN_VECTORS * tiling.kernels.lanes
    cdef int64_t cache = known_second_cache() // 8 * 7 if known_second_cache() > 0 else 1 << 20
    run.few_rows = MOST_ROWS
    run.depth = work.inputs
    # Tiles that are left over have stretches of their own.
    if work.inputs > FEW_CHANNELS and tiling.left == 0:
        # Panels come from far, the fewer times the more rows there are: weights of a stretch and all
        # sums of these stay in the second cache meanwhile.
        run.depth = stretch_of(work.inputs, STRETCH)
        run.few_rows = ROWS
        while run.few_rows > FEW_ROWS and (
                run.few_rows * (run.depth + strips) * tiling.seen * SIZE > cache):
            run.few_rows //= 2
    elif work.inputs > FEW_CHANNELS:
        run.few_rows = FEW_ROWS
    while run.few_rows > LEAST_ROWS and (
            _longest(work.outputs, run.few_rows // 2) < _longest(work.outputs, run.few_rows)):
        run.few_rows //= 2


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
    cdef int64_t together = min(<int64_t>CHANNELS, max(<int64_t>1, NEAR // plane_of(tiling)))
    cdef char* memory = _take(run, &piece, together, 0, 0, 0)
    if memory == NULL:
        return
    for index in range(begin, end):
        find_band(tiling, &piece, run.first + index // parts)
        first = index % parts * CHANNELS
        end_of_part = min(first + CHANNELS, inputs)
        while first < end_of_part:
            last = min(first + together, end_of_part)
            copy_band(tiling, &piece, first, last)
            panels = run.weights + index // parts * run.band_panels * SIZE
            place = 0
            while next_strip(tiling, &piece, &place, &width):
                see_strip(tiling, &piece, first, last, place, width, panels)
                panels += tiling.seen * part_of(tiling, width) * SIZE
                place += width
            first = last
    free(memory)


cdef void _run_channels(void* context, int64_t begin, int64_t end) noexcept nogil:
    """A few channels of the result for the bands of a round."""
    cdef Run* run = <Run*>context
    cdef const Tiling* tiling = &run.tiling
    cdef const aten_windows* work = tiling.work
    cdef bint is_whole = run.depth >= work.inputs
    cdef int64_t band, place, width, index
    cdef Piece piece
    cdef char* panels
    cdef char* weights
    cdef char* sums
    cdef char* memory
    piece.weight_row = (min(run.depth, work.inputs) + LINE - 1) // LINE * LINE + LINE
    piece.weight_part = run.few_rows * piece.weight_row + LINE
    memory = _take(run, &piece, 0, tiling.seen * piece.weight_part, run.few_rows,
                   1 if is_whole else run.count * _strips_of(tiling))
    if memory == NULL:
        return
    weights = piece.panels
    piece.weights = weights
    for index in range(begin, end):
        piece.row = index * run.few_rows
        piece.rows = min(run.few_rows, work.outputs - piece.row)
        piece.first = 0
        while piece.first < work.inputs:
            piece.last = min(piece.first + run.depth, work.inputs)
            sums = piece.sums
            for band in range(run.count):
                find_band(tiling, &piece, run.first + band)
                if band == 0:
                    _spread_weights(run, &piece, weights)
                panels = run.weights + band * run.band_panels * SIZE
                place = 0
                while next_strip(tiling, &piece, &place, &width):
                    sum_strip(tiling, &piece, 0, piece.rows, panels, place, width, sums)
                    if piece.last == work.inputs and join_strip(
                            tiling, &piece, 0, piece.rows, place, width, sums):
                        run.redo[piece.image] = 1
                    panels += tiling.seen * part_of(tiling, width) * SIZE
                    if not is_whole:
                        sums += tiling.seen * (piece.rows * width + LINE) * SIZE
                    place += width
                if piece.last == work.inputs:
                    finish_piece(tiling, &piece)
            piece.first = piece.last
    free(memory)


cdef void _spread_all(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Run* run = <Run*>context
    cdef Piece piece
    piece.group = 0
    piece.row, piece.rows = begin, end - begin
    piece.first, piece.last = 0, run.tiling.work.inputs
    piece.weight_row, piece.weight_part = run.weight_row, run.weight_part
    _spread_weights(run, &piece, run.weights + begin * run.weight_row * SIZE)


cdef void _spread_weights(Run* run, const Piece* piece, char* out) noexcept nogil:
    """Sixteen of nine weights for some channels of the result, and some that they see."""
    cdef const Tiling* tiling = &run.tiling
    cdef const aten_windows* work = tiling.work
    cdef int64_t count = piece.last - piece.first
    cdef int64_t width = (count + LINE - 1) // LINE * LINE
    cdef int64_t taps = work.taps
    # Squares reach beyond the last tap.
    cdef char* turned = <char*>malloc((taps + LINE) * width * SIZE)
    cdef const char* weight = <const char*>work.weight + (
        (piece.group * work.outputs + piece.row) * work.weight_row) * SIZE
    cdef int64_t row, tap
    if turned == NULL:
        run.failed = True
        return
    memset(turned, 0, taps * width * SIZE)
    for row in range(piece.rows):
        if run.taps_first:
            for tap in range(taps):
                memcpy(turned + tap * width * SIZE,
                       weight + (tap * work.inputs + piece.first) * SIZE, count * SIZE)
        else:
            tiling.kernels.part_weights(weight + piece.first * taps * SIZE, taps, count, turned,
                                        width)
        weight += work.weight_row * SIZE
        tiling.kernels.spread_weights(turned, tiling.seen, width, width,
                                      out + row * piece.weight_row * SIZE, piece.weight_part)
    free(turned)


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Run* run = <Run*>context
    cdef const Tiling* tiling = &run.tiling
    cdef const aten_windows* work = tiling.work
    cdef int64_t index
    cdef Piece piece
    cdef char* memory = _take(run, &piece, work.inputs, _panels_of(tiling, 1),
                               min(<int64_t>ROWS, work.outputs), 1)
    if memory == NULL:
        return
    piece.weight_row, piece.weight_part = run.weight_row, run.weight_part
    piece.first, piece.last = 0, work.inputs
    for index in range(begin, end):
        find_band(tiling, &piece, index)
        piece.row = 0
        piece.rows = work.outputs
        piece.weights = run.weights + piece.group * work.outputs * run.weight_row * SIZE
        _run_piece(run, &piece)
    free(memory)


cdef inline int64_t _panels_of(const Tiling* tiling, int64_t strips) noexcept nogil:
    """Elements."""
    return strips * tiling.seen * (tiling.work.inputs * ATEN_VECTORS * tiling.kernels.lanes + LINE)


cdef char* _take(Run* run, Piece* piece, int64_t channels, int64_t panels, int64_t rows,
                 int64_t strips) noexcept nogil:
    """Memory for a band of so many channels, so many elements of panels, and sums of strips."""
    cdef const Tiling* tiling = &run.tiling
    cdef int64_t widest = ATEN_VECTORS * tiling.kernels.lanes
    cdef int64_t copied = channels * plane_of(tiling) + 2 * widest + 2 * MOST_SPREAD
    cdef int64_t sums = strips * tiling.seen * (rows * widest + LINE)
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
    copy_band(tiling, piece, 0, tiling.work.inputs)
    while next_strip(tiling, piece, &place, &width):
        see_strip(tiling, piece, 0, tiling.work.inputs, place, width, piece.panels)
        _multiply_strip(run, piece, piece.panels, place, width)
        place += width
    finish_piece(tiling, piece)


cdef void _multiply_strip(Run* run, const Piece* piece, const char* panels, int64_t place,
                          int64_t width) noexcept nogil:
    """The results of `width` tiles from `place` on, of which there are panels."""
    cdef int64_t row = 0, rows
    while row < piece.rows:
        rows = min(<int64_t>ROWS, piece.rows - row)
        sum_strip(&run.tiling, piece, row, rows, panels, place, width, piece.sums)
        if join_strip(&run.tiling, piece, row, rows, place, width, piece.sums):
            run.redo[piece.image] = 1
        row += rows
