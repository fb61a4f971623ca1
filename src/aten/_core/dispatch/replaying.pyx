# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, nonecheck=False, cdivision=True, freethreading_compatible=False
"""Captured programs: whether one serves a call, and its calls one after the other."""

from types import CellType

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from aten._core.base.dtypes cimport default_dtype_code
from aten._core.base.keys cimport LocalState, inference_bit, local_state
from aten._core.dispatch.dispatcher cimport registration_epoch
from aten._core.memory.storage cimport Storage, watch
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, version_of

cdef extern from "Python.h":
    object PyObject_Vectorcall(PyObject*, PyObject* const*, size_t, PyObject*)
    PyObject* PyList_GET_ITEM(object, Py_ssize_t) noexcept
    PyObject* PyCell_Get(object) except? NULL
    PyObject* PyDict_GetItemWithError(object, object) except? NULL
    Py_ssize_t PyDict_Size(object) except -1
    void Py_XDECREF(PyObject*) noexcept

cdef enum:
    MAXIMUM_ARGUMENTS = 64
    # What a tensor adds to what is compared, besides sizes and strides.
    HEAD_WORDS = 2

cdef object _nothing = object()
# Of these, an equal value will do.
cdef frozenset _PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})


cdef inline int64_t _described(TensorImpl tensor) noexcept:
    """What a tensor is but for keys, sizes and strides."""
    return (<int64_t> tensor.dtype_code & 0xff
            | (<int64_t> tensor.device_type & 0xff) << 8
            | (<int64_t> tensor.device_index & 0xff) << 16
            | <int64_t> tensor.wrapped_number << 24
            | <int64_t> tensor.rank << 32)


cdef bint _is(object found, object value) except -1:
    if found is value:
        return True
    if type(found) is not type(value) or type(value) not in _PLAIN:
        return False
    if type(value) is float:
        return _same_bits(found, value)
    if type(value) is complex:
        return _same_bits(found.real, value.real) and _same_bits(found.imag, value.imag)
    return found == value


cdef inline bint _same_bits(double found, double value) noexcept:
    """Whether two numbers are one: the zeros are two, and NaN is one."""
    return memcmp(&found, &value, sizeof(double)) == 0


cdef class CallGuard:
    """What calls are like that one program serves.

    Their tensors have the keys, dtypes, devices, sizes and strides of those of `args`, and other
    arguments are equal; the thread's keys, modes and default dtype are what they are now; no
    operator has got another kernel since; and every (namespace, name, value) of `places`, where a
    namespace is a dict or a cell, holds what it held. Raises TypeError for arguments that are
    neither tensors nor numbers, texts or None.
    """

    cdef tuple args                 # None in the place of tensors
    cdef list places
    cdef int64_t* words
    cdef uint64_t included, excluded, registrations
    cdef int64_t no_gradients
    cdef int default_code

    def __cinit__(self):
        self.words = NULL

    def __init__(self, tuple args not None, list places not None):
        cdef LocalState* state = local_state()
        cdef Py_ssize_t count = 1
        cdef int64_t* words
        cdef TensorImpl tensor
        kept = []
        for one in args:
            if isinstance(one, Tensor):
                count += HEAD_WORDS + 2 * (<TensorImpl> one).rank
                kept.append(None)
            elif type(one) in _PLAIN:
                kept.append((one,))
            else:
                raise TypeError(f"expected tensors, numbers or texts, got {type(one).__name__}")
        self.args = tuple(kept)
        self.places = places
        self.words = <int64_t*> PyMem_Malloc(count * sizeof(int64_t))
        if self.words == NULL:
            raise MemoryError()
        words = self.words
        for one in args:
            if isinstance(one, Tensor):
                tensor = <TensorImpl> one
                words[0] = <int64_t> tensor.keys
                words[1] = _described(tensor)
                memcpy(words + HEAD_WORDS, tensor.sizes, 2 * tensor.rank * sizeof(int64_t))
                words += HEAD_WORDS + 2 * tensor.rank
        self.included = state.included
        self.excluded = state.excluded
        self.no_gradients = state.no_gradients
        self.default_code = default_dtype_code()
        self.registrations = registration_epoch

    def __dealloc__(self):
        PyMem_Free(self.words)

    def tensors(self, tuple args not None):
        """The tensors among the arguments of a call that the program serves; else None."""
        cdef LocalState* state = local_state()
        cdef const int64_t* words = self.words
        cdef Py_ssize_t place
        cdef TensorImpl tensor
        cdef list found
        if (state.included != self.included or state.excluded != self.excluded
                or state.no_gradients != self.no_gradients or state.tracing != 0
                or registration_epoch != self.registrations or len(args) != len(self.args)
                or default_dtype_code() != self.default_code):
            return None
        found = []
        for place in range(len(args)):
            one = args[place]
            expected = self.args[place]
            if expected is not None:
                if not _is(one, (<tuple> expected)[0]):
                    return None
                continue
            if not isinstance(one, Tensor):
                return None
            tensor = <TensorImpl> one
            if (words[0] != <int64_t> tensor.keys or words[1] != _described(tensor)
                    or memcmp(words + HEAD_WORDS, tensor.sizes,
                              2 * tensor.rank * sizeof(int64_t)) != 0):
                return None
            words += HEAD_WORDS + 2 * tensor.rank
            found.append(one)
        return found if holds(self.places) else None


