"""Products with a matrix that lies in strips."""

from libc.stdint cimport int64_t

from aten._core.tensor.tensor_impl cimport TensorImpl

# Whether a tensor is a matrix of so many rows and columns in strips, of an element type and of the
# width that the processor's kernels have.
cdef bint are_strips(TensorImpl strips, int code, int64_t depth, int64_t columns) noexcept

# Whether it is row-major on the CPU, of that element type and rank.
cdef bint is_without_gaps(TensorImpl tensor, int code, int rank) noexcept
