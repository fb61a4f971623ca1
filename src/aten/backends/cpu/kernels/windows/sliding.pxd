"""Channels that see one channel each, and copies of what they see."""

from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.windows.direct cimport aten_window_kernels, aten_windows

cdef struct Slots:
    # Parts of the input whose elements follow each other as the window moves: where each begins.
    int64_t count
    int64_t* z
    int64_t* y
    int64_t* x
    int64_t* offsets        # of each tap, in a copy of all slots
    int64_t reach_y         # rows and columns that taps look beyond their first
    int64_t reach_x

cdef struct Sliding:
    const aten_windows* work
    const aten_window_kernels* kernels
    Slots slots
    int64_t size            # of an element
    int64_t rows            # of a chunk of positions
    int64_t columns
    int64_t down            # chunks of one plane
    int64_t across
    int64_t height          # of the copy of a slot
    int64_t pitch
    int64_t lines           # of taps that stand below each other, if all do; or 0
    bint in_place           # nothing is copied: kernels see planes as they lie
    bint failed

# 1 if done, 0 if panels are the better way, -1 without memory.
cdef int slide_all(const aten_windows* work, const aten_window_kernels* kernels,
                   int size) noexcept nogil
# The same by the thread that calls.
cdef int slide_here(const aten_windows* work, const aten_window_kernels* kernels,
                    int size) noexcept nogil
cdef bint plan_sliding(Sliding* sliding, int64_t* memory, int64_t plane) noexcept nogil
# What the positions of a chunk see of one channel, slot after slot, with zeros for padding.
cdef void copy_slots(const Sliding* sliding, int64_t image, int64_t channel, int64_t z, int64_t y,
                     int64_t x, int64_t rows, char* copied) noexcept nogil
# A line to places `step` apart.
cdef void spread_line(const char* line, char* out, int64_t step, int64_t count,
                      int64_t size) noexcept nogil
