/* Products of complex numbers as three of real ones, compiled for one level of vector instructions.

   Of P = Re·Re, Q = Im·Im and R = (Re + Im)·(Re + Im), P - Q is the real part of a product and
   R - (P + Q) the imaginary one. The real part is as exact as that of four products; the imaginary
   one is off by as much as both parts of the operands, multiplied, are large (Higham, Accuracy and
   Stability of Numerical Algorithms, 23.2.4).

   Included once for each part and vector width, with
     PART, LANES              a part of a number, and how many of them a vector holds
     SUMS                     the vector of sums
     NAME(stem)               the stem with a suffix that is this inclusion's own
     TARGET                   the attribute that allows the processor's instructions
     SECOND(low, high, first) every second element of two vectors, from the one at `first` on
   and what panel_interleaved.h asks for, which are products of such numbers, too. */

#include "panel_interleaved.h"

typedef SUMS NAME(parts_line) __attribute__((aligned(sizeof(PART)), may_alias));

/* Sums of both parts: of `steps` pairs of runs of `width` units, one below the other. */
static TARGET void NAME(add_parts)(const void *pairs, int64_t steps, int64_t width, void *target)
{
    const PART *from = pairs;
    PART *to = target;
    int64_t step, i;
    if (width == 1) {
        for (step = 0; step < steps; step++)
            to[step] = from[2 * step] + from[2 * step + 1];
        return;
    }
    for (step = 0; step < steps; step++) {
        for (i = 0; i < width; i++)
            to[i] = from[i] + from[width + i];
        from += 2 * width;
        to += width;
    }
}

/* Parts of results in place of the first two of three rows of sums; whether all are finite. */
static TARGET int NAME(join_parts)(void *sums, int64_t row, int64_t count)
{
    PART *first = sums, *second = first + row;
    const PART *third = second + row;
    int strange = 0;
    int64_t i;
    for (i = 0; i < count; i++) {
        const PART real = first[i] - second[i];
        const PART imaginary = third[i] - (first[i] + second[i]);
        strange |= !(real - real == 0) | !(imaginary - imaginary == 0);
        first[i] = real;
        second[i] = imaginary;
    }
    return !strange;
}

/* Some rows of complex numbers, a vector of them, by rows of a packed left operand, whose sums of
   both parts are those at `added`: what is summed at `out` gets more. */
static inline __attribute__((always_inline)) TARGET void
NAME(stream_vector)(const int rows, int64_t steps, const PART *from, int64_t from_row,
                    const PART *left, const PART *added, int64_t left_row, PART *out, int64_t line)
{
    SUMS sums[4][3];
    int i, j;
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < 3; j++)
            sums[i][j] = *(const NAME(parts_line) *)(out + (3 * i + j) * line);
    for (; steps; steps--) {
        __builtin_prefetch(from + ATEN_STREAMED_STEPS * from_row);
        __builtin_prefetch(from + ATEN_STREAMED_STEPS * from_row + LANES);
        const SUMS low = *(const NAME(parts_line) *)from;
        const SUMS high = *(const NAME(parts_line) *)(from + LANES);
        const SUMS real = SECOND(low, high, 0), imaginary = SECOND(low, high, 1);
        const SUMS both = real + imaginary;
        ATEN_UNROLL for (i = 0; i < rows; i++) {
            sums[i][0] += left[i * left_row] * real;
            sums[i][1] += left[i * left_row + 1] * imaginary;
            sums[i][2] += added[i * left_row] * both;
        }
        from += from_row;
        left += 2;
        added++;
    }
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < 3; j++)
            *(NAME(parts_line) *)(out + (3 * i + j) * line) = sums[i][j];
}

/* The same of all columns. What is no whole vector is copied to where there is room for one. */
static inline __attribute__((always_inline)) TARGET void
NAME(stream_rows)(const int rows, int64_t steps, const PART *from, int64_t from_row,
                  const PART *left, const PART *added, int64_t left_row, PART *out, int64_t line,
                  int64_t columns)
{
    PART last[ATEN_STREAMED_STEPS * 2 * LANES];
    int64_t column, step;
    for (column = 0; column + LANES <= columns; column += LANES)
        NAME(stream_vector)(rows, steps, from + 2 * column, from_row, left, added, left_row,
                            out + column, line);
    if (column == columns)
        return;
    memset(last, 0, sizeof last);
    for (step = 0; step < steps; step++)
        memcpy(last + step * 2 * LANES, from + step * from_row + 2 * column,
               2 * (columns - column) * sizeof(PART));
    NAME(stream_vector)(rows, steps, last, 2 * LANES, left, added, left_row, out + column, line);
}

/* A stretch of the depth, summed in order; then added to the `totals` of those before, if it
   `goes_on`. `tile->right` are rows of complex numbers as they lie. */
static TARGET void NAME(stream_parts)(const aten_panel_tile *tile, int64_t rows, int64_t columns,
                                      void *totals, int goes_on)
{
    const int64_t steps = tile->units / 2, line = tile->out_row, count = 3 * rows * line;
    const int64_t from_row = tile->right_step / (int64_t)sizeof(PART);
    const int64_t left_row = tile->left_row / (int64_t)sizeof(PART);
    const PART *right = (const PART *)tile->right;
    const PART *left = (const PART *)tile->left, *added = left + 2 * steps;
    PART *out = tile->out, *total = totals;
    int64_t row, step, some, together, i;
    memset(out, 0, count * sizeof(PART));
    for (step = 0; step < steps; step += some) {
        const PART *from = right + step * from_row;
        some = steps - step < ATEN_STREAMED_STEPS ? steps - step : ATEN_STREAMED_STEPS;
        for (row = 0; row < rows; row += together) {
            const PART *pairs = left + row * left_row + 2 * step;
            const PART *sums = added + row * left_row + step;
            PART *lines = out + 3 * row * line;
            together = rows - row >= 4 ? 4 : rows - row >= 2 ? 2 : 1;
            if (together == 4)
                NAME(stream_rows)(4, some, from, from_row, pairs, sums, left_row, lines, line,
                                  columns);
            else if (together == 2)
                NAME(stream_rows)(2, some, from, from_row, pairs, sums, left_row, lines, line,
                                  columns);
            else
                NAME(stream_rows)(1, some, from, from_row, pairs, sums, left_row, lines, line,
                                  columns);
        }
    }
    if (goes_on)
        for (i = 0; i < count; i++)
            total[i] = out[i] + total[i];
    else
        memcpy(total, out, count * sizeof(PART));
}

static const aten_panel_parts NAME(parts)
    = {NAME(add_parts), NAME(join_parts), NAME(stream_parts), NAME(multiply_interleaved)};

#undef PART
#undef LANES
#undef SUMS
#undef NAME
#undef SECOND
#undef DOUBLED
#undef BOTH
