/* The kernels of convolutions for each level of vector instructions, and the choice of one. */

#ifndef ATEN_CONVOLUTION_LEVELS
#define ATEN_CONVOLUTION_LEVELS

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "_core/base/vector_widths.h"
#include "_core/base/wide_vectors.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define ATEN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATEN_UNROLL _Pragma("GCC unroll 16")
#endif

/* Places from which the lanes of a vector come, up to which there is code for each number. */
#define ATEN_PIECES 4

/* Elements of a line of the cache, for which a tile asks once; and how many rows of a source it asks
   for ahead. */
#define ATEN_LINE 16
#define ATEN_AHEAD 8

/* Planes of which few have room in a cache, because they fall on the same lines. */
#define ATEN_FEW_ALIASES 8

#include "convolution_structures.h"

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define ATEN_WINDOW_SHUFFLES
#endif
#endif

/* Squares of four elements a side, whose lines begin at `from`, `k` further on. */
static inline void aten_window_turn_floats(const float *const *from, int64_t k, float *to,
                                           int64_t to_row)
{
#ifdef ATEN_WINDOW_SHUFFLES
    typedef float four __attribute__((vector_size(16)));
    four line[4], low[2], high[2], turned[4];
    int i;
    for (i = 0; i < 4; i++)
        memcpy(&line[i], from[i] + k, 16);
    for (i = 0; i < 2; i++) {
        low[i] = __builtin_shufflevector(line[2 * i], line[2 * i + 1], 0, 4, 1, 5);
        high[i] = __builtin_shufflevector(line[2 * i], line[2 * i + 1], 2, 6, 3, 7);
    }
    turned[0] = __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5);
    turned[1] = __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7);
    turned[2] = __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5);
    turned[3] = __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7);
    for (i = 0; i < 4; i++)
        memcpy(to + i * to_row, &turned[i], 16);
#else
    int i, j;
    for (i = 0; i < 4; i++)
        for (j = 0; j < 4; j++)
            to[i * to_row + j] = from[j][k + i];
#endif
}

static inline void aten_window_turn_doubles(const double *const *from, int64_t k, double *to,
                                            int64_t to_row)
{
    int i, j;
    for (i = 0; i < 4; i++)
        for (j = 0; j < 4; j++)
            to[i * to_row + j] = from[j][k + i];
}

/* Vectors of 16 bytes, which every processor has. Parts of them go lane by lane. */

#define TARGET
typedef float aten_window_floats __attribute__((vector_size(16)));
typedef double aten_window_doubles __attribute__((vector_size(16)));

typedef struct {
    int low, high;
    unsigned bits;
} aten_lanes;

static inline aten_lanes aten_lanes_between(int64_t low, int64_t high)
{
    aten_lanes lanes = {(int)low, (int)high, ~0u};
    return lanes;
}

static inline aten_lanes aten_lanes_of(unsigned bits, int lanes)
{
    aten_lanes made = {0, lanes, bits};
    return made;
}

static inline aten_window_floats aten_floats_between(const float *from, aten_lanes lanes)
{
    aten_window_floats value = {0};
    int i;
    for (i = lanes.low; i < lanes.high; i++)
        if (lanes.bits >> i & 1)
            value[i] = from[i];
    return value;
}

static inline aten_window_doubles aten_doubles_between(const double *from, aten_lanes lanes)
{
    aten_window_doubles value = {0};
    int i;
    for (i = lanes.low; i < lanes.high; i++)
        if (lanes.bits >> i & 1)
            value[i] = from[i];
    return value;
}

#define LIMITS(suffix, element, lanes)                                                           \
    static inline aten_window_##suffix aten_least_##suffix(aten_window_##suffix limit,           \
                                                           aten_window_##suffix value)           \
    {                                                                                            \
        int i;                                                                                   \
        for (i = 0; i < lanes; i++)                                                              \
            value[i] = limit[i] < value[i] ? limit[i] : value[i];                                \
        return value;                                                                            \
    }                                                                                            \
    static inline aten_window_##suffix aten_most_##suffix(aten_window_##suffix limit,            \
                                                          aten_window_##suffix value)            \
    {                                                                                            \
        int i;                                                                                   \
        for (i = 0; i < lanes; i++)                                                              \
            value[i] = limit[i] > value[i] ? limit[i] : value[i];                                \
        return value;                                                                            \
    }
