/* Runs of neighbouring numbers of half types and of float, one type made the other, and runs added.

   A compiler vectorizes the loops for each level of instructions; every element is what `halves.h`
   makes of it. */

#ifndef ATEN_HALF_RUNS
#define ATEN_HALF_RUNS

#include <stdint.h>

#include "_core/base/vector_widths.h"
#include "halves.h"

#define ATEN_HALF_RUN(target, level, name, given, made)                                            \
    static target void aten_##name##s_##level(const given *from, made *to, int64_t count)          \
    {                                                                                              \
        int64_t i;                                                                                 \
        for (i = 0; i < count; i++)                                                                \
            to[i] = aten_##name(from[i]);                                                          \
    }
#define ATEN_HALF_SUM(target, level, name, half)                                                   \
    static target void aten_##name##s_##level(const uint16_t *from, uint16_t *to, int64_t count)   \
    {                                                                                              \
        int64_t i;                                                                                 \
        for (i = 0; i < count; i++)                                                                \
            to[i] = aten_round_##half(aten_widen_##half(to[i]) + aten_widen_##half(from[i]));      \
    }
#define ATEN_HALF_RUNS_OF(target, level)                                                           \
    ATEN_HALF_RUN(target, level, widen_brain, uint16_t, float)                                     \
    ATEN_HALF_RUN(target, level, round_brain, float, uint16_t)                                     \
    ATEN_HALF_RUN(target, level, widen_half, uint16_t, float)                                      \
    ATEN_HALF_RUN(target, level, round_half, float, uint16_t)                                      \
    ATEN_HALF_SUM(target, level, add_brain, brain)                                                 \
    ATEN_HALF_SUM(target, level, add_half, half)

ATEN_HALF_RUNS_OF(, 16)
#if defined(__x86_64__)
ATEN_HALF_RUNS_OF(__attribute__((target("avx2"))), 32)
ATEN_HALF_RUNS_OF(
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512"))), 64)
#define ATEN_HALF_RUN_BY_LEVEL(name)                                                               \
    if (ATEN_MAY_USE_64 && ATEN_MAY_USE(64, "avx512bw"))                                           \
        aten_##name##s_64(from, to, count);                                                        \
    else if (ATEN_MAY_USE_32)                                                                      \
        aten_##name##s_32(from, to, count);                                                        \
    else                                                                                           \
        aten_##name##s_16(from, to, count);
#else
#define ATEN_HALF_RUN_BY_LEVEL(name) aten_##name##s_16(from, to, count);
#endif

#define ATEN_HALF_RUN_OF(function, name, given, made)                                              \
    static inline void function(const given *from, made *to, int64_t count)                        \
    {                                                                                              \
        ATEN_HALF_RUN_BY_LEVEL(name)                                                               \
    }

ATEN_HALF_RUN_OF(aten_widen_brains_of, widen_brain, uint16_t, float)
ATEN_HALF_RUN_OF(aten_round_brains_of, round_brain, float, uint16_t)
ATEN_HALF_RUN_OF(aten_widen_halves_of, widen_half, uint16_t, float)
ATEN_HALF_RUN_OF(aten_round_halves_of, round_half, float, uint16_t)
ATEN_HALF_RUN_OF(aten_add_brains_to, add_brain, uint16_t, uint16_t)
ATEN_HALF_RUN_OF(aten_add_halves_to, add_half, uint16_t, uint16_t)

#undef ATEN_HALF_RUN
#undef ATEN_HALF_SUM
#undef ATEN_HALF_RUNS_OF
#undef ATEN_HALF_RUN_BY_LEVEL
#undef ATEN_HALF_RUN_OF

#endif
