"""Factories: fresh tensors, empty or filled with one value."""

from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef class FactoryKernel(Kernel):
    cdef readonly str native
    cdef readonly str place
    cdef void* function

cdef Tensor empty_as(TensorImpl source, int code, int device_type, int device_index,
                     int format_code)
