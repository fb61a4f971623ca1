# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions of images whose channels are neighbours in memory, in float32 and float64.

A position sees runs of memory: for every line of the window, its taps' channels one after the
other. So lines of positions are rows of a product, read where they lie, and weights are its panels,
turned once for each call. Images with padding are copied with it, a few lines at a time. Channels
that see one channel each go their own way, in channel_slides.pyx.

Threads claim lines of the result, and strips of its channels. A result is summed over the lines of
the window, in stretches that sizes alone decide: its bits depend neither on threads nor on what
lies beside it.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.base.sizes cimport read_sizes
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, require_memory)
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.windows.channel_slides cimport slide_channels_last
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_CUT, ATEN_STRETCH, ATEN_VECTORS, aten_finish, aten_window_tile, kernels_of, read_finish,
)
from aten.backends.cpu.kernels.windows.winograd cimport suit_tiles

cdef enum:
    # Elements of a copy with padding: it stays in the second cache.
    COPIED = 1 << 16
    PIECES_PER_THREAD = 4
    # Channels from which on images are turned for fewer multiplications.
    FEWEST_TURNED = 32
    # Rows of the largest tile, and positions of a part of a line at least.
    MOST_ROWS = 8
    FEW_POSITIONS = 32
    # Padding that would make an image so many times as large is not copied.
    MOST_PADDING = 4


def suits_last(Tensor input not None, Tensor weight not None, Tensor bias, sizes, stride, padding,
               dilation, int64_t groups):
    """Whether `convolve_last` is for a convolution with a result of these sizes; other windows are
    better served by planes."""
    cdef Lines work
    cdef int64_t seen[4]
    if input.device_type != CPU or input.dtype_code not in (FLOAT32, FLOAT64):
        return False
    if input.count == 0 or bias is not None and bias.strides[0] != 1:
        return False
    read_sizes(sizes, seen, 4)
    if seen[0] * seen[1] * seen[2] * seen[3] == 0:
        return False
    _describe(&work, input, weight, seen, stride, padding, dilation)
    return _is_depthwise(&work, groups) or groups == 1 and _suits_lines(&work)


def convolve_last(Tensor input not None, Tensor weight not None, Tensor bias, Tensor out not None,
                  stride, padding, dilation, int64_t groups, finish=None):
    """Write the convolution of a batch of images to `out`, both with channels last and without gaps.

    The caller has checked sizes, types and the orders of images, and that `suits_last` says so.
    `finish` is what `read_finish` takes. Raises MemoryError.
    """
    cdef Lines work
    cdef aten_finish finishing
    cdef bint is_depthwise
    _describe(&work, input, weight, out.sizes, stride, padding, dilation)
    is_depthwise = _is_depthwise(&work, groups)
    weight = (<object>weight).contiguous(
        memory_format=MEMORY_FORMATS["contiguous_format" if is_depthwise else "channels_last"])
    for tensor in (weight, bias, out):
        require_memory(<TensorImpl>tensor)
    # Making a tensor may run the code of others.
    _describe(&work, input, weight, out.sizes, stride, padding, dilation)
    work.input = <const char*>const_data_pointer(input)
    work.out = data_pointer(out)
    work.finish = NULL
    if finish is not None:
        read_finish(&finishing, out, finish)
        work.finish = &finishing
    work.bias = NULL if bias is None else <const char*>const_data_pointer(bias)
    work.weight = <const char*>const_data_pointer(weight)
    with nogil:
        work.failed = not (slide_channels_last(&work) if is_depthwise else _multiply_all(&work))
    if work.failed:
        raise MemoryError("convolution: no memory for weights and lines")
    count_write(out)


cdef inline bint _is_depthwise(const Lines* work, int64_t groups) noexcept:
    return groups == work.channels and groups == work.outputs


cdef int _describe(Lines* work, TensorImpl input, TensorImpl weight, const int64_t* seen, stride,
                   padding, dilation) except -1:
    cdef int dim
    read_sizes(stride, work.stride, 2)
    read_sizes(padding, work.padding, 2)
    read_sizes(dilation, work.dilation, 2)
    work.kernels = kernels_of(input.dtype_code == FLOAT64)
    work.size = 8 if input.dtype_code == FLOAT64 else 4
    work.batch = input.sizes[0]
    work.channels = input.sizes[1]
    work.outputs = seen[1]
    work.failed = False
    for dim in range(2):
        work.sizes[dim] = input.sizes[dim + 2]
        work.seen[dim] = seen[dim + 2]
        work.kernel[dim] = weight.sizes[dim + 2]
    return 0


