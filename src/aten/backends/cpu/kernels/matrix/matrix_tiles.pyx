# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Matrix products of float32 and float64 by kernels of our own.

A kernel holds a tile of results in registers and sums it over a stretch of the depth. There is
one for each width of vectors, and the processor's widest are used. The right operand is read where
it lies if the elements of a row are neighbours and are not read often, else it is packed strip by
strip as the kernel comes to it: a strip's stretch stays in the nearest cache while all rows of the
left operand pass by. Where the columns of a deep one are runs of memory, as those of linear layers are,
and the rows of the left one are, too, dots of these are taken: of few rows where they lie, of many as
products of matrices, one for each lane of a dot, which give the same bits. If there are more columns
than rows, they are read as they lie, and the rows are packed in their place. Results and strips to come
are fetched while a tile sums. A vector whose elements, like those of the rows it meets,
lie in a run is multiplied as dots.

Threads claim pieces of the result. Each result is summed over one stretch of the depth after the
other, which are as long in every product, so how it is cut may depend on the number of threads and
of rows, and its bits do not.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.threads.parallel cimport even_parts, parallel_for, thread_count
from aten.backends.cpu.kernels.moving.transfer cimport Block, transfer

cdef extern from "matrix_levels.h" nogil:
    ctypedef struct aten_block:
        int64_t rows, columns, depth, width, steps
        int pack, fetch
        const void* left
        const void* right
        const void* addend
        void* out
        int64_t left_row, left_step, right_step, right_column
        int64_t addend_row, addend_column, out_row, out_column
        double alpha, beta
    ctypedef struct aten_kernels:
        int lanes, rows
        void (*multiply)(const aten_block* block) noexcept nogil
        void (*multiply_strips)(const aten_block* block) noexcept nogil
        void (*turn)(const void* source, int64_t source_row, int64_t rows, int64_t columns,
                     void* target, int64_t target_row) noexcept nogil
        void (*dots)(const aten_block* block) noexcept nogil
        void (*dot)(const aten_block* block) noexcept nogil
    int aten_widest_vectors()
    const aten_kernels* aten_kernels_of(int is_double, int vector_bytes)
    int ATEN_STRETCH
    int ATEN_STREAMS

cdef enum:
    # Vectors side by side in a tile.
    VECTORS = 3
    # Rows up to which the right operand is streamed, not read again and again.
    FEW_ROWS = 16       # as ATEN_FEW_ROWS
    # The least depth of dots with the columns of a matrix, whatever the number of rows: each costs
    # some instructions at its end.
    DOTTED = 512
    # Steps of the depth at once in a stream, so that it runs along rows of memory.
    STREAM = 16
    # Bytes of a right operand that need not be packed: it stays in the nearest cache.
    NEAR = 1 << 15
    # Bytes from row to row of one that is not packed either unless many rows read it.
    CLOSE = 1 << 10
    # Rows that read a packed strip of it so often that it must stay there, with all that passes
    # by.
    MANY_ROWS = 256
    # Rows that take long enough to pass by a packed strip for the next one to be fetched meanwhile.
    FETCHING_ROWS = 16
    # Rows of a large piece, and columns: its stretch of the left operand stays in the second cache.
    PIECE_SIDE = 512
    # Of a piece over strips, each of which reads all of the left operand's rows: so many, and of deep
    # ones fewer, but not fewer than those, so that these bytes stay in the second cache.
    STRIP_ROWS = 128
    LEAST_STRIP_ROWS = 64
    STRIP_NEAR = 3 << 17
    # One part in so many is no matter.
    EVEN = 24
    # And so many strips, of which all rows of a piece are done before the next piece's.
    STRIPS_TOGETHER = 8
    # Multiplications worth a piece of their own; a product costs OVERHEAD of them whatever its
    # size, and reading the right operand as much as that many more rows.
    PIECE_WORK = 1 << 19
    OVERHEAD = 2048
    READING = 16
    # Pieces for each thread, to even out a slow one.
    PIECES_PER_THREAD = 4
    # Elements summed at once in a long dot, and how many sums there may be.
    DOT_CHUNK = 1 << 15
    DOT_CHUNKS = 512

