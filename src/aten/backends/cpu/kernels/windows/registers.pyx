# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions of bfloat16 by tile registers: images copied as they need them, weights packed, and
blocks of up to 32 positions times 32 channels of the result.

Positions are those of the copy, one line after the other: between the lines of the result lie as many
as windows reach further, whose sums nobody reads. A copy has an image for each remainder by the stride
that a tap sees, so what a tap sees of neighbours are neighbours. Where channels are few, what the taps
of a line see of them are channels of the copy.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport BFLOAT16
from aten._core.base.sizes cimport read_sizes
from aten._core.memory.storage cimport Storage, allocate
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, require_memory)
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.matrix.gemm cimport has_tile_registers
from aten.backends.cpu.kernels.windows.images cimport (SPATIAL, Image, Window, read_image,
                                                        read_window)

cdef extern from "convolution_registers.h" nogil:
    enum:
        ATEN_REGISTER_SIDE
        ATEN_REGISTER_CHANNELS
        ATEN_REGISTER_BYTES
    ctypedef struct aten_register_line:
        const uint16_t* lines[32]
        int64_t places[32]
        int64_t step, length, count
        uint32_t* to
    ctypedef struct aten_register_run:
        const uint16_t* line
        int64_t channels, place, step, apart, length, count
        uint32_t* to
    ctypedef struct aten_register_weights:
        const uint16_t* weights
        int64_t row, outputs, neighbours
        int64_t first[16]
        int64_t second[16]
        uint32_t* to
    ctypedef struct aten_register_piece:
        int64_t lane, count, out
    ctypedef struct aten_register_block:
        const char* image
        const char* weights
        const int64_t* offsets
        int64_t steps, downs, vectors, outputs
        const float* bias
        int64_t bias_step
        uint16_t* out
        int64_t out_channel, out_position
        int last
        int64_t pieces[2]
        aten_register_piece piece[2][16]
    void aten_register_copy_line(const aten_register_line* work)
    void aten_register_copy_run(const aten_register_run* work)
    void aten_register_pack_weights(const aten_register_weights* work)
    void aten_register_multiply(const aten_register_block* work)
    void aten_register_begin()
    void aten_register_end()

cdef enum:
    # The longest stride, and channels of the result below which too few are multiplied.
    MOST_STEP = 8
    FEWEST_OUTPUTS = 8
    # Multiplications for one that counts, from which on others are faster.
    MOST_WASTE = 3
    # Bytes of a position of a copy, and positions of a block and of a task.
    POSITION = 64
    BLOCK = 32
    TOGETHER = 8 * BLOCK
    # Elements worth a thread's claim, and tasks for each thread.
    CLAIM = 1 << 14
    TASKS = 4
    # Elements of a row of weights that a lane of 32 bits counts.
    LONGEST_ROW = 1 << 26
    # Bytes of copies up to which images are copied before they are multiplied; at least one is.
    COPIED = 1 << 27

cdef struct Registers:
    const uint16_t* weight
    const float* bias
    uint16_t* out
    Image seen
    Image made
    int64_t batch, groups, inputs, outputs, bias_step
    Window window
    bint last               # whether channels are neighbours, and positions are not
    bint folds              # whether taps of a line are channels of the copy
    int64_t taps[SPATIAL]   # that are steps of the depth
    int64_t channels        # of the copy, in blocks of 32
    int64_t blocks
    # Remainders by the stride that taps see, how many, and which of them each is.
    int64_t phases[SPATIAL]
    int64_t phase[SPATIAL][MOST_STEP]
    int64_t slot[SPATIAL][MOST_STEP]
    int64_t plane[SPATIAL]  # positions of a block of the copy
    int64_t positions
    int64_t copied          # bytes of the copy of an image's group
    int64_t first           # of the images that are copied at a time
    int64_t round           # as many of them
    int64_t span            # positions from the first of the result to the last
    int64_t steps
    int64_t tiles           # of sixteen channels of the result
    int64_t together        # positions of a task
    int64_t parts           # tasks for these: of all channels of the result, or of 32 each
    int64_t* offsets
    char* image
    char* weights


