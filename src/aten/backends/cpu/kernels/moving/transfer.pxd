"""Blocks of elements copied between strided places, converted between half types and float32."""

from libc.stdint cimport int64_t

cdef struct Block:
    # A batch of matrices: the address of its first element and the steps to others, in elements.
    char* data
    int code                # element type
    int64_t batch_stride
    int64_t row_stride
    int64_t column_stride

# Element types must be equal, or one of them float32 and the other a half type.
cdef void transfer(const Block* source, const Block* target, int64_t batch, int64_t rows,
                   int64_t columns) noexcept nogil
cdef void transfer_run(const char* source, int source_code, int64_t source_step, char* target,
                       int target_code, int64_t target_step, int64_t count) noexcept nogil
