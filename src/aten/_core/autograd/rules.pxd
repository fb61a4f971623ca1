"""How an operator is recorded: its rule, and the formulas of its gradients."""

from aten._core.dispatch.dispatcher cimport INLINE_ARGUMENTS, Kernel, OpOverload

cpdef enum:
    # Where a formula's argument comes from: a position in the operator's stack, or
    GRADIENTS = 1000            # the gradient of result 0, 1, …
    RESULTS = 2000              # result 0, 1, …
    CONSTANTS = 3000
    NEEDED = 4000               # whether each operand's gradient is wanted, a tuple
    ALL_GRADIENTS = 4001        # gradients of all results, a tuple
    GIVEN = 4002                # the same, with None where none is known
    SIZES = 5000                # the sizes of the tensor, or tensors, at a position

cdef class Formula:
    cdef readonly tuple positions
    cdef readonly object compute
    cdef readonly tuple sources
    cdef readonly tuple constants
    cdef OpOverload operator
    cdef int count
    cdef int codes[INLINE_ARGUMENTS]
    cdef Py_ssize_t position        # the only one of `positions`, or -1
    cdef readonly int one           # the source that, if it is 1, has the gradient passed on, or -1

cdef class Rule:
    cdef readonly str title
    cdef readonly list formulas
    cdef readonly Kernel through
    cdef readonly str missing
    cdef readonly frozenset without
    cdef readonly bint in_place
    cdef readonly bint refuses
    cdef readonly bint ends
    cdef readonly frozenset keeps       # positions whose value before a write formulas need
    cdef tuple slots                    # positions that formulas read, in the order of what is saved
    cdef int slot_count
    cdef int slot_of[INLINE_ARGUMENTS]  # by position; -1: nothing reads it
    cdef bint as_it_was[INLINE_ARGUMENTS]   # by position: whether it is one of `keeps`
    cdef tuple sized                    # codes of sizes that they read
    cdef Py_ssize_t sized_count
    cdef int results                    # how many results they read, counted to the last of them
    cdef int edge_of[INLINE_ARGUMENTS]  # by position: the edge of its operand, or -1; known with:
    cdef OpOverload owner
    cdef bint gives_views               # several at once; known with the owner
    cdef bint gives_own                 # nothing that shows an operand; known with the owner

    cdef int find_edges(self, OpOverload op) except -1
