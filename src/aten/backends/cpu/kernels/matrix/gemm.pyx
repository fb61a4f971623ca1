# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Matrix products, batched, of strided operands.

float32 and float64 go to kernels of our own (`matrix_tiles`), half types, integers and complex
numbers to others (`panels`). Large products of float32 and float64 where vectors are of 16 bytes
only go to a BLAS library, on one thread; its functions are handed in from outside, so nothing here
depends on which library it is. Its products are cut into tiles that our own
threads claim. How they are cut depends on sizes alone, and so the bits of the result do not depend
on the number of threads. Operands go to the library as they are where a leading dimension describes
their strides, else they are packed first. A product of two vectors is one sum: half types are
widened for it, and complex numbers are added up in lanes.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport (BFLOAT16, COMPLEX128, COMPLEX64, FLOAT16, FLOAT32, FLOAT64,
                                     INT16, INT32, INT64, INT8, UINT8, item_size)
from aten._core.base.keys cimport local_state
from aten._core.memory.storage cimport Storage, allocate
from aten._core.tensor.memory cimport check_unchanged
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.matrix.libraries cimport enter_library, leave_library
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport (Nesting, Product, multiply_nested_tiles,
                                                            multiply_tiles,
                                                            multiply_vector_tiles, takes_tiles,
                                                            transpose)
from aten.backends.cpu.kernels.matrix.panels cimport multiply_panels, takes_panels
from aten.backends.cpu.kernels.moving.transfer cimport Block, transfer

cdef enum:
    # CBLAS constants.
    ROW_MAJOR = 101
    NO_TRANSPOSE = 111
    TRANSPOSE = 112

cdef enum:
    # Multiplications in a tile, at least, when a product is cut.
    TILE_WORK = 1 << 21
    # Rows and columns of a tile, and of a tile of big results, where the library packs relatively
    # less.
    TILE_SIDE = 256
    LARGE_TILE_SIDE = 512
    LARGE_RESULT = 1 << 20
    # Multiplications in one chunk of work for the threads, and from how many on other Python
    # threads may run meanwhile.
    GRAIN = 1 << 20
    RELEASE_THRESHOLD = 1 << 17
    # Partial sums in a product of two complex vectors, two for a number.
    LANES = 16

# order, transposition of left and right, rows, columns, depth, alpha, left and its leading
# dimension, right and its, beta, out and its.
ctypedef void (*SingleProduct)(int, int, int, int64_t, int64_t, int64_t, float, const void*,
                               int64_t, const void*, int64_t, float, void*,
                               int64_t) noexcept nogil
ctypedef void (*DoubleProduct)(int, int, int, int64_t, int64_t, int64_t, double, const void*,
                               int64_t, const void*, int64_t, double, void*,
                               int64_t) noexcept nogil
# order, transposition, rows and columns of the matrix, alpha, matrix and its leading dimension,
# vector and its step, beta, out and its step.
ctypedef void (*SingleVectorProduct)(int, int, int64_t, int64_t, float, const void*, int64_t,
                                     const void*, int64_t, float, void*, int64_t) noexcept nogil
ctypedef void (*DoubleVectorProduct)(int, int, int64_t, int64_t, double, const void*, int64_t,
                                     const void*, int64_t, double, void*, int64_t) noexcept nogil

cdef struct Library:
    SingleProduct sgemm
    DoubleProduct dgemm
    SingleVectorProduct sgemv
    DoubleVectorProduct dgemv

cdef Library _library
cdef bint _library_is_open = False
cdef object _opener = None

ctypedef fused Real:
    float
    double

ctypedef fused Integer:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef struct Tiles:
    # A product in the library's terms, cut into tiles of `rows` × `columns`.
    Product product
    int64_t rows
    int64_t columns
    int64_t down
    int64_t across
    int64_t leading_left
    int64_t leading_right
    int64_t leading_out
    int transposed_left
    int transposed_right


def set_library_opener(opener):
    """Has `opener()` called when a product first needs the library.

    It returns the addresses of cblas_{s,d}gemm and cblas_{s,d}gemv under these short names
    ("sgemm"); the integers they take are of 64 bits.
    """
    global _opener, _library_is_open
    _opener = opener
    _library_is_open = False