LIMITS(floats, float, 4)
LIMITS(doubles, double, 2)
#undef LIMITS

#define ELEMENT float
#define INTEGER int32_t
#define LANES 4
#define ROWS 4
#define NAME(stem) aten_window_##stem##_float_16
#define MASK aten_lanes
#define TURN aten_window_turn_floats
#define LANES_OF(bits) aten_lanes_of(bits, 4)
#define MAKE_MASK(low, high) aten_lanes_between(low, high)
#define LOAD_PART(from, mask) aten_floats_between(from, mask)
#define STORE_PART(to, mask, value) memcpy(to, &(value), (mask).high * sizeof(float))
#define MINIMUM(limit, value) aten_least_floats(limit, value)
#define MAXIMUM(limit, value) aten_most_floats(limit, value)
#define CURVED
#include "convolution_kernels.h"

#define ELEMENT double
#define INTEGER int64_t
#define LANES 2
#define ROWS 4
#define NAME(stem) aten_window_##stem##_double_16
#define MASK aten_lanes
#define TURN aten_window_turn_doubles
#define LANES_OF(bits) aten_lanes_of(bits, 2)
#define MAKE_MASK(low, high) aten_lanes_between(low, high)
#define LOAD_PART(from, mask) aten_doubles_between(from, mask)
#define STORE_PART(to, mask, value) memcpy(to, &(value), (mask).high * sizeof(double))
#define MINIMUM(limit, value) aten_least_doubles(limit, value)
#define MAXIMUM(limit, value) aten_most_doubles(limit, value)
#include "convolution_kernels.h"

#undef TARGET

#if defined(__x86_64__)

/* A compiler would keep many elements as scalars and spread each of them over and over, where
   spreading it from memory costs nothing. */
#define ATEN_SPREAD(from, spread) __asm__ volatile("vbroadcastss %1, %0" : "=v"(spread) : "m"(*(from)))
#define ATEN_KEPT(value) __asm__ volatile("" : "+v"(value))
/* What may be another number now, so that there is no loop for each. */
#define ATEN_KEPT_NUMBER(value) __asm__ volatile("" : "+r"(value))

static inline uint32_t aten_window_even_lanes(int64_t low, int64_t high)
{
    return 0x55555555u & (uint32_t)((((uint64_t)1 << (2 * high)) - 1)
                                    & ~(((uint64_t)1 << (2 * low)) - 1));
}

/* Windows into these are the masks of vectors of 32 bytes: lanes below a number. */
static const int32_t aten_window_eight[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t aten_window_four[8] = {-1, -1, -1, -1};

#define TARGET __attribute__((target("avx2,fma")))
#define ATEN_BELOW(table, lanes, count) \
    _mm256_loadu_si256((const __m256i *)((table) + (lanes) - (count)))
#define ATEN_BETWEEN(table, lanes, low, high) \
    _mm256_andnot_si256(ATEN_BELOW(table, lanes, low), ATEN_BELOW(table, lanes, high))

static inline __attribute__((always_inline)) TARGET __m256i aten_window_eight_of(int bits)
{
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits), each), each);
}

static inline __attribute__((always_inline)) TARGET __m256i aten_window_four_of(int bits)
{
    const __m256i each = _mm256_setr_epi64x(1, 2, 4, 8);
    return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits), each), each);
}

/* Stores of lanes below a number, which a mask says: there are processors on which masked stores are
   a dozen times as slow. */
static inline __attribute__((always_inline)) TARGET void
aten_window_store_floats(float *to, __m256i mask, __m256 value)
{
    int bits = _mm256_movemask_ps(_mm256_castsi256_ps(mask));
    __m128 part = _mm256_castps256_ps128(value);
    if (bits == 255) {
        _mm256_storeu_ps(to, value);
        return;
    }
    if (bits & 8) {
        _mm_storeu_ps(to, part);
        part = _mm256_extractf128_ps(value, 1);
        to += 4;
        bits >>= 4;
    }
    if (bits & 2) {
        _mm_storel_pi((__m64 *)to, part);
        part = _mm_movehl_ps(part, part);
        to += 2;
        bits >>= 2;
    }
    if (bits & 1)
        _mm_store_ss(to, part);
}

