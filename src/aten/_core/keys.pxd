"""DispatchKeySet bits, their order, and the thread's include and exclude sets."""

from libc.stdint cimport uint64_t

cdef struct LocalState:
    uint64_t included
    uint64_t excluded
    int tracing         # depth of active dispatch traces; nonzero sends every call the slow, printed way

cdef LocalState* local_state() noexcept nogil

# Sets are 64 bits: backend components in the low bits, functionalities above, highest bit first.
cdef uint64_t backend_bit(int device_type) noexcept nogil      # component bit of a device type
cdef uint64_t dense_keys(int device_type) noexcept nogil       # Dense + Autograd functionality + backend
cdef int row_index(uint64_t keys) noexcept nogil               # the table slot of the highest key; 0 = Undefined
cdef int row_length() noexcept nogil

cdef class DispatchKeySet:
    cdef uint64_t bits
