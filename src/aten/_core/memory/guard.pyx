# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Blocks between two pages that cannot be touched, for tests: a wild access ends the process.

A block ends where the second of these pages begins, or begins where the first one ends, so that an
access one element past its end, or before its beginning, faults. What lies between the block and
the other page is filled as the block is, and looked at when the block is freed: a write there is
told as well. So is, by a second run with another fill, a result that depends on bytes nobody wrote.
A freed block cannot be touched either, until `KEPT_SLOTS` others of its size have been freed.

Alignment: a block that ends at a page is aligned to the largest power of two that divides its size
(to 64 bytes at most), which its elements need. Results long enough to be written past the caches
are aligned to 64, at the price of up to 63 bytes before the page; these are looked at, too.
"""

from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memset

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    #include <unistd.h>
    #ifndef MAP_ANONYMOUS
    #define MAP_ANONYMOUS MAP_ANON
    #endif

    static int64_t aten_guard_page(void) {
        long size = sysconf(_SC_PAGESIZE);
        return size > 0 ? size : 4096;
    }

    static char* aten_reserve(size_t bytes) {
        char* pages = (char*)mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return pages == (char*)MAP_FAILED ? NULL : pages;
    }

    static int aten_open(char* pages, size_t bytes) {
        return mprotect(pages, bytes, PROT_READ | PROT_WRITE) == 0;
    }

    static void aten_shut(char* pages, size_t bytes) { (void)mprotect(pages, bytes, PROT_NONE); }

    static void aten_release(char* pages, size_t bytes) { (void)munmap(pages, bytes); }

    /* Whoever wrote there is not known any more; the block is. */
    static void aten_stop_for_damage(const char* block, int64_t bytes, const char* place) {
        fprintf(stderr, "aten: somebody wrote beside a block of %lld bytes at %p: at %p\\n",
                (long long)bytes, (const void*)block, (const void*)place);
        abort();
    }
    """
    int64_t aten_guard_page() noexcept nogil
    char* aten_reserve(size_t bytes) noexcept nogil
    int aten_open(char* pages, size_t bytes) noexcept nogil
    void aten_shut(char* pages, size_t bytes) noexcept nogil
    void aten_release(char* pages, size_t bytes) noexcept nogil
    void aten_stop_for_damage(const char* block, int64_t bytes, const char* place) noexcept nogil

cdef enum:
    # Blocks of up to so many pages go to a ring when freed; larger ones are unmapped.
    RING_PAGES = 8
    # Freed blocks of one size that wait: an access to one of these faults.
    KEPT_SLOTS = 64
    # Results from here on may be written past the caches, in stores of so many bytes.
    STREAMED = 1 << 24
    STREAM_ALIGNMENT = 64

cdef int64_t GUARDED = <int64_t>1 << 62
cdef int64_t AT_START = <int64_t>1 << 61
cdef int FILL_PLACE = 48
cdef int64_t SIZE_MASK = (<int64_t>1 << FILL_PLACE) - 1

cdef struct Ring:
    char* slots[KEPT_SLOTS]     # their pages, without those that guard them
    int oldest
    int count

cdef Ring _rings[RING_PAGES]
cdef int64_t _page = aten_guard_page()


cdef bint is_guarded(int64_t tag) noexcept nogil:
    return tag & GUARDED != 0


cdef int64_t guarded_bytes(int64_t tag) noexcept nogil:
    """The size that was asked for."""
    return tag & SIZE_MASK


cdef inline int64_t _room(int64_t nbytes) noexcept nogil:
    """Bytes from the block's beginning to the page that it ends at."""
    if nbytes < STREAMED:
        return nbytes
    return (nbytes + STREAM_ALIGNMENT - 1) // STREAM_ALIGNMENT * STREAM_ALIGNMENT


cdef inline int64_t _whole_pages(int64_t nbytes) noexcept nogil:
    return (_room(nbytes) + _page - 1) // _page


cdef char* guarded_block(int64_t nbytes, bint at_start, int fill, int64_t* tag) noexcept:
    cdef int64_t count = _whole_pages(nbytes)
    cdef char* pages = _pages(count)
    if pages == NULL:
        return NULL
    memset(pages, fill, count * _page)
    tag[0] = GUARDED | nbytes | (<int64_t>fill << FILL_PLACE) | (AT_START if at_start else 0)
    return pages if at_start else pages + count * _page - _room(nbytes)


cdef char* _pages(int64_t count) noexcept nogil:
    """So many pages that can be written to, between two that cannot."""
    cdef Ring* ring
    cdef char* pages = NULL
    if count <= RING_PAGES and _rings[count - 1].count == KEPT_SLOTS:
        ring = &_rings[count - 1]
        pages = ring.slots[ring.oldest]
        if aten_open(pages, count * _page) == 0:
            return NULL
        ring.oldest = (ring.oldest + 1) % KEPT_SLOTS
        ring.count -= 1
        return pages
    pages = aten_reserve((count + 2) * _page)
    if pages == NULL:
        return NULL
    if aten_open(pages + _page, count * _page) == 0:
        aten_release(pages, (count + 2) * _page)
        return NULL
    return pages + _page


cdef void release_guarded(char* block, int64_t tag) noexcept:
    cdef int64_t nbytes = guarded_bytes(tag)
    cdef int64_t count = _whole_pages(nbytes)
    cdef char* pages = block
    cdef Ring* ring
    if not tag & AT_START:
        pages = block + _room(nbytes) - count * _page
    _look_beside(pages, block, nbytes, count * _page, <char>(tag >> FILL_PLACE & 0xFF))
    if count > RING_PAGES or _rings[count - 1].count == KEPT_SLOTS:
        aten_release(pages - _page, (count + 2) * _page)
        return
    ring = &_rings[count - 1]
    aten_shut(pages, count * _page)
    ring.slots[(ring.oldest + ring.count) % KEPT_SLOTS] = pages
    ring.count += 1


cdef void _look_beside(char* pages, char* block, int64_t nbytes, int64_t held,
                       char fill) noexcept nogil:
    """Stop the process where a byte of the pages that is not the block's has changed."""
    cdef int64_t place
    cdef int64_t before = block - pages
    for place in range(before):
        if pages[place] != fill:
            aten_stop_for_damage(block, nbytes, pages + place)
    for place in range(before + nbytes, held):
        if pages[place] != fill:
            aten_stop_for_damage(block, nbytes, pages + place)
