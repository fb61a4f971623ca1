"""Rows of (key, position) pairs, arranged by their keys as torch's kernels arrange them."""

from libc.stdint cimport int64_t, uint64_t

cdef struct Pair:
    uint64_t key
    uint64_t position

cdef void sort_pairs(Pair* first, int64_t count, int64_t rank) noexcept nogil
cdef void sort_least(Pair* first, int64_t count, int64_t rank) noexcept nogil
cdef void select_least(Pair* first, int64_t count, int64_t rank) noexcept nogil
cdef void select_rank(Pair* first, int64_t count, int64_t rank) noexcept nogil
cdef void begin_least(Pair* first, const uint64_t* keys, int64_t rank) noexcept nogil
cdef void take_lesser(Pair* first, int64_t rank, const uint64_t* keys, int64_t count,
                      int64_t position) noexcept nogil
cdef void end_least(Pair* first, int64_t rank) noexcept nogil
