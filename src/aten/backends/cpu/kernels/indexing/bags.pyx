# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Bags of rows of a table: their sums, means and maxima, without a copy of the rows.

Rows are folded in the order of the bag, column by column, so that threads may share the bags.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from aten._core.base.bounded cimport narrow_index, wide_index, within
from aten._core.base.device cimport CPU, META
from aten._core.base.dtypes cimport BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, item_size
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, data_pointer,
                                            is_lazy, require_memory)
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.moving.row_levels cimport (
    aten_add_rows_brains, aten_add_rows_double, aten_add_rows_float)
from aten.backends.cpu.kernels.moving.transfer cimport transfer_run

cdef enum:
    # Arguments of `_embedding_bag`, by their places on the stack.
    TABLE = 0
    INDICES = 1
    OFFSETS = 2
    MODE = 4
    WEIGHTS = 6
    LAST_OFFSET = 7
    PADDING = 8
    # Bags up to which there is room for where they begin.
    MOST_BAGS = 1024
    # What becomes of a bag, by torch's numbers.
    SUM = 0
    MEAN = 1
    MAXIMUM = 2
    # Columns that are folded together.
    COLUMNS = 128
    # Indices of a bag that are read, and checked, together.
    PLACES = 64
    # Elements of rows in one chunk of work for the threads.
    GRAIN = 1 << 15
    # Of the next bag, so many rows and bytes of each are asked for before they are needed, where a
    # table has so many bytes that caches do not hold it: else asking takes longer than waiting.
    FEW = 16
    NEAR = 512
    LINE = 64
    FAR = 1 << 23

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

ctypedef fused Real:
    float
    double

cdef struct Bags:
    int mode
    int code
    bint lined                      # sums and means of rows that kernels read where they lie
    const char* table
    int64_t row_step                # bytes
    int64_t column_step
    int64_t columns
    int64_t rows
    const char* indices
    int64_t step                    # between them, in elements
    bint narrow                     # 32-bit indices
    const int64_t* begins           # of each bag among the indices; last, the end of the last one
    int64_t total                   # indices
    int64_t count                   # bags
    int64_t padding                 # an index that counts for nothing; -1: none
    const char* weights             # of samples, or NULL
    char* out
    int64_t* bag_of                 # of each index; NULL where nobody asks
    int64_t* kept                   # indices of a bag that count; NULL where nobody asks
    int64_t* origins                # the row each maximum is from; NULL where nobody asks


cdef inline int64_t _integer(const char* numbers, bint narrow, int64_t place) noexcept nogil:
    if narrow:
        return narrow_index(<const int32_t*>numbers + place)
    return wide_index(<const int64_t*>numbers + place)


cdef inline int64_t _index(const Bags* bags, int64_t place) noexcept nogil:
    return _integer(bags.indices, bags.narrow, place * bags.step)


cdef inline const Real* _row(const Bags* bags, int64_t row, int64_t first, int64_t count,
                             Real* room) noexcept nogil:
    """Some columns of a row in the type that is computed in: where they lie, or in `room`.

    Rows there are not, since others have changed the indices meanwhile, are the first one.
    """
    cdef const char* place = (bags.table + within(row, bags.rows) * bags.row_step
                              + first * bags.column_step)
    cdef int wide = FLOAT32 if Real is float else FLOAT64
    if bags.code == wide and bags.column_step == sizeof(Real):
        return <const Real*>place
    transfer_run(<char*>place, bags.code, bags.column_step // item_size(bags.code), <char*>room,
                 wide, 1, count)
    return room


cdef inline void _add(const Bags* bags, int64_t begin, int64_t end, int64_t first, int64_t count,
                      Real* held) noexcept nogil:
    cdef Real room[COLUMNS]
    cdef const Real* row
    cdef int64_t place, index, column
    cdef Real weight = 1
    for column in range(count):
        held[column] = 0
    for place in range(begin, end):
        index = _index(bags, place)
        if index == bags.padding:
            continue
        row = _row(bags, index, first, count, room)
        if bags.weights == NULL:
            for column in range(count):
                held[column] += row[column]
            continue
        transfer_run(bags.weights + place * item_size(bags.code), bags.code, 1, <char*>&weight,
                     FLOAT32 if Real is float else FLOAT64, 1, 1)
        for column in range(count):
            held[column] += row[column] * weight


