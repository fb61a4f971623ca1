# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Strides: of memory formats, without gaps, and how far they reach. All are counted in elements."""

from libc.stdint cimport int64_t

from aten._core.base.device cimport (CHANNELS_LAST, CHANNELS_LAST_3D, CONTIGUOUS_FORMAT,
                                     PRESERVE_FORMAT)
from aten._core.base.sizes cimport MAXIMUM_DIMS, int_tuple

cdef extern from *:
    bint __builtin_mul_overflow(int64_t, int64_t, int64_t*) noexcept nogil
    bint __builtin_add_overflow(int64_t, int64_t, int64_t*) noexcept nogil


cdef int contiguous_strides(int ndim, const int64_t* sizes, int64_t* strides) except -1:
    """Row-major strides of `sizes`. Raises RuntimeError when they overflow 64 bits."""
    cdef int64_t stride = 1
    cdef int dim
    for dim in range(ndim - 1, -1, -1):
        strides[dim] = stride
        if sizes[dim] > 1 and __builtin_mul_overflow(stride, sizes[dim], &stride):
            raise RuntimeError(f"Stride calculation overflowed for sizes "
                               f"{list(int_tuple(ndim, sizes))}")
    return 0


cdef int format_strides(int memory_format_code, int rank, const int64_t* sizes,
                        int64_t* strides) except -1:
    """Strides of `sizes` in a memory format. Raises RuntimeError where the rank does not fit."""
    cdef int64_t stride = 1
    cdef int position, dim
    cdef int wanted = {CHANNELS_LAST: 4, CHANNELS_LAST_3D: 5}.get(memory_format_code, rank)
    if memory_format_code == CONTIGUOUS_FORMAT or memory_format_code == PRESERVE_FORMAT:
        return contiguous_strides(rank, sizes, strides)
    if rank != wanted:
        raise RuntimeError(f"required rank {wanted} tensor to use channels_last format, got "
                           f"rank {rank}")
    for position in range(rank):
        dim = _channels_last_dim(position, rank)
        strides[dim] = stride
        stride *= sizes[dim]
    return 0


cdef inline int _channels_last_dim(int position, int rank) noexcept:
    """The dimension at `position`, innermost first: channels, the spatial ones, the batch."""
    if position == 0:
        return 1
    return 0 if position == rank - 1 else rank - position


cdef bint is_channels_last(int rank, const int64_t* sizes, const int64_t* strides) noexcept:
    cdef int64_t expected = 1
    cdef int position, dim
    for position in range(rank):
        dim = _channels_last_dim(position, rank)
        if sizes[dim] == 1:
            continue
        if strides[dim] != expected:
            return False
        expected *= sizes[dim]
    return True


cdef int dense_strides(int rank, const int64_t* sizes, const int64_t* strides,
                       int64_t* dense) noexcept:
    """Strides without gaps in the order of `strides`; these themselves where they have no gaps.

    Algorithm: a stable insertion sort of the dimensions by stride from the last to the first, in
    which a stride of 0 compares with nothing, as torch's `empty_like` orders them.
    """
    cdef int order[MAXIMUM_DIMS]
    cdef int position, moved, place, before, after
    cdef int64_t stride = 1
    if is_dense(rank, sizes, strides):
        for position in range(rank):
            dense[position] = strides[position]
        return 0
    for position in range(rank):
        order[position] = rank - 1 - position
    for position in range(1, rank):
        moved = position
        for place in range(position - 1, -1, -1):
            before, after = order[place], order[moved]
            if strides[before] == 0 or strides[after] == 0:
                continue
            if strides[before] < strides[after]:
                break
            if strides[before] > strides[after] or sizes[before] > sizes[after]:
                order[place], order[moved] = after, before
                moved = place
    for position in range(rank):
        dense[order[position]] = stride
        stride *= max(sizes[order[position]], 1)
    return 0


cdef int64_t storage_extent(int ndim, const int64_t* sizes, const int64_t* strides) noexcept nogil:
    """Elements from the first to the last one addressed, inclusive; 0 if empty, -1 on overflow."""
    cdef int64_t extent = 1, reach
    cdef int dim
    for dim in range(ndim):
        if sizes[dim] == 0:
            return 0
    for dim in range(ndim):
        if __builtin_mul_overflow(sizes[dim] - 1, strides[dim], &reach):
            return -1
        if __builtin_add_overflow(extent, reach, &extent):
            return -1
    return extent
