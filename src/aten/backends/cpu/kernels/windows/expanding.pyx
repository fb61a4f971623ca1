# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""A convolution and the one that sees its channels one by one, a band of rows at a time.

What the first one gives is often larger than the second cache, and read once. So it is computed for
some channels of a band, which stay in that cache until the other one has seen them; rows that two
bands see are computed twice. Each of both is what it is alone, with the same bits.

Row-major float32 images of two dimensions on the CPU; what is otherwise is left to a kernel that
knows everything.
"""

from cpython.object cimport PyObject
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
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.windows.convolution_calls cimport (
    ACTIVATION, ARGUMENTS, BIAS, Call, GROUPS, INPUT, MOST_TAPS, RESIDUAL, STRIDE, WEIGHT, fits,
    is_bias, is_plain, read_numbers, storage_of,
)
from aten.backends.cpu.kernels.windows.direct cimport (
    aten_window_kernels, aten_windows, kernels_of, multiply_here, takes_panels,
)
from aten.backends.cpu.kernels.windows.sliding cimport slide_here

cdef enum:
    # Arguments of `fused::expanded_convolution` from which on those of one of both lie, by their
    # places on the stack.
    WEIGHTS = 1
    BIASES = 3
    FIRST_NUMBERS = 5
    SECOND_NUMBERS = 10
    PAIR_ARGUMENTS = 15
    NUMBERS = 3             # before an activation
    RANK = 4
    SIZE = 4
    # Channels that are expanded at a time, and elements of one in a band: what a position sees costs
    # more where it is gathered.
    BLOCK = 16
    BAND = 6144
    GATHERED_BLOCK = 32
    GATHERED_BAND = 3072
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
        return _convolved(stack)


def convolved(*arguments):
    """What `fused::expanded_convolution` gives for these arguments, all of them in its order.

    None where the call is none for the kernels: the operator knows what it is then. This is for
    programs that are loaded with all that they call, without the operator.
    """
    cdef PyObject* given[PAIR_ARGUMENTS]
    if not read_arguments(arguments, given, PAIR_ARGUMENTS, BIASES, FIRST_NUMBERS - BIASES):
        return None
    return _convolved(given)


cdef Tensor _convolved(PyObject** stack):
    """The result, or None where the call is none for the kernels."""
    cdef PyObject* first_stack[ARGUMENTS]
    cdef PyObject* second_stack[ARGUMENTS]
    cdef Call first, second
    cdef Tensor out
    cdef int64_t sizes[RANK]
    cdef int dim
    # What is read stays, whatever others make of the tensors meanwhile.
    cdef Storage image, weight, bias, last_weight, last_bias
    _part(stack, 0, FIRST_NUMBERS, first_stack)
    _part(stack, 1, SECOND_NUMBERS, second_stack)
    if not _are_ordinary(&first, first_stack, &second, second_stack):
        return None
    memcpy(sizes, second.sizes, sizeof(sizes))
    out = make_contiguous(FLOAT32, RANK, sizes, CPU, -1)
    # Making it may have run a collection, and that the code of others.
    if not _are_ordinary(&first, first_stack, &second, second_stack):
        return None
    for dim in range(RANK):
        if out.sizes[dim] != second.sizes[dim]:
            return None
    image = storage_of(stack[INPUT])
    weight, bias = storage_of(first_stack[WEIGHT]), storage_of(first_stack[BIAS])
    last_weight, last_bias = storage_of(second_stack[WEIGHT]), storage_of(second_stack[BIAS])
    first.windows.input = _memory_of(stack[INPUT])
    _read_memory(&first, first_stack)
    _read_memory(&second, second_stack)
    second.windows.out = data_pointer(out)
    if not _run(&first.windows, &second.windows):
        raise MemoryError("expanded_convolution: no memory for channels of a band")
    return out


cdef void _part(PyObject** stack, int which, int numbers, PyObject** given) noexcept:
    """The arguments of one of both as those of `fused::convolution_epilogue`."""
    given[INPUT] = stack[INPUT]
    given[WEIGHT] = stack[WEIGHTS + which]
    given[BIAS] = stack[BIASES + which]
    given[RESIDUAL] = given[GROUPS] = <PyObject*>None
    memcpy(given + STRIDE, stack + numbers, NUMBERS * sizeof(PyObject*))
    memcpy(given + ACTIVATION, stack + numbers + NUMBERS, 2 * sizeof(PyObject*))


cdef bint _are_ordinary(Call* first, PyObject** first_stack, Call* second,
                        PyObject** second_stack) except -1:
    """Whether both are for the kernels, which are described so far then."""
    cdef TensorImpl input = <TensorImpl>first_stack[INPUT]
    cdef TensorImpl weight = <TensorImpl>first_stack[WEIGHT]
    cdef TensorImpl last = <TensorImpl>second_stack[WEIGHT]
    # Numbers first: reading them may run code.
    if not read_numbers(first, first_stack, 2) or not read_numbers(second, second_stack, 2):
        return False
    if not (is_plain(input) and is_plain(weight) and is_plain(last)):
        return False
    if input.rank != RANK or input.count == 0 or not fits(first, RANK, input.sizes, weight, 1):
        return False
    if not fits(second, RANK, first.sizes, last, first.sizes[1]):
        return False
    if not is_bias(first, first_stack[BIAS]) or not is_bias(second, second_stack[BIAS]):
        return False
    return takes_panels(&first.windows) and _slides(&second.windows)


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
    """Where weights and biases are; nothing is added but these."""
    cdef aten_windows* windows = &call.windows
    windows.weight = _memory_of(stack[WEIGHT])
    windows.bias = NULL
    if <object>stack[BIAS] is not None:
        windows.bias = _memory_of(stack[BIAS])
    call.finish.adds = False
    call.finish.residual = 0
    windows.finish = &call.finish
    return 0


cdef bint _run(const aten_windows* first, const aten_windows* second) noexcept:
    cdef Expanding work
    work.first = first
    work.second = second
    work.kernels = kernels_of(False)
    work.failed = False
    _cut(&work)
    with nogil:
        parallel_for(first.batch * work.bands * work.blocks, 1, _expand, &work)
    return not work.failed


cdef void _cut(Expanding* work) noexcept nogil:
    """Choose the bands and blocks."""
    cdef const aten_windows* second = work.second
    cdef int64_t step = second.step[1], reach = _reach(second, 1)
    cdef bint gathers = work.first.taps > 1
    cdef int64_t rows = max(<int64_t>1, (GATHERED_BAND if gathers else BAND)
                            // second.input_sizes[2])
    rows = max(<int64_t>1, (rows - reach - 1) // step + 1)
    work.bands = (second.sizes[1] + rows - 1) // rows
    work.rows = (second.sizes[1] + work.bands - 1) // work.bands
    work.bands = (second.sizes[1] + work.rows - 1) // work.rows
    work.seen = min(second.input_sizes[1], (work.rows - 1) * step + reach + 1)
    work.block = GATHERED_BLOCK if gathers else BLOCK
    work.blocks = (work.first.outputs + work.block - 1) // work.block


cdef inline int64_t _reach(const aten_windows* second, int dim) noexcept nogil:
    """From the first to the last row or column that a position sees."""
    return second.places[dim][second.taps - 1] - second.places[dim][0]


cdef void _expand(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Blocks begin … end of all bands."""
    cdef Expanding* work = <Expanding*>context
    cdef int64_t pitch = (work.seen * work.second.input_sizes[2] + LINE - 1) // LINE | 1
    cdef int64_t index, band
    cdef char* memory
    pitch *= LINE
    memory = <char*>malloc(work.block * pitch * SIZE + 64)
    if memory == NULL:
        work.failed = True
        return
    for index in range(begin, end):
        band = index // work.blocks
        _expand_block(work, band // work.bands, band % work.bands * work.rows,
                      index % work.blocks * work.block, pitch,
                      <char*>((<size_t>memory + 63) // 64 * 64))
    free(memory)


cdef void _expand_block(Expanding* work, int64_t image, int64_t row, int64_t channel,
                        int64_t pitch, char* expanded) noexcept nogil:
    """Channels of an image from `channel` on, and what sees them, of results from `row` on."""
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
