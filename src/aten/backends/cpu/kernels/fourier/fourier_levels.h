/* The passes of Fourier transforms for each type and level of vector instructions. */

#ifndef ATEN_FOURIER_LEVELS
#define ATEN_FOURIER_LEVELS

#include <stdint.h>

#include "_core/base/vector_widths.h"
#include "fourier_structures.h"

/* Two vectors' numbers by turns: those of the lower halves, and of the upper ones. */
#define ATEN_LOW_2(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ATEN_HIGH_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#define ATEN_LOW_4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ATEN_HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define ATEN_LOW_8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ATEN_HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define ATEN_LOW_16(a, b)                                                                          \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ATEN_HIGH_16(a, b)                                                                         \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* The even and the odd ones of two vectors' numbers; and a vector backwards. */
#define ATEN_EVEN_2(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ATEN_ODD_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#define ATEN_BACK_2(a) __builtin_shufflevector(a, a, 1, 0)
#define ATEN_EVEN_4(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ATEN_ODD_4(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define ATEN_BACK_4(a) __builtin_shufflevector(a, a, 3, 2, 1, 0)
#define ATEN_EVEN_8(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ATEN_ODD_8(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define ATEN_BACK_8(a) __builtin_shufflevector(a, a, 7, 6, 5, 4, 3, 2, 1, 0)
#define ATEN_EVEN_16(a, b)                                                                         \
    __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ATEN_ODD_16(a, b)                                                                          \
    __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define ATEN_BACK_16(a)                                                                            \
    __builtin_shufflevector(a, a, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

/* Two halves as one vector; the lower halves of two vectors, the upper ones; and half a vector. */
#define ATEN_CONCATENATED_8(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define ATEN_LOWER_HALVES_8(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define ATEN_UPPER_HALVES_8(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define ATEN_LOWER_HALF_8(a) __builtin_shufflevector(a, a, 0, 1, 2, 3)
#define ATEN_UPPER_HALF_8(a) __builtin_shufflevector(a, a, 4, 5, 6, 7)
#define ATEN_CONCATENATED_16(a, b)                                                                 \
    __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define ATEN_LOWER_HALVES_16(a, b)                                                                 \
    __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define ATEN_UPPER_HALVES_16(a, b)                                                                 \
    __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
#define ATEN_LOWER_HALF_16(a) __builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7)
#define ATEN_UPPER_HALF_16(a) __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15)

#define TARGET
#define REAL float
#define NAME(stem) aten_fourier_##stem##_float_16
#define LANES 4
#define LOW ATEN_LOW_4
#define HIGH ATEN_HIGH_4
#define EVEN ATEN_EVEN_4
#define ODD ATEN_ODD_4
#define BACK ATEN_BACK_4
#include "fourier_passes.h"
#define REAL double
#define NAME(stem) aten_fourier_##stem##_double_16
#define LANES 2
#define LOW ATEN_LOW_2
#define HIGH ATEN_HIGH_2
#define EVEN ATEN_EVEN_2
#define ODD ATEN_ODD_2
#define BACK ATEN_BACK_2
#include "fourier_passes.h"
#undef TARGET

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define REAL float
#define NAME(stem) aten_fourier_##stem##_float_32
#define LANES 8
#define LOW ATEN_LOW_8
#define HIGH ATEN_HIGH_8
#define EVEN ATEN_EVEN_8
#define ODD ATEN_ODD_8
#define BACK ATEN_BACK_8
#define CONCATENATED ATEN_CONCATENATED_8
#define LOWER_HALVES ATEN_LOWER_HALVES_8
#define UPPER_HALVES ATEN_UPPER_HALVES_8
#define LOWER_HALF ATEN_LOWER_HALF_8
#define UPPER_HALF ATEN_UPPER_HALF_8
#include "fourier_passes.h"
#define REAL double
#define NAME(stem) aten_fourier_##stem##_double_32
#define LANES 4
#define LOW ATEN_LOW_4
#define HIGH ATEN_HIGH_4
#define EVEN ATEN_EVEN_4
#define ODD ATEN_ODD_4
#define BACK ATEN_BACK_4
#include "fourier_passes.h"
#undef TARGET
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,prefer-vector-width=512")))
#define REAL float
#define NAME(stem) aten_fourier_##stem##_float_64
#define LANES 16
#define LOW ATEN_LOW_16
#define HIGH ATEN_HIGH_16
#define EVEN ATEN_EVEN_16
#define ODD ATEN_ODD_16
#define BACK ATEN_BACK_16
#define CONCATENATED ATEN_CONCATENATED_16
#define LOWER_HALVES ATEN_LOWER_HALVES_16
#define UPPER_HALVES ATEN_UPPER_HALVES_16
#define LOWER_HALF ATEN_LOWER_HALF_16
#define UPPER_HALF ATEN_UPPER_HALF_16
#include "fourier_passes.h"
#define REAL double
#define NAME(stem) aten_fourier_##stem##_double_64
#define LANES 8
#define LOW ATEN_LOW_8
#define HIGH ATEN_HIGH_8
#define EVEN ATEN_EVEN_8
#define ODD ATEN_ODD_8
#define BACK ATEN_BACK_8
#define CONCATENATED ATEN_CONCATENATED_8
#define LOWER_HALVES ATEN_LOWER_HALVES_8
#define UPPER_HALVES ATEN_UPPER_HALVES_8
#define LOWER_HALF ATEN_LOWER_HALF_8
#define UPPER_HALF ATEN_UPPER_HALF_8
#include "fourier_passes.h"
#undef TARGET
#define ATEN_CALL_LEVEL(stem, type, ...) ATEN_CALL_LEVEL_OF(stem, type, __VA_ARGS__)
#define ATEN_CALL_LEVEL_OF(stem, type, ...)                                                        \
    return aten_has_wide() ? aten_fourier_##stem##_##type##_64(__VA_ARGS__)                        \
           : ATEN_MAY_USE(32, "avx2") ? aten_fourier_##stem##_##type##_32(__VA_ARGS__)       \
                                            : aten_fourier_##stem##_##type##_16(__VA_ARGS__);

static int aten_has_wide(void)
{
    return ATEN_MAY_USE_64;
}
#else
#define ATEN_CALL_LEVEL(stem, type, ...) ATEN_CALL_LEVEL_OF(stem, type, __VA_ARGS__)
#define ATEN_CALL_LEVEL_OF(stem, type, ...) return aten_fourier_##stem##_##type##_16(__VA_ARGS__);
#endif

/* How many REALs a vector has. */
static int aten_lanes(int wide)
{
#if defined(__x86_64__)
    if (aten_has_wide())
        return wide ? 8 : 16;
    if (ATEN_MAY_USE(32, "avx2"))
        return wide ? 4 : 8;
#endif
    return wide ? 2 : 4;
}

#define REAL float
#define CALLED(stem) aten_##stem##_floats
#include "fourier_calls.h"
#define REAL double
#define CALLED(stem) aten_##stem##_doubles
#include "fourier_calls.h"

#endif
