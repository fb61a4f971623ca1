# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Composites that end in views: their ordinary case at once, all else as the composite does it.

A function here computes what a composite's views would give, one after the other, or returns None:
for arguments the composite refuses, and for results that are no views.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t

from aten._core.base.dtypes cimport category_of
from aten._core.base.sizes cimport MAXIMUM_DIMS, read_sizes
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_integer
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten._core.views.views cimport (inferred_sizes, selected, slice_bounds, swapped, unsqueezed,
                                     view_of, view_strides)

cdef extern from *:
    bint __builtin_mul_overflow(int64_t, int64_t, int64_t*) noexcept nogil

cdef enum:
    COMPLEX = 3     # a category
    # A list of so many views takes gigabytes.
    MOST_PIECES = 1 << 24

ctypedef object (*DerivedFunction)(TensorImpl base, PyObject** stack)


cdef class DerivedViewKernel(FastPath):
    """Runs a compiled function in the place of a composite of views."""

    cdef DerivedFunction function
    cdef bint gives_many        # views of which none can be written to where that is recorded

    def __init__(self, native, replaced, find, otherwise, bint gives_many):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.function = <DerivedFunction><size_t>_FUNCTIONS[native]
        self.gives_many = gives_many

    cdef object ordinary(self, PyObject** stack):
        made = self.function(<TensorImpl>stack[0], stack)
        if self.gives_many and made is not None:
            for piece in <tuple>made:
                (<TensorImpl>piece).one_of_many = True
        return made


cdef inline int _dim(PyObject* value, int rank) except -2:
    """The dimension `value` names, counted from the front; -1 where it names none."""
    cdef int64_t given
    cdef int bound = rank if rank > 0 else 1
    if not reads_integer(value, &given) or given < -bound or given >= bound:
        return -1
    return <int>(given + bound if given < 0 else given)


# Other sizes

cdef object _shaped(TensorImpl base, int rank, const int64_t* sizes):
    cdef int64_t strides[MAXIMUM_DIMS]
    if not view_strides(base, rank, sizes, strides):
        return None
    return view_of(base, rank, sizes, strides, base.offset)


cdef object _reshape(TensorImpl base, PyObject** stack):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int rank = inferred_sizes(base, <object>stack[1], sizes)
    return _shaped(base, rank, sizes)


cdef object _view_as(TensorImpl base, PyObject** stack):
    cdef TensorImpl other = <TensorImpl>stack[1]
    if base.count != other.count:
        return None
    return _shaped(base, other.rank, other.sizes)


cdef object _ravel(TensorImpl base, PyObject** stack):
    return _shaped(base, 1, &base.count) if base.contiguous else None


cdef object _flatten(TensorImpl base, PyObject** stack):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int start = _dim(stack[1], base.rank), end = _dim(stack[2], base.rank), dim, rank
    if start < 0 or start > end:
        return None
    if start == end:
        return base if base.rank else _shaped(base, 1, &base.count)
    for dim in range(start + 1):
        sizes[dim] = base.sizes[dim]
    rank = start + 1
    for dim in range(start + 1, base.rank):
        if dim > end:
            sizes[rank] = base.sizes[dim]
            rank += 1
        elif __builtin_mul_overflow(sizes[start], base.sizes[dim], &sizes[start]):
            return None
    return _shaped(base, rank, sizes)


cdef object _unflatten(TensorImpl base, PyObject** stack):
    cdef int64_t parts[MAXIMUM_DIMS]
    cdef int64_t sizes[2 * MAXIMUM_DIMS]
    cdef int64_t known = 1
    cdef int dim = _dim(stack[1], base.rank), place, missing = -1, count
    if base.rank == 0 or dim < 0:
        return None
    count = <int>read_sizes(<object>stack[2], parts, MAXIMUM_DIMS)
    if count == 0 or base.rank - 1 + count > MAXIMUM_DIMS:
        return None
    for place in range(count):
        if parts[place] == -1 and missing < 0:
            missing = place
        elif parts[place] < 0 or __builtin_mul_overflow(known, parts[place], &known):
            return None
    if missing >= 0:
        if known == 0:
            return None
        parts[missing] = base.sizes[dim] // known
        known *= parts[missing]
    if known != base.sizes[dim]:
        return None
    for place in range(dim):
        sizes[place] = base.sizes[place]
    for place in range(count):
        sizes[dim + place] = parts[place]
    for place in range(dim + 1, base.rank):
        sizes[count - 1 + place] = base.sizes[place]
    return _shaped(base, base.rank - 1 + count, sizes)