cpdef bint holds(list places) except -1:
    """Whether every (namespace, name, value) is as it was: a dict's item, a cell's content, or an
    attribute; without a name, the keys of a dict or the members of another container."""
    cdef PyObject* found
    for place in places:
        # Tuples, some of them with names for their members.
        if not isinstance(place, tuple) or len(<tuple> place) != 3:
            raise TypeError("expected a namespace, a name and a value for each place")
        namespace = (<tuple> place)[0]
        name = (<tuple> place)[1]
        value = (<tuple> place)[2]
        if name is None:
            if not _holds_all(namespace, value):
                return False
            continue
        if isinstance(namespace, dict):
            found = PyDict_GetItemWithError(namespace, name)
            if found == NULL:
                return False
            held = <object> found
        elif type(namespace) is CellType:
            found = PyCell_Get(namespace)
            if found == NULL:
                return False
            held = <object> found
            Py_XDECREF(found)
        else:
            held = getattr(namespace, name, _nothing)
        if held is not value and not _is(held, value):
            return False
    return True


cdef bint _holds_all(object container, object value) except -1:
    if isinstance(container, dict):
        return PyDict_Size(container) == len(<frozenset> value)
    if type(value) is bytes:
        return container.tobytes() == value
    if len(container) != len(value):
        return False
    if isinstance(container, set):
        return all([one in container for one in value])
    for found, expected in zip(container, value):
        if not _is(found, expected):
            return False
    return True


cdef class WriteGuard:
    """Whether nobody has written to some tensors, or given them other memory, since this was made.

    Writes are counted by tensors, but for those to what `.data` gives, and to memory whose address
    somebody has. The former are seen where the memory is the tensors' own, or a buffer of the type
    `kind`, and not known to others: `sees_all` says whether all of it is, and what becomes known to
    others counts as written to. Raises RuntimeError for tensors of inference mode, whose writes are
    not counted.
    """

    cdef readonly bint sees_all
    cdef tuple given
    cdef tuple storages
    cdef tuple marks                # of the storages' memory, or None
    cdef uint32_t* versions

    def __cinit__(self):
        self.versions = NULL

    def __init__(self, tensors not None, kind=None):
        cdef Py_ssize_t place
        cdef TensorImpl tensor
        self.given = tuple(tensors)
        self.versions = <uint32_t*> PyMem_Malloc(max(1, len(self.given)) * sizeof(uint32_t))
        if self.versions == NULL:
            raise MemoryError()
        storages = []
        for place in range(len(self.given)):
            tensor = <TensorImpl?> self.given[place]
            if tensor.keys & inference_bit():
                raise RuntimeError("a tensor of inference mode does not count its writes")
            self.versions[place] = version_of(tensor)
            storages.append(tensor.storage)
        self.storages = tuple(storages)
        self.marks = tuple([watch(<Storage> one, kind) for one in storages])
        self.sees_all = None not in self.marks

    def __dealloc__(self):
        PyMem_Free(self.versions)

    def shows(self, Py_ssize_t place, Tensor tensor not None):
        """Whether a tensor is that of a place, or has the same elements of the same storage."""
        cdef TensorImpl given = <TensorImpl> self.given[place]
        if given is tensor:
            return True
        return (tensor.storage is self.storages[place] and tensor.offset == given.offset
                and tensor.keys == given.keys and _described(tensor) == _described(given)
                and memcmp(tensor.sizes, given.sizes, 2 * given.rank * sizeof(int64_t)) == 0)

    def holds(self):
        """Whether it is so."""
        cdef Py_ssize_t place
        cdef TensorImpl tensor
        for place in range(len(self.given)):
            tensor = <TensorImpl> self.given[place]
            if (<PyObject*> tensor.storage != <PyObject*> self.storages[place]
                    or version_of(tensor) != self.versions[place]):
                return False
            mark = self.marks[place]
            if mark is not None and tensor.storage.shared is not mark:
                return False
        return True


