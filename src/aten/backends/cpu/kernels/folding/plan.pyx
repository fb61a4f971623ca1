# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Plans: prepared sequences of kernel launches, replayed on new tensors.

Working out how a reduction walks its operands takes Python code some hundred microseconds, and
depends on nothing but element types, sizes, strides and attributes. So it is done once for each
combination: the plan holds what is to be allocated and launched, and replays in compiled code.
Each kernel keeps a bounded number of plans.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport Py_EQ, PyObject, PyTypeObject
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memcpy

from aten._core.base.dtypes cimport default_dtype_code, dtype
from aten._core.base.keys cimport dense_keys, inference_bit, local_state, recording_bit
from aten._core.base.sizes cimport MAXIMUM_DIMS, read_sizes
from aten._core.base.strides cimport contiguous_strides
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.tensor.making cimport make_alias, make_contiguous, make_strided
from aten._core.tensor.memory cimport check_unchanged
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer
from aten.backends.cpu.kernels.moving.iterator cimport (MAXIMUM_OPERANDS, KernelFunction, Walk,
                                                        run_walk)

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyLong_CheckExact(PyObject*) noexcept
    bint PyFloat_CheckExact(PyObject*) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept
    double PyFloat_AS_DOUBLE(PyObject*) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t) noexcept
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*) noexcept
    bint PyObject_RichCompareBool(PyObject*, PyObject*, int) except -1

cdef enum:
    # Plans one kernel keeps; past it the half used longest ago goes.
    MAXIMUM_PLANS = 512
    BUCKETS = 128
    MAXIMUM_ARGUMENTS = 24
    # Inputs, outputs and temporaries of one plan.
    MAXIMUM_TENSORS = 64
    # What a tensor adds to a key: what it is, sizes and strides.
    TENSOR_WORDS = 129


