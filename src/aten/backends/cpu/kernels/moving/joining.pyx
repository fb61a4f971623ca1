# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Several tensors copied into one, side by side along a dimension.

The result is rows, one for each index of the dimensions before; a row is made of one run of memory
from every tensor. Where tensors lie otherwise, each is moved on its own; where they are of other
types than the result, the operator that copies converts them.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from aten._core.base.device cimport CHANNELS_LAST, CHANNELS_LAST_3D, CONTIGUOUS_FORMAT, CPU
from aten._core.base.dtypes cimport item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.base.strides cimport format_strides
from aten._core.dispatch.dispatcher cimport OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_integer
from aten._core.tensor.making cimport make_alias, make_contiguous, make_strided
from aten._core.tensor.memory cimport may_overlap
from aten._core.tensor.promotion cimport Promotion, begin_promotion, promote_tensor, promoted
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, is_lazy)
from aten._core.threads.parallel cimport parallel_for
from aten._core.views.views cimport view_of
from aten.backends.cpu.kernels.moving.conversion cimport byte_copy
from aten.backends.cpu.kernels.moving.moving cimport move_elements, move_run

cdef extern from *:
    bint __builtin_add_overflow(int64_t, int64_t, int64_t*) noexcept nogil

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject** PySequence_Fast_ITEMS(PyObject*) noexcept
    PyObject* Py_False

cdef enum:
    INLINE_PIECES = 16
    # Bytes in one chunk of work for the threads, and in a block of short rows.
    GRAIN_BYTES = 1 << 17
    BLOCK_BYTES = 1 << 14
    # From this many bytes on, other Python threads may run meanwhile.
    RELEASE_BYTES = 1 << 17
    # Rows up to this length are copied piece by piece, many rows at a time.
    SHORT_ROW = 512

NAMES = ("cat", "stack")

cdef struct Piece:
    const char* data
    int64_t bytes               # of one row's run
    int64_t row_stride          # bytes

cdef struct Join:
    char* target
    int64_t row_bytes
    int64_t rows
    int width
    int count
    Piece* pieces

cdef struct Shape:
    # Of a tensor; with a dimension of size one where tensors are stacked.
    int rank
    int64_t sizes[MAXIMUM_DIMS + 1]
    int64_t strides[MAXIMUM_DIMS + 1]


