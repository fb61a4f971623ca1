# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""A convolution and the one that sees its channels one by one, a band of rows at a time; with one of
windows of one position behind them, if there is one: an inverted residual block.

What the first one gives is often larger than the second cache, and read once. So it is computed for
some channels of a band, which stay in that cache until the other one has seen them; rows that two
bands see are computed twice. What the second one gives is written, or kept for all channels of a band
where a third one reads it. Each of them is what it is alone, with the same bits.

Row-major float32 images of two dimensions on the CPU; what is otherwise is left to a kernel that
knows everything.
"""

from cpython.object cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath, read_arguments
from aten._core.memory.storage cimport Storage
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, data_pointer,
                                            require_memory)
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.windows.convolution_calls cimport (
    ACTIVATION, ARGUMENTS, BIAS, Call, GROUPS, INPUT, MOST_TAPS, RESIDUAL, STRIDE, WEIGHT, fits,
    is_bias, is_plain, read_numbers, storage_of,
)
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_CUT, aten_window_kernels, aten_windows, kernels_of, leaves_few, multiply_here, sums_in_order,
)
from aten.backends.cpu.kernels.windows.sliding cimport slide_here

cdef enum:
    # Arguments of `fused::expanded_convolution` and `fused::inverted_residual`: weights and biases of
    # two or three, what is added to the last one's results, and the numbers of the first two.
    WEIGHTS = 1
    NUMBERS = 3             # before an activation
    ALL_NUMBERS = 5
    PAIR_ARGUMENTS = 15
    TRIPLE_ARGUMENTS = 18
    MOST_ARGUMENTS = 18
    RANK = 4
    SIZE = 4
    # Channels that are expanded at a time, and elements of one in a band: what a position sees costs
    # more where it is gathered.
    BLOCK = 16
    BAND = 6144
    GATHERED_BLOCK = 32
    GATHERED_BAND = 3072
    # Elements of all channels of a band that a third one reads.
    HELD = 229376
    # Columns of a result, steps, and rows or columns beyond the first that a position sees: copies
    # of a plane are not too large then.
    MOST_COLUMNS = 256
    MOST_STEP = 4
    MOST_REACH = 16
    # Elements to the next channel: an odd number of cache lines.
    LINE = 16

cdef struct Expanding:
    const aten_windows* first
    const aten_windows* second
    const aten_windows* third   # or NULL
    const aten_window_kernels* kernels
    int64_t rows            # of results in a band
    int64_t bands
    int64_t block           # channels
    int64_t blocks
    int64_t seen            # rows that a band sees, at most
    bint failed


cdef class ExpandedConvolutionKernel(FastPath):
    """Runs ordinary calls of `fused::expanded_convolution`, and gives others to `otherwise`."""

    def __init__(self, Kernel otherwise not None):
        FastPath.__init__(self, "expanded_convolution", (), None, otherwise)

    cdef object ordinary(self, PyObject** stack):
        return _convolved(stack, False)


cdef class InvertedResidualKernel(FastPath):
    """Runs ordinary calls of `fused::inverted_residual`, and gives others to `otherwise`."""

    def __init__(self, Kernel otherwise not None):
        FastPath.__init__(self, "inverted_residual", (), None, otherwise)

    cdef object ordinary(self, PyObject** stack):
        return _convolved(stack, True)


def convolved(*arguments):
    """What `fused::expanded_convolution` gives for these arguments, all of them in its order.

    None where the call is none for the kernels: the operator knows what it is then. This is for
    programs that are loaded with all that they call, without the operator.
    """
    cdef PyObject* given[MOST_ARGUMENTS]
    if not read_arguments(arguments, given, PAIR_ARGUMENTS, WEIGHTS + 2, 2):
        return None
    return _convolved(given, False)


def projected(*arguments):
    """The same of `fused::inverted_residual`."""
    cdef PyObject* given[MOST_ARGUMENTS]
    if not read_arguments(arguments, given, TRIPLE_ARGUMENTS, WEIGHTS + 3, 4):
        return None
    return _convolved(given, True)


cdef struct Calls:
    Call first
    Call second
    Call third
    bint projects
    # Their arguments, as those of `fused::convolution_epilogue`.
    PyObject* stacks[3][ARGUMENTS]


cdef Tensor _convolved(PyObject** stack, bint projects):
    """The result, or None where the call is none for the kernels."""
    cdef Calls calls
    cdef Call* last = &calls.third if projects else &calls.second
    cdef Tensor out
    cdef int64_t sizes[RANK]
    cdef int dim, which
    # What is read stays, whatever others make of the tensors meanwhile.
    cdef list kept
    calls.projects = projects
    for which in range(2 + projects):
        _part(stack, which, projects, calls.stacks[which])
    if not _are_ordinary(&calls):
        return None
    memcpy(sizes, last.sizes, sizeof(sizes))
    out = make_contiguous(FLOAT32, RANK, sizes, CPU, -1)
    # Making it may have run a collection, and that the code of others.
    if not _are_ordinary(&calls):
        return None
    for dim in range(RANK):
        if out.sizes[dim] != last.sizes[dim]:
            return None
    kept = [storage_of(stack[INPUT])]
    for which in range(2 + projects):
        kept += [storage_of(calls.stacks[which][place]) for place in range(WEIGHT, RESIDUAL + 1)]
    calls.first.windows.input = _memory_of(stack[INPUT])
    last.windows.out = data_pointer(out)
    _read_memory(&calls.first, calls.stacks[0])
    _read_memory(&calls.second, calls.stacks[1])
    if projects:
        _read_memory(&calls.third, calls.stacks[2])
    if not _run(&calls):
        name = "inverted_residual" if projects else "expanded_convolution"
        raise MemoryError(f"{name}: no memory for channels of a band")
    return out


cdef void _part(PyObject** stack, int which, bint projects, PyObject** given) noexcept:
    """The arguments of one of them as those of `fused::convolution_epilogue`; the third one has no
    numbers."""
    cdef int count = 2 + projects
    cdef int numbers = WEIGHTS + 2 * count + projects + which * ALL_NUMBERS
    given[INPUT] = stack[INPUT]
    given[WEIGHT] = stack[WEIGHTS + which]
    given[BIAS] = stack[WEIGHTS + count + which]
    given[RESIDUAL] = given[GROUPS] = <PyObject*>None
    if which == 2:
        given[RESIDUAL] = stack[WEIGHTS + 2 * count]
        return
    memcpy(given + STRIDE, stack + numbers, NUMBERS * sizeof(PyObject*))
    memcpy(given + ACTIVATION, stack + numbers + NUMBERS, 2 * sizeof(PyObject*))


cdef bint _are_ordinary(Calls* calls) except -1:
    """Whether all are for the kernels, which are described so far then."""
    cdef Call* first = &calls.first
    cdef Call* second = &calls.second
    cdef TensorImpl input = <TensorImpl>calls.stacks[0][INPUT]
    cdef TensorImpl weight = <TensorImpl>calls.stacks[0][WEIGHT]
    cdef TensorImpl last = <TensorImpl>calls.stacks[1][WEIGHT]
    # Numbers first: reading them may run code.
    if not read_numbers(first, calls.stacks[0], 2) or not read_numbers(second, calls.stacks[1], 2):
        return False
    if not (is_plain(input) and is_plain(weight) and is_plain(last)):
        return False
    if input.rank != RANK or input.count == 0 or not fits(first, RANK, input.sizes, weight, 1):
        return False
    if not fits(second, RANK, first.sizes, last, first.sizes[1]):
        return False
    if not is_bias(first, calls.stacks[0][BIAS]) or not is_bias(second, calls.stacks[1][BIAS]):
        return False
    if not sums_in_order(&first.windows) or not _slides(&second.windows):
        return False
    return not calls.projects or _projects(&calls.third, second.sizes, calls.stacks[2])


cdef bint _projects(Call* third, const int64_t* sizes, PyObject** stack) except -1:
    """Whether windows of one position see all channels of such an image, and add what is like the
    result; positions that would be summed in another order are left to others."""
    cdef TensorImpl weight = <TensorImpl>stack[WEIGHT]
    cdef TensorImpl residual
    cdef int dim
    for dim in range(2):
        third.steps[0][dim] = third.steps[2][dim] = 1
    for dim in range(4):
        third.steps[1][dim] = 0
    third.finish.activation = ATEN_CUT
    third.finish.low, third.finish.high = -INFINITY, INFINITY
    if not is_plain(weight) or not fits(third, RANK, sizes, weight, 1):
        return False
    if third.windows.taps != 1 or not is_bias(third, stack[BIAS]):
        return False
    if <object>stack[RESIDUAL] is not None:
        residual = <TensorImpl>stack[RESIDUAL]
        if not is_plain(residual) or residual.rank != RANK:
            return False
        for dim in range(RANK):
            if residual.sizes[dim] != third.sizes[dim]:
                return False
    return sums_in_order(&third.windows) and not leaves_few(&third.windows)


cdef bint _slides(const aten_windows* second) noexcept nogil:
    cdef int dim
    if second.outputs != 1 or max(second.sizes[2], second.input_sizes[2]) > MOST_COLUMNS:
        return False
    for dim in range(1, 3):
        if second.step[dim] > MOST_STEP or _reach(second, dim) > MOST_REACH:
            return False
    return True


cdef void* _memory_of(PyObject* tensor) except? NULL:
    require_memory(<TensorImpl>tensor)
    return const_data_pointer(<TensorImpl>tensor)


cdef int _read_memory(Call* call, PyObject** stack) except -1:
    """Where weights and biases are, and what is added to results."""
    cdef aten_windows* windows = &call.windows
    windows.weight = _memory_of(stack[WEIGHT])
    windows.bias = NULL
    if <object>stack[BIAS] is not None:
        windows.bias = _memory_of(stack[BIAS])
    call.finish.adds = <object>stack[RESIDUAL] is not None
    call.finish.residual = 0
    if call.finish.adds:
        call.finish.residual = <int64_t>_memory_of(stack[RESIDUAL]) - <int64_t>windows.out
    windows.finish = &call.finish
    return 0


cdef bint _run(const Calls* calls) noexcept:
    cdef Expanding work
    work.first = &calls.first.windows
    work.second = &calls.second.windows
    work.third = &calls.third.windows if calls.projects else NULL
    work.kernels = kernels_of(False)
    work.failed = False
    _cut(&work)
    with nogil:
        parallel_for(work.first.batch * work.bands * (1 if calls.projects else work.blocks), 1,
                     _expand_bands if calls.projects else _expand, &work)
    return not work.failed


cdef void _cut(Expanding* work) noexcept nogil:
    """Choose the bands and blocks."""
    cdef const aten_windows* second = work.second
    cdef int64_t step = second.step[1], reach = _reach(second, 1)
    cdef bint gathers = work.first.taps > 1
    cdef int64_t threads = thread_count()
    cdef int64_t rows = max(<int64_t>1, (GATHERED_BAND if gathers else BAND)
                            // second.input_sizes[2])
    rows = max(<int64_t>1, (rows - reach - 1) // step + 1)
    if work.third != NULL:
        rows = min(rows, max(<int64_t>1, HELD // (second.sizes[2] * second.groups)))
    work.bands = (second.sizes[1] + rows - 1) // rows
    if work.third != NULL and work.first.batch < threads:
        # As many for each thread; rows that bands see twice cost less.
        work.bands = (work.bands + threads - 1) // threads * threads
    work.rows = (second.sizes[1] + work.bands - 1) // work.bands
    work.bands = (second.sizes[1] + work.rows - 1) // work.rows
    work.seen = min(second.input_sizes[1], (work.rows - 1) * step + reach + 1)
    work.block = GATHERED_BLOCK if gathers else BLOCK
    work.blocks = (work.first.outputs + work.block - 1) // work.block


cdef inline int64_t _reach(const aten_windows* second, int dim) noexcept nogil:
    """From the first to the last row or column that a position sees."""
    return second.places[dim][second.taps - 1] - second.places[dim][0]


cdef inline int64_t _pitch_of(int64_t elements) noexcept nogil:
    return ((elements + LINE - 1) // LINE | 1) * LINE


cdef void _expand(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Blocks begin … end of all bands."""
    cdef Expanding* work = <Expanding*>context
    cdef int64_t pitch = _pitch_of(work.seen * work.second.input_sizes[2])
    cdef int64_t index, band
    cdef char* memory = <char*>malloc(work.block * pitch * SIZE + 64)
    if memory == NULL:
        work.failed = True
        return
    for index in range(begin, end):
        band = index // work.blocks
        _expand_block(work, band // work.bands, band % work.bands * work.rows,
                      index % work.blocks * work.block, pitch,
                      <char*>((<size_t>memory + 63) // 64 * 64), NULL, 0)
    free(memory)


cdef void _expand_bands(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Bands begin … end with all of their channels, and what the third one makes of these."""
    cdef Expanding* work = <Expanding*>context
    cdef int64_t pitch = _pitch_of(work.seen * work.second.input_sizes[2])
    cdef int64_t held_pitch = _pitch_of(work.rows * work.second.sizes[2])
    cdef int64_t band, block, image, row
    cdef char* memory = <char*>malloc(
        (work.block * pitch + work.second.groups * held_pitch) * SIZE + 64)
    cdef char* expanded = <char*>((<size_t>memory + 63) // 64 * 64)
    cdef char* held = expanded + work.block * pitch * SIZE
    if memory == NULL:
        work.failed = True
        return
    for band in range(begin, end):
        image = band // work.bands
        row = band % work.bands * work.rows
        if row >= work.second.sizes[1]:
            continue
        for block in range(work.blocks):
            _expand_block(work, image, row, block * work.block, pitch, expanded, held, held_pitch)
        _project(work, image, row, held, held_pitch)
    free(memory)


cdef void _project(Expanding* work, int64_t image, int64_t row, char* held,
                   int64_t pitch) noexcept nogil:
    """The third one's results from `row` on."""
    cdef aten_windows third = work.third[0]
    third.batch = 1
    third.sizes[1] = third.input_sizes[1] = min(work.rows, third.sizes[1] - row)
    third.input = held
    third.input_channel = pitch
    third.out = <char*>third.out + (image * third.out_batch + row * third.out_strides[1]) * SIZE
    if not multiply_here(&third, work.kernels, SIZE):
        work.failed = True


cdef void _expand_block(Expanding* work, int64_t image, int64_t row, int64_t channel,
                        int64_t pitch, char* expanded, char* held,
                        int64_t held_pitch) noexcept nogil:
    """Channels of an image from `channel` on, and what sees them, of results from `row` on: to where
    all of them are held, or else to the result."""
    cdef aten_windows first = work.first[0]
    cdef aten_windows second = work.second[0]
    cdef int64_t[MOST_TAPS] seen
    cdef int64_t[MOST_TAPS] seeing
    cdef int64_t rows = min(work.rows, second.sizes[1] - row)
    cdef int64_t channels = min(work.block, first.outputs - channel)
    cdef int64_t place = row * second.step[1] + second.places[1][0]
    cdef int64_t low = min(max(place, <int64_t>0), second.input_sizes[1])
    cdef int64_t high = place + (rows - 1) * second.step[1] + _reach(work.second, 1) + 1
    high = max(low, min(high, second.input_sizes[1]))
    first.batch = second.batch = 1
    first.outputs = second.groups = channels
    first.sizes[1] = second.input_sizes[1] = high - low
    first.input = <const char*>first.input + image * first.input_batch * SIZE
    first.weight = <const char*>first.weight + channel * first.weight_row * SIZE
    first.out = expanded
    first.out_channel = second.input_channel = pitch
    _from_row(&first, low * first.step[1], seen)
    second.sizes[1] = rows
    second.input = expanded
    second.weight = <const char*>second.weight + channel * second.weight_row * SIZE
    if held != NULL:
        second.out = held + channel * held_pitch * SIZE
        second.out_channel = held_pitch
    else:
        second.out = <char*>second.out + (
            image * second.out_batch + channel * second.out_channel
            + row * second.out_strides[1]) * SIZE
    _move_taps(&second, row * second.step[1] - low, seeing)
    if first.bias != NULL:
        first.bias = <const char*>first.bias + channel * SIZE
    if second.bias != NULL:
        second.bias = <const char*>second.bias + channel * SIZE
    if high > low and not multiply_here(&first, work.kernels, SIZE):
        work.failed = True
    if slide_here(&second, work.kernels, SIZE) != 1:
        work.failed = True


cdef void _from_row(aten_windows* work, int64_t row, int64_t* places) noexcept nogil:
    """Let positions begin at a row of the input."""
    if (work.taps > 1 or work.places[1][0] != 0 or work.step[1] != 1
            or row + work.sizes[1] > work.input_sizes[1]):
        _move_taps(work, row, places)
        return
    # They see no other rows: these are an image, whose positions follow each other.
    work.input = <const char*>work.input + row * work.input_strides[1] * SIZE
    work.input_sizes[1] = work.sizes[1]


cdef void _move_taps(aten_windows* work, int64_t rows, int64_t* places) noexcept nogil:
    cdef int64_t tap
    for tap in range(work.taps):
        places[tap] = work.places[1][tap] + rows
    work.places[1] = places
