# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Elements picked, placed and folded at places that integers in a tensor choose.

All operands have one shape. At every point, an index times a step is added to the address that
the *base*, the tensor chosen from, has there; along the dimensions that are indexed, the base has
stride zero. So gather, scatter, index and index_put are one walk.

What is read may be read in any order. What is written is written in the order of rows wherever
two points may meet in one place: along the dimensions in which the base does not move. Threads
share out the others. So the last one wins, and sums come out the same, for any number of threads.
"""

from cpython.object cimport PyObject
from libc.stdint cimport (int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                          uint64_t)
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aten._core.base.bounded cimport wide_index, within
from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport (BFLOAT16, BOOL, COMPLEX128, COMPLEX32, COMPLEX64, FLOAT16,
                                     FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, UINT16, UINT32,
                                     UINT64, UINT8, category_of, item_size)
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.given cimport reads_dim
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, count_write, data_pointer
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.indexing.locating cimport WITHIN, range_of_index, require_memory
from aten.backends.cpu.kernels.moving.iterator cimport (KernelFunction, Walk, add_input,
                                                        add_operand, begin_walk, coalesce, reorder,
                                                        run_walk)
from aten.backends.cpu.kernels.moving.transfer cimport transfer_run

cdef enum:
    # Points in one chunk of work for the threads; from as many on, other Python threads may run.
    GRAIN = 16384
    # Operands of a walk, in the order they are added.
    BASE = 0
    INDEX = 1
    OTHER = 2
    # How elements meet, in the order of _FOLDS.
    SUM = 0
    PRODUCT = 1
    LEAST = 2
    GREATEST = 3
    # Points of the innermost dimension that go together through all rows, where each has elements
    # of its own to choose from: enough to lie side by side, few enough to stay in cache.
    STRIP = 64
    # Points that writes of two threads do not fall among.
    LINE = 16
    # Strips of so many bytes are gone through in a copy without gaps: pages that elements are spread
    # over cost more than bytes.
    PACKED = 1 << 20
    PAGE_PART = 1 << 9

_FOLDS = ("sum", "prod", "amin", "amax")

cdef extern from *:
    """
    #include <stdint.h>
    typedef struct { uint64_t low, high; } aten_picked_wide;
    """
    ctypedef struct aten_picked_wide:
        pass
    int __ATOMIC_RELAXED
    void __atomic_store_n(int64_t*, int64_t, int) noexcept nogil

ctypedef fused Raw:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    aten_picked_wide

ctypedef fused Number:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    int8_t
    int16_t
    int32_t
    int64_t
    float
    double
    float complex
    double complex

cdef struct Way:
    # What kernels get beside addresses; behind `Walk.reduced`.
    int64_t step                # bytes that an index of one stands for
    int code                    # element type of half types
    int fold
    int width                   # bytes of an element
    int64_t choices             # an index is below, or one that others made wild counts as 0; or < 0
    int64_t* wild               # is not 0 after one that is not below; NULL where nobody asks


cdef inline int64_t _chosen(const void* index, int64_t choices, bint checks,
                            int64_t* wild) noexcept nogil:
    cdef int64_t given, taken
    if not checks:
        return (<const int64_t*>index)[0]
    given = wide_index(index)
    taken = within(given, choices)
    wild[0] |= given ^ taken
    return taken


cdef inline void _move(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                       const Way* way, bint picks, bint checks, Raw unused) noexcept nogil:
    """Copy from the chosen elements to the others, or the other way."""
    cdef int64_t row, place, step = way.step, choices = way.choices
    cdef int64_t base_step = s0[BASE], index_step = s0[INDEX], other_step = s0[OTHER]
    cdef int64_t wild = 0
    cdef char* base
    cdef char* index
    cdef char* other
    cdef char* target
    for row in range(n1):
        base = data[BASE] + row * s1[BASE]
        index = data[INDEX] + row * s1[INDEX]
        other = data[OTHER] + row * s1[OTHER]
        if index_step == 0:
            base += _chosen(index, choices, checks, &wild) * step
            if base_step == sizeof(Raw) and other_step == sizeof(Raw):
                memcpy(other if picks else base, base if picks else other, n0 * sizeof(Raw))
                continue
            for place in range(n0):
                _copy(base + place * base_step, other + place * other_step, picks, unused)
        elif index_step == sizeof(int64_t) and other_step == sizeof(Raw) and (
                base_step == 0 and step == sizeof(Raw)):
            for place in range(n0):
                target = base + <int64_t>sizeof(Raw) * _chosen(<int64_t*>index + place, choices,
                                                               checks, &wild)
                _copy(target, other + place * <int64_t>sizeof(Raw), picks, unused)
        elif index_step == sizeof(int64_t) and other_step == sizeof(Raw):
            for place in range(n0):
                target = base + place * base_step + step * _chosen(<int64_t*>index + place, choices,
                                                                   checks, &wild)
                _copy(target, other + place * <int64_t>sizeof(Raw), picks, unused)
        else:
            for place in range(n0):
                target = base + place * base_step + step * _chosen(index + place * index_step,
                                                                   choices, checks, &wild)
                _copy(target, other + place * other_step, picks, unused)
    if checks and wild and way.wild != NULL:
        __atomic_store_n(way.wild, 1, __ATOMIC_RELAXED)


cdef inline void _copy(char* base, char* other, bint picks, Raw unused) noexcept nogil:
    if picks:
        (<Raw*>other)[0] = (<Raw*>base)[0]
    else:
        (<Raw*>base)[0] = (<Raw*>other)[0]


cdef inline Number _folded(Number held, Number given, int fold) noexcept nogil:
    if fold == SUM:
        return held + given
    if fold == PRODUCT:
        return held * given
    if Number is floatcomplex or Number is doublecomplex:
        return given
    else:
        if Number is float or Number is double:
            if given != given:      # a NaN is taken, and then kept
                return given
        if fold == LEAST:
            return given if given < held else held
        return given if given > held else held


cdef inline void _fold_by(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                          const int64_t* s1, const Way* way, int fold,
                          Number unused) noexcept nogil:
    cdef int64_t row, place, step = way.step, choices = way.choices
    cdef int64_t base_step = s0[BASE], index_step = s0[INDEX], other_step = s0[OTHER]
    cdef char* base
    cdef char* index
    cdef char* other
    cdef Number* target
    for row in range(n1):
        base = data[BASE] + row * s1[BASE]
        index = data[INDEX] + row * s1[INDEX]
        other = data[OTHER] + row * s1[OTHER]
        if index_step == 0:
            base += within(wide_index(index), choices) * step
            if base_step == sizeof(Number) and other_step == sizeof(Number):
                for place in range(n0):
                    (<Number*>base)[place] = _folded((<Number*>base)[place],
                                                     (<Number*>other)[place], fold)
                continue
            for place in range(n0):
                target = <Number*>(base + place * base_step)
                target[0] = _folded(target[0], (<Number*>(other + place * other_step))[0], fold)
        elif index_step == sizeof(int64_t) and base_step == 0 and step == sizeof(Number):
            for place in range(n0):
                target = <Number*>base + within(wide_index(<int64_t*>index + place), choices)
                target[0] = _folded(target[0], (<Number*>(other + place * other_step))[0], fold)
        else:
            for place in range(n0):
                target = <Number*>(base + place * base_step
                                   + within(wide_index(index + place * index_step), choices) * step)
                target[0] = _folded(target[0], (<Number*>(other + place * other_step))[0], fold)


cdef void _fold(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                const Way* way, Number unused) noexcept nogil:
    # One loop for each fold: the compiler sees which.
    if way.fold == SUM:
        _fold_by(data, n0, s0, n1, s1, way, SUM, unused)
    elif way.fold == PRODUCT:
        _fold_by(data, n0, s0, n1, s1, way, PRODUCT, unused)
    elif way.fold == LEAST:
        _fold_by(data, n0, s0, n1, s1, way, LEAST, unused)
    else:
        _fold_by(data, n0, s0, n1, s1, way, GREATEST, unused)


cdef void _fold_halves(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                       const Way* way) noexcept nogil:
    """Half types, each result rounded; sums of complex ones are two."""
    cdef int64_t row, place
    cdef char* base
    cdef char* other
    cdef int part, parts = 2 if way.code == COMPLEX32 else 1
    cdef int code = FLOAT16 if way.code == COMPLEX32 else way.code
    cdef float held[2]
    cdef float given[2]
    for row in range(n1):
        for place in range(n0):
            base = (data[BASE] + row * s1[BASE] + place * s0[BASE] + way.step * within(
                wide_index(data[INDEX] + row * s1[INDEX] + place * s0[INDEX]), way.choices))
            other = data[OTHER] + row * s1[OTHER] + place * s0[OTHER]
            transfer_run(base, code, 1, <char*>held, FLOAT32, 1, parts)
            transfer_run(other, code, 1, <char*>given, FLOAT32, 1, parts)
            for part in range(parts):
                held[part] = _folded(held[part], given[part], way.fold)
            transfer_run(<char*>held, FLOAT32, 1, base, code, 1, parts)


cdef inline void _move_all(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                           const int64_t* s1, const Way* way, bint picks,
                           Raw unused) noexcept nogil:
    # One loop for offsets of the caller's own, which need no look.
    if way.choices < 0:
        _move(data, n0, s0, n1, s1, way, picks, False, unused)
    else:
        _move(data, n0, s0, n1, s1, way, picks, True, unused)


cdef inline void _move_elements(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                                const int64_t* s1, const Way* way, bint picks) noexcept nogil:
    cdef aten_picked_wide wide
    if way.code == 1:
        _move_all(data, n0, s0, n1, s1, way, picks, <uint8_t>0)
    elif way.code == 2:
        _move_all(data, n0, s0, n1, s1, way, picks, <uint16_t>0)
    elif way.code == 4:
        _move_all(data, n0, s0, n1, s1, way, picks, <uint32_t>0)
    elif way.code == 8:
        _move_all(data, n0, s0, n1, s1, way, picks, <uint64_t>0)
    else:
        _move_all(data, n0, s0, n1, s1, way, picks, wide)


cdef void _pick_elements(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                         const int64_t* context) noexcept nogil:
    _move_elements(data, n0, s0, n1, s1, <const Way*>context, True)


cdef void _place_elements(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                          const int64_t* s1, const int64_t* context) noexcept nogil:
    _move_elements(data, n0, s0, n1, s1, <const Way*>context, False)


cdef void _fold_elements(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                         const int64_t* s1, const int64_t* context) noexcept nogil:
    cdef const Way* way = <const Way*>context
    cdef float complex narrow = 0
    cdef double complex wide = 0
    if way.code == FLOAT32:
        _fold(data, n0, s0, n1, s1, way, <float>0)
    elif way.code == FLOAT64:
        _fold(data, n0, s0, n1, s1, way, <double>0)
    elif way.code == FLOAT16 or way.code == BFLOAT16 or way.code == COMPLEX32:
        _fold_halves(data, n0, s0, n1, s1, way)
    elif way.code == COMPLEX64:
        _fold(data, n0, s0, n1, s1, way, narrow)
    elif way.code == COMPLEX128:
        _fold(data, n0, s0, n1, s1, way, wide)
    elif way.code == INT64:
        _fold(data, n0, s0, n1, s1, way, <int64_t>0)
    elif way.code == INT32:
        _fold(data, n0, s0, n1, s1, way, <int32_t>0)
    elif way.code == INT16:
        _fold(data, n0, s0, n1, s1, way, <int16_t>0)
    elif way.code == INT8:
        _fold(data, n0, s0, n1, s1, way, <int8_t>0)
    elif way.code == UINT64:
        _fold(data, n0, s0, n1, s1, way, <uint64_t>0)
    elif way.code == UINT32:
        _fold(data, n0, s0, n1, s1, way, <uint32_t>0)
    elif way.code == UINT16:
        _fold(data, n0, s0, n1, s1, way, <uint16_t>0)
    else:
        _fold(data, n0, s0, n1, s1, way, <uint8_t>0)


cdef int _line_up(Walk* walk, TensorImpl base, TensorImpl index, TensorImpl other,
                  bint writes_base) except -1:
    """The walk over operands of one shape, of which `base` is written, or `other`.

    Raises ValueError where they have several shapes.
    """
    cdef int dim
    cdef TensorImpl operand
    for operand in (base, index, other):
        require_memory(operand)
        if operand.rank != other.rank:
            raise ValueError("operands of an indexed walk have one shape")
        for dim in range(other.rank):
            if operand.sizes[dim] != other.sizes[dim]:
                raise ValueError("operands of an indexed walk have one shape")
    if index.dtype_code != INT64 or base.dtype_code != other.dtype_code:
        raise ValueError("an indexed walk takes 64-bit indices and elements of one type")
    begin_walk(walk, other.rank, other.sizes)
    if writes_base:
        add_operand(walk, base, other.rank, other.sizes)
        add_input(walk, index, other.rank, other.sizes)
        add_input(walk, other, other.rank, other.sizes)
        return 0
    data_pointer(other)
    add_input(walk, base, other.rank, other.sizes)
    add_input(walk, index, other.rank, other.sizes)
    add_operand(walk, other, other.rank, other.sizes)
    return 0


def pick(Tensor base not None, Tensor index not None, Tensor out not None, int64_t step,
         int64_t choices):
    """out[p] = the element `index[p]` · `step` elements behind base[p].

    The tensors have one shape, `index` is int64. Callers have seen that indices lie in [0, choices);
    one that does not any more counts as 0.
    """
    cdef Walk walk
    cdef Way way
    cdef int permutation[MAXIMUM_DIMS]
    _line_up(&walk, base, index, out, False)
    way.code = way.width = item_size(base.dtype_code)
    way.step = step * way.width
    way.choices = choices
    way.wild = NULL
    # The result's order in memory decides, then the order of what is read.
    walk.kernel = _pick_elements
    walk.reduced = <int64_t*>&way
    reorder(&walk, permutation)
    coalesce(&walk)
    count_write(out)
    _run(&walk, True)


cdef object gather_ordinary(PyObject** stack):
    """gather(self, dim, index, sparse_grad)."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef TensorImpl index = <TensorImpl>stack[2]
    cdef Tensor out
    cdef Walk walk
    cdef Way way
    cdef int permutation[MAXIMUM_DIMS]
    cdef int dim, place, rank = self.rank
    cdef int64_t wild = 0
    if (self.device_type != CPU or index.device_type != CPU or rank == 0 or index.rank != rank
            or index.dtype_code != INT64 or not reads_dim(stack[1], self, &dim)):
        return None
    for place in range(rank):
        if place != dim and index.sizes[place] > self.sizes[place]:
            return None
    if index.count >= GRAIN or not index.contiguous:
        # Other threads may run while the indices are looked at, and change what is read then.
        self = make_alias(self)
        index = make_alias(index)
    if index.count and self.sizes[dim] == 0:
        return None
    out = make_contiguous(self.dtype_code, rank, index.sizes, CPU, self.device_index)
    if out.count == 0:
        return out
    way.code = way.width = item_size(self.dtype_code)
    way.step = self.strides[dim] * way.width
    way.choices = self.sizes[dim]
    way.wild = &wild
    begin_walk(&walk, rank, index.sizes)
    walk.data[BASE] = <char*>const_data_pointer(self)
    for place in range(rank):
        walk.strides[rank - 1 - place][BASE] = 0 if place == dim else self.strides[place] * way.code
    walk.operands = INDEX
    add_input(&walk, index, rank, index.sizes)
    add_operand(&walk, out, rank, index.sizes)
    walk.kernel = _pick_elements
    walk.reduced = <int64_t*>&way
    reorder(&walk, permutation)
    coalesce(&walk)
    _run(&walk, True)
    # What is out of range is said in words by the general way.
    return None if wild else out


