/* Products of which both operands step by one along the depth: dots of rows with columns. Part of
   matrix_kernels.h, whose macros it uses. */

static inline __attribute__((always_inline)) TARGET ELEMENT NAME(sum)(NAME(vector) value)
{
    ELEMENT lanes[LANES];
    int half, i;
    memcpy(lanes, &value, sizeof lanes);
    ATEN_UNROLL for (half = LANES / 2; half > 0; half /= 2)
        ATEN_UNROLL for (i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

/* The sums of the lanes of some vectors, side by side: halves are added to halves, as `sum` does. */
static inline __attribute__((always_inline)) TARGET void
NAME(sum_each)(const int count, const NAME(vector) *vectors, ELEMENT *sums)
{
    int first, half, i;
    ATEN_UNROLL for (first = 0; first < count; first += LANES) {
#ifdef SUM_LANES
        NAME(vector) some[LANES];
        (void)half;
        ATEN_UNROLL for (i = 0; i < LANES; i++)
            some[i] = first + i < count ? vectors[first + i] : (NAME(vector)){0};
        SUM_LANES(some, sums + first);
#else
        ELEMENT turned[LANES][LANES] __attribute__((aligned(64)));
        ELEMENT rows[LANES][LANES] __attribute__((aligned(64)));
        NAME(vector) line[LANES];
        memset(rows, 0, sizeof rows);
        ATEN_UNROLL for (i = 0; i < LANES && first + i < count; i++)
            memcpy(rows[i], vectors + first + i, sizeof rows[i]);
        ATEN_UNROLL for (i = 0; i < LANES; i += SIDE) {
            int j;
            ATEN_UNROLL for (j = 0; j < LANES; j += SIDE)
                TURN(&rows[j][i], LANES, &turned[i][j], LANES);
        }
        ATEN_UNROLL for (i = 0; i < LANES; i++)
            memcpy(line + i, turned[i], sizeof line[i]);
        ATEN_UNROLL for (half = LANES / 2; half > 0; half /= 2)
            ATEN_UNROLL for (i = 0; i < half; i++)
                line[i] += line[i + half];
        memcpy(sums + first, line, sizeof line[0]);
#endif
    }
}

/* The sums of a few rows with a few columns, as results. */
static inline __attribute__((always_inline)) TARGET void
NAME(finish_inner)(const int rows, const int columns, const aten_block *block, int64_t row,
                   int64_t column, const NAME(vector) *total)
{
    const ELEMENT *addend = block->addend;
    const ELEMENT alpha = (ELEMENT)block->alpha, beta = (ELEMENT)block->beta;
    const int all = rows * columns;
    ELEMENT sums[24 + LANES];
    ELEMENT *out = block->out;
    int i, j;
    if (all >= 12)
        NAME(sum_each)(all, total, sums);
    else
        ATEN_UNROLL for (i = 0; i < all; i++)
            sums[i] = NAME(sum)(total[i]);
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < columns; j++) {
            const int64_t place = (row + i) * block->out_row + (column + j) * block->out_column;
            ELEMENT value = alpha * sums[i * columns + j];
            ATEN_ROUND(value);
            if (addend)
                value += beta * addend[(row + i) * block->addend_row
                                       + (column + j) * block->addend_column];
            out[place] = value;
        }
}

/* Sums of products where both operands step by one along the depth: `rows` rows of the left with
   `columns` columns of the right, each in `parts` vectors of partial sums; of one part, only the
   steps that are asked for. */
static inline __attribute__((always_inline)) TARGET void
NAME(inner)(const int rows, const int columns, const int parts, const aten_block *block,
            int64_t row, int64_t column, const aten_dotted *steps)
{
    NAME(vector) total[24];
    NAME(vector) first[6], second;
    NAME(unaligned) *kept = steps->kept;
    const ELEMENT *left = (const ELEMENT *)block->left + row * block->left_row;
    const ELEMENT *right = (const ELEMENT *)block->right + column * block->right_column;
    const int64_t left_row = block->left_row, right_column = block->right_column;
    const int64_t end = steps->end, whole = end / LANES * LANES;
    const int64_t together = steps->begin
        + (end - steps->begin) / (LANES * parts) * (LANES * parts);
    const MASK mask = MAKE_MASK(end - whole);
    const int all = rows * columns;
    int64_t k;
    int i, j, part;
    ATEN_UNROLL for (i = 0; i < all * parts; i++)
        total[i] = (NAME(vector)){0};
    if (parts == 1 && steps->begin)
        ATEN_UNROLL for (i = 0; i < all; i++)
            total[i] = (NAME(vector))kept[i];
    for (k = steps->begin; k < together; k += LANES * parts)
        ATEN_UNROLL for (part = 0; part < parts; part++) {
            ATEN_UNROLL for (i = 0; i < rows; i++)
                first[i] = NAME(load)(left + i * left_row + k + part * LANES, 0, mask);
            ATEN_UNROLL for (j = 0; j < columns; j++) {
                second = NAME(load)(right + j * right_column + k + part * LANES, 0, mask);
                ATEN_UNROLL for (i = 0; i < rows; i++)
                    total[part * all + i * columns + j] += first[i] * second;
            }
        }
    for (; k < end; k += LANES) {
        const int partial = k == whole;
        ATEN_UNROLL for (i = 0; i < rows; i++)
            first[i] = NAME(load)(left + i * left_row + k, partial, mask);
        ATEN_UNROLL for (j = 0; j < columns; j++) {
            second = NAME(load)(right + j * right_column + k, partial, mask);
            ATEN_UNROLL for (i = 0; i < rows; i++)
                total[i * columns + j] += first[i] * second;
        }
    }
    if (parts == 1 && end < block->depth) {
        ATEN_UNROLL for (i = 0; i < all; i++)
            kept[i] = (NAME(unaligned))total[i];
        return;
    }
    ATEN_UNROLL for (part = 1; part < parts; part++)
        ATEN_UNROLL for (i = 0; i < all; i++)
            total[i] += total[part * all + i];
    NAME(finish_inner)(rows, columns, block, row, column, total);
}

#define INNER_OF(rows, columns)                                                                  \
    static __attribute__((noinline)) TARGET void NAME(inner_##rows##_##columns)(                 \
        const aten_block *block, int64_t row, int64_t column, const aten_dotted *steps)          \
    {                                                                                            \
        NAME(inner)(rows, columns, 1, block, row, column, steps);                                \
    }

/* Sums, rows and a column fill the registers: 32 of them, or 16. */
#if ROWS == 8
INNER_OF(6, 4)
INNER_OF(4, 4)
#else
INNER_OF(3, 4)
#endif
INNER_OF(2, 4)
INNER_OF(1, 4)
INNER_OF(1, 1)

/* Four columns with as many of the `rows` from `row` on as are taken at once: how many. */
static inline TARGET int NAME(some_dots)(const aten_block *block, int64_t row, int64_t rows,
                                         int64_t column, const aten_dotted *steps)
{
#if ROWS == 8
    if (rows >= 6)
        return NAME(inner_6_4)(block, row, column, steps), 6;
    if (rows >= 4)
        return NAME(inner_4_4)(block, row, column, steps), 4;
#else
    if (rows >= 3)
        return NAME(inner_3_4)(block, row, column, steps), 3;
#endif
    if (rows >= 2)
        return NAME(inner_2_4)(block, row, column, steps), 2;
    return NAME(inner_1_4)(block, row, column, steps), 1;
}

/* Some rows of the left with the columns from `first` to `end`, each in the same order. Sums that
   are not done lie one after the other as they are come to. */
static TARGET void NAME(dots_of)(const aten_block *block, int64_t row, int64_t last_row,
                                 int64_t first, int64_t end, const aten_dotted *some)
{
    aten_dotted steps = *some;
    const int64_t first_row = row;
    int64_t column = first;
    int rows = 1;
    for (; row < last_row && first + 4 <= end; row += rows)
        for (column = first; column + 4 <= end; column += 4) {
            rows = NAME(some_dots)(block, row, last_row - row, column, &steps);
            if (steps.kept)
                steps.kept = (NAME(unaligned) *)steps.kept + 4 * rows;
        }
    for (; column < end; column++)
        for (row = first_row; row < last_row; row++) {
            NAME(inner_1_1)(block, row, column, &steps);
            if (steps.kept)
                steps.kept = (NAME(unaligned) *)steps.kept + 1;
        }
}

/* Dots of many rows where the nearest cache is small: a stretch of some columns is copied into it
   and stays while all rows pass by, and what a stretch has summed is kept in the second one. */
static TARGET void NAME(dots_by_stretches)(const aten_block *block)
{
    enum { COLUMNS = 16, ROWS_TOGETHER = 96, STRETCH = 1280 / sizeof(ELEMENT),
           APART = STRETCH + ATEN_GAP / sizeof(ELEMENT) };
    ELEMENT near[COLUMNS * APART] __attribute__((aligned(64)));
    NAME(vector) kept[COLUMNS * ROWS_TOGETHER];
    aten_block some = *block;
    aten_dotted steps;
    int64_t row, column, last_row, end, each;
    steps.kept = kept;
    some.right_column = APART;
    for (row = 0; row < block->rows; row = last_row) {
        last_row = block->rows - row < ROWS_TOGETHER ? block->rows : row + ROWS_TOGETHER;
        for (column = 0; column < block->columns; column = end) {
            end = block->columns - column < COLUMNS ? block->columns : column + COLUMNS;
            for (steps.begin = 0; steps.begin < block->depth; steps.begin = steps.end) {
                steps.end = block->depth - steps.begin < STRETCH ? block->depth
                    : steps.begin + STRETCH;
                for (each = column; each < end; each++)
                    memcpy(near + (each - column) * APART,
                           (const ELEMENT *)block->right + each * block->right_column + steps.begin,
                           (steps.end - steps.begin) * sizeof(ELEMENT));
                some.right = near - column * APART - steps.begin;
                NAME(dots_of)(&some, row, last_row, column, end, &steps);
            }
        }
    }
}

#if ROWS == 8
/* Rows that make up for packing, and bytes that both operands of a piece may take parted: the system
   takes larger ones back after each call, and deep operands would fill the memory. */
#define ATEN_MANY_DOTS 32
#define ATEN_MOST_PARTED (1 << 25)
/* Of the number of lanes. */
#define ATEN_LANE_BITS __builtin_ctz(LANES)

/* Lanes of `count` elements at `from`, one after the other: those of lane l are `lane` further on
   than those before, a step apart. */
static inline __attribute__((always_inline)) TARGET void
NAME(part_lanes)(const ELEMENT *from, int64_t count, ELEMENT *to, int64_t lane)
{
    int64_t k;
    for (k = 0; k + LANES * LANES <= count; k += LANES * LANES)
        TURN(from + k, LANES, to + k / LANES, lane);
    for (; k < count; k++)
        to[k % LANES * lane + k / LANES] = from[k];
}

/* A strip of columns for each lane, one lane after the other: `groups` steps of 3 * LANES columns. */
static TARGET void NAME(part_columns)(const aten_block *block, int64_t column, int64_t groups,
                                      ELEMENT *to)
{
    enum { WIDTH = 3 * LANES };
    const ELEMENT *right = (const ELEMENT *)block->right + column * block->right_column;
    const int64_t count = block->columns - column < WIDTH ? block->columns - column : WIDTH;
    const int64_t lane = groups * WIDTH, depth = block->depth;
    int64_t first, each, k;
    for (first = 0; first < count; first += LANES) {
        const ELEMENT *from = right + first * block->right_column;
        k = 0;
        if (first + LANES <= count)
            for (; k + LANES <= depth; k += LANES)
                TURN(from + k, block->right_column, to + k / LANES * WIDTH + first, lane);
        for (each = 0; each < LANES; each++, from += block->right_column) {
            int64_t step;
            for (step = k; step < depth; step++)
                to[step % LANES * lane + step / LANES * WIDTH + first + each]
                    = first + each < count ? from[step] : 0;
        }
    }
}

/* Sums of all lanes are added in the order of `sum`: halves to halves. So that few are kept at a time,
   each lane is followed by the one that its sums are added to, and that pair by the next one: places
   of lanes are those of their numbers with the bits reversed. As many sums are kept as the number of
   lanes has bits. */
static inline int64_t NAME(next_lane)(int64_t lane)
{
    int64_t bit = LANES / 2;
    for (; lane & bit; bit /= 2)
        lane ^= bit;
    return lane | bit;
}

/* What the sums of the lane at a place are added to, or are kept for. */
static inline void NAME(choose_sums)(aten_tile *tile, ELEMENT *kept, int64_t place)
{
    tile->merges = __builtin_ctzll(~(uint64_t)place);
    tile->kept = kept;
    tile->keep = place == LANES - 1 ? NULL : kept + tile->merges * ROWS * 3 * LANES;
}

/* Dots of many rows, with the bits of those of few. What a lane sums is a product of matrices, of
   every LANES-th step of both: tiles need fewer loads than dots, and few sums over lanes. Says
   whether there was memory. */
static TARGET int NAME(dots_of_many)(const aten_block *block)
{
    enum { WIDTH = 3 * LANES };
    const int64_t groups = (block->depth + LANES - 1) / LANES;
    const int64_t rest = block->depth - (groups - 1) * LANES, step = groups | 1;
    const int64_t lane = block->rows * step;
    ELEMENT kept[ATEN_LANE_BITS * ROWS * WIDTH] __attribute__((aligned(64)));
    const size_t strip = groups * LANES * WIDTH * sizeof(ELEMENT);
    /* One request: the system gets pages of the second of two back each time. */
    char *memory = malloc(strip + LANES * lane * sizeof(ELEMENT) + 64);
    ELEMENT *right = (ELEMENT *)(((uintptr_t)memory + 63) / 64 * 64);
    ELEMENT *left = (ELEMENT *)((char *)right + strip);
    int64_t row, column;
    aten_tile tile = {0};
    if (!memory)
        return 0;
    for (row = 0; row < block->rows; row++)
        NAME(part_lanes)((const ELEMENT *)block->left + row * block->left_row, block->depth,
                         left + row * step, lane);
    tile.alpha = block->alpha;
    tile.beta = block->beta;
    tile.left_row = step;
    tile.left_step = 1;
    tile.right_step = tile.kept_row = WIDTH;
    tile.addend_row = block->addend_row;
    tile.out_row = block->out_row;
    for (column = 0; column < block->columns; column += WIDTH) {
        const int64_t count = block->columns - column < WIDTH ? block->columns - column : WIDTH;
        const int vectors = (int)((count + LANES - 1) / LANES);
        int shape = 3;
        NAME(part_columns)(block, column, groups, right);
        for (row = 0; row < block->rows; row += (int64_t)1 << shape) {
            int64_t place, each = 0;
            while (block->rows - row < (int64_t)1 << shape)
                shape--;
            tile.addend = block->addend
                ? (const ELEMENT *)block->addend + row * block->addend_row + column : NULL;
            tile.out = (ELEMENT *)block->out + row * block->out_row + column;
            tile.columns = vectors * LANES;
            for (place = 0; place < LANES; place++, each = NAME(next_lane)(each)) {
                NAME(choose_sums)(&tile, kept, place);
                tile.depth = each < rest ? groups : groups - 1;
                tile.left = left + each * lane + row * step;
                tile.right = right + each * groups * WIDTH;
                if (!tile.keep)
                    tile.columns = count;
                NAME(tiles)[shape][vectors - 1](&tile);
            }
        }
    }
    free(memory);
    return 1;
}

static inline TARGET int NAME(are_many_dots)(const aten_block *block)
{
    const int64_t bytes = (block->rows + 3 * LANES) * (block->depth + LANES * 2)
        * (int64_t)sizeof(ELEMENT);
    return block->rows >= ATEN_MANY_DOTS && block->columns >= 3 * LANES
        && bytes <= ATEN_MOST_PARTED && block->out_column == 1
        && (!block->addend || block->addend_column == 1);
}

#include "matrix_turned_dots.h"
#endif

/* Dots of every row with every column. Some columns stay in the second cache while all rows pass
   by; for many rows they are copied, a line further apart, where all would share few places of the
   nearest one. */
static TARGET void NAME(dots)(const aten_block *block)
{
    const int64_t bytes = (block->depth + 1) * (int64_t)sizeof(ELEMENT);
    const int64_t together = ATEN_DOTTED / bytes / 4 * 4 + 4;
    const int64_t apart = block->depth + ATEN_GAP / (int64_t)sizeof(ELEMENT);
    const int copies = block->rows >= 2 * ATEN_FEW_ROWS
        && block->right_column * (int64_t)sizeof(ELEMENT) % 1024 == 0;
    ELEMENT *copied = NULL;
    aten_block some = *block;
    aten_dotted steps = {0, block->depth, NULL};
    int64_t first, column, end;
#if ROWS == 8
    if (NAME(are_many_dots)(block) && NAME(are_turned_dots)(block) && NAME(dots_turned)(block))
        return;
    if (NAME(are_many_dots)(block) && NAME(dots_of_many)(block))
        return;
#endif
    if (ROWS < 8 && block->rows >= ATEN_FEW_ROWS && block->columns >= 4) {
        NAME(dots_by_stretches)(block);
        return;
    }
    if (copies)
        copied = malloc(together * apart * sizeof(ELEMENT));
    for (first = 0; first < block->columns; first += together) {
        end = block->columns - first < together ? block->columns : first + together;
        if (copied) {
            for (column = first; column < end; column++)
                memcpy(copied + (column - first) * apart,
                       (const ELEMENT *)block->right + column * block->right_column,
                       block->depth * sizeof(ELEMENT));
            some.right = copied - first * apart;
            some.right_column = apart;
        }
        NAME(dots_of)(&some, 0, block->rows, first, end, &steps);
    }
    free(copied);
}

/* One sum alone. */
static TARGET void NAME(dot)(const aten_block *block)
{
    const aten_dotted steps = {0, block->depth, NULL};
    NAME(inner)(1, 1, 8, block, 0, 0, &steps);
}
