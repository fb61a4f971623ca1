/* Steps of recurrent networks, compiled for one level of vector instructions.

   Included once for each, with NAME(stem), TARGET and LANES. */

typedef float NAME(floats) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(ints) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#include "exponential.h"

static inline __attribute__((always_inline)) TARGET NAME(floats) NAME(sigmoid)(NAME(floats) x)
{
    const NAME(ints) sign = (NAME(ints))x & (int32_t)0x80000000;
    const NAME(floats) small = NAME(exp)((NAME(floats))((NAME(ints))x | (int32_t)0x80000000));
    const NAME(floats) large = 1.0f / (1.0f + small);
    return NAME(choose)(sign != 0, small * large, large);
}

/* Within 2 units in the last place: an odd polynomial for small numbers (Moshier's Cephes library),
   else the quotient of 1 - exp(-2|x|) and 1 + exp(-2|x|). */
static inline __attribute__((always_inline)) TARGET NAME(floats) NAME(tanh)(NAME(floats) x)
{
    const NAME(ints) sign = (NAME(ints))x & (int32_t)0x80000000;
    const NAME(floats) size = (NAME(floats))((NAME(ints))x ^ sign);
    const NAME(floats) small = NAME(exp)(-2.0f * size);
    const NAME(floats) far = (1.0f - small) / (1.0f + small);
    const NAME(floats) square = x * x;
    NAME(floats) near = square * -5.70498872745e-3f + 2.06390887954e-2f;
    near = near * square - 5.37397155531e-2f;
    near = near * square + 1.33314422036e-1f;
    near = near * square - 3.33332819422e-1f;
    near = near * square * size + size;
    return (NAME(floats))((NAME(ints))NAME(choose)(size < 0.625f, near, far) | sign);
}

/* A vector of units: four sums become gates, and with the cell state before the next states. */
static inline __attribute__((always_inline)) TARGET void
NAME(lstm_lanes)(const NAME(floats) * made, NAME(floats) * gates, NAME(floats) * cell,
                 NAME(floats) * hidden)
{
    gates[0] = NAME(sigmoid)(made[0]);
    gates[1] = NAME(sigmoid)(made[1]);
    gates[2] = NAME(tanh)(made[2]);
    gates[3] = NAME(sigmoid)(made[3]);
    *cell = gates[1] * *cell + gates[0] * gates[2];
    *hidden = gates[3] * NAME(tanh)(*cell);
}

/* A step of so many units of a sequence. Sums of a gate are `made_step` floats behind those of the
   one before, what inputs add and the gates themselves `step`. */
static TARGET void NAME(lstm)(const float *made, int64_t made_step, const float *added,
                              int64_t step, const float *before, float *gates, float *cell,
                              float *hidden, int64_t count)
{
    NAME(floats) sums[4], bent[4], state, shown;
    int64_t i;
    int gate;
    for (i = 0; i + LANES <= count; i += LANES) {
        for (gate = 0; gate < 4; gate++)
            sums[gate] = *(const NAME(floats) *)(made + gate * made_step + i)
                         + *(const NAME(floats) *)(added + gate * step + i);
        state = *(const NAME(floats) *)(before + i);
        NAME(lstm_lanes)(sums, bent, &state, &shown);
        for (gate = 0; gate < 4; gate++)
            *(NAME(floats) *)(gates + gate * step + i) = bent[gate];
        *(NAME(floats) *)(cell + i) = state;
        *(NAME(floats) *)(hidden + i) = shown;
    }
    if (i < count) {
        const size_t rest = (count - i) * sizeof(float);
        float more[4][LANES] = {{0}}, part[4][LANES] = {{0}};
        state = (NAME(floats)){0};
        for (gate = 0; gate < 4; gate++) {
            memcpy(more[gate], made + gate * made_step + i, rest);
            memcpy(part[gate], added + gate * step + i, rest);
            sums[gate] = *(const NAME(floats) *)more[gate] + *(const NAME(floats) *)part[gate];
        }
        memcpy(&state, before + i, rest);
        NAME(lstm_lanes)(sums, bent, &state, &shown);
        for (gate = 0; gate < 4; gate++)
            memcpy(gates + gate * step + i, &bent[gate], rest);
        memcpy(cell + i, &state, rest);
        memcpy(hidden + i, &shown, rest);
    }
}

#undef NAME
#undef TARGET
#undef LANES
