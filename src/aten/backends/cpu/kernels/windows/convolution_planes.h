/* Kernels of convolutions whose square windows of 3, 5 or 7 taps a side see one channel each, in its
   plane as that lies. Part of convolution_kernels.h, whose macros it uses. */

/* The lanes of a vector of positions, from `column` on and `step` apart, for which a tap that looks
   `offset` further on looks into a plane. */
static inline __attribute__((always_inline)) TARGET uint32_t
NAME(lanes_inside)(const int step, const aten_grid *grid, int64_t column, int64_t offset)
{
    const int64_t first = offset + step * column;
    const int64_t behind = (grid->seen_columns - first + step - 1) / step;
    const int64_t high = behind < 0 ? 0 : behind < LANES ? behind : LANES;
    int64_t low = first < 0 ? (step - 1 - first) / step : 0;
    if (low > high)
        low = high;
    if (step == 2)
        return EVEN_MASK(low, high);
    return ((1u << high) - 1) & ~((1u << low) - 1);
}

/* `blocks` of a vector of `rows` lines of positions each, from `places` on, which see every `step`-th
   line and column; what is beyond a plane is zeros. Neither of two blocks waits for sums of the
   other. Where they are `apart`, the first one alone looks above the plane, and the last one alone
   below it. */
static inline __attribute__((always_inline)) TARGET void
NAME(plane_blocks)(const int blocks, const int rows, const int height, const int step,
                   const int apart, const aten_grid *grid, const uint32_t *inside, int64_t column,
                   const int64_t *places)
{
    const ELEMENT *weights = grid->weights;
    const ELEMENT *from[2];
    NAME(vector) total[2][7], factor[9], seen[2][7];
    int64_t row[2];
    int i, j, tap, line;
    ATEN_UNROLL for (j = 0; j < blocks; j++) {
        row[j] = grid->top + step * places[j];
        from[j] = (const ELEMENT *)grid->data + row[j] * grid->pitch + step * column;
        ATEN_UNROLL for (i = 0; i < rows; i++)
            total[j][i] = (NAME(vector)){0};
    }
    if (height == 3)
        ATEN_UNROLL for (i = 0; i < 9; i++)
            factor[i] = (NAME(vector))LOADED_ONCE(weights + i);
    ATEN_UNROLL for (line = 0; line < step * (rows - 1) + height; line++) {
        ATEN_UNROLL for (j = 0; j < blocks; j++) {
            /* No position sees nothing: only so many lines may be beyond the plane. */
            const int above = line < height - 1 && (!apart || j == 0);
            const int below = line > step * (rows - 1) && (!apart || j == blocks - 1);
            if ((above && row[j] + line < 0) || (below && row[j] + line >= grid->seen_rows))
                ATEN_UNROLL for (tap = 0; tap < height; tap++)
                    seen[j][tap] = (NAME(vector)){0};
            else
                ATEN_UNROLL for (tap = 0; tap < height; tap++) {
                    const ELEMENT *at = from[j] + grid->offsets[tap];
                    seen[j][tap] = step == 2 ? (NAME(vector))LOAD_EVEN(at, inside[tap])
                                             : (NAME(vector))LOAD_PART(at, LANES_OF(inside[tap]));
                }
            /* The code behind is not to be made twice. */
            if (above || below)
                ATEN_UNROLL for (tap = 0; tap < height; tap++)
                    KEPT(seen[j][tap]);
            from[j] += grid->pitch;
        }
        ATEN_UNROLL for (tap = 0; tap < height; tap++)
            ATEN_UNROLL for (i = 0; i < rows; i++)
                if (line >= step * i && line - step * i < height) {
                    const int place = (line - step * i) * height + tap;
                    const NAME(vector) one =
                        height == 3 ? factor[place] : (NAME(vector))LOADED_ONCE(weights + place);
                    ATEN_UNROLL for (j = 0; j < blocks; j++)
                        total[j][i] += one * seen[j][tap];
                }
    }
    ATEN_UNROLL for (j = 0; j < blocks; j++)
        NAME(settle_grid)(rows, total[j], grid, places[j], column);
}

/* A plane in blocks, the last of which may begin earlier: their sums come out the same again. */
static inline __attribute__((always_inline)) TARGET void
NAME(plane)(const int rows, const int height, const int step, const aten_grid *grid)
{
    uint32_t inside[7];
    const int64_t last = grid->rows - rows;
    int64_t column, row, here, places[2];
    int tap;
    for (column = 0; column < grid->columns; column += LANES) {
        here = column && column + LANES > grid->columns ? grid->columns - LANES : column;
        ATEN_UNROLL for (tap = 0; tap < height; tap++)
            inside[tap] = NAME(lanes_inside)(step, grid, here, grid->offsets[tap]);
        for (row = 0; row < grid->rows; row += rows) {
            places[0] = row < last ? row : last;
#if LANES == 16
            if (row + rows < grid->rows) {
                row += rows;
                places[1] = row < last ? row : last;
                if (step * (places[1] - places[0]) >= height - 1)
                    NAME(plane_blocks)(2, rows, height, step, 1, grid, inside, here, places);
                else
                    NAME(plane_blocks)(2, rows, height, step, 0, grid, inside, here, places);
                continue;
            }
#endif
            NAME(plane_blocks)(1, rows, height, step, 1, grid, inside, here, places);
        }
    }
}

#define PLANE_OF(rows, height, step)                                                             \
    static __attribute__((noinline)) TARGET void NAME(plane_##rows##_##height##_##step)(         \
        const aten_grid *grid)                                                                   \
    {                                                                                            \
        NAME(plane)(rows, height, step, grid);                                                   \
    }
#define PLANES_OF(height, step)                                                                  \
    PLANE_OF(1, height, step) PLANE_OF(4, height, step) PLANE_OF(7, height, step)
#define PLANE_NAMES(height, step)                                                                \
    {NAME(plane_1_##height##_##step), NAME(plane_4_##height##_##step),                           \
     NAME(plane_7_##height##_##step)}
PLANES_OF(3, 1) PLANES_OF(5, 1) PLANES_OF(7, 1)
PLANES_OF(3, 2) PLANES_OF(5, 2) PLANES_OF(7, 2)

/* Positions of a plane, in steps of 1 or 2, by blocks that make little twice. */
static TARGET void NAME(slide_plane)(const aten_grid *grid, int64_t step)
{
    static void (*const planes[3][2][3])(const aten_grid *) = {
        {PLANE_NAMES(3, 1), PLANE_NAMES(3, 2)},
        {PLANE_NAMES(5, 1), PLANE_NAMES(5, 2)},
        {PLANE_NAMES(7, 1), PLANE_NAMES(7, 2)},
    };
    const int64_t fours = (grid->rows + 3) / 4, sevens = (grid->rows + 6) / 7;
    const int shape = grid->rows < 4 ? 0 : grid->rows <= 7 || 4 * fours < 7 * sevens ? 1 : 2;
    planes[(grid->height - 3) / 2][step - 1][shape](grid);
}

#undef PLANE_OF
#undef PLANES_OF
#undef PLANE_NAMES