cdef bint _suits_lines(const Lines* work) noexcept:
    """Whether lines as they lie take less than planes, for which images are turned."""
    cdef int64_t weights = work.kernel[0] * work.kernel[1] * work.channels * work.outputs
    cdef int64_t line = (work.sizes[1] + 2 * work.padding[1]) * work.channels
    cdef int64_t reach = (work.kernel[0] - 1) * work.dilation[0] + 1
    if work.dilation[1] != 1 and work.kernel[1] != 1:
        return False
    if _has_tiles(work):
        return False
    # Turning weights takes longer than turning as many elements of images. What is beside an image
    # does not count: it is not to change bits.
    if weights > (work.channels * work.sizes[0] * work.sizes[1]
                  + work.outputs * work.seen[0] * work.seen[1]):
        return False
    if work.padding[0] == work.padding[1] == 0:
        return True
    return work.padding[1] <= MOST_PADDING * work.sizes[1] and reach <= COPIED * 4 // line


cdef bint _has_tiles(const Lines* work) noexcept:
    """Whether planes have so much less to multiply that turning images is worth it."""
    cdef int dim
    for dim in range(2):
        if work.kernel[dim] != 3 or work.stride[dim] != 1 or work.dilation[dim] != 1:
            return False
    return (work.size == 4 and min(work.channels, work.outputs) >= FEWEST_TURNED
            and suit_tiles(work.channels, work.outputs, work.seen[0], work.seen[1]))


cdef bint _multiply_all(Lines* work) noexcept nogil:
    """False where memory was not to be had."""
    cdef int64_t count
    _cut(work)
    count = work.kernel[0] * work.kernel[1] * work.channels * work.width * work.strips
    work.turned = <char*>malloc(count * work.size + 64)
    if work.turned == NULL:
        return False
    parallel_for(work.strips, 1, _turn_strips, work)
    parallel_for(work.batch * work.across * work.down, 1, _run, work)
    free(work.turned)
    return not work.failed


