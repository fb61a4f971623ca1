# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Elements as unsigned keys in their order; rows of keys sorted and selected by digits.

NaN is the greatest key, all NaNs are one, and so are -0.0 and 0.0. Sorting is stable: by insertion
where there is little to sort; by digits from the least significant one on while a few are enough;
and else by the most significant digit first, and then each part by itself. A key and its
position are one 64-bit number wherever the bits in which keys differ leave room for it.

Radix sorting: Knuth, The Art of Computer Programming, volume 3, 5.2.5.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from aten._core.base.dtypes cimport (BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT16, INT32, INT64,
                                     INT8, UINT16, UINT32, UINT64, UINT8, item_size)
from aten._core.threads.parallel cimport parallel_for

cdef extern from *:
    int __builtin_clzll(unsigned long long) noexcept nogil

cdef enum:
    UNSIGNED = 0
    SIGNED = 1
    FLOATING = 2
    # Rows this short are sorted by insertion.
    SHORT = 32
    # Bits of a digit, and those of one where there are enough items to make up for the counting.
    DIGIT = 8
    WIDE_DIGIT = 11
    WIDE_FROM = 1 << 13
    BUCKETS = 1 << WIDE_DIGIT
    # From so many items on threads share a row, in so many pieces at most.
    SHARED = 1 << 16
    PIECES = 8

ctypedef fused Bits:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

ctypedef fused Item:
    uint64_t
    Pair


# Keys

cdef int describe_keys(KeyOrder* order, int code, bint descending) noexcept nogil:
    """How elements of a type become keys; -1 for a type without an order."""
    order.infinity = 0
    if code == BOOL or code == UINT8 or code == UINT16 or code == UINT32 or code == UINT64:
        order.kind = UNSIGNED
    elif code == INT8 or code == INT16 or code == INT32 or code == INT64:
        order.kind = SIGNED
    elif code == FLOAT16 or code == BFLOAT16 or code == FLOAT32 or code == FLOAT64:
        order.kind = FLOATING
        order.infinity = (0x7C00 if code == FLOAT16 else 0x7F80 if code == BFLOAT16 else
                          <uint64_t>0x7F800000 if code == FLOAT32 else <uint64_t>0x7FF << 52)
    else:
        return -1
    order.width = item_size(code)
    order.greatest = ~<uint64_t>0 >> (64 - 8 * order.width)
    order.inverted = order.greatest if descending else 0
    return 0


cdef inline Bits _key_of(Bits bits, int kind, Bits infinity) noexcept nogil:
    cdef Bits sign = <Bits>1 << (8 * sizeof(Bits) - 1)
    cdef Bits key
    if kind == UNSIGNED:
        return bits
    if kind == SIGNED:
        return bits ^ sign
    # Masks and no branches, so that vectors do it.
    bits &= <Bits>(<Bits>0 - <Bits>(bits != sign))
    key = bits ^ (sign | <Bits>(<Bits>0 - <Bits>(bits >> (8 * sizeof(Bits) - 1))))
    return key | <Bits>(<Bits>0 - <Bits>(<Bits>(bits & <Bits>(~sign)) > infinity))


cdef inline void _load_kind(const KeyOrder* order, int kind, const char* data, int64_t step,
                            int64_t count, uint64_t* keys, int64_t spacing,
                            Bits infinity) noexcept nogil:
    cdef int64_t place
    cdef uint64_t inverted = order.inverted
    if step == sizeof(Bits) and spacing == 1:
        for place in range(count):
            keys[place] = _key_of((<const Bits*>data)[place], kind, infinity) ^ inverted
        return
    for place in range(count):
        keys[place * spacing] = inverted ^ _key_of((<const Bits*>(data + place * step))[0], kind,
                                                   infinity)


cdef inline void _load(const KeyOrder* order, const char* data, int64_t step, int64_t count,
                       uint64_t* keys, int64_t spacing, Bits infinity) noexcept nogil:
    # One loop for each kind: the compiler sees which.
    if order.kind == UNSIGNED:
        _load_kind(order, UNSIGNED, data, step, count, keys, spacing, infinity)
    elif order.kind == SIGNED:
        _load_kind(order, SIGNED, data, step, count, keys, spacing, infinity)
    else:
        _load_kind(order, FLOATING, data, step, count, keys, spacing, infinity)


