# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Samples of images at given points, and their gradients.

Points of the result are shared out over the threads; each is computed alone.
"""

from libc.math cimport fabs, floor, fmod, nearbyint
from libc.stdint cimport int32_t, int64_t

from aten._core.base.dtypes cimport FLOAT32, FLOAT64, dtype_from_code
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, require_memory)
from aten._core.threads.parallel cimport parallel_for

cdef enum:
    SPATIAL = 3
    # Neighbours of a point, at most, and points looked at together.
    NEIGHBOURS = 16
    RUN = 64
    # Multiplications in one chunk of work for the threads.
    GRAIN = 16384
    # Whole numbers up to this one are float32, and places up to the other are 32 bits wide.
    MOST_IN_FLOAT = 1 << 24
    MOST_PLACES = 1 << 29

cdef enum Mode:
    BILINEAR = 0
    NEAREST = 1
    BICUBIC = 2

cdef enum Padding:
    ZEROS = 0
    BORDER = 1
    REFLECTION = 2

ctypedef fused Real:
    float
    double

cdef extern from "sampling_levels.h" nogil:
    enum:
        ATEN_RUN
    ctypedef struct aten_quads_float:
        pass
    ctypedef struct aten_quads_double:
        pass
    ctypedef struct aten_dots_float:
        pass
    ctypedef struct aten_dots_double:
        pass
    void aten_find_quads_float(const float*, const float*, int64_t, int32_t, int32_t, int32_t,
                               aten_quads_float*) noexcept
    void aten_find_quads_double(const double*, const double*, int64_t, int32_t, int32_t, int32_t,
                                aten_quads_double*) noexcept
    void aten_sum_quads_float(const float*, const aten_quads_float*, int64_t, float*) noexcept
    void aten_sum_quads_double(const double*, const aten_quads_double*, int64_t, double*) noexcept
    void aten_find_dots_float(const float*, const float*, int64_t, int32_t, int32_t, int32_t,
                              int32_t, aten_dots_float*) noexcept
    void aten_find_dots_double(const double*, const double*, int64_t, int32_t, int32_t, int32_t,
                               int32_t, aten_dots_double*) noexcept
    void aten_read_dots_float(const float*, const aten_dots_float*, int64_t, float*) noexcept
    void aten_read_dots_double(const double*, const aten_dots_double*, int64_t, double*) noexcept

cdef struct Sampling:
    int code
    Mode mode
    Padding padding
    bint align_corners
    int rank                        # spatial dimensions, two or three
    const char* data
    const char* grid                # row-major: of each point coordinates, the last dimension's first
    char* out                       # row-major
    int64_t channels
    int64_t points                  # in one image
    int64_t batch_stride            # in elements
    int64_t channel_stride
    int64_t sizes[SPATIAL]
    int64_t strides[SPATIAL]
    bint in_plane                   # whether places in planes are few enough for `_sample_plane`
    char* image_gradient            # row-major; NULL: not wanted
    char* grid_gradient             # like the grid; NULL: not wanted


def sample(Tensor input not None, Tensor grid not None, Tensor out not None, int mode, int padding,
           bint align_corners):
    """Write to `out` (N, C, *) the values of `input` (N, C, *) at the points of `grid`.

    `grid` (N, *, rank), of the same type, float32 or float64, and `out` are row-major; coordinates
    go from -1 to 1, those of the last dimension first. `mode` and `padding` are torch's numbers.
    """
    take_samples(input, grid, out, mode, padding, align_corners)


cdef int take_samples(Tensor input, Tensor grid, Tensor out, int mode, int padding,
                      bint align_corners) except -1:
    cdef Sampling work
    cdef int64_t images
    if out.count == 0:
        return 0
    _read_sampling(&work, input, grid, out, mode, padding, align_corners, True)
    work.in_plane = _is_in_plane(&work)
    images = grid.sizes[0]
    with nogil:
        parallel_for(images * work.points, max(1, GRAIN // (work.channels * 16)),
                     _sample_points, &work)
    count_write(out)
    return 0


def sample_backward(Tensor gradient not None, Tensor input not None, Tensor grid not None,
                    Tensor image_gradient, Tensor grid_gradient, int mode, int padding,
                    bint align_corners):
    """The gradients of `sample` for image and grid, where they are not None.

    They and `gradient`, that of the result, are row-major. What is in `image_gradient` is added to.
    """
    cdef Sampling work
    cdef int64_t images
    if gradient.count == 0:
        return
    require_memory(image_gradient)
    require_memory(grid_gradient)
    _read_sampling(&work, input, grid, gradient, mode, padding, align_corners, False)
    if image_gradient is not None:
        work.image_gradient = data_pointer(image_gradient)
    if grid_gradient is not None:
        work.grid_gradient = data_pointer(grid_gradient)
    images = grid.sizes[0]
    with nogil:
        # Points of one image may add to the same elements.
        parallel_for(images, max(1, GRAIN // (work.points * work.channels * 16)),
                     _sample_images_backward, &work)


cdef object _refusal(TensorImpl input):
    element = dtype_from_code(input.dtype_code).scalar_type_name
    return NotImplementedError(f"\"grid_sampler\" not implemented for '{element}'")


cdef void _read_sampling(Sampling* work, TensorImpl input, TensorImpl grid, TensorImpl out,
                         int mode, int padding, bint align_corners, bint writes) except *:
    cdef int dim, source
    require_memory(input)
    require_memory(grid)
    require_memory(out)
    if (input.dtype_code not in (FLOAT32, FLOAT64) or grid.dtype_code != input.dtype_code
            or out.dtype_code != input.dtype_code):
        raise _refusal(input)
    work.code = input.dtype_code
    work.mode = <Mode>mode
    work.padding = <Padding>padding
    work.align_corners = align_corners
    work.rank = input.rank - 2
    # For gradients this is the result's, which is read.
    work.out = data_pointer(out) if writes else <char*>const_data_pointer(out)
    work.data = const_data_pointer(input)
    work.grid = const_data_pointer(grid)
    work.image_gradient = work.grid_gradient = NULL
    work.channels = input.sizes[1]
    work.points = grid.count // (grid.sizes[0] * work.rank)
    work.batch_stride = input.strides[0]
    work.channel_stride = input.strides[1]
    for dim in range(SPATIAL):
        source = dim - (SPATIAL - work.rank)
        work.sizes[dim] = input.sizes[source + 2] if source >= 0 else 1
        work.strides[dim] = input.strides[source + 2] if source >= 0 else 0


cdef void _sample_points(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Points begin … end, counted through all images."""
    cdef const Sampling* work = <const Sampling*>context
    if work.in_plane and work.code == FLOAT32:
        _sample_plane(work, begin, end, <float*>work.out)
    elif work.in_plane:
        _sample_plane(work, begin, end, <double*>work.out)
    elif work.code == FLOAT32:
        _sample(work, begin, end, <float*>work.out)
    else:
        _sample(work, begin, end, <double*>work.out)


