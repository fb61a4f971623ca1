/* Kernels of convolutions for one element type and one vector width.

   Included once for each, with
     ELEMENT, LANES           the type, and how many of them a vector holds; INTEGER has its size
     ROWS                     of the largest tile held in registers, 4 or 8; it is 3 vectors wide
     NAME(stem)               the stem with a suffix that is this inclusion's own
     TARGET                   the attribute that allows the processor's instructions
     MASK, MAKE_MASK(low, high)   what LOAD_PART(from, mask) and STORE_PART(to, mask, vector) take
                              to touch those lanes only; others are loaded as zero
     TURN(from, k, to, to_row)   transposes a square of four elements a side, whose lines are k elements
                              behind the addresses `from`
     TURN_SQUARE, SQUARE      where there is one: the same for a larger side
     LANES_OF(bits)           the mask of lanes whose bits are set
     MINIMUM(limit, value), MAXIMUM(limit, value)   NaN where the value is
     CURVED                   where there are activations other than limits, and transforms of tiles
     SUM_OF(vector)           where there is one: the sum of its lanes, in the order of `sum`
     ZIPPED(half, even, odd), NOT_FINITE(mask, value)   where there are: a half of two vectors' lanes by
                              turns; those of the masked lanes that are infinite or NaN
     LOAD_EVEN(from, mask), EVEN_MASK(low, high)   where there is one: those lanes of elements that
                              lie two apart

   A result is summed over channels and taps in order, in one lane, or, at the last positions of an
   image, in sixteen: neither how a convolution is cut nor what lies beside a result changes its
   bits. */

typedef ELEMENT NAME(vector) __attribute__((vector_size(LANES * sizeof(ELEMENT))));
typedef ELEMENT NAME(unaligned) __attribute__((vector_size(LANES * sizeof(ELEMENT)),
                                               aligned(sizeof(ELEMENT)), may_alias));
typedef INTEGER NAME(bits) __attribute__((vector_size(LANES * sizeof(ELEMENT))));

static inline __attribute__((always_inline)) TARGET NAME(vector) NAME(load)(const ELEMENT *from)
{
    return (NAME(vector))*(const NAME(unaligned) *)from;
}

#include "convolution_epilogues.h"

/* `lines` lines of `count` elements, `step` apart in memory; zeros before `low` and from `high` on. */
static TARGET void NAME(copy_lines)(const void *source, int64_t source_line, int64_t step,
                                    int64_t low, int64_t high, int64_t count, int64_t lines,
                                    void *target, int64_t target_line)
{
    int64_t column, line, i;
    for (column = 0; column < count; column += LANES) {
        const int64_t lanes = count - column < LANES ? count - column : LANES;
        const int64_t first = low < column ? 0 : low - column < lanes ? low - column : lanes;
        const int64_t last = high < column ? 0 : high - column < lanes ? high - column : lanes;
        const MASK loaded = MAKE_MASK(first, last), stored = MAKE_MASK(0, lanes);
        const ELEMENT *from = (const ELEMENT *)source + column * step;
        ELEMENT *to = (ELEMENT *)target + column;
        if (last <= first) {
            const NAME(vector) none = {0};
            for (line = 0; line < lines; line++, to += target_line)
                STORE_PART(to, stored, none);
        } else if (step == 1 && last - first == LANES) {
            for (line = 0; line < lines; line++, from += source_line, to += target_line)
                *(NAME(unaligned) *)to = *(const NAME(unaligned) *)from;
        } else if (step == 1) {
            for (line = 0; line < lines; line++, from += source_line, to += target_line) {
                const NAME(vector) part = (NAME(vector))LOAD_PART(from, loaded);
                STORE_PART(to, stored, part);
            }
#ifdef LOAD_EVEN
        } else if (step == 2) {
            for (line = 0; line < lines; line++, from += source_line, to += target_line) {
                const NAME(vector) part = (NAME(vector))LOAD_EVEN(from, EVEN_MASK(first, last));
                STORE_PART(to, stored, part);
            }
#endif
        } else {
            for (line = 0; line < lines; line++, from += source_line, to += target_line)
                for (i = 0; i < lanes; i++)
                    to[i] = i < first || i >= last ? 0 : from[i * step];
        }
    }
}

