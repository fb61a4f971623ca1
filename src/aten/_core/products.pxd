"""Kernels of the matrix products."""

from cpython.object cimport PyObject

from aten._core.dispatcher cimport Kernel, OpOverload

cdef class ProductKernel(Kernel):
    cdef readonly str form
    cdef readonly bint executes
    cdef int code                   # which product; a constant of products.pyx
    cdef int first                  # stack position of the left operand
    cdef int out_position           # -1: a fresh result
    cdef bint inplace

cdef class MatmulKernel(Kernel):
    cdef OpOverload matrices
    cdef OpOverload matrix_vector
    cdef OpOverload vectors
    cdef Kernel otherwise
