"""Operators that take slices at indices, compiled."""

from cpython.object cimport PyObject

# Each gives None for calls that its operator's function is to look at.
cdef object index_ordinary(PyObject** stack)
cdef object index_select_ordinary(PyObject** stack)
cdef object embedding_ordinary(PyObject** stack)
