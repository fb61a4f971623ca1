# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, nonecheck=False, cdivision=True, freethreading_compatible=False
"""Dispatch keys: what a tensor is and which layers a call to it passes through.

A key set is one 64-bit word. Low bits are backend components, the bits above are functionalities,
and the higher a bit, the earlier the key is served. Some functionalities exist once per backend
(Dense, Sparse, Autograd, …): such a bit together with a component bit makes a run-time key
(`SparseCUDA`), so that 64 bits are enough for over a hundred keys. The two tables below are the
only list of keys; names, bits, row slots and priorities all follow from them.
"""

from types import MappingProxyType

from cpython.dict cimport PyDict_SetItem
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from aten._core.base.device cimport (
    CPU,
    CUDA,
    DEVICE_TYPE_COUNT,
    HIP,
    HPU,
    LAZY,
    META,
    MPS,
    MTIA,
    PRIVATEUSE1,
    PRIVATEUSE2,
    PRIVATEUSE3,
    REFERENCE,
    VULKAN,
    XLA,
    XPU,
)

cdef extern from *:
    """
    /* LocalState, then a word that says whether this thread has been set up. */
    static __thread uint64_t aten_thread_words[7]
        __attribute__((tls_model("initial-exec")));
    """
    uint64_t aten_thread_words[7]

cdef extern from "Python.h":
    void PyType_Modified(type)

# Lowest priority first: a tensor on a device outranks the CPU scalars it is combined with, and
# meta outranks all, because no data can come out of a call that has a meta operand.
BACKENDS = (
    ("CPU", CPU),
    ("CUDA", CUDA),
    ("HIP", HIP),
    ("XLA", XLA),
    ("MPS", MPS),
    ("XPU", XPU),
    ("HPU", HPU),
    ("Lazy", LAZY),
    ("MTIA", MTIA),
    ("Vulkan", VULKAN),
    ("PrivateUse1", PRIVATEUSE1),
    ("PrivateUse2", PRIVATEUSE2),
    ("PrivateUse3", PRIVATEUSE3),
    ("Reference", REFERENCE),
    ("Meta", META),
)

# Lowest priority first. The second column is the prefix of the per-backend keys; None: a single key.
FUNCTIONALITIES = (
    ("Dense", ""),
    ("Quantized", "Quantized"),
    ("Sparse", "Sparse"),
    ("SparseCsr", "SparseCsr"),
    ("NestedTensor", "NestedTensor"),
    ("BackendSelect", None),
    ("Python", None),
    ("FuncTorchDynamicLayerBackMode", None),
    ("Functionalize", None),
    ("Conjugate", None),
    ("Negative", None),
    ("ZeroTensor", None),
    ("ADInplaceOrView", None),
    ("AutogradRecording", None),
    ("InferenceTensor", None),
    ("AutogradOther", None),
    ("AutogradFunctionality", "Autograd"),
    ("AutogradNestedTensor", None),
    ("Tracer", None),
    ("AutocastCPU", None),
    ("AutocastMTIA", None),
    ("AutocastXPU", None),
    ("AutocastHPU", None),
    ("AutocastXLA", None),
    ("AutocastMPS", None),
    ("AutocastCUDA", None),
    ("AutocastPrivateUse1", None),
    ("FuncTorchBatched", None),
    ("FuncTorchVmapMode", None),
    ("FuncTorchGradWrapper", None),
    ("PythonTLSSnapshot", None),
    ("FuncTorchDynamicLayerFrontMode", None),
    ("PreDispatch", None),
    ("PythonDispatcher", None),
    ("Overriding", None),
)

# Names for many run-time keys at once. Kernels registered to them fill the slots that no kernel of
# a more specific key takes; "Structured" stands for every backend that has a code generator.
ALIASES = (
    "Autograd",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "Structured",
)

cdef enum:
    SLOT_CAPACITY = 256

cdef int backend_count = len(BACKENDS)
cdef uint64_t backend_mask = ((<uint64_t> 1) << backend_count) - 1
rows.backends = backend_mask
cdef uint64_t backend_bits_of_device[DEVICE_TYPE_COUNT]
cdef uint64_t dense_keys_of_device[DEVICE_TYPE_COUNT]
cdef int slot_count = 1             # slot 0 is Undefined
cdef int initial_tracing = 0
cdef int traces = 0
cdef uint64_t recording_key_bit = 0
cdef uint64_t inference_key_bit = 0
cdef int inference_threads = 0
cdef uint64_t overriding_key_bit = 0


