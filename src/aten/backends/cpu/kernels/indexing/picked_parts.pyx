# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""How walks in which an index chooses elements are shared out among threads.

What is written is written in the order of rows wherever two points may meet in one place: along the
dimensions in which the base does not move. Threads share out another one, and copies that the walk
writes to are made by the part: what a thread has just copied is in its cache.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aten._core.memory.storage cimport copy_bytes
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.moving.iterator cimport Walk, run_walk

cdef enum:
    # Parts for each thread that are enough to even out a slow one.
    PARTS = 8
    # Points in one chunk of work for the threads; from as many on, other Python threads may run.
    GRAIN = 16384
    # Points of the innermost dimension that go together through all rows, where each has elements
    # of its own to choose from: enough to lie side by side, few enough to stay in cache.
    STRIP = 64
    # Points that writes of two threads do not fall among.
    LINE = 16
    # Strips of so many bytes are gone through in a copy without gaps: pages that elements are spread
    # over cost more than bytes.
    PACKED = 1 << 20
    PAGE_PART = 1 << 9
    # Bytes that are copied before they are written to.
    COPIED = 1 << 15

cdef struct Division:
    Walk* walk
    int dim             # the dimension that threads share out
    int64_t piece       # how much of it goes through the others at a time
    bint packed         # whether that is copied, so as to lie together
    bint writes
    const char* origin  # what the base becomes a copy of, or NULL
    int64_t bytes       # of that


cdef int run_in_parts(Walk* walk, bint picks, const char* origin, int64_t bytes) except -1:
    cdef Division division
    cdef int64_t parts, points, least
    division.dim = _widest_apart(walk) if walk.total >= GRAIN else -1
    if division.dim < 0:
        if origin != NULL:
            copy_bytes(walk.data[BASE], origin, bytes)
        if walk.total < GRAIN:
            run_walk(walk, max(walk.total, 1))
            return 0
        with nogil:
            run_walk(walk, GRAIN if picks else walk.total)
        return 0
    division.walk = walk
    division.origin, division.bytes = origin, bytes
    division.piece = _piece_of_rows(walk) if division.dim == 0 else 1
    division.packed = division.dim == 0 and _pays_to_pack(walk, <const Way*>walk.reduced)
    division.writes = not picks
    parts = (walk.sizes[division.dim] + division.piece - 1) // division.piece
    points = walk.total // parts
    least = max(GRAIN // max(points, 1), 1)
    with nogil:
        parallel_for(parts, least, _run_pieces, &division)
    return 0


cdef int64_t _piece_of_rows(const Walk* walk) noexcept:
    """One part of the rows for each thread, none of less than a line, and where each element has an
    index of its own no more than a strip."""
    cdef int64_t part = (walk.sizes[0] + thread_count() - 1) // thread_count()
    part = (part + LINE - 1) // LINE * LINE
    return part if walk.strides[0][INDEX] == 0 else min(part, <int64_t>STRIP)


cdef int _widest_apart(Walk* walk) noexcept:
    """The largest dimension in which the base moves, or the outermost that is enough for all threads;
    -1: there is none."""
    cdef int dim, found = -1
    for dim in range(walk.rank):
        if walk.strides[dim][BASE] == 0 or walk.sizes[dim] < 2:
            continue
        if found < 0 or walk.sizes[dim] >= min(walk.sizes[found], PARTS * thread_count()):
            found = dim
    return found


cdef bint _pays_to_pack(const Walk* walk, const Way* way) noexcept:
    """Whether each strip's choices, which lie far apart, are met often enough to be moved together."""
    return (walk.rank == 2 and way.choices > 1 and walk.strides[0][BASE] == way.width
            and walk.strides[1][BASE] == 0 and walk.strides[0][INDEX] != 0
            and way.step >= max(walk.sizes[0] * way.width, <int64_t>PAGE_PART)
            and way.choices <= 2 * walk.sizes[1]
            and way.choices * STRIP * way.width <= PACKED)


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Division* division = <Division*>context
    cdef int64_t size = division.walk.sizes[division.dim], piece, together = division.piece
    cdef const Way* way = <const Way*>division.walk.reduced
    cdef char* room = NULL
    if together == 1:
        # What is copied first is still in cache when it is written to.
        together = end - begin
        if division.origin != NULL:
            together = max(min(together, COPIED * size // division.bytes), <int64_t>1)
        while begin < end:
            _run_part(division, begin, min(begin + together, end), NULL)
            begin += together
        return
    if division.packed:
        room = <char*>malloc(way.choices * STRIP * way.width)
    for piece in range(begin, end):
        _run_part(division, piece * together, min((piece + 1) * together, size), room)
    free(room)


cdef void _copy_part(const Division* division, int64_t begin, int64_t end) noexcept nogil:
    """What the points from `begin` to `end` of the dimension may choose, from the origin."""
    cdef int64_t step = division.walk.strides[division.dim][BASE], place = begin * step
    cdef int64_t apart = division.walk.sizes[division.dim] * step
    cdef char* base = division.walk.data[BASE]
    while place < division.bytes:
        memcpy(base + place, division.origin + place, (end - begin) * step)
        place += apart


cdef void _run_part(const Division* division, int64_t begin, int64_t end,
                    char* room) noexcept nogil:
    """The points from `begin` to `end` of the dimension; with room for their choices, in a copy."""
    cdef Walk walk = division.walk[0]
    cdef Way way = (<const Way*>walk.reduced)[0]
    cdef char* base
    cdef const char* source
    cdef int64_t bytes = (end - begin) * way.width, choice, step = way.step
    cdef int place
    cdef int dim = division.dim
    walk.total = walk.total // walk.sizes[dim] * (end - begin)
    walk.sizes[dim] = end - begin
    for place in range(walk.operands):
        walk.data[place] += begin * walk.strides[dim][place]
    if room == NULL:
        if division.origin != NULL:
            _copy_part(division, begin, end)
        run_walk(&walk, walk.total)
        return
    base = walk.data[BASE]
    source = base
    if division.origin != NULL:
        source = division.origin + (base - division.walk.data[BASE])
    for choice in range(way.choices):
        memcpy(room + choice * bytes, source + choice * step, bytes)
    way.step = bytes
    walk.data[BASE] = room
    walk.reduced = <const int64_t*>&way
    run_walk(&walk, walk.total)
    if not division.writes:
        return
    for choice in range(way.choices):
        memcpy(base + choice * step, room + choice * bytes, bytes)
