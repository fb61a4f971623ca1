# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""`tensor[index]` and `tensor[index] = value`.

Integers, slices, None and Ellipsis make one view, whose geometry is computed at once where the
rows of the operators that would make it step by step hold the compiled views. Where a row holds
something else, or a trace is on, these operators are called one after the other. Tensors and lists
as indices go to the operators that gather and scatter. Which operators these all are is said from
outside (`install`).
"""

import sys

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport BOOL, FLOAT32, FLOAT64, INT64, INT8, UINT8
from aten._core.base.keys cimport DispatchKeySet, LocalState, local_state, row_index
from aten._core.base.keys import DispatchKey
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.dispatch.dispatcher cimport OpOverload
from aten._core.tensor.python_numbers cimport write_element
from aten._core.tensor.python_numbers import item
from aten._core.tensor.construct import from_array_interface, tensor_from_data
from aten._core.tensor.making import is_fake, row_of
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, count_write, data_pointer
from aten._core.views.views cimport ViewKernel, view_of
from aten.backends.cpu.kernels.pointwise.pointwise import PointwiseKernel

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyLong_CheckExact(PyObject*) noexcept
    bint PyBool_Check(object) noexcept
    bint PyFloat_CheckExact(object) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept
    bint PySlice_Check(PyObject*) noexcept
    bint PyIndex_Check(object) noexcept
    object PyNumber_Index(object)
    PyObject* Py_Ellipsis
    PyObject* Py_None
    PyObject* Py_False
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*) except? -1
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t) noexcept
    int PySlice_Unpack(PyObject*, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t*, Py_ssize_t*, Py_ssize_t) noexcept

cdef enum:
    # The views an index is made of, in the order of _VIEWS.
    SELECT = 0
    SLICE = 1
    UNSQUEEZE = 2
    ALIAS = 3
    VIEW_COUNT = 4

_VIEWS = ("select", "slice", "unsqueeze", "alias")


cdef class _Operators:
    """The operators indexing is made of, and the compiled views found in their rows."""

    cdef list views
    cdef list compiled              # owned, so that no other kernel takes a view's address
    cdef object index, index_put, copy, fill
    cdef object filling             # the compiled kernel last found in the row of `fill`

    def __init__(self, dict given):
        self.views = [given[name] for name in _VIEWS]
        self.compiled = [None] * VIEW_COUNT
        self.index = given["index"]
        self.index_put = given["index_put"]
        self.copy = given["copy"]
        self.fill = given["fill"]

    cdef inline bint is_compiled(self, int place, uint64_t keys) noexcept:
        """Whether a call with these keys is known to end in the compiled view, nothing before it."""
        cdef OpOverload op = <OpOverload>(<list>self.views)[place]
        cdef PyObject* served
        if op.row == NULL:
            return False
        served = op.row[row_index(keys & op.mask)]
        return served != NULL and served == <PyObject*>(<list>self.compiled)[place]

    cdef int find_compiled(self, int place, uint64_t keys) except -1:
        """Look whether it does. Runs Python code, and by it anything."""
        cdef OpOverload op = <OpOverload?>self.views[place]
        cdef object kernel
        if op.is_as_made(keys):
            kernel = op.kernel_for(keys & op.mask)
            if type(kernel) is ViewKernel and (<ViewKernel>kernel).native == _VIEWS[place]:
                self.compiled[place] = kernel
        return 0

    cdef bint fills_plainly(self, uint64_t keys) except -1:
        """Whether a call of fill with these keys ends in its compiled loops, nothing before it."""
        cdef OpOverload op = <OpOverload?>self.fill
        cdef PyObject* served
        if op.row != NULL:
            served = op.row[row_index(keys & op.mask)]
            if served != NULL and served == <PyObject*>self.filling:
                return True
        if not op.is_as_made(keys):
            return False
        kernel = op.kernel_for(keys & op.mask)
        if type(kernel) is not PointwiseKernel:
            return False
        self.filling = kernel
        return True


cdef uint64_t _PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits
# Where a slice ends that ends with its dimension.
cdef Py_ssize_t _END = sys.maxsize
cdef object _make_operators = None
cdef _Operators _operators = None


def install(operators not None):
    """Sets which operators index: `operators()`, called when first needed, gives them by role.

    The roles: select, slice, unsqueeze, alias, index, index_put, copy, fill.
    """
    global _make_operators, _operators
    _make_operators = operators
    _operators = None


cdef _Operators operators():
    global _operators
    if _operators is None:
        _operators = _Operators(_make_operators())
    return _operators


def getitem(Tensor tensor not None, index):
    """A view for integers, slices, None and Ellipsis; gathered elements for tensors and lists.

    Raises IndexError for what is out of range or no index, ValueError for steps below one.
    """
    cdef object found = _view_at(tensor, index)
    if found is not None:
        return found
    if _is_only_index(tensor, index):
        return _index_by(tensor, [index])
    view, indices = _apply(tensor, _items(index))
    if indices:
        return _index_by(view, indices)
    return operators().views[ALIAS](tensor) if view is tensor else view


cdef bint _is_only_index(Tensor tensor, object index) except -1:
    """Whether an index is a tensor that nothing needs to be done to before it chooses elements."""
    cdef TensorImpl given
    if Py_TYPE(<PyObject*>index) != <PyTypeObject*>Tensor:
        return False
    given = index
    return 0 < given.rank and tensor.rank and (
        given.dtype_code == INT64 or (given.dtype_code == BOOL and given.rank <= tensor.rank))


cdef object _index_by(object tensor, list indices):
    cdef PyObject* stack[2]
    stack[0] = <PyObject*>tensor
    stack[1] = <PyObject*>indices
    return (<OpOverload?>operators().index).call_stack(stack)


def setitem(Tensor tensor not None, index, value):
    """Writes a number or a tensor, broadcast, to the elements that `tensor[index]` would give.

    Raises what `getitem` raises, RuntimeError for values of other shapes, TypeError for values
    that are no numbers.
    """
    cdef list indices = []
    cdef object view = _view_at(tensor, index)
    if view is None:
        view, indices = _apply(tensor, _items(index))
    if indices:
        _put(tensor, view, indices, value)
    elif _write_number(view, value):
        return
    elif isinstance(value, Tensor):
        _copy_to(view, _without_leading_ones(value, (<Tensor>view).rank))
    else:
        operators().fill(view, _number(tensor, value))


cdef int _copy_to(Tensor view, Tensor value) except -1:
    cdef PyObject* stack[3]
    if (Py_TYPE(<PyObject*>view) != <PyTypeObject*>Tensor
            or Py_TYPE(<PyObject*>value) != <PyTypeObject*>Tensor):
        operators().copy(view, value)
        return 0
    stack[0], stack[1], stack[2] = <PyObject*>view, <PyObject*>value, Py_False
    (<OpOverload?>operators().copy).call_stack(stack)
    return 0


cdef bint _write_number(Tensor view, object value) except -1:
    """Write a number that surely fits to a single element, if a call of fill_ would just do that."""
    cdef LocalState* state = local_state()
    cdef int code = view.dtype_code
    cdef int overflow = 0
    if view.count != 1 or view.device_type != CPU or state.tracing != 0:
        return False
    if code == FLOAT32 or code == FLOAT64:
        if not PyFloat_CheckExact(value) and not PyLong_CheckExact(<PyObject*>value):
            return False
    elif INT8 <= code <= INT64 or code == UINT8:
        if not PyLong_CheckExact(<PyObject*>value):
            return False
    elif code != BOOL or not PyBool_Check(value):
        return False
    if PyLong_CheckExact(<PyObject*>value):
        PyLong_AsLongLongAndOverflow(<PyObject*>value, &overflow)
    if overflow:
        return False
    if not operators().fills_plainly((view.keys | state.included) & ~state.excluded):
        return False
    if view.count != 1:
        # The look at the row of `fill` may have run what changes tensors.
        return False
    write_element(data_pointer(view), code, value)
    count_write(view)
    return True


cdef object _view_at(Tensor tensor, object index):
    """The view at `index`, if that is made of compiled views alone; else None."""
    cdef PyObject* items[2 * MAXIMUM_DIMS]
    cdef PyObject* given = <PyObject*>index
    cdef Py_ssize_t count = 1, position
    cdef LocalState* state = local_state()
    if Py_TYPE(<PyObject*>tensor) != <PyTypeObject*>Tensor or state.tracing != 0:
        return None
    if (tensor.keys | state.included) & ~state.excluded & _PYTHON:
        return None
    if PyTuple_CheckExact(given):
        count = PyTuple_GET_SIZE(given)
        if count > 2 * MAXIMUM_DIMS:
            return None
        for position in range(count):
            items[position] = PyTuple_GET_ITEM(given, position)
    else:
        items[0] = given
    return _computed_view(tensor, items, count, (tensor.keys | state.included) & ~state.excluded)


cdef struct Bounds:
    # What a slice says, as C integers.
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t step


cdef object _computed_view(TensorImpl base, PyObject** items, Py_ssize_t count, uint64_t keys):
    cdef int64_t sizes[3 * MAXIMUM_DIMS]
    cdef int64_t strides[3 * MAXIMUM_DIMS]
    cdef Bounds bounds[2 * MAXIMUM_DIMS]
    cdef int64_t offset, index, size, stride
    cdef Py_ssize_t start, stop, step, length, position
    cdef int dim = 0, rank = 0, specified = 0, place, overflow
    cdef bint used[4]
    cdef bint has_slices = False
    for place in range(VIEW_COUNT):
        used[place] = False
    for position in range(count):
        if PySlice_Check(items[position]):
            has_slices = True
            specified += 1
        elif PyLong_CheckExact(items[position]):
            specified += 1
        elif items[position] != Py_None and items[position] != Py_Ellipsis:
            return None
    # A bound may be any object with __index__, and what that does may change the tensor: nothing
    # is read from it before all bounds are integers.
    if has_slices:
        for position in range(count):
            if PySlice_Check(items[position]):
                PySlice_Unpack(items[position], &bounds[position].start, &bounds[position].stop,
                               &bounds[position].step)
    offset = base.offset
    if specified > base.rank:
        raise _too_many(base)
    for position in range(count):
        if items[position] == Py_None:
            used[UNSQUEEZE] = True
            sizes[rank] = 1
            strides[rank] = base.sizes[dim] * base.strides[dim] if dim < base.rank else 1
            rank += 1
        elif items[position] == Py_Ellipsis:
            for place in range(base.rank - specified):
                sizes[rank], strides[rank] = base.sizes[dim], base.strides[dim]
                rank += 1
                dim += 1
            specified = base.rank       # a second Ellipsis stands for nothing
        elif PySlice_Check(items[position]):
            size, stride = base.sizes[dim], base.strides[dim]
            start, stop = bounds[position].start, bounds[position].stop
            step = bounds[position].step
            if step < 1:
                raise ValueError("step must be greater than zero")
            length = PySlice_AdjustIndices(size, &start, &stop, step)
            if start != 0 or step != 1 or stop != size:
                used[SLICE] = True
            offset += start * stride
            sizes[rank] = length
            strides[rank] = <int64_t>(<uint64_t>stride * <uint64_t>step)
            rank += 1
            dim += 1
        else:
            index = PyLong_AsLongLongAndOverflow(items[position], &overflow)
            size = base.sizes[dim]
            if overflow:
                raise ValueError("Overflow when unpacking long long")
            if index < -size or index >= size:
                raise _out_of_bounds(index, dim, size)
            used[SELECT] = True
            offset += (index + size if index < 0 else index) * base.strides[dim]
            dim += 1
    while dim < base.rank:
        sizes[rank], strides[rank] = base.sizes[dim], base.strides[dim]
        rank += 1
        dim += 1
    if rank > MAXIMUM_DIMS:
        raise IndexError(f"an index gives at most {MAXIMUM_DIMS} dimensions, got {rank}")
    used[ALIAS] = not (used[SELECT] or used[SLICE] or used[UNSQUEEZE])
    for place in range(VIEW_COUNT):
        if used[place] and (_operators is None or not _operators.is_compiled(place, keys)):
            # What the look finds is for the next time: sizes are those of before it.
            operators().find_compiled(place, keys)
            return None
    return view_of(base, rank, sizes, strides, offset)


cdef object _too_many(TensorImpl base):
    if base.rank == 0:
        return IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim "
                          "tensor to a number")
    return IndexError(f"too many indices for tensor of dimension {base.rank}")


cdef object _out_of_bounds(int64_t index, int dim, int64_t size):
    return IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


# What is not made of compiled views alone

cdef list _items(object index):
    """The parts of an index; a list that holds more than numbers stands for a tuple."""
    if isinstance(index, tuple):
        return list(index)
    if isinstance(index, list) and len(index) < 32:
        for part in index:
            if part is None or part is Ellipsis or isinstance(part, (slice, list, tuple, Tensor)):
                return list(index)
    return [index]


cdef int _dims_taken(object part) except -1:
    """How many dimensions of the tensor a part of an index stands for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, Tensor) and _is_mask(<Tensor>part):
        return (<Tensor>part).rank
    return 1


