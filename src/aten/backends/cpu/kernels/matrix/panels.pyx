# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Matrix products of half types, integers and complex numbers by kernels of our own.

Both operands are packed into units, which are what a lane multiplies and sums in one step: two
bfloat16 or int16, four bytes, or one number. A complex number is two units of the right operand,
one below the other, and two rows of the left one, (real, -imaginary) and (imaginary, real): its
product is a real one of twice the rows and twice the depth, whose rows are the parts of the result.
Half types that the processor does not multiply are widened to float32 as they are packed, bytes to
16 bits. Sums are kept apart, as float32 for half types, and each result is rounded once.

A stretch of the depth is summed in order, in one lane, and added to what the stretches before it
gave. Stretches have the same length whatever the sizes, so how a product is cut, for the caches or
for threads, does not change the bits of a row, nor does what lies beside it.
"""

from libc.stdint cimport int32_t, int64_t, int8_t
from libc.stdlib cimport free, malloc

from aten._core.base.dtypes cimport (BFLOAT16, COMPLEX128, COMPLEX64, FLOAT16, INT16, INT32, INT64,
                                     INT8, UINT8)
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Product, transpose, vector_width
from aten.backends.cpu.kernels.matrix.panel_operands cimport (
    FEW_ROWS, GAP, STRIP_LANES, Piece, Way, at, pack_right, pack_strips, take_left, take_strip,
    units_of)
from aten.backends.cpu.kernels.matrix.panel_strips cimport (
    ATEN_BRAIN_PAIRS, ATEN_BYTE_QUADS, ATEN_DOUBLES, ATEN_FINISH_BRAINS, ATEN_FINISH_BYTES,
    ATEN_FINISH_COMPLEX_DOUBLES, ATEN_FINISH_COMPLEX_SINGLES, ATEN_FINISH_HALVES, ATEN_FINISH_INTS,
    ATEN_FINISH_LONGS, ATEN_FINISH_SHORTS, ATEN_FLOATS, ATEN_INTS, ATEN_LONGS, ATEN_PACK_BRAINS,
    ATEN_PACK_BYTES, ATEN_PACK_COMPLEX_DOUBLES, ATEN_PACK_COMPLEX_SINGLES, ATEN_PACK_DOUBLES,
    ATEN_PACK_HALVES, ATEN_PACK_SHORTS, ATEN_PACK_SIGNED_BYTES, ATEN_PACK_SINGLES,
    ATEN_PACK_UNSIGNED_BYTES, ATEN_SHORT_PAIRS, LEFT_LANES, STRETCH, STRETCH_OF_QUADS,
    aten_panel_columns, aten_panel_columns_function, aten_panel_factor, aten_panel_features,
    aten_panel_finish, aten_panel_row, aten_panel_tile, run_strip)
from aten.backends.cpu.kernels.moving.transfer cimport Block

cdef extern from "panel_levels.h" nogil:
    aten_panel_finish aten_panel_finish_of(int vector_bytes, int finish)
    int64_t aten_sum_bytes(int vector_bytes, const int8_t* bytes, int64_t count)
    aten_panel_features aten_find_panel_features()
    int aten_widest_panels()
    aten_panel_columns_function aten_panel_columns_of(
        int vector_bytes, aten_panel_features features, int kind, int pack, int64_t rows)
    const aten_panel_packs* aten_panel_packs_of(int vector_bytes, int pack)
    const aten_panel_tiles* aten_panel_tiles_of(int vector_bytes, aten_panel_features features,
                                                int kind)

cdef enum:
    # Vectors side by side in a tile.
    VECTORS = 3
    # Units of the depth at once where its rows run side by side, and sums of such columns.
    STREAM = 8
    STREAM_SUMS = 4096
    # Rows of sums in a piece, and its columns: the sums stay in the second cache.
    PIECE_ROWS = 256
    # The same of bytes, whose sums lie in the result.
    ROWS_OF_BYTES = 512
    PIECE_COLUMNS = 480
    # What a product costs whatever its size, in multiplications, and what is worth a thread.
    OVERHEAD = 4096
    PIECE_WORK = 1 << 19
    # From where threads get two pieces each, to even out a slow one.
    LARGE_WORK = 1 << 26
    # Rows of sums up to which strips are packed together.
    SOME_ROWS = 64
    # Columns from which pieces are whole strips.
    WIDE = 1024
    # Bytes whose sum has room in 32 bits.
    SUMMED = 1 << 20
    # Bytes of sums and packed operands for which the stack has room.
    NEAR = 3 << 14

cdef aten_panel_features _features = aten_find_panel_features()
cdef int _widest = aten_widest_panels()

cdef struct Panels:
    Product product
    Way way
    int64_t rows            # of a piece
    int64_t columns
    int64_t down            # pieces in a matrix
    int64_t across

cdef int panel_bytes() noexcept nogil:
    return min(vector_width(), _widest)


cdef const aten_panel_tiles* panel_tiles(int kind) noexcept nogil:
    return aten_panel_tiles_of(panel_bytes(), _features, kind)


cdef const aten_panel_packs* panel_packs(int pack) noexcept nogil:
    return aten_panel_packs_of(panel_bytes(), pack)


cdef aten_panel_columns_function panel_columns(int kind, int pack, int64_t rows) noexcept nogil:
    return aten_panel_columns_of(panel_bytes(), _features, kind, pack, rows)


cdef bint takes_panels(const Product* product) noexcept nogil:
    cdef Way way
    return _choose_way(&way, product.left.code, product.out.code)


cdef bint _choose_way(Way* way, int code, int out_code) noexcept nogil:
    """How this product is computed; False where other kernels compute it."""
    cdef int kind, pack, finish, wide = panel_bytes()
    way.vector_bytes = wide
    way.features = _features
    way.flips = False
    if code == BFLOAT16:
        kind, pack, finish = ATEN_BRAIN_PAIRS, ATEN_PACK_SHORTS, ATEN_FINISH_BRAINS
        if aten_panel_tiles_of(wide, _features, kind) == NULL:
            kind, pack = ATEN_FLOATS, ATEN_PACK_BRAINS
    elif code == FLOAT16:
        kind, pack, finish = ATEN_FLOATS, ATEN_PACK_HALVES, ATEN_FINISH_HALVES
    elif code == INT8 or code == UINT8:
        kind, pack = ATEN_BYTE_QUADS, ATEN_PACK_BYTES
        finish = ATEN_FINISH_INTS if out_code == INT32 else ATEN_FINISH_BYTES
        if aten_panel_tiles_of(wide, _features, kind) == NULL:
            kind = ATEN_SHORT_PAIRS
            pack = ATEN_PACK_SIGNED_BYTES if code == INT8 else ATEN_PACK_UNSIGNED_BYTES
        else:
            # Otherwise only what is left of a sum in eight bits counts.
            way.flips = out_code == INT32
    elif code == INT16:
        kind, pack, finish = ATEN_SHORT_PAIRS, ATEN_PACK_SHORTS, ATEN_FINISH_SHORTS
    elif code == INT32:
        kind, pack, finish = ATEN_INTS, ATEN_PACK_SINGLES, ATEN_FINISH_INTS
    elif code == INT64:
        kind, pack, finish = ATEN_LONGS, ATEN_PACK_DOUBLES, ATEN_FINISH_LONGS
    elif code == COMPLEX64:
        kind, pack, finish = (ATEN_FLOATS, ATEN_PACK_COMPLEX_SINGLES,
                              ATEN_FINISH_COMPLEX_SINGLES)
    elif code == COMPLEX128:
        kind, pack, finish = (ATEN_DOUBLES, ATEN_PACK_COMPLEX_DOUBLES,
                              ATEN_FINISH_COMPLEX_DOUBLES)
    else:
        return False
    way.tiles = aten_panel_tiles_of(wide, _features, kind)
    way.packs = aten_panel_packs_of(wide, pack)
    way.kind, way.pack = kind, pack
    way.finish = aten_panel_finish_of(wide, finish)
    return True


cdef void multiply_panels(const Product* given) noexcept nogil:
    cdef Panels panels
    cdef int64_t together
    panels.product = given[0]
    if given.columns == 1:
        # A column of results is a row, whose columns fill vectors.
        transpose(&panels.product)
    _choose_way(&panels.way, given.left.code, given.out.code)
    together = _cut(&panels)
    parallel_for(given.batch * panels.down * panels.across, together, _run_pieces, &panels)


cdef int64_t _cut(Panels* panels) noexcept nogil:
    """Choose the pieces, and return how many are worth a thread's claim."""
    cdef const Product* product = &panels.product
    cdef int64_t rows = product.rows, columns = product.columns, pieces
    cdef int64_t parts = panels.way.packs.parts
    cdef int64_t work = OVERHEAD + (rows + FEW_ROWS) * columns * product.depth * parts * parts
    cdef int64_t most_rows = PIECE_ROWS // parts
    if panels.way.kind == ATEN_BYTE_QUADS and product.out.code == INT32:
        most_rows = ROWS_OF_BYTES
    panels.down = (rows + most_rows - 1) // most_rows
    panels.across = 1
    if rows * parts > FEW_ROWS:
        panels.across = (columns + PIECE_COLUMNS - 1) // PIECE_COLUMNS
    pieces = thread_count() if work < LARGE_WORK else 2 * thread_count()
    pieces = min((pieces + product.batch - 1) // product.batch, work // PIECE_WORK)
    while panels.down * panels.across < pieces:
        if columns // (2 * panels.across) >= STRIP_LANES:
            panels.across *= 2
        elif rows // (2 * panels.down) >= FEW_ROWS:
            panels.down *= 2
        else:
            break
    panels.rows = _even_share(rows, 8, &panels.down)
    panels.columns = _even_share(columns, STRIP_LANES if columns >= WIDE else LEFT_LANES,
                                 &panels.across)
    return max(1, PIECE_WORK // max(1, work // (panels.down * panels.across)))


cdef int64_t _even_share(int64_t total, int64_t unit, int64_t* parts) noexcept nogil:
    """The size of parts that differ little, a multiple of `unit`; their number may become less."""
    cdef int64_t share = (total + parts[0] - 1) // parts[0]
    share = max(unit, (share + unit - 1) // unit * unit)
    parts[0] = (total + share - 1) // share
    return share


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Panels* panels = <const Panels*>context
    cdef const Product* product = &panels.product
    cdef int64_t index, place, row, column
    cdef Piece piece
    piece.way = &panels.way
    piece.depth = product.depth
    piece.left = product.left
    piece.right = product.right
    piece.addend = product.addend
    piece.out = product.out
    _read_factor(&piece.alpha, product.alpha)
    _read_factor(&piece.beta, product.beta)
    for index in range(begin, end):
        place = index // (panels.down * panels.across)
        row = index // panels.across % panels.down * panels.rows
        column = index % panels.across * panels.columns
        piece.rows = min(panels.rows, product.rows - row)
        piece.columns = min(panels.columns, product.columns - column)
        piece.left.data = at(&product.left, place, row, 0)
        piece.right.data = at(&product.right, place, 0, column)
        piece.out.data = at(&product.out, place, row, column)
        if product.addend.data != NULL:
            piece.addend.data = at(&product.addend, place, row, column)
        _multiply_piece(&piece)


cdef inline void _read_factor(aten_panel_factor* factor, double complex number) noexcept nogil:
    factor.real = number.real
    factor.imaginary = number.imag
    factor.whole = <int64_t>number.real


cdef void _multiply_piece(Piece* piece) noexcept nogil:
    """A piece in memory for its sums and packed operands; bit by bit where there is none."""
    cdef char near[NEAR]
    cdef char* room = NULL
    cdef int64_t size = _lay_out(piece, NULL)
    if size <= NEAR:
        _lay_out(piece, near)
        _multiply_in_room(piece)
        return
    room = <char*>malloc(size)
    if room != NULL:
        _lay_out(piece, room)
        _multiply_in_room(piece)
        free(room)
        return
    _multiply_bits(piece, near)


cdef void _multiply_bits(const Piece* whole, char* near) noexcept nogil:
    cdef Piece piece = whole[0]
    cdef int64_t row, column, down, across, side = 8
    while True:
        piece.rows = min(side, whole.rows)
        piece.columns = min(2 * side, whole.columns)
        if side == 1 or _lay_out(&piece, NULL) <= NEAR:
            break
        side //= 2
    for down in range((whole.rows + side - 1) // side):
        row = down * side
        for across in range((whole.columns + 2 * side - 1) // (2 * side)):
            column = across * 2 * side
            piece.rows = min(side, whole.rows - row)
            piece.columns = min(2 * side, whole.columns - column)
            piece.left.data = at(&whole.left, 0, row, 0)
            piece.right.data = at(&whole.right, 0, 0, column)
            piece.out.data = at(&whole.out, 0, row, column)
            if whole.addend.data != NULL:
                piece.addend.data = at(&whole.addend, 0, row, column)
            _lay_out(&piece, near)
            _multiply_in_room(&piece)


cdef inline bint _streams(const Piece* piece) noexcept nogil:
    """Whether the right operand's rows run side by side from end to end."""
    return (piece.rows * piece.way.packs.parts <= FEW_ROWS and piece.right.column_stride == 1
            and piece.columns > 2 * STRIP_LANES)


cdef inline bint _goes_by_strips(const Piece* piece) noexcept nogil:
    """Whether a strip of the right operand is read from end to end before the next one."""
    return (piece.rows * piece.way.packs.parts <= FEW_ROWS
            and (piece.right.column_stride != 1 or piece.columns <= 2 * STRIP_LANES))


cdef int64_t _stream_columns(const Piece* piece) noexcept nogil:
    """Columns whose rows run side by side: few enough that their sums stay near."""
    cdef int64_t most = STREAM_SUMS // (piece.rows * piece.way.packs.parts)
    return max(STRIP_LANES, most // STRIP_LANES * STRIP_LANES)


cdef int64_t _lay_out(Piece* piece, char* room) noexcept nogil:
    """Where in `room` sums and packed operands lie, and the bytes that they need in all."""
    cdef int64_t unit = piece.way.tiles.unit, lanes = piece.way.tiles.lanes
    cdef int64_t rows = piece.rows * piece.way.packs.parts
    cdef int64_t width, sums, left, right, steps
    steps = min(_stretch_units(piece), units_of(piece, piece.depth))
    width = _width(piece)
    piece.sums_row = width
    if _goes_by_strips(piece):
        piece.sums_row = min(width, <int64_t>STRIP_LANES)
    elif _streams(piece):
        piece.sums_row = min(width, _stream_columns(piece))
    sums = (rows * piece.sums_row * unit + 63) // 64 * 64
    left = ((rows + LEFT_LANES - 1) // LEFT_LANES * LEFT_LANES) * (steps * unit + GAP)
    right = steps * unit * min(width, lanes * VECTORS * _packed_together(piece))
    # The room may begin amid a line.
    piece.sums = <char*>((<size_t>room + 63) & ~<size_t>63)
    piece.begun = piece.sums + sums
    piece.packed_right = piece.begun + (sums if _streams(piece) else 0)
    piece.packed_left = piece.packed_right + right
    piece.bases = <int64_t*>(piece.packed_left + left)
    piece.below = <int32_t*>(piece.bases + piece.rows)
    piece.direct = _is_direct(piece)
    return sums + (sums if _streams(piece) else 0) + left + right + 12 * piece.rows + 64


cdef inline bint _is_direct(const Piece* piece) noexcept nogil:
    """Whether sums of integers are what is wanted, in whole vectors."""
    return (piece.way.kind == ATEN_BYTE_QUADS and piece.out.code == INT32
            and piece.addend.data == NULL and piece.alpha.whole == 1
            and piece.out.column_stride == 1 and piece.columns % piece.way.tiles.lanes == 0)


cdef inline int64_t _stretch_units(const Piece* piece) noexcept nogil:
    return STRETCH_OF_QUADS if piece.way.kind == ATEN_BYTE_QUADS else STRETCH


cdef inline bint _goes_on(const Piece* piece) noexcept nogil:
    """Whether a stretch of the depth goes on with the sums before: in tile registers."""
    return piece.way.tiles.strip != NULL


cdef inline void _go_on(const Piece* piece, aten_panel_tile* tile, int64_t begin) noexcept nogil:
    """Sums of a stretch get those of the stretches before, if there are any."""
    tile.start = tile.out if begin and _goes_on(piece) else NULL
    tile.addend = tile.out if begin and not _goes_on(piece) else NULL


cdef inline int64_t _streamed_units(const Piece* piece) noexcept nogil:
    """Units of the depth at once where its rows run side by side: what tile registers sum at once."""
    return 2 * STREAM if _goes_on(piece) else STREAM


cdef inline int64_t _packed_together(const Piece* piece) noexcept nogil:
    """Strips that are packed together: one where sums are to stay in the second cache, too."""
    if _goes_by_strips(piece) or _streams(piece) or piece.rows * piece.way.packs.parts > SOME_ROWS:
        return 1
    return PIECE_COLUMNS // STRIP_LANES


cdef inline int64_t _width(const Piece* piece) noexcept nogil:
    """The columns, filled up to whole vectors."""
    cdef int64_t lanes = piece.way.tiles.lanes
    return (piece.columns + lanes - 1) // lanes * lanes


cdef inline int64_t _stretch_of(const Piece* piece, int64_t units) noexcept nogil:
    """Steps of the depth of so many units."""
    return units * piece.way.packs.group // piece.way.packs.parts


cdef void _multiply_in_room(Piece* piece) noexcept nogil:
    cdef int64_t row
    if piece.way.flips:
        for row in range(piece.rows):
            piece.bases[row] = 128 * _sum_of_row(piece, row)
            piece.below[row] = <int32_t>-piece.bases[row]
    if _goes_by_strips(piece):
        _multiply_by_strips(piece)
    elif _streams(piece):
        _multiply_streaming(piece)
    else:
        _multiply_block(piece)


cdef inline int64_t _strip_of(const Piece* piece, int64_t columns) noexcept nogil:
    """Columns of a strip, so that the last one is about as wide as the others."""
    cdef int64_t lanes = piece.way.tiles.lanes
    cdef int64_t vectors = (columns + lanes - 1) // lanes
    cdef int64_t strips = (vectors + VECTORS - 1) // VECTORS
    return (vectors + strips - 1) // strips * lanes


cdef void _multiply_block(Piece* piece) noexcept nogil:
    """All strips over one stretch of the depth, then over the next."""
    cdef int64_t begin = 0, first, column, count
    cdef int64_t stretch = _stretch_of(piece, _stretch_units(piece))
    cdef int64_t strip = _strip_of(piece, piece.columns), together = _packed_together(piece)
    cdef char* sums = piece.out.data if piece.direct else piece.sums
    cdef aten_panel_tile tile
    tile.base = NULL
    tile.out_row = piece.out.row_stride if piece.direct else piece.sums_row
    while True:
        count = min(stretch, piece.depth - begin)
        tile.units = units_of(piece, count)
        take_left(piece, begin, count, &tile)
        column = 0
        while column < piece.columns:
            first = column
            pack_strips(piece, begin, count, first, together * strip, strip, &tile)
            while column < min(piece.columns, first + together * strip):
                take_strip(piece, first, column, strip, &tile)
                tile.out = sums + column * piece.way.tiles.unit
                _go_on(piece, &tile, begin)
                if piece.direct:
                    tile.base = piece.below if piece.way.flips and not begin else NULL
                _run_strip(piece, &tile, min(strip, piece.columns - column))
                column += strip
        begin += stretch
        if begin >= piece.depth:
            break
    if not piece.direct:
        _finish(piece, 0, piece.columns)


cdef void _multiply_by_strips(Piece* piece) noexcept nogil:
    """One strip over all of the depth, then the next."""
    cdef int64_t begin, column, columns, index, count
    cdef int64_t stretch = _stretch_of(piece, _stretch_units(piece))
    cdef int64_t strip = _strip_of(piece, piece.columns)
    cdef aten_panel_tile tile
    tile.base = NULL
    for index in range((piece.columns + strip - 1) // strip):
        column = index * strip
        columns = min(strip, piece.columns - column)
        begin = 0
        while True:
            count = min(stretch, piece.depth - begin)
            tile.units = units_of(piece, count)
            take_left(piece, begin, count, &tile)
            tile.out = piece.sums
            _go_on(piece, &tile, begin)
            tile.out_row = piece.sums_row
            if not _run_columns(piece, begin, count, column, columns, &tile):
                pack_right(piece, begin, count, column, strip, &tile)
                _run_strip(piece, &tile, columns)
            begin += stretch
            if begin >= piece.depth:
                break
        _finish(piece, column, columns)


cdef bint _run_columns(const Piece* piece, int64_t begin, int64_t count, int64_t column,
                       int64_t columns, const aten_panel_tile* tile) noexcept nogil:
    """A strip of the right operand, which is not packed; False where it has to be."""
    cdef aten_panel_columns work
    cdef aten_panel_columns_function run = aten_panel_columns_of(
        piece.way.vector_bytes, _features, piece.way.kind, piece.way.pack, piece.rows)
    if (run == NULL or piece.right.row_stride != 1 or count % piece.way.packs.group != 0
            or tile.left_step != piece.way.tiles.unit):
        return False
    work.units = tile.units
    work.columns = columns
    work.left = tile.left
    work.left_row = tile.left_row
    work.right = at(&piece.right, 0, begin, column)
    work.right_column = piece.right.column_stride * piece.way.packs.size
    work.ahead = 0
    work.out = tile.out
    work.out_row = tile.out_row
    work.rows = piece.rows
    work.adds = tile.addend != NULL or tile.start != NULL
    run(&work)
    return True


cdef void _multiply_streaming(Piece* piece) noexcept nogil:
    """Some steps of the depth over many columns, then the next ones."""
    cdef int64_t first, column, columns, begin, count, stretch = _stretch_of(piece, STRETCH)
    cdef int64_t strip = piece.way.tiles.lanes * VECTORS, unit = piece.way.tiles.unit
    cdef int64_t few = _stretch_of(piece, _streamed_units(piece)), part, place, chunk, index
    cdef aten_panel_tile tile
    tile.base = NULL
    for chunk in range((piece.columns + piece.sums_row - 1) // piece.sums_row):
        first = chunk * piece.sums_row
        columns = min(piece.sums_row, piece.columns - first)
        begin = 0
        while True:
            count = min(few, piece.depth - begin)
            tile.units = units_of(piece, count)
            part = begin if _goes_on(piece) else begin % stretch
            take_left(piece, begin, count, &tile)
            for index in range((columns + strip - 1) // strip):
                column = index * strip
                pack_right(piece, begin, count, first + column, strip, &tile)
                place = column * unit
                tile.start = piece.begun + place if part else NULL
                tile.addend = NULL
                tile.out = piece.begun + place
                if begin + few >= piece.depth or (part + few == stretch and not _goes_on(piece)):
                    tile.out = piece.sums + place
                    tile.addend = (tile.out if begin >= stretch and not _goes_on(piece)
                                   else NULL)
                tile.out_row = piece.sums_row
                _run_strip(piece, &tile, min(strip, columns - column))
            begin += few
            if begin >= piece.depth:
                break
        _finish(piece, first, columns)


cdef void _run_strip(const Piece* piece, aten_panel_tile* tile, int64_t columns) noexcept nogil:
    cdef const aten_panel_tiles* tiles = piece.way.tiles
    cdef int64_t group = tile.left_step * tile.units if tile.left_step != tiles.unit else 0
    run_strip(tiles, tile, piece.rows * piece.way.packs.parts, columns, group)


cdef void _finish(const Piece* piece, int64_t column, int64_t columns) noexcept nogil:
    """Results of the columns that sums are there for."""
    cdef aten_panel_row row
    cdef int64_t place, unit = piece.way.tiles.unit, parts = piece.way.packs.parts
    row.count = columns
    row.alpha = piece.alpha
    row.beta = piece.beta
    row.addend = NULL
    row.addend_step = piece.addend.column_stride
    row.out_step = piece.out.column_stride
    row.base = 0
    for place in range(piece.rows):
        row.sums = piece.sums + place * parts * piece.sums_row * unit
        row.more = <const char*>row.sums + piece.sums_row * unit
        row.out = at(&piece.out, 0, place, column)
        if piece.addend.data != NULL:
            row.addend = at(&piece.addend, 0, place, column)
        if piece.way.flips:
            row.base = piece.bases[place]
        piece.way.finish(&row)


cdef int64_t _sum_of_row(const Piece* piece, int64_t row) noexcept nogil:
    cdef const int8_t* source = <const int8_t*>at(&piece.left, 0, row, 0)
    cdef int64_t place, count, total = 0
    if piece.left.column_stride == 1:
        for place in range((piece.depth + SUMMED - 1) // SUMMED):
            count = min(<int64_t>SUMMED, piece.depth - place * SUMMED)
            total += aten_sum_bytes(piece.way.vector_bytes, source + place * SUMMED, count)
        return total
    for place in range(piece.depth):
        total += source[place * piece.left.column_stride]
    return total