def suits_registers(Tensor input not None, Tensor weight not None, sizes, bint last, stride,
                    padding, dilation, int64_t groups):
    """Whether `convolve_in_registers` is for a convolution with a result of these sizes, of images with
    neighbouring channels if `last` and row-major ones otherwise. False where the processor has no tile
    registers, or other kernels are faster."""
    cdef Registers work
    if not has_tile_registers() or input.device_type != CPU:
        return False
    if input.dtype_code != BFLOAT16 or weight.dtype_code != BFLOAT16 or input.rank > 2 + SPATIAL:
        return False
    if input.count == 0 or weight.count == 0 or 0 in sizes:
        return False
    if last and input.sizes[1] > 1 and weight.sizes[1] == 1:
        return False
    _describe(&work, input, weight, groups)
    work.last = last and weight.sizes[1] > 1
    _read_sizes(work.made.sizes, sizes)
    read_window(&work.window, weight, stride, padding, dilation)
    return _is_suited(&work) and _lay_out(&work)


def convolve_in_registers(Tensor input not None, Tensor weight not None, Tensor bias,
                          Tensor out not None, stride, padding, dilation, int64_t groups):
    """Write the convolution of `input` to `out`.

    All of bfloat16, but `bias` of float32; `weight` is row-major, and images have lines or channels that
    are neighbours. The caller has checked sizes, and that `suits_registers` says so. Raises MemoryError.
    """
    cdef Registers work
    cdef Storage image, weights, offsets
    for tensor in (input, weight, bias, out):
        require_memory(<TensorImpl>tensor)
    # Writing first, as reading may follow a change of memory.
    work.out = <uint16_t*>data_pointer(out)
    _describe(&work, input, weight, groups)
    read_image(&work.seen, input)
    read_image(&work.made, out)
    read_window(&work.window, weight, stride, padding, dilation)
    work.last = work.seen.channel_stride == 1 and work.inputs > 1
    if not (_is_suited(&work) and _lay_out(&work)):
        raise RuntimeError("convolution: tile registers are not for these windows")
    work.round = min(work.batch, max(<int64_t>1, <int64_t>COPIED // (groups * work.copied)))
    image = allocate(work.round * groups * work.copied + BLOCK * POSITION, CPU, -1)
    weights = allocate(groups * work.tiles * work.steps * ATEN_REGISTER_BYTES, CPU, -1)
    offsets = allocate(work.steps * sizeof(int64_t), CPU, -1)
    work.weight = <const uint16_t*>const_data_pointer(weight)
    work.bias = NULL
    if bias is not None:
        work.bias = <const float*>const_data_pointer(bias)
        work.bias_step = bias.strides[0]
    work.image, work.weights = image.data, weights.data
    work.offsets = <int64_t*>offsets.data
    with nogil:
        _convolve(&work)
    count_write(out)


cdef void _describe(Registers* work, TensorImpl input, TensorImpl weight, int64_t groups) noexcept:
    work.batch = input.sizes[0]
    work.groups = groups
    work.inputs = weight.sizes[1]
    work.outputs = weight.sizes[0] // groups


cdef int _read_sizes(int64_t* into, sizes) except -1:
    """Those of spatial dimensions, of which there may be fewer."""
    cdef int64_t given[2 + SPATIAL]
    cdef int rank = <int>read_sizes(sizes, given, 2 + SPATIAL)
    cdef int dim, source
    for dim in range(SPATIAL):
        source = rank - SPATIAL + dim
        into[dim] = given[source] if source >= 2 else 1
    return 0


cdef inline int64_t _blocks_of(int64_t channels) noexcept nogil:
    return (channels + ATEN_REGISTER_CHANNELS - 1) // ATEN_REGISTER_CHANNELS


cdef bint _is_suited(Registers* work) noexcept:
    """Whether the copy has what registers need, and they multiply little that does not count."""
    cdef int64_t lines = work.window.kernel[0] * work.window.kernel[1], across = work.window.kernel[2]
    cdef int64_t row = work.inputs * lines * across, apart, folded, steps
    cdef int dim
    for dim in range(SPATIAL):
        if work.window.stride[dim] > MOST_STEP:
            return False
    if work.outputs < FEWEST_OUTPUTS or row < 2 or row >= LONGEST_ROW:
        return False
    apart = lines * across * _blocks_of(work.inputs)
    folded = lines * _blocks_of(work.inputs * across)
    work.folds = folded < apart and not work.last
    steps = folded if work.folds else apart
    work.tiles = (work.outputs + ATEN_REGISTER_SIDE - 1) // ATEN_REGISTER_SIDE
    return (steps * ATEN_REGISTER_CHANNELS * work.tiles * ATEN_REGISTER_SIDE
            <= MOST_WASTE * row * work.outputs)


cdef bint _lay_out(Registers* work) noexcept:
    """Sizes of the copy and of tasks; False where the result has far fewer positions than the copy."""
    cdef int64_t across = SPATIAL - 1, count, tap, phase, reach
    cdef int dim
    work.channels = work.inputs
    work.positions = 1
    work.copied = POSITION
    work.span = 0
    for dim in range(SPATIAL):
        work.taps[dim] = work.window.kernel[dim]
        if work.folds and dim == across:
            work.channels *= work.window.kernel[dim]
            work.taps[dim] = 1
        memset(work.slot[dim], 0xff, sizeof(work.slot[dim]))
        count = reach = 0
        for tap in range(work.taps[dim]):
            phase = tap * work.window.dilation[dim] % work.window.stride[dim]
            reach = max(reach, tap * work.window.dilation[dim] // work.window.stride[dim])
            if work.slot[dim][phase] < 0:
                work.slot[dim][phase] = count
                work.phase[dim][count] = phase
                count += 1
        work.phases[dim] = count
        work.copied *= count
        work.plane[dim] = work.made.sizes[dim] + reach
        work.positions *= work.plane[dim]
        work.span = work.span * work.plane[dim] + work.made.sizes[dim] - 1
    work.span += 1
    work.blocks = _blocks_of(work.channels)
    work.copied *= work.positions * work.blocks
    work.steps = work.taps[0] * work.taps[1] * work.taps[2] * work.blocks
    count = work.made.sizes[0] * work.made.sizes[1] * work.made.sizes[2]
    if work.positions > MOST_WASTE * count + BLOCK:
        return False
    count = work.batch * work.groups
    work.together = TOGETHER
    while (work.together > BLOCK
           and count * (work.span // work.together) < TASKS * thread_count()):
        work.together //= 2
    work.parts = 1
    if count * (work.span // work.together) < TASKS * thread_count():
        work.parts = (work.tiles + 1) // 2
    return True


cdef void _convolve(Registers* work) noexcept nogil:
    cdef int64_t lines = work.phases[0] * work.phases[1] * work.phases[2] * work.blocks
    cdef int64_t stretches = (work.span + work.together - 1) // work.together
    cdef int64_t images, index
    lines *= work.plane[0] * work.plane[1]
    _place_steps(work)
    parallel_for(work.groups * work.tiles * work.blocks,
                 max(<int64_t>1, CLAIM // 512 * work.blocks // work.steps), _pack_weights, work)
    for index in range((work.batch + work.round - 1) // work.round):
        work.first = index * work.round
        images = min(work.round, work.batch - work.first) * work.groups
        parallel_for(images * lines,
                     max(<int64_t>1, CLAIM // (ATEN_REGISTER_CHANNELS * work.plane[2])),
                     _copy_lines, work)
        parallel_for(images * stretches * work.parts, 1, _multiply, work)


cdef void _place_steps(const Registers* work) noexcept nogil:
    """Bytes from a position to what each step of the depth sees of the copy."""
    cdef int64_t step, tap, rest, image, place, at, reach
    cdef int64_t within[SPATIAL]
    cdef int dim
    for step in range(work.steps):
        tap = step // work.blocks
        rest = tap
        for dim in range(SPATIAL - 1, -1, -1):
            within[dim] = rest % work.taps[dim]
            rest //= work.taps[dim]
        image = place = 0
        for dim in range(SPATIAL):
            reach = within[dim] * work.window.dilation[dim]
            at = work.slot[dim][reach % work.window.stride[dim]]
            image = image * work.phases[dim] + at
            place = place * work.plane[dim] + reach // work.window.stride[dim]
        image = image * work.blocks + step % work.blocks
        work.offsets[step] = (image * work.positions + place) * POSITION


cdef void _copy_lines(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Lines of the copies of all images."""
    cdef const Registers* work = <const Registers*>context
    cdef int64_t index, rest, image, block, z, y, x
    cdef const uint16_t* source
    cdef char* to
    for index in range(begin, end):
        to = work.image + index * work.plane[2] * POSITION
        y = index % work.plane[1]
        rest = index // work.plane[1]
        z = rest % work.plane[0]
        rest //= work.plane[0]
        block = rest % work.blocks
        rest //= work.blocks
        x = work.phase[2][rest % work.phases[2]]
        rest //= work.phases[2]
        y = y * work.window.stride[1] + work.phase[1][rest % work.phases[1]] - work.window.padding[1]
        rest //= work.phases[1]
        z = z * work.window.stride[0] + work.phase[0][rest % work.phases[0]] - work.window.padding[0]
        image = rest // work.phases[0]
        if z < 0 or z >= work.seen.sizes[0] or y < 0 or y >= work.seen.sizes[1]:
            memset(to, 0, work.plane[2] * POSITION)
            continue
        source = (<const uint16_t*>work.seen.data
                  + (work.first + image // work.groups) * work.seen.batch_stride
                  + image % work.groups * work.inputs * work.seen.channel_stride
                  + z * work.seen.strides[0] + y * work.seen.strides[1])
        if work.last:
            _copy_run(work, source, block, x, <uint32_t*>to)
        else:
            _copy_line(work, source, block, x, <uint32_t*>to)

cdef void _copy_line(const Registers* work, const uint16_t* source, int64_t block, int64_t phase,
                     uint32_t* to) noexcept nogil:
    """A line of 32 channels of the copy; `source` is that of the first channel."""
    cdef aten_register_line line
    cdef int64_t channel, index, taps = work.window.kernel[2] if work.folds else 1
    line.step = work.window.stride[2]
    line.length = work.seen.sizes[2]
    line.count = work.plane[2]
    line.to = to
    for index in range(ATEN_REGISTER_CHANNELS):
        channel = block * ATEN_REGISTER_CHANNELS + index
        line.lines[index] = NULL
        if channel < work.channels:
            line.lines[index] = source + channel // taps * work.seen.channel_stride
            line.places[index] = channel % taps * work.window.dilation[2] + phase - work.window.padding[2]
    aten_register_copy_line(&line)


cdef void _copy_run(const Registers* work, const uint16_t* source, int64_t block, int64_t phase,
                    uint32_t* to) noexcept nogil:
    """The same of channels that are neighbours."""
    cdef aten_register_run run
    cdef int64_t channel = block * ATEN_REGISTER_CHANNELS
    run.line = source + channel
    run.channels = min(<int64_t>ATEN_REGISTER_CHANNELS, work.channels - channel)
    run.place = phase - work.window.padding[2]
    run.step = work.window.stride[2]
    run.apart = work.seen.strides[2]
    run.length = work.seen.sizes[2]
    run.count = work.plane[2]
    run.to = to
    aten_register_copy_run(&run)


cdef inline int64_t _offset_of(const Registers* work, int64_t tap, int64_t channel) noexcept nogil:
    """Where the weight of a channel of the copy lies in a row of weights; -1 for what fills it up."""
    cdef int64_t across = work.window.kernel[2], lines = work.window.kernel[0] * work.window.kernel[1]
    if channel >= work.channels:
        return -1
    if work.folds:
        return (channel // across * lines + tap) * across + channel % across
    return channel * lines * across + tap


cdef void _pack_weights(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Registers of weights: for sixteen channels of the result and a block of channels, all taps."""
    cdef const Registers* work = <const Registers*>context
    cdef int64_t index, group, tile, block, channel, tap, place
    cdef int64_t taps = work.steps // work.blocks
    cdef aten_register_weights some
    some.row = work.inputs * work.window.kernel[0] * work.window.kernel[1] * work.window.kernel[2]
    some.neighbours = 0
    for index in range(begin, end):
        block = index % work.blocks
        tile = index // work.blocks % work.tiles
        group = index // work.blocks // work.tiles
        channel = tile * ATEN_REGISTER_SIDE
        some.outputs = work.outputs - channel
        some.weights = work.weight + (group * work.outputs + channel) * some.row
        if some.row == work.inputs:
            some.neighbours = min(<int64_t>ATEN_REGISTER_CHANNELS,
                                  work.inputs - block * ATEN_REGISTER_CHANNELS)
            some.weights += block * ATEN_REGISTER_CHANNELS
        for tap in range(taps):
            _choose_pairs(work, tap, block, &some)
            # Both registers of a step follow each other.
            place = tile // 2 * 2 * work.steps + tap * work.blocks + block
            if tile // 2 * 2 + 1 < work.tiles:
                place += tap * work.blocks + block + tile % 2
            some.to = <uint32_t*>(work.weights + (group * work.tiles * work.steps + place)
                                  * ATEN_REGISTER_BYTES)
            aten_register_pack_weights(&some)


cdef inline void _choose_pairs(const Registers* work, int64_t tap, int64_t block,
                               aten_register_weights* some) noexcept nogil:
    cdef int64_t pair, place
    for pair in range(ATEN_REGISTER_SIDE):
        place = block * ATEN_REGISTER_CHANNELS + 2 * pair
        some.first[pair] = _offset_of(work, tap, place)
        some.second[pair] = _offset_of(work, tap, place + 1)


cdef void _multiply(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Tasks: stretches of positions, times all channels of the result or 32 of them."""
    cdef const Registers* work = <const Registers*>context
    cdef int64_t stretches = (work.span + work.together - 1) // work.together
    cdef int64_t index, image, first, last, pair, pairs = (work.tiles + 1) // 2, least, most
    aten_register_begin()
    for index in range(begin, end):
        image = index // work.parts // stretches
        first = index // work.parts % stretches * work.together
        last = min(first + work.together, work.span)
        least, most = 0, pairs
        if work.parts > 1:
            least = index % work.parts
            most = least + 1
        for pair in range(least, most):
            _multiply_stretch(work, image, first, last, pair)
    aten_register_end()


cdef void _multiply_stretch(const Registers* work, int64_t image, int64_t first, int64_t last,
                            int64_t pair) noexcept nogil:
    """Positions of an image's group, times one pair of registers of weights."""
    cdef int64_t group = image % work.groups, channel = pair * 2 * ATEN_REGISTER_SIDE
    cdef int64_t index, position
    cdef aten_register_block block
    block.steps = work.steps
    block.offsets = work.offsets
    block.vectors = min(<int64_t>2, work.tiles - 2 * pair)
    block.outputs = work.outputs - channel
    block.weights = work.weights + (group * work.tiles + 2 * pair) * work.steps * ATEN_REGISTER_BYTES
    block.bias = NULL
    if work.bias != NULL:
        block.bias = work.bias + (group * work.outputs + channel) * work.bias_step
    block.bias_step = work.bias_step
    block.out = (work.out + (work.first + image // work.groups) * work.made.batch_stride
                 + (group * work.outputs + channel) * work.made.channel_stride)
    block.out_channel = work.made.channel_stride
    block.out_position = work.made.strides[2]
    block.last = work.made.channel_stride == 1 and work.outputs > 1
    for index in range((last - first + BLOCK - 1) // BLOCK):
        position = first + index * BLOCK
        block.image = work.image + image * work.copied + position * POSITION
        block.pieces[0] = _find_pieces(work, position, block.piece[0])
        block.pieces[1] = _find_pieces(work, position + ATEN_REGISTER_SIDE, block.piece[1])
        block.downs = 2 if block.pieces[1] else 1
        if block.pieces[0] + block.pieces[1]:
            aten_register_multiply(&block)


cdef int64_t _find_pieces(const Registers* work, int64_t position,
                          aten_register_piece* pieces) noexcept nogil:
    """Those of sixteen positions of the copy that are the result's, and where they lie there."""
    cdef int64_t lane = 0, found = 0, z, y, x, count
    cdef const int64_t* sizes = work.made.sizes
    cdef const int64_t* strides = work.made.strides
    x = position % work.plane[2]
    y = position // work.plane[2] % work.plane[1]
    z = position // work.plane[2] // work.plane[1]
    while lane < ATEN_REGISTER_SIDE and z < sizes[0]:
        if y < sizes[1] and x < sizes[2]:
            count = min(<int64_t>ATEN_REGISTER_SIDE - lane, sizes[2] - x)
            pieces[found].lane = lane
            pieces[found].count = count
            pieces[found].out = z * strides[0] + y * strides[1] + x * strides[2]
            found += 1
        lane += work.plane[2] - x
        x = 0
        y += 1
        if y == work.plane[1]:
            y = 0
            z += 1
    return found
