"""Operators that put elements in order, compiled."""

from cpython.object cimport PyObject

# Each gives None for calls that its operator's function is to look at.
cdef object sort_ordinary(PyObject** stack)
cdef object topk_ordinary(PyObject** stack)
