/* One tile of a product, held in registers. Part of matrix_kernels.h, whose macros it uses. */

/* Where a tile is with what it fetches. */
typedef struct {
    const ELEMENT *from;
    int64_t row, count, ahead, depth, steps;
} NAME(fetched);

/* So many steps of a tile, which the operands are ahead by afterwards. */
static inline __attribute__((always_inline)) TARGET void
NAME(sum_steps)(const int rows, const int vectors, const int partial, const MASK mask,
                NAME(vector) total[][3], const ELEMENT **left_at, const ELEMENT **lower_at,
                const ELEMENT **right_at, const int64_t left_row, const int64_t left_step,
                const int64_t right_step, int64_t steps)
{
    const ELEMENT *left = *left_at, *lower = *lower_at, *right = *right_at;
    NAME(vector) line[3];
    int i, j;
    for (; steps > 0; steps--) {
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            line[j] = NAME(load)(right + j * LANES, partial && j == vectors - 1, mask);
        ATEN_UNROLL for (i = 0; i < rows; i++) {
            const ELEMENT factor = i < 4 ? left[i * left_row] : lower[(i - 4) * left_row];
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                total[i][j] += factor * line[j];
        }
        left += left_step;
        lower += left_step;
        right += right_step;
    }
    *left_at = left;
    *lower_at = lower;
    *right_at = right;
}

/* One tile: `rows` times `vectors` vectors of results, of which the last may be partial. With
   `fetch`, what it adds to, or else writes over, comes into the cache while it sums, then what lies
   ahead; with ATEN_ONLY_AHEAD just that, into the second cache, and sums may go on and be kept. */
static inline __attribute__((always_inline)) TARGET void
NAME(tile)(const int rows, const int vectors, const int partial, const int fetch,
           const aten_tile *tile)
{
    NAME(vector) total[ROWS][3];
    const MASK mask = MAKE_MASK(tile->columns - (vectors - 1) * LANES);
    const ELEMENT *left = tile->left, *right = tile->right, *addend = tile->addend;
    const int64_t left_row = tile->left_row, left_step = tile->left_step;
    const int64_t right_step = tile->right_step;
    const ELEMENT *lower = left + 4 * left_row;
    const ELEMENT alpha = (ELEMENT)tile->alpha, beta = (ELEMENT)tile->beta;
    ELEMENT *out = tile->out;
    const ELEMENT *start = tile->start;
    ELEMENT *keep = tile->keep;
    /* In memory: in registers, they would push out what the operands' places are told from. */
    volatile NAME(fetched) fetched;
    int i, j;
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            total[i][j] = (NAME(vector)){0};
    if (fetch != ATEN_WITH_RESULTS && start)
        ATEN_UNROLL for (i = 0; i < rows; i++) {
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                total[i][j] = (NAME(vector))*(const NAME(unaligned) *)(start + j * LANES);
            start += tile->kept_row;
        }
    if (fetch) {
        fetched.from = addend ? addend : out;
        fetched.row = addend ? tile->addend_row : tile->out_row;
        fetched.count = fetch == ATEN_WITH_RESULTS && tile->fetches_results ? rows : 0;
        fetched.ahead = tile->ahead_rows;
        fetched.depth = tile->depth;
        fetched.steps = tile->fetch;
    } else
        NAME(sum_steps)(rows, vectors, partial, mask, total, &left, &lower, &right, left_row,
                        left_step, right_step, tile->depth);
    while (fetch && fetched.depth > 0) {
        const int64_t depth = fetched.depth, some = fetched.steps;
        const int64_t steps = some < depth ? some : depth;
        fetched.depth = depth - steps;
        if (fetched.count == 0) {
            fetched.from = tile->ahead;
            fetched.row = tile->ahead_row;
            fetched.count = fetched.ahead;
            fetched.ahead = 0;
        }
        if (fetched.count > 0) {
            const ELEMENT *from = fetched.from;
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                if (fetch == ATEN_ONLY_AHEAD)
                    __builtin_prefetch(from + j * LANES, 0, 2);
                else
                    __builtin_prefetch(from + j * LANES);
            fetched.from = from + fetched.row;
            fetched.count--;
        }
        NAME(sum_steps)(rows, vectors, partial, mask, total, &left, &lower, &right, left_row,
                        left_step, right_step, steps);
    }
    if (fetch != ATEN_WITH_RESULTS) {
        const ELEMENT *kept = tile->kept;
        int merges;
        for (merges = tile->merges; merges > 0; merges--, kept += ROWS * 3 * LANES)
            ATEN_UNROLL for (i = 0; i < rows; i++)
                ATEN_UNROLL for (j = 0; j < vectors; j++)
                    total[i][j] = (NAME(vector))*(const NAME(unaligned) *)(
                        kept + (i * 3 + j) * LANES) + total[i][j];
    }
    if (fetch != ATEN_WITH_RESULTS && keep) {
        ATEN_UNROLL for (i = 0; i < rows; i++) {
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                *(NAME(unaligned) *)(keep + j * LANES) = total[i][j];
            keep += tile->kept_row;
        }
        return;
    }
    if (!partial && addend && alpha == 1 && beta == 1) {
        /* A later stretch of the depth: half the arithmetic. */
        ATEN_UNROLL for (i = 0; i < rows; i++)
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                *(NAME(unaligned) *)(out + i * tile->out_row + j * LANES) = total[i][j]
                    + NAME(load)(addend + i * tile->addend_row + j * LANES, 0, mask);
        return;
    }
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < vectors; j++) {
            const int cut = partial && j == vectors - 1;
            NAME(vector) value = alpha * total[i][j];
            ATEN_ROUND(value);
            if (addend)
                value += beta * NAME(load)(addend + i * tile->addend_row + j * LANES, cut, mask);
            if (cut)
                STORE_PART(out + i * tile->out_row + j * LANES, mask, value);
            else
                *(NAME(unaligned) *)(out + i * tile->out_row + j * LANES) = value;
        }
}
