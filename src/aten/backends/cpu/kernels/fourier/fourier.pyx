# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Discrete Fourier transforms along one dimension.

Real numbers of an even count are transformed as half as many complex ones. A line's result depends
on its numbers alone: whatever lies beside it, however many threads there are, the same operations
are done in the same order, and none is contracted.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from aten._core.base.device cimport CPU, META
from aten._core.base.dtypes cimport COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.memory.storage cimport Storage, allocate
from aten._core.tensor.making cimport make_alias
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport count_write, data_pointer
from aten._core.threads.parallel cimport thread_count
from aten.backends.cpu.kernels.fourier.fourier_plans cimport (
    CACHE_LINE, FourierHalves, FourierPlan, Plan, at_cache_line, doubles_abreast,
    doubles_beside, floats_abreast, floats_beside, gather_doubles, gather_floats, is_alone,
    join_doubles, join_floats, lines_abreast, lone_doubles, lone_floats, part_doubles,
    part_floats, room_of, run_doubles, run_floats, scatter_doubles, scatter_floats,
    spectrum_doubles, spectrum_floats, table_for,
)
from aten.backends.cpu.kernels.moving.iterator cimport (Walk, add_input, add_operand, begin_walk,
                                                        coalesce, reorder, run_walk)

cdef extern from *:
    void __builtin_prefetch(const void*, int, int) noexcept nogil

cdef enum:
    OUT = 0
    GIVEN = 1
    # Numbers of lines side by side that are asked for ahead: each may lie in another page.
    AHEAD = 8
    # Rows are gone through side by side, too, where so many bytes are enough.
    SHORT = 1 << 15
    # Numbers in one chunk of work for the threads, and in one where there are few.
    GRAIN = 8192
    LEAST_GRAIN = 2048

ctypedef fused Real:
    float
    double

ctypedef fused Element:
    float
    double

cdef struct Line:
    const Plan* plan
    const void* halves          # roots, pairs, that join a transform of half the length; or NULL
    int64_t length
    int64_t results             # numbers stored
    int64_t steps[2]            # bytes from one number of a line to the next
    int64_t width               # bytes of a real number
    bint real_input, real_output, inverse
    int code                    # of the real numbers in memory
    double scale
    void* room                  # for a lone line; NULL: each thread takes its own
    int failed


cdef inline Element _at(const char* data, int64_t place, Element unused) noexcept nogil:
    return (<const Element*>(data + place))[0]


cdef inline bint _fills_vectors(const Line* line, int64_t step, int64_t beside, int64_t apart,
                                int64_t lanes) noexcept nogil:
    """Whether lines of pairs, each without gaps, are as many as a vector has lanes."""
    return (step == 2 * line.width and beside == line.width and apart % line.width == 0
            and lanes == lines_abreast(line.width == 8))


