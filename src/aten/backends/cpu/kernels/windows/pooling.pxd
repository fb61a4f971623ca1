"""Pooling: what the loops of all kinds share."""

from libc.stdint cimport int64_t

from aten._core.tensor.tensor cimport Tensor

cdef extern from "pixel_levels.h" nogil:
    ctypedef struct aten_pixels:
        void (*find)(const void** lines, const int64_t* places, int64_t count, void* out,
                     int64_t* found, int64_t columns) noexcept nogil
        void (*average_floats)(const void** lines, int64_t count, float divisor, void* out,
                               int64_t columns) noexcept nogil
        void (*average_doubles)(const void** lines, int64_t count, double divisor, void* out,
                                int64_t columns) noexcept nogil
    const aten_pixels* aten_pixels_of(bint is_double)

cdef enum:
    SPATIAL = 3
    # Elements of a window of pixels that are gone through together.
    MOST_PIXELS = 64

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


cdef inline int64_t list_pixels(const Pool* pool, const char* image, int64_t item,
                                const int64_t* place, const void** lines,
                                int64_t* places) noexcept nogil:
    """Where the elements of a window lie in the image, and in a plane if `places` is given; how many
    they are, or -1 for more than MOST_PIXELS."""
    cdef int64_t i, j, k, count = 0
    i = pool.begins[0][place[0]]
    while i < pool.ends[0][place[0]]:
        j = pool.begins[1][place[1]]
        while j < pool.ends[1][place[1]]:
            k = pool.begins[2][place[2]]
            while k < pool.ends[2][place[2]]:
                if count == MOST_PIXELS:
                    return -1
                lines[count] = image + (i * pool.strides[0] + j * pool.strides[1]
                                        + k * pool.strides[2]) * item
                if places != NULL:
                    places[count] = (i * pool.sizes[1] + j) * pool.sizes[2] + k
                count += 1
                k += pool.steps[2]
            j += pool.steps[1]
        i += pool.steps[0]
    return count


# What `max_pool` and `average_pool` do for operands that they have looked at.
cdef int find_maxima(Tensor input, Tensor out, Tensor indices, windows, steps,
                     bint apart) except -1
cdef int find_averages(Tensor input, Tensor out, windows, steps, bint inside,
                       int64_t divisor) except -1
