# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Indices that are looked at before compiled programs compute addresses of them."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport INT32, INT64
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath, read_arguments
from aten._core.tensor.given cimport reads_dim
from aten._core.tensor.making cimport make_alias
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.indexing.locating cimport OUTSIDE, range_of_index

cdef enum:
    # Arguments of `fused::checked_index`, by their places on the stack.
    INDEX = 0
    SELF = 1
    DIM = 2
    WRAPS = 3
    ARGUMENTS = 5


cdef class CheckedIndexKernel(FastPath):
    """Gives an index that is all inside; others go to `otherwise`, which knows what to raise."""

    def __init__(self, Kernel otherwise not None):
        FastPath.__init__(self, "checked_index", (), None, otherwise)

    cdef object ordinary(self, PyObject** stack):
        return _checked(stack)


def checked(*arguments):
    """What `fused::checked_index` gives for these arguments, all of them in its order.

    None where an index is outside, or it is no call for this kernel: the operator knows what to
    raise. This is for programs that are loaded with all that they call, without the operator.
    """
    cdef PyObject* given[ARGUMENTS]
    return _checked(given) if read_arguments(arguments, given, ARGUMENTS, DIM, 0) else None


cdef object _checked(PyObject** stack):
    cdef TensorImpl index = <TensorImpl>stack[INDEX]
    cdef TensorImpl table = <TensorImpl>stack[SELF]
    cdef int dim
    cdef int64_t size
    if index.device_type != CPU or (index.dtype_code != INT64 and index.dtype_code != INT32):
        return None
    if table.rank == 0 or not reads_dim(stack[DIM], table, &dim):
        return None
    size = table.sizes[dim]
    # Other threads may run while indices are looked at, and change what is read then.
    if range_of_index(make_alias(index), -size if <object>stack[WRAPS] else 0, size) == OUTSIDE:
        return None
    return <Tensor>index
