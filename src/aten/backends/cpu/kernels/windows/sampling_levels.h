/* Points of images and what lies around them, for each type and level of vector instructions. */

#ifndef ATEN_SAMPLING_LEVELS
#define ATEN_SAMPLING_LEVELS

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "_core/base/vector_widths.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Points looked at together. */
#define ATEN_RUN 256

/* Of each point the four elements around it, as two pairs in neighbouring rows: where the pairs
   begin in the plane, and each element's weight, and bits that are all set where it is there. */
#define ATEN_QUADS(type, mask)                                                                     \
    typedef struct {                                                                               \
        int32_t upper[ATEN_RUN], lower[ATEN_RUN];                                                  \
        type weights[4][ATEN_RUN];                                                                 \
        mask present[4][ATEN_RUN];                                                                 \
    } aten_quads_##type;                                                                           \
    typedef struct {                                                                               \
        int32_t places[ATEN_RUN];                                                                  \
        mask present[ATEN_RUN];                                                                    \
    } aten_dots_##type;

ATEN_QUADS(float, int32_t)
ATEN_QUADS(double, int64_t)

/* Some elements, and bits of each, wherever they lie. */
typedef float aten_some_floats __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t aten_float_bits __attribute__((vector_size(16), aligned(4), may_alias));
typedef double aten_some_doubles __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t aten_double_bits __attribute__((vector_size(16), aligned(8), may_alias));

/* The firsts, and the seconds, of the pairs at some places. */
#if defined(__clang__)
#define ATEN_EVEN(one, other) __builtin_shufflevector(one, other, 0, 2, 4, 6)
#define ATEN_ODD(one, other) __builtin_shufflevector(one, other, 1, 3, 5, 7)
#else
#define ATEN_EVEN(one, other) __builtin_shuffle(one, other, (aten_float_bits){0, 2, 4, 6})
#define ATEN_ODD(one, other) __builtin_shuffle(one, other, (aten_float_bits){1, 3, 5, 7})
#endif

static inline double aten_pair_of_floats(const float *place)
{
    double pair;
    memcpy(&pair, place, sizeof pair);
    return pair;
}

#define ATEN_READ_float(plane, places, firsts, seconds)                                            \
    {                                                                                              \
        aten_some_doubles one = {aten_pair_of_floats(plane + (places)[0]),                         \
                                 aten_pair_of_floats(plane + (places)[1])};                        \
        aten_some_doubles other = {aten_pair_of_floats(plane + (places)[2]),                       \
                                   aten_pair_of_floats(plane + (places)[3])};                      \
        firsts = ATEN_EVEN((aten_some_floats)one, (aten_some_floats)other);                        \
        seconds = ATEN_ODD((aten_some_floats)one, (aten_some_floats)other);                        \
    }
#define ATEN_READ_double(plane, places, firsts, seconds)                                           \
    {                                                                                              \
        aten_some_doubles one = *(const aten_some_doubles *)(plane + (places)[0]);                 \
        aten_some_doubles other = *(const aten_some_doubles *)(plane + (places)[1]);               \
        firsts = (aten_some_doubles){one[0], other[0]};                                            \
        seconds = (aten_some_doubles){one[1], other[1]};                                           \
    }

#define TARGET
#define REAL float
#define MASK int32_t
#define FLOOR floorf
#define NEAREST nearbyintf
#define SOME aten_some_floats
#define BITS aten_float_bits
#define READ ATEN_READ_float
#define QUADS aten_quads_float
#define DOTS aten_dots_float
#define NAME(stem) aten_##stem##_float_16
#include "sampling_quads.h"
#define REAL double
#define MASK int64_t
#define FLOOR floor
#define NEAREST nearbyint
#define SOME aten_some_doubles
#define BITS aten_double_bits
#define READ ATEN_READ_double
#define QUADS aten_quads_double
#define DOTS aten_dots_double
#define NAME(stem) aten_##stem##_double_16
#include "sampling_quads.h"
#undef TARGET

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define REAL float
#define MASK int32_t
#define FLOOR floorf
#define NEAREST nearbyintf
#define SOME aten_some_floats
#define BITS aten_float_bits
#define READ ATEN_READ_float
#define QUADS aten_quads_float
#define DOTS aten_dots_float
#define NAME(stem) aten_##stem##_float_32
#include "sampling_quads.h"
#define REAL double
#define MASK int64_t
#define FLOOR floor
#define NEAREST nearbyint
#define SOME aten_some_doubles
#define BITS aten_double_bits
#define READ ATEN_READ_double
#define QUADS aten_quads_double
#define DOTS aten_dots_double
#define NAME(stem) aten_##stem##_double_32
#include "sampling_quads.h"
#undef TARGET
#define ATEN_SAMPLED(stem, type, ...)                                                              \
    if (ATEN_MAY_USE(32, "avx2"))                                                                  \
        aten_##stem##_##type##_32(__VA_ARGS__);                                                    \
    else                                                                                           \
        aten_##stem##_##type##_16(__VA_ARGS__);
#else
#define ATEN_SAMPLED(stem, type, ...) aten_##stem##_##type##_16(__VA_ARGS__);
#endif

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void aten_gather_dots_float(const float *plane,
                                                                   const aten_dots_float *dots,
                                                                   int64_t count, float *out)
{
    int64_t index = 0;
    for (; index + 8 <= count; index += 8) {
        const __m256i places = _mm256_loadu_si256((const __m256i *)(dots->places + index));
        const __m256 present = _mm256_loadu_ps((const float *)(dots->present + index));
        _mm256_storeu_ps(out + index, _mm256_and_ps(_mm256_i32gather_ps(plane, places, 4), present));
    }
    for (; index < count; index++)
        out[index] = dots->present[index] ? plane[dots->places[index]] : 0;
}
#endif

static inline void aten_read_dots_float(const float *plane, const aten_dots_float *dots,
                                        int64_t count, float *out)
{
#if defined(__x86_64__)
    if (ATEN_HAS_FAST_GATHERS) {
        aten_gather_dots_float(plane, dots, count, out);
        return;
    }
#endif
    aten_read_dots_float_16(plane, dots, count, out);
}

/* Of wide elements gathers read one at a time. */
static inline void aten_read_dots_double(const double *plane, const aten_dots_double *dots,
                                         int64_t count, double *out)
{
    aten_read_dots_double_16(plane, dots, count, out);
}

#define ATEN_SAMPLING(type)                                                                        \
    static inline void aten_find_quads_##type(const type *x, const type *y, int64_t count,         \
                                              int32_t width, int32_t height, int32_t row,          \
                                              aten_quads_##type *quads)                            \
    {                                                                                              \
        ATEN_SAMPLED(find_quads, type, x, y, count, width, height, row, quads)                     \
    }                                                                                              \
    static inline void aten_sum_quads_##type(const type *plane, const aten_quads_##type *quads,    \
                                             int64_t count, type *out)                             \
    {                                                                                              \
        ATEN_SAMPLED(sum_quads, type, plane, quads, count, out)                                    \
    }                                                                                              \
    static inline void aten_find_dots_##type(const type *x, const type *y, int64_t count,          \
                                             int32_t width, int32_t height, int32_t row,           \
                                             int32_t column, aten_dots_##type *dots)               \
    {                                                                                              \
        ATEN_SAMPLED(find_dots, type, x, y, count, width, height, row, column, dots)               \
    }

ATEN_SAMPLING(float)
ATEN_SAMPLING(double)

#endif
