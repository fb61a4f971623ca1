# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Binary search of many values among sorted ones."""

from libc.stdint cimport int64_t

from aten._core.device cimport META
from aten._core.dtypes cimport FLOAT32, FLOAT64, INT64
from aten._core.parallel cimport parallel_for
from aten._core.tensor cimport Tensor, TensorImpl, const_data_pointer, data_pointer

cdef enum:
    # Values looked up in one chunk of work for the threads.
    GRAIN = 1024

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


cdef inline int64_t _bound(const Element* boundaries, const int64_t* order, int64_t length,
                           Element value, bint right) noexcept nogil:
    """How many boundaries come before `value`: those below it, or with `right` those equal too.

    A NaN comes after all.
    """
    cdef int64_t low = 0, high = length, middle
    cdef Element met
    while low < high:
        middle = low + (high - low) // 2
        met = boundaries[middle if order == NULL else order[middle]]
        if (met > value) if right else (met >= value):
            high = middle
        else:
            low = middle + 1
    return low


cdef void _search(const Search* search, int64_t begin, int64_t end, Element unused) noexcept nogil:
    cdef int64_t place, first
    cdef const int64_t* order = NULL
    for place in range(begin, end):
        first = 0 if search.shared else place // search.row * search.length
        if search.order != NULL:
            order = search.order + first
        search.out[place] = _bound(<const Element*>search.boundaries + first, order, search.length,
                                   (<const Element*>search.values)[place], search.right)


cdef void _search_part(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Search* search = <const Search*>context
    if search.code == FLOAT32:
        _search(search, begin, end, <float>0)
    elif search.code == FLOAT64:
        _search(search, begin, end, <double>0)
    else:
        _search(search, begin, end, <int64_t>0)


def search_sorted(Tensor boundaries not None, Tensor values not None, Tensor order,
                  Tensor out not None, bint right):
    """Where each value would be put among the boundaries of its row, to `out`, int64.

    All are row-major. `boundaries` (*, n) has one row for all values, or one for each row of
    `values` (*, m). `order` (*, n) has the places of the boundaries in ascending order, None where
    they are in that order. float32, float64 and int64. Raises ValueError for other operands.
    """
    cdef Search search
    cdef TensorImpl operand
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
    search.order = NULL if order is None else <const int64_t*>const_data_pointer(order)
    search.length = boundaries.sizes[boundaries.rank - 1]
    search.row = values.sizes[values.rank - 1] if values.rank > 0 else 1
    search.shared = boundaries.rank == 1
    search.right = right
    if not search.shared and search.row * boundaries.count != search.length * values.count:
        raise ValueError("search_sorted: expected a row of boundaries for each row of values")
    with nogil:
        parallel_for(values.count, GRAIN, _search_part, &search)
    out.storage.version += 1
