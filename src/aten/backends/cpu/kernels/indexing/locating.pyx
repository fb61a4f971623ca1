# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Where elements are that indices name: offsets, checked, for the walks of picking.pyx."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from aten._core.base.bounded cimport from_the_end, wide_index, within
from aten._core.base.device cimport META
from aten._core.base.dtypes cimport INT32, INT64, dtype_from_code
from aten._core.base.errors import NoElementsError
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer
from aten._core.views.views cimport view_of
from aten.backends.cpu.kernels.moving.iterator cimport (Walk, add_input, add_operand, begin_walk,
                                                        coalesce, reorder, run_walk)

cdef enum:
    # Indices in one chunk of work for the threads; from as many on, other Python threads may run.
    GRAIN = 16384
    # Indices that are looked at before one asks what was seen.
    AT_ONCE = 64

# As `choices` for picking.pyx: offsets in memory of the caller's own, which nobody else changes.
ANYWHERE = -1

ctypedef fused Index:
    int32_t
    int64_t


cdef int require_memory(TensorImpl tensor) except -1:
    """Raises NoElementsError for a tensor of the meta device."""
    if tensor.device_type == META:
        raise NoElementsError(
            "indexing: the elements of an operand are not known on the meta device"
        )
    return 0


cdef struct Bounds:
    int64_t low
    int64_t size
    int64_t stride
    # Whether an index is outside, or below zero; threads set these, and never unset them.
    bint outside
    bint negative


cdef inline uint64_t _value(const char* place, int64_t step, int64_t at, Index unused) noexcept nogil:
    return <uint64_t><int64_t>(<const Index*>(place + at * step))[0]


cdef inline int64_t _count_plain(const char* place, int64_t count, int64_t step, int64_t size,
                                 Index unused) noexcept nogil:
    """How many at least, before the first that is not, are in [0, size)."""
    cdef uint64_t last = <uint64_t>size - 1, value, outside = 0
    cdef int64_t at, begin = 0, end
    while begin < count:
        end = min(begin + AT_ONCE, count)
        for at in range(begin, end):
            value = _value(place, step, at, unused)
            outside |= value | (last - value)
        if outside >> 63:
            return begin
        begin = end
    return count


cdef inline void _look_from(const char* place, int64_t begin, int64_t count, int64_t step,
                            Bounds* bounds, Index unused) noexcept nogil:
    cdef uint64_t low = <uint64_t>bounds.low, last = <uint64_t>bounds.size - 1
    cdef uint64_t value, outside = 0, signs = 0
    cdef int64_t at
    for at in range(begin, count):
        value = _value(place, step, at, unused)
        outside |= (value - low) | (last - value)
        signs |= value
    if outside >> 63:
        bounds.outside = True
    if signs >> 63:
        bounds.negative = True


cdef inline void _look(const char* place, int64_t count, int64_t step, Bounds* bounds,
                       Index unused) noexcept nogil:
    # Of differences the signs tell what is outside, which vectors compute side by side; what
    # overflows is outside, and shows a sign on one side. Where all are ordinary, half of it will do.
    # Loops of their own: the compiler sees that elements lie side by side.
    cdef int64_t begin
    if step == sizeof(Index):
        begin = _count_plain(place, count, sizeof(Index), bounds.size, unused)
        _look_from(place, begin, count, sizeof(Index), bounds, unused)
    else:
        begin = _count_plain(place, count, step, bounds.size, unused)
        _look_from(place, begin, count, step, bounds, unused)


cdef inline int _found(const Bounds* bounds) noexcept nogil:
    return OUTSIDE if bounds.outside else NEGATIVE if bounds.negative else WITHIN


cdef inline int _copy(const Index* given, int64_t count, Bounds* bounds, int64_t* copy) noexcept nogil:
    cdef int64_t at
    for at in range(count):
        copy[at] = <int64_t>given[at]
    bounds.outside = bounds.negative = False
    _look(<const char*>copy, count, sizeof(int64_t), bounds, <int64_t>0)
    return _found(bounds)


cdef int copy_of_indices(const char* given, bint narrow, int64_t first, int64_t count, int64_t low,
                         int64_t size, int64_t* copy) noexcept nogil:
    """Copy row-major indices from the `first` on; what `range_of_index` finds of the copy."""
    cdef Bounds bounds
    bounds.low = low
    bounds.size = size
    if narrow:
        return _copy(<const int32_t*>given + first, count, &bounds, copy)
    return _copy(<const int64_t*>given + first, count, &bounds, copy)


cdef void _look_narrow(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                       const int64_t* context) noexcept nogil:
    cdef int64_t row
    for row in range(n1):
        _look(data[0] + row * s1[0], n0, s0[0], <Bounds*>context, <int32_t>0)


