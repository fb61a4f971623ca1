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