cdef int open_library() except -1:
    global _library_is_open
    if _library_is_open:
        return 0
    if _opener is None:
        raise RuntimeError("matrix products need a BLAS library, and none was named")
    addresses = _opener()
    _library.sgemm = <SingleProduct><size_t>addresses["sgemm"]
    _library.dgemm = <DoubleProduct><size_t>addresses["dgemm"]
    _library.sgemv = <SingleVectorProduct><size_t>addresses["sgemv"]
    _library.dgemv = <DoubleVectorProduct><size_t>addresses["dgemv"]
    _library_is_open = True
    return 0


cdef inline bint _is_integer(int code) noexcept nogil:
    return code == UINT8 or INT8 <= code <= INT64


cdef inline bint _is_half(int code) noexcept nogil:
    return code == FLOAT16 or code == BFLOAT16


cdef bint multiplies(int code) noexcept nogil:
    """Whether there are products of this element type."""
    return (_is_integer(code) or _is_half(code) or code == FLOAT32 or code == FLOAT64
            or code == COMPLEX64 or code == COMPLEX128)


cdef int multiply_vectors(Product* product) except -1:
    if product.beta == 0:
        product.addend.data = NULL
    if product.apart or not takes_tiles(product) or _steps_along_a_vector(product):
        return _multiply_prepared(product, False)
    if product.depth < RELEASE_THRESHOLD:
        multiply_vector_tiles(product)
        return 0
    with nogil:
        multiply_vector_tiles(product)
    return 0


cdef int multiply(Product* product) except -1:
    """Compute the product, all of it."""
    cdef bint brief
    if product.batch == 0 or product.rows == 0 or product.columns == 0:
        return 0
    if product.beta == 0:
        product.addend.data = NULL
    if product.apart or not takes_tiles(product) or _steps_along_a_vector(product):
        return _multiply_prepared(product, takes_panels(product))
    brief = product.batch * product.rows * product.columns * product.depth < RELEASE_THRESHOLD
    if brief:
        multiply_tiles(product)
        return 0
    with nogil:
        multiply_tiles(product)
    return 0


cdef int multiply_nested(Product* product, const Nesting* nesting) except -1:
    cdef int64_t index
    cdef char* left = product.left.data
    cdef char* right = product.right.data
    cdef char* out = product.out.data
    cdef int size = item_size(product.out.code)
    if takes_tiles(product) and not _steps_along_a_vector(product):
        if (nesting.sizes[0] * nesting.sizes[1] * product.rows * product.columns * product.depth
                < RELEASE_THRESHOLD):
            multiply_nested_tiles(product, nesting)
            return 0
        with nogil:
            multiply_nested_tiles(product, nesting)
        return 0
    for index in range(nesting.sizes[1]):
        product.left.data = left + index * nesting.left[1] * size
        product.right.data = right + index * nesting.right[1] * size
        product.out.data = out + index * nesting.sizes[0] * product.out.batch_stride * size
        multiply(product)
    return 0


cdef inline bint _steps_along_a_vector(const Product* product) noexcept nogil:
    """Whether the elements of a vector that is read for every result are no neighbours."""
    if product.columns == 1 and product.right.row_stride != 1:
        return product.depth > 1
    return product.rows == 1 and product.left.column_stride != 1 and product.depth > 1


cdef int _multiply_prepared(Product* given, bint by_panels) except -1:
    """Bring the operands into shapes that kernels or the library take, and share the work out."""
    cdef Product product = given[0]
    cdef int64_t changes = local_state().changes
    cdef list scratch = []
    cdef Tiles tiles
    cdef int code = given.out.code
    cdef int left_code = given.left.code
    cdef int compute = FLOAT32 if _is_half(code) and not by_panels else code
    cdef bint integers = _is_integer(code)
    cdef bint direct, by_library
    cdef int64_t work = product.batch * product.rows * product.columns * product.depth
    check_unchanged("matrix product", changes)
    direct = not given.apart and code == compute
    if direct and not by_panels and not _has_unit_rows(&product.out, product.rows, product.columns):
        transpose(&product)
        direct = _has_unit_rows(&product.out, product.rows, product.columns)
        if not direct:
            transpose(&product)
    if by_panels:
        compute = left_code
    _make_ready(&product.left, product.batch, product.rows, product.depth, compute, scratch)
    _make_ready(&product.right, product.batch, product.depth, product.columns, compute, scratch)
    if not direct:
        _reserve(&product.out, product.batch, product.rows, product.columns,
                 code if by_panels else compute, False, scratch)
    by_library = not integers and not by_panels and not takes_tiles(&product)
    if by_library:
        open_library()
        check_unchanged("matrix product", changes)
    _cut(&tiles, &product)
    if work < RELEASE_THRESHOLD:
        _run_all(&tiles, by_panels)
        if not direct:
            transfer(&tiles.product.out, &given.out, given.batch, given.rows, given.columns)
        return 0
    with nogil:
        _run_all(&tiles, by_panels)
        if not direct:
            transfer(&tiles.product.out, &given.out, given.batch, given.rows, given.columns)
    return 0