cdef bint _is_mask(Tensor index):
    return index.dtype.name in ("bool", "uint8")


cdef bint _is_unknown_mask(object index):
    """Whether an index is a mask without dimensions of which nobody knows what it is."""
    return (isinstance(index, Tensor) and (<Tensor>index).rank == 0 and _is_mask(index)
            and is_fake(index))


cdef tuple _apply(Tensor tensor, list parts):
    """`tensor` with every plain part of the index applied, and what remains for its dimensions."""
    cdef _Operators by = operators()
    cdef list indices = []
    cdef int dim = 0, specified = 0
    cdef bint gathers = False
    cdef object view = tensor
    parts = [_prepared(part) for part in parts]
    for part in parts:
        specified += _dims_taken(part)
    if specified > tensor.rank:
        raise _too_many(tensor)
    for part in parts:
        if part is None:
            view = by.views[UNSQUEEZE](view, dim)
            indices.append(None)
            dim += 1
        elif part is Ellipsis:
            for _ in range(tensor.rank - specified):
                indices.append(None)
                dim += 1
            specified = tensor.rank
        elif isinstance(part, slice):
            view = _sliced(by, view, dim, part)
            indices.append(None)
            dim += 1
        elif isinstance(part, int) and not isinstance(part, bool):
            view = _selected(by, view, dim, part)
        elif _is_symbolic(part):
            view = by.views[SELECT](view, dim, part)
        elif isinstance(part, bool):
            view = by.views[UNSQUEEZE](view, dim)
            indices.append(tensor_from_data([0] if part else [], _INDEX_TYPE))
            gathers = True
            dim += 1
        else:
            if _is_unknown_mask(part):
                view, part = by.views[UNSQUEEZE](view, dim), by.views[UNSQUEEZE](part, 0)
            indices.append(part)
            gathers = True
            dim += _dims_taken(part)
    return view, (indices if gathers else [])


