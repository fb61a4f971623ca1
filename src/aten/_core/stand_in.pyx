# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Kernels that compute ordinary calls at once, and leave all others to another kernel.

The compiled part looks at the arguments, and does what they ask for or declines. So errors, other
devices and rare arguments are dealt with in one place, mostly a function, which could serve every
call.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from aten._core.dispatcher cimport FallthroughKernel, Kernel, OpOverload, PythonKernel
from aten._core.keys cimport LocalState, local_state, row_index

cdef extern from "Python.h":
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t) noexcept
    PyObject* PyList_GET_ITEM(PyObject*, Py_ssize_t) noexcept


cdef class CompiledFirst(Kernel):
    """Computes what is ordinary itself; `otherwise` serves the other calls."""

    def __init__(self, str native not None, Kernel otherwise not None):
        self.native = native
        self.otherwise = otherwise

    def describe(self):
        return f"compiled {self.native}, else {self.otherwise.describe()}"

    cdef object ordinary(self, PyObject** stack):
        return None

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        made = self.ordinary(stack)
        return self.otherwise.call(op, keys, stack) if made is None else made


cdef class StandIn(CompiledFirst):
    """Computes what the composite `otherwise`, which calls `operators`, would give.

    It stands for it only while these have compiled kernels, with nothing before them, and no trace
    is on: a kernel that is registered for one of them is called as ever.
    """

    def __init__(self, str native not None, operators not None, Kernel otherwise not None):
        CompiledFirst.__init__(self, native, otherwise)
        self.operators = tuple(operators)
        self.compiled = [None] * len(self.operators)

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        made = self.ordinary(stack) if local_state().tracing == 0 else None
        return self.otherwise.call(op, keys, stack) if made is None else made

    cdef bint stands(self, uint64_t keys) except -1:
        cdef LocalState* state = local_state()
        cdef PyObject* operators = <PyObject*>self.operators
        cdef PyObject* op
        cdef PyObject* served
        cdef Py_ssize_t place
        keys = (keys | state.included) & ~state.excluded
        for place in range(PyTuple_GET_SIZE(operators)):
            op = PyTuple_GET_ITEM(operators, place)
            served = NULL
            if (<OpOverload>op).row != NULL:
                served = (<OpOverload>op).row[row_index(keys & (<OpOverload>op).mask)]
            if served == NULL or served != PyList_GET_ITEM(<PyObject*>self.compiled, place):
                if not self.finds_compiled(place, keys):
                    return False
        return True

    cdef bint finds_compiled(self, Py_ssize_t place, uint64_t keys) except -1:
        cdef OpOverload op = <OpOverload>self.operators[place]
        cdef Kernel kernel
        # The first look at a row also finds which keys its operator skips.
        op.kernel_for(keys & op.mask)
        kernel = op.kernel_for(keys & op.mask)
        if isinstance(kernel, (PythonKernel, FallthroughKernel)):
            return False
        self.compiled[place] = kernel
        return True
