# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, nonecheck=False, cdivision=True, freethreading_compatible=False
"""Kernels that are Python functions, and how kernels are registered."""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from aten._core.base.device cimport default_device
from aten._core.base.keys cimport DispatchKey, key_set
from aten._core.dispatch.dispatcher cimport (
    ANYTHING,
    NOTHING,
    ONE_TENSOR,
    TENSOR_LIST,
    TENSORS,
    TRUTH,
    WRITTEN_TENSOR,
    Kernel,
    OpOverload,
    explain,
)
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

from aten._core.base.device import set_thread_device, thread_device
from aten._core.base.keys import BACKENDS
from aten._core.dispatch import registrations as registry_of_kernels

cdef extern from "Python.h":
    object PyObject_Vectorcall(object, PyObject* const*, size_t, PyObject*)
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyList_CheckExact(PyObject*) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept
    Py_ssize_t PySequence_Fast_GET_SIZE(PyObject*) noexcept
    PyObject** PySequence_Fast_ITEMS(PyObject*) noexcept


cdef class PythonKernel(Kernel):
    """Calls a Python function with the schema's arguments, keyword-only ones by name.

    With `with_keyset` the function gets the DispatchKeySet of the call before the arguments, with
    `with_op` the OpOverload, the key set first if both. Trailing arguments that have their default
    values are left out where the function has no parameters for them.

    What it returns has to be what the schema says, and on the device that the kernel is for;
    `results.py` says what is compared. Raises TypeError or RuntimeError.
    """

    def __cinit__(self):
        self.device_type = -1

    def __init__(self, function, bint with_keyset=False, bint with_op=False):
        if not callable(function):
            raise TypeError(f"a kernel must be callable, not {type(function).__name__}")
        self.function = function
        self.with_keyset = with_keyset
        self.with_op = with_op

    def describe(self):
        name = getattr(self.function, "__qualname__", None) or type(self.function).__name__
        return f"Python function {name.replace('<locals>.', '')}"

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef tuple names = op.parser.keyword_only_names
        cdef Py_ssize_t positional = op.parser.positional_count
        cdef object result
        if default_device() is not None:
            return call_without_default(self, op, keys, stack)
        if self.fits is not op or self.with_op or self.with_keyset:
            result = self.call_fitted(op, keys, stack)
        else:
            result = PyObject_Vectorcall(
                self.function, stack, positional, <PyObject*> names if names else NULL
            )
        if (op.returned == ONE_TENSOR and Py_TYPE(<PyObject*> result) == <PyTypeObject*> Tensor
                and self.device_type < 0):
            return result
        return self.checked(op, stack, result)

    cdef object checked(self, OpOverload op, PyObject** stack, object result):
        """`result`, if it is what the operator returns."""
        cdef PyObject* given = <PyObject*> result
        cdef bint fits = False
        if op.returned == ANYTHING:
            return result
        if op.returned == WRITTEN_TENSOR:
            fits = given == stack[op.written]
        elif op.returned == NOTHING:
            fits = result is None
        elif op.returned == TRUTH:
            fits = result is True or result is False
        elif self.device_type >= 0 and op.device_position >= 0:
            fits = False
        elif op.returned == ONE_TENSOR:
            fits = is_tensor_of(given, self.device_type)
        elif op.returned == TENSORS:
            fits = (isinstance(result, tuple) and len(<tuple> result) == op.returned_count
                    and are_tensors_of(given, self.device_type))
        elif op.returned == TENSOR_LIST:
            fits = ((PyList_CheckExact(given) or PyTuple_CheckExact(given))
                    and are_tensors_of(given, self.device_type))
        if not fits:
            from aten._core.dispatch.results import check_results

            check_results(
                op, self, [<object> stack[place] for place in range(op.count)], result
            )
        return result

    cdef int serve(self, int device_type) except -1:
        """Notes that the kernel is registered for a device type; with several, for none."""
        self.device_type = -1 if self.is_registered and self.device_type != device_type else device_type
        self.is_registered = True
        return 0

    cdef object call_fitted(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef Py_ssize_t position
        cdef Py_ssize_t positional = op.parser.positional_count
        cdef list args = [<object> stack[position] for position in range(positional)]
        cdef dict keywords = {}
        for position, name in enumerate(op.parser.keyword_only_names, positional):
            keywords[name] = <object> stack[position]
        cdef list leading = [key_set(keys)] if self.with_keyset else []
        if self.with_op:
            leading.append(op)
        if self.parameters is None:
            self.parameters = explain().parameters_of(self.function)
        if self.fits is op or explain().takes_all(self.parameters, op, len(leading)):
            self.fits = op
        else:
            explain().leave_out_defaults(self.parameters, op, len(leading), args, keywords)
        return self.function(*leading, *args, **keywords)


cdef object call_without_default(PythonKernel kernel, OpOverload op, uint64_t keys,
                                 PyObject** stack):
    """The thread's default device is for what users make, not for what kernels work with."""
    place = thread_device()
    set_thread_device(None)
    try:
        return PythonKernel.call(kernel, op, keys, stack)
    finally:
        set_thread_device(place)


cdef inline bint is_tensor_of(PyObject* value, int device_type) noexcept:
    """Whether it is a plain tensor of that device type, of any where it is negative."""
    return Py_TYPE(value) == <PyTypeObject*> Tensor and (
        device_type < 0 or (<TensorImpl> value).device_type == device_type
    )


cdef bint are_tensors_of(PyObject* values, int device_type) noexcept:
    cdef Py_ssize_t position
    for position in range(PySequence_Fast_GET_SIZE(values)):
        if not is_tensor_of(PySequence_Fast_ITEMS(values)[position], device_type):
            return False
    return True


def register_kernel(registrations, DispatchKey key not None, kernel, str provenance=None):
    """`OpOverload.register` by the operator's registrations; the operator may be defined later."""
    cdef Kernel made = as_kernel(kernel, provenance)
    if isinstance(made, PythonKernel):
        (<PythonKernel> made).serve(device_type_of(key))
    return registrations.add(key, made)


cdef int device_type_of(DispatchKey key) except? -2:
    """The device type whose dense tensors the key stands for, or -1."""
    if key.functionality != "Dense":
        return -1
    for name, device_type in BACKENDS:
        if name == key.backend:
            return device_type
    return -1


def register_fallback(DispatchKey key not None, kernel, str provenance=None):
    """Lets `kernel` serve `key` for every operator that has no kernel for it.

    A Python function is called as `function(op, *args, **kwargs)`. A functionality key (`Sparse`)
    stands for its keys on all backends. Returns a handle with `destroy()`.

    Raises:
        ValueError: `key` is an alias or Undefined.
    """
    if not isinstance(kernel, Kernel):
        kernel = PythonKernel(kernel, with_op=True)
    return registry_of_kernels.add_fallback(key, as_kernel(kernel, provenance))


cdef Kernel as_kernel(object kernel, str provenance):
    cdef Kernel made = kernel if isinstance(kernel, Kernel) else PythonKernel(kernel)
    if made.provenance is None:
        made.provenance = provenance or registry_of_kernels.caller_place()
    return made
