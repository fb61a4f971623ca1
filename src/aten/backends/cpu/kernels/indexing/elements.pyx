# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Operators that move elements, with a compiled part for their ordinary calls.

The table names the compiled part by `native:`.
"""

from cpython.object cimport PyObject

from aten._core.dispatch.fast_path cimport FastPath
from aten.backends.cpu.kernels.indexing.masks cimport masked_select_ordinary, nonzero_ordinary
from aten.backends.cpu.kernels.indexing.picking cimport gather_ordinary
from aten.backends.cpu.kernels.indexing.taking cimport (embedding_ordinary, index_ordinary,
                                                        index_select_ordinary)
from aten.backends.cpu.kernels.ordering.ordering cimport sort_ordinary, topk_ordinary

# Gives None for calls it declines.
ctypedef object (*Ordinary)(PyObject** stack)

cdef dict _FUNCTIONS = {
    "index": <size_t>index_ordinary,
    "index_select": <size_t>index_select_ordinary,
    "embedding": <size_t>embedding_ordinary,
    "gather": <size_t>gather_ordinary,
    "nonzero": <size_t>nonzero_ordinary,
    "masked_select": <size_t>masked_select_ordinary,
    "sort": <size_t>sort_ordinary,
    "topk": <size_t>topk_ordinary,
}
NAMES = tuple(_FUNCTIONS)


cdef class ElementKernel(FastPath):
    """Runs the compiled part `native`. Raises KeyError where there is none of that name."""

    cdef Ordinary function

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.function = <Ordinary><size_t>_FUNCTIONS[native]

    cdef object ordinary(self, PyObject** stack):
        return self.function(stack)