cdef object _expanded(TensorImpl base, int rank, const int64_t* sizes):
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int leading = rank - base.rank, dim
    if leading < 0:
        return None
    for dim in range(leading):
        strides[dim] = 0
        if sizes[dim] < 0:
            return None
    for dim in range(leading, rank):
        strides[dim] = base.strides[dim - leading]
        if sizes[dim] == base.sizes[dim - leading]:
            continue
        if base.sizes[dim - leading] != 1 or sizes[dim] < 0:
            return None
        strides[dim] = 0
    return view_of(base, rank, sizes, strides, base.offset)


cdef object _expand_as(TensorImpl base, PyObject** stack):
    cdef TensorImpl other = <TensorImpl>stack[1]
    return _expanded(base, other.rank, other.sizes)


cdef object _broadcast_to(TensorImpl base, PyObject** stack):
    cdef int64_t sizes[MAXIMUM_DIMS]
    return _expanded(base, <int>read_sizes(<object>stack[1], sizes, MAXIMUM_DIMS), sizes)


cdef object _atleast_1d(TensorImpl base, PyObject** stack):
    return base if base.rank else _shaped(base, 1, &base.count)


cdef object _atleast_2d(TensorImpl base, PyObject** stack):
    cdef int64_t[2] sizes = [1, 1]
    if base.rank == 0:
        return _shaped(base, 2, sizes)
    return unsqueezed(base, 0) if base.rank == 1 else base


cdef object _atleast_3d(TensorImpl base, PyObject** stack):
    cdef object rows
    if base.rank > 2:
        return base
    rows = _atleast_2d(base, stack)
    return unsqueezed(<TensorImpl>rows, 2)


# Another order of dimensions

cdef object _movedim(TensorImpl base, PyObject** stack):
    cdef int source = _dim(stack[1], base.rank), destination = _dim(stack[2], base.rank)
    return _moved(base, 1, &source, &destination)


cdef object _movedims(TensorImpl base, PyObject** stack):
    cdef int sources[MAXIMUM_DIMS]
    cdef int destinations[MAXIMUM_DIMS]
    cdef tuple given = <tuple>stack[1], wanted = <tuple>stack[2]
    cdef Py_ssize_t count = len(given), place
    if len(wanted) != count or count > base.rank:
        return None
    for place in range(count):
        sources[place] = _dim(<PyObject*>given[place], base.rank)
        destinations[place] = _dim(<PyObject*>wanted[place], base.rank)
    return _moved(base, <int>count, sources, destinations)


cdef object _moved(TensorImpl base, int count, const int* sources, const int* destinations):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int from_place[MAXIMUM_DIMS]
    cdef bint moves[MAXIMUM_DIMS]
    cdef int dim, place, other = 0
    if base.rank == 0:
        return None
    for dim in range(base.rank):
        from_place[dim] = -1
        moves[dim] = False
    for place in range(count):
        if sources[place] < 0 or destinations[place] < 0:
            return None
        if moves[sources[place]] or from_place[destinations[place]] >= 0:
            return None
        moves[sources[place]] = True
        from_place[destinations[place]] = sources[place]
    for place in range(base.rank):
        dim = from_place[place]
        if dim < 0:
            while moves[other]:
                other += 1
            dim = other
            other += 1
        sizes[place] = base.sizes[dim]
        strides[place] = base.strides[dim]
    return view_of(base, base.rank, sizes, strides, base.offset)


cdef object _reversed_dims(TensorImpl base, PyObject** stack):
    return swapped(base, 0, 1) if base.rank == 2 else None