cdef void load_keys(const KeyOrder* order, const char* data, int64_t step, int64_t count,
                    uint64_t* keys, int64_t spacing) noexcept nogil:
    """The keys of elements `step` bytes apart, `spacing` keys apart."""
    if order.width == 1:
        _load(order, data, step, count, keys, spacing, <uint8_t>order.infinity)
    elif order.width == 2:
        _load(order, data, step, count, keys, spacing, <uint16_t>order.infinity)
    elif order.width == 4:
        _load(order, data, step, count, keys, spacing, <uint32_t>order.infinity)
    else:
        _load(order, data, step, count, keys, spacing, <uint64_t>order.infinity)


cdef inline int _bits_of(uint64_t number) noexcept nogil:
    return 64 - __builtin_clzll(number) if number else 0


# Sorting

cdef inline uint64_t _key(const Item* item) noexcept nogil:
    if Item is Pair:
        return item.key
    else:
        return item[0]


cdef inline void _insertion_sort(Item* items, int64_t count) noexcept nogil:
    cdef int64_t place, hole
    cdef Item moved
    for place in range(1, count):
        moved = items[place]
        hole = place
        while hole > 0 and _key(&items[hole - 1]) > _key(&moved):
            items[hole] = items[hole - 1]
            hole -= 1
        items[hole] = moved


cdef inline Item* _sort_by_digits(Item* items, Item* other, int64_t count, int low,
                                  int width) noexcept nogil:
    """Sort by `width` bits from bit `low` on; gives the array in which the items then are."""
    cdef int64_t starts[BUCKETS]
    cdef int64_t place, start, found
    cdef int digit = WIDE_DIGIT if count >= WIDE_FROM else DIGIT
    cdef int passes = (width + digit - 1) // digit
    cdef int bucket, buckets, each
    cdef uint64_t mask
    cdef Item* swapped
    digit = (width + passes - 1) // passes
    buckets = 1 << digit
    mask = buckets - 1
    for each in range(passes):
        memset(starts, 0, buckets * sizeof(int64_t))
        for place in range(count):
            starts[(_key(&items[place]) >> low) & mask] += 1
        start = 0
        for bucket in range(buckets):
            found = starts[bucket]
            starts[bucket] = start
            start += found
        for place in range(count):
            bucket = <int>((_key(&items[place]) >> low) & mask)
            other[starts[bucket]] = items[place]
            starts[bucket] += 1
        swapped, items, other = items, other, items
        low += digit
    return items


cdef inline void _copy(Item* target, const Item* source, int64_t count) noexcept nogil:
    if target != source:
        memcpy(target, source, count * sizeof(Item))


cdef void _sort_into(Item* target, Item* items, Item* other, int64_t count,
                     int low) noexcept nogil:
    """Sort items by the bits from bit `low` on, into `target`, which is `items` or `other`."""
    cdef uint64_t different = 0, first
    cdef int64_t starts[(1 << DIGIT) + 1]
    cdef int64_t place, start
    cdef int width, shift, bucket
    if count <= SHORT:
        _insertion_sort(items, count)
        _copy(target, items, count)
        return
    first = _key(items)
    for place in range(count):
        different |= first ^ _key(&items[place])
    width = _bits_of(different >> low)
    if width == 0:
        _copy(target, items, count)
        return
    if width <= (3 * WIDE_DIGIT if count >= WIDE_FROM else 4 * DIGIT):
        _copy(target, _sort_by_digits(items, other, count, low, width), count)
        return
    shift = low + width - DIGIT
    memset(starts, 0, sizeof(starts))
    for place in range(count):
        starts[((_key(&items[place]) >> shift) & 255) + 1] += 1
    for bucket in range(256):
        starts[bucket + 1] += starts[bucket]
    for place in range(count):
        bucket = <int>((_key(&items[place]) >> shift) & 255)
        other[starts[bucket]] = items[place]
        starts[bucket] += 1
    start = 0
    for bucket in range(256):
        if starts[bucket] > start:
            _sort_into(target + start, other + start, items + start, starts[bucket] - start, low)
        start = starts[bucket]


cdef struct Sharing:
    # A row that threads sort together: `items` go by their first digit to `other`, and back.
    void* items
    void* other
    int64_t* starts         # of every digit's part in `other`, for each piece; last, their ends
    int64_t count
    int64_t pieces
    int low
    int shift


