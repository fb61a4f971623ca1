/* The kernels of matrix products for each level of vector instructions, and the choice of one. */

#ifndef ATEN_MATRIX_LEVELS
#define ATEN_MATRIX_LEVELS

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_core/base/vector_widths.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define ATEN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATEN_UNROLL _Pragma("GCC unroll 16")
#endif

/* A value that is rounded here: compilers join a product with either of the additions around it, and
   not the same one everywhere. */
#if defined(__x86_64__)
#define ATEN_ROUND(value) __asm__("" : "+v"(value))
#elif defined(__aarch64__)
#define ATEN_ROUND(value) __asm__("" : "+w"(value))
#else
#define ATEN_ROUND(value) ((void)0)
#endif

/* The stretch of the depth that is summed in order before it is added to what was before it. It is
   the same for all products, and so are the bits of a row. */
#define ATEN_STRETCH 128

/* Rows up to which the right operand is read as it lies in memory. */
#define ATEN_FEW_ROWS 16

/* Bytes of the sums that few rows keep of a stretch that is not done. */
#define ATEN_KEPT (1 << 15)

/* Bytes of a right operand that stay in the second cache while dots are taken with them. */
#define ATEN_DOTTED (1 << 18)

/* Rows of a right operand that a single row of the left one reads side by side. */
#define ATEN_STREAMS 8

/* Steps of the depth for which a tile fetches one row of memory that is needed later. All rows at
   once would hold up its operands. */
#define ATEN_FETCH_STEPS 12
/* What a tile fetches: results and what lies ahead, or just that. */
enum { ATEN_WITH_RESULTS = 1, ATEN_ONLY_AHEAD };

/* Rows of the left operand are copied a line of the cache further apart than they are long: where
   the distance is a power of two, they would push each other out. */
#define ATEN_GAP 64

/* Bytes from one row of the left operand to the next from which rows are copied: each lies on a
   page of its own, and all of them share few places of the caches. */
#define ATEN_FAR 4096

/* Elements of a result that does not stay in the nearest cache. */
#define ATEN_LARGE (1 << 14)

typedef struct {
    /* out = alpha * left @ right + beta * addend, in elements. `columns` of neighbours; the
       addend may be absent. With `fetch`, a largest tile also fetches `ahead_rows` rows at
       `ahead`, as wide as it is, if there is time. A strip's tiles share its rows ahead, or, where
       `ahead_column` is not zero, as many columns that lie so far from each other. */
    int fetch, fetches_results;
    int64_t columns, depth;
    const void *left, *right, *addend, *ahead;
    void *out;
    int64_t left_row, left_step, right_step, addend_row, out_row;
    int64_t ahead_row, ahead_rows, ahead_column;
    double alpha, beta;
    /* Sums to go on from, if there are some, and where sums are kept instead of being results. */
    const void *start;
    void *keep;
    int64_t kept_row;
    /* So many sums that were kept, a largest tile apart, to which these are added, one after the
       other. */
    const void *kept;
    int merges;
} aten_tile;

typedef struct {
    /* The steps of the depth that dots are taken over: from `begin`, with what was kept of those
       before, to `end`. Sums are kept unless that is the end of the depth. */
    int64_t begin, end;
    void *kept;
} aten_dotted;

typedef struct {
    /* The same for a block of any size, summed over so many `steps` of the depth at a time, an even
       part of ATEN_STRETCH, in strips of `width` columns, at most three vectors. ATEN_STREAMS
       steps are those of a single row whose right operand is read where it lies, from end to end.
       Right operands whose columns do not step by one must be packed. `fetch` asks for results and right operands ahead
       of their use: they come from far. Where dots are asked for, left_step and right_step are
       one. */
    int64_t rows, columns, depth, width, steps;
    int pack, fetch;
    const void *left, *right, *addend;
    void *out;
    int64_t left_row, left_step, right_step, right_column;
    int64_t addend_row, addend_column, out_row, out_column;  /* columns of dots step as given */
    double alpha, beta;
} aten_block;

typedef struct {
    /* So many steps from `begin`, in the stretch that begins at `stretch` and `goes_on` behind them.
       Its sums so far are in `sums`. */
    int64_t begin, count, stretch, sums_row;
    int goes_on;
    void *sums;
} aten_steps;

