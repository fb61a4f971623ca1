"""Plans: prepared sequences of kernel launches, replayed on new tensors."""

from aten._core.iterator cimport Walk
from aten._core.tensor cimport Tensor

cdef class Launch:
    cdef Walk walk
    cdef long long grain
    cdef long long* reduced
    cdef object owner                   # of the machine code
    cdef int sources[16]             # MAXIMUM_OPERANDS
    cdef long long offsets[16]
    cdef int operands
    cdef readonly str label

cdef class Plan:
    cdef tuple launches
    cdef tuple outputs                  # (dtype, sizes, strides) of each result
    cdef tuple temporaries
    cdef int inputs
    cdef bint single
    cdef bint executes
    cdef int device_type

    cdef object run(self, list tensors)
