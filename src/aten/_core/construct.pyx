# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Between Python values and tensors: nested lists in and out, single elements, array protocols."""

import sys

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.complex cimport PyComplex_CheckExact, PyComplex_FromDoubles
from cpython.float cimport PyFloat_CheckExact
from cpython.sequence cimport PySequence_Check
from libc.stdint cimport (int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                          uint64_t)
from libc.string cimport memcpy

from aten._core.device cimport CPU, META, device
from aten._core.dtypes cimport (BFLOAT16, BOOL, COMPLEX128, COMPLEX32, COMPLEX64, FLOAT16, FLOAT32,
                                FLOAT64, INT16, INT32, INT64, INT8, UINT16, UINT32, UINT64, UINT8,
                                default_dtype_code, dtype, dtype_from_code, item_size,
                                promote_codes)
from aten._core.dtypes import DTYPES, promote_types
from aten._core.float8 import decode, encode
from aten._core.making cimport make_contiguous, make_strided, make_tensor
from aten._core.sizes cimport MAXIMUM_DIMS, read_sizes
from aten._core.storage cimport Storage, expose, storage_at, storage_over
from aten._core.strides cimport storage_extent
from aten._core.tensor cimport Tensor, TensorImpl, const_data_pointer, data_pointer, is_lazy

cdef extern from "Python.h":
    double PyFloat_Unpack2(const char*, int) except? -1.0
    int PyFloat_Pack2(double, char*, int) except -1


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
    if is_float8(code):
        return decode((<uint8_t*>place)[0], dtype_from_code(code).name)
    raise TypeError(f"elements of {dtype_from_code(code)} are no Python numbers")


cdef bint is_float8(int code):
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
            if not is_float8(code):
                raise TypeError(f"Python numbers cannot be elements of {dtype_from_code(code)}")
            (<uint8_t*>place)[0] = encode(value, dtype_from_code(code).name)
    except (OverflowError, ValueError):
        raise RuntimeError(f"value cannot be converted to type {dtype_from_code(code).name} "
                           f"without overflow: {value}") from None
    return 0


cdef int _pack_half(char* place, double value) except -1:
    if value == value and (value >= 65520.0 or value <= -65520.0):
        value = float("inf") if value > 0 else -float("inf")
    return PyFloat_Pack2(value, place, 1)


def item(Tensor tensor not None):
    """The only element, as a Python number. Raises RuntimeError unless there is just one."""
    if tensor.count != 1:
        raise RuntimeError(f"a Tensor with {tensor.count} elements cannot be converted to Scalar")
    if tensor.device_type == META:
        raise RuntimeError("item: a tensor on the meta device has no data")
    if is_lazy(tensor):
        tensor = tensor.clone()
    return read_element(const_data_pointer(tensor), tensor.dtype_code)


cdef object _nested(TensorImpl tensor, int dim, const char* place):
    cdef int64_t index
    cdef int64_t step
    if dim == tensor.rank:
        return read_element(place, tensor.dtype_code)
    step = tensor.strides[dim] * item_size(tensor.dtype_code)
    return [_nested(tensor, dim + 1, place + index * step) for index in range(tensor.sizes[dim])]


def tolist(Tensor tensor not None):
    """Nested lists of Python numbers; a number for a 0-d tensor."""
    if tensor.device_type == META:
        raise NotImplementedError("tolist: a tensor on the meta device has no data")
    if is_lazy(tensor):
        tensor = tensor.clone()
    if tensor.count == 0:
        return _empty_lists(tensor.shape)
    return _nested(tensor, 0, const_data_pointer(tensor))


def _empty_lists(shape):
    if not shape:
        return []
    return [_empty_lists(shape[1:]) for _ in range(shape[0])] if shape[0] else []


def is_sequence(data):
    """Whether numbers can be asked for by their position, in Python's judgement."""
    return PySequence_Check(data)


cdef object _members(object data):
    """What a sequence holds, as a list or tuple; None for what is no sequence of numbers."""
    if isinstance(data, (list, tuple)):
        return data
    if not PySequence_Check(data) or isinstance(data, (str, Tensor)) or _is_array(data):
        return None
    if isinstance(data, memoryview) and data.ndim != 1:
        raise ValueError(f"could not determine the shape of a memoryview of {data.ndim} dimensions")
    return list(data)


cdef bint _is_array(object data):
    return hasattr(data, "shape") and hasattr(data, "__array__")


cdef int _measure(object data, list sizes) except -1:
    """The sizes of nested sequences, judged by their first members."""
    members = _members(data)
    while members is not None:
        sizes.append(len(members))
        if len(sizes) > MAXIMUM_DIMS:
            raise ValueError(f"too many dimensions, tensors have at most {MAXIMUM_DIMS}")
        if not members:
            return 0
        data = members[0]
        members = _members(data)
    if isinstance(data, str) and sizes:
        raise ValueError(f"too many dimensions '{type(data).__name__}'")
    if not isinstance(data, Tensor) and _is_array(data):
        sizes.extend(data.shape)
    return 0


