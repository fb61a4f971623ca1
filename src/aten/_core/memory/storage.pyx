# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Reference-counted memory, and copies of it that are put off until somebody writes.

**Copy on write.** A large storage that is copied as a whole shares its block with the copy
(`lazy_copy`). Whoever is about to write calls `make_own` first, by way of `data_pointer`: the
storage moves to a block of its own, or takes the block back if nobody else shows it any more. The
bytes of a shared block never change, and never move under a reader. Storages whose address was
given away (NumPy, DLPack, buffers, `data_ptr`), and memory of others, are copied at once.

**Readers without the interpreter lock.** A kernel holds its tensors, and by them their blocks. But
another thread may write to a part of one of these tensors that the kernel does not read, and so
move it to a new block, or resize it, or let it show another storage; so may code that runs in the
middle of a call, such as a finalizer. The old block is then *retired*: it counts as in use until
all calls of operators that had begun are over. Calls are counted in two phases (`begin_call`); once
those of the earlier phase are over, the phases change places. Source: McKenney and Slingwine,
Read-Copy Update: Using Execution History to Solve Concurrency Problems (1998).
"""

from _pickle import PickleBuffer
import os

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy
from cpython.buffer cimport (PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release,
                            PyObject_GetBuffer)

from aten._core.base.device cimport (CPU, DEVICE_TYPE_COUNT, META, PRIVATEUSE1,
                                     device_from_codes)
from aten._core.memory.allocator cimport give_block, take_block
from aten._core.threads.parallel cimport parallel_for

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*) noexcept
    PyTypeObject* Py_TYPE(PyObject*) noexcept

cdef extern from *:
    """
    /* Storages that died without anything but a block of their own, for the next ones: their
       fields of objects stay None, and who lets them go says nothing to anybody. */
    #define ATEN_KEPT_STORAGES 64
    static PyTypeObject *aten_storage_type = NULL;
    static PyObject *aten_kept[ATEN_KEPT_STORAGES];
    static int aten_kept_count = 0;
    static destructor aten_end_storage = NULL;

    static inline int aten_keep(PyObject *object) {
        if (aten_kept_count == ATEN_KEPT_STORAGES) return 0;
        aten_kept[aten_kept_count++] = object;
        return 1;
    }
    static inline PyObject *aten_kept_storage(void) {
        return PyObject_Init(aten_kept[--aten_kept_count], aten_storage_type);
    }
    static void aten_recycle(PyTypeObject *type, destructor deallocate) {
        aten_storage_type = type;
        aten_end_storage = type->tp_dealloc;
        type->tp_dealloc = deallocate;
    }
    """
    ctypedef void (*destructor)(PyObject*) noexcept
    PyTypeObject* aten_storage_type
    int aten_kept_count
    bint aten_keep(PyObject*) noexcept
    object aten_kept_storage()
    void aten_end_storage(PyObject*) noexcept
    void aten_recycle(PyTypeObject*, destructor) noexcept

cdef enum:
    # Bytes in one chunk of a copy for the threads.
    GRAIN = 1 << 18

# Storages of fewer bytes are copied at once: that takes no longer than to share and to part again.
cdef int64_t _least_shared = 1 << 15
cdef int64_t _lazy_copies = 0
cdef int64_t _lazy_copies_made = 0
cdef int64_t _births = 0


@cython.freelist(16)
@cython.no_gc
@cython.final
cdef class SharedBlock:
    """A block that several storages show, or a mark that a storage loses before a write."""

    def __dealloc__(self):
        if self.capacity > 0:
            give_block(self.data, self.capacity)


@cython.no_gc
cdef class VersionCounter:
    """How often the tensors that share it have been written to."""


@cython.freelist(64)
@cython.no_gc
cdef class Storage:
    """Bytes with an owner: what views share. `len()` counts bytes.

    Memory comes from the caching allocator, or belongs to `owner` (a NumPy array, a mapped file),
    which it keeps alive.
    """

    def __dealloc__(self):
        if self.capacity > 0:
            give_block(self.data, self.capacity)

    def __init__(self):
        raise TypeError("Storage objects come from tensors, or from storage_from_buffer")

    def __len__(self):
        return self.bytes

    def nbytes(self):
        return self.bytes

    def data_ptr(self):
        """The address of the first byte; 0 where there is no memory."""
        expose(self)
        return <size_t>self.data

    def address(self):
        """Where the first byte is now, to be compared with other addresses: nobody may read or write
        there."""
        return <size_t>self.data

    @property
    def device(self):
        return device_from_codes(self.device_type, self.device_index)

    def move_to(self, buffer):
        """Let the bytes lie in a writable buffer of at least as many from now on, for all tensors.

        Addresses that were given away before stay those of the memory they had. Raises BufferError
        while somebody holds a view of the memory, or where the buffer is read-only, and ValueError
        where it is too small.
        """
        cdef Storage other = storage_over(buffer)
        if self.device_type != CPU or self.exports != 0:
            raise BufferError("the memory of the storage is in use, or on another device")
        if other.bytes < self.bytes:
            raise ValueError(f"{other.bytes} bytes are too few for {self.bytes}")
        if self.bytes != 0:
            memcpy(other.data, self.data, self.bytes)
        other.bytes = self.bytes
        exchange_memory(self, other)
        self.owner, other.owner = other.owner, self.owner
        retire(other)

    def lies_in(self, kind):
        """Whether the memory is that of a buffer of type `kind`."""
        cdef _ForeignBuffer held
        if not isinstance(self.owner, _ForeignBuffer):
            return False
        held = <_ForeignBuffer>self.owner
        buffer = held.view.obj
        while isinstance(buffer, memoryview):
            buffer = buffer.obj
        return isinstance(buffer, kind)

    @property
    def handle(self):
        """What the device's allocator gave for the memory. Raises RuntimeError for other devices."""
        if not is_opaque(self.device_type):
            raise RuntimeError(f"the memory of a storage on {self.device} is the host's: no handle")
        return self.owner

    def __repr__(self):
        return f"Storage(nbytes={self.bytes}, device={self.device})"

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        if self.device_type == META or is_opaque(self.device_type):
            raise BufferError(f"a storage on {self.device} has no memory of the host")
        about_to_read(self)
        make_own(self)
        PyBuffer_FillInfo(buffer, self, self.data, self.bytes, 0, flags)
        self.exports += 1

    def __releasebuffer__(self, Py_buffer* buffer):
        self.exports -= 1

    def __reduce_ex__(self, protocol):
        if self.device_type == META:
            return _storage_of_meta, (self.bytes,)
        if is_opaque(self.device_type):
            raise TypeError(f"a storage on {self.device} cannot be pickled: copy it to the CPU")
        contents = PickleBuffer(self) if protocol >= 5 else bytes(memoryview(self))
        return _storage_from_pickle, (contents, self.device_type, self.device_index)

    def __deepcopy__(self, memo):
        cdef Storage copied
        about_to_read(self)
        copied = lazy_copy(self)
        if copied is not None:
            return copied
        copied = allocate(self.bytes, self.device_type, self.device_index)
        if is_opaque(self.device_type):
            copy_opaque(copied, self, self.bytes)
        elif copied.data != NULL:
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