cdef class Launch:
    """One kernel launch: a walk whose addresses are filled in when the plan runs.

    `terms` are `LaunchTerms`; `owner` keeps the code at `address`.
    """

    def __cinit__(self):
        self.reduced = NULL

    def __init__(self, terms, size_t address, owner):
        cdef int dim, place
        cdef str label = terms.label
        cdef int64_t work = terms.work
        sizes, strides, reduced = terms.sizes, terms.strides, terms.reduced
        sources, offsets = terms.sources, terms.offsets
        if len(sizes) > MAXIMUM_DIMS or len(sources) > MAXIMUM_OPERANDS:
            raise ValueError(f"launch of {label}: too many dimensions or operands")
        self.label = label
        self.owner = owner
        self.operands = <int>len(sources)
        self.walk.rank = <int>len(sizes)
        self.walk.operands = self.operands
        self.walk.kernel = <KernelFunction>address
        self.walk.total = 1
        for dim in range(self.walk.rank):
            self.walk.sizes[dim] = sizes[dim]
            self.walk.total *= self.walk.sizes[dim]
            for place in range(self.operands):
                self.walk.strides[dim][place] = strides[dim][place]
        for place in range(self.operands):
            self.sources[place] = sources[place]
            self.offsets[place] = offsets[place]
        self.reduced = <long long*>PyMem_Malloc((len(reduced) + 1) * sizeof(long long))
        if self.reduced == NULL:
            raise MemoryError()
        for place in range(<int>len(reduced)):
            self.reduced[place] = reduced[place]
        self.walk.reduced = <const int64_t*>self.reduced
        self.grain = max(1, 16384 // max(work, 1))
        self.direct = self.walk.rank <= 2 and self.walk.total <= self.grain
        for dim in range(self.walk.rank, 2):
            self.walk.sizes[dim] = 1

    def __dealloc__(self):
        PyMem_Free(self.reduced)

    cdef int run(self, PyObject** tensors) except -1:
        # The launch is shared between threads: each run fills in addresses in a walk of its own.
        cdef Walk walk
        cdef int place
        if self.walk.total == 0:
            return 0
        for place in range(self.operands):
            # Inputs are read; outputs and temporaries are fresh, and nobody else's.
            walk.data[place] = (<char*>const_data_pointer(<TensorImpl>tensors[self.sources[place]])
                                + self.offsets[place])
        if self.direct:
            self.walk.kernel(walk.data, self.walk.sizes[0], self.walk.strides[0],
                             self.walk.sizes[1], self.walk.strides[1], self.walk.reduced)
            return 0
        walk.kernel = self.walk.kernel
        walk.reduced = self.walk.reduced
        walk.operands = self.operands
        walk.rank = self.walk.rank
        walk.total = self.walk.total
        memcpy(walk.sizes, self.walk.sizes, walk.rank * sizeof(int64_t))
        memcpy(walk.strides, self.walk.strides, walk.rank * MAXIMUM_OPERANDS * sizeof(int64_t))
        if walk.total <= self.grain:
            run_walk(&walk, self.grain)
            return 0
        with nogil:
            run_walk(&walk, self.grain)
        return 0


cdef class Plan:
    """What to allocate and to launch. `outputs` and `temporaries` are (dtype, sizes, strides)."""

    def __init__(self, launches, outputs, temporaries, int inputs, bint single, int device_type,
                 bint executes):
        cdef int place
        self.launches = tuple(launches)
        self.inputs = inputs
        self.outputs = <int>len(outputs)
        self.temporaries = <int>len(temporaries)
        self.single = single
        self.device_type = device_type
        self.executes = executes
        if inputs + self.outputs + self.temporaries > MAXIMUM_TENSORS:
            raise ValueError(f"a plan has at most {MAXIMUM_TENSORS} tensors")
        self.fresh = <Fresh*>PyMem_Calloc(self.outputs + self.temporaries + 1, sizeof(Fresh))
        if self.fresh == NULL:
            raise MemoryError()
        for place, (element, sizes, strides) in enumerate([*outputs, *temporaries]):
            _describe(&self.fresh[place], element, sizes, strides)

    def __dealloc__(self):
        cdef int place
        if self.fresh == NULL:
            return
        for place in range(self.outputs + self.temporaries):
            PyMem_Free(self.fresh[place].sizes)
        PyMem_Free(self.fresh)

    cdef Tensor allocated(self, int place):
        cdef Fresh* fresh = &self.fresh[place]
        if fresh.contiguous:
            return make_contiguous(fresh.code, fresh.rank, fresh.sizes, self.device_type, -1)
        return make_strided(fresh.code, fresh.rank, fresh.sizes, fresh.strides, self.device_type,
                            -1)

    cdef object run(self, PyObject** tensors, str label, int64_t changes):
        """Launch on `tensors`, which begin with the inputs; gives the output or a tuple of them.

        `changes` of tensors were counted when the plan was chosen for these: plans are made, and
        containers allocated, by code that may run other code.
        """
        cdef int place
        cdef list temporaries, windows
        cdef Tensor made, temporary, window
        cdef tuple results = None
        if self.single:
            made = self.allocated(0)
            tensors[self.inputs] = <PyObject*>made
        else:
            results = PyTuple_New(self.outputs)
            for place in range(self.outputs):
                made = self.allocated(place)
                Py_INCREF(made)
                PyTuple_SET_ITEM(results, place, made)
                tensors[self.inputs + place] = <PyObject*>made
        if self.executes:
            if self.temporaries > 0:
                temporaries = []
                for place in range(self.outputs, self.outputs + self.temporaries):
                    temporary = self.allocated(place)
                    temporaries.append(temporary)
                    tensors[self.inputs + place] = <PyObject*>temporary
            check_unchanged(label, changes)
            if PyTuple_GET_SIZE(<PyObject*>self.launches) > 1:
                # Other threads may run in the first launch, and change what later ones read.
                windows = []
                for place in range(self.inputs):
                    window = make_alias(<TensorImpl>tensors[place])
                    windows.append(window)
                    tensors[place] = <PyObject*>window
            for launch in self.launches:
                (<Launch>launch).run(tensors)
        return made if self.single else results


cdef int _describe(Fresh* fresh, dtype element, tuple sizes, tuple strides) except -1:
    cdef int rank = <int>len(sizes)
    fresh.code = element.code
    fresh.rank = rank
    fresh.sizes = <int64_t*>PyMem_Malloc((2 * rank + 1) * sizeof(int64_t))
    if fresh.sizes == NULL:
        raise MemoryError()
    fresh.strides = fresh.sizes + rank
    read_sizes(sizes, fresh.sizes, MAXIMUM_DIMS)
    contiguous_strides(rank, fresh.sizes, fresh.strides)
    fresh.contiguous = True
    if strides is not None:
        fresh.contiguous = strides == tuple([fresh.strides[dim] for dim in range(rank)])
        read_sizes(strides, fresh.strides, MAXIMUM_DIMS)
    return 0


cdef struct Key:
    # What a plan depends on: tensors as numbers, all other arguments as they are (borrowed).
    uint64_t hash
    int word_count
    int other_count
    PyObject* others[MAXIMUM_ARGUMENTS]
    int64_t words[MAXIMUM_ARGUMENTS * TENSOR_WORDS + 1]


cdef class Kept:
    """A plan with its key, and the next one in the same bucket."""

    cdef uint64_t hash
    cdef int word_count
    cdef int64_t* words
    cdef tuple others
    cdef Plan plan
    cdef Kept next

    def __dealloc__(self):
        PyMem_Free(self.words)

    cdef bint repeats(self, const Key* key) noexcept:
        """Whether the call is one for the plan, with the very same arguments but for tensors."""
        cdef int place
        if self.word_count != key.word_count:
            return False
        for place in range(key.word_count):
            if self.words[place] != key.words[place]:
                return False
        for place in range(key.other_count):
            if PyTuple_GET_ITEM(<PyObject*>self.others, place) != key.others[place]:
                return False
        return True

    cdef bint serves(self, const Key* key) except -1:
        cdef int place
        if self.hash != key.hash or self.word_count != key.word_count:
            return False
        if memcmp(self.words, key.words, key.word_count * sizeof(int64_t)) != 0:
            return False
        for place in range(key.other_count):
            if not _equal(PyTuple_GET_ITEM(<PyObject*>self.others, place), key.others[place]):
                return False
        return True


cdef inline bint _equal(PyObject* kept, PyObject* given) except -1:
    """Whether two arguments are one value of one type: 1, 1.0 and True are three."""
    if kept == given:
        return True
    if Py_TYPE(kept) != Py_TYPE(given):
        return False
    return PyObject_RichCompareBool(kept, given, Py_EQ)


cdef inline uint64_t _mixed(uint64_t hash, uint64_t word) noexcept nogil:
    hash = (hash ^ word) * <uint64_t>0x9E3779B97F4A7C15
    return hash ^ hash >> 32


cdef uint64_t _mixed_argument(uint64_t hash, PyObject* value) noexcept:
    """Equal arguments of one type change the hash alike; what hashing does not know, not at all."""
    cdef int overflow = 0
    cdef Py_ssize_t place
    cdef double number
    if PyLong_CheckExact(value):
        return _mixed(hash, <uint64_t>PyLong_AsLongLongAndOverflow(value, &overflow))
    if PyTuple_CheckExact(value):
        for place in range(PyTuple_GET_SIZE(value)):
            hash = _mixed_argument(hash, PyTuple_GET_ITEM(value, place))
        return _mixed(hash, 1)
    if PyFloat_CheckExact(value):
        number = PyFloat_AS_DOUBLE(value) + 0.0     # the zeros are equal
        return _mixed(hash, (<uint64_t*>&number)[0])
    if isinstance(<object>value, (bool, dtype)) or value == <PyObject*>None:
        return _mixed(hash, <uint64_t>value)
    return hash


cdef void _hash(Key* key) noexcept:
    cdef int place
    key.hash = 0
    for place in range(key.other_count):
        key.hash = _mixed_argument(key.hash, key.others[place])
    for place in range(key.word_count):
        key.hash = _mixed(key.hash, <uint64_t>key.words[place])


cdef class PlanKernel(Kernel):
    """Runs an operator by plans. `backend.plan(kernel, arguments)` makes one when it is missing.

    Every argument that is not a tensor is part of the plan.
    """

    cdef readonly OpOverload op
    cdef readonly object backend
    cdef readonly str label
    cdef Py_ssize_t count
    cdef int plans                  # how many are kept
    cdef Kept recent                # the plan found last
    cdef list buckets               # for each, the plan used last, or None; None before any

    def __init__(self, OpOverload op not None, backend, Py_ssize_t count):
        if count > MAXIMUM_ARGUMENTS:
            raise ValueError(f"{op.name}: too many arguments for plans")
        self.op = op
        self.backend = backend
        self.label = op.name
        self.count = count

    def describe(self):
        return f"fused loops of {self.label}"

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef Key key
        cdef PyObject* tensors[MAXIMUM_TENSORS]
        cdef Py_ssize_t position
        cdef PyObject* value
        cdef int count = 0
        cdef int64_t changes
        cdef Plan plan
        cdef list arguments
        key.words[0] = default_dtype_code()
        key.word_count = 1
        key.other_count = 0
        changes = local_state().changes
        for position in range(self.count):
            value = stack[position]
            if Py_TYPE(value) == <PyTypeObject*>Tensor or isinstance(<object>value, Tensor):
                tensors[count] = value
                count += 1
                _add_tensor(&key, value, position)
            else:
                key.others[key.other_count] = value
                key.other_count += 1
        if self.recent is not None and self.recent.repeats(&key):
            plan = self.recent.plan
            return plan.run(tensors, self.label, changes)
        _hash(&key)
        plan = self.kept_plan(&key)
        if plan is not None:
            return plan.run(tensors, self.label, changes)
        # A plan is made by Python code: other threads may change the tensors meanwhile.
        arguments = [<object>stack[position] for position in range(self.count)]
        count = 0
        for position in range(self.count):
            if isinstance(arguments[position], Tensor):
                arguments[position] = make_alias(<TensorImpl>stack[position])
                tensors[count] = <PyObject*>arguments[position]
                count += 1
        return self.make_plan(&key, arguments).run(tensors, self.label, changes)

    cdef Plan kept_plan(self, Key* key):
        """The plan kept for `key`, first in its bucket from now on; None: there is none."""
        cdef int bucket = <int>(key.hash % BUCKETS)
        cdef Kept before, found
        if self.buckets is None:
            self.buckets = [None] * BUCKETS
        before = None
        found = <Kept>self.buckets[bucket]
        while found is not None:
            if found.serves(key):
                if before is not None:
                    before.next = found.next
                    found.next = <Kept>self.buckets[bucket]
                    self.buckets[bucket] = found
                self.recent = found
                return found.plan
            before = found
            found = found.next
        return None

    cdef Plan make_plan(self, Key* key, list arguments):
        cdef int bucket = <int>(key.hash % BUCKETS)
        cdef Kept made = Kept.__new__(Kept)
        made.plan = <Plan?>self.backend.plan(self, arguments)
        made.words = <int64_t*>PyMem_Malloc(key.word_count * sizeof(int64_t))
        if made.words == NULL:
            raise MemoryError()
        memcpy(made.words, key.words, key.word_count * sizeof(int64_t))
        made.word_count = key.word_count
        made.hash = key.hash
        made.others = tuple([<object>key.others[place] for place in range(key.other_count)])
        if self.plans >= MAXIMUM_PLANS:
            self.drop_half()
        made.next = <Kept>self.buckets[bucket]
        self.buckets[bucket] = made
        self.plans += 1
        return made.plan

    cdef drop_half(self):
        """Keep what was used last in each bucket."""
        cdef int bucket, length, place
        cdef Kept kept
        self.plans = 0
        for bucket in range(BUCKETS):
            length = 0
            kept = <Kept>self.buckets[bucket]
            while kept is not None:
                length += 1
                kept = kept.next
            kept = <Kept>self.buckets[bucket]
            if length < 2:
                self.plans += length
                continue
            for place in range(length // 2 - 1):
                kept = kept.next
            kept.next = None
            self.plans += length // 2


cdef inline void _add_tensor(Key* key, PyObject* value, Py_ssize_t position) noexcept:
    """Which argument it is, element type, device, sizes and strides."""
    cdef int rank = (<TensorImpl>value).rank
    cdef int64_t* words = &key.words[key.word_count]
    words[0] = ((<TensorImpl>value).dtype_code | (<int64_t>(<TensorImpl>value).device_type << 8)
                | <int64_t>rank << 16 | <int64_t>position << 32)
    # Strides lie behind the sizes.
    memcpy(&words[1], (<TensorImpl>value).sizes, 2 * rank * sizeof(int64_t))
    key.word_count += 2 * rank + 1


# Of strided tensors on the CPU, device type 0, be they recorded or made in inference mode.
cdef uint64_t _plain_keys = dense_keys(0) | inference_bit() | recording_bit()


def is_plain(Tensor tensor not None):
    """Whether a tensor is strided memory of the host's and nothing else to any kernel."""
    return tensor.keys & ~_plain_keys == 0


cdef class FusedKernel(PlanKernel):
    """Several operators of a program in one kernel, called with the tensors they read.

    `backend.plan(kernel, tensors)` makes plans; `backend.resolved(tensors)` gives plain tensors of
    the host's in the place of others, or raises.
    """

    def __init__(self, str label not None, backend, Py_ssize_t count):
        if count > MAXIMUM_ARGUMENTS:
            raise ValueError(f"{label}: too many operands for plans")
        self.backend = backend
        self.label = label
        self.count = count

    def __call__(self, *tensors):
        cdef PyObject* stack[MAXIMUM_ARGUMENTS]
        cdef Py_ssize_t position
        if len(tensors) != self.count:
            raise TypeError(f"{self.label}: expected {self.count} tensors, got {len(tensors)}")
        for position in range(self.count):
            value = tensors[position]
            if not isinstance(value, Tensor):
                raise TypeError(f"{self.label}: expected a tensor as operand {position}, got "
                                f"{type(value).__name__}")
            if (<TensorImpl>value).keys & ~_plain_keys != 0:
                tensors = self.backend.resolved(tensors)
                break
        for position in range(self.count):
            stack[position] = <PyObject*>tensors[position]
        return self.call(None, 0, stack)
