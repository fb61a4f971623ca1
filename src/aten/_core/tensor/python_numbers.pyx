# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Elements as Python's numbers, and the other way round: one, or nested lists of all."""

from cpython.complex cimport PyComplex_FromDoubles
from libc.stdint cimport (int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                          uint64_t)
from libc.string cimport memcpy

from aten._core.base.device cimport META
from aten._core.base.dtypes cimport (BFLOAT16, BOOL, COMPLEX128, COMPLEX32, COMPLEX64, FLOAT16,
                                     FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, UINT16, UINT32,
                                     UINT64, UINT8, dtype_from_code, item_size)
from aten._core.base.errors import DataDependentOutputException, NoElementsError
from aten._core.memory.storage cimport is_opaque
from aten._core.memory.storage import set_before_reading as set_before_exposing
from aten._core.tensor.making cimport make_alias
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, is_lazy

cdef extern from "Python.h":
    double PyFloat_Unpack2(const char*, int) except? -1.0
    int PyFloat_Pack2(double, char*, int) except -1
    list PyList_New(Py_ssize_t)
    void PyList_SET_ITEM(object, Py_ssize_t, object) noexcept
    void Py_INCREF(object) noexcept


cdef object read_element(const char* place, int code):
    """The Python number at `place`. Raises TypeError for types without one."""
    cdef uint32_t bits
    cdef float single
    if code == FLOAT32:
        return (<float*>place)[0]
    if code == FLOAT64:
        return (<double*>place)[0]
    if code == INT64:
        return (<int64_t*>place)[0]
    if code == INT32:
        return (<int32_t*>place)[0]
    if code == BOOL:
        return (<uint8_t*>place)[0] != 0
    if code == UINT8:
        return (<uint8_t*>place)[0]
    if code == INT8:
        return (<int8_t*>place)[0]
    if code == INT16:
        return (<int16_t*>place)[0]
    if code == UINT16:
        return (<uint16_t*>place)[0]
    if code == UINT32:
        return (<uint32_t*>place)[0]
    if code == UINT64:
        return (<uint64_t*>place)[0]
    if code == FLOAT16:
        return PyFloat_Unpack2(place, 1)
    if code == BFLOAT16:
        bits = <uint32_t>(<uint16_t*>place)[0] << 16
        memcpy(&single, &bits, 4)
        return single
    if code == COMPLEX64:
        return PyComplex_FromDoubles((<float*>place)[0], (<float*>place)[1])
    if code == COMPLEX128:
        return PyComplex_FromDoubles((<double*>place)[0], (<double*>place)[1])
    if code == COMPLEX32:
        return PyComplex_FromDoubles(PyFloat_Unpack2(place, 1), PyFloat_Unpack2(place + 2, 1))
    if _is_float8(code):
        return _float8().decode((<uint8_t*>place)[0], dtype_from_code(code).name)
    raise TypeError(f"elements of {dtype_from_code(code)} are no Python numbers")


cdef object _float8():
    """What reads and writes numbers of 8 bits, imported when one is first met."""
    from aten._core.base import float8

    return float8


cdef bint _is_float8(int code):
    return dtype_from_code(code).kind == "float8"


cdef object _wrapped(object value, int bits):
    """Negative ints wrap around in unsigned types, as C's do, by less than one turn."""
    cdef object turn = 1  # typed: a C integer has too few bits
    if isinstance(value, float) and value < 0:
        raise OverflowError
    value = int(value)
    turn <<= bits
    return value + turn if -turn < value < 0 else value


cdef int write_element(char* place, int code, object value) except -1:
    """Store a Python number. Raises RuntimeError where it does not fit the type."""
    cdef float single
    cdef uint32_t bits
    try:
        if code == FLOAT32:
            (<float*>place)[0] = <float><double>value
        elif code == FLOAT64:
            (<double*>place)[0] = value
        elif code == BOOL:
            (<uint8_t*>place)[0] = bool(value)
        elif code == INT64:
            (<int64_t*>place)[0] = int(value)
        elif code == INT32:
            (<int32_t*>place)[0] = int(value)
        elif code == INT16:
            (<int16_t*>place)[0] = int(value)
        elif code == INT8:
            (<int8_t*>place)[0] = int(value)
        elif code == UINT8:
            (<uint8_t*>place)[0] = _wrapped(value, 8)
        elif code == UINT16:
            (<uint16_t*>place)[0] = _wrapped(value, 16)
        elif code == UINT32:
            (<uint32_t*>place)[0] = _wrapped(value, 32)
        elif code == UINT64:
            (<uint64_t*>place)[0] = _wrapped(value, 64)
        elif code == FLOAT16:
            _pack_half(place, value)
        elif code == BFLOAT16:
            single = <float><double>value
            memcpy(&bits, &single, 4)
            if single != single:
                bits = 0x7FC00000
            else:
                bits += 0x7FFF + (bits >> 16 & 1)
            (<uint16_t*>place)[0] = <uint16_t>(bits >> 16)
        elif code == COMPLEX64:
            (<float*>place)[0] = <float><double>value.real
            (<float*>place)[1] = <float><double>value.imag
        elif code == COMPLEX128:
            (<double*>place)[0] = value.real
            (<double*>place)[1] = value.imag
        elif code == COMPLEX32:
            _pack_half(place, value.real)
            _pack_half(place + 2, value.imag)
        else:
            if not _is_float8(code):
                raise TypeError(f"Python numbers cannot be elements of {dtype_from_code(code)}")
            (<uint8_t*>place)[0] = _float8().encode(<double>value, dtype_from_code(code).name)
    except (OverflowError, ValueError):
        raise RuntimeError(f"value cannot be converted to type {dtype_from_code(code).name} "
                           f"without overflow: {value}") from None
    return 0


