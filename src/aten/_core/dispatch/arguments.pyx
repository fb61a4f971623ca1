# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False
"""Argument parsers, compiled from schemas: Python calls in, one value per schema argument out.

A slot that takes a value as it is (the exact type) costs a comparison; everything else goes through
`converted` (argument_values.pyx), which may make a new object. An int[] as the last positional
parameter, first or after one tensor, also takes the ints one by one.
"""

import sys

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject

from aten._core.base.sizes import Size
from aten._core.dispatch.argument_values cimport (
    ANY_LIST, BOOL_LIST, BOOL_VALUE, DEVICE_VALUE, DTYPE_VALUE, FLOAT_LIST, FLOAT_VALUE,
    GENERATOR_VALUE, INT_LIST, INT_VALUE, LAYOUT_VALUE, MEMORY_FORMAT_VALUE, OPTIONAL_TENSOR_LIST,
    SCALAR_LIST, SCALAR_VALUE, STORAGE_VALUE, STR_LIST, STR_VALUE, TENSOR_LIST,
    TENSOR_OR_NUMBER_VALUE, TENSOR_VALUE, are_exact_ints, are_tensors, code_of, converted,
    default_object, is_int, misfit, size_of_list,
)
from aten._core.dispatch.argument_values import MISMATCH
from aten._core.tensor.tensor cimport Tensor
from aten.suggestions import suggestion

cdef extern from "Python.h":
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False
    bint _is_tuple "PyTuple_Check"(PyObject* value)
    bint _exact_tuple "PyTuple_CheckExact"(PyObject* value)
    bint _exact_int "PyLong_CheckExact"(PyObject* value)
    bint _exact_float "PyFloat_CheckExact"(PyObject* value)
    bint _exact_str "PyUnicode_CheckExact"(PyObject* value)
    Py_ssize_t _tuple_size "PyTuple_GET_SIZE"(PyObject* value)
    PyObject* _tuple_item "PyTuple_GET_ITEM"(PyObject* value, Py_ssize_t index)
    PyObject** _tuple_items "PySequence_Fast_ITEMS"(PyObject* value)
    PyObject* _new_tuple "PyTuple_New"(Py_ssize_t count) except NULL
    void _set_item "PyTuple_SET_ITEM"(PyObject* value, Py_ssize_t index, PyObject* item)
    PyObject* _type_of "(PyObject*)Py_TYPE"(PyObject* value)
    void _own "Py_INCREF"(PyObject* value)
    void _release "Py_XDECREF"(PyObject* value)

cdef enum:
    WRONG_TYPE = 1
    WRONG_ELEMENT
    TOO_MANY
    MISSING
    UNEXPECTED_KEYWORD
    GIVEN_TWICE

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
# Keywords that schemas take without having them: see `says_nothing` and `takes_outs`.
cdef tuple _SCHEMALESS = ("out", "requires_grad")
cdef object _MISMATCH = MISMATCH


