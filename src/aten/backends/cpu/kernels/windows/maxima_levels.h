/* The loops of pooled maxima for each level of vector instructions, and the choice of one. */

#ifndef ATEN_MAXIMA_LEVELS
#define ATEN_MAXIMA_LEVELS

#include <stdint.h>

#include "_core/base/vector_widths.h"

typedef struct {
    void (*fold)(const void *const *lines, int64_t count, void *out, int64_t columns);
    void (*keep)(const void *line, void *kept, int64_t columns);
    void (*join)(const void *values, int64_t columns, int64_t step, void *out, int64_t count);
    /* Places are integers of 32 bits for float and int32_t, and of 64 for others. */
    void (*take)(const void *values, int64_t step, int64_t count, int64_t place, void *most,
                 void *places);
} aten_maxima;

/* Element types, by their places in the tables. */
enum {
    ATEN_MAXIMA_FLOAT,
    ATEN_MAXIMA_DOUBLE,
    ATEN_MAXIMA_UINT8,
    ATEN_MAXIMA_INT8,
    ATEN_MAXIMA_INT16,
    ATEN_MAXIMA_INT32,
    ATEN_MAXIMA_INT64
};

#define TARGET
#define NAME(stem) aten_##stem##_16
#include "maxima_loops.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define NAME(stem) aten_##stem##_32
#include "maxima_loops.h"

#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")))
#define NAME(stem) aten_##stem##_64
#include "maxima_loops.h"
#endif

static const aten_maxima *aten_maxima_of(int type)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (ATEN_MAY_USE_64 && ATEN_MAY_USE(64, "avx512bw"))
        return &aten_maxima_64[type];
    if (ATEN_MAY_USE_32)
        return &aten_maxima_32[type];
#endif
    return &aten_maxima_16[type];
}

#endif