cdef class JoinKernel(FastPath):
    """cat, and stack, which joins along a new dimension; with out= or without.

    `copy` is the operator that copies to a tensor of another type.
    """

    cdef OpOverload copy
    cdef bint has_out

    def __init__(self, native, OpOverload copy not None, replaced, find, otherwise,
                 bint has_out=False):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.copy = copy
        self.has_out = has_out

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* given = stack[0]
        cdef bint stacks = self.native == "stack"
        cdef tuple tensors
        cdef TensorImpl first
        cdef int64_t dim
        cdef int code, bound
        if not PyTuple_CheckExact(given) or PyTuple_GET_SIZE(given) == 0:
            return None
        tensors = <tuple>given if stacks else _without_empty_vectors(<tuple>given)
        if tensors is None:
            return None
        first = <TensorImpl>PySequence_Fast_ITEMS(<PyObject*>tensors)[0]
        if not reads_integer(stack[1], &dim):
            return None
        bound = first.rank + stacks
        if dim < -bound or dim >= bound or (first.rank == 0 and not stacks):
            return None
        if dim < 0:
            dim += bound
        code = self.common_type(tensors, first, <int>dim, stacks)
        if code < 0:
            return None
        if tensors is not <tuple>given and _common_format(tensors, first) != CONTIGUOUS_FORMAT:
            # What was left out has no such format: it counts for that.
            return None
        if len(tensors) == 1 and not stacks and not self.has_out:
            made = byte_copy(first, CONTIGUOUS_FORMAT)
            if made is not None:
                return made
        return self.joined(tensors, first, <int>dim, code, stacks,
                           stack[2] if self.has_out else NULL)

    cdef int common_type(self, tuple tensors, TensorImpl first, int dim, bint stacks) except -2:
        """The result's element type; -1 where tensors do not fit together, or not to each other."""
        cdef PyObject** items = PySequence_Fast_ITEMS(<PyObject*>tensors)
        cdef Py_ssize_t count = PyTuple_GET_SIZE(<PyObject*>tensors), index
        cdef bint alike = True
        cdef Promotion state
        cdef TensorImpl tensor
        cdef int place
        for index in range(count):
            if Py_TYPE(items[index]) != <PyTypeObject*>Tensor:
                return -1
            tensor = <TensorImpl>items[index]
            if tensor.device_type != CPU or tensor.rank != first.rank or is_lazy(tensor):
                return -1
            for place in range(first.rank):
                if tensor.sizes[place] != first.sizes[place] and (stacks or place != dim):
                    return -1
            # It may have become one meanwhile.
            if _is_empty_vector(tensor):
                return -1
            alike &= tensor.dtype_code == first.dtype_code
        if alike:
            return first.dtype_code
        begin_promotion(&state)
        for index in range(count):
            promote_tensor(&state, <TensorImpl>items[index])
        return promoted(&state)

    cdef object joined(self, tuple tensors, TensorImpl first, int dim, int code, bint stacks,
                       PyObject* given_out):
        cdef Shape shape
        cdef TensorImpl out
        cdef int format_code = _common_format(tensors, first)
        if format_code != CONTIGUOUS_FORMAT and stacks:
            return None
        if not _join_shapes(tensors, dim, stacks, &shape):
            return None
        if given_out != NULL:
            out = <TensorImpl>given_out
            if Py_TYPE(given_out) != <PyTypeObject*>Tensor or out.device_type != CPU:
                return None
            data_pointer(out)
        elif format_code == CONTIGUOUS_FORMAT:
            out = make_contiguous(code, shape.rank, shape.sizes, CPU, first.device_index)
        else:
            format_strides(format_code, shape.rank, shape.sizes, shape.strides)
            out = make_strided(code, shape.rank, shape.sizes, shape.strides, CPU,
                               first.device_index)
        if not self.fits(tensors, first, dim, code, stacks, &shape):
            return None
        if given_out != NULL and not _takes(out, tensors, code, &shape):
            return None
        if (out.count and not _joins_rows(tensors, dim, code, stacks, out)
                and not self.copy_each(tensors, dim, code, stacks, out, &shape)):
            return None
        if given_out != NULL:
            count_write(out)
        return out

    cdef bint fits(self, tuple tensors, TensorImpl first, int dim, int code, bint stacks,
                   Shape* expected) except -1:
        """Whether tensors join to what they did: memory was asked for, other threads may have run.
        """
        cdef Shape shape
        if self.common_type(tensors, first, dim, stacks) != code:
            return False
        return _join_shapes(tensors, dim, stacks, &shape) and _same_sizes(&shape, expected)

    cdef bint copy_each(self, tuple tensors, int dim, int code, bint stacks, TensorImpl given,
                        Shape* expected) except -1:
        """One tensor after the other to its place in `given`; nothing where they do not fit now.

        Other threads may run after the first of them, and change those that are still to come.
        """
        cdef tuple windows = tuple([make_alias(<TensorImpl>one) for one in tensors])
        cdef TensorImpl out = make_alias(given)
        cdef PyObject** items = PySequence_Fast_ITEMS(<PyObject*>windows)
        cdef PyObject* arguments[3]
        cdef int64_t start = 0, length
        cdef int64_t sizes[MAXIMUM_DIMS]
        cdef int64_t strides[MAXIMUM_DIMS]
        cdef Shape shape
        cdef TensorImpl tensor
        cdef Tensor window
        cdef Py_ssize_t index
        cdef int width = item_size(out.dtype_code)
        cdef char* target = data_pointer(out)
        cdef char* place
        cdef const char* source_data
        if out.dtype_code != code or out.rank != expected.rank:
            return False
        for index in range(out.rank):
            if out.sizes[index] != expected.sizes[index]:
                return False
        if not self.fits(windows, <TensorImpl>items[0], dim, code, stacks, expected):
            return False
        memcpy(sizes, out.sizes, out.rank * sizeof(int64_t))
        memcpy(strides, out.strides, out.rank * sizeof(int64_t))
        for index in range(PyTuple_GET_SIZE(<PyObject*>windows)):
            tensor = <TensorImpl>items[index]
            _read_shape(tensor, dim, stacks, &shape)
            sizes[dim] = length = shape.sizes[dim]
            if tensor.dtype_code == out.dtype_code:
                place = target + start * strides[dim] * width
                source_data = const_data_pointer(tensor)
                with nogil:
                    move_elements(width, shape.rank, sizes, place, strides, source_data,
                                  shape.strides)
            elif tensor.count:
                window = view_of(out, out.rank, sizes, out.strides,
                                 out.offset + start * out.strides[dim])
                source = view_of(tensor, shape.rank, shape.sizes, shape.strides, tensor.offset)
                arguments[0] = <PyObject*>window
                arguments[1] = <PyObject*>source
                arguments[2] = Py_False
                self.copy.call_stack(arguments)
            start += length
        return True


