# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Kernels of operators that ask another one for the result, with no Python in between."""

from cpython.object cimport PyObject

from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath

cdef enum:
    MAXIMUM_ARGUMENTS = 16


cdef class ForwardingKernel(FastPath):
    """Calls `target` with arguments of `op`, and gives its result or the first of its results.

    `sources` has for each argument of `target` a position among those of `op`, or a tuple of one
    constant. Where one of the arguments at the positions `absent` is not None, the call is not to
    be forwarded, and goes to `otherwise`.
    """

    cdef readonly OpOverload target
    cdef readonly tuple sources
    cdef bint first
    cdef int count
    cdef int positions[MAXIMUM_ARGUMENTS]           # -1: a constant
    cdef PyObject* constants[MAXIMUM_ARGUMENTS]     # borrowed from `sources`
    cdef int absent_count
    cdef int absent[MAXIMUM_ARGUMENTS]

    def __init__(self, OpOverload target not None, tuple sources, tuple absent, bint first,
                 Kernel otherwise not None):
        cdef int place
        FastPath.__init__(self, f"call of {target.name}", (), None, otherwise)
        self.target = target
        self.sources = sources
        self.first = first
        self.count = <int>len(sources)
        self.absent_count = <int>len(absent)
        if self.count > MAXIMUM_ARGUMENTS or self.absent_count > MAXIMUM_ARGUMENTS:
            raise ValueError(f"{target.name}: too many arguments to forward")
        for place, source in enumerate(sources):
            if isinstance(source, tuple):
                self.positions[place] = -1
                self.constants[place] = <PyObject*>(<tuple>source)[0]
            else:
                self.positions[place] = source
        for place in range(self.absent_count):
            self.absent[place] = absent[place]

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* forwarded[MAXIMUM_ARGUMENTS]
        cdef int place
        for place in range(self.absent_count):
            if stack[self.absent[place]] != <PyObject*>None:
                return None
        for place in range(self.count):
            if self.positions[place] < 0:
                forwarded[place] = self.constants[place]
            else:
                forwarded[place] = stack[self.positions[place]]
        result = self.target.call_stack(forwarded)
        return (<tuple?>result)[0] if self.first else result
