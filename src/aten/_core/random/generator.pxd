"""Generators of random numbers."""

from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport int64_t, uint64_t

from aten._core.random.random_numbers cimport Engine
from aten._core.tensor.tensor cimport Tensor

cdef class Generator:
    cdef Engine engine
    cdef uint64_t first_seed
    cdef PyThread_type_lock lock            # of whoever draws
    cdef bint taken                         # whether somebody has it: said under the interpreter lock
    cdef object __weakref__

    cdef bint take(self, bint waits=*) noexcept
    cdef void give(self) noexcept
    cdef int draw_uniform(self, Tensor out, double low, double high) except -1
    cdef int draw_normal(self, Tensor out, double mean, double deviation, bint blocked,
                         bint draws_rest) except -1
    cdef int draw_integers(self, Tensor out, uint64_t span, int64_t base, bint wide) except -1