static inline __attribute__((always_inline)) TARGET void
aten_window_store_doubles(double *to, __m256i mask, __m256d value)
{
    int bits = _mm256_movemask_pd(_mm256_castsi256_pd(mask));
    __m128d part = _mm256_castpd256_pd128(value);
    if (bits & 2) {
        _mm_storeu_pd(to, part);
        part = _mm256_extractf128_pd(value, 1);
        to += 2;
        bits >>= 2;
    }
    if (bits == 3)
        _mm_storeu_pd(to, part);
    else if (bits & 1)
        _mm_store_sd(to, part);
}

static inline __attribute__((always_inline)) TARGET float aten_window_sum_of_eight(__m256 value)
{
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}

static inline __attribute__((always_inline)) TARGET __m256 aten_window_all_eight(const float *from)
{
    __m256 spread;
    ATEN_SPREAD(from, spread);
    return spread;
}

/* Elements that lie two apart, of which the mask says which are there. */
static inline __attribute__((always_inline)) TARGET __m256
aten_window_even_eight(const float *from, uint32_t mask)
{
    const __m256 low = _mm256_maskload_ps(from, aten_window_eight_of((int)(mask & 255)));
    const __m256 high = _mm256_maskload_ps(from + 8, aten_window_eight_of((int)(mask >> 8)));
    const __m256 even = _mm256_shuffle_ps(low, high, 0x88);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(even), 0xd8));
}

/* Lanes from the `n`-th on of two vectors. */
static inline __attribute__((always_inline)) TARGET __m256
aten_window_shifted_eight(__m256 low, __m256 high, const int n)
{
    const __m256i from = _mm256_castps_si256(low), to = _mm256_castps_si256(high);
    const __m256i middle = _mm256_permute2x128_si256(from, to, 0x21);
    switch (n) {
    case 1: return _mm256_castsi256_ps(_mm256_alignr_epi8(middle, from, 4));
    case 2: return _mm256_castsi256_ps(_mm256_alignr_epi8(middle, from, 8));
    case 3: return _mm256_castsi256_ps(_mm256_alignr_epi8(middle, from, 12));
    case 5: return _mm256_castsi256_ps(_mm256_alignr_epi8(to, middle, 4));
    case 6: return _mm256_castsi256_ps(_mm256_alignr_epi8(to, middle, 8));
    case 7: return _mm256_castsi256_ps(_mm256_alignr_epi8(to, middle, 12));
    }
    return _mm256_castsi256_ps(middle);
}

/* The even or the odd lanes of two vectors. */
static inline __attribute__((always_inline)) TARGET __m256
aten_window_parted_eight(const int odd, __m256 low, __m256 high)
{
    const __m256 part = odd ? _mm256_shuffle_ps(low, high, 0xdd) : _mm256_shuffle_ps(low, high, 0x88);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(part), 0xd8));
}

static inline __attribute__((always_inline)) TARGET __m256d
aten_window_even_four(const double *from, uint32_t mask)
{
    const __m256d low = _mm256_maskload_pd(from, aten_window_four_of((int)(mask & 15)));
    const __m256d high = _mm256_maskload_pd(from + 4, aten_window_four_of((int)(mask >> 4)));
    return _mm256_permute4x64_pd(_mm256_unpacklo_pd(low, high), 0xd8);
}

#define ELEMENT float
#define INTEGER int32_t
#define LANES 8
#define ROWS 4
#define NAME(stem) aten_window_##stem##_float_32
#define MASK __m256i
#define TURN aten_window_turn_floats
#define LANES_OF(bits) aten_window_eight_of(bits)
#define MAKE_MASK(low, high) ATEN_BETWEEN(aten_window_eight, 8, low, high)
#define LOAD_PART(from, mask) _mm256_maskload_ps(from, mask)
#define STORE_PART(to, mask, value) aten_window_store_floats(to, mask, value)
#define LOAD_EVEN(from, mask) aten_window_even_eight(from, mask)
#define SUM_OF(value) aten_window_sum_of_eight(value)
#define EVEN_MASK(low, high) aten_window_even_lanes(low, high)
#define LOADED_ONCE(from) aten_window_all_eight(from)
#define SHIFTED(low, high, n) ((NAME(vector))aten_window_shifted_eight(low, high, n))
#define PARTED(odd, low, high) ((NAME(vector))aten_window_parted_eight(odd, low, high))
#define KEPT(value) ATEN_KEPT(value)
#define MINIMUM(limit, value) _mm256_min_ps(limit, value)
#define MAXIMUM(limit, value) _mm256_max_ps(limit, value)
#define CURVED
#include "convolution_kernels.h"

