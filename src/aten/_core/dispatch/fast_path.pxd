"""Kernels that compute ordinary calls at once, and leave all others to another kernel."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from aten._core.dispatch.dispatcher cimport Kernel

cdef class FastPath(Kernel):
    cdef readonly str native
    cdef readonly Kernel otherwise
    cdef readonly tuple replaced    # names of operators that `otherwise` calls, and this does not
    cdef object find                # gives the operator of a name
    cdef bint replaces
    # What was found last: whether it stands, for these keys, unless a registration has changed.
    cdef bint found
    cdef uint64_t found_keys
    cdef uint64_t found_epoch

    # The result, or None where `otherwise` has to look at the call.
    cdef object ordinary(self, PyObject** stack)

    # Whether the operators, called with these keys, are served as the package made them.
    cdef bint stands(self, uint64_t keys) except -1
    cdef bint look(self, uint64_t keys) except -1

# Puts the arguments of a call, all of them, onto a stack of `count`; False for other counts, and where
# one of the first `required` is no tensor or one of the `optional` after them neither that nor None.
# For programs that are loaded with all that they call, without the operators.
cdef bint read_arguments(tuple arguments, PyObject** stack, Py_ssize_t count, Py_ssize_t required,
                         Py_ssize_t optional) noexcept
