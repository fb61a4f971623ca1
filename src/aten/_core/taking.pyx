# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Slices of one dimension at the indices in a tensor: rows of a table, mostly."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from aten._core.device cimport META
from aten._core.dtypes cimport INT32, INT64, item_size
from aten._core.parallel cimport parallel_for
from aten._core.tensor cimport MAXIMUM_DIMS, Tensor, TensorImpl, data_pointer, make_contiguous

cdef enum:
    # Bytes from which on threads share the work, and other Python threads may run.
    SHARED_BYTES = 1 << 17


cdef struct Taking:
    char* source
    char* out
    void* index
    bint narrow                         # 32-bit indices
    int64_t count                       # indices
    int64_t size                        # of the dimension they choose from
    int64_t step                        # its stride in bytes
    int outer_rank, inner_rank          # dimensions before and after it
    int64_t outer_sizes[MAXIMUM_DIMS]
    int64_t outer_steps[MAXIMUM_DIMS]
    int64_t inner_sizes[MAXIMUM_DIMS]
    int64_t inner_steps[MAXIMUM_DIMS]
    bint inner_contiguous
    int width                           # bytes of an element
    int64_t block                       # bytes of what one index brings


cdef inline int64_t _index_at(Taking* taking, int64_t place) noexcept nogil:
    if taking.narrow:
        return (<int32_t*>taking.index)[place]
    return (<int64_t*>taking.index)[place]


cdef char* _copy_elements(Taking* taking, int dim, const char* source, char* out) noexcept nogil:
    """Copy one block whose elements do not lie side by side; returns where the next one goes."""
    cdef int64_t place
    if dim == taking.inner_rank:
        memcpy(out, source, taking.width)
        return out + taking.width
    for place in range(taking.inner_sizes[dim]):
        out = _copy_elements(taking, dim + 1, source + place * taking.inner_steps[dim], out)
    return out


cdef void _take_blocks(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Taking* taking = <Taking*>context
    cdef int64_t place, outer, chosen
    cdef const char* source
    cdef int dim
    for place in range(begin, end):
        outer = place // taking.count
        chosen = _index_at(taking, place % taking.count)
        if chosen < 0:
            chosen += taking.size
        source = taking.source + chosen * taking.step
        for dim in range(taking.outer_rank - 1, -1, -1):
            source += outer % taking.outer_sizes[dim] * taking.outer_steps[dim]
            outer //= taking.outer_sizes[dim]
        if taking.inner_contiguous:
            memcpy(taking.out + place * taking.block, source, taking.block)
        else:
            _copy_elements(taking, 0, source, taking.out + place * taking.block)


cdef int64_t _first_wrong(Taking* taking, bint wraps) noexcept nogil:
    """The place of the first index out of range, or -1."""
    cdef int64_t place, least = -taking.size if wraps else 0
    for place in range(taking.count):
        if not least <= _index_at(taking, place) < taking.size:
            return place
    return -1


def take(Tensor source not None, int dim, Tensor index not None, bint wraps):
    """Row-major copies of the slices of `dim` at `index`, whose dimensions take its place.

    `index` is contiguous, int32 or int64; with `wraps`, negative indices count from the end.
    Raises IndexError for indices out of range.
    """
    cdef Taking taking
    cdef int64_t sizes[2 * MAXIMUM_DIMS]
    cdef int64_t wrong = -1, blocks = index.count
    cdef Tensor made
    _describe(&taking, source, dim, index)
    for place in range(dim):
        sizes[place] = source.sizes[place]
        blocks *= source.sizes[place]
    for place in range(index.rank):
        sizes[dim + place] = index.sizes[place]
    for place in range(dim + 1, source.rank):
        sizes[place + index.rank - 1] = source.sizes[place]
    if source.rank - 1 + index.rank > MAXIMUM_DIMS:
        raise RuntimeError(f"tensors have at most {MAXIMUM_DIMS} dimensions")
    wrong = _first_wrong(&taking, wraps)
    if wrong >= 0:
        raise IndexError(f"index {_index_at(&taking, wrong)} is out of bounds for dimension {dim} "
                         f"with size {taking.size}")
    made = make_contiguous(source.dtype_code, source.rank - 1 + index.rank, sizes,
                           source.device_type, source.device_index)
    if made.count == 0:
        return made
    taking.out = data_pointer(made)
    if blocks * taking.block < SHARED_BYTES:
        _take_blocks(&taking, 0, blocks)
        return made
    with nogil:
        parallel_for(blocks, max(SHARED_BYTES // taking.block, 1), _take_blocks, &taking)
    return made


cdef int _describe(Taking* taking, TensorImpl source, int dim, TensorImpl index) except -1:
    cdef int place, inner
    cdef int64_t expected = 1
    if index.dtype_code != INT32 and index.dtype_code != INT64 or not index.contiguous:
        raise ValueError("take: the index must be contiguous, int32 or int64")
    if source.device_type == META or index.device_type == META or not 0 <= dim < source.rank:
        raise ValueError("take: there is nothing to take from")
    taking.source = data_pointer(source)
    taking.index = data_pointer(index)
    taking.narrow = index.dtype_code == INT32
    taking.count = index.count
    taking.width = item_size(source.dtype_code)
    taking.size = source.sizes[dim]
    taking.step = source.strides[dim] * taking.width
    taking.outer_rank = dim
    taking.inner_rank = source.rank - dim - 1
    for place in range(dim):
        taking.outer_sizes[place] = source.sizes[place]
        taking.outer_steps[place] = source.strides[place] * taking.width
    taking.inner_contiguous = True
    for inner in range(taking.inner_rank - 1, -1, -1):
        place = dim + 1 + inner
        taking.inner_sizes[inner] = source.sizes[place]
        taking.inner_steps[inner] = source.strides[place] * taking.width
        if source.sizes[place] != 1 and source.strides[place] != expected:
            taking.inner_contiguous = False
        expected *= source.sizes[place]
    taking.block = expected * taking.width
    return 0
