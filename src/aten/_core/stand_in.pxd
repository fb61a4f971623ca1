"""Kernels that compute a composite's ordinary case at once."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from aten._core.dispatcher cimport Kernel, OpOverload

cdef class StandIn(Kernel):
    cdef readonly str native
    cdef readonly Kernel otherwise
    cdef tuple operators            # those the composite calls
    cdef list compiled              # their kernels, owned, so that no other takes one's address

    # The result, or None where the composite has to look at the call.
    cdef object ordinary(self, PyObject** stack)
    # Whether calls of the operators, for tensors of these keys, end in compiled kernels.
    cdef bint stands(self, uint64_t keys) except -1
    cdef bint finds_compiled(self, Py_ssize_t place, uint64_t keys) except -1
