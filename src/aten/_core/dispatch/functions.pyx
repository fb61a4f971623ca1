# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, nonecheck=False, cdivision=True, freethreading_compatible=False
"""Python functions of tensors, of which modes and classes of operands are asked as of operators.

Many complete their arguments and call an operator with them. `forwards` says so of a function: the
ordinary call then goes to the operator with no Python in between.
"""

from sys import intern
from types import FunctionType

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp

from aten._core.base.keys cimport LocalState, local_state, overriding_bit
from aten._core.dispatch.dispatcher cimport (
    PyVectorcall_NARGS, call_with_tuple, make_vectorcallable, overridden,
)
from aten._core.dispatch.packets cimport OpOverloadPacket
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

from aten._core.dispatch import overriding
from aten._core.dispatch.packets import packet_named

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    const unsigned long TPFLAGS_METHOD_DESCRIPTOR "Py_TPFLAGS_METHOD_DESCRIPTOR"
    object PyMethod_New(object, object)
    object PyObject_Vectorcall(object, PyObject* const*, size_t, PyObject*)
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t) noexcept

cdef uint64_t OVERRIDING = overriding_bit()
# What has nothing to ask; most arguments that are no tensors are one of these.
cdef frozenset _PLAIN = frozenset({bool, int, float, complex, str, type(None)})


cdef dict _WORDS = {"None": None, "True": True, "False": False}

cdef enum:
    MAXIMUM_PARAMETERS = 16


def forwards(str call not None, *given, alike=(), several=None):
    """Says that a function calls an operator, as written: "embedding(weight, input, -1, sparse)".

    Arguments are parameters of the function, integers or None, True, False. That is what the
    function does wherever all its other parameters are left at their defaults, those in `given`
    are not None, the two in `alike`, where there are some, are tensors of the same sizes, and the one
    that `several` names is a tensor of images, each of several pixels; it serves every other call
    itself.
    """

    def mark(function):
        function.forwarded = (call, given, alike, several)
        return function

    return mark


cdef class _Forwarding:
    """The call of an operator that a function stands for, unless its arguments ask for more."""

    cdef OpOverloadPacket packet
    cdef tuple names                                # of the function's parameters
    cdef tuple defaults                             # of the last of them
    cdef tuple constants
    cdef Py_ssize_t parameters
    cdef Py_ssize_t required
    cdef Py_ssize_t count                           # of the operator's arguments
    cdef int sources[MAXIMUM_PARAMETERS]            # parameters, or -1 less the place of a constant
    cdef bint is_handed_on[MAXIMUM_PARAMETERS]
    cdef bint has_to_be_given[MAXIMUM_PARAMETERS]
    cdef int alike[2]                               # parameters; or -1
    cdef int several                                # the same

    def __init__(self, function, str call not None, tuple given not None, tuple alike not None,
                 str several):
        cdef Py_ssize_t place
        code = function.__code__
        operator, _, arguments = call.removesuffix(")").partition("(")
        self.packet = packet_named("aten", operator)
        self.parameters = code.co_argcount
        self.names = tuple([intern(name) for name in code.co_varnames[:self.parameters]])
        self.defaults = function.__defaults__ or ()
        self.required = self.parameters - len(self.defaults)
        words = arguments.split(", ")
        self.count = len(words)
        if max(self.parameters, self.count) > MAXIMUM_PARAMETERS or code.co_kwonlyargcount:
            raise ValueError(f"{function.__name__}: parameters by keyword only, or more than "
                             f"{MAXIMUM_PARAMETERS}, cannot be forwarded")
        constants = []
        for place, word in enumerate(words):
            if word in self.names:
                self.sources[place] = self.names.index(word)
                self.is_handed_on[self.sources[place]] = True
            else:
                constants.append(_WORDS[word] if word in _WORDS else int(word))
                self.sources[place] = -<int>len(constants)
        self.constants = tuple(constants)
        for name in given:
            self.has_to_be_given[self.names.index(name)] = True
        self.alike[0] = self.alike[1] = -1
        if alike:
            self.alike[0], self.alike[1] = map(self.names.index, alike)
        self.several = -1 if several is None else self.names.index(several)

    cdef bint arrange(self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames,
                      PyObject** arranged) noexcept:
        """Whether the call is forwarded, and with which arguments, all of them borrowed."""
        cdef PyObject* values[MAXIMUM_PARAMETERS]
        cdef Py_ssize_t place, word
        if count > self.parameters:
            return False
        for place in range(count):
            values[place] = args[place]
        for place in range(count, self.parameters):
            values[place] = NULL
        if kwnames != NULL:
            for word in range(PyTuple_GET_SIZE(kwnames)):
                place = count
                while (place < self.parameters and PyTuple_GET_ITEM(<PyObject*> self.names, place)
                       != PyTuple_GET_ITEM(kwnames, word)):
                    place += 1
                if place == self.parameters or values[place] != NULL:
                    return False
                values[place] = args[count + word]
        for place in range(self.parameters):
            if not self.completes(place, &values[place]):
                return False
        if self.alike[0] >= 0 and not _have_same_sizes(values[self.alike[0]],
                                                       values[self.alike[1]]):
            return False
        if self.several >= 0 and not _has_several_pixels(values[self.several]):
            return False
        for place in range(self.count):
            if self.sources[place] >= 0:
                arranged[place] = values[self.sources[place]]
            else:
                arranged[place] = PyTuple_GET_ITEM(<PyObject*> self.constants,
                                                   -1 - self.sources[place])
        return True

    cdef inline bint completes(self, Py_ssize_t place, PyObject** value) noexcept:
        """Whether a parameter has a value, and one with which the call is forwarded."""
        cdef PyObject* default = NULL
        if place >= self.required:
            default = PyTuple_GET_ITEM(<PyObject*> self.defaults, place - self.required)
        if value[0] == NULL:
            value[0] = default
        if value[0] == NULL or (not self.is_handed_on[place] and value[0] != default):
            return False
        return not self.has_to_be_given[place] or value[0] != <PyObject*> None


