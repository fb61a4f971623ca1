# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""The ordinary call of a pointwise operator, arranged without a general walk.

Ordinary are CPU tensors without gaps and Python numbers where one tensor, the leader, has the
shape of the result, and every other operand has all its elements, a row that repeats, a column
whose elements repeat along rows, or one element. Types and access patterns make up a signature, by
which the operator remembers the result's type and the machine code. Whatever else a call may be,
`arrange` turns it down early, and it goes the general way, with the same result.
"""

from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport BOOL, DTYPE_COUNT, FLOAT64, INT64, default_dtype_code, item_size
from aten._core.base.sizes cimport INLINE_DIMS
from aten._core.base.strides cimport is_dense, is_row_major
from aten._core.tensor.making cimport make_contiguous, make_strided
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, count_write, data_pointer
from aten._core.threads.cost cimport LEAST_MEASURED, Cost, clock, grain, is_known, observe
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.moving.iterator cimport KernelFunction
from aten.backends.cpu.kernels.pointwise.operands cimport UNIT, ZERO

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyFloat_CheckExact(PyObject*) noexcept
    bint PyLong_CheckExact(PyObject*) noexcept
    PyObject* Py_True
    PyObject* Py_False
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*) noexcept
    void _own "Py_INCREF"(PyObject* value)
    void _release "Py_XDECREF"(PyObject* value)

cdef enum:
    # How an operand takes part in promotion.
    DIMENSIONED = 0
    ZERO_DIMENSIONAL = 1
    NUMBER = 2

cdef enum:
    # Bits of a signature.
    OPERAND_BITS = 10
    CODE_BITS = 6
    CODES = 64
    NO_OUT = 63

# Bytes of an element, by type: asking for them costs a call, and is done for each operand.
cdef int64_t _WIDTHS[CODES]


cdef bint arrange(OrdinaryCall* call, PyObject** stack, const int* positions, int count,
                  PyObject* out):
    """Fill in `call`; False where the call is not ordinary, and nothing has happened."""
    cdef int index
    cdef bint alike = True              # all operands have the leader's shape
    if count > MAXIMUM_ORDINARY or not _find_leader(call, stack, positions, count):
        return False
    call.out = out
    call.rows = 0
    call.points = (<TensorImpl>call.leader).count
    if call.points == 0 or call.points > MAXIMUM_POINTS:
        return False
    if not (<TensorImpl>call.leader).contiguous and not _is_packed(<TensorImpl>call.leader):
        return False
    for index in range(count):
        if call.tensors[index] == NULL:
            alike = False
        elif call.tensors[index] == call.leader or _is_alike(call.leader, call.tensors[index]):
            _step_evenly(call, index)
        elif _repeats(call, index):
            alike = False
        else:
            return False
    if call.rows == 0:
        call.rows = 1
    if out != NULL:
        if not _may_be_written(call):
            return False
    elif not alike and not _are_row_major(call):
        return False
    _sign(call)
    return True


cdef inline bint _find_leader(OrdinaryCall* call, PyObject** stack, const int* positions,
                              int count):
    """Sort operands into tensors and numbers; the leader is the one of most dimensions."""
    cdef int index
    cdef PyObject* value
    call.leader = NULL
    call.count = count
    for index in range(count):
        value = stack[positions[index]]
        if Py_TYPE(value) != <PyTypeObject*>Tensor:
            if not _read_number(call, index, value):
                return False
            continue
        if (<TensorImpl>value).device_type != CPU:
            return False
        call.tensors[index] = value
        call.codes[index] = (<TensorImpl>value).dtype_code
        if call.leader == NULL or _leads(value, call.leader):
            call.leader = value
    return call.leader != NULL


cdef inline bint _leads(PyObject* tensor, PyObject* other) noexcept:
    if (<TensorImpl>tensor).rank != (<TensorImpl>other).rank:
        return (<TensorImpl>tensor).rank > (<TensorImpl>other).rank
    return (<TensorImpl>tensor).count > (<TensorImpl>other).count


cdef inline bint _read_number(OrdinaryCall* call, int index, PyObject* value):
    """The bytes of a float, a bool or an int of 64 bits; False for anything else."""
    cdef int overflow = 0
    call.tensors[index] = NULL
    call.accesses[index] = ZERO
    call.inner[index] = call.outer[index] = 0
    if PyFloat_CheckExact(value):
        call.codes[index] = FLOAT64
        (<double*>&call.numbers[index])[0] = PyFloat_AS_DOUBLE(<object>value)
        return True
    if PyLong_CheckExact(value):
        call.codes[index] = INT64
        call.numbers[index] = PyLong_AsLongLongAndOverflow(value, &overflow)
        return overflow == 0
    if value == Py_True or value == Py_False:
        call.codes[index] = BOOL
        (<char*>&call.numbers[index])[0] = value == Py_True
        return True
    return False


cdef inline bint _is_alike(PyObject* leader, PyObject* tensor) noexcept:
    """Whether `tensor` has the leader's shape, and its elements the same order in memory."""
    cdef int dim
    cdef int rank = (<TensorImpl>leader).rank
    cdef bint plain = (<TensorImpl>leader).contiguous
    if (<TensorImpl>tensor).rank != rank or (<TensorImpl>tensor).contiguous != plain:
        return False
    for dim in range(rank):
        if (<TensorImpl>tensor).sizes[dim] != (<TensorImpl>leader).sizes[dim]:
            return False
        if not plain and (<TensorImpl>tensor).strides[dim] != (<TensorImpl>leader).strides[dim]:
            return False
    return True


