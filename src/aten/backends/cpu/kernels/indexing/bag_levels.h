/* Sums of rows of a table for each type and level of vector instructions. */

#ifndef ATEN_BAG_LEVELS
#define ATEN_BAG_LEVELS

#include <stdint.h>

#include "_core/base/vector_widths.h"

#if defined(__clang__)
#define ATEN_BAG_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATEN_BAG_UNROLL _Pragma("GCC unroll 8")
#endif

/* Some columns of a row or a sum, wherever it lies. */
typedef float aten_bag_float_16 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float aten_bag_float_32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float aten_bag_float_64 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double aten_bag_double_16 __attribute__((vector_size(16), aligned(8), may_alias));
typedef double aten_bag_double_32 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double aten_bag_double_64 __attribute__((vector_size(64), aligned(8), may_alias));

#define TARGET
#define REAL float
#define NAME(stem) aten_bag_##stem##_float_16
#define VECTOR aten_bag_float_16
#define SHORT aten_bag_float_16
#include "bag_sums.h"
#define REAL double
#define NAME(stem) aten_bag_##stem##_double_16
#define VECTOR aten_bag_double_16
#define SHORT aten_bag_double_16
#include "bag_sums.h"
#undef TARGET

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define REAL float
#define NAME(stem) aten_bag_##stem##_float_32
#define VECTOR aten_bag_float_32
#define SHORT aten_bag_float_16
#include "bag_sums.h"
#define REAL double
#define NAME(stem) aten_bag_##stem##_double_32
#define VECTOR aten_bag_double_32
#define SHORT aten_bag_double_16
#include "bag_sums.h"
#undef TARGET
#define TARGET __attribute__((target("avx512f,prefer-vector-width=512")))
#define REAL float
#define NAME(stem) aten_bag_##stem##_float_64
#define VECTOR aten_bag_float_64
#define SHORT aten_bag_float_16
#include "bag_sums.h"
#define REAL double
#define NAME(stem) aten_bag_##stem##_double_64
#define VECTOR aten_bag_double_64
#define SHORT aten_bag_double_16
#include "bag_sums.h"
#undef TARGET
#define ATEN_BAG_BY_LEVEL(type, ...)                                                               \
    if (ATEN_MAY_USE(64, "avx512f"))                                                               \
        aten_bag_sum_##type##_64(__VA_ARGS__);                                                     \
    else if (ATEN_MAY_USE(32, "avx2"))                                                             \
        aten_bag_sum_##type##_32(__VA_ARGS__);                                                     \
    else                                                                                           \
        aten_bag_sum_##type##_16(__VA_ARGS__);
#else
#define ATEN_BAG_BY_LEVEL(type, ...) aten_bag_sum_##type##_16(__VA_ARGS__);
#endif

/* Adds to `out`, of so many columns, the rows of a table, one after the other, times their weights
   if there are any. `step` is in elements. */
#define ATEN_BAG_SUMS(type)                                                                        \
    static inline void aten_add_rows_##type(const type *table, int64_t step, const int64_t *rows,  \
                                            const type *weights, int64_t count, int64_t columns,   \
                                            type *out)                                             \
    {                                                                                              \
        ATEN_BAG_BY_LEVEL(type, table, step, rows, weights, count, columns, out)                   \
    }

ATEN_BAG_SUMS(float)
ATEN_BAG_SUMS(double)

#endif
