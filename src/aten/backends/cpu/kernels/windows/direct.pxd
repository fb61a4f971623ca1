"""Convolutions of float32 and float64 by kernels of our own."""

from libc.stdint cimport int64_t

cdef extern from "convolution_levels.h" nogil:
    ctypedef struct aten_windows:
        const void* input
        const void* weight
        const void* bias
        void* out
        int64_t batch, groups, inputs, outputs, taps
        int64_t weight_row, bias_step
        int64_t[3] input_sizes
        int64_t[3] input_strides
        int64_t input_batch, input_channel
        int64_t[3] sizes
        int64_t[3] step
        int64_t out_batch, out_channel
        int64_t[3] out_strides
        const int64_t** places

# False where memory was not to be had. Weights of a channel lie side by side, as input channels and
# then taps.
cdef bint convolve_directly(const aten_windows* work, bint is_double) noexcept nogil
