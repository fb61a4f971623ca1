"""Matrix products of float32 and float64 by kernels of our own."""

from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.moving.transfer cimport Block

cdef struct Product:
    # out = beta · addend + alpha · left @ right, for each matrix of the batch. All element types
    # are equal. Without addend, `addend.data` is NULL.
    int64_t batch
    int64_t rows
    int64_t columns
    int64_t depth
    Block left
    Block right
    Block addend
    Block out
    double complex alpha
    double complex beta
    bint apart              # `out` may lie over an operand: it is written last

cdef struct Nesting:
    # Batches in two levels, the inner one first. Results lie one after the other.
    int levels
    int64_t[2] sizes
    int64_t[2] left
    int64_t[2] right

# The width of the vectors in use, in bytes.
cdef int vector_width() noexcept nogil

# Whether `multiply_tiles` computes this product: its types, and the strides of its result.
cdef bint takes_tiles(const Product* product) noexcept nogil
cdef void multiply_tiles(const Product* product) noexcept nogil
# The same for two vectors that step by one: a single sum, in parts.
cdef void multiply_vector_tiles(const Product* product) noexcept nogil
# The inner level is the product's own batch.
cdef void multiply_nested_tiles(const Product* product, const Nesting* nesting) noexcept nogil

# The same for a right operand in strips of `width` columns: one strip after the other, each with all
# of the depth, step by step. The last one is as wide as the others. `strip_width` is what fits.
cdef void multiply_strips(const Product* product, int64_t width) noexcept nogil
# The same with results between limits, which are infinite where there are none; NaN stays.
cdef void multiply_strips_within(const Product* product, int64_t width, double low,
                                 double high) noexcept nogil
# On this thread alone.
cdef void multiply_strips_here(const Product* product, int64_t width) noexcept nogil
# Rows of a small matrix become the columns of another one.
cdef void turn_floats(const float* source, int64_t source_row, int64_t rows, int64_t columns,
                      float* target, int64_t target_row) noexcept nogil
cdef int64_t strip_width(bint is_double, int64_t columns) noexcept nogil

# The same product seen from the other side: out.T = right.T @ left.T.
cdef void transpose(Product* product) noexcept nogil