typedef struct {
    int lanes, rows;
    void (*multiply)(const aten_block *block);
    void (*multiply_strips)(const aten_block *block);
    void (*turn)(const void *source, int64_t source_row, int64_t rows, int64_t columns,
                 void *target, int64_t target_row);
    void (*dots)(const aten_block *block);
    void (*dot)(const aten_block *block);
} aten_kernels;

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define ATEN_SHUFFLES
#endif
#endif

static inline void aten_turn_floats(const float *from, int64_t row, float *to, int64_t to_row)
{
#ifdef ATEN_SHUFFLES
    typedef float four __attribute__((vector_size(16)));
    four a, b, c, d, low, high, other_low, other_high;
    memcpy(&a, from, 16);
    memcpy(&b, from + row, 16);
    memcpy(&c, from + 2 * row, 16);
    memcpy(&d, from + 3 * row, 16);
    low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    other_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    other_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(low, other_low, 0, 1, 4, 5);
    b = __builtin_shufflevector(low, other_low, 2, 3, 6, 7);
    c = __builtin_shufflevector(high, other_high, 0, 1, 4, 5);
    d = __builtin_shufflevector(high, other_high, 2, 3, 6, 7);
    memcpy(to, &a, 16);
    memcpy(to + to_row, &b, 16);
    memcpy(to + 2 * to_row, &c, 16);
    memcpy(to + 3 * to_row, &d, 16);
#else
    int i, j;
    for (i = 0; i < 4; i++)
        for (j = 0; j < 4; j++)
            to[i * to_row + j] = from[j * row + i];
#endif
}

static inline void aten_turn_doubles(const double *from, int64_t row, double *to, int64_t to_row)
{
    const double a = from[0], b = from[1], c = from[row], d = from[row + 1];
    to[0] = a;
    to[1] = c;
    to[to_row] = b;
    to[to_row + 1] = d;
}

/* Vectors of 16 bytes, which every processor has. Parts of them go lane by lane. */

#define TARGET
typedef float aten_floats_16 __attribute__((vector_size(16)));
typedef double aten_doubles_16 __attribute__((vector_size(16)));

static inline aten_floats_16 aten_load_floats(const float *from, int64_t count)
{
    aten_floats_16 value = {from[0], count > 1 ? from[1] : 0, count > 2 ? from[2] : 0,
                            count > 3 ? from[3] : 0};
    return value;
}

static inline aten_doubles_16 aten_load_doubles(const double *from, int64_t count)
{
    aten_doubles_16 value = {from[0], count > 1 ? from[1] : 0};
    return value;
}

/* ARM has 32 registers for them, x86 16. */
#if defined(__aarch64__)
#define NARROW_ROWS 8
#else
#define NARROW_ROWS 4
#endif

#define ELEMENT float
#define LANES 4
#define ROWS NARROW_ROWS
#define NAME(stem) aten_##stem##_float_16
#define MASK int64_t
#define MAKE_MASK(count) (count)
#define LOAD_PART(from, mask) aten_load_floats(from, mask)
#define STORE_PART(to, mask, value) memcpy(to, &(value), (mask) * sizeof(float))
#define TURN aten_turn_floats
#define SIDE 4
#include "matrix_kernels.h"

#define ELEMENT double
#define LANES 2
#define ROWS NARROW_ROWS
#define NAME(stem) aten_##stem##_double_16
#define MASK int64_t
#define MAKE_MASK(count) (count)
#define LOAD_PART(from, mask) aten_load_doubles(from, mask)
#define STORE_PART(to, mask, value) memcpy(to, &(value), (mask) * sizeof(double))
#define TURN aten_turn_doubles
#define SIDE 2
#include "matrix_kernels.h"

#undef TARGET

#if defined(__x86_64__)

/* Windows into these are the masks of vectors of 32 bytes. */
static const int32_t aten_lanes_of_four[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t aten_lanes_of_eight[8] = {-1, -1, -1, -1};

#define TARGET __attribute__((target("avx2,fma")))

/* The sums of the lanes of eight vectors: lanes 4 apart are added, then those 2 and 1 apart. */
static inline __attribute__((always_inline, target("avx2"))) void
aten_sum_eight(const __m256 *vectors, float *to)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256 sums[4];
    int i;
    ATEN_UNROLL for (i = 0; i < 4; i++)
        sums[i] = _mm256_permute2f128_ps(vectors[2 * i], vectors[2 * i + 1], 0x20)
            + _mm256_permute2f128_ps(vectors[2 * i], vectors[2 * i + 1], 0x31);
    ATEN_UNROLL for (i = 0; i < 2; i++)
        sums[i] = _mm256_shuffle_ps(sums[2 * i], sums[2 * i + 1], 0x44)
            + _mm256_shuffle_ps(sums[2 * i], sums[2 * i + 1], 0xEE);
    sums[0] = _mm256_shuffle_ps(sums[0], sums[1], 0x88) + _mm256_shuffle_ps(sums[0], sums[1], 0xDD);
    _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(sums[0], order));
}

