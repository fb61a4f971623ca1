"""Kernels of the matrix products."""

from cpython.object cimport PyObject

from aten._core.dispatcher cimport Kernel, OpOverload
from aten._core.tensor cimport TensorImpl
from aten._core.transfer cimport Block

cdef class ProductKernel(Kernel):
    cdef readonly str form
    cdef readonly bint executes
    cdef int code                   # which product; a constant of products.pyx
    cdef int first                  # stack position of the left operand
    cdef int out_position           # -1: a fresh result
    cdef bint inplace

# Tensors as a product's blocks.
cdef void read_operand(Block* block, TensorImpl tensor, bint as_row, bint batched) noexcept
cdef int read_result(Block* block, TensorImpl tensor, bint batched) except -1
