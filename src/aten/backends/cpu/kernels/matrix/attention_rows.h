/* Rows of attention scores, compiled for one level of vector instructions.

   Included once for each, with NAME(stem), TARGET and LANES, and where there are instructions for
   them LOAD_PART(from, count), LARGER(first, second), SUM_OF(vector), MOST_OF(vector) and
   WIDEN_HALVES(from). Rows have room up to a whole vector. */

typedef float NAME(floats) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(ints) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef uint32_t NAME(words) __attribute__((vector_size(LANES * 4)));
typedef uint8_t NAME(bytes) __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef uint16_t NAME(brains) __attribute__((vector_size(LANES * 2), aligned(2), may_alias));

#include "exponential.h"

/* Registers that share the lanes of 64 bytes, and a vector at a place. */
#define REGISTERS (16 / LANES)
#define AT(from, place) (*(NAME(floats) *)((from) + (place) * LANES))

/* The second where the first is no number. */
static inline __attribute__((always_inline)) TARGET NAME(floats)
NAME(larger)(NAME(floats) first, NAME(floats) second)
{
#ifdef LARGER
    return (NAME(floats))LARGER(first, second);
#else
    return NAME(choose)(first > second, first, second);
#endif
}

/* Halves are added to halves. */
static inline __attribute__((always_inline)) TARGET float NAME(sum)(NAME(floats) value)
{
#ifdef SUM_OF
    return SUM_OF(value);
#else
    float lanes[LANES];
    int half, i;
    memcpy(lanes, &value, sizeof lanes);
    ATEN_UNROLL for (half = LANES / 2; half > 0; half /= 2)
        ATEN_UNROLL for (i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
#endif
}

static inline __attribute__((always_inline)) TARGET float NAME(most)(NAME(floats) value)
{
#ifdef MOST_OF
    return MOST_OF(value);
#else
    float lanes[LANES];
    int half, i;
    memcpy(lanes, &value, sizeof lanes);
    ATEN_UNROLL for (half = LANES / 2; half > 0; half /= 2)
        ATEN_UNROLL for (i = 0; i < half; i++)
            lanes[i] = lanes[i + half] > lanes[i] ? lanes[i + half] : lanes[i];
    return lanes[0];
#endif
}

/* The first elements of a vector of which the others do not matter. */
static inline __attribute__((always_inline)) TARGET NAME(floats)
NAME(part)(const float *from, int64_t count)
{
#ifdef LOAD_PART
    return (NAME(floats))LOAD_PART(from, count);
#else
    NAME(floats) value = {0};
    memcpy(&value, from, count * sizeof(float));
    return value;
#endif
}

/* The largest of `count` scores; what follows them up to a whole vector becomes minus infinity. */
static inline __attribute__((always_inline)) TARGET float NAME(largest)(float *row, int64_t count)
{
    const NAME(floats) nothing = (NAME(floats)){0} - __builtin_inff();
    NAME(floats) most[4] = {nothing, nothing, nothing, nothing};
    NAME(ints) lane = {0};
    int64_t i;
    for (i = 0; i + 4 * LANES <= count; i += 4 * LANES)
        ATEN_UNROLL for (int j = 0; j < 4; j++)
            most[j] = NAME(larger)(AT(row + i, j), most[j]);
    for (; i + LANES <= count; i += LANES)
        most[0] = NAME(larger)(AT(row, i / LANES), most[0]);
    if (i < count) {
        ATEN_UNROLL for (int j = 0; j < LANES; j++)
            lane[j] = j;
        AT(row, i / LANES)
            = NAME(choose)(lane < (int32_t)(count - i), AT(row, i / LANES), nothing);
        most[1] = NAME(larger)(AT(row, i / LANES), most[1]);
    }
    most[0] = NAME(larger)(most[0], most[1]);
    most[2] = NAME(larger)(most[2], most[3]);
    return NAME(most)(NAME(larger)(most[0], most[2]));
}

/* A vector of bytes of which some are not zero, as lanes of all ones. */
static inline __attribute__((always_inline)) TARGET NAME(ints)
NAME(lanes_of)(const uint8_t *allowed, int64_t count)
{
    NAME(bytes) some = {0};
    if (count >= LANES)
        some = *(const NAME(bytes) *)allowed;
    else
        memcpy(&some, allowed, count);
    return __builtin_convertvector(some, NAME(ints)) != 0;
}

/* `count` scores times `scale`, plus a mask's numbers or minus infinity where it is false. */
static inline __attribute__((always_inline)) TARGET void
NAME(mask)(float *row, int64_t count, float scale, const aten_attention_mask *mask)
{
    int64_t i;
    for (i = 0; i < count; i += LANES) {
        NAME(floats) value = AT(row + i, 0) * scale;
        if (mask->added) {
            __builtin_prefetch(mask->added + mask->ahead + i);
            value += i + LANES <= count ? *(const NAME(floats) *)(mask->added + i)
                                        : NAME(part)(mask->added + i, count - i);
        } else if (mask->allowed) {
            value = NAME(choose)(NAME(lanes_of)(mask->allowed + i, count - i), value,
                                 (NAME(floats)){0} - __builtin_inff());
        }
        AT(row + i, 0) = value;
    }
}

/* The largest of `count` scores, which are masked, and what they are still to be multiplied by. */
static TARGET float NAME(look)(float *row, int64_t count, float scale, const aten_attention_mask *mask,
                               float *most)
{
    if (mask->added || mask->allowed || !(scale > 0)) {
        NAME(mask)(row, count, scale, mask);
        scale = 1;
    }
    *most = NAME(largest)(row, count);
    return scale;
}

/* `count` scores times `scale`, masked, become exp(score - largest), what follows them up to `room`
   zeros. The largest is minus infinity where all of them are, and all become zeros. */
static TARGET void NAME(weigh)(float *row, int64_t count, int64_t room, float scale,
                               const aten_attention_mask *mask, float *largest, float *total)
{
    NAME(floats) sums[REGISTERS];
    float most, top, all = 0;
    int64_t i;
    scale = NAME(look)(row, count, scale, mask, &most);
    top = most * scale;
    if (most == -__builtin_inff()) {
        /* Nothing but minus infinity, and NaN, which stays. */
        for (i = 0; i < count; i++)
            all += row[i] = row[i] != row[i] ? row[i] : 0;
        top = all != all ? all : most;
    } else {
        ATEN_UNROLL for (int j = 0; j < REGISTERS; j++)
            sums[j] = (NAME(floats)){0};
        for (i = 0; i < count; i += 16)
            ATEN_UNROLL for (int j = 0; j < REGISTERS; j++) {
                if (i + j * LANES >= count)
                    break;
                AT(row + i, j) = NAME(power)(AT(row + i, j) - most, scale * ATEN_LOG2_E);
                sums[j] += AT(row + i, j);
            }
        ATEN_UNROLL for (int half = REGISTERS / 2; half > 0; half /= 2)
            ATEN_UNROLL for (int j = 0; j < half; j++)
                sums[j] += sums[j + half];
        all = NAME(sum)(sums[0]);
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

static TARGET void NAME(scale_to)(float *out, const float *given, int64_t count, float factor)
{
    int64_t i;
    for (i = 0; i < count; i++)
        out[i] = given[i] * factor;
}

/* first · a + second · b; what is weighed by zero is not looked at. */
static inline TARGET void NAME(mix)(float *first, const float *second, int64_t count, float a, float b)
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

/* Adds to the sums of some rows, `lanes` floats each, those of a further chunk, both relative to the
   larger of their largest scores. */
static TARGET void NAME(join)(int64_t rows, int64_t lanes, float *largest, float *totals, float *sums,
                              const float *next_largest, const float *next_totals,
                              const float *gained)
{
    int64_t row;
    for (row = 0; row < rows; row++) {
        const float first = largest[row], second = next_largest[row];
        float before = 1, now = 1;
        if (second == -__builtin_inff())
            /* Nothing was seen. */
            continue;
        if (first == -__builtin_inff())
            before = 0;
        else if (first >= second)
            now = NAME(power)((NAME(floats)){0} + (second - first), ATEN_LOG2_E)[0];
        else
            /* So it is with NaN on either side, which stays. */
            before = NAME(power)((NAME(floats)){0} + (first - second), ATEN_LOG2_E)[0];
        if (!(first >= second))
            largest[row] = second;
        totals[row] = totals[row] * before + next_totals[row] * now;
        NAME(mix)(sums + row * lanes, gained + row * lanes, lanes, before, now);
    }
}

/* Four vectors of values, or one, of which all keys are summed in order: each lane as in a tile of a
   product. Elements are `size` bytes. */
#define SUM_VALUES(stem, size, load)                                                               \
    static inline __attribute__((always_inline)) TARGET void NAME(sum_some_##stem)(                \
        const int rows, const int vectors, const aten_attention_values *work, int64_t column)      \
    {                                                                                              \
        const char *from = work->values + column * size;                                           \
        const float *weights = work->weights;                                                      \
        NAME(floats) total[4][4];                                                                  \
        int64_t k;                                                                                 \
        int i, j;                                                                                  \
        ATEN_UNROLL for (i = 0; i < rows; i++)                                                     \
            ATEN_UNROLL for (j = 0; j < vectors; j++)                                              \
                total[i][j] = (NAME(floats)){0};                                                   \
        for (k = 0; k < work->count; k++, from += work->step) {                                    \
            ATEN_UNROLL for (j = 0; j < vectors * LANES * size; j += 64)                           \
                __builtin_prefetch(from + ATEN_VALUES_AHEAD * work->step + j, 0, 2);               \
            ATEN_UNROLL for (j = 0; j < vectors; j++) {                                            \
                const NAME(floats) line = load(from + j * LANES * size);                           \
                ATEN_UNROLL for (i = 0; i < rows; i++)                                             \
                    total[i][j] += weights[i * work->weights_row + k] * line;                      \
            }                                                                                      \
        }                                                                                          \
        ATEN_UNROLL for (i = 0; i < rows; i++)                                                     \
            ATEN_UNROLL for (j = 0; j < vectors; j++)                                              \
                *(NAME(floats) *)(work->out + i * work->out_row + column + j * LANES)              \
                    = total[i][j];                                                                 \
    }                                                                                              \
    static inline __attribute__((always_inline)) TARGET void NAME(sum_rows_##stem)(                \
        const int rows, const aten_attention_values *work)                                         \
    {                                                                                              \
        int64_t column = 0;                                                                        \
        for (; column + 4 * LANES <= work->width; column += 4 * LANES)                             \
            NAME(sum_some_##stem)(rows, 4, work, column);                                          \
        for (; column < work->width; column += LANES)                                              \
            NAME(sum_some_##stem)(rows, 1, work, column);                                          \
    }                                                                                              \
    static TARGET int64_t NAME(sum_##stem)(const aten_attention_values *work, int64_t rows)        \
    {                                                                                              \
        if (rows >= 4)                                                                             \
            return NAME(sum_rows_##stem)(4, work), 4;                                              \
        if (rows >= 2)                                                                             \
            return NAME(sum_rows_##stem)(2, work), 2;                                              \
        return NAME(sum_rows_##stem)(1, work), 1;                                                  \
    }

#define SINGLES_AT(from) (*(const NAME(floats) *)(from))
#define BRAINS_AT(from)                                                                            \
    ((NAME(floats))(__builtin_convertvector(*(const NAME(brains) *)(from), NAME(words)) << 16))
SUM_VALUES(singles, 4, SINGLES_AT)
SUM_VALUES(brains, 2, BRAINS_AT)
#ifdef WIDEN_HALVES
#define HALVES_AT(from) ((NAME(floats))WIDEN_HALVES(from))
SUM_VALUES(halves, 2, HALVES_AT)
#undef HALVES_AT
#define SUM_OF_HALVES NAME(sum_halves)
#else
#define SUM_OF_HALVES NULL
#endif

static const aten_attention_rows NAME(rows) = {
    LANES, NAME(look), NAME(weigh), NAME(weigh_again), NAME(go_back), NAME(join), NAME(scale_to), NAME(mask),
    NAME(sum_singles), NAME(sum_brains), SUM_OF_HALVES};

#undef REGISTERS
#undef AT
#undef SUM_VALUES
#undef SINGLES_AT
#undef BRAINS_AT
#undef SUM_OF_HALVES
#undef WIDEN_HALVES
#undef NAME
#undef TARGET
#undef LANES
#undef LOAD_PART
#undef LARGER
#undef SUM_OF
#undef MOST_OF
