"""Convolutions of float32 and float64 by kernels of our own."""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint16_t

from aten._core.tensor.tensor_impl cimport TensorImpl

cdef extern from "convolution_structures.h" nogil:
    enum:
        ATEN_CUT
        ATEN_SIGMOID
        ATEN_SILU
        ATEN_HARDSWISH
        ATEN_GELU
        ATEN_GELU_TANH
    ctypedef struct aten_finish:
        int64_t residual
        double low, high
        int adds, activation
    ctypedef struct aten_windows:
        const void* input
        const void* weight
        const void* bias
        void* out
        int64_t batch, groups, inputs, outputs, taps
        int64_t stretch
        int64_t weight_row, bias_step
        int64_t[3] input_sizes
        int64_t[3] input_strides
        int64_t input_batch, input_channel
        int64_t[3] sizes
        int64_t[3] step
        int64_t out_batch, out_channel
        int64_t[3] out_strides
        const int64_t** places
        const aten_finish* finish
    ctypedef struct aten_piece:
        int64_t column, count, z, y, x
    ctypedef struct aten_strip:
        int64_t columns, width
        int pieces
        aten_piece* piece
    ctypedef struct aten_window_tile:
        int64_t columns, depth, width
        const void* left
        const void* right
        const void* bias
        void* out
        int64_t left_row, out_row, bias_step
        int adds, ahead, far
        const void* addend
        const aten_finish* finish
        const void* source
        int64_t source_row
        const int64_t* offsets
        const void* next
        int64_t next_rows
    ctypedef struct aten_grid:
        const void* data
        const void* weights
        const void* bias
        void* out
        const int64_t* offsets
        int64_t height, taps, pitch, out_line, rows, columns
        int64_t top, seen_rows, seen_columns
        const aten_finish* finish
    ctypedef struct aten_weighing:
        const void* gradient
        const void* data
        const int64_t* offsets
        const uint16_t* lanes
        void* out
        int64_t gradient_row, rows, columns, count, out_row
        int adds
    ctypedef struct aten_channels:
        const void* data
        const void* weights
        const void* bias
        void* out
        int64_t rows, columns, row_step, column_step, weight_row, weight_column
        int64_t channels, positions, step, out_step
    ctypedef struct aten_tile_piece:
        int64_t place, count, column, lines, out
    ctypedef struct aten_tiles:
        const void* sums
        const void* bias
        const aten_finish* finish
        void* out
        int64_t width, part, bias_step, out_channel, out_line, seen, spread, length
        int64_t pieces
        aten_tile_piece* piece
    ctypedef struct aten_window_kernels:
        int lanes, rows
        void (*pack)(const aten_windows* work, const aten_strip* strip, const void* data,
                     int64_t channels, int64_t begin, int64_t end, void* panel) noexcept nogil
        void (*multiply)(const aten_window_tile* strip, int64_t rows) noexcept nogil
        void (*dots)(const aten_window_tile* strip, int64_t rows) noexcept nogil
        void (*slide)(const void* data, const int64_t* offsets, const void* weights, int64_t taps,
                      const void* bias, void* out, int64_t count) noexcept nogil
        void (*slide_grid)(const aten_grid* grid) noexcept nogil
        void (*slide_plane)(const aten_grid* grid, int64_t step) noexcept nogil
        void (*spread_plane)(const aten_grid* grid) noexcept nogil
        void (*turn)(const void* source, int64_t source_row, int64_t rows, int64_t count,
                     void* target, int64_t width) noexcept nogil
        void (*turn_lines)(const void* data, const int64_t* offsets, int64_t columns, int64_t count,
                           void* panel, int64_t width) noexcept nogil
        void (*slide_channels)(const aten_channels* line) noexcept nogil
        void (*finish)(const aten_finish* finish, bint settles, void* out, int64_t out_row,
                       int64_t rows, int64_t count) noexcept nogil
        void (*weigh)(const aten_weighing* block) noexcept nogil
        void (*copy_lines)(const void* source, int64_t source_line, int64_t step, int64_t low,
                           int64_t high, int64_t count, int64_t lines, void* target,
                           int64_t target_line) noexcept nogil
        void (*zip_lines)(const void* even, const void* odd, int64_t count,
                          void* target) noexcept nogil
        void (*see_tiles)(const void* source, const int64_t* offsets, int64_t seen,
                          int64_t channels, int64_t from_channel, int64_t vectors, void* target,
                          int64_t to_channel, int64_t to_part) noexcept nogil
        void (*part_weights)(const void* source, int64_t taps, int64_t channels, void* target,
                             int64_t width) noexcept nogil
        void (*spread_weights)(const void* source, int64_t seen, int64_t width, int64_t count,
                               void* target, int64_t to_part) noexcept nogil
        void (*part_lines)(const void* source, int64_t source_line, int64_t length, int64_t first,
                           int64_t count, int64_t lines, int64_t ahead, void* even,
                           void* odd) noexcept nogil
        void (*copy_spread)(const void* source, int64_t step, int64_t length, int64_t first,
                            int64_t spread, int64_t count, void* target) noexcept nogil
        int (*join_tiles)(const aten_tiles* tiles, int64_t rows) noexcept nogil
    int ATEN_STRETCH
    int ATEN_VECTORS
    int ATEN_MOST_LANES
    int ATEN_ALIAS

# The kernels for the widest vectors in use.
cdef const aten_window_kernels* kernels_of(bint is_double) noexcept nogil

cdef inline bint leaves_as_is(const aten_finish* finish) noexcept nogil:
    return (finish.activation == ATEN_CUT and not finish.adds
            and finish.low == -INFINITY and finish.high == INFINITY)

# From (residual or None, low, high, activation): the residual lies as `out` does.
cdef int read_finish(aten_finish* finish, TensorImpl out, given) except -1

# False where memory was not to be had. Weights of a channel lie side by side, as input channels and
# then taps.
cdef bint convolve_directly(const aten_windows* work, bint is_double) noexcept nogil

# The same for windows with tiles in float32 whose weights lie as taps and then input channels.
cdef bint convolve_taps_first(const aten_windows* work) noexcept nogil

# Whether it is summed channel by channel and tap by tap, in stretches of panels, as in all but few
# ways; and such a one by the thread that calls.
cdef bint sums_in_order(const aten_windows* work) noexcept nogil
# Whether some of its positions are so few that they are summed in an order of their own.
cdef bint leaves_few(const aten_windows* work) noexcept nogil
cdef bint multiply_panels_here(const aten_windows* work, const aten_window_kernels* kernels,
                               int size) noexcept nogil
cdef bint multiply_here(const aten_windows* work, const aten_window_kernels* kernels,
                        int size) noexcept nogil

# The same for operands that are pairs of bfloat16, a lane each, with float32 for the bias and a
# result of bfloat16 without gaps, if there are kernels for them.
cdef bint has_pair_kernels() noexcept nogil
cdef bint convolve_pairs_directly(const aten_windows* work) noexcept nogil
# Of images with so many channels of `count` elements each, every two channels become one of pairs,
# with zeros where there is no odd one: those from `begin` to `end`, counted through all images.
cdef void pair_lines(const void* source, int64_t channels, int64_t count, int64_t begin,
                     int64_t end, void* target) noexcept nogil
