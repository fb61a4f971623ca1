"""Operators, their dispatch rows, and the kernels in them."""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from aten._core.base.keys cimport DispatchKeySet, local_state, row_index, traces
from aten._core.dispatch.arguments cimport ArgumentParser
from aten._core.memory.storage cimport begin_call, end_call

cdef extern from "Python.h":
    Py_ssize_t PyVectorcall_NARGS(size_t) noexcept
    object call_with_tuple "PyVectorcall_Call" (object, object, object)
    void _drop "Py_XDECREF"(PyObject*) noexcept

cdef enum:
    # Arguments that fit into a stack on the C stack; longer schemas pay an allocation.
    INLINE_ARGUMENTS = 40

cdef class Kernel:
    cdef readonly str provenance            # file:line of the registration
    cdef str home                           # the operator that it came with, or None
    # `stack` holds one borrowed reference per schema argument, in schema order, defaults filled in.
    # The result is the return value, or a tuple of them.
    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack)

cdef enum Returned:
    # What a schema says is returned, as far as a kernel's result is checked without Python code.
    ANYTHING = 0
    NOTHING = 1
    ONE_TENSOR = 2
    WRITTEN_TENSOR = 3                      # an argument, written to
    TENSORS = 4                             # a tuple of them
    TENSOR_LIST = 5
    TRUTH = 6
    OTHER = 7

cdef class FallthroughKernel(Kernel):       # skipped: the next key is taken
    pass

cdef class OpOverload:
    cdef void* vectorcall                   # first field after the header: the vectorcall slot
    cdef readonly str namespace
    cdef readonly str name                  # "add"
    cdef readonly str overload              # "Tensor", or "" for the default overload
    cdef readonly str schema_text           # without the namespace
    cdef readonly object entry              # the registry's row, or None for user-defined operators
    cdef readonly object registrations      # kernels by key, and the rule of precedence
    cdef object parsed_schema               # FunctionSchema, parsed on first use
    cdef ArgumentParser parser              # compiled on first use
    cdef object results                     # the named tuple of results, or None: they have no names
    cdef Py_ssize_t count
    cdef Returned returned
    cdef Py_ssize_t returned_count
    cdef Py_ssize_t written                 # stack position of a WRITTEN_TENSOR
    cdef uint64_t mask                      # keys whose kernels are not fallthrough
    cdef bint mask_is_stale
    cdef uint64_t changes                   # how often the row was forgotten
    cdef PyObject** row                     # row_length() borrowed Kernels; NULL: not computed yet
    cdef Py_ssize_t tensor_count
    cdef Py_ssize_t* tensor_positions       # stack positions that may hold tensors or lists of them
    cdef Py_ssize_t device_position         # stack position of a `device` argument, or -1
    cdef object derivative                  # how it is recorded for gradients; None: not looked up yet
    cdef object __weakref__
    cdef dict __dict__

    cdef int prepare(self) except -1        # parses the schema, allocates the row; once
    cdef uint64_t keys_of(self, PyObject** stack) except? 0     # from the arguments and the thread's sets
    cdef uint64_t keys_without_tensors(self, PyObject** stack) except? 0
    cdef object call_stack(self, PyObject** stack)              # dispatch on the arguments
    cdef object redispatch_stack(self, uint64_t keys, PyObject** stack)
    cdef int find_mask(self) except -1
    cdef Kernel kernel_for(self, uint64_t keys)                 # computes and caches the row's slot
    # Whether calls with these keys end in a kernel that the operator came with, none before it.
    cdef bint is_as_made(self, uint64_t keys) except -1
    cdef object call_arguments(self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames)
    cdef object call_parsed(self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                            DispatchKeySet given)

# The keys of a Tensor, Tensor? or list of them; 0 for everything else.
cdef uint64_t keys_of_value(PyObject* value) except? 0

# What puts errors into words; imported when it is first needed.
cdef object explain()

# Grows with every change of what serves which operator.
cdef uint64_t registration_epoch

# What modes and classes of operands say that a call gives, whose keys have Overriding.
cdef object overridden(object function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames)

cdef class LargeStack:
    cdef PyObject** values

# Calls the kernel of the highest key that the operator does not skip. `dispatch_unserved` does it
# where a trace is on, or nobody has asked for that kernel yet.
cdef object dispatch_unserved(OpOverload op, uint64_t keys, PyObject** stack)
# For arguments that fit none of the candidates' schemas: raises, or finds what else was meant.
cdef object call_without_match(object named, tuple candidates, PyObject* const* args,
                               Py_ssize_t nargs, PyObject* kwnames)
# Lets calls of a type's objects go through the field at `offset`.
cdef void make_vectorcallable(PyTypeObject* type, Py_ssize_t offset, unsigned long flags) noexcept


cdef inline object dispatch(OpOverload op, uint64_t keys, PyObject** stack):
    cdef PyObject* served
    cdef Kernel kernel
    cdef int phase
    if traces == 0 or local_state().tracing == 0:
        served = op.row[row_index(keys & op.mask)]
        if served != NULL:
            # Owned for the length of the call: the kernel may take its own registration back.
            kernel = <Kernel> served
            phase = begin_call()
            try:
                return kernel.call(op, keys & op.mask, stack)
            finally:
                end_call(phase)
    return dispatch_unserved(op, keys, stack)


cdef inline void release(PyObject** stack, Py_ssize_t count) noexcept:
    cdef Py_ssize_t position
    for position in range(count):
        _drop(stack[position])