# Asked before the host reads memory outside of operators: a mode may hold writes back.
cdef object _before_reading = None


def set_before_reading(function):
    """Let `function(storage)` bring memory up to date whose address is about to be given away."""
    global _before_reading
    _before_reading = function


def about_to_read(Storage storage not None):
    """Say that the host is about to read the memory, and not by an operator."""
    if _before_reading is not None:
        _before_reading(storage)


# By device type: what gives memory that the host cannot address.
cdef list _allocators = [None] * DEVICE_TYPE_COUNT


def set_device_allocator(int device_type, allocator):
    """Let `allocator` give the memory of a device type that the host cannot address, or None.

    `allocator.allocate(nbytes, index)` gives a handle: any object, alive as long as the memory is in
    use. `allocator.copy(target, source, nbytes)` copies between two handles. Nothing in the package
    looks into a handle: a storage has it, and kernels of the device ask for it. Raises ValueError
    for a device type that has memory of the host.
    """
    if device_type < PRIVATEUSE1 or device_type >= DEVICE_TYPE_COUNT:
        raise ValueError(f"set_device_allocator: device type {device_type} has memory of its own")
    _allocators[device_type] = allocator


cdef bint is_opaque(int device_type) noexcept:
    """Whether the device's memory cannot be addressed by the host."""
    return _allocators[device_type] is not None


def has_opaque_memory(int device_type):
    """Whether the device's memory cannot be addressed by the host."""
    return 0 <= device_type < DEVICE_TYPE_COUNT and is_opaque(device_type)


cdef Storage _allocate_opaque(Storage storage):
    allocator = _allocators[storage.device_type]
    storage.owner = allocator.allocate(storage.bytes, max(storage.device_index, 0))
    return storage


cdef int copy_opaque(Storage target, Storage source, int64_t nbytes) except -1:
    """Copy the first bytes between storages of one device."""
    if nbytes != 0:
        _allocators[target.device_type].copy(target.owner, source.owner, nbytes)
    return 0


