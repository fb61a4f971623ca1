"""Fourier transforms of numbers in two planes."""

from libc.stdint cimport int64_t

from aten._core.memory.storage cimport Storage

cdef extern from "fourier_structures.h" nogil:
    ctypedef struct aten_passes:
        int64_t length
        int count
        int* radices
        int64_t* begins
        int64_t* tables
        const void* roots

cdef enum:
    # Bytes; vectors of planes that begin there lie in one each.
    CACHE_LINE = 64

cdef inline void* at_cache_line(void* memory) noexcept nogil:
    """The first cache line from `memory` on."""
    return <void*>((<size_t>memory + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE)

cdef struct Plan:
    int64_t length
    bint wide                   # computed in float64
    aten_passes passes
    # A matrix: its columns, its rows, and the turns between them (columns, rows), in two planes.
    const Plan* columns
    const Plan* rows
    const void* turns
    # A convolution with `chirp`, in two planes, by way of transforms of another length: its spectrum.
    const Plan* inner
    const double* chirp
    const double* spectrum
    # A cyclic convolution, by way of transforms of one number less: powers of a generator, and the
    # transform of the roots in the order of these, in two planes.
    const Plan* cycle
    const int64_t* powers
    const void* turned

cdef class FourierPlan:
    """What is known of transforms of one length, in one type."""
    cdef Plan plan
    cdef list kept              # what the addresses in `plan` point into
    cdef readonly int64_t nbytes
    cdef void* _table(self, int64_t count, bint wide) except? NULL
    cdef const Plan* _part(self, int64_t length, bint whole) except NULL
    cdef int _fill_roots(self, list found) except -1
    cdef int _arrange(self, int64_t columns, int64_t rows) except -1
    cdef int _permute(self) except -1
    cdef int _convolve(self) except -1

cdef class FourierHalves:
    """Roots that make transforms of real numbers of half as many complex ones."""
    cdef Storage memory
    cdef readonly int64_t nbytes

cdef object table_for(object kind, int64_t length, bint wide)
cdef int64_t room_of(const Plan* plan, int64_t lanes) noexcept nogil
cdef bint is_alone(const Plan* plan) noexcept nogil
# Transform the numbers at `a`, real parts before imaginary ones, of `lanes` lines side by side; with
# `room_of` numbers of room at `b`. Returns whether the result lies there.
cdef int run_floats(const Plan* plan, int64_t lanes, float* a, float* b, int* failed) noexcept nogil
cdef int run_doubles(const Plan* plan, int64_t lanes, double* a, double* b,
                     int* failed) noexcept nogil
# Lines of pairs. Not in the module of their callers: what is compiled for every level of vector
# instructions is compiled once.
cdef int lines_abreast(int wide) noexcept nogil
cdef void floats_abreast(const aten_passes* passes, const float* pairs, int64_t apart,
                         const float* roots, float* out, int64_t out_apart, int swapped,
                         float scale, float* a, float* b) noexcept nogil
cdef void doubles_abreast(const aten_passes* passes, const double* pairs, int64_t apart,
                          const double* roots, double* out, int64_t out_apart, int swapped,
                          double scale, double* a, double* b) noexcept nogil
# `lanes` columns of pairs, whose rows lie `apart`, to such columns, scaled. Returns whether they are as
# many as a vector's lanes, or several times that, and the first and the last pass of a kind that can.
cdef int floats_beside(const aten_passes* passes, int64_t lanes, const float* pairs, int64_t apart,
                       float* out, int64_t out_apart, int swapped, float scale, float* a,
                       float* b) noexcept nogil
cdef int doubles_beside(const aten_passes* passes, int64_t lanes, const double* pairs, int64_t apart,
                        double* out, int64_t out_apart, int swapped, double scale, double* a,
                        double* b) noexcept nogil
# One line, whose parts are exchanged if `swapped`: to pairs, scaled, or, to no `out`, to planes.
# `following` is read next.
cdef int lone_floats(const Plan* plan, const float* pairs, const float* following, float* out,
                     int swapped, float scale, float* a, float* b, int* failed) noexcept nogil
cdef int lone_doubles(const Plan* plan, const double* pairs, const double* following, double* out,
                     int swapped, double scale, double* a, double* b, int* failed) noexcept nogil
cdef void spectrum_floats(const float* real, const float* imaginary, int64_t count,
                          const float* roots, float halved, float* pairs) noexcept nogil
cdef void spectrum_doubles(const double* real, const double* imaginary, int64_t count,
                           const double* roots, double halved, double* pairs) noexcept nogil
# Pairs become planes, and planes pairs.
cdef void part_floats(const float* pairs, int64_t count, float* real,
                      float* imaginary) noexcept nogil
cdef void part_doubles(const double* pairs, int64_t count, double* real,
                       double* imaginary) noexcept nogil
cdef void join_floats(const float* real, const float* imaginary, int64_t count,
                      float scale, float* pairs) noexcept nogil
cdef void join_doubles(const double* real, const double* imaginary, int64_t count,
                       double scale, double* pairs) noexcept nogil
# As many lines of pairs as a vector has lanes, `apart` by so many numbers, side by side in planes; and
# back.
cdef void gather_floats(const float* pairs, int64_t apart, int64_t count, float* real,
                        float* imaginary) noexcept nogil
cdef void scatter_floats(const float* real, const float* imaginary, int64_t count, float scale,
                         float* pairs, int64_t apart) noexcept nogil
cdef void gather_doubles(const double* pairs, int64_t apart, int64_t count, double* real,
                        double* imaginary) noexcept nogil
cdef void scatter_doubles(const double* real, const double* imaginary, int64_t count, double scale,
                         double* pairs, int64_t apart) noexcept nogil
