/* Windows of pixels for each level of vector instructions, and the choice of one. */

#ifndef ATEN_PIXEL_LEVELS
#define ATEN_PIXEL_LEVELS

#include <stdint.h>

#include "_core/base/vector_widths.h"

typedef struct {
    void (*find)(const void *const *lines, const int64_t *places, int64_t count, void *out,
                 int64_t *found, int64_t columns);
    void (*average_floats)(const void *const *lines, int64_t count, float divisor, void *out,
                           int64_t columns);
    void (*average_doubles)(const void *const *lines, int64_t count, double divisor, void *out,
                            int64_t columns);
} aten_pixels;

#define TARGET
#define BYTES 16
#define ELEMENT float
#define INTEGER int32_t
#define NAME(stem) aten_pixel_##stem##_floats_16
#include "pixel_loops.h"

#define TARGET
#define BYTES 16
#define ELEMENT double
#define INTEGER int64_t
#define NAME(stem) aten_pixel_##stem##_doubles_16
#include "pixel_loops.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define BYTES 32
#define ELEMENT float
#define INTEGER int32_t
#define NAME(stem) aten_pixel_##stem##_floats_32
#include "pixel_loops.h"

#define TARGET __attribute__((target("avx2")))
#define BYTES 32
#define ELEMENT double
#define INTEGER int64_t
#define NAME(stem) aten_pixel_##stem##_doubles_32
#include "pixel_loops.h"

#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,prefer-vector-width=512")))
#define BYTES 64
#define ELEMENT float
#define INTEGER int32_t
#define NAME(stem) aten_pixel_##stem##_floats_64
#include "pixel_loops.h"

#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,prefer-vector-width=512")))
#define BYTES 64
#define ELEMENT double
#define INTEGER int64_t
#define NAME(stem) aten_pixel_##stem##_doubles_64
#include "pixel_loops.h"
#endif

#define OF_LEVEL(bytes)                                                                            \
    {{aten_pixel_find_floats_##bytes, aten_pixel_average_floats_##bytes, 0},                       \
     {aten_pixel_find_doubles_##bytes, 0, aten_pixel_average_doubles_##bytes}}

/* Those of float or of double. */
static const aten_pixels *aten_pixels_of(int is_double)
{
    static const aten_pixels levels[][2] = {
        OF_LEVEL(16),
#if defined(__x86_64__)
        OF_LEVEL(32),
        OF_LEVEL(64),
#endif
    };
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (ATEN_MAY_USE_64)
        return &levels[2][is_double];
    if (ATEN_MAY_USE_32)
        return &levels[1][is_double];
#endif
    return &levels[0][is_double];
}

#undef OF_LEVEL

#endif