cdef int64_t next_birth() noexcept:
    return _births + 1


cdef inline Storage _new_storage():
    global _births
    cdef Storage storage
    if aten_kept_count == 0:
        storage = Storage.__new__(Storage)
    else:
        storage = <Storage>aten_kept_storage()
        storage.data = NULL
        storage.bytes = storage.capacity = 0
        storage.version = 0
        storage.exposed = False
        storage.exports = 0
    _births += 1
    storage.birth = _births
    return storage


cdef void _deallocate(PyObject* dying) noexcept:
    """Give the block back, and keep the object where nothing else hangs on it."""
    if (Py_TYPE(dying) != aten_storage_type or (<Storage>dying).shared is not None
            or (<Storage>dying).owner is not None or (<Storage>dying).left is not None):
        aten_end_storage(dying)
        return
    if (<Storage>dying).capacity > 0:
        give_block((<Storage>dying).data, (<Storage>dying).capacity)
        (<Storage>dying).capacity = 0
    if not aten_keep(dying):
        aten_end_storage(dying)


aten_recycle(<PyTypeObject*>Storage, _deallocate)


cdef Storage allocate(int64_t nbytes, int device_type, int device_index):
    """Uninitialized memory. Raises RuntimeError when the machine has not that much."""
    cdef Storage storage = _new_storage()
    storage.device_type = device_type
    storage.device_index = device_index
    storage.bytes = nbytes
    if device_type >= PRIVATEUSE1 and is_opaque(device_type):
        return _allocate_opaque(storage)
    if nbytes == 0 or device_type == META:
        return storage
    storage.data = _taken(nbytes, &storage.capacity)
    return storage


cdef char* _taken(int64_t nbytes, int64_t* capacity) except NULL:
    """A block of `nbytes`; its capacity is written once it is there."""
    cdef int64_t held = 0
    cdef char* block = NULL
    if nbytes <= <int64_t>1 << 46:
        block = take_block(nbytes, &held)
    if block == NULL:
        raise _out_of_memory(nbytes)
    capacity[0] = held
    return block


cdef _out_of_memory(int64_t nbytes):
    return RuntimeError(f"not enough memory: you tried to allocate {nbytes} bytes.")


cdef class _ForeignBuffer:
    """A buffer export held open for as long as a storage uses its memory."""

    cdef Py_buffer view

    def __dealloc__(self):
        # Nothing happens where there is no export; one of no bytes has no address.
        PyBuffer_Release(&self.view)


cdef Storage storage_over(object buffer):
    cdef _ForeignBuffer held = _ForeignBuffer.__new__(_ForeignBuffer)
    cdef Storage storage = _new_storage()
    PyObject_GetBuffer(buffer, &held.view, PyBUF_WRITABLE)
    storage.data = <char*>held.view.buf
    storage.bytes = held.view.len
    storage.device_type = CPU
    storage.device_index = -1
    storage.owner = held
    return storage


cdef Storage storage_at(size_t address, int64_t nbytes, object owner):
    """Memory at `address`, kept alive by `owner`."""
    cdef Storage storage = _new_storage()
    storage.data = <char*>address
    storage.bytes = nbytes
    storage.device_type = CPU
    storage.device_index = -1
    storage.owner = owner
    return storage


def storage_from_buffer(buffer):
    """A storage over a writable, contiguous buffer, without a copy.

    Raises BufferError (or ValueError) when `buffer` is read-only or not contiguous.
    """
    return storage_over(buffer)


# Copies that are put off

cdef Storage lazy_copy(Storage source):
    """A storage that shows the bytes of `source` until one of them is written to.

    None where the bytes are few, where they are another's, or where others know their address.
    """
    cdef Storage made
    global _lazy_copies
    if source.bytes < _least_shared or source.exposed or source.exports != 0:
        return None
    if source.shared is None or source.shared.watches:
        if source.capacity == 0:
            return None
        if source.shared is None:
            source.shared = SharedBlock.__new__(SharedBlock)
        # A mark is kept: the first write, which it stands for, parts the storage from the block.
        source.shared.watches = False
        source.shared.data = source.data
        source.shared.capacity = source.capacity
        source.capacity = 0
    made = _new_storage()
    made.data = source.data
    made.bytes = source.bytes
    made.shared = source.shared
    made.device_type = source.device_type
    made.device_index = source.device_index
    _lazy_copies += 1
    return made


