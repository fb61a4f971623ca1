# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Running sums at their own precision, and running logarithms of sums of exponentials.

Of these the sum so far is kept scaled by the greatest element so far, and without that element's
one: nothing overflows, and what underflows is too small to count. Milakov and Gimelshein, Online
normalizer calculation for softmax (2018).
"""

from libc.math cimport INFINITY, NAN, atan2, cos, exp, fma, hypot, log, log1p, sin
from libc.stdint cimport int64_t

from aten._core.base.device cimport META
from aten._core.base.dtypes cimport COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport const_data_pointer, count_write, data_pointer
from aten.backends.cpu.kernels.moving.iterator cimport (Walk, add_operand, begin_walk, coalesce,
                                                        reorder, run_walk)

cdef enum:
    # Elements in one chunk of work for the threads.
    GRAIN = 4096
    # Rows that are gone through together.
    ABREAST = 16
    OUT = 0
    GIVEN = 1

ctypedef fused Real:
    float
    double

cdef struct Row:
    int64_t length
    int64_t steps[2]            # bytes from one element of a row to the next
    int code


cdef inline void _accumulate(char** data, const int64_t* apart, int64_t count, const Row* row,
                             Real unused) noexcept nogil:
    """A few rows, which are `apart` by so many bytes."""
    cdef double greatest[ABREAST]
    cdef double rest[ABREAST]
    cdef char* out = data[OUT]
    cdef const char* given = data[GIVEN]
    cdef int64_t at, lane
    cdef double value, sum
    for lane in range(count):
        greatest[lane] = -INFINITY
        rest[lane] = -1
    for at in range(row.length):
        for lane in range(count):
            value = (<const Real*>(given + lane * apart[GIVEN]))[0]
            if value < greatest[lane]:
                rest[lane] += exp(value - greatest[lane])
            elif value > greatest[lane]:
                rest[lane] = (rest[lane] + 1) * exp(greatest[lane] - value)
                greatest[lane] = value
            elif value != value:
                rest[lane] = value
            elif value != -INFINITY:        # equal ones; a sum of infinities is none the greater
                rest[lane] += 1
            sum = log(1 + rest[lane]) if rest[lane] > 0.5 else log1p(rest[lane])
            (<Real*>(out + lane * apart[OUT]))[0] = <Real>(greatest[lane] + sum)
        out += row.steps[OUT]
        given += row.steps[GIVEN]


cdef struct Complex:
    double real
    double imag


cdef inline Complex _log_of_one_and(Complex z) noexcept nogil:
    """log(1 + z) for |z| ≤ 1.

    Of |1 + z|² the part beside 1 is x(2 + x) + y², which may cancel, so its roundings are added
    back (Dekker, A floating-point technique for extending the available precision, 1971). Where
    that part is nearly -1, 1 + x is exact.
    """
    cdef double x = z.real, y = z.imag
    cdef double square, doubled, product, sum, lost, turned
    cdef Complex found
    square = y * y
    doubled = 2 + x
    product = x * doubled
    sum = product + square
    turned = sum - product
    lost = (product - (sum - turned)) + (square - turned)
    lost += fma(y, y, -square) + fma(x, doubled, -product) + x * ((2 - doubled) + x)
    found.real = 0.5 * log1p(sum + lost) if sum > -0.5 else log(hypot(1 + x, y))
    found.imag = atan2(y, 1 + x)
    return found


cdef inline Complex _log_of_sum(Complex left, Complex right) noexcept nogil:
    """log(exp(left) + exp(right)); NaN where a part of either is."""
    cdef Complex most = left, least = right, power
    cdef double size
    if left.real != left.real or left.imag != left.imag \
            or right.real != right.real or right.imag != right.imag:
        most.real = most.imag = NAN
        return most
    if left.real < right.real:
        most, least = right, left
    size = exp(least.real - most.real) if least.real != -INFINITY else 0
    if size == 0:
        return most
    power.real = size * cos(least.imag - most.imag)
    power.imag = size * sin(least.imag - most.imag)
    power = _log_of_one_and(power)
    most.real += power.real
    most.imag += power.imag
    return most


cdef inline void _accumulate_complex(char** data, const Row* row, Real unused) noexcept nogil:
    """One row, each element after the other: the imaginary part depends on the order, by 2 pi."""
    cdef char* out = data[OUT]
    cdef const char* given = data[GIVEN]
    cdef int64_t at
    cdef Complex sum, value
    for at in range(row.length):
        value.real = (<const Real*>given)[0]
        value.imag = (<const Real*>given)[1]
        sum = value if at == 0 else _log_of_sum(value, sum)
        (<Real*>out)[0] = <Real>sum.real
        (<Real*>out)[1] = <Real>sum.imag
        out += row.steps[OUT]
        given += row.steps[GIVEN]


cdef void _accumulate_rows(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                           const int64_t* s1, const int64_t* context) noexcept nogil:
    cdef const Row* row = <const Row*>context
    cdef int64_t outer, first, count
    cdef char* places[2]
    for outer in range(n1):
        first = 0
        while first < n0:
            count = 1 if row.code in (COMPLEX64, COMPLEX128) else min(<int64_t>ABREAST, n0 - first)
            places[OUT] = data[OUT] + outer * s1[OUT] + first * s0[OUT]
            places[GIVEN] = data[GIVEN] + outer * s1[GIVEN] + first * s0[GIVEN]
            if row.code == FLOAT32:
                _accumulate(places, s0, count, row, <float>0)
            elif row.code == FLOAT64:
                _accumulate(places, s0, count, row, <double>0)
            elif row.code == COMPLEX64:
                _accumulate_complex(places, row, <float>0)
            else:
                _accumulate_complex(places, row, <double>0)
            first += count


def log_sums_of_exponentials(Tensor given not None, Tensor out not None, int dim):
    """out[…, i, …] = log(exp(given[…, 0, …]) + … + exp(given[…, i, …])) along `dim`.

    Both have one shape and one of the element types float32, float64, complex64 and complex128;
    sums have 64 bits a part. -inf adds nothing, a NaN is kept. Raises ValueError for other
    operands.
    """
    cdef Walk walk
    cdef Row row
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int permutation[MAXIMUM_DIMS]
    cdef int place, width = item_size(given.dtype_code)
    if (given.dtype_code != out.dtype_code or given.rank != out.rank or not 0 <= dim < given.rank
            or given.dtype_code not in (FLOAT32, FLOAT64, COMPLEX64, COMPLEX128)
            or given.device_type == META or out.device_type == META):
        raise ValueError("log_sums_of_exponentials: expected tensors of one type, float32, "
                         "float64, complex64 or complex128")
    for place in range(given.rank):
        if given.sizes[place] != out.sizes[place]:
            raise ValueError("log_sums_of_exponentials: expected tensors of one shape")
        sizes[place] = 1 if place == dim else given.sizes[place]
    row.code = given.dtype_code
    row.length = given.sizes[dim]
    row.steps[OUT] = out.strides[dim] * width
    row.steps[GIVEN] = given.strides[dim] * width
    begin_walk(&walk, given.rank, sizes)
    add_operand(&walk, out, given.rank, sizes)
    add_operand(&walk, given, given.rank, sizes)
    walk.strides[given.rank - 1 - dim][OUT] = walk.strides[given.rank - 1 - dim][GIVEN] = 0
    walk.kernel = _accumulate_rows
    walk.reduced = <int64_t*>&row
    reorder(&walk, permutation)
    coalesce(&walk)
    count_write(out)
    with nogil:
        run_walk(&walk, max(GRAIN // max(row.length, 1), 1))


cdef void _share_out(const Real* given, double* out, int64_t rows, int64_t length) noexcept nogil:
    cdef int64_t row, at
    cdef Real sum, running
    for row in range(rows):
        sum = running = 0
        for at in range(length):
            sum += given[row * length + at]
        for at in range(length - 1):
            running += given[row * length + at]
            out[row * length + at] = <double>(running / sum)
        # What the weights were seen to be they may not be any more.
        out[row * length + length - 1] = 1


cdef bint _are_rows(Tensor given):
    return ((given.dtype_code == FLOAT32 or given.dtype_code == FLOAT64) and given.rank > 0
            and given.contiguous and given.device_type != META)


def running_shares(Tensor given not None, Tensor out not None):
    """out[…, i] = (given[…, 0] + … + given[…, i]) / sum of the row, and 1 at its end.

    `given`, float32 or float64, is added up one after the other, each sum and quotient rounded;
    `out` is float64, both are row-major and of one shape. Raises ValueError for other operands.
    """
    cdef double* target
    cdef const char* source
    cdef int64_t length, rows
    if (not _are_rows(given) or not _are_rows(out) or out.dtype_code != FLOAT64
            or given.count != out.count):
        raise ValueError("running_shares: expected row-major tensors of float32 or float64")
    if given.count == 0:
        return
    target = <double*>data_pointer(out)
    source = const_data_pointer(given)
    length = given.sizes[given.rank - 1]
    rows = given.count // length
    with nogil:
        if given.dtype_code == FLOAT32:
            _share_out(<const float*>source, target, rows, length)
        else:
            _share_out(<const double*>source, target, rows, length)
    count_write(out)


cdef bint _are_weights(const Real* row, int64_t length, bint* some) noexcept nogil:
    """Whether all numbers are finite and none is negative; `some` tells whether one is not zero."""
    cdef int64_t at
    cdef bint fits = True
    some[0] = False
    for at in range(length):
        fits &= 0 <= row[at] < INFINITY
        some[0] |= row[at] > 0
    return fits


def require_weights(Tensor given not None, str unfit_message,
                    str nothing_message):
    """Raises RuntimeError with one message where a number is negative or not finite, and with the
    other where a row has nothing but zeros.

    `given` is row-major float32 or float64. Raises ValueError for other operands.
    """
    cdef const char* source
    cdef int64_t length, row = 0, rows
    cdef bint fits = True, some = True, all_some = True
    if not _are_rows(given):
        raise ValueError("require_weights: expected a row-major tensor of float32 or float64")
    length = given.sizes[given.rank - 1]
    if given.count == 0:
        if length == 0:
            raise RuntimeError(nothing_message)
        return
    source = const_data_pointer(given)
    rows = given.count // length
    with nogil:
        while fits and row < rows:
            if given.dtype_code == FLOAT32:
                fits = _are_weights(<const float*>source + row * length, length, &some)
            else:
                fits = _are_weights(<const double*>source + row * length, length, &some)
            all_some &= some
            row += 1
    if not fits:
        raise RuntimeError(unfit_message)
    if not all_some:
        raise RuntimeError(nothing_message)
