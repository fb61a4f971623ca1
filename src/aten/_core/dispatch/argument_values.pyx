# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False
"""What a schema's types take, and what kernels get for it.

What fits where follows torch's parser of Python arguments:

    Tensor        a tensor; numbers too where the operator takes numbers as tensors
    Scalar        int, float, bool, complex, a tensor of no dimensions (handed on as it is)
    int, SymInt   int, but no bool; what has __index__; an integral tensor of no dimensions
    float         float, int, bool; a tensor of no dimensions
    int[]         a list or tuple of such ints, made a tuple; int[N] also one int, taken N times
    ScalarType    dtype; the types bool, int, float, complex
    Device        device, or a string that names one

A number that depends on symbolic sizes (`transforms/symbols/`) is handed on to modes as it is.
"""

from cpython.bool cimport PyBool_Check
from cpython.complex cimport (PyComplex_Check, PyComplex_CheckExact, PyComplex_FromDoubles,
                              PyComplex_ImagAsDouble, PyComplex_RealAsDouble)
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact, PyFloat_FromDouble
from cpython.list cimport PyList_Check
from cpython.long cimport PyLong_Check, PyLong_CheckExact
from cpython.number cimport PyIndex_Check
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_Check
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport uint64_t

from aten._core.base.device cimport device, layout, memory_format
from aten._core.base.device import LAYOUTS, MEMORY_FORMATS
from aten._core.base.dtypes cimport category_of, dtype, dtype_from_code
from aten._core.base.dtypes import ALIASES, DTYPES
from aten._core.base.keys cimport DispatchKeySet, LocalState, local_state
from aten._core.base.keys import DispatchKey
from aten._core.memory.storage cimport Storage
from aten._core.random.generator cimport Generator
from aten._core.tensor.making cimport make_alias
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef extern from "Python.h":
    bint PyTuple_CheckExact(PyObject* value)
    Py_ssize_t PyTuple_GET_SIZE(PyObject* value)
    PyObject** tuple_items "PySequence_Fast_ITEMS"(PyObject* value)
    object PyNumber_Index(object)
    object exact_str "PyUnicode_FromObject"(object)

_VALUE_CODES = {
    "Tensor": TENSOR_VALUE, "Scalar": SCALAR_VALUE, "complex": SCALAR_VALUE, "int": INT_VALUE,
    "SymInt": INT_VALUE, "DeviceIndex": INT_VALUE, "float": FLOAT_VALUE, "SymFloat": FLOAT_VALUE,
    "bool": BOOL_VALUE, "SymBool": BOOL_VALUE, "str": STR_VALUE, "Dimname": STR_VALUE,
    "ScalarType": DTYPE_VALUE, "Layout": LAYOUT_VALUE, "Device": DEVICE_VALUE,
    "MemoryFormat": MEMORY_FORMAT_VALUE, "Generator": GENERATOR_VALUE, "Storage": STORAGE_VALUE,
}
_LIST_CODES = {
    TENSOR_VALUE: TENSOR_LIST, INT_VALUE: INT_LIST, FLOAT_VALUE: FLOAT_LIST, BOOL_VALUE: BOOL_LIST,
    SCALAR_VALUE: SCALAR_LIST, STR_VALUE: STR_LIST,
}
cdef int[8] _ELEMENT_CODES = [
    TENSOR_VALUE, TENSOR_VALUE, INT_VALUE, FLOAT_VALUE, BOOL_VALUE, SCALAR_VALUE, STR_VALUE,
    ANY_VALUE,
]
_DTYPES_OF_TYPES = {
    bool: DTYPES["bool"], int: DTYPES["int64"], float: DTYPES["float64"],
    complex: DTYPES["complex128"],
}

cdef object _MISMATCH = object()
MISMATCH = _MISMATCH

cdef uint64_t _PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits
# Numbers that modes get as they are; everything else gets what they stand for.
cdef object _symbolic_int = None
cdef object _symbolic_float = None