def place(Tensor base not None, Tensor index not None, Tensor source not None, int64_t step,
          int64_t choices):
    """The element `index[p]` · `step` elements behind base[p] = source[p]; the last one stays.

    The tensors have one shape, `index` is int64. Callers have seen that indices lie in [0, choices);
    one that does not any more counts as 0.
    """
    cdef Walk walk
    cdef Way way
    _line_up(&walk, base, index, source, True)
    way.code = way.width = item_size(base.dtype_code)
    way.step = step * way.width
    way.choices = choices
    way.wild = NULL
    walk.kernel = _place_elements
    walk.reduced = <int64_t*>&way
    coalesce(&walk)
    _run(&walk, False)
    count_write(base)


def fold(Tensor base not None, Tensor index not None, Tensor source not None, int64_t step,
         str name not None, int64_t choices):
    """As `place`, but the element and source[p] become their sum, prod, amin or amax.

    Sums of bools are their disjunction. Half types are rounded after each step. Raises
    NotImplementedError for element types that do not have the fold.
    """
    cdef Walk walk
    cdef Way way
    _line_up(&walk, base, index, source, True)
    way.fold = _FOLDS.index(name)
    way.code = base.dtype_code
    way.width = item_size(base.dtype_code)
    way.step = step * way.width
    way.choices = choices
    way.wild = NULL
    if category_of(way.code) < 0 or (category_of(way.code) == 3 and (
            way.fold > PRODUCT or (way.fold == PRODUCT and way.code == COMPLEX32))):
        raise NotImplementedError(f"{name} by index: not for {base.dtype.scalar_type_name}")
    if way.code == BOOL:
        way.fold = GREATEST if way.fold == SUM else LEAST if way.fold == PRODUCT else way.fold
    elif way.fold <= PRODUCT:
        way.code = _wrapping(way.code)
    walk.kernel = _fold_elements
    walk.reduced = <int64_t*>&way
    coalesce(&walk)
    _run(&walk, False)
    count_write(base)


