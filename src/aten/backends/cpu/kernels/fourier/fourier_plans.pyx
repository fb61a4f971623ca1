# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Fourier transforms of numbers in two planes: the tables of a length, and how it is gone through.

Stockham's passes of radix 8, 4, 2, 3, 5 and any other odd one (Cochran et al., What is the fast
Fourier transform?, 1967). Larger primes are a cyclic convolution of one number less (Rader, Discrete
Fourier transforms when the number of data samples is prime, 1968), other lengths with a large prime
factor a convolution (Bluestein, 1970), in float64. Long transforms go through the caches as a
matrix, columns first, then rows (Bailey, FFTs in external or hierarchical memory, 1990).
"""

from libc.math cimport cos, sin
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.memory.storage cimport Storage, allocate
from aten._core.threads.parallel cimport parallel_for

from collections import OrderedDict

from aten.backends.cpu.kernels.fourier.lengths import generator, is_prime, radices, sides, smooth

cdef extern from "fourier_levels.h" nogil:
    const int ATEN_LARGEST_RADIX
    int aten_run_floats(const aten_passes* passes, int64_t lanes, float* a, float* b) noexcept
    int aten_run_doubles(const aten_passes* passes, int64_t lanes, double* a, double* b) noexcept
    void aten_multiply_floats(const float* xr, const float* xi, const float* wr, const float* wi,
                              int64_t count, int64_t lanes, float* yr, float* yi) noexcept
    void aten_multiply_doubles(const double* xr, const double* xi, const double* wr,
                               const double* wi, int64_t count, int64_t lanes, double* yr,
                               double* yi) noexcept
    void aten_columns_floats(const aten_passes* passes, int64_t wide, const float* turns,
                                const float* given, const float* pairs, int swapped, float* out,
                                int64_t pitch, int64_t begin, int64_t count,
                                float* room) noexcept
    void aten_rows_floats(const aten_passes* passes, int64_t rows, const float* given,
                             int64_t pitch, float* out, float* pairs, int swapped, float scale,
                             int64_t begin, int64_t count, float* room) noexcept
    void aten_columns_doubles(const aten_passes* passes, int64_t wide, const double* turns,
                                const double* given, const double* pairs, int swapped, double* out,
                                int64_t pitch, int64_t begin, int64_t count,
                                double* room) noexcept
    void aten_rows_doubles(const aten_passes* passes, int64_t rows, const double* given,
                             int64_t pitch, double* out, double* pairs, int swapped, double scale,
                             int64_t begin, int64_t count, double* room) noexcept
    int aten_lanes(int wide) noexcept
    void aten_abreast_floats(const aten_passes* passes, const float* pairs, int64_t apart,
                             const float* roots, float* out, int64_t out_apart, int swapped,
                             float scale, float* a, float* b) noexcept
    void aten_abreast_doubles(const aten_passes* passes, const double* pairs, int64_t apart,
                              const double* roots, double* out, int64_t out_apart, int swapped,
                              double scale, double* a, double* b) noexcept
    int aten_lone_floats(const aten_passes* passes, const float* pairs, const float* following,
                         float* out, int swapped,
                         float scale, float* a, float* b) noexcept
    int aten_lone_doubles(const aten_passes* passes, const double* pairs, const double* following,
                         double* out, int swapped,
                          double scale, double* a, double* b) noexcept
    int aten_beside_floats(const aten_passes* passes, int64_t lanes, const float* pairs,
                           int64_t apart, float* out, int64_t out_apart, int swapped, float scale,
                           float* a, float* b) noexcept
    void aten_part_floats(const float* pairs, int64_t count, float* real, float* imaginary) noexcept
    int aten_beside_doubles(const aten_passes* passes, int64_t lanes, const double* pairs,
                           int64_t apart, double* out, int64_t out_apart, int swapped, double scale,
                           double* a, double* b) noexcept
    void aten_part_doubles(const double* pairs, int64_t count, double* real,
                           double* imaginary) noexcept
    void aten_join_floats(const float* real, const float* imaginary, int64_t count, float scale,
                          float* pairs) noexcept
    void aten_join_doubles(const double* real, const double* imaginary, int64_t count, double scale,
                           double* pairs) noexcept
    void aten_spectrum_floats(const float* real, const float* imaginary, int64_t count,
                              const float* roots, float halved, float* pairs) noexcept
    void aten_spectrum_doubles(const double* real, const double* imaginary, int64_t count,
                               const double* roots, double halved, double* pairs) noexcept
    void aten_gather_floats(const float* pairs, int64_t apart, int64_t count, float* real,
                            float* imaginary) noexcept
    void aten_scatter_floats(const float* real, const float* imaginary, int64_t count, float scale,
                             float* pairs, int64_t apart) noexcept
    void aten_gather_doubles(const double* pairs, int64_t apart, int64_t count, double* real,
                            double* imaginary) noexcept
    void aten_scatter_doubles(const double* real, const double* imaginary, int64_t count, double scale,
                             double* pairs, int64_t apart) noexcept

cdef enum:
    # Bytes of neighbouring columns that are transformed together.
    ABREAST = 64
    # Numbers from which a transform is done as a matrix, and of each side of it.
    LONG = 1 << 12
    LEAST_SIDE = 16
    # Numbers between the rows of a turned matrix.
    GAP = 16
    # Bytes of tables that are kept for the next transform of a length.
    KEPT = 1 << 26

cdef double PI = 3.14159265358979323846

ctypedef fused Real:
    float
    double

cdef struct Matrix:
    const Plan* plan
    void* given
    void* out
    const void* pairs           # what columns read in the place of planes; or NULL
    void* made                  # where rows put pairs, in the place of planes; or NULL
    int swapped                 # whether parts of pairs are exchanged
    double scale                # of what goes to pairs
    bint by_rows
    int failed


cdef void turn(int64_t part, int64_t whole, double* cosine, double* sine) noexcept nogil:
    """cos and sin of part / whole turns, 0 <= part < whole; of angles up to an eighth only."""
    cdef int64_t quadrant = 4 * part // whole
    cdef int64_t rest = 4 * part - quadrant * whole
    cdef double c, s, swapped
    if 2 * rest > whole:
        c = sin(PI / 2 * <double>(whole - rest) / <double>whole)
        s = cos(PI / 2 * <double>(whole - rest) / <double>whole)
    else:
        c = cos(PI / 2 * <double>rest / <double>whole)
        s = sin(PI / 2 * <double>rest / <double>whole)
    if quadrant & 1:
        swapped = c
        c = -s
        s = swapped
    cosine[0] = -c if quadrant & 2 else c
    sine[0] = -s if quadrant & 2 else s


cdef inline void _put(void* table, int64_t place, bint wide, double value) noexcept nogil:
    if wide:
        (<double*>table)[place] = value
    else:
        (<float*>table)[place] = <float>value


cdef class FourierPlan:
    """What is known of transforms of one length, in one type."""

    def __init__(self, int64_t length, bint wide, bint whole=False):
        """With `whole`, not as a matrix."""
        self.kept = []
        self.plan.length = length
        self.plan.wide = wide
        self.plan.columns = self.plan.rows = self.plan.inner = self.plan.cycle = NULL
        found = radices(length, ATEN_LARGEST_RADIX)
        if found is None:
            if is_prime(length) and radices(length - 1, ATEN_LARGEST_RADIX) is not None:
                self._permute()
            else:
                self._convolve()
            return
        if length >= LONG and not whole:
            columns, rows = sides(length)
            if columns >= LEAST_SIDE:
                self._arrange(columns, rows)
                return
        self._fill_roots(found)

    cdef void* _table(self, int64_t count, bint wide) except? NULL:
        cdef Storage memory = allocate(max(count, 1) * (8 if wide else 4), CPU, -1)
        self.kept.append(memory)
        self.nbytes += count * (8 if wide else 4)
        return memory.data

    cdef const Plan* _part(self, int64_t length, bint whole) except NULL:
        cdef FourierPlan part = FourierPlan(length, self.plan.wide, whole)
        self.kept.append(part)
        self.nbytes += part.nbytes
        return &part.plan

    cdef int _fill_roots(self, list found) except -1:
        cdef aten_passes* passes = &self.plan.passes
        cdef int64_t m = self.plan.length, total = 0, begin, p
        cdef int index = 0, k, radix
        cdef double cosine, sine
        cdef bint wide = self.plan.wide
        cdef void* table
        passes.length = self.plan.length
        passes.count = <int>len(found)
        for radix in found:
            m //= radix
            passes.radices[index] = radix
            passes.begins[index] = total
            passes.tables[index] = total + 2 * (radix - 1) * m
            total += 2 * (radix - 1) * m + 2 * radix
            index += 1
        table = self._table(total, wide)
        passes.roots = table
        with nogil:
            m = self.plan.length
            for index in range(passes.count):
                radix = passes.radices[index]
                m //= radix
                begin = passes.begins[index]
                for k in range(1, radix):
                    for p in range(m):
                        turn(k * p, radix * m, &cosine, &sine)
                        _put(table, begin + (2 * k - 2) * m + p, wide, cosine)
                        _put(table, begin + (2 * k - 1) * m + p, wide, -sine)
                for k in range(radix):
                    turn(k, radix, &cosine, &sine)
                    _put(table, passes.tables[index] + 2 * k, wide, cosine)
                    _put(table, passes.tables[index] + 2 * k + 1, wide, sine)
        return 0

    cdef int _arrange(self, int64_t columns, int64_t rows) except -1:
        """As a matrix: columns of `columns` numbers, rows of `rows`."""
        cdef int64_t length = self.plan.length, k, j, part
        cdef bint wide = self.plan.wide
        cdef double* low = <double*>self._table(2 * rows, True)
        cdef double* high = <double*>self._table(2 * columns, True)
        cdef void* table = self._table(2 * length, wide)
        self.plan.columns = self._part(columns, True)
        self.plan.rows = self._part(rows, True)
        self.plan.turns = table
        with nogil:
            for j in range(rows):
                turn(j, length, low + 2 * j, low + 2 * j + 1)
            for k in range(columns):
                turn(k * rows, length, high + 2 * k, high + 2 * k + 1)
            for k in range(columns):
                for j in range(rows):
                    part = k * j // rows
                    _turn_twice(high + 2 * part, low + 2 * (k * j - part * rows), table,
                                k * rows + j, length, wide)
        return 0

    cdef int _permute(self) except -1:
        """Numbers but the first in the order of a generator's powers: a cyclic convolution."""
        cdef int64_t length = self.plan.length, count = length - 1, q, power = 1, step
        cdef FourierPlan exact = FourierPlan(count, True)
        cdef Storage memory = allocate((2 * count + room_of(&exact.plan, 1)) * 8, CPU, -1)
        cdef Storage places = allocate(count * 8, CPU, -1)
        cdef double* turned = <double*>memory.data
        cdef double* made = turned + 2 * count
        cdef int64_t* powers = <int64_t*>places.data
        cdef void* table = self._table(2 * count, self.plan.wide)
        cdef double cosine, sine
        cdef int failed = 0
        self.plan.cycle = self._part(count, False)
        self.kept.append(places)
        self.nbytes += count * 8
        step = generator(length)
        with nogil:
            for q in range(count):
                powers[q] = power
                power = power * step % length
            for q in range(count):
                # The power of the other sign.
                turn(powers[(count - q) % count], length, &cosine, &sine)
                turned[q] = cosine / <double>count
                turned[count + q] = -sine / <double>count
            if run_doubles(&exact.plan, 1, turned, made, &failed):
                turned = made
            for q in range(2 * count):
                _put(table, q, self.plan.wide, turned[q])
        if failed:
            raise MemoryError(f"fft: no memory for {count} numbers")
        self.plan.powers = powers
        self.plan.turned = table
        return 0

    cdef int _convolve(self) except -1:
        cdef int64_t length = self.plan.length, place, part = 0, padded = smooth(2 * length - 1)
        cdef double* chirp = <double*>self._table(2 * length, True)
        cdef double* spectrum = <double*>self._table(2 * padded, True)
        cdef double* other
        cdef Storage memory
        cdef double cosine, sine
        cdef bint moved
        cdef int failed = 0
        self.plan.wide = True
        self.plan.inner = self._part(padded, False)
        memory = allocate(room_of(self.plan.inner, 1) * 8, CPU, -1)
        other = <double*>memory.data
        with nogil:
            for place in range(2 * padded):
                spectrum[place] = 0
            for place in range(length):
                turn(part, 2 * length, &cosine, &sine)
                chirp[place] = cosine
                chirp[length + place] = -sine
                spectrum[place] = cosine / <double>padded
                spectrum[padded + place] = sine / <double>padded
                if place:
                    spectrum[padded - place] = spectrum[place]
                    spectrum[2 * padded - place] = spectrum[padded + place]
                part = (part + 2 * place + 1) % (2 * length)
            moved = run_doubles(self.plan.inner, 1, spectrum, other, &failed)
            if moved:
                for place in range(2 * padded):
                    spectrum[place] = other[place]
        if failed:
            raise MemoryError(f"fft: no memory for {padded} numbers")
        self.plan.chirp = chirp
        self.plan.spectrum = spectrum
        return 0


