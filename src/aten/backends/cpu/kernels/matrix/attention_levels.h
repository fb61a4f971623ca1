/* Rows of attention for each level of vector instructions, and the choice of one. */

#ifndef ATEN_ATTENTION_LEVELS
#define ATEN_ATTENTION_LEVELS

#include <stdint.h>
#include <string.h>

#include "matrix_levels.h"

/* Values as they lie: `count` rows of `width` elements, a whole number of vectors, `step` bytes apart.
   Each row of results, `out_row` floats apart, is the sum of these by the weights of a row. */
typedef struct {
    const float *weights;
    int64_t weights_row;
    const char *values;
    int64_t step, count, width;
    float *out;
    int64_t out_row;
} aten_attention_values;

/* What is added to a row of scores, or which of them are seen; or neither. Numbers `ahead` of it are on
   their way to the cache while it is read. */
typedef struct {
    const float *added;
    const uint8_t *allowed;
    int64_t ahead;
} aten_attention_mask;

/* Some of up to four rows, how many of them says the result. */
typedef int64_t (*aten_attention_sum)(const aten_attention_values *work, int64_t rows);

/* Rows of values that are on their way to the cache while one is read. */
#define ATEN_VALUES_AHEAD 64

#define ATEN_LOG2_E 1.44269504088896341f

typedef struct {
    int lanes;
    float (*look)(float *row, int64_t count, float scale, const aten_attention_mask *mask,
                  float *most);
    void (*weigh)(float *row, int64_t count, int64_t room, float scale,
                  const aten_attention_mask *mask, float *largest, float *total);
    void (*weigh_again)(float *row, int64_t count, int64_t room, float logarithm);
    void (*go_back)(const float *weights, float *gradients, int64_t count, float base, float scale);
    void (*join)(int64_t rows, int64_t lanes, float *largest, float *totals, float *sums,
                 const float *next_largest, const float *next_totals, const float *gained);
    void (*scale_to)(float *out, const float *given, int64_t count, float factor);
    void (*mask)(float *row, int64_t count, float scale, const aten_attention_mask *mask);
    aten_attention_sum sum_singles, sum_brains, sum_halves;     /* or NULL */
} aten_attention_rows;

#define TARGET
#define LANES 4
#define NAME(stem) aten_attention_##stem##_16
#include "attention_rows.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma,f16c")))
#define LANES 8
#define NAME(stem) aten_attention_##stem##_32
#define LARGER(first, second) _mm256_max_ps((__m256)(first), (__m256)(second))
#define WIDEN_HALVES(from) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from)))
#include "attention_rows.h"

#define TARGET                                                                                   \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")))
#define LANES 16
#define NAME(stem) aten_attention_##stem##_64
#define LOAD_PART(from, count) _mm512_maskz_loadu_ps((__mmask16)((1u << (count)) - 1), from)
#define LARGER(first, second) _mm512_max_ps((__m512)(first), (__m512)(second))
#define WIDEN_HALVES(from) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from)))
#define SUM_OF(vector) _mm512_reduce_add_ps((__m512)(vector))
#define MOST_OF(vector) _mm512_reduce_max_ps((__m512)(vector))
#define TIMES_POWERS(x, k, least)                                                                \
    _mm512_maskz_scalef_ps(                                                                      \
        _mm512_cmp_ps_mask((__m512)(k), _mm512_set1_ps(least), _CMP_NLT_UQ), (__m512)(x), (__m512)(k))
#include "attention_rows.h"
#undef TIMES_POWERS
#endif

static const aten_attention_rows *aten_attention_rows_of(int vector_bytes)
{
#if defined(__x86_64__)
    if (vector_bytes == 64)
        return &aten_attention_rows_64;
    if (vector_bytes == 32)
        return &aten_attention_rows_32;
#endif
    return &aten_attention_rows_16;
}

#endif
