# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, nonecheck=False, cdivision=True, freethreading_compatible=False
"""The path of a call: from an operator and its arguments to the kernel of the highest key.

An ordinary call parses its arguments onto a stack, joins the tensors' key bits with the thread's
sets, takes off the keys the operator skips, and jumps through its row. What the row holds is decided
in `registrations.py`, once for each slot. Which overload a call means is found in `packets.pyx`.
Errors and traces are put into words in `explain.py`.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t
from libc.string cimport memset

from aten._core.base.device cimport CPU, default_device, device
from aten._core.base.keys cimport (
    DispatchKey,
    DispatchKeySet,
    LocalState,
    all_backend_bits,
    dense_keys,
    key_of_slot,
    local_state,
    overriding_bit,
    row_index,
    row_length,
    without_highest,
)
from aten._core.dispatch.arguments cimport ArgumentParser
from aten._core.memory.storage cimport begin_call, end_call
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

from aten._core.base.device import device as device_class
from aten._core.dispatch import registrations as registry_of_kernels

cdef extern from "Python.h":
    const unsigned long TPFLAGS_HAVE_VECTORCALL "Py_TPFLAGS_HAVE_VECTORCALL"
    PyObject* PyVectorcall_Call(PyObject*, PyObject*, PyObject*)
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyList_CheckExact(PyObject*) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept
    Py_ssize_t PySequence_Fast_GET_SIZE(PyObject*) noexcept
    PyObject** PySequence_Fast_ITEMS(PyObject*) noexcept
    void PyType_Modified(PyTypeObject*)
    void own "Py_INCREF"(PyObject*) noexcept
    ctypedef struct CallableTypeObject "PyTypeObject":
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags
        PyObject* (*tp_call)(PyObject*, PyObject*, PyObject*)

cdef uint64_t EVERY_BIT = ~(<uint64_t> 0)
cdef uint64_t OVERRIDING = overriding_bit()
cdef uint64_t registration_epoch = 0


# Gives what is to stand in a row in the place of the kernel that was found: one that records calls.
cdef object interpose = None


def registrations_so_far():
    """A number that changes with every registration, and with what stands for kernels."""
    return registration_epoch


def set_interposition(function, undo=None):
    """Lets `function(kernel)` say what stands in rows for a kernel and calls it; None: it itself.

    `function` has to keep what it gives for as long as it stands somewhere. Rows are changed now,
    not emptied: no call has to find its kernel again. Where `function` is None, `undo(kernel)` says
    which kernel was there.
    """
    global interpose, registration_epoch
    interpose = function
    registry_of_kernels.change_rows(undo if function is None else function)
    registration_epoch += 1


cdef object placed(object kernel):
    cdef object function = interpose
    return kernel if function is None else function(kernel)


cdef class Kernel:
    """What a key of an operator runs."""

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        raise NotImplementedError(f"{type(self).__name__} has no call()")

    def describe(self):
        """The kernel in a few words, for dumps and traces."""
        return type(self).__name__


cdef class FallthroughKernel(Kernel):
    """Serves nothing: the call goes on to the next key."""

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef uint64_t remaining = without_highest(keys)
        if remaining == keys:
            return explain().raise_missing(op, key_of_slot(row_index(keys)))
        return op.redispatch_stack(remaining, stack)

    def describe(self):
        return "fallthrough"


cdef class LargeStack:
    """Room for one call's arguments, beyond what fits on the C stack."""

    def __cinit__(self, Py_ssize_t count):
        self.values = <PyObject**> PyMem_Malloc(count * sizeof(PyObject*))
        if self.values == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.values)


cdef uint64_t keys_of_value(PyObject* value) except? 0:
    """The keys of a Tensor, Tensor? or list of them; 0 for everything else."""
    cdef Py_ssize_t position
    cdef uint64_t keys = 0
    if Py_TYPE(value) == <PyTypeObject*> Tensor:
        return (<TensorImpl> value).keys
    if value == <PyObject*> None:
        return 0
    if isinstance(<object> value, TensorImpl):
        return (<TensorImpl> value).keys
    if PyList_CheckExact(value) or PyTuple_CheckExact(value):
        for position in range(PySequence_Fast_GET_SIZE(value)):
            keys |= keys_of_value(PySequence_Fast_ITEMS(value)[position])
    return keys


