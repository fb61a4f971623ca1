# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""One element of each row, chosen by an index, weighed and summed: in one pass, for few rows."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.base.bounded cimport wide_index
from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT64
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport const_data_pointer, data_pointer

cdef extern from "Python.h":
    bint PyFloat_CheckExact(PyObject*) noexcept
    bint PyLong_CheckExact(PyObject*) noexcept
    double PyFloat_AS_DOUBLE(PyObject*) noexcept
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*) noexcept

ctypedef fused real:
    float
    double

cdef enum:
    # Rows at most: what one thread goes through.
    MAXIMUM_ROWS = 16384
    # Scores from which on it takes less time not to write the logarithms of all.
    LEAST_OF_MANY = 1 << 16

# Arguments of the logarithms of softmax.
cdef object _CLASSES = 1
cdef object _SAME_TYPE = False

cdef struct Rows:
    # Strides in elements; an index for each row.
    int64_t count
    int64_t columns
    int64_t row_stride
    int64_t column_stride
    const int64_t* index
    int64_t index_stride
    int64_t weight_stride
    int64_t ignored


def picked_and_weighed(Tensor values not None, Tensor index not None, Tensor weight,
                       int64_t ignored, bint summed, bint averaged):
    """`-values[row, index[row]] * weight[index[row]]` of each row, and the sum of the weights.

    `values` (R, C) or (C), float32 or float64; `index` (R) or (), int64; `weight` (C) of the type
    of `values`, or None for ones. Rows whose index is `ignored` are zero and weigh nothing. With
    `summed`, the sum of the rows instead, and with `averaged`, too, that over the sum of the
    weights. Sums are in float64, rounded once.

    Gives None for operands of other kinds and for indices out of range: the caller knows what to
    make of those.
    """
    return _weighed(values, index, weight, ignored, summed, averaged, True)


cdef object _weighed(Tensor values, Tensor index, Tensor weight, int64_t ignored, bint summed,
                     bint averaged, bint with_total):
    """The same, or what has been picked alone."""
    cdef Tensor picked, total = None
    cdef Rows rows
    cdef double unused
    cdef char* sum = <char*>&unused
    cdef int code = values.dtype_code
    cdef int outer = values.rank - 1
    if (outer not in (0, 1) or index.rank != outer or code not in (FLOAT32, FLOAT64)
            or index.dtype_code != INT64 or values.count == 0
            or values.device_type != CPU or index.device_type != CPU):
        return None
    if outer == 1 and index.sizes[0] != values.sizes[0]:
        return None
    rows.weight_stride = 0
    if weight is not None:
        if (weight.rank != 1 or weight.sizes[0] != values.sizes[outer]
                or weight.dtype_code != code or weight.device_type != CPU):
            return None
        rows.weight_stride = weight.strides[0]
    rows.count = index.count
    if rows.count > MAXIMUM_ROWS:
        return None
    rows.columns = values.sizes[outer]
    rows.column_stride = values.strides[outer]
    rows.row_stride = values.strides[0] if outer == 1 else 0
    rows.index = <const int64_t*>const_data_pointer(index)
    rows.index_stride = index.strides[0] if outer == 1 else 0
    rows.ignored = ignored
    picked = make_contiguous(code, 0 if summed else outer, index.sizes, CPU, -1)
    if with_total:
        total = make_contiguous(code, 0, index.sizes, CPU, -1)
        sum = data_pointer(total)
    if code == FLOAT32:
        found = _pick[float](&rows, <const float*>const_data_pointer(values),
                             NULL if weight is None else <const float*>const_data_pointer(weight),
                             <float*>data_pointer(picked), <float*>sum, summed, averaged)
    else:
        found = _pick[double](&rows, <const double*>const_data_pointer(values),
                              NULL if weight is None else <const double*>const_data_pointer(weight),
                              <double*>data_pointer(picked), <double*>sum, summed, averaged)
    if not found:
        return None
    return (picked, total) if with_total else picked


cdef bint _pick(const Rows* rows, const real* values, const real* weights, real* picked,
                real* total, bint summed, bint averaged) noexcept nogil:
    """Whether every index that counts is in range."""
    cdef int64_t row, column
    cdef double sum_of_rows = 0
    cdef double sum_of_weights = 0
    cdef real element, weight
    for row in range(rows.count):
        column = wide_index(rows.index + row * rows.index_stride)
        element = 0
        if column != rows.ignored:
            if column < 0 or column >= rows.columns:
                return False
            weight = 1 if weights == NULL else weights[column * rows.weight_stride]
            element = values[row * rows.row_stride + column * rows.column_stride]
            element = -(element * weight)
            sum_of_weights += weight
        if summed:
            sum_of_rows += element
        else:
            picked[row] = element
    total[0] = <real>sum_of_weights
    if summed:
        picked[0] = <real>sum_of_rows
        if averaged:
            picked[0] = picked[0] / total[0]
    return True


cdef class CrossEntropyKernel(FastPath):
    """Cross entropy between few scores (N, C) and one class for each row of them.

    `logarithms` is the operator of the logarithms of softmax.
    """

    cdef OpOverload logarithms

    def __init__(self, OpOverload logarithms not None, tuple replaced not None, find,
                 Kernel otherwise not None):
        FastPath.__init__(self, "cross entropy of classes", replaced, find, otherwise)
        self.logarithms = logarithms

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* given[3]
        cdef Tensor scores, target, logarithms, weight = <object>stack[2]
        cdef long long reduction, ignored
        cdef int overflows = 0
        if (not PyLong_CheckExact(stack[3]) or not PyLong_CheckExact(stack[4])
                or not PyFloat_CheckExact(stack[5]) or PyFloat_AS_DOUBLE(stack[5]) != 0):
            return None
        reduction = PyLong_AsLongLongAndOverflow(stack[3], &overflows)
        if overflows or not 0 <= reduction <= 2:
            return None
        ignored = PyLong_AsLongLongAndOverflow(stack[4], &overflows)
        if overflows:
            return None
        scores = <Tensor>stack[0]
        target = <Tensor>stack[1]
        if (scores.rank != 2 or target.rank != 1 or scores.count == 0
                or scores.count >= LEAST_OF_MANY or scores.sizes[0] != target.sizes[0]
                or scores.dtype_code not in (FLOAT32, FLOAT64) or target.dtype_code != INT64
                or scores.device_type != CPU or target.device_type != CPU):
            return None
        given[0] = stack[0]
        given[1] = <PyObject*>_CLASSES
        given[2] = <PyObject*>_SAME_TYPE
        logarithms = <Tensor?>self.logarithms.call_stack(given)
        return _weighed(logarithms, target, weight, ignored, reduction != 0, reduction == 1, False)