/* One vector of a panel for every channel. Its lanes come from `pieces` places, each with a mask;
   the others are zero. */
static inline __attribute__((always_inline)) TARGET void
NAME(copy_vector)(const int pieces, const int whole, const ELEMENT *const *given,
                  const MASK *masks, int64_t channels, int64_t from_channel, ELEMENT *to,
                  int64_t to_channel)
{
    const ELEMENT *from[ATEN_PIECES];
    MASK mask[ATEN_PIECES];
    int64_t c;
    int i;
    ATEN_UNROLL for (i = 0; i < pieces; i++) {
        from[i] = given[i];
        mask[i] = masks[i];
    }
    for (c = 0; c < channels; c++, to += to_channel) {
        NAME(bits) part = {0};
        ATEN_UNROLL for (i = 0; i < pieces; i++) {
            part |= whole ? (NAME(bits))NAME(load)(from[i])
                          : (NAME(bits))LOAD_PART(from[i], mask[i]);
            from[i] += from_channel;
        }
        *(NAME(unaligned) *)to = (NAME(vector))part;
    }
}

#ifdef LOAD_EVEN
/* The same for places two elements apart. */
static inline __attribute__((always_inline)) TARGET void
NAME(copy_even)(const int pieces, const ELEMENT *const *given, const uint32_t *masks,
                int64_t channels, int64_t from_channel, ELEMENT *to, int64_t to_channel)
{
    const ELEMENT *from[ATEN_PIECES];
    uint32_t mask[ATEN_PIECES];
    int64_t c;
    int i;
    ATEN_UNROLL for (i = 0; i < pieces; i++) {
        from[i] = given[i];
        mask[i] = masks[i];
    }
    for (c = 0; c < channels; c++, to += to_channel) {
        NAME(bits) part = {0};
        ATEN_UNROLL for (i = 0; i < pieces; i++) {
            part |= (NAME(bits))LOAD_EVEN(from[i], mask[i]);
            from[i] += from_channel;
        }
        *(NAME(unaligned) *)to = (NAME(vector))part;
    }
}
#endif

/* The same for any step and number of pieces. */
static TARGET void NAME(copy_lanes)(int pieces, const ELEMENT *const *from, const int64_t *low,
                                    const int64_t *high, int64_t step, int64_t channels,
                                    int64_t from_channel, ELEMENT *to, int64_t to_channel)
{
    int64_t c, lane;
    int i;
    for (c = 0; c < channels; c++, to += to_channel) {
        memset(to, 0, LANES * sizeof(ELEMENT));
        for (i = 0; i < pieces; i++) {
            const ELEMENT *line = from[i] + c * from_channel;
            for (lane = low[i]; lane < high[i]; lane++)
                to[lane] = line[lane * step];
        }
    }
}

