/* Copies between places that lie differently towards the lines of the cache. */

#ifndef ATEN_COPIES
#define ATEN_COPIES

#include <stdint.h>
#include <string.h>

typedef char aten_copied __attribute__((vector_size(16), aligned(1), may_alias));

/* 64 bytes or more, of which a block is read before the one in front of it is written. */
static inline void aten_copy_apart(char *target, const char *source, int64_t size)
{
    const aten_copied *from = (const aten_copied *)source;
    const aten_copied *end = (const aten_copied *)(source + size - 64);
    aten_copied *to = (aten_copied *)target, first, second, third, fourth;
    first = from[0], second = from[1], third = from[2], fourth = from[3];
    for (; size >= 128; size -= 64, from += 4, to += 4) {
        const aten_copied next = from[4], after = from[5], later = from[6], last = from[7];
        to[0] = first, to[1] = second, to[2] = third, to[3] = fourth;
        first = next, second = after, third = later, fourth = last;
    }
    /* The last block may overlap the one before. */
    {
        const aten_copied next = end[0], after = end[1], later = end[2], last = end[3];
        to[0] = first, to[1] = second, to[2] = third, to[3] = fourth;
        to = (aten_copied *)((char *)to + size - 64);
        to[0] = next, to[1] = after, to[2] = later, to[3] = last;
    }
}

/* memcpy, however the two places lie towards each other.

   Where a target lies a little behind its source, but for whole pages, processors take what is read
   next for what was just written, and wait: the C library's copy takes several times as long. Of long
   ones it also lets the processor copy a string, which on AMD's Zen 4 takes ten times as long where
   addresses differ by less than a line. */
static inline void aten_copy_row(char *target, const char *source, int64_t size)
{
    const uintptr_t behind = ((uintptr_t)target - (uintptr_t)source) % 4096;
    const int is_close = behind != 0 && behind < 64;
    if (size < 64 || (!is_close && (size <= 2048 || behind % 64 == 0)))
        memcpy(target, source, size);
    else
        aten_copy_apart(target, source, size);
}

/* Bytes from the one at `source` backwards, eight at a time. */
static inline void aten_reverse_bytes(char *target, const char *source, int64_t count)
{
    int64_t index = 0;
    for (; index + 8 <= count; index += 8) {
        uint64_t eight;
        memcpy(&eight, source - index - 7, 8);
        eight = __builtin_bswap64(eight);
        memcpy(target + index, &eight, 8);
    }
    for (; index < count; index++)
        target[index] = source[-index];
}

#endif