cdef void _cut(Lines* work) noexcept nogil:
    """Choose strips and pieces."""
    cdef int64_t wanted = PIECES_PER_THREAD * thread_count()
    cdef int lanes = work.kernels.lanes
    cdef int64_t vectors = (work.outputs + lanes - 1) // lanes
    cdef int64_t line, reach, lines
    work.strips = (vectors + ATEN_VECTORS - 1) // ATEN_VECTORS
    work.width = (vectors + work.strips - 1) // work.strips * lanes
    work.strips = (work.outputs + work.width - 1) // work.width
    work.is_copied = work.padding[0] > 0 or work.padding[1] > 0
    work.is_line = not work.is_copied and (
        work.kernel[0] * work.kernel[1] == work.stride[0] == work.stride[1] == 1)
    if work.is_line:
        _cut_positions(work)
        return
    line = (work.sizes[1] + 2 * work.padding[1]) * work.channels
    reach = (work.kernel[0] - 1) * work.dilation[0] + 1
    lines = max(<int64_t>1, COPIED // line - reach) // work.stride[0]
    lines = min(max(<int64_t>1, lines), work.seen[0])
    lines = min(lines, max(<int64_t>1, work.seen[0] * work.batch // wanted))
    work.across = (work.seen[0] + lines - 1) // lines
    work.lines = (work.seen[0] + work.across - 1) // work.across
    work.across = (work.seen[0] + work.lines - 1) // work.lines
    _cut_strips(work, wanted // 2)


cdef void _cut_positions(Lines* work) noexcept nogil:
    """Positions of all images are one line, which is cut into as many parts for each thread, of which
    the second cache has room for what they see."""
    cdef int64_t positions = work.batch * work.seen[0] * work.seen[1]
    cdef int64_t threads = thread_count()
    cdef int64_t most = threads * max(<int64_t>FEW_POSITIONS, COPIED // work.channels)
    work.batch = work.sizes[0] = work.seen[0] = work.lines = 1
    work.sizes[1] = work.seen[1] = positions
    work.across = threads * ((positions + most - 1) // most)
    work.across = min(work.across, max(<int64_t>1, positions // FEW_POSITIONS))
    _cut_strips(work, threads)


cdef inline int64_t _first_of_part(const Lines* work, int64_t part) noexcept nogil:
    """Its first position: parts have whole tiles, but for the last one."""
    if part == work.across:
        return work.seen[1]
    return part * work.seen[1] // work.across // MOST_ROWS * MOST_ROWS


cdef void _cut_strips(Lines* work, int64_t wanted) noexcept nogil:
    """Where pieces are fewer than wanted, threads share strips of channels, too."""
    cdef int64_t pieces = work.batch * work.across
    work.strips_each = work.strips
    work.down = 1
    if pieces < wanted:
        work.down = min(work.strips, (PIECES_PER_THREAD * thread_count() + pieces - 1) // pieces)
        work.strips_each = (work.strips + work.down - 1) // work.down
        work.down = (work.strips + work.strips_each - 1) // work.strips_each


cdef void _turn_strips(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Lines* work = <const Lines*>context
    cdef int64_t depth = work.kernel[0] * work.kernel[1] * work.channels
    cdef int64_t strip, first, columns
    cdef char* panel
    for strip in range(begin, end):
        first = strip * work.width
        columns = min(work.width, work.outputs - first)
        panel = work.turned + strip * depth * work.width * work.size
        if columns < work.width:
            memset(panel, 0, depth * work.width * work.size)
        work.kernels.turn(work.weight + first * depth * work.size, depth, columns, depth, panel,
                          work.width)


cdef void _run(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Pieces begin … end of all images."""
    cdef Lines* work = <Lines*>context
    cdef int64_t height = ((work.lines - 1) * work.stride[0]
                           + (work.kernel[0] - 1) * work.dilation[0] + 1)
    cdef int64_t pitch = (work.sizes[1] + 2 * work.padding[1]) * work.channels * work.size
    cdef char* copied = NULL
    cdef const char* data
    cdef int64_t index, image, piece, line, lines, source, first
    if work.is_copied:
        copied = <char*>malloc(height * pitch)
        if copied == NULL:
            work.failed = True
            return
    for index in range(begin, end):
        image = index // (work.across * work.down)
        piece = index % (work.across * work.down)
        line = piece // work.down * work.lines
        lines = min(work.lines, work.seen[0] - line)
        if work.is_line:
            first = _first_of_part(work, piece // work.down)
            _multiply_lines(work, work.input + first * work.channels * work.size,
                            work.out + first * work.outputs * work.size, 1,
                            _first_of_part(work, piece // work.down + 1) - first,
                            piece % work.down * work.strips_each, 0)
            continue
        source = line * work.stride[0] - work.padding[0]
        data = work.input + image * work.sizes[0] * work.sizes[1] * work.channels * work.size
        if work.is_copied:
            _copy_lines(work, data, source, (lines - 1) * work.stride[0]
                        + (work.kernel[0] - 1) * work.dilation[0] + 1, copied, pitch)
            data = copied
        else:
            data += source * pitch
        _multiply_lines(work, data, _line_of(work, image, line), lines, work.seen[1],
                        piece % work.down * work.strips_each, pitch // work.size)
    free(copied)


cdef void _copy_lines(const Lines* work, const char* image, int64_t first, int64_t lines,
                      char* copied, int64_t pitch) noexcept nogil:
    """Lines from `first` on with zeros around them."""
    cdef int64_t pixel = work.channels * work.size
    cdef int64_t margin = work.padding[1] * pixel
    cdef int64_t line
    cdef char* to
    for line in range(lines):
        to = copied + line * pitch
        if not 0 <= first + line < work.sizes[0]:
            memset(to, 0, pitch)
            continue
        memset(to, 0, margin)
        memcpy(to + margin, image + (first + line) * work.sizes[1] * pixel,
               work.sizes[1] * pixel)
        memset(to + pitch - margin, 0, margin)


cdef inline char* _line_of(const Lines* work, int64_t image, int64_t line) noexcept nogil:
    return work.out + ((image * work.seen[0] + line) * work.seen[1] * work.outputs) * work.size


cdef void _multiply_lines(const Lines* work, const char* data, char* out, int64_t lines,
                          int64_t positions, int64_t strip, int64_t pitch) noexcept nogil:
    """Lines of so many positions times strips of weights, one line of the window after the other."""
    cdef int64_t size = work.size
    cdef int64_t run = work.kernel[1] * work.channels
    cdef int64_t end = min(strip + work.strips_each, work.strips)
    cdef int64_t stretches = (run + ATEN_STRETCH - 1) // ATEN_STRETCH
    cdef int64_t stretch = (run + stretches - 1) // stretches
    cdef int64_t height, begin, line, column
    cdef aten_window_tile tile
    memset(&tile, 0, sizeof(tile))
    tile.width = work.width
    tile.left_row = work.stride[1] * work.channels
    tile.out_row = work.outputs
    while strip < end:
        column = strip * work.width
        tile.columns = min(work.width, work.outputs - column)
        for height in range(work.kernel[0]):
            begin = 0
            while begin < run:
                tile.depth = min(stretch, run - begin)
                if height == work.kernel[0] - 1 and begin + stretch >= run:
                    tile.finish = work.finish
                # What products are added to: the bias of these channels, or nothing, or sums.
                tile.adds = work.bias != NULL or height > 0 or begin > 0
                tile.addend = NULL
                if work.bias != NULL and height == 0 and begin == 0:
                    tile.addend = work.bias + column * size
                tile.right = work.turned + (
                    (strip * work.kernel[0] + height) * run + begin) * work.width * size
                for line in range(lines):
                    tile.left = data + (
                        (line * work.stride[0] + height * work.dilation[0]) * pitch + begin) * size
                    tile.out = out + (line * positions * work.outputs + column) * size
                    work.kernels.multiply(&tile, positions)
                    if tile.finish != NULL and tile.finish.activation != ATEN_CUT:
                        work.kernels.finish(tile.finish, False, tile.out, tile.out_row,
                                            positions, tile.columns)
                begin += stretch
        tile.finish = NULL
        strip += 1