cdef void _run_all(Tiles* tiles, bint by_panels) noexcept nogil:
    cdef Product* product = &tiles.product
    cdef int64_t work = tiles.rows * tiles.columns * max(product.depth, 1)
    if by_panels:
        multiply_panels(product)
        return
    if takes_tiles(product):
        _run_as_tiles(product)
        return
    _place_addend(product)
    parallel_for(product.batch * tiles.down * tiles.across, max(1, GRAIN // work), _run_tiles,
                 tiles)


cdef void _run_as_tiles(Product* product) noexcept nogil:
    if product.addend.data != NULL and product.addend.code != product.out.code:
        _place_addend(product)
    multiply_tiles(product)


cdef void _place_addend(Product* product) noexcept nogil:
    """Copy the addend to where the library adds to."""
    if product.addend.data == NULL:
        product.beta = 0
        return
    if (product.addend.data == product.out.data
            and product.addend.row_stride == product.out.row_stride
            and product.addend.column_stride == product.out.column_stride):
        return
    transfer(&product.addend, &product.out, product.batch, product.rows, product.columns)
    product.addend = product.out


cdef void multiply_here(const Product* product) noexcept nogil:
    """Compute one product of prepared operands on this thread."""
    cdef Tiles tiles
    _leave_whole(&tiles, product)
    if takes_tiles(product):
        _run_as_tiles(&tiles.product)
        return
    if takes_panels(product):
        multiply_panels(product)
        return
    _place_addend(&tiles.product)
    _run_tile(&tiles, 0, 0, 0, product.rows, product.columns)


cdef inline void _swap_strides(Block* block) noexcept:
    block.row_stride, block.column_stride = block.column_stride, block.row_stride


cdef inline bint _has_unit_rows(const Block* block, int64_t rows, int64_t columns) noexcept nogil:
    """Whether elements of a row are neighbours, and rows do not overlap."""
    return ((block.column_stride == 1 or columns == 1)
            and (block.row_stride >= max(columns, 1) or rows == 1))


cdef int _make_ready(Block* block, int64_t batch, int64_t rows, int64_t columns, int compute,
                     list scratch) except -1:
    """Pack an operand unless its rows, or for the library its columns, are runs of memory."""
    cdef Block source = block[0]
    cdef bint by_columns
    if block.batch_stride == 0:
        batch = 1
    if block.code == compute:
        if _has_unit_rows(block, rows, columns):
            return 0
        _swap_strides(&source)
        if _has_unit_rows(&source, columns, rows):
            return 0
        _swap_strides(&source)
    by_columns = block.row_stride < block.column_stride
    _reserve(block, batch, rows, columns, compute, by_columns, scratch)
    if source.batch_stride == 0:
        block.batch_stride = 0
    transfer(&source, block, batch, rows, columns)
    return 0


cdef int _reserve(Block* block, int64_t batch, int64_t rows, int64_t columns, int code,
                  bint by_columns, list scratch) except -1:
    """Point `block` at fresh memory without gaps."""
    cdef Storage memory = allocate(batch * rows * columns * item_size(code), CPU, -1)
    scratch.append(memory)
    block.data = memory.data
    block.code = code
    block.batch_stride = rows * columns
    block.row_stride = 1 if by_columns else columns
    block.column_stride = rows if by_columns else 1
    return 0


cdef void _cut(Tiles* tiles, const Product* product) noexcept nogil:
    """Choose the tiles, by sizes alone."""
    cdef int64_t work = product.rows * product.columns * product.depth
    cdef int64_t side = TILE_SIDE, wide
    _leave_whole(tiles, product)
    if work < 2 * TILE_WORK:
        return
    if product.rows * product.columns >= LARGE_RESULT:
        side = LARGE_TILE_SIDE
    # A narrow side leaves more to the other one.
    wide = max(side, TILE_WORK // (min(side, product.rows) * product.depth))
    tiles.rows = max(side, TILE_WORK // (min(side, product.columns) * product.depth))
    tiles.rows = _even_share(product.rows, tiles.rows, &tiles.down)
    tiles.columns = _even_share(product.columns, wide, &tiles.across)


cdef void _leave_whole(Tiles* tiles, const Product* product) noexcept nogil:
    """One tile for each matrix of the batch, in the library's terms."""
    tiles.product = product[0]
    tiles.rows = product.rows
    tiles.columns = product.columns
    tiles.down = tiles.across = 1
    _describe(&product.left, product.rows, product.depth, &tiles.transposed_left,
              &tiles.leading_left)
    _describe(&product.right, product.depth, product.columns, &tiles.transposed_right,
              &tiles.leading_right)
    tiles.leading_out = (product.out.row_stride if product.rows > 1
                         else max(product.columns, 1))


cdef int64_t _even_share(int64_t total, int64_t wanted, int64_t* parts) noexcept nogil:
    """The size of parts of about `wanted` that differ little, a multiple of 16; and their number."""
    cdef int64_t share
    parts[0] = (total + wanted - 1) // wanted
    share = (total + parts[0] - 1) // parts[0]
    share = (share + 15) // 16 * 16
    parts[0] = (total + share - 1) // share
    return share


cdef void _describe(const Block* block, int64_t rows, int64_t columns, int* transposed,
                    int64_t* leading) noexcept nogil:
    if _has_unit_rows(block, rows, columns):
        transposed[0] = NO_TRANSPOSE
        leading[0] = block.row_stride if rows > 1 else max(columns, 1)
        return
    transposed[0] = TRANSPOSE
    leading[0] = block.column_stride if columns > 1 else max(rows, 1)


cdef void _run_tiles(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Tiles* tiles = <Tiles*>context
    cdef Product* product = &tiles.product
    cdef int64_t index, place, row, column
    for index in range(begin, end):
        place = index // (tiles.down * tiles.across)
        row = index // tiles.across % tiles.down * tiles.rows
        column = index % tiles.across * tiles.columns
        _run_tile(tiles, place, row, column, min(tiles.rows, product.rows - row),
                  min(tiles.columns, product.columns - column))


cdef inline char* _at(const Block* block, int64_t place, int64_t row,
                      int64_t column) noexcept nogil:
    return block.data + (place * block.batch_stride + row * block.row_stride
                         + column * block.column_stride) * item_size(block.code)


cdef void _run_tile(Tiles* tiles, int64_t place, int64_t row, int64_t column, int64_t rows,
                    int64_t columns) noexcept nogil:
    cdef Product* product = &tiles.product
    cdef char* left = _at(&product.left, place, row, 0)
    cdef char* right = _at(&product.right, place, 0, column)
    cdef char* out = _at(&product.out, place, row, column)
    cdef int64_t step = product.left.column_stride if product.depth > 1 else 1
    if _is_integer(product.out.code):
        _dot_of_integers(product)
        return
    if product.out.code == COMPLEX64:
        _dot_of_complex[float](product, 0)
        return
    if product.out.code == COMPLEX128:
        _dot_of_complex[double](product, 0)
        return
    enter_library()
    if columns == 1 and product.right.row_stride >= 1 and product.depth > 0:
        _vector_product(product, tiles.transposed_left, rows, product.depth, left,
                        tiles.leading_left, right,
                        product.right.row_stride if product.depth > 1 else 1, out,
                        tiles.leading_out)
    elif rows == 1 and step >= 1 and product.depth > 0:
        _vector_product(product, TRANSPOSE + NO_TRANSPOSE - tiles.transposed_right, columns,
                        product.depth, right, tiles.leading_right, left, step, out, 1)
    else:
        _matrix_product(tiles, rows, columns, left, right, out)
    leave_library()


cdef void _matrix_product(Tiles* tiles, int64_t rows, int64_t columns, char* left, char* right,
                          char* out) noexcept nogil:
    cdef Product* product = &tiles.product
    if product.out.code == FLOAT32:
        _library.sgemm(ROW_MAJOR, tiles.transposed_left, tiles.transposed_right, rows, columns,
                       product.depth, <float>product.alpha.real, left, tiles.leading_left, right,
                       tiles.leading_right, <float>product.beta.real, out, tiles.leading_out)
    else:
        _library.dgemm(ROW_MAJOR, tiles.transposed_left, tiles.transposed_right, rows, columns,
                       product.depth, product.alpha.real, left, tiles.leading_left, right,
                       tiles.leading_right, product.beta.real, out, tiles.leading_out)


cdef void _vector_product(Product* product, int transposed, int64_t length, int64_t depth,
                          char* matrix, int64_t leading, char* vector, int64_t step, char* out,
                          int64_t out_step) noexcept nogil:
    """One row or column of results: `length` of them, each summed over `depth`."""
    cdef int64_t rows = length if transposed == NO_TRANSPOSE else depth
    cdef int64_t columns = depth if transposed == NO_TRANSPOSE else length
    if product.beta == 0:
        # The library scales what is there; NaN times zero would stay.
        _clear(out, out_step, length, item_size(product.out.code))
    if product.out.code == FLOAT32:
        _library.sgemv(ROW_MAJOR, transposed, rows, columns, <float>product.alpha.real, matrix,
                       leading, vector, step, <float>product.beta.real, out, out_step)
    else:
        _library.dgemv(ROW_MAJOR, transposed, rows, columns, product.alpha.real, matrix, leading,
                       vector, step, product.beta.real, out, out_step)


cdef void _clear(char* out, int64_t step, int64_t length, int64_t size) noexcept nogil:
    cdef int64_t index
    for index in range(length):
        memset(out + index * step * size, 0, size)


cdef void _dot_of_integers(const Product* product) noexcept nogil:
    cdef int size = item_size(product.out.code)
    if size == 1:
        _dot[uint8_t](product, 0)
    elif size == 2:
        _dot[uint16_t](product, 0)
    elif size == 4:
        _dot[uint32_t](product, 0)
    else:
        _dot[uint64_t](product, 0)


cdef void _dot(const Product* product, Integer total) noexcept nogil:
    """One sum of products, from `total` on, which wraps around as unsigned numbers do."""
    cdef const Integer* left = <const Integer*>product.left.data
    cdef const Integer* right = <const Integer*>product.right.data
    cdef int64_t left_step = product.left.column_stride, right_step = product.right.row_stride
    cdef int64_t index
    if left_step == 1 and right_step == 1:
        for index in range(product.depth):
            total += left[index] * right[index]
    else:
        for index in range(product.depth):
            total += left[index * left_step] * right[index * right_step]
    (<Integer*>product.out.data)[0] = total


cdef void _dot_of_complex(const Product* product, Real total) noexcept nogil:
    """One sum of products of complex numbers: `total`, which is zero, and what `LANES` partial sums
    come to, which a vector unit may keep apart. Lanes of even numbers hold products of real parts
    and of real with imaginary ones, those of odd numbers the others."""
    cdef const Real* left = <const Real*>product.left.data
    cdef const Real* right = <const Real*>product.right.data
    cdef int64_t left_step = 2 * product.left.column_stride
    cdef int64_t right_step = 2 * product.right.row_stride
    cdef Real[LANES] straight
    cdef Real[LANES] crossed
    cdef Real* out = <Real*>product.out.data
    cdef int64_t whole = product.depth // (LANES // 2), done = 0, index, lane
    for lane in range(LANES):
        straight[lane] = crossed[lane] = total
    if left_step == 2 and right_step == 2:
        for index in range(whole):
            for lane in range(LANES):
                straight[lane] += left[lane] * right[lane]
            for lane in range(LANES):
                crossed[lane] += left[lane] * right[lane ^ 1]
            left += LANES
            right += LANES
        done = whole * (LANES // 2)
    for index in range(done, product.depth):
        lane = 2 * index % LANES
        straight[lane] += left[0] * right[0]
        straight[lane + 1] += left[1] * right[1]
        crossed[lane] += left[0] * right[1]
        crossed[lane + 1] += left[1] * right[0]
        left += left_step
        right += right_step
    out[0] = out[1] = total
    for lane in range(0, <int>LANES, 2):
        out[0] += straight[lane] - straight[lane + 1]
        out[1] += crossed[lane] + crossed[lane + 1]
