# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Reference-counted memory, and the caching allocator of the CPU.

Fresh pages cost more than the arithmetic on them (a 64 MB result spends 27 ms in page faults), so
freed blocks are kept by size class and handed out again. Classes are four steps to each power of
two, so that a block is at most a quarter larger than asked. What is kept is bounded; past the
bound, blocks go back to the system. Allocation and release happen under the interpreter lock.
"""

from _pickle import PickleBuffer

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy
from posix.stdlib cimport posix_memalign
from cpython.buffer cimport (PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release,
                            PyObject_GetBuffer)
from cpython.mem cimport PyMem_Free, PyMem_Malloc

from aten._core.device cimport CPU, META, device_from_codes

cdef enum:
    ALIGNMENT = 64
    CLASS_COUNT = 192
    # Blocks one class may keep: many small ones, few large ones (see `_kept_at_most`).
    KEPT_BLOCKS = 256

cdef extern from *:
    int __builtin_clzll(unsigned long long) noexcept nogil

cdef struct SizeClass:
    int kept
    char* blocks[KEPT_BLOCKS]

cdef SizeClass* _classes[CLASS_COUNT]
cdef int64_t _cached_bytes = 0
cdef int64_t _allocated_bytes = 0
cdef int64_t _peak_bytes = 0
cdef int64_t _allocations = 0
cdef int64_t _system_allocations = 0
cdef int64_t _cache_limit = 1 << 30


cdef inline int _class_of(int64_t nbytes) noexcept nogil:
    """The class whose blocks hold `nbytes` ≥ 1: 64-byte steps first, then four to a doubling."""
    cdef int64_t units = (nbytes + ALIGNMENT - 1) // ALIGNMENT
    cdef int power
    if units <= 4:
        return <int>units
    units -= 1
    power = 63 - __builtin_clzll(<unsigned long long>units)
    return 4 * (power - 1) + <int>((units >> (power - 2)) & 3) + 1


cdef inline int64_t _class_bytes(int size_class) noexcept nogil:
    cdef int power
    if size_class <= 4:
        return <int64_t>size_class * ALIGNMENT
    power = (size_class - 1) // 4 + 1
    return ((<int64_t>(4 + (size_class - 1) % 4) + 1) << (power - 2)) * ALIGNMENT


cdef inline int _kept_at_most(int64_t block_bytes) noexcept nogil:
    if block_bytes <= 4096:
        return KEPT_BLOCKS
    return 32 if block_bytes <= 1 << 20 else 4


cdef char* _take_block(int size_class, int64_t block_bytes) noexcept nogil:
    global _cached_bytes, _allocated_bytes, _peak_bytes, _allocations, _system_allocations
    cdef SizeClass* entry = _classes[size_class]
    cdef void* block = NULL
    _allocations += 1
    if entry != NULL and entry.kept > 0:
        entry.kept -= 1
        _cached_bytes -= block_bytes
        block = entry.blocks[entry.kept]
    else:
        _system_allocations += 1
        if posix_memalign(&block, ALIGNMENT, block_bytes) != 0:
            return NULL
    _allocated_bytes += block_bytes
    if _allocated_bytes > _peak_bytes:
        _peak_bytes = _allocated_bytes
    return <char*>block


cdef void _give_block(int size_class, char* block) noexcept:
    global _cached_bytes, _allocated_bytes
    cdef int64_t block_bytes = _class_bytes(size_class)
    cdef SizeClass* entry = _classes[size_class]
    _allocated_bytes -= block_bytes
    if entry == NULL:
        entry = <SizeClass*>PyMem_Malloc(sizeof(SizeClass))
        if entry == NULL:
            free(block)
            return
        entry.kept = 0
        _classes[size_class] = entry
    if entry.kept >= _kept_at_most(block_bytes) or _cached_bytes + block_bytes > _cache_limit:
        free(block)
        return
    entry.blocks[entry.kept] = block
    entry.kept += 1
    _cached_bytes += block_bytes


cdef void _empty_cache() noexcept:
    global _cached_bytes
    cdef int size_class
    cdef SizeClass* entry
    for size_class in range(CLASS_COUNT):
        entry = _classes[size_class]
        if entry == NULL:
            continue
        while entry.kept > 0:
            entry.kept -= 1
            free(entry.blocks[entry.kept])
    _cached_bytes = 0


@cython.freelist(64)
@cython.no_gc
cdef class Storage:
    """Bytes with an owner: what views share. `len()` counts bytes.

    Memory comes from the caching allocator, or belongs to `owner` (a NumPy array, a mapped file),
    which it keeps alive.
    """

    def __dealloc__(self):
        if self.size_class > 0:
            _give_block(self.size_class, self.data)

    def __init__(self):
        raise TypeError("Storage objects come from tensors, or from storage_from_buffer")

    def __len__(self):
        return self.bytes

    def nbytes(self):
        return self.bytes

    def data_ptr(self):
        """The address of the first byte; 0 where there is no memory."""
        return <size_t>self.data

    @property
    def device(self):
        return device_from_codes(self.device_type, self.device_index)

    def __repr__(self):
        return f"Storage(nbytes={self.bytes}, device={self.device}, version={self.version})"

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        if self.device_type == META:
            raise BufferError("a storage of the meta device has no memory")
        PyBuffer_FillInfo(buffer, self, self.data, self.bytes, 0, flags)
        self.exports += 1

    def __releasebuffer__(self, Py_buffer* buffer):
        self.exports -= 1

    def __reduce_ex__(self, protocol):
        if self.device_type == META:
            return _storage_of_meta, (self.bytes,)
        contents = PickleBuffer(self) if protocol >= 5 else bytes(memoryview(self))
        return _storage_from_pickle, (contents, self.device_type, self.device_index)

    def __deepcopy__(self, memo):
        cdef Storage copied = allocate(self.bytes, self.device_type, self.device_index)
        if copied.data != NULL:
            memcpy(copied.data, self.data, self.bytes)
        return copied


def _storage_of_meta(int64_t nbytes):
    return allocate(nbytes, META, -1)


def _storage_from_pickle(contents, int device_type, int device_index):
    """A storage over a writable buffer, or a copy of a read-only one."""
    cdef const unsigned char[::1] given
    cdef Storage storage
    if memoryview(contents).readonly:
        given = contents
        storage = allocate(given.shape[0], device_type, device_index)
        if storage.data != NULL:
            memcpy(storage.data, &given[0], given.shape[0])
        return storage
    storage = storage_over(contents)
    storage.device_type = device_type
    storage.device_index = device_index
    return storage


cdef Storage allocate(int64_t nbytes, int device_type, int device_index):
    """Uninitialized memory. Raises RuntimeError when the machine has not that much."""
    cdef Storage storage = Storage.__new__(Storage)
    cdef int size_class
    storage.device_type = device_type
    storage.device_index = device_index
    storage.bytes = nbytes
    storage.size_class = -1
    if nbytes == 0 or device_type == META:
        return storage
    if nbytes > <int64_t>1 << 46:
        raise _out_of_memory(nbytes)
    size_class = _class_of(nbytes)
    storage.data = _take_block(size_class, _class_bytes(size_class))
    if storage.data == NULL:
        _empty_cache()
        storage.data = _take_block(size_class, _class_bytes(size_class))
        if storage.data == NULL:
            raise _out_of_memory(nbytes)
    storage.size_class = size_class
    return storage


cdef _out_of_memory(int64_t nbytes):
    return RuntimeError(f"not enough memory: you tried to allocate {nbytes} bytes.")


cdef class _ForeignBuffer:
    """A buffer export held open for as long as a storage uses its memory."""

    cdef Py_buffer view

    def __dealloc__(self):
        if self.view.buf != NULL:
            PyBuffer_Release(&self.view)


cdef Storage storage_over(object buffer):
    cdef _ForeignBuffer held = _ForeignBuffer.__new__(_ForeignBuffer)
    cdef Storage storage = Storage.__new__(Storage)
    PyObject_GetBuffer(buffer, &held.view, PyBUF_WRITABLE)
    storage.data = <char*>held.view.buf
    storage.bytes = held.view.len
    storage.size_class = -1
    storage.device_type = CPU
    storage.device_index = -1
    storage.owner = held
    return storage


cdef Storage storage_at(size_t address, int64_t nbytes, object owner):
    """Memory at `address`, kept alive by `owner`."""
    cdef Storage storage = Storage.__new__(Storage)
    storage.data = <char*>address
    storage.bytes = nbytes
    storage.size_class = -1
    storage.device_type = CPU
    storage.device_index = -1
    storage.owner = owner
    return storage


def storage_from_buffer(buffer):
    """A storage over a writable, contiguous buffer, without a copy.

    Raises BufferError (or ValueError) when `buffer` is read-only or not contiguous.
    """
    return storage_over(buffer)


def memory_stats():
    """Counters of the CPU allocator: bytes in use, at the peak and cached; allocations so far."""
    return {
        "allocated_bytes": _allocated_bytes,
        "peak_bytes": _peak_bytes,
        "cached_bytes": _cached_bytes,
        "cache_limit": _cache_limit,
        "allocations": _allocations,
        "system_allocations": _system_allocations,
    }


def reset_peak_memory_stats():
    """Let the peak begin anew at what is allocated now."""
    global _peak_bytes
    _peak_bytes = _allocated_bytes


def empty_cache():
    """Give every cached block back to the system."""
    _empty_cache()


def set_cache_limit(int64_t nbytes):
    """Keep at most `nbytes` of freed memory. Raises ValueError for a negative bound."""
    global _cache_limit
    if nbytes < 0:
        raise ValueError(f"set_cache_limit: the bound must not be negative, got {nbytes}")
    _cache_limit = nbytes
    if _cached_bytes > _cache_limit:
        _empty_cache()