cdef inline bint _have_same_sizes(PyObject* one, PyObject* other) noexcept:
    """Whether they are tensors of the class itself, of the same sizes."""
    cdef TensorImpl first, second
    if (Py_TYPE(one) != <PyTypeObject*> Tensor or Py_TYPE(other) != <PyTypeObject*> Tensor):
        return False
    first, second = <TensorImpl> one, <TensorImpl> other
    return (first.rank == second.rank
            and memcmp(first.sizes, second.sizes, first.rank * sizeof(int64_t)) == 0)


cdef inline bint _has_several_pixels(PyObject* given) noexcept:
    """Whether it is a tensor of the class itself, with more than one element in a channel of a sample."""
    cdef TensorImpl images
    cdef int dim
    if Py_TYPE(given) != <PyTypeObject*> Tensor:
        return False
    images = <TensorImpl> given
    if images.count == 0:
        return False
    for dim in range(2, images.rank):
        if images.sizes[dim] > 1:
            return True
    return False


cdef class CompletingFunction:
    """A function of tensors that completes its arguments; `forwards` says what for.

    On a class it is a method.
    """

    cdef void* vectorcall
    cdef readonly object __wrapped__
    cdef object forwarded                           # what `forwards` said, till the first call
    cdef _Forwarding forwarding
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self):
        self.vectorcall = <void*> _call_completing

    def __init__(self, function not None):
        self.__wrapped__ = function
        self.forwarded = getattr(function, "forwarded", None)
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


cdef class OverridableFunction(CompletingFunction):
    """A function of tensors: `__torch_function__` of modes and of its operands' classes is asked
    what it gives before it is called. Operands are its arguments, and members of lists among them.
    """

    def __cinit__(self):
        self.vectorcall = <void*> _call


cdef inline object _call_completing(CompletingFunction self, PyObject* const* args, size_t nargsf,
                             PyObject* kwnames):
    cdef PyObject* arranged[MAXIMUM_PARAMETERS]
    cdef _Forwarding forwarding
    if self.forwarded is not None:
        self.forwarding = _Forwarding(self.__wrapped__, *self.forwarded)
        self.forwarded = None
    forwarding = self.forwarding
    if (forwarding is not None
            and forwarding.arrange(args, PyVectorcall_NARGS(nargsf), kwnames, arranged)):
        return forwarding.packet.call_arguments(arranged, forwarding.count, NULL,
                                                forwarding.packet)
    return PyObject_Vectorcall(self.__wrapped__, args, nargsf, kwnames)


cdef object _call(OverridableFunction self, PyObject* const* args, size_t nargsf,
                  PyObject* kwnames):
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef Py_ssize_t all_of_them = count if kwnames == NULL else count + len(<tuple> kwnames)
    cdef LocalState* state = local_state()
    if state.included & OVERRIDING or (not state.excluded & OVERRIDING
                                       and _have_classes_to_ask(args, all_of_them)):
        return overridden(self, args, count, kwnames)
    return _call_completing(self, args, nargsf, kwnames)


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


cdef void _make_callable() except *:
    cdef CompletingFunction shape = CompletingFunction.__new__(CompletingFunction)
    cdef Py_ssize_t offset = <char*> &shape.vectorcall - <char*> <PyObject*> shape
    make_vectorcallable(<PyTypeObject*> CompletingFunction, offset, TPFLAGS_METHOD_DESCRIPTOR)
    make_vectorcallable(<PyTypeObject*> OverridableFunction, offset, TPFLAGS_METHOD_DESCRIPTOR)


_make_callable()
