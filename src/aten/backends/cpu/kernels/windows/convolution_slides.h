/* Kernels of convolutions whose channels see one channel each: taps slide over a copy of its plane,
   or over channels that are neighbours. Part of convolution_kernels.h, whose macros it uses. */

/* `vectors` vectors of sums over taps: tap t weighs what lies offsets[t] further on. */
static inline __attribute__((always_inline)) TARGET void
NAME(slide_block)(const int vectors, const ELEMENT *data, const int64_t *offsets,
                  const ELEMENT *weights, int64_t taps, int adds, ELEMENT bias, ELEMENT *out)
{
    NAME(vector) total[8];
    int64_t tap;
    int j;
    ATEN_UNROLL for (j = 0; j < vectors; j++)
        total[j] = (NAME(vector)){0};
    for (tap = 0; tap < taps; tap++) {
        const ELEMENT *from = data + offsets[tap];
        const ELEMENT factor = weights[tap];
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            total[j] += factor * NAME(load)(from + j * LANES);
    }
    ATEN_UNROLL for (j = 0; j < vectors; j++) {
        NAME(unaligned) *to = (NAME(unaligned) *)(out + j * LANES);
        *to = adds ? total[j] + (NAME(vector))*to : total[j] + bias;
    }
}

#define SLIDE_OF(vectors)                                                                        \
    static __attribute__((noinline)) TARGET void NAME(slide_##vectors)(                          \
        const ELEMENT *data, const int64_t *offsets, const ELEMENT *weights, int64_t taps,       \
        int adds, ELEMENT bias, ELEMENT *out)                                                    \
    {                                                                                            \
        NAME(slide_block)(vectors, data, offsets, weights, taps, adds, bias, out);               \
    }
SLIDE_OF(1) SLIDE_OF(2) SLIDE_OF(3) SLIDE_OF(4)
SLIDE_OF(5) SLIDE_OF(6) SLIDE_OF(7) SLIDE_OF(8)

static void (*const NAME(slides)[])(const ELEMENT *, const int64_t *, const ELEMENT *, int64_t, int,
                                    ELEMENT, ELEMENT *) = {
    NAME(slide_1), NAME(slide_2), NAME(slide_3), NAME(slide_4),
    NAME(slide_5), NAME(slide_6), NAME(slide_7), NAME(slide_8),
};

/* `count` sums over taps, and as many more as fill the last vector. Sums that wait for each other
   are slow: blocks of vectors differ little in size. */
static TARGET void NAME(slide)(const void *data, const int64_t *offsets, const void *weights,
                               int64_t taps, const void *bias, void *out, int64_t count)
{
    const ELEMENT constant = bias ? *(const ELEMENT *)bias : 0;
    const int64_t all = (count + LANES - 1) / LANES, blocks = (all + 7) / 8;
    int64_t begin = 0, block;
    do {
        const int64_t here = taps - begin < ATEN_STRETCH ? taps - begin : ATEN_STRETCH;
        int64_t done = 0;
        for (block = 0; block < blocks; block++) {
            const int64_t vectors = (all - done) / (blocks - block);
            NAME(slides)[vectors - 1]((const ELEMENT *)data + done * LANES, offsets + begin,
                                      (const ELEMENT *)weights + begin, here, begin != 0,
                                      constant, (ELEMENT *)out + done * LANES);
            done += vectors;
        }
        begin += here;
    } while (begin < taps);
}

/* Stores sums of `rows` lines of positions from `first` on, a vector of each or what is left. */
static inline __attribute__((always_inline)) TARGET void
NAME(settle_grid)(const int rows, const NAME(vector) *total, const aten_grid *grid, int64_t first,
                  int64_t column)
{
    const ELEMENT bias = grid->bias ? *(const ELEMENT *)grid->bias : 0;
    const aten_finish *finish = grid->finish;
    const ELEMENT low = finish ? (ELEMENT)finish->low : 0, high = finish ? (ELEMENT)finish->high : 0;
    const int64_t lanes = grid->columns - column;
    const MASK mask = MAKE_MASK(0, lanes < LANES ? lanes : LANES);
    ELEMENT *to = (ELEMENT *)grid->out + first * grid->out_line + column;
    int i;
    ATEN_UNROLL for (i = 0; i < rows; i++, to += grid->out_line) {
        NAME(vector) value = total[i] + bias;
        if (finish) {
            if (finish->adds)
                value += (NAME(vector))LOAD_PART(NAME(residual_of)(finish, to), mask);
            value = NAME(limited)(value, low, high);
        }
        if (lanes >= LANES)
            *(NAME(unaligned) *)to = value;
        else
            STORE_PART(to, mask, value);
    }
}