cdef int _vector_bytes = aten_widest_vectors()

ctypedef fused Real:
    float
    double

cdef struct Tiling:
    aten_block block            # the first matrix of the batch, all of it
    const aten_kernels* kernels
    bint dots
    void (*run)(const aten_block* block) noexcept nogil
    int size                    # of an element
    int64_t rows                # of a piece
    int64_t columns
    int64_t down                # pieces in a matrix
    int64_t across
    int64_t inner               # matrices in the inner level of the batch
    int64_t left_outer
    int64_t right_outer
    int64_t left_batch
    int64_t right_batch
    int64_t addend_batch
    int64_t out_batch

cdef struct Limited:
    # A product whose results are cut off.
    Tiling tiling
    double low, high

cdef struct Dot:
    aten_block block
    const aten_kernels* kernels
    int size
    int64_t chunk
    char* sums


def vector_bytes():
    """The width of the vectors in use."""
    return _vector_bytes


def set_vector_bytes(int count):
    """Use vectors of 16, 32 or 64 bytes. Raises ValueError where the processor has none."""
    global _vector_bytes
    if count not in (16, 32, 64) or count > aten_widest_vectors():
        raise ValueError(f"expected 16, 32 or 64 and at most {aten_widest_vectors()}, got {count}")
    _vector_bytes = count


cdef int vector_width() noexcept nogil:
    return _vector_bytes


cdef bint takes_tiles(const Product* product) noexcept nogil:
    cdef int code = product.out.code
    if code != FLOAT32 and code != FLOAT64:
        return False
    return product.columns == 1 or product.out.column_stride == 1


cdef void transpose(Product* product) noexcept nogil:
    cdef Block left = product.left
    product.left = product.right
    product.right = left
    product.rows, product.columns = product.columns, product.rows
    _swap_strides(&product.left)
    _swap_strides(&product.right)
    _swap_strides(&product.addend)
    _swap_strides(&product.out)


cdef inline void _swap_strides(Block* block) noexcept nogil:
    block.row_stride, block.column_stride = block.column_stride, block.row_stride


cdef void multiply_tiles(const Product* product) noexcept nogil:
    cdef Nesting nesting
    nesting.sizes[0] = product.batch
    nesting.sizes[1] = 1
    nesting.left[1] = nesting.right[1] = 0
    multiply_nested_tiles(product, &nesting)


cdef void multiply_vector_tiles(const Product* product) noexcept nogil:
    cdef Tiling tiling
    _choose_way(&tiling, product, True)
    _describe(&tiling, product)
    _multiply_vectors(&tiling)


cdef void multiply_nested_tiles(const Product* given, const Nesting* nesting) noexcept nogil:
    # What was just written is copied only where it is changed: a copy would wait for the writes.
    cdef Product changed
    cdef const Product* product = given
    cdef Tiling tiling
    cdef int64_t matrices, batch = nesting.sizes[0] * nesting.sizes[1]
    cdef bint turned = given.columns == 1 and _suits_as_row(given)
    if turned:
        changed = given[0]
        transpose(&changed)
        product = &changed
    _choose_way(&tiling, product, given.columns == 1)
    if (product.addend.data != NULL and product.addend.column_stride != 1
            and product.columns != 1 and not tiling.dots):
        changed = product[0]
        product = &changed
        transfer(&changed.addend, &changed.out, changed.batch, changed.rows, changed.columns)
        changed.addend = changed.out
    _describe(&tiling, product)
    tiling.inner = nesting.sizes[0]
    tiling.left_outer = nesting.right[1] if turned else nesting.left[1]
    tiling.right_outer = nesting.left[1] if turned else nesting.right[1]
    if batch * _work(&tiling.block) <= PIECE_WORK:
        _run_few(&tiling, nesting)
        return
    matrices = _cut(&tiling, batch)
    parallel_for(batch * tiling.down * tiling.across, matrices, _run_pieces, &tiling)


