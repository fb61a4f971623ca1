"""Operators by name, of which a call's arguments choose the overload."""

from cpython.object cimport PyObject

from aten._core.dispatch.dispatcher cimport OpOverload

cdef class OpOverloadPacket:
    cdef void* vectorcall
    cdef readonly str namespace
    cdef readonly str name
    cdef object resolver                    # makes the candidates on first use
    cdef tuple candidates                   # OpOverloads in resolution order
    cdef tuple of_methods                   # those without out= arguments
    cdef OpOverload binary                  # the candidate for two tensors with all else default
    cdef tuple binary_defaults              # its arguments after the two
    cdef int binary_state                   # 0: not looked at yet; 1: `binary` is set; -1: there is none
    cdef OpOverload of_number               # the same for a tensor and a Python number
    cdef tuple number_defaults
    cdef int number_state
    # The keywords of the last call that had some, and the first candidate of these that may take them.
    cdef tuple keywords
    cdef tuple of_keywords
    cdef Py_ssize_t first_of_keywords
    cdef object __weakref__
    cdef dict __dict__

    cdef Py_ssize_t first_with(self, tuple candidates, PyObject* kwnames) except -1
    cdef object as_method(self)
    cdef int resolve(self) except -1        # fills `candidates`; once
    # `named` is what the caller called, the packet or its descriptor: errors say it.
    cdef object call_arguments(self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                               object named)
    cdef object call_one_of(self, tuple candidates, PyObject* const* args, Py_ssize_t nargs,
                            PyObject* kwnames, object named)

cdef class MethodDescriptor:
    cdef void* vectorcall
    cdef readonly OpOverloadPacket packet

# The way in for number slots and other compiled callers: two positional operands, all else default.
cdef object call_binary(OpOverloadPacket packet, object left, object right)
