# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""The caching allocator of host memory.

Fresh pages cost more than the arithmetic on them, so freed blocks are kept and handed out again.

*Small blocks* come from the C library in size classes, four steps to each doubling: a block is at
most a quarter larger than asked, and any block of its class will do.

*Large blocks*, from 2 MiB on, are mappings of their own, whole pages and no more, on the boundary
of a huge page and backed by huge pages where the system has them: a fault for every 2 MiB instead
of one for every 4 KiB. A kept one is used again for what fills at least eight ninths of it. Before
a mapping is made, kept ones go, the oldest first, as long as much more than the most memory that
was ever in use would be held otherwise: keeping blocks adds at most `SLACK` to a program's peak.
Without any, a program that takes blocks of several sizes in turn would lose each to the next one.

What is kept is bounded by `ATEN_MEMORY_CACHE_LIMIT`, and dropped before a new mapping if that would
leave the machine, or the process's control group, with less than a sixteenth of its memory
(`available.pyx`), and when the system refuses a block.

Everything here happens under the interpreter lock, so that lists per thread would protect nothing:
four threads that make small tensors take the processor as long for each as one thread does. A child process inherits
consistent lists, since nobody forks without that lock.

For tests, `ATEN_MEMORY_GUARD` or `set_guard` puts every block between pages that cannot be touched
(`guard.pyx`), and `fail_after` refuses one. An ordinary process pays one comparison for both.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memmove
from posix.stdlib cimport posix_memalign
from cpython.mem cimport PyMem_Free, PyMem_Malloc

from aten import config
from aten._core.memory.available cimport bytes_available, bytes_reserved
from aten._core.memory.guard cimport guarded_block, guarded_bytes, is_guarded, release_guarded
from aten._core.threads.cost cimport clock