cdef inline void _count_piece(const Sharing* sharing, const Item* items,
                              int64_t piece) noexcept nogil:
    cdef int64_t* starts = sharing.starts + piece * BUCKETS
    cdef int64_t place
    memset(starts, 0, BUCKETS * sizeof(int64_t))
    for place in range(piece * sharing.count // sharing.pieces,
                       (piece + 1) * sharing.count // sharing.pieces):
        starts[(_key(&items[place]) >> sharing.shift) & (BUCKETS - 1)] += 1


cdef inline void _move_piece(const Sharing* sharing, const Item* items, Item* other,
                             int64_t piece) noexcept nogil:
    cdef int64_t* starts = sharing.starts + piece * BUCKETS
    cdef int64_t place
    cdef int bucket
    for place in range(piece * sharing.count // sharing.pieces,
                       (piece + 1) * sharing.count // sharing.pieces):
        bucket = <int>((_key(&items[place]) >> sharing.shift) & (BUCKETS - 1))
        other[starts[bucket]] = items[place]
        starts[bucket] += 1


cdef inline void _sort_parts(const Sharing* sharing, Item* items, Item* other, int64_t begin,
                             int64_t end) noexcept nogil:
    # After all pieces have been moved, each bucket of the last one begins where it ends.
    cdef const int64_t* ends = sharing.starts + (sharing.pieces - 1) * BUCKETS
    cdef int64_t bucket, start
    for bucket in range(begin, end):
        start = ends[bucket - 1] if bucket else 0
        _sort_into(items + start, other + start, items + start, ends[bucket] - start, sharing.low)


cdef void _count_numbers(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Sharing* sharing = <Sharing*>context
    cdef int64_t piece
    for piece in range(begin, end):
        _count_piece(sharing, <const uint64_t*>sharing.items, piece)


cdef void _count_pairs(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Sharing* sharing = <Sharing*>context
    cdef int64_t piece
    for piece in range(begin, end):
        _count_piece(sharing, <const Pair*>sharing.items, piece)


cdef void _move_numbers(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Sharing* sharing = <Sharing*>context
    cdef int64_t piece
    for piece in range(begin, end):
        _move_piece(sharing, <const uint64_t*>sharing.items, <uint64_t*>sharing.other, piece)


cdef void _move_pairs(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Sharing* sharing = <Sharing*>context
    cdef int64_t piece
    for piece in range(begin, end):
        _move_piece(sharing, <const Pair*>sharing.items, <Pair*>sharing.other, piece)


cdef void _sort_numbers(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Sharing* sharing = <Sharing*>context
    _sort_parts(sharing, <uint64_t*>sharing.items, <uint64_t*>sharing.other, begin, end)


cdef void _sort_pairs(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Sharing* sharing = <Sharing*>context
    _sort_parts(sharing, <Pair*>sharing.items, <Pair*>sharing.other, begin, end)


cdef int _share(void* items, void* other, int64_t count, int low, int width,
                bint pairs) noexcept nogil:
    """Sort many items, on several threads; -1: there was no memory for it."""
    cdef Sharing sharing
    cdef int64_t start = 0, found, piece
    cdef int bucket
    sharing.items = items
    sharing.other = other
    sharing.count = count
    sharing.pieces = PIECES
    sharing.low = low
    sharing.shift = max(low + width - WIDE_DIGIT, low)
    sharing.starts = <int64_t*>malloc(PIECES * BUCKETS * sizeof(int64_t))
    if sharing.starts == NULL:
        return -1
    parallel_for(PIECES, 1, _count_pairs if pairs else _count_numbers, &sharing)
    for bucket in range(BUCKETS):
        for piece in range(PIECES):
            found = sharing.starts[piece * BUCKETS + bucket]
            sharing.starts[piece * BUCKETS + bucket] = start
            start += found
    parallel_for(PIECES, 1, _move_pairs if pairs else _move_numbers, &sharing)
    parallel_for(BUCKETS, 16, _sort_pairs if pairs else _sort_numbers, &sharing)
    free(sharing.starts)
    return 0


cdef int sort_positions(uint64_t* keys, int64_t count, uint64_t* positions) noexcept nogil:
    """Sort keys, and tell at which positions they were; equal ones stay in their order.

    Both arrays have room for `count` numbers. -1: there was no memory for it.
    """
    cdef uint64_t low = ~<uint64_t>0, high = 0, mask, item
    cdef int64_t place
    cdef int bits, width
    cdef uint64_t* sorted = positions
    for place in range(count):
        low = min(low, keys[place])
        high = max(high, keys[place])
    bits = _bits_of(count - 1) if count > 1 else 0
    width = _bits_of(high - low) if count else 0
    if width + bits > 64:
        return _sort_wide(keys, count, positions, low, width)
    for place in range(count):
        keys[place] = (keys[place] - low) << bits | <uint64_t>place
    if count < SHARED:
        _sort_into(positions, keys, positions, count, bits)
    elif _share(keys, positions, count, bits, width, False) < 0:
        return -1
    else:
        sorted = keys
    mask = (<uint64_t>1 << bits) - 1
    for place in range(count):
        item = sorted[place]
        keys[place] = (item >> bits) + low
        positions[place] = item & mask
    return 0


cdef int _sort_wide(uint64_t* keys, int64_t count, uint64_t* positions, uint64_t low,
                    int width) noexcept nogil:
    cdef Pair* pairs = <Pair*>malloc(2 * count * sizeof(Pair))
    cdef int64_t place
    cdef int failed = 0
    if pairs == NULL:
        return -1
    for place in range(count):
        pairs[place].key = keys[place] - low
        pairs[place].position = place
    if count < SHARED:
        _sort_into(pairs, pairs, pairs + count, count, 0)
    else:
        failed = _share(pairs, pairs + count, count, 0, width, True)
    for place in range(count):
        keys[place] = pairs[place].key + low
        positions[place] = pairs[place].position
    free(pairs)
    return failed


cdef inline void _store_kind(const KeyOrder* order, int kind, const uint64_t* keys,
                             const uint64_t* positions, int64_t count, const char* source,
                             int64_t source_step, char* out, int64_t step,
                             Bits unused) noexcept nogil:
    cdef Bits sign = <Bits>1 << (8 * sizeof(Bits) - 1)
    cdef Bits key, greatest = <Bits>order.greatest, inverted = <Bits>order.inverted
    cdef int64_t place
    for place in range(count):
        key = <Bits>keys[place] ^ inverted
        if kind == SIGNED:
            key ^= sign
        elif kind == FLOATING:
            if key == sign or key == greatest:      # zeros and NaNs, of which there are several
                key = (<const Bits*>(source + <int64_t>positions[place] * source_step))[0]
            else:
                key ^= sign | <Bits>((key >> (8 * sizeof(Bits) - 1)) - 1)
        (<Bits*>(out + place * step))[0] = key


cdef inline void _store(const KeyOrder* order, const uint64_t* keys, const uint64_t* positions,
                        int64_t count, const char* source, int64_t source_step, char* out,
                        int64_t step, Bits unused) noexcept nogil:
    if order.kind == UNSIGNED:
        _store_kind(order, UNSIGNED, keys, positions, count, source, source_step, out, step, unused)
    elif order.kind == SIGNED:
        _store_kind(order, SIGNED, keys, positions, count, source, source_step, out, step, unused)
    else:
        _store_kind(order, FLOATING, keys, positions, count, source, source_step, out, step, unused)


cdef void store_keys(const KeyOrder* order, const uint64_t* keys, const uint64_t* positions,
                     int64_t count, const char* source, int64_t source_step, char* out,
                     int64_t step) noexcept nogil:
    """The elements that keys were made of, `step` bytes apart.

    `source`, with elements `source_step` bytes apart, has those whose key does not tell them.
    """
    if order.width == 1:
        _store(order, keys, positions, count, source, source_step, out, step, <uint8_t>0)
    elif order.width == 2:
        _store(order, keys, positions, count, source, source_step, out, step, <uint16_t>0)
    elif order.width == 4:
        _store(order, keys, positions, count, source, source_step, out, step, <uint32_t>0)
    else:
        _store(order, keys, positions, count, source, source_step, out, step, <uint64_t>0)


# Selection

cdef uint64_t key_of_rank(const uint64_t* keys, uint64_t* scratch, int64_t count,
                          int64_t rank) noexcept nogil:
    """The key that would be at `rank`, counted from 0. `scratch` has room for all keys."""
    cdef int64_t counts[BUCKETS]
    cdef uint64_t low = ~<uint64_t>0, high = 0, wanted
    cdef int64_t place, kept
    cdef int digit, shift, bucket
    while True:
        low, high = ~<uint64_t>0, 0
        for place in range(count):
            low = min(low, keys[place])
            high = max(high, keys[place])
        if low == high:
            return low
        digit = WIDE_DIGIT if count >= WIDE_FROM else DIGIT
        shift = max(_bits_of(high - low) - digit, 0)
        memset(counts, 0, (<int64_t>1 << digit) * sizeof(int64_t))
        for place in range(count):
            counts[(keys[place] - low) >> shift] += 1
        bucket = 0
        while rank >= counts[bucket]:
            rank -= counts[bucket]
            bucket += 1
        wanted = bucket
        if shift == 0:
            return low + wanted
        kept = 0
        for place in range(count):
            # Written whether it is kept or not: what is not is overwritten, and nothing branches.
            scratch[kept] = keys[place]
            kept += (keys[place] - low) >> shift == wanted
        keys = scratch
        count = kept
