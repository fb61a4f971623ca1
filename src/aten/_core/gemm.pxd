"""Matrix products, batched, of strided operands."""

from libc.stdint cimport int64_t

from aten._core.transfer cimport Block

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

cdef bint multiplies(int code) noexcept nogil       # whether there are products of this element type
cdef int multiply(Product* product) except -1

# One matrix after the other by the caller's own division of work: `open_library` first, then
# `multiply_here`, as often as needed and from any thread. Rows of the operands, or their columns,
# must be runs of memory, rows of the result too; integers take no columns. Half types do not go.
cdef int open_library() except -1
cdef void multiply_here(const Product* product) noexcept nogil
