# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, nonecheck=False, cdivision=True, freethreading_compatible=False
"""Packets: operators by name, whose overloads are tried in their order; methods and number slots.

Two operands as they are do not try: the packet has learnt which overload takes them.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from aten._core.base.keys cimport LocalState, local_state, overriding_bit
from aten._core.dispatch.argument_values cimport (
    SCALAR_VALUE, TENSOR_OR_NUMBER_VALUE, TENSOR_VALUE,
)
from aten._core.dispatch.dispatcher cimport (
    INLINE_ARGUMENTS,
    LargeStack,
    OpOverload,
    PyVectorcall_NARGS,
    call_with_tuple,
    call_without_match,
    dispatch,
    make_vectorcallable,
    overridden,
    release,
)
from aten._core.dispatch.dispatcher import packet_named
from aten._core.tensor.tensor cimport Tensor, set_binary_call
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef extern from "Python.h":
    const unsigned long TPFLAGS_METHOD_DESCRIPTOR "Py_TPFLAGS_METHOD_DESCRIPTOR"
    object PyMethod_New(object, object)
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyFloat_CheckExact(PyObject*) noexcept
    bint PyLong_CheckExact(PyObject*) noexcept
    Py_ssize_t PySequence_Fast_GET_SIZE(PyObject*) noexcept
    PyObject** PySequence_Fast_ITEMS(PyObject*) noexcept
    ctypedef struct AllocatingTypeObject "PyTypeObject":
        object (*tp_alloc)(PyObject*, Py_ssize_t)
    void PyTuple_SET_ITEM(object, Py_ssize_t, PyObject*)
    void own "Py_INCREF"(PyObject*) noexcept


# The registry brings it, which knows the namespaces.
cdef object place_of_packet = None


def set_place_lookup(lookup):
    """Let `lookup(namespace, name)` say where users find an operator: the module and the name."""
    global place_of_packet
    place_of_packet = lookup
cdef uint64_t OVERRIDING = overriding_bit()
# Who writes documentation and signatures, when somebody asks for them.
describe = None


def set_description(description):
    """Has `description.documentation` and `description.signature` describe packets and methods."""
    global describe
    describe = description


cdef object named_tuple(object type, tuple values):
    """`values` as an object of `type`, a tuple's subclass with as many fields."""
    cdef Py_ssize_t position
    cdef PyObject* value
    cdef Py_ssize_t count = PySequence_Fast_GET_SIZE(<PyObject*> values)
    made = (<AllocatingTypeObject*> type).tp_alloc(<PyObject*> type, count)
    for position in range(count):
        value = PySequence_Fast_ITEMS(<PyObject*> values)[position]
        own(value)
        PyTuple_SET_ITEM(made, position, value)
    return made


