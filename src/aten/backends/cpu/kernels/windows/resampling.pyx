# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Resampling: weighted sums of neighbours along one dimension, and samples at given points.

Both share out lines or points of the result over the threads; each is computed alone.
"""

from libc.math cimport fabs, floor, fmod, nearbyint
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT16, UINT8, dtype_from_code
from aten._core.tensor.tensor cimport (
    Tensor, TensorImpl, const_data_pointer, count_write, data_pointer, require_memory,
)
from aten._core.threads.parallel cimport parallel_for

cdef enum:
    SPATIAL = 3
    # Neighbours of a point, at most, and points looked at together.
    NEIGHBOURS = 16
    RUN = 64
    # Multiplications in one chunk of work for the threads.
    GRAIN = 16384

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

cdef struct Weighing:
    int code
    const char* data                # (outer, size, inner), row-major
    char* out                       # (outer, wanted, inner)
    const int64_t* begins           # the first neighbour of each result
    const int64_t* counts           # how many there are
    const char* weights             # (wanted, taps)
    int64_t taps
    int64_t size
    int64_t wanted
    int64_t inner
    int precision                   # of 16-bit weights: bits after the point

cdef struct Plane:
    Weighing across                 # a row of the image to one of the result
    Weighing down                   # rows to rows
    int64_t height                  # of the image
    int failed                      # whether a thread had no memory for its rows

cdef struct Sampling:
    int code
    Mode mode
    Padding padding
    bint align_corners
    int rank                        # spatial dimensions, two or three
    const char* data
    const char* grid                # row-major: for each point its coordinates, last dimension first
    char* out                       # row-major
    int64_t channels
    int64_t points                  # in one image
    int64_t batch_stride            # in elements
    int64_t channel_stride
    int64_t sizes[SPATIAL]
    int64_t strides[SPATIAL]
    char* image_gradient            # row-major; NULL: not wanted
    char* grid_gradient             # like the grid; NULL: not wanted


def weigh(Tensor input not None, Tensor out not None, int dim, Tensor begins not None,
          Tensor counts not None, Tensor weights not None, int precision=0):
    """Each line of `out` along `dim` is a weighted sum of neighbouring lines of `input`.

    Both are row-major, of one element type: float32 or float64 with weights of that type, or uint8
    with int16 weights of which `precision` bits follow the point; their sums are rounded.
    `weights` is (results, taps); `begins` and `counts`, int64, say which neighbours they are for.
    """
    cdef Weighing work
    cdef int64_t outer = 1
    cdef int other
    for tensor in (input, out, begins, counts, weights):
        require_memory(<TensorImpl>tensor)
    if (input.dtype_code not in (FLOAT32, FLOAT64, UINT8) or out.dtype_code != input.dtype_code
            or weights.dtype_code != (INT16 if input.dtype_code == UINT8 else input.dtype_code)):
        raise _refusal("upsample", input)
    if out.count == 0:
        return
    work.code = input.dtype_code
    work.out = data_pointer(out)
    work.data = const_data_pointer(input)
    work.begins = <const int64_t*>const_data_pointer(begins)
    work.counts = <const int64_t*>const_data_pointer(counts)
    work.weights = const_data_pointer(weights)
    work.taps = weights.sizes[1]
    work.size = input.sizes[dim]
    work.wanted = out.sizes[dim]
    work.precision = precision
    work.inner = 1
    for other in range(dim):
        outer *= input.sizes[other]
    for other in range(dim + 1, input.rank):
        work.inner *= input.sizes[other]
    with nogil:
        parallel_for(outer * work.wanted, max(1, GRAIN // (work.inner * work.taps)), _weigh_lines,
                     &work)
    count_write(out)


def weigh_planes(Tensor input not None, Tensor out not None, across not None, down not None):
    """`weigh` along the last dimension and then along the one before it, in one go.

    `across` and `down` are begins, counts and weights of the two. `input` and `out` (*, H, W) are
    row-major, float32 or float64. Raises MemoryError.
    """
    cdef Plane work
    cdef int64_t rows, each
    work.failed = 0
    _read_table(&work.across, input, input, across)
    _read_table(&work.down, input, input, down)
    require_memory(out)
    if (input.dtype_code not in (FLOAT32, FLOAT64) or out.dtype_code != input.dtype_code
            or input.rank != out.rank or input.rank < 2):
        raise _refusal("upsample", input)
    if out.count == 0:
        return
    work.height = input.sizes[input.rank - 2]
    work.across.size = input.sizes[input.rank - 1]
    work.across.wanted = out.sizes[out.rank - 1]
    work.down.wanted = out.sizes[out.rank - 2]
    work.across.data = const_data_pointer(input)
    work.across.out = data_pointer(out)
    rows = out.count // work.across.wanted
    each = work.across.wanted * (work.across.taps * work.height // work.down.wanted
                                 + work.across.taps + work.down.taps)
    with nogil:
        parallel_for(rows, max(1, 2 * GRAIN // each), _weigh_rows, &work)
    if work.failed:
        raise MemoryError()
    count_write(out)


cdef int _read_table(Weighing* work, TensorImpl input, TensorImpl like, table) except -1:
    """What says how to weigh, for `weigh_planes`."""
    cdef Tensor begins, counts, weights
    begins, counts, weights = table
    for tensor in (input, begins, counts, weights):
        require_memory(<TensorImpl>tensor)
    if weights.dtype_code != like.dtype_code:
        raise _refusal("upsample", input)
    work.code = input.dtype_code
    work.begins = <const int64_t*>const_data_pointer(begins)
    work.counts = <const int64_t*>const_data_pointer(counts)
    work.weights = const_data_pointer(weights)
    work.taps = weights.sizes[1]
    return 0


cdef void _weigh_rows(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Rows begin … end of the result, counted through all images."""
    cdef Plane* work = <Plane*>context
    if work.across.code == FLOAT32:
        _weigh_plane(work, begin, end, <float*>work.across.out)
    else:
        _weigh_plane(work, begin, end, <double*>work.across.out)


