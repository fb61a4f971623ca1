"""Arguments on a call's stack, read where they are ordinary; nothing is raised."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.tensor.tensor_impl cimport TensorImpl

cdef extern from "Python.h":
    PyObject* Py_True
    PyObject* Py_False
    bint PyLong_CheckExact(PyObject*) noexcept
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*) except? -1


cdef inline bint reads_integer(PyObject* given, int64_t* number) except -1:
    """Whether an argument is an int of 64 bits."""
    cdef int overflow = 0
    if not PyLong_CheckExact(given):
        return False
    number[0] = PyLong_AsLongLongAndOverflow(given, &overflow)
    return overflow == 0


cdef inline bint reads_dim(PyObject* given, TensorImpl tensor, int* dim) except -1:
    """Whether an argument names a dimension of a tensor; of one without any, 0 and -1 do."""
    cdef int64_t number = 0
    cdef int rank = max(tensor.rank, 1)
    if not reads_integer(given, &number) or number < -rank or number >= rank:
        return False
    dim[0] = <int>(number + rank if number < 0 else number)
    return True


cdef inline bint reads_flag(PyObject* given, bint* flag) noexcept:
    """Whether an argument is True or False."""
    flag[0] = given == Py_True
    return given == Py_True or given == Py_False
