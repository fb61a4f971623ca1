/* Results of bfloat16, for processors that round two vectors of float32 to one of these; the bits are
   those of the other processors. Included by panel_levels.h. */

#define TARGET                                                                                     \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512bf16,prefer-vector-width=512")))

/* How sums become what is rounded: by alpha * (sum - base), if that is not the sum itself, and with
   beta * addend on top, if there is one. */
typedef struct {
    int scales, adds;
    __m512 base, alpha, beta;
} aten_brain_factors;

static inline __attribute__((always_inline)) TARGET __m512
aten_scaled_brains(const aten_brain_factors factors, __mmask16 lanes, const float *sums,
                   const uint16_t *addend)
{
    __m512 made = _mm512_maskz_loadu_ps(lanes, sums);
    __m512 added;
    if (factors.scales)
        made = _mm512_mul_ps(factors.alpha, _mm512_sub_ps(made, factors.base));
    if (!factors.adds)
        return made;
    added = aten_widen_brains(_mm256_maskz_loadu_epi16(lanes, addend));
    return _mm512_add_ps(made, factors.scales ? _mm512_mul_ps(factors.beta, added) : added);
}

static inline __attribute__((always_inline)) TARGET void
aten_round_brain_row(const aten_brain_factors factors, const float *sums, const uint16_t *addend,
                     uint16_t *out, int64_t count)
{
    const __mmask16 all = 0xffff;
    const int64_t pairs = count / 32 * 32;
    int64_t i;
    for (i = 0; i < pairs; i += 32) {
        const __m512 low = aten_scaled_brains(factors, all, sums + i, addend + i);
        const __m512 high = aten_scaled_brains(factors, all, sums + i + 16, addend + i + 16);
        _mm512_storeu_si512(out + i, aten_narrow_two_brains(low, high));
    }
    for (; i < count; i += 16) {
        const __mmask16 lanes = (__mmask16)(count - i < 16 ? (1 << (count - i)) - 1 : 0xffff);
        const __m512 last = aten_scaled_brains(factors, lanes, sums + i, addend + i);
        _mm256_mask_storeu_epi16(out + i, lanes, aten_narrow_brains(last));
    }
}

/* Some rows, whose steps are in elements. */
static TARGET void aten_round_brain_rows(const aten_panel_rounding *rounding, float base,
                                         const float *sums, int64_t step, int64_t rows,
                                         int64_t columns)
{
    aten_brain_factors factors;
    const char *addend = rounding->addend;
    char *out = rounding->out;
    int64_t row;
    factors.base = _mm512_set1_ps(base);
    factors.alpha = _mm512_set1_ps(rounding->alpha);
    factors.beta = _mm512_set1_ps(rounding->beta);
    factors.adds = addend != NULL;
    factors.scales = base != 0 || rounding->alpha != 1 || (factors.adds && rounding->beta != 1);
#define ROUND_ROWS(does_scale, does_add)                                                           \
    if (factors.scales == does_scale && factors.adds == does_add)                                  \
        for (row = 0; row < rows; row++) {                                                         \
            const aten_brain_factors known                                                         \
                = {does_scale, does_add, factors.base, factors.alpha, factors.beta};               \
            aten_round_brain_row(known, sums + row * step,                                         \
                                 (const uint16_t *)(addend + row * rounding->addend_row),          \
                                 (uint16_t *)(out + row * rounding->out_row), columns);            \
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
        = {(float)row->alpha.real, (float)row->beta.real, row->addend, row->out, 0, 0};
    if (row->out_step != 1 || (row->addend && row->addend_step != 1))
        aten_panel_finish_brains_64(row);
    else
        aten_round_brain_rows(&rounding, (float)row->base, row->sums, 0, 1, row->count);
}

#undef TARGET
