# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Matrix products of half types, integers and complex numbers by kernels of our own.

Both operands are packed into units, which are what a lane multiplies and sums in one step: two
bfloat16 or int16, four bytes, or one number. A complex number is two units of the right operand,
one below the other, and two rows of the left one, (real, -imaginary) and (imaginary, real): its
product is a real one of twice the rows and twice the depth, whose rows are the parts of the result.
Small ones are multiplied as they lie, which gives the same bits. From some size on it is three
products, of the real parts, the imaginary ones and their sums.
Half types that the processor does not multiply are widened to float32 as they are packed, bytes to
16 bits. Sums are kept apart, as float32 for half types, and each result is rounded once.

A stretch of the depth is summed in order, in one lane, and added to what the stretches before it
gave. Stretches have the same length whatever the sizes, so how a product is cut, for the caches or
for threads, does not change the bits of a row, nor does what lies beside it.
"""

from libc.stdint cimport int64_t, int8_t

from aten._core.base.dtypes cimport (BFLOAT16, COMPLEX128, COMPLEX64, FLOAT16, INT16, INT32, INT64,
                                     INT8, UINT8)
from aten._core.threads.parallel cimport even_parts, parallel_for, thread_count
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Product, transpose, vector_width
from aten.backends.cpu.kernels.matrix.panel_operands cimport (
    FEW_ROWS, PIECE_COLUMNS, STRIP_LANES, THREE, Piece, Way, at)
from aten.backends.cpu.kernels.matrix.panel_pieces cimport multiply_piece
from aten.backends.cpu.kernels.matrix.panel_strips cimport (
    ATEN_BRAIN_PAIRS, ATEN_BYTE_QUADS, ATEN_DOUBLES, ATEN_FINISH_BRAINS, ATEN_FINISH_BYTES,
    ATEN_FINISH_COMPLEX_DOUBLES, ATEN_FINISH_COMPLEX_SINGLES, ATEN_FINISH_HALVES, ATEN_FINISH_INTS,
    ATEN_FINISH_LONGS, ATEN_FINISH_SHORTS, ATEN_FLOATS, ATEN_INTS, ATEN_LONGS, ATEN_PACK_BRAINS,
    ATEN_PACK_BYTES, ATEN_PACK_COMPLEX_DOUBLES, ATEN_PACK_COMPLEX_SINGLES, ATEN_PACK_DOUBLES,
    ATEN_PACK_HALVES, ATEN_PACK_SHORTS, ATEN_PACK_SIGNED_BYTES, ATEN_PACK_SINGLES,
    ATEN_PACK_UNSIGNED_BYTES, ATEN_SHORT_PAIRS, LEFT_LANES, aten_panel_columns_function,
    aten_panel_factor, aten_panel_features, aten_panel_finish)

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
    # Rows of sums in a piece, which stay in the second cache.
    PIECE_ROWS = 256
    # The same of bytes, whose sums lie in the result, and of what tile registers multiply so fast that
    # packing the right operand again takes longer than sums that are further away.
    MANY_ROWS = 512
    # What a product costs whatever its size, in multiplications, and what is worth a thread.
    OVERHEAD = 4096
    PIECE_WORK = 1 << 19
    # From where threads get two pieces each, to even out a slow one.
    LARGE_WORK = 1 << 26
    # Columns from which pieces are whole strips.
    WIDE = 1024
    # From where complex numbers are multiplied by three products of real ones. Rows do not count:
    # a row's bits are the same whatever lies beside it.
    LEAST_COLUMNS = 64
    LEAST_DEPTH = 64

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
    way.columns = panel_columns
    way.sum_bytes = aten_sum_bytes
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
    way.lines = way.packs.parts
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
    if _is_turned(&panels):
        transpose(&panels.product)
    if (panels.way.packs.parts == 2 and given.columns >= LEAST_COLUMNS
            and given.depth >= LEAST_DEPTH):
        panels.way.lines = THREE
    together = _cut(&panels)
    parallel_for(given.batch * panels.down * panels.across, together, _run_pieces, &panels)


cdef bint _is_turned(const Panels* panels) noexcept nogil:
    """Whether a large right operand, of columns that are runs, is the left one of the turned product:
    so its pairs need not be turned, but those of a smaller one, and results as they are rounded."""
    cdef const Product* product = &panels.product
    return (panels.way.tiles.rounded != NULL
            and product.right.row_stride == 1 and product.depth % panels.way.packs.group == 0
            and product.out.column_stride == 1
            and (product.addend.data == NULL or product.addend.column_stride == 1)
            and FEW_ROWS < product.rows <= product.columns // 2
            and product.rows <= product.depth // 3)


cdef int64_t _cut(Panels* panels) noexcept nogil:
    """Choose the pieces, and return how many are worth a thread's claim."""
    cdef const Product* product = &panels.product
    cdef int64_t rows = product.rows, columns = product.columns, pieces
    cdef int64_t lines = panels.way.lines, parts = panels.way.packs.parts
    cdef int64_t work = OVERHEAD + (rows + FEW_ROWS) * columns * product.depth * parts * parts
    cdef int64_t most_rows = PIECE_ROWS // lines, most_columns = PIECE_COLUMNS
    if (panels.way.kind == ATEN_BYTE_QUADS and product.out.code == INT32
            or panels.way.kind == ATEN_BRAIN_PAIRS and panels.way.tiles.strip != NULL):
        most_rows = MANY_ROWS
    if lines == THREE:
        # As many bytes of sums as four products have in float64.
        most_rows = 2 * most_rows
        most_columns = PIECE_COLUMNS * 4 // panels.way.tiles.unit
    panels.down = (rows + most_rows - 1) // most_rows
    panels.across = 1
    if rows * lines > FEW_ROWS:
        panels.across = (columns + most_columns - 1) // most_columns
    pieces = thread_count() if work < LARGE_WORK else 2 * thread_count()
    pieces = min((pieces + product.batch - 1) // product.batch, work // PIECE_WORK)
    while panels.down * panels.across < pieces:
        if columns // (2 * panels.across) >= STRIP_LANES:
            panels.across *= 2
        elif rows // (2 * panels.down) >= FEW_ROWS:
            panels.down *= 2
        else:
            break
    panels.down = even_parts(panels.down, panels.across * product.batch, rows // FEW_ROWS)
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
        multiply_piece(&piece)


cdef inline void _read_factor(aten_panel_factor* factor, double complex number) noexcept nogil:
    factor.real = number.real
    factor.imaginary = number.imag
    factor.whole = <int64_t>number.real
