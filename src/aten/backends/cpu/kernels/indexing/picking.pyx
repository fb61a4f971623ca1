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
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer)
from aten.backends.cpu.kernels.indexing.locating cimport require_memory
from aten.backends.cpu.kernels.indexing.picked_parts cimport BASE, INDEX, OTHER, Way, run_in_parts
from aten.backends.cpu.kernels.moving.iterator cimport (Walk, add_input, add_operand, begin_walk,
                                                        coalesce, reorder)
from aten.backends.cpu.kernels.moving.row_levels cimport aten_add_rows_double, aten_add_rows_float

cdef extern from "../moving/halves.h" nogil:
    float aten_widen_brain(uint16_t half)
    uint16_t aten_round_brain(float value)
    float aten_widen_half(uint16_t half)
    uint16_t aten_round_half(float value)

cdef extern from "../moving/half_runs.h" nogil:
    # Numbers of the first added to those of the second.
    void aten_add_brains_to(const uint16_t*, uint16_t*, int64_t)
    void aten_add_halves_to(const uint16_t*, uint16_t*, int64_t)

cdef enum:
    # From as many points on, other Python threads may run.
    GRAIN = 16384
    # Neighbours from which on the widest vectors are worth a call.
    WIDE = 32

# How elements meet, in the order of `Fold`.
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

cdef inline int64_t _chosen(const void* index, int64_t choices, bint checks,
                            int64_t* wild) noexcept nogil:
    cdef int64_t given, taken
    if not checks:
        return (<const int64_t*>index)[0]
    given = wide_index(index)
    taken = within(given, choices)
    wild[0] |= given ^ taken
    return taken


cdef inline void _report(const Way* way, int64_t wild) noexcept nogil:
    if wild and way.wild != NULL:
        __atomic_store_n(way.wild, 1, __ATOMIC_RELAXED)


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
    if checks:
        _report(way, wild)


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
    cdef int64_t wild = 0, none = 0
    cdef char* base
    cdef char* index
    cdef char* other
    cdef Number* target
    for row in range(n1):
        base = data[BASE] + row * s1[BASE]
        index = data[INDEX] + row * s1[INDEX]
        other = data[OTHER] + row * s1[OTHER]
        if index_step == 0:
            base += _chosen(index, choices, True, &wild) * step
            if base_step == sizeof(Number) and other_step == sizeof(Number):
                if n0 >= WIDE and fold == SUM and Number is float:
                    aten_add_rows_float(<const float*>other, 0, &none, NULL, 1, n0, True,
                                        <float*>base)
                    continue
                if n0 >= WIDE and fold == SUM and Number is double:
                    aten_add_rows_double(<const double*>other, 0, &none, NULL, 1, n0, True,
                                         <double*>base)
                    continue
                for place in range(n0):
                    (<Number*>base)[place] = _folded((<Number*>base)[place],
                                                     (<Number*>other)[place], fold)
                continue
            for place in range(n0):
                target = <Number*>(base + place * base_step)
                target[0] = _folded(target[0], (<Number*>(other + place * other_step))[0], fold)
        elif index_step == sizeof(int64_t) and base_step == 0 and step == sizeof(Number):
            for place in range(n0):
                target = <Number*>base + _chosen(<int64_t*>index + place, choices, True, &wild)
                target[0] = _folded(target[0], (<Number*>(other + place * other_step))[0], fold)
        else:
            for place in range(n0):
                target = <Number*>(base + place * base_step
                                   + _chosen(index + place * index_step, choices, True, &wild) * step)
                target[0] = _folded(target[0], (<Number*>(other + place * other_step))[0], fold)
    _report(way, wild)


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


cdef inline float _widened(const uint16_t* half, bint is_brain) noexcept nogil:
    return aten_widen_brain(half[0]) if is_brain else aten_widen_half(half[0])


cdef inline void _fold_half(uint16_t* base, const uint16_t* other, int fold,
                            bint is_brain) noexcept nogil:
    cdef float value = _folded(_widened(base, is_brain), _widened(other, is_brain), fold)
    base[0] = aten_round_brain(value) if is_brain else aten_round_half(value)