cdef object _INDEX_TYPE = tensor_from_data([0]).dtype


cdef object _prepared(object part):
    """A part of an index as None, Ellipsis, slice of ints, int, bool, or a tensor with dimensions."""
    if part is None or part is Ellipsis or isinstance(part, bool) or _is_symbolic(part):
        return part
    if isinstance(part, slice):
        return _slice_of_integers(part)
    if isinstance(part, Tensor):
        if (<Tensor>part).rank > 0 or row_of(part) is not None or _is_unknown_mask(part):
            return part
        value = item(part)
        if not isinstance(value, int):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return value != 0 if _is_mask(part) else value
    if isinstance(part, float):
        raise _no_index(part)
    if hasattr(part, "__array_interface__") and part.ndim > 0:
        return from_array_interface(part, share=False)
    if PyIndex_Check(part):
        return PyNumber_Index(part)
    if isinstance(part, (list, tuple, range)):
        return _of_sequence(list(part))
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    raise _no_index(part)


cdef object _slice_of_integers(object part):
    cdef Py_ssize_t start, stop, step
    if _is_symbolic(part.start) or _is_symbolic(part.stop) or _is_symbolic(part.step):
        return slice(0 if part.start is None else part.start,
                     _END if part.stop is None else part.stop,
                     1 if part.step is None else part.step)
    PySlice_Unpack(<PyObject*>part, &start, &stop, &step)
    if step < 1:
        raise ValueError("step must be greater than zero")
    return slice(start, stop, step)


