# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Functions that users make operators of: what is called, and the kernel that calls the function."""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from aten._core.dispatch.dispatcher cimport (OpOverload, PyVectorcall_NARGS, call_with_tuple,
                                             make_vectorcallable)
from aten._core.dispatch.python_kernel cimport PythonKernel
from aten._core.tensor.tensor_impl cimport TensorImpl


cdef class CustomOperator:
    """An object that is called as its operator is, and has attributes of its own."""

    cdef void* vectorcall
    cdef readonly OpOverload _opoverload
    cdef object __weakref__
    cdef dict __dict__

    def __cinit__(self):
        self.vectorcall = <void*> call_own

    def __init__(self, OpOverload op not None):
        self._opoverload = op

    def __call__(self, *args, **kwargs):
        return call_with_tuple(self, args, kwargs)


cdef object call_own(CustomOperator self, PyObject* const* args, size_t nargsf, PyObject* kwnames):
    cdef OpOverload op = self._opoverload
    if op is None:
        raise TypeError("this operator was not initialized")
    return op.call_arguments(args, PyVectorcall_NARGS(nargsf), kwnames)


cdef class CustomKernel(PythonKernel):
    """Calls a function whose results are memory of their own, which is seen to."""

    def serve_by(self, function):
        """Has another function serve. Raises TypeError where it is not callable."""
        if not callable(function):
            raise TypeError(f"a kernel must be callable, not {type(function).__name__}")
        self.function = function
        self.parameters = None
        self.fits = None

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef Py_ssize_t place
        result = PythonKernel.call(self, op, keys, stack)
        if result is None:
            return result
        if isinstance(result, TensorImpl):
            for place in range(op.tensor_count):
                if shares(<TensorImpl> result, <object> stack[op.tensor_positions[place]]):
                    _refuse(op, "an argument")
        elif isinstance(result, (list, tuple)):
            _check_many(op, stack, list(result))
        return result


cdef bint shares(TensorImpl made, object value):
    if isinstance(value, TensorImpl):
        return made.storage is (<TensorImpl> value).storage
    if isinstance(value, (list, tuple)):
        for one in value:
            if shares(made, one):
                return True
    return False


cdef int _check_many(OpOverload op, PyObject** stack, list results) except -1:
    cdef Py_ssize_t place, number = 0
    for made in results:
        number += 1
        if isinstance(made, (list, tuple)):
            _check_many(op, stack, list(made))
        if not isinstance(made, TensorImpl):
            continue
        for place in range(op.tensor_count):
            if shares(<TensorImpl> made, <object> stack[op.tensor_positions[place]]):
                _refuse(op, "an argument")
        if shares(<TensorImpl> made, results[number:]):
            _refuse(op, "another result")
    return 0


cdef int _refuse(OpOverload op, str what) except -1:
    raise RuntimeError(
        f"{op.qualified_name}: a result is {what}, or shares memory with it, which no result of an "
        f"operator of one's own may: return a copy (clone)"
    )


cdef void make_callable() except *:
    cdef CustomOperator own = CustomOperator.__new__(CustomOperator)
    make_vectorcallable(
        <PyTypeObject*> CustomOperator, <char*> &own.vectorcall - <char*> <PyObject*> own, 0
    )


make_callable()