# Finds the packet of an operator; the registry brings it, which knows them all.
cdef object packet_lookup = None


def set_packet_lookup(lookup):
    """Let `lookup(namespace, name)` answer which packet an overload belongs to."""
    global packet_lookup
    packet_lookup = lookup


def packet_named(str namespace not None, str name not None):
    """The packet of an operator; what pickle keeps of one."""
    return packet_lookup(namespace, name)


cdef object explanations = None


cdef object explain():
    global explanations
    if explanations is None:
        from aten._core.dispatch import explain as module

        explanations = module
    return explanations


cdef class OpOverload:
    """One operator under one signature, such as `aten.ops.aten.add.Tensor`. Calling it dispatches.

    `schema_text` has no namespace: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) ->
    Tensor". It is parsed on first use; an error in it (SchemaError) shows only then.
    """

    def __cinit__(self):
        self.vectorcall = <void*> call_overload
        self.mask = EVERY_BIT
        self.mask_is_stale = True
        self.device_position = -1

    def __init__(self, str namespace not None, str name not None, str overload not None,
                 str schema_text not None, entry=None):
        self.namespace = namespace
        self.name = name
        self.overload = overload
        self.schema_text = schema_text
        self.entry = entry
        self.registrations = registry_of_kernels.registrations_of(self.qualified_name)

    def __dealloc__(self):
        PyMem_Free(self.row)
        PyMem_Free(self.tensor_positions)

    def __call__(self, *args, **kwargs):
        return call_with_tuple(self, args, kwargs)

    def redispatch(self, DispatchKeySet keyset not None, *args, **kwargs):
        """Calls the kernel of the highest key in `keyset`, whatever keys the arguments have."""
        cdef list values = [*args, *kwargs.values()]
        cdef tuple names = tuple(kwargs)
        return self.call_parsed(
            PySequence_Fast_ITEMS(<PyObject*> values), len(args),
            <PyObject*> names if names else NULL, keyset,
        )

    cdef int prepare(self) except -1:
        cdef Py_ssize_t position, written, returned_count, device_position
        cdef Returned returned
        cdef Py_ssize_t* positions
        cdef PyObject** row
        if self.row != NULL:
            return 0
        from aten._core.dispatch.arguments import ArgumentParser as make_parser
        from aten.schema import FunctionSchema

        schema = FunctionSchema.parse(f"{self.namespace}::{self.schema_text}")
        options = {} if self.entry is None else self.entry.options
        parser = make_parser(schema, options.get("numbers_as_tensors", False))
        results = named_results(self.name, [result.name for result in schema.returns])
        types = [str(argument.type) for argument in schema.arguments]
        places = [place for place, text in enumerate(types) if text.startswith("Tensor")]
        devices = [
            place for place, argument in enumerate(schema.arguments)
            if argument.name == "device" and types[place].startswith("Device")
        ]
        written = written_by(schema)
        returned = returned_by(schema, written >= 0)
        returned_count = len(schema.returns)
        device_position = max(devices, default=-1)
        self.registrations.attach(self)
        positions = <Py_ssize_t*> PyMem_Malloc((len(places) + 1) * sizeof(Py_ssize_t))
        row = <PyObject**> PyMem_Calloc(row_length(), sizeof(PyObject*))
        if positions == NULL or row == NULL:
            PyMem_Free(positions)
            PyMem_Free(row)
            raise MemoryError()
        for position in range(len(places)):
            positions[position] = places[position]
        # From here on no other thread runs: one that came later must not see half of it, nor take
        # away what calls go by.
        if self.row != NULL:
            PyMem_Free(positions)
            PyMem_Free(row)
            return 0
        self.parsed_schema = schema
        self.parser = parser
        self.results = results
        self.count = len(types)
        self.tensor_positions = positions
        self.tensor_count = len(places)
        self.device_position = device_position
        self.written = written
        self.returned = returned
        self.returned_count = returned_count
        self.row = row
        return 0

    def invalidate(self):
        """Forgets which kernels serve which keys; the next call finds them anew."""
        global registration_epoch
        registration_epoch += 1
        self.changes += 1
        self.mask = EVERY_BIT
        self.mask_is_stale = True
        if self.row != NULL:
            memset(self.row, 0, row_length() * sizeof(PyObject*))

    def change_row(self, function):
        """Puts `function(kernel)` into the place of each kernel in the row."""
        cdef int slot
        cdef uint64_t before
        self.changes += 1
        if self.row == NULL:
            return
        for slot in range(row_length()):
            if self.row[slot] == NULL:
                continue
            before = self.changes
            kernel = function(<object> self.row[slot])
            # Where something was registered meanwhile, the row was emptied.
            if before == self.changes:
                self.row[slot] = <PyObject*> <Kernel?> kernel

    def detach(self):
        """Leaves the registrations kept under this operator's name to whoever has the name next."""
        self.registrations = registry_of_kernels.Registrations(self.qualified_name)
        self.registrations.attach(self)
        self.invalidate()

    cdef uint64_t keys_of(self, PyObject** stack) except? 0:
        cdef uint64_t keys = 0
        cdef PyObject* value
        cdef Py_ssize_t position
        cdef LocalState* state = local_state()
        for position in range(self.tensor_count):
            value = stack[self.tensor_positions[position]]
            if Py_TYPE(value) == <PyTypeObject*> Tensor:
                keys |= (<TensorImpl> value).keys
            elif value != <PyObject*> None:
                keys |= keys_of_value(value)
        if keys & all_backend_bits() == 0:
            keys |= self.keys_without_tensors(stack)
        return (keys | state.included) & ~state.excluded

    cdef uint64_t keys_without_tensors(self, PyObject** stack) except? 0:
        cdef object place
        if self.device_position < 0:
            return dense_keys(CPU)
        place = <object> stack[self.device_position]
        if place is None:
            place = default_device()
            if place is None:
                return dense_keys(CPU)
            # One reference for stacks that are released; None's stays, for those that are borrowed.
            own(<PyObject*> place)
            stack[self.device_position] = <PyObject*> place
        if not isinstance(place, device):
            place = device_class(place)
        return dense_keys((<device> place).type_code)

    cdef object call_stack(self, PyObject** stack):
        if self.row == NULL:
            self.prepare()
        return dispatch(self, self.keys_of(stack), stack)

    cdef object redispatch_stack(self, uint64_t keys, PyObject** stack):
        if self.row == NULL:
            self.prepare()
        return dispatch(self, keys, stack)

    cdef Kernel kernel_for(self, uint64_t keys):
        cdef int slot = row_index(keys)
        cdef uint64_t changes
        if self.row == NULL:
            self.prepare()
        self.find_mask()
        while self.row[slot] == NULL:
            changes = self.changes
            found, _ = self.registrations.resolve(key_of_slot(slot))
            if found is None:
                explain().raise_missing(self, key_of_slot(slot))
            found = placed(found)
            # What was found may be gone where another thread has registered something meanwhile.
            if changes == self.changes:
                self.row[slot] = <PyObject*> <Kernel?> found
        return <Kernel> self.row[slot]

    cdef int find_mask(self) except -1:
        cdef uint64_t changes
        cdef DispatchKeySet skipped
        while self.mask_is_stale:
            changes = self.changes
            skipped = registry_of_kernels.skipped_keys(self.registrations)
            if changes == self.changes:
                self.mask = EVERY_BIT & ~skipped.bits
                self.mask_is_stale = False
        return 0

    cdef bint is_as_made(self, uint64_t keys) except -1:
        cdef Kernel kernel
        try:
            # The first look at a row also finds which keys its operator skips.
            self.kernel_for(keys & self.mask)
            kernel = self.kernel_for(keys & self.mask)
        except NotImplementedError:  # there is none: for whoever calls the operator to say
            return False
        return (kernel.home is not None and kernel.home == self.qualified_name
                and not isinstance(kernel, FallthroughKernel))

    def is_plain(self, *tensors):
        """Whether a call with these tensors ends in the kernel the operator came with, untraced.

        Then a function may compute in one step what it would call the operator for.
        """
        cdef LocalState* state = local_state()
        cdef uint64_t keys = keys_of_value(<PyObject*> tensors)
        return state.tracing == 0 and self.is_as_made((keys | state.included) & ~state.excluded)

    def adopt(self, kernels):
        """Says that these kernels are the operator's own, which came with it."""
        for kernel in kernels:
            (<Kernel?> kernel).home = self.qualified_name

    cdef object call_arguments(self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames):
        return self.call_parsed(args, nargs, kwnames, None)

    cdef object call_parsed(self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                            DispatchKeySet given):
        cdef PyObject* inline_stack[INLINE_ARGUMENTS]
        cdef PyObject** stack = inline_stack
        cdef LargeStack larger
        cdef uint64_t keys
        if self.row == NULL:
            self.prepare()
        if self.count > INLINE_ARGUMENTS:
            larger = LargeStack(self.count)
            stack = larger.values
        if self.parser.parse(args, nargs, kwnames, stack) != 0:
            return call_without_match(self, (self,), args, nargs, kwnames)
        try:
            if given is None:
                keys = self.keys_of(stack)
                if keys & OVERRIDING:
                    return overridden(self, args, nargs, kwnames)
                return dispatch(self, keys, stack)
            return self.redispatch_stack(given.bits, stack)
        finally:
            release(stack, self.count)

    @property
    def qualified_name(self):
        """The name with namespace and overload: "aten::add.Tensor", "aten::relu"."""
        suffix = f".{self.overload}" if self.overload else ""
        return f"{self.namespace}::{self.name}{suffix}"

    @property
    def _schema(self):
        self.prepare()
        return self.parsed_schema

    @property
    def _overloadname(self):
        return self.overload or "default"

    @property
    def _opname(self):
        return self.name

    @property
    def reason(self):
        """Why the last call that did not fit the schema did not."""
        return self.reason_for(False)

    def reason_for(self, bint as_method):
        """The same for a call as function or as method, whose arguments count from the second."""
        return self.parser.reason_for(as_method) if self.parser is not None else ""

    @property
    def overloadpacket(self):
        return packet_lookup(self.namespace, self.name)

    @property
    def __name__(self):
        return f"{self.name}.{self._overloadname}"

    @property
    def __doc__(self):
        return f"{self.namespace}::{self.schema_text}"

    def __str__(self):
        return f"{self.namespace}.{self.name}.{self._overloadname}"

    def __repr__(self):
        return (
            f"<OpOverload(op='{self.namespace}.{self.name}', overload='{self._overloadname}')>"
        )

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return getattr, (self.overloadpacket, self._overloadname)

    def register(self, DispatchKey key not None, kernel, str provenance=None):
        """Lets `kernel`, a Kernel or a Python function, serve `key`: a run-time or an alias key.

        `provenance` ("file:line") is where the registration is made, by default the caller's
        place. Returns a handle whose `destroy()` takes the registration back. Warns (UserWarning)
        where the key has a kernel already; the newer one serves.

        Raises:
            ValueError: the key has no kernels (Undefined, or a functionality without a backend).
        """
        from aten._core.dispatch.python_kernel import register_kernel

        return register_kernel(self.registrations, key, kernel, provenance)

    def py_impl(self, DispatchKey key not None):
        """A decorator that registers a function for `key`."""
        from aten._core.dispatch.python_kernel import register_kernel

        place = registry_of_kernels.caller_place()

        def decorate(function):
            register_kernel(self.registrations, key, function, place)
            return function

        return decorate

    def row_contents(self):
        """The kernels this operator's row holds by now, by key; of one that records, what it calls."""
        cdef int slot
        if self.row == NULL:
            return {}
        return {
            key_of_slot(slot): getattr(<object> self.row[slot], "records", <object> self.row[slot])
            for slot in range(row_length())
            if self.row[slot] != NULL
        }

    def has_kernel_for_dispatch_key(self, DispatchKey key not None):
        """Whether a kernel is registered for exactly this key."""
        return key in self.registrations.kernels


