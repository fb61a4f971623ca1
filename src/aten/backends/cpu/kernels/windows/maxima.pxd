"""The largest elements of pooling windows."""

from libc.stdint cimport int64_t

cdef void find_lines(void* context, int64_t begin, int64_t end) noexcept nogil
cdef void find_pixels(void* context, int64_t begin, int64_t end) noexcept nogil
