"""Strides of memory formats, and how far they reach."""

from libc.stdint cimport int64_t

cdef int contiguous_strides(int ndim, const int64_t* sizes, int64_t* strides) except -1
cdef int format_strides(int memory_format_code, int rank, const int64_t* sizes,
                        int64_t* strides) except -1
# Whether 4 or 5 dimensions have the strides of channels_last, those of one element aside.
cdef bint is_channels_last(int rank, const int64_t* sizes, const int64_t* strides) noexcept
cdef int64_t storage_extent(int ndim, const int64_t* sizes, const int64_t* strides) noexcept nogil
