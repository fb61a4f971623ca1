"""Copies, conversions and reorderings in their ordinary cases."""

from aten._core.dispatcher cimport Kernel, OpOverload

cdef class CopyKernel(Kernel):
    cdef Kernel otherwise

cdef class ReorderKernel(Kernel):
    cdef OpOverload copy
    cdef Kernel otherwise

cdef class ConvertKernel(Kernel):
    cdef OpOverload convert
    cdef Kernel otherwise
    cdef int dtype_position         # stack positions of the arguments
    cdef int copy_position

cdef class ConvertedCopyKernel(Kernel):
    cdef OpOverload write
    cdef Kernel otherwise