cdef LocalState* local_state() noexcept nogil:
    if aten_thread_words[6] == 0:
        aten_thread_words[6] = 1
        (<LocalState*> aten_thread_words).tracing = initial_tracing
    return <LocalState*> aten_thread_words


cdef void trace_every_thread(int depth) noexcept nogil:
    global initial_tracing
    global traces
    local_state().tracing += depth - initial_tracing
    # Threads that have begun meanwhile go on tracing.
    traces += max(depth - initial_tracing, 0)
    initial_tracing = depth


cdef uint64_t backend_bit(int device_type) noexcept nogil:
    return backend_bits_of_device[device_type]


cdef uint64_t dense_keys(int device_type) noexcept nogil:
    return dense_keys_of_device[device_type]


cdef uint64_t all_backend_bits() noexcept nogil:
    return backend_mask


cdef uint64_t without_highest(uint64_t keys) noexcept nogil:
    cdef uint64_t functionalities = keys & ~backend_mask
    if functionalities == 0:
        return keys
    return keys & ~((<uint64_t> 1) << (63 - count_leading_zeros(functionalities)))


cdef int row_length() noexcept nogil:
    return slot_count


cdef uint64_t recording_bit() noexcept nogil:
    return recording_key_bit


cdef uint64_t inference_bit() noexcept nogil:
    return inference_key_bit


cdef uint64_t inference_bit_here() noexcept nogil:
    return inference_key_bit if local_state().no_gradients & INFERENCE else 0


cdef uint64_t overriding_bit() noexcept nogil:
    return overriding_key_bit


cdef uint64_t bits_of_one_tensor() noexcept nogil:
    return recording_key_bit | overriding_key_bit


cdef void settle_recording(LocalState* state) noexcept nogil:
    if state.below_recording or state.no_gradients:
        state.excluded |= recording_key_bit
    else:
        state.excluded &= ~recording_key_bit
    if state.no_gradients & INFERENCE:
        state.excluded |= inference_key_bit
    else:
        state.excluded &= ~inference_key_bit


cdef class DispatchKey:
    """One dispatch key. The members are attributes of the class, under torch's names."""

    def __init__(self):
        raise TypeError("DispatchKey has a fixed set of members, such as DispatchKey.CPU")

    def __repr__(self):
        return f"<DispatchKey.{self.name}: {self.value}>"

    def __str__(self):
        return f"DispatchKey.{self.name}"

    def __int__(self):
        return self.value

    def __index__(self):
        return self.value

    def __hash__(self):
        return self.value

    def __eq__(self, other):
        return self is other

    def __reduce__(self):
        return parse_dispatch_key, (self.name,)


cdef list keys_in_slots = []
cdef dict keys_by_name = {}


cdef DispatchKey add_key(str name, str kind, str functionality, str backend, uint64_t bits):
    cdef DispatchKey key = DispatchKey.__new__(DispatchKey)
    key.name = name
    key.value = len(keys_by_name)
    key.kind = kind
    key.functionality = functionality
    key.backend = backend
    key.bits = bits
    key.slot = -1
    keys_by_name[name] = key
    PyDict_SetItem(<object> (<PyTypeObject*> DispatchKey).tp_dict, name, key)
    return key


cdef DispatchKey key_named(str name):
    return <DispatchKey> keys_by_name[name]


cdef void add_slot(DispatchKey key) except *:
    global slot_count
    if slot_count == SLOT_CAPACITY:
        raise AssertionError("more run-time dispatch keys than a row can hold")
    key.slot = slot_count
    slot_count += 1
    keys_in_slots.append(key)


