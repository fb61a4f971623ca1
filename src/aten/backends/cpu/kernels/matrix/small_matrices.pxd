"""What kernels of small matrices share."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

# Whether it is a tensor of real matrices or vectors in ordinary memory.
cdef bint is_ordinary(PyObject* given) noexcept
# Uninitialized matrices, as many as in `matrix`, each column after column.
cdef Tensor columns_like(TensorImpl matrix, int64_t rows, int64_t columns)
# Uninitialized: a row of numbers for each matrix, or, of -1, one number.
cdef Tensor numbers_like(TensorImpl matrix, int code, int64_t of_each)
# Where in memory a matrix of a batch begins, in elements.
cdef int64_t place_of(const int64_t* sizes, const int64_t* steps, int levels,
                      int64_t index) noexcept nogil
