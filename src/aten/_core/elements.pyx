# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Operators whose ordinary calls are compiled, and all others their function's.

The compiled part looks at the arguments, and does what they ask for or declines. So errors, other
devices and rare arguments are dealt with in one place, the function, which could serve every call.
The table names the compiled part by `native:`.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from aten._core.dispatcher cimport Kernel, OpOverload
from aten._core.masks cimport masked_select_ordinary, nonzero_ordinary
from aten._core.ordering cimport sort_ordinary, topk_ordinary
from aten._core.picking cimport gather_ordinary
from aten._core.taking cimport embedding_ordinary, index_ordinary, index_select_ordinary

# Gives None for calls it declines.
ctypedef object (*Ordinary)(PyObject** stack)

NATIVE = ("index", "index_select", "embedding", "gather", "nonzero", "masked_select", "sort",
           "topk")

cdef Ordinary[8] _functions     # in the order of the names
_functions[0] = index_ordinary
_functions[1] = index_select_ordinary
_functions[2] = embedding_ordinary
_functions[3] = gather_ordinary
_functions[4] = nonzero_ordinary
_functions[5] = masked_select_ordinary
_functions[6] = sort_ordinary
_functions[7] = topk_ordinary


cdef class ElementKernel(Kernel):
    """Runs the compiled part `native`, or where that declines `otherwise`.

    Raises LookupError where no compiled part has the name.
    """

    cdef readonly str native
    cdef readonly Kernel otherwise
    cdef void* function

    def __init__(self, OpOverload op not None, str native not None, Kernel otherwise not None):
        if native not in NATIVE:
            raise LookupError(f"{op.name}: nothing compiled is called {native!r}")
        self.native = native
        self.otherwise = otherwise
        self.function = <void*>_functions[NATIVE.index(native)]

    def describe(self):
        return f"compiled {self.native}, else {self.otherwise.describe()}"

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        found = (<Ordinary>self.function)(stack)
        return self.otherwise.call(op, keys, stack) if found is None else found
