# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Python kernels that see their operands as they were when the call began.

A function checks sizes, and then hands tensors to compiled code that relies on them. Between the
two another thread may resize a tensor, or let it show another storage. So the function gets other
tensors, which nobody else knows, over the same storages. What it writes to it gets as it is.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from aten._core.dispatcher cimport OpOverload, PythonKernel
from aten._core.making cimport make_alias
from aten._core.tensor cimport Tensor, TensorImpl

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyList_CheckExact(PyObject*) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept

cdef enum:
    INLINE_ARGUMENTS = 24


cdef class SnapshotKernel(PythonKernel):
    """Calls a Python function with windows of its own on the tensors that it reads."""

    cdef OpOverload known           # the operator whose positions these are
    cdef tuple read_positions       # of tensors, and of lists of them, that are not written

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef PyObject* inline_stack[INLINE_ARGUMENTS]
        cdef PyObject** frozen = inline_stack
        cdef list held = []
        if self.known is not op:
            self.read_positions = _read_positions(op)
            self.known = op
        if op.count > INLINE_ARGUMENTS:
            frozen = <PyObject**>PyMem_Malloc(op.count * sizeof(PyObject*))
            if frozen == NULL:
                raise MemoryError()
        try:
            memcpy(frozen, stack, op.count * sizeof(PyObject*))
            for position in self.read_positions:
                _freeze(&frozen[<Py_ssize_t>position], held)
            return _thawed(PythonKernel.call(self, op, keys, frozen), held)
        finally:
            if frozen != inline_stack:
                PyMem_Free(frozen)


def _read_positions(op):
    return tuple([
        position
        for position, argument in enumerate(op._schema.arguments)
        if str(argument.type).startswith("Tensor") and not argument.is_write
    ])


cdef int _freeze(PyObject** place, list held) except -1:
    """Put another window, or a list of them, in the place of what is there.

    `held` keeps them alive: each window is followed by the tensor it is of.
    """
    cdef PyObject* given = place[0]
    cdef Tensor window
    if Py_TYPE(given) == <PyTypeObject*>Tensor:
        window = _window(<TensorImpl>given, held)
        place[0] = <PyObject*>window
    elif PyList_CheckExact(given) or PyTuple_CheckExact(given):
        windows = [
            _window(<TensorImpl>one, held)
            if Py_TYPE(<PyObject*>one) == <PyTypeObject*>Tensor else one
            for one in tuple(<object>given)
        ]
        if PyTuple_CheckExact(given):
            windows = tuple(windows)
        held.append(windows)
        held.append(None)
        place[0] = <PyObject*>windows
    return 0


cdef Tensor _window(TensorImpl tensor, list held):
    cdef Tensor window = make_alias(tensor)
    window.wrapped_number = tensor.wrapped_number
    held.append(window)
    held.append(tensor)
    return window


cdef object _thawed(object result, list held):
    """`result`, in which operands are themselves again."""
    cdef Py_ssize_t place
    if Py_TYPE(<PyObject*>result) == <PyTypeObject*>Tensor:
        for place in range(0, len(held), 2):
            if held[place] is result:
                return held[place + 1]
        return result
    if PyTuple_CheckExact(<PyObject*>result) or PyList_CheckExact(<PyObject*>result):
        return type(result)([_thawed(one, held) for one in result])
    return result
