/* Steps of optimizers for each type and level of vector instructions. */

#ifndef ATEN_UPDATE_LEVELS
#define ATEN_UPDATE_LEVELS

#include <math.h>
#include <stdint.h>

#include "_core/base/vector_widths.h"

typedef struct {
    double sign;        /* of gradients: -1 to climb */
    double coupled;     /* what of the parameter its gradient gets */
    double shrink;      /* what a parameter is multiplied with before */
    double weight;      /* of the gradient in its average */
    double keeping;     /* what squares keep of themselves */
    double adding;      /* and get of the gradient's */
    double correction;  /* what roots of squares are divided by */
    double eps;
    double rate;
} aten_adam;

typedef struct {
    double sign, coupled, momentum, adding, rate;
    int first;          /* velocities are empty so far */
    int ahead;          /* Nesterov's */
} aten_descent;

#define TARGET
#define REAL float
#define SQRT sqrtf
#define NAME(stem) aten_##stem##_float_16
#include "update_passes.h"
#define REAL double
#define SQRT sqrt
#define NAME(stem) aten_##stem##_double_16
#include "update_passes.h"
#undef TARGET

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define REAL float
#define SQRT sqrtf
#define NAME(stem) aten_##stem##_float_32
#include "update_passes.h"
#define REAL double
#define SQRT sqrt
#define NAME(stem) aten_##stem##_double_32
#include "update_passes.h"
#undef TARGET
#define ATEN_BY_LEVEL(stem, type, ...)                                                             \
    if (ATEN_MAY_USE(32, "avx2"))                                                                  \
        aten_##stem##_##type##_32(__VA_ARGS__);                                                    \
    else                                                                                           \
        aten_##stem##_##type##_16(__VA_ARGS__);
#else
#define ATEN_BY_LEVEL(stem, type, ...) aten_##stem##_##type##_16(__VA_ARGS__);
#endif

/* `rows` has a parameter, its gradient and its states, `from` elements after their beginnings. */
#define ATEN_ROW(type, place) (rows[place] == 0 ? 0 : (type *)rows[place] + from)

#define ATEN_UPDATES(type)                                                                         \
    static void aten_adam_##type(int64_t from, int64_t count, void **rows, const aten_adam *given) \
    {                                                                                              \
        ATEN_BY_LEVEL(adam, type, count, ATEN_ROW(type, 0), ATEN_ROW(type, 1), ATEN_ROW(type, 2),  \
                      ATEN_ROW(type, 3), ATEN_ROW(type, 4), given)                                 \
    }                                                                                              \
    static void aten_descend_##type(int64_t from, int64_t count, void **rows,                      \
                                    const aten_descent *given)                                     \
    {                                                                                              \
        ATEN_BY_LEVEL(descend, type, count, ATEN_ROW(type, 0), ATEN_ROW(type, 1),                  \
                      ATEN_ROW(type, 2), given)                                                    \
    }                                                                                              \
    static void aten_adagrad_##type(int64_t from, int64_t count, void **rows,                      \
                                    const aten_adam *given)                                        \
    {                                                                                              \
        ATEN_BY_LEVEL(adagrad, type, count, ATEN_ROW(type, 0), ATEN_ROW(type, 1),                  \
                      ATEN_ROW(type, 2), given)                                                    \
    }

ATEN_UPDATES(float)
ATEN_UPDATES(double)

#endif
