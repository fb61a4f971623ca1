"""What a schema's types take, and what kernels get for it."""

from cpython.object cimport PyObject

from aten._core.tensor.tensor cimport Tensor

cdef extern from "Python.h":
    bint _exact_int "PyLong_CheckExact"(PyObject* value)
    PyObject* _type_of "(PyObject*)Py_TYPE"(PyObject* value)

cdef enum:
    TENSOR_VALUE, TENSOR_OR_NUMBER_VALUE, SCALAR_VALUE, INT_VALUE, FLOAT_VALUE, BOOL_VALUE
    STR_VALUE, DTYPE_VALUE, LAYOUT_VALUE, DEVICE_VALUE, MEMORY_FORMAT_VALUE, GENERATOR_VALUE
    STORAGE_VALUE, ANY_VALUE
    # Lists follow, each taking what `_ELEMENT_CODES` in argument_values.pyx says.
    TENSOR_LIST, OPTIONAL_TENSOR_LIST, INT_LIST, FLOAT_LIST, BOOL_LIST, SCALAR_LIST, STR_LIST
    ANY_LIST

# The code of a schema's type; how many elements a list of it has, 0: any number.
cdef int code_of(object schema_type) except -1
cdef Py_ssize_t size_of_list(object schema_type) except -1
cdef object default_object(int code, object value)
# What the kernel gets for a value, or MISMATCH. With `nullable`, None for None; with `repeat`, a
# list takes one element for that many.
cdef object converted(int code, bint nullable, Py_ssize_t repeat, object value)
# The index of the first element that does not fit, or -1 where the value is no list at all.
cdef Py_ssize_t misfit(int code, object value) except -2
cdef bint is_int(object value) noexcept


cdef inline bint are_exact_ints(PyObject* const* values, Py_ssize_t count) noexcept:
    cdef Py_ssize_t index
    for index in range(count):
        if not _exact_int(values[index]):
            return False
    return True


cdef inline bint are_tensors(PyObject* const* values, Py_ssize_t count) noexcept:
    cdef Py_ssize_t index
    for index in range(count):
        if _type_of(values[index]) != <PyObject*> Tensor:
            return False
    return True
