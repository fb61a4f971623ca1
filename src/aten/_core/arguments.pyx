# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False
"""Argument parsers, compiled from schemas: Python calls in, one value per schema argument out.

What fits where follows torch's parser of Python arguments:

    Tensor        a tensor; numbers too where the operator takes numbers as tensors
    Scalar        int, float, bool, complex, a tensor of no dimensions (handed on as it is)
    int, SymInt   int, but no bool; what has __index__; an integral tensor of no dimensions
    float         float, int, bool; a tensor of no dimensions
    int[]         a list or tuple of such ints, made a tuple; int[N] also one int, taken N times
    int[] as the last positional parameter, first or after one tensor: also the ints one by one
    ScalarType    dtype; the types bool, int, float, complex
    Device        device, or a string that names one

A slot that takes a value as it is (the exact type) costs a comparison; everything else goes through
`_converted`, which may make a new object.
"""

import sys

from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_Check
from cpython.float cimport PyFloat_Check, PyFloat_CheckExact
from cpython.list cimport PyList_Check
from cpython.long cimport PyLong_Check, PyLong_CheckExact
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.number cimport PyIndex_Check
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF, Py_XINCREF
from cpython.tuple cimport PyTuple_Check
from cpython.unicode cimport PyUnicode_Check

from aten._core.device cimport device, layout, memory_format
from aten._core.device import LAYOUTS, MEMORY_FORMATS
from aten._core.dtypes cimport category_of, dtype, dtype_from_code
from aten._core.dtypes import ALIASES, DTYPES
from aten._core.generator cimport Generator
from aten._core.storage cimport Storage
from aten._core.tensor cimport Tensor, TensorImpl

cdef extern from "Python.h":
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False
    bint _is_tuple "PyTuple_Check"(PyObject* value)
    bint _exact_int "PyLong_CheckExact"(PyObject* value)
    bint _exact_float "PyFloat_CheckExact"(PyObject* value)
    bint _exact_str "PyUnicode_CheckExact"(PyObject* value)
    bint PyList_CheckExact(PyObject* value)
    Py_ssize_t PyList_GET_SIZE(PyObject* value)
    Py_ssize_t _tuple_size "PyTuple_GET_SIZE"(PyObject* value)
    PyObject* _tuple_item "PyTuple_GET_ITEM"(PyObject* value, Py_ssize_t index)
    PyObject** _tuple_items "PySequence_Fast_ITEMS"(PyObject* value)
    PyObject* _new_tuple "PyTuple_New"(Py_ssize_t count) except NULL
    void _set_item "PyTuple_SET_ITEM"(PyObject* value, Py_ssize_t index, PyObject* item)
    PyObject* _type_of "(PyObject*)Py_TYPE"(PyObject* value)
    void _own "Py_INCREF"(PyObject* value)
    void _release "Py_XDECREF"(PyObject* value)

cdef enum:
    TENSOR_VALUE, TENSOR_OR_NUMBER_VALUE, SCALAR_VALUE, INT_VALUE, FLOAT_VALUE, BOOL_VALUE
    STR_VALUE, DTYPE_VALUE, LAYOUT_VALUE, DEVICE_VALUE, MEMORY_FORMAT_VALUE, GENERATOR_VALUE
    STORAGE_VALUE, ANY_VALUE
    # Lists follow, each taking what `_ELEMENT_CODES` says.
    TENSOR_LIST, OPTIONAL_TENSOR_LIST, INT_LIST, FLOAT_LIST, BOOL_LIST, SCALAR_LIST, STR_LIST
    ANY_LIST