#define ELEMENT double
#define INTEGER int64_t
#define LANES 4
#define ROWS 4
#define NAME(stem) aten_window_##stem##_double_32
#define MASK __m256i
#define TURN aten_window_turn_doubles
#define LANES_OF(bits) aten_window_four_of(bits)
#define MAKE_MASK(low, high) ATEN_BETWEEN(aten_window_four, 4, low, high)
#define LOAD_PART(from, mask) _mm256_maskload_pd(from, mask)
#define STORE_PART(to, mask, value) aten_window_store_doubles(to, mask, value)
#define LOAD_EVEN(from, mask) aten_window_even_four(from, mask)
#define EVEN_MASK(low, high) aten_window_even_lanes(low, high)
#define MINIMUM(limit, value) _mm256_min_pd(limit, value)
#define MAXIMUM(limit, value) _mm256_max_pd(limit, value)
#include "convolution_kernels.h"

#undef TARGET
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,fma,prefer-vector-width=512")))
#define ATEN_BITS(low, high) (((1u << (high)) - 1) & ~((1u << (low)) - 1))

static inline __attribute__((always_inline)) TARGET __m512
aten_window_all_sixteen(const float *from)
{
    __m512 spread;
    ATEN_SPREAD(from, spread);
    return spread;
}

/* Elements that lie two apart, of which the mask says which are there. */
static inline __attribute__((always_inline)) TARGET __m512
aten_window_even_floats(const float *from, uint32_t mask)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                           30);
    return _mm512_permutex2var_ps(_mm512_maskz_loadu_ps((__mmask16)mask, from), even,
                                  _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), from + 16));
}

/* Lanes from the `n`-th on of two vectors. */
static inline __attribute__((always_inline)) TARGET __m512
aten_window_shifted_sixteen(__m512 low, __m512 high, const int n)
{
    const __m512i from = _mm512_castps_si512(low), to = _mm512_castps_si512(high);
    switch (n) {
    case 2: return _mm512_castsi512_ps(_mm512_alignr_epi32(to, from, 2));
    case 3: return _mm512_castsi512_ps(_mm512_alignr_epi32(to, from, 3));
    case 13: return _mm512_castsi512_ps(_mm512_alignr_epi32(to, from, 13));
    case 14: return _mm512_castsi512_ps(_mm512_alignr_epi32(to, from, 14));
    case 15: return _mm512_castsi512_ps(_mm512_alignr_epi32(to, from, 15));
    }
    return _mm512_castsi512_ps(_mm512_alignr_epi32(to, from, 1));
}

/* The even or the odd lanes of two vectors. */
static inline __attribute__((always_inline)) TARGET __m512
aten_window_parted_sixteen(const int odd, __m512 low, __m512 high)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                           30);
    return _mm512_permutex2var_ps(low, _mm512_add_epi32(even, _mm512_set1_epi32(odd)), high);
}

/* Elements that lie four apart, of which the mask says which are there. */
static inline __attribute__((always_inline)) TARGET __m512
aten_window_fourth_floats(const float *from, __mmask16 mask)
{
    const __m512i fourth = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 0, 0, 0, 0, 0, 0, 0);
    __m512 line[4];
    int i;
    ATEN_UNROLL for (i = 0; i < 4; i++) {
        const unsigned bits = (unsigned)mask >> (4 * i);
        const unsigned places = (bits & 1) | (bits & 2) << 3 | (bits & 4) << 6 | (bits & 8) << 9;
        line[i] = _mm512_maskz_loadu_ps((__mmask16)places, from + 16 * i);
    }
    line[0] = _mm512_permutex2var_ps(line[0], fourth, line[1]);
    line[2] = _mm512_permutex2var_ps(line[2], fourth, line[3]);
    return _mm512_shuffle_f32x4(line[0], line[2], 0x44);
}

