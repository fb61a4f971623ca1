"""The ordinary call of a convolution."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.memory.storage cimport Storage
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.windows.direct cimport aten_finish, aten_windows

cdef enum:
    SPATIAL = 3
    # Places in the window for which there is room without a request for memory.
    MOST_TAPS = 128
    # Arguments of `fused::convolution_epilogue`, by their places on the stack.
    INPUT = 0
    WEIGHT = 1
    BIAS = 2
    RESIDUAL = 3
    STRIDE = 4
    PADDING = 5
    DILATION = 6
    GROUPS = 7
    ACTIVATION = 8
    VALUES = 9
    ARGUMENTS = 10

cdef struct Call:
    aten_windows windows
    aten_finish finish
    int64_t places[SPATIAL * MOST_TAPS]
    int64_t steps[3][2 * SPATIAL]   # stride, padding on both sides, dilation
    int64_t sizes[SPATIAL + 2]      # of the result

# Reads the activation and what is said of `rank` dimensions from a stack of these arguments; False
# where these are not for the kernels. This may run the code of others.
cdef bint read_numbers(Call* call, PyObject** stack, int rank) except -1

# Whether an input of such sizes, a weight and these numbers go together; then they are described.
cdef bint fits(Call* call, int dims, const int64_t* sizes, TensorImpl weight,
               int64_t groups) noexcept

# Whether a bias is one for the result, or none is given.
cdef bint is_bias(const Call* call, PyObject* given) noexcept

# The storage of a tensor, or None for none.
cdef Storage storage_of(PyObject* value)

# What a name of `fused::convolution_epilogue` and its numbers mean; False for what is none.
cdef bint read_activation(aten_finish* finish, activation, values) except -1

# Whether a tensor is row-major float32 of the CPU, and says so in its strides.
cdef bint is_plain(TensorImpl tensor) noexcept
