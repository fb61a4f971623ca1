"""What a point of a kernel takes, as measured."""

from libc.stdint cimport int64_t

cdef enum:
    # Runs of fewer points are not measured: the clock would count for much.
    LEAST_MEASURED = 1024

cdef struct Cost:
    double nanoseconds      # of a point: the least that was measured
    int samples

cdef bint is_known(const Cost* cost) noexcept nogil
cdef int64_t clock() noexcept nogil
cdef void observe(Cost* cost, int64_t points, int64_t begun) noexcept nogil
# Points in a chunk for the threads; as many as there are where these are not worth sharing.
cdef int64_t grain(const Cost* cost, int64_t points) noexcept nogil
