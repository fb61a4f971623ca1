"""Elements as unsigned keys in their order; rows of keys sorted and selected by digits."""

from libc.stdint cimport int64_t, uint64_t

from aten.backends.cpu.kernels.ordering.ranking cimport Pair

cdef struct KeyOrder:
    int width               # bytes of an element
    int kind                # unsigned, signed or floating
    uint64_t infinity       # the bits of infinity: magnitudes above it are NaNs
    uint64_t greatest       # the greatest key
    uint64_t inverted       # what keys are combined with by exclusive or: all bits, if descending

cdef int describe_keys(KeyOrder* order, int code, bint descending) noexcept nogil
cdef void load_keys(const KeyOrder* order, const char* data, int64_t step, int64_t count,
                    uint64_t* keys, int64_t spacing) noexcept nogil
cdef int sort_positions(uint64_t* keys, int64_t count, uint64_t* positions) noexcept nogil
cdef void store_keys(const KeyOrder* order, const uint64_t* keys, const uint64_t* positions,
                     int64_t count, const char* source, int64_t source_step, char* out,
                     int64_t step) noexcept nogil
cdef uint64_t key_of_rank(const uint64_t* keys, uint64_t* scratch, int64_t count,
                          int64_t rank) noexcept nogil