cdef enum:
    WRONG_TYPE = 1
    WRONG_ELEMENT
    TOO_MANY
    MISSING
    UNEXPECTED_KEYWORD
    GIVEN_TWICE

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
# How messages name what a code takes.
_EXPECTED = {
    TENSOR_VALUE: "Tensor", TENSOR_OR_NUMBER_VALUE: "Tensor", SCALAR_VALUE: "Number",
    INT_VALUE: "int", FLOAT_VALUE: "float", BOOL_VALUE: "bool", STR_VALUE: "str",
    DTYPE_VALUE: "aten.dtype", LAYOUT_VALUE: "aten.layout", DEVICE_VALUE: "aten.device",
    MEMORY_FORMAT_VALUE: "aten.memory_format", GENERATOR_VALUE: "aten.Generator",
    STORAGE_VALUE: "Storage", TENSOR_LIST: "tuple of Tensors",
    OPTIONAL_TENSOR_LIST: "tuple of Tensors", INT_LIST: "tuple of ints",
    FLOAT_LIST: "tuple of floats", BOOL_LIST: "tuple of bools", SCALAR_LIST: "tuple of Numbers",
    STR_LIST: "tuple of strs", ANY_LIST: "tuple",
}
# Other names under which torch takes arguments by keyword, NumPy's among them.
_OTHER_NAMES = {
    "self": ("input", "x", "a", "x1"),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
    "dim": ("axis",),
    "keepdim": ("keepdims",),
}
_DTYPES_OF_TYPES = {
    bool: DTYPES["bool"], int: DTYPES["int64"], float: DTYPES["float64"],
    complex: DTYPES["complex128"],
}

cdef object _MISMATCH = object()
cdef PyObject* _tensor_type = <PyObject*> Tensor


