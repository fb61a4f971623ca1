/* Sums of rows, some columns at a time, which stay in registers; included for each type and level, with
     TARGET            the attribute that allows the processor's instructions
     NAME(stem)        the stem with a suffix that is this inclusion's own
     REAL              what is summed
     VECTOR, SHORT     some of these beside each other
   and, where elements of the table are others,
     ROW               these
     VECTOR_OF_ROW, SHORT_OF_ROW    as many of them
     WIDEN(type, x)    them as numbers of that type

   A column's rows are added in their order, and products rounded before that, whatever the level. */

#ifndef ROW
#define ROW REAL
#define VECTOR_OF_ROW VECTOR
#define SHORT_OF_ROW SHORT
#define WIDEN(type, element) element
#endif

#define SUM_COLUMNS(PIECE, PIECE_OF_ROW, PIECES)                                                   \
    for (; columns - first >= (int64_t)((PIECES) * sizeof(PIECE) / sizeof(REAL));                  \
         first += (PIECES) * sizeof(PIECE) / sizeof(REAL)) {                                       \
        PIECE sums[PIECES];                                                                        \
        ATEN_ROW_UNROLL for (int piece = 0; piece < (PIECES); piece++)                             \
            sums[piece] = none - (PIECE){0};                                                       \
        if (begun)                                                                                 \
            ATEN_ROW_UNROLL for (int piece = 0; piece < (PIECES); piece++)                         \
                sums[piece] = ((const PIECE *)(out + first))[piece];                               \
        if (weights == 0)                                                                          \
            for (int64_t place = 0; place < count; place++) {                                      \
                const PIECE_OF_ROW *row                                                            \
                    = (const PIECE_OF_ROW *)(table + rows[place] * step + first);                  \
                ATEN_ROW_UNROLL for (int piece = 0; piece < (PIECES); piece++)                     \
                    sums[piece] += WIDEN(PIECE, row[piece]);                                       \
            }                                                                                      \
        else                                                                                       \
            for (int64_t place = 0; place < count; place++) {                                      \
                const PIECE_OF_ROW *row                                                            \
                    = (const PIECE_OF_ROW *)(table + rows[place] * step + first);                  \
                ATEN_ROW_UNROLL for (int piece = 0; piece < (PIECES); piece++)                     \
                    sums[piece] += WIDEN(PIECE, row[piece]) * weights[place];                      \
            }                                                                                      \
        ATEN_ROW_UNROLL for (int piece = 0; piece < (PIECES); piece++)                             \
            ((PIECE *)(out + first))[piece] = sums[piece];                                         \
    }

TARGET static void NAME(sum)(const ROW *table, int64_t step, const int64_t *rows,
                             const REAL *weights, int64_t count, int64_t columns, int begun,
                             REAL *out)
{
    int64_t first = 0;
    /* To which anything may be added without a change, another negative zero as well. */
    const REAL none = -0.0;
    SUM_COLUMNS(VECTOR, VECTOR_OF_ROW, 8)
    SUM_COLUMNS(VECTOR, VECTOR_OF_ROW, 4)
    SUM_COLUMNS(VECTOR, VECTOR_OF_ROW, 1)
    SUM_COLUMNS(SHORT, SHORT_OF_ROW, 1)
    SUM_COLUMNS(REAL, ROW, 1)
}

#undef SUM_COLUMNS
#undef REAL
#undef ROW
#undef NAME
#undef VECTOR
#undef SHORT
#undef VECTOR_OF_ROW
#undef SHORT_OF_ROW
#undef WIDEN
