# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Binary search of many values among sorted ones."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from aten._core.base.device cimport CPU, META, default_device
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT64, default_dtype_code
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport Py_False, reads_flag, reads_integer
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.python_numbers cimport write_element
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, is_lazy)
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.indexing.locating cimport WITHIN, copy_of_indices
from aten.backends.cpu.kernels.indexing.locating import wrong_index

cdef extern from "Python.h":
    bint PyFloat_CheckExact(PyObject*) noexcept

cdef enum:
    # Values looked up in one chunk of work for the threads.
    GRAIN = 1024
    # Values that are looked up in step.
    IN_STEP = 8

ctypedef fused Element:
    float
    double
    int64_t

cdef struct Search:
    int code
    const char* boundaries
    const char* values
    const int64_t* order        # NULL: the boundaries are sorted where they lie
    int64_t* out
    int64_t length              # boundaries of a row
    int64_t row                 # values that are looked up among the same boundaries
    bint shared                 # one row of boundaries serves all values
    bint right


cdef inline bint _comes_before(Element met, Element value, bint right) noexcept nogil:
    """Whether a boundary comes before `value`: one below it, or with `right` one equal, too.

    A NaN comes after all.
    """
    return not met > value if right else not met >= value


cdef inline void _bounds(const Element* boundaries, const int64_t* order, int64_t length,
                         const Element* values, int64_t count, bint right,
                         int64_t* out) noexcept nogil:
    """How many boundaries come before each of a few values.

    All are looked up in step, halving without a branch, so that none waits for another's memory.
    """
    cdef int64_t half, left = length, place, middle
    for place in range(count):
        out[place] = 0
    while left > 0:
        half = (left + 1) // 2
        for place in range(count):
            middle = out[place] + half - 1
            out[place] += half * _comes_before(
                boundaries[middle if order == NULL else order[middle]], values[place], right)
        left -= half


cdef inline void _search_row(const Search* search, const Element* boundaries, int64_t begin,
                             int64_t end, const int64_t* order, bint right,
                             Element unused) noexcept nogil:
    cdef int64_t count
    cdef const Element* values = <const Element*>search.values
    while begin < end:
        count = min(<int64_t>IN_STEP, end - begin)
        if count == IN_STEP:
            _bounds(boundaries, order, search.length, values + begin, IN_STEP, right,
                    search.out + begin)
        else:
            _bounds(boundaries, order, search.length, values + begin, count, right,
                    search.out + begin)
        begin += count


cdef void _search(const Search* search, int64_t begin, int64_t end, Element unused) noexcept nogil:
    cdef int64_t row, stop, first
    cdef const int64_t* order
    while begin < end:
        row = 0 if search.shared else begin // search.row
        stop = end if search.shared else min(end, (row + 1) * search.row)
        first = row * search.length
        order = NULL if search.order == NULL else search.order + first
        # Loops of their own: the compiler sees what is asked.
        if order != NULL:
            _search_row(search, <const Element*>search.boundaries + first, begin, stop, order,
                        search.right, unused)
        elif search.right:
            _search_row(search, <const Element*>search.boundaries + first, begin, stop, NULL, True,
                        unused)
        else:
            _search_row(search, <const Element*>search.boundaries + first, begin, stop, NULL, False,
                        unused)
        begin = stop


