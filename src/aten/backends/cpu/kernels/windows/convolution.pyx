# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions over one to three spatial dimensions.

Those of float32 and float64 have kernels of their own, `direct`; others are matrix products of
`columns`. A transposed one is a plain one for each remainder that positions of the result leave by
the stride.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport BFLOAT16, FLOAT16, FLOAT32, FLOAT64, item_size
from aten._core.memory.storage cimport Storage, allocate
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, require_memory)
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.matrix.gemm cimport multiplies
from aten.backends.cpu.kernels.moving.transfer cimport Block, transfer
from aten.backends.cpu.kernels.windows.blocks cimport convolve_blocks, has_blocks
from aten.backends.cpu.kernels.windows.columns cimport (
    GRAIN, RELEASE_THRESHOLD, Convolution, gather_all, row_of, spread_all, stretch_of,
)
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_STRETCH, aten_finish, aten_grid, aten_window_kernels, aten_windows, convolve_directly,
    convolve_taps_first, kernels_of, read_finish,
)
from aten.backends.cpu.kernels.windows.images cimport SPATIAL, Image, read_image, read_window
from aten.backends.cpu.kernels.windows.winograd cimport has_tiles

cdef enum:
    # Remainders by the stride up to which a transposed convolution is one plain one for each.
    FEW_REMAINDERS = 64
    # Channels of such a result, and of what it sees, that are few and many.
    FEW_RESULTS = 4
    MANY_SEEN = 16
    # Channels whose weights are turned at a time.
    TURNED = 16

cdef struct Turn:
    # Weights of a transposed convolution as those of a plain one.
    const Convolution* work
    int64_t* taps           # where they look; room for all of them
    int64_t* chosen         # their places in the window
    int64_t count
    int64_t row             # elements from one channel of the result to the next
    char* weight

ctypedef fused Real:
    float
    double


