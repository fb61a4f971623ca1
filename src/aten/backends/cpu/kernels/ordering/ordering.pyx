# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Rows of a tensor put in order or chosen from by rank, along any dimension.

Every row becomes keys (radix.pyx). What is stable is sorted by digits; where torch leaves open which
of several equal elements comes first, the steps of ranking.pyx decide, as they do there. Threads
share the rows, or the work on a long one.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from aten._core.base.device cimport CPU, META, PRESERVE_FORMAT
from aten._core.base.dtypes cimport (BFLOAT16, BOOL, FLOAT16, INT16, INT64, INT8, UINT16, UINT32,
                                     UINT64, UINT8, item_size)
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.given cimport reads_dim, reads_flag, reads_integer
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, count_write, data_pointer
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.filling.factories cimport empty_as
from aten.backends.cpu.kernels.ordering.radix cimport (KeyOrder, describe_keys, key_of_rank,
                                                       load_keys, sort_positions, store_keys)
from aten.backends.cpu.kernels.ordering.ranking cimport (Pair, begin_least, end_least, select_least,
                                                         select_rank, sort_least, sort_pairs,
                                                         take_lesser)

cdef enum:
    # What becomes of a row, in the order of _WAYS.
    SORT = 0
    STABLE_SORT = 1
    LEAST = 2
    LEAST_UNSORTED = 3
    RANK = 4
    MEDIAN = 5
    MEDIAN_OF_NUMBERS = 6
    MODE = 7
    # Operands, by the place of their strides.
    SOURCE = 0
    VALUES = 1
    INDICES = 2
    # So many times fewer elements than a row has are found in one pass over it.
    FEW = 64
    # Keys that are made at a time where they are not all needed at once.
    PASSING = 2048
    # Elements in one chunk of work for the threads.
    GRAIN = 1 << 14
    # Rows whose elements lie side by side in memory are read together, so many, of so many keys.
    ABREAST = 16
    KEYS_ABREAST = 1 << 15
    # Elements of one byte, and tables that they are counted in.
    BYTES = 256
    TABLES = 4
    # Rows longer than this are sorted by digits even where a shorter row's equals go unstably.
    LONG = 1 << 15

_WAYS = ("sort", "stable sort", "least", "least unsorted", "rank", "median", "median of numbers",
         "mode")

cdef struct Rows:
    KeyOrder order
    int way
    char* data[3]
    int64_t steps[3]                        # bytes from one element of a row to the next
    int64_t length
    int64_t count
    int64_t kept                            # elements of a row of the results
    int64_t rank                            # which one, or how many
    int64_t abreast
    int outer                               # dimensions that number the rows
    int64_t sizes[MAXIMUM_DIMS]
    int64_t strides[MAXIMUM_DIMS][3]
    bint failed                             # there was no memory

cdef struct Place:
    # Where a row begins, in the order of operands.
    char* data[3]


cdef struct Room:
    # Memory for the rows that are worked on together.
    uint64_t* keys
    uint64_t* positions
    Pair* pairs


cdef inline bint _is_few(const Rows* rows) noexcept nogil:
    return ((rows.way == LEAST or rows.way == LEAST_UNSORTED)
            and rows.rank * FEW <= rows.length)


cdef inline bint _needs_pairs(const Rows* rows) noexcept nogil:
    return (rows.way == SORT or rows.way == LEAST or rows.way == LEAST_UNSORTED
            or rows.way == RANK or rows.way == MODE)


cdef inline void _find(const Rows* rows, int64_t row, Place* place) noexcept nogil:
    cdef int dim, operand
    cdef int64_t index
    for operand in range(3):
        place.data[operand] = rows.data[operand]
    for dim in range(rows.outer - 1, -1, -1):
        index = row % rows.sizes[dim]
        row //= rows.sizes[dim]
        for operand in range(3):
            place.data[operand] += index * rows.strides[dim][operand]


