"""Matrix products of half types, integers and complex numbers by kernels of our own."""

from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Product

# Whether `multiply_panels` computes this product, whose operands each step by one in one direction.
cdef bint takes_panels(const Product* product) noexcept nogil
cdef void multiply_panels(const Product* product) noexcept nogil
