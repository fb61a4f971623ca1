"""Factories: fresh tensors, empty or filled with one value."""

from libc.stdint cimport int64_t

from aten._core.dispatcher cimport Kernel
from aten._core.tensor cimport Tensor, TensorImpl

cdef class FactoryKernel(Kernel):
    cdef readonly str native
    cdef readonly str place
    cdef void* function

cdef int dense_strides(int rank, const int64_t* sizes, const int64_t* strides,
                       int64_t* dense) noexcept
cdef Tensor empty_as(TensorImpl source, int code, int device_type, int device_index,
                     int format_code)
