# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""What a point of a kernel takes, as measured, and from when on threads are worth it.

A number of points says little: an addition takes a tenth of a nanosecond, `lgamma` forty times as
long. So the first runs of a kernel on one thread are timed, and the fastest counts: whatever else
the machine does can only add to it.
"""

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <time.h>
    static inline int64_t aten_clock(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
    }
    """
    int64_t aten_clock() noexcept nogil

cdef enum:
    SAMPLES = 8
    # What one thread does as soon as two would: waking another takes a few thousand.
    ALONE_NANOSECONDS = 12000
    CHUNK_NANOSECONDS = 4000


cdef bint is_known(const Cost* cost) noexcept nogil:
    return cost.samples >= SAMPLES


cdef int64_t clock() noexcept nogil:
    """Nanoseconds since some moment."""
    return aten_clock()


cdef void observe(Cost* cost, int64_t points, int64_t begun) noexcept nogil:
    """Take in a run of `points` that began at `begun` and ends now."""
    cdef double each = <double>(aten_clock() - begun) / <double>points
    if cost.samples == 0 or each < cost.nanoseconds:
        cost.nanoseconds = each
    cost.samples += 1


cdef int64_t grain(const Cost* cost, int64_t points) noexcept nogil:
    if cost.nanoseconds * points < ALONE_NANOSECONDS:
        return points
    return <int64_t>(CHUNK_NANOSECONDS / cost.nanoseconds) + 1
