# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Transposed convolutions whose windows are as large as their steps: no two windows meet.

Such a one is a single product, of weights with a row for each element of a window and channel of the
result, and what comes of a few positions goes from a buffer in the cache to the blocks that it is.
Threads claim positions, for some channels at a time. Sums go in order over the channels that are seen,
in stretches that their number alone decides, so bits do not depend on how a result is cut.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aten._core.base.dtypes cimport FLOAT64
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.windows.columns cimport Convolution, row_of, stretch_of
from aten.backends.cpu.kernels.windows.images cimport SPATIAL
from aten.backends.cpu.kernels.windows.direct cimport (
    aten_window_kernels, aten_windows, kernels_of, multiply_panels_here,
)
from aten.backends.cpu.kernels.windows.sliding cimport spread_line
from aten.backends.cpu.kernels.windows.window_strips cimport is_dense

cdef enum:
    # Channels seen, of which fewer are no work for products.
    FEWEST_SEEN = 8
    # Rows of weights in a piece, and its positions, at most.
    ROWS = 64
    TOGETHER = 192
    # Channels whose weights are turned at a time.
    TURNED = 16
    # Multiplications worth a claim of their own.
    CLAIM = 1 << 15

cdef struct Blocks:
    const Convolution* work
    const aten_window_kernels* kernels
    int64_t size            # of an element in bytes
    char* weights           # by group, channel of the result, element of the window, channel seen
    int64_t weight_row
    char* bias              # a number for each row of weights, or nothing
    int64_t rows            # of weights for a group, and for a piece
    int64_t rows_each
    int64_t down
    int64_t together        # positions in a piece
    int64_t across
    bint failed


cdef bint has_blocks(const Convolution* work) noexcept:
    cdef int dim
    if work.window == 1 or work.outputs < FEWEST_SEEN:
        return False
    for dim in range(SPATIAL):
        if work.shape.kernel[dim] != work.shape.stride[dim] or work.shape.padding[dim] != 0:
            return False
        if work.shape.dilation[dim] != 1 and work.shape.kernel[dim] != 1:
            return False
        if work.input.sizes[dim] != work.out.sizes[dim] * work.shape.stride[dim]:
            return False
    return is_dense(work.out.sizes, work.out.strides)