cdef object _transposed(TensorImpl base, PyObject** stack):
    return swapped(base, base.rank - 2, base.rank - 1) if base.rank >= 2 else None


cdef object _adjoint(TensorImpl base, PyObject** stack):
    """Of real tensors, whose conjugates are themselves."""
    return _transposed(base, stack) if category_of(base.dtype_code) != COMPLEX else None


cdef object _matrix_adjoint(TensorImpl base, PyObject** stack):
    return _adjoint(base, stack) if base.rank == 2 else None


# Pieces

cdef Tensor _piece(TensorImpl base, int dim, int64_t start, int64_t length):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int place
    for place in range(base.rank):
        sizes[place] = base.sizes[place]
    sizes[dim] = length
    return view_of(base, base.rank, sizes, base.strides, base.offset + start * base.strides[dim])


cdef inline void _put(tuple pieces, Py_ssize_t place, object piece) noexcept:
    Py_INCREF(piece)
    PyTuple_SET_ITEM(pieces, place, piece)


cdef object _narrow(TensorImpl base, PyObject** stack):
    cdef int64_t start, length
    cdef int dim = _dim(stack[1], base.rank)
    if base.rank == 0 or dim < 0:
        return None
    if not reads_integer(stack[2], &start) or not reads_integer(stack[3], &length):
        return None
    if length < 0 or start < -base.sizes[dim] or start > base.sizes[dim]:
        return None
    if start < 0:
        start += base.sizes[dim]
    return _piece(base, dim, start, length) if start <= base.sizes[dim] - length else None


cdef tuple _split_evenly(TensorImpl base, int dim, int64_t length):
    """Pieces of `length`, of which the last one may be smaller; there is one or more."""
    cdef int64_t extent = base.sizes[dim], place
    cdef int64_t count = extent // length + (extent % length != 0)
    cdef tuple pieces = PyTuple_New(count)
    for place in range(count):
        _put(pieces, place, _piece(base, dim, place * length,
                                   min(length, extent - place * length)))
    return pieces


cdef object _split(TensorImpl base, PyObject** stack):
    cdef int64_t length
    cdef int dim = _dim(stack[2], base.rank)
    if base.rank == 0 or dim < 0 or not reads_integer(stack[1], &length):
        return None
    if length < 1 or base.sizes[dim] == 0:
        return None
    return _split_evenly(base, dim, length)


