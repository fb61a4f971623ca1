/* Sums of rows, some columns at a time, which stay in registers; included for each type and level.

   A column's rows are added in their order, and products rounded before that, whatever the level. */

#define SUM_COLUMNS(PIECE, PIECES)                                                                 \
    for (; columns - first >= (int64_t)((PIECES) * sizeof(PIECE) / sizeof(REAL));                  \
         first += (PIECES) * sizeof(PIECE) / sizeof(REAL)) {                                       \
        PIECE sums[PIECES];                                                                        \
        ATEN_BAG_UNROLL for (int piece = 0; piece < (PIECES); piece++)                             \
            sums[piece] = ((const PIECE *)(out + first))[piece];                                   \
        if (weights == 0)                                                                          \
            for (int64_t place = 0; place < count; place++) {                                      \
                const PIECE *row = (const PIECE *)(table + rows[place] * step + first);            \
                ATEN_BAG_UNROLL for (int piece = 0; piece < (PIECES); piece++)                     \
                    sums[piece] += row[piece];                                                     \
            }                                                                                      \
        else                                                                                       \
            for (int64_t place = 0; place < count; place++) {                                      \
                const PIECE *row = (const PIECE *)(table + rows[place] * step + first);            \
                ATEN_BAG_UNROLL for (int piece = 0; piece < (PIECES); piece++)                     \
                    sums[piece] += row[piece] * weights[place];                                    \
            }                                                                                      \
        ATEN_BAG_UNROLL for (int piece = 0; piece < (PIECES); piece++)                             \
            ((PIECE *)(out + first))[piece] = sums[piece];                                         \
    }

TARGET static void NAME(sum)(const REAL *table, int64_t step, const int64_t *rows,
                             const REAL *weights, int64_t count, int64_t columns, REAL *out)
{
    int64_t first = 0;
    SUM_COLUMNS(VECTOR, 8)
    SUM_COLUMNS(VECTOR, 4)
    SUM_COLUMNS(VECTOR, 1)
    SUM_COLUMNS(SHORT, 1)
    SUM_COLUMNS(REAL, 1)
}

#undef SUM_COLUMNS
#undef REAL
#undef NAME
#undef VECTOR
#undef SHORT