cdef inline bint _is_packed(TensorImpl tensor) noexcept:
    """Whether few dimensions are dense, and none of one element, whose stride says nothing."""
    cdef int dim
    if tensor.rank > INLINE_DIMS:
        return False
    for dim in range(tensor.rank):
        if tensor.sizes[dim] == 1:
            return False
    return is_dense(tensor.rank, tensor.sizes, tensor.strides)


cdef inline void _step_evenly(OrdinaryCall* call, int index) noexcept:
    call.accesses[index] = UNIT
    call.inner[index] = _WIDTHS[call.codes[index]]
    call.outer[index] = AS_IT_COMES


cdef bint _repeats(OrdinaryCall* call, int index):
    """Steps of one element, a row that repeats, or a column of elements repeated along rows."""
    cdef TensorImpl tensor = <TensorImpl>call.tensors[index]
    cdef TensorImpl leader = <TensorImpl>call.leader
    cdef int tail = 0
    cdef int64_t length = 1
    call.accesses[index] = ZERO
    call.inner[index] = call.outer[index] = 0
    if tensor.count == 1:
        if call.points == 1:
            _step_evenly(call, index)
        return True
    if not leader.contiguous or not tensor.contiguous:
        return False
    while tail < tensor.rank and _size(tensor, tail) == _size(leader, tail):
        tail += 1
    if _are_ones(tensor, tail):
        call.accesses[index] = UNIT
        call.inner[index] = _WIDTHS[tensor.dtype_code]
        return _cut(call, tensor.count)
    if tail > 0 or tensor.rank != leader.rank:
        return False
    while _size(tensor, tail) == 1:
        length *= _size(leader, tail)
        tail += 1
    while tail < tensor.rank:
        if _size(tensor, tail) != _size(leader, tail):
            return False
        tail += 1
    call.outer[index] = _WIDTHS[tensor.dtype_code]
    return _cut(call, length)


cdef inline int64_t _size(TensorImpl tensor, int place) noexcept:
    """The size of a dimension counted from the last."""
    return tensor.sizes[tensor.rank - 1 - place]


cdef inline bint _are_ones(TensorImpl tensor, int place) noexcept:
    while place < tensor.rank:
        if _size(tensor, place) != 1:
            return False
        place += 1
    return True


cdef inline bint _cut(OrdinaryCall* call, int64_t length) noexcept:
    """Two loops, the inner one over `length` points; False where another length was asked for."""
    cdef int64_t rows = call.points // length
    if call.rows not in (0, rows):
        return False
    call.rows = rows
    return True


cdef bint _are_row_major(OrdinaryCall* call):
    """Whether a fresh result is to have the leader's strides.

    Strides of dimensions of size one, which address nothing, may say otherwise.
    """
    cdef TensorImpl tensor
    cdef int index
    if not (<TensorImpl>call.leader).contiguous:
        return True
    for index in range(call.count):
        if call.tensors[index] == NULL:
            continue
        tensor = <TensorImpl>call.tensors[index]
        if not is_row_major(tensor.rank, tensor.sizes, tensor.strides):
            return False
    return True


cdef bint _may_be_written(OrdinaryCall* call):
    """Whether the output has the leader's shape, and shares elements with equals of it only."""
    cdef TensorImpl out, tensor
    cdef const char* start
    cdef const char* other
    cdef int index
    if Py_TYPE(call.out) != <PyTypeObject*>Tensor:
        return False
    out = <TensorImpl>call.out
    if out.device_type != CPU or (call.out != call.leader and not _is_alike(call.leader, call.out)):
        return False
    start = const_data_pointer(out)
    for index in range(call.count):
        if call.tensors[index] == NULL or call.tensors[index] == call.out:
            continue
        tensor = <TensorImpl>call.tensors[index]
        other = const_data_pointer(tensor)
        if (start >= other + tensor.count * _WIDTHS[tensor.dtype_code]
                or other >= start + out.count * _WIDTHS[out.dtype_code]):
            continue
        if (tensor.storage is not out.storage or other != start or tensor.count != out.count
                or tensor.dtype_code != out.dtype_code or call.outer[index] != AS_IT_COMES):
            return False
    return True