cdef object _chunk(TensorImpl base, PyObject** stack):
    cdef int64_t count, extent
    cdef int dim = _dim(stack[2], base.rank)
    if base.rank == 0 or dim < 0 or not reads_integer(stack[1], &count):
        return None
    extent = base.sizes[dim]
    if count < 1 or extent == 0:
        return None
    return _split_evenly(base, dim, extent // count + (extent % count != 0))


cdef object _split_with_sizes(TensorImpl base, PyObject** stack):
    cdef tuple lengths = <tuple>stack[1], pieces
    cdef Py_ssize_t count = len(lengths), place
    cdef int64_t start = 0, length
    cdef int dim = _dim(stack[2], base.rank)
    if base.rank == 0 or dim < 0:
        return None
    pieces = PyTuple_New(count)
    for place in range(count):
        if not reads_integer(<PyObject*>lengths[place], &length):
            return None
        if length < 0 or length > base.sizes[dim] - start:
            return None
        _put(pieces, place, _piece(base, dim, start, length))
        start += length
    return pieces if start == base.sizes[dim] else None


cdef object _unbind(TensorImpl base, PyObject** stack):
    cdef int64_t place
    cdef tuple pieces
    cdef int dim = _dim(stack[1], base.rank)
    if base.rank == 0 or dim < 0:
        return None
    pieces = PyTuple_New(base.sizes[dim])
    for place in range(base.sizes[dim]):
        _put(pieces, place, selected(base, dim, place))
    return pieces


cdef object _in_sections(TensorImpl base, int dim, int64_t count):
    cdef int64_t length, longer, place, start = 0, taken
    cdef tuple pieces
    if count < 1 or count > MOST_PIECES:
        return None
    length, longer = base.sizes[dim] // count, base.sizes[dim] % count
    pieces = PyTuple_New(count)
    for place in range(count):
        taken = length + (place < longer)
        _put(pieces, place, _piece(base, dim, start, taken))
        start += taken
    return pieces


cdef object _cut_at(TensorImpl base, int dim, tuple indices):
    cdef Py_ssize_t count = len(indices), place
    cdef int64_t start, end
    cdef tuple pieces = PyTuple_New(count + 1)
    for place in range(count + 1):
        slice_bounds(base.sizes[dim], indices[place - 1] if place > 0 else None,
                     indices[place] if place < count else None, &start, &end)
        _put(pieces, place, _piece(base, dim, start, end - start))
    return pieces


cdef object _sections(TensorImpl base, PyObject** stack):
    cdef int64_t count
    cdef int dim = _dim(stack[2], base.rank)
    if base.rank == 0 or dim < 0 or not reads_integer(stack[1], &count):
        return None
    return _in_sections(base, dim, count)


cdef object _indices(TensorImpl base, PyObject** stack):
    cdef int dim = _dim(stack[2], base.rank)
    if base.rank == 0 or dim < 0:
        return None
    return _cut_at(base, dim, <tuple>stack[1])


cdef object _equal_sections(TensorImpl base, int dim, PyObject* given):
    cdef int64_t count
    if not reads_integer(given, &count) or count < 1 or base.sizes[dim] % count:
        return None
    return _in_sections(base, dim, count)


cdef object _side_by_side(TensorImpl base, PyObject** stack):
    return _equal_sections(base, base.rank > 1, stack[1]) if base.rank else None


cdef object _side_by_side_at(TensorImpl base, PyObject** stack):
    return _cut_at(base, base.rank > 1, <tuple>stack[1]) if base.rank else None


cdef object _in_rows(TensorImpl base, PyObject** stack):
    return _equal_sections(base, 0, stack[1]) if base.rank > 1 else None


cdef object _in_rows_at(TensorImpl base, PyObject** stack):
    return _cut_at(base, 0, <tuple>stack[1]) if base.rank > 1 else None


cdef object _in_depth(TensorImpl base, PyObject** stack):
    return _equal_sections(base, 2, stack[1]) if base.rank > 2 else None


cdef object _in_depth_at(TensorImpl base, PyObject** stack):
    return _cut_at(base, 2, <tuple>stack[1]) if base.rank > 2 else None


cdef dict _FUNCTIONS = {
    "reshape": <size_t>_reshape,
    "view_as": <size_t>_view_as,
    "ravel": <size_t>_ravel,
    "flatten": <size_t>_flatten,
    "unflatten": <size_t>_unflatten,
    "expand_as": <size_t>_expand_as,
    "broadcast_to": <size_t>_broadcast_to,
    "atleast_1d": <size_t>_atleast_1d,
    "atleast_2d": <size_t>_atleast_2d,
    "atleast_3d": <size_t>_atleast_3d,
    "movedim": <size_t>_movedim,
    "movedims": <size_t>_movedims,
    "reversed_dims": <size_t>_reversed_dims,
    "transposed": <size_t>_transposed,
    "adjoint": <size_t>_adjoint,
    "matrix_adjoint": <size_t>_matrix_adjoint,
    "narrow": <size_t>_narrow,
    "split": <size_t>_split,
    "chunk": <size_t>_chunk,
    "split_with_sizes": <size_t>_split_with_sizes,
    "unbind": <size_t>_unbind,
    "sections": <size_t>_sections,
    "indices": <size_t>_indices,
    "side_by_side": <size_t>_side_by_side,
    "side_by_side_at": <size_t>_side_by_side_at,
    "in_rows": <size_t>_in_rows,
    "in_rows_at": <size_t>_in_rows_at,
    "in_depth": <size_t>_in_depth,
    "in_depth_at": <size_t>_in_depth_at,
}
NAMES = tuple(_FUNCTIONS)
