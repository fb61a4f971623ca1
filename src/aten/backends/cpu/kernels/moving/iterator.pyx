# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""TensorIterator: one walk over several tensors of one broadcast shape.

Operands are lined up at their last dimensions; a size of one is walked with stride zero. The
dimensions are put in memory order, neighbours that every operand steps through evenly become one,
and the innermost two go to the kernel while the walk counts through the rest. Large walks are cut
between threads.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, int8_t

from aten._core.base.dtypes cimport item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.memory.storage cimport is_opaque
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer
from aten._core.threads.parallel cimport parallel_for

cdef enum:
    # Points of a row that is too short to be a loop, and of one that is worth being one instead; of
    # more, what lies beside the points is gone from the caches when they are come to.
    SHORT = 4
    LONG = 8
    LONGEST = 1024

ctypedef fused Integer:
    int8_t
    int16_t
    int32_t
    int64_t


cdef int broadcast_into(int rank, int64_t* sizes, TensorImpl operand) except -1:
    """Widen `sizes`, aligned at the end of an array of `rank`, by `operand`'s.

    Raises RuntimeError where two sizes differ and neither is one.
    """
    cdef int dim, place
    for dim in range(operand.rank):
        place = rank - operand.rank + dim
        if operand.sizes[dim] == sizes[place] or operand.sizes[dim] == 1:
            continue
        if sizes[place] != 1:
            raise RuntimeError(
                f"The size of tensor a ({sizes[place]}) must match the size of tensor b "
                f"({operand.sizes[dim]}) at non-singleton dimension {place}"
            )
        sizes[place] = operand.sizes[dim]
    return 0


cdef void begin_walk(Walk* walk, int rank, const int64_t* sizes) noexcept nogil:
    """A walk over `sizes`, which are given outermost first."""
    cdef int dim
    walk.operands = 0
    walk.rank = rank
    walk.total = 1
    walk.reduced = NULL
    for dim in range(rank):
        walk.sizes[dim] = sizes[rank - 1 - dim]
        walk.total *= walk.sizes[dim]


cdef void add_input(Walk* walk, TensorImpl operand, int rank, const int64_t* sizes) noexcept:
    """Line `operand`, which is read, up with the walk's shape."""
    cdef int place = walk.operands
    cdef int64_t width = item_size(operand.dtype_code)
    cdef int dim, position
    for dim in range(rank):
        position = operand.rank - 1 - dim
        if position < 0 or (operand.sizes[position] == 1 and walk.sizes[dim] != 1):
            walk.strides[dim][place] = 0
        else:
            walk.strides[dim][place] = operand.strides[position] * width
    # Kernels take one type of address for all their operands.
    walk.data[place] = <char*>const_data_pointer(operand)
    walk.operands += 1


cdef int add_operand(Walk* walk, TensorImpl operand, int rank, const int64_t* sizes) except -1:
    """Line `operand`, which is written, up with the walk's shape."""
    cdef char* data = data_pointer(operand)
    add_input(walk, operand, rank, sizes)
    walk.data[walk.operands - 1] = data
    return 0


cdef void add_scalar(Walk* walk, void* address) noexcept nogil:
    """An operand that is one value for every point."""
    cdef int place = walk.operands
    cdef int dim
    for dim in range(walk.rank):
        walk.strides[dim][place] = 0
    walk.data[place] = <char*>address
    walk.operands += 1


cdef inline int _compare(Walk* walk, int inner, int outer) noexcept nogil:
    """1: `inner` should lie further out than `outer`; -1: it lies right; 0: undecided."""
    cdef int place
    cdef int64_t left, right
    for place in range(walk.operands):
        left = walk.strides[inner][place]
        right = walk.strides[outer][place]
        if left == 0 or right == 0:
            continue
        if left != right:
            return 1 if left > right else -1
        if walk.sizes[inner] > walk.sizes[outer]:
            return 1
    return 0