cdef inline void _sign(OrdinaryCall* call) noexcept:
    cdef uint64_t signature = 1
    cdef int index, part
    for index in range(call.count):
        part = NUMBER
        if call.tensors[index] != NULL and not (<TensorImpl>call.tensors[index]).wrapped_number:
            part = DIMENSIONED if (<TensorImpl>call.tensors[index]).rank > 0 else ZERO_DIMENSIONAL
        signature = (signature << OPERAND_BITS
                     | <uint64_t>(call.codes[index] << 4 | part << 2 | call.accesses[index]))
    signature <<= CODE_BITS
    signature |= <uint64_t>(NO_OUT if call.out == NULL else (<TensorImpl>call.out).dtype_code)
    call.signature = signature << CODE_BITS | <uint64_t>default_dtype_code()


cdef struct Evenly:
    # A kernel, and operands that it steps through evenly.
    KernelFunction function
    int operands
    char* data[MAXIMUM_ORDINARY + 1]
    const int64_t* steps


cdef void _run_part(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Evenly* evenly = <Evenly*>context
    cdef char* data[MAXIMUM_ORDINARY + 1]
    cdef int64_t still[MAXIMUM_ORDINARY + 1]
    cdef int place
    for place in range(evenly.operands):
        data[place] = evenly.data[place] + begin * evenly.steps[place]
        still[place] = 0
    evenly.function(data, end - begin, evenly.steps, 1, still, NULL)


cdef void _run(Cost* cost, Evenly* evenly, int64_t points) noexcept nogil:
    """Run many points: to see what they take, then on as many threads as that is worth."""
    cdef int64_t begun
    if is_known(cost):
        parallel_for(points, grain(cost, points), _run_part, evenly)
        return
    begun = clock()
    _run_part(evenly, 0, points)
    observe(cost, points, begun)


cdef object compute(OrdinaryCall* call, Remembered* known):
    """Run what is known of such calls; gives the result."""
    cdef TensorImpl out
    cdef PyObject* leader = call.leader
    cdef char* data[MAXIMUM_ORDINARY + 1]
    cdef int64_t length = call.points // call.rows if call.rows > 1 else call.points
    cdef Evenly evenly
    cdef int index
    # Taken now: memory may have to be collected for the result, and what runs then may call again.
    cdef KernelFunction function = known.function
    cdef int code = known.out_code
    if call.out != NULL:
        out = <TensorImpl>call.out
    elif (<TensorImpl>leader).contiguous:
        out = make_contiguous(code, (<TensorImpl>leader).rank, (<TensorImpl>leader).sizes, CPU,
                              (<TensorImpl>leader).device_index)
    else:
        out = make_strided(code, (<TensorImpl>leader).rank, (<TensorImpl>leader).sizes,
                           (<TensorImpl>leader).strides, CPU, (<TensorImpl>leader).device_index)
    # Before the operands' addresses: what is about to be written may have to move.
    data[call.count] = data_pointer(out)
    call.inner[call.count] = _WIDTHS[code]
    call.outer[call.count] = length * call.inner[call.count]
    for index in range(call.count):
        if call.tensors[index] == NULL:
            data[index] = <char*>&call.numbers[index]
            continue
        data[index] = <char*>const_data_pointer(<TensorImpl>call.tensors[index])
        if call.outer[index] == AS_IT_COMES:
            call.outer[index] = length * call.inner[index]
    if call.rows == 1 and length >= LEAST_MEASURED:
        evenly.function = function
        evenly.operands = call.count + 1
        evenly.steps = call.inner
        memcpy(evenly.data, data, sizeof(data))
        _run(&known.cost, &evenly, length)
    else:
        function(data, length, call.inner, call.rows, call.outer, NULL)
    if call.out != NULL:
        count_write(out)
    return out


cdef bint has_accepted(const Remembered* known, const OrdinaryCall* call, PyObject** stack,
                       const int* positions) noexcept:
    """Whether the operator's check has let just these numbers pass with such tensors."""
    cdef int index
    for index in range(call.count):
        if call.tensors[index] == NULL and known.accepted[index] != stack[positions[index]]:
            return False
    return True


cdef void accept(Remembered* known, const OrdinaryCall* call, PyObject** stack,
                 const int* positions) noexcept:
    """Let `has_accepted` say so of these numbers from now on."""
    cdef PyObject* before
    cdef int index
    for index in range(call.count):
        if call.tensors[index] != NULL:
            continue
        before = known.accepted[index]
        known.accepted[index] = stack[positions[index]]
        _own(known.accepted[index])
        _release(before)


cdef void forget(Remembered* known) noexcept:
    cdef int index
    known.signature = 0
    known.function = NULL
    known.cost.samples = 0
    for index in range(MAXIMUM_ORDINARY):
        _release(known.accepted[index])
        known.accepted[index] = NULL


cdef _fill_widths():
    cdef int code
    for code in range(DTYPE_COUNT):
        _WIDTHS[code] = item_size(code)


_fill_widths()