cdef class ArgumentParser:
    """Takes the arguments of a Python call apart as a schema says.

    `schema` is a FunctionSchema, or anything whose `arguments` have `name`, `type`, `keyword_only`,
    `has_default` and `default`.
    """

    def __cinit__(self, schema, bint numbers_as_tensors=False):
        arguments = schema.arguments
        self.count = len(arguments)
        self.positional_count = sum([not argument.keyword_only for argument in arguments])
        self.keyword_only_names = tuple(
            [argument.name for argument in arguments if argument.keyword_only]
        )
        self.numbers_as_tensors = numbers_as_tensors
        self.out_count = sum(
            [argument.keyword_only and argument.is_write for argument in arguments]
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
        slot.code = code_of(argument.type)
        if slot.code == TENSOR_VALUE and self.numbers_as_tensors and not argument.is_write:
            slot.code = TENSOR_OR_NUMBER_VALUE
        slot.repeat = size_of_list(argument.type)
        if not argument.has_default:
            return
        default = converted(slot.code, slot.nullable, slot.repeat,
                            default_object(slot.code, argument.default))
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
                raise TypeError(self.reason_for(False))
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
                self.failure_keyword = <object> _tuple_item(kwnames, index)
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

    cdef bint may_take(self, tuple keywords) except -1:
        """Whether there may be values with which the schema takes just these keywords."""
        for keyword in keywords:
            if keyword not in self.positions and keyword not in _SCHEMALESS:
                return False
        return True

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
        given = tuple(given)
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
        cdef ParameterSlot* slot = &self.slots[position]
        if slot.code == INT_LIST and slot.repeat == 1 and _exact_int(value):
            stack[position] = _tuple_of(&value, 1)
            return 0
        if value == Py_None and _is_no_list(slot):
            _own(slot.default)
            stack[position] = slot.default
            return 0
        given = <object> value
        if isinstance(given, (list, tuple)):
            # The conversion of one element may change the list that the next one is taken from.
            given = tuple(given)
        made = converted(slot.code, slot.nullable, slot.repeat, given)
        if made is _MISMATCH:
            self.failure_element = misfit(slot.code, given)
            if self.failure_element >= 0:
                return self.fail(WRONG_ELEMENT, position, type(given[self.failure_element]))
            return self.fail(WRONG_TYPE, position, type(<object> value))
        _own(<PyObject*> made)
        stack[position] = <PyObject*> made
        return 0

    cdef int collect_variadic(self, PyObject* const* args, Py_ssize_t nargs,
                              PyObject** stack) except -1:
        cdef Py_ssize_t position
        if not _stands_for_int(args[self.variadic]):
            return self.fail(TOO_MANY, nargs, None)
        if are_exact_ints(args + self.variadic, nargs - self.variadic):
            stack[self.variadic] = _tuple_of(args + self.variadic, nargs - self.variadic)
            return 0
        values = [<object> args[position] for position in range(self.variadic, nargs)]
        return self.convert(self.variadic, <PyObject*> values, stack)

    cdef int fail(self, int failure, Py_ssize_t position, object detail) except -1:
        self.failure = failure
        self.failure_position = position
        self.failure_keyword = None
        self.failure_detail = detail
        return 1

    def reason_for(self, bint as_method):
        """Why the last parse did not match: "argument 'dim' (position 2) must be int, not bool".

        Positions are those of the caller: a method's tensor is none.
        """
        detail = self.failure_detail
        if self.failure == TOO_MANY:
            expected = self.positional_count - as_method
            plural = "" if expected == 1 else "s"
            given = self.failure_position - as_method
            verb = "was" if given == 1 else "were"
            return f"takes {expected} positional argument{plural} but {given} {verb} given"
        if self.failure == UNEXPECTED_KEYWORD:
            return f"got an unexpected keyword argument '{detail}'{suggestion(detail, self.positions)}"
        if self.failure == GIVEN_TWICE:
            return f"got multiple values for argument '{detail}'"
        if self.failure == MISSING:
            missing = detail or self._required_from(self.failure_position)
            names = ", ".join([f'"{self._shown(name)}"' for name in missing])
            return f"missing {len(missing)} required argument{'s'[: len(missing) > 1]}: {names}"
        if self.failure in (WRONG_TYPE, WRONG_ELEMENT):
            return self._wrong_type(as_method)
        return ""

    def _shown(self, name):
        """How a function's caller knows the argument: schemas call the first one self."""
        return "input" if name == "self" and self.positions.get("input") == 0 else name

    def _wrong_type(self, bint as_method):
        cdef ParameterSlot* slot = &self.slots[self.failure_position]
        place = f" (position {self.failure_position + 1 - as_method})"
        name = self._shown(<object> slot.name)
        if self.failure_keyword is not None:
            place, name = "", self.failure_keyword
        argument = f"argument '{name}'{place} must be {_EXPECTED[slot.code]}"
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


# Fitting values

cdef PyObject* _size_type = <PyObject*> Size


cdef inline bint _is_plain_tuple(PyObject* value) noexcept:
    """Whether a tuple has no methods of somebody's own, which kernels would call."""
    return _exact_tuple(value) or _type_of(value) == _size_type


cdef inline bint _fits_as_it_is(ParameterSlot* slot, PyObject* value) noexcept:
    cdef int code = slot.code
    if code == TENSOR_VALUE or code == TENSOR_OR_NUMBER_VALUE:
        if _type_of(value) == <PyObject*> Tensor:
            return True
        if code == TENSOR_OR_NUMBER_VALUE and (_exact_float(value) or _exact_int(value)):
            return True
    elif code == INT_VALUE:
        if _exact_int(value):
            return True
    elif code == INT_LIST:
        if _is_plain_tuple(value) and are_exact_ints(_tuple_items(value), _tuple_size(value)):
            return True
    elif code == TENSOR_LIST:
        if _exact_tuple(value) and are_tensors(_tuple_items(value), _tuple_size(value)):
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


cdef inline PyObject* _tuple_of(PyObject* const* values, Py_ssize_t count) except NULL:
    cdef PyObject* made = _new_tuple(count)
    cdef Py_ssize_t index
    for index in range(count):
        _own(values[index])
        _set_item(made, index, values[index])
    return made


cdef inline bint _is_no_list(const ParameterSlot* slot) noexcept:
    """Whether the argument is a list of ints that is empty unless given: None says so, too."""
    return slot.code == INT_LIST and slot.default != NULL and _tuple_size(slot.default) == 0


cdef inline bint _stands_for_int(PyObject* value) noexcept:
    if _exact_int(value):
        return True
    if _is_tuple(value):
        return False
    return is_int(<object> value)


# Keywords and references

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