cdef void build_tables() except *:
    cdef int bit = backend_count
    cdef int position
    cdef uint64_t functionality_bit
    if backend_count + len(FUNCTIONALITIES) > 64:
        raise AssertionError("more backends and functionalities than a key set has bits")
    undefined = add_key("Undefined", "undefined", "Undefined", "", 0)
    undefined.slot = 0
    keys_in_slots.append(undefined)
    for functionality, prefix in FUNCTIONALITIES:
        functionality_bit = (<uint64_t> 1) << bit
        kind = "single" if prefix is None else "functionality"
        key = add_key(functionality, kind, functionality, "", functionality_bit)
        rows.offset[bit] = slot_count
        rows.per_backend[bit] = prefix is not None
        bit += 1
        if prefix is None:
            add_slot(key)
            continue
        for position, (backend, _) in enumerate(BACKENDS):
            add_slot(add_key(
                prefix + backend, "backend", functionality, backend,
                functionality_bit | ((<uint64_t> 1) << position),
            ))
    for alias in ALIASES:
        add_key(alias, "alias", "", "", 0)
    global recording_key_bit, inference_key_bit, overriding_key_bit
    recording_key_bit = key_named("AutogradRecording").bits
    inference_key_bit = key_named("InferenceTensor").bits
    overriding_key_bit = key_named("Overriding").bits
    cdef uint64_t dense = key_named("Dense").bits | key_named("AutogradFunctionality").bits
    for position, (_, device_type) in enumerate(BACKENDS):
        backend_bits_of_device[<int> device_type] = (<uint64_t> 1) << position
        dense_keys_of_device[<int> device_type] = dense | ((<uint64_t> 1) << position)


build_tables()
PyDict_SetItem(
    <object> (<PyTypeObject*> DispatchKey).tp_dict, "__members__", MappingProxyType(keys_by_name)
)
PyType_Modified(DispatchKey)


cdef DispatchKey key_of_slot(int slot):
    return <DispatchKey> keys_in_slots[slot]


def parse_dispatch_key(str name):
    """The DispatchKey of this name; ValueError where there is none."""
    key = keys_by_name.get(name)
    if key is None:
        raise ValueError(f"could not parse dispatch key: {name}")
    return key


def runtime_keys():
    """The keys that have a slot in an operator's dispatch row, in slot order."""
    return tuple(keys_in_slots)


def device_type_of_backend(str backend):
    """The device type code behind a backend component's name; ValueError where there is none."""
    for name, device_type in BACKENDS:
        if name == backend:
            return device_type
    raise ValueError(f"unknown backend component: {backend}")


cdef uint64_t as_bits(keys) except? 0:
    if isinstance(keys, DispatchKeySet):
        return (<DispatchKeySet> keys).bits
    if not isinstance(keys, DispatchKey):
        raise TypeError(
            f"expected DispatchKeySet or DispatchKey, not {type(keys).__name__}"
        )
    cdef DispatchKey key = <DispatchKey> keys
    if key.kind == "alias":
        raise ValueError(f"{key.name} is an alias for many dispatch keys and cannot be in a set")
    return key.bits


cdef DispatchKeySet key_set(uint64_t bits):
    cdef DispatchKeySet result = DispatchKeySet.__new__(DispatchKeySet)
    result.bits = bits
    return result


cdef class DispatchKeySet:
    """A set of dispatch keys.

    Backend components and functionalities are stored apart, so a set that holds `CPU` and
    `AutogradCUDA` holds `CUDA` and `AutogradCPU` as well; no tensor has such keys on its own.
    Iteration gives the highest priority first.
    """

    def __init__(self, *keys):
        """Takes keys and sets; ValueError for alias keys, which are names for many keys."""
        for key in keys:
            self.bits |= as_bits(key)

    @staticmethod
    def from_raw_repr(uint64_t bits):
        return key_set(bits)

    @staticmethod
    def full():
        """Every backend and every functionality."""
        return key_set(((<uint64_t> 1) << (backend_count + len(FUNCTIONALITIES))) - 1)

    @staticmethod
    def full_after(DispatchKey key not None):
        """Every key that is served after `key`: what a kernel of `key` redispatches with."""
        cdef uint64_t functionality = key.bits & ~backend_mask
        if functionality == 0:
            raise ValueError(f"no dispatch key comes after {key.name}")
        return key_set((functionality - 1) | backend_mask)

    def raw_repr(self):
        return self.bits

    def has(self, key):
        """Whether all of `key` (a key or a set) is in this set."""
        cdef uint64_t wanted = as_bits(key)
        return self.bits & wanted == wanted

    def __contains__(self, key):
        return self.has(key)

    def add(self, key):
        return key_set(self.bits | as_bits(key))

    def remove(self, key):
        """This set without the key's functionality; the backend components stay."""
        return key_set(self.bits & (backend_mask | ~as_bits(key)))

    def __or__(self, other):
        return key_set(as_bits(self) | as_bits(other))

    def __and__(self, other):
        return key_set(as_bits(self) & as_bits(other))

    def __sub__(self, other):
        return key_set(as_bits(self) & (backend_mask | ~as_bits(other)))

    def __bool__(self):
        return self.bits != 0

    def __eq__(self, other):
        if not isinstance(other, DispatchKeySet):
            return NotImplemented
        return self.bits == (<DispatchKeySet> other).bits

    def __hash__(self):
        return hash(self.bits)

    def __iter__(self):
        return iter(keys_in_set(self.bits))

    def __len__(self):
        return len(keys_in_set(self.bits))

    def __repr__(self):
        # Lowest first, as torch prints them.
        names = ", ".join([key.name for key in reversed(keys_in_set(self.bits))])
        return f"DispatchKeySet({names})"

    def __reduce__(self):
        return DispatchKeySet.from_raw_repr, (self.bits,)

    def highest_priority(self):
        """The key a call with this set goes to first; Undefined for a set without functionality."""
        return key_of_slot(row_index(self.bits))

    highestPriorityTypeId = highest_priority


