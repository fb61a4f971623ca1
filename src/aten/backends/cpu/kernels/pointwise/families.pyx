# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""What a pointwise kernel keeps for one set of attributes: machine code, and calls it has met."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport uint64_t

from aten.backends.cpu.kernels.moving.iterator cimport KernelFunction
from aten.backends.cpu.kernels.pointwise.ordinary cimport Remembered, forget


cdef class Family:
    """The machine code of one operator for one set of attributes, by types and access patterns."""

    def __dealloc__(self):
        cdef int place
        for place in range(REMEMBERED):
            forget(&self.remembered[place])
        PyMem_Free(self.variants)

    cdef KernelFunction find(self, const uint64_t* types) noexcept nogil:
        cdef int index
        for index in range(self.variant_count):
            if (self.variants[index].types[0] == types[0]
                    and self.variants[index].types[1] == types[1]):
                return self.variants[index].function
        return NULL

    cdef int keep(self, const uint64_t* types, size_t address, object owner) except -1:
        cdef Variant* grown = <Variant*>PyMem_Realloc(
            self.variants, (self.variant_count + 1) * sizeof(Variant))
        if grown == NULL:
            raise MemoryError()
        self.variants = grown
        grown[self.variant_count].types = [types[0], types[1]]
        grown[self.variant_count].function = <KernelFunction>address
        self.variant_count += 1
        self.kept.append(owner)
        return 0
