# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Python functions of our own as kernels, whose operands nobody changes while they run.

A function looks at sizes, and then calls what relies on them. In between other code may run: a
finalizer, a warning's hook, a kernel registered for an operator that the function calls, another
thread. So the function does not get the caller's tensors but windows of its own on their storages,
whose sizes and strides nobody else knows, and which stay inside: a storage never becomes smaller.
Tensors are handed on as they are where they may have to change: `out`, which is resized, and what
views in place and operators tagged `inplace_view` are for.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from aten._core.base.keys cimport DispatchKeySet, local_state, recording_bit
from aten._core.dispatch.dispatcher cimport (INLINE_ARGUMENTS, LargeStack, OpOverload,
                                             keys_of_value, release)
from aten._core.dispatch.python_kernel cimport PythonKernel
from aten._core.tensor.making cimport make_alias
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

from aten._core.base.keys import DispatchKey

cdef extern from "Python.h":
    void own "Py_INCREF"(PyObject*) noexcept

cdef uint64_t PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits

cdef enum:
    # Arguments beyond are handed on as they are; no schema has as many.
    MASK_BITS = 64
    # Tensors for which no lists are made.
    FEW = 8


# Of tensors that say more than they hold, which an alias would not.
cdef uint64_t _TRANSFORMED = (<DispatchKeySet>DispatchKeySet(
    DispatchKey.FuncTorchBatched, DispatchKey.FuncTorchGradWrapper)).bits


cdef class ShieldedKernel(PythonKernel):
    """Calls a Python function with windows of its own in the place of tensors that keep their sizes.

    Where the function returns such a window, the caller gets the tensor it stands for.
    """

    cdef OpOverload shields             # the operator that `changed` belongs to
    cdef uint64_t changed               # a bit for each argument whose sizes may change

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef PyObject* inline_stack[INLINE_ARGUMENTS]
        cdef PyObject** shielded = inline_stack
        cdef LargeStack larger
        if op.tensor_count == 0 or are_recorded(op, stack):
            return PythonKernel.call(self, op, keys, stack)
        if self.shields is not op:
            self.look_at(op)
        if op.count > INLINE_ARGUMENTS:
            larger = LargeStack(op.count)
            shielded = larger.values
        memcpy(shielded, stack, op.count * sizeof(PyObject*))
        if op.tensor_count <= FEW and not self.has_lists(op, stack):
            return self.call_with_few(op, keys, stack, shielded)
        return self.call_with_many(op, keys, stack, shielded)

    cdef object call_with_few(self, OpOverload op, uint64_t keys, PyObject** stack,
                              PyObject** shielded):
        """`call` without lists of tensors: the stack's references are all there is to compare."""
        cdef PyObject* windows[FEW]
        cdef int made = 0
        cdef Py_ssize_t place, position
        cdef Tensor window
        try:
            for place in range(op.tensor_count):
                position = op.tensor_positions[place]
                if self.is_changed(position) or not isinstance(<object>stack[position], Tensor):
                    continue
                if self.is_given_before(op, place, stack, shielded):
                    continue
                window = make_alias(<Tensor>stack[position])
                window.wrapped_number = (<TensorImpl>stack[position]).wrapped_number
                own(<PyObject*>window)
                windows[made] = shielded[position] = <PyObject*>window
                made += 1
            return _given_for(PythonKernel.call(self, op, keys, shielded), op, stack, shielded)
        finally:
            release(windows, made)

    cdef inline bint is_given_before(self, OpOverload op, Py_ssize_t place, PyObject** stack,
                                     PyObject** shielded) noexcept:
        """Whether the tensor stands at another place too, for which it is known what the function
        gets; then it gets the same here."""
        cdef Py_ssize_t other, position = op.tensor_positions[place], there
        for other in range(op.tensor_count):
            there = op.tensor_positions[other]
            if stack[there] == stack[position] and (other < place or self.is_changed(there)):
                shielded[position] = shielded[there]
                return True
        return False

    cdef object call_with_many(self, OpOverload op, uint64_t keys, PyObject** stack,
                               PyObject** shielded):
        cdef Py_ssize_t position, place
        cdef list given = [], windows = []
        for place in range(op.tensor_count):
            if self.is_changed(op.tensor_positions[place]):
                _keep(<object>stack[op.tensor_positions[place]], given, windows)
        held = []
        for place in range(op.tensor_count):
            position = op.tensor_positions[place]
            if not self.is_changed(position):
                window = _shielded(<object>stack[position], given, windows)
                held.append(window)
                shielded[position] = <PyObject*>window
        return _unshielded(PythonKernel.call(self, op, keys, shielded), given, windows)

    cdef inline bint has_lists(self, OpOverload op, PyObject** stack):
        cdef Py_ssize_t place
        for place in range(op.tensor_count):
            if isinstance(<object>stack[op.tensor_positions[place]], (list, tuple)):
                return True
        return False

    cdef inline bint is_changed(self, Py_ssize_t position) noexcept:
        return position >= MASK_BITS or self.changed >> position & 1

    cdef int look_at(self, OpOverload op) except -1:
        cdef uint64_t changed = 0
        is_view = (op.entry is None or op.entry.kind == "view"
                   or "inplace_view" in op.entry.tags)
        for position, argument in enumerate(op._schema.arguments):
            if argument.is_write and (argument.is_out or is_view) and position < MASK_BITS:
                changed |= <uint64_t>1 << position
        self.shields = op
        self.changed = changed
        return 0


