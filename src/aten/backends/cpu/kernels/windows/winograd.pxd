"""Windows of three by three with fewer multiplications."""

from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.windows.direct cimport aten_window_kernels, aten_windows

# Whether it is worth it, by the sizes of weights and of one image alone: for channels of a group and
# the size of a result, if windows are of that kind; and whether they are, too.
cdef bint suit_tiles(int64_t inputs, int64_t outputs, int64_t height, int64_t width) noexcept nogil
cdef bint has_tiles(const aten_windows* work) noexcept nogil

# False without memory. Weights of a channel lie as taps and then input channels with `taps_first`,
# else the other way round. `redo` gets a 1 for each image whose results are not all finite: they are to be
# made again, by sums of products.
cdef bint convolve_tiles(const aten_windows* work, const aten_window_kernels* kernels,
                         char* redo, bint taps_first) noexcept nogil
