"""The ordinary call of a convolution."""

from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.windows.direct cimport aten_finish

# What a name of `fused::convolution_epilogue` and its numbers mean; False for what is none.
cdef bint read_activation(aten_finish* finish, activation, values) except -1

# Whether a tensor is row-major float32 of the CPU, and says so in its strides.
cdef bint is_plain(TensorImpl tensor) noexcept
