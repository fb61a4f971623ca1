/* Lines of elements weighed and added, for each level of vector instructions; no product is fused with a
   sum, so that the bits are the same. */

#ifndef ATEN_WEIGHING_LEVELS
#define ATEN_WEIGHING_LEVELS

#include <stdint.h>

#include "_core/base/vector_widths.h"

/* `out` is the sum of two weighed lines, or of one and itself. */
#define ATEN_WEIGHING_OF(target, level, type)                                                      \
    static target void aten_weigh_two_##type##_##level(                                            \
        const type *first, type weight, const type *second, type other, type *restrict out,        \
        int64_t count)                                                                             \
    {                                                                                              \
        int64_t i;                                                                                 \
        for (i = 0; i < count; i++)                                                                \
            out[i] = weight * first[i] + other * second[i];                                        \
    }                                                                                              \
    static target void aten_weigh_more_##type##_##level(const type *line, type weight,             \
                                                        type *restrict out, int64_t count)         \
    {                                                                                              \
        int64_t i;                                                                                 \
        for (i = 0; i < count; i++)                                                                \
            out[i] += weight * line[i];                                                            \
    }
#define ATEN_WEIGHINGS_OF(target, level)                                                           \
    ATEN_WEIGHING_OF(target, level, float)                                                         \
    ATEN_WEIGHING_OF(target, level, double)

ATEN_WEIGHINGS_OF(, 16)
#if defined(__x86_64__)
ATEN_WEIGHINGS_OF(__attribute__((target("avx2"))), 32)
ATEN_WEIGHINGS_OF(__attribute__((target("avx512f,prefer-vector-width=512"))), 64)
#define ATEN_WEIGH_BY_LEVEL(name, ...)                                                             \
    if (ATEN_MAY_USE(64, "avx512f"))                                                               \
        aten_weigh_##name##_64(__VA_ARGS__);                                                       \
    else if (ATEN_MAY_USE(32, "avx2"))                                                             \
        aten_weigh_##name##_32(__VA_ARGS__);                                                       \
    else                                                                                           \
        aten_weigh_##name##_16(__VA_ARGS__);
#else
#define ATEN_WEIGH_BY_LEVEL(name, ...) aten_weigh_##name##_16(__VA_ARGS__);
#endif

#define ATEN_WEIGHING(type)                                                                        \
    static inline void aten_weigh_two_##type(const type *first, type weight, const type *second,   \
                                             type other, type *out, int64_t count)                 \
    {                                                                                              \
        ATEN_WEIGH_BY_LEVEL(two_##type, first, weight, second, other, out, count)                  \
    }                                                                                              \
    static inline void aten_weigh_more_##type(const type *line, type weight, type *out,            \
                                              int64_t count)                                       \
    {                                                                                              \
        ATEN_WEIGH_BY_LEVEL(more_##type, line, weight, out, count)                                 \
    }

ATEN_WEIGHING(float)
ATEN_WEIGHING(double)

#undef ATEN_WEIGHING
#undef ATEN_WEIGHING_OF
#undef ATEN_WEIGHINGS_OF
#undef ATEN_WEIGH_BY_LEVEL

#endif