#define ELEMENT float
#define LANES 8
#define ROWS 4
#define NAME(stem) aten_##stem##_float_32
#define MASK __m256i
#define MAKE_MASK(count) _mm256_loadu_si256((const __m256i *)(aten_lanes_of_four + 8 - (count)))
#define LOAD_PART(from, mask) _mm256_maskload_ps(from, mask)
#define STORE_PART(to, mask, value) _mm256_maskstore_ps(to, mask, value)
#define SUM_LANES(vectors, to) aten_sum_eight((const __m256 *)(vectors), to)
#define TURN aten_turn_floats
#define SIDE 4
#include "matrix_kernels.h"

#define ELEMENT double
#define LANES 4
#define ROWS 4
#define NAME(stem) aten_##stem##_double_32
#define MASK __m256i
#define MAKE_MASK(count) _mm256_loadu_si256((const __m256i *)(aten_lanes_of_eight + 4 - (count)))
#define LOAD_PART(from, mask) _mm256_maskload_pd(from, mask)
#define STORE_PART(to, mask, value) _mm256_maskstore_pd(to, mask, value)
#define TURN aten_turn_doubles
#define SIDE 2
#include "matrix_kernels.h"

#undef TARGET
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,fma,prefer-vector-width=512")))

/* A square of 16 by 16. Each row is read at once: where rows lie far apart, they share few places
   of the cache. */
static inline __attribute__((always_inline, target("avx512f"))) void
aten_turn_sixteen_floats(const float *from, int64_t row, float *to, int64_t to_row)
{
    __m512 line[16], pair[16];
    int i;
    ATEN_UNROLL for (i = 0; i < 16; i++)
        line[i] = _mm512_loadu_ps(from + i * row);
    ATEN_UNROLL for (i = 0; i < 16; i += 2) {
        pair[i] = _mm512_unpacklo_ps(line[i], line[i + 1]);
        pair[i + 1] = _mm512_unpackhi_ps(line[i], line[i + 1]);
    }
    ATEN_UNROLL for (i = 0; i < 16; i += 4) {
        line[i] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0x44);
        line[i + 1] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0xEE);
        line[i + 2] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
        line[i + 3] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0xEE);
    }
    ATEN_UNROLL for (i = 0; i < 4; i++) {
        pair[i] = _mm512_shuffle_f32x4(line[i], line[i + 4], 0x88);
        pair[i + 4] = _mm512_shuffle_f32x4(line[i], line[i + 4], 0xDD);
        pair[i + 8] = _mm512_shuffle_f32x4(line[i + 8], line[i + 12], 0x88);
        pair[i + 12] = _mm512_shuffle_f32x4(line[i + 8], line[i + 12], 0xDD);
    }
    ATEN_UNROLL for (i = 0; i < 4; i++) {
        float *at = to + i * to_row;
        _mm512_storeu_ps(at, _mm512_shuffle_f32x4(pair[i], pair[i + 8], 0x88));
        _mm512_storeu_ps(at + 4 * to_row, _mm512_shuffle_f32x4(pair[i + 4], pair[i + 12], 0x88));
        _mm512_storeu_ps(at + 8 * to_row, _mm512_shuffle_f32x4(pair[i], pair[i + 8], 0xDD));
        _mm512_storeu_ps(at + 12 * to_row, _mm512_shuffle_f32x4(pair[i + 4], pair[i + 12], 0xDD));
    }
}

/* The sums of the lanes of sixteen vectors. Lanes i and i + 8 of two vectors are added in one, then
   those 4, 2 and 1 apart of twice as many. */