cdef enum:
    ALIGNMENT = 64
    CLASS_COUNT = 64
    # Blocks one class may keep: many small ones, few larger ones (see `_kept_at_most`).
    KEPT_BLOCKS = 256
    # Blocks from here on are mappings; also the size of a huge page, and what they are aligned to.
    LARGE = 1 << 21
    # Large blocks that may be kept.
    KEPT_LARGE = 64
    # Bytes by which what is kept may exceed the most that was ever in use.
    SLACK = 1 << 25
    # Guarded blocks at a time: each is three mappings, of which Linux allows some 65,000.
    MOST_GUARDED = 16384

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #include <unistd.h>
    #ifndef MAP_ANONYMOUS
    #define MAP_ANONYMOUS MAP_ANON
    #endif

    static int64_t aten_page_size(void) {
        long size = sysconf(_SC_PAGESIZE);
        return size > 0 ? size : 4096;
    }

    /* `bytes` of zeroed memory at a multiple of `alignment`, or NULL. */
    static char* aten_map(size_t bytes, size_t alignment) {
        char* wide = (char*)mmap(NULL, bytes + alignment, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        size_t before;
        if (wide == (char*)MAP_FAILED) return NULL;
        before = (alignment - (uintptr_t)wide % alignment) % alignment;
        if (before) munmap(wide, before);
        if (alignment - before) munmap(wide + before + bytes, alignment - before);
        return wide + before;
    }

    /* Ask for huge pages where the block fills them; a last one would be in memory as a whole,
       however little of it belongs to the block. Refusals change nothing. */
    static void aten_advise_huge(char* block, size_t bytes, size_t huge) {
    #ifdef MADV_HUGEPAGE
        size_t whole = bytes / huge * huge;
        if (whole) (void)madvise(block, whole, MADV_HUGEPAGE);
    #else
        (void)block; (void)bytes; (void)huge;
    #endif
    }

    static void aten_unmap(char* block, size_t bytes) { (void)munmap(block, bytes); }
    """
    int64_t aten_page_size() noexcept nogil
    char* aten_map(size_t bytes, size_t alignment) noexcept nogil
    void aten_advise_huge(char* block, size_t bytes, size_t huge) noexcept nogil
    void aten_unmap(char* block, size_t bytes) noexcept nogil
    int __builtin_clzll(unsigned long long) noexcept nogil

cdef struct SizeClass:
    int kept
    char* blocks[KEPT_BLOCKS]

cdef struct LargeBlock:
    char* data
    int64_t capacity

cdef struct Counters:
    int64_t allocated           # bytes handed out
    int64_t peak_allocated      # the most of them since the peak was reset
    int64_t most_allocated      # the most of them ever
    int64_t cached              # bytes kept
    int64_t peak_reserved       # the most handed out and kept together, since the peak was reset
    int64_t allocations
    int64_t frees
    int64_t system_allocations
    int64_t system_frees
    int64_t trims               # times the cache was dropped because memory was short
    int64_t retries             # times it was dropped because the system refused
    int64_t failures            # refusals that remained

cdef SizeClass* _classes[CLASS_COUNT]
cdef LargeBlock _large[KEPT_LARGE]      # the oldest first
cdef int _large_count = 0
cdef Counters _counters
cdef int64_t _cache_limit = config.MEMORY_CACHE_LIMIT.get()
cdef int64_t _page = aten_page_size()
cdef int64_t _available = 0             # bytes, when last asked, less what was mapped since
cdef int64_t _asked_at = 0              # when that was; 0: ask again

cdef bint _watched = False              # whether any of what follows is asked for
cdef Observer _observer = NULL          # a profile's, that records memory
cdef int64_t _plain_below = LARGE       # bytes of blocks that go back unseen; 0: an observer is set
# For tests.
cdef str _guard = ""                    # where blocks are flush with a guard page: "end", "start"
cdef bint _guards_start = False
cdef int _fill = 0
cdef int _guarded_count = 0             # in use
cdef int64_t _until_failure = 0         # requests, the one that fails included; 0: none fails

# Nanoseconds for which an answer about the machine's memory is believed.
cdef int64_t BELIEVED = 100000000


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


cdef inline int _kept_at_most(int64_t capacity) noexcept nogil:
    return KEPT_BLOCKS if capacity <= 4096 else 32


cdef inline void _count_taken(int64_t capacity) noexcept nogil:
    _counters.allocations += 1
    _counters.allocated += capacity
    if _counters.allocated > _counters.peak_allocated:
        _counters.peak_allocated = _counters.allocated
        if _counters.allocated > _counters.most_allocated:
            _counters.most_allocated = _counters.allocated


cdef inline void _count_reserved() noexcept nogil:
    if _counters.allocated + _counters.cached > _counters.peak_reserved:
        _counters.peak_reserved = _counters.allocated + _counters.cached


cdef char* take_block(int64_t nbytes, int64_t* capacity) noexcept:
    if _watched:
        return _observed_block(nbytes, capacity)
    return _ordinary_block(nbytes, capacity)


cdef inline char* _ordinary_block(int64_t nbytes, int64_t* capacity) noexcept:
    cdef char* block
    cdef int size_class
    cdef SizeClass* entry
    if nbytes <= LARGE - LARGE // 8:
        size_class = _class_of(nbytes)
        capacity[0] = _class_bytes(size_class)
        entry = _classes[size_class]
        if entry != NULL and entry.kept > 0:
            entry.kept -= 1
            _counters.cached -= capacity[0]
            _count_taken(capacity[0])
            return entry.blocks[entry.kept]
        block = _fresh_small(capacity[0])
    else:
        block = _kept_large(nbytes, capacity)
        if block != NULL:
            _count_taken(capacity[0])
            return block
        capacity[0] = max(<int64_t>LARGE, (nbytes + _page - 1) // _page * _page)
        block = _fresh_large(capacity[0])
    if block == NULL:
        _counters.failures += 1
        return NULL
    _count_taken(capacity[0])
    _count_reserved()
    return block


cdef void give_block(char* block, int64_t capacity) noexcept:
    _counters.frees += 1
    if capacity < _plain_below:
        _counters.allocated -= capacity
        _keep_small(block, capacity)
        return
    if _observer != NULL:
        _observer(-_bytes_of(capacity))
    if is_guarded(capacity):
        _give_guarded(block, capacity)
    elif capacity < LARGE:
        _counters.allocated -= capacity
        _keep_small(block, capacity)
    else:
        _counters.allocated -= capacity
        _keep_large(block, capacity)


cdef char* _fresh_small(int64_t capacity) noexcept:
    cdef void* block = NULL
    _counters.system_allocations += 1
    if posix_memalign(&block, ALIGNMENT, capacity) == 0:
        return <char*>block
    _counters.retries += 1
    _empty_cache()
    block = NULL
    if posix_memalign(&block, ALIGNMENT, capacity) == 0:
        return <char*>block
    return NULL


cdef void _keep_small(char* block, int64_t capacity) noexcept:
    cdef int size_class = _class_of(capacity)
    cdef SizeClass* entry = _classes[size_class]
    if entry == NULL:
        entry = <SizeClass*>PyMem_Malloc(sizeof(SizeClass))
        if entry == NULL:
            _free_small(block)
            return
        entry.kept = 0
        _classes[size_class] = entry
    if entry.kept >= _kept_at_most(capacity) or _counters.cached + capacity > _cache_limit:
        _free_small(block)
        return
    entry.blocks[entry.kept] = block
    entry.kept += 1
    _counters.cached += capacity


cdef inline void _free_small(char* block) noexcept nogil:
    _counters.system_frees += 1
    free(block)


# Large blocks

cdef char* _kept_large(int64_t nbytes, int64_t* capacity) noexcept nogil:
    """The kept block that `nbytes` fill best, the newest of equals; NULL: none is filled well."""
    cdef int place, found = -1
    # Nor would a new one be smaller than the least.
    cdef int64_t most = max(nbytes + nbytes // 8, <int64_t>LARGE)
    cdef char* block
    for place in range(_large_count - 1, -1, -1):
        if not nbytes <= _large[place].capacity <= most:
            continue
        if found < 0 or _large[place].capacity < _large[found].capacity:
            found = place
    if found < 0:
        return NULL
    block = _large[found].data
    capacity[0] = _large[found].capacity
    _forget_large(found)
    return block


cdef void _forget_large(int place) noexcept nogil:
    global _large_count
    _counters.cached -= _large[place].capacity
    _large_count -= 1
    memmove(&_large[place], &_large[place + 1], (_large_count - place) * sizeof(LargeBlock))


cdef void _free_large(char* block, int64_t capacity) noexcept nogil:
    _counters.system_frees += 1
    aten_unmap(block, capacity)


cdef void _drop_oldest() noexcept nogil:
    cdef LargeBlock oldest = _large[0]
    _forget_large(0)
    _free_large(oldest.data, oldest.capacity)


cdef char* _fresh_large(int64_t capacity) noexcept:
    global _available
    cdef char* block
    cdef int64_t most
    if _counters.cached > 0:
        _look_after_others(capacity)
    most = max(_counters.most_allocated, _counters.allocated + capacity)
    while _large_count > 0 and _counters.allocated + _counters.cached + capacity > most + SLACK:
        _drop_oldest()
    _counters.system_allocations += 1
    block = aten_map(capacity, LARGE)
    if block == NULL:
        _counters.retries += 1
        _empty_cache()
        block = aten_map(capacity, LARGE)
        if block == NULL:
            return NULL
    _available -= capacity
    aten_advise_huge(block, capacity, LARGE)
    return block


cdef void _keep_large(char* block, int64_t capacity) noexcept:
    global _large_count
    if capacity > _cache_limit:
        _free_large(block, capacity)
        return
    while _large_count > 0 and (_large_count == KEPT_LARGE
                                or _counters.cached + capacity > _cache_limit):
        _drop_oldest()
    if _counters.cached + capacity > _cache_limit:
        _free_large(block, capacity)
        return
    _large[_large_count].data = block
    _large[_large_count].capacity = capacity
    _large_count += 1
    _counters.cached += capacity


# Blocks that somebody looks at

cdef inline int64_t _bytes_of(int64_t capacity) noexcept nogil:
    return guarded_bytes(capacity) if is_guarded(capacity) else capacity


cdef char* _observed_block(int64_t nbytes, int64_t* capacity) noexcept:
    cdef char* block = _watched_block(nbytes, capacity)
    if block != NULL and _observer != NULL:
        _observer(_bytes_of(capacity[0]))
    return block


cdef void set_observer(Observer observer) noexcept:
    global _observer, _plain_below
    _observer = observer
    _plain_below = LARGE if observer == NULL else 0
    _find_whether_watched()


cdef char* _watched_block(int64_t nbytes, int64_t* capacity) noexcept:
    global _until_failure, _guarded_count
    cdef char* block
    if _until_failure > 0:
        _until_failure -= 1
        if _until_failure == 0:
            _find_whether_watched()
            _counters.failures += 1
            return NULL
    if not _guard or _guarded_count >= MOST_GUARDED:
        return _ordinary_block(nbytes, capacity)
    block = guarded_block(nbytes, _guards_start, _fill, capacity)
    if block == NULL:
        _counters.failures += 1
        return NULL
    _guarded_count += 1
    _counters.system_allocations += 1
    _count_taken(nbytes)
    _count_reserved()
    return block


cdef void _give_guarded(char* block, int64_t tag) noexcept:
    global _guarded_count
    _guarded_count -= 1
    _counters.allocated -= guarded_bytes(tag)
    _counters.system_frees += 1
    release_guarded(block, tag)


cdef void _find_whether_watched() noexcept:
    global _watched
    _watched = _observer != NULL or _guard != "" or _until_failure > 0


# Pressure

cdef void _look_after_others(int64_t wanted) noexcept:
    """Drop what is kept if memory would be short with `wanted` bytes more."""
    global _available, _asked_at
    cdef int64_t now = clock()
    if _asked_at == 0 or now - _asked_at > BELIEVED:
        _asked_at = now
        _available = bytes_available()
    if _available - bytes_reserved() >= wanted:
        return
    _counters.trims += 1
    _available += _counters.cached
    _empty_cache()


cdef void _empty_cache() noexcept:
    cdef int size_class
    cdef SizeClass* entry
    while _large_count > 0:
        _drop_oldest()
    for size_class in range(CLASS_COUNT):
        entry = _classes[size_class]
        if entry == NULL:
            continue
        while entry.kept > 0:
            entry.kept -= 1
            _free_small(entry.blocks[entry.kept])
    _counters.cached = 0


# What Python sees

def stats():
    """Counters by name, in bytes and numbers of blocks; see `aten.memory.stats`."""
    return {
        "allocated_bytes": _counters.allocated,
        "peak_bytes": _counters.peak_allocated,
        "cached_bytes": _counters.cached,
        "reserved_bytes": _counters.allocated + _counters.cached,
        "peak_reserved_bytes": max(_counters.peak_reserved,
                                   _counters.allocated + _counters.cached),
        "cache_limit": _cache_limit,
        "active_blocks": _counters.allocations - _counters.frees,
        "allocations": _counters.allocations,
        "system_allocations": _counters.system_allocations,
        "system_frees": _counters.system_frees,
        "trims": _counters.trims,
        "retries": _counters.retries,
        "out_of_memory": _counters.failures,
    }


def reset_peak():
    """Let the peaks begin anew at what is held now."""
    _counters.peak_allocated = _counters.allocated
    _counters.peak_reserved = _counters.allocated + _counters.cached


def empty_cache():
    """Give every kept block back to the system; what may be kept again begins at what is held."""
    _counters.most_allocated = _counters.allocated
    _empty_cache()


def set_cache_limit(int64_t nbytes):
    """Keep at most `nbytes` of freed memory. Raises ValueError for a negative bound."""
    global _cache_limit
    if nbytes < 0:
        raise ValueError(f"set_cache_limit: the bound must not be negative, got {nbytes}")
    _cache_limit = nbytes
    if _counters.cached > _cache_limit:
        _empty_cache()


def ask_again():
    """Let the next large block ask what memory the machine has left, however lately it was."""
    global _asked_at
    _asked_at = 0


def set_guard(str guard not None, int fill):
    """Guard blocks from now on at their "end" or "start" (with "" not at all), filled with a byte.

    For tests. Gives what held before. Raises ValueError for another place, and for no byte.
    """
    global _guard, _guards_start, _fill
    before = _guard, _fill
    if guard not in ("", "end", "start"):
        raise ValueError(f"set_guard: expected 'end', 'start' or '', got {guard!r}")
    if not 0 <= fill <= 255:
        raise ValueError(f"set_guard: expected a byte to fill with, got {fill}")
    _guard, _guards_start, _fill = guard, guard == "start", fill
    _find_whether_watched()
    return before


def fail_after(int64_t count):
    """Refuse the block that is the `count`-th to be asked for from now on, once; 0: none.

    For tests. Gives how many requests were still to come before a refusal asked for earlier.
    """
    global _until_failure
    cdef int64_t before = _until_failure
    _until_failure = max(count, 0)
    _find_whether_watched()
    return before


set_guard(config.MEMORY_GUARD.get(), config.MEMORY_FILL.get())
