/* Up to four rows times columns that lie as runs of memory: squares of sixteen units a side are turned in
   registers and multiplied at once, where a packed strip would be written and read again.

   Included once for each kind of unit, with
     SUMS                     the vector of sums, of sixteen lanes
     NAME(stem)               the stem with a suffix that is this inclusion's own
     TARGET                   the attribute that allows the processor's instructions
     BYTES                    that a unit has where it lies
     TOGETHER                 units in each of the sixteen places of a vector as it is read
     LINE(from, count)        `count` units, of at most 16 * TOGETHER, as a vector; zeros behind them
     UNIT(line, place)        a vector of the `place`-th unit of each place of a vector
     ADD(sums, left, right)   the sums with the products of two vectors of units
     SECOND(unit), FIRST(unit)   optional: for units of two numbers, vectors of the first and of the
                              second ones. Each of both has sums of its own in a square, which begin at
                              zero and are added to those before at its end, as in tile registers;
                              what is there already is where those begin

   Sums are those of tiles: over the depth in order, one lane for each column. Those of three squares
   are made by turns, so that none waits for the one before; with more rows, each square has as many sums
   as it needs for that. Sums of still more rows have no room in registers beside a square: packing is
   the better way. */

#define MOST_SQUARES 3

/* One square, from the `k`-th unit on, of which there are `count`: as many as it has room for, or fewer
   at the end. */
static inline __attribute__((always_inline)) TARGET void
NAME(square)(const int rows, const int squares, const int is_whole,
             const aten_panel_columns *work, const char *const *from, int64_t k, int count,
             SUMS *total)
{
    __m512i line[16];
    int i, row, place;
#ifdef FIRST
    SUMS first[4], second[4];
    ATEN_UNROLL for (row = 0; row < rows; row++)
        first[row] = second[row] = (SUMS){0};
#endif
    ATEN_UNROLL for (i = 0; i < 16; i++)
        line[i] = LINE(from[i] + k * BYTES, is_whole ? 16 * TOGETHER : count);
    aten_turn_square(line);
    ATEN_UNROLL for (i = 0; i < 16; i++)
        ATEN_UNROLL for (place = 0; place < TOGETHER; place++) {
            const int unit = i * TOGETHER + place;
            if (!is_whole && unit >= count)
                continue;
            ATEN_UNROLL for (row = 0; row < rows; row++) {
                const char *left = work->left + row * work->left_row + 4 * (k + unit);
#ifdef FIRST
                first[row] = ADD(first[row], (SUMS)aten_spread_64(left), (SUMS)FIRST(line[i]));
                second[row] = ADD(second[row], (SUMS)aten_spread_64(left + 4 * ATEN_PANEL_STRETCH),
                                  (SUMS)SECOND(line[i]));
#else
                total[row * squares] = ADD(total[row * squares], (SUMS)aten_spread_64(left),
                                           (SUMS)UNIT(line[i], place));
#endif
            }
        }
#ifdef FIRST
    ATEN_UNROLL for (row = 0; row < rows; row++)
        total[row * squares] += first[row] + second[row];
#endif
}

