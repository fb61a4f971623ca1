"""The thread pool: work in chunks, claimed as threads come free."""

from libc.stdint cimport int64_t

ctypedef void (*Task)(void* context, int64_t begin, int64_t end) noexcept nogil

# Runs `task` over [0, total) in chunks of at least `grain`; returns when all of it is done. Chunks
# of more than 4096 begin at multiples of 1024.
cdef void parallel_for(int64_t total, int64_t grain, Task task, void* context) noexcept nogil
cdef int thread_count() noexcept nogil