cdef inline void _add_lines(const Bags* bags, int64_t begin, int64_t end, int64_t first,
                            int64_t columns, Real* out) noexcept nogil:
    """As `_add`, of any number of columns, without a copy of any row."""
    cdef int64_t rows[PLACES]
    cdef Real weights[PLACES]
    cdef const char* table = bags.table + first * item_size(bags.code)
    cdef const int64_t* indices = <const int64_t*>bags.indices
    cdef int64_t step = bags.row_step // item_size(bags.code), index, count, place, last
    cdef bint weighted = bags.weights != NULL
    cdef bint plain = bags.padding < 0 and not weighted and not bags.narrow
    memset(out, 0, columns * sizeof(Real))
    while begin < end:
        count = 0
        last = min(begin + PLACES, end)
        place = 0
        if weighted:
            transfer_run(bags.weights + begin * item_size(bags.code), bags.code, 1, <char*>weights,
                         FLOAT32 if Real is float else FLOAT64, 1, last - begin)
        if plain:
            count = last - begin
            for place in range(count):
                rows[place] = within(wide_index(indices + (begin + place) * bags.step), bags.rows)
            begin = last
        while begin < last:
            index = _index(bags, begin)
            rows[count] = within(index, bags.rows)
            if weighted:
                weights[count] = weights[place]
            count += index != bags.padding
            place += 1
            begin += 1
        if Real is double:
            aten_add_rows_double(<const double*>table, step, rows, weights if weighted else NULL,
                                 count, columns, True, out)
        elif bags.code == BFLOAT16:
            aten_add_rows_brains(<const uint16_t*>table, step, rows, weights if weighted else NULL,
                                 count, columns, True, out)
        else:
            aten_add_rows_float(<const float*>table, step, rows, weights if weighted else NULL,
                                count, columns, True, out)


cdef inline void _greatest(const Bags* bags, int64_t begin, int64_t end, int64_t first,
                           int64_t count, Real* held, int64_t* origins) noexcept nogil:
    """The maxima, and the first rows that have them; NaN is kept, and from row 0."""
    cdef Real room[COLUMNS]
    cdef const Real* row
    cdef int64_t place, index, column
    cdef bint met = False
    for column in range(count):
        held[column] = 0
        origins[column] = 0
    for place in range(begin, end):
        index = _index(bags, place)
        if index == bags.padding:
            continue
        row = _row(bags, index, first, count, room)
        for column in range(count):
            if row[column] != row[column]:
                held[column] = row[column]
                origins[column] = 0
            elif not met or row[column] > held[column]:
                held[column] = row[column]
                origins[column] = within(index, bags.rows)
        met = True


cdef inline void _divide(Real* sums, int64_t count, int64_t kept) noexcept nogil:
    cdef int64_t column
    cdef Real divisor = <Real>max(kept, 1)
    for column in range(count):
        sums[column] /= divisor


cdef inline void _finish(const Bags* bags, int64_t bag, int64_t first, int64_t count, int64_t kept,
                         Real* held) noexcept nogil:
    if bags.mode == MEAN:
        _divide(held, count, kept)
    transfer_run(<char*>held, FLOAT32 if Real is float else FLOAT64, 1,
                 bags.out + (bag * bags.columns + first) * item_size(bags.code), bags.code, 1,
                 count)


