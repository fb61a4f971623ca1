/* The kernels of matrix products for each level of vector instructions, and the choice of one. */

#ifndef ATEN_MATRIX_LEVELS
#define ATEN_MATRIX_LEVELS

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define ATEN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATEN_UNROLL _Pragma("GCC unroll 16")
#endif

/* The longest stretch of the depth that is summed in registers. */
#define ATEN_DEPTH 256

/* Rows of a right operand that a single row of the left one reads side by side. */
#define ATEN_STREAMS 8

/* Steps of the depth for which a tile fetches one row of memory that is needed later. All rows at
   once would hold up its operands. */
#define ATEN_FETCH_STEPS 12

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
    int fetch;
    int64_t columns, depth;
    const void *left, *right, *addend, *ahead;
    void *out;
    int64_t left_row, left_step, right_step, addend_row, out_row;
    int64_t ahead_row, ahead_rows, ahead_column;
    double alpha, beta;
} aten_tile;

typedef struct {
    /* The same for a block of any size, summed over stretches of the depth, at most ATEN_DEPTH, in
       strips of `width` columns, at most three vectors. Stretches of ATEN_STREAMS are those of a
       single row whose right operand is read where it lies, from end to end. Right operands whose
       columns do not step by one must be packed. `fetch` asks for results and right operands ahead
       of their use: they come from far. Where dots are asked for, left_step and right_step are
       one. */
    int64_t rows, columns, depth, width, stretch;
    int pack, fetch;
    const void *left, *right, *addend;
    void *out;
    int64_t left_row, left_step, right_step, right_column;
    int64_t addend_row, addend_column, out_row, out_column;  /* columns of dots step as given */
    double alpha, beta;
} aten_block;

typedef struct {
    int lanes, rows;
    void (*multiply)(const aten_block *block);
    void (*dots)(const aten_block *block);
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

#define ELEMENT float
#define LANES 4
#define ROWS 4
#define INNER_COLUMNS 2
#define NAME(stem) aten_##stem##_float_16
#define MASK int64_t
#define MAKE_MASK(count) (count)
#define LOAD_PART(from, mask) aten_load_floats(from, mask)
#define STORE_PART(to, mask, value) memcpy(to, &(value), (mask) * sizeof(float))
#define TURN aten_turn_floats
#include "matrix_kernels.h"

#define ELEMENT double
#define LANES 2
#define ROWS 4
#define INNER_COLUMNS 2
#define NAME(stem) aten_##stem##_double_16
#define MASK int64_t
#define MAKE_MASK(count) (count)
#define LOAD_PART(from, mask) aten_load_doubles(from, mask)
#define STORE_PART(to, mask, value) memcpy(to, &(value), (mask) * sizeof(double))
#define TURN aten_turn_doubles
#include "matrix_kernels.h"

#undef TARGET

#if defined(__x86_64__)

/* Windows into these are the masks of vectors of 32 bytes. */
static const int32_t aten_lanes_of_four[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t aten_lanes_of_eight[8] = {-1, -1, -1, -1};

#define TARGET __attribute__((target("avx2,fma")))

#define ELEMENT float
#define LANES 8
#define ROWS 4
#define INNER_COLUMNS 2
#define NAME(stem) aten_##stem##_float_32
#define MASK __m256i
#define MAKE_MASK(count) _mm256_loadu_si256((const __m256i *)(aten_lanes_of_four + 8 - (count)))
#define LOAD_PART(from, mask) _mm256_maskload_ps(from, mask)
#define STORE_PART(to, mask, value) _mm256_maskstore_ps(to, mask, value)
#define TURN aten_turn_floats
#include "matrix_kernels.h"

#define ELEMENT double
#define LANES 4
#define ROWS 4
#define INNER_COLUMNS 2
#define NAME(stem) aten_##stem##_double_32
#define MASK __m256i
#define MAKE_MASK(count) _mm256_loadu_si256((const __m256i *)(aten_lanes_of_eight + 4 - (count)))
#define LOAD_PART(from, mask) _mm256_maskload_pd(from, mask)
#define STORE_PART(to, mask, value) _mm256_maskstore_pd(to, mask, value)
#define TURN aten_turn_doubles
#include "matrix_kernels.h"

#undef TARGET
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,fma,prefer-vector-width=512")))

#define ELEMENT float
#define LANES 16
#define ROWS 8
#define INNER_COLUMNS 4
#define NAME(stem) aten_##stem##_float_64
#define MASK __mmask16
#define MAKE_MASK(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD_PART(from, mask) _mm512_maskz_loadu_ps(mask, from)
#define STORE_PART(to, mask, value) _mm512_mask_storeu_ps(to, mask, value)
#define TURN aten_turn_floats
#include "matrix_kernels.h"

#define ELEMENT double
#define LANES 8
#define ROWS 8
#define INNER_COLUMNS 4
#define NAME(stem) aten_##stem##_double_64
#define MASK __mmask8
#define MAKE_MASK(count) ((__mmask8)((1u << (count)) - 1))
#define LOAD_PART(from, mask) _mm512_maskz_loadu_pd(mask, from)
#define STORE_PART(to, mask, value) _mm512_mask_storeu_pd(to, mask, value)
#define TURN aten_turn_doubles
#include "matrix_kernels.h"

#undef TARGET
#endif

/* The widest vectors that the processor has, in bytes. */
static int aten_widest_vectors(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512dq"))
        return 64;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
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
