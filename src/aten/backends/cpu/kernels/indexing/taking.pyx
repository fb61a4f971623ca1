# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Slices of one dimension at the indices in a tensor: rows of a table, mostly."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from aten._core.base.bounded cimport from_the_end
from aten._core.base.device cimport CPU, META
from aten._core.base.dtypes cimport BOOL, INT32, INT64, item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.given cimport reads_dim
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor, is_tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.indexing.locating cimport NEGATIVE, OUTSIDE, copy_of_indices
from aten.backends.cpu.kernels.indexing.locating import wrong_index
from aten.backends.cpu.kernels.indexing.masks cimport compressed

cdef extern from "Python.h":
    bint PyList_CheckExact(PyObject*) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept
    Py_ssize_t PySequence_Fast_GET_SIZE(PyObject*) noexcept
    PyObject** PySequence_Fast_ITEMS(PyObject*) noexcept

cdef enum:
    # Bytes from which on threads share the work, and other Python threads may run.
    SHARED_BYTES = 1 << 17
    # Indices that are checked, and then used, together.
    TOGETHER = 2048


ctypedef fused Unit:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef struct Taking:
    const char* source
    char* out
    const char* index
    bint narrow                         # 32-bit indices
    bint wraps                          # those below zero count from the end
    const int64_t* checked              # a copy of them, where several lines need them; or NULL
    bint outside                        # whether one is out of range: threads set it
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


cdef char* _copy_elements(const Taking* taking, int dim, const char* source, char* out) noexcept nogil:
    """Copy one block whose elements do not lie side by side; returns where the next one goes."""
    cdef int64_t place
    if dim == taking.inner_rank:
        memcpy(out, source, taking.width)
        return out + taking.width
    for place in range(taking.inner_sizes[dim]):
        out = _copy_elements(taking, dim + 1, source + place * taking.inner_steps[dim], out)
    return out


cdef inline bint _copy_indices(Taking* taking, int64_t first, int64_t count,
                               int64_t* indices) noexcept nogil:
    """Copy indices, counted from the front; False, and a mark, where one is out of range.

    What is checked is the copy, and it is used: others may write to the index meanwhile.
    """
    cdef int64_t place, low = -taking.size if taking.wraps else 0
    cdef int found = copy_of_indices(taking.index, taking.narrow, first, count, low, taking.size,
                                     indices)
    if found == OUTSIDE:
        taking.outside = True
        return False
    if found == NEGATIVE:
        for place in range(count):
            indices[place] = from_the_end(indices[place], taking.size)
    return True


cdef void _take_blocks(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Blocks begin … end of the result, one for each index and place in the dimensions before."""
    cdef Taking* taking = <Taking*>context
    cdef int64_t outer, rest, first, last
    cdef const char* source
    cdef int dim
    if taking.checked == NULL:
        _take_checking(taking, begin, end)
        return
    while begin < end:
        outer = begin // taking.count
        first = begin - outer * taking.count
        last = min(taking.count, first + end - begin)
        source = taking.source
        rest = outer
        for dim in range(taking.outer_rank - 1, -1, -1):
            source += rest % taking.outer_sizes[dim] * taking.outer_steps[dim]
            rest //= taking.outer_sizes[dim]
        _take_line(taking, source, taking.checked + first, last - first,
                   taking.out + begin * taking.block)
        begin += last - first


cdef void _take_checking(Taking* taking, int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t indices[TOGETHER]
    cdef int64_t count
    while begin < end:
        count = min(<int64_t>TOGETHER, end - begin)
        if not _copy_indices(taking, begin, count, indices):
            return
        _take_line(taking, taking.source, indices, count, taking.out + begin * taking.block)
        begin += count


cdef void _take_line(const Taking* taking, const char* source, const int64_t* indices,
                     int64_t count, char* out) noexcept nogil:
    """What a few indices choose from the slices at `source`."""
    cdef int64_t place
    if taking.block == taking.width == 1:
        _take_elements(taking, <const uint8_t*>source, indices, count, <uint8_t*>out)
    elif taking.block == taking.width == 2:
        _take_elements(taking, <const uint16_t*>source, indices, count, <uint16_t*>out)
    elif taking.block == taking.width == 4:
        _take_elements(taking, <const uint32_t*>source, indices, count, <uint32_t*>out)
    elif taking.block == taking.width == 8:
        _take_elements(taking, <const uint64_t*>source, indices, count, <uint64_t*>out)
    elif taking.inner_contiguous:
        for place in range(count):
            memcpy(out + place * taking.block, source + indices[place] * taking.step,
                   taking.block)
    else:
        for place in range(count):
            _copy_elements(taking, 0, source + indices[place] * taking.step,
                           out + place * taking.block)


cdef inline void _take_elements(const Taking* taking, const Unit* source, const int64_t* indices,
                                int64_t count, Unit* out) noexcept nogil:
    cdef int64_t place, step = taking.step // <int64_t>sizeof(Unit)
    for place in range(count):
        out[place] = source[indices[place] * step]


def take(Tensor source not None, int dim, Tensor index not None, bint wraps):
    """Row-major copies of the slices of `dim` at `index`, whose dimensions take its place.

    `index` is contiguous, int32 or int64; with `wraps`, negative indices count from the end.
    Raises IndexError for indices out of range.
    """
    return _taken(source, dim, index, wraps)


cdef Tensor _taken(TensorImpl source, int dim, TensorImpl index, bint wraps):
    cdef Taking taking
    cdef int64_t sizes[2 * MAXIMUM_DIMS]
    cdef int64_t blocks = index.count
    cdef int place
    cdef Tensor made, checked
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
    taking.wraps = wraps
    made = make_contiguous(source.dtype_code, source.rank - 1 + index.rank, sizes,
                           source.device_type, source.device_index)
    if dim > 0 or made.count == 0:
        checked = make_contiguous(INT64, 1, &index.count, CPU, -1)
        taking.checked = <int64_t*>data_pointer(checked)
        _copy_indices(&taking, 0, index.count, <int64_t*>taking.checked)
    if made.count > 0 and not taking.outside:
        taking.out = data_pointer(made)
        if blocks * taking.block < SHARED_BYTES:
            _take_blocks(&taking, 0, blocks)
        else:
            with nogil:
                parallel_for(blocks, max(SHARED_BYTES // taking.block, 1), _take_blocks, &taking)
    if taking.outside:
        wrong = wrong_index(index, -taking.size if wraps else 0, taking.size)
        raise IndexError(f"index {wrong} is out of bounds for dimension {dim} with size "
                         f"{taking.size}")
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
    taking.checked = NULL
    taking.outside = False
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
            or not (PyList_CheckExact(stack[1]) or PyTuple_CheckExact(stack[1]))
            or PySequence_Fast_GET_SIZE(stack[1]) != 1):
        return None
    given = PySequence_Fast_ITEMS(stack[1])[0]
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