cdef inline void _turn_twice(const double* one, const double* other, void* table, int64_t place,
                             int64_t beside, bint wide) noexcept nogil:
    """The root that lies both angles away from 1, clockwise; its parts lie `beside` apart."""
    _put(table, place, wide, one[0] * other[0] - one[1] * other[1])
    _put(table, place + beside, wide, -(one[0] * other[1] + one[1] * other[0]))


cdef class FourierHalves:
    """Roots that make transforms of real numbers of half as many complex ones."""

    def __init__(self, int64_t length, bint wide):
        cdef int64_t place
        cdef double cosine, sine
        self.nbytes = (length // 2 + 1) * 2 * (8 if wide else 4)
        self.memory = allocate(self.nbytes, CPU, -1)
        with nogil:
            for place in range(length // 2 + 1):
                turn(place, length, &cosine, &sine)
                _put(self.memory.data, 2 * place, wide, cosine)
                _put(self.memory.data, 2 * place + 1, wide, sine)


cdef dict _held = {"bytes": 0}
_tables = OrderedDict()


cdef object table_for(object kind, int64_t length, bint wide):
    """A table of this kind, kept while there is room for it."""
    key = (kind, length, wide)
    found = _tables.get(key)
    if found is not None:
        _tables.move_to_end(key)
        return found
    found = kind(length, wide)
    if found.nbytes > KEPT:
        return found
    # Another thread may have made it meanwhile.
    if key in _tables:
        return _tables[key]
    while _tables and _held["bytes"] + found.nbytes > KEPT:
        _held["bytes"] -= _tables.popitem(last=False)[1].nbytes
    _tables[key] = found
    _held["bytes"] += found.nbytes
    return found


# Transforms.


cdef int64_t room_of(const Plan* plan, int64_t lanes) noexcept nogil:
    """Numbers that a transform wants room for beside its operand."""
    if plan.inner != NULL:
        return 2 * plan.inner.length * lanes + room_of(plan.inner, lanes)
    if plan.cycle != NULL:
        return 2 * plan.cycle.length * lanes + room_of(plan.cycle, lanes)
    if plan.columns != NULL:
        return 2 * plan.columns.length * (plan.rows.length + GAP)
    return 2 * plan.length * lanes


cdef bint is_alone(const Plan* plan) noexcept nogil:
    """Whether it transforms one line at a time."""
    return (plan.columns != NULL or plan.inner != NULL and is_alone(plan.inner)
            or plan.cycle != NULL and is_alone(plan.cycle))


cdef int run_floats(const Plan* plan, int64_t lanes, float* a, float* b, int* failed) noexcept nogil:
    if plan.columns != NULL:
        return _by_matrix(plan, NULL, NULL, False, 1, a, b, failed)
    if plan.cycle != NULL:
        _cycle_lanes(plan, lanes, a, b, failed)
        return 0
    return aten_run_floats(&plan.passes, lanes, a, b)


cdef int run_doubles(const Plan* plan, int64_t lanes, double* a, double* b,
                     int* failed) noexcept nogil:
    if plan.inner != NULL:
        _convolve_lanes(plan, lanes, a, b, failed)
        return 0
    if plan.columns != NULL:
        return _by_matrix(plan, NULL, NULL, False, 1, a, b, failed)
    if plan.cycle != NULL:
        _cycle_lanes(plan, lanes, a, b, failed)
        return 0
    return aten_run_doubles(&plan.passes, lanes, a, b)


cdef void _convolve_lanes(const Plan* plan, int64_t lanes, double* a, double* room,
                          int* failed) noexcept nogil:
    """x_j c_j, convolved with 1 / c_j, times c_k: with c_j = exp(-πi j²/n), the transform of x."""
    cdef int64_t length = plan.length, wide = plan.inner.length
    cdef int64_t all = length * lanes, padded = wide * lanes
    cdef const double* chirp = plan.chirp
    cdef const double* spectrum = plan.spectrum
    cdef double* x = room
    cdef double* y = room + 2 * padded
    aten_multiply_doubles(a, a + all, chirp, chirp + length, length, lanes, x, x + padded)
    memset(x + all, 0, (padded - all) * sizeof(double))
    memset(x + padded + all, 0, (padded - all) * sizeof(double))
    if run_doubles(plan.inner, lanes, x, y, failed):
        x, y = y, x
    # Planes change places: what is transformed once more is transformed back.
    aten_multiply_doubles(x, x + padded, spectrum, spectrum + wide, wide, lanes, x + padded, x)
    if run_doubles(plan.inner, lanes, x, y, failed):
        x = y
    aten_multiply_doubles(x + padded, x, chirp, chirp + length, length, lanes, a, a + all)


cdef int _run(const Plan* plan, int64_t lanes, Real* a, Real* b, int* failed) noexcept nogil:
    if Real is float:
        return run_floats(plan, lanes, a, b, failed)
    else:
        return run_doubles(plan, lanes, a, b, failed)


cdef void _cycle_lanes(const Plan* plan, int64_t lanes, Real* a, Real* room,
                       int* failed) noexcept nogil:
    """X at g^-m is x_0 plus the sum over q of x at g^q times the root to the power g^(q - m)."""
    cdef int64_t count = plan.cycle.length, all = plan.length * lanes, held = count * lanes
    cdef int64_t q, lane, at
    cdef const Real* wr = <const Real*>plan.turned
    cdef Real* x = room
    cdef Real* y = room + 2 * held
    for q in range(count):
        at = plan.powers[q] * lanes
        for lane in range(lanes):
            x[q * lanes + lane] = a[at + lane]
            x[held + q * lanes + lane] = a[all + at + lane]
    if _run(plan.cycle, lanes, x, y, failed):
        x, y = y, x
    # The sum of all others; then planes change places, and what is transformed once more is
    # transformed back.
    for lane in range(lanes):
        y[lane], y[held + lane] = x[lane], x[held + lane]
    if Real is float:
        aten_multiply_floats(x, x + held, wr, wr + count, count, lanes, x + held, x)
    else:
        aten_multiply_doubles(x, x + held, wr, wr + count, count, lanes, x + held, x)
    for lane in range(lanes):
        x[held + lane] += a[lane]
        x[lane] += a[all + lane]
        a[lane] += y[lane]
        a[all + lane] += y[held + lane]
    if _run(plan.cycle, lanes, x, y, failed):
        x = y
    for q in range(count):
        at = plan.powers[count - q if q else 0] * lanes
        for lane in range(lanes):
            a[at + lane] = x[held + q * lanes + lane]
            a[all + at + lane] = x[q * lanes + lane]


cdef int _by_matrix(const Plan* plan, const Real* pairs, Real* made, int swapped, double scale,
                    Real* a, Real* b, int* failed) noexcept nogil:
    """From `pairs`, or the planes at `a`, to `made`, scaled, or the planes at `a`."""
    cdef Matrix matrix
    cdef int64_t abreast = ABREAST // sizeof(Real)
    matrix.plan = plan
    matrix.failed = 0
    matrix.pairs, matrix.made = pairs, made
    matrix.swapped, matrix.scale = swapped, scale
    matrix.given, matrix.out, matrix.by_rows = a, b, False
    _share_out(&matrix, (plan.rows.length + abreast - 1) // abreast, a)
    matrix.given, matrix.out, matrix.by_rows = b, a, True
    _share_out(&matrix, (plan.columns.length + abreast - 1) // abreast, a)
    failed[0] |= matrix.failed
    return 0


cdef void _share_out(Matrix* matrix, int64_t strips, const Real* unused) noexcept nogil:
    if Real is float:
        parallel_for(strips, 1, _floats_of_matrix, matrix)
    else:
        parallel_for(strips, 1, _doubles_of_matrix, matrix)


cdef void _floats_of_matrix(void* context, int64_t begin, int64_t end) noexcept nogil:
    _part_of_matrix(<Matrix*>context, begin, end, <float>0)


cdef void _doubles_of_matrix(void* context, int64_t begin, int64_t end) noexcept nogil:
    _part_of_matrix(<Matrix*>context, begin, end, <double>0)


cdef void _part_of_matrix(Matrix* matrix, int64_t begin, int64_t end, Real unused) noexcept nogil:
    """Strips of columns, or of rows."""
    cdef const Plan* plan = matrix.plan
    cdef int64_t high = plan.columns.length, wide = plan.rows.length, pitch = wide + GAP
    cdef int64_t abreast = ABREAST // sizeof(Real), index, first, count
    cdef Real* given = <Real*>matrix.given
    cdef Real* out = <Real*>matrix.out
    cdef const Real* pairs = <const Real*>matrix.pairs
    cdef Real* made = <Real*>matrix.made
    cdef const Real* turns = <const Real*>plan.turns
    cdef char* memory = <char*>malloc(4 * max(high, wide) * abreast * sizeof(Real) + CACHE_LINE)
    cdef Real* room = <Real*>at_cache_line(memory)
    if memory == NULL:
        matrix.failed = 1
        return
    for index in range(begin, end):
        first = index * abreast
        count = min(abreast, (high if matrix.by_rows else wide) - first)
        if Real is float:
            if matrix.by_rows:
                aten_rows_floats(&plan.rows.passes, high, given, pitch, out, made,
                                    matrix.swapped, <float>matrix.scale, first, count, room)
            else:
                aten_columns_floats(&plan.columns.passes, wide, turns, given, pairs,
                                       matrix.swapped, out, pitch, first, count, room)
        elif matrix.by_rows:
            aten_rows_doubles(&plan.rows.passes, high, given, pitch, out, made, matrix.swapped,
                                 matrix.scale, first, count, room)
        else:
            aten_columns_doubles(&plan.columns.passes, wide, turns, given, pairs,
                                    matrix.swapped, out, pitch, first, count, room)
    free(memory)


cdef int lines_abreast(int wide) noexcept nogil:
    return aten_lanes(wide)


cdef void floats_abreast(const aten_passes* passes, const float* pairs, int64_t apart,
                         const float* roots, float* out, int64_t out_apart, int swapped,
                         float scale, float* a, float* b) noexcept nogil:
    aten_abreast_floats(passes, pairs, apart, roots, out, out_apart, swapped, scale, a, b)


cdef void doubles_abreast(const aten_passes* passes, const double* pairs, int64_t apart,
                          const double* roots, double* out, int64_t out_apart, int swapped,
                          double scale, double* a, double* b) noexcept nogil:
    aten_abreast_doubles(passes, pairs, apart, roots, out, out_apart, swapped, scale, a, b)


cdef int lone_floats(const Plan* plan, const float* pairs, const float* following, float* out,
                     int swapped, float scale, float* a, float* b, int* failed) noexcept nogil:
    if plan.columns != NULL:
        return _by_matrix(plan, pairs, out, swapped, scale, a, b, failed)
    return aten_lone_floats(&plan.passes, pairs, following, out, swapped, scale, a, b)


cdef int floats_beside(const aten_passes* passes, int64_t lanes, const float* pairs, int64_t apart,
                       float* out, int64_t out_apart, int swapped, float scale, float* a,
                       float* b) noexcept nogil:
    return aten_beside_floats(passes, lanes, pairs, apart, out, out_apart, swapped, scale, a, b)


cdef int lone_doubles(const Plan* plan, const double* pairs, const double* following, double* out,
                     int swapped, double scale, double* a, double* b, int* failed) noexcept nogil:
    if plan.columns != NULL:
        return _by_matrix(plan, pairs, out, swapped, scale, a, b, failed)
    return aten_lone_doubles(&plan.passes, pairs, following, out, swapped, scale, a, b)


cdef int doubles_beside(const aten_passes* passes, int64_t lanes, const double* pairs, int64_t apart,
                       double* out, int64_t out_apart, int swapped, double scale, double* a,
                       double* b) noexcept nogil:
    return aten_beside_doubles(passes, lanes, pairs, apart, out, out_apart, swapped, scale, a, b)


cdef void spectrum_floats(const float* real, const float* imaginary, int64_t count,
                          const float* roots, float halved, float* pairs) noexcept nogil:
    aten_spectrum_floats(real, imaginary, count, roots, halved, pairs)


cdef void spectrum_doubles(const double* real, const double* imaginary, int64_t count,
                           const double* roots, double halved, double* pairs) noexcept nogil:
    aten_spectrum_doubles(real, imaginary, count, roots, halved, pairs)


cdef void part_floats(const float* pairs, int64_t count, float* real,
                      float* imaginary) noexcept nogil:
    aten_part_floats(pairs, count, real, imaginary)


cdef void part_doubles(const double* pairs, int64_t count, double* real,
                       double* imaginary) noexcept nogil:
    aten_part_doubles(pairs, count, real, imaginary)


cdef void join_floats(const float* real, const float* imaginary, int64_t count,
                      float scale, float* pairs) noexcept nogil:
    aten_join_floats(real, imaginary, count, scale, pairs)


cdef void join_doubles(const double* real, const double* imaginary, int64_t count,
                       double scale, double* pairs) noexcept nogil:
    aten_join_doubles(real, imaginary, count, scale, pairs)


cdef void gather_floats(const float* pairs, int64_t apart, int64_t count, float* real,
                        float* imaginary) noexcept nogil:
    aten_gather_floats(pairs, apart, count, real, imaginary)


cdef void scatter_floats(const float* real, const float* imaginary, int64_t count, float scale,
                         float* pairs, int64_t apart) noexcept nogil:
    aten_scatter_floats(real, imaginary, count, scale, pairs, apart)


cdef void gather_doubles(const double* pairs, int64_t apart, int64_t count, double* real,
                        double* imaginary) noexcept nogil:
    aten_gather_doubles(pairs, apart, count, real, imaginary)


cdef void scatter_doubles(const double* real, const double* imaginary, int64_t count, double scale,
                         double* pairs, int64_t apart) noexcept nogil:
    aten_scatter_doubles(real, imaginary, count, scale, pairs, apart)