cdef void _median(const Rows* rows, const uint64_t* keys, uint64_t* positions) noexcept nogil:
    """The position of the lower median: of the first NaN, where there is one that counts."""
    cdef int64_t place, length = rows.length, before = 0, rank
    cdef uint64_t wanted = rows.order.greatest
    cdef int64_t missing = 0
    if rows.order.infinity:
        for place in range(length):
            missing += keys[place] == rows.order.greatest
    rank = (length - 1) // 2
    if rows.way == MEDIAN_OF_NUMBERS:
        rank = max(length - missing - 1, 0) // 2
    if rows.way == MEDIAN_OF_NUMBERS or missing == 0:
        wanted = key_of_rank(keys, positions, length, rank)
        for place in range(length):
            before += keys[place] < wanted
        rank -= before
    else:
        rank = 0
    for place in range(length):
        if keys[place] != wanted:
            continue
        if rank == 0:
            positions[0] = place
            return
        rank -= 1


cdef bint _is_alone(const Rows* rows, const uint64_t* keys, uint64_t* positions) noexcept nogil:
    """Whether the wanted rank has one element only; its position."""
    cdef uint64_t wanted = key_of_rank(keys, positions, rows.length, rows.rank)
    cdef int64_t place, found = 0, equal = 0
    for place in range(rows.length):
        found = place if keys[place] == wanted else found
        equal += keys[place] == wanted
    positions[0] = found
    return equal == 1


cdef void _mode(const Pair* pairs, int64_t length, uint64_t* positions) noexcept nogil:
    """The end of the first of the longest runs of equal keys."""
    cdef int64_t place, begin = 0, longest = 0
    for place in range(length):
        if place and pairs[place].key != pairs[place - 1].key:
            begin = place
        if place - begin + 1 > longest:
            longest = place - begin + 1
            positions[0] = pairs[place].position


cdef int _arrange(const Rows* rows, uint64_t* keys, uint64_t* positions,
                  Pair* pairs) noexcept nogil:
    """The positions of the `kept` elements of a row of keys; the sorted keys, if all are sorted."""
    cdef int64_t place, length = rows.length
    if rows.way == STABLE_SORT:
        return sort_positions(keys, length, positions)
    if rows.way == MEDIAN or rows.way == MEDIAN_OF_NUMBERS:
        _median(rows, keys, positions)
        return 0
    if rows.way == RANK and _is_alone(rows, keys, positions):
        return 0
    if _is_few(rows):
        begin_least(pairs, keys, rows.rank)
        take_lesser(pairs, rows.rank, keys + rows.rank, length - rows.rank, rows.rank)
        end_least(pairs, rows.rank)
    else:
        for place in range(length):
            pairs[place].key = keys[place]
            pairs[place].position = place
        if rows.way == SORT or rows.way == MODE:
            sort_pairs(pairs, length, 0)
        elif rows.way == LEAST:
            sort_least(pairs, length, rows.rank)
        elif rows.way == LEAST_UNSORTED:
            select_least(pairs, length, rows.rank)
        else:
            select_rank(pairs, length, rows.rank)
    if rows.way == MODE:
        _mode(pairs, length, positions)
    elif rows.way == RANK:
        positions[0] = pairs[rows.rank].position
    else:
        for place in range(rows.kept):
            positions[place] = pairs[place].position
            keys[place] = pairs[place].key
    return 0


cdef inline char* _element(const Rows* rows, const Place* place, int operand,
                           int64_t index) noexcept nogil:
    return place.data[operand] + index * rows.steps[operand]


