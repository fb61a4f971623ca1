# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Tensors of Python's values: nested lists, numbers, and what other libraries' arrays say."""

import sys

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.complex cimport PyComplex_CheckExact
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.sequence cimport PySequence_Check
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from aten._core.base.device cimport CPU, META, device
from aten._core.base.dtypes cimport (BOOL, FLOAT32, FLOAT64, INT64, UINT64, default_dtype_code,
                                     dtype, dtype_from_code, item_size, promote_codes)
from aten._core.base.dtypes import DTYPES, promote_types
from aten._core.base.errors import DataDependentOutputException
from aten._core.base.sizes cimport MAXIMUM_DIMS, read_sizes
from aten._core.base.strides cimport contiguous_strides, storage_extent
from aten._core.memory.storage cimport (Storage, expose, is_aligned, is_opaque, storage_at,
                                        storage_over)
from aten._core.tensor.making cimport make_contiguous, make_strided, make_tensor
from aten._core.tensor.python_numbers cimport write_element
from aten._core.tensor.python_numbers import item
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer, is_lazy

# No address of a process is higher.
cdef int64_t LARGEST_BYTES = <int64_t>1 << 57


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
            raise _too_deep()
        if not members:
            return 0
        data = members[0]
        members = _members(data)
    if isinstance(data, str) and sizes:
        raise ValueError(f"too many dimensions '{type(data).__name__}'")
    if not isinstance(data, Tensor) and _is_array(data):
        sizes.extend(data.shape)
    return 0


cdef object _beyond_64_bits(data, int code):
    """What torch raises for whole numbers that no integer type has; None for others."""
    if not isinstance(data, int) or -(1 << 63) <= data < 1 << 63:
        return None
    kind = OverflowError if code == UINT64 else ValueError
    return kind(f"{data} does not fit into 64 bits, nor into {dtype_from_code(code).name}")


cdef object _too_deep():
    return ValueError(f"too many dimensions, tensors have at most {MAXIMUM_DIMS}")


cdef object _changed(int dim):
    """What a member's own code may do to the sequence it stands in, while it becomes a number."""
    return RuntimeError(f"tensor(): the sequence at dim {dim} changed its length while its members "
                        f"were read")


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
    if hasattr(value, "dtype") and getattr(value.dtype, "name", None) in DTYPES:
        return (<dtype>DTYPES[value.dtype.name]).code
    if hasattr(value, "dtype") and hasattr(value, "item"):
        return _code_of_foreign(value)
    if hasattr(value, "__index__"):
        return INT64
    if hasattr(value, "__float__"):
        return default_dtype_code()
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


cdef int _code_of_foreign(object value) except -1:
    """The default type of the number in another library's tensor of one element."""
    number = value.item()
    if not isinstance(number, (int, float, complex)):
        raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")
    return _code_of_number(number)


