"""TensorIterator: one walk over several tensors."""

from libc.stdint cimport int64_t

from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef enum:
    MAXIMUM_OPERANDS = 16

# data: one address per operand; sizes and byte strides of the two innermost dimensions; what
# concerns reduced dimensions, if the kernel has any.
ctypedef void (*KernelFunction)(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                                const int64_t* s1, const int64_t* reduced) noexcept nogil

cdef struct Walk:
    int operands
    int rank
    int64_t total                                       # points visited
    int64_t sizes[MAXIMUM_DIMS]                         # innermost first
    int64_t strides[MAXIMUM_DIMS][MAXIMUM_OPERANDS]     # bytes
    char* data[MAXIMUM_OPERANDS]
    const int64_t* reduced
    KernelFunction kernel

cdef int broadcast_into(int rank, int64_t* sizes, TensorImpl operand) except -1
cdef void begin_walk(Walk* walk, int rank, const int64_t* sizes) noexcept nogil
# `add_operand` for what is written, `add_input` for what is only read. Those written come first,
# or `data_pointer` was called for them: see there.
cdef int add_operand(Walk* walk, TensorImpl operand, int rank, const int64_t* sizes) except -1
cdef void add_input(Walk* walk, TensorImpl operand, int rank, const int64_t* sizes) noexcept
cdef void add_scalar(Walk* walk, void* address) noexcept nogil
cdef void reorder(Walk* walk, int* permutation) noexcept nogil
cdef void coalesce(Walk* walk) noexcept nogil
# Lets rows of very few points change places with what goes through many of them.
cdef void lengthen_rows(Walk* walk) noexcept nogil
cdef void run_walk(Walk* walk, int64_t grain) noexcept nogil
