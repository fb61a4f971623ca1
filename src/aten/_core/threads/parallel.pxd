"""The thread pool: work in chunks, claimed as threads come free."""

from libc.stdint cimport int64_t

ctypedef void (*Task)(void* context, int64_t begin, int64_t end) noexcept nogil

# Runs `task` over [0, total) in chunks of at least `grain`; returns when all of it is done. Chunks
# of more than 4096 begin at multiples of 1024.
cdef void parallel_for(int64_t total, int64_t grain, Task task, void* context) noexcept nogil
cdef int thread_count() noexcept nogil


cdef inline int64_t even_parts(int64_t parts, int64_t each, int64_t most) noexcept nogil:
    """`parts` of `each` pieces, or some more, `most` of them, so that all threads have as many.

    Where there are more than a few for every thread, one more or less is no matter.
    """
    cdef int64_t threads = thread_count(), more
    if parts * each > 4 * threads:
        return parts
    for more in range(parts, min(most, parts + threads - 1) + 1):
        if more * each % threads == 0:
            return more
    return parts
