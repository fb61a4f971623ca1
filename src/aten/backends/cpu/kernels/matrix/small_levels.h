/* Factors of small matrices for each type and level of vector instructions. */

#ifndef ATEN_SMALL_LEVELS
#define ATEN_SMALL_LEVELS

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "_core/base/vector_widths.h"

/* The most rows and columns. */
#define ATEN_SIDE 32

enum {
    ATEN_FACTOR, ATEN_INVERSE, ATEN_SOLVE, ATEN_DETERMINANT, ATEN_LOGARITHM, ATEN_CHOLESKY,
    ATEN_CHOLESKY_SOLVE, ATEN_TRIANGULAR, ATEN_QR,
};

typedef struct {
    int what;
    int64_t rows, columns;      /* of the matrices given */
    int64_t width;              /* columns on the right, of the inverse, of Q */
    int64_t row_step, column_step, right_row_step, right_column_step;
    int upper, unit;            /* which triangle; whether its diagonal is taken to be ones */
    int turned;                 /* results go out by rows, not by columns */
    void *out, *factors, *logarithms;
    int32_t *pivots;            /* `factors` and these may be NULL */
    int64_t out_size;           /* numbers in each result */
} aten_small_work;

#define TARGET
#define REAL float
#define ROOT sqrtf
#define ABSOLUTE fabsf
/* Squares from which on a sum of them has lost nothing that matters. */
#define TINY (FLT_MIN / (FLT_EPSILON * FLT_EPSILON))
#define NAME(stem) aten_small_##stem##_float_16
#include "small_factors.h"
#define REAL double
#define ROOT sqrt
#define ABSOLUTE fabs
#define TINY (DBL_MIN / (DBL_EPSILON * DBL_EPSILON))
#define NAME(stem) aten_small_##stem##_double_16
#include "small_factors.h"
#undef TARGET

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define REAL float
#define ROOT sqrtf
#define ABSOLUTE fabsf
#define TINY (FLT_MIN / (FLT_EPSILON * FLT_EPSILON))
#define NAME(stem) aten_small_##stem##_float_32
#include "small_factors.h"
#define REAL double
#define ROOT sqrt
#define ABSOLUTE fabs
#define TINY (DBL_MIN / (DBL_EPSILON * DBL_EPSILON))
#define NAME(stem) aten_small_##stem##_double_32
#include "small_factors.h"
#undef TARGET
#define ATEN_SMALL(type, ...)                                                                      \
    return ATEN_MAY_USE(32, "avx2") ? aten_small_compute_##type##_32(__VA_ARGS__)                 \
                                    : aten_small_compute_##type##_16(__VA_ARGS__);
#else
#define ATEN_SMALL(type, ...) return aten_small_compute_##type##_16(__VA_ARGS__);
#endif

static int aten_compute_floats(const aten_small_work *work, const float *given, const float *right,
                               int64_t index)
{
    ATEN_SMALL(float, work, given, right, index)
}

static int aten_compute_doubles(const aten_small_work *work, const double *given,
                                const double *right, int64_t index)
{
    ATEN_SMALL(double, work, given, right, index)
}

#endif
