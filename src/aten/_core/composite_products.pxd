"""Kernels of products that are made of other products."""

from cpython.object cimport PyObject

from aten._core.dispatcher cimport Kernel, OpOverload

cdef class MatmulKernel(Kernel):
    cdef OpOverload matrices
    cdef OpOverload matrix_vector
    cdef OpOverload vectors
    cdef OpOverload batches
    cdef Kernel otherwise

cdef class LinearKernel(Kernel):
    cdef OpOverload matrices
    cdef OpOverload added_matrices
    cdef Kernel otherwise
