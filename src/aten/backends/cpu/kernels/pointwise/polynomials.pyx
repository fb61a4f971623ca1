# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Orthogonal polynomials element by element: each takes as many steps as its degree asks for.

The recurrences are those of the operators' functions, in float64, every operation rounded as there.
"""

from cpython.object cimport PyObject
from libc.math cimport NAN, isnan, trunc
from libc.stdint cimport int32_t, int64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT32, INT64
from aten._core.base.strides cimport is_row_major
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_integer
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.tensor cimport Tensor, is_tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, is_lazy
from aten._core.threads.parallel cimport parallel_for

cdef enum:
    # Elements in one chunk of work for the threads.
    GRAIN = 512

cdef enum Kind:
    HERMITE_H
    HERMITE_HE
    LAGUERRE
    LEGENDRE

cdef extern from *:
    int __ATOMIC_RELAXED
    void __atomic_store_n(int*, int, int) noexcept nogil

cdef dict _KINDS = {
    "hermite_h": HERMITE_H, "hermite_he": HERMITE_HE, "laguerre": LAGUERRE, "legendre": LEGENDRE,
}
NAMES = tuple(_KINDS)

cdef struct Work:
    Kind kind
    const char* x
    const char* degrees         # so many, in turn; NULL: `degree` for all
    int64_t count
    char* out
    int x_code
    int degree_code
    double degree
    double limit                # beyond, polynomials are NaN
    double most_steps
    int too_many                # whether a degree asks for more steps


cdef class PolynomialKernel(FastPath):
    """Polynomials of the kind that `native` says, at float32 or float64, of a degree for each element or
    one for all. `limits` are the greatest degrees of either type."""

    cdef Kind kind
    cdef double narrow_limit
    cdef double wide_limit
    cdef double most_steps

    def __init__(self, str native not None, tuple limits not None, double most_steps,
                 tuple replaced not None, find, Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.kind = _KINDS[native]
        self.narrow_limit, self.wide_limit = limits
        self.most_steps = most_steps

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl x, degrees = None
        cdef Work work
        cdef Tensor out
        cdef int64_t degree = 0
        if not is_tensor(<object>stack[0]):
            return None
        x = <TensorImpl>stack[0]
        if (x.device_type != CPU or x.dtype_code not in (FLOAT32, FLOAT64) or is_lazy(x)
                or x.count == 0 or not is_row_major(x.rank, x.sizes, x.strides)):
            return None
        if is_tensor(<object>stack[1]):
            degrees = <TensorImpl>stack[1]
            if not _belong(x, degrees):
                return None
            degrees = make_alias(degrees)
            work.degree_code, work.count = degrees.dtype_code, degrees.count
        elif not reads_integer(stack[1], &degree) or not -self.most_steps <= degree <= self.most_steps:
            return None
        # Other threads may run meanwhile, and change what is read then.
        x = make_alias(x)
        out = make_contiguous(x.dtype_code, x.rank, x.sizes, CPU, x.device_index)
        work.kind, work.degree, work.most_steps, work.too_many = self.kind, degree, self.most_steps, 0
        work.x_code = x.dtype_code
        work.limit = self.narrow_limit if x.dtype_code == FLOAT32 else self.wide_limit
        work.x, work.out = const_data_pointer(x), out.storage.data
        work.degrees = NULL if degrees is None else const_data_pointer(degrees)
        with nogil:
            parallel_for(x.count, GRAIN, _compute, &work)
        # What takes too long is refused in words by the general way.
        return None if work.too_many else out


cdef bint _belong(TensorImpl x, TensorImpl degrees) noexcept:
    """Whether there is a degree for each element, or for each of a row, of a type that leaves the result
    that of `x`."""
    cdef int dim
    if (degrees.device_type != CPU or is_lazy(degrees) or degrees.rank > x.rank
            or degrees.dtype_code not in (INT64, INT32, x.dtype_code)
            or not is_row_major(degrees.rank, degrees.sizes, degrees.strides)):
        return False
    for dim in range(1, degrees.rank + 1):
        if degrees.sizes[degrees.rank - dim] != x.sizes[x.rank - dim]:
            return False
    return True


cdef void _compute(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Work* work = <Work*>context
    cdef double degree = trunc(work.degree), value, x
    cdef int64_t place
    for place in range(begin, end):
        if work.degrees != NULL:
            degree = trunc(_degree_at(work, place % work.count))
        if degree <= work.limit and degree > work.most_steps:
            __atomic_store_n(&work.too_many, 1, __ATOMIC_RELAXED)
            return
        if work.x_code == FLOAT32:
            x = (<const float*>work.x)[place]
            (<float*>work.out)[place] = <float>_polynomial(work.kind, x, degree, work.limit)
        else:
            x = (<const double*>work.x)[place]
            (<double*>work.out)[place] = _polynomial(work.kind, x, degree, work.limit)


cdef inline double _degree_at(const Work* work, int64_t place) noexcept nogil:
    if work.degree_code == INT64:
        return <double>(<const int64_t*>work.degrees)[place]
    if work.degree_code == INT32:
        return (<const int32_t*>work.degrees)[place]
    if work.degree_code == FLOAT32:
        return (<const float*>work.degrees)[place]
    return (<const double*>work.degrees)[place]


cdef double _polynomial(Kind kind, double x, double degree, double limit) noexcept nogil:
    cdef double previous, current, following
    cdef int64_t k
    if degree > limit:
        return NAN
    if degree < 0:
        return 0
    previous = x * 0 + 1
    if isnan(degree):
        return previous
    if degree == 0:
        return 1
    current = x + x if kind == HERMITE_H else 1 - x if kind == LAGUERRE else x
    for k in range(1, <int64_t>degree):
        following = _step(kind, <double>k, x, current, previous)
        previous = current
        current = following
    return current


cdef inline double _step(Kind kind, double k, double x, double current,
                         double previous) noexcept nogil:
    """The polynomial of degree k + 1, from those of degrees k and k - 1."""
    if kind == HERMITE_H:
        return 2 * x * current - 2 * k * previous
    if kind == HERMITE_HE:
        return x * current - k * previous
    if kind == LAGUERRE:
        return ((2 * k + 1 - x) * current - k * previous) / (k + 1)
    return ((2 * k + 1) * x * current - k * previous) / (k + 1)
