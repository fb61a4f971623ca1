"""Blocks between two pages that cannot be touched."""

from libc.stdint cimport int64_t

# All under the interpreter lock. The tag that `guarded_block` writes says how the block lies and
# what it was filled with, is never a capacity of an ordinary block, and goes back with the block.
# NULL: the system has no more.
cdef char* guarded_block(int64_t nbytes, bint at_start, int fill, int64_t* tag) noexcept
cdef void release_guarded(char* block, int64_t tag) noexcept
cdef bint is_guarded(int64_t tag) noexcept nogil
cdef int64_t guarded_bytes(int64_t tag) noexcept nogil
