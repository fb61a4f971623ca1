"""Elements where a mask is true."""

from cpython.object cimport PyObject

from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef Tensor compressed(TensorImpl source, TensorImpl mask)

# Each gives None for calls that its operator's function is to look at.
cdef object nonzero_ordinary(PyObject** stack)
cdef object masked_select_ordinary(PyObject** stack)
