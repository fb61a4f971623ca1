/* Eigenvalues of small symmetric matrices for each type and level of vector instructions. */

#ifndef ATEN_EIGEN_LEVELS
#define ATEN_EIGEN_LEVELS

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "_core/base/vector_widths.h"

/* The most rows, and iterations for one eigenvalue. */
#define ATEN_EIGEN_SIDE 32
#define ATEN_EIGEN_TRIES 50

#define TARGET
#define IS_DOUBLE 0
#define NAME(stem) aten_eigen_##stem##_float_16
#include "eigen_rotations.h"
#define IS_DOUBLE 1
#define NAME(stem) aten_eigen_##stem##_double_16
#include "eigen_rotations.h"
#undef TARGET

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define IS_DOUBLE 0
#define NAME(stem) aten_eigen_##stem##_float_32
#include "eigen_rotations.h"
#define IS_DOUBLE 1
#define NAME(stem) aten_eigen_##stem##_double_32
#include "eigen_rotations.h"
#undef TARGET

#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,prefer-vector-width=512")))
#define IS_DOUBLE 0
#define NAME(stem) aten_eigen_##stem##_float_64
#include "eigen_rotations.h"
#define IS_DOUBLE 1
#define NAME(stem) aten_eigen_##stem##_double_64
#include "eigen_rotations.h"
#undef TARGET
#endif

#if defined(__x86_64__)
#define ATEN_EIGEN(type, ...)                                                                    \
    if (ATEN_MAY_USE_64)                                                                         \
        return aten_eigen_eigen_##type##_64(__VA_ARGS__);                                        \
    if (ATEN_MAY_USE(32, "avx2"))                                                                \
        return aten_eigen_eigen_##type##_32(__VA_ARGS__);                                        \
    return aten_eigen_eigen_##type##_16(__VA_ARGS__);
#else
#define ATEN_EIGEN(type, ...) return aten_eigen_eigen_##type##_16(__VA_ARGS__);
#endif

static int64_t aten_eigen_of_floats(float *a, int64_t n, int upper, int wants_vectors,
                                    float *values)
{
    ATEN_EIGEN(float, a, n, upper, wants_vectors, values)
}

static int64_t aten_eigen_of_doubles(double *a, int64_t n, int upper, int wants_vectors,
                                     double *values)
{
    ATEN_EIGEN(double, a, n, upper, wants_vectors, values)
}

#endif