/* One vector of `rows` lines of positions, `pitch` apart as what they see is, over taps in `height`
   lines: what is loaded counts for every line that sees it. */
static inline __attribute__((always_inline)) TARGET void
NAME(grid_block)(const int rows, const int height, const aten_grid *grid, int64_t first,
                 int64_t column)
{
    const ELEMENT *data = (const ELEMENT *)grid->data + first * grid->pitch + column;
    const ELEMENT *weights = grid->weights;
    const int64_t taps = grid->taps;
    NAME(vector) total[4];
    int64_t tap;
    int i, line;
    ATEN_UNROLL for (i = 0; i < rows; i++)
        total[i] = (NAME(vector)){0};
    ATEN_UNROLL for (line = 0; line < rows + height - 1; line++) {
        for (tap = 0; tap < taps; tap++) {
            const NAME(vector) seen = NAME(load)(data + grid->offsets[tap]);
            ATEN_UNROLL for (i = 0; i < rows; i++)
                if (line >= i && line - i < height)
                    total[i] += weights[(line - i) * taps + tap] * seen;
        }
        data += grid->pitch;
    }
    NAME(settle_grid)(rows, total, grid, first, column);
}

/* What is left of a line is a vector that begins earlier: sums come out the same again. */
#define GRID_OF(rows, height)                                                                    \
    static __attribute__((noinline)) TARGET void NAME(grid_##rows##_##height)(                   \
        const aten_grid *grid, int64_t first)                                                    \
    {                                                                                            \
        int64_t column = 0;                                                                      \
        for (; column + LANES <= grid->columns; column += LANES)                                 \
            NAME(grid_block)(rows, height, grid, first, column);                                 \
        if (column < grid->columns)                                                              \
            NAME(grid_block)(rows, height, grid, first,                                          \
                             column ? grid->columns - LANES : 0);                                \
    }
GRID_OF(1, 3) GRID_OF(4, 3)
GRID_OF(1, 5) GRID_OF(4, 5)
GRID_OF(1, 7) GRID_OF(4, 7)

/* Lines of positions, whose taps stand in 3, 5 or 7 lines. */
static TARGET void NAME(slide_grid)(const aten_grid *grid)
{
    static void (*const grids[3][2])(const aten_grid *, int64_t) = {
        {NAME(grid_1_3), NAME(grid_4_3)},
        {NAME(grid_1_5), NAME(grid_4_5)},
        {NAME(grid_1_7), NAME(grid_4_7)},
    };
    void (*const *const blocks)(const aten_grid *, int64_t) = grids[(grid->height - 3) / 2];
    int64_t row = 0;
    for (; row + 4 <= grid->rows; row += 4)
        blocks[1](grid, row);
    for (; row < grid->rows; row++)
        blocks[0](grid, row);
}

#ifdef LOADED_ONCE
#include "convolution_planes.h"
#endif

/* Sums over taps at `positions` positions for `vectors` vectors of channels, or for those that the
   mask has. */
