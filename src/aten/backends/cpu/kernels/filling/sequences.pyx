# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Evenly spaced numbers: by their step, or between two ends; and places in triangles."""

from cpython.object cimport PyObject
from libc.math cimport ceil
from libc.stdint cimport int32_t, int64_t, uint64_t

from aten._core.base.device cimport CPU, device
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT32, INT64, default_dtype_code, dtype
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_integer
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.threads.parallel cimport parallel_for

cdef extern from "Python.h":
    bint PyLong_CheckExact(PyObject*) noexcept
    bint PyFloat_CheckExact(PyObject*) noexcept
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*) except? -1

cdef enum:
    # Elements in one chunk of work for the threads, and from where on to share work at all.
    GRAIN = 1 << 15
    RELEASE_THRESHOLD = 1 << 15
    # Rows and columns, and places, of triangles that are gone through by one thread.
    MOST_ROWS = 1 << 12
    MOST_PLACES = 1 << 15
    # Numbers that are counted from one on.
    COUNTED = 1 << 30

cdef enum:
    LARGEST_WHOLE = 0x20000000000000    # up to here a double holds all integers

ctypedef fused Real:
    float
    double

ctypedef fused Computed:
    float
    double

ctypedef void (*SequenceTask)(void* context, int64_t begin, int64_t end) noexcept nogil

cdef struct Sequence:
    char* data
    int code
    bint both_ends
    int64_t count
    int64_t whole_start, whole_step
    double start, step, end