cdef bint convolve_blocks(const Convolution* work) noexcept nogil:
    cdef Blocks blocks
    cdef int64_t rows = work.inputs * work.window
    blocks.work = work
    blocks.kernels = kernels_of(work.compute == FLOAT64)
    blocks.size = 8 if work.compute == FLOAT64 else 4
    blocks.failed = False
    blocks.weight_row = row_of(work.outputs)
    blocks.rows = rows
    blocks.weights = <char*>malloc(work.groups * rows * (blocks.weight_row + 1) * blocks.size)
    if blocks.weights == NULL:
        return False
    blocks.bias = blocks.weights + work.groups * rows * blocks.weight_row * blocks.size
    _cut(&blocks)
    parallel_for(work.groups * ((work.outputs + TURNED - 1) // TURNED),
                 max(<int64_t>1, CLAIM // (TURNED * rows)), _turn_weights, &blocks)
    _repeat_bias(&blocks)
    parallel_for(work.batch * work.groups * blocks.across * blocks.down,
                 max(<int64_t>1, CLAIM // (blocks.together * blocks.rows_each * work.outputs)),
                 _run_pieces, &blocks)
    free(blocks.weights)
    return not blocks.failed


cdef void _cut(Blocks* blocks) noexcept nogil:
    """Choose pieces: where positions are few, all threads have as many vectors of them."""
    cdef const Convolution* work = blocks.work
    cdef int lanes = blocks.kernels.lanes
    cdef int64_t channels = max(<int64_t>1, ROWS // work.window)
    cdef int64_t share = (work.positions + thread_count() - 1) // thread_count()
    blocks.rows_each = min(work.inputs, channels) * work.window
    blocks.down = (blocks.rows + blocks.rows_each - 1) // blocks.rows_each
    blocks.together = TOGETHER
    if work.batch * work.groups == 1 and share < TOGETHER:
        blocks.together = (share + lanes - 1) // lanes * lanes
    blocks.across = (work.positions + blocks.together - 1) // blocks.together


cdef void _turn_weights(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Some channels that are seen become columns."""
    cdef const Blocks* blocks = <const Blocks*>context
    cdef const Convolution* work = blocks.work
    cdef int64_t parts = (work.outputs + TURNED - 1) // TURNED
    cdef int64_t index, group, first, count
    for index in range(begin, end):
        group = index // parts
        first = index % parts * TURNED
        count = min(<int64_t>TURNED, work.outputs - first)
        blocks.kernels.turn(
            work.weight + (group * work.outputs + first) * blocks.rows * blocks.size, blocks.rows,
            count, blocks.rows,
            blocks.weights + (group * blocks.rows * blocks.weight_row + first) * blocks.size,
            blocks.weight_row)


cdef void _repeat_bias(Blocks* blocks) noexcept nogil:
    cdef const Convolution* work = blocks.work
    cdef int64_t row
    if work.bias.data == NULL:
        blocks.bias = NULL
        return
    for row in range(work.groups * blocks.rows):
        memcpy(blocks.bias + row * blocks.size,
               work.bias.data + row // work.window * work.bias.row_stride * blocks.size,
               blocks.size)


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Blocks* blocks = <Blocks*>context
    cdef const Convolution* work = blocks.work
    cdef int64_t each = blocks.across * blocks.down, index, image, first, row
    cdef char* memory = <char*>malloc(blocks.rows_each * blocks.together * blocks.size + 64)
    cdef char* sums = <char*>((<size_t>memory + 63) // 64 * 64)
    if memory == NULL:
        blocks.failed = True
        return
    for index in range(begin, end):
        image = index // each
        first = index % each // blocks.down * blocks.together
        row = index % blocks.down * blocks.rows_each
        if not _multiply(blocks, image // work.groups, image % work.groups, first, row, sums):
            blocks.failed = True
            break
        _place(blocks, image // work.groups, image % work.groups, first, row, sums)
    free(memory)


cdef bint _multiply(const Blocks* blocks, int64_t image, int64_t group, int64_t first, int64_t row,
                    char* sums) noexcept nogil:
    """Rows from `row` on for the positions of a piece."""
    cdef const Convolution* work = blocks.work
    cdef int64_t nowhere = 0, place = group * blocks.rows + row
    cdef aten_windows windows
    cdef int dim
    windows.input = work.out.data + (
        image * work.out.batch_stride + group * work.outputs * work.out.channel_stride
        + first) * blocks.size
    windows.weight = blocks.weights + place * blocks.weight_row * blocks.size
    windows.bias = NULL if blocks.bias == NULL else blocks.bias + place * blocks.size
    windows.out = sums
    windows.batch = windows.groups = windows.taps = windows.bias_step = 1
    windows.inputs = work.outputs
    windows.outputs = min(blocks.rows_each, blocks.rows - row)
    windows.stretch = stretch_of(work.outputs)
    windows.weight_row = blocks.weight_row
    windows.input_batch = windows.out_batch = 0
    windows.input_channel = work.out.channel_stride
    windows.out_channel = blocks.together
    for dim in range(SPATIAL):
        windows.sizes[dim] = windows.step[dim] = 1
        windows.places[dim] = &nowhere
    windows.sizes[2] = min(blocks.together, work.positions - first)
    for dim in range(SPATIAL):
        windows.input_sizes[dim] = windows.sizes[dim]
        windows.input_strides[dim] = windows.out_strides[dim] = 1
    windows.finish = NULL
    return multiply_panels_here(&windows, blocks.kernels, <int>blocks.size)


cdef void _place(const Blocks* blocks, int64_t image, int64_t group, int64_t first, int64_t row,
                 const char* sums) noexcept nogil:
    """What was summed to where it belongs, line by line."""
    cdef const Convolution* work = blocks.work
    cdef const int64_t* sizes = work.out.sizes
    cdef const int64_t* stride = work.shape.stride
    cdef int64_t rows = min(blocks.rows_each, blocks.rows - row)
    cdef int64_t lines = rows // work.shape.kernel[2], end = min(first + blocks.together, work.positions)
    cdef int64_t place, count, x, y, z, line, element, channel
    cdef char* out
    for line in range(lines):
        element = line % (work.shape.kernel[0] * work.shape.kernel[1])
        channel = (group * blocks.rows + row) // work.window
        channel += line // (work.shape.kernel[0] * work.shape.kernel[1])
        place = first
        while place < end:
            x = place % sizes[2]
            y = place // sizes[2] % sizes[1]
            z = place // (sizes[2] * sizes[1])
            count = min(sizes[2] - x, end - place)
            out = work.input.data + (
                image * work.input.batch_stride + channel * work.input.channel_stride
                + (z * stride[0] + element // work.shape.kernel[1]) * work.input.strides[0]
                + (y * stride[1] + element % work.shape.kernel[1]) * work.input.strides[1]
                + x * stride[2] * work.input.strides[2]) * blocks.size
            _place_line(blocks, sums + (line * work.shape.kernel[2] * blocks.together + place - first)
                        * blocks.size, count, out)
            place += count


cdef inline void _place_line(const Blocks* blocks, const char* sums, int64_t count,
                             char* out) noexcept nogil:
    """Elements of as many rows as a line of the window has, by turns."""
    cdef const Convolution* work = blocks.work
    cdef int64_t column, step = work.input.strides[2]
    if work.shape.kernel[2] == 2 and step == 1:
        blocks.kernels.zip_lines(sums, sums + blocks.together * blocks.size, count, out)
        return
    for column in range(work.shape.kernel[2]):
        spread_line(sums + column * blocks.together * blocks.size,
                    out + column * step * blocks.size, work.shape.stride[2] * step, count, blocks.size)