cdef bint _is_numpy_number(object value):
    """Whether it is a number of NumPy's own types, some of which derive from Python's."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


cdef int _code_of_array(object value) except -1:
    if value.dtype.name not in DTYPES:
        raise TypeError(f"can't convert np.ndarray of type {value.dtype}: tensors have no such "
                        f"elements")
    return (<dtype>DTYPES[value.dtype.name]).code


cdef int _infer_code(object data, int found, int dim) except -2:
    """The common type of the numbers in nested sequences; -1 when there are none."""
    cdef Py_ssize_t expected, seen = 0
    members = None if isinstance(data, bytes) else _members(data)
    if members is not None:
        if dim == MAXIMUM_DIMS:
            raise _too_deep()
        expected = len(members)
        if expected == 0:
            return _common_code(found, default_dtype_code())
        for member in members:
            if seen == expected:
                raise _changed(dim)
            if isinstance(member, str):
                raise TypeError("tensor(): text is no number, got an element of type str")
            found = _infer_code(member, found, dim + 1)
            seen += 1
        if seen != expected:
            raise _changed(dim)
        return found
    return _common_code(found, _code_of_number(data))


cdef int _common_code(int found, int code) except -2:
    if found < 0 or found == code:
        return code
    if promote_codes(found, code) < 0:
        promote_types(dtype_from_code(found), dtype_from_code(code))
    return promote_codes(found, code)


cdef char* _fill(object data, const int64_t* sizes, int rank, int dim, char* place,
                 int code) except NULL:
    cdef Py_ssize_t seen = 0
    members = _members(data)
    if dim == rank:
        if members is not None:
            raise TypeError(f"too many dimensions at nesting depth {dim}: expected a number, got "
                            f"{type(data).__name__}")
        if isinstance(data, Tensor):
            data = _only_element(data)
        elif not (PyFloat_CheckExact(data) or isinstance(data, int) or PyComplex_CheckExact(data)):
            data = _plain_number(data)
        try:
            write_element(place, code, data)
        except RuntimeError as error:
            raise _beyond_64_bits(data, code) or error from None
        return place + item_size(code)
    if members is None and hasattr(data, "tolist") and not isinstance(data, Tensor):
        members = data.tolist()
    if not isinstance(members, (list, tuple)):
        raise TypeError(f"expected sequence at dim {dim}, got {type(data).__name__}")
    if len(members) != sizes[dim]:
        raise ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} "
                         f"(got {len(members)})")
    for member in members:
        if seen == sizes[dim]:
            raise _changed(dim)
        place = _fill(member, sizes, rank, dim + 1, place, code)
        seen += 1
    if seen != sizes[dim]:
        raise _changed(dim)
    return place


cdef object _only_element(Tensor tensor):
    if tensor.count != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, got one of "
                         f"{tensor.count} elements among numbers")
    return item(tensor)


def _plain_number(value):
    if hasattr(value, "item"):
        number = value.item()
        if not isinstance(number, (int, float, complex)):
            raise TypeError(f"item() of {type(value).__name__} must give a number, not "
                            f"{type(number).__name__}")
        return number
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        return float(value)
    raise TypeError(f"must be real number, not {type(value).__name__}")


cdef Tensor _of_floats(list numbers):
    """A vector of the default type, if that is float32 or float64, and all are Python's floats."""
    cdef int64_t count = len(numbers)
    cdef int code = default_dtype_code()
    cdef int64_t index
    cdef double number
    cdef Tensor made
    if count == 0 or code != FLOAT32 and code != FLOAT64:
        return None
    for index in range(count):
        if not PyFloat_CheckExact(numbers[index]):
            return None
    # No code runs in here that could change the list.
    made = make_contiguous(code, 1, &count, CPU, -1)
    for index in range(count):
        number = PyFloat_AS_DOUBLE(numbers[index])
        if code == FLOAT64:
            (<double*>made.storage.data)[index] = number
        else:
            (<float*>made.storage.data)[index] = <float>number
    return made


def tensor_from_data(data, element=None):
    """A CPU tensor with a copy of nested sequences of numbers.

    `element` is the dtype; without one it follows from the numbers: NumPy's keep their type.
    Raises ValueError for ragged nesting, TypeError for text and for lists among numbers,
    RuntimeError for other objects, for numbers that do not fit, and for sequences that change
    while they are read.
    """
    cdef list sizes = []
    cdef int64_t values[MAXIMUM_DIMS]
    cdef Tensor made
    cdef int code, rank, dim
    if element is None and type(data) is list:
        made = _of_floats(<list>data)
        if made is not None:
            return made
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    _measure(data, sizes)
    if element is not None:
        code = (<dtype?>element).code
    else:
        code = _infer_code(data, -1, 0)
        code = default_dtype_code() if code < 0 else code
    rank = <int>read_sizes(sizes, values, MAXIMUM_DIMS)
    for dim in range(rank):
        if values[dim] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {values[dim]}: "
                               f"{sizes}")
    made = make_contiguous(code, rank, values, CPU, -1)
    if made.count:
        _fill(data, values, rank, 0, made.storage.data, code)
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
    if tensor.storage.device_type == META:
        raise DataDependentOutputException("numpy", tensor)
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
        # A stride that leads nowhere, of one element, may have more bytes than can be counted.
        "strides": tuple([stride * width if -LARGEST_BYTES <= stride <= LARGEST_BYTES else width
                          for stride in tensor.stride()]),
        "data": (<size_t>const_data_pointer(tensor) if tensor.count else 0, False),
    }


def from_array_interface(array, bint share=True):
    """A tensor over the memory of an object with `__array_interface__`, without a copy.

    Without `share`, which is for tensors that are only read, memory may be read-only, and elements
    that do not lie at multiples of their size are copied. Raises
    TypeError for element types tensors do not have and for descriptions that are none, ValueError
    for sizes, strides and addresses that no tensor can have.
    """
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t width, extent
    cdef int rank, code
    cdef Storage storage
    cdef Tensor made
    # A copy: reading what is in it may run code that changes it.
    interface = dict(array.__array_interface__)
    names = {text: name for name, text in _TYPE_STRINGS.items()}
    element = interface.get("typestr")
    if not isinstance(element, str) or element not in names:
        raise TypeError(f"can't convert np.ndarray of type {getattr(array, 'dtype', '?')}. The "
                        f"only supported types are: {', '.join(_TYPE_STRINGS)}.")
    if interface.get("mask") is not None:
        raise TypeError("__array_interface__: arrays with a mask cannot be tensors")
    code = (<dtype>DTYPES[names[element]]).code
    width = item_size(code)
    rank = _read_interface_sizes(interface.get("shape"), sizes)
    _read_interface_strides(interface.get("strides"), rank, sizes, width, strides)
    extent = storage_extent(rank, sizes, strides)
    if extent < 0 or extent > LARGEST_BYTES // width:
        raise ValueError(f"__array_interface__: the shape {interface['shape']} overflows")
    storage = _interface_memory(interface, extent * width, array, share)
    if is_aligned(storage.data, width):
        return make_tensor(storage, code, rank, sizes, strides, 0)
    if share:
        raise ValueError(f"given numpy array lies at an address that is not a multiple of the "
                         f"element byte size {width}. Copy the numpy array to reallocate the "
                         f"memory.")
    made = make_contiguous(code, rank, sizes, CPU, -1)
    _copy_elements(made.storage.data, storage.data, rank, sizes, strides, width)
    return made