cdef void _write_values(const Rows* rows, const Place* place, const uint64_t* positions,
                        int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t at
    for at in range(begin, end):
        if rows.order.width == 1:
            (<uint8_t*>_element(rows, place, VALUES, at))[0] = (
                <uint8_t*>_element(rows, place, SOURCE, positions[at]))[0]
        elif rows.order.width == 2:
            (<uint16_t*>_element(rows, place, VALUES, at))[0] = (
                <uint16_t*>_element(rows, place, SOURCE, positions[at]))[0]
        elif rows.order.width == 4:
            (<uint32_t*>_element(rows, place, VALUES, at))[0] = (
                <uint32_t*>_element(rows, place, SOURCE, positions[at]))[0]
        else:
            (<uint64_t*>_element(rows, place, VALUES, at))[0] = (
                <uint64_t*>_element(rows, place, SOURCE, positions[at]))[0]


cdef struct Part:
    # A row, for threads that load or write a part of it each.
    const Rows* rows
    Place place
    const Room* room


cdef void _load_part(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Part* part = <const Part*>context
    load_keys(&part.rows.order, _element(part.rows, &part.place, SOURCE, begin),
              part.rows.steps[SOURCE], end - begin, part.room.keys + begin, 1)


cdef void _write_part(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Part* part = <const Part*>context
    cdef const Rows* rows = part.rows
    cdef const uint64_t* positions = part.room.positions
    cdef int64_t at
    if rows.way <= LEAST_UNSORTED:
        store_keys(&rows.order, part.room.keys + begin, positions + begin, end - begin,
                   part.place.data[SOURCE], rows.steps[SOURCE],
                   _element(rows, &part.place, VALUES, begin), rows.steps[VALUES])
    else:
        _write_values(rows, &part.place, positions, begin, end)
    for at in range(begin, end):
        (<int64_t*>_element(rows, &part.place, INDICES, at))[0] = positions[at]


cdef int _do_row(const Rows* rows, int64_t row, const Room* room) noexcept nogil:
    cdef Part part
    part.rows = rows
    part.room = room
    _find(rows, row, &part.place)
    if _is_few(rows):
        _take_few(rows, &part.place, room)
    else:
        parallel_for(rows.length, GRAIN, _load_part, &part)
        if _arrange(rows, room.keys, room.positions, room.pairs) < 0:
            return -1
    parallel_for(rows.kept, GRAIN, _write_part, &part)
    return 0


cdef void _take_few(const Rows* rows, const Place* place, const Room* room) noexcept nogil:
    """As `_arrange`, making only those keys that are looked at next."""
    cdef int64_t begin = rows.rank, count, at
    load_keys(&rows.order, place.data[SOURCE], rows.steps[SOURCE], begin, room.keys, 1)
    begin_least(room.pairs, room.keys, rows.rank)
    while begin < rows.length:
        count = min(PASSING, rows.length - begin)
        load_keys(&rows.order, _element(rows, place, SOURCE, begin), rows.steps[SOURCE], count,
                  room.keys, 1)
        take_lesser(room.pairs, rows.rank, room.keys, count, begin)
        begin += count
    end_least(room.pairs, rows.rank)
    for at in range(rows.rank):
        room.keys[at] = room.pairs[at].key
        room.positions[at] = room.pairs[at].position


cdef int _do_rows(const Rows* rows, int64_t first, int64_t count, const Room* room) noexcept nogil:
    """Rows beside one another: element by element, as they lie in memory."""
    cdef Place places[ABREAST]
    cdef int64_t row, at, length = rows.length
    cdef uint64_t* positions
    for row in range(count):
        _find(rows, first + row, &places[row])
    at = places[count - 1].data[SOURCE] - places[0].data[SOURCE]
    if count > 1 and at == (count - 1) * rows.order.width:
        for at in range(length):
            load_keys(&rows.order, _element(rows, &places[0], SOURCE, at), rows.order.width, count,
                      room.keys + at, length)
    else:
        for row in range(count):
            load_keys(&rows.order, places[row].data[SOURCE], rows.steps[SOURCE], length,
                      room.keys + row * length, 1)
    for row in range(count):
        if _arrange(rows, room.keys + row * length, room.positions + row * length, room.pairs) < 0:
            return -1
    for at in range(rows.kept):
        for row in range(count):
            positions = room.positions + row * length
            _write_values(rows, &places[row], positions, at, at + 1)
            (<int64_t*>_element(rows, &places[row], INDICES, at))[0] = positions[at]
    return 0


cdef void _do_blocks(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Rows* rows = <Rows*>context
    cdef Room room
    cdef int64_t keys = rows.abreast * rows.length, pairs = rows.length, block, first
    if _is_few(rows):
        pairs = rows.rank
        if rows.abreast == 1:
            keys = max(<int64_t>PASSING, rows.rank)
    if not _needs_pairs(rows):
        pairs = 0
    room.keys = <uint64_t*>malloc(keys * 2 * sizeof(uint64_t) + pairs * sizeof(Pair))
    if room.keys == NULL:
        rows.failed = True
        return
    room.positions = room.keys + keys
    room.pairs = <Pair*>(room.positions + keys)
    for block in range(begin, end):
        first = block * rows.abreast
        if rows.abreast == 1:
            if _do_row(rows, block, &room) < 0:
                rows.failed = True
        elif _do_rows(rows, first, min(rows.abreast, rows.count - first), &room) < 0:
            rows.failed = True
    free(room.keys)


cdef int _run(Rows* rows) noexcept nogil:
    cdef int64_t blocks = (rows.count + rows.abreast - 1) // rows.abreast
    cdef int64_t work = rows.length * rows.abreast
    if rows.count < 4 and rows.length >= GRAIN:
        _do_blocks(rows, 0, blocks)
    else:
        parallel_for(blocks, max(GRAIN // max(work, 1), 1), _do_blocks, rows)
    return -1 if rows.failed else 0


cdef int _run_on(Rows* rows, int way, int64_t rank, TensorImpl self, int dim, bint descending,
                 TensorImpl values, TensorImpl indices) except -1:
    """Describe the rows and run. The results have the sizes of `self` but for `dim`."""
    cdef int place, width
    rows.way = way
    rows.rank = rank
    rows.failed = False
    rows.data[SOURCE] = <char*>const_data_pointer(self)
    rows.data[VALUES] = data_pointer(values)
    rows.data[INDICES] = data_pointer(indices)
    describe_keys(&rows.order, self.dtype_code, descending)
    width = rows.order.width
    rows.length = self.sizes[dim] if self.rank else 1
    rows.kept = values.sizes[dim] if self.rank else 1
    rows.steps[SOURCE] = self.strides[dim] * width if self.rank else 0
    rows.steps[VALUES] = values.strides[dim] * width if self.rank else 0
    rows.steps[INDICES] = indices.strides[dim] * 8 if self.rank else 0
    rows.count = 1
    rows.outer = 0
    for place in range(self.rank):
        if place == dim or self.sizes[place] == 1:
            continue
        rows.sizes[rows.outer] = self.sizes[place]
        rows.count *= self.sizes[place]
        rows.strides[rows.outer][SOURCE] = self.strides[place] * width
        rows.strides[rows.outer][VALUES] = values.strides[place] * width
        rows.strides[rows.outer][INDICES] = indices.strides[place] * 8
        rows.outer += 1
    if rows.way == SORT and rows.length > LONG:
        rows.way = STABLE_SORT
    rows.abreast = 1
    if rows.outer and rows.strides[rows.outer - 1][SOURCE] < rows.steps[SOURCE]:
        rows.abreast = max(min(<int64_t>ABREAST, rows.sizes[rows.outer - 1],
                               KEYS_ABREAST // max(rows.length, 1)), 1)
    count_write(values)
    count_write(indices)
    if rows.count * rows.kept == 0 or rows.length == 0:
        return 0
    if rows.count * rows.length < GRAIN:
        place = _run(rows)
    else:
        with nogil:
            place = _run(rows)
    if place < 0:
        raise MemoryError("there is no memory for the keys of what is put in order")
    return 0


def choose(Tensor self not None, int dim, str way not None, int64_t rank, bint descending,
           Tensor values not None, Tensor indices not None):
    """Put the rows of `self` along `dim` in order, or choose from them; write elements and places.

    The ways: "sort", "stable sort"; "least" and "least unsorted", the first `rank` of the sorted
    elements, and the same in whatever order; "rank", the one that would be at `rank`, counted from
    0; "median", the lower one, or the first NaN; "median of numbers", that of what is not NaN;
    "mode", the last of the most frequent ones. `values` and `indices` (int64) have the sizes of
    `self`, and along `dim` as many elements as are chosen. Raises ValueError for other operands.
    """
    cdef Rows rows
    cdef int code = _WAYS.index(way) if way in _WAYS else -1, place
    cdef TensorImpl made
    cdef int64_t length = self.sizes[dim] if 0 <= dim < self.rank else 1
    cdef int64_t kept = length if code <= STABLE_SORT else rank if code <= LEAST_UNSORTED else 1
    cdef bint fits = not self.rank and dim == 0 or 0 <= dim < self.rank
    for made in (values, indices):
        fits = fits and made.rank == self.rank
        for place in range(self.rank if fits else 0):
            fits = fits and made.sizes[place] == (kept if place == dim else self.sizes[place])
        fits = fits and made.device_type == self.device_type
    if (code < 0 or not fits or self.device_type == META or values.dtype_code != self.dtype_code
            or indices.dtype_code != INT64
            or describe_keys(&rows.order, self.dtype_code, False) < 0
            or not 0 <= rank <= length or (code == RANK and rank == length)):
        raise ValueError(f"choose: the operands do not fit for {way!r} along dimension {dim}")
    _run_on(&rows, code, rank, self, dim, descending, values, indices)


cdef inline bint _goes_unstably(int code) noexcept:
    """Whether torch's unstable sort is not stable for a type, and ours is alike."""
    return (code == BOOL or code == UINT8 or code == INT8 or code == INT16 or code == FLOAT16
            or code == BFLOAT16)


cdef object sort_ordinary(PyObject** stack):
    """sort(self, dim, descending)."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef Rows rows
    cdef Tensor values, indices
    cdef int dim
    cdef bint descending
    if (self.device_type != CPU or not reads_dim(stack[1], self, &dim)
            or not reads_flag(stack[2], &descending)
            or describe_keys(&rows.order, self.dtype_code, False) < 0):
        return None
    values = empty_as(self, self.dtype_code, CPU, self.device_index, PRESERVE_FORMAT)
    indices = empty_as(self, INT64, CPU, self.device_index, PRESERVE_FORMAT)
    _run_on(&rows, SORT if _goes_unstably(self.dtype_code) else STABLE_SORT, 0, self, dim,
            descending, values, indices)
    return values, indices


cdef object topk_ordinary(PyObject** stack):
    """topk(self, k, dim, largest, sorted)."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef Rows rows
    cdef Tensor values, indices
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t rank = 0
    cdef int dim, place, code = self.dtype_code
    cdef bint largest, sorted
    if (self.device_type != CPU or self.rank == 0 or not reads_dim(stack[2], self, &dim)
            or not reads_integer(stack[1], &rank) or not reads_flag(stack[3], &largest)
            or not reads_flag(stack[4], &sorted)
            or describe_keys(&rows.order, code, False) < 0
            or code == BOOL or code == UINT16 or code == UINT32 or code == UINT64):
        return None
    if rank < 1 or rank > self.sizes[dim]:
        return None
    for place in range(self.rank):
        sizes[place] = rank if place == dim else self.sizes[place]
    values = make_contiguous(code, self.rank, sizes, CPU, self.device_index)
    indices = make_contiguous(INT64, self.rank, sizes, CPU, self.device_index)
    _run_on(&rows, LEAST if sorted else LEAST_UNSORTED, rank, self, dim, largest, values, indices)
    return values, indices


cdef struct Runs:
    # Sorted elements in runs of equal ones.
    KeyOrder order
    const char* source
    int64_t step                # bytes from one element of the source to the next
    int64_t count
    uint64_t* keys
    uint64_t* positions
    int64_t* ends               # the last place of each run
    int64_t different           # runs


cdef int _find_runs(Runs* runs) noexcept nogil:
    cdef int64_t at, different = 0
    cdef bint floating = runs.order.infinity != 0, last
    load_keys(&runs.order, runs.source, runs.step, runs.count, runs.keys, 1)
    if sort_positions(runs.keys, runs.count, runs.positions) < 0:
        return -1
    for at in range(runs.count):
        runs.ends[different] = at
        last = at + 1 == runs.count or runs.keys[at] != runs.keys[at + 1]
        different += last or (floating and runs.keys[at] == runs.order.greatest)
    runs.different = different
    return 0


cdef void _write_runs(const Runs* runs, char* values, int64_t* inverse,
                      int64_t* counts) noexcept nogil:
    cdef int64_t run, at, begin = 0, width = runs.order.width
    for run in range(runs.different):
        memcpy(values + run * width, runs.source + <int64_t>runs.positions[begin] * runs.step, width)
        if counts != NULL:
            counts[run] = runs.ends[run] + 1 - begin
        if inverse != NULL:
            for at in range(begin, runs.ends[run] + 1):
                inverse[runs.positions[at]] = run
        begin = runs.ends[run] + 1


cdef struct Bytes:
    # Which elements of a byte there are: `sign` makes keys of them.
    const uint8_t* source
    int64_t step
    int64_t count
    uint8_t sign
    int64_t occurrences[BYTES]  # of each key


cdef void _count_bytes(Bytes* bytes) noexcept nogil:
    cdef int64_t apart[TABLES][BYTES]
    cdef int64_t at, whole = bytes.count - bytes.count % TABLES
    cdef int table, key
    cdef const uint8_t* source = bytes.source
    cdef int64_t step = bytes.step
    memset(apart, 0, sizeof(apart))
    at = 0
    while at < whole:
        # What follows each other is often alike: in a table of its own it need not wait.
        for table in range(TABLES):
            apart[table][source[(at + table) * step] ^ bytes.sign] += 1
        at += TABLES
    for at in range(whole, bytes.count):
        apart[0][source[at * step] ^ bytes.sign] += 1
    for key in range(BYTES):
        bytes.occurrences[key] = 0
        for table in range(TABLES):
            bytes.occurrences[key] += apart[table][key]


cdef object _unique_bytes(Tensor flat, bint is_signed, bint inverse, bint counts):
    """As `unique`, of elements of one byte: they are counted."""
    cdef Bytes bytes
    cdef Tensor values, places, found
    cdef int64_t size = 0, run = 0, at
    cdef int64_t runs[BYTES]
    cdef int64_t* written
    cdef int key
    bytes.source = <const uint8_t*>const_data_pointer(flat)
    bytes.step = flat.strides[0]
    bytes.count = flat.count
    bytes.sign = 0x80 if is_signed else 0
    with nogil:
        _count_bytes(&bytes)
    for key in range(BYTES):
        runs[key] = size
        size += bytes.occurrences[key] != 0
    values = make_contiguous(flat.dtype_code, 1, &size, flat.device_type, flat.device_index)
    run = size if counts else 0
    found = make_contiguous(INT64, 1, &run, flat.device_type, flat.device_index)
    run = flat.count if inverse else 0
    places = make_contiguous(INT64, 1, &run, flat.device_type, flat.device_index)
    for key in range(BYTES):
        if bytes.occurrences[key]:
            (<uint8_t*>values.storage.data)[runs[key]] = <uint8_t>key ^ bytes.sign
            if counts:
                (<int64_t*>found.storage.data)[runs[key]] = bytes.occurrences[key]
    if inverse:
        # Others may have changed elements meanwhile: what was not there is in the place of what follows.
        written = <int64_t*>places.storage.data
        with nogil:
            for at in range(bytes.count):
                written[at] = min(runs[bytes.source[at * bytes.step] ^ bytes.sign], size - 1)
    return values, places, found


def unique(Tensor flat not None, bint inverse, bint counts):
    """The different elements of a vector in order; each one's place among them, int64; and how
    often they occur, int64. What is not asked for is empty.

    Every NaN is an element of its own. Raises ValueError for elements without an order.
    """
    cdef Runs runs
    cdef Tensor room, values, places, found
    cdef int64_t size = 3 * flat.count
    cdef int failed
    if (describe_keys(&runs.order, flat.dtype_code, False) < 0 or flat.device_type == META
            or flat.rank != 1):
        raise ValueError("unique: expected a vector of elements with an order")
    if runs.order.width == 1:
        return _unique_bytes(flat, flat.dtype_code == INT8, inverse, counts)
    runs.source = <char*>const_data_pointer(flat)
    runs.step = flat.strides[0] * runs.order.width
    runs.count = flat.count
    room = make_contiguous(INT64, 1, &size, CPU, -1)
    runs.keys = <uint64_t*>data_pointer(room)
    runs.positions = runs.keys + flat.count
    runs.ends = <int64_t*>runs.positions + flat.count
    with nogil:
        failed = _find_runs(&runs)
    if failed < 0:
        raise MemoryError("there is no memory for the keys of what is put in order")
    values = make_contiguous(flat.dtype_code, 1, &runs.different, flat.device_type,
                             flat.device_index)
    size = flat.count if inverse else 0
    places = make_contiguous(INT64, 1, &size, flat.device_type, flat.device_index)
    size = runs.different if counts else 0
    found = make_contiguous(INT64, 1, &size, flat.device_type, flat.device_index)
    with nogil:
        # Made here, and nobody else's.
        _write_runs(&runs, values.storage.data,
                    <int64_t*>places.storage.data if inverse else NULL,
                    <int64_t*>found.storage.data if counts else NULL)
    return values, places, found
