"""Matrix products, batched, of strided operands."""

from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Nesting, Product

cdef bint multiplies(int code) noexcept nogil       # whether there are products of this element type
# Whether those of bfloat16 may use tile registers, which this process has then asked for.
cdef bint has_tile_registers() noexcept nogil
cdef int multiply(Product* product) except -1
# The same for two vectors: one sum, which may be taken in parts.
cdef int multiply_vectors(Product* product) except -1
# The same over two levels of batches, the inner one being the product's own. There is no addend.
cdef int multiply_nested(Product* product, const Nesting* nesting) except -1

# One matrix after the other by the caller's own division of work, from any thread. Rows of the
# operands, or their columns, must be runs of memory, rows of the result too. Half types do not go.
cdef void multiply_here(const Product* product) noexcept nogil
