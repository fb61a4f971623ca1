"""Operators that pick elements by index, compiled."""

from cpython.object cimport PyObject

# Gives None for calls that its operator's function is to look at.
cdef object gather_ordinary(PyObject** stack)
cdef object scatter_ordinary(PyObject** stack)
cdef object scatter_add_ordinary(PyObject** stack)
cdef object scatter_reduce_ordinary(PyObject** stack)
