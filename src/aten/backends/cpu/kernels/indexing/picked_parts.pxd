"""Walks with an index, shared out among threads."""

from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.moving.iterator cimport Walk

cdef enum:
    # Operands of a walk, in the order they are added.
    BASE = 0
    INDEX = 1
    OTHER = 2

cdef struct Way:
    # What kernels get beside addresses; behind `Walk.reduced`.
    int64_t step                # bytes that an index of one stands for
    int code                    # element type of half types
    int fold
    int width                   # bytes of an element
    int64_t choices             # an index is below, or one that others made wild counts as 0; or < 0
    int64_t* wild               # is not 0 after one that is not below; NULL where nobody asks

# Runs a walk whose kernel takes a `Way`, in parts that choose from elements of their own; one that
# picks, in any. Within a part points are met in the order of rows. With an `origin`, so many bytes
# without gaps, the base is to become a copy of it first, and is the same place in as many: all of it
# is chosen from.
cdef int run_in_parts(Walk* walk, bint picks, const char* origin, int64_t bytes) except -1
