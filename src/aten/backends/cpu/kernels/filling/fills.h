/* Memory filled with one element, for each level of vector instructions. */

#ifndef ATEN_FILLS
#define ATEN_FILLS

#include <stdint.h>
#include <string.h>

#include "_core/base/vector_widths.h"

#define ATEN_FILL_LOOP(vector)                                                                     \
    {                                                                                              \
        const vector value = *(const vector *)pattern;                                             \
        for (; bytes >= (int64_t)(4 * sizeof value); bytes -= 4 * sizeof value) {                  \
            vector *to = (vector *)target;                                                         \
            to[0] = value, to[1] = value, to[2] = value, to[3] = value;                            \
            target += 4 * sizeof value;                                                            \
        }                                                                                          \
    }

typedef char aten_fill_16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef char aten_fill_32 __attribute__((vector_size(32), aligned(1), may_alias));

#if defined(__x86_64__)
__attribute__((target("avx2"))) static char *aten_fill_wide(char *target, int64_t bytes,
                                                            const char *pattern)
{
    ATEN_FILL_LOOP(aten_fill_32)
    return target;
}
#endif

static char *aten_fill_plain(char *target, int64_t bytes, const char *pattern)
{
    ATEN_FILL_LOOP(aten_fill_16)
    return target;
}

/* Fills whole elements of a power of two of bytes, up to 16, the first of which are given. */
static inline void aten_fill(char *target, int64_t bytes, const uint64_t *element, int width)
{
    uint64_t first = element[0], second;
    char pattern[128], *end = target + bytes;
    int place;
    if (width == 1)
        first = (first & 0xFF) * 0x0101010101010101;
    else if (width == 2)
        first = (first & 0xFFFF) * 0x0001000100010001;
    else if (width == 4)
        first = (first & 0xFFFFFFFF) * 0x0000000100000001;
    second = width == 16 ? element[1] : first;
    for (place = 0; place < 128; place += 16) {
        memcpy(pattern + place, &first, 8);
        memcpy(pattern + place + 8, &second, 8);
    }
#if defined(__x86_64__)
    if (ATEN_MAY_USE(32, "avx2"))
        target = aten_fill_wide(target, bytes, pattern);
    else
        target = aten_fill_plain(target, bytes, pattern);
#else
    target = aten_fill_plain(target, bytes, pattern);
#endif
    memcpy(target, pattern, end - target);
}

#endif
