"""Kernels that compute ordinary calls at once, and leave all others to another kernel."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from aten._core.dispatcher cimport Kernel

cdef class CompiledFirst(Kernel):
    cdef readonly str native
    cdef readonly Kernel otherwise

    # The result, or None where `otherwise` has to look at the call.
    cdef object ordinary(self, PyObject** stack)

cdef class StandIn(CompiledFirst):
    cdef tuple operators            # those the composite calls
    cdef list compiled              # their kernels, owned, so that no other takes one's address

    # Whether calls of the operators, for tensors of these keys, end in compiled kernels.
    cdef bint stands(self, uint64_t keys) except -1
    cdef bint finds_compiled(self, Py_ssize_t place, uint64_t keys) except -1
