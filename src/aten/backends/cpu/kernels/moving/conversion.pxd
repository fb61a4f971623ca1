from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

# A copy with the strides of `source`, which may be put off, where that is a copy of bytes and of this
# memory format; else None.
cdef Tensor byte_copy(TensorImpl source, int format_code)