cdef void _look_wide(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                     const int64_t* context) noexcept nogil:
    cdef int64_t row
    for row in range(n1):
        _look(data[0] + row * s1[0], n0, s0[0], <Bounds*>context, <int64_t>0)


cdef void _add_wrapped(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                       const int64_t* context) noexcept nogil:
    cdef int64_t size = (<const Bounds*>context).size, stride = (<const Bounds*>context).stride
    cdef int64_t row, at, value, step = s0[0], index_step = s0[1]
    cdef char* offset
    cdef const char* index
    for row in range(n1):
        offset = data[0] + row * s1[0]
        index = data[1] + row * s1[1]
        for at in range(n0):
            value = from_the_end(wide_index(index + at * index_step), size)
            (<int64_t*>(offset + at * step))[0] += within(value, size) * stride


def range_of(TensorImpl index not None, int64_t low, int64_t size):
    """0: all integers are within [0, size); 1: some are below zero, none below `low`; 2: else."""
    return range_of_index(index, low, size)


cdef int range_of_index(TensorImpl index, int64_t low, int64_t size) except -1:
    cdef Walk walk
    cdef Bounds bounds
    cdef int permutation[MAXIMUM_DIMS]
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int dim
    require_memory(index)
    if index.dtype_code != INT64 and index.dtype_code != INT32:
        raise ValueError("range_of: expected int32 or int64")
    bounds.low = low
    bounds.size = size
    bounds.outside = bounds.negative = False
    if index.contiguous and index.count < GRAIN:
        if index.dtype_code == INT64:
            _look(<char*>const_data_pointer(index), index.count, sizeof(int64_t), &bounds, <int64_t>0)
        else:
            _look(<char*>const_data_pointer(index), index.count, sizeof(int32_t), &bounds, <int32_t>0)
        return _found(&bounds)
    for dim in range(index.rank):
        # What is repeated is looked at once.
        sizes[dim] = 1 if index.strides[dim] == 0 and index.sizes[dim] > 1 else index.sizes[dim]
    begin_walk(&walk, index.rank, sizes)
    add_input(&walk, index, index.rank, sizes)
    reorder(&walk, permutation)
    coalesce(&walk)
    walk.reduced = <int64_t*>&bounds
    walk.kernel = _look_wide if index.dtype_code == INT64 else _look_narrow
    with nogil:
        run_walk(&walk, 4 * GRAIN)
    return _found(&bounds)


def wrong_index(TensorImpl index not None, int64_t low, int64_t size):
    """For a message: the first index outside of [low, size), or in words that there was one."""
    for one in index.reshape((-1,)).tolist():
        if not low <= one < size:
            return one
    return "that was changed meanwhile"


def choose(Tensor self not None, list given not None):
    """The elements at integer tensors, one for each of the first dimensions or None for all of it.

    Returns (base, index, step, choices) for `pick` and `place`. The indexed dimensions, broadcast together,
    go where the first of them was, or to the front where others lie between them. Raises
    IndexError for indices that are too many, out of range, or do not broadcast.
    """
    cdef int64_t common[MAXIMUM_DIMS]
    cdef int64_t sizes[2 * MAXIMUM_DIMS]
    cdef int64_t strides[2 * MAXIMUM_DIMS]
    cdef int64_t spread[2 * MAXIMUM_DIMS]
    cdef int dim, place, count = 0, rank = 0, first = -1, last = -1, before = 0, total
    cdef bint negative = False
    cdef Tensor index
    if len(given) > self.rank:
        raise IndexError(f"too many indices for tensor of dimension {self.rank} (got {len(given)})")
    for dim, one in enumerate(given):
        if one is None:
            continue
        index = one
        first = dim if first < 0 else first
        last = dim
        count += 1
        rank = max(rank, index.rank)
        if self.device_type != META and index.device_type != META:
            negative |= _check_within(index, self.sizes[dim], dim)
    if count == 0:
        raise IndexError("at least one index must be given")
    _broadcast_indices(given, rank, common)
    before = first if last - first + 1 == count else 0
    total = self.rank - count + rank
    if total > MAXIMUM_DIMS:
        raise RuntimeError(f"tensors have at most {MAXIMUM_DIMS} dimensions")
    for place in range(rank):
        sizes[before + place] = common[place]
        strides[before + place] = 0
    place = 0
    for dim in range(self.rank):
        if dim < len(given) and given[dim] is not None:
            continue
        place = place if place != before else place + rank
        sizes[place] = self.sizes[dim]
        strides[place] = self.strides[dim]
        spread[place] = 0
        place += 1
    index = given[first]
    step, choices = self.strides[first], self.sizes[first]
    if self.device_type != META and index.device_type != META and (count > 1 or negative):
        index = _joined_offsets(self, given, rank, common)
        step, choices = 1, ANYWHERE
    elif index.dtype_code != INT64:
        index = index.to(dtype_from_code(INT64))
    for place in range(rank):
        dim = place - (rank - index.rank)
        spread[before + place] = 0
        if dim >= 0 and (index.sizes[dim] != 1 or common[place] == 1):
            spread[before + place] = index.strides[dim]
    return (view_of(self, total, sizes, strides, self.offset),
            view_of(index, total, sizes, spread, index.offset), step, choices)


