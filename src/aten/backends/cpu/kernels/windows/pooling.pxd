"""Pooling: what the loops of all kinds share."""

from libc.stdint cimport int64_t

cdef enum:
    SPATIAL = 3

cdef struct Pool:
    int code
    char* data
    char* out
    int64_t* indices                # NULL: not wanted
    int64_t channels
    int64_t batch_stride            # in elements
    int64_t channel_stride
    int64_t sizes[SPATIAL]          # of the input
    int64_t strides[SPATIAL]
    int64_t results[SPATIAL]        # sizes of the result
    int64_t steps[SPATIAL]          # between the elements of a window
    int64_t* begins[SPATIAL]
    int64_t* ends[SPATIAL]
    int64_t* extents[SPATIAL]
    int64_t divisor                 # 0: the product of the extents
    bint apart                      # each plane has windows of its own, one after the other
    bint present[SPATIAL]           # whether the image has the dimension
    bint inside                     # averages leave padding out


cdef inline void locate(const Pool* pool, int64_t line, int64_t* offset, int64_t* z,
                        int64_t* y) noexcept nogil:
    """The plane a line belongs to, as an offset in the input, and the line's place there."""
    cdef int64_t plane = line // (pool.results[0] * pool.results[1])
    z[0] = line // pool.results[1] % pool.results[0]
    y[0] = line % pool.results[1]
    offset[0] = (plane // pool.channels * pool.batch_stride
                 + plane % pool.channels * pool.channel_stride)


cdef inline void locate_pixel(const Pool* pool, int64_t pixel, int64_t* offset,
                              int64_t* place) noexcept nogil:
    """The image a pixel of the result belongs to, as an offset, and the pixel's place there."""
    place[2] = pixel % pool.results[2]
    pixel //= pool.results[2]
    place[1] = pixel % pool.results[1]
    pixel //= pool.results[1]
    place[0] = pixel % pool.results[0]
    offset[0] = pixel // pool.results[0] * pool.batch_stride
