# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Tensor, the handle users hold and subclass.

What a tensor is stands in `tensor_impl`. What operators do to tensors is not here either: methods
and number slots are filled in from the operator tables.
"""

import sys

from cpython.object cimport (Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE, PyObject, PyTypeObject)
from libc.stdint cimport uint64_t

from aten._core.base.device cimport META
from aten._core.base.dtypes cimport category_of, default_dtype_code
from aten._core.base.keys cimport DispatchKeySet, LocalState, local_state, overriding_bit
from aten._core.base.keys import DispatchKey
from aten._core.tensor.tensor_impl cimport (has_autograd, note_base, set_autograd_field,
                                            set_geometry, set_plain_class, share_versions)

cdef extern from "Python.h":
    void PyType_Modified(PyTypeObject*)
    int PyDict_SetItem(PyObject*, object, object) except -1
    ctypedef struct CTypeObject "PyTypeObject":
        PyObject* tp_dict

cdef enum:
    FLOATING = 2    # the category from which on `~` has no meaning

cdef uint64_t _PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits


cdef bint is_tensor(object value) noexcept:
    return isinstance(value, Tensor)


# Number slots. The table is filled from outside with whatever callables the operators provide.

cdef BinaryCall _binary_call = NULL
cdef PyObject* _slots[SLOT_COUNT]
cdef list _slot_owners = []
cdef object _constructor = None
cdef object _override = None
cdef object _unoverridden = None
cdef object _not_asked = None
_SLOT_NAMES = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
    "lshift", "rshift",
    "radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rmatmul", "rand", "ror",
    "rxor", "rlshift", "rrshift",
    "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior",
    "ixor", "ilshift", "irshift",
    "lt", "le", "eq", "ne", "gt", "ge",
    "neg", "pos", "abs", "invert", "bool", "getitem", "setitem", "repr", "contains", "reduce",
    "deepcopy", "format", "array", "dlpack",
)


cdef void set_binary_call(BinaryCall call) noexcept:
    """How the two-operand slots call what fills them."""
    global _binary_call
    _binary_call = call


def install_slot(str name, function):
    """Let the slot `__name__` of Tensor call `function`. Raises ValueError for unknown slots."""
    if name not in _SLOT_NAMES:
        raise ValueError(f"Tensor has no slot named {name!r}")
    _slot_owners.append(function)
    _slots[_SLOT_NAMES.index(name)] = <PyObject*>function


def install_attribute(str name, value):
    """Set a class attribute of Tensor, which as a static type takes none by assignment."""
    PyDict_SetItem((<CTypeObject*>Tensor).tp_dict, name, value)
    PyType_Modified(<PyTypeObject*>Tensor)


def install_overriding(override, unoverridden, not_asked):
    """Says who asks `__torch_function__`: `override(function, args, kwargs)`.

    `unoverridden(function, tensor)` calls without asking; `not_asked` is what stands in the place
    of `__torch_function__` in classes that need not be asked.
    """
    global _override, _unoverridden, _not_asked
    _override, _unoverridden, _not_asked = override, unoverridden, not_asked


def install_constructor(function):
    """Let `function(args, kwargs)` be what `Tensor(*args, **kwargs)` shows."""
    global _constructor
    _constructor = function


cdef inline object _binary(int slot, object left, object right):
    if _slots[slot] == NULL:
        raise TypeError(f"Tensor: no operator fills the slot __{_SLOT_NAMES[slot]}__")
    return _binary_call(_slots[slot], left, right)


cdef inline object _slot(int slot):
    if _slots[slot] == NULL:
        raise TypeError(f"Tensor: no operator fills the slot __{_SLOT_NAMES[slot]}__")
    return <object>_slots[slot]


cdef inline bint _is_operand(object value):
    return type(value) is Tensor or type(value) is float or _is_rarer_operand(value)


cdef bint _is_rarer_operand(object value):
    if isinstance(value, (int, Tensor, float, complex)) or hasattr(type(value), "__sym_float__"):
        return True
    if hasattr(type(value), "__torch_function__"):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


cdef object _reflected(int slot, object self, object other):
    """`other op self`; an array of NumPy leaves it to the tensor, whose priority is higher."""
    if _is_operand(other):
        return _binary(slot, self, other)
    if not hasattr(other, "__array_interface__"):
        return NotImplemented
    return _binary(slot, self, _tensor_of_array(other))


cdef object _tensor_of_array(object array):
    from aten._core.tensor.construct import from_array_interface

    return from_array_interface(array, share=False)


cdef class Tensor(TensorImpl):
    """A multi-dimensional array of one element type.

    Tensors are made by factories (`aten.tensor`, `aten.empty`, …) and by operators; views of one
    share its storage. The class may be subclassed. Called, it makes uninitialized tensors of sizes,
    or tensors of a sequence of numbers; without arguments, an empty one.
    """

    __array_priority__ = 1000

    def __cinit__(self, *args, **kwargs):
        self.dtype_code = default_dtype_code()
        if type(self) is not Tensor:
            self.keys |= _keys_of_class(type(self))
        if args or kwargs:
            _show(self, <Tensor?>_constructor(args, kwargs))

    def as_subclass(self, cls):
        """The same window on the same storage as an object of `cls`, a subclass of Tensor.

        Example:

            >>> type(aten.ones(2).as_subclass(aten.Tensor)) is aten.Tensor
            True
        """
        if not isinstance(cls, type) or not issubclass(cls, Tensor):
            raise TypeError(f"as_subclass: cls must be a subclass of Tensor, not {cls!r}")
        cdef Tensor made = Tensor.__new__(cls)
        _show(made, self)
        return made

    # Number slots

    def __add__(self, other):
        return _binary(SLOT_ADD, self, other) if _is_operand(other) else NotImplemented

    def __sub__(self, other):
        return _binary(SLOT_SUB, self, other) if _is_operand(other) else NotImplemented

    def __mul__(self, other):
        return _binary(SLOT_MUL, self, other) if _is_operand(other) else NotImplemented

    def __truediv__(self, other):
        return _binary(SLOT_TRUEDIV, self, other) if _is_operand(other) else NotImplemented

    def __floordiv__(self, other):
        return _binary(SLOT_FLOORDIV, self, other) if _is_operand(other) else NotImplemented

    def __mod__(self, other):
        return _binary(SLOT_MOD, self, other) if _is_operand(other) else NotImplemented

    def __pow__(self, other, modulo):
        if modulo is not None or not _is_operand(other):
            return NotImplemented
        return _binary(SLOT_POW, self, other)

    def __matmul__(self, other):
        return _binary(SLOT_MATMUL, self, other) if _is_operand(other) else NotImplemented

    def __and__(self, other):
        return _binary(SLOT_AND, self, other) if _is_operand(other) else NotImplemented

    def __or__(self, other):
        return _binary(SLOT_OR, self, other) if _is_operand(other) else NotImplemented

    def __xor__(self, other):
        return _binary(SLOT_XOR, self, other) if _is_operand(other) else NotImplemented

    def __lshift__(self, other):
        return _binary(SLOT_LSHIFT, self, other) if _is_operand(other) else NotImplemented

    def __rshift__(self, other):
        return _binary(SLOT_RSHIFT, self, other) if _is_operand(other) else NotImplemented

    def __radd__(self, other):
        return _reflected(SLOT_RADD, self, other)

    def __rsub__(self, other):
        return _reflected(SLOT_RSUB, self, other)

    def __rmul__(self, other):
        return _reflected(SLOT_RMUL, self, other)

    def __rtruediv__(self, other):
        return _reflected(SLOT_RTRUEDIV, self, other)

    def __rfloordiv__(self, other):
        return _reflected(SLOT_RFLOORDIV, self, other)

    def __rmod__(self, other):
        return _reflected(SLOT_RMOD, self, other)

    def __rpow__(self, other, modulo):
        return NotImplemented if modulo is not None else _reflected(SLOT_RPOW, self, other)

    def __rmatmul__(self, other):
        return _reflected(SLOT_RMATMUL, self, other)

    def __rand__(self, other):
        return _reflected(SLOT_RAND, self, other)

    def __ror__(self, other):
        return _reflected(SLOT_ROR, self, other)

    def __rxor__(self, other):
        return _reflected(SLOT_RXOR, self, other)

    def __rlshift__(self, other):
        return _reflected(SLOT_RLSHIFT, self, other)

    def __rrshift__(self, other):
        return _reflected(SLOT_RRSHIFT, self, other)

    def __iadd__(self, other):
        return _binary(SLOT_IADD, self, other)

    def __isub__(self, other):
        return _binary(SLOT_ISUB, self, other)

    def __imul__(self, other):
        return _binary(SLOT_IMUL, self, other)

    def __itruediv__(self, other):
        return _binary(SLOT_ITRUEDIV, self, other)

    def __ifloordiv__(self, other):
        return _binary(SLOT_IFLOORDIV, self, other)

    def __imod__(self, other):
        return _binary(SLOT_IMOD, self, other)

    def __ipow__(self, other):
        return _binary(SLOT_IPOW, self, other)

    def __iand__(self, other):
        return _binary(SLOT_IAND, self, other)

    def __ior__(self, other):
        return _binary(SLOT_IOR, self, other)

    def __ixor__(self, other):
        return _binary(SLOT_IXOR, self, other)

    def __ilshift__(self, other):
        return _binary(SLOT_ILSHIFT, self, other)

    def __irshift__(self, other):
        return _binary(SLOT_IRSHIFT, self, other)

    def __richcmp__(self, other, int operation):
        if not _is_operand(other):
            if not hasattr(other, "__array_interface__"):
                return NotImplemented
            # An array would leave it to the tensor, whose priority is higher.
            other = _tensor_of_array(other)
        if operation == Py_LT:
            return _binary(SLOT_LT, self, other)
        if operation == Py_LE:
            return _binary(SLOT_LE, self, other)
        if operation == Py_EQ:
            return _binary(SLOT_EQ, self, other)
        if operation == Py_NE:
            return _binary(SLOT_NE, self, other)
        if operation == Py_GT:
            return _binary(SLOT_GT, self, other)
        return _binary(SLOT_GE, self, other)

    def __hash__(self):
        return <size_t><PyObject*>self >> 4

    def __neg__(self):
        return _slot(SLOT_NEG)(self)

    def __pos__(self):
        return _slot(SLOT_POS)(self)

    def __abs__(self):
        return _slot(SLOT_ABS)(self)

    def __invert__(self):
        if category_of(self.dtype_code) >= FLOATING:
            raise TypeError(f"~: expected a tensor of integers or bool, got {self.dtype}")
        return _slot(SLOT_INVERT)(self)

    # Python's protocols

    def __bool__(self):
        return bool(_slot(SLOT_BOOL)(self))

    def __int__(self):
        return int(_real_number(self))

    def __float__(self):
        return float(_real_number(self))

    def __complex__(self):
        return complex(_number(self))

    def __round__(self, digits=None):
        return round(_real_number(self), digits)

    def __index__(self):
        if self.count != 1 or self.dtype.kind not in ("signed", "unsigned", "bool"):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __reversed__(self):
        """The tensor with the order along its first dimension reversed; a 0-d tensor itself."""
        return self.flip(0) if self.rank else self

    def __len__(self):
        if self.rank == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self.size(0))

    def __iter__(self):
        if self.rank == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        return _slot(SLOT_CONTAINS)(self, element)

    def __getitem__(self, index):
        if _is_overridden(self):
            return _override(Tensor.__getitem__, (self, index), {})
        return _slot(SLOT_GETITEM)(self, index)

    def __setitem__(self, index, value):
        if _is_overridden(self):
            _override(Tensor.__setitem__, (self, index, value), {})
            return
        _slot(SLOT_SETITEM)(self, index, value)

    def __delitem__(self, index):
        raise TypeError("Tensor does not support deleting items")

    def __repr__(self):
        if _slots[SLOT_REPR] == NULL:
            return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, device={self.device})"
        if _is_overridden(self):
            return _unoverridden(_slot(SLOT_REPR), self)
        return _slot(SLOT_REPR)(self)

    def __format__(self, specification):
        if self.rank == 0 and self.device_type != META:
            return format(self.item(), specification)
        return object.__format__(self, specification)

    def __reduce_ex__(self, protocol):
        return _slot(SLOT_REDUCE)(self, protocol)

    def __copy__(self):
        cdef Tensor made = self.as_subclass(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo):
        return _slot(SLOT_DEEPCOPY)(self, memo)


cdef inline bint _is_overridden(TensorImpl tensor) noexcept:
    cdef LocalState* state = local_state()
    return (tensor.keys | state.included) & ~state.excluded & overriding_bit() != 0


cdef uint64_t _keys_of_class(object cls) except? 0:
    """By what keys a subclass is asked: all are what functions give that do not say otherwise."""
    cdef uint64_t keys = 0
    if getattr(cls, "__torch_function__", None) is not _not_asked:
        keys |= overriding_bit()
    if getattr(cls, "__torch_dispatch__", _not_asked) is not _not_asked:
        keys |= _PYTHON
    return keys


cdef inline uint64_t _keys_by_class(TensorImpl tensor) noexcept:
    """The keys that come of the tensor's class; that of tensors without data does not."""
    cdef uint64_t keys = overriding_bit()
    if tensor.storage.device_type != META:
        keys |= _PYTHON
    return keys


cdef object _number(Tensor tensor):
    """The only element, for Python's conversions. Raises ValueError unless there is just one."""
    if tensor.count != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, this has "
                         f"{tensor.count}")
    return tensor.item()


cdef object _real_number(Tensor tensor):
    """The same as a real number. Raises RuntimeError where it has an imaginary part."""
    value = _number(tensor)
    if not isinstance(value, complex):
        return value
    if value.imag != 0:
        raise RuntimeError(f"value cannot be converted to a real number: {value}")
    return value.real


cdef int _show(Tensor made, TensorImpl window) except -1:
    """Make `made` the same window on the same storage."""
    set_geometry(made, window.rank, window.sizes, window.strides)
    made.storage = window.storage
    share_versions(made, window)
    made.offset = window.offset
    made.dtype_code = window.dtype_code
    made.device_type = window.device_type
    made.device_index = window.device_index
    made.keys = window.keys & ~_keys_by_class(window) | made.keys & (overriding_bit() | _PYTHON)
    if has_autograd(window):
        set_autograd_field(made, <PyObject*>window.autograd)
    note_base(made, window)
    return 0


set_plain_class(Tensor)