def install_symbolic_numbers(integers not None, floats not None):
    """Say which types the numbers that depend on symbolic sizes have."""
    global _symbolic_int, _symbolic_float
    _symbolic_int, _symbolic_float = integers, floats


cdef inline bint _is_symbolic(value) noexcept:
    return type(value) is _symbolic_int or type(value) is _symbolic_float


cdef object _symbolic_number(value):
    cdef LocalState* state = local_state()
    if state.included & ~state.excluded & _PYTHON:
        return value
    return int(value) if type(value) is _symbolic_int else float(value)


cdef int code_of(object schema_type) except -1:
    cdef int code = _VALUE_CODES.get(schema_type.base, ANY_VALUE)
    if not schema_type.is_list:
        return code
    if code == TENSOR_VALUE and str(schema_type).startswith("Tensor?["):
        return OPTIONAL_TENSOR_LIST
    return _LIST_CODES.get(code, ANY_LIST)


cdef Py_ssize_t size_of_list(object schema_type) except -1:
    if not schema_type.is_list:
        return 0
    size = getattr(schema_type, "size", None)
    return size or getattr(getattr(schema_type, "element", None), "size", None) or 0


cdef object default_object(int code, object value):
    """Enumerations' defaults are written as a word or a number; here they become the objects."""
    if value is None:
        return None
    if code == DTYPE_VALUE:
        return dtype_from_code(value) if isinstance(value, int) else _dtype_of_word(value)
    if code == LAYOUT_VALUE:
        return _of_word_or_code(LAYOUTS, value)
    if code == MEMORY_FORMAT_VALUE:
        return _of_word_or_code(MEMORY_FORMATS, value)
    return value


cdef object _dtype_of_word(word):
    return DTYPES[word] if word in DTYPES else ALIASES[word]


cdef object _of_word_or_code(dict objects, value):
    return objects[value] if isinstance(value, str) else list(objects.values())[value]


cdef object converted(int code, bint nullable, Py_ssize_t repeat, object value):
    if value is None and nullable:
        return None
    if code < TENSOR_LIST:
        return _converted_value(code, value)
    if not (PyTuple_Check(value) or PyList_Check(value)):
        if repeat == 0 or code == TENSOR_LIST:
            return _MISMATCH
        single = _converted_value(_ELEMENT_CODES[code - TENSOR_LIST], value)
        return _MISMATCH if single is _MISMATCH else (single,) * repeat
    return _converted_list(code, value)


cdef object _converted_list(int code, values):
    cdef PyObject* given = <PyObject*> values
    if (code == TENSOR_LIST and PyTuple_CheckExact(given)
            and are_tensors(tuple_items(given), PyTuple_GET_SIZE(given))):
        return values
    cdef int element_code = _ELEMENT_CODES[code - TENSOR_LIST]
    cdef list converted = []
    for value in values:
        if value is None and code == OPTIONAL_TENSOR_LIST:
            converted.append(None)
            continue
        if code == INT_LIST and converted and PyBool_Check(value):
            converted.append(int(value))
            continue
        element = _converted_value(element_code, value)
        if element is _MISMATCH:
            return _MISMATCH
        converted.append(element)
    return tuple(converted)


cdef Py_ssize_t misfit(int code, object value) except -2:
    cdef Py_ssize_t index
    if code < TENSOR_LIST or not (PyTuple_Check(value) or PyList_Check(value)):
        return -1
    for index in range(len(value)):
        if _converted_list(code, value[: index + 1]) is _MISMATCH:
            return index
    return -1


