"""Kernels of the matrix products."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Product
from aten.backends.cpu.kernels.moving.transfer cimport Block

cdef class ProductKernel(Kernel):
    cdef readonly str form
    cdef readonly bint executes
    cdef int code                   # which product; a constant of products.pyx
    cdef int first                  # stack position of the left operand
    cdef int out_position           # -1: a fresh result
    cdef bint inplace

    cdef int result_code(self, TensorImpl left) noexcept
    cdef object multiplied(self, Product* product, TensorImpl out)
    cdef int multiplied_first(self, OpOverload op, Product* product, TensorImpl out, int rank,
                              const int64_t* sizes, TensorImpl left) except -1

# Tensors as a product's blocks.
cdef void read_operand(Block* block, TensorImpl tensor, bint as_row, bint batched) noexcept
cdef int read_result(Block* block, TensorImpl tensor, bint batched) except -1
# A layer: rows, of which the product has `left` and `rows`, times those of a weight, plus a bias or
# nothing, as rows without gaps.
cdef int apply_weight(Product* product, TensorImpl weight, TensorImpl bias,
                      TensorImpl out) except -1
