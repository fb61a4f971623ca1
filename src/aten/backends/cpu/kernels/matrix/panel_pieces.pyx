# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""A piece of a product in units, which one thread multiplies: strip by strip, in blocks of the depth
or from end to end, and its results.

Three products of real numbers make one of complex ones. Where a part of it is not finite, four
products decide what it is, so infinities and NaNs are those that users expect.
"""

from libc.stdint cimport int32_t, int64_t, int8_t
from libc.stdlib cimport free, malloc

from aten._core.base.dtypes cimport INT32, item_size
from aten.backends.cpu.kernels.matrix.panel_operands cimport (
    FEW_ROWS, GAP, PIECE_COLUMNS, STRIP_LANES, THREE, Piece, Way, add_parts, at, pack_right,
    pack_strips, strip_at, sums_of, take_left, take_strip, units_of)
from aten.backends.cpu.kernels.matrix.panel_strips cimport (
    ATEN_BYTE_QUADS, LEFT_LANES, STRETCH, STRETCH_OF_QUADS, aten_panel_columns,
    aten_panel_columns_function, aten_panel_interleaved, aten_panel_lines, aten_panel_rounding,
    aten_panel_row, aten_panel_tile, run_strip)

cdef enum:
    # Vectors side by side in a tile.
    VECTORS = 3
    # Units of the depth at once where its rows run side by side, and sums of such columns.
    STREAM = 8
    STREAM_SUMS = 4096
    # Rows up to which these are faster as they lie, if they can be summed so.
    ROWS_OF_LINES = 8
    # The same of complex numbers' parts.
    PART_SUMS = 8192
    # Rows of sums up to which strips are packed together.
    SOME_ROWS = 64
    # Bytes whose sum has room in 32 bits.
    SUMMED = 1 << 20
    # Rows of a bit of a product, where there is no memory for more.
    MOST_OF_A_BIT = 8
    # Bytes of sums and packed operands for which the stack has room.
    NEAR = 3 << 14

ctypedef fused Real:
    float
    double


cdef void multiply_piece(Piece* piece) noexcept nogil:
    """A piece in memory for its sums and packed operands; bit by bit where there is none."""
    cdef char near[NEAR]
    cdef char* room = NULL
    cdef int64_t size
    if _is_interleaved(piece):
        _multiply_interleaved(piece)
        return
    size = _lay_out(piece, NULL)
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


cdef inline bint _is_interleaved(const Piece* piece) noexcept nogil:
    """Whether complex numbers are multiplied as they lie, and results are nothing but sums."""
    return (piece.way.packs.parts == 2 and piece.way.lines == 2
            and piece.right.column_stride == 1 and piece.out.column_stride == 1
            and piece.addend.data == NULL
            and piece.alpha.real == 1 and piece.alpha.imaginary == 0)


cdef void _multiply_interleaved(const Piece* piece) noexcept nogil:
    cdef aten_panel_interleaved work
    work.rows, work.columns, work.depth = piece.rows, piece.columns, piece.depth
    work.left = piece.left.data
    work.left_row = 2 * piece.left.row_stride
    work.left_step = 2 * piece.left.column_stride
    work.right = piece.right.data
    work.right_row = 2 * piece.right.row_stride
    work.out = piece.out.data
    work.out_row = 2 * piece.out.row_stride
    piece.way.packs.complex_products.interleaved(&work)


cdef void _multiply_bits(const Piece* whole, char* near) noexcept nogil:
    cdef Piece piece
    cdef int64_t row, column, side = _side_of_bits(whole)
    for row in range((whole.rows + side - 1) // side):
        for column in range((whole.columns + 2 * side - 1) // (2 * side)):
            _take_bit(&piece, whole, row * side, column * 2 * side, side)
            _lay_out(&piece, near)
            _multiply_in_room(&piece)


cdef int64_t _side_of_bits(const Piece* whole) noexcept nogil:
    """Rows of bits for which the stack has room; they have twice as many columns."""
    cdef Piece piece
    cdef int64_t side = MOST_OF_A_BIT
    while side > 1:
        _take_bit(&piece, whole, 0, 0, side)
        if _lay_out(&piece, NULL) <= NEAR:
            break
        side //= 2
    return side


cdef void _take_bit(Piece* bit, const Piece* whole, int64_t row, int64_t column,
                    int64_t side) noexcept nogil:
    bit[0] = whole[0]
    bit.rows = min(side, whole.rows - row)
    bit.columns = min(2 * side, whole.columns - column)
    bit.left.data = at(&whole.left, 0, row, 0)
    bit.right.data = at(&whole.right, 0, 0, column)
    bit.out.data = at(&whole.out, 0, row, column)
    if whole.addend.data != NULL:
        bit.addend.data = at(&whole.addend, 0, row, column)


cdef inline bint _streams(const Piece* piece) noexcept nogil:
    """Whether the right operand's rows run side by side from end to end."""
    return (piece.rows * piece.way.lines <= FEW_ROWS and piece.right.column_stride == 1
            and (piece.columns > 2 * STRIP_LANES or piece.way.lines == THREE))


