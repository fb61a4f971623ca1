# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Pairs of a key and a position, arranged by their keys: sorted, or as far as some rank.

Which of several equal keys comes first is left open by these algorithms; here it follows from the
very steps of the C++ library that torch's CPU kernels call, so that positions agree with torch's.
Introsort and introselect: Musser, Introspective Sorting and Selection Algorithms (1997).
"""

from libc.stdint cimport int64_t, uint64_t

cdef enum:
    # Sorting leaves ranges this short to insertion; so does selecting, at its own length.
    SHORT = 16
    SHORT_SELECTION = 3
    # Keys that are looked at together where few of them count.
    BLOCK = 16


cdef inline void _exchange(Pair* left, Pair* right) noexcept nogil:
    cdef Pair kept = left[0]
    left[0] = right[0]
    right[0] = kept


cdef inline int _depth(int64_t count) noexcept nogil:
    """Twice the binary logarithm: the rounds after which partitioning has failed."""
    cdef int depth = 0
    while count > 1:
        count >>= 1
        depth += 2
    return depth


# Insertion

cdef inline void _insert(Pair* last) noexcept nogil:
    """Move the pair down to its place; something before it is no greater."""
    cdef Pair moved = last[0]
    while moved.key < (last - 1).key:
        last[0] = (last - 1)[0]
        last -= 1
    last[0] = moved


cdef void _insertion_sort(Pair* first, Pair* last) noexcept nogil:
    cdef Pair* place = first + 1
    cdef Pair* moving
    cdef Pair moved
    if first == last:
        return
    while place < last:
        if place.key < first.key:
            moved = place[0]
            moving = place
            while moving > first:
                moving[0] = (moving - 1)[0]
                moving -= 1
            first[0] = moved
        else:
            _insert(place)
        place += 1


# Heaps with the greatest key on top

cdef void _sift(Pair* first, int64_t hole, int64_t count, Pair value) noexcept nogil:
    """Fill the hole from below, then raise `value` from where it ends."""
    cdef int64_t top = hole, child = hole, parent
    while child < (count - 1) // 2:
        child = 2 * (child + 1)
        if first[child].key < first[child - 1].key:
            child -= 1
        first[hole] = first[child]
        hole = child
    if (count & 1) == 0 and child == (count - 2) // 2:
        child = 2 * child + 1
        first[hole] = first[child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and first[parent].key < value.key:
        first[hole] = first[parent]
        hole = parent
        parent = (hole - 1) // 2
    first[hole] = value


cdef void _make_heap(Pair* first, int64_t count) noexcept nogil:
    cdef int64_t parent
    for parent in range((count - 2) // 2 if count > 1 else -1, -1, -1):
        _sift(first, parent, count, first[parent])


cdef void _select_by_heap(Pair* first, Pair* middle, Pair* last) noexcept nogil:
    """The least pairs before `middle`, as a heap."""
    cdef Pair* place = middle
    cdef Pair value
    _make_heap(first, middle - first)
    while place < last:
        if place.key < first.key:
            value = place[0]
            place[0] = first[0]
            _sift(first, 0, middle - first, value)
        place += 1


cdef void _sort_heap(Pair* first, int64_t count) noexcept nogil:
    cdef Pair value
    while count > 1:
        count -= 1
        value = first[count]
        first[count] = first[0]
        _sift(first, 0, count, value)


cdef void _sort_part(Pair* first, Pair* middle, Pair* last) noexcept nogil:
    """The least pairs before `middle`, in order."""
    _select_by_heap(first, middle, last)
    _sort_heap(first, middle - first)


# Partitions

cdef inline void _median_to_first(Pair* result, Pair* a, Pair* b, Pair* c) noexcept nogil:
    if a.key < b.key:
        _exchange(result, b if b.key < c.key else (c if a.key < c.key else a))
    else:
        _exchange(result, a if a.key < c.key else (c if b.key < c.key else b))


cdef inline Pair* _partition(Pair* first, Pair* last) noexcept nogil:
    """Part the range at the median of three; gives the first place of the upper part."""
    cdef Pair* pivot = first
    _median_to_first(first, first + 1, first + (last - first) // 2, last - 1)
    first += 1
    while True:
        while first.key < pivot.key:
            first += 1
        last -= 1
        while pivot.key < last.key:
            last -= 1
        if first >= last:
            return first
        _exchange(first, last)
        first += 1


cdef void _sort_coarsely(Pair* first, Pair* last, int depth) noexcept nogil:
    cdef Pair* cut
    while last - first > SHORT:
        if depth == 0:
            _sort_part(first, last, last)
            return
        depth -= 1
        cut = _partition(first, last)
        _sort_coarsely(cut, last, depth)
        last = cut


cdef void sort_pairs(Pair* first, int64_t count, int64_t rank) noexcept nogil:
    cdef Pair* place
    if count == 0:
        return
    _sort_coarsely(first, first + count, _depth(count))
    if count <= SHORT:
        _insertion_sort(first, first + count)
        return
    _insertion_sort(first, first + SHORT)
    place = first + SHORT
    while place < first + count:
        _insert(place)
        place += 1


cdef void _select(Pair* first, int64_t count, int64_t rank) noexcept nogil:
    """The pair of this rank in its place, no greater ones before it."""
    cdef Pair* chosen = first + rank
    cdef Pair* last = first + count
    cdef Pair* cut
    cdef int depth = _depth(count)
    while last - first > SHORT_SELECTION:
        if depth == 0:
            _select_by_heap(first, chosen + 1, last)
            _exchange(first, chosen)
            return
        depth -= 1
        cut = _partition(first, last)
        if cut <= chosen:
            first = cut
        else:
            last = cut
    _insertion_sort(first, last)


cdef void sort_least(Pair* first, int64_t count, int64_t rank) noexcept nogil:
    """The `rank` least pairs in order: by a heap where they are few, else sorted once selected."""
    if rank * 64 <= count:
        _sort_part(first, first + rank, first + count)
        return
    _select(first, count, rank - 1)
    sort_pairs(first, rank - 1, 0)


cdef void select_least(Pair* first, int64_t count, int64_t rank) noexcept nogil:
    """The `rank` least pairs, as selecting leaves them."""
    if rank * 64 <= count:
        _sort_part(first, first + rank, first + count)
    else:
        _select(first, count, rank - 1)


cdef void select_rank(Pair* first, int64_t count, int64_t rank) noexcept nogil:
    """Selection by a median of three that ends between the parts (Numerical Recipes, 8.5)."""
    cdef int64_t left = 0, right = count - 1, low, high
    cdef int rounds = 4 * _depth(count) + SHORT
    cdef uint64_t pivot
    while right > left + 1:
        if rounds == 0:
            _select(first, count, rank)
            return
        rounds -= 1
        _exchange(first + left + (right - left) // 2, first + left + 1)
        if first[left + 1].key > first[right].key:
            _exchange(first + left + 1, first + right)
        if first[left].key > first[right].key:
            _exchange(first + left, first + right)
        if first[left + 1].key > first[left].key:
            _exchange(first + left + 1, first + left)
        low, high = left + 1, right
        pivot = first[left].key
        while True:
            low += 1
            while pivot > first[low].key:
                low += 1
            high -= 1
            while first[high].key > pivot:
                high -= 1
            if high < low:
                break
            _exchange(first + low, first + high)
        _exchange(first + left, first + high)
        if high <= rank:
            left = low
        if high >= rank:
            right = high - 1
    if right == left + 1 and first[left].key > first[right].key:
        _exchange(first + left, first + right)


cdef void begin_least(Pair* first, const uint64_t* keys, int64_t rank) noexcept nogil:
    """The first `rank` keys, as the heap that `take_lesser` goes on with."""
    cdef int64_t place
    for place in range(rank):
        first[place].key = keys[place]
        first[place].position = place
    _make_heap(first, rank)


cdef void take_lesser(Pair* first, int64_t rank, const uint64_t* keys, int64_t count,
                      int64_t position) noexcept nogil:
    """Take what is less than the greatest of the heap in its place; the keys begin at `position`."""
    cdef int64_t block = 0, end, place
    cdef uint64_t bound, borrowed
    cdef Pair value
    while block < count:
        # Most blocks have nothing for the heap. Halves of keys are compared by subtraction, in whose
        # highest bit all shows that is no greater: for this, vectors have what it takes.
        end = min(block + BLOCK, count)
        bound = (first.key >> 1) + 1
        borrowed = 0
        for place in range(block, end):
            borrowed |= (keys[place] >> 1) - bound
        for place in range(block, end if borrowed >> 63 else block):
            if keys[place] < first.key:
                value.key = keys[place]
                value.position = position + place
                _sift(first, 0, rank, value)
        block = end


cdef void end_least(Pair* first, int64_t rank) noexcept nogil:
    """The heap in order."""
    _sort_heap(first, rank)
