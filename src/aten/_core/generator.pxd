"""Generators of random numbers."""

from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    WORDS = 624

cdef struct Engine:
    # The Mersenne Twister's words; `left` of them are to be handed out, from `next` on.
    uint32_t words[WORDS]
    int left
    int next
    # A normal number that came along with the last one.
    bint has_spare
    double spare

cdef class Generator:
    cdef Engine engine
    cdef uint64_t first_seed
    cdef object lock            # of whoever draws
    cdef object __weakref__
