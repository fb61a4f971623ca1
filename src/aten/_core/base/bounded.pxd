"""Indices in memory that others may write to while it is read.

Whoever checks an index and then uses it reads it once: a compiler may look at ordinary memory again.
"""

from libc.stdint cimport int32_t, int64_t

cdef extern from *:
    """
    #include <stdint.h>

    static inline int64_t aten_read_once_64(const void* place) {
        return __atomic_load_n((const int64_t*)place, __ATOMIC_RELAXED);
    }

    static inline int64_t aten_read_once_32(const void* place) {
        return __atomic_load_n((const int32_t*)place, __ATOMIC_RELAXED);
    }

    static inline int64_t aten_within(int64_t index, int64_t size) {
        /* A choice, not a jump: those of a loop around it are foreseen the worse for jumps inside. */
        return __builtin_expect_with_probability((uint64_t)index < (uint64_t)size, 1, 0.5) ? index : 0;
    }

    /* Without a jump: signs may come in any order. */
    static inline int64_t aten_from_the_end(int64_t index, int64_t size) {
        return index + (size & (index >> 63));
    }
    """
    int64_t wide_index "aten_read_once_64"(const void* place) noexcept nogil
    int64_t narrow_index "aten_read_once_32"(const void* place) noexcept nogil
    # The index itself; if it is negative, counted from the end.
    int64_t from_the_end "aten_from_the_end"(int64_t index, int64_t size) noexcept nogil
    # The index itself if it is in [0, size), else 0.
    int64_t within "aten_within"(int64_t index, int64_t size) noexcept nogil
