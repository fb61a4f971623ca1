"""Windows over few channels."""

from aten.backends.cpu.kernels.windows.direct cimport aten_window_kernels, aten_windows

# 1 if done, 0 if panels are the better way, -1 without memory. Copies are made by `copying` kernels;
# elements of the result have `out_size` bytes.
cdef int glide_all(const aten_windows* work, const aten_window_kernels* kernels,
                   const aten_window_kernels* copying, int size, int out_size) noexcept nogil
# The same by the thread that calls.
cdef int glide_here(const aten_windows* work, const aten_window_kernels* kernels,
                    int size) noexcept nogil

# Whether channels are few and lines are long, so that copies may be the better way.
cdef bint may_glide(const aten_windows* work) noexcept nogil