static inline __attribute__((always_inline, target("avx512f"))) void
aten_sum_sixteen(const __m512 *vectors, float *to)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512 sums[8];
    int i;
    ATEN_UNROLL for (i = 0; i < 8; i++)
        sums[i] = _mm512_shuffle_f32x4(vectors[2 * i], vectors[2 * i + 1], 0x44)
            + _mm512_shuffle_f32x4(vectors[2 * i], vectors[2 * i + 1], 0xEE);
    ATEN_UNROLL for (i = 0; i < 4; i++)
        sums[i] = _mm512_shuffle_f32x4(sums[2 * i], sums[2 * i + 1], 0x88)
            + _mm512_shuffle_f32x4(sums[2 * i], sums[2 * i + 1], 0xDD);
    ATEN_UNROLL for (i = 0; i < 2; i++)
        sums[i] = _mm512_shuffle_ps(sums[2 * i], sums[2 * i + 1], 0x44)
            + _mm512_shuffle_ps(sums[2 * i], sums[2 * i + 1], 0xEE);
    sums[0] = _mm512_shuffle_ps(sums[0], sums[1], 0x88) + _mm512_shuffle_ps(sums[0], sums[1], 0xDD);
    _mm512_storeu_ps(to, _mm512_permutexvar_ps(order, sums[0]));
}

/* A square of 8 by 8, likewise. */
static inline __attribute__((always_inline, target("avx512f"))) void
aten_turn_eight_doubles(const double *from, int64_t row, double *to, int64_t to_row)
{
    __m512d line[8], pair[8];
    int i;
    ATEN_UNROLL for (i = 0; i < 8; i++)
        line[i] = _mm512_loadu_pd(from + i * row);
    ATEN_UNROLL for (i = 0; i < 8; i += 2) {
        pair[i] = _mm512_unpacklo_pd(line[i], line[i + 1]);
        pair[i + 1] = _mm512_unpackhi_pd(line[i], line[i + 1]);
    }
    ATEN_UNROLL for (i = 0; i < 2; i++) {
        line[i] = _mm512_shuffle_f64x2(pair[i], pair[i + 2], 0x88);
        line[i + 2] = _mm512_shuffle_f64x2(pair[i], pair[i + 2], 0xDD);
        line[i + 4] = _mm512_shuffle_f64x2(pair[i + 4], pair[i + 6], 0x88);
        line[i + 6] = _mm512_shuffle_f64x2(pair[i + 4], pair[i + 6], 0xDD);
    }
    ATEN_UNROLL for (i = 0; i < 2; i++) {
        double *at = to + i * to_row;
        _mm512_storeu_pd(at, _mm512_shuffle_f64x2(line[i], line[i + 4], 0x88));
        _mm512_storeu_pd(at + 2 * to_row, _mm512_shuffle_f64x2(line[i + 2], line[i + 6], 0x88));
        _mm512_storeu_pd(at + 4 * to_row, _mm512_shuffle_f64x2(line[i], line[i + 4], 0xDD));
        _mm512_storeu_pd(at + 6 * to_row, _mm512_shuffle_f64x2(line[i + 2], line[i + 6], 0xDD));
    }
}

#define ELEMENT float
#define LANES 16
#define ROWS 8
#define NAME(stem) aten_##stem##_float_64
#define MASK __mmask16
#define MAKE_MASK(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD_PART(from, mask) _mm512_maskz_loadu_ps(mask, from)
#define STORE_PART(to, mask, value) _mm512_mask_storeu_ps(to, mask, value)
#define SUM_LANES(vectors, to) aten_sum_sixteen((const __m512 *)(vectors), to)
#define TURN aten_turn_sixteen_floats
#define SIDE 16
#include "matrix_kernels.h"

#define ELEMENT double
#define LANES 8
#define ROWS 8
#define NAME(stem) aten_##stem##_double_64
#define MASK __mmask8
#define MAKE_MASK(count) ((__mmask8)((1u << (count)) - 1))
#define LOAD_PART(from, mask) _mm512_maskz_loadu_pd(mask, from)
#define STORE_PART(to, mask, value) _mm512_mask_storeu_pd(to, mask, value)
#define TURN aten_turn_eight_doubles
#define SIDE 8
#include "matrix_kernels.h"

#undef TARGET
#endif

/* The widest vectors that the processor has, in bytes. */
static int aten_widest_vectors(void)
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

static const aten_kernels *aten_kernels_of(int is_double, int vector_bytes)
{
#if defined(__x86_64__)
    if (vector_bytes == 64)
        return is_double ? &aten_kernels_double_64 : &aten_kernels_float_64;
    if (vector_bytes == 32)
        return is_double ? &aten_kernels_double_32 : &aten_kernels_float_32;
#endif
    return is_double ? &aten_kernels_double_16 : &aten_kernels_float_16;
}

#endif
