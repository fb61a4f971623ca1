"""Tensors made over storages, for whoever computes them."""

from libc.stdint cimport int64_t

from aten._core.memory.storage cimport Storage
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef Tensor make_tensor(Storage storage, int dtype_code, int ndim, const int64_t* sizes,
                        const int64_t* strides, int64_t offset)
cdef Tensor make_alias(TensorImpl base)
cdef Tensor make_contiguous(int dtype_code, int ndim, const int64_t* sizes, int device_type,
                            int device_index)
cdef Tensor make_strided(int dtype_code, int ndim, const int64_t* sizes, const int64_t* strides,
                         int device_type, int device_index)