cdef list keys_in_set(uint64_t bits):
    cdef list found = []
    cdef DispatchKey key
    for key in reversed(keys_by_name.values()):
        if key.bits == 0 or bits & key.bits != key.bits:
            continue
        # A per-backend functionality shows through its run-time keys, or alone without a backend.
        if key.kind == "functionality" and bits & backend_mask:
            continue
        found.append(key)
    return found


cdef class _ThreadSetGuard:
    cdef uint64_t wanted
    cdef list changed           # one entry for each time the guard was entered

    def __init__(self, keys):
        self.wanted = as_bits(keys)
        self.changed = []

    cdef uint64_t* thread_set(self) noexcept:
        return &local_state().included

    def __enter__(self):
        cdef uint64_t* current = self.thread_set()
        self.changed.append(self.wanted & ~current[0])
        current[0] |= self.wanted
        return self

    def __exit__(self, *exc_info):
        cdef uint64_t changed = self.changed.pop()
        self.thread_set()[0] &= ~changed


cdef class IncludeDispatchKeyGuard(_ThreadSetGuard):
    """Inside the `with` block every call of this thread has these keys, whatever its arguments."""


cdef class ExcludeDispatchKeyGuard(_ThreadSetGuard):
    """Inside the `with` block no call of this thread has these keys, whatever its arguments."""

    cdef uint64_t* thread_set(self) noexcept:
        return &local_state().excluded


def thread_included():
    """The keys that every call of this thread has."""
    return key_set(local_state().included)


def thread_excluded():
    """The keys that no call of this thread has; exclusion wins over inclusion."""
    return key_set(local_state().excluded)


def change_tracing(int step, bint every_thread=False):
    """Adds to this thread's count of active dispatch traces; optionally to that of new threads."""
    global traces
    if every_thread:
        trace_every_thread(initial_tracing + step)
    else:
        local_state().tracing += step
        traces += step


def set_overriding(bint every, bint none):
    """Has every call of this thread, or none, ask `__torch_function__` of modes and operands."""
    cdef LocalState* state = local_state()
    state.included &= ~overriding_key_bit
    state.excluded &= ~overriding_key_bit
    if every:
        state.included |= overriding_key_bit
    if none:
        state.excluded |= overriding_key_bit


def gradient_modes():
    """Whether this thread wants operators recorded, and whether it is in inference mode."""
    cdef LocalState* state = local_state()
    return state.no_gradients & NO_GRAD == 0, state.no_gradients & INFERENCE != 0


def set_recording_level(int level):
    """How many kernels of this thread run below the recording of gradients, from now on; and how
    many did before: while there are any, nothing is recorded."""
    cdef LocalState* state = local_state()
    cdef int before = state.below_recording
    state.below_recording = level
    settle_recording(state)
    return before


def set_gradient_modes(bint grad, bint inference):
    """Says what `gradient_modes` answers, for this thread."""
    global inference_threads
    cdef LocalState* state = local_state()
    inference_threads += inference - (state.no_gradients & INFERENCE != 0)
    state.no_gradients = (0 if grad else NO_GRAD) | (INFERENCE if inference else 0)
    settle_recording(state)