cdef void _weigh_plane(Plane* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    """Rows of the image are weighed across when a result first needs them, and kept for the next."""
    cdef int64_t width = work.across.wanted, taps = work.down.taps, line, place, row, tap, x
    cdef int64_t image, first, earlier = -1, ready = 0
    cdef const Real* weights
    cdef const Real* source
    cdef Real* target
    cdef Real weight
    cdef Real* kept = <Real*>malloc(taps * width * sizeof(Real))
    if kept == NULL:
        work.failed = 1
        return
    for line in range(begin, end):
        image = line // work.down.wanted
        place = line % work.down.wanted
        if image != earlier:
            earlier, ready = image, 0
        weights = <const Real*>work.down.weights + place * taps
        target = out + line * width
        for x in range(width):
            target[x] = 0
        for tap in range(work.down.counts[place]):
            row = work.down.begins[place] + tap
            if row >= ready:
                first = (image * work.height + row) * width
                _weigh_elements(&work.across, first, first + width, kept + row % taps * width)
                ready = row + 1
            source = kept + row % taps * width
            weight = weights[tap]
            for x in range(width):
                target[x] += weight * source[x]
    free(kept)


cdef void _weigh_lines(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Lines begin … end of the result."""
    cdef const Weighing* work = <const Weighing*>context
    if work.code == FLOAT32:
        _weigh_reals(work, begin, end, <float*>work.out)
    elif work.code == FLOAT64:
        _weigh_reals(work, begin, end, <double*>work.out)
    else:
        _weigh_bytes(work, begin, end)


cdef void _weigh_reals(const Weighing* work, int64_t begin, int64_t end, Real* out) noexcept nogil:
    cdef int64_t line, place, tap, x
    cdef int64_t inner = work.inner
    cdef Real weight
    cdef const Real* weights
    cdef const Real* source
    cdef Real* target
    if inner == 1:
        _weigh_elements(work, begin, end, out + begin)
        return
    for line in range(begin, end):
        place = line % work.wanted
        weights = <const Real*>work.weights + place * work.taps
        source = (<const Real*>work.data
                  + (line // work.wanted * work.size + work.begins[place]) * inner)
        target = out + line * inner
        for x in range(inner):
            target[x] = 0
        for tap in range(work.counts[place]):
            weight = weights[tap]
            for x in range(inner):
                target[x] += weight * source[tap * inner + x]


cdef void _weigh_elements(const Weighing* work, int64_t begin, int64_t end,
                          Real* out) noexcept nogil:
    """Lines of one element each: rows of the result, of which the first may be begun already; `out`
    is where the first goes."""
    cdef int64_t place = begin % work.wanted, tap, line
    cdef const Real* row = <const Real*>work.data + begin // work.wanted * work.size
    cdef const Real* weights = <const Real*>work.weights + place * work.taps
    cdef const Real* source
    cdef Real total
    for line in range(end - begin):
        source = row + work.begins[place]
        if work.counts[place] == 2:
            total = weights[0] * source[0] + weights[1] * source[1]
        else:
            total = weights[0] * source[0] if work.counts[place] else 0
            for tap in range(1, work.counts[place]):
                total += weights[tap] * source[tap]
        out[line] = total
        place += 1
        weights += work.taps
        if place == work.wanted:
            place = 0
            weights = <const Real*>work.weights
            row += work.size


cdef void _weigh_bytes(const Weighing* work, int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t line, place, tap, x
    cdef int64_t inner = work.inner
    cdef int32_t total
    cdef const int16_t* weights
    cdef const uint8_t* source
    cdef uint8_t* target
    for line in range(begin, end):
        place = line % work.wanted
        weights = <const int16_t*>work.weights + place * work.taps
        source = (<const uint8_t*>work.data
                  + (line // work.wanted * work.size + work.begins[place]) * inner)
        target = <uint8_t*>work.out + line * inner
        for x in range(inner):
            total = 1 << (work.precision - 1) if work.precision > 0 else 0
            for tap in range(work.counts[place]):
                total += weights[tap] * <int32_t>source[tap * inner + x]
            target[x] = <uint8_t>min(max(total >> work.precision, 0), 255)


def sample(Tensor input not None, Tensor grid not None, Tensor out not None, int mode, int padding,
           bint align_corners):
    """Write to `out` (N, C, *) the values of `input` (N, C, *) at the points of `grid`.

    `grid` (N, *, rank), of the same type, float32 or float64, and `out` are row-major; coordinates
    go from -1 to 1, those of the last dimension first. `mode` and `padding` are torch's numbers.
    """
    cdef Sampling work
    cdef int64_t images
    if out.count == 0:
        return
    _read_sampling(&work, input, grid, out, mode, padding, align_corners, True)
    images = grid.sizes[0]
    with nogil:
        parallel_for(images * work.points, max(1, GRAIN // (work.channels * 16)),
                     _sample_points, &work)
    count_write(out)


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


cdef object _refusal(str name, TensorImpl input):
    return NotImplementedError(
        f"\"{name}\" not implemented for '{dtype_from_code(input.dtype_code).scalar_type_name}'")


cdef void _read_sampling(Sampling* work, TensorImpl input, TensorImpl grid, TensorImpl out,
                         int mode, int padding, bint align_corners, bint writes) except *:
    cdef int dim, source
    require_memory(input)
    require_memory(grid)
    require_memory(out)
    if (input.dtype_code not in (FLOAT32, FLOAT64) or grid.dtype_code != input.dtype_code
            or out.dtype_code != input.dtype_code):
        raise _refusal("grid_sampler", input)
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
    if work.code == FLOAT32:
        _sample(work, begin, end, <float*>work.out)
    else:
        _sample(work, begin, end, <double*>work.out)


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
