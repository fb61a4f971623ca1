# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Plans: prepared sequences of kernel launches, replayed on new tensors.

Working out how a reduction walks its operands takes Python code some hundred microseconds, and
depends on nothing but element types, sizes, strides and attributes. So it is done once for each
combination: the plan holds what is to be allocated and launched, and replays in compiled code.
Each kernel keeps a bounded number of plans.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from aten._core.device cimport CPU
from aten._core.dispatcher cimport Kernel, OpOverload
from aten._core.dtypes cimport dtype
from aten._core.iterator cimport MAXIMUM_OPERANDS, KernelFunction, Walk, run_walk
from aten._core.tensor cimport (MAXIMUM_DIMS, Tensor, TensorImpl, const_data_pointer,
                                make_contiguous, make_strided, read_sizes)

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept

cdef enum:
    # Plans one kernel keeps; past it the older half goes.
    MAXIMUM_PLANS = 512


cdef class Launch:
    """One kernel launch: a walk whose addresses are filled in when the plan runs.

    `sizes` of the kept dimensions, innermost first; `strides` in bytes, for each of those
    dimensions one per operand; `reduced` as the kernel wants it; `sources`, for each operand the
    number of a plan's tensor, counting inputs, then outputs, then temporaries; `offsets` in bytes
    from that tensor's first element; `work`, elements touched per kept point.
    """

    def __cinit__(self):
        self.reduced = NULL

    def __init__(self, str label, size_t address, owner, sizes, strides, reduced, sources,
                 offsets, int64_t work):
        cdef int dim, place
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

    def __dealloc__(self):
        PyMem_Free(self.reduced)


cdef class Plan:
    """What to allocate and to launch. `outputs` and `temporaries` are (dtype, sizes, strides)."""

    def __init__(self, launches, outputs, temporaries, int inputs, bint single, int device_type,
                 bint executes):
        self.launches = tuple(launches)
        self.outputs = tuple(outputs)
        self.temporaries = tuple(temporaries)
        self.inputs = inputs
        self.single = single
        self.device_type = device_type
        self.executes = executes

    cdef object run(self, list tensors):
        """Launch on `tensors`, the inputs; gives the output or a tuple of them."""
        cdef list made = list(tensors)
        cdef Launch launch
        cdef int place
        for element, sizes, strides in self.outputs:
            made.append(_allocated(element, sizes, strides, self.device_type))
        if self.executes:
            for element, sizes, strides in self.temporaries:
                made.append(_allocated(element, sizes, strides, self.device_type))
            for entry in self.launches:
                _launch(<Launch>entry, made)
        if self.single:
            return made[self.inputs]
        return tuple(made[self.inputs:self.inputs + len(self.outputs)])


cdef int _launch(Launch launch, list tensors) except -1:
    # The launch is shared between threads: each run fills in addresses in a walk of its own.
    cdef Walk walk
    cdef int place
    if launch.walk.total == 0:
        return 0
    walk.kernel = launch.walk.kernel
    walk.reduced = launch.walk.reduced
    walk.operands = launch.operands
    walk.rank = launch.walk.rank
    walk.total = launch.walk.total
    memcpy(walk.sizes, launch.walk.sizes, walk.rank * sizeof(int64_t))
    memcpy(walk.strides, launch.walk.strides, walk.rank * MAXIMUM_OPERANDS * sizeof(int64_t))
    for place in range(launch.operands):
        # Inputs are read; outputs and temporaries are fresh, and nobody else's.
        walk.data[place] = (<char*>const_data_pointer(<TensorImpl>tensors[launch.sources[place]])
                            + launch.offsets[place])
    if walk.total <= launch.grain:
        run_walk(&walk, launch.grain)
        return 0
    with nogil:
        run_walk(&walk, launch.grain)
    return 0


cdef Tensor _allocated(dtype element, tuple sizes, tuple strides, int device_type):
    cdef int64_t size_values[MAXIMUM_DIMS]
    cdef int64_t stride_values[MAXIMUM_DIMS]
    cdef int rank = <int>read_sizes(sizes, size_values, MAXIMUM_DIMS)
    if strides is None:
        return make_contiguous(element.code, rank, size_values, device_type, -1)
    read_sizes(strides, stride_values, MAXIMUM_DIMS)
    return make_strided(element.code, rank, size_values, stride_values, device_type, -1)


cdef class PlanKernel(Kernel):
    """Runs an operator by plans. `backend.plan(kernel, arguments)` makes one when it is missing.

    Every argument that is not a tensor is part of the plan.
    """

    cdef readonly OpOverload op
    cdef readonly object backend
    cdef readonly str label
    cdef Py_ssize_t count
    cdef dict plans

    def __init__(self, OpOverload op not None, backend, Py_ssize_t count):
        self.op = op
        self.backend = backend
        self.label = op.name
        self.count = count
        self.plans = {}

    def describe(self):
        return f"fused loops of {self.label}"

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef list tensors = []
        cdef list key = []
        cdef Py_ssize_t position
        cdef PyObject* value
        for position in range(self.count):
            value = stack[position]
            if Py_TYPE(value) == <PyTypeObject*>Tensor or isinstance(<object>value, Tensor):
                tensors.append(<object>value)
                key.append(_geometry_key(<TensorImpl>value))
                continue
            key.append(<object>value)
            if isinstance(<object>value, (bool, float)):
                key.append(type(<object>value))
        found = tuple(key)
        plan = self.plans.get(found)
        if plan is None:
            plan = self.backend.plan(self, [<object>stack[i] for i in range(self.count)])
            if len(self.plans) >= MAXIMUM_PLANS:
                for old in list(self.plans)[:MAXIMUM_PLANS // 2]:
                    self.plans.pop(old, None)
            self.plans[found] = plan
        return (<Plan?>plan).run(tensors)


cdef bytes _geometry_key(TensorImpl tensor):
    """Element type, sizes and strides as bytes."""
    cdef int64_t buffer[2 * MAXIMUM_DIMS + 1]
    buffer[0] = tensor.dtype_code | (<int64_t>tensor.device_type << 8)
    memcpy(&buffer[1], tensor.sizes, 2 * tensor.rank * sizeof(int64_t))
    return PyBytes_FromStringAndSize(<char*>buffer, (2 * tensor.rank + 1) * sizeof(int64_t))
