"""Generators of random numbers."""

from libc.stdint cimport uint64_t

from aten._core.random_numbers cimport Engine

cdef class Generator:
    cdef Engine engine
    cdef uint64_t first_seed
    cdef object lock            # of whoever draws
    cdef object __weakref__
