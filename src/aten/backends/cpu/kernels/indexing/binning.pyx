# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Ordinary calls of what counts elements by bins: few of them, of float32 or float64, without weights.

More elements have threads in the general ways. Each step is rounded to the type of the elements, as there.
"""

from cpython.object cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int64_t
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, dtype_from_code
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport Py_False, reads_integer
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, data_pointer, is_lazy)

cdef extern from "Python.h":
    bint PyFloat_CheckExact(PyObject*) noexcept
    double PyFloat_AS_DOUBLE(PyObject*) noexcept

ctypedef fused real:
    float
    double

cdef enum:
    MOST_ELEMENTS = 1 << 14
    MOST_BINS = 1 << 14
    # Integers that are numbers of float32.
    MOST_EXACT = 1 << 24


cdef bint _is_ordinary(TensorImpl values) noexcept:
    """Whether it holds a few real numbers in the CPU's memory, without gaps."""
    return (values.device_type == CPU and values.dtype_code in (FLOAT32, FLOAT64)
            and 0 < values.count <= MOST_ELEMENTS and values.contiguous
            and values.storage.data != NULL and not is_lazy(values))


cdef bint _reads_number(PyObject* given, double* number) except -1:
    cdef int64_t whole = 0
    if PyFloat_CheckExact(given):
        number[0] = PyFloat_AS_DOUBLE(given)
        return True
    if not reads_integer(given, &whole) or not -MOST_EXACT <= whole <= MOST_EXACT:
        return False
    number[0] = <double>whole
    return True


cdef bint _extremes(const real* values, int64_t count, double* low, double* high) noexcept nogil:
    """The least and the greatest; whether all are finite."""
    cdef real least = values[0], greatest = values[0]
    cdef int64_t place
    for place in range(count):
        if not isfinite(values[place]):
            return False
        least = min(least, values[place])
        greatest = max(greatest, values[place])
    low[0], high[0] = least, greatest
    return True


cdef bint _find_extremes(TensorImpl values, double* low, double* high) noexcept:
    if values.dtype_code == FLOAT32:
        return _extremes(<const float*>const_data_pointer(values), values.count, low, high)
    return _extremes(<const double*>const_data_pointer(values), values.count, low, high)


cdef class CountKernel(FastPath):
    """histc(self, bins, min, max): bins of one width."""

    cdef object ordinary(self, PyObject** stack):
        cdef Tensor values = make_alias(<TensorImpl>stack[0]), counts
        cdef int64_t bins = 0
        cdef double low = 0, high = 0
        if (not _is_ordinary(values) or not reads_integer(stack[1], &bins)
                or not 0 < bins <= MOST_BINS or not _reads_number(stack[2], &low)
                or not _reads_number(stack[3], &high)):
            return None
        if low == high and not _find_extremes(values, &low, &high):
            return None
        if low == high:
            low, high = low - 1, high + 1
        if not (isfinite(low) and isfinite(high) and low <= high):
            return None
        counts = make_contiguous(values.dtype_code, 1, &bins, CPU, values.device_index)
        if values.dtype_code == FLOAT32:
            counted = _count(<const float*>const_data_pointer(values), values.count, <float>low,
                             <float>high, bins, <float*>data_pointer(counts))
        else:
            counted = _count(<const double*>const_data_pointer(values), values.count, low, high,
                             bins, <double*>data_pointer(counts))
        return counts if counted else None


cdef bint _count(const real* values, int64_t count, real low, real high, int64_t bins,
                 real* counts) noexcept nogil:
    """Whether all steps are numbers. Counts are exact in either type."""
    cdef real width = high - low, step
    cdef int64_t place, bin
    if not (isfinite(width) and width > 0):
        return False
    memset(counts, 0, bins * sizeof(real))
    for place in range(count):
        if not (values[place] >= low and values[place] <= high):
            continue
        step = values[place] - low
        step = step * <real>bins
        step = step / width
        if not isfinite(step):
            return False
        bin = <int64_t>step
        counts[min(max(bin, 0), bins - 1)] += 1
    return True


cdef class HistogramKernel(FastPath):
    """histogram.bin_ct(self, bins, *, range, weight, density) and, with edges in the place of a number,
    histogram.bins_tensor(self, bins, *, weight, density), without any of these options."""

    cdef bint has_edges
    cdef OpOverload linspace
    cdef OpOverload clone

    def __init__(self, native, replaced, find, Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.has_edges = native == "histogram_by_edges"
        self.linspace = find("linspace")
        self.clone = find("clone")

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* given[2]
        cdef Tensor values = make_alias(<TensorImpl>stack[0]), edges, counts
        cdef int64_t bins
        if not _is_ordinary(values):
            return None
        if self.has_edges:
            if stack[2] != <PyObject*>None or stack[3] != Py_False:
                return None
            edges = make_alias(<TensorImpl>stack[1])
        else:
            if (stack[2] != <PyObject*>None or stack[3] != <PyObject*>None
                    or stack[4] != Py_False):
                return None
            made = self.edges(values, stack[1])
            if made is None:
                return None
            edges = <Tensor?>made
        if not _is_ordinary(edges) or edges.rank != 1 or edges.dtype_code != values.dtype_code:
            return None
        bins = edges.count - 1
        if bins < 1:
            return None
        counts = make_contiguous(values.dtype_code, 1, &bins, CPU, values.device_index)
        if values.dtype_code == FLOAT32:
            _count_between(<const float*>const_data_pointer(values), values.count,
                           <const float*>const_data_pointer(edges), bins,
                           <float*>data_pointer(counts))
        else:
            _count_between(<const double*>const_data_pointer(values), values.count,
                           <const double*>const_data_pointer(edges), bins,
                           <double*>data_pointer(counts))
        if not self.has_edges:
            return counts, edges
        given[0], given[1] = stack[1], <PyObject*>None
        return counts, self.clone.call_stack(given)

    cdef object edges(self, TensorImpl values, PyObject* bins):
        """Those of bins of one width from the least to the greatest element; None for others."""
        cdef PyObject* given[7]
        cdef int64_t number = 0
        cdef double low = 0, high = 0
        cdef int place
        cdef object first, last, count
        if (not reads_integer(bins, &number) or not 0 < number < MOST_BINS
                or not _find_extremes(values, &low, &high)):
            return None
        if low == high:
            low, high = low - 0.5, high + 0.5
        first, last, count = low, high, number + 1
        element, device = dtype_from_code(values.dtype_code), values.device
        for place in range(7):
            given[place] = <PyObject*>None
        given[0], given[1], given[2] = <PyObject*>first, <PyObject*>last, <PyObject*>count
        given[3], given[5] = <PyObject*>element, <PyObject*>device
        return self.linspace.call_stack(given)


cdef void _count_between(const real* values, int64_t count, const real* edges, int64_t bins,
                         real* counts) noexcept nogil:
    """Elements from the first edge to the last, by the edges before them; searched for as searchsorted
    does, whatever the order of the edges."""
    cdef int64_t place, found, left, half
    memset(counts, 0, bins * sizeof(real))
    for place in range(count):
        if not (values[place] >= edges[0] and values[place] <= edges[bins]):
            continue
        found, left = 0, bins + 1
        while left > 0:
            half = (left + 1) // 2
            if not edges[found + half - 1] > values[place]:
                found += half
            left -= half
        counts[min(max(found - 1, 0), bins - 1)] += 1


KINDS = {
    "histc": CountKernel,
    "histogram_by_number": HistogramKernel,
    "histogram_by_edges": HistogramKernel,
}