cdef class _Call:
    """One call: its function, the slots that it reads, and those that it fills and clears."""

    cdef object function, target, name
    cdef tuple keywords             # names, or None
    cdef Py_ssize_t positional, count
    cdef int slots[MAXIMUM_ARGUMENTS]
    cdef tuple many                 # the slots, where there are more; else None
    cdef int destination
    cdef tuple unpack               # (place in the result, slot)
    cdef tuple dead

    cdef object run_many(self, list slots):
        values = [slots[<int> slot] for slot in self.many]
        named = dict(zip(self.keywords or (), values[self.positional:], strict=True))
        return self.function(*values[:self.positional], **named)


cdef class Replay:
    """Calls over numbered slots, one after the other.

    `template` holds what slots hold at first; `steps` are `aten.graph.interpreter.Step`s.
    """

    cdef list template
    cdef tuple calls, input_slots, output_slots

    def __init__(self, list template not None, input_slots, steps, output_slots):
        cdef _Call call
        made = []
        for step in steps:
            call = _Call.__new__(_Call)
            slots = [*step.arguments, *[slot for _, slot in step.keywords]]
            for place, slot in enumerate(slots):
                if not 0 <= slot < len(template):
                    raise ValueError(f"{step.name}: there is no slot {slot}")
                if place < MAXIMUM_ARGUMENTS:
                    call.slots[<int> place] = slot
            call.count = len(slots)
            call.many = tuple(slots) if call.count > MAXIMUM_ARGUMENTS else None
            call.positional = len(step.arguments)
            call.keywords = tuple([key for key, _ in step.keywords]) or None
            call.function, call.target, call.name = step.function, step.target, step.name
            call.destination = step.destination
            call.unpack, call.dead = tuple(step.unpack), tuple(step.dead)
            made.append(call)
        self.template = template
        self.calls = tuple(made)
        self.input_slots = tuple(input_slots)
        self.output_slots = tuple(output_slots)

    def __call__(self, inputs):
        """What the output slots hold in the end, as a tuple. Errors name the call that failed."""
        cdef list slots = list(self.template)
        cdef PyObject* stack[MAXIMUM_ARGUMENTS]
        cdef Py_ssize_t place
        cdef _Call call = None
        for slot, given in zip(self.input_slots, inputs, strict=True):
            slots[<int> slot] = given
        given = None
        try:
            for call in self.calls:
                if call.many is not None:
                    value = call.run_many(slots)
                else:
                    for place in range(call.count):
                        stack[place] = PyList_GET_ITEM(slots, call.slots[place])
                    value = PyObject_Vectorcall(
                        <PyObject*> call.function, stack, call.positional,
                        NULL if call.keywords is None else <PyObject*> call.keywords)
                if call.unpack:
                    for index, slot in call.unpack:
                        slots[<int> slot] = value[index]
                slots[call.destination] = value
                value = None
                for slot in call.dead:
                    slots[<int> slot] = None
        except Exception as error:
            if call is not None:
                error.add_note(f"in the program: {call.name} = {call.target}(...)")
            raise
        return tuple([slots[<int> slot] for slot in self.output_slots])
