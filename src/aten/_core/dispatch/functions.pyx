# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, nonecheck=False, cdivision=True, freethreading_compatible=False
"""Python functions of tensors, of which modes and classes of operands are asked as of operators."""

from types import FunctionType

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from aten._core.base.keys cimport LocalState, local_state, overriding_bit
from aten._core.dispatch.dispatcher cimport (
    PyVectorcall_NARGS, call_with_tuple, make_vectorcallable, overridden,
)
from aten._core.tensor.tensor cimport Tensor, TensorImpl

from aten._core.dispatch import overriding

cdef extern from "Python.h":
    object PyMethod_New(object, object)
    object PyObject_Vectorcall(object, PyObject* const*, size_t, PyObject*)

cdef uint64_t OVERRIDING = overriding_bit()
# What has nothing to ask; most arguments that are no tensors are one of these.
cdef frozenset _PLAIN = frozenset({bool, int, float, complex, str, type(None)})


cdef class OverridableFunction:
    """A function of tensors: `__torch_function__` of modes and of its operands' classes is asked
    what it gives before it is called. Operands are its arguments, and members of lists among them.
    """

    cdef void* vectorcall
    cdef readonly object __wrapped__
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self):
        self.vectorcall = <void*> _call

    def __init__(self, function not None):
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__

    def __call__(self, *args, **kwargs):
        return call_with_tuple(self, args, kwargs)

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __repr__(self):
        return f"<function {self.__qualname__}>"

    def __reduce__(self):
        return self.__qualname__


cdef object _call(OverridableFunction self, PyObject* const* args, size_t nargsf,
                  PyObject* kwnames):
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef Py_ssize_t all_of_them = count if kwnames == NULL else count + len(<tuple> kwnames)
    cdef LocalState* state = local_state()
    if state.included & OVERRIDING or (not state.excluded & OVERRIDING
                                       and _have_classes_to_ask(args, all_of_them)):
        return overridden(self, args, count, kwnames)
    return PyObject_Vectorcall(self.__wrapped__, args, nargsf, kwnames)


cdef bint _have_classes_to_ask(PyObject* const* args, Py_ssize_t count) except -1:
    cdef Py_ssize_t place
    for place in range(count):
        value = <object> args[place]
        if type(value) is Tensor or type(value) in _PLAIN:
            continue
        if isinstance(value, (list, tuple)):
            for one in value:
                if type(one) is not Tensor and type(one) not in _PLAIN and _is_asked(one):
                    return True
        elif _is_asked(value):
            return True
    return False


cdef bint _is_asked(object value) except -1:
    if isinstance(value, TensorImpl):
        return (<TensorImpl> value).keys & OVERRIDING != 0
    return overriding.is_overriding(value)


def let_override(dict namespace not None, names):
    """Puts functions that may be overridden in the places of a namespace's functions by `names`."""
    for name in names:
        if type(namespace[name]) is FunctionType:
            namespace[name] = OverridableFunction(namespace[name])


cdef OverridableFunction _shape = OverridableFunction.__new__(OverridableFunction)
make_vectorcallable(<PyTypeObject*> OverridableFunction,
                    <char*> &_shape.vectorcall - <char*> <PyObject*> _shape, 0)