cdef object dispatch_unserved(OpOverload op, uint64_t keys, PyObject** stack):
    if local_state().tracing != 0:
        return dispatch_traced(op, keys, stack)
    op.kernel_for(keys & op.mask)
    return op.redispatch_stack(keys, stack)


cdef object dispatch_traced(OpOverload op, uint64_t keys, PyObject** stack):
    """`dispatch` with one line for every key, those included that the mask takes off."""
    from aten._core.dispatch import tracing

    cdef uint64_t remaining = keys
    cdef int phase
    while True:
        key = key_of_slot(row_index(remaining))
        kernel, reason = op.registrations.resolve(key)
        tracing.record(op, key, kernel, reason)
        if not isinstance(kernel, FallthroughKernel):
            break
        keys = remaining
        remaining = without_highest(keys)
        if remaining == keys:
            kernel = None
            break
    if kernel is None:
        explain().raise_missing(op, key)
    tracing.nest(1)
    phase = begin_call()
    try:
        return (<Kernel?> placed(kernel)).call(op, remaining & op.mask, stack)
    finally:
        end_call(phase)
        tracing.nest(-1)


cdef Returned returned_by(schema, bint is_argument) except *:
    """What the schema says is returned; `is_argument`: the only result is one of the arguments."""
    cdef list types = [str(one.type) for one in schema.returns]
    if not types:
        return NOTHING
    if types == ["Any"]:
        return ANYTHING
    if is_argument:
        return WRITTEN_TENSOR
    if any([one.is_write for one in schema.returns]):
        return OTHER
    if types == ["Tensor"]:
        return ONE_TENSOR
    if types == ["Tensor[]"]:
        return TENSOR_LIST
    if types == ["bool"]:
        return TRUTH
    return TENSORS if all([one == "Tensor" for one in types]) else OTHER


