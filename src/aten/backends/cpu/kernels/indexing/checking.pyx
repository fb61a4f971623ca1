# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Indices that are looked at before compiled programs compute addresses of them."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport INT32, INT64
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_dim
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.indexing.locating cimport OUTSIDE, range_of_index

cdef enum:
    # Arguments of `fused::checked_index`, by their places on the stack.
    INDEX = 0
    SELF = 1
    DIM = 2
    WRAPS = 3


cdef class CheckedIndexKernel(FastPath):
    """Gives an index that is all inside; others go to `otherwise`, which knows what to raise."""

    def __init__(self, Kernel otherwise not None):
        FastPath.__init__(self, "checked_index", (), None, otherwise)

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl index = <TensorImpl>stack[INDEX]
        cdef TensorImpl self_ = <TensorImpl>stack[SELF]
        cdef int dim
        cdef int64_t size
        if index.device_type != CPU or (index.dtype_code != INT64 and index.dtype_code != INT32):
            return None
        if self_.rank == 0 or not reads_dim(stack[DIM], self_, &dim):
            return None
        size = self_.sizes[dim]
        if range_of_index(index, -size if <object>stack[WRAPS] else 0, size) == OUTSIDE:
            return None
        return <Tensor>index
