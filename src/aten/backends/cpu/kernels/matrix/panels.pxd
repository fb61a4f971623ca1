"""Matrix products of half types, integers and complex numbers by kernels of our own."""

from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Product
from aten.backends.cpu.kernels.matrix.panel_strips cimport (
    aten_panel_columns_function, aten_panel_packs, aten_panel_tiles,
)

# Whether `multiply_panels` computes this product, whose operands each step by one in one direction.
cdef bint takes_panels(const Product* product) noexcept nogil
cdef void multiply_panels(const Product* product) noexcept nogil

# For kernels that are made of such products. The width of the vectors in use, in bytes; tiles of a
# kind of units, NULL where the processor has none; and packs. What multiplies so many rows with columns
# as they lie, NULL where packing these is faster.
cdef int panel_bytes() noexcept nogil
cdef const aten_panel_tiles* panel_tiles(int kind) noexcept nogil
cdef const aten_panel_packs* panel_packs(int pack) noexcept nogil
cdef aten_panel_columns_function panel_columns(int kind, int pack, int64_t rows) noexcept nogil