cdef tuple _without_empty_vectors(tuple tensors):
    """All but vectors without elements, which are left out whatever the others are; None where
    nothing else is there, or where those of a type of their own may change the result's."""
    cdef PyObject** items = PySequence_Fast_ITEMS(<PyObject*>tensors)
    cdef Py_ssize_t count = PyTuple_GET_SIZE(<PyObject*>tensors), index
    cdef bint are_some = False
    cdef TensorImpl tensor
    for index in range(count):
        if Py_TYPE(items[index]) != <PyTypeObject*>Tensor:
            return None
        are_some |= _is_empty_vector(<TensorImpl>items[index])
    if not are_some:
        return tensors
    left = tuple([one for one in tensors if not _is_empty_vector(<TensorImpl>one)])
    if not left:
        return None
    for index in range(count):
        tensor = <TensorImpl>items[index]
        if tensor.dtype_code != (<TensorImpl>left[0]).dtype_code or tensor.device_type != CPU:
            return None
    return left


cdef inline bint _is_empty_vector(TensorImpl tensor) noexcept:
    return tensor.rank == 1 and tensor.count == 0


cdef bint _join_shapes(tuple tensors, int dim, bint stacks, Shape* shape) noexcept:
    """Write the shape of the result; False where there is none."""
    cdef PyObject** items = PySequence_Fast_ITEMS(<PyObject*>tensors)
    cdef Py_ssize_t index
    cdef int64_t extent = 0
    _read_shape(<TensorImpl>items[0], dim, stacks, shape)
    if shape.rank > MAXIMUM_DIMS:
        return False
    for index in range(PyTuple_GET_SIZE(<PyObject*>tensors)):
        if __builtin_add_overflow(
                extent, 1 if stacks else (<TensorImpl>items[index]).sizes[dim], &extent):
            return False
    shape.sizes[dim] = extent
    return True


cdef bint _same_sizes(Shape* one, Shape* other) noexcept:
    cdef int place
    if one.rank != other.rank:
        return False
    for place in range(one.rank):
        if one.sizes[place] != other.sizes[place]:
            return False
    return True


cdef inline void _read_shape(TensorImpl tensor, int dim, bint stacks, Shape* shape) noexcept:
    cdef int place
    shape.rank = tensor.rank + stacks
    for place in range(tensor.rank):
        shape.sizes[place + (stacks and place >= dim)] = tensor.sizes[place]
        shape.strides[place + (stacks and place >= dim)] = tensor.strides[place]
    if stacks:
        shape.sizes[dim] = 1
        shape.strides[dim] = 1


cdef bint _takes(TensorImpl out, tuple tensors, int code, Shape* shape) except -1:
    """Whether `out` is a place for the result as it is."""
    cdef int place
    if (out.dtype_code != code or out.rank != shape.rank or not out.contiguous
            or is_lazy(out)):
        return False
    for place in range(out.rank):
        if out.sizes[place] != shape.sizes[place]:
            return False
    for tensor in tensors:
        if tensor is out or may_overlap(<TensorImpl>tensor, out):
            return False
    return True


cdef int _common_format(tuple tensors, TensorImpl first) except -1:
    """The memory format that all tensors have, where it is none that every tensor can have."""
    if first.rank != 4 and first.rank != 5:
        return CONTIGUOUS_FORMAT
    for tensor in tensors:
        if not _lies_channels_last(<TensorImpl>tensor):
            return CONTIGUOUS_FORMAT
    return CHANNELS_LAST if first.rank == 4 else CHANNELS_LAST_3D


cdef bint _lies_channels_last(TensorImpl tensor) noexcept:
    """Whether strides grow from channels over the spatial dimensions to the batch, gaps or not.

    Where this is so in the usual order as well, as with one channel and no space, it is not meant.
    """
    cdef int64_t least = 0
    cdef int position, dim
    if tensor.strides[1] == 0:
        return False
    for position in range(tensor.rank):
        dim = 1 if position == 0 else tensor.rank - position
        if position == tensor.rank - 1:
            dim = 0
        if (tensor.sizes[dim] == 0 or tensor.strides[dim] < least
                or (dim == 0 and least == tensor.strides[1])):
            return False
        least = tensor.strides[dim] * tensor.sizes[dim]
    return True


# Rows

