# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Kernels that compute ordinary calls at once, and leave all others to another kernel.

The compiled part looks at the arguments, and does what they ask for or declines. So errors, other
devices and rare arguments are dealt with in one place, mostly a function, which could serve every
call.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from aten._core.base.keys cimport local_state, traces
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload, registration_epoch
from aten._core.tensor.tensor cimport is_tensor

cdef class FastPath(Kernel):
    """Computes ordinary calls as `otherwise` would, which serves the others.

    Where it does itself what `otherwise` asks other operators for, `replaced` names these, and
    `find` gives the operator of a name. Then it stands for them only while each is served by the
    kernel it came with, with nothing before it, and no trace is on: a kernel of whatever kind that
    is registered for one of them is called as ever.
    """

    def __init__(self, str native not None, tuple replaced not None, find,
                 Kernel otherwise not None):
        if replaced and find is None:
            raise ValueError(f"{native}: replaces {replaced}, which nothing finds")
        self.native = native
        self.replaced = replaced
        self.find = find
        self.otherwise = otherwise
        self.replaces = len(replaced) > 0

    def describe(self):
        return f"compiled {self.native}, else {self.otherwise.describe()}"

    cdef object ordinary(self, PyObject** stack):
        return None

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        if not self.replaces or ((traces == 0 or local_state().tracing == 0)
                                 and self.stands(op.keys_of(stack))):
            made = self.ordinary(stack)
            if made is not None:
                return made
        return self.otherwise.call(op, keys, stack)

    cdef bint stands(self, uint64_t keys) except -1:
        if keys == self.found_keys and registration_epoch == self.found_epoch:
            return self.found
        return self.look(keys)

    cdef bint look(self, uint64_t keys) except -1:
        # What changes while it looks, in Python code or another thread, is a change after it.
        cdef uint64_t epoch = registration_epoch
        cdef bint stands = True
        for name in self.replaced:
            if not (<OpOverload?>self.find(name)).is_as_made(keys):
                stands = False
                break
        self.found = stands
        self.found_keys = keys
        self.found_epoch = epoch
        return stands


cdef bint read_arguments(tuple arguments, PyObject** stack, Py_ssize_t count, Py_ssize_t required,
                         Py_ssize_t optional) noexcept:
    cdef Py_ssize_t place
    if len(arguments) != count:
        return False
    for place in range(count):
        value = arguments[place]
        if place < required + optional and not is_tensor(value):
            if place < required or value is not None:
                return False
        stack[place] = <PyObject*> value
    return True
