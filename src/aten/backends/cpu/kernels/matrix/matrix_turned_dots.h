/* Dots of some rows with many columns that are runs of memory, as those of linear layers are. Part of
   matrix_dots.h, whose functions it uses.

   The columns, which are the larger operand, are read as they lie: as rows of a left operand, by
   whose elements vectors are multiplied. The rows are parted by lanes once, in strips. Each lane's
   sums are a product of matrices, as those of `dots_of_many` are, and results, which come out with
   rows and columns exchanged, are turned around. */

/* Steps of the depth, in vectors, of which ROWS columns have room in the nearest cache. */
#define ATEN_TURNED_GROUPS 64
/* Bytes of columns that stay in the second cache while all strips pass by, and how many they are at
   most. */
#define ATEN_TURNED_NEAR (3 << 16)
#define ATEN_TURNED_COLUMNS 64
/* Rows, and bytes of them, that stay in the second cache, too. More rows make up for packing columns,
   whose pages are many. */
#define ATEN_TURNED_ROWS 96
#define ATEN_PARTED_NEAR (5 << 18)

typedef struct {
    const aten_block *block;
    /* The parted rows, strip after strip; sums of all lanes, then of some; and results, column after
       column. */
    ELEMENT *parted, *sums, *joined;
    int64_t groups, strips, vectors, joined_row;
    /* The columns to come, which are fetched line after line. */
    int64_t next, line, last_line;
} NAME(turned);

/* Has a tile fetch some lines of the columns to come; each of the `calls` left as many. A last few
   columns take more calls than others. */
static inline __attribute__((always_inline)) void
NAME(look_at_columns)(NAME(turned) *turned, int64_t calls, aten_tile *tile)
{
    const int64_t vectors = tile->columns / LANES;
    const int64_t left = turned->last_line - turned->line;
    const int64_t lines = calls > 1 ? (left + calls - 1) / calls : left;
    tile->fetch = 0;
    if (lines <= 0)
        return;
    /* A tile fetches neighbours; what lies behind the end of a column is the next one's. */
    tile->ahead_rows = (lines + vectors - 1) / vectors;
    tile->ahead = (const ELEMENT *)turned->block->right
        + (turned->next + turned->line / turned->groups) * turned->block->right_column
        + turned->line % turned->groups * LANES;
    tile->ahead_row = tile->columns;
    tile->fetch = (int)(tile->depth / (tile->ahead_rows + 1)) + 1;
    turned->line += tile->ahead_rows * vectors;
}

/* The sums of some columns with a strip, at `joined`. So many calls of tiles that fetch are to come
   with these. */
static inline __attribute__((always_inline)) TARGET void
NAME(turned_tiles)(NAME(turned) *turned, int64_t column, int shape, int64_t strip, int vectors,
                   int64_t calls, ELEMENT *joined)
{
    enum { WIDTH = 3 * LANES, TILE = ROWS * WIDTH };
    const aten_block *block = turned->block;
    const int64_t groups = turned->groups, rest = block->depth - (groups - 1) * LANES;
    int64_t group;
    aten_tile tile = {0};
    tile.alpha = 1;
    tile.columns = vectors * LANES;
    tile.left_row = block->right_column;
    tile.left_step = LANES;
    tile.right_step = tile.kept_row = WIDTH;
    tile.out = joined;
    tile.out_row = turned->joined_row;
    for (group = 0; group < groups; group += ATEN_TURNED_GROUPS) {
        const int64_t left = groups - group;
        const int64_t steps = left < ATEN_TURNED_GROUPS ? left : ATEN_TURNED_GROUPS;
        const int is_last = left == steps;
        int64_t place, lane = 0;
        for (place = 0; place < LANES; place++, lane = NAME(next_lane)(lane)) {
            ELEMENT *own = turned->sums + lane * TILE;
            tile.depth = is_last && lane >= rest ? steps - 1 : steps;
            tile.left = (const ELEMENT *)block->right + column * block->right_column
                + group * LANES + lane;
            tile.right = turned->parted + ((strip * LANES + lane) * groups + group) * WIDTH;
            tile.start = group ? own : NULL;
            tile.keep = own;
            if (is_last)
                NAME(choose_sums)(&tile, turned->sums + LANES * TILE, place);
            tile.fetch = 0;
            if (tile.keep)
                NAME(look_at_columns)(turned, calls--, &tile);
            NAME(tiles)[shape][vectors - 1](&tile);
        }
    }
}

/* The sums of a row from `column` on become results. */
static inline __attribute__((always_inline)) TARGET void
NAME(finish_vector)(const aten_block *block, int64_t row, int64_t column, NAME(vector) sums)
{
    const int64_t left = block->columns - column;
    const int partial = left < LANES;
    const MASK mask = MAKE_MASK(partial ? left : LANES);
    const ELEMENT *addend = block->addend;
    ELEMENT *out = (ELEMENT *)block->out + row * block->out_row + column;
    NAME(vector) value = (ELEMENT)block->alpha * sums;
    ATEN_ROUND(value);
    if (addend)
        value += (ELEMENT)block->beta
            * NAME(load)(addend + row * block->addend_row + column, partial, mask);
    if (partial)
        STORE_PART(out, mask, value);
    else
        *(NAME(unaligned) *)out = value;
}