cdef bint _is_in_plane(const Sampling* work) noexcept nogil:
    """Whether places in a plane fit into 32 bits, and coordinates into float32; pairs of elements
    that are read as one lie side by side."""
    if work.rank == SPATIAL or work.mode == BICUBIC:
        return False
    if work.mode == BILINEAR and (work.strides[2] != 1 or work.sizes[2] < 2):
        return False
    return (work.sizes[1] <= MOST_IN_FLOAT and work.sizes[2] <= MOST_IN_FLOAT
            and work.strides[1] <= MOST_PLACES // work.sizes[1]
            and work.strides[2] <= MOST_PLACES // work.sizes[2])


cdef void _sample_plane(const Sampling* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    """As `_sample` in two dimensions, several points at a time."""
    cdef Real across[ATEN_RUN]
    cdef Real down[ATEN_RUN]
    cdef aten_quads_float quads
    cdef aten_quads_double wide_quads
    cdef aten_dots_float dots
    cdef aten_dots_double wide_dots
    cdef int64_t image, channel, length
    cdef int32_t width = <int32_t>work.sizes[2], height = <int32_t>work.sizes[1]
    cdef int32_t row = <int32_t>work.strides[1], column = <int32_t>work.strides[2]
    cdef const Real* data
    cdef Real* target
    while begin < end:
        image = begin // work.points
        length = min(min(end, (image + 1) * work.points) - begin, ATEN_RUN)
        _find_places(work, <const Real*>work.grid + 2 * begin, length, 0, width, across)
        _find_places(work, <const Real*>work.grid + 2 * begin, length, 1, height, down)
        if work.mode == NEAREST:
            if Real is float:
                aten_find_dots_float(across, down, length, width, height, row, column, &dots)
            else:
                aten_find_dots_double(across, down, length, width, height, row, column, &wide_dots)
        elif Real is float:
            aten_find_quads_float(across, down, length, width, height, row, &quads)
        else:
            aten_find_quads_double(across, down, length, width, height, row, &wide_quads)
        data = <const Real*>work.data + image * work.batch_stride
        target = out + image * work.channels * work.points + begin % work.points
        for channel in range(work.channels):
            if work.mode == NEAREST:
                if Real is float:
                    aten_read_dots_float(data, &dots, length, target)
                else:
                    aten_read_dots_double(data, &wide_dots, length, target)
            elif Real is float:
                aten_sum_quads_float(data, &quads, length, target)
            else:
                aten_sum_quads_double(data, &wide_quads, length, target)
            data += work.channel_stride
            target += work.points
        begin += length


cdef inline void _find_places(const Sampling* work, const Real* points, int64_t count, int which,
                              int64_t size, Real* places) noexcept nogil:
    """Of some points one of two coordinates, as places of a dimension; see `_find_neighbours`."""
    cdef int64_t index
    for index in range(count):
        places[index] = _unnormalized(work, points[2 * index + which], size)
    if work.padding == ZEROS:
        return
    for index in range(count):
        places[index] = _padded(work, places[index], size)


cdef void _sample(const Sampling* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    """Some points at a time: their neighbours are found once, then summed channel by channel."""
    cdef int64_t places[SPATIAL][4]
    cdef Real weights[SPATIAL][4]
    cdef int64_t offsets[RUN][NEIGHBOURS]
    cdef Real flat[RUN][NEIGHBOURS]
    cdef int counts[RUN]
    cdef int64_t image, channel, index, length
    cdef int neighbour
    cdef Real total
    cdef const Real* data
    cdef Real* target
    while begin < end:
        image = begin // work.points
        length = min(min(end, (image + 1) * work.points) - begin, RUN)
        for index in range(length):
            _find_neighbours(work, <const Real*>work.grid + (begin + index) * work.rank, places,
                             weights)
            counts[index] = _flatten(work, places, weights, offsets[index], flat[index])
        data = <const Real*>work.data + image * work.batch_stride
        target = out + image * work.channels * work.points + begin % work.points
        for channel in range(work.channels):
            for index in range(length):
                total = 0
                for neighbour in range(counts[index]):
                    total += flat[index][neighbour] * data[offsets[index][neighbour]]
                target[index] = total
            data += work.channel_stride
            target += work.points
        begin += length


cdef inline int _taps(const Sampling* work) noexcept nogil:
    """Neighbours in each dimension."""
    return 4 if work.mode == BICUBIC else 1 if work.mode == NEAREST else 2


cdef void _find_neighbours(const Sampling* work, const Real* point, int64_t (*places)[4],
                           Real (*weights)[4]) noexcept nogil:
    """For each dimension the neighbours' places, -1 where there is none, and their weights."""
    cdef int dim, tap
    cdef int64_t size
    cdef Real place, share, base
    for dim in range(SPATIAL):
        size = work.sizes[dim]
        if dim < SPATIAL - work.rank:
            for tap in range(4):
                places[dim][tap] = 0 if tap == 0 else -1
                weights[dim][tap] = 1 if tap == 0 else 0
            continue
        place = _unnormalized(work, point[SPATIAL - 1 - dim], size)
        if work.mode != BICUBIC:
            place = _padded(work, place, size)
        if work.mode == NEAREST:
            place = nearbyint(place)
            places[dim][0] = _inside(place, size)
            weights[dim][0] = 1
            continue
        base = floor(place)
        share = place - base
        if work.mode == BILINEAR:
            places[dim][0] = _inside(base, size)
            places[dim][1] = _inside(base + 1, size)
            weights[dim][0] = 1 - share
            weights[dim][1] = share
            continue
        _set_cubic_weights(share, weights[dim])
        for tap in range(4):
            places[dim][tap] = _inside(_padded(work, base - 1 + tap, size), size)


cdef inline Real _unnormalized(const Sampling* work, Real coordinate, int64_t size) noexcept nogil:
    """A coordinate from -1 … 1, corners or edges, as a place among `size` elements."""
    if work.align_corners:
        return (coordinate + 1) / 2 * (size - 1)
    return ((coordinate + 1) * size - 1) / 2


cdef inline Real _padded(const Sampling* work, Real place, int64_t size) noexcept nogil:
    """The place in the tensor that stands for one outside, other than for zeros."""
    if work.padding == ZEROS:
        return place
    if work.padding == REFLECTION:
        if work.align_corners:
            place = _reflected(place, 0, 2 * (size - 1))
        else:
            place = _reflected(place, -1, 2 * size - 1)
    # A NaN is none of these and becomes the first place.
    if place > size - 1:
        return size - 1
    return place if place > 0 else 0


cdef inline Real _reflected(Real place, int64_t twice_low, int64_t twice_high) noexcept nogil:
    """`place` mirrored at both bounds, which are given doubled, as often as it takes."""
    cdef Real low, span, extra, flips
    if twice_low == twice_high:
        return 0
    low = <Real>twice_low / 2
    span = <Real>(twice_high - twice_low) / 2
    place = fabs(place - low)
    extra = fmod(place, span)
    flips = floor(place / span)
    if fmod(flips, 2) == 0:
        return extra + low
    return span - extra + low


cdef inline int64_t _inside(Real place, int64_t size) noexcept nogil:
    """A whole number as an index; -1 where it is none."""
    if 0 <= place < size:
        return <int64_t>place
    return -1


cdef inline void _set_cubic_weights(Real share, Real* weights) noexcept nogil:
    """Keys, Cubic convolution interpolation (1981), with a = -0.75."""
    cdef Real a = -0.75
    cdef Real x = share + 1
    weights[0] = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    weights[1] = ((a + 2) * share - (a + 3)) * share * share + 1
    x = 1 - share
    weights[2] = ((a + 2) * x - (a + 3)) * x * x + 1
    x = 2 - share
    weights[3] = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


cdef inline int _flatten(const Sampling* work, int64_t (*places)[4], Real (*weights)[4],
                         int64_t* offsets, Real* flat) noexcept nogil:
    """The neighbours there are, as offsets in a plane, and their weights; returns how many."""
    cdef int i, j, k, count = 0
    cdef int taps = _taps(work)
    for i in range(taps if work.rank == SPATIAL else 1):
        for j in range(taps):
            for k in range(taps):
                if places[0][i] < 0 or places[1][j] < 0 or places[2][k] < 0:
                    continue
                offsets[count] = (places[0][i] * work.strides[0] + places[1][j] * work.strides[1]
                                  + places[2][k] * work.strides[2])
                flat[count] = weights[0][i] * weights[1][j] * weights[2][k]
                count += 1
    return count


cdef void _sample_images_backward(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Images begin … end."""
    cdef const Sampling* work = <const Sampling*>context
    cdef int64_t image
    for image in range(begin, end):
        if work.code == FLOAT32:
            _sample_backward(work, image, <const float*>work.grid)
        else:
            _sample_backward(work, image, <const double*>work.grid)


cdef void _sample_backward(const Sampling* work, int64_t image, const Real* grid) noexcept nogil:
    cdef int64_t places[SPATIAL][4]
    cdef Real weights[SPATIAL][4]
    cdef Real slopes[SPATIAL][4]
    cdef Real totals[SPATIAL]
    cdef int64_t plane_size = work.sizes[0] * work.sizes[1] * work.sizes[2]
    cdef int64_t point, channel
    cdef const Real* gradient = <const Real*>work.out + image * work.channels * work.points
    cdef const Real* data = <const Real*>work.data + image * work.batch_stride
    cdef Real* target = NULL
    cdef int dim
    for point in range(image * work.points, (image + 1) * work.points):
        _find_neighbours(work, grid + point * work.rank, places, weights)
        _find_slopes(work, grid + point * work.rank, slopes)
        for dim in range(SPATIAL):
            totals[dim] = 0
        for channel in range(work.channels):
            if work.image_gradient != NULL:
                target = (<Real*>work.image_gradient
                          + (image * work.channels + channel) * plane_size)
            _spread_neighbours(work, gradient[channel * work.points + point % work.points],
                               data + channel * work.channel_stride, target, places, weights,
                               slopes, totals)
        if work.grid_gradient != NULL:
            for dim in range(work.rank):
                (<Real*>work.grid_gradient)[point * work.rank + dim] = totals[SPATIAL - 1 - dim]


cdef inline void _spread_neighbours(const Sampling* work, Real gradient, const Real* plane,
                                    Real* target, int64_t (*places)[4], Real (*weights)[4],
                                    Real (*slopes)[4], Real* totals) noexcept nogil:
    """Add to each neighbour of one point its share, and to `totals` the point's gradient."""
    cdef int i, j, k
    cdef int taps = _taps(work)
    cdef int64_t layer, row, column
    cdef Real value
    for i in range(taps if work.rank == SPATIAL else 1):
        layer = places[0][i]
        if layer < 0:
            continue
        for j in range(taps):
            row = places[1][j]
            if row < 0:
                continue
            for k in range(taps):
                column = places[2][k]
                if column < 0:
                    continue
                if target != NULL:
                    target[(layer * work.sizes[1] + row) * work.sizes[2] + column] += (
                        gradient * weights[0][i] * weights[1][j] * weights[2][k])
                value = gradient * plane[layer * work.strides[0] + row * work.strides[1]
                                         + column * work.strides[2]]
                totals[0] += value * slopes[0][i] * weights[1][j] * weights[2][k]
                totals[1] += value * weights[0][i] * slopes[1][j] * weights[2][k]
                totals[2] += value * weights[0][i] * weights[1][j] * slopes[2][k]


cdef void _find_slopes(const Sampling* work, const Real* point, Real (*slopes)[4]) noexcept nogil:
    """How fast each neighbour's weight grows with the coordinate of its dimension."""
    cdef int dim, tap
    cdef int64_t size
    cdef Real place, scale
    for dim in range(SPATIAL):
        for tap in range(4):
            slopes[dim][tap] = 0
        if dim < SPATIAL - work.rank or work.mode == NEAREST:
            continue
        size = work.sizes[dim]
        place = _unnormalized(work, point[SPATIAL - 1 - dim], size)
        scale = <Real>(size - 1 if work.align_corners else size) / 2
        if work.mode == BICUBIC:
            _set_cubic_slopes(place - floor(place), scale, slopes[dim])
            continue
        scale *= _padding_slope(work, place, size)
        slopes[dim][0] = -scale
        slopes[dim][1] = scale


cdef inline Real _padding_slope(const Sampling* work, Real place, int64_t size) noexcept nogil:
    """1 where the place `_padded` gives moves with `place`, -1 against it, 0 not at all."""
    cdef Real low, span, from_low, slope = 1
    if work.padding == ZEROS:
        return 1
    if work.padding == REFLECTION:
        low = 0 if work.align_corners else -0.5
        span = size - 1 if work.align_corners else size
        if span == 0:
            return 0
        from_low = fabs(place - low)
        slope = -1 if place < low else 1
        if fmod(floor(from_low / span), 2) != 0:
            slope = -slope
            place = span - fmod(from_low, span) + low
        else:
            place = fmod(from_low, span) + low
    return slope if 0 < place < size - 1 else 0


cdef inline void _set_cubic_slopes(Real share, Real scale, Real* slopes) noexcept nogil:
    """The derivatives of `_set_cubic_weights`, times `scale`."""
    cdef Real a = -0.75
    cdef Real x = share + 1
    slopes[0] = scale * ((3 * a * x - 10 * a) * x + 8 * a)
    slopes[1] = scale * (3 * (a + 2) * share - 2 * (a + 3)) * share
    x = 1 - share
    slopes[2] = -scale * (3 * (a + 2) * x - 2 * (a + 3)) * x
    x = 2 - share
    slopes[3] = -scale * ((3 * a * x - 10 * a) * x + 8 * a)
