/* One row or two times columns that lie as runs of memory: squares of sixteen units a side are turned in
   registers and multiplied at once, where a packed strip would be written and read again.

   Included once for each kind of unit, with
     SUMS                     the vector of sums, of sixteen lanes
     NAME(stem)               the stem with a suffix that is this inclusion's own
     TARGET                   the attribute that allows the processor's instructions
     BYTES                    that a unit has where it lies
     LINE(from, count)        `count` units, of at most sixteen, as a vector; zeros behind them
     ADD(sums, left, right)   the sums with the products of two vectors of units

   Sums are those of tiles: over the depth in order, one lane for each column. Those of three squares
   are made by turns, so that none waits for the one before. Sums of more rows have no room in
   registers beside a square: packing is the better way. */

#define SQUARES 3

/* One square, from the `k`-th unit on, of which there are `count`: sixteen, or fewer at the end. */
static inline __attribute__((always_inline)) TARGET void
NAME(square)(const int rows, const int is_whole, const aten_panel_columns *work,
             const char *const *from, int64_t k, int count, SUMS *total)
{
    __m512i line[16];
    int i, row;
    ATEN_UNROLL for (i = 0; i < 16; i++)
        line[i] = LINE(from[i] + k * BYTES, is_whole ? 16 : count);
    aten_turn_square(line);
    ATEN_UNROLL for (i = 0; i < 16; i++)
        if (is_whole || i < count)
            ATEN_UNROLL for (row = 0; row < rows; row++)
                total[row * SQUARES] = ADD(
                    total[row * SQUARES],
                    (SUMS)aten_spread_64(work->left + row * work->left_row + 4 * (k + i)),
                    (SUMS)line[i]);
}

static inline __attribute__((always_inline)) TARGET void
NAME(columns)(const int rows, const aten_panel_columns *work)
{
    /* Squares that a line of the cache is part of. */
    const int parts = 64 / (16 * BYTES);
    SUMS total[2 * SQUARES];
    const char *from[16 * SQUARES];
    int64_t k = 0, column;
    int i, j, row;
    /* What stands in the place of columns that there are none of is not stored. */
    for (column = 0; column < 16 * SQUARES; column++)
        from[column] = work->right
                       + (column < work->columns ? column : work->columns - 1) * work->right_column;
    ATEN_UNROLL for (i = 0; i < rows * SQUARES; i++)
        total[i] = (SUMS){0};
    for (; k + 16 * parts <= work->units; k += 16 * parts)
        ATEN_UNROLL for (j = 0; j < SQUARES; j++)
            ATEN_UNROLL for (i = 0; i < parts; i++)
                NAME(square)(rows, 1, work, from + 16 * j, k + 16 * i, 16, total + j);
    for (; k < work->units; k += 16)
        ATEN_UNROLL for (j = 0; j < SQUARES; j++)
            NAME(square)(rows, 0, work, from + 16 * j, k,
                         work->units - k < 16 ? (int)(work->units - k) : 16, total + j);
    ATEN_UNROLL for (j = 0; j < SQUARES; j++)
        ATEN_UNROLL for (row = 0; row < rows; row++) {
            float *out = (float *)work->out + row * work->out_row + 16 * j;
            SUMS sums = total[row * SQUARES + j];
            if (16 * j >= work->columns)
                continue;
            if (work->adds)
                sums += (SUMS)_mm512_loadu_ps(out);
            _mm512_storeu_ps(out, (__m512)sums);
        }
}

#define COLUMNS_OF(rows)                                                                         \
    static __attribute__((noinline)) TARGET void NAME(columns_##rows)(                           \
        const aten_panel_columns *work)                                                          \
    {                                                                                            \
        NAME(columns)(rows, work);                                                               \
    }
COLUMNS_OF(1)
COLUMNS_OF(2)

#undef COLUMNS_OF
#undef SQUARES
#undef SUMS
#undef NAME
#undef BYTES
#undef LINE
#undef ADD
