"""Reference-counted memory, and copies of it that are put off until somebody writes."""

from libc.stdint cimport int64_t, uint32_t

cdef class SharedBlock:
    cdef char* data
    cdef int64_t capacity           # 0: a storage has taken the block back
    cdef bint watches               # nothing is shared: it is there until somebody may write

cdef class VersionCounter:
    cdef uint32_t count

cdef class Storage:
    cdef char* data                 # to be read; `writable` for everything else
    cdef int64_t bytes
    cdef int64_t capacity           # of a block of its own; 0: shared, or memory owned by `owner`
    cdef uint32_t version           # writes to its tensors; those of `.data` count their own
    cdef signed char device_type
    cdef signed char device_index
    cdef bint exposed               # its address was given away: never shared again
    cdef int exports                # users of the memory who do not know when it moves
    cdef int64_t birth              # which of all storages it is, as a count
    cdef SharedBlock shared         # memory that other storages show, too; to be copied before a write
    cdef object owner               # keeps foreign memory alive (NumPy array, mapped file, …)
    cdef VersionCounter left        # counts instead, once one of them shows another storage

# Compiled loops take elements to lie at multiples of their own size.
cdef inline bint is_aligned(const void* address, int64_t width) noexcept nogil:
    return <size_t>address % <size_t>width == 0

cdef int64_t next_birth() noexcept              # what the storage made next will have
cdef Storage allocate(int64_t nbytes, int device_type, int device_index)
cdef bint is_opaque(int device_type) noexcept
cdef int copy_opaque(Storage target, Storage source, int64_t nbytes) except -1
cdef Storage storage_over(object buffer)
cdef Storage storage_at(size_t address, int64_t nbytes, object owner)

# Copies put off. `lazy_copy` gives None where a copy has to be made at once.
cdef Storage lazy_copy(Storage source)
cdef int make_own(Storage storage) except -1
# What `storage.shared` is until somebody may write to the memory, or knows its address; None where
# others know it already. `kind` is a type of buffers that nobody else has.
cdef SharedBlock watch(Storage storage, object kind)
cdef int expose(Storage storage) except -1
cdef void copy_bytes(char* target, const char* source, int64_t count) noexcept
cdef void exchange_memory(Storage left, Storage right) noexcept

# Calls of operators that may be reading memory.
cdef struct Calls:
    int64_t running[2]      # by the phase they began in
    int phase
    bint waited_for         # whether there are retired blocks

cdef Calls calls
cdef void release_retired() noexcept
# Keep a block, or a storage, until the calls that are running now are over.
cdef int retire(object memory) except -1


cdef inline int begin_call() noexcept:
    """Counts a call that begins; what it gives goes to `end_call`."""
    calls.running[calls.phase] += 1
    return calls.phase


cdef inline void end_call(int phase) noexcept:
    if calls.running[phase] > 0:
        calls.running[phase] -= 1
    if calls.waited_for:
        release_retired()