cdef bint _check_within(TensorImpl index, int64_t size, int dim) except -1:
    """Whether an index is below zero. Raises IndexError for one out of range."""
    cdef int found = range_of_index(index, -size, size)
    if found == OUTSIDE:
        raise IndexError(f"index {wrong_index(index, -size, size)} is out of bounds for dimension "
                         f"{dim} with size {size}")
    return found == NEGATIVE


cdef int _broadcast_indices(list given, int rank, int64_t* common) except -1:
    cdef Tensor index
    cdef int dim, place
    for place in range(rank):
        common[place] = 1
    for one in given:
        if one is None:
            continue
        index = one
        for dim in range(index.rank):
            place = rank - index.rank + dim
            if common[place] == 1:
                common[place] = index.sizes[dim]
            elif index.sizes[dim] != 1 and index.sizes[dim] != common[place]:
                listed = ", ".join([str(list(one.shape)) for one in given if one is not None])
                raise IndexError(f"shape mismatch: {listed} cannot be broadcast together")
    return 0


cdef Tensor _joined_offsets(Tensor self, list given, int rank, const int64_t* common):
    """How far each chosen element lies behind the first of `self`, row-major."""
    cdef Tensor made = make_contiguous(INT64, rank, common, self.device_type, self.device_index)
    cdef int dim
    if made.count == 0:
        return made
    memset(made.storage.data, 0, made.count * sizeof(int64_t))
    for dim, one in enumerate(given):
        if one is None:
            continue
        if (<Tensor>one).dtype_code != INT64:
            one = one.to(dtype_from_code(INT64))
        add_offsets(made, one, self.sizes[dim], self.strides[dim])
    return made


def add_offsets(Tensor offsets not None, Tensor index not None, int64_t size, int64_t stride):
    """offsets += index · stride, negative indices counted from `size`; what is outside counts as 0.

    Both are int64, the index broadcast to the offsets' shape.
    """
    cdef Walk walk
    cdef Bounds bounds
    cdef int permutation[MAXIMUM_DIMS]
    require_memory(offsets)
    require_memory(index)
    if offsets.dtype_code != INT64 or index.dtype_code != INT64 or index.rank > offsets.rank:
        raise ValueError("add_offsets: expected int64 tensors of one shape")
    for dim in range(index.rank):
        if index.sizes[dim] not in (1, offsets.sizes[offsets.rank - index.rank + dim]):
            raise ValueError("add_offsets: expected int64 tensors of one shape")
    bounds.size = size
    bounds.stride = stride
    begin_walk(&walk, offsets.rank, offsets.sizes)
    add_operand(&walk, offsets, offsets.rank, offsets.sizes)
    add_input(&walk, index, offsets.rank, offsets.sizes)
    reorder(&walk, permutation)
    coalesce(&walk)
    walk.reduced = <int64_t*>&bounds
    walk.kernel = _add_wrapped
    if walk.total < GRAIN:
        run_walk(&walk, GRAIN)
        return
    with nogil:
        run_walk(&walk, GRAIN)


def spread_offsets(Tensor index not None, Tensor base not None):
    """Positions among all elements of `base`, in row-major order, as offsets in its memory.

    `index` is int64 and row-major; negative ones count from the end. What is outside counts as 0.
    """
    cdef Tensor made
    cdef const int64_t* values = <const int64_t*>const_data_pointer(index)
    cdef int64_t* offsets
    cdef int64_t at, rest, offset
    cdef int dim
    require_memory(index)
    if index.dtype_code != INT64 or not index.contiguous:
        raise ValueError("spread_offsets: expected row-major int64")
    made = make_contiguous(INT64, index.rank, index.sizes, index.device_type, index.device_index)
    offsets = <int64_t*>data_pointer(made)
    with nogil:
        for at in range(index.count):
            rest = within(from_the_end(wide_index(values + at), base.count), base.count)
            offset = 0
            for dim in range(base.rank - 1, -1, -1):
                offset += rest % base.sizes[dim] * base.strides[dim]
                rest //= base.sizes[dim]
            offsets[at] = offset
    return made
