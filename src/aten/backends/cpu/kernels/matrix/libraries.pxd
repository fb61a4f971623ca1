"""Calls of C libraries that have locks of their own, which a fork waits for."""

cdef void enter_library() noexcept nogil
cdef void leave_library() noexcept nogil