cdef bint _is_symbolic(object value):
    """Whether a number depends on symbolic sizes."""
    return hasattr(type(value), "__sym_float__")


cdef bint _has_symbols(Tensor tensor):
    """Whether it is a fake tensor whose sizes depend on symbols: what they are, is not known."""
    return tensor.keys & _PYTHON != 0 and getattr(tensor, "_symbolic", None) is not None


cdef object _of_sequence(list values):
    return tensor_from_data(values, None if values else _INDEX_TYPE)


cdef object _no_index(object part):
    return IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte "
                      f"Variables are valid indices (got {type(part).__name__})")


cdef object _sliced(_Operators by, object view, int dim, object part):
    cdef Py_ssize_t start, stop, step
    if _is_symbolic(part.start) or _is_symbolic(part.stop) or _is_symbolic(part.step):
        return by.views[SLICE](view, dim, part.start, part.stop, part.step)
    PySlice_Unpack(<PyObject*>part, &start, &stop, &step)
    if (start == 0 and step == 1
            and stop >= (_END if _has_symbols(view) else (<Tensor>view).sizes[dim])):
        return view
    return by.views[SLICE](view, dim, start, stop, step)


cdef object _selected(_Operators by, object view, int dim, object index):
    cdef int64_t size = (<Tensor>view).sizes[dim]
    if not -(1 << 63) <= index < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if not -size <= index < size:
        raise _out_of_bounds(index, dim, size)
    return by.views[SELECT](view, dim, index)


cdef object _put(Tensor tensor, object view, list indices, object value):
    if not isinstance(value, Tensor):
        value = tensor_from_data(_number(tensor, value), tensor.dtype)
        if tensor.device_type != CPU:
            value = value.to(tensor.device)
    elif (<Tensor>value).rank == 0 and len(indices) == 1 and _is_mask(indices[0]):
        value = value.to(tensor.dtype)
    return operators().index_put(view, indices, value)


cdef object _number(Tensor tensor, object value):
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, complex) and not tensor.is_complex():
        raise RuntimeError(f"value cannot be converted to type {tensor.dtype.name} without "
                           f"overflow: {value}")
    if isinstance(value, (int, float, complex)):
        return value
    raise TypeError(f"can't assign a {type(value).__name__} to a tensor of {tensor.dtype}")


cdef object _without_leading_ones(object value, int rank):
    """A value with more dimensions than its place may have ones in front."""
    cdef Tensor given = value
    cdef int extra = given.rank - rank, dim
    if extra <= 0:
        return value
    for dim in range(extra):
        if given.sizes[dim] != 1:
            return value
    return view_of(given, rank, given.sizes + extra, given.strides + extra, given.offset)
