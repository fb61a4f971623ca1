# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Kernels that compute a composite's ordinary case at once, and leave all else to the composite.

They stand for it only while the operators it is made of have compiled kernels, with nothing before
them, and no trace is on: a kernel that is registered for one of these is called as ever.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from aten._core.dispatcher cimport FallthroughKernel, Kernel, OpOverload, PythonKernel
from aten._core.keys cimport LocalState, local_state, row_index


cdef class StandIn(Kernel):
    """Computes what the composite `otherwise`, which calls `operators`, would give."""

    def __init__(self, str native not None, operators not None, Kernel otherwise not None):
        self.native = native
        self.operators = tuple(operators)
        self.compiled = [None] * len(self.operators)
        self.otherwise = otherwise

    def describe(self):
        return f"compiled {self.native}, else {self.otherwise.describe()}"

    cdef object ordinary(self, PyObject** stack):
        return None

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef object made
        if local_state().tracing == 0:
            made = self.ordinary(stack)
            if made is not None:
                return made
        return self.otherwise.call(op, keys, stack)

    cdef bint stands(self, uint64_t keys) except -1:
        cdef LocalState* state = local_state()
        cdef OpOverload op
        cdef PyObject* served
        cdef Py_ssize_t place
        keys = (keys | state.included) & ~state.excluded
        for place in range(len(self.operators)):
            op = <OpOverload>self.operators[place]
            served = NULL
            if op.row != NULL:
                served = op.row[row_index(keys & op.mask)]
            if served == NULL or served != <PyObject*>self.compiled[place]:
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
