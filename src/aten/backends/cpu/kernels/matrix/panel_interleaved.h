/* Products of complex numbers whose operands and results stay as they lie: both parts side by side.

   A vector holds results of neighbouring columns. It gets the left number's (real, imaginary) times
   the right ones' real parts, and its (-imaginary, real) times their imaginary parts, step by step:
   what a tile over packed units adds in the same order, so that results have the same bits.

   Included once for each part and vector width, with
     PART, LANES              a part of a number, and how many of them a vector holds
     SUMS                     the vector of sums
     ROWS                     of the largest tile held in registers, 4 or 8; it is two vectors wide
     NAME(stem)               the stem with a suffix that is this inclusion's own
     TARGET                   the attribute that allows the processor's instructions
     BOTH(from)               a vector of the number at an address
     DOUBLED(sums, first)     every second element, from the one at `first` on, and beside it again
     SOME(from, count)        a vector of `count` elements, with zeros behind them
     KEEP_SOME(to, sums, count)   store these; without both, they are elements one by one */

typedef SUMS NAME(interleaved_line) __attribute__((aligned(sizeof(PART)), may_alias));

#ifndef SOME
static inline TARGET SUMS NAME(some)(const PART *from, int count)
{
    SUMS made = {0};
    int i;
    if (count == LANES)
        return *(const NAME(interleaved_line) *)from;
    for (i = 0; i < count; i++)
        made[i] = from[i];
    return made;
}

static inline TARGET void NAME(keep_some)(PART *to, SUMS sums, int count)
{
    int i;
    if (count == LANES) {
        *(NAME(interleaved_line) *)to = sums;
        return;
    }
    for (i = 0; i < count; i++)
        to[i] = sums[i];
}
#define SOME(from, count) NAME(some)(from, count)
#define KEEP_SOME(to, sums, count) NAME(keep_some)(to, sums, count)
#endif

/* `columns` results of `rows` rows, of at most two vectors. */
static inline __attribute__((always_inline)) TARGET void
NAME(interleaved_tile)(const int rows, const int vectors, const aten_panel_interleaved *work,
                       const PART *left, const PART *turned, int64_t steps, int adds)
{
    const int64_t left_row = work->left_row, turned_row = 2 * ATEN_INTERLEAVED_STEPS;
    const int64_t right_row = work->right_row;
    const int last = (int)(2 * work->columns) - (vectors - 1) * LANES;
    const PART *right = work->right;
    PART *out = work->out;
    SUMS total[ROWS][2];
    int i, j;
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            total[i][j] = (SUMS){0};
    for (; steps; steps--) {
        SUMS real[2], imaginary[2];
        ATEN_UNROLL for (j = 0; j < vectors; j++) {
            const SUMS line = SOME(right + j * LANES, j + 1 < vectors ? LANES : last);
            real[j] = DOUBLED(line, 0);
            imaginary[j] = DOUBLED(line, 1);
        }
        ATEN_UNROLL for (i = 0; i < rows; i++) {
            const SUMS first = BOTH(left + i * left_row), second = BOTH(turned + i * turned_row);
            ATEN_UNROLL for (j = 0; j < vectors; j++) {
                total[i][j] += first * real[j];
                total[i][j] += second * imaginary[j];
            }
        }
        left += 2;
        turned += 2;
        right += right_row;
    }
    ATEN_UNROLL for (i = 0; i < rows; i++) {
        ATEN_UNROLL for (j = 0; j < vectors; j++) {
            const int count = j + 1 < vectors ? LANES : last;
            if (adds)
                total[i][j] += SOME(out + j * LANES, count);
            KEEP_SOME(out + j * LANES, total[i][j], count);
        }
        out += work->out_row;
    }
}

/* All columns of some rows over one stretch of the depth. */
static inline __attribute__((always_inline)) TARGET void
NAME(interleaved_rows)(const int rows, const aten_panel_interleaved *whole, const PART *left,
                       const PART *turned, int64_t steps, int adds)
{
    aten_panel_interleaved work = *whole;
    int64_t ahead = whole->columns;
    for (; ahead > 0; ahead -= LANES) {
        work.columns = ahead < LANES ? ahead : LANES;
        if (2 * work.columns > LANES)
            NAME(interleaved_tile)(rows, 2, &work, left, turned, steps, adds);
        else
            NAME(interleaved_tile)(rows, 1, &work, left, turned, steps, adds);
        work.right = (const PART *)work.right + 2 * LANES;
        work.out = (PART *)work.out + 2 * LANES;
    }
}

/* (-imaginary, real) of numbers that lie side by side. */
static TARGET void NAME(turn_pairs)(const PART *from, int64_t count, PART *to)
{
    int64_t i;
    for (i = 0; i < count; i++) {
        const PART real = from[2 * i], imaginary = from[2 * i + 1];
        to[2 * i] = -imaginary;
        to[2 * i + 1] = real;
    }
}

static TARGET void NAME(multiply_interleaved)(const aten_panel_interleaved *given)
{
    enum { STEPS = ATEN_INTERLEAVED_STEPS };
    PART near[ROWS * 2 * STEPS], turned[ROWS * 2 * STEPS];
    aten_panel_interleaved work = *given;
    int64_t begin, row, together, i, k;
    for (begin = 0; begin == 0 || begin < given->depth; begin += STEPS) {
        const int64_t steps = given->depth - begin < STEPS ? given->depth - begin : STEPS;
        const int adds = begin > 0;
        work.right = (const PART *)given->right + begin * given->right_row;
        for (row = 0; row < given->rows; row += together) {
            const int64_t ahead = given->rows - row;
            const PART *left = (const PART *)given->left + row * given->left_row
                + begin * given->left_step;
            together = ahead >= ROWS ? ROWS : ahead >= 4 ? 4 : ahead >= 2 ? 2 : 1;
            work.left_row = given->left_row;
            work.out = (PART *)given->out + row * given->out_row;
            if (given->left_step != 2) {
                for (i = 0; i < together; i++)
                    for (k = 0; k < steps; k++)
                        memcpy(near + 2 * (i * STEPS + k),
                               left + i * given->left_row + k * given->left_step,
                               2 * sizeof(PART));
                left = near;
                work.left_row = 2 * STEPS;
            }
            for (i = 0; i < together; i++)
                NAME(turn_pairs)(left + i * work.left_row, steps, turned + i * 2 * STEPS);
            if (together == ROWS)
                NAME(interleaved_rows)(ROWS, &work, left, turned, steps, adds);
            else if (together == 4)
                NAME(interleaved_rows)(4, &work, left, turned, steps, adds);
            else if (together == 2)
                NAME(interleaved_rows)(2, &work, left, turned, steps, adds);
            else
                NAME(interleaved_rows)(1, &work, left, turned, steps, adds);
        }
    }
}

#undef SOME
#undef KEEP_SOME
