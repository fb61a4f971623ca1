/* Products of weights with panels, and what few positions see, summed along the depth. Part of
   convolution_kernels.h, whose macros it uses. */

#ifndef ADD_PRODUCT
#define ADD_PRODUCT(sum, factor, right) ((sum) + (factor) * (right))
#define ADD_PRODUCTS(sum, left, right) ((sum) + (left) * (right))
#endif

/* Stores the sums of a tile, `vectors` for each of its rows, of which the last is partial, with what
   is added to them before and done to them. Few tiles are such, so one loop serves all shapes. */
static __attribute__((noinline)) TARGET void
NAME(settle_partial)(int rows, int vectors, const NAME(vector) *sums, const aten_window_tile *tile)
{
    const ELEMENT *bias = tile->bias;
    const aten_finish *finish = tile->finish;
    ELEMENT *out = tile->out;
    const ELEMENT *addend = tile->addend ? tile->addend : out;
    const int64_t addend_row = tile->addend ? 0 : tile->out_row;
    const int last = (int)(tile->columns - (int64_t)(vectors - 1) * LANES);
    int i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < vectors; j++) {
            const MASK mask = MAKE_MASK(0, j < vectors - 1 ? LANES : last);
            ELEMENT *to = out + i * tile->out_row + j * LANES;
            NAME(vector) value = sums[i * vectors + j];
            if (tile->adds)
                value += (NAME(vector))LOAD_PART(addend + i * addend_row + j * LANES, mask);
            else if (bias)
                value += bias[i * tile->bias_step];
            if (finish) {
                if (finish->adds)
                    value += (NAME(vector))LOAD_PART(NAME(residual_of)(finish, to), mask);
                value = NAME(limited)(value, (ELEMENT)finish->low, (ELEMENT)finish->high);
            }
            STORE_PART(to, mask, value);
        }
}

/* Asks for what one row of a tile will be stored to, and for what is added before. */
static inline __attribute__((always_inline)) TARGET void
NAME(ask_for_results)(const int vectors, const aten_window_tile *tile, const ELEMENT *to)
{
    const aten_finish *finish = tile->finish;
    int j;
    ATEN_UNROLL for (j = 0; j < vectors; j++)
        __builtin_prefetch(to + j * LANES, 1);
    __builtin_prefetch(to + tile->columns - 1, 1);
    if (!finish || !finish->adds)
        return;
    ATEN_UNROLL for (j = 0; j < vectors; j++)
        __builtin_prefetch(NAME(residual_of)(finish, to) + j * LANES);
    __builtin_prefetch(NAME(residual_of)(finish, to) + tile->columns - 1);
}

/* One tile: `rows` channels times `vectors` vectors of positions. The next rows' weights come into
   the cache meanwhile. With `packs` what is multiplied comes from the tile's source, and goes to
   the panel; with `glides` it lies at the tile's offsets. With neither the last vector may be
   partial. With `far` the next rows' results, and a share of what another strip will see, are asked
   for between the steps, in time and not all at once. */