cdef int _read_interface_sizes(object given, int64_t* sizes) except -1:
    cdef int rank, dim
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"__array_interface__: the shape must be a tuple of ints, not "
                        f"{type(given).__name__}")
    rank = <int>read_sizes(given, sizes, MAXIMUM_DIMS)
    for dim in range(rank):
        if sizes[dim] < 0:
            raise ValueError(f"__array_interface__: the size {sizes[dim]} of dimension {dim} is "
                             f"negative")
    return rank


cdef int _read_interface_strides(object given, int rank, const int64_t* sizes, int64_t width,
                                 int64_t* strides) except -1:
    """Strides in elements, row-major where none are given."""
    cdef int dim
    if given is None:
        return contiguous_strides(rank, sizes, strides)
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"__array_interface__: the strides must be a tuple of ints, not "
                        f"{type(given).__name__}")
    if read_sizes(given, strides, MAXIMUM_DIMS) != rank:
        raise ValueError(f"__array_interface__: {len(given)} strides for {rank} sizes")
    for dim in range(rank):
        if strides[dim] < 0:
            raise ValueError("At least one stride in the given numpy array is negative, and "
                             "tensors with negative strides are not currently supported.")
        if strides[dim] % width:
            raise ValueError("given numpy array strides not a multiple of the element byte "
                             "size. Copy the numpy array to reallocate the memory.")
        strides[dim] //= width
    return 0


cdef Storage _interface_memory(dict interface, int64_t nbytes, object owner, bint writable):
    """The memory of an array: at an address, or in a buffer from an offset on."""
    cdef Storage whole
    cdef int64_t offset
    cdef size_t address
    data = interface.get("data")
    if nbytes == 0:
        return storage_at(0, 0, owner)
    if isinstance(data, (tuple, list)):
        data = tuple(data)
        if len(data) != 2:
            raise TypeError(f"__array_interface__: data must be an address and a flag, got "
                            f"{len(data)} values")
        address, read_only = data
        if read_only and writable:
            raise ValueError("__array_interface__: the memory is read-only: copy it first")
        if address == 0 or address > <size_t>LARGEST_BYTES - nbytes:
            raise ValueError(f"__array_interface__: {nbytes} bytes cannot lie at the address "
                             f"{address:#x}")
        return storage_at(address, nbytes, owner)
    offset = interface.get("offset", 0)
    whole = storage_over(owner if data is None else data)
    if offset < 0 or offset > whole.bytes - nbytes:
        raise ValueError(f"__array_interface__: {nbytes} bytes from the offset {offset} on reach "
                         f"past the buffer's {whole.bytes}")
    return storage_at(<size_t>whole.data + offset, nbytes, whole)


cdef void _copy_elements(char* target, const char* source, int rank, const int64_t* sizes,
                         const int64_t* strides, int64_t width) noexcept nogil:
    """Copy elements that lie anywhere to a row-major place."""
    cdef int64_t index, step = width
    cdef int dim
    if rank == 0:
        memcpy(target, source, width)
        return
    for dim in range(1, rank):
        step *= sizes[dim]
    for index in range(sizes[0]):
        _copy_elements(target + index * step, source + index * strides[0] * width, rank - 1,
                       sizes + 1, strides + 1, width)


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
    """The same memory seen as a tensor of another device; for devices that compute on the host.

    The tensor itself where it is on that device.
    """
    cdef Storage storage
    if tensor.device_type == place.type_code and tensor.device_index == place.index_code:
        return tensor
    if is_opaque(tensor.device_type) or is_opaque(place.type_code):
        raise RuntimeError(f"memory on {tensor.device} cannot be seen from {place}: copy the tensor")
    if tensor.device_type == META:
        storage = storage_at(0, tensor.storage.bytes, tensor.storage)
    else:
        # An export, so that the memory stays where it is, and nobody shares it meanwhile.
        storage = storage_over(tensor.storage)
    storage.device_type = place.type_code
    storage.device_index = place.index_code
    return make_tensor(storage, tensor.dtype_code, tensor.rank, tensor.sizes, tensor.strides,
                       tensor.offset)
