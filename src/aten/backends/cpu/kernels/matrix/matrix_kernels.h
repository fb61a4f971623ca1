/* Kernels of matrix products for one element type and one vector width.

   Included once for each, with
     ELEMENT, LANES           the type, and how many of them a vector holds
     ROWS                     of the largest tile held in registers, 4 or 8; it is 3 vectors wide
     NAME(stem)               the stem with a suffix that is this inclusion's own
     TARGET                   the attribute that allows the processor's instructions
     MASK, MAKE_MASK(count)   what LOAD_PART(from, mask) and STORE_PART(to, mask, vector) take to
                              touch the first `count` lanes only
     TURN(from, row, to, to_row)   transposes a square, SIDE elements a side
     SUM_LANES(vectors, to)        optional: the sums of the lanes of LANES vectors, halves added
                                   to halves

   A result is summed over a stretch of the depth in order, in one lane, and added to what the
   stretches before it gave, whatever tile it lies in: neither how a product is cut nor what lies
   beside a result changes its bits. */

typedef ELEMENT NAME(vector) __attribute__((vector_size(LANES * sizeof(ELEMENT))));
typedef ELEMENT NAME(unaligned) __attribute__((vector_size(LANES * sizeof(ELEMENT)),
                                               aligned(sizeof(ELEMENT)), may_alias));

static inline __attribute__((always_inline)) TARGET NAME(vector)
NAME(load)(const ELEMENT *from, int partial, MASK mask)
{
    if (partial)
        return (NAME(vector))LOAD_PART(from, mask);
    return (NAME(vector))*(const NAME(unaligned) *)from;
}

#include "matrix_tile.h"

