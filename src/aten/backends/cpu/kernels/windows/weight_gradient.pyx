# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""The gradient of a convolution's weights, in float32 and float64.

It is a sum over images and positions for each pair of channels and each tap: of the gradient at a
position, times what the tap sees there. Planes that the window moves over are copied with their
padding, parted by its steps, so that every tap looks at a run of memory. The gradient is multiplied
with panels of what taps see at some positions after the other. Where it has few channels, it is laid
out with the same distance from line to line as the copies, and sums over a chunk of positions are
held in registers for a few channels and taps. Either way they are added up chunk after chunk, image
after image.

Threads claim pairs of channels. Chunks depend on sizes alone, and so do the bits.
"""

from libc.stdint cimport int64_t, uint16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.base.sizes cimport read_sizes
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, require_memory)
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_MOST_LANES, ATEN_STRETCH, ATEN_VECTORS, aten_weighing, aten_window_tile, aten_windows,
    kernels_of,
)
from aten.backends.cpu.kernels.windows.sliding cimport Sliding, copy_slots, plan_sliding

cdef enum:
    SPATIAL = 3
    # Elements of a copied plane, and of the planes copied by one piece of work.
    PLANE = 1 << 12
    PLANES = 1 << 15
    # Elements of the gradient laid out at a time.
    LAID_OUT = 1 << 20
    # Positions whose lanes share a word of bits.
    WORD = 16
    PIECES_PER_THREAD = 4
    # The same two where panels are multiplied, and pieces; channels of the gradient from which on
    # they are; and elements that a square may write behind a panel's rows.
    PANEL_PLANE = 1 << 10
    PANEL_PLANES = 1 << 16
    PANEL_PIECES = 2
    FEWEST_ROWS = 8
    SQUARE = 16

cdef struct Weighing:
    aten_windows work       # from the wide images to positions of the narrow ones; out: the result
    Sliding sliding
    const char* narrow
    int64_t narrow_batch    # strides
    int64_t narrow_channel
    int64_t narrow_strides[SPATIAL]
    char* lines             # the gradient laid out, image after image, channel after channel
    uint16_t* lanes
    bint multiplies         # the gradient with panels
    int64_t lines_each      # of positions, in a panel; and elements of one
    int64_t length
    int64_t chunks          # of an image
    int64_t line            # elements of a chunk laid out
    int64_t first           # image laid out, and how many
    int64_t images
    int64_t channels        # of the wide images in a piece, and of the narrow ones
    int64_t outputs
    int64_t across          # pieces of a group
    int64_t down
    bint failed


def weigh(Tensor wide not None, Tensor narrow not None, Tensor out not None, stride, padding,
          dilation, int64_t groups):
    """Write the gradient of weights to `out`, row-major (channels of `narrow`, channels of `wide`
    in a group, *), and say whether it is done; False where windows reach too far for it.

    `narrow` has an element for each place of the window that moves over `wide`. The caller has
    checked the sizes. Raises MemoryError.
    """
    cdef Weighing work
    cdef int64_t* numbers
    cdef bint done
    for tensor in (wide, narrow, out):
        require_memory(<TensorImpl>tensor)
    if wide.device_type != CPU or wide.dtype_code not in (FLOAT32, FLOAT64):
        return False
    if out.count == 0 or narrow.count == 0 or wide.count == 0:
        return False
    data_pointer(out)
    _describe(&work, wide, narrow, out, groups)
    numbers = <int64_t*>malloc((SPATIAL + 4) * work.work.taps * sizeof(int64_t))
    if numbers == NULL:
        raise MemoryError("convolution_backward: no memory for the window")
    try:
        _place_taps(&work, out, stride, padding, dilation, numbers)
        work.sliding.work = &work.work
        work.sliding.kernels = kernels_of(wide.dtype_code == FLOAT64)
        work.sliding.size = 8 if wide.dtype_code == FLOAT64 else 4
        work.failed = False
        work.multiplies = _is_dense(&work) and (
            work.work.outputs >= FEWEST_ROWS
            or work.work.sizes[0] * work.work.sizes[1] * work.work.sizes[2] <= ATEN_STRETCH)
        if not plan_sliding(&work.sliding, numbers + SPATIAL * work.work.taps,
                            PANEL_PLANE if work.multiplies else PLANE):
            return False
        if work.sliding.pitch > 4 * work.sliding.columns + 64:
            return False
        with nogil:
            done = _run(&work)
        if not done:
            raise MemoryError("convolution_backward: no memory for planes")
    finally:
        free(numbers)
    count_write(out)
    return True


cdef void _describe(Weighing* work, TensorImpl wide, TensorImpl narrow, TensorImpl out,
                    int64_t groups) noexcept:
    cdef aten_windows* windows = &work.work
    cdef int dim, source
    cdef int rank = wide.rank
    windows.input = const_data_pointer(wide)
    windows.out = data_pointer(out)
    windows.batch = wide.sizes[0]
    windows.groups = groups
    windows.inputs = out.sizes[1]
    windows.outputs = out.sizes[0] // groups
    windows.input_batch = wide.strides[0]
    windows.input_channel = wide.strides[1]
    windows.taps = 1
    work.narrow = <const char*>const_data_pointer(narrow)
    work.narrow_batch = narrow.strides[0]
    work.narrow_channel = narrow.strides[1]
    for dim in range(SPATIAL):
        source = rank - SPATIAL + dim
        windows.input_sizes[dim] = wide.sizes[source] if source >= 2 else 1
        windows.input_strides[dim] = wide.strides[source] if source >= 2 else 0
        windows.sizes[dim] = narrow.sizes[source] if source >= 2 else 1
        work.narrow_strides[dim] = narrow.strides[source] if source >= 2 else 0
        windows.taps *= out.sizes[source] if source >= 2 else 1


cdef int _place_taps(Weighing* work, TensorImpl out, stride, padding, dilation,
                     int64_t* places) except -1:
    cdef aten_windows* windows = &work.work
    cdef int64_t given[SPATIAL][SPATIAL]
    cdef int64_t kernel[SPATIAL]
    cdef int rank = <int>read_sizes(stride, given[0], SPATIAL)
    cdef int dim, source
    cdef int64_t tap, rest, place
    read_sizes(padding, given[1], SPATIAL)
    read_sizes(dilation, given[2], SPATIAL)
    for dim in range(SPATIAL):
        source = dim - (SPATIAL - rank)
        kernel[dim] = out.sizes[source + 2] if source >= 0 else 1
        windows.step[dim] = given[0][source] if source >= 0 else 1
        windows.places[dim] = places + dim * windows.taps
    for tap in range(windows.taps):
        rest = tap
        for dim in range(SPATIAL - 1, -1, -1):
            source = dim - (SPATIAL - rank)
            place = rest % kernel[dim]
            rest //= kernel[dim]
            places[dim * windows.taps + tap] = (
                place * given[2][source] - given[1][source] if source >= 0 else 0)
    return 0


cdef bint _is_dense(const Weighing* work) noexcept:
    """Whether lines of the gradient follow each other in memory."""
    return ((work.narrow_strides[2] == 1 or work.work.sizes[2] == 1)
            and (work.narrow_strides[1] == work.work.sizes[2] or work.work.sizes[1] == 1))


cdef bint _run(Weighing* work) noexcept nogil:
    """False without memory."""
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t channels = work.work.groups * work.work.outputs
    cdef int64_t image, each
    work.chunks = sliding.down * sliding.across
    work.line = (sliding.rows * sliding.pitch + WORD - 1) // WORD * WORD
    each = channels * work.chunks * work.line
    image = min(work.work.batch, max(<int64_t>1, LAID_OUT // each))
    if work.multiplies:
        _cut_panels(work)
        _share_out_panels(work)
        work.first = 0
        work.images = work.work.batch
        parallel_for(work.work.groups * work.across * work.down, 1, _weigh, work)
        return not work.failed
    work.lines = <char*>calloc(image * each, sliding.size)
    work.lanes = <uint16_t*>malloc(work.chunks * work.line // WORD * sizeof(uint16_t))
    if work.lines == NULL or work.lanes == NULL:
        free(work.lines)
        free(work.lanes)
        return False
    _mark_positions(work)
    _share_out(work)
    work.images = image
    work.first = 0
    while work.first < work.work.batch and not work.failed:
        work.images = min(work.images, work.work.batch - work.first)
        parallel_for(work.images * channels * work.chunks,
                     max(<int64_t>1, (1 << 13) // work.line), _lay_out, work)
        parallel_for(work.work.groups * work.across * work.down, 1, _weigh, work)
        work.first += work.images
    free(work.lines)
    free(work.lanes)
    return not work.failed


cdef void _share_out(Weighing* work) noexcept nogil:
    """Choose the pieces of a group."""
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t plane = sliding.slots.count * sliding.height * sliding.pitch
    cdef int64_t wanted = PIECES_PER_THREAD * thread_count() // work.work.groups + 1
    cdef int64_t inputs = work.work.inputs, outputs = work.work.outputs
    work.channels = min(inputs, max(<int64_t>1, PLANES // plane))
    work.channels = min(work.channels, max(<int64_t>1, inputs // wanted))
    work.across = (inputs + work.channels - 1) // work.channels
    work.outputs = outputs
    if work.across < wanted:
        work.outputs = max(<int64_t>4, outputs * work.across // wanted // 4 * 4)
    work.down = (outputs + work.outputs - 1) // work.outputs


cdef void _cut_panels(Weighing* work) noexcept nogil:
    """Choose the positions of a panel: lines, or a part of one."""
    cdef int64_t columns = work.sliding.columns
    cdef int64_t parts = (columns + ATEN_STRETCH - 1) // ATEN_STRETCH
    work.length = (columns + parts - 1) // parts
    work.lines_each = 1
    if columns == work.work.sizes[2]:
        work.lines_each = max(<int64_t>1, ATEN_STRETCH // columns)


cdef void _share_out_panels(Weighing* work) noexcept nogil:
    """Choose the pieces of a group, so that vectors of channels and taps are about full."""
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t plane = sliding.slots.count * sliding.height * sliding.pitch
    cdef int64_t wanted = (PANEL_PIECES * thread_count() + work.work.groups - 1) // work.work.groups
    cdef int64_t inputs = work.work.inputs, outputs = work.work.outputs
    cdef int64_t width = ATEN_VECTORS * sliding.kernels.lanes
    cdef int64_t most = max(<int64_t>1, PANEL_PLANES // plane)
    cdef int64_t channels, rest, least = -1
    most = min(most, (inputs + wanted - 1) // wanted)
    for channels in range(max(<int64_t>1, most // 2), most + 1):
        rest = (width - channels * work.work.taps % width) % width * most // channels
        if least < 0 or rest <= least:
            least = rest
            work.channels = channels
    work.across = (inputs + work.channels - 1) // work.channels
    work.outputs = outputs
    if work.across < wanted:
        work.outputs = (outputs * work.across // wanted + 7) // 8 * 8
        work.outputs = max(<int64_t>FEWEST_ROWS, work.outputs)
    work.down = (outputs + work.outputs - 1) // work.outputs


cdef void _mark_positions(Weighing* work) noexcept nogil:
    """A bit for every element of a chunk that is a position."""
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t words = work.line // WORD
    cdef int64_t chunk, z, y, x, rows, columns, row, column, place
    memset(work.lanes, 0, work.chunks * words * sizeof(uint16_t))
    for chunk in range(work.chunks):
        _find_chunk(work, chunk, &z, &y, &x, &rows, &columns)
        for row in range(rows):
            for column in range(columns):
                place = row * sliding.pitch + column
                work.lanes[chunk * words + place // WORD] |= <uint16_t>(1 << (place % WORD))


cdef void _find_chunk(const Weighing* work, int64_t chunk, int64_t* z, int64_t* y, int64_t* x,
                      int64_t* rows, int64_t* columns) noexcept nogil:
    """Where a chunk begins, and what it has."""
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t bands = sliding.down // work.work.sizes[0]
    cdef int64_t band = chunk // sliding.across
    z[0] = band // bands
    y[0] = band % bands * sliding.rows
    x[0] = chunk % sliding.across * sliding.columns
    rows[0] = min(sliding.rows, work.work.sizes[1] - y[0])
    columns[0] = min(sliding.columns, work.work.sizes[2] - x[0])


cdef void _lay_out(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Chunks of the gradient; what is no position stays as it is, and does not count."""
    cdef const Weighing* work = <const Weighing*>context
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t channels = work.work.groups * work.work.outputs
    cdef int64_t index, image, channel, z, y, x, rows, columns
    for index in range(begin, end):
        image = work.first + index // (channels * work.chunks)
        channel = index // work.chunks % channels
        _find_chunk(work, index % work.chunks, &z, &y, &x, &rows, &columns)
        sliding.kernels.copy_lines(
            work.narrow + (image * work.narrow_batch + channel * work.narrow_channel
                           + z * work.narrow_strides[0] + y * work.narrow_strides[1]
                           + x * work.narrow_strides[2]) * sliding.size,
            work.narrow_strides[1], work.narrow_strides[2], 0, columns, columns, rows,
            work.lines + index * work.line * sliding.size, sliding.pitch)


