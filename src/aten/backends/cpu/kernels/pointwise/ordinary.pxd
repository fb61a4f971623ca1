"""The ordinary call of a pointwise operator: few elements that one or two even loops step through."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from aten._core.threads.cost cimport Cost
from aten.backends.cpu.kernels.moving.iterator cimport KernelFunction

cdef enum:
    # Operands of an ordinary call; what they are fits into the bits of its signature.
    MAXIMUM_ORDINARY = 5
    # Points, at most: what one thread computes.
    MAXIMUM_POINTS = 16384
    AS_IT_COMES = -1

cdef struct OrdinaryCall:
    # What types and access patterns a call has, the default dtype included. Never zero.
    uint64_t signature
    PyObject* leader                            # a tensor of the shape all others broadcast to
    PyObject* out                               # the tensor that is written; NULL: a fresh one
    int count
    int64_t points
    int64_t rows                                # the outer of two loops; 1: there is but one
    PyObject* tensors[MAXIMUM_ORDINARY]         # NULL for numbers
    int64_t numbers[MAXIMUM_ORDINARY]           # the bytes of those
    int codes[MAXIMUM_ORDINARY]                 # element types
    int accesses[MAXIMUM_ORDINARY]
    int64_t inner[MAXIMUM_ORDINARY + 1]         # bytes between neighbours
    int64_t outer[MAXIMUM_ORDINARY + 1]         # bytes between rows; AS_IT_COMES: a row's length

cdef struct Remembered:
    # What a call of one signature comes to. Without a function, it is none for the short way.
    uint64_t signature
    KernelFunction function
    int out_code
    Cost cost
    bint checked                                # numbers are for a check of the operator to see
    PyObject* accepted[MAXIMUM_ORDINARY]        # numbers that the operator's check let pass; owned

cdef bint arrange(OrdinaryCall* call, PyObject** stack, const int* positions, int count,
                  PyObject* out)
cdef object compute(OrdinaryCall* call, Remembered* known)
cdef bint has_accepted(const Remembered* known, const OrdinaryCall* call, PyObject** stack,
                       const int* positions) noexcept
cdef void accept(Remembered* known, const OrdinaryCall* call, PyObject** stack,
                 const int* positions) noexcept
cdef void forget(Remembered* known) noexcept
