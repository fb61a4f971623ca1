/* Elements of bfloat16 as pairs, which are multiplied and summed in float32 at once, and sums as
   bfloat16. Part of convolution_kernels.h, whose macros it uses. */

/* Pairs of lines from `begin` to `end`, of all images, which have `channels` lines of `count`
   elements each: their elements by turns; zeros for the second line where there is none. */
static TARGET void NAME(pair_lines)(const uint16_t *source, int64_t channels, int64_t count,
                                    int64_t begin, int64_t end, uint32_t *target)
{
    const int64_t pairs = (channels + 1) / 2;
    const uint16_t *even = source + (begin / pairs * channels + begin % pairs * 2) * count;
    uint32_t *out = target + begin * count;
    int64_t index, pair = begin % pairs, place;
    for (index = begin; index < end; index++) {
        const uint16_t *odd = 2 * pair + 1 < channels ? even + count : NULL;
        for (place = 0; place < count; place += LANES) {
            const MASK mask = MAKE_MASK(0, count - place < LANES ? count - place : LANES);
            const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, even + place));
            __m512i high = _mm512_setzero_si512();
            if (odd)
                high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, odd + place));
            _mm512_mask_storeu_epi32(out + place, mask,
                                     _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
        }
        even += odd ? 2 * count : count;
        out += count;
        pair = pair + 1 < pairs ? pair + 1 : 0;
    }
}

/* `lines` lines of sums; as `copy_lines`, with nothing between. */
static TARGET void NAME(narrow_lines)(const void *source, int64_t source_line, int64_t step,
                                      int64_t low, int64_t high, int64_t count, int64_t lines,
                                      void *target, int64_t target_line)
{
    int64_t line, place;
    for (line = 0; line < lines; line++) {
        const float *from = (const float *)source + line * source_line;
        uint16_t *to = (uint16_t *)target + line * target_line;
        for (place = 0; place < count; place += LANES) {
            const MASK mask = MAKE_MASK(0, count - place < LANES ? count - place : LANES);
            _mm256_mask_storeu_epi16(to + place, mask,
                                     aten_narrow_brains(_mm512_maskz_loadu_ps(mask, from + place)));
        }
    }
}