cdef class ArgumentParser:
    """Takes the arguments of a Python call apart as a schema says.

    `schema` is a FunctionSchema, or anything whose `arguments` have `name`, `type`, `keyword_only`,
    `has_default` and `default`.
    """

    def __cinit__(self, schema, bint numbers_as_tensors=False):
        arguments = schema.arguments
        self.count = len(arguments)
        self.positional_count = sum(not argument.keyword_only for argument in arguments)
        self.keyword_only_names = tuple(
            [argument.name for argument in arguments if argument.keyword_only]
        )
        self.numbers_as_tensors = numbers_as_tensors
        self.out_count = sum(
            argument.keyword_only and argument.is_write for argument in arguments
        )
        self.parameters = []
        self.positions = {}
        self.slots = <ParameterSlot*> PyMem_Calloc(self.count + 1, sizeof(ParameterSlot))
        if self.slots == NULL:
            raise MemoryError()
        for position, argument in enumerate(arguments):
            self._add_slot(position, argument)
        self._add_other_names()
        self.variadic = self._find_variadic()

    def __dealloc__(self):
        PyMem_Free(self.slots)

    def _add_slot(self, Py_ssize_t position, argument):
        cdef ParameterSlot* slot = &self.slots[position]
        name = sys.intern(argument.name)
        self.positions[name] = position
        self.parameters.append(name)
        slot.name = <PyObject*> name
        slot.nullable = argument.type.is_nullable
        slot.code = _code_of(argument.type)
        if slot.code == TENSOR_VALUE and self.numbers_as_tensors and not argument.is_write:
            slot.code = TENSOR_OR_NUMBER_VALUE
        slot.repeat = _size_of_list(argument.type)
        if not argument.has_default:
            return
        default = _converted(slot, _default_object(slot.code, argument.default))
        if default is _MISMATCH:
            raise ValueError(f"argument {name!r} cannot default to {argument.default!r}")
        self.parameters.append(default)
        slot.default = <PyObject*> default

    def _add_other_names(self):
        for name, position in list(self.positions.items()):
            for other in _OTHER_NAMES.get(name, ()):
                self.positions.setdefault(sys.intern(other), position)

    def _find_variadic(self):
        cdef Py_ssize_t position = self.positional_count - 1
        if position < 0 or position > 1 or self.slots[position].code != INT_LIST:
            return -1
        if position == 1 and self.slots[0].code != TENSOR_VALUE:
            return -1
        return position

    def bind(self, *args, **kwargs):
        """The values for the schema's arguments, in its order.

        Raises TypeError where the call does not fit.
        """
        cdef tuple names = tuple(kwargs)
        cdef tuple values = args + tuple(kwargs.values())
        cdef Py_ssize_t position
        cdef PyObject** items = <PyObject**> PyMem_Calloc(len(values) + 1, sizeof(PyObject*))
        cdef PyObject** stack = <PyObject**> PyMem_Calloc(self.count + 1, sizeof(PyObject*))
        try:
            if items == NULL or stack == NULL:
                raise MemoryError()
            for position in range(len(values)):
                items[position] = _tuple_item(<PyObject*> values, position)
            if self.parse(items, len(args), <PyObject*> names if names else NULL, stack) != 0:
                raise TypeError(self.reason)
            bound = tuple([<object> stack[position] for position in range(self.count)])
            _release_all(stack, self.count)
            return bound
        finally:
            PyMem_Free(items)
            PyMem_Free(stack)

    cdef int parse(self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                   PyObject** stack) except -1:
        cdef Py_ssize_t filled
        cdef int outcome
        if nargs > self.positional_count and self.variadic < 0:
            return self.fail(TOO_MANY, nargs, None)
        outcome = self.parse_positional(args, nargs, stack)
        if outcome != 0:
            return outcome
        filled = nargs if nargs < self.positional_count else self.positional_count
        if kwnames == NULL or _tuple_size(kwnames) == 0:
            return self.fill_defaults(stack, filled)
        return self.parse_keywords(args + nargs, kwnames, stack, filled)

    cdef int parse_positional(self, PyObject* const* args, Py_ssize_t nargs,
                              PyObject** stack) except -1:
        cdef Py_ssize_t position
        cdef Py_ssize_t end = nargs
        cdef int outcome = 0
        if self.variadic >= 0 and nargs > self.variadic:
            if nargs > self.positional_count:
                end = self.variadic
            elif self.slots[self.variadic].repeat == 0 and _stands_for_int(args[self.variadic]):
                end = self.variadic
        for position in range(end):
            if _fits_as_it_is(&self.slots[position], args[position]):
                _own(args[position])
                stack[position] = args[position]
                continue
            try:
                outcome = self.convert(position, args[position], stack)
            except BaseException:
                _release_all(stack, position)
                raise
            if outcome != 0:
                _release_all(stack, position)
                return outcome
        if end == nargs:
            return 0
        try:
            outcome = self.collect_variadic(args, nargs, stack)
        except BaseException:
            _release_all(stack, end)
            raise
        if outcome != 0:
            _release_all(stack, end)
        return outcome

    cdef int parse_keywords(self, PyObject* const* values, PyObject* kwnames, PyObject** stack,
                            Py_ssize_t filled) except -1:
        cdef Py_ssize_t position
        cdef Py_ssize_t index
        cdef int outcome = 0
        for position in range(filled, self.count):
            stack[position] = NULL
        for index in range(_tuple_size(kwnames)):
            position = _position_of(self, _tuple_item(kwnames, index), filled)
            if position < 0:
                if self.says_nothing(<object> _tuple_item(kwnames, index), values[index]):
                    continue
                if self.takes_outs(<object> _tuple_item(kwnames, index), values[index], stack):
                    continue
                outcome = self.fail(
                    UNEXPECTED_KEYWORD, -1, <object> _tuple_item(kwnames, index))
            elif position < filled or stack[position] != NULL:
                outcome = self.fail(
                    GIVEN_TWICE, position, <object> _tuple_item(kwnames, index))
            elif _fits_as_it_is(&self.slots[position], values[index]):
                _own(values[index])
                stack[position] = values[index]
            elif self.takes_outs(<object> _tuple_item(kwnames, index), values[index], stack):
                continue
            else:
                try:
                    outcome = self.convert(position, values[index], stack)
                except BaseException:
                    _release_all(stack, self.count)
                    raise
                self.failure_by_keyword = True
            if outcome != 0:
                _release_all(stack, self.count)
                return outcome
        for position in range(filled, self.count):
            if stack[position] != NULL:
                continue
            stack[position] = self.slots[position].default
            if stack[position] == NULL:
                outcome = self.fail(MISSING, position, _missing_names(self, stack, position))
                _release_all(stack, self.count)
                return outcome
            _own(stack[position])
        return 0

    cdef bint says_nothing(self, object keyword, PyObject* value):
        """Whether an argument of no schema asks for what happens anyway.

        Functional overloads take the out=None of their out= siblings, factories requires_grad=False.
        """
        if value == Py_None:
            return keyword == "out"
        return value == Py_False and keyword == "requires_grad" and "pin_memory" in self.positions

    cdef bint takes_outs(self, object keyword, PyObject* value, PyObject** stack) except -1:
        """Whether `out=(a, b)` gave the out= arguments of an operator with several results."""
        cdef Py_ssize_t place
        cdef Py_ssize_t first = self.count - self.out_count
        given = <object> value
        if self.out_count < 2 or keyword != "out" or not isinstance(given, (tuple, list)):
            return False
        if len(given) != self.out_count:
            return False
        for place in range(self.out_count):
            if stack[first + place] != NULL or not isinstance(given[place], Tensor):
                return False
        for place in range(self.out_count):
            _own(<PyObject*> given[place])
            stack[first + place] = <PyObject*> given[place]
        return True

    cdef int fill_defaults(self, PyObject** stack, Py_ssize_t start) except -1:
        cdef Py_ssize_t position
        cdef PyObject* default
        for position in range(start, self.count):
            default = self.slots[position].default
            if default == NULL:
                _release_all(stack, position)
                return self.fail(MISSING, position, None)
            _own(default)
            stack[position] = default
        return 0

    cdef int convert(self, Py_ssize_t position, PyObject* value, PyObject** stack) except -1:
        """A value that is not taken as it is; leaves stack[position] alone where it does not fit."""
        converted = _converted(&self.slots[position], <object> value)
        if converted is _MISMATCH:
            self.failure_element = _misfit(&self.slots[position], <object> value)
            if self.failure_element >= 0:
                return self.fail(
                    WRONG_ELEMENT, position, type((<object> value)[self.failure_element]))
            return self.fail(WRONG_TYPE, position, type(<object> value))
        _own(<PyObject*> converted)
        stack[position] = <PyObject*> converted
        return 0

    cdef int collect_variadic(self, PyObject* const* args, Py_ssize_t nargs,
                              PyObject** stack) except -1:
        cdef Py_ssize_t position
        if not _stands_for_int(args[self.variadic]):
            return self.fail(TOO_MANY, nargs, None)
        if _are_exact_ints(args + self.variadic, nargs - self.variadic):
            stack[self.variadic] = _tuple_of(args + self.variadic, nargs - self.variadic)
            return 0
        values = [<object> args[position] for position in range(self.variadic, nargs)]
        return self.convert(self.variadic, <PyObject*> values, stack)

    cdef int fail(self, int failure, Py_ssize_t position, object detail) except -1:
        self.failure = failure
        self.failure_position = position
        self.failure_by_keyword = False
        self.failure_detail = detail
        return 1

    @property
    def reason(self):
        """Why the last parse did not match: "argument 'dim' (position 2) must be int, not bool"."""
        detail = self.failure_detail
        if self.failure == TOO_MANY:
            expected = self.positional_count
            plural = "" if expected == 1 else "s"
            verb = "was" if self.failure_position == 1 else "were"
            return (f"takes {expected} positional argument{plural} but {self.failure_position} "
                    f"{verb} given")
        if self.failure == UNEXPECTED_KEYWORD:
            return f"got an unexpected keyword argument '{detail}'"
        if self.failure == GIVEN_TWICE:
            return f"got multiple values for argument '{detail}'"
        if self.failure == MISSING:
            missing = detail or self._required_from(self.failure_position)
            names = ", ".join([f'"{name}"' for name in missing])
            return f"missing {len(missing)} required argument{'s'[: len(missing) > 1]}: {names}"
        if self.failure in (WRONG_TYPE, WRONG_ELEMENT):
            return self._wrong_type()
        return ""

    def _wrong_type(self):
        cdef ParameterSlot* slot = &self.slots[self.failure_position]
        place = "" if self.failure_by_keyword else f" (position {self.failure_position + 1})"
        argument = f"argument '{<object> slot.name}'{place} must be {_EXPECTED[slot.code]}"
        if self.failure == WRONG_ELEMENT:
            return (f"{argument}, but found element of type {self.failure_detail.__name__} "
                    f"at pos {self.failure_element}")
        return f"{argument}, not {self.failure_detail.__name__}"

    def _required_from(self, Py_ssize_t start):
        cdef Py_ssize_t position
        return [
            <object> self.slots[position].name
            for position in range(start, self.count)
            if self.slots[position].default == NULL
        ]