cdef int _code_of_number(object value) except -1:
    if PyFloat_CheckExact(value):
        return default_dtype_code()
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT64
    if _is_numpy_number(value):
        return _code_of_array(value)
    if isinstance(value, float):
        return default_dtype_code()
    if isinstance(value, complex):
        return (<dtype>dtype_from_code(default_dtype_code()).to_complex()).code
    if isinstance(value, Tensor):
        return (<Tensor>value).dtype_code
    if hasattr(value, "dtype") and value.dtype.name in DTYPES:
        return (<dtype>DTYPES[value.dtype.name]).code
    if hasattr(value, "__index__"):
        return INT64
    if hasattr(value, "__float__"):
        return default_dtype_code()
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


cdef bint _is_numpy_number(object value):
    """Whether it is a number of NumPy's own types, some of which derive from Python's."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


cdef int _code_of_array(object value) except -1:
    if value.dtype.name not in DTYPES:
        raise TypeError(f"can't convert np.ndarray of type {value.dtype}: tensors have no such "
                        f"elements")
    return (<dtype>DTYPES[value.dtype.name]).code


cdef int _infer_code(object data, int found) except -2:
    """The common type of the numbers in nested sequences; -1 when there are none."""
    cdef int code
    members = None if isinstance(data, bytes) else _members(data)
    if members is not None:
        if not members:
            return _common_code(found, default_dtype_code())
        for member in members:
            if isinstance(member, str):
                raise ValueError("too many dimensions 'str'")
            found = _infer_code(member, found)
        return found
    return _common_code(found, _code_of_number(data))


cdef int _common_code(int found, int code) except -2:
    if found < 0 or found == code:
        return code
    if promote_codes(found, code) < 0:
        promote_types(dtype_from_code(found), dtype_from_code(code))
    return promote_codes(found, code)


cdef char* _fill(object data, list sizes, int dim, char* place, int code) except NULL:
    members = _members(data)
    if dim == len(sizes):
        if members is not None:
            raise TypeError(f"too many dimensions at nesting depth {dim}: expected a number, got "
                            f"{type(data).__name__}")
        if isinstance(data, Tensor):
            data = _only_element(data)
        elif not (PyFloat_CheckExact(data) or isinstance(data, int) or PyComplex_CheckExact(data)):
            data = _plain_number(data)
        write_element(place, code, data)
        return place + item_size(code)
    if members is None and hasattr(data, "tolist") and not isinstance(data, Tensor):
        members = data.tolist()
    if not isinstance(members, (list, tuple)):
        raise TypeError(f"expected sequence at dim {dim}, got {type(data).__name__}")
    if len(members) != sizes[dim]:
        raise ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} "
                         f"(got {len(members)})")
    for member in members:
        place = _fill(member, sizes, dim + 1, place, code)
    return place


cdef object _only_element(Tensor tensor):
    if tensor.count != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, got one of "
                         f"{tensor.count} elements among numbers")
    return item(tensor)


def _plain_number(value):
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        return float(value)
    raise TypeError(f"must be real number, not {type(value).__name__}")


def tensor_from_data(data, element=None):
    """A CPU tensor with a copy of nested sequences of numbers.

    `element` is the dtype; without one it follows from the numbers: NumPy's keep their type.
    Raises ValueError for ragged nesting, TypeError for text and for lists among numbers,
    RuntimeError for other objects and for numbers that do not fit.
    """
    cdef list sizes = []
    cdef int64_t values[MAXIMUM_DIMS]
    cdef Tensor made
    cdef int code
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    _measure(data, sizes)
    if element is not None:
        code = (<dtype?>element).code
    else:
        code = _infer_code(data, -1)
        code = default_dtype_code() if code < 0 else code
    made = make_contiguous(code, <int>read_sizes(sizes, values, MAXIMUM_DIMS), values, CPU, -1)
    if made.count or not sizes:
        _fill(data, sizes, 0, made.storage.data, code)
    return made


_TYPE_STRINGS = {
    "bool": "|b1", "uint8": "|u1", "int8": "|i1", "int16": "<i2", "uint16": "<u2", "int32": "<i4",
    "uint32": "<u4", "int64": "<i8", "uint64": "<u8", "float16": "<f2", "float32": "<f4",
    "float64": "<f8", "complex64": "<c8", "complex128": "<c16",
}


_TYPE_NAMES_BY_NUMPY = frozenset(_TYPE_STRINGS)


def array_interface(Tensor tensor not None):
    """NumPy's `__array_interface__` of a CPU tensor. Raises TypeError where it has none.

    The address stays right: from now on the memory is shared with no copy that is put off.
    """
    cdef int64_t width = item_size(tensor.dtype_code)
    name = dtype_from_code(tensor.dtype_code).name
    if tensor.device_type != CPU:
        raise TypeError(f"can't convert {tensor.device} device type tensor to numpy. Use "
                        f"Tensor.cpu() to copy the tensor to host memory first.")
    if is_lazy(tensor):
        raise RuntimeError("what is in memory is not what the tensor reads as: it is a lazy "
                           "conjugate or negative; use resolve_conj() or resolve_neg() first")
    if name not in _TYPE_STRINGS:
        raise TypeError(f"Got unsupported ScalarType {dtype_from_code(tensor.dtype_code).scalar_type_name}")
    expose(tensor.storage)
    return {
        "version": 3,
        "typestr": _TYPE_STRINGS[name],
        "shape": tuple(tensor.shape),
        "strides": tuple([stride * width for stride in tensor.stride()]),
        "data": (<size_t>const_data_pointer(tensor) if tensor.count else 0, False),
    }


def from_array_interface(array):
    """A tensor over the memory of an object with `__array_interface__`, without a copy.

    Raises TypeError for element types tensors do not have, ValueError for negative strides or
    strides that are no multiple of the element size.
    """
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t width, extent
    cdef int rank, dim, code
    interface = array.__array_interface__
    names = {text: name for name, text in _TYPE_STRINGS.items()}
    if interface["typestr"] not in names:
        raise TypeError(f"can't convert np.ndarray of type {getattr(array, 'dtype', '?')}. The "
                        f"only supported types are: {', '.join(_TYPE_STRINGS)}.")
    code = (<dtype>DTYPES[names[interface["typestr"]]]).code
    width = item_size(code)
    rank = <int>read_sizes(interface["shape"], sizes, MAXIMUM_DIMS)
    given = interface.get("strides")
    if given is None:
        step = width
        for dim in range(rank - 1, -1, -1):
            strides[dim] = step // width
            step *= max(sizes[dim], 1)
    else:
        for dim in range(rank):
            if given[dim] < 0:
                raise ValueError("At least one stride in the given numpy array is negative, and "
                                 "tensors with negative strides are not currently supported.")
            if given[dim] % width:
                raise ValueError("given numpy array strides not a multiple of the element byte "
                                 "size. Copy the numpy array to reallocate the memory.")
            strides[dim] = given[dim] // width
    extent = storage_extent(rank, sizes, strides)
    return make_tensor(storage_at(interface["data"][0], extent * width, array), code, rank, sizes,
                       strides, 0)


def from_numpy_array(array):
    """A tensor over a NumPy array's memory, bfloat16 and float8 arrays included."""
    name = array.dtype.name
    if name in _TYPE_NAMES_BY_NUMPY:
        return from_array_interface(array)
    if name not in DTYPES:
        raise TypeError(f"can't convert np.ndarray of type {array.dtype}")
    raw = from_array_interface(array.view("u2" if array.dtype.itemsize == 2 else "u1"))
    (<Tensor>raw).dtype_code = (<dtype>DTYPES[name]).code
    return raw


