"""What a pointwise kernel keeps for one set of attributes: machine code, and calls it has met."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from aten.backends.cpu.kernels.moving.iterator cimport KernelFunction
from aten.backends.cpu.kernels.pointwise.operands cimport MAXIMUM_INPUTS
from aten.backends.cpu.kernels.pointwise.ordinary cimport Remembered

cdef enum:
    MAXIMUM_ARGUMENTS = 16
    # Signatures of ordinary calls: a power of two.
    REMEMBERED = 16

# Spreads signatures over what is remembered: 2**64 over the golden ratio.
cdef extern from *:
    """
    #define ATEN_SPREAD 0x9E3779B97F4A7C15ULL
    """
    const uint64_t SPREAD "ATEN_SPREAD"

cdef struct Variant:
    uint64_t types[2]           # and accesses, of all operands
    KernelFunction function


cdef class Family:
    cdef readonly object attributes         # the arguments that are part of the code
    cdef PyObject* choices[MAXIMUM_ARGUMENTS]   # the arguments that last chose it; see `chosen_by`
    cdef list met                           # keeps them
    cdef int count
    cdef int position[MAXIMUM_INPUTS]
    cdef bint takes_part[MAXIMUM_INPUTS]    # in promotion
    cdef int promotion
    cdef Variant* variants
    cdef int variant_count
    cdef dict results                       # operand types → result type, for promotion "same"
    cdef list kept                          # what owns the machine code
    cdef object check                       # called with all arguments by name, or None
    cdef object integer_check               # called where there are integers; has `names`
    cdef set verified                       # types that a backend without code has no objection to
    cdef Remembered remembered[REMEMBERED]  # by signature

    cdef KernelFunction find(self, const uint64_t* types) noexcept nogil
    cdef int keep(self, const uint64_t* types, size_t address, object owner) except -1


cdef inline Remembered* remembered_at(Family family, uint64_t signature) noexcept nogil:
    """Where what is known of a signature's calls has its place, whatever is there now."""
    return &family.remembered[(signature * SPREAD) >> 60]