# Compiling a schema.

cdef int _code_of(type) except -1:
    cdef int code = _VALUE_CODES.get(type.base, ANY_VALUE)
    if not type.is_list:
        return code
    if code == TENSOR_VALUE and str(type).startswith("Tensor?["):
        return OPTIONAL_TENSOR_LIST
    return _LIST_CODES.get(code, ANY_LIST)


cdef Py_ssize_t _size_of_list(type) except -1:
    if not type.is_list:
        return 0
    return getattr(type, "size", None) or getattr(getattr(type, "element", None), "size", None) or 0


cdef object _default_object(int code, value):
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


# Fitting values.

cdef inline bint _fits_as_it_is(ParameterSlot* slot, PyObject* value) noexcept:
    cdef int code = slot.code
    if code == TENSOR_VALUE or code == TENSOR_OR_NUMBER_VALUE:
        if _type_of(value) == _tensor_type:
            return True
        if code == TENSOR_OR_NUMBER_VALUE and (_exact_float(value) or _exact_int(value)):
            return True
    elif code == INT_VALUE:
        if _exact_int(value):
            return True
    elif code == INT_LIST:
        if _is_tuple(value) and _are_exact_ints(_tuple_items(value), _tuple_size(value)):
            return True
    elif code == TENSOR_LIST:
        if _is_tuple(value) and _are_tensors(_tuple_items(value), _tuple_size(value)):
            return True
    elif code == SCALAR_VALUE:
        if _exact_float(value) or _exact_int(value):
            return True
    elif code == BOOL_VALUE:
        if value == Py_True or value == Py_False:
            return True
    elif code == FLOAT_VALUE:
        if _exact_float(value):
            return True
    elif code == STR_VALUE:
        if _exact_str(value):
            return True
    return slot.nullable and value == Py_None