cdef bint are_recorded(OpOverload op, PyObject** stack):
    """Whether gradients flow to an operand, or its class is asked what operators give.

    Then a function gets the very tensors, to which what it does to them is noted. So it does where
    one stands for a row of a batch, whose memory it is not, or has a tangent.
    """
    cdef Py_ssize_t place
    cdef uint64_t keys
    for place in range(op.tensor_count):
        keys = keys_of_value(stack[op.tensor_positions[place]])
        if keys & _TRANSFORMED:
            return True
        keys &= ~local_state().excluded
        if keys & recording_bit():
            return True
        if keys & PYTHON and holds_subclass(<object>stack[op.tensor_positions[place]]):
            return True
    return False


cdef bint holds_subclass(object value):
    if isinstance(value, (list, tuple)):
        return any([holds_subclass(one) for one in value])
    return isinstance(value, Tensor) and type(value) is not Tensor


cdef object _given_for(object result, OpOverload op, PyObject** stack, PyObject** shielded):
    """`result` with what the caller gave in the place of windows on it."""
    cdef Py_ssize_t place, position
    if isinstance(result, Tensor):
        for place in range(op.tensor_count):
            position = op.tensor_positions[place]
            if shielded[position] == <PyObject*>result:
                return <object>stack[position]
        return result
    if type(result) is tuple:
        return tuple([_given_for(member, op, stack, shielded) for member in <tuple>result])
    if type(result) is list:
        return [_given_for(member, op, stack, shielded) for member in <list>result]
    return result


cdef int _keep(object value, list given, list windows) except -1:
    """Let tensors that may change stand for themselves, wherever else they are given."""
    if isinstance(value, Tensor):
        given.append(value)
        windows.append(value)
    elif isinstance(value, (list, tuple)):
        for member in value:
            _keep(member, given, windows)
    return 0


cdef object _shielded(object value, list given, list windows):
    cdef Py_ssize_t place
    cdef Tensor window
    if isinstance(value, Tensor):
        for place in range(len(given)):
            if given[place] is value:
                return windows[place]
        window = make_alias(value)
        window.wrapped_number = (<TensorImpl>value).wrapped_number
        given.append(value)
        windows.append(window)
        return window
    if type(value) is tuple:
        return tuple([_shielded(member, given, windows) for member in <tuple>value])
    if type(value) is list:
        return [_shielded(member, given, windows) for member in <list>value]
    return value


cdef object _unshielded(object result, list given, list windows):
    cdef Py_ssize_t place
    if isinstance(result, Tensor):
        for place in range(len(windows)):
            if windows[place] is result:
                return given[place]
        return result
    if type(result) is tuple:
        return tuple([_unshielded(member, given, windows) for member in <tuple>result])
    if type(result) is list:
        return [_unshielded(member, given, windows) for member in <list>result]
    return result
