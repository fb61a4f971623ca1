"""A piece of a product in units, which one thread multiplies."""

from aten.backends.cpu.kernels.matrix.panel_operands cimport Piece

# Results of a piece; where memory is short, bit by bit.
cdef void multiply_piece(Piece* piece) noexcept nogil