cdef inline void _fold_bag(const Bags* bags, int64_t bag, Real unused) noexcept nogil:
    cdef Real held[COLUMNS]
    cdef int64_t origins[COLUMNS]
    cdef int64_t begin = bags.begins[bag], end = bags.begins[bag + 1]
    cdef int64_t place, first = 0, count, column, kept = end - begin
    cdef Real* sums
    if bags.padding >= 0:
        for place in range(begin, end):
            kept -= _index(bags, place) == bags.padding
    if bags.kept != NULL:
        bags.kept[bag] = kept
    if bags.bag_of != NULL:
        for place in range(begin, end):
            bags.bag_of[place] = bag
    if bags.lined and bags.code != BFLOAT16:
        sums = <Real*>bags.out + bag * bags.columns
        _add_lines(bags, begin, end, 0, bags.columns, sums)
        if bags.mode == MEAN:
            _divide(sums, bags.columns, kept)
        return
    while first < bags.columns:
        count = min(<int64_t>COLUMNS, bags.columns - first)
        if bags.mode == MAXIMUM:
            _greatest(bags, begin, end, first, count, held, origins)
            for column in range(count):
                bags.origins[bag * bags.columns + first + column] = origins[column]
        elif bags.lined:
            _add_lines(bags, begin, end, first, count, held)
        elif count == COLUMNS:
            _add(bags, begin, end, first, COLUMNS, held)
        else:
            _add(bags, begin, end, first, count, held)
        _finish(bags, bag, first, count, kept, held)
        first += count


cdef void _ask_for(const Bags* bags, int64_t bag) noexcept nogil:
    """Have the rows of a bag, which may be anywhere in the table, brought closer."""
    cdef int64_t place, offset, width = min(bags.columns * item_size(bags.code), NEAR)
    cdef const char* row
    for place in range(bags.begins[bag], min(bags.begins[bag + 1], bags.begins[bag] + FEW)):
        row = bags.table + _index(bags, place) * bags.row_step
        offset = 0
        while offset < width:
            __builtin_prefetch(row + offset)
            offset += LINE