def empty_strided(sizes, strides, dtype element not None, device place not None):
    """An uninitialized tensor. Raises RuntimeError for negative sizes or strides, or overflow."""
    cdef int64_t size_values[MAXIMUM_DIMS]
    cdef int64_t stride_values[MAXIMUM_DIMS]
    cdef int rank = <int>read_sizes(sizes, size_values, MAXIMUM_DIMS)
    cdef int dim
    for dim in range(rank):
        if size_values[dim] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension "
                               f"{size_values[dim]}: {list(sizes)}")
    if strides is None:
        return make_contiguous(element.code, rank, size_values, place.type_code, place.index_code)
    if read_sizes(strides, stride_values, MAXIMUM_DIMS) != rank:
        raise RuntimeError(f"dimensionality of sizes ({rank}) must match dimensionality of strides "
                           f"({len(strides)})")
    for dim in range(rank):
        if stride_values[dim] < 0:
            raise RuntimeError(f"negative strides are not supported: {list(strides)}")
    return make_strided(element.code, rank, size_values, stride_values, place.type_code,
                        place.index_code)


def on_device(Tensor tensor not None, device place not None):
    """The same memory seen as a tensor of another device; for devices that compute on the host."""
    cdef Storage storage
    if tensor.device_type == META:
        storage = storage_at(0, tensor.storage.bytes, tensor.storage)
    else:
        # An export, so that the memory stays where it is, and nobody shares it meanwhile.
        storage = storage_over(tensor.storage)
    storage.device_type = place.type_code
    storage.device_index = place.index_code
    return make_tensor(storage, tensor.dtype_code, tensor.rank, tensor.sizes, tensor.strides,
                       tensor.offset)
