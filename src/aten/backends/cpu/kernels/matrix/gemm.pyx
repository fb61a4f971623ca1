# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Matrix products, batched, of strided operands.

float32 and float64 go to kernels of our own (`matrix_tiles`), half types, integers and complex
numbers to others (`panels`). Operands are packed first unless their rows or their columns are runs
of memory. A product of two vectors is one sum: half types are widened for it, and complex numbers
are added up in lanes.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport (BFLOAT16, COMPLEX128, COMPLEX64, FLOAT16, FLOAT32, FLOAT64,
                                     INT16, INT32, INT64, INT8, UINT8, item_size)
from aten._core.base.keys cimport local_state
from aten._core.memory.storage cimport Storage, allocate
from aten._core.tensor.memory cimport check_unchanged
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport (Nesting, Product, multiply_nested_tiles,
                                                            multiply_tiles,
                                                            multiply_vector_tiles, takes_tiles,
                                                            transpose)
from aten.backends.cpu.kernels.matrix.panel_strips cimport ATEN_BRAIN_PAIRS, aten_panel_tiles
from aten.backends.cpu.kernels.matrix.panels cimport multiply_panels, panel_tiles, takes_panels
from aten.backends.cpu.kernels.moving.transfer cimport Block, transfer

cdef enum:
    # Multiplications from which on other Python threads may run meanwhile.
    RELEASE_THRESHOLD = 1 << 17
    # Partial sums in a product of two complex vectors, two for a number.
    LANES = 16

ctypedef fused Real:
    float
    double

ctypedef fused Integer:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef inline bint _is_integer(int code) noexcept nogil:
    return code == UINT8 or INT8 <= code <= INT64


cdef inline bint _is_half(int code) noexcept nogil:
    return code == FLOAT16 or code == BFLOAT16


cdef bint multiplies(int code) noexcept nogil:
    """Whether there are products of this element type."""
    return (_is_integer(code) or _is_half(code) or code == FLOAT32 or code == FLOAT64
            or code == COMPLEX64 or code == COMPLEX128)


cdef bint has_tile_registers() noexcept nogil:
    cdef const aten_panel_tiles* tiles = panel_tiles(ATEN_BRAIN_PAIRS)
    return tiles != NULL and tiles.strip != NULL


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
    """Bring the operands into shapes that kernels take, and run them."""
    cdef Product product = given[0]
    cdef int64_t changes = local_state().changes
    cdef list scratch = []
    cdef int code = given.out.code
    cdef int left_code = given.left.code
    cdef int compute = FLOAT32 if _is_half(code) and not by_panels else code
    cdef bint direct
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
    if work < RELEASE_THRESHOLD:
        _run(&product, by_panels)
        if not direct:
            transfer(&product.out, &given.out, given.batch, given.rows, given.columns)
        return 0
    with nogil:
        _run(&product, by_panels)
        if not direct:
            transfer(&product.out, &given.out, given.batch, given.rows, given.columns)
    return 0


cdef void _run(Product* product, bint by_panels) noexcept nogil:
    if by_panels:
        multiply_panels(product)
    elif _is_integer(product.out.code):
        _dot_of_integers(product)
    elif product.out.code == COMPLEX64:
        _dot_of_complex[float](product, 0)
    elif product.out.code == COMPLEX128:
        _dot_of_complex[double](product, 0)
    else:
        _run_as_tiles(product)


cdef void _run_as_tiles(Product* product) noexcept nogil:
    if product.addend.data != NULL and product.addend.code != product.out.code:
        _place_addend(product)
    multiply_tiles(product)


cdef void _place_addend(Product* product) noexcept nogil:
    """Copy the addend to where results will be, in their type."""
    if (product.addend.data == product.out.data
            and product.addend.row_stride == product.out.row_stride
            and product.addend.column_stride == product.out.column_stride):
        return
    transfer(&product.addend, &product.out, product.batch, product.rows, product.columns)
    product.addend = product.out


cdef void multiply_here(const Product* product) noexcept nogil:
    """Compute one product of prepared operands on this thread."""
    cdef Product own = product[0]
    if takes_tiles(product):
        _run_as_tiles(&own)
    else:
        multiply_panels(product)


cdef inline void _swap_strides(Block* block) noexcept:
    block.row_stride, block.column_stride = block.column_stride, block.row_stride


cdef inline bint _has_unit_rows(const Block* block, int64_t rows, int64_t columns) noexcept nogil:
    """Whether elements of a row are neighbours, and rows do not overlap."""
    return ((block.column_stride == 1 or columns == 1)
            and (block.row_stride >= max(columns, 1) or rows == 1))


cdef int _make_ready(Block* block, int64_t batch, int64_t rows, int64_t columns, int compute,
                     list scratch) except -1:
    """Pack an operand unless its rows, or its columns, are runs of memory."""
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
