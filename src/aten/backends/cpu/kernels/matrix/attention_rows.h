/* Rows of attention scores, compiled for one level of vector instructions.

   Included once for each, with NAME(stem), TARGET and LANES. Rows have room up to a whole vector. */

typedef float NAME(floats) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(ints) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#include "exponential.h"

/* `count` scores become exp(score - largest), what follows them up to `room` zeros. The largest is
   minus infinity where all of them are, and all become zeros. */
static TARGET void NAME(weigh)(float *row, int64_t count, int64_t room, float *largest, float *total)
{
    const int64_t end = (count + LANES - 1) / LANES * LANES;
    NAME(floats) most = (NAME(floats)){0} - __builtin_inff(), sum = {0};
    float top = -__builtin_inff(), all = 0;
    int64_t i;
    for (i = count; i < end; i++)
        row[i] = -__builtin_inff();
    for (i = 0; i < end; i += LANES) {
        const NAME(floats) value = *(NAME(floats) *)(row + i);
        const NAME(ints) more = value > most;
        most = (NAME(floats))(((NAME(ints))value & more) | ((NAME(ints))most & ~more));
    }
    for (i = 0; i < LANES; i++)
        top = most[i] > top ? most[i] : top;
    if (top == -__builtin_inff()) {
        /* Nothing but minus infinity, and NaN, which stays. */
        for (i = 0; i < count; i++)
            all += row[i] = row[i] != row[i] ? row[i] : 0;
        top = all != all ? all : top;
    } else {
        for (i = 0; i < end; i += LANES) {
            const NAME(floats) value = NAME(exp)(*(NAME(floats) *)(row + i) - top);
            *(NAME(floats) *)(row + i) = value;
            sum += value;
        }
        for (i = 0; i < LANES; i++)
            all += sum[i];
    }
    for (i = count; i < room; i++)
        row[i] = 0;
    *largest = top;
    *total = all;
}

/* The weights of `count` scores, given the logarithm of their sum; zeros up to `room`. */
static TARGET void NAME(weigh_again)(float *row, int64_t count, int64_t room, float logarithm)
{
    const int64_t end = (count + LANES - 1) / LANES * LANES;
    int64_t i;
    if (logarithm == -__builtin_inff())
        count = 0;
    else
        for (i = 0; i < end; i += LANES)
            *(NAME(floats) *)(row + i) = NAME(exp)(*(NAME(floats) *)(row + i) - logarithm);
    for (i = count; i < room; i++)
        row[i] = 0;
}

/* Gradients of scores: weights · (their gradients - base) · scale. */
static TARGET void NAME(go_back)(const float *weights, float *gradients, int64_t count, float base,
                                 float scale)
{
    int64_t i;
    for (i = 0; i < count; i++)
        gradients[i] = weights[i] * (gradients[i] - base) * scale;
}

/* first · a + second · b; what is weighed by zero is not looked at. */
static TARGET void NAME(mix)(float *first, const float *second, int64_t count, float a, float b)
{
    int64_t i;
    if (b == 0)
        for (i = 0; i < count; i++)
            first[i] *= a;
    else if (a == 0)
        for (i = 0; i < count; i++)
            first[i] = second[i] * b;
    else
        for (i = 0; i < count; i++)
            first[i] = first[i] * a + second[i] * b;
}

/* score · scale, plus a mask's numbers or minus infinity where it is false. */
static TARGET void NAME(scale_row)(float *row, int64_t count, float scale, const float *mask,
                                   const uint8_t *allowed)
{
    int64_t i;
    if (mask)
        for (i = 0; i < count; i++)
            row[i] = row[i] * scale + mask[i];
    else if (allowed)
        for (i = 0; i < count; i++)
            row[i] = allowed[i] ? row[i] * scale : -__builtin_inff();
    else
        for (i = 0; i < count; i++)
            row[i] *= scale;
}

static const aten_attention_rows NAME(rows) = {
    NAME(weigh), NAME(weigh_again), NAME(go_back), NAME(mix), NAME(scale_row)};

#undef NAME
#undef TARGET
#undef LANES