cdef int _pack_half(char* place, double value) except -1:
    if value == value and (value >= 65520.0 or value <= -65520.0):
        value = float("inf") if value > 0 else -float("inf")
    return PyFloat_Pack2(value, place, 1)


# As in storage.pyx: asked before the host reads elements.
cdef object _before_reading = None


def set_before_reading(function):
    """Let `function(storage)` bring memory up to date that the host is about to read, or None."""
    global _before_reading
    _before_reading = function
    set_before_exposing(function)


cdef Tensor _readable(str name, Tensor tensor):
    """A tensor whose elements the host may read, with the same ones.

    Raises NoElementsError or, for a fake tensor, DataDependentOutputException where there is no
    data.
    """
    if tensor.device_type == META:
        raise NoElementsError(f"{name}: a tensor on the meta device has no data")
    if tensor.storage.device_type == META:
        raise DataDependentOutputException(name, tensor)
    if _before_reading is not None:
        _before_reading(tensor.storage)
    if is_opaque(tensor.device_type):
        tensor = tensor.to("cpu")
    return tensor.clone() if is_lazy(tensor) else tensor


def item(Tensor tensor not None):
    """The only element, as a Python number. Raises RuntimeError unless there is just one.

    Example:

        >>> aten.tensor([2.5]).item()
        2.5
    """
    if tensor.count != 1:
        raise RuntimeError(f"a Tensor with {tensor.count} elements cannot be converted to Scalar")
    tensor = _readable("item", tensor)
    return read_element(const_data_pointer(tensor), tensor.dtype_code)


cdef object _nested(TensorImpl tensor, int dim, int64_t offset):
    """The elements from `offset` on; the address is asked for anew for each, as lists are made
    meanwhile, and the collector of garbage may run what moves memory.
    """
    cdef int64_t index
    cdef int64_t step
    if dim == tensor.rank:
        return read_element(tensor.storage.data + offset, tensor.dtype_code)
    step = tensor.strides[dim] * item_size(tensor.dtype_code)
    return [_nested(tensor, dim + 1, offset + index * step) for index in range(tensor.sizes[dim])]


cdef list _flat(TensorImpl tensor):
    """The elements of a vector; None where making the list has run code that changed the tensor."""
    cdef Py_ssize_t count = tensor.count
    cdef int code = tensor.dtype_code
    cdef int64_t step
    cdef Py_ssize_t index
    cdef const char* place
    # The collector of garbage may run here, which it does not for numbers.
    made = PyList_New(count)
    if tensor.rank != 1 or tensor.count != count or tensor.dtype_code != code:
        return None
    step = tensor.strides[0] * item_size(code)
    place = const_data_pointer(tensor)
    for index in range(count):
        value = read_element(place + index * step, code)
        Py_INCREF(value)
        PyList_SET_ITEM(made, index, value)
    return made


def tolist(Tensor tensor not None):
    """Nested lists of Python numbers; a number for a 0-d tensor.

    Example:

        >>> aten.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
    """
    if tensor.count == 0 and tensor.device_type != META:
        return _empty_lists(tensor.shape)
    tensor = _readable("tolist", tensor)
    if tensor.rank == 1 and (tensor.dtype_code <= BOOL or tensor.dtype_code == BFLOAT16):
        made = _flat(tensor)
        if made is not None:
            return made
    # A window of our own: nobody changes its sizes.
    tensor = make_alias(tensor)
    return _nested(tensor, 0, tensor.offset * item_size(tensor.dtype_code))


def _empty_lists(shape):
    if not shape:
        return []
    return [_empty_lists(shape[1:]) for _ in range(shape[0])] if shape[0] else []
