# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""The ordinary call of a convolution, with what follows it or without, from a stack to a result.

Row-major float32 on the CPU, whose sizes go together, and images with channels last; those whose
positions see nothing but themselves are rows of a product. What is otherwise, wrong calls above all,
is left to a kernel that knows everything.
"""

from cpython.object cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memcmp, memcpy

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.base.sizes cimport read_sizes
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath, read_arguments
from aten._core.memory.storage cimport Storage
from aten._core.tensor.making cimport make_contiguous, make_strided
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, data_pointer, is_lazy,
                                            require_memory)
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Product
from aten.backends.cpu.kernels.matrix.products cimport apply_weight, read_operand
from aten.backends.cpu.kernels.windows.channels_last import convolve_last, suits_last
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_CUT, ATEN_GELU, ATEN_GELU_TANH, ATEN_HARDSWISH, ATEN_SIGMOID, ATEN_SILU, ATEN_STRETCH,
    aten_finish, aten_windows, convolve_directly, leaves_as_is,
)
from aten.backends.cpu.kernels.windows.transposed_calls cimport convolved_transposed

cdef enum:
    # Sizes and steps of which products of two are no overflow.
    LARGE = 1 << 30
    # Multiplications from which on other Python threads may run meanwhile.
    RELEASE_THRESHOLD = 1 << 17
    # Of `aten::convolution`, which has the first three, too.
    PLAIN_STRIDE = 3
    PLAIN_PADDING = 4
    PLAIN_DILATION = 5
    PLAIN_TRANSPOSED = 6
    PLAIN_OUTPUT_PADDING = 7
    PLAIN_GROUPS = 8

cdef str _NO_ACTIVATION = "none"
cdef tuple _NOTHING = ()
cdef dict _ACTIVATIONS = {
    "none": ATEN_CUT, "relu": ATEN_CUT, "hardtanh": ATEN_CUT, "sigmoid": ATEN_SIGMOID,
    "silu": ATEN_SILU, "hardswish": ATEN_HARDSWISH, "gelu": ATEN_GELU,
    "gelu_tanh": ATEN_GELU_TANH,
}

cdef class ConvolutionKernel(FastPath):
    """Runs ordinary calls of `fused::convolution_epilogue` or `aten::convolution`, and gives others to
    `otherwise`."""

    cdef bint has_epilogue

    def __init__(self, Kernel otherwise not None, bint has_epilogue):
        FastPath.__init__(self, "convolution", (), None, otherwise)
        self.has_epilogue = has_epilogue

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* given[ARGUMENTS]
        cdef Py_ssize_t rank
        if self.has_epilogue:
            return _convolved(stack)
        transposed = <object>stack[PLAIN_TRANSPOSED]
        if transposed is not False:
            return convolved_transposed(stack) if transposed is True else None
        rank = len(<object>stack[PLAIN_STRIDE])
        if not (_has_length(<object>stack[PLAIN_PADDING], rank)
                and _has_length(<object>stack[PLAIN_OUTPUT_PADDING], rank)):
            return None
        if rank == 2 and (<TensorImpl>stack[INPUT]).rank == 4:
            made = _convolved_by_positions(stack)
            if made is not None:
                return made
        memcpy(given, stack, RESIDUAL * sizeof(PyObject*))
        given[RESIDUAL] = <PyObject*>None
        memcpy(given + STRIDE, stack + PLAIN_STRIDE, (GROUPS - STRIDE) * sizeof(PyObject*))
        given[GROUPS] = stack[PLAIN_GROUPS]
        given[ACTIVATION] = <PyObject*>_NO_ACTIVATION
        given[VALUES] = <PyObject*>_NOTHING
        return _convolved(given)


def convolved(*arguments):
    """What `fused::convolution_epilogue` gives for these arguments, all of them in its order.

    None where the call is none for the kernels: the operator knows what it is then. This is for
    programs that are loaded with all that they call, without the operator.
    """
    cdef PyObject* given[ARGUMENTS]
    if not read_arguments(arguments, given, ARGUMENTS, BIAS, 2):
        return None
    return _convolved(given)


cdef Tensor _convolved(PyObject** stack):
    """The result, or None where the call is none for the kernels."""
    cdef Call call
    cdef TensorImpl input
    cdef Tensor out
    # What is read stays, whatever others make of the tensors meanwhile.
    cdef Storage image, weight, bias, residual
    if _lies_last(<TensorImpl>stack[INPUT]):
        return _convolved_last(stack)
    if not _is_ordinary(&call, stack):
        return None
    input = <TensorImpl>stack[INPUT]
    out = make_contiguous(FLOAT32, input.rank, call.sizes, CPU, -1)
    # Making it may have run a collection, and that the code of others.
    if not _is_ordinary(&call, stack) or not _has_sizes(out, &call, input.rank):
        return None
    image = input.storage
    weight = (<TensorImpl>stack[WEIGHT]).storage
    bias = storage_of(stack[BIAS])
    residual = storage_of(stack[RESIDUAL])
    _read_memory(&call, stack, out)
    if not _run(&call.windows):
        raise MemoryError("convolution: no memory for what positions see")
    return out


cdef Tensor _convolved_last(PyObject** stack):
    """The result for images with channels last; None for other calls."""
    cdef Call call
    cdef TensorImpl input = <TensorImpl>stack[INPUT]
    cdef TensorImpl weight = <TensorImpl>stack[WEIGHT]
    cdef int64_t strides[4]
    cdef int64_t groups
    cdef Tensor out
    # Numbers first: reading them may run code.
    if not read_numbers(&call, stack, 2) or memcmp(
            call.steps[1], call.steps[1] + 2, 2 * sizeof(int64_t)) != 0:
        return None
    groups = <object>stack[GROUPS]
    if not _fits_last(&call, stack, groups):
        return None
    sizes = (call.sizes[0], call.sizes[1], call.sizes[2], call.sizes[3])
    padding = call.steps[1][0], call.steps[1][1]
    if not suits_last(<object>input, <object>weight, <object>stack[BIAS], sizes,
                      <object>stack[STRIDE], padding, <object>stack[DILATION], groups):
        return None
    strides[1] = 1
    strides[3] = call.sizes[1]
    strides[2] = call.sizes[3] * strides[3]
    strides[0] = call.sizes[2] * strides[2]
    out = make_strided(FLOAT32, 4, call.sizes, strides, CPU, -1)
    # Making it may have run a collection, and that the code of others.
    if not _fits_last(&call, stack, groups) or not _has_sizes(out, &call, 4):
        return None
    finish = None
    if not leaves_as_is(&call.finish):
        finish = None, call.finish.low, call.finish.high, call.finish.activation
    convolve_last(<object>input, <object>weight, <object>stack[BIAS], out, <object>stack[STRIDE],
                  padding, <object>stack[DILATION], groups, finish)
    return out


cdef bint _fits_last(Call* call, PyObject** stack, int64_t groups) noexcept:
    """Whether operands go together, and nothing is added but a bias."""
    cdef TensorImpl input = <TensorImpl>stack[INPUT]
    cdef TensorImpl weight = <TensorImpl>stack[WEIGHT]
    call.finish.adds = False
    return (_lies_last(input) and _is_there_in(weight, FLOAT32)
            and fits(call, 4, input.sizes, weight, groups)
            and is_bias(call, stack[BIAS]) and not _is_there(stack[RESIDUAL]))


cdef bint _lies_last(TensorImpl input) noexcept:
    """Whether channels of images in float32 are neighbours, without gaps."""
    return (input.rank == 4 and _is_there_in(input, FLOAT32) and _has_last_strides(input)
            and input.sizes[1] > 1 and input.sizes[2] * input.sizes[3] > 1)


cdef Tensor _convolved_by_positions(PyObject** stack):
    """The result for images with channels last and windows of one position; None for other calls."""
    cdef Product product
    cdef TensorImpl input = <TensorImpl>stack[INPUT]
    cdef TensorImpl weight = <TensorImpl>stack[WEIGHT]
    cdef TensorImpl bias = <TensorImpl>stack[BIAS] if _is_there(stack[BIAS]) else None
    cdef int64_t sizes[4]
    cdef int64_t strides[4]
    cdef Tensor out
    # What is read stays, whatever others make of the tensors meanwhile.
    cdef Storage image, weights, biases
    # Numbers first: reading them may run code.
    if not _moves_by_one(stack) or not _has_rows(input, weight, bias):
        return None
    memcpy(sizes, input.sizes, sizeof(sizes))
    sizes[1] = weight.sizes[0]
    strides[1] = 1
    strides[3] = sizes[1]
    strides[2] = sizes[3] * strides[3]
    strides[0] = sizes[2] * strides[2]
    out = make_strided(input.dtype_code, 4, sizes, strides, CPU, -1)
    # Making it may have run a collection, and that the code of others.
    if (not _has_rows(input, weight, bias) or input.dtype_code != out.dtype_code
            or input.sizes[0] != sizes[0] or weight.sizes[0] != sizes[1]
            or input.sizes[2] != sizes[2] or input.sizes[3] != sizes[3]):
        return None
    require_memory(input)
    require_memory(weight)
    if bias is not None:
        require_memory(bias)
    image = input.storage
    weights = weight.storage
    biases = storage_of(stack[BIAS])
    product.rows = sizes[0] * sizes[2] * sizes[3]
    read_operand(&product.left, input, False, False)
    product.left.row_stride = input.sizes[1]
    product.left.column_stride = 1
    apply_weight(&product, weight, bias, out)
    return out


cdef bint _moves_by_one(PyObject** stack) except -1:
    """Whether positions follow each other as in the image, with nothing around it."""
    cdef int64_t numbers[2]
    cdef int place
    for place in range(PLAIN_STRIDE, PLAIN_DILATION):
        if read_sizes(<object>stack[place], numbers, 2) != 2:
            return False
        if numbers[0] != numbers[1] or numbers[0] != (place == PLAIN_STRIDE):
            return False
    return (_has_length(<object>stack[PLAIN_DILATION], 2)
            and read_sizes(<object>stack[PLAIN_DILATION], numbers, 2) == 2
            and numbers[0] > 0 and numbers[1] > 0 and <object>stack[PLAIN_GROUPS] == 1)


cdef bint _has_rows(TensorImpl input, TensorImpl weight, TensorImpl bias) noexcept:
    """Whether positions are rows without gaps, of channels that a weight of one position takes."""
    cdef int64_t channels
    if input.rank != 4 or weight.rank != 4 or not _is_there_in(input, input.dtype_code):
        return False
    channels = input.sizes[1]
    if input.dtype_code != FLOAT32 and input.dtype_code != FLOAT64:
        return False
    # With one channel, or one position, an image is row-major, too, and so is its result.
    if channels < 2 or input.sizes[2] * input.sizes[3] < 2:
        return False
    if not _has_last_strides(input):
        return False
    if not _is_there_in(weight, input.dtype_code) or weight.sizes[1] != channels:
        return False
    if weight.sizes[2] != 1 or weight.sizes[3] != 1:
        return False
    return bias is None or (_is_there_in(bias, input.dtype_code) and bias.rank == 1
                            and bias.sizes[0] == weight.sizes[0])


cdef bint _has_last_strides(TensorImpl input) noexcept:
    cdef int64_t channels = input.sizes[1]
    return (input.strides[1] == 1 and input.strides[3] == channels
            and input.strides[2] == input.sizes[3] * channels
            and input.strides[0] == input.sizes[2] * input.strides[2])


cdef inline bint _is_there_in(TensorImpl tensor, int code) noexcept:
    """Whether it has elements of that type in the memory of the CPU."""
    return (tensor.device_type == CPU and tensor.dtype_code == code and tensor.count > 0
            and not is_lazy(tensor))


cdef inline bint _has_length(given, Py_ssize_t length):
    return (type(given) is list or type(given) is tuple) and len(given) == length


cdef inline bint _is_there(PyObject* value) noexcept:
    return <object>value is not None


cdef Storage storage_of(PyObject* value):
    return (<TensorImpl>value).storage if _is_there(value) else None


cdef bint _has_sizes(TensorImpl out, const Call* call, int rank) noexcept:
    cdef int dim
    for dim in range(rank):
        if out.sizes[dim] != call.sizes[dim]:
            return False
    return True


cdef bint _is_ordinary(Call* call, PyObject** stack) except -1:
    """Whether the call is one for the kernels, which is described so far then."""
    cdef TensorImpl input = <TensorImpl>stack[INPUT]
    cdef TensorImpl weight = <TensorImpl>stack[WEIGHT]
    cdef int64_t groups
    cdef int rank = input.rank
    # Numbers first: reading them may run code.
    if not read_numbers(call, stack, rank - 2):
        return False
    groups = <object>stack[GROUPS]
    if input.rank != rank or not (is_plain(input) and is_plain(weight) and input.count > 0):
        return False
    return fits(call, rank, input.sizes, weight, groups) and _are_added(call, stack, rank)


cdef bint read_numbers(Call* call, PyObject** stack, int rank) except -1:
    cdef Py_ssize_t count
    cdef int given
    if not read_activation(&call.finish, <object>stack[ACTIVATION], <object>stack[VALUES]):
        return False
    if not 1 <= rank <= SPATIAL:
        return False
    for given in range(STRIDE, GROUPS):
        if not _has_length(<object>stack[given], rank) and not (
                given == PADDING and _has_length(<object>stack[given], 2 * rank)):
            return False
    for given in range(3):
        count = read_sizes(<object>stack[STRIDE + given], call.steps[given], 2 * SPATIAL)
        if count == rank and given == PADDING - STRIDE:
            # As many on both sides.
            memcpy(call.steps[given] + rank, call.steps[given], rank * sizeof(int64_t))
        elif count != rank * (1 + (given == PADDING - STRIDE)):
            return False
    return True


cdef bint read_activation(aten_finish* finish, activation, values) except -1:
    code = _ACTIVATIONS.get(activation)
    if code is None or type(values) is not list and type(values) is not tuple:
        return False
    if len(values) != (2 if activation == "hardtanh" else 0):
        return False
    finish.activation = code
    finish.low = 0 if activation == "relu" else -INFINITY
    finish.high = INFINITY
    if activation == "hardtanh":
        finish.low, finish.high = values
    return finish.low <= finish.high


cdef bint is_plain(TensorImpl tensor) noexcept:
    """Whether it is row-major float32 of the CPU, and says so in its strides."""
    cdef int64_t stride = 1
    cdef int dim
    if tensor.device_type != CPU or tensor.dtype_code != FLOAT32 or is_lazy(tensor):
        return False
    for dim in range(tensor.rank - 1, -1, -1):
        if tensor.strides[dim] != stride or tensor.sizes[dim] > LARGE:
            return False
        stride *= tensor.sizes[dim]
    return True


cdef bint fits(Call* call, int dims, const int64_t* sizes, TensorImpl weight,
               int64_t groups) noexcept:
    cdef aten_windows* windows = &call.windows
    cdef int64_t kernel[SPATIAL]
    cdef int64_t padding[SPATIAL]
    cdef int64_t dilation[SPATIAL]
    cdef int64_t taps = 1, stride, out_stride = 1, behind
    cdef int rank = dims - 2
    cdef int dim, source
    if weight.rank != dims or weight.count == 0:
        return False
    if groups <= 0 or weight.sizes[0] % groups != 0 or sizes[1] != weight.sizes[1] * groups:
        return False
    call.sizes[0] = sizes[0]
    call.sizes[1] = weight.sizes[0]
    stride = 1
    for dim in range(SPATIAL - 1, -1, -1):
        source = dim - (SPATIAL - rank)
        windows.input_sizes[dim] = windows.sizes[dim] = kernel[dim] = windows.step[dim] = 1
        padding[dim] = behind = 0
        dilation[dim] = 1
        if source >= 0:
            windows.input_sizes[dim] = sizes[source + 2]
            kernel[dim] = weight.sizes[source + 2]
            windows.step[dim] = call.steps[0][source]
            padding[dim] = call.steps[1][source]
            behind = call.steps[1][rank + source]
            dilation[dim] = call.steps[2][source]
            if not (0 < windows.step[dim] <= LARGE and 0 <= padding[dim] <= LARGE
                    and 0 <= behind <= LARGE and 0 < dilation[dim] <= LARGE):
                return False
            windows.sizes[dim] = (windows.input_sizes[dim] + padding[dim] + behind - 1
                                  - dilation[dim] * (kernel[dim] - 1))
            if windows.sizes[dim] < 0:
                return False
            windows.sizes[dim] = windows.sizes[dim] // windows.step[dim] + 1
            call.sizes[source + 2] = windows.sizes[dim]
        taps *= kernel[dim]
        windows.input_strides[dim] = stride
        stride *= windows.input_sizes[dim]
        windows.out_strides[dim] = out_stride
        out_stride *= windows.sizes[dim]
        if taps > MOST_TAPS or out_stride > LARGE:
            return False
    windows.taps = taps
    windows.batch = sizes[0]
    windows.groups = groups
    windows.inputs = weight.sizes[1]
    windows.outputs = weight.sizes[0] // groups
    windows.stretch = ATEN_STRETCH
    windows.weight_row = windows.inputs * taps
    windows.bias_step = 1
    windows.input_channel = stride
    windows.input_batch = stride * sizes[1]
    windows.out_channel = out_stride
    windows.out_batch = out_stride * weight.sizes[0]
    _place_taps(call, kernel, padding, dilation)
    return True


cdef void _place_taps(Call* call, const int64_t* kernel, const int64_t* padding,
                      const int64_t* dilation) noexcept:
    """Where each tap looks, from where the first one of an unpadded window does."""
    cdef int64_t taps = call.windows.taps
    cdef int64_t z, y, x
    cdef int64_t tap = 0
    cdef int dim
    for dim in range(SPATIAL):
        call.windows.places[dim] = call.places + dim * taps
    for z in range(kernel[0]):
        for y in range(kernel[1]):
            for x in range(kernel[2]):
                call.places[tap] = z * dilation[0] - padding[0]
                call.places[taps + tap] = y * dilation[1] - padding[1]
                call.places[2 * taps + tap] = x * dilation[2] - padding[2]
                tap += 1


cdef bint is_bias(const Call* call, PyObject* given) noexcept:
    cdef TensorImpl bias
    if not _is_there(given):
        return True
    bias = <TensorImpl>given
    return is_plain(bias) and bias.rank == 1 and bias.sizes[0] == call.sizes[1]


cdef bint _are_added(const Call* call, PyObject** stack, int rank) noexcept:
    """Whether bias and residual are as they have to be, where they are given."""
    cdef TensorImpl residual
    cdef int dim
    if not is_bias(call, stack[BIAS]):
        return False
    if not _is_there(stack[RESIDUAL]):
        return True
    residual = <TensorImpl>stack[RESIDUAL]
    if not is_plain(residual) or residual.rank != rank:
        return False
    for dim in range(rank):
        if residual.sizes[dim] != call.sizes[dim]:
            return False
    return True


cdef int _read_memory(Call* call, PyObject** stack, TensorImpl out) except -1:
    """Where everything is."""
    cdef aten_windows* windows = &call.windows
    cdef aten_finish* finish = &call.finish
    cdef TensorImpl residual
    cdef int place
    for place in range(RESIDUAL + 1):
        if _is_there(stack[place]):
            require_memory(<TensorImpl>stack[place])
    windows.out = data_pointer(out)
    windows.input = const_data_pointer(<TensorImpl>stack[INPUT])
    windows.weight = const_data_pointer(<TensorImpl>stack[WEIGHT])
    windows.bias = NULL
    if _is_there(stack[BIAS]):
        windows.bias = const_data_pointer(<TensorImpl>stack[BIAS])
    finish.adds = _is_there(stack[RESIDUAL])
    finish.residual = 0
    if finish.adds:
        residual = <TensorImpl>stack[RESIDUAL]
        finish.residual = <int64_t>const_data_pointer(residual) - <int64_t>windows.out
    windows.finish = NULL if leaves_as_is(finish) else finish
    return 0


cdef bint _run(const aten_windows* windows) noexcept:
    cdef bint done
    if windows.out_batch * windows.batch * windows.weight_row < RELEASE_THRESHOLD:
        return convolve_directly(windows, False)
    with nogil:
        done = convolve_directly(windows, False)
    return done
