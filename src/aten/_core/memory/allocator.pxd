"""The caching allocator of host memory."""

from libc.stdint cimport int64_t

# All under the interpreter lock. A block holds `capacity` bytes, at least what was asked for, and
# goes back with that number. NULL: the system has no more.
cdef char* take_block(int64_t nbytes, int64_t* capacity) noexcept
cdef void give_block(char* block, int64_t capacity) noexcept

# Has every block reported that is taken (positive bytes) or given back (negative); NULL: none is.
ctypedef void (*Observer)(int64_t change) noexcept
cdef void set_observer(Observer observer) noexcept
