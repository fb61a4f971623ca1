# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Slices of one dimension at the indices in a tensor: rows of a table, mostly."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from aten._core.device cimport CPU, META
from aten._core.dtypes cimport BOOL, INT32, INT64, item_size
from aten._core.given cimport reads_dim
from aten._core.locating cimport NEGATIVE, OUTSIDE, range_of_index
from aten._core.making cimport make_contiguous
from aten._core.masks cimport compressed
from aten._core.parallel cimport parallel_for
from aten._core.sizes cimport MAXIMUM_DIMS
from aten._core.tensor cimport Tensor, TensorImpl, const_data_pointer, data_pointer, is_tensor

cdef extern from "Python.h":
    bint PyList_CheckExact(PyObject*) noexcept
    Py_ssize_t PyList_GET_SIZE(PyObject*) noexcept
    PyObject* PyList_GET_ITEM(PyObject*, Py_ssize_t) noexcept

cdef enum:
    # Bytes from which on threads share the work, and other Python threads may run.
    SHARED_BYTES = 1 << 17


ctypedef fused Index:
    int32_t
    int64_t

ctypedef fused Unit:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef struct Taking:
    const char* source
    char* out
    void* index
    bint narrow                         # 32-bit indices
    bint wraps                          # some are below zero
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
    cdef int64_t outer, rest, first, last
    cdef const char* source
    cdef int dim
    while begin < end:
        outer = begin // taking.count
        first = begin - outer * taking.count
        last = min(taking.count, first + end - begin)
        source = taking.source
        rest = outer
        for dim in range(taking.outer_rank - 1, -1, -1):
            source += rest % taking.outer_sizes[dim] * taking.outer_steps[dim]
            rest //= taking.outer_sizes[dim]
        _take_line(taking, source, first, last, taking.out + outer * taking.count * taking.block)
        begin += last - first


cdef void _take_line(Taking* taking, const char* source, int64_t first, int64_t last,
                     char* out) noexcept nogil:
    """What the indices first … last choose from the slices at `source`."""
    cdef int64_t place
    if taking.block == taking.width == 1:
        _take_elements(taking, <const uint8_t*>source, first, last, <uint8_t*>out)
    elif taking.block == taking.width == 2:
        _take_elements(taking, <const uint16_t*>source, first, last, <uint16_t*>out)
    elif taking.block == taking.width == 4:
        _take_elements(taking, <const uint32_t*>source, first, last, <uint32_t*>out)
    elif taking.block == taking.width == 8:
        _take_elements(taking, <const uint64_t*>source, first, last, <uint64_t*>out)
    elif taking.inner_contiguous:
        for place in range(first, last):
            memcpy(out + place * taking.block, source + _chosen(taking, place) * taking.step,
                   taking.block)
    else:
        for place in range(first, last):
            _copy_elements(taking, 0, source + _chosen(taking, place) * taking.step,
                           out + place * taking.block)


cdef inline int64_t _chosen(Taking* taking, int64_t place) noexcept nogil:
    """The slice at an index; negative ones count from the end."""
    cdef int64_t index = _index_at(taking, place)
    return index + taking.size if index < 0 else index


cdef inline void _take_elements(Taking* taking, const Unit* source, int64_t first, int64_t last,
                                Unit* out) noexcept nogil:
    if taking.narrow:
        _take_at(taking, <const int32_t*>taking.index, source, first, last, out)
    else:
        _take_at(taking, <const int64_t*>taking.index, source, first, last, out)


cdef inline void _take_at(const Taking* taking, const Index* indices, const Unit* source,
                          int64_t first, int64_t last, Unit* out) noexcept nogil:
    cdef int64_t place, index
    cdef int64_t step = taking.step // <int64_t>sizeof(Unit), size = taking.size
    if not taking.wraps:
        for place in range(first, last):
            out[place] = source[indices[place] * step]
        return
    for place in range(first, last):
        index = indices[place]
        out[place] = source[(index + size if index < 0 else index) * step]


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
    return _taken(source, dim, index, wraps)


cdef Tensor _taken(TensorImpl source, int dim, TensorImpl index, bint wraps):
    cdef Taking taking
    cdef int64_t sizes[2 * MAXIMUM_DIMS]
    cdef int64_t wrong, blocks = index.count
    cdef int found, place
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
    found = range_of_index(index, -taking.size if wraps else 0, taking.size)
    taking.wraps = found == NEGATIVE
    if found == OUTSIDE:
        wrong = _first_wrong(&taking, wraps)
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
    taking.source = const_data_pointer(source)
    taking.index = const_data_pointer(index)
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


cdef inline bint _is_index(TensorImpl index) noexcept:
    return (index.device_type == CPU and index.contiguous
            and (index.dtype_code == INT64 or index.dtype_code == INT32))


cdef bint _is_plain(TensorImpl tensor) noexcept:
    cdef int64_t expected = 1
    cdef int dim
    for dim in range(tensor.rank - 1, -1, -1):
        if tensor.strides[dim] != expected:
            return False
        expected *= max(tensor.sizes[dim], 1)
    return True


def is_plain(Tensor tensor not None):
    """Whether all strides are row-major: those of dimensions of one element, too.

    Elements lie the same without, but the strides of results show it.
    """
    return _is_plain(tensor)


cdef object index_ordinary(PyObject** stack):
    """index(self, indices): one tensor, of integers for the first dimension or a mask of all."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef PyObject* given
    cdef TensorImpl index
    cdef int dim
    if (self.device_type != CPU or self.rank == 0 or not self.contiguous or not _is_plain(self)
            or not PyList_CheckExact(stack[1]) or PyList_GET_SIZE(stack[1]) != 1):
        return None
    given = PyList_GET_ITEM(stack[1], 0)
    if not is_tensor(<object>given):
        return None
    index = <TensorImpl>given
    if _is_index(index) and _is_plain(index):
        return _taken(self, 0, index, True) if self.rank + index.rank <= MAXIMUM_DIMS else None
    if (index.dtype_code != BOOL or index.device_type != CPU or not index.contiguous
            or index.rank != self.rank):
        return None
    for dim in range(self.rank):
        if index.sizes[dim] != self.sizes[dim]:
            return None
    return compressed(self, index)


cdef object index_select_ordinary(PyObject** stack):
    """index_select(self, dim, index)."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef TensorImpl index = <TensorImpl>stack[2]
    cdef int dim
    if (self.device_type != CPU or self.rank == 0 or not self.contiguous or not _is_index(index)
            or index.rank != 1 or not reads_dim(stack[1], self, &dim)):
        return None
    return _taken(self, dim, index, False)


cdef object embedding_ordinary(PyObject** stack):
    """embedding(weight, indices, …), whose other arguments matter for derivatives only."""
    cdef TensorImpl weight = <TensorImpl>stack[0]
    cdef TensorImpl indices = <TensorImpl>stack[1]
    if weight.device_type != CPU or weight.rank != 2 or not _is_index(indices):
        return None
    return _taken(weight, 0, indices, False) if indices.rank < MAXIMUM_DIMS else None