def convolve(Tensor input not None, Tensor weight not None, Tensor bias, Tensor out not None,
             stride, padding, dilation, bint transposed, int64_t groups, finish=None):
    """Write the convolution of `input` to `out`, both (N, C, *) with one to three dimensions `*`.

    The caller has checked sizes and element types. `out` must be row-major, and `input` too if
    `transposed`. `finish`, for float32 and float64 that are not transposed, is what
    `read_finish` takes. Raises NotImplementedError for devices other than the CPU and element types
    without products, MemoryError.
    """
    cdef Convolution work
    cdef aten_finish finishing
    cdef list scratch = []
    cdef bint taps_first = (
        not transposed and input.dtype_code == FLOAT32 and _has_taps_first(weight))
    if not taps_first:
        weight = (<object>weight).contiguous()
    if input.device_type != CPU:
        raise NotImplementedError(f"convolution: there are no compiled loops for {input.device}")
    for tensor in (weight, bias, out):
        require_memory(<TensorImpl>tensor)
    if not multiplies(input.dtype_code):
        raise NotImplementedError(
            f"\"convolution\" not implemented for '{input.dtype.scalar_type_name}'")
    if out.count == 0:
        return
    work.compute = input.dtype_code
    if work.compute == FLOAT16 or work.compute == BFLOAT16:
        work.compute = FLOAT32
    work.groups = groups
    work.batch = input.sizes[0]
    work.failed = False
    data_pointer(out)
    work.finish = NULL
    if finish is not None:
        read_finish(&finishing, out, finish)
        work.finish = &finishing
    read_image(&work.out if transposed else &work.input, input)
    read_image(&work.input if transposed else &work.out, out)
    read_window(&work.shape, weight, stride, padding, dilation)
    work.window = work.positions = 1
    for dim in range(SPATIAL):
        work.window *= work.shape.kernel[dim]
        work.positions *= work.out.sizes[dim]
    work.outputs = weight.sizes[0] // groups
    work.inputs = out.sizes[1] // groups if transposed else weight.sizes[1]
    work.bias.data = NULL
    if bias is not None:
        work.bias.data = <char*>const_data_pointer(bias)
        work.bias.code = bias.dtype_code
        work.bias.batch_stride = 0
        work.bias.row_stride = bias.strides[0]
        work.bias.column_stride = 0
    _widen_weight(&work, weight, scratch)
    if not _is_direct(&work):
        if transposed:
            spread_all(&work, out, scratch)
        else:
            gather_all(&work)
    elif not transposed:
        _convolve_directly(&work, weight if taps_first else None)
    elif _spreads_planes(&work):
        with nogil:
            parallel_for(work.batch * work.groups,
                         max(<int64_t>1, GRAIN // (4 * work.positions + 1)), _spread_planes, &work)
    elif has_blocks(&work):
        with nogil:
            work.failed = not convolve_blocks(&work)
    elif _remainders(&work) <= FEW_REMAINDERS and not _is_spread(&work):
        _convolve_transposed(&work, scratch)
    else:
        spread_all(&work, out, scratch)
    if work.failed:
        raise MemoryError("convolution: no memory for columns")
    count_write(out)


cdef int _widen_weight(Convolution* work, TensorImpl weight, list scratch) except -1:
    cdef Block source
    cdef Block target
    cdef Storage memory
    work.weight = <char*>const_data_pointer(weight)
    if weight.dtype_code == work.compute:
        return 0
    memory = allocate(weight.count * item_size(work.compute), CPU, -1)
    scratch.append(memory)
    source.data = work.weight
    source.code = weight.dtype_code
    target.data = work.weight = memory.data
    target.code = work.compute
    source.batch_stride = target.batch_stride = source.row_stride = target.row_stride = 0
    source.column_stride = target.column_stride = 1
    transfer(&source, &target, 1, 1, weight.count)
    return 0


cdef bint _is_direct(const Convolution* work) noexcept:
    """Whether there are kernels for the types of all operands."""
    return ((work.compute == FLOAT32 or work.compute == FLOAT64)
            and work.input.code == work.compute)


cdef int64_t _remainders(const Convolution* work) noexcept:
    """By the stride, of positions of a transposed convolution's result; FEW + 1 for many."""
    cdef int64_t count = 1
    cdef int dim
    for dim in range(SPATIAL):
        count *= min(min(work.shape.stride[dim], work.input.sizes[dim]), <int64_t>FEW_REMAINDERS + 1)
    return count


cdef bint _is_spread(const Convolution* work) noexcept:
    """Whether a transposed convolution has so few results for a position that panels of what they
    see are costlier than products that are added up where they belong."""
    return (work.inputs <= FEW_RESULTS and work.outputs >= MANY_SEEN
            and _remainders(work) > 1)


cdef bint _has_taps_first(TensorImpl weight) noexcept:
    """Whether the channels of each tap are neighbours, without gaps."""
    return (weight.rank == 4 and weight.strides[1] == 1 and weight.strides[3] == weight.sizes[1]
            and weight.sizes[1] > 1 and weight.sizes[2] > 1
            and weight.strides[2] == weight.sizes[1] * weight.sizes[3]
            and weight.strides[0] == weight.strides[2] * weight.sizes[2])


cdef int _convolve_directly(Convolution* work, Tensor taps_first) except -1:
    """Channels come last in weights that are given here once more."""
    cdef aten_windows windows
    cdef Tensor weight
    cdef int64_t* places = <int64_t*>malloc(SPATIAL * work.window * sizeof(int64_t))
    cdef int dim
    if places == NULL:
        raise MemoryError("convolution: no memory for the window")
    _describe(work, &work.input, &work.out, &windows)
    windows.finish = work.finish
    windows.weight = work.weight
    windows.inputs = work.inputs
    windows.outputs = work.outputs
    windows.taps = work.window
    windows.stretch = ATEN_STRETCH
    windows.weight_row = work.inputs * work.window
    for dim in range(SPATIAL):
        windows.step[dim] = work.shape.stride[dim]
        windows.places[dim] = places + dim * work.window
    _place_taps(work, places)
    if taps_first is None:
        _run_directly(work, &windows)
    elif has_tiles(&windows):
        with nogil:
            work.failed = not convolve_taps_first(&windows)
    else:
        weight = (<object>taps_first).contiguous()
        windows.weight = work.weight = <char*>const_data_pointer(weight)
        _run_directly(work, &windows)
    free(places)
    return 0


cdef void _describe(const Convolution* work, const Image* input, const Image* out,
                    aten_windows* windows) noexcept:
    """All but the weights and how they move."""
    cdef int dim
    windows.finish = NULL
    windows.input = input.data
    windows.bias = work.bias.data
    windows.bias_step = work.bias.row_stride
    windows.out = out.data
    windows.batch = work.batch
    windows.groups = work.groups
    windows.input_batch = input.batch_stride
    windows.input_channel = input.channel_stride
    windows.out_batch = out.batch_stride
    windows.out_channel = out.channel_stride
    for dim in range(SPATIAL):
        windows.input_sizes[dim] = input.sizes[dim]
        windows.input_strides[dim] = input.strides[dim]
        windows.sizes[dim] = out.sizes[dim]
        windows.out_strides[dim] = out.strides[dim]


cdef void _run_directly(Convolution* work, const aten_windows* windows) noexcept:
    cdef bint done
    cdef bint is_double = work.compute == FLOAT64
    if work.positions * work.inputs * work.window * work.outputs < RELEASE_THRESHOLD:
        done = convolve_directly(windows, is_double)
    else:
        with nogil:
            done = convolve_directly(windows, is_double)
    work.failed = work.failed or not done


cdef bint _spreads_planes(const Convolution* work) noexcept:
    """Whether channels that see one channel each are moved by two, in windows of three by three with
    one line of padding, and there are kernels for that."""
    cdef int dim
    if work.compute != FLOAT32 or work.inputs != 1 or work.outputs != 1:
        return False
    if kernels_of(False).spread_plane == NULL or work.shape.kernel[0] != 1 or work.shape.stride[0] != 1:
        return False
    if work.shape.padding[0] != 0 or work.input.strides[2] != 1 or work.out.strides[2] != 1:
        return False
    for dim in range(1, SPATIAL):
        if work.shape.kernel[dim] != 3 or work.shape.stride[dim] != 2 or work.shape.padding[dim] != 1:
            return False
        if work.shape.dilation[dim] != 1:
            return False
    return True


cdef void _spread_planes(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Planes begin … end of all images. A transposed convolution reads `out`."""
    cdef const Convolution* work = <const Convolution*>context
    cdef const aten_window_kernels* kernels = kernels_of(False)
    cdef int64_t index, image, channel
    cdef aten_grid grid
    grid.pitch = work.out.strides[1]
    grid.out_line = work.input.strides[1]
    grid.rows = work.input.sizes[1]
    grid.columns = work.input.sizes[2]
    grid.seen_rows = work.out.sizes[1]
    grid.seen_columns = work.out.sizes[2]
    grid.finish = NULL
    for index in range(begin, end):
        image = index // work.groups
        channel = index - image * work.groups
        grid.data = work.out.data + (image * work.out.batch_stride
                                     + channel * work.out.channel_stride) * 4
        grid.out = work.input.data + (image * work.input.batch_stride
                                      + channel * work.input.channel_stride) * 4
        grid.weights = work.weight + channel * 9 * 4
        grid.bias = NULL
        if work.bias.data != NULL:
            grid.bias = work.bias.data + channel * work.bias.row_stride * 4
        kernels.spread_plane(&grid)


cdef int _convolve_transposed(Convolution* work, list scratch) except -1:
    """A transposed convolution: positions of the result that leave the same remainder by the
    stride see the same taps, and are a plain convolution."""
    cdef Storage memory = allocate(
        (SPATIAL + 1) * <int64_t>sizeof(int64_t) * work.window
        + work.groups * work.inputs * row_of(work.window * work.outputs)
        * item_size(work.compute) + 1, CPU, -1)
    cdef Turn turn
    cdef Image part
    cdef aten_windows windows
    cdef int64_t z, y, x
    cdef int size = item_size(work.compute)
    scratch.append(memory)
    turn.work = work
    turn.taps = <int64_t*>memory.data
    turn.chosen = turn.taps + SPATIAL * work.window
    turn.weight = <char*>(turn.chosen + work.window)
    for z in range(min(work.shape.stride[0], work.input.sizes[0])):
        for y in range(min(work.shape.stride[1], work.input.sizes[1])):
            for x in range(min(work.shape.stride[2], work.input.sizes[2])):
                part = work.input
                part.data += (z * part.strides[0] + y * part.strides[1] + x * part.strides[2]) * size
                _take_every(&part, 0, z, work.shape.stride[0])
                _take_every(&part, 1, y, work.shape.stride[1])
                _take_every(&part, 2, x, work.shape.stride[2])
                _describe(work, &work.out, &part, &windows)
                windows.step[0] = windows.step[1] = windows.step[2] = 1
                _choose_taps(&turn, z, y, x, &windows)
                windows.weight = turn.weight
                windows.weight_row = turn.row = row_of(windows.taps * work.outputs)
                windows.inputs = work.outputs if windows.taps > 0 else 0
                windows.stretch = stretch_of(windows.taps * work.outputs)
                windows.outputs = work.inputs
                turn.count = windows.taps
                with nogil:
                    parallel_for(work.groups * ((work.outputs + TURNED - 1) // TURNED),
                                 max(<int64_t>1, GRAIN // (16 * TURNED * work.inputs
                                                           * (1 + turn.count))),
                                 _turn_weight, &turn)
                _run_directly(work, &windows)
    return 0


cdef inline void _take_every(Image* image, int dim, int64_t first, int64_t step) noexcept:
    image.sizes[dim] = (image.sizes[dim] - first + step - 1) // step
    image.strides[dim] *= step


cdef void _choose_taps(Turn* turn, int64_t z, int64_t y, int64_t x,
                       aten_windows* windows) noexcept:
    """The taps that reach positions with these remainders, from the last one on, and where in the
    operand each of them looks."""
    cdef const Convolution* work = turn.work
    cdef int64_t* places = turn.taps
    cdef int64_t count = 0, tap, index
    cdef int64_t far[SPATIAL]
    cdef int dim
    cdef bint reaches
    for index in range(work.window):
        tap = work.window - 1 - index
        far[0] = (z + work.shape.padding[0]
                  - tap // (work.shape.kernel[1] * work.shape.kernel[2]) * work.shape.dilation[0])
        far[1] = y + work.shape.padding[1] - tap // work.shape.kernel[2] % work.shape.kernel[1] * work.shape.dilation[1]
        far[2] = x + work.shape.padding[2] - tap % work.shape.kernel[2] * work.shape.dilation[2]
        reaches = True
        for dim in range(SPATIAL):
            # Divisions round towards zero, which is no matter where nothing is left over.
            reaches = reaches and far[dim] % work.shape.stride[dim] == 0
        if not reaches:
            continue
        for dim in range(SPATIAL):
            places[dim * work.window + count] = far[dim] // work.shape.stride[dim]
        turn.chosen[count] = tap
        count += 1
    windows.taps = count
    for dim in range(SPATIAL):
        windows.places[dim] = places + dim * work.window


cdef void _turn_weight(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Weights by channel of the result, as far as taps are chosen. What TURNED channels see is read in
    order, and what is written stays in a cache meanwhile."""
    cdef const Turn* turn = <const Turn*>context
    cdef const Convolution* work = turn.work
    cdef int size = item_size(work.compute)
    cdef int64_t blocks = (work.outputs + TURNED - 1) // TURNED
    cdef int64_t block, group, first, input, output, source, target
    for block in range(begin, end):
        group = block // blocks
        first = block % blocks * TURNED
        for output in range(first, min(first + TURNED, work.outputs)):
            source = (group * work.outputs + output) * work.inputs * work.window
            for input in range(work.inputs):
                target = (group * work.inputs + input) * turn.row + output * turn.count
                if size == 4:
                    _choose_weights[float](turn, <const float*>work.weight + source,
                                           <float*>turn.weight + target)
                else:
                    _choose_weights[double](turn, <const double*>work.weight + source,
                                            <double*>turn.weight + target)
                source += work.window


cdef inline void _choose_weights(const Turn* turn, const Real* source, Real* target) noexcept nogil:
    cdef int64_t index
    if turn.count == 9 and turn.work.window == 9:
        # All of them, the other way round: so often that it is worth a line.
        for index in range(9):
            target[index] = source[8 - index]
        return
    for index in range(turn.count):
        target[index] = source[turn.chosen[index]]


cdef void _place_taps(const Convolution* work, int64_t* places) noexcept:
    """Where each tap looks, from where the first one of an unpadded window does."""
    cdef int64_t z, y, x
    cdef int64_t tap = 0
    for z in range(work.shape.kernel[0]):
        for y in range(work.shape.kernel[1]):
            for x in range(work.shape.kernel[2]):
                places[tap] = z * work.shape.dilation[0] - work.shape.padding[0]
                places[work.window + tap] = y * work.shape.dilation[1] - work.shape.padding[1]
                places[2 * work.window + tap] = x * work.shape.dilation[2] - work.shape.padding[2]
                tap += 1
