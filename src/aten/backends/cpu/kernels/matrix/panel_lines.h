/* A few rows of bfloat16 times lines of the right operand as they lie, for which tile registers would
   have to be packed: sums of a step's pairs begin at zero, those of first and of second numbers apart,
   and are added to what was there, as in registers, so that the same bits come out. Numbers below the
   least normal one count as zero.

   Included by panel_levels.h. */

#define TARGET                                                                                   \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* Bytes of each line that are on their way to the cache while one is read. */
enum { ATEN_BYTES_AHEAD = 256 };

/* Sixteen columns from `column` on, of which there may be fewer. */
INLINE __m512 aten_brains_at(const char *line, int64_t column, __mmask16 there)
{
    return aten_widen_brains(_mm256_maskz_loadu_epi16(there, line + 2 * column));
}

INLINE void aten_sum_lines_at(const int rows, const int vectors, const aten_panel_lines *work,
                              const float left[4][ATEN_LINES_TOGETHER], int64_t column)
{
    __m512 sums[8][2];
    __mmask16 there[2] = {0xffff, 0xffff};
    const char *line = work->right;
    const int64_t last = work->columns - column - 16 * (vectors - 1);
    int64_t k;
    int i, j;
    if (last < 16)
        there[vectors - 1] = (__mmask16)((1u << last) - 1);
    ATEN_UNROLL for (i = 0; i < rows * vectors; i++)
        sums[i][0] = sums[i][1] = _mm512_setzero_ps();
    for (k = 0; k < work->steps; k += 2) {
        const int follows = k + 1 < work->steps;
        const int64_t next = follows ? work->right_step : 0;
        __builtin_prefetch(line + 2 * column + ATEN_BYTES_AHEAD, 0, 3);
        __builtin_prefetch(line + next + 2 * column + ATEN_BYTES_AHEAD, 0, 3);
        ATEN_UNROLL for (j = 0; j < vectors; j++) {
            const __m512 first = aten_brains_at(line, column + 16 * j, there[j]);
            /* Where no line follows, numbers of the left operand are zeros, but not what they meet. */
            const __m512 second = aten_brains_at(line + next, column + 16 * j, follows ? there[j] : 0);
            ATEN_UNROLL for (i = 0; i < rows; i++) {
                sums[i * vectors + j][0] = _mm512_fmadd_ps(_mm512_set1_ps(left[i][k]), first,
                                                           sums[i * vectors + j][0]);
                sums[i * vectors + j][1] = _mm512_fmadd_ps(_mm512_set1_ps(left[i][k + 1]), second,
                                                           sums[i * vectors + j][1]);
            }
        }
        line += 2 * work->right_step;
    }
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < vectors; j++) {
            float *out = work->out + i * work->out_row + column + 16 * j;
            const __m512 sum = _mm512_add_ps(sums[i * vectors + j][0], sums[i * vectors + j][1]);
            const __m512 begun
                = work->begins ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(there[j], out);
            _mm512_mask_storeu_ps(out, there[j], _mm512_add_ps(begun, sum));
        }
}

INLINE void aten_sum_lines_of_rows(const int rows, const aten_panel_lines *work)
{
    float left[4][ATEN_LINES_TOGETHER] = {{0}};
    int64_t column, k;
    int row;
    for (row = 0; row < rows; row++)
        for (k = 0; k < work->steps; k++) {
            const uint16_t element = ((const uint16_t *)(work->left + row * work->left_row))[k];
            const uint32_t bits = (uint32_t)element << 16;
            memcpy(&left[row][k], &bits, 4);
        }
    for (column = 0; column + 16 < work->columns; column += 32)
        aten_sum_lines_at(rows, 2, work, left, column);
    if (column < work->columns)
        aten_sum_lines_at(rows, 1, work, left, column);
}

static TARGET void aten_sum_panel_lines(const aten_panel_lines *work)
{
    const unsigned state = _mm_getcsr();
    _mm_setcsr(state | 0x8040);
    if (work->rows == 1)
        aten_sum_lines_of_rows(1, work);
    else if (work->rows == 2)
        aten_sum_lines_of_rows(2, work);
    else if (work->rows == 3)
        aten_sum_lines_of_rows(3, work);
    else
        aten_sum_lines_of_rows(4, work);
    _mm_setcsr(state);
}

#undef TARGET
#undef INLINE
