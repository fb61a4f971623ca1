"""What a pointwise kernel runs on: tensors and numbers, with their types and common shape."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.moving.iterator cimport Walk

cdef enum:
    # Derivatives of derivatives have all operands of what they are derived from, and gradients.
    MAXIMUM_INPUTS = 12

cdef enum:
    # How the innermost loop steps through an operand.
    UNIT = 0
    ZERO = 1
    ANY = 2
    STREAM = 3          # as UNIT, written past the caches

cdef enum:
    # Results from this size on are in no cache when they are read next. An ordinary store reads
    # the line first and pushes out others; measured, that is a quarter of the time of `x + y` on
    # 64 MB, and nothing on 16 MB.
    LEAST_STREAMED_BYTES = 1 << 24
    STREAM_ALIGNMENT = 64

cdef struct Operands:
    int rank                                    # of the broadcast shape
    int device_type                             # of the tensors; -1: there are none
    int compute_code
    int codes[MAXIMUM_INPUTS]
    PyObject* tensors[MAXIMUM_INPUTS]           # NULL for numbers
    int64_t scalars[MAXIMUM_INPUTS][2]          # the bytes of numbers
    int64_t sizes[MAXIMUM_DIMS]
    int64_t changes                             # of tensors, by this thread, as they were read

cdef int read_number(str label, PyObject* value, int64_t* into) except -1
cdef int promotion_code(int code) noexcept nogil
cdef int check_device(Operands* operands, TensorImpl tensor) except -1
cdef int broadcast_operands(Operands* operands, int count) except -1
# With `separate`, the result shares no memory with an operand.
cdef void find_accesses(Walk* walk, Operands* operands, int count, int out_code, bint separate,
                        int* accesses) noexcept
