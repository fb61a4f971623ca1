# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""How often small numbers occur.

Each thread counts a part of its own, and neighbouring elements in tables of their own: an addition
to what was just written waits for it. Counts are exact, so that their order does not matter.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport INT8, INT16, INT32, INT64, UINT8
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport const_data_pointer, data_pointer, is_lazy
from aten._core.threads.parallel cimport parallel_for, thread_count

cdef enum:
    MOST_PARTS = 16
    # Elements that are worth a part of their own.
    LEAST_ELEMENTS = 8192
    # Tables that are counted in by turns where all of them stay in the nearest cache.
    LANES = 4
    SHORT_TABLE = 1024

# Beyond these the general way is as good.
cdef uint64_t MOST_NUMBERS = <uint64_t>1 << 20
cdef int64_t MOST_ELEMENTS = <int64_t>1 << 31

ctypedef fused Integer:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t

cdef struct Counting:
    int code
    const char* values
    int64_t count
    int64_t parts
    uint64_t seen[MOST_PARTS]       # of each part, all bits of its elements
    int64_t size                    # of a table, a power of two
    int64_t lanes                   # tables of a part
    int32_t* tables


cdef inline uint64_t _bits_of(const Integer* values, int64_t begin, int64_t end) noexcept nogil:
    cdef uint64_t seen = 0
    cdef int64_t place
    for place in range(begin, end):
        seen |= <uint64_t><int64_t>values[place]
    return seen


cdef inline void _count(const Integer* values, int64_t begin, int64_t end, int64_t size,
                        int64_t lanes, int32_t* tables) noexcept nogil:
    # Others may change elements meanwhile: whatever they are, their last bits are a place.
    cdef int64_t place = begin, last = size - 1
    if lanes == LANES:
        while place + LANES <= end:
            tables[<int64_t>values[place] & last] += 1
            tables[size + (<int64_t>values[place + 1] & last)] += 1
            tables[2 * size + (<int64_t>values[place + 2] & last)] += 1
            tables[3 * size + (<int64_t>values[place + 3] & last)] += 1
            place += LANES
    while place < end:
        tables[<int64_t>values[place] & last] += 1
        place += 1


cdef inline void _take(Counting* counting, int64_t part, const Integer* values) noexcept nogil:
    cdef int64_t begin = counting.count * part // counting.parts
    cdef int64_t end = counting.count * (part + 1) // counting.parts
    if counting.tables == NULL:
        counting.seen[part] = _bits_of(values, begin, end)
    else:
        _count(values, begin, end, counting.size, counting.lanes,
               counting.tables + part * counting.lanes * counting.size)


cdef void _take_parts(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Look through some parts or, once there are tables, count them."""
    cdef Counting* counting = <Counting*>context
    cdef int64_t part
    for part in range(begin, end):
        if counting.code == INT64:
            _take(counting, part, <const int64_t*>counting.values)
        elif counting.code == INT32:
            _take(counting, part, <const int32_t*>counting.values)
        elif counting.code == INT16:
            _take(counting, part, <const int16_t*>counting.values)
        elif counting.code == INT8:
            _take(counting, part, <const int8_t*>counting.values)
        else:
            _take(counting, part, <const uint8_t*>counting.values)


def count_numbers(Tensor values not None, int64_t least):
    """How often each number from 0 to the largest of a row-major vector occurs, int64; at least so
    many counts.

    None for other tensors, for negative or large numbers, and where there are few of them. Raises
    MemoryError.
    """
    cdef Counting counting
    cdef Tensor made
    cdef uint64_t seen = 0
    cdef int64_t part, place, size, total, found = 0
    cdef int64_t* counts
    if (values.rank != 1 or not values.contiguous or values.device_type != CPU or is_lazy(values)
            or not 0 < values.count < MOST_ELEMENTS
            or values.dtype_code not in (UINT8, INT8, INT16, INT32, INT64)):
        return None
    counting.code = values.dtype_code
    counting.values = const_data_pointer(values)
    counting.count = values.count
    counting.parts = max(<int64_t>1, min(min(<int64_t>thread_count(), <int64_t>MOST_PARTS),
                                         values.count // LEAST_ELEMENTS))
    counting.tables = NULL
    with nogil:
        parallel_for(counting.parts, 1, _take_parts, &counting)
    for part in range(counting.parts):
        seen |= counting.seen[part]
    if seen >= MOST_NUMBERS or seen > <uint64_t>values.count:
        return None
    counting.size = 1
    while counting.size <= <int64_t>seen:
        counting.size *= 2
    counting.lanes = LANES if counting.size <= SHORT_TABLE else 1
    counting.tables = <int32_t*>calloc(counting.parts * counting.lanes * counting.size,
                                       sizeof(int32_t))
    if counting.tables == NULL:
        raise MemoryError()
    try:
        with nogil:
            parallel_for(counting.parts, 1, _take_parts, &counting)
            for place in range(counting.size):
                total = 0
                for part in range(counting.parts * counting.lanes):
                    total += counting.tables[part * counting.size + place]
                counting.tables[place] = <int32_t>total
                found = place + 1 if total else found
        size = max(found, least)
        made = make_contiguous(INT64, 1, &size, CPU, values.device_index)
        counts = <int64_t*>data_pointer(made)
        for place in range(size):
            counts[place] = counting.tables[place] if place < found else 0
    finally:
        free(counting.tables)
    return made
