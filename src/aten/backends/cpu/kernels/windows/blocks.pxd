"""Transposed convolutions whose windows are as large as their steps."""

from aten.backends.cpu.kernels.windows.columns cimport Convolution

# Whether each position of the operand has a block of the result for itself, and nothing is left over.
cdef bint has_blocks(const Convolution* work) noexcept
# In float32 and float64. False without memory.
cdef bint convolve_blocks(const Convolution* work) noexcept nogil