cdef inline bint _goes_by_strips(const Piece* piece) noexcept nogil:
    """Whether a strip of the right operand is read from end to end before the next one."""
    return piece.rows * piece.way.lines <= FEW_ROWS and not _streams(piece)


cdef int64_t _stream_columns(const Piece* piece) noexcept nogil:
    """Columns whose rows run side by side: few enough that their sums stay near."""
    cdef int64_t most = PART_SUMS if piece.way.lines == THREE else STREAM_SUMS
    most //= piece.rows * piece.way.lines
    return max(STRIP_LANES, most // STRIP_LANES * STRIP_LANES)


cdef int64_t _lay_out(Piece* piece, char* room) noexcept nogil:
    """Where in `room` sums and packed operands lie, and the bytes that they need in all."""
    cdef int64_t unit = piece.way.tiles.unit, lanes = piece.way.tiles.lanes
    cdef int64_t rows = piece.rows * piece.way.lines
    cdef int64_t width, sums, left, right, added, steps
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
    added = right // 2 if piece.way.lines == THREE else 0
    # The room may begin amid a line.
    piece.sums = <char*>((<size_t>room + 63) & ~<size_t>63)
    piece.begun = piece.sums + sums
    piece.packed_right = piece.begun + (sums if _streams(piece) else 0)
    piece.packed_sums = piece.packed_right + right
    piece.packed_left = piece.packed_sums + added
    piece.bases = <int64_t*>(piece.packed_left + left)
    piece.below = <int32_t*>(piece.bases + piece.rows)
    piece.direct = _is_direct(piece)
    return sums + (sums if _streams(piece) else 0) + left + right + added + 12 * piece.rows + 64


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
    if _goes_by_strips(piece) or _streams(piece) or piece.rows * piece.way.lines > SOME_ROWS:
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
    elif _streams(piece) and piece.way.lines == THREE:
        _multiply_parts_streaming(piece)
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


cdef inline int64_t _packed_end(const Piece* piece, int64_t first, int64_t strip) noexcept nogil:
    """Where those strips end that are packed together with the one at `first`."""
    cdef int64_t column = first, index
    for index in range(_packed_together(piece)):
        column += strip_at(piece, column, strip)
    return column


cdef void _multiply_block(Piece* piece) noexcept nogil:
    """All strips over one stretch of the depth, then over the next."""
    cdef int64_t begin = 0, first, end, column, columns, count
    cdef int64_t stretch = _stretch_of(piece, _stretch_units(piece))
    cdef int64_t strip = _strip_of(piece, piece.columns)
    cdef char* sums = piece.out.data if piece.direct else piece.sums
    cdef bint rounds = _rounds(piece)
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
            end = _packed_end(piece, first, strip)
            pack_strips(piece, begin, count, first, end, strip, &tile)
            while column < end:
                columns = strip_at(piece, column, strip)
                take_strip(piece, first, column, strip, &tile)
                add_parts(piece, &tile)
                tile.out = sums + column * piece.way.tiles.unit
                _go_on(piece, &tile, begin)
                if piece.direct:
                    tile.base = piece.below if piece.way.flips and not begin else NULL
                if rounds and begin + stretch >= piece.depth:
                    _run_rounded(piece, &tile, column, columns)
                else:
                    _run_strip(piece, &tile, columns)
                column += columns
        begin += stretch
        if begin >= piece.depth:
            break
    if not piece.direct and not rounds:
        _finish(piece, 0, piece.columns)


cdef inline bint _rounds(const Piece* piece) noexcept nogil:
    """Whether sums become results, whose columns or rows are neighbours, as soon as they are there."""
    return (piece.way.tiles.rounded != NULL
            and (_are_neighbours(piece.out.column_stride, piece, piece.addend.column_stride)
                 or _are_neighbours(piece.out.row_stride, piece, piece.addend.row_stride)))


cdef inline bint _are_neighbours(int64_t out_stride, const Piece* piece,
                                 int64_t addend_stride) noexcept nogil:
    return out_stride == 1 and (piece.addend.data == NULL or addend_stride == 1)


cdef void _run_rounded(const Piece* piece, const aten_panel_tile* tile, int64_t column,
                       int64_t columns) noexcept nogil:
    cdef aten_panel_rounding rounding
    cdef int64_t size = item_size(piece.out.code)
    rounding.turned = not _are_neighbours(piece.out.column_stride, piece,
                                          piece.addend.column_stride)
    rounding.alpha, rounding.beta = <float>piece.alpha.real, <float>piece.beta.real
    rounding.out = at(&piece.out, 0, 0, column)
    rounding.out_step = size * (piece.out.column_stride if rounding.turned
                                else piece.out.row_stride)
    rounding.addend = NULL
    rounding.addend_step = 0
    if piece.addend.data != NULL:
        rounding.addend = at(&piece.addend, 0, 0, column)
        rounding.addend_step = size * (piece.addend.column_stride if rounding.turned
                                       else piece.addend.row_stride)
    piece.way.tiles.rounded(tile, &rounding, piece.rows, columns, _group_of(piece, tile))


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
                add_parts(piece, &tile)
                _run_strip(piece, &tile, columns)
            begin += stretch
            if begin >= piece.depth:
                break
        _finish(piece, column, columns)


cdef bint _run_columns(const Piece* piece, int64_t begin, int64_t count, int64_t column,
                       int64_t columns, const aten_panel_tile* tile) noexcept nogil:
    """A strip of the right operand, which is not packed; False where it has to be."""
    cdef aten_panel_columns work
    cdef aten_panel_columns_function run = piece.way.columns(piece.way.kind, piece.way.pack,
                                                             piece.rows)
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
        begin = 0
        while True:
            columns = min(piece.sums_row, piece.columns - first)
            count = min(few, piece.depth - begin)
            tile.units = units_of(piece, count)
            part = begin if _goes_on(piece) else begin % stretch
            take_left(piece, begin, count, &tile)
            if _sums_lines(piece, &tile):
                _sum_lines(piece, begin, count, first, columns, &tile)
                columns = 0
            for index in range((columns + strip - 1) // strip):
                column = index * strip
                pack_right(piece, begin, count, first + column, strip, &tile)
                add_parts(piece, &tile)
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
        _finish(piece, first, min(piece.sums_row, piece.columns - first))


cdef inline bint _sums_lines(const Piece* piece, const aten_panel_tile* tile) noexcept nogil:
    """Whether few rows, whose elements are runs, take the right operand as it lies."""
    return (piece.way.tiles.lines_of_few != NULL and piece.rows <= ROWS_OF_LINES
            and tile.left_step == piece.way.tiles.unit)


cdef void _sum_lines(const Piece* piece, int64_t begin, int64_t count, int64_t first, int64_t columns,
                     const aten_panel_tile* tile) noexcept nogil:
    """Some steps of the depth, by as many rows as have room in registers."""
    cdef aten_panel_lines work
    cdef int64_t row = 0
    work.steps = count
    work.columns = columns
    work.right = at(&piece.right, 0, begin, first)
    work.right_step = piece.right.row_stride * piece.way.packs.size
    work.left_row = tile.left_row
    work.out_row = piece.sums_row
    work.begins = begin == 0
    while row < piece.rows:
        work.rows = min(<int64_t>4, piece.rows - row)
        work.left = tile.left + row * work.left_row
        work.out = <float*>piece.sums + row * piece.sums_row
        piece.way.tiles.lines_of_few(&work)
        row += work.rows


cdef void _multiply_parts_streaming(Piece* piece) noexcept nogil:
    """Complex numbers as they lie: a stretch of the depth over many columns, then the next one."""
    cdef int64_t first, columns, begin, count, chunk, stretch = _stretch_of(piece, STRETCH)
    cdef aten_panel_tile tile
    tile.out = piece.begun
    tile.out_row = piece.sums_row
    tile.right_step = piece.right.row_stride * piece.way.packs.size
    for chunk in range((piece.columns + piece.sums_row - 1) // piece.sums_row):
        first = chunk * piece.sums_row
        columns = min(piece.sums_row, piece.columns - first)
        begin = 0
        while begin < piece.depth:
            count = min(stretch, piece.depth - begin)
            tile.units = units_of(piece, count)
            take_left(piece, begin, count, &tile)
            tile.right = at(&piece.right, 0, begin, first)
            piece.way.packs.complex_products.stream(&tile, piece.rows, columns, piece.sums,
                                                    begin > 0)
            begin += count
        _finish(piece, first, columns)


cdef void _run_strip(const Piece* piece, aten_panel_tile* tile, int64_t columns) noexcept nogil:
    if piece.way.lines == THREE:
        _run_three(piece, tile, columns)
        return
    run_strip(piece.way.tiles, tile, piece.rows * piece.way.lines, columns, _group_of(piece, tile))


cdef inline int64_t _group_of(const Piece* piece, const aten_panel_tile* tile) noexcept nogil:
    """The bytes of rows whose units lie side by side, or 0: a row's units are neighbours."""
    return tile.left_step * tile.units if tile.left_step != piece.way.tiles.unit else 0


cdef void _run_three(const Piece* piece, const aten_panel_tile* pairs,
                     int64_t columns) noexcept nogil:
    """The product of the real parts, that of the imaginary ones and that of their sums."""
    cdef int64_t unit = piece.way.tiles.unit, line = piece.sums_row * unit, part
    cdef aten_panel_tile tile = pairs[0]
    tile.units = pairs.units // 2
    tile.left_step = 2 * unit
    tile.right_step = 2 * pairs.right_step
    tile.out_row = THREE * pairs.out_row
    for part in range(THREE):
        if part == 2:
            tile.left, tile.left_step = pairs.left + pairs.units * unit, unit
            tile.right, tile.right_step = sums_of(piece, pairs), pairs.right_step
        run_strip(piece.way.tiles, &tile, piece.rows, columns, 0)
        tile.left += unit
        tile.right += pairs.right_step
        tile.out = <char*>tile.out + line
        if tile.start != NULL:
            tile.start = <const char*>tile.start + line
        if tile.addend != NULL:
            tile.addend = <const char*>tile.addend + line


cdef void _finish(const Piece* piece, int64_t column, int64_t columns) noexcept nogil:
    """Results of the columns that sums are there for."""
    cdef aten_panel_row row
    cdef int64_t place, line = piece.sums_row * piece.way.tiles.unit
    if piece.way.lines == THREE:
        _join(piece, column, columns)
    row.count = columns
    row.alpha = piece.alpha
    row.beta = piece.beta
    row.addend = NULL
    row.addend_step = piece.addend.column_stride
    row.out_step = piece.out.column_stride
    row.base = 0
    for place in range(piece.rows):
        row.sums = piece.sums + place * piece.way.lines * line
        row.more = <const char*>row.sums + line
        row.out = at(&piece.out, 0, place, column)
        if piece.addend.data != NULL:
            row.addend = at(&piece.addend, 0, place, column)
        if piece.way.flips:
            row.base = piece.bases[place]
        piece.way.finish(&row)


cdef void _join(const Piece* piece, int64_t column, int64_t columns) noexcept nogil:
    """The parts of results in place of the first two of three rows of sums."""
    cdef int64_t place, line = piece.sums_row * piece.way.tiles.unit
    cdef bint are_finite = True
    for place in range(piece.rows):
        are_finite &= piece.way.packs.complex_products.join(piece.sums + place * THREE * line,
                                                            piece.sums_row, columns)
    if are_finite:
        return
    if piece.way.tiles.unit == 4:
        _mend(piece, column, columns, <float>0)
    else:
        _mend(piece, column, columns, <double>0)


cdef void _mend(const Piece* piece, int64_t column, int64_t columns, Real zero) noexcept nogil:
    """Results that are not finite become what four products give: three overflow sooner, and make
    NaN of an infinity and a number."""
    cdef char near[NEAR]
    cdef Real made[4 * MOST_OF_A_BIT * MOST_OF_A_BIT]
    cdef Piece whole = piece[0], bit
    cdef Way way = piece.way[0]
    cdef int64_t row, first, down, across, side
    way.lines = 2
    whole.way = &way
    whole.columns = columns
    whole.right.data = at(&piece.right, 0, 0, column)
    whole.addend.data = NULL
    whole.alpha.real, whole.alpha.imaginary = 1, 0
    side = _side_of_bits(&whole)
    for down in range((piece.rows + side - 1) // side):
        row = down * side
        for across in range((columns + 2 * side - 1) // (2 * side)):
            first = across * 2 * side
            _take_bit(&bit, &whole, row, first, side)
            if _take_finite(piece, row, first, &bit, NULL, zero):
                continue
            bit.out.data = <char*>made
            bit.out.row_stride, bit.out.column_stride = 2 * side, 1
            _lay_out(&bit, near)
            _multiply_in_room(&bit)
            _take_finite(piece, row, first, &bit, made, zero)


cdef bint _take_finite(const Piece* piece, int64_t row, int64_t column, const Piece* bit,
                       const Real* made, Real zero) noexcept nogil:
    """Whether all results of a bit are finite; those that are not become what was `made`."""
    cdef int64_t down, across
    cdef Real* real
    cdef Real* imaginary
    for down in range(bit.rows):
        real = <Real*>piece.sums + (row + down) * THREE * piece.sums_row + column
        imaginary = real + piece.sums_row
        for across in range(bit.columns):
            if real[across] - real[across] == 0 and imaginary[across] - imaginary[across] == 0:
                continue
            if made == NULL:
                return False
            real[across] = made[2 * (down * bit.out.row_stride + across)]
            imaginary[across] = made[2 * (down * bit.out.row_stride + across) + 1]
    return True


cdef int64_t _sum_of_row(const Piece* piece, int64_t row) noexcept nogil:
    cdef const int8_t* source = <const int8_t*>at(&piece.left, 0, row, 0)
    cdef int64_t place, count, total = 0
    if piece.left.column_stride == 1:
        for place in range((piece.depth + SUMMED - 1) // SUMMED):
            count = min(<int64_t>SUMMED, piece.depth - place * SUMMED)
            total += piece.way.sum_bytes(piece.way.vector_bytes, source + place * SUMMED, count)
        return total
    for place in range(piece.depth):
        total += source[place * piece.left.column_stride]
    return total