cdef object _converted_value(int code, value):
    if code == TENSOR_VALUE:
        return value if isinstance(value, Tensor) else _MISMATCH
    if code == TENSOR_OR_NUMBER_VALUE:
        return value if isinstance(value, Tensor) else _number(value)
    if code == SCALAR_VALUE:
        return _plain_tensor(value) if _is_scalar_tensor(value) else _number(value)
    if code == INT_VALUE:
        return _exact_int_of(value) if is_int(value) else _MISMATCH
    if code == FLOAT_VALUE:
        return _float(value)
    if code == BOOL_VALUE:
        return value if PyBool_Check(value) else _MISMATCH
    if code == STR_VALUE:
        return exact_str(value) if PyUnicode_Check(value) else _MISMATCH
    if code == DTYPE_VALUE:
        return value if isinstance(value, dtype) else _dtype_of_type(value)
    if code == DEVICE_VALUE:
        return _device(value)
    if code == LAYOUT_VALUE:
        return value if isinstance(value, layout) else _MISMATCH
    if code == MEMORY_FORMAT_VALUE:
        return value if isinstance(value, memory_format) else _MISMATCH
    if code == GENERATOR_VALUE:
        return value if isinstance(value, Generator) else _MISMATCH
    if code == STORAGE_VALUE:
        return value if isinstance(value, Storage) else _MISMATCH
    return value


cdef bint _is_scalar_tensor(value) noexcept:
    return isinstance(value, Tensor) and (<TensorImpl> value).rank == 0


cdef bint is_int(object value) noexcept:
    if PyLong_Check(value):
        return not PyBool_Check(value)
    if isinstance(value, Tensor):
        return _is_scalar_tensor(value) and category_of((<TensorImpl> value).dtype_code) == 1
    return PyIndex_Check(value)


cdef object _exact_int_of(value):
    if _is_symbolic(value):
        return _symbolic_number(value)
    return int(value) if PyLong_Check(value) else PyNumber_Index(value)


cdef object _float(value):
    if _is_symbolic(value):
        number = _symbolic_number(value)
        return float(number) if PyLong_Check(number) else number
    if PyFloat_Check(value) or PyLong_Check(value) or _is_scalar_tensor(value):
        return float(value)
    number = _number(value)
    return _MISMATCH if number is _MISMATCH or PyComplex_Check(number) else float(number)


cdef object _number(value):
    if PyFloat_Check(value) or PyLong_Check(value) or PyComplex_Check(value):
        return _plain_number(value)
    if isinstance(value, Tensor):
        return _MISMATCH
    if _is_symbolic(value):
        return _symbolic_number(value)
    for base in type(value).__mro__:
        if base.__name__ == "generic" and base.__module__ == "numpy":
            return _plain_number(value.item())
    return _MISMATCH


cdef object _plain_number(value):
    """A number without methods of somebody's own, which kernels would call."""
    if PyBool_Check(value):
        return value
    if PyFloat_Check(value):
        return value if PyFloat_CheckExact(value) else PyFloat_FromDouble(PyFloat_AS_DOUBLE(value))
    if PyLong_Check(value):
        return value if PyLong_CheckExact(value) else PyNumber_Index(value)
    if not PyComplex_Check(value):
        return _MISMATCH
    if PyComplex_CheckExact(value):
        return value
    return PyComplex_FromDoubles(PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value))


cdef object _plain_tensor(value):
    return value if type(value) is Tensor else make_alias(value)


cdef object _dtype_of_type(value):
    if not isinstance(value, type):
        return _MISMATCH
    return _DTYPES_OF_TYPES.get(value, _MISMATCH)


def dtype_argument(str function not None, value, bint nullable=True):
    """The dtype that argument `dtype` of `function` means; of None, None.

    Python's bool, int, float and complex stand for the types of their numbers. Raises TypeError for
    anything else, and for None unless `nullable`.
    """
    if isinstance(value, dtype) or (value is None and nullable):
        return value
    found = _dtype_of_type(value)
    if found is _MISMATCH:
        raise TypeError(f"{function}(): argument 'dtype' must be aten.dtype, not "
                        f"{type(value).__name__}")
    return found


cdef object _device(value):
    if isinstance(value, device):
        return value
    return device(value) if PyUnicode_Check(value) else _MISMATCH
