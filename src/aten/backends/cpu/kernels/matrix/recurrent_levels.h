/* Steps of recurrent networks for each level of vector instructions, and the choice of one. */

#ifndef ATEN_RECURRENT_LEVELS
#define ATEN_RECURRENT_LEVELS

#include <stdint.h>
#include <string.h>

typedef void (*aten_lstm_step)(const float *made, int64_t made_step, const float *added,
                               int64_t step, const float *before, float *gates, float *cell,
                               float *hidden, int64_t count);

#define TARGET
#define LANES 4
#define NAME(stem) aten_recurrent_##stem##_16
#include "recurrent_rows.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define NAME(stem) aten_recurrent_##stem##_32
#include "recurrent_rows.h"

#define TARGET                                                                                   \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")))
#define LANES 16
#define NAME(stem) aten_recurrent_##stem##_64
#include "recurrent_rows.h"
#endif

static aten_lstm_step aten_lstm_step_of(int vector_bytes)
{
#if defined(__x86_64__)
    if (vector_bytes == 64)
        return aten_recurrent_lstm_64;
    if (vector_bytes == 32)
        return aten_recurrent_lstm_32;
#endif
    return aten_recurrent_lstm_16;
}

#endif