cdef void _weigh(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Pieces begin … end, for the images that are laid out."""
    cdef Weighing* work = <Weighing*>context
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t taps = work.work.taps
    cdef int64_t plane = sliding.slots.count * sliding.height * sliding.pitch
    cdef int64_t held = (work.channels * plane + WORD) * sliding.size
    cdef int64_t panels = (ATEN_VECTORS * ATEN_MOST_LANES * (ATEN_STRETCH + SQUARE) * sliding.size
                           if work.multiplies else 0)
    cdef char* copied = <char*>malloc(held + work.channels * taps * <int64_t>sizeof(int64_t) + 64
                                      + panels + 64)
    cdef int64_t* offsets = <int64_t*>(copied + (held + 63) // 64 * 64)
    cdef int64_t index, piece, group, channel, tap
    if copied == NULL:
        work.failed = True
        return
    # Vectors are loaded whole; what is behind a plane is to be no denormal number.
    memset(copied, 0, held)
    for channel in range(work.channels):
        for tap in range(taps):
            offsets[channel * taps + tap] = channel * plane + sliding.slots.offsets[tap]
    for index in range(begin, end):
        group = index // (work.across * work.down)
        piece = index % (work.across * work.down)
        _weigh_piece(work, group, piece // work.down * work.channels,
                     piece % work.down * work.outputs, copied, plane, offsets)
    free(copied)


cdef void _weigh_piece(const Weighing* work, int64_t group, int64_t input, int64_t output,
                       char* copied, int64_t plane, const int64_t* offsets) noexcept nogil:
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t taps = work.work.taps, size = sliding.size
    cdef int64_t channels = min(work.channels, work.work.inputs - input)
    cdef int64_t row = group * work.work.outputs + output
    cdef int64_t all_rows = work.work.groups * work.work.outputs
    cdef int64_t image, chunk, channel, z, y, x, rows, columns
    cdef aten_weighing block
    block.rows = min(work.outputs, work.work.outputs - output)
    block.columns = channels * taps
    block.data = copied
    block.offsets = offsets
    block.gradient_row = work.chunks * work.line
    block.out_row = work.work.inputs * taps
    block.out = <char*>work.work.out + (row * block.out_row + input * taps) * size
    for image in range(work.images):
        for chunk in range(work.chunks):
            _find_chunk(work, chunk, &z, &y, &x, &rows, &columns)
            for channel in range(channels):
                copy_slots(sliding, work.first + image,
                           group * work.work.inputs + input + channel, z, y, x, rows,
                           copied + channel * plane * size)
            if work.multiplies:
                block.adds = image > 0 or chunk > 0
                _multiply_chunk(work, &block, image, row, chunk,
                                <char*>(offsets + work.channels * taps))
                continue
            block.count = (rows - 1) * sliding.pitch + columns
            block.lanes = work.lanes + chunk * work.line // WORD
            block.gradient = work.lines + (
                (image * all_rows + row) * work.chunks + chunk) * work.line * size
            block.adds = work.first + image > 0 or chunk > 0
            sliding.kernels.weigh(&block)


cdef void _multiply_chunk(const Weighing* work, const aten_weighing* block, int64_t image,
                          int64_t row, int64_t chunk, char* memory) noexcept nogil:
    """What `weigh` does, where lanes are channels and taps: panel after panel of positions."""
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t size = sliding.size
    cdef int64_t z, y, x, rows, columns, line = 0, lines, first, length
    cdef const char* gradient
    cdef aten_weighing part = block[0]
    _find_chunk(work, chunk, &z, &y, &x, &rows, &columns)
    gradient = work.narrow + (image * work.narrow_batch + row * work.narrow_channel
                              + z * work.narrow_strides[0] + y * work.narrow_strides[1]
                              + x) * size
    while line < rows:
        lines = min(work.lines_each, rows - line)
        first = 0
        while first < columns:
            length = min(work.length, columns - first)
            part.gradient = gradient + (line * work.narrow_strides[1] + first) * size
            part.data = <const char*>block.data + (line * sliding.pitch + first) * size
            _multiply_panels(work, &part, lines, length,
                             <char*>((<size_t>memory + 63) // 64 * 64))
            part.adds = True
            first += length
        line += lines


cdef void _multiply_panels(const Weighing* work, const aten_weighing* block, int64_t lines,
                           int64_t length, char* panel) noexcept nogil:
    """Some lines of positions, for all rows and columns of a block."""
    cdef const Sliding* sliding = &work.sliding
    cdef int64_t size = sliding.size
    # Whole squares, too.
    cdef int64_t lanes = max(<int64_t>4, sliding.kernels.lanes)
    cdef int64_t vectors = (block.columns + lanes - 1) // lanes
    cdef int64_t strips = (vectors + ATEN_VECTORS - 1) // ATEN_VECTORS
    cdef int64_t column = 0, line
    cdef aten_window_tile tile
    if sliding.kernels.lanes < lanes:
        strips = vectors
    memset(&tile, 0, sizeof(tile))
    tile.left = block.gradient
    tile.left_row = work.narrow_channel
    tile.right = panel
    tile.depth = lines * length
    tile.adds = block.adds
    tile.out_row = block.out_row
    while column < block.columns:
        tile.width = (vectors + strips - 1) // strips * lanes
        tile.columns = min(tile.width, block.columns - column)
        for line in range(lines):
            sliding.kernels.turn_lines(<const char*>block.data + line * sliding.pitch * size,
                                       block.offsets + column, tile.columns, length,
                                       panel + line * length * tile.width * size, tile.width)
        if tile.columns < tile.width:
            for line in range(tile.depth):
                memset(panel + (line * tile.width + tile.columns) * size, 0,
                       (tile.width - tile.columns) * size)
        tile.out = <char*>block.out + column * size
        sliding.kernels.multiply(&tile, block.rows)
        column += tile.width
        vectors -= tile.width // lanes
        strips -= 1