#define TILE_OF(rows, vectors)                                                                   \
    static __attribute__((noinline)) TARGET void NAME(tile_##rows##_##vectors)(                  \
        const aten_tile *tile)                                                                   \
    {                                                                                            \
        if (tile->columns != vectors * LANES)                                                    \
            NAME(tile)(rows, vectors, 1, 0, tile);                                               \
        else if (rows == 8 && vectors >= 2 && tile->fetch && tile->keep)                         \
            NAME(tile)(rows, vectors, 0, ATEN_ONLY_AHEAD, tile);                                 \
        else if (rows == ROWS && vectors == 3 && tile->fetch)                                    \
            NAME(tile)(rows, vectors, 0, ATEN_WITH_RESULTS, tile);                               \
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

static void (*const NAME(tiles)[][3])(const aten_tile *) = {
    TILE_NAMES(1),
    TILE_NAMES(2),
    TILE_NAMES(4),
#if ROWS == 8
    TILE_NAMES(8),
#endif
};

/* `depth` steps of up to `width` columns, laid out step after step. */
static TARGET void NAME(pack)(const ELEMENT *source, int64_t step, int64_t column_step,
                              int64_t depth, int64_t columns, int64_t width, ELEMENT *target)
{
    const int64_t side = SIDE;
    const int64_t turned = step == 1 ? columns / side * side : 0;
    int64_t k = 0, j;
    if (column_step == 1) {
        for (; columns == width && k < depth; k++)
            for (j = 0; j < width; j += LANES)
                *(NAME(unaligned) *)(target + k * width + j)
                    = *(const NAME(unaligned) *)(source + k * step + j);
        for (; k < depth; k++)
            memcpy(target + k * width, source + k * step, columns * sizeof(ELEMENT));
        return;
    }
    if (turned)
        for (; k + side <= depth; k += side) {
            for (j = 0; j < turned; j += side)
                TURN(source + k + j * column_step, column_step, target + k * width + j, width);
            for (; j < columns; j++) {
                int i;
                for (i = 0; i < side; i++)
                    target[(k + i) * width + j] = source[k + i + j * column_step];
            }
        }
    for (; k < depth; k++)
        for (j = 0; j < columns; j++)
            target[k * width + j] = source[k * step + j * column_step];
}

/* All rows of one strip of columns, over one stretch of the depth. Its tiles share what lies
   ahead: a few rows for each, or a column in pieces as wide as a tile. */
static TARGET void NAME(strip)(aten_tile *tile, int64_t rows)
{
    const int vectors = (int)((tile->columns - 1) / LANES);
    const ELEMENT *left = tile->left, *addend = tile->addend, *ahead = tile->ahead;
    const ELEMENT *start = tile->start;
    ELEMENT *out = tile->out, *keep = tile->keep;
    const int64_t all = tile->ahead_rows;
    const int64_t share = tile->ahead_column ? (tile->depth + 3 * LANES - 1) / (3 * LANES)
        : all ? (all * ROWS + rows - 1) / rows : 0;
    const int64_t ahead_step = tile->ahead_column ? tile->ahead_column : share * tile->ahead_row;
    int64_t to_fetch = tile->ahead_column ? all * share : all;
    int shape = ROWS == 8 ? 3 : 2;
    int64_t row;
    for (row = 0; row < rows; row += (int64_t)1 << shape) {
        while (rows - row < (int64_t)1 << shape)
            shape--;
        tile->left = left + row * tile->left_row;
        tile->addend = addend ? addend + row * tile->addend_row : addend;
        tile->out = out + row * tile->out_row;
        tile->start = start ? start + row * tile->kept_row : start;
        tile->keep = keep ? keep + row * tile->kept_row : keep;
        tile->ahead = ahead;
        tile->ahead_rows = to_fetch < share ? to_fetch : share;
        NAME(tiles)[shape][vectors](tile);
        ahead += ahead_step;
        to_fetch -= tile->ahead_rows;
    }
}

/* Steps between fetches with which a tile is done with its share of what lies ahead. */
static inline int NAME(fetch_steps)(const aten_tile *tile, int64_t rows)
{
    const int64_t share = (tile->ahead_rows * ROWS + rows - 1) / rows;
    const int64_t steps = tile->depth / (share + ROWS);
    return steps < 1 ? 1 : steps < ATEN_FETCH_STEPS ? (int)steps : ATEN_FETCH_STEPS;
}

/* A tile of those steps, as far as all strips have it in common. */
static inline __attribute__((always_inline)) TARGET void
NAME(begin_steps)(const aten_block *block, const aten_steps *steps, aten_tile *tile)
{
    tile->depth = steps->count;
    tile->left_row = block->left_row;
    tile->left_step = block->left_step;
    tile->right_step = block->pack ? block->width : block->right_step;
    tile->addend_row = steps->stretch ? block->out_row : block->addend_row;
    tile->out_row = block->out_row;
    tile->alpha = block->alpha;
    tile->beta = steps->stretch ? 1 : block->beta;
    tile->fetch = block->fetch ? ATEN_FETCH_STEPS : 0;
    tile->fetches_results = 1;
    tile->ahead_row = 0;
    tile->kept_row = steps->sums_row;
    tile->merges = 0;
}

/* Ahead of a strip is the next one, which is packed when this one is done. */
static inline __attribute__((always_inline)) TARGET void
NAME(look_ahead)(const aten_block *block, int is_last, aten_tile *tile)
{
    tile->ahead = (const ELEMENT *)tile->right + block->width * block->right_column;
    tile->ahead_rows = tile->ahead_column = 0;
    if (is_last || !block->fetch)
        return;
    if (block->right_column == 1) {
        tile->ahead_rows = tile->depth;
        tile->ahead_row = block->right_step;
    } else if (block->right_step == 1) {
        tile->ahead_rows = block->width;
        tile->ahead_row = 3 * LANES;
        tile->ahead_column = block->right_column;
    }
}

/* Where the strip at `column` begins, at `row`, over those steps. */
static inline __attribute__((always_inline)) TARGET void
NAME(begin_strip)(const aten_block *block, const aten_steps *steps, int64_t row, int64_t column,
                  aten_tile *tile)
{
    const int64_t columns = block->columns - column;
    const ELEMENT *addend = steps->stretch ? block->out : block->addend;
    ELEMENT *sums = steps->sums ? (ELEMENT *)steps->sums + row * steps->sums_row + column : NULL;
    tile->columns = columns < block->width ? columns : block->width;
    tile->right = (const ELEMENT *)block->right + steps->begin * block->right_step
        + column * block->right_column;
    tile->addend = addend ? addend + row * tile->addend_row + column : NULL;
    tile->out = (ELEMENT *)block->out + row * tile->out_row + column;
    tile->start = steps->begin > steps->stretch ? sums : NULL;
    tile->keep = steps->goes_on ? sums : NULL;
    NAME(look_ahead)(block, columns <= block->width, tile);
}

/* Whether a stretch of the left operand is copied, row after row, before the strips read it: each
   of them would wait anew for rows that lie far apart, and for steps of the depth that do. */
static TARGET int NAME(copies_left)(const aten_block *block)
{
    const int64_t row = block->left_row * (int64_t)sizeof(ELEMENT);
    return block->pack && block->columns > 2 * block->width
        && (block->left_step != 1 || (block->fetch && row >= ATEN_FAR));
}

/* Steps of a block whose right operand is read where it lies. A large result is written as it
   lies, too, along its rows. */
static TARGET void NAME(multiply_in_place)(const aten_block *block, const aten_steps *steps)
{
    const ELEMENT *left = (const ELEMENT *)block->left + steps->begin * block->left_step;
    const int small = block->columns <= block->width || block->rows * block->columns < ATEN_LARGE;
    const int64_t together = small ? block->rows : ROWS;
    int64_t row, column, rows;
    aten_tile tile;
    NAME(begin_steps)(block, steps, &tile);
    for (row = 0; row < block->rows; row += together) {
        rows = block->rows - row < together ? block->rows - row : together;
        for (column = 0; column < block->columns; column += block->width) {
            NAME(begin_strip)(block, steps, row, column, &tile);
            tile.left = left + row * block->left_row;
            NAME(strip)(&tile, rows);
        }
    }
}

/* `vectors` vectors of a row, in which so many steps of the depth are summed. */
static inline __attribute__((always_inline)) TARGET void
NAME(row_part)(const int vectors, const int partial, const MASK mask, const int64_t steps,
               const aten_tile *tile, const ELEMENT *factors, int64_t column)
{
    const ELEMENT *right = (const ELEMENT *)tile->right + column;
    const ELEMENT *lower = right + 4 * tile->right_step;
    const ELEMENT *addend = tile->addend, *start = tile->start;
    ELEMENT *out = (ELEMENT *)tile->out + column, *keep = tile->keep;
    NAME(vector) total[2], value;
    int64_t k;
    int j;
    ATEN_UNROLL for (j = 0; j < vectors; j++)
        total[j] = start ? NAME(load)(start + column + j * LANES, 0, mask) : (NAME(vector)){0};
    ATEN_UNROLL for (k = 0; k < steps; k++)
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            total[j] += factors[k] * NAME(load)((k < 4 ? right + k * tile->right_step
                                                 : lower + (k - 4) * tile->right_step)
                                                + j * LANES, partial, mask);
    if (keep) {
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            *(NAME(unaligned) *)(keep + column + j * LANES) = total[j];
        return;
    }
    ATEN_UNROLL for (j = 0; j < vectors; j++) {
        value = (ELEMENT)tile->alpha * total[j];
        ATEN_ROUND(value);
        if (addend)
            value += (ELEMENT)tile->beta * NAME(load)(addend + column + j * LANES, partial, mask);
        if (partial)
            STORE_PART(out + j * LANES, mask, value);
        else
            *(NAME(unaligned) *)(out + j * LANES) = value;
    }
}

/* Steps of a block of one row: the right operand's rows run side by side from end to end, as
   memory gives them fastest. */
static TARGET void NAME(multiply_row)(const aten_block *block, const aten_steps *steps)
{
    const ELEMENT *left = (const ELEMENT *)block->left + steps->begin * block->left_step;
    const int64_t whole = block->columns / LANES * LANES;
    const MASK mask = MAKE_MASK(block->columns - whole);
    ELEMENT factors[ATEN_STREAMS];
    aten_tile tile;
    int64_t column = 0, k;
    NAME(begin_steps)(block, steps, &tile);
    NAME(begin_strip)(block, steps, 0, 0, &tile);
    for (k = 0; k < tile.depth; k++)
        factors[k] = left[k * block->left_step];
    if (tile.depth == ATEN_STREAMS)
        for (; column + 2 * LANES <= whole; column += 2 * LANES)
            NAME(row_part)(2, 0, mask, ATEN_STREAMS, &tile, factors, column);
    for (; column < whole; column += LANES)
        NAME(row_part)(1, 0, mask, tile.depth, &tile, factors, column);
    if (column < block->columns)
        NAME(row_part)(1, 1, mask, tile.depth, &tile, factors, column);
}

/* A stretch of a block whose right operand is packed, strip after strip. `copied`, if there is
   one, has room for a stretch of the left operand with rows `copied_row` apart. */
static TARGET void NAME(multiply_packed)(const aten_block *block, const aten_steps *steps,
                                         ELEMENT *copied, int64_t copied_row)
{
    ELEMENT packed[3 * LANES * ATEN_STRETCH] __attribute__((aligned(64)));
    const ELEMENT *left = (const ELEMENT *)block->left + steps->begin * block->left_step;
    int64_t column;
    aten_tile tile;
    NAME(begin_steps)(block, steps, &tile);
    if (copied) {
        NAME(pack)(left, block->left_row, block->left_step, block->rows, tile.depth, copied_row,
                   copied);
        left = copied;
        tile.left_row = copied_row;
        tile.left_step = 1;
    }
    for (column = 0; column < block->columns; column += block->width) {
        NAME(begin_strip)(block, steps, 0, column, &tile);
        NAME(pack)(tile.right, block->right_step, block->right_column, tile.depth, tile.columns,
                   block->width, packed);
        tile.left = left;
        tile.right = packed;
        if (tile.ahead_rows && !tile.ahead_column)
            tile.fetch = NAME(fetch_steps)(&tile, block->rows);
        NAME(strip)(&tile, block->rows);
    }
}

/* A block of the result, over all of the depth. */
static TARGET void NAME(multiply_whole)(const aten_block *block, ELEMENT *sums)
{
    const int64_t row = ATEN_STRETCH + ATEN_GAP / sizeof(ELEMENT);
    ELEMENT *copied = NULL;
    aten_steps steps;
    steps.begin = 0;
    steps.sums = sums;
    steps.sums_row = (block->columns + 3 * LANES - 1) / (3 * LANES) * (3 * LANES);
    /* Without memory the left operand is read where it lies. */
    if (NAME(copies_left)(block))
        copied = aligned_alloc(64, (block->rows * row * sizeof(ELEMENT) + 63) / 64 * 64);
    do {
        const int64_t left = block->depth - steps.begin;
        steps.stretch = steps.begin / ATEN_STRETCH * ATEN_STRETCH;
        steps.count = left < block->steps ? left : block->steps;
        steps.goes_on = left > block->steps
            && steps.begin + block->steps < steps.stretch + ATEN_STRETCH;
        if (block->pack)
            NAME(multiply_packed)(block, &steps, copied, row);
        else if (block->steps == ATEN_STREAMS)
            NAME(multiply_row)(block, &steps);
        else
            NAME(multiply_in_place)(block, &steps);
        steps.begin += block->steps;
    } while (steps.begin < block->depth);
    free(copied);
}

/* Columns of a few rows at a time: as many as their sums of a stretch that is not done are kept of,
   or, where columns are runs of memory, a strip from end to end. */
static TARGET void NAME(multiply)(const aten_block *whole)
{
    ELEMENT sums[ATEN_KEPT / sizeof(ELEMENT)] __attribute__((aligned(64)));
    int64_t together = whole->width, column;
    aten_block block;
    if (whole->rows > ATEN_FEW_ROWS || (whole->steps == ATEN_STRETCH && whole->right_column == 1)) {
        NAME(multiply_whole)(whole, NULL);
        return;
    }
    if (whole->right_column == 1)
        together = ATEN_KEPT / sizeof(ELEMENT) / whole->rows / (3 * LANES) * (3 * LANES);
    if (whole->columns <= together) {
        NAME(multiply_whole)(whole, sums);
        return;
    }
    block = *whole;
    for (column = 0; column < whole->columns; column += together) {
        block.columns = whole->columns - column < together ? whole->columns - column : together;
        block.right = (const ELEMENT *)whole->right + column * whole->right_column;
        block.addend = whole->addend ? (const ELEMENT *)whole->addend + column : NULL;
        block.out = (ELEMENT *)whole->out + column;
        NAME(multiply_whole)(&block, sums);
    }
}

/* One row with `strips` whole strips that lie one after the other: all of them at once, as a sum
   waits for itself at every step. */
static inline __attribute__((always_inline)) TARGET void
NAME(row_of_strips)(const int strips, const int vectors, const aten_block *block, int64_t column)
{
    const ELEMENT *left = block->left, *right = (const ELEMENT *)block->right;
    const ELEMENT *addend = block->addend;
    const ELEMENT alpha = (ELEMENT)block->alpha, beta = (ELEMENT)block->beta;
    const int64_t strip = block->depth * vectors * LANES;
    ELEMENT *out = (ELEMENT *)block->out + column;
    NAME(vector) total[4][3], value;
    int64_t begin = 0, end, k;
    int i, j;
    right += column * block->right_column;
    do {
        end = block->depth - begin < ATEN_STRETCH ? block->depth : begin + ATEN_STRETCH;
        ATEN_UNROLL for (i = 0; i < strips; i++)
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                total[i][j] = (NAME(vector)){0};
        for (k = begin; k < end; k++) {
            const ELEMENT *step = right + k * vectors * LANES;
            const ELEMENT factor = left[k * block->left_step];
            ATEN_UNROLL for (i = 0; i < strips; i++)
                ATEN_UNROLL for (j = 0; j < vectors; j++)
                    total[i][j] += factor
                        * *(const NAME(unaligned) *)(step + i * strip + j * LANES);
        }
        ATEN_UNROLL for (i = 0; i < strips; i++)
            ATEN_UNROLL for (j = 0; j < vectors; j++) {
                const int64_t place = (i * vectors + j) * LANES;
                value = begin ? total[i][j] : alpha * total[i][j];
                ATEN_ROUND(value);
                if (begin)
                    value += *(const NAME(unaligned) *)(out + place);
                else if (addend)
                    value += beta * *(const NAME(unaligned) *)(addend + column + place);
                *(NAME(unaligned) *)(out + place) = value;
            }
        begin = end;
    } while (begin < block->depth);
}

#define ROW_OF_STRIPS(strips)                                                                      \
    static TARGET void NAME(row_of_##strips##_strips)(const aten_block *block, int64_t column)     \
    {                                                                                              \
        if (block->width == 3 * LANES)                                                             \
            NAME(row_of_strips)(strips, 3, block, column);                                         \
        else if (block->width == 2 * LANES)                                                        \
            NAME(row_of_strips)(strips, 2, block, column);                                         \
        else                                                                                       \
            NAME(row_of_strips)(strips, 1, block, column);                                         \
    }
ROW_OF_STRIPS(2)
ROW_OF_STRIPS(3)
ROW_OF_STRIPS(4)
#undef ROW_OF_STRIPS

/* The columns of one row that are whole strips, four strips at a time, and three or two at the end; how
   many they are. */
static TARGET int64_t NAME(row_of_many_strips)(const aten_block *block)
{
    const int64_t width = block->width, all = block->columns / width;
    int64_t strip = 0;
    if (block->addend && block->addend_column != 1)
        return 0;
    for (; strip + 4 <= all; strip += 4)
        NAME(row_of_4_strips)(block, strip * width);
    if (all - strip == 3)
        NAME(row_of_3_strips)(block, strip * width);
    else if (all - strip == 2)
        NAME(row_of_2_strips)(block, strip * width);
    else
        return strip * width;
    return all * width;
}

/* All rows with a right operand laid out in strips of `width` columns, each with all steps of the
   depth one after the other: it steps by the width, and a column is as far from the next one as the
   depth is long. It is read once from end to end, while a strip's results stay in the nearest
   cache; what comes next is fetched meanwhile. */
static TARGET void NAME(multiply_strips)(const aten_block *block)
{
    const int64_t end = (block->columns + block->width - 1) / block->width * block->width;
    int64_t column = block->rows == 1 ? NAME(row_of_many_strips)(block) : 0, next;
    aten_steps steps = {0};
    aten_tile tile;
    for (; column < end; column += block->width) {
        steps.begin = 0;
        do {
            const int64_t left = block->depth - steps.begin;
            steps.stretch = steps.begin;
            steps.count = left < ATEN_STRETCH ? left : ATEN_STRETCH;
            NAME(begin_steps)(block, &steps, &tile);
            NAME(begin_strip)(block, &steps, 0, column, &tile);
            tile.left = (const ELEMENT *)block->left + steps.begin * block->left_step;
            next = left - steps.count ? left - steps.count : block->depth;
            tile.ahead = (const ELEMENT *)tile.right + steps.count * block->width;
            tile.ahead_row = block->width;
            tile.ahead_rows = next < ATEN_STRETCH ? next : ATEN_STRETCH;
            tile.ahead_column = 0;
            /* The first tiles write results where nothing was; then these are in the cache. */
            tile.fetches_results = steps.begin == 0;
            if (block->fetch)
                tile.fetch = NAME(fetch_steps)(&tile, block->rows);
            NAME(strip)(&tile, block->rows);
            steps.begin += ATEN_STRETCH;
        } while (steps.begin < block->depth);
    }
}

/* Rows become columns, square by square; the last squares reach back over what is done. */
static TARGET void NAME(turn)(const void *source, int64_t source_row, int64_t rows, int64_t columns,
                              void *target, int64_t target_row)
{
    const ELEMENT *from = source;
    ELEMENT *to = target;
    int64_t row, column, i, j;
    if (rows < SIDE || columns < SIDE) {
        for (column = 0; column < columns; column++)
            for (row = 0; row < rows; row++)
                to[column * target_row + row] = from[row * source_row + column];
        return;
    }
    for (column = 0; column < columns; column += SIDE) {
        j = column + SIDE <= columns ? column : columns - SIDE;
        for (row = 0; row < rows; row += SIDE) {
            i = row + SIDE <= rows ? row : rows - SIDE;
            TURN(from + i * source_row + j, source_row, to + j * target_row + i, target_row);
        }
    }
}

#include "matrix_dots.h"

static const aten_kernels NAME(kernels) = {
    LANES, ROWS, NAME(multiply), NAME(multiply_strips), NAME(turn), NAME(dots), NAME(dot),
};

#undef TILE_OF
#undef TILES_OF
#undef TILE_NAMES
#undef ELEMENT
#undef LANES
#undef ROWS
#undef NAME
#undef MASK
#undef MAKE_MASK
#undef LOAD_PART
#undef STORE_PART
#undef TURN
#undef SIDE
#undef SUM_LANES
#undef INNER_OF
