/* Results of bfloat16, for processors that round two vectors of float32 to one of these; the bits
   are those of the other processors. Included by panel_levels.h. */

#define TARGET                                                                                     \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512bf16,prefer-vector-width=512")))

/* How sums become what is rounded: by alpha * sum, if that is not the sum itself, and with
   beta * addend on top, if there is one. */
typedef struct {
    int scales, adds;
    __m512 alpha, beta;
} aten_brain_factors;

static inline __attribute__((always_inline)) TARGET __m512
aten_scaled_brains(const aten_brain_factors factors, __mmask16 lanes, __m512 made,
                   const uint16_t *addend, int64_t at)
{
    __m512 added;
    if (!factors.adds)
        return factors.scales ? _mm512_mul_ps(factors.alpha, made) : made;
    added = aten_widen_brains(_mm256_maskz_loadu_epi16(lanes, addend + at));
    if (!factors.scales)
        return _mm512_add_ps(made, added);
    /* The product that compilers round with the sum where it is written in C. */
    return _mm512_fmadd_ps(factors.alpha, made, _mm512_mul_ps(factors.beta, added));
}

static inline __attribute__((always_inline)) TARGET void
aten_round_brain_row(const aten_brain_factors factors, const float *sums, const uint16_t *addend,
                     uint16_t *out, int64_t count)
{
    const __mmask16 all = 0xffff;
    const int64_t pairs = count / 32 * 32;
    int64_t i;
    for (i = 0; i < pairs; i += 32) {
        const __m512 low
            = aten_scaled_brains(factors, all, _mm512_loadu_ps(sums + i), addend, i);
        const __m512 high
            = aten_scaled_brains(factors, all, _mm512_loadu_ps(sums + i + 16), addend, i + 16);
        _mm512_storeu_si512(out + i, aten_narrow_two_brains(low, high));
    }
    for (; i < count; i += 16) {
        const __mmask16 lanes = (__mmask16)(count - i < 16 ? (1 << (count - i)) - 1 : 0xffff);
        const __m512 last = aten_scaled_brains(
            factors, lanes, _mm512_maskz_loadu_ps(lanes, sums + i), addend, i);
        _mm256_mask_storeu_epi16(out + i, lanes, aten_narrow_brains(last));
    }
}

/* Columns of up to sixteen rows, which are neighbours in what is rounded. */
static inline __attribute__((always_inline)) TARGET void
aten_round_brain_columns(const aten_brain_factors factors, const aten_panel_rounding *rounding,
                         const float *sums, int64_t step, int64_t rows, int64_t columns)
{
    const __mmask16 lanes = (__mmask16)(rows < 16 ? (1 << rows) - 1 : 0xffff);
    const int64_t out_step = rounding->out_step, addend_step = rounding->addend_step;
    int64_t column, i;
    for (column = 0; column < columns; column += 16) {
        const int64_t count = columns - column < 16 ? columns - column : 16;
        char *out = rounding->out + column * out_step;
        const char *addend = rounding->addend + column * addend_step;
        __m512i square[16];
        ATEN_UNROLL for (i = 0; i < 16; i++)
            square[i] = i < rows ? _mm512_loadu_si512(sums + i * step + column)
                                 : _mm512_setzero_si512();
        aten_turn_square(square);
        for (i = 0; i < count; i += 2, out += 2 * out_step, addend += 2 * addend_step) {
            const int last = i + 1 == count;
            const __m512 low = aten_scaled_brains(factors, lanes, _mm512_castsi512_ps(square[i]),
                                                  (const uint16_t *)addend, 0);
            const __m512 high
                = aten_scaled_brains(factors, lanes, _mm512_castsi512_ps(square[i + 1]),
                                     (const uint16_t *)(last ? addend : addend + addend_step), 0);
            const __m512i both = aten_narrow_two_brains(low, high);
            _mm256_mask_storeu_epi16(out, lanes, _mm512_castsi512_si256(both));
            if (!last)
                _mm256_mask_storeu_epi16(out + out_step, lanes, _mm512_extracti64x4_epi64(both, 1));
        }
    }
}

/* Some rows, up to sixteen if they are turned. `step` is in elements. */
static TARGET void aten_round_brain_rows(const aten_panel_rounding *rounding, const float *sums,
                                         int64_t step, int64_t rows, int64_t columns)
{
    aten_brain_factors factors;
    int64_t row;
    factors.alpha = _mm512_set1_ps(rounding->alpha);
    factors.beta = _mm512_set1_ps(rounding->beta);
    factors.adds = rounding->addend != NULL;
    factors.scales = rounding->alpha != 1 || (factors.adds && rounding->beta != 1);
#define ROUND_ROWS(does_scale, does_add)                                                           \
    if (factors.scales == does_scale && factors.adds == does_add) {                                \
        const aten_brain_factors known                                                             \
            = {does_scale, does_add, factors.alpha, factors.beta};                                 \
        if (rounding->turned)                                                                      \
            aten_round_brain_columns(known, rounding, sums, step, rows, columns);                  \
        else                                                                                       \
            for (row = 0; row < rows; row++)                                                       \
                aten_round_brain_row(                                                              \
                    known, sums + row * step,                                                      \
                    (const uint16_t *)(rounding->addend + row * rounding->addend_step),            \
                    (uint16_t *)(rounding->out + row * rounding->out_step), columns);              \
    }
    ROUND_ROWS(0, 0)
    ROUND_ROWS(0, 1)
    ROUND_ROWS(1, 0)
    ROUND_ROWS(1, 1)
#undef ROUND_ROWS
}

static TARGET void aten_panel_finish_brain_pairs(const aten_panel_row *row)
{
    const aten_panel_rounding rounding
        = {(float)row->alpha.real, (float)row->beta.real, row->addend, row->out, 0, 0, 0};
    if (row->out_step != 1 || (row->addend && row->addend_step != 1))
        aten_panel_finish_brains_64(row);
    else
        aten_round_brain_rows(&rounding, row->sums, 0, 1, row->count);
}

#undef TARGET