cdef void _load(const Line* line, const char* given, int64_t apart, int64_t lanes, Real* a,
                Element element) noexcept nogil:
    """Numbers as they are, to a real plane and an imaginary one; real ones in pairs or alone."""
    cdef int64_t length = line.plan.length, place, lane, step = line.steps[GIVEN]
    cdef int64_t beside = line.width
    cdef Real* real = a
    cdef Real* imaginary = a + length * lanes
    if line.real_input and line.halves == NULL:
        for place in range(length):
            for lane in range(lanes):
                real[place * lanes + lane] = _at(given, place * step + lane * apart, element)
                imaginary[place * lanes + lane] = 0
        return
    if line.real_input:
        beside = step
        step *= 2
    if line.inverse:
        real, imaginary = imaginary, real
    if lanes == 1 and step == 2 * line.width and beside == line.width:
        if Real is float and Element is float:
            part_floats(<const float*>given, length, real, imaginary)
            return
        elif Real is double and Element is double:
            part_doubles(<const double*>given, length, real, imaginary)
            return
    if apart == 2 * line.width and beside == line.width:
        if Real is float and Element is float:
            for place in range(length):
                __builtin_prefetch(given + (place + AHEAD) * step, 0, 3)
                part_floats(<const float*>(given + place * step), lanes,
                            real + place * lanes, imaginary + place * lanes)
            return
        elif Real is double and Element is double:
            for place in range(length):
                __builtin_prefetch(given + (place + AHEAD) * step, 0, 3)
                part_doubles(<const double*>(given + place * step), lanes,
                             real + place * lanes, imaginary + place * lanes)
            return
    if _fills_vectors(line, step, beside, apart, lanes):
        if Real is float and Element is float:
            gather_floats(<const float*>given, apart // line.width, length, real, imaginary)
            return
        elif Real is double and Element is double:
            gather_doubles(<const double*>given, apart // line.width, length, real, imaginary)
            return
    for place in range(length):
        for lane in range(lanes):
            real[place * lanes + lane] = _at(given, place * step + lane * apart, element)
            imaginary[place * lanes + lane] = _at(given, place * step + lane * apart + beside,
                                                  element)


cdef void _load_spectrum(const Line* line, const char* given, int64_t apart, int64_t lanes, Real* a,
                         Element element) noexcept nogil:
    """Half of a conjugate-symmetric spectrum, for a transform back: planes are exchanged."""
    cdef int64_t count = line.plan.length, place, mirrored, lane, step = line.steps[GIVEN]
    cdef int64_t width = line.width
    cdef Real* imaginary = a
    cdef Real* real = a + count * lanes
    cdef const Real* roots = <const Real*>line.halves
    cdef const char* one
    cdef const char* other
    cdef Real xr, xi, yr, yi, mr, mi, cosine, sine
    cdef bint flipped
    for place in range(count):
        if roots == NULL:
            flipped = 2 * place > count
            mirrored = count - place if flipped else place
            for lane in range(lanes):
                one = given + mirrored * step + lane * apart
                xi = _at(one, width, element) if place else 0
                real[place * lanes + lane] = _at(one, 0, element)
                imaginary[place * lanes + lane] = -xi if flipped else xi
            continue
        cosine, sine = roots[2 * place], roots[2 * place + 1]
        for lane in range(lanes):
            one = given + place * step + lane * apart
            other = given + (count - place) * step + lane * apart
            xr, yr = _at(one, 0, element), _at(other, 0, element)
            if place == 0:
                real[lane] = xr + yr
                imaginary[lane] = xr - yr
                continue
            xi, yi = _at(one, width, element), _at(other, width, element)
            mr, mi = xr - yr, xi + yi
            real[place * lanes + lane] = (xr + yr) - (cosine * mi + sine * mr)
            imaginary[place * lanes + lane] = (xi - yi) + (cosine * mr - sine * mi)


cdef void _store(const Line* line, const Real* a, char* out, int64_t apart, int64_t lanes,
                 Element element) noexcept nogil:
    cdef int64_t length = line.plan.length, place, lane, step = line.steps[OUT]
    cdef int64_t beside = line.width
    cdef const Real* real = a
    cdef const Real* imaginary = a + length * lanes
    cdef Real scale = <Real>line.scale
    cdef char* target
    if line.inverse:
        real, imaginary = imaginary, real
    if line.real_output and line.halves == NULL:
        for place in range(length):
            for lane in range(lanes):
                (<Element*>(out + place * step + lane * apart))[0] = <Element>(
                    real[place * lanes + lane] * scale)
        return
    if line.real_output:
        beside = step
        step *= 2
    if lanes == 1 and step == 2 * line.width and beside == line.width:
        if Real is float and Element is float:
            join_floats(real, imaginary, length, scale, <float*>out)
            return
        elif Real is double and Element is double:
            join_doubles(real, imaginary, length, scale, <double*>out)
            return
    if apart == 2 * line.width and beside == line.width:
        if Real is float and Element is float:
            for place in range(length):
                __builtin_prefetch(out + (place + AHEAD) * step, 1, 3)
                join_floats(real + place * lanes, imaginary + place * lanes, lanes, scale,
                            <float*>(out + place * step))
            return
        elif Real is double and Element is double:
            for place in range(length):
                __builtin_prefetch(out + (place + AHEAD) * step, 1, 3)
                join_doubles(real + place * lanes, imaginary + place * lanes, lanes, scale,
                             <double*>(out + place * step))
            return
    if _fills_vectors(line, step, beside, apart, lanes):
        if Real is float and Element is float:
            scatter_floats(real, imaginary, length, scale, <float*>out, apart // line.width)
            return
        elif Real is double and Element is double:
            scatter_doubles(real, imaginary, length, scale, <double*>out, apart // line.width)
            return
    for place in range(length):
        for lane in range(lanes):
            target = out + place * step + lane * apart
            (<Element*>target)[0] = <Element>(real[place * lanes + lane] * scale)
            (<Element*>(target + beside))[0] = <Element>(imaginary[place * lanes + lane] * scale)


cdef void _store_spectrum(const Line* line, const Real* a, char* out, int64_t apart, int64_t lanes,
                          Element element) noexcept nogil:
    """The spectrum of real numbers, of which the second half mirrors the first."""
    cdef int64_t count = line.plan.length, half = line.length // 2, place, lane
    cdef const Real* imaginary = a + count * lanes
    cdef const Real* roots = <const Real*>line.halves
    cdef Real scale = <Real>line.scale, real_part, imaginary_part, pr, pi, mr, mi
    cdef Real halved = <Real>(line.scale / 2)
    cdef int64_t one, other, first = 0
    if (roots != NULL and lanes == 1 and line.results == half + 1
            and line.steps[OUT] == 2 * line.width):
        # All but both ends, at once.
        if Real is float and Element is float:
            spectrum_floats(a, imaginary, count, roots, halved, <float*>out)
            first = half
        elif Real is double and Element is double:
            spectrum_doubles(a, imaginary, count, roots, halved, <double*>out)
            first = half
        if first:
            _put_number(line, out, (a[0] + imaginary[0]) * scale, 0, element)
    for place in range(first, half + 1):
        for lane in range(lanes):
            one = place * lanes + lane
            if roots == NULL:
                real_part = a[one] * scale
                imaginary_part = imaginary[one] * scale if place else 0
            elif place == 0:
                real_part, imaginary_part = (a[lane] + imaginary[lane]) * scale, 0
            elif place == half:
                real_part, imaginary_part = (a[lane] - imaginary[lane]) * scale, 0
            else:
                other = (count - place) * lanes + lane
                pr, pi = a[one] + a[other], imaginary[one] - imaginary[other]
                mr, mi = a[one] - a[other], imaginary[one] + imaginary[other]
                real_part = (pr + (roots[2 * place] * mi - roots[2 * place + 1] * mr)) * halved
                imaginary_part = (pi - (roots[2 * place] * mr + roots[2 * place + 1] * mi)) * halved
            _put_number(line, out + place * line.steps[OUT] + lane * apart, real_part,
                        imaginary_part, element)
            if place and place < line.length - place < line.results:
                _put_number(line, out + (line.length - place) * line.steps[OUT] + lane * apart,
                            real_part, -imaginary_part, element)


cdef inline void _put_number(const Line* line, char* target, Real real, Real imaginary,
                             Element unused) noexcept nogil:
    (<Element*>target)[0] = <Element>real
    (<Element*>(target + line.width))[0] = <Element>imaginary


cdef inline bint _reads_pairs(const Line* line) noexcept nogil:
    """Whether a line lies in memory as pairs, and goes through passes as it is."""
    if line.plan.inner != NULL or line.plan.cycle != NULL or line.real_output:
        return False
    if line.real_input:
        return line.halves != NULL and line.steps[GIVEN] == line.width
    return line.steps[GIVEN] == 2 * line.width


cdef inline bint _lies_in_columns(const Line* line, const int64_t* apart) noexcept nogil:
    """Whether lines of pairs lie side by side, here and there."""
    return (line.plan.inner == NULL and line.plan.cycle == NULL and line.plan.columns == NULL
            and not line.real_input and not line.real_output
            and apart[GIVEN] == 2 * line.width and apart[OUT] == 2 * line.width)


cdef bint _transform_columns(const Line* line, char** data, int64_t lanes, Real* a,
                             int64_t held) noexcept nogil:
    """Columns that go through first and last passes of their own; False if these do not."""
    cdef int64_t given = line.steps[GIVEN] // line.width, out = line.steps[OUT] // line.width
    cdef Real scale = <Real>line.scale
    if Real is float:
        return floats_beside(&line.plan.passes, lanes, <const float*>data[GIVEN], given,
                             <float*>data[OUT], out, line.inverse, scale, a, a + held)
    else:
        return doubles_beside(&line.plan.passes, lanes, <const double*>data[GIVEN], given,
                              <double*>data[OUT], out, line.inverse, scale, a, a + held)


cdef void _transform_lines(Line* line, char** data, const int64_t* apart, int64_t lanes, Real* a,
                           int64_t held, Element element) noexcept nogil:
    """A few lines, which are `apart` by so many bytes."""
    cdef Real* b = a + held
    cdef int failed = 0
    cdef bint whole = not line.real_input and line.steps[OUT] == 2 * line.width
    if lanes == 1 and _reads_pairs(line):
        if Real is float and Element is float:
            if lone_floats(line.plan, <const float*>data[GIVEN],
                           <const float*>(data[GIVEN] + apart[GIVEN]),
                           <float*>data[OUT] if whole else NULL, line.inverse,
                           <float>line.scale, a, b, &failed):
                a = b
        elif Real is double and Element is double:
            if lone_doubles(line.plan, <const double*>data[GIVEN],
                            <const double*>(data[GIVEN] + apart[GIVEN]),
                            <double*>data[OUT] if whole else NULL, line.inverse,
                            line.scale, a, b, &failed):
                a = b
        if failed:
            line.failed = 1
        elif line.real_input:
            _store_spectrum(line, a, data[OUT], apart[OUT], 1, element)
        elif not whole:
            _store(line, a, data[OUT], apart[OUT], 1, element)
        return
    if lanes > 1 and _lies_in_columns(line, apart):
        if _transform_columns(line, data, lanes, a, held):
            return
    if line.real_output:
        _load_spectrum(line, data[GIVEN], apart[GIVEN], lanes, a, element)
    else:
        _load(line, data[GIVEN], apart[GIVEN], lanes, a, element)
    if Real is float:
        if run_floats(line.plan, lanes, a, b, &failed):
            a = b
    elif run_doubles(line.plan, lanes, a, b, &failed):
        a = b
    if failed:
        line.failed = 1
    elif line.real_input:
        _store_spectrum(line, a, data[OUT], apart[OUT], lanes, element)
    else:
        _store(line, a, data[OUT], apart[OUT], lanes, element)


cdef inline bint _is_rearranged(const Plan* plan) noexcept nogil:
    """Whether lines, also rows, are better gone through side by side: those of a convolution."""
    return (plan.cycle != NULL or plan.inner != NULL) and not is_alone(plan)


cdef inline bint _goes_abreast(const Line* line, const int64_t* apart) noexcept nogil:
    """Whether lines are short ones of pairs, whose results are pairs as well, or half a spectrum."""
    cdef int wide = line.plan.wide
    cdef int64_t room = 4 * line.plan.length * lines_abreast(wide) * (8 if wide else 4)
    return (_reads_pairs(line) and room <= SHORT and line.steps[OUT] == 2 * line.width
            and (not line.real_input or line.results == line.length // 2 + 1)
            and apart[GIVEN] % line.width == 0 and apart[OUT] % line.width == 0)


cdef void _transform_abreast(const Line* line, char** data, const int64_t* apart, Real* a,
                             int64_t held) noexcept nogil:
    """As many lines as a vector has lanes."""
    cdef const Real* roots = <const Real*>line.halves if line.real_input else NULL
    cdef int64_t given = apart[GIVEN] // line.width, out = apart[OUT] // line.width
    cdef Real scale = <Real>line.scale
    if Real is float:
        floats_abreast(&line.plan.passes, <const float*>data[GIVEN], given, roots,
                       <float*>data[OUT], out, line.inverse, scale, a, a + held)
    else:
        doubles_abreast(&line.plan.passes, <const double*>data[GIVEN], given, roots,
                        <double*>data[OUT], out, line.inverse, scale, a, a + held)


cdef void _transform_walk(Line* line, char** data, int64_t n0, const int64_t* s0, int64_t n1,
                          const int64_t* s1, Real unused, Element element) noexcept nogil:
    cdef int64_t most = lines_abreast(sizeof(Real) == 8), lanes = most, outer, first, count, held
    cdef char* places[2]
    cdef char* memory = NULL
    cdef Real* room
    cdef bint abreast = False
    # Lines that lie side by side are gone through together; one by one, those that lie in rows.
    if line.steps[GIVEN] <= s0[GIVEN] and line.steps[OUT] <= s0[OUT] or is_alone(line.plan):
        lanes = 1
    if lanes == 1 and n0 >= most and _is_rearranged(line.plan):
        lanes = most
    if lanes == 1 and n0 >= most and _goes_abreast(line, s0):
        lanes = most
        abreast = True
    lanes = min(lanes, n0)
    held = 2 * line.plan.length * lanes
    room = <Real*>line.room
    if room == NULL:
        memory = <char*>malloc((held + room_of(line.plan, lanes)) * sizeof(Real) + CACHE_LINE)
        if memory == NULL:
            line.failed = 1
            return
        room = <Real*>at_cache_line(memory)
    for outer in range(n1):
        first = 0
        while first < n0:
            count = min(lanes, n0 - first)
            places[OUT] = data[OUT] + outer * s1[OUT] + first * s0[OUT]
            places[GIVEN] = data[GIVEN] + outer * s1[GIVEN] + first * s0[GIVEN]
            if not abreast:
                _transform_lines(line, places, s0, count, room, held, element)
            elif count == lanes:
                _transform_abreast(line, places, s0, room, held)
            else:
                count = 1
                _transform_lines(line, places, s0, count, room, held, element)
            first += count
    free(memory)


cdef void _transform_all(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                         const int64_t* context) noexcept nogil:
    cdef Line* line = <Line*>context
    if line.code == FLOAT64:
        _transform_walk(line, data, n0, s0, n1, s1, <double>0, <double>0)
    elif line.plan.wide:
        _transform_walk(line, data, n0, s0, n1, s1, <double>0, <float>0)
    else:
        _transform_walk(line, data, n0, s0, n1, s1, <float>0, <float>0)


cdef int _real_code(Tensor tensor) except -1:
    if tensor.dtype_code in (FLOAT32, COMPLEX64):
        return FLOAT32
    if tensor.dtype_code in (FLOAT64, COMPLEX128):
        return FLOAT64
    raise ValueError("transform: expected float32, float64, complex64 or complex128")


def transform(Tensor given not None, Tensor out not None, int dim, int64_t length, bint inverse,
              double scale):
    """The transform of `length` numbers along `dim`, times `scale`, to `out`.

    Complex numbers to complex ones; real ones to `length` or length // 2 + 1 complex ones; or, the
    `inverse` only, length // 2 + 1 complex numbers to real ones. `out` may be `given`. Raises
    ValueError for other operands, MemoryError where there is none.
    """
    transform_lines(make_alias(given), out, dim, length, inverse, scale)


cdef int transform_lines(Tensor given, Tensor out, int dim, int64_t length, bint inverse,
                         double scale) except -1:
    """As `transform`, of a tensor that nobody changes meanwhile: tables are looked up."""
    cdef Walk walk
    cdef Line line
    cdef FourierPlan plan
    cdef FourierHalves halves
    cdef Storage memory
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int permutation[MAXIMUM_DIMS]
    cdef int place
    line.real_input = given.dtype_code in (FLOAT32, FLOAT64)
    line.real_output = out.dtype_code in (FLOAT32, FLOAT64)
    line.code = _real_code(given)
    if (_real_code(out) != line.code or given.rank != out.rank or not 0 <= dim < given.rank
            or given.device_type == META or out.device_type == META or length < 1
            or line.real_input and (line.real_output or inverse)
            or line.real_output and not inverse):
        raise ValueError("transform: expected tensors of one precision and rank")
    line.results = out.sizes[dim]
    if (given.sizes[dim] != (length // 2 + 1 if line.real_output else length)
            or (line.results != length
                and (not line.real_input or line.results != length // 2 + 1))):
        raise ValueError(f"transform: {given.sizes[dim]} numbers do not become {line.results}")
    for place in range(given.rank):
        if given.sizes[place] != out.sizes[place] and place != dim:
            raise ValueError("transform: expected tensors of one shape")
        sizes[place] = 1 if place == dim else given.sizes[place]
    line.halves = line.room = NULL
    line.length = length
    line.inverse, line.scale, line.failed = inverse, scale, 0
    line.width = item_size(line.code)
    line.steps[OUT] = out.strides[dim] * item_size(out.dtype_code)
    line.steps[GIVEN] = given.strides[dim] * item_size(given.dtype_code)
    if length % 2 == 0 and (line.real_input or line.real_output):
        plan = table_for(FourierPlan, length // 2, line.code == FLOAT64)
        halves = table_for(FourierHalves, length, plan.plan.wide)
        line.halves = halves.memory.data
    else:
        plan = table_for(FourierPlan, length, line.code == FLOAT64)
    line.plan = &plan.plan
    begin_walk(&walk, given.rank, sizes)
    add_operand(&walk, out, given.rank, sizes)
    add_input(&walk, given, given.rank, sizes)
    walk.strides[given.rank - 1 - dim][OUT] = walk.strides[given.rank - 1 - dim][GIVEN] = 0
    walk.kernel = _transform_all
    walk.reduced = <int64_t*>&line
    reorder(&walk, permutation)
    coalesce(&walk)
    count_write(out)
    if walk.total == 1:
        memory = allocate((2 * plan.plan.length + room_of(line.plan, 1)) * 8, CPU, -1)
        line.room = memory.data
    with nogil:
        if walk.total == 1:
            _transform_all(walk.data, 1, walk.strides[0], 1, walk.strides[0], walk.reduced)
        elif walk.total:
            run_walk(&walk, _lines_together(walk.total, line.plan))
    if line.failed:
        raise MemoryError(f"fft: no memory for a transform of {length} numbers")
    return 0


cdef int64_t _lines_together(int64_t lines, const Plan* plan) noexcept nogil:
    """Lines of a chunk: as many as go side by side, but of few lines a thread's share."""
    cdef int64_t share = (lines + thread_count() - 1) // thread_count()
    cdef int64_t least = max(<int64_t>LEAST_GRAIN // plan.length, <int64_t>1)
    cdef int64_t most = max(<int64_t>GRAIN // plan.length, <int64_t>1)
    if not is_alone(plan):
        most = max(most, lines_abreast(plan.wide))
    return max(min(most, share), least)