static inline __attribute__((always_inline)) TARGET void
NAME(tile)(const int rows, const int vectors, const int packs, const int glides, const int far,
           const aten_window_tile *tile)
{
    NAME(vector) total[ROWS][3];
    NAME(vector) line[3];
    const ELEMENT *left = tile->left, *bias = tile->bias, *source = tile->source;
    const int64_t left_row = tile->left_row, width = tile->width, depth = tile->depth;
    const int64_t source_row = tile->source_row;
    const int64_t *offsets = tile->offsets;
    ELEMENT *right = (ELEMENT *)tile->right;
    const ELEMENT *lower = left + 4 * left_row;
    const ELEMENT *ahead = left + ROWS * left_row;
    const aten_finish *finish = tile->finish;
    ELEMENT *out = tile->out;
    const ELEMENT *addend, *next = tile->next;
    NAME(vector) sums[ROWS * 3];
    int64_t k = 0, end, addend_row, to_ask = far ? tile->next_rows : 0;
    int i, j, asked = far && tile->ahead ? 0 : ROWS;
    /* What will be stored, and added before, is on its way while sums are made. */
    if (!far || !tile->asked)
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
        if (far) {
            for (i = 0; i < 2 && asked < ROWS; i++, asked++)
                NAME(ask_for_results)(vectors, tile, out + (ROWS + asked) * tile->out_row);
            for (i = 0; i < tile->next_each && to_ask > 0; i++, to_ask--, next += source_row) {
                ATEN_UNROLL for (j = 0; j < vectors; j++)
                    __builtin_prefetch(next + j * LANES, 0, 2);
                __builtin_prefetch(next + tile->columns - 1, 0, 2);
            }
        }
        for (; k < end; k++) {
            if (packs) {
                __builtin_prefetch(source + ATEN_AHEAD * source_row);
                __builtin_prefetch(source + ATEN_AHEAD * source_row + vectors * LANES - 1);
            }
            ATEN_UNROLL for (j = 0; j < vectors; j++) {
                line[j] = NAME(load)((packs ? source : right) + (glides ? offsets[k] : 0)
                                     + j * LANES);
                if (packs)
                    *(NAME(unaligned) *)(right + j * LANES) = line[j];
            }
            ATEN_UNROLL for (i = 0; i < rows; i++) {
                const ELEMENT factor = i < 4 ? left[i * left_row] : lower[(i - 4) * left_row];
                ATEN_UNROLL for (j = 0; j < vectors; j++)
                    total[i][j] = ADD_PRODUCT(total[i][j], factor, line[j]);
            }
            left++;
            lower++;
            if (!glides)
                right += width;
            source += source_row;
        }
    }
    if (far)
        for (; asked < ROWS; asked++)
            NAME(ask_for_results)(vectors, tile, out + (ROWS + asked) * tile->out_row);
    if (!packs && !glides && tile->columns != vectors * LANES) {
        ATEN_UNROLL for (i = 0; i < rows; i++)
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                sums[i * vectors + j] = total[i][j];
        NAME(settle_partial)(rows, vectors, sums, tile);
        return;
    }
    addend = tile->addend ? tile->addend : out;
    addend_row = tile->addend ? 0 : tile->out_row;
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < vectors; j++) {
            ELEMENT *to = out + i * tile->out_row + j * LANES;
            NAME(vector) value = total[i][j];
            if (tile->adds)
                value += NAME(load)(addend + i * addend_row + j * LANES);
            else if (bias)
                value += bias[i * tile->bias_step];
            if (finish) {
                if (finish->adds)
                    value += NAME(load)(NAME(residual_of)(finish, to));
                value = NAME(limited)(value, (ELEMENT)finish->low, (ELEMENT)finish->high);
            }
            *(NAME(unaligned) *)to = value;
        }
}

#define TILE_OF(rows, vectors)                                                                   \
    static __attribute__((noinline)) TARGET void NAME(tile_##rows##_##vectors)(                  \
        const aten_window_tile *tile)                                                            \
    {                                                                                            \
        if (tile->source)                                                                        \
            NAME(tile)(rows, vectors, 1, 0, 0, tile);                                            \
        else                                                                                     \
            NAME(tile)(rows, vectors, 0, 0, 0, tile);                                            \
    }
#define GLIDE_OF(rows, vectors)                                                                  \
    static __attribute__((noinline)) TARGET void NAME(glide_##rows##_##vectors)(                 \
        const aten_window_tile *tile)                                                            \
    {                                                                                            \
        NAME(tile)(rows, vectors, 0, 1, 0, tile);                                                \
    }