cdef void reorder(Walk* walk, int* permutation) noexcept nogil:
    """Put the dimensions in memory order, by the strides of the operands added so far.

    An insertion sort that steps over pairs it cannot decide, so that the order given stays where
    strides say nothing. `permutation[i]` tells which dimension, innermost first, went to place i.
    """
    cdef int position, probe, inner, verdict
    for position in range(walk.rank):
        permutation[position] = position
    for position in range(1, walk.rank):
        inner = position
        for probe in range(position - 1, -1, -1):
            verdict = _compare(walk, permutation[probe], permutation[inner])
            if verdict > 0:
                permutation[probe], permutation[inner] = permutation[inner], permutation[probe]
                inner = probe
            elif verdict < 0:
                break
    _permute(walk, permutation)


cdef void _permute(Walk* walk, int* permutation) noexcept nogil:
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int dim, place
    for dim in range(walk.rank):
        sizes[dim] = walk.sizes[permutation[dim]]
    for dim in range(walk.rank):
        walk.sizes[dim] = sizes[dim]
    for place in range(walk.operands):
        for dim in range(walk.rank):
            strides[dim] = walk.strides[permutation[dim]][place]
        for dim in range(walk.rank):
            walk.strides[dim][place] = strides[dim]


cdef inline bint _joins(Walk* walk, int inner, int outer) noexcept nogil:
    cdef int place
    if walk.sizes[inner] == 1 or walk.sizes[outer] == 1:
        return True
    for place in range(walk.operands):
        if walk.strides[inner][place] * walk.sizes[inner] != walk.strides[outer][place]:
            return False
    return True


cdef void coalesce(Walk* walk) noexcept nogil:
    """Join neighbouring dimensions that every operand steps through evenly."""
    cdef int last = 0, dim, place
    if walk.rank <= 1:
        return
    for dim in range(1, walk.rank):
        if _joins(walk, last, dim):
            if walk.sizes[last] == 1:
                for place in range(walk.operands):
                    walk.strides[last][place] = walk.strides[dim][place]
            walk.sizes[last] *= walk.sizes[dim]
            continue
        last += 1
        if last != dim:
            walk.sizes[last] = walk.sizes[dim]
            for place in range(walk.operands):
                walk.strides[last][place] = walk.strides[dim][place]
    walk.rank = last + 1


cdef void lengthen_rows(Walk* walk) noexcept nogil:
    """Exchange the two innermost dimensions where the rows are so short that they are no loop."""
    cdef int place
    if walk.rank < 2 or walk.sizes[0] >= SHORT or not LONG <= walk.sizes[1] <= LONGEST:
        return
    walk.sizes[0], walk.sizes[1] = walk.sizes[1], walk.sizes[0]
    for place in range(walk.operands):
        walk.strides[0][place], walk.strides[1][place] = (walk.strides[1][place],
                                                          walk.strides[0][place])