/* Results of LANES columns at most, the first of which is that at `place` of those joined. */
static inline __attribute__((always_inline)) TARGET void
NAME(finish_turned)(const NAME(turned) *turned, int64_t column, int64_t place)
{
    const aten_block *block = turned->block;
    ELEMENT square[LANES * LANES] __attribute__((aligned(64)));
    const ELEMENT *joined = turned->joined + place * turned->joined_row;
    int64_t first, row;
    int i, j;
    for (first = 0; first < block->rows; first += LANES) {
        const int64_t rows = block->rows - first < LANES ? block->rows - first : LANES;
        ATEN_UNROLL for (i = 0; i < LANES; i += SIDE)
            ATEN_UNROLL for (j = 0; j < LANES; j += SIDE)
                TURN(joined + i * turned->joined_row + first + j, turned->joined_row,
                     square + j * LANES + i, LANES);
        for (row = 0; row < rows; row++)
            NAME(finish_vector)(block, first + row, column + place,
                                *(const NAME(unaligned) *)(square + row * LANES));
    }
}

/* The first vector of rows of a strip: strips are alike, or the first ones a vector wider. */
static inline int64_t NAME(strip_start)(const NAME(turned) *turned, int64_t strip)
{
    const int64_t wider = turned->vectors % turned->strips;
    return turned->vectors / turned->strips * strip + (strip < wider ? strip : wider);
}

/* Some columns with all strips. */
static TARGET void NAME(turned_columns)(NAME(turned) *turned, int64_t first, int64_t end)
{
    const aten_block *block = turned->block;
    const int64_t stretches = (turned->groups + ATEN_TURNED_GROUPS - 1) / ATEN_TURNED_GROUPS;
    const int64_t each = stretches * LANES - 1;
    int64_t calls = (end - first + ROWS - 1) / ROWS * turned->strips * each;
    int64_t strip, column, place;
    for (strip = 0; strip < turned->strips; strip++) {
        const int64_t start = NAME(strip_start)(turned, strip);
        const int vectors = (int)(NAME(strip_start)(turned, strip + 1) - start);
        int shape = 3;
        for (column = first; column < end; column += (int64_t)1 << shape) {
            while (end - column < (int64_t)1 << shape)
                shape--;
            NAME(turned_tiles)(turned, column, shape, strip, vectors, calls,
                               turned->joined + (column - first) * turned->joined_row
                               + start * LANES);
            calls -= each;
        }
    }
    for (place = 0; place < end - first; place += LANES)
        NAME(finish_turned)(turned, first, place);
}

/* Says whether there was memory. */
static TARGET int NAME(dots_turned)(const aten_block *block)
{
    enum { WIDTH = 3 * LANES };
    const int64_t vectors = (block->rows + LANES - 1) / LANES;
    const int64_t near = ATEN_TURNED_NEAR / (block->depth * (int64_t)sizeof(ELEMENT));
    const int64_t together = near > ATEN_TURNED_COLUMNS ? ATEN_TURNED_COLUMNS
        : near < 2 * LANES ? LANES : near / LANES * LANES;
    NAME(turned) turned = {block, NULL, NULL, NULL, (block->depth + LANES - 1) / LANES,
                           (vectors + 2) / 3, vectors, vectors * LANES, 0, 0, 0};
    const size_t parted = turned.strips * turned.groups * LANES * WIDTH;
    const size_t sums = (LANES + ATEN_LANE_BITS) * ROWS * WIDTH;
    const size_t joined = together * turned.joined_row;
    char *memory = malloc((parted + sums + joined) * sizeof(ELEMENT) + 64);
    aten_block rows = *block;
    int64_t column, strip, last;
    if (!memory)
        return 0;
    turned.parted = (ELEMENT *)(((uintptr_t)memory + 63) / 64 * 64);
    turned.sums = turned.parted + parted;
    turned.joined = turned.sums + sums;
    rows.right = block->left;
    rows.right_column = block->left_row;
    for (strip = 0; strip < turned.strips; strip++) {
        const int64_t end = NAME(strip_start)(&turned, strip + 1) * LANES;
        rows.columns = end < block->rows ? end : block->rows;
        NAME(part_columns)(&rows, NAME(strip_start)(&turned, strip) * LANES, turned.groups,
                           turned.parted + strip * turned.groups * LANES * WIDTH);
    }
    memset(turned.joined, 0, joined * sizeof(ELEMENT));
    for (column = 0; column < block->columns; column = last) {
        last = block->columns - column < together ? block->columns : column + together;
        turned.next = last;
        turned.line = 0;
        turned.last_line = turned.groups
            * (block->columns - last < together ? block->columns - last : together);
        NAME(turned_columns)(&turned, column, last);
    }
    free(memory);
    return 1;
}

static inline TARGET int NAME(are_turned_dots)(const aten_block *block)
{
    const int64_t bytes = block->rows * block->depth * (int64_t)sizeof(ELEMENT);
    return block->rows <= ATEN_TURNED_ROWS && block->columns >= block->rows
        && bytes <= ATEN_PARTED_NEAR;
}