#define FAR_OF(vectors)                                                                          \
    static __attribute__((noinline)) TARGET void NAME(far_##vectors)(const aten_window_tile *tile) \
    {                                                                                            \
        if (tile->source)                                                                        \
            NAME(tile)(ROWS, vectors, 1, 0, 1, tile);                                            \
        else                                                                                     \
            NAME(tile)(ROWS, vectors, 0, 0, 1, tile);                                            \
    }
#define TILES_OF(rows)                                                                           \
    TILE_OF(rows, 1) TILE_OF(rows, 2) TILE_OF(rows, 3)                                           \
    GLIDE_OF(rows, 1) GLIDE_OF(rows, 2) GLIDE_OF(rows, 3)

TILES_OF(1)
TILES_OF(2)
TILES_OF(4)
#if ROWS == 8
TILES_OF(8)
#endif
FAR_OF(1)
FAR_OF(2)
FAR_OF(3)

/* Those of panels, then those of vectors at offsets. */
#define TILE_NAMES(rows)                                                                         \
    {{NAME(tile_##rows##_1), NAME(tile_##rows##_2), NAME(tile_##rows##_3)},                      \
     {NAME(glide_##rows##_1), NAME(glide_##rows##_2), NAME(glide_##rows##_3)}}

static void (*const NAME(tiles)[][2][3])(const aten_window_tile *) = {
    TILE_NAMES(1),
    TILE_NAMES(2),
    TILE_NAMES(4),
#if ROWS == 8
    TILE_NAMES(8),
#endif
};

/* Whole tiles of results that are far. */
static void (*const NAME(far_tiles)[3])(const aten_window_tile *) = {
    NAME(far_1), NAME(far_2), NAME(far_3),
};

/* `rows` channels of one strip, over one stretch of the depth. Tiles share what is to be asked for
   of another strip. */
static TARGET void NAME(multiply)(const aten_window_tile *strip, int64_t rows)
{
    const int vectors = (int)((strip->columns - 1) / LANES);
    const int64_t lines = (strip->depth + ATEN_LINE - 1) / ATEN_LINE;
    aten_window_tile tile = *strip;
    int shape = ROWS == 8 ? 3 : 2;
    int64_t row, asked = 0, share = 0;
    tile.asked = 0;
    tile.next_rows = 0;
    if (strip->far && strip->next && lines) {
        share = (strip->next_rows * ROWS + rows - 1) / rows;
        tile.next_each = (share + lines - 1) / lines;
    }
    for (row = 0; row < rows; row += (int64_t)1 << shape) {
        while (rows - row < (int64_t)1 << shape)
            shape--;
        tile.ahead = rows - row >= 2 * ROWS;
        tile.left = (const ELEMENT *)strip->left + row * strip->left_row;
        if (strip->bias)
            tile.bias = (const ELEMENT *)strip->bias + row * strip->bias_step;
        tile.out = (ELEMENT *)strip->out + row * strip->out_row;
        if (share) {
            tile.next = (const ELEMENT *)strip->next + asked * strip->source_row;
            tile.next_rows = share < strip->next_rows - asked ? share : strip->next_rows - asked;
            asked += tile.next_rows;
        }
        if (strip->far && (int64_t)1 << shape == ROWS)
            NAME(far_tiles)[vectors](&tile);
        else
            NAME(tiles)[shape][strip->offsets != NULL][vectors](&tile);
        tile.asked = tile.ahead;
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
                total[i][part] = ADD_PRODUCTS(
                    total[i][part], seen, NAME(load)(left + i * tile->left_row + k + part * LANES));
        }
    for (part = 0; part < PARTS && k < depth; part++, k += LANES) {
        const MASK mask = MAKE_MASK(0, depth - k < LANES ? depth - k : LANES);
        const NAME(vector) seen = (NAME(vector))LOAD_PART(column + k, mask);
        ATEN_UNROLL for (i = 0; i < rows; i++)
            total[i][part] = ADD_PRODUCTS(
                total[i][part], seen,
                (NAME(vector))LOAD_PART(left + i * tile->left_row + k, mask));
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
    ELEMENT gathered[ATEN_STRETCH];
    const ELEMENT *column = tile->width == 1 ? tile->right : gathered;
    int64_t place, row, k;
    for (place = 0; place < tile->columns; place++) {
        for (k = 0; tile->width > 1 && k < tile->depth; k++)
            gathered[k] = ((const ELEMENT *)tile->right)[k * tile->width + place];
        for (row = 0; row + 4 <= rows; row += 4)
            NAME(dot_rows)(4, tile, row, column, (ELEMENT *)tile->out + place);
        for (; row < rows; row++)
            NAME(dot_rows)(1, tile, row, column, (ELEMENT *)tile->out + place);
    }
}

#undef PARTS