static inline __attribute__((always_inline)) TARGET void
NAME(copy_pieces)(int pieces, const ELEMENT *const *from, const int64_t *low, const int64_t *high,
                  int64_t step, int64_t channels, int64_t from_channel, ELEMENT *to,
                  int64_t to_channel)
{
    int i;
    if (step == 1 && pieces <= ATEN_PIECES) {
        MASK mask[ATEN_PIECES];
        for (i = 0; i < pieces; i++)
            mask[i] = MAKE_MASK(low[i], high[i]);
        if (pieces == 1 && low[0] == 0 && high[0] == LANES)
            NAME(copy_vector)(1, 1, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 1)
            NAME(copy_vector)(1, 0, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 2)
            NAME(copy_vector)(2, 0, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 3)
            NAME(copy_vector)(3, 0, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 4)
            NAME(copy_vector)(4, 0, from, mask, channels, from_channel, to, to_channel);
        else
            NAME(copy_vector)(0, 0, from, mask, channels, from_channel, to, to_channel);
        return;
    }
#ifdef LOAD_EVEN
    if (step == 2 && pieces <= ATEN_PIECES) {
        uint32_t mask[ATEN_PIECES];
        for (i = 0; i < pieces; i++)
            mask[i] = EVEN_MASK(low[i], high[i]);
        if (pieces == 1)
            NAME(copy_even)(1, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 2)
            NAME(copy_even)(2, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 3)
            NAME(copy_even)(3, from, mask, channels, from_channel, to, to_channel);
        else if (pieces == 4)
            NAME(copy_even)(4, from, mask, channels, from_channel, to, to_channel);
        else
            NAME(copy_even)(0, from, mask, channels, from_channel, to, to_channel);
        return;
    }
#endif
    NAME(copy_lanes)(pieces, from, low, high, step, channels, from_channel, to, to_channel);
}

/* What the positions of a strip see of `channels` channels from the taps begin … end: a row of the
   panel for each channel and tap. */
static TARGET void NAME(pack_channels)(const aten_windows *work, const aten_strip *strip,
                                       const void *data, int64_t channels, int64_t begin,
                                       int64_t end, void *panel)
{
    const int64_t taps = end - begin, step = work->step[2];
    const int64_t length = work->input_sizes[2];
    const ELEMENT *from[LANES];
    int64_t lows[LANES], highs[LANES], tap, column;
    for (tap = 0; tap < taps; tap++) {
        const aten_piece *piece = strip->piece, *last = piece + strip->pieces;
        for (column = 0; column < strip->columns; column += LANES) {
            int seen = 0;
            for (; piece < last && piece->column < column + LANES; piece++) {
                const int64_t z = piece->z * work->step[0] + work->places[0][begin + tap];
                const int64_t y = piece->y * work->step[1] + work->places[1][begin + tap];
                const int64_t x = piece->x * step + work->places[2][begin + tap];
                const int64_t lane = piece->column - column;
                int64_t low, high;
                if (z < 0 || z >= work->input_sizes[0] || y < 0 || y >= work->input_sizes[1]
                    || x >= length)
                    continue;
                low = x < 0 ? (step - 1 - x) / step : 0;
                high = length - x > (piece->count - 1) * step ? piece->count
                                                               : (length - x + step - 1) / step;
                if (low >= high)
                    continue;
                from[seen] = (const ELEMENT *)data + z * work->input_strides[0]
                    + y * work->input_strides[1] + (x - lane * step) * work->input_strides[2];
                lows[seen] = lane + low;
                highs[seen] = lane + high;
                seen++;
            }
            NAME(copy_pieces)(seen, from, lows, highs, step * work->input_strides[2], channels,
                              work->input_channel,
                              (ELEMENT *)panel + tap * strip->width + column,
                              taps * strip->width);
        }
    }
}

/* Taps see the same lines: of planes that keep each other out of caches, a few at a time. */
static TARGET void NAME(pack)(const aten_windows *work, const aten_strip *strip, const void *data,
                              int64_t channels, int64_t begin, int64_t end, void *panel)
{
    const int aliased = work->input_channel * (int64_t)sizeof(ELEMENT) % ATEN_ALIAS == 0;
    const int64_t each = aliased && end - begin > 1 ? ATEN_FEW_ALIASES : channels;
    int64_t c;
    for (c = 0; c < channels; c += each)
        NAME(pack_channels)(work, strip, (const ELEMENT *)data + c * work->input_channel,
                            channels - c < each ? channels - c : each, begin, end,
                            (ELEMENT *)panel + c * (end - begin) * strip->width);
}

/* One tile: `rows` channels times `vectors` vectors of positions, of which the last may be partial.
   The next rows' weights come into the cache meanwhile. With `packs` what is multiplied comes from
   the tile's source, and goes to the panel. */