cdef void _sequence_chunk(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Sequence* sequence = <Sequence*>context
    cdef int64_t index
    cdef int64_t* longs = <int64_t*>sequence.data
    cdef int32_t* integers = <int32_t*>sequence.data
    cdef float* singles = <float*>sequence.data
    cdef double* doubles = <double*>sequence.data
    cdef uint64_t step = <uint64_t>sequence.whole_step
    # Sums, since vectors have no product of 64 bits everywhere.
    cdef uint64_t whole = <uint64_t>sequence.whole_start + step * <uint64_t>begin
    if sequence.code == INT64:
        for index in range(begin, end):
            longs[index] = <int64_t>whole
            whole += step
    elif sequence.code == INT32:
        for index in range(begin, end):
            integers[index] = <int32_t>whole
            whole += step
    elif sequence.code == FLOAT32:
        _fill_floats(singles, begin, end, sequence.start, sequence.step, <double>begin, 1)
    else:
        _fill_floats(doubles, begin, end, sequence.start, sequence.step, <double>begin, 1)


cdef inline void _fill_floats(Real* out, int64_t begin, int64_t end, Computed start, Computed step,
                              double first, double by) noexcept nogil:
    """start + step · n from `begin` to `end`, in the type of these; n begins at `first` and goes on
    `by` 1 or -1. It is counted in 32 bits, which vectors turn into floats."""
    cdef int32_t index, count
    while begin < end:
        count = <int32_t>min(end - begin, <int64_t>COUNTED)
        for index in range(count):
            out[begin + index] = <Real>(start + step * <Computed>(first + by * <double>index))
        begin += count
        first += by * <double>count


cdef void _between_chunk(void* context, int64_t begin, int64_t end) noexcept nogil:
    """From either end to the middle, so that both ends are exact."""
    cdef Sequence* sequence = <Sequence*>context
    cdef int64_t middle = sequence.count // 2
    cdef float* singles = <float*>sequence.data
    cdef double* doubles = <double*>sequence.data
    cdef float start = <float>sequence.start, last = <float>sequence.end
    cdef float step = <float>sequence.step
    cdef double left = <double>(sequence.count - 1 - max(begin, middle))
    if sequence.code == FLOAT32:
        _fill_floats(singles, begin, min(end, middle), start, step, <double>begin, 1)
        _fill_floats(singles, max(begin, middle), end, last, -step, left, -1)
        return
    _fill_floats(doubles, begin, min(end, middle), sequence.start, sequence.step, <double>begin, 1)
    _fill_floats(doubles, max(begin, middle), end, sequence.end, -sequence.step, left, -1)


cdef Tensor _run_sequence(int64_t count, int code, Sequence* sequence):
    cdef Tensor out = make_contiguous(code, 1, &count, CPU, -1)
    sequence.data = out.storage.data
    sequence.code = code
    sequence.count = count
    cdef SequenceTask task = _between_chunk if sequence.both_ends else _sequence_chunk
    if count < RELEASE_THRESHOLD:
        task(sequence, 0, count)
        return out
    with nogil:
        parallel_for(count, GRAIN, task, sequence)
    return out


def sequence(int64_t count, start, step, dtype element not None):
    """start, start + step, start + 2·step, …: int64, int32, float32 or float64.

    Integers are computed in int64, floats in float64, both rounded to the type.
    """
    cdef Sequence wanted
    wanted.both_ends = False
    if element.code == INT64 or element.code == INT32:
        wanted.whole_start, wanted.whole_step = start, step
    elif element.code == FLOAT32 or element.code == FLOAT64:
        wanted.whole_start = wanted.whole_step = 0
        wanted.start, wanted.step = start, step
    else:
        raise TypeError(f"sequence: there is no loop for {element}")
    return _run_sequence(count, element.code, &wanted)


def sequence_between(int64_t count, start, end, step, dtype element not None):
    """Evenly spaced numbers from `start` to `end`, both included: float32 or float64."""
    cdef Sequence wanted
    if element.code != FLOAT32 and element.code != FLOAT64:
        raise TypeError(f"sequence_between: there is no loop for {element}")
    wanted.both_ends = True
    wanted.start, wanted.end, wanted.step = start, end, step
    return _run_sequence(count, element.code, &wanted)


# By how many numbers are given: (end), (start, end), (start, end, step).
NAMES = ("arange", "arange_from", "arange_by_steps")


cdef class SequenceKernel(FastPath):
    """arange of ordinary numbers; the name says how many of start, end and step are given."""

    cdef int given

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.given = NAMES.index(native) + 1

    cdef object ordinary(self, PyObject** stack):
        cdef int64_t whole[3]
        cdef double numbers[3]
        cdef PyObject** options = stack + self.given
        cdef Sequence wanted
        cdef bint are_whole = True
        cdef int place, code = -1
        cdef int64_t count
        whole[0], whole[2] = 0, 1
        numbers[0], numbers[2] = 0, 1
        for place in range(self.given):
            if not _reads_number(stack[place], &whole[place + (self.given == 1)],
                                 &numbers[place + (self.given == 1)], &are_whole):
                return None
        if not _is_plain_place(options):
            return None
        if options[0] != <PyObject*>None:
            code = (<dtype?><object>options[0]).code
        elif are_whole:
            code = INT64
        else:
            code = default_dtype_code()
        if code != FLOAT32 and code != FLOAT64 and not (
                are_whole and (code == INT64 or code == INT32)):
            return None
        if numbers[2] == 0 or (numbers[1] - numbers[0]) * numbers[2] < 0:
            return None
        if code == INT64:
            count = (whole[1] - whole[0]) // whole[2]
            count += count * whole[2] != whole[1] - whole[0]
        else:
            numbers[1] = ceil((numbers[1] - numbers[0]) / numbers[2])
            if not numbers[1] < <double>LARGEST_WHOLE:
                return None
            count = <int64_t>numbers[1]
        wanted.both_ends = False
        wanted.whole_start, wanted.whole_step = whole[0], whole[2]
        wanted.start, wanted.step = numbers[0], numbers[2]
        return _run_sequence(count, code, &wanted)


# Evenly spaced numbers, and a base raised to them.
BETWEEN = ("linspace", "logspace")


cdef class BetweenKernel(FastPath):
    """Numbers of float32 or float64 between two that are ordinary; powers are another operator's."""

    cdef OpOverload power               # None: the numbers themselves

    def __init__(self, native, replaced, find, Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.power = find("pow.Scalar") if native == "logspace" else None

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* given[2]
        cdef PyObject** options = stack + (3 if self.power is None else 4)
        cdef Sequence wanted
        cdef int64_t count = 0, unused = 0
        cdef bint are_whole = True
        cdef int code = default_dtype_code()
        if (not _reads_number(stack[0], &unused, &wanted.start, &are_whole)
                or not _reads_number(stack[1], &unused, &wanted.end, &are_whole)
                or not reads_integer(stack[2], &count) or not 0 <= count < <int64_t>LARGEST_WHOLE
                or not _is_plain_place(options)):
            return None
        if self.power is not None and not PyFloat_CheckExact(stack[3]):
            return None
        if options[0] != <PyObject*>None:
            code = (<dtype?><object>options[0]).code
        if code != FLOAT32 and code != FLOAT64:
            return None
        wanted.both_ends = True
        if count == 1:
            # One number alone is the first.
            wanted.end = wanted.start
        wanted.step = (wanted.end - wanted.start) / <double>max(count - 1, <int64_t>1)
        made = _run_sequence(count, code, &wanted)
        if self.power is None:
            return made
        given[0], given[1] = stack[3], <PyObject*>made
        powers = <Tensor?>self.power.call_stack(given)
        return powers if (<Tensor>powers).dtype_code == code else None


# On and below a diagonal, on and above it.
TRIANGLES = ("tril_indices", "triu_indices")


cdef class TriangleKernel(FastPath):
    """Places in triangles of few rows, in 64 bits."""

    cdef bint is_lower

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.is_lower = native == TRIANGLES[0]

    cdef object ordinary(self, PyObject** stack):
        cdef int64_t numbers[3]
        cdef int64_t sizes[2]
        cdef int64_t row, count = 0
        cdef int place
        cdef Tensor out
        for place in range(3):
            if not reads_integer(stack[place], &numbers[place]) or not (
                    -MOST_ROWS <= numbers[place] <= MOST_ROWS):
                return None
        if numbers[0] < 0 or numbers[1] < 0 or not _is_plain_place(stack + 3):
            return None
        if stack[3] != <PyObject*>None and (<dtype?><object>stack[3]).code != INT64:
            return None
        for row in range(numbers[0]):
            count += max(self.end(row, numbers) - self.begin(row, numbers), <int64_t>0)
        # The strides of none, and of one place, are of their own.
        if count < 2 or count > MOST_PLACES:
            return None
        sizes[0], sizes[1] = 2, count
        out = make_contiguous(INT64, 2, sizes, CPU, -1)
        self.write(<int64_t*>out.storage.data, <int64_t*>out.storage.data + count, numbers)
        return out

    cdef inline int64_t begin(self, int64_t row, const int64_t* numbers) noexcept:
        return 0 if self.is_lower else max(row + numbers[2], <int64_t>0)

    cdef inline int64_t end(self, int64_t row, const int64_t* numbers) noexcept:
        return min(row + numbers[2] + 1, numbers[1]) if self.is_lower else numbers[1]

    cdef void write(self, int64_t* rows, int64_t* columns, const int64_t* numbers) noexcept:
        cdef int64_t row, column, place = 0
        for row in range(numbers[0]):
            for column in range(self.begin(row, numbers), self.end(row, numbers)):
                rows[place] = row
                columns[place] = column
                place += 1


cdef inline bint _reads_number(PyObject* value, int64_t* whole, double* number,
                               bint* are_whole) except -1:
    """Whether `value` is an integer that a double holds, or a finite float."""
    cdef int overflow = 0
    if PyLong_CheckExact(value):
        whole[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
        number[0] = <double>whole[0]
        return overflow == 0 and -<int64_t>LARGEST_WHOLE < whole[0] < <int64_t>LARGEST_WHOLE
    if not PyFloat_CheckExact(value):
        return False
    number[0] = <object>value
    are_whole[0] = False
    return number[0] - number[0] == 0


cdef bint _is_plain_place(PyObject** options) except -1:
    """Whether dtype, layout, device, pin_memory ask for ordinary memory."""
    if options[1] != <PyObject*>None or (options[3] != <PyObject*>None
                                         and options[3] != <PyObject*>False):
        return False
    return options[2] == <PyObject*>None or (<device?><object>options[2]).type_code == CPU