cdef int64_t strip_width(bint is_double, int64_t columns) noexcept nogil:
    return _width(aten_kernels_of(is_double, _vector_bytes).lanes, columns)


cdef void multiply_strips(const Product* product, int64_t width) noexcept nogil:
    multiply_strips_within(product, width, -INFINITY, INFINITY)


cdef void multiply_strips_within(const Product* product, int64_t width, double low,
                                 double high) noexcept nogil:
    cdef Limited limited
    cdef Tiling* tiling = &limited.tiling
    _describe_strips(tiling, product, width)
    limited.low, limited.high = low, high
    if _work(&tiling.block) <= PIECE_WORK:
        tiling.run(&tiling.block)
        _limit(&limited, 0, tiling.block.rows, 0, tiling.block.columns)
        return
    _cut_strips(tiling)
    parallel_for(tiling.down * tiling.across, 1, _run_limited, &limited)


cdef void _run_limited(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Pieces begin … end, one after the other, each while it is in a cache."""
    cdef const Limited* limited = <const Limited*>context
    cdef const Tiling* tiling = &limited.tiling
    cdef int64_t index, row, column
    for index in range(begin, end):
        _run_pieces(<void*>tiling, index, index + 1)
        row = index // tiling.across * tiling.rows
        column = index % tiling.across * tiling.columns
        _limit(limited, row, min(tiling.rows, tiling.block.rows - row), column,
               min(tiling.columns, tiling.block.columns - column))


cdef void _limit(const Limited* limited, int64_t row, int64_t rows, int64_t column,
                 int64_t columns) noexcept nogil:
    """Results of some rows and columns, whose columns are neighbours."""
    cdef const Tiling* tiling = &limited.tiling
    cdef int64_t place
    cdef char* out
    if limited.low == -INFINITY and limited.high == INFINITY:
        return
    for place in range(row, row + rows):
        out = <char*>tiling.block.out + (place * tiling.block.out_row + column) * tiling.size
        if tiling.size == 8:
            _limit_run(<double*>out, columns, limited.low, limited.high)
        else:
            _limit_run(<float*>out, columns, <float>limited.low, <float>limited.high)


cdef inline void _limit_run(Real* out, int64_t count, Real low, Real high) noexcept nogil:
    cdef int64_t place
    cdef Real value
    for place in range(count):
        value = out[place]
        value = low if value < low else value
        out[place] = high if value > high else value


cdef void multiply_strips_here(const Product* product, int64_t width) noexcept nogil:
    cdef Tiling tiling
    _describe_strips(&tiling, product, width)
    tiling.run(&tiling.block)


cdef void turn_floats(const float* source, int64_t source_row, int64_t rows, int64_t columns,
                      float* target, int64_t target_row) noexcept nogil:
    aten_kernels_of(False, _vector_bytes).turn(source, source_row, rows, columns, target,
                                               target_row)


cdef void _describe_strips(Tiling* tiling, const Product* product, int64_t width) noexcept nogil:
    cdef aten_block* block = &tiling.block
    cdef bint is_double = product.out.code == FLOAT64
    tiling.kernels = aten_kernels_of(is_double, _vector_bytes)
    tiling.size = 8 if is_double else 4
    tiling.dots = False
    tiling.run = tiling.kernels.multiply_strips
    tiling.inner = 1
    tiling.left_outer = tiling.right_outer = 0
    _describe(tiling, product)
    block.width = block.right_step = width
    block.right_column = product.depth
    block.steps = ATEN_STRETCH
    block.pack = False
    block.fetch = product.rows >= 2 * tiling.kernels.rows


cdef void _cut_strips(Tiling* tiling) noexcept nogil:
    """Choose pieces of whole strips, as many as threads share well, and of rows only where there are
    many, or few strips, or where threads share whole strips badly."""
    cdef const aten_block* block = &tiling.block
    cdef int64_t strips = (block.columns + block.width - 1) // block.width
    cdef int64_t pieces = max(1, min(PIECES_PER_THREAD * thread_count(),
                                     _work(block) // PIECE_WORK))
    cdef int64_t near = min(<int64_t>STRIP_ROWS, STRIP_NEAR // (block.depth * tiling.size))
    cdef int64_t most = max(<int64_t>LEAST_STRIP_ROWS, near)
    cdef int64_t down = max(<int64_t>1, (block.rows + most // 2) // most)
    cdef int64_t each = _even_strips(strips, down, pieces)
    cdef int64_t across = (strips + each - 1) // each
    cdef int64_t finer = max(<int64_t>1, min(2 * down, block.rows // FEW_ROWS))
    if down * across < pieces and block.rows >= 2 * FEW_ROWS:
        down = min((pieces + across - 1) // across, block.rows // FEW_ROWS)
    elif (EVEN + 1) * _longest(strips, 1, finer) * down < EVEN * _longest(
            strips, each, down) * finer:
        down, each = finer, 1
    tiling.rows = _even_share(block.rows, (block.rows + down - 1) // down, 8, &tiling.down)
    tiling.columns = each * block.width
    tiling.across = (strips + each - 1) // each


cdef inline int64_t _longest(int64_t strips, int64_t each, int64_t down) noexcept nogil:
    """Strips, of as many rows as `down` parts have, of the thread that has most of them."""
    cdef int64_t threads = thread_count()
    return ((strips + each - 1) // each * down + threads - 1) // threads * each


cdef int64_t _even_strips(int64_t strips, int64_t down, int64_t pieces) noexcept nogil:
    """Strips of a piece: as many as leave enough pieces, or fewer, where threads share these better."""
    cdef int64_t most = min(<int64_t>STRIPS_TOGETHER, strips)
    cdef int64_t found = min(most, max(<int64_t>1, strips * down // pieces))
    cdef int64_t each
    for each in range(found - 1, 0, -1):
        if _longest(strips, each, down) < _longest(strips, found, down):
            found = each
    return found


cdef inline bint _steps_by_one(int64_t stride, int64_t count) noexcept nogil:
    return stride == 1 or count == 1


cdef bint _suits_as_row(const Product* product) noexcept nogil:
    """Whether a column of results is better seen as a row: by dots, or as rows of the matrix."""
    if (_steps_by_one(product.left.column_stride, product.depth)
            and _steps_by_one(product.right.row_stride, product.depth)):
        return True
    return (_steps_by_one(product.left.row_stride, product.rows)
            and _steps_by_one(product.out.row_stride, product.rows))


cdef void _choose_way(Tiling* tiling, const Product* product, bint of_vector) noexcept nogil:
    """Dots with a vector, or tiles with the right operand packed or where it lies."""
    cdef aten_block* block = &tiling.block
    cdef int64_t depth = product.depth, columns = product.columns
    cdef int64_t bytes, lanes
    cdef bint by_rows = _steps_by_one(product.right.column_stride, columns)
    cdef bint by_depth = (_steps_by_one(product.left.column_stride, depth)
                          and _steps_by_one(product.right.row_stride, depth))
    tiling.kernels = aten_kernels_of(product.out.code == FLOAT64, _vector_bytes)
    tiling.size = 8 if product.out.code == FLOAT64 else 4
    lanes = tiling.kernels.lanes
    bytes = depth * columns * tiling.size
    tiling.dots = by_depth and (of_vector or (not by_rows and depth >= DOTTED))
    tiling.run = tiling.kernels.dots if tiling.dots else tiling.kernels.multiply
    block.steps = ATEN_STRETCH
    block.pack = not by_rows or (product.rows > FEW_ROWS and bytes > NEAR and (
        product.rows >= MANY_ROWS or product.right.row_stride * tiling.size > CLOSE))
    block.fetch = block.pack and product.rows >= FETCHING_ROWS
    if product.rows <= FEW_ROWS and bytes > NEAR and not block.pack:
        block.steps = STREAM if product.rows > 1 else ATEN_STREAMS
    block.width = 1
    if tiling.dots:
        return
    # Small products are over in the time of some divisions.
    block.width = lanes if columns <= lanes else _width(lanes, columns)


cdef inline int64_t _width(int64_t lanes, int64_t columns) noexcept nogil:
    """The width of a strip, in whole vectors: strips are as wide as a tile or a little less, and alike."""
    cdef int64_t vectors = (columns + lanes - 1) // lanes
    cdef int64_t strips = (vectors + VECTORS - 1) // VECTORS
    return (vectors + strips - 1) // strips * lanes


cdef void _describe(Tiling* tiling, const Product* product) noexcept nogil:
    cdef aten_block* block = &tiling.block
    block.rows = product.rows
    block.columns = product.columns
    block.depth = product.depth
    block.left = product.left.data
    block.right = product.right.data
    block.addend = product.addend.data
    block.out = product.out.data
    block.left_row = product.left.row_stride
    block.left_step = product.left.column_stride
    block.right_step = product.right.row_stride
    block.right_column = product.right.column_stride
    if not tiling.dots and product.columns == 1:
        block.right_column = 1
    block.addend_row = product.addend.row_stride
    block.addend_column = product.addend.column_stride
    block.out_row = product.out.row_stride
    block.out_column = product.out.column_stride
    block.alpha = product.alpha.real
    block.beta = product.beta.real
    tiling.left_batch = product.left.batch_stride
    tiling.right_batch = product.right.batch_stride
    tiling.addend_batch = product.addend.batch_stride
    tiling.out_batch = product.out.batch_stride


cdef inline int64_t _work(const aten_block* block) noexcept nogil:
    """What a product costs, in multiplications."""
    return OVERHEAD + (block.rows + READING) * block.columns * block.depth


cdef int64_t _cut(Tiling* tiling, int64_t batch) noexcept nogil:
    """Choose the pieces, and return how many are worth a thread's claim."""
    cdef aten_block* block = &tiling.block
    cdef int64_t work = _work(block)
    cdef int64_t threads = thread_count()
    cdef int64_t pieces, rows = block.rows, columns = block.columns
    tiling.rows = rows
    tiling.columns = columns
    tiling.down = tiling.across = 1
    if work < 2 * PIECE_WORK:
        return max(1, PIECE_WORK // work)
    # Each piece copies and packs its operands anew: more of them would even out little more.
    pieces = threads
    if not block.fetch:
        pieces = max((1 if block.rows <= FEW_ROWS else 2) * threads,
                     min(PIECES_PER_THREAD * threads, rows * columns // (PIECE_SIDE * PIECE_SIDE)))
    pieces = min((pieces + batch - 1) // batch, work // PIECE_WORK)
    # Nearly square, so that little is read for much that is computed.
    while tiling.down * tiling.across < pieces:
        if rows > 2 * FEW_ROWS and rows * tiling.across >= columns * tiling.down:
            tiling.down *= 2
        elif columns // tiling.across >= 2 * block.width:
            tiling.across *= 2
        else:
            break
    tiling.down = even_parts(max(tiling.down, (rows + PIECE_SIDE - 1) // PIECE_SIDE),
                             tiling.across * batch, rows // FEW_ROWS)
    tiling.rows = _even_share(rows, (rows + tiling.down - 1) // tiling.down, 8, &tiling.down)
    tiling.columns = _even_share(columns, (columns + tiling.across - 1) // tiling.across,
                                 max(block.width, 16), &tiling.across)
    return 1


cdef int64_t _even_share(int64_t total, int64_t wanted, int64_t unit,
                         int64_t* parts) noexcept nogil:
    """The size of parts of about `wanted` that differ little, a multiple; and their number."""
    cdef int64_t share
    parts[0] = (total + wanted - 1) // wanted
    share = (total + parts[0] - 1) // parts[0]
    share = (share + unit - 1) // unit * unit
    parts[0] = (total + share - 1) // share
    return share


cdef void _run_few(Tiling* tiling, const Nesting* nesting) noexcept nogil:
    """Products that are not worth a piece each, one after the other."""
    cdef const aten_block* whole = &tiling.block
    cdef aten_block block
    cdef int64_t outer, inner, place = 0
    if nesting.sizes[0] == 1 and nesting.sizes[1] == 1:
        tiling.run(whole)
        return
    block = whole[0]
    for outer in range(nesting.sizes[1]):
        for inner in range(nesting.sizes[0]):
            block.left = <char*>whole.left + (outer * tiling.left_outer
                                              + inner * tiling.left_batch) * tiling.size
            block.right = <char*>whole.right + (outer * tiling.right_outer
                                                + inner * tiling.right_batch) * tiling.size
            block.out = <char*>whole.out + place * tiling.out_batch * tiling.size
            if whole.addend != NULL:
                block.addend = <char*>whole.addend + place * tiling.addend_batch * tiling.size
            tiling.run(&block)
            place += 1


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Tiling* tiling = <Tiling*>context
    cdef const aten_block* whole = &tiling.block
    cdef aten_block block = whole[0]
    cdef int64_t index, place, outer, inner, row, column
    for index in range(begin, end):
        place = index // (tiling.down * tiling.across)
        outer = place // tiling.inner
        inner = place - outer * tiling.inner
        row = index // tiling.across % tiling.down * tiling.rows
        column = index % tiling.across * tiling.columns
        block.rows = min(tiling.rows, whole.rows - row)
        block.columns = min(tiling.columns, whole.columns - column)
        block.left = <char*>whole.left + (outer * tiling.left_outer
                                          + inner * tiling.left_batch
                                          + row * whole.left_row) * tiling.size
        block.right = <char*>whole.right + (outer * tiling.right_outer
                                            + inner * tiling.right_batch
                                            + column * whole.right_column) * tiling.size
        block.out = <char*>whole.out + (place * tiling.out_batch + row * whole.out_row
                                        + column * whole.out_column) * tiling.size
        if whole.addend != NULL:
            block.addend = <char*>whole.addend + (
                place * tiling.addend_batch + row * whole.addend_row
                + column * whole.addend_column) * tiling.size
        tiling.run(&block)


cdef void _multiply_vectors(Tiling* tiling) noexcept nogil:
    """One sum of products, in chunks that its length alone decides."""
    cdef Dot dot
    cdef double sums[DOT_CHUNKS]
    cdef int64_t depth = tiling.block.depth, chunks
    dot.block = tiling.block
    dot.kernels = tiling.kernels
    dot.size = tiling.size
    dot.chunk = max(<int64_t>DOT_CHUNK, (depth + DOT_CHUNKS - 1) // DOT_CHUNKS)
    chunks = (depth + dot.chunk - 1) // dot.chunk
    if chunks <= 1:
        tiling.kernels.dot(&tiling.block)
        return
    dot.sums = <char*>sums
    dot.block.addend = NULL
    dot.block.alpha = 1
    parallel_for(chunks, 1, _run_dot, &dot)
    _add_sums(tiling, &dot, chunks)


cdef void _run_dot(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Dot* dot = <Dot*>context
    cdef aten_block block = dot.block
    cdef int64_t index, first
    for index in range(begin, end):
        first = index * dot.chunk
        block.depth = min(dot.chunk, dot.block.depth - first)
        block.left = <char*>dot.block.left + first * dot.size
        block.right = <char*>dot.block.right + first * dot.size
        block.out = dot.sums + index * dot.size
        dot.kernels.dot(&block)


cdef void _add_sums(const Tiling* tiling, const Dot* dot, int64_t chunks) noexcept nogil:
    cdef const aten_block* block = &tiling.block
    cdef double total = 0
    cdef int64_t index
    for index in range(chunks):
        total += (<double*>dot.sums)[index] if dot.size == 8 else (<float*>dot.sums)[index]
    total *= block.alpha
    if dot.size == 8:
        if block.addend != NULL:
            total += block.beta * (<const double*>block.addend)[0]
        (<double*>block.out)[0] = total
        return
    if block.addend != NULL:
        total += block.beta * (<const float*>block.addend)[0]
    (<float*>block.out)[0] = <float>total
