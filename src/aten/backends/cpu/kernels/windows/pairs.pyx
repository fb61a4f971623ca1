# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions of bfloat16 by instructions that multiply pairs and sum them in float32.

Channels are taken two by two: elements of the first and of the second at a place, and weights of both
for a tap, are a pair each, and what is a lane of float32 to `direct` otherwise. Sums are rounded once,
when they become the result. Numbers below the least normal one count as zero to such instructions.
"""

from libc.stdint cimport int64_t, uint16_t
from libc.stdlib cimport free, malloc

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport BFLOAT16
from aten._core.memory.storage cimport Storage, allocate
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, require_memory)
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_STRETCH, aten_windows, convolve_pairs_directly, has_pair_kernels, pair_lines,
)
from aten.backends.cpu.kernels.windows.images cimport SPATIAL, Window, read_window

cdef enum:
    # Channels below which too many pairs were halves, or too few rows are multiplied.
    FEWEST_INPUTS = 3
    FEWEST_OUTPUTS = 8
    # Pairs worth a claim of their own.
    CLAIM = 1 << 14

cdef struct Pairing:
    # Runs of `count` elements for each of `channels` channels, again and again.
    const uint16_t* source
    char* target
    int64_t channels
    int64_t count


def suits_pairs(Tensor input not None, Tensor weight not None, sizes, int64_t groups):
    """Whether `convolve_pairs` is for a convolution with a result of these sizes; False where the
    processor has no such instructions or there are few channels."""
    if not has_pair_kernels() or input.device_type != CPU:
        return False
    if input.dtype_code != BFLOAT16 or weight.dtype_code != BFLOAT16:
        return False
    if input.count == 0 or weight.count == 0 or 0 in sizes:
        return False
    return weight.sizes[1] >= FEWEST_INPUTS and weight.sizes[0] // groups >= FEWEST_OUTPUTS


def convolve_pairs(Tensor input not None, Tensor weight not None, Tensor bias, Tensor out not None,
                   stride, padding, dilation, int64_t groups):
    """Write the convolution of `input` to `out`, row-major bfloat16 as `weight` is.

    The caller has checked sizes, and that `suits_pairs` says so. `bias` is of float32. Raises
    MemoryError.
    """
    cdef aten_windows work
    cdef Storage image, pairs
    cdef int64_t* places
    cdef bint done, as_is
    for tensor in (input, weight, bias, out):
        require_memory(<TensorImpl>tensor)
    work.inputs = (weight.sizes[1] + 1) // 2
    work.outputs = weight.sizes[0] // groups
    work.groups = groups
    work.batch = input.sizes[0]
    _describe(&work, input, weight, out)
    places = <int64_t*>malloc(SPATIAL * work.taps * sizeof(int64_t))
    if places == NULL:
        raise MemoryError("convolution: no memory for the window")
    try:
        _place_taps(&work, weight, stride, padding, dilation, places)
        as_is = work.taps == 1 and weight.sizes[1] % 2 == 0
        image = allocate(4 * work.batch * work.input_batch, CPU, -1)
        pairs = allocate(0 if as_is else 4 * weight.sizes[0] * work.weight_row, CPU, -1)
        # In this order: writing first, as reading may follow a change of memory.
        work.out = data_pointer(out)
        work.bias = NULL
        if bias is not None:
            work.bias = const_data_pointer(bias)
            work.bias_step = bias.strides[0]
        work.input = image.data
        # Weights of two channels that lie side by side are pairs already.
        work.weight = <const char*>const_data_pointer(weight) if as_is else pairs.data
        with nogil:
            _pair(<const uint16_t*>const_data_pointer(input), image.data, work.batch * groups,
                  weight.sizes[1], work.input_channel)
            if not as_is:
                _pair(<const uint16_t*>const_data_pointer(weight), pairs.data, weight.sizes[0],
                      weight.sizes[1], work.taps)
            done = convolve_pairs_directly(&work)
    finally:
        free(places)
    if not done:
        raise MemoryError("convolution: no memory for what positions see")
    count_write(out)


cdef void _describe(aten_windows* work, TensorImpl input, TensorImpl weight,
                    TensorImpl out) noexcept:
    """Sizes and strides, in pairs but for the result."""
    cdef int rank = input.rank
    cdef int dim, source
    work.finish = NULL
    work.stretch = ATEN_STRETCH
    work.bias_step = 1
    work.taps = work.input_channel = work.out_channel = 1
    for dim in range(SPATIAL - 1, -1, -1):
        source = rank - SPATIAL + dim
        work.input_sizes[dim] = input.sizes[source] if source >= 2 else 1
        work.sizes[dim] = out.sizes[source] if source >= 2 else 1
        work.input_strides[dim] = work.input_channel
        work.out_strides[dim] = work.out_channel
        work.input_channel *= work.input_sizes[dim]
        work.out_channel *= work.sizes[dim]
        work.taps *= weight.sizes[source] if source >= 2 else 1
    work.input_batch = work.groups * work.inputs * work.input_channel
    work.out_batch = work.groups * work.outputs * work.out_channel
    work.weight_row = work.inputs * work.taps


cdef int _place_taps(aten_windows* work, TensorImpl weight, stride, padding, dilation,
                     int64_t* places) except -1:
    """Where each tap looks, from where the first one of an unpadded window does."""
    cdef Window window
    cdef int dim
    cdef int64_t tap, rest
    read_window(&window, weight, stride, padding, dilation)
    for dim in range(SPATIAL):
        work.step[dim] = window.stride[dim]
        work.places[dim] = places + dim * work.taps
    for tap in range(work.taps):
        rest = tap
        for dim in range(SPATIAL - 1, -1, -1):
            places[dim * work.taps + tap] = (rest % window.kernel[dim] * window.dilation[dim]
                                             - window.padding[dim])
            rest //= window.kernel[dim]
    return 0


cdef void _pair(const uint16_t* source, char* target, int64_t images, int64_t channels,
                int64_t count) noexcept nogil:
    """Pairs of channels of all images, which have runs of `count` elements for each."""
    cdef Pairing pairing
    pairing.source = source
    pairing.target = target
    pairing.channels = channels
    pairing.count = count
    parallel_for(images * ((channels + 1) // 2), max(<int64_t>1, CLAIM // count), _pair_runs,
                 &pairing)


cdef void _pair_runs(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Pairing* work = <const Pairing*>context
    pair_lines(work.source, work.channels, work.count, begin, end, work.target)
