"""TensorImpl, what a tensor is, and Tensor, the handle users hold and subclass."""

from libc.stdint cimport int64_t, uint64_t

from aten._core.storage cimport Storage

cdef enum:
    INLINE_DIMS = 5

cdef class TensorImpl:
    cdef Storage storage
    cdef uint64_t keys
    cdef int64_t offset                     # in elements from the start of the storage
    cdef int64_t numel
    cdef int64_t* sizes                     # `ndim` sizes, then `ndim` strides, in elements
    cdef int64_t* strides
    cdef int64_t inline_geometry[10]        # 2 * INLINE_DIMS; deeper tensors hold theirs on the heap
    cdef int ndim
    cdef signed char dtype_code
    cdef signed char device_type
    cdef signed char device_index
    cdef bint contiguous                    # row-major without gaps, kept up to date
    cdef bint wrapped_number                # a Python number made a 0-d tensor: weakest in promotion
    cdef object __weakref__
    cdef dict __dict__

cdef class Tensor(TensorImpl):
    pass

cdef char* data_pointer(TensorImpl tensor) noexcept nogil
cdef Tensor make_tensor(Storage storage, int dtype_code, int ndim, const int64_t* sizes,
                        const int64_t* strides, int64_t offset)
cdef Tensor make_contiguous(int dtype_code, int ndim, const int64_t* sizes, int device_type, int device_index)
cdef bint is_tensor(object value) noexcept