static inline __attribute__((always_inline)) TARGET void
NAME(tile)(const int rows, const int vectors, const int partial, const int packs,
           const aten_window_tile *tile)
{
    NAME(vector) total[ROWS][3];
    NAME(vector) line[3];
    const ELEMENT *left = tile->left, *bias = tile->bias, *source = tile->source;
    const int64_t left_row = tile->left_row, width = tile->width, depth = tile->depth;
    const int64_t source_row = tile->source_row;
    ELEMENT *right = (ELEMENT *)tile->right;
    const ELEMENT *lower = left + 4 * left_row;
    const ELEMENT *ahead = left + ROWS * left_row;
    const aten_finish *finish = tile->finish;
    ELEMENT *out = tile->out;
    int64_t k = 0, end;
    int i, j;
    /* What will be stored, and added before, is on its way while sums are made. */
    ATEN_UNROLL for (i = 0; i < rows; i++) {
        const ELEMENT *to = out + i * tile->out_row;
        __builtin_prefetch(to, 1);
        __builtin_prefetch(to + tile->columns - 1, 1);
        if (finish && finish->adds) {
            __builtin_prefetch(NAME(residual_of)(finish, to));
            __builtin_prefetch(NAME(residual_of)(finish, to) + tile->columns - 1);
        }
    }
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            total[i][j] = (NAME(vector)){0};
    while (k < depth) {
        end = depth - k > ATEN_LINE ? k + ATEN_LINE : depth;
        if (rows == ROWS && tile->ahead)
            ATEN_UNROLL for (i = 0; i < ROWS; i++)
                __builtin_prefetch(ahead + i * left_row + k);
        for (; k < end; k++) {
            if (packs) {
                __builtin_prefetch(source + ATEN_AHEAD * source_row);
                __builtin_prefetch(source + ATEN_AHEAD * source_row + vectors * LANES - 1);
            }
            ATEN_UNROLL for (j = 0; j < vectors; j++) {
                line[j] = NAME(load)((packs ? source : right) + j * LANES);
                if (packs)
                    *(NAME(unaligned) *)(right + j * LANES) = line[j];
            }
            ATEN_UNROLL for (i = 0; i < rows; i++) {
                const ELEMENT factor = i < 4 ? left[i * left_row] : lower[(i - 4) * left_row];
                ATEN_UNROLL for (j = 0; j < vectors; j++)
                    total[i][j] += factor * line[j];
            }
            left++;
            lower++;
            right += width;
            source += source_row;
        }
    }
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < vectors; j++) {
            const int cut = partial && j == vectors - 1;
            const MASK mask = MAKE_MASK(0, tile->columns - (vectors - 1) * LANES);
            ELEMENT *to = out + i * tile->out_row + j * LANES;
            NAME(vector) value = total[i][j];
            if (tile->adds)
                value += cut ? (NAME(vector))LOAD_PART(to, mask) : NAME(load)(to);
            else if (bias)
                value += bias[i * tile->bias_step];
            if (finish) {
                const ELEMENT *from = NAME(residual_of)(finish, to);
                if (finish->adds)
                    value += cut ? (NAME(vector))LOAD_PART(from, mask) : NAME(load)(from);
                value = NAME(limited)(value, (ELEMENT)finish->low, (ELEMENT)finish->high);
            }
            if (cut)
                STORE_PART(to, mask, value);
            else
                *(NAME(unaligned) *)to = value;
        }
}

#define TILE_OF(rows, vectors)                                                                   \
    static __attribute__((noinline)) TARGET void NAME(tile_##rows##_##vectors)(                  \
        const aten_window_tile *tile)                                                            \
    {                                                                                            \
        if (tile->source)                                                                        \
            NAME(tile)(rows, vectors, 0, 1, tile);                                               \
        else if (tile->columns != vectors * LANES)                                               \
            NAME(tile)(rows, vectors, 1, 0, tile);                                               \
        else                                                                                     \
            NAME(tile)(rows, vectors, 0, 0, tile);                                               \
    }
