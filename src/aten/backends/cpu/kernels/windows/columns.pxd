"""Convolutions as matrix products of columns."""

from libc.stdint cimport int64_t

from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.moving.transfer cimport Block
from aten.backends.cpu.kernels.windows.direct cimport aten_finish
from aten.backends.cpu.kernels.windows.images cimport Image, Window

cdef enum:
    # Multiplications in one chunk of work for the threads, and from how many on other Python
    # threads may run meanwhile.
    GRAIN = 1 << 19
    RELEASE_THRESHOLD = 1 << 17

cdef struct Convolution:
    Image input             # for a transposed convolution, the result
    Image out               # for a transposed convolution, the operand
    char* weight            # row-major: for each of the `out` channels, its row of the columns
    Block bias              # a column, one number for each channel of the result; or no data
    int compute             # element type of weights and products
    int64_t batch
    int64_t groups
    int64_t inputs          # channels in a group, of `input` and of `out`
    int64_t outputs
    int64_t window          # elements in the kernel
    int64_t positions       # of `out`
    Window shape
    int64_t piece           # positions, or channels of the result if transposed, in one piece
    int64_t pieces          # in one group of one image
    const aten_finish* finish   # or nothing
    bint failed             # memory was not to be had


cdef inline int64_t row_of(int64_t count) noexcept nogil:
    """Elements from row to row of so many: of many an odd number of cache lines, so that rows do not
    keep each other out."""
    return count if count < 256 else ((count + 15) // 16 | 1) * 16


cdef inline int64_t stretch_of(int64_t products) noexcept nogil:
    """Products summed in a row by a transposed convolution: columns that are added up are as near. Of
    many it takes more, to be faster."""
    return 128 if products >= 128 else 32


cdef int gather_all(Convolution* work) except -1
# A transposed convolution: `work.input` is written, `work.out` read.
cdef int spread_all(Convolution* work, TensorImpl out, list scratch) except -1