cdef class OpOverloadPacket:
    """All overloads of one operator, such as `aten.ops.aten.add`.

    Calling it tries the overloads in their order and dispatches to the first whose schema fits.
    `resolver(packet)` gives the overloads when they are first needed.
    """

    def __cinit__(self):
        self.vectorcall = <void*> call_packet

    def __init__(self, str namespace not None, str name not None, resolver not None):
        self.namespace = namespace
        self.name = name
        self.resolver = resolver

    cdef int resolve(self) except -1:
        if self.candidates is None:
            found = tuple(self.resolver(self))
            self.of_methods = tuple([one for one in found if not _writes_out(one)]) or found
            self.candidates = found
        return 0

    def refresh(self):
        """Asks the resolver again when next called, after an overload was added or taken away."""
        self.candidates = None
        self.keywords = self.of_keywords = None
        self.binary = self.of_number = None
        self.binary_state = 0
        self.number_state = 0
        for name, kept in tuple(vars(self).items()):
            if isinstance(kept, OpOverload):
                delattr(self, name)

    def __call__(self, *args, **kwargs):
        return call_with_tuple(self, args, kwargs)

    cdef object call_arguments(self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                               object named):
        if self.candidates is None:
            self.resolve()
        return self.call_one_of(self.candidates, args, nargs, kwnames, named)

    cdef object call_one_of(self, tuple candidates, PyObject* const* args, Py_ssize_t nargs,
                            PyObject* kwnames, object named):
        cdef PyObject* inline_stack[INLINE_ARGUMENTS]
        cdef PyObject** stack = inline_stack
        cdef LargeStack larger
        cdef OpOverload op
        cdef uint64_t keys
        cdef Py_ssize_t place
        cdef Py_ssize_t first = 0
        cdef Py_ssize_t count = PySequence_Fast_GET_SIZE(<PyObject*> candidates)
        if kwnames != NULL and count > 1:
            first = self.first_with(candidates, kwnames)
        for place in range(first, count):
            op = <OpOverload> PySequence_Fast_ITEMS(<PyObject*> candidates)[place]
            if op.row == NULL:
                op.prepare()
            if op.count > INLINE_ARGUMENTS:
                larger = LargeStack(op.count)
                stack = larger.values
            if op.parser.parse(args, nargs, kwnames, stack) == 0:
                break
        else:
            if has_overriding(args, nargs, kwnames):
                return overridden(named, args, nargs, kwnames)
            # For what they have to say about it.
            for place in range(first):
                op = <OpOverload> candidates[place]
                larger = LargeStack(op.count)
                if op.parser.parse(args, nargs, kwnames, larger.values) == 0:
                    release(larger.values, op.count)
            return call_without_match(named, candidates, args, nargs, kwnames)
        try:
            keys = op.keys_of(stack)
            if keys & OVERRIDING:
                return overridden(named, args, nargs, kwnames)
            result = dispatch(op, keys, stack)
        finally:
            release(stack, op.count)
        if op.results is None or type(result) is op.results or not isinstance(result, tuple):
            return result
        return named_tuple(op.results, tuple(result))

    cdef Py_ssize_t first_with(self, tuple candidates, PyObject* kwnames) except -1:
        """The place of the first candidate whose schema has these keywords; 0 where none has."""
        cdef Py_ssize_t place = 0
        if <PyObject*> self.keywords == kwnames and self.of_keywords is candidates:
            return self.first_of_keywords
        for candidate in candidates:
            (<OpOverload> candidate).prepare()
            if (<OpOverload> candidate).parser.may_take(<tuple> kwnames):
                break
            place += 1
        else:
            place = 0
        self.keywords = <tuple> kwnames
        self.of_keywords = candidates
        self.first_of_keywords = place
        return place

    cdef object as_method(self):
        """The method of Tensor that it is, which is what number slots stand for; else itself."""
        return getattr(Tensor, self.name, self)

    def overloads(self):
        """The overloads' names, "default" for the one without."""
        self.resolve()
        return [candidate._overloadname for candidate in self.candidates]

    @property
    def op_overloads(self):
        """The overloads themselves, in resolution order."""
        self.resolve()
        return self.candidates

    def __getattr__(self, str name):
        if not (name.startswith("__") and name.endswith("__")):
            self.resolve()
            for candidate in self.candidates:
                if (<OpOverload> candidate).overload == ("" if name == "default" else name):
                    # Found by the ordinary lookup from now on.
                    setattr(self, name, candidate)
                    return candidate
        raise AttributeError(
            f"The underlying op of '{self.namespace}.{self.name}' has no overload name '{name}'"
        )

    def __dir__(self):
        return [*object.__dir__(self), *self.overloads()]

    @property
    def __name__(self):
        return self.name

    @property
    def __module__(self):
        return self.place()[0]

    @property
    def __qualname__(self):
        return self.place()[1]

    def place(self):
        """The module and the name by which users find the operator."""
        return place_of_packet(self.namespace, self.name)

    @property
    def __doc__(self):
        return describe.documentation(self)

    @property
    def __signature__(self):
        return describe.signature(self)

    def __str__(self):
        return f"{self.namespace}.{self.name}"

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self.namespace}.{self.name}')>"

    def __copy__(self):
        return self

    def __reduce__(self):
        return packet_named, (self.namespace, self.name)

    def __deepcopy__(self, memo):
        return self


cdef class MethodDescriptor:
    """An operator as a method of Tensor: `tensor.add(x)` calls the packet without a bound method."""

    def __cinit__(self):
        self.vectorcall = <void*> call_method

    def __init__(self, OpOverloadPacket packet not None):
        self.packet = packet

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __call__(self, *args, **kwargs):
        return call_with_tuple(self, args, kwargs)

    @property
    def __name__(self):
        return self.packet.name

    @property
    def __qualname__(self):
        return f"Tensor.{self.packet.name}"

    @property
    def __doc__(self):
        return describe.documentation(self.packet, is_method=True)

    @property
    def __signature__(self):
        return describe.signature(self.packet, is_method=True)

    def __repr__(self):
        return f"<method '{self.packet.name}' of 'Tensor' objects>"

    def __reduce__(self):
        return getattr, (Tensor, self.packet.name)


cdef object call_packet(OpOverloadPacket self, PyObject* const* args, size_t nargsf,
                        PyObject* kwnames):
    return self.call_arguments(args, PyVectorcall_NARGS(nargsf), kwnames, self)


cdef object call_method(MethodDescriptor self, PyObject* const* args, size_t nargsf,
                        PyObject* kwnames):
    cdef OpOverloadPacket packet = self.packet
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if count == 0 or (Py_TYPE(args[0]) != <PyTypeObject*> Tensor
                      and not isinstance(<object> args[0], TensorImpl)):
        given = type(<object> args[0]).__name__ if count else "nothing"
        raise TypeError(f"Tensor.{packet.name}(): argument 'self' must be Tensor, not {given}")
    if packet.candidates is None:
        packet.resolve()
    return packet.call_one_of(packet.of_methods, args, count, kwnames, self)


cdef bint _writes_out(OpOverload op) except -1:
    return op.entry is not None and op.entry.variant == "out"