cdef int make_own(Storage storage) except -1:
    """Let nobody else show the memory of `storage`, which somebody is about to write to.

    Raises RuntimeError where there is no memory for a copy.
    """
    cdef SharedBlock block = storage.shared
    cdef char* data
    cdef int64_t capacity = 0
    global _lazy_copies_made
    if block is None:
        return 0
    if block.watches:
        storage.shared = None
        return 0
    if Py_REFCNT(<PyObject*>block) == 2:
        # This storage's reference, and ours.
        storage.capacity = block.capacity
        block.capacity = 0
        storage.shared = None
        return 0
    data = _taken(storage.bytes, &capacity)
    copy_bytes(data, block.data, storage.bytes)
    if storage.shared is not block:
        # Meanwhile another thread has done it.
        give_block(data, capacity)
        return 0
    storage.data = data
    storage.capacity = capacity
    storage.shared = None
    _lazy_copies_made += 1
    retire(block)
    return 0


cdef struct Copy:
    char* target
    const char* source


cdef void _copy_part(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Copy* copy = <Copy*>context
    memcpy(copy.target + begin, copy.source + begin, end - begin)


cdef void copy_bytes(char* target, const char* source, int64_t count) noexcept:
    """Copy on all threads, and keep the interpreter lock.

    Who is about to write has looked at the operands, which others must not change until the kernel
    has all addresses.
    """
    cdef Copy copy
    copy.target = target
    copy.source = source
    parallel_for(count, GRAIN, _copy_part, &copy)


cdef SharedBlock watch(Storage storage, object kind):
    """The mark that a storage loses before a write; None where a write may not be seen."""
    cdef bint is_own = storage.capacity != 0 or storage.shared is not None
    if storage.device_type != CPU or storage.exposed or storage.exports != 0:
        return None
    if not is_own and (kind is None or not storage.lies_in(kind)):
        return None
    if storage.shared is None:
        storage.shared = SharedBlock.__new__(SharedBlock)
        storage.shared.watches = True
    return storage.shared


cdef int expose(Storage storage) except -1:
    """Prepare for somebody to keep the address of the memory, and perhaps to write there."""
    if _before_reading is not None:
        _before_reading(storage)
    make_own(storage)
    storage.exposed = True
    return 0


cdef void exchange_memory(Storage left, Storage right) noexcept:
    """Let two storages of one device change memory; both stay what views share."""
    left.data, right.data = right.data, left.data
    left.bytes, right.bytes = right.bytes, left.bytes
    left.capacity, right.capacity = right.capacity, left.capacity
    left.shared, right.shared = right.shared, left.shared


# Calls, and blocks that wait for their end

cdef list _retired = []             # since the phases last changed places
cdef list _retired_before = []      # before that: these wait for the calls of the other phase


cdef int retire(object memory) except -1:
    """Keep a block or a storage, which somebody is about to let go of, for calls that have begun."""
    if calls.running[0] <= 0 and calls.running[1] <= 0:
        return 0
    _retired.append(memory)
    calls.waited_for = True
    return 0


cdef void release_retired() noexcept:
    """Let go of blocks if every call is over that was running when they were retired.

    The phases change places as soon as no call of the other one is left, so that those of the
    present one come to an end, however many begin.
    """
    global _retired, _retired_before
    cdef int other = 1 - calls.phase
    if calls.running[other] > 0:
        return
    _retired_before, _retired = _retired, []
    calls.phase = other
    if calls.running[1 - other] <= 0:
        _retired_before = []
    calls.waited_for = len(_retired_before) > 0


def _forget_calls():
    """A child process has none of the threads whose calls were running."""
    global _retired, _retired_before
    calls.running[0] = calls.running[1] = 0
    calls.waited_for = False
    _retired, _retired_before = [], []


os.register_at_fork(after_in_child=_forget_calls)


# What tests and statistics ask

def copy_stats():
    """Copies put off so far, and how many of them had to be made in the end."""
    return {"lazy_copies": _lazy_copies, "lazy_copies_made": _lazy_copies_made}


def hold_in_place(Storage storage not None):
    """Never resize the storage again: somebody keeps its address who will not give it back."""
    expose(storage)
    storage.exports += 1


def shares_block(Storage storage not None):
    """Whether a write to the storage, or to the one it was copied from, has to copy first."""
    return (storage.shared is not None and not storage.shared.watches
            and Py_REFCNT(<PyObject*>storage.shared) > 1)


def set_least_shared(int64_t nbytes):
    """Put off copies of storages from `nbytes` on; gives the bound that held before."""
    global _least_shared
    cdef int64_t before = _least_shared
    _least_shared = nbytes
    return before