#define TILES_OF(rows) TILE_OF(rows, 1) TILE_OF(rows, 2) TILE_OF(rows, 3)

TILES_OF(1)
TILES_OF(2)
TILES_OF(4)
#if ROWS == 8
TILES_OF(8)
#endif

#define TILE_NAMES(rows) {NAME(tile_##rows##_1), NAME(tile_##rows##_2), NAME(tile_##rows##_3)}

static void (*const NAME(tiles)[][3])(const aten_window_tile *) = {
    TILE_NAMES(1),
    TILE_NAMES(2),
    TILE_NAMES(4),
#if ROWS == 8
    TILE_NAMES(8),
#endif
};

/* `rows` channels of one strip, over one stretch of the depth. */
static TARGET void NAME(multiply)(const aten_window_tile *strip, int64_t rows)
{
    const int vectors = (int)((strip->columns - 1) / LANES);
    aten_window_tile tile = *strip;
    int shape = ROWS == 8 ? 3 : 2;
    int64_t row;
    for (row = 0; row < rows; row += (int64_t)1 << shape) {
        while (rows - row < (int64_t)1 << shape)
            shape--;
        tile.ahead = rows - row >= 2 * ROWS;
        tile.left = (const ELEMENT *)strip->left + row * strip->left_row;
        if (strip->bias)
            tile.bias = (const ELEMENT *)strip->bias + row * strip->bias_step;
        tile.out = (ELEMENT *)strip->out + row * strip->out_row;
        NAME(tiles)[shape][vectors](&tile);
        tile.source = NULL;
    }
}

