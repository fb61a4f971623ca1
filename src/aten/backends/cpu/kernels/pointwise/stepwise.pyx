# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Functions of two numbers that repeat a step until it changes nothing, element by element: each takes
as many steps as it needs. What they compute is said where the operators are defined."""

from libc.math cimport INFINITY, NAN, M_PI, erfc, exp, fabs, isnan, log, log1p, sqrt
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from aten._core.base.dtypes cimport FLOAT64, INT8, INT16, INT32, INT64, UINT8
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.making cimport make_strided
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport count_write, require_memory
from aten.backends.cpu.kernels.moving.iterator cimport (KernelFunction, Walk, add_input, add_operand,
                                                        begin_walk, coalesce, reorder, run_walk)

cdef extern from "math.h" nogil:
    double lgamma_r(double, int*)

cdef enum:
    # Elements in one chunk of work for the threads.
    GRAIN = 512
    STIRLING_TERMS = 6

# What decides how `igamma` is computed; the same as where it is defined.
cdef double _LARGE, _STIRLING_FROM
cdef int _MOST_STEPS
cdef double[STIRLING_TERMS] _STIRLING

ctypedef fused Integer:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t

def set_up(double large, int most_steps, double stirling_from, stirling not None):
    """The limits and coefficients of `incomplete_gamma`, which its definition states."""
    global _LARGE, _MOST_STEPS, _STIRLING_FROM
    cdef int place
    _LARGE, _MOST_STEPS, _STIRLING_FROM = large, most_steps, stirling_from
    for place in range(STIRLING_TERMS):
        _STIRLING[place] = stirling[place]


cdef Tensor _walked(Tensor left, Tensor right, KernelFunction kernel):
    """What the kernel makes of two tensors of one type and shape, in the order of their strides."""
    cdef Walk walk
    cdef int permutation[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t stride = 1
    cdef int place, dim
    cdef Tensor out
    require_memory(left)
    require_memory(right)
    if left.dtype_code != right.dtype_code or left.shape != right.shape:
        raise ValueError("operands must be of one type and shape")
    begin_walk(&walk, left.rank, left.sizes)
    add_input(&walk, left, left.rank, left.sizes)
    add_input(&walk, right, left.rank, left.sizes)
    reorder(&walk, permutation)
    for place in range(left.rank):
        dim = left.rank - 1 - permutation[place]
        strides[dim] = stride
        stride *= max(left.sizes[dim], 1)
    out = make_strided(left.dtype_code, left.rank, left.sizes, strides, left.device_type,
                       left.device_index)
    begin_walk(&walk, left.rank, left.sizes)
    add_operand(&walk, out, left.rank, left.sizes)
    add_input(&walk, left, left.rank, left.sizes)
    add_input(&walk, right, left.rank, left.sizes)
    reorder(&walk, permutation)
    coalesce(&walk)
    walk.kernel = kernel
    with nogil:
        run_walk(&walk, GRAIN)
    count_write(out)
    return out


def greatest_divisors(Tensor left not None, Tensor right not None):
    """The greatest common divisors of integers of up to 64 bits, signed or bytes, by Euclid's algorithm.

    None for other types. Raises ValueError for operands of two types or shapes.
    """
    if left.dtype_code == UINT8:
        return _walked(left, right, _divide_uint8)
    if left.dtype_code == INT8:
        return _walked(left, right, _divide_int8)
    if left.dtype_code == INT16:
        return _walked(left, right, _divide_int16)
    if left.dtype_code == INT32:
        return _walked(left, right, _divide_int32)
    if left.dtype_code == INT64:
        return _walked(left, right, _divide_int64)
    return None


cdef inline Integer _magnitude(Integer value) noexcept nogil:
    """Without a sign, but for the least number, which stays."""
    if Integer is uint8_t:
        return value
    elif Integer is int64_t:
        return <int64_t>(0 - <unsigned long long>value) if value < 0 else value
    else:
        return <Integer>(-<int64_t>value) if value < 0 else value


cdef void _divide_uint8(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                        const int64_t* reduced) noexcept nogil:
    _divide(data, n0, s0, n1, s1, <uint8_t*>data[0])


cdef void _divide_int8(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                       const int64_t* reduced) noexcept nogil:
    _divide(data, n0, s0, n1, s1, <int8_t*>data[0])


cdef void _divide_int16(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                        const int64_t* reduced) noexcept nogil:
    _divide(data, n0, s0, n1, s1, <int16_t*>data[0])


cdef void _divide_int32(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                        const int64_t* reduced) noexcept nogil:
    _divide(data, n0, s0, n1, s1, <int32_t*>data[0])


cdef void _divide_int64(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                        const int64_t* reduced) noexcept nogil:
    _divide(data, n0, s0, n1, s1, <int64_t*>data[0])


cdef inline void _divide(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                         Integer* out) noexcept nogil:
    cdef int64_t row, place
    for row in range(n1):
        for place in range(n0):
            out = <Integer*>(data[0] + row * s1[0] + place * s0[0])
            out[0] = _divisor((<const Integer*>(data[1] + row * s1[1] + place * s0[1]))[0],
                              (<const Integer*>(data[2] + row * s1[2] + place * s0[2]))[0])


cdef inline Integer _divisor(Integer first, Integer second) noexcept nogil:
    cdef Integer left = _magnitude(second), right = _magnitude(first), rest
    if Integer is int64_t:
        if (left | right) >> 31 == 0:
            # Short numbers are divided several times as fast.
            return _divisor[int32_t](<int32_t>first, <int32_t>second)
    while right != 0:
        rest = <Integer>(left % right)
        left = right
        right = rest
    return left


def incomplete_gamma(Tensor a not None, Tensor x not None, bint lower, bint exact):
    """P(a, x), or Q(a, x) unless `lower`, of float64: to its last bits if `exact`, else to what float32
    needs. Both are of one shape. Raises ValueError for other operands."""
    if a.dtype_code != FLOAT64:
        raise ValueError(f"incomplete_gamma: expected float64, but got {a.dtype}")
    if lower:
        return _walked(a, x, _lower_exactly if exact else _lower_shortly)
    return _walked(a, x, _upper_exactly if exact else _upper_shortly)


cdef void _lower_exactly(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                         const int64_t* reduced) noexcept nogil:
    _integrate(data, n0, s0, n1, s1, True, 2.0 ** -53)


cdef void _lower_shortly(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                         const int64_t* reduced) noexcept nogil:
    _integrate(data, n0, s0, n1, s1, True, 2.0 ** -32)


cdef void _upper_exactly(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                         const int64_t* reduced) noexcept nogil:
    _integrate(data, n0, s0, n1, s1, False, 2.0 ** -53)


cdef void _upper_shortly(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                         const int64_t* reduced) noexcept nogil:
    _integrate(data, n0, s0, n1, s1, False, 2.0 ** -32)


cdef inline void _integrate(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                            const int64_t* s1, bint lower, double least) noexcept nogil:
    """`least` is what the last step changes at most, relative to all."""
    cdef int64_t row, place
    for row in range(n1):
        for place in range(n0):
            (<double*>(data[0] + row * s1[0] + place * s0[0]))[0] = _incomplete(
                (<const double*>(data[1] + row * s1[1] + place * s0[1]))[0],
                (<const double*>(data[2] + row * s1[2] + place * s0[2]))[0], lower, least)


cdef double _incomplete(double a, double x, bint lower, double least) noexcept nogil:
    cdef double part
    if (isnan(a) or isnan(x) or a < 0 or x < 0 or (a == 0 and x == 0)
            or (a == INFINITY and x == INFINITY)):
        return NAN
    if a == 0 or x == INFINITY:
        return 1 if lower else 0
    if x == 0 or a == INFINITY:
        return 0 if lower else 1
    if a >= _LARGE:
        return _large_incomplete(a, x, lower)
    if x < a + 1:
        part = _lower_series(a, x, least)
        return part if lower else 1 - part
    part = _upper_fraction(a, x, least)
    return 1 - part if lower else part


cdef double _prefactor(double a, double x) noexcept nogil:
    cdef double offset, inverse, series = 0
    cdef int sign = 0, place
    if a < _STIRLING_FROM:
        return exp(a * log(x) - x - lgamma_r(a + 1, &sign))
    offset = (x - a) / a
    inverse = 1 / a
    for place in range(STIRLING_TERMS - 1, -1, -1):
        series = series * inverse * inverse + _STIRLING[place]
    return exp(a * (log1p(offset) - offset) - series * inverse) / sqrt(2 * M_PI * a)


cdef double _lower_series(double a, double x, double least) noexcept nogil:
    cdef double total = 1, term = 1
    cdef int count
    for count in range(1, _MOST_STEPS + 1):
        term *= x / (a + count)
        total += term
        if not term > total * (least / 2):
            break
    return total * _prefactor(a, x)


cdef double _upper_fraction(double a, double x, double least) noexcept nogil:
    cdef double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d, changed = INFINITY
    cdef double numerator, change, error
    cdef int count
    for count in range(1, _MOST_STEPS + 1):
        numerator = -count * (count - a)
        b += 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        change = c * d
        error = fabs(change - 1)
        fraction *= change
        if not (error > least and (error > 32 * least or error < changed)):
            break
        changed = error
    return fraction * _prefactor(a, x) * a


cdef double _large_incomplete(double a, double x, bint lower) noexcept nogil:
    cdef double offset = (x - a) / a, eta, ratio, rest, side = -1 if lower else 1
    eta = sqrt(max(2 * (offset - log1p(offset)), 0.0))
    if offset < 0:
        eta = -eta
    ratio = eta / 12 - 1.0 / 3 if fabs(offset) < 1e-3 else 1 / offset - 1 / eta
    rest = exp(-0.5 * a * eta * eta) / sqrt(2 * M_PI * a) * ratio
    return 0.5 * erfc(side * eta * sqrt(a * 0.5)) + side * rest
