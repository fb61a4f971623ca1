/* Weighed sums of rows of a table, as of a bag or of an image, for each type and level of vector
   instructions. */

#ifndef ATEN_ROW_LEVELS
#define ATEN_ROW_LEVELS

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "halves.h"
#include "_core/base/vector_widths.h"

#if defined(__clang__)
#define ATEN_ROW_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATEN_ROW_UNROLL _Pragma("GCC unroll 8")
#endif

/* Some columns of a row or a sum, wherever it lies. */
typedef float aten_row_float_16 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float aten_row_float_32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float aten_row_float_64 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double aten_row_double_16 __attribute__((vector_size(16), aligned(8), may_alias));
typedef double aten_row_double_32 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double aten_row_double_64 __attribute__((vector_size(64), aligned(8), may_alias));

typedef uint32_t aten_row_bits_16 __attribute__((vector_size(16)));
typedef uint32_t aten_row_bits_32 __attribute__((vector_size(32)));
typedef uint32_t aten_row_bits_64 __attribute__((vector_size(64)));
typedef uint16_t aten_row_brains_16 __attribute__((vector_size(8), aligned(2), may_alias));
typedef uint16_t aten_row_brains_32 __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint16_t aten_row_brains_64 __attribute__((vector_size(32), aligned(2), may_alias));

/* Elements beside each other as floats; what compilers make of conversions of long vectors takes
   three instructions for one. */
#define ATEN_ROW_WIDEN_BRAINS(level, convert)                                                      \
    TARGET static inline __attribute__((always_inline)) aten_row_float_##level                     \
        aten_row_widen_aten_row_float_##level(aten_row_brains_##level elements)                    \
    {                                                                                              \
        return (aten_row_float_##level)((aten_row_bits_##level)convert << 16);                     \
    }
#define aten_row_widen_float(element) aten_widen_brain(element)
#define ATEN_ROW_WIDEN(type, elements) ATEN_ROW_WIDEN_TO(type, elements)
#define ATEN_ROW_WIDEN_TO(type, elements) aten_row_widen_##type(elements)

#define TARGET
ATEN_ROW_WIDEN_BRAINS(16, __builtin_convertvector(elements, aten_row_bits_16))
#define REAL float
#define NAME(stem) aten_row_##stem##_float_16
#define VECTOR aten_row_float_16
#define SHORT aten_row_float_16
#include "row_sums.h"
#define REAL double
#define NAME(stem) aten_row_##stem##_double_16
#define VECTOR aten_row_double_16
#define SHORT aten_row_double_16
#include "row_sums.h"
#define REAL float
#define ROW uint16_t
#define NAME(stem) aten_row_##stem##_brains_16
#define VECTOR aten_row_float_16
#define SHORT aten_row_float_16
#define VECTOR_OF_ROW aten_row_brains_16
#define SHORT_OF_ROW aten_row_brains_16
#define WIDEN ATEN_ROW_WIDEN
#include "row_sums.h"
#undef TARGET

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
ATEN_ROW_WIDEN_BRAINS(32, _mm256_cvtepu16_epi32((__m128i)elements))
#define REAL float
#define NAME(stem) aten_row_##stem##_float_32
#define VECTOR aten_row_float_32
#define SHORT aten_row_float_16
#include "row_sums.h"
#define REAL double
#define NAME(stem) aten_row_##stem##_double_32
#define VECTOR aten_row_double_32
#define SHORT aten_row_double_16
#include "row_sums.h"
#define REAL float
#define ROW uint16_t
#define NAME(stem) aten_row_##stem##_brains_32
#define VECTOR aten_row_float_32
#define SHORT aten_row_float_16
#define VECTOR_OF_ROW aten_row_brains_32
#define SHORT_OF_ROW aten_row_brains_16
#define WIDEN ATEN_ROW_WIDEN
#include "row_sums.h"
#undef TARGET

#define TARGET __attribute__((target("avx512f,prefer-vector-width=512")))
ATEN_ROW_WIDEN_BRAINS(64, _mm512_cvtepu16_epi32((__m256i)elements))
#define REAL float
#define NAME(stem) aten_row_##stem##_float_64
#define VECTOR aten_row_float_64
#define SHORT aten_row_float_16
#include "row_sums.h"
#define REAL double
#define NAME(stem) aten_row_##stem##_double_64
#define VECTOR aten_row_double_64
#define SHORT aten_row_double_16
#include "row_sums.h"
#define REAL float
#define ROW uint16_t
#define NAME(stem) aten_row_##stem##_brains_64
#define VECTOR aten_row_float_64
#define SHORT aten_row_float_16
#define VECTOR_OF_ROW aten_row_brains_64
#define SHORT_OF_ROW aten_row_brains_16
#define WIDEN ATEN_ROW_WIDEN
#include "row_sums.h"
#undef TARGET

#define ATEN_ROW_BY_LEVEL(type, ...)                                                               \
    if (ATEN_MAY_USE(64, "avx512f"))                                                               \
        aten_row_sum_##type##_64(__VA_ARGS__);                                                     \
    else if (ATEN_MAY_USE(32, "avx2"))                                                             \
        aten_row_sum_##type##_32(__VA_ARGS__);                                                     \
    else                                                                                           \
        aten_row_sum_##type##_16(__VA_ARGS__);
#else
#define ATEN_ROW_BY_LEVEL(type, ...) aten_row_sum_##type##_16(__VA_ARGS__);
#endif

/* Adds to `out`, of so many columns, the rows of a table, one after the other, times their weights
   if there are any. Unless `begun`, `out` holds no sums yet. `step` is in elements. */
#define ATEN_ROW_SUMS(name, row, type)                                                             \
    static inline void aten_add_rows_##name(const row *table, int64_t step, const int64_t *rows,   \
                                            const type *weights, int64_t count, int64_t columns,   \
                                            int begun, type *out)                                  \
    {                                                                                              \
        ATEN_ROW_BY_LEVEL(name, table, step, rows, weights, count, columns, begun, out)            \
    }

ATEN_ROW_SUMS(float, float, float)
ATEN_ROW_SUMS(double, double, double)
ATEN_ROW_SUMS(brains, uint16_t, float)

#endif
