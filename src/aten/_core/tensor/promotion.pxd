"""The common type of several operands, tensors and numbers, by torch's three ranks."""

from aten._core.tensor.tensor_impl cimport TensorImpl

cdef struct Promotion:
    # The common type within each rank; -1 where no operand has that rank.
    int dimensioned         # tensors with dimensions
    int zero_dimensional    # 0-d tensors
    int number              # Python numbers

cdef void begin_promotion(Promotion* state) noexcept nogil
cdef int promote_tensor(Promotion* state, TensorImpl tensor) except -1
cdef int promote_number(Promotion* state, int code) except -1
cdef int promoted(Promotion* state) except -2