cdef int _wrapping(int code) noexcept:
    """The unsigned type for sums and products of integers: signed ones may not overflow in C."""
    if code == INT64:
        return UINT64
    if code == INT32:
        return UINT32
    if code == INT16:
        return UINT16
    return UINT8 if code == INT8 else code


cdef struct Division:
    Walk* walk
    int dim             # the dimension that threads share out
    int64_t piece       # how much of it goes through the others at a time
    bint packed         # whether that is copied, so as to lie together
    bint writes


cdef int _run(Walk* walk, bint picks) except -1:
    """Run a walk in parts that choose from elements of their own; one that picks, in any.

    Within a part points are met in the order of rows.
    """
    cdef Division division
    cdef int64_t parts, points
    if walk.total < GRAIN:
        run_walk(walk, max(walk.total, 1))
        return 0
    division.walk = walk
    division.dim = _widest_apart(walk)
    if division.dim < 0:
        with nogil:
            run_walk(walk, GRAIN if picks else walk.total)
        return 0
    division.piece = _piece_of_rows(walk) if division.dim == 0 else 1
    division.packed = division.dim == 0 and _pays_to_pack(walk, <const Way*>walk.reduced)
    division.writes = not picks
    parts = (walk.sizes[division.dim] + division.piece - 1) // division.piece
    points = walk.total // parts
    with nogil:
        parallel_for(parts, max(GRAIN // max(points, 1), 1), _run_pieces, &division)
    return 0


cdef int64_t _piece_of_rows(const Walk* walk) noexcept:
    """One part of the rows for each thread, none of less than a line, and where each element has an
    index of its own no more than a strip."""
    cdef int64_t part = (walk.sizes[0] + thread_count() - 1) // thread_count()
    part = (part + LINE - 1) // LINE * LINE
    return part if walk.strides[0][INDEX] == 0 else min(part, <int64_t>STRIP)


cdef int _widest_apart(Walk* walk) noexcept:
    """The largest dimension in which the base moves, the outer of equals; -1: there is none."""
    cdef int dim, found = -1
    for dim in range(walk.rank):
        if walk.strides[dim][BASE] == 0 or walk.sizes[dim] < 2:
            continue
        if found < 0 or walk.sizes[dim] >= walk.sizes[found] or walk.sizes[dim] >= 64:
            found = dim
    return found


cdef bint _pays_to_pack(const Walk* walk, const Way* way) noexcept:
    """Whether each strip's choices, which lie far apart, are met often enough to be moved together."""
    return (walk.rank == 2 and way.choices > 1 and walk.strides[0][BASE] == way.width
            and walk.strides[1][BASE] == 0 and walk.strides[0][INDEX] != 0
            and way.step >= max(walk.sizes[0] * way.width, <int64_t>PAGE_PART)
            and way.choices <= 2 * walk.sizes[1]
            and way.choices * STRIP * way.width <= PACKED)


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Division* division = <Division*>context
    cdef int64_t size = division.walk.sizes[division.dim], piece
    cdef const Way* way = <const Way*>division.walk.reduced
    cdef char* room = NULL
    if division.piece == 1:
        _run_part(division, begin, end, NULL)
        return
    if division.packed:
        room = <char*>malloc(way.choices * STRIP * way.width)
    for piece in range(begin, end):
        _run_part(division, piece * division.piece, min((piece + 1) * division.piece, size), room)
    free(room)


cdef void _run_part(const Division* division, int64_t begin, int64_t end,
                    char* room) noexcept nogil:
    """The points from `begin` to `end` of the dimension; with room for their choices, in a copy."""
    cdef Walk walk = division.walk[0]
    cdef Way way = (<const Way*>walk.reduced)[0]
    cdef char* base
    cdef int64_t bytes = (end - begin) * way.width, choice, step = way.step
    cdef int place
    cdef int dim = division.dim
    walk.total = walk.total // walk.sizes[dim] * (end - begin)
    walk.sizes[dim] = end - begin
    for place in range(walk.operands):
        walk.data[place] += begin * walk.strides[dim][place]
    if room == NULL:
        run_walk(&walk, walk.total)
        return
    base = walk.data[BASE]
    for choice in range(way.choices):
        memcpy(room + choice * bytes, base + choice * step, bytes)
    way.step = bytes
    walk.data[BASE] = room
    walk.reduced = <const int64_t*>&way
    run_walk(&walk, walk.total)
    if not division.writes:
        return
    for choice in range(way.choices):
        memcpy(base + choice * step, room + choice * bytes, bytes)
