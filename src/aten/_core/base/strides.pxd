"""Strides: of memory formats, without gaps, and how far they reach."""

from libc.stdint cimport int64_t

cdef int contiguous_strides(int ndim, const int64_t* sizes, int64_t* strides) except -1
cdef int format_strides(int memory_format_code, int rank, const int64_t* sizes,
                        int64_t* strides) except -1
# Whether 4 or 5 dimensions have the strides of channels_last, those of one element aside.
cdef bint is_channels_last(int rank, const int64_t* sizes, const int64_t* strides) noexcept
cdef int dense_strides(int rank, const int64_t* sizes, const int64_t* strides,
                       int64_t* dense) noexcept
cdef int64_t storage_extent(int ndim, const int64_t* sizes, const int64_t* strides) noexcept nogil


cdef inline bint is_row_major(int rank, const int64_t* sizes, const int64_t* strides) noexcept:
    """Whether strides are the row-major ones, those of dimensions of one element included.

    Where these do not matter, and for tensors without elements, there is `TensorImpl.contiguous`.
    """
    cdef int64_t expected = 1
    cdef int dim
    for dim in range(rank - 1, -1, -1):
        if strides[dim] != expected:
            return False
        expected *= sizes[dim]
    return True


cdef inline bint is_dense(int rank, const int64_t* sizes, const int64_t* strides) noexcept:
    """Whether elements fill their memory without gaps or overlap, dimensions in any order.

    Strides of dimensions of at most one element address nothing, and are not looked at.
    """
    cdef int64_t expected = 1
    cdef int dim, found
    cdef int wanted = 0
    for dim in range(rank):
        wanted += sizes[dim] > 1
    for found in range(wanted):
        for dim in range(rank):
            if sizes[dim] > 1 and strides[dim] == expected:
                expected *= sizes[dim]
                break
        else:
            return False
    return True
