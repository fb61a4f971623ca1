"""Kernels that are Python functions."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from aten._core.dispatch.dispatcher cimport Kernel, OpOverload

cdef class PythonKernel(Kernel):            # calls a Python function with the schema's arguments
    cdef readonly object function
    cdef readonly bint with_keyset          # the function wants the DispatchKeySet first
    cdef readonly bint with_op              # the function wants the OpOverload before the arguments
    cdef object parameters                  # what the function can be called with, once looked up
    cdef object fits                        # the operator whose arguments are all parameters of it
    cdef readonly int device_type           # of the one backend it is registered for, or -1
    cdef bint is_registered

    cdef object call_fitted(self, OpOverload op, uint64_t keys, PyObject** stack)
    cdef object checked(self, OpOverload op, PyObject** stack, object result)
    cdef int serve(self, int device_type) except -1
