"""Sizes as Python sees them, and how many there may be."""

from libc.stdint cimport int64_t

cdef enum:
    INLINE_DIMS = 5             # what tensors have room for in themselves
    MAXIMUM_DIMS = 64

cdef object int_tuple(int count, const int64_t* values)
# The sizes as a `Size`: like all tuples, one object may serve whoever asks.
cdef object make_size(int rank, const int64_t* sizes)
# Copies a sequence of integers; returns how many. Raises RuntimeError past `limit`.
cdef Py_ssize_t read_sizes(object values, int64_t* sizes, int limit) except -1