/* The lower or the upper half of two vectors whose lanes come by turns. */
static inline __attribute__((always_inline)) TARGET __m512
aten_window_zipped(const int half, __m512 even, __m512 odd)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return _mm512_permutex2var_ps(even, _mm512_add_epi32(low, _mm512_set1_epi32(half * 8)), odd);
}

/* A square of sixteen elements a side. */
static inline __attribute__((always_inline)) TARGET void
aten_window_turn_sixteen(const float *const *from, int64_t k, float *to, int64_t to_row)
{
    __m512i line[16], pair[16];
    int i;
    ATEN_UNROLL for (i = 0; i < 16; i++)
        line[i] = _mm512_loadu_si512(from[i] + k);
    ATEN_UNROLL for (i = 0; i < 16; i += 2) {
        pair[i] = _mm512_unpacklo_epi32(line[i], line[i + 1]);
        pair[i + 1] = _mm512_unpackhi_epi32(line[i], line[i + 1]);
    }
    ATEN_UNROLL for (i = 0; i < 16; i += 4) {
        line[i] = _mm512_unpacklo_epi64(pair[i], pair[i + 2]);
        line[i + 1] = _mm512_unpackhi_epi64(pair[i], pair[i + 2]);
        line[i + 2] = _mm512_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        line[i + 3] = _mm512_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
    ATEN_UNROLL for (i = 0; i < 4; i++) {
        pair[i] = _mm512_shuffle_i32x4(line[i], line[i + 4], 0x88);
        pair[i + 4] = _mm512_shuffle_i32x4(line[i], line[i + 4], 0xDD);
        pair[i + 8] = _mm512_shuffle_i32x4(line[i + 8], line[i + 12], 0x88);
        pair[i + 12] = _mm512_shuffle_i32x4(line[i + 8], line[i + 12], 0xDD);
    }
    ATEN_UNROLL for (i = 0; i < 4; i++) {
        float *at = to + i * to_row;
        _mm512_storeu_si512(at, _mm512_shuffle_i32x4(pair[i], pair[i + 8], 0x88));
        _mm512_storeu_si512(at + 4 * to_row,
                            _mm512_shuffle_i32x4(pair[i + 4], pair[i + 12], 0x88));
        _mm512_storeu_si512(at + 8 * to_row, _mm512_shuffle_i32x4(pair[i], pair[i + 8], 0xDD));
        _mm512_storeu_si512(at + 12 * to_row,
                            _mm512_shuffle_i32x4(pair[i + 4], pair[i + 12], 0xDD));
    }
}

static inline __attribute__((always_inline)) TARGET __m512d
aten_window_even_doubles(const double *from, uint32_t mask)
{
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    return _mm512_permutex2var_pd(_mm512_maskz_loadu_pd((__mmask8)mask, from), even,
                                  _mm512_maskz_loadu_pd((__mmask8)(mask >> 8), from + 8));
}

#define ELEMENT float
#define INTEGER int32_t
#define LANES 16
#define ROWS 8
#define NAME(stem) aten_window_##stem##_float_64
#define MASK __mmask16
#define TURN aten_window_turn_floats
#define TURN_SQUARE aten_window_turn_sixteen
#define SQUARE 16
#define LANES_OF(bits) ((__mmask16)(bits))
#define MAKE_MASK(low, high) ((__mmask16)ATEN_BITS(low, high))
#define LOAD_PART(from, mask) _mm512_maskz_loadu_ps(mask, from)
#define STORE_PART(to, mask, value) _mm512_mask_storeu_ps(to, mask, value)
#define MINIMUM(limit, value) _mm512_min_ps(limit, value)
#define MAXIMUM(limit, value) _mm512_max_ps(limit, value)
#define CURVED
#define LOAD_EVEN(from, mask) aten_window_even_floats(from, mask)
#define LOAD_FOURTH(from, mask) aten_window_fourth_floats(from, mask)
#define LOADED_ONCE(from) aten_window_all_sixteen(from)
#define SHIFTED(low, high, n) ((NAME(vector))aten_window_shifted_sixteen(low, high, n))
#define PARTED(odd, low, high) ((NAME(vector))aten_window_parted_sixteen(odd, low, high))
#define KEPT(value) ATEN_KEPT(value)
#define ZIPPED(half, even, odd) aten_window_zipped(half, even, odd)
#define SCALED(value, power) ((NAME(vector))_mm512_scalef_ps(value, power))
#define PERMUTED(order, low, high)                                                               \
    ((NAME(vector))_mm512_permutex2var_ps(low, (__m512i)(order), high))
/* Quiet and signalling NaN, both infinities. */
#define NOT_FINITE(mask, value) _mm512_mask_fpclass_ps_mask(mask, value, 0x99)
#define EVEN_MASK(low, high) aten_window_even_lanes(low, high)
#include "convolution_kernels.h"

#define ELEMENT double
#define INTEGER int64_t
#define LANES 8
#define ROWS 8
#define NAME(stem) aten_window_##stem##_double_64
#define MASK __mmask8
#define TURN aten_window_turn_doubles
#define LANES_OF(bits) ((__mmask8)(bits))
#define MAKE_MASK(low, high) ((__mmask8)ATEN_BITS(low, high))
#define LOAD_PART(from, mask) _mm512_maskz_loadu_pd(mask, from)
#define STORE_PART(to, mask, value) _mm512_mask_storeu_pd(to, mask, value)
#define MINIMUM(limit, value) _mm512_min_pd(limit, value)
#define MAXIMUM(limit, value) _mm512_max_pd(limit, value)
#define LOAD_EVEN(from, mask) aten_window_even_doubles(from, mask)
#define EVEN_MASK(low, high) aten_window_even_lanes(low, high)
#include "convolution_kernels.h"

#undef TARGET
#define TARGET                                                                                   \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512bf16,fma,"                   \
                          "prefer-vector-width=512")))