cdef inline void _fold_halves_by(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                                 const int64_t* s1, const Way* way, int fold,
                                 bint is_brain) noexcept nogil:
    """Half types, each result rounded."""
    cdef int64_t row, place, step = way.step, choices = way.choices, wild = 0
    cdef int64_t base_step = s0[BASE], index_step = s0[INDEX], other_step = s0[OTHER]
    cdef char* base
    cdef char* index
    cdef char* other
    for row in range(n1):
        base = data[BASE] + row * s1[BASE]
        index = data[INDEX] + row * s1[INDEX]
        other = data[OTHER] + row * s1[OTHER]
        if index_step != 0:
            for place in range(n0):
                _fold_half(<uint16_t*>(base + place * base_step + step * _chosen(
                               index + place * index_step, choices, True, &wild)),
                           <const uint16_t*>(other + place * other_step), fold, is_brain)
            continue
        base += step * _chosen(index, choices, True, &wild)
        if fold == SUM and base_step == other_step == sizeof(uint16_t):
            if is_brain:
                aten_add_brains_to(<const uint16_t*>other, <uint16_t*>base, n0)
            else:
                aten_add_halves_to(<const uint16_t*>other, <uint16_t*>base, n0)
            continue
        for place in range(n0):
            _fold_half(<uint16_t*>(base + place * base_step),
                       <const uint16_t*>(other + place * other_step), fold, is_brain)
    _report(way, wild)


cdef void _fold_complex_halves(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                               const int64_t* s1, const Way* way) noexcept nogil:
    """Sums, of real and of imaginary parts."""
    cdef int64_t row, place, wild = 0
    cdef uint16_t* base
    cdef const uint16_t* other
    for row in range(n1):
        for place in range(n0):
            base = <uint16_t*>(
                data[BASE] + row * s1[BASE] + place * s0[BASE] + way.step * _chosen(
                    data[INDEX] + row * s1[INDEX] + place * s0[INDEX], way.choices, True, &wild))
            other = <const uint16_t*>(data[OTHER] + row * s1[OTHER] + place * s0[OTHER])
            _fold_half(base, other, way.fold, False)
            _fold_half(base + 1, other + 1, way.fold, False)
    _report(way, wild)


cdef void _fold_halves(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                       const Way* way) noexcept nogil:
    # A loop of its own for the one that is common.
    if way.code == COMPLEX32:
        _fold_complex_halves(data, n0, s0, n1, s1, way)
    elif way.code == BFLOAT16 and way.fold == SUM:
        _fold_halves_by(data, n0, s0, n1, s1, way, SUM, True)
    elif way.code == BFLOAT16:
        _fold_halves_by(data, n0, s0, n1, s1, way, way.fold, True)
    elif way.fold == SUM:
        _fold_halves_by(data, n0, s0, n1, s1, way, SUM, False)
    else:
        _fold_halves_by(data, n0, s0, n1, s1, way, way.fold, False)


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


cdef void place_elements(char** data, int64_t n0, const int64_t* s0, int64_t n1,
                          const int64_t* s1, const int64_t* context) noexcept nogil:
    _move_elements(data, n0, s0, n1, s1, <const Way*>context, False)


cdef void fold_elements(char** data, int64_t n0, const int64_t* s0, int64_t n1,
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
    run_in_parts(&walk, True, NULL, 0)


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
    run_in_parts(&walk, True, NULL, 0)
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
    walk.kernel = place_elements
    walk.reduced = <int64_t*>&way
    coalesce(&walk)
    run_in_parts(&walk, False, NULL, 0)
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
    way.width = item_size(base.dtype_code)
    way.step = step * way.width
    way.choices = choices
    way.wild = NULL
    if not set_fold(&way, base.dtype_code, _FOLDS.index(name)):
        raise NotImplementedError(f"{name} by index: not for {base.dtype.scalar_type_name}")
    walk.kernel = fold_elements
    walk.reduced = <int64_t*>&way
    coalesce(&walk)
    run_in_parts(&walk, False, NULL, 0)
    count_write(base)


cdef int fold_named(name):
    """The fold of a name, -1 for others."""
    return _FOLDS.index(name) if name in _FOLDS else -1


cdef bint set_fold(Way* way, int code, int fold) noexcept:
    """Whether elements of a type have the fold, which the way then says."""
    way.code, way.fold = code, fold
    if category_of(code) < 0 or (category_of(code) == 3 and (
            fold > PRODUCT or (fold == PRODUCT and code == COMPLEX32))):
        return False
    if code == BOOL:
        way.fold = GREATEST if fold == SUM else LEAST if fold == PRODUCT else fold
    elif fold <= PRODUCT:
        way.code = _wrapping(code)
    return True


cdef int _wrapping(int code) noexcept:
    """The unsigned type for sums and products of integers: signed ones may not overflow in C."""
    if code == INT64:
        return UINT64
    if code == INT32:
        return UINT32
    if code == INT16:
        return UINT16
    return UINT8 if code == INT8 else code
