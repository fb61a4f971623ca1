"""Operators that pick elements by index, compiled, and what places and folds them."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.indexing.picked_parts cimport Way

cdef enum Fold:
    # How elements meet.
    SUM = 0
    PRODUCT = 1
    LEAST = 2
    GREATEST = 3

# Gives None for calls that its operator's function is to look at.
cdef object gather_ordinary(PyObject** stack)

cdef int fold_named(name)
# Whether elements of a type have the fold, which the way then says.
cdef bint set_fold(Way* way, int code, int fold) noexcept
# Kernels of walks of a base that is written, an index and a source.
cdef void place_elements(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                         const int64_t* context) noexcept nogil
cdef void fold_elements(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                        const int64_t* context) noexcept nogil
