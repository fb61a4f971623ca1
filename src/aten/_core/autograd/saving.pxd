"""What nodes keep for the way back."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from aten._core.autograd.node cimport Node
from aten._core.base.sizes cimport INLINE_DIMS
from aten._core.memory.storage cimport Storage, VersionCounter
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef class SavedTensor:
    cdef TensorImpl tensor
    cdef uint32_t version
    cdef bint is_result
    cdef Py_ssize_t output
    cdef object packed
    cdef object unpack
    cdef object edge            # where what was packed hangs in the graph, or None
    cdef TensorImpl given(self, Node owner)

cdef class SavedResult:
    # Of a result: what it shows, without a tensor that would have to be made and let go of.
    cdef Storage storage
    cdef VersionCounter versions
    cdef uint64_t keys
    cdef int64_t offset
    cdef int64_t sizes[INLINE_DIMS]
    cdef int64_t strides[INLINE_DIMS]
    cdef Py_ssize_t output
    cdef uint32_t version
    cdef signed char rank
    cdef signed char dtype_code
    cdef signed char device_index
    cdef TensorImpl given(self, Node owner)

cdef SavedTensor saved_operand(TensorImpl tensor)
cdef object saved_result(TensorImpl tensor, Py_ssize_t output)      # a SavedResult, or a SavedTensor