cdef Py_ssize_t written_by(schema) except -2:
    """The position of the tensor that is written to and all that is returned, or -1."""
    if len(schema.returns) != 1 or not schema.returns[0].is_write:
        return -1
    for position, argument in enumerate(schema.arguments):
        if argument.is_write and argument.annotation == schema.returns[0].annotation:
            return position if str(argument.type) == "Tensor" else -1
    return -1


cdef object named_results(str name, list names):
    """The type of tuples of several results with names, such as `values` and `indices`."""
    if len(names) < 2 or not all(names):
        return None
    from aten._core.dispatch.named_results import result_type

    return result_type(name, tuple(names))


cdef object call_without_match(object named, tuple candidates, PyObject* const* args,
                           Py_ssize_t nargs, PyObject* kwnames):
    cdef Py_ssize_t position
    cdef list values = [<object> args[position] for position in range(nargs)]
    cdef dict keywords = {}
    if kwnames != NULL:
        for position, name in enumerate(<tuple> kwnames, nargs):
            keywords[name] = <object> args[position]
    return explain().call_without_match(named, candidates, values, keywords)


cdef object overridden(object function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames):
    """What modes and classes of operands say that a call gives."""
    from aten._core.dispatch.overriding import override

    cdef Py_ssize_t position
    cdef tuple values = tuple([<object> args[position] for position in range(nargs)])
    cdef dict named = {}
    if kwnames != NULL:
        for position, name in enumerate(<tuple> kwnames, nargs):
            named[name] = <object> args[position]
    return override(function, values, named)


cdef object call_overload(OpOverload self, PyObject* const* args, size_t nargsf,
                          PyObject* kwnames):
    return self.call_arguments(args, PyVectorcall_NARGS(nargsf), kwnames)


cdef void make_vectorcallable(PyTypeObject* type, Py_ssize_t offset, unsigned long flags) noexcept:
    """What Cython cannot say of an extension type: calls go through the instance's `vectorcall`."""
    cdef CallableTypeObject* changed = <CallableTypeObject*> type
    changed.tp_vectorcall_offset = offset
    changed.tp_flags |= TPFLAGS_HAVE_VECTORCALL | flags
    changed.tp_call = PyVectorcall_Call
    PyType_Modified(type)


cdef void make_overloads_callable() except *:
    cdef OpOverload op = OpOverload.__new__(OpOverload)
    make_vectorcallable(
        <PyTypeObject*> OpOverload, <char*> &op.vectorcall - <char*> <PyObject*> op, 0
    )


make_overloads_callable()
registry_of_kernels.skip = FallthroughKernel()
