"""Plans: prepared sequences of kernel launches, replayed on new tensors."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.tensor.tensor cimport Tensor
from aten.backends.cpu.kernels.moving.iterator cimport Walk

cdef class Launch:
    cdef Walk walk                      # without addresses
    cdef bint direct                    # the whole walk is one call of the kernel
    cdef long long grain
    cdef long long* reduced
    cdef object owner                   # of the machine code
    cdef int sources[16]                # MAXIMUM_OPERANDS
    cdef long long offsets[16]
    cdef int operands
    cdef readonly str label

    cdef int run(self, PyObject** tensors) except -1

cdef struct Fresh:
    # A tensor to allocate; the plan owns the numbers.
    int code
    int rank
    bint contiguous
    int64_t* sizes
    int64_t* strides

cdef class Plan:
    cdef tuple launches
    cdef Fresh* fresh                   # outputs, then temporaries
    cdef int inputs
    cdef int outputs
    cdef int temporaries
    cdef bint single
    cdef bint executes
    cdef int device_type

    cdef Tensor allocated(self, int place)
    cdef object run(self, PyObject** tensors, str label, int64_t changes)