cdef inline bint _are_exact_ints(PyObject* const* values, Py_ssize_t count) noexcept:
    cdef Py_ssize_t index
    for index in range(count):
        if not _exact_int(values[index]):
            return False
    return True


cdef inline bint _are_tensors(PyObject* const* values, Py_ssize_t count) noexcept:
    cdef Py_ssize_t index
    for index in range(count):
        if _type_of(values[index]) != _tensor_type:
            return False
    return True


cdef inline PyObject* _tuple_of(PyObject* const* values, Py_ssize_t count) except NULL:
    cdef PyObject* made = _new_tuple(count)
    cdef Py_ssize_t index
    for index in range(count):
        _own(values[index])
        _set_item(made, index, values[index])
    return made


cdef inline bint _stands_for_int(PyObject* value) noexcept:
    if _exact_int(value):
        return True
    if _is_tuple(value):
        return False
    return _is_int(<object> value)


cdef object _converted(ParameterSlot* slot, value):
    """What the kernel gets for a value, or _MISMATCH."""
    if value is None and slot.nullable:
        return None
    if slot.code < TENSOR_LIST:
        return _converted_value(slot.code, value)
    if not (PyTuple_Check(value) or PyList_Check(value)):
        if slot.repeat == 0 or slot.code == TENSOR_LIST:
            return _MISMATCH
        single = _converted_value(_ELEMENT_CODES[slot.code - TENSOR_LIST], value)
        return _MISMATCH if single is _MISMATCH else (single,) * slot.repeat
    return _converted_list(slot.code, value)