static inline __attribute__((always_inline)) TARGET void
NAME(channels_block)(const int positions, const int vectors, const int partial, const MASK mask,
                     const aten_channels *line, int64_t position, int64_t channel)
{
    const ELEMENT *data = (const ELEMENT *)line->data + position * line->step + channel;
    const ELEMENT *weights = (const ELEMENT *)line->weights + channel;
    const ELEMENT *bias = line->bias;
    ELEMENT *out = (ELEMENT *)line->out + position * line->out_step + channel;
    NAME(vector) total[16], factor[8];
    int64_t row, column;
    int i, j;
    ATEN_UNROLL for (i = 0; i < positions * vectors; i++)
        total[i] = (NAME(vector)){0};
    for (row = 0; row < line->rows; row++, data += line->row_step, weights += line->weight_row) {
        const ELEMENT *from = data, *weight = weights;
        for (column = 0; column < line->columns; column++) {
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                factor[j] = partial ? (NAME(vector))LOAD_PART(weight, mask)
                                    : NAME(load)(weight + j * LANES);
            ATEN_UNROLL for (i = 0; i < positions; i++)
                ATEN_UNROLL for (j = 0; j < vectors; j++) {
                    const ELEMENT *at = from + i * line->step + j * LANES;
                    total[i * vectors + j] += factor[j] * (partial ? (NAME(vector))LOAD_PART(at, mask)
                                                                   : NAME(load)(at));
                }
            from += line->column_step;
            weight += line->weight_column;
        }
    }
    ATEN_UNROLL for (j = 0; j < vectors; j++) {
        NAME(vector) constant = {0};
        if (bias && partial)
            constant = (NAME(vector))LOAD_PART(bias + channel, mask);
        else if (bias)
            constant = NAME(load)(bias + channel + j * LANES);
        ATEN_UNROLL for (i = 0; i < positions; i++) {
            const NAME(vector) value = total[i * vectors + j] + constant;
            ELEMENT *to = out + i * line->out_step + j * LANES;
            if (partial)
                STORE_PART(to, mask, value);
            else
                *(NAME(unaligned) *)to = value;
        }
    }
}

#define CHANNELS_OF(positions, vectors)                                                           \
    static __attribute__((noinline)) TARGET void NAME(channels_##positions##_##vectors)(         \
        const aten_channels *line, int64_t position, int64_t channel)                            \
    {                                                                                            \
        NAME(channels_block)(positions, vectors, 0, MAKE_MASK(0, LANES), line, position,         \
                             channel);                                                           \
    }
CHANNELS_OF(8, 1) CHANNELS_OF(8, 2) CHANNELS_OF(4, 1) CHANNELS_OF(4, 2)
CHANNELS_OF(1, 1) CHANNELS_OF(1, 2) CHANNELS_OF(1, 3) CHANNELS_OF(1, 4)
CHANNELS_OF(1, 5) CHANNELS_OF(1, 6) CHANNELS_OF(1, 7) CHANNELS_OF(1, 8)

/* Positions first … end, as many at a time, for the same channels after one another: their weights
   stay in the nearest cache. Blocks have eight sums, which do not wait for each other, or sixteen where
   there are as many registers more. */
static inline __attribute__((always_inline)) TARGET void
NAME(channels_runs)(const int positions, const aten_channels *line, int64_t first, int64_t end)
{
    static void (*const eights[])(const aten_channels *, int64_t, int64_t) = {
        NAME(channels_8_1), NAME(channels_8_2)};
    static void (*const fours[])(const aten_channels *, int64_t, int64_t) = {
        NAME(channels_4_1), NAME(channels_4_2)};
    static void (*const ones[])(const aten_channels *, int64_t, int64_t) = {
        NAME(channels_1_1), NAME(channels_1_2), NAME(channels_1_3), NAME(channels_1_4),
        NAME(channels_1_5), NAME(channels_1_6), NAME(channels_1_7), NAME(channels_1_8)};
    void (*const *const blocks)(const aten_channels *, int64_t, int64_t)
        = positions == 8 ? eights : positions == 4 ? fours : ones;
    int64_t vectors = line->channels / LANES, channel = 0, position;
    while (vectors > 0) {
        const int64_t most = positions < 8 ? 8 / positions : LANES * sizeof(ELEMENT) < 64 ? 1 : 2;
        const int64_t here = vectors < most ? vectors : most;
        for (position = first; position < end; position += positions)
            blocks[here - 1](line, position, channel);
        vectors -= here;
        channel += here * LANES;
    }
    if (channel < line->channels) {
        const MASK mask = MAKE_MASK(0, line->channels - channel);
        for (position = first; position < end; position += positions)
            NAME(channels_block)(positions, 1, 1, mask, line, position, channel);
    }
}

/* A line of positions where channels are neighbours and see one channel each. */
static TARGET void NAME(slide_channels)(const aten_channels *line)
{
    const int64_t eights = line->positions / 8 * 8, fours = line->positions / 4 * 4;
    NAME(channels_runs)(8, line, 0, eights);
    NAME(channels_runs)(4, line, eights, fours);
    NAME(channels_runs)(1, line, fours, line->positions);
}