cdef void _search_part(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Search* search = <const Search*>context
    if search.code == FLOAT32:
        _search(search, begin, end, <float>0)
    elif search.code == FLOAT64:
        _search(search, begin, end, <double>0)
    else:
        _search(search, begin, end, <int64_t>0)


cdef Tensor _checked_order(Tensor order, int64_t length):
    """A copy of places in [0, length), which nobody changes once it has been checked."""
    cdef Tensor made = make_contiguous(INT64, order.rank, order.sizes, CPU, -1)
    if copy_of_indices(const_data_pointer(order), False, 0, order.count, 0, length,
                       <int64_t*>data_pointer(made)) != WITHIN:
        raise RuntimeError(f"searchsorted: sorter index out of range: expected places from 0 to "
                           f"{length - 1}, got {wrong_index(order, 0, length)}")
    return made


def search_sorted(Tensor boundaries not None, Tensor values not None, Tensor order,
                  Tensor out not None, bint right):
    """Where each value would be put among the boundaries of its row, to `out`, int64.

    All are row-major. `boundaries` (*, n) has one row for all values, or one for each row of
    `values` (*, m). `order` (*, n) has the places of the boundaries in ascending order, None where
    they are in that order. float32, float64 and int64. Raises RuntimeError for places there are not,
    ValueError for other operands.
    """
    cdef Search search
    cdef TensorImpl operand
    cdef Tensor checked
    for operand in (boundaries, values, out):
        if not operand.contiguous or operand.device_type == META:
            raise ValueError("search_sorted: expected row-major tensors")
    if order is not None and (not order.contiguous or order.dtype_code != INT64
                              or order.count != boundaries.count or order.device_type == META):
        raise ValueError("search_sorted: expected a place for each boundary")
    if (boundaries.dtype_code != values.dtype_code or out.dtype_code != INT64
            or boundaries.dtype_code not in (FLOAT32, FLOAT64, INT64) or boundaries.rank == 0
            or out.count != values.count):
        raise ValueError("search_sorted: expected float32, float64 or int64, and int64 results")
    search.code = boundaries.dtype_code
    search.out = <int64_t*>data_pointer(out)
    search.boundaries = const_data_pointer(boundaries)
    search.values = const_data_pointer(values)
    search.order = NULL
    search.length = boundaries.sizes[boundaries.rank - 1]
    search.row = values.sizes[values.rank - 1] if values.rank > 0 else 1
    search.shared = boundaries.rank == 1
    search.right = right
    if not search.shared and search.row * boundaries.count != search.length * values.count:
        raise ValueError("search_sorted: expected a row of boundaries for each row of values")
    if order is not None:
        checked = _checked_order(order, search.length)
        search.order = <const int64_t*>const_data_pointer(checked)
    with nogil:
        parallel_for(values.count, GRAIN, _search_part, &search)
    count_write(out)


cdef bint _is_ordinary(TensorImpl tensor) noexcept:
    return (tensor.device_type == CPU and tensor.dtype_code in (FLOAT32, FLOAT64, INT64)
            and tensor.contiguous and not is_lazy(tensor)
            and (tensor.count == 0 or tensor.storage.data != NULL))


cdef object _found(Tensor boundaries, Tensor values, PyObject* is_right):
    """The places of values, int64; None for operands that are none for the loops."""
    cdef Tensor out
    cdef bint right = False
    if (not reads_flag(is_right, &right) or not _is_ordinary(boundaries)
            or not _is_ordinary(values) or boundaries.dtype_code != values.dtype_code):
        return None
    if boundaries.rank != 1:
        # Rows belong together.
        if boundaries.rank == 0 or values.rank != boundaries.rank or memcmp(
                boundaries.sizes, values.sizes, (values.rank - 1) * sizeof(int64_t)) != 0:
            return None
    out = make_contiguous(INT64, values.rank, values.sizes, CPU, values.device_index)
    search_sorted(boundaries, values, None, out, right)
    return out


cdef object _searched(PyObject** stack):
    """searchsorted.Tensor(sorted_sequence, self, *, out_int32, right, side, sorter)."""
    if (stack[2] != Py_False or stack[4] != <PyObject*>None or stack[5] != <PyObject*>None):
        return None
    return _found(make_alias(<TensorImpl>stack[0]), make_alias(<TensorImpl>stack[1]), stack[3])


cdef object _searched_number(PyObject** stack):
    """searchsorted.Scalar(sorted_sequence, self, *, out_int32, right, side, sorter)."""
    if (stack[2] != Py_False or stack[4] != <PyObject*>None or stack[5] != <PyObject*>None):
        return None
    return _found_number(<TensorImpl>stack[0], stack[1], stack[3])


cdef object _bucketized(PyObject** stack):
    """bucketize.Tensor(self, boundaries, *, out_int32, right)."""
    if (<TensorImpl>stack[1]).rank != 1 or stack[2] != Py_False:
        return None
    return _found(make_alias(<TensorImpl>stack[1]), make_alias(<TensorImpl>stack[0]), stack[3])


cdef object _bucketized_number(PyObject** stack):
    """bucketize.Scalar(self, boundaries, *, out_int32, right)."""
    if stack[2] != Py_False:
        return None
    return _found_number(<TensorImpl>stack[1], stack[0], stack[3])


cdef object _found_number(TensorImpl given, PyObject* number, PyObject* right):
    """The place of a number, which is of the type that a tensor of it alone has, and of the boundaries'."""
    cdef Tensor boundaries = make_alias(given), value
    cdef int64_t whole = 0
    if boundaries.rank != 1 or default_device() is not None:
        return None
    if PyFloat_CheckExact(number):
        if boundaries.dtype_code != FLOAT32 or default_dtype_code() != FLOAT32:
            return None
    elif boundaries.dtype_code != INT64 or not reads_integer(number, &whole):
        return None
    value = make_contiguous(boundaries.dtype_code, 0, NULL, CPU, boundaries.device_index)
    write_element(data_pointer(value), value.dtype_code, <object>number)
    return _found(boundaries, value, right)


ctypedef object (*Searching)(PyObject** stack)

cdef dict _FUNCTIONS = {
    "searchsorted": <size_t>_searched,
    "searchsorted_number": <size_t>_searched_number,
    "bucketize": <size_t>_bucketized,
    "bucketize_number": <size_t>_bucketized_number,
}
NAMES = tuple(_FUNCTIONS)


cdef class SearchKernel(FastPath):
    """Searches at once where operands are of one type, and nothing is asked but the side."""

    cdef Searching function

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.function = <Searching><size_t>_FUNCTIONS[native]

    cdef object ordinary(self, PyObject** stack):
        return self.function(stack)