cdef object _converted_list(int code, values):
    cdef PyObject* given = <PyObject*> values
    if (code == TENSOR_LIST and PyList_CheckExact(given)
            and _are_tensors(_tuple_items(given), PyList_GET_SIZE(given))):
        return tuple(values)
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


cdef Py_ssize_t _misfit(ParameterSlot* slot, value) except -2:
    """The index of the first element that does not fit, or -1 where the value is no list at all."""
    cdef Py_ssize_t index
    if slot.code < TENSOR_LIST or not (PyTuple_Check(value) or PyList_Check(value)):
        return -1
    for index in range(len(value)):
        if _converted_list(slot.code, value[: index + 1]) is _MISMATCH:
            return index
    return -1


cdef object _converted_value(int code, value):
    if code == TENSOR_VALUE:
        return value if isinstance(value, Tensor) else _MISMATCH
    if code == TENSOR_OR_NUMBER_VALUE:
        return value if isinstance(value, Tensor) else _number(value)
    if code == SCALAR_VALUE:
        return value if _is_scalar_tensor(value) else _number(value)
    if code == INT_VALUE:
        return _exact_int_of(value) if _is_int(value) else _MISMATCH
    if code == FLOAT_VALUE:
        return _float(value)
    if code == BOOL_VALUE:
        return value if PyBool_Check(value) else _MISMATCH
    if code == STR_VALUE:
        return value if PyUnicode_Check(value) else _MISMATCH
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


cdef bint _is_int(value) noexcept:
    if PyLong_Check(value):
        return not PyBool_Check(value)
    if isinstance(value, Tensor):
        return _is_scalar_tensor(value) and category_of((<TensorImpl> value).dtype_code) == 1
    return PyIndex_Check(value)


cdef object _exact_int_of(value):
    return int(value) if PyLong_Check(value) else int(value.__index__())


cdef object _float(value):
    if PyFloat_Check(value) or PyLong_Check(value) or _is_scalar_tensor(value):
        return float(value)
    number = _number(value)
    return _MISMATCH if number is _MISMATCH or PyComplex_Check(number) else float(number)


cdef object _number(value):
    if PyFloat_Check(value) or PyLong_Check(value) or PyComplex_Check(value):
        return value
    if isinstance(value, Tensor):
        return _MISMATCH
    for base in type(value).__mro__:
        if base.__name__ == "generic" and base.__module__ == "numpy":
            number = value.item()
            return number if isinstance(number, (int, float, complex)) else _MISMATCH
    return _MISMATCH


cdef object _dtype_of_type(value):
    if not isinstance(value, type):
        return _MISMATCH
    return _DTYPES_OF_TYPES.get(value, _MISMATCH)


cdef object _device(value):
    if isinstance(value, device):
        return value
    return device(value) if PyUnicode_Check(value) else _MISMATCH


# Keywords and references.

cdef Py_ssize_t _position_of(ArgumentParser parser, PyObject* name, Py_ssize_t start) except -2:
    """The stack position of a keyword, or -1."""
    cdef Py_ssize_t position
    for position in range(start, parser.count):
        if parser.slots[position].name == name:
            return position
    found = parser.positions.get(<object> name)
    return -1 if found is None else <Py_ssize_t> found


cdef list _missing_names(ArgumentParser parser, PyObject** stack, Py_ssize_t start):
    cdef Py_ssize_t position
    return [
        <object> parser.slots[position].name
        for position in range(start, parser.count)
        if stack[position] == NULL and parser.slots[position].default == NULL
    ]


cdef inline void _release_all(PyObject** stack, Py_ssize_t count) noexcept:
    cdef Py_ssize_t position
    for position in range(count):
        _release(stack[position])
        stack[position] = NULL