/* The sum of all lanes: the upper half is added to the lower one, and so on. */
static inline __attribute__((always_inline)) TARGET ELEMENT NAME(sum)(NAME(vector) value)
{
#ifdef SUM_OF
    return SUM_OF(value);
#else
    ELEMENT lanes[LANES];
    int half, i;
    memcpy(lanes, &value, sizeof lanes);
    ATEN_UNROLL for (half = LANES / 2; half > 0; half /= 2)
        ATEN_UNROLL for (i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
#endif
}

#define PARTS (16 / LANES)

/* Sums for `rows` channels at one position, whose column of the panel lies in `column`. Whatever
   vectors there are, each is the sum of sixteen. */
static inline __attribute__((always_inline)) TARGET void
NAME(dot_rows)(const int rows, const aten_window_tile *tile, int64_t row, const ELEMENT *column,
               ELEMENT *out)
{
    const ELEMENT *left = (const ELEMENT *)tile->left + row * tile->left_row;
    const int64_t depth = tile->depth, whole = depth / 16 * 16;
    NAME(vector) total[4][PARTS];
    int64_t k;
    int i, part, half;
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (part = 0; part < PARTS; part++)
            total[i][part] = (NAME(vector)){0};
    for (k = 0; k < whole; k += 16)
        ATEN_UNROLL for (part = 0; part < PARTS; part++) {
            const NAME(vector) seen = NAME(load)(column + k + part * LANES);
            ATEN_UNROLL for (i = 0; i < rows; i++)
                total[i][part] += seen * NAME(load)(left + i * tile->left_row + k + part * LANES);
        }
    for (part = 0; part < PARTS && k < depth; part++, k += LANES) {
        const MASK mask = MAKE_MASK(0, depth - k < LANES ? depth - k : LANES);
        const NAME(vector) seen = (NAME(vector))LOAD_PART(column + k, mask);
        ATEN_UNROLL for (i = 0; i < rows; i++)
            total[i][part] += seen * (NAME(vector))LOAD_PART(left + i * tile->left_row + k, mask);
    }
    ATEN_UNROLL for (i = 0; i < rows; i++) {
        ELEMENT *to = out + (row + i) * tile->out_row;
        ELEMENT sum;
        ATEN_UNROLL for (half = PARTS / 2; half > 0; half /= 2)
            ATEN_UNROLL for (part = 0; part < half; part++)
                total[i][part] += total[i][part + half];
        sum = NAME(sum)(total[i][0]);
        if (tile->adds)
            sum += *to;
        else if (tile->bias)
            sum += ((const ELEMENT *)tile->bias)[(row + i) * tile->bias_step];
        *to = NAME(settled_one)(tile->finish, sum, to);
    }
}

/* `rows` channels of a strip of few positions, over one stretch of the depth. */
static TARGET void NAME(dots)(const aten_window_tile *tile, int64_t rows)
{
    ELEMENT column[ATEN_STRETCH];
    int64_t place, row, k;
    for (place = 0; place < tile->columns; place++) {
        for (k = 0; k < tile->depth; k++)
            column[k] = ((const ELEMENT *)tile->right)[k * tile->width + place];
        for (row = 0; row + 4 <= rows; row += 4)
            NAME(dot_rows)(4, tile, row, column, (ELEMENT *)tile->out + place);
        for (; row < rows; row++)
            NAME(dot_rows)(1, tile, row, column, (ELEMENT *)tile->out + place);
    }
}

#include "convolution_slides.h"

/* What `rows` lines of a gradient and `columns` lines of what taps see sum up to. Lanes that are no
   positions do not count. */
static inline __attribute__((always_inline)) TARGET void
NAME(weigh_block)(const int rows, const int columns, const aten_weighing *block, int64_t row,
                  int64_t column)
{
    const ELEMENT *gradient = (const ELEMENT *)block->gradient + row * block->gradient_row;
    const ELEMENT *data = block->data;
    const int64_t *offsets = block->offsets + column;
    const uint16_t *lanes = block->lanes;
    ELEMENT *out = (ELEMENT *)block->out + row * block->out_row + column;
    NAME(vector) total[4][6], line[4];
    int64_t k;
    int i, j;
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < columns; j++)
            total[i][j] = (NAME(vector)){0};
    for (k = 0; k < block->count; k += LANES) {
        const MASK mask = LANES_OF(lanes[k / 16] >> (k % 16));
        ATEN_UNROLL for (i = 0; i < rows; i++)
            line[i] = (NAME(vector))LOAD_PART(gradient + i * block->gradient_row + k, mask);
        ATEN_UNROLL for (j = 0; j < columns; j++) {
            const NAME(vector) seen = (NAME(vector))LOAD_PART(data + offsets[j] + k, mask);
            ATEN_UNROLL for (i = 0; i < rows; i++)
                total[i][j] += line[i] * seen;
        }
    }
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < columns; j++) {
            const ELEMENT sum = NAME(sum)(total[i][j]);
            ELEMENT *to = out + i * block->out_row + j;
            *to = block->adds ? *to + sum : sum;
        }
}

#define WEIGH_OF(rows, columns)                                                                  \
    static __attribute__((noinline)) TARGET void NAME(weigh_##rows##_##columns)(                 \
        const aten_weighing *block, int64_t row, int64_t column)                                 \
    {                                                                                            \
        NAME(weigh_block)(rows, columns, block, row, column);                                    \
    }
#if ROWS == 8
#define TOGETHER 6
WEIGH_OF(4, 6) WEIGH_OF(1, 6)
#define WEIGH_FOUR NAME(weigh_4_6)
#define WEIGH_ONE NAME(weigh_1_6)
#else
#define TOGETHER 2
WEIGH_OF(4, 2) WEIGH_OF(1, 2)
#define WEIGH_FOUR NAME(weigh_4_2)
#define WEIGH_ONE NAME(weigh_1_2)
#endif
WEIGH_OF(4, 1) WEIGH_OF(1, 1)