cdef void _fold_bags(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Bags* bags = <const Bags*>context
    cdef int64_t bag
    cdef bint far = bags.rows * bags.columns * item_size(bags.code) > FAR
    for bag in range(begin, end):
        if far and bag + 1 < end:
            _ask_for(bags, bag + 1)
        if bags.code == FLOAT64:
            _fold_bag(bags, bag, <double>0)
        else:
            _fold_bag(bags, bag, <float>0)


cdef Tensor _begins_of(TensorImpl offsets, int64_t count, int64_t total, int mode):
    """Where bags begin, and the last one ends: a copy of the offsets, since those may change.

    Raises RuntimeError for offsets that run backwards or past the end; IndexError, as torch does, for
    means and maxima of which one in the middle lies outside.
    """
    cdef int64_t size = count + 1
    cdef Tensor made = make_contiguous(INT64, 1, &size, CPU, -1)
    cdef int64_t* begins = <int64_t*>data_pointer(made)
    if not _read_begins(offsets, count, total, begins):
        _refuse_begins(begins, min(size, offsets.count), total, mode)
    return made


cdef bint _read_begins(TensorImpl offsets, int64_t count, int64_t total, int64_t* begins) noexcept:
    """Where bags begin, and the last one ends. Returns False for offsets that are refused."""
    cdef bint narrow = offsets.dtype_code == INT32, is_fine = True
    cdef const char* numbers = <const char*>const_data_pointer(offsets)
    cdef int64_t bag
    begins[count] = total
    for bag in range(min(count + 1, offsets.count)):
        begins[bag] = _integer(numbers, narrow, bag)
        is_fine &= (begins[bag - 1] if bag else 0) <= begins[bag] <= total
    return is_fine and begins[0] == 0


cdef int _refuse_begins(const int64_t* begins, int64_t given, int64_t total, int mode) except -1:
    cdef int64_t bag
    if given == 0 and total > 0:
        raise RuntimeError(f"embedding_bag: there are {total} indices, but no offsets of bags")
    if given > 0 and (begins[0] != 0 or begins[given - 1] > total):
        raise RuntimeError(f"embedding_bag: expected offsets that begin with 0 and end at {total}, "
                           f"the number of indices, at most, got {begins[0]} and {begins[given - 1]}")
    for bag in range(1, given):
        if mode != SUM and not 0 <= begins[bag] <= total:
            raise IndexError(f"embedding_bag: expected offsets from 0 to {total}, the number of "
                             f"indices, got {begins[bag]}")
        if begins[bag] < begins[bag - 1]:
            raise RuntimeError(f"embedding_bag: expected offsets that do not fall, got {begins[bag]} "
                               f"after {begins[bag - 1]}")
    return 0


def fold_bags(Tensor table not None, Tensor indices not None, Tensor offsets not None, int mode,
              Tensor weights, int64_t count, int64_t padding, bint lists_bags=True):
    """The sums (mode 0), means (1) or maxima (2) of `count` bags of rows of a table (n, d).

    `indices` and `offsets`, row-major vectors of int32 or int64: bag b has the indices from its
    offset to the next one's, the last one all that remain where there is no further offset; those
    that are `padding` count for nothing. `weights`, row-major and of the table's dtype, multiply
    rows of sums. Half types are computed in float32.

    Returns the folds (count, d), and int64: the bag of each index, which is empty unless
    `lists_bags`, how many indices of each bag count, and the rows (count, d) that maxima are from,
    which is empty for sums and means; without bags, 0 for each index. Callers have seen that indices
    name rows; those that do not any more count as 0. Raises RuntimeError or IndexError for offsets
    that run backwards or past the end, ValueError for other operands.
    """
    cdef Bags bags
    cdef Tensor out, bag_of, kept, origins, begins
    cdef TensorImpl numbers
    cdef int64_t sizes[2]
    cdef int64_t work, place
    for numbers in (indices, offsets):
        if (numbers.dtype_code != INT64 and numbers.dtype_code != INT32) or (
                not numbers.contiguous or numbers.device_type == META):
            raise ValueError("fold_bags: indices and offsets are row-major integers")
    if (table.rank != 2 or table.device_type == META or not SUM <= mode <= MAXIMUM
            or not 0 <= count <= offsets.count
            or table.dtype_code not in (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)):
        raise ValueError("fold_bags: expected a table of floating-point numbers, and an offset for "
                         "each bag")
    if weights is not None and (not weights.contiguous or weights.count != indices.count
                                or weights.dtype_code != table.dtype_code):
        raise ValueError("fold_bags: expected a weight for each index")
    begins = _begins_of(offsets, count, indices.count, mode)
    sizes[0], sizes[1] = count, table.sizes[1]
    out = make_contiguous(table.dtype_code, 2, sizes, table.device_type, table.device_index)
    kept = make_contiguous(INT64, 1, sizes, table.device_type, table.device_index)
    sizes[0] = count if mode == MAXIMUM else 0
    origins = make_contiguous(INT64, 2, sizes, table.device_type, table.device_index)
    sizes[0] = indices.count if lists_bags else 0
    bag_of = make_contiguous(INT64, 1, sizes, table.device_type, table.device_index)
    bags.mode = mode
    bags.code = table.dtype_code
    bags.table = <char*>const_data_pointer(table)
    bags.row_step = table.strides[0] * item_size(bags.code)
    bags.column_step = table.strides[1] * item_size(bags.code)
    bags.columns = table.sizes[1]
    bags.rows = table.sizes[0]
    bags.indices = <char*>const_data_pointer(indices)
    bags.step = 1
    bags.narrow = indices.dtype_code == INT32
    bags.begins = <int64_t*>data_pointer(begins)
    bags.total = indices.count
    bags.count = count
    bags.padding = padding
    bags.weights = NULL if weights is None else <char*>const_data_pointer(weights)
    bags.lined = (mode != MAXIMUM and bags.column_step == item_size(bags.code)
                  and bags.code != FLOAT16)
    bags.out = data_pointer(out)
    bags.bag_of = <int64_t*>data_pointer(bag_of) if lists_bags else NULL
    bags.kept = <int64_t*>data_pointer(kept)
    bags.origins = <int64_t*>data_pointer(origins)
    # Those behind the last bag, if any, and all of them without bags: nobody else writes there.
    for place in range(bags.begins[count] if count else 0, bags.total if lists_bags else 0):
        bags.bag_of[place] = max(count - 1, 0)
    work = (bags.total * bags.columns) // max(count, 1) + bags.columns
    with nogil:
        parallel_for(count, max(GRAIN // max(work, 1), 1), _fold_bags, &bags)
    return out, bag_of, kept, origins


cdef object _SUM = SUM
cdef object _NO_PADDING = -1


cdef class BagsKernel(FastPath):
    """Sums of bags without weights and padding, of float32 and bfloat16 tables whose rows are runs of
    memory."""

    def __init__(self, tuple replaced not None, find, Kernel otherwise not None):
        FastPath.__init__(self, "bags", replaced, find, otherwise)

    cdef object ordinary(self, PyObject** stack):
        if (<object>stack[MODE] is not _SUM or <object>stack[WEIGHTS] is not None
                or <object>stack[PADDING] is not _NO_PADDING):
            return None
        if <object>stack[LAST_OFFSET] is True:
            return _sums(<TensorImpl>stack[TABLE], <TensorImpl>stack[INDICES],
                         <TensorImpl>stack[OFFSETS], 1)
        if <object>stack[LAST_OFFSET] is False:
            return _sums(<TensorImpl>stack[TABLE], <TensorImpl>stack[INDICES],
                         <TensorImpl>stack[OFFSETS], 0)
        return None


cdef inline bint _are_numbers(TensorImpl numbers) noexcept:
    return ((numbers.dtype_code == INT64 or numbers.dtype_code == INT32) and numbers.rank == 1
            and numbers.device_type == CPU and not is_lazy(numbers))


cdef inline bint _are_ordinary(TensorImpl table, TensorImpl indices, TensorImpl offsets,
                               int64_t without) noexcept:
    """Whether they are a table whose rows are runs of memory that kernels read, and a few bags."""
    return ((table.dtype_code == FLOAT32 or table.dtype_code == BFLOAT16)
            and table.rank == 2 and table.device_type == CPU
            and not is_lazy(table) and table.sizes[1] > 0 and table.strides[1] == 1
            and _are_numbers(indices) and _are_numbers(offsets) and offsets.contiguous
            and 0 < offsets.count - without <= MOST_BAGS)


cdef int _describe_sums(Bags* bags, TensorImpl table, TensorImpl indices, TensorImpl offsets,
                        TensorImpl out, int64_t* begins) except -1:
    """All that folding takes. False for offsets and indices that are refused."""
    cdef int64_t place
    bags.indices = <const char*>const_data_pointer(indices)
    bags.step = indices.strides[0]
    bags.narrow = indices.dtype_code == INT32
    bags.total = indices.count
    bags.rows = table.sizes[0]
    bags.count = out.sizes[0]
    if not _read_begins(offsets, bags.count, bags.total, begins):
        return False
    for place in range(bags.total):
        if not 0 <= _index(bags, place) < bags.rows:
            return False
    bags.mode, bags.code, bags.lined = SUM, table.dtype_code, True
    bags.table = <const char*>const_data_pointer(table)
    bags.column_step = item_size(bags.code)
    bags.row_step = table.strides[0] * bags.column_step
    bags.columns = table.sizes[1]
    bags.begins = begins
    bags.padding = -1
    bags.weights = NULL
    bags.bag_of = bags.kept = bags.origins = NULL
    bags.out = data_pointer(out)
    return True


cdef inline int64_t _grain(const Bags* bags) noexcept nogil:
    """Bags that are worth a claim."""
    return max(GRAIN // (bags.total * bags.columns // bags.count + bags.columns), 1)


cdef object _sums(TensorImpl table, TensorImpl indices, TensorImpl offsets, int64_t without):
    """The sums, and what comes with them: nothing of each index, and zeros for each bag. None for
    what is not ordinary, or wrong."""
    cdef Bags bags
    cdef int64_t begins[MOST_BAGS + 1]
    cdef int64_t sizes[2]
    cdef int64_t count = offsets.count - without, none = 0
    cdef Tensor out, bag_of, kept, origins
    cdef list memory
    if not _are_ordinary(table, indices, offsets, without):
        return None
    sizes[0], sizes[1] = count, table.sizes[1]
    out = make_contiguous(table.dtype_code, 2, sizes, CPU, -1)
    bag_of = make_contiguous(indices.dtype_code, 1, &none, CPU, -1)
    kept = make_contiguous(offsets.dtype_code, 1, sizes, CPU, -1)
    origins = make_contiguous(offsets.dtype_code, 1, sizes, CPU, -1)
    # Making them may have run a collection, and that the code of others.
    if (not _are_ordinary(table, indices, offsets, without) or table.sizes[1] != sizes[1]
            or table.dtype_code != out.dtype_code or offsets.count - without != count):
        return None
    for tensor in (table, indices, offsets):
        require_memory(tensor)
    memory = [table.storage, indices.storage, offsets.storage]
    if not _describe_sums(&bags, table, indices, offsets, out, begins):
        return None
    memset(data_pointer(kept), 0, count * item_size(offsets.dtype_code))
    memset(data_pointer(origins), 0, count * item_size(offsets.dtype_code))
    with nogil:
        parallel_for(count, _grain(&bags), _fold_bags, &bags)
    return out, bag_of, kept, origins


cdef struct Shelf:
    # Tables, and the first bag of each, counted through all; last, how many bags there are.
    Bags* each
    int64_t* firsts


cdef void _fold_shelf(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Bags begin … end of all tables."""
    cdef const Shelf* shelf = <const Shelf*>context
    cdef int64_t table = 0
    while begin < end:
        while shelf.firsts[table + 1] <= begin:
            table += 1
        _fold_bags(<void*>&shelf.each[table], begin - shelf.firsts[table],
                   min(end, shelf.firsts[table + 1]) - shelf.firsts[table])
        begin = shelf.firsts[table + 1]


def sum_bags(tables not None, indices not None, offsets not None, int64_t without):
    """The sums of bags of several tables, shared by threads as one piece of work.

    `tables`, `indices` and `offsets` are as many tensors each, as of `fold_bags` without weights and
    padding; the last `without` offsets of each, 0 or 1, are ends and no bags. Returns a list of sums,
    or None where a table is not of float32 or bfloat16 with rows that are runs of memory, where bags are none or
    many, and for what would be refused.
    """
    cdef list operands = [(table, numbers, begins) for table, numbers, begins
                          in zip(tables, indices, offsets, strict=True)]
    cdef list sums = []
    cdef list memory = []
    cdef Tensor table, numbers, begins, out
    cdef int64_t count = len(operands), place, bags = 0, grain = 1
    cdef int64_t sizes[2]
    cdef int64_t* room
    cdef Shelf shelf
    for table, numbers, begins in operands:
        if not _are_ordinary(table, numbers, begins, without):
            return None
        sizes[0], sizes[1] = begins.count - without, table.sizes[1]
        sums.append(make_contiguous(table.dtype_code, 2, sizes, CPU, -1))
        bags += sizes[0] + 1
    # Making them may have run a collection, and that the code of others.
    for (table, numbers, begins), out in zip(operands, sums):
        if (not _are_ordinary(table, numbers, begins, without) or table.sizes[1] != out.sizes[1]
                or table.dtype_code != out.dtype_code or begins.count - without != out.sizes[0]):
            return None
        for tensor in (table, numbers, begins):
            require_memory(tensor)
            memory.append((<TensorImpl>tensor).storage)
    shelf.each = <Bags*>malloc(count * sizeof(Bags) + (count + 1 + bags) * sizeof(int64_t))
    if shelf.each == NULL:
        raise MemoryError("embedding_bags: no memory for where bags begin")
    shelf.firsts = <int64_t*>(shelf.each + count)
    shelf.firsts[0] = 0
    room = shelf.firsts + count + 1
    for place in range(count):
        table, numbers, begins = operands[place]
        out = sums[place]
        if not _describe_sums(&shelf.each[place], table, numbers, begins, out, room):
            free(shelf.each)
            return None
        shelf.firsts[place + 1] = shelf.firsts[place] + out.sizes[0]
        room += out.sizes[0] + 1
        grain = max(grain, _grain(&shelf.each[place]))
    with nogil:
        parallel_for(shelf.firsts[count], grain, _fold_shelf, &shelf)
    free(shelf.each)
    return sums
