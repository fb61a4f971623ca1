"""DispatchKeySet bits, their order, and the thread's include and exclude sets."""

from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    int count_leading_zeros "__builtin_clzll"(unsigned long long) noexcept nogil

cdef struct LocalState:
    uint64_t included
    uint64_t excluded
    int tracing         # depth of active dispatch traces; nonzero sends every call the slow, printed way
    int below_recording # kernels that are running below AutogradRecording; their calls are not recorded
    int64_t changes     # how often the thread has changed sizes or the storage of a tensor that exists
    int64_t no_gradients  # bits: NO_GRAD, INFERENCE
    int64_t own_from    # the first storage that a function being differentiated may write to; 0: all

cdef enum:
    NO_GRAD = 1
    INFERENCE = 2

cdef LocalState* local_state() noexcept nogil
cdef int traces     # that are on in threads; 0: no thread has to look at its own
cdef void trace_every_thread(int depth) noexcept nogil     # threads that dispatch for the first time, and this one

# Sets are 64 bits: backend components in the low bits, functionalities above, highest bit first.
cdef uint64_t backend_bit(int device_type) noexcept nogil      # component bit of a device type
cdef uint64_t dense_keys(int device_type) noexcept nogil       # Dense + Autograd functionality + backend
cdef uint64_t all_backend_bits() noexcept nogil
cdef uint64_t without_highest(uint64_t keys) noexcept nogil    # the highest functionality taken off
cdef int row_length() noexcept nogil
# Of tensors that gradients flow to, the bit that has operators recorded; the thread's state decides
# whether it is excluded, and `settle_recording` carries out what it says.
cdef uint64_t recording_bit() noexcept nogil
# Of tensors made in inference mode, and of views of them; without effect in that mode.
cdef uint64_t inference_bit() noexcept nogil
cdef int inference_threads                                      # how many threads are in that mode
cdef uint64_t inference_bit_here() noexcept nogil               # zero for a thread that is not
# Of tensors, and of threads with modes, for which `__torch_function__` is asked before anything else.
cdef uint64_t overriding_bit() noexcept nogil
# What a tensor does not hand on to views of itself.
cdef uint64_t bits_of_one_tensor() noexcept nogil
cdef void settle_recording(LocalState* state) noexcept nogil

cdef class DispatchKey:
    cdef readonly str name
    cdef readonly int value         # place among all keys
    cdef readonly str kind          # undefined | functionality | single | backend | alias
    cdef readonly int slot          # place in an operator's row; -1: the key has none
    cdef readonly str functionality # the functionality's name, "" for aliases
    cdef readonly str backend       # the backend component's name, or ""
    cdef uint64_t bits

cdef DispatchKey key_of_slot(int slot)

cdef class DispatchKeySet:
    cdef uint64_t bits

cdef DispatchKeySet key_set(uint64_t bits)

cdef struct Rows:
    uint64_t backends               # the bits of all backend components
    int offset[64]                  # row slot of a functionality bit's first (or only) key
    bint per_backend[64]

cdef Rows rows


cdef inline int row_index(uint64_t keys) noexcept nogil:
    """The table slot of the highest key; 0: Undefined."""
    cdef uint64_t backends = keys & rows.backends
    cdef int bit
    if keys == backends:
        return 0
    bit = 63 - count_leading_zeros(keys)
    if not rows.per_backend[bit]:
        return rows.offset[bit]
    if backends == 0:
        return 0
    return rows.offset[bit] + 63 - count_leading_zeros(backends)