/* Every line of the gradient with every line of what taps see. */
static TARGET void NAME(weigh)(const aten_weighing *block)
{
    int64_t row = 0, column;
    for (; row + 4 <= block->rows; row += 4) {
        for (column = 0; column + TOGETHER <= block->columns; column += TOGETHER)
            WEIGH_FOUR(block, row, column);
        for (; column < block->columns; column++)
            NAME(weigh_4_1)(block, row, column);
    }
    for (; row < block->rows; row++) {
        for (column = 0; column + TOGETHER <= block->columns; column += TOGETHER)
            WEIGH_ONE(block, row, column);
        for (; column < block->columns; column++)
            NAME(weigh_1_1)(block, row, column);
    }
}

/* `rows` rows of `count` elements to columns of a panel whose rows are `width` long. */
static TARGET void NAME(turn)(const void *source, int64_t source_row, int64_t rows, int64_t count,
                              void *target, int64_t width)
{
    const ELEMENT *from = source, *line[4];
    ELEMENT *to = target;
    int64_t row = 0, k, i;
    for (; row + 4 <= rows; row += 4) {
        /* Short rows are soon read, and come from far. */
        if (source_row <= ATEN_LINE)
            for (k = 0; k < 4 * source_row; k += ATEN_LINE)
                __builtin_prefetch(from + (row + 4 * ATEN_LINE) * source_row + k);
        for (i = 0; i < 4; i++)
            line[i] = from + (row + i) * source_row;
        for (k = 0; k + 4 <= count; k += 4)
            TURN(line, k, to + k * width + row, width);
        for (; k < count; k++)
            for (i = row; i < row + 4; i++)
                to[k * width + i] = from[i * source_row + k];
    }
    for (; row < rows; row++)
        for (k = 0; k < count; k++)
            to[k * width + row] = from[row * source_row + k];
}

#ifndef SQUARE
#define SQUARE 4
#define TURN_SQUARE TURN
#endif

/* `count` elements of each of `columns` lines of data as columns of a panel, and whatever follows as
   far as squares reach. */
static TARGET void NAME(turn_lines)(const void *data, const int64_t *offsets, int64_t columns,
                                    int64_t count, void *panel, int64_t width)
{
    const ELEMENT *line[SQUARE];
    int64_t column, k;
    int i;
    for (column = 0; column < columns; column += SQUARE) {
        for (i = 0; i < SQUARE; i++)
            line[i] = (const ELEMENT *)data + offsets[column + i < columns ? column + i : column];
        for (k = 0; k < count; k += SQUARE)
            TURN_SQUARE(line, k, (ELEMENT *)panel + k * width + column, width);
    }
}

#ifdef CURVED
#include "convolution_transforms.h"
#define TRANSFORMS NAME(see_tiles), NAME(spread_weights), NAME(join_tiles)
#else
#define TRANSFORMS NULL, NULL, NULL
#endif

static const aten_window_kernels NAME(kernels) = {
    LANES, ROWS, NAME(pack), NAME(multiply), NAME(dots), NAME(slide), NAME(slide_grid),
    NAME(copy_lines), NAME(weigh), NAME(turn), NAME(turn_lines),
    NAME(slide_channels), NAME(finish), TRANSFORMS,
};

#undef PARTS
#undef TRANSFORMS
#undef ZIPPED
#undef NOT_FINITE
#undef WEIGH_OF
#undef WEIGH_FOUR
#undef WEIGH_ONE
#undef TOGETHER
#undef GRID_OF
#undef GRIDS_OF
#undef GRID_NAMES
#undef SLIDE_OF
#undef TILE_OF
#undef TILES_OF
#undef TILE_NAMES
#undef ELEMENT
#undef INTEGER
#undef LANES
#undef ROWS
#undef NAME
#undef MASK
#undef MINIMUM
#undef SUM_OF
#undef MAXIMUM
#undef CURVED
#undef TURN
#undef TURN_SQUARE
#undef SQUARE
#undef LANES_OF
#undef MAKE_MASK
#undef LOAD_PART
#undef STORE_PART
#undef LOAD_EVEN
#undef EVEN_MASK