static inline __attribute__((always_inline)) TARGET void
NAME(some_columns)(const int rows, const int squares, const aten_panel_columns *work, int64_t first)
{
    /* Units of a square, and squares that a line of the cache is part of. */
    enum { EACH = 16 * TOGETHER, PARTS = 64 / (EACH * BYTES) };
    /* Lines are asked for in the order of memory where there are no gaps: processors go on by
       themselves then. */
    const int gapless = work->right_column == work->units * BYTES;
    SUMS total[2 * MOST_SQUARES];
    const char *from[16 * MOST_SQUARES];
    int64_t k = 0, part = 0, column;
    int i, j, row;
    /* What stands in the place of columns that there are none of is not stored. */
    for (i = 0; i < 16 * squares; i++) {
        column = first + i < work->columns ? first + i : work->columns - 1;
        from[i] = work->right + column * work->right_column;
    }
    ATEN_UNROLL for (i = 0; i < rows * squares; i++) {
        total[i] = (SUMS){0};
#ifdef FIRST
        if (work->adds && first + i % squares * 16 < work->columns)
            total[i] = (SUMS)_mm512_loadu_ps(
                (const float *)work->out + i / squares * work->out_row + first + i % squares * 16);
#endif
    }
    for (; k + EACH * PARTS <= work->units; k += EACH * PARTS)
        ATEN_UNROLL for (j = 0; j < squares; j++) {
            if (work->ahead && gapless)
                ATEN_UNROLL for (i = 0; i < 16; i++)
                    __builtin_prefetch(from[0] + work->ahead + 64 * (16 * part + i), 0, 3);
            else if (work->ahead)
                ATEN_UNROLL for (i = 0; i < 16; i++)
                    __builtin_prefetch(from[16 * j + i] + k * BYTES + work->ahead, 0, 2);
            part++;
            ATEN_UNROLL for (i = 0; i < PARTS; i++)
                NAME(square)(rows, squares, 1, work, from + 16 * j, k + EACH * i, EACH, total + j);
        }
    for (; k < work->units; k += EACH)
        ATEN_UNROLL for (j = 0; j < squares; j++)
            NAME(square)(rows, squares, 0, work, from + 16 * j, k,
                         work->units - k < EACH ? (int)(work->units - k) : EACH, total + j);
    ATEN_UNROLL for (j = 0; j < squares; j++)
        ATEN_UNROLL for (row = 0; row < rows; row++) {
            float *out = (float *)work->out + row * work->out_row + first + 16 * j;
            SUMS sums = total[row * squares + j];
            if (first + 16 * j >= work->columns)
                continue;
#ifndef FIRST
            if (work->adds)
                sums += (SUMS)_mm512_loadu_ps(out);
#endif
            _mm512_storeu_ps(out, (__m512)sums);
        }
}

#ifdef FIRST
/* The numbers of the left operand are parted once, and what is too small for a normal one is zero. */
#define BEGIN                                                                                    \
    uint32_t parted[4][2 * ATEN_PANEL_STRETCH];                                                  \
    aten_panel_columns wide = *given;                                                            \
    const aten_panel_columns *work = &wide;                                                      \
    const unsigned state = _mm_getcsr();                                                         \
    NAME(part)(given, parted);                                                                   \
    wide.left = (const char *)parted;                                                            \
    wide.left_row = sizeof parted[0];                                                            \
    _mm_setcsr(state | 0x8040);
#define END _mm_setcsr(state);

static TARGET void NAME(part)(const aten_panel_columns *work,
                              uint32_t parted[4][2 * ATEN_PANEL_STRETCH])
{
    int64_t row, unit;
    for (row = 0; row < work->rows; row++)
        for (unit = 0; unit < work->units; unit++) {
            uint32_t pair;
            memcpy(&pair, work->left + row * work->left_row + 4 * unit, 4);
            parted[row][unit] = pair << 16;
            parted[row][ATEN_PANEL_STRETCH + unit] = pair & 0xFFFF0000;
        }
}
#else
#define BEGIN const aten_panel_columns *work = given;
#define END
#endif

#define COLUMNS_OF(rows, squares)                                                                \
    static __attribute__((noinline)) TARGET void NAME(columns_##rows)(                           \
        const aten_panel_columns *given)                                                         \
    {                                                                                            \
        int64_t first;                                                                           \
        BEGIN                                                                                    \
        for (first = 0; first < work->columns; first += 16 * squares)                            \
            NAME(some_columns)(rows, squares, work, first);                                      \
        END                                                                                      \
    }
COLUMNS_OF(1, 3)
COLUMNS_OF(2, 3)
COLUMNS_OF(3, 1)
COLUMNS_OF(4, 1)

static const aten_panel_columns_function NAME(columns)[] = {
    NAME(columns_1), NAME(columns_2), NAME(columns_3), NAME(columns_4)};

#undef COLUMNS_OF
#undef BEGIN
#undef END
#undef FIRST
#undef SECOND
#undef MOST_SQUARES
#undef SUMS
#undef NAME
#undef BYTES
#undef TOGETHER
#undef LINE
#undef UNIT
#undef ADD
