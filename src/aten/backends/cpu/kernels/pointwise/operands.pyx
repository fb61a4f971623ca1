# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""What a pointwise kernel runs on: reading numbers, agreeing on device and shape, stepping."""

from cpython.complex cimport PyComplex_Check, PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.device cimport CPU, device_from_codes
from aten._core.base.dtypes cimport BOOL, COMPLEX128, FLOAT64, INT64, UINT64, item_size
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.moving.iterator cimport Walk, broadcast_into

cdef extern from "Python.h":
    bint PyLong_Check(PyObject*) noexcept
    bint PyBool_Check(PyObject*) noexcept
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(PyObject*) except? 18446744073709551615


cdef int check_device(Operands* operands, TensorImpl tensor) except -1:
    """0-d tensors of the CPU go along with any device; else all must agree."""
    if operands.device_type == tensor.device_type:
        return 0
    if operands.device_type < 0 or operands.device_type == CPU and operands.rank == 0:
        operands.device_type = tensor.device_type
        return 0
    if tensor.device_type == CPU and tensor.rank == 0:
        return 0
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, "
        f"{device_from_codes(operands.device_type, -1)} and {tensor.device}!")


cdef int read_number(str label, PyObject* value, int64_t* into) except -1:
    """The type code of a Python number, its bytes written to `into`.

    Integers from 2**63 to 2**64 - 1 are uint64, beyond that raises OverflowError.
    """
    cdef int overflow = 0
    if PyFloat_Check(<object>value):
        (<double*>into)[0] = PyFloat_AS_DOUBLE(<object>value)
        return FLOAT64
    if PyBool_Check(value):
        (<char*>into)[0] = <object>value is True
        return BOOL
    if PyLong_Check(value):
        into[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            return INT64
        (<uint64_t*>into)[0] = PyLong_AsUnsignedLongLong(value)
        return UINT64
    if PyComplex_Check(<object>value):
        (<double*>into)[0] = PyComplex_RealAsDouble(<object>value)
        (<double*>into)[1] = PyComplex_ImagAsDouble(<object>value)
        return COMPLEX128
    raise TypeError(f"{label}(): operands must be tensors or numbers, not "
                    f"{type(<object>value).__name__}")


cdef int promotion_code(int code) noexcept nogil:
    """The type as which a number takes part in promotion: every integer as int64."""
    return INT64 if code == UINT64 else code


cdef int broadcast_operands(Operands* operands, int count) except -1:
    cdef int index
    for index in range(operands.rank):
        operands.sizes[index] = 1
    for index in range(count):
        if operands.tensors[index] != NULL:
            broadcast_into(operands.rank, operands.sizes, <TensorImpl>operands.tensors[index])
    return 0


cdef inline bint _streams(Walk* walk, int place, int width) noexcept:
    return (walk.rank == 1 and walk.total * width >= LEAST_STREAMED_BYTES
            and <uint64_t>walk.data[place] % STREAM_ALIGNMENT == 0)


cdef void find_accesses(Walk* walk, Operands* operands, int count, int out_code, bint separate,
                        int* accesses) noexcept:
    """How the innermost loop steps through each operand, in as few patterns as will do."""
    cdef int index
    cdef int64_t step
    cdef bint strided = False
    for index in range(count + 1):
        if index < count and operands.tensors[index] == NULL:
            accesses[index] = ZERO
            continue
        if walk.rank == 0 or walk.sizes[0] == 1:
            accesses[index] = UNIT
            continue
        step = walk.strides[0][index]
        if step == item_size(operands.codes[index] if index < count else out_code):
            accesses[index] = UNIT
        elif step == 0 and index < count:
            accesses[index] = ZERO
        else:
            strided = True
    if not strided:
        if separate and _streams(walk, count, item_size(out_code)):
            accesses[count] = STREAM
        return
    for index in range(count + 1):
        if walk.strides[0][index] != 0 or index == count:
            accesses[index] = ANY
        else:
            accesses[index] = ZERO