cdef object call_binary(OpOverloadPacket packet, object left, object right):
    cdef PyObject* stack[INLINE_ARGUMENTS]
    cdef OpOverload op
    cdef tuple defaults
    cdef Py_ssize_t position
    cdef uint64_t keys
    cdef LocalState* state
    cdef bint number = False
    if Py_TYPE(<PyObject*> left) != <PyTypeObject*> Tensor:
        return call_operands(packet, left, right)
    keys = (<TensorImpl> left).keys
    if Py_TYPE(<PyObject*> right) == <PyTypeObject*> Tensor:
        keys |= (<TensorImpl> right).keys
    elif PyFloat_CheckExact(<PyObject*> right) or PyLong_CheckExact(<PyObject*> right):
        number = True
    else:
        return call_operands(packet, left, right)
    if (packet.number_state if number else packet.binary_state) != 1:
        if not learn_binary(packet, left, right, number):
            return call_operands(packet, left, right)
    op = packet.of_number if number else packet.binary
    stack[0] = <PyObject*> left
    stack[1] = <PyObject*> right
    # Owned, as `op` is: the call may refresh the packet.
    defaults = packet.number_defaults if number else packet.binary_defaults
    for position in range(op.count - 2):
        stack[position + 2] = PySequence_Fast_ITEMS(<PyObject*> defaults)[position]
    state = local_state()
    keys = (keys | state.included) & ~state.excluded
    if keys & OVERRIDING:
        return call_operands(packet, left, right)
    return dispatch(op, keys, stack)


cdef object call_operands(OpOverloadPacket packet, object left, object right):
    cdef PyObject* operands[2]
    operands[0] = <PyObject*> left
    operands[1] = <PyObject*> right
    return packet.call_arguments(operands, 2, NULL, packet.as_method())


cdef bint learn_binary(OpOverloadPacket packet, object left, object right, bint number) except -1:
    """Whether a candidate takes two such operands as they are, and those before it do not take them;
    keeps it, and its other defaults."""
    cdef OpOverload op
    cdef tuple values, defaults = None
    if (packet.number_state if number else packet.binary_state) == -1:
        return False
    packet.resolve()
    for candidate in packet.candidates:
        op = <OpOverload> candidate
        op.prepare()
        values = _bound(op, left, right)
        if values is not None:
            # A parser that makes something else of an operand has to see every call.
            if _suits_slots(op, number) and values[0] is left and values[1] is right:
                defaults = values[2:]
            break
        # A candidate is passed over for a number if it takes tensors alone: another may take the
        # next call's, of another type, and tensors are refused for their values.
        if not number or op.count < 2 or op.parser.slots[1].code != TENSOR_VALUE:
            break
    if defaults is None:
        if number:
            packet.number_state = -1
        else:
            packet.binary_state = -1
        return False
    if number:
        packet.of_number, packet.number_defaults, packet.number_state = op, defaults, 1
    else:
        packet.binary, packet.binary_defaults, packet.binary_state = op, defaults, 1
    return True


cdef tuple _bound(OpOverload op, object left, object right):
    """What the overload makes of a call with the two operands, None where it does not take them."""
    cdef LargeStack stack = LargeStack(op.count)
    cdef PyObject* operands[2]
    cdef Py_ssize_t position
    operands[0] = <PyObject*> left
    operands[1] = <PyObject*> right
    if op.parser.parse(operands, 2, NULL, stack.values) != 0:
        return None
    values = tuple([<object> stack.values[position] for position in range(op.count)])
    release(stack.values, op.count)
    return values


cdef bint _suits_slots(OpOverload op, bint number):
    """Whether the overload's first arguments are a tensor and another, or any number, and all of them
    have room on the stack."""
    if not 2 <= op.count <= INLINE_ARGUMENTS or op.tensor_count < 1 or op.tensor_positions[0] != 0:
        return False
    if number:
        return op.parser.slots[1].code in (SCALAR_VALUE, TENSOR_OR_NUMBER_VALUE)
    return op.tensor_count >= 2 and op.tensor_positions[1] == 1


cdef bint has_overriding(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) except -1:
    """Whether an argument, which may be no tensor, has `__torch_function__`."""
    from aten._core.dispatch.overriding import are_overriding

    cdef Py_ssize_t position
    cdef Py_ssize_t count = nargs if kwnames == NULL else nargs + len(<tuple> kwnames)
    return are_overriding([<object> args[position] for position in range(count)])


cdef object call_slot(PyObject* filled, object left, object right):
    if Py_TYPE(filled) == <PyTypeObject*> OpOverloadPacket:
        return call_binary(<OpOverloadPacket> filled, left, right)
    return (<object> filled)(left, right)


cdef void make_packets_callable() except *:
    cdef OpOverloadPacket packet = OpOverloadPacket.__new__(OpOverloadPacket)
    cdef MethodDescriptor method = MethodDescriptor.__new__(MethodDescriptor)
    make_vectorcallable(
        <PyTypeObject*> OpOverloadPacket, <char*> &packet.vectorcall - <char*> <PyObject*> packet, 0
    )
    make_vectorcallable(
        <PyTypeObject*> MethodDescriptor, <char*> &method.vectorcall - <char*> <PyObject*> method,
        TPFLAGS_METHOD_DESCRIPTOR,
    )


make_packets_callable()
set_binary_call(call_slot)