cdef bint _joins_rows(tuple tensors, int dim, int code, bint stacks, TensorImpl out) except -1:
    """Copy all tensors, if their elements lie in rows as the result's do; else nothing."""
    cdef PyObject** items = PySequence_Fast_ITEMS(<PyObject*>tensors)
    cdef Py_ssize_t count = PyTuple_GET_SIZE(<PyObject*>tensors), index
    cdef Piece inline_pieces[INLINE_PIECES]
    cdef Join join
    cdef Shape shape
    cdef TensorImpl tensor
    cdef int place
    if not out.contiguous or count > 1 << 30:
        return False
    join.pieces = inline_pieces
    join.count = <int>count
    join.width = item_size(code)
    join.target = data_pointer(out)
    join.rows = 1
    join.row_bytes = 0
    for place in range(dim):
        join.rows *= out.sizes[place]
    if count > INLINE_PIECES:
        join.pieces = <Piece*>PyMem_Malloc(count * sizeof(Piece))
        if join.pieces == NULL:
            raise MemoryError()
    try:
        for index in range(count):
            tensor = <TensorImpl>items[index]
            if tensor.dtype_code != code:
                return False
            _read_shape(tensor, dim, stacks, &shape)
            if not _read_piece(tensor, &shape, dim, join.rows, &join.pieces[index]):
                return False
            join.row_bytes += join.pieces[index].bytes
        _run(&join)
    finally:
        if join.pieces != inline_pieces:
            PyMem_Free(join.pieces)
    return True


cdef inline bint _read_piece(TensorImpl tensor, Shape* shape, int dim, int64_t rows,
                             Piece* piece) noexcept:
    """Whether the dimensions from `dim` on are one run of memory, and those before even steps."""
    cdef int64_t width = item_size(tensor.dtype_code), expected = 1, stride = -1
    cdef int place
    piece.data = const_data_pointer(tensor)
    if tensor.contiguous:
        piece.bytes = tensor.count // rows * width
        piece.row_stride = piece.bytes
        return True
    for place in range(shape.rank - 1, -1, -1):
        if place == dim - 1:
            piece.bytes = expected * width
            expected = -1
        if shape.sizes[place] == 1:
            continue
        if place >= dim:
            if shape.strides[place] != expected:
                return False
        elif expected < 0:
            stride = shape.strides[place]
            expected = stride
        elif shape.strides[place] != expected:
            return False
        expected *= shape.sizes[place]
    if dim == 0:
        piece.bytes = expected * width
    piece.row_stride = stride * width
    return True


cdef int _run(Join* join) except -1:
    cdef int64_t total = join.rows * join.row_bytes
    if total < RELEASE_BYTES:
        if join.row_bytes <= SHORT_ROW and join.rows > 1:
            _join_short_rows(join, 0, join.rows)
        else:
            _join_bytes(join, 0, total)
        return 0
    with nogil:
        if join.row_bytes <= SHORT_ROW:
            parallel_for(join.rows, GRAIN_BYTES // join.row_bytes, _join_short_rows, join)
        else:
            parallel_for(total, GRAIN_BYTES, _join_bytes, join)
    return 0


cdef void _join_bytes(void* context, int64_t begin, int64_t end) noexcept nogil:
    """The bytes from `begin` to `end` of the result."""
    cdef Join* join = <Join*>context
    cdef int64_t row = begin // join.row_bytes, skipped = begin % join.row_bytes, taken
    cdef char* target = join.target + begin
    cdef char* stop = join.target + end
    cdef Piece* piece
    cdef int index
    while target < stop:
        for index in range(join.count):
            piece = &join.pieces[index]
            if skipped >= piece.bytes:
                skipped -= piece.bytes
                continue
            taken = min(piece.bytes - skipped, stop - target)
            memcpy(target, piece.data + row * piece.row_stride + skipped, taken)
            target += taken
            skipped = 0
            if target == stop:
                return
        row += 1


cdef void _join_short_rows(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Rows `begin` to `end`, in blocks that stay in the cache while each piece is put in."""
    cdef Join* join = <Join*>context
    cdef int64_t block = max(1, BLOCK_BYTES // join.row_bytes), row = begin, count, place, offset
    cdef Piece* piece
    cdef int index
    while row < end:
        count = min(block, end - row)
        offset = row * join.row_bytes
        for index in range(join.count):
            piece = &join.pieces[index]
            if piece.bytes == join.width:
                move_run(join.width, join.target + offset, join.row_bytes,
                         piece.data + row * piece.row_stride, piece.row_stride, count)
            else:
                for place in range(count):
                    memcpy(join.target + offset + place * join.row_bytes,
                           piece.data + (row + place) * piece.row_stride, piece.bytes)
            offset += piece.bytes
        row += count
