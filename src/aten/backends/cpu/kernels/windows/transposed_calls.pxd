"""The ordinary call of a transposed convolution."""

from cpython.object cimport PyObject

# The result for a stack of `aten::convolution`; None where it is none for the kernels.
cdef object convolved_transposed(PyObject** stack)
