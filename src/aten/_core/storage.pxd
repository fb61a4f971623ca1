"""Reference-counted memory and the allocators behind it."""

from libc.stdint cimport int64_t, uint32_t

cdef class Storage:
    cdef char* data
    cdef int64_t bytes
    cdef uint32_t version           # bumped by every in-place write; views share it with their base
    cdef int size_class             # the caching allocator's class; -1: memory owned by `owner`
    cdef signed char device_type
    cdef signed char device_index
    cdef int exports                # users of the memory who do not know when it moves
    cdef object owner               # keeps foreign memory alive (NumPy array, mapped file, …)

cdef Storage allocate(int64_t nbytes, int device_type, int device_index)
cdef Storage storage_over(object buffer)
cdef Storage storage_at(size_t address, int64_t nbytes, object owner)