cdef void _run_range(void* context, int64_t begin, int64_t end) noexcept nogil:
    """The points from `begin` to `end`, in the walk's order."""
    cdef Walk* walk = <Walk*>context
    cdef int64_t index[MAXIMUM_DIMS]
    cdef int64_t zeros[MAXIMUM_OPERANDS]
    cdef char* data[MAXIMUM_OPERANDS]
    cdef int64_t left = begin, count, rows
    cdef int64_t* outer
    cdef int dim, place
    if begin >= end:
        return
    for place in range(walk.operands):
        zeros[place] = 0
    for dim in range(walk.rank):
        index[dim] = left % walk.sizes[dim]
        left //= walk.sizes[dim]
    left = end - begin
    while left > 0:
        for place in range(walk.operands):
            data[place] = walk.data[place]
            for dim in range(walk.rank):
                data[place] += index[dim] * walk.strides[dim][place]
        if walk.rank == 0:
            walk.kernel(data, 1, zeros, 1, zeros, walk.reduced)
            return
        count = min(walk.sizes[0] - index[0], left)
        rows = 1
        if walk.rank > 1 and index[0] == 0 and count == walk.sizes[0]:
            rows = min(walk.sizes[1] - index[1], left // count)
        outer = &zeros[0]
        if walk.rank > 1:
            outer = &walk.strides[1][0]
        walk.kernel(data, count, walk.strides[0], rows, outer, walk.reduced)
        left -= count * rows
        _advance(walk, index, count, rows)


cdef inline void _advance(Walk* walk, int64_t* index, int64_t count, int64_t rows) noexcept nogil:
    cdef int dim = 0
    index[0] += count
    if index[0] == walk.sizes[0]:
        index[0] = 0
        if walk.rank == 1:
            return
        index[1] += rows
        dim = 1
    while dim > 0 and dim < walk.rank and index[dim] == walk.sizes[dim]:
        index[dim] = 0
        dim += 1
        if dim < walk.rank:
            index[dim] += 1


cdef void run_walk(Walk* walk, int64_t grain) noexcept nogil:
    """Run the kernel over all points, in chunks of at least `grain` where threads are free."""
    cdef int64_t zeros[MAXIMUM_OPERANDS]
    cdef int place
    if walk.rank == 2 and 0 < walk.total <= grain:
        walk.kernel(walk.data, walk.sizes[0], walk.strides[0], walk.sizes[1], walk.strides[1],
                    walk.reduced)
    elif walk.rank == 1 and 0 < walk.total <= grain:
        for place in range(walk.operands):
            zeros[place] = 0
        walk.kernel(walk.data, walk.sizes[0], walk.strides[0], 1, zeros, walk.reduced)
    elif walk.total > 0:
        parallel_for(walk.total, grain, _run_range, walk)


cdef inline bint _has_zero(const char* data, int64_t count, int64_t stride,
                           Integer example) noexcept nogil:
    cdef int64_t index
    cdef const Integer* run = <const Integer*>data
    cdef Integer found = 0
    if stride == sizeof(Integer):
        for index in range(count):
            found |= <Integer>(run[index] == 0)
        return found != 0
    for index in range(count):
        found |= <Integer>((<const Integer*>(data + index * stride))[0] == 0)
    return found != 0


cdef bint _row_has_zero(const char* data, int64_t count, int64_t stride, int width) noexcept nogil:
    if width == 8:
        return _has_zero[int64_t](data, count, stride, 0)
    if width == 4:
        return _has_zero[int32_t](data, count, stride, 0)
    if width == 2:
        return _has_zero[int16_t](data, count, stride, 0)
    return _has_zero[int8_t](data, count, stride, 0)


cdef void _seek_zero(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                     const int64_t* found) noexcept nogil:
    """A kernel: sets the flag `found` where an integer is zero. The width lies beside the flag."""
    cdef int64_t row
    cdef int width = <int>found[1]
    for row in range(n1):
        if _row_has_zero(data[0] + row * s1[0], n0, s0[0], width):
            (<int64_t*>found)[0] = 1


def contains_zero(TensorImpl tensor not None):
    """Whether an element of a tensor of integers is zero; never, where there are no values."""
    cdef Walk walk
    cdef int permutation[MAXIMUM_DIMS]
    cdef int64_t found[2]
    if is_opaque(tensor.device_type):
        tensor = tensor.to("cpu")
    if tensor.storage.data == NULL or tensor.count == 0:
        return False
    begin_walk(&walk, tensor.rank, tensor.sizes)
    add_input(&walk, tensor, tensor.rank, tensor.sizes)
    reorder(&walk, permutation)
    coalesce(&walk)
    found[0] = 0
    found[1] = item_size(tensor.dtype_code)
    walk.reduced = found
    walk.kernel = _seek_zero
    with nogil:
        run_walk(&walk, 16384)
    return found[0] != 0