#define ELEMENT float
#define INTEGER int32_t
#define LANES 16
#define ROWS 8
#define NAME(stem) aten_window_##stem##_brain_64
#define PAIRED
#define ADD_PRODUCT(sum, factor, right)                                                          \
    ADD_PRODUCTS(sum, _mm512_set1_ps(factor), right)
#define ADD_PRODUCTS(sum, left, right)                                                           \
    (NAME(vector))_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(left), (__m512bh)(right))
#define MASK __mmask16
#define MAKE_MASK(low, high) ((__mmask16)ATEN_BITS(low, high))
#define LOAD_PART(from, mask) _mm512_maskz_loadu_ps(mask, from)
#define STORE_PART(to, mask, value) _mm512_mask_storeu_ps(to, mask, value)
#define MINIMUM(limit, value) _mm512_min_ps(limit, value)
#define MAXIMUM(limit, value) _mm512_max_ps(limit, value)
#include "convolution_kernels.h"

#undef TARGET
#endif

/* The widest vectors that the processor has, in bytes. */
static int aten_widest_window_vectors(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (ATEN_MAY_USE_64)
        return 64;
    if (ATEN_MAY_USE_32)
        return 32;
#endif
    return 16;
}

/* Whether there are kernels whose products take pairs of bfloat16, and whose `copy_lines` makes sums
   elements. Others are those of float32, for which pairs are what fills a lane. */
static int aten_make_pair_kernels(aten_window_kernels *made)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (aten_widest_window_vectors() == 64 && ATEN_HAS_FAST_BRAIN_DOTS
        && ATEN_MAY_USE(64, "avx512bw")) {
        *made = aten_window_kernels_float_64;
        made->multiply = aten_window_multiply_brain_64;
        made->dots = aten_window_dots_brain_64;
        made->copy_lines = aten_window_narrow_lines_brain_64;
        return 1;
    }
#endif
    return 0;
}

static void aten_pair_lines(const void *source, int64_t channels, int64_t count, int64_t begin,
                            int64_t end, void *target)
{
#if defined(__x86_64__)
    aten_window_pair_lines_brain_64(source, channels, count, begin, end, target);
#endif
}

static const aten_window_kernels *aten_window_kernels_of(int is_double, int vector_bytes)
{
#if defined(__x86_64__)
    if (vector_bytes == 64)
        return is_double ? &aten_window_kernels_double_64 : &aten_window_kernels_float_64;
    if (vector_bytes == 32)
        return is_double ? &aten_window_kernels_double_32 : &aten_window_kernels_float_32;
#endif
    return is_double ? &aten_window_kernels_double_16 : &aten_window_kernels_float_16;
}

#endif
