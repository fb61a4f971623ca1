"""Where elements are that indices name."""

from libc.stdint cimport int64_t

from aten._core.tensor.tensor_impl cimport TensorImpl

cdef enum:
    # What `range_of_index` finds.
    WITHIN = 0
    NEGATIVE = 1
    OUTSIDE = 2

cdef int require_memory(TensorImpl tensor) except -1
cdef int range_of_index(TensorImpl index, int64_t low, int64_t size) except -1
cdef int copy_of_indices(const char* given, bint narrow, int64_t first, int64_t count, int64_t low,
                         int64_t size, int64_t* copy) noexcept nogil
