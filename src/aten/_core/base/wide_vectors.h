/* What kernels for vectors of 64 bytes share: squares that are turned, floats that become bfloat16 and
   back. */

#ifndef ATEN_WIDE_VECTORS
#define ATEN_WIDE_VECTORS

#if defined(__x86_64__)
#include <immintrin.h>

#ifndef ATEN_UNROLL
#if defined(__clang__)
#define ATEN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATEN_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

/* A square of 16 by 16, whose lines become its columns. */
static inline __attribute__((always_inline, target("avx512f"))) void
aten_turn_square(__m512i line[16])
{
    __m512i pair[16];
    int i;
    ATEN_UNROLL for (i = 0; i < 16; i += 2) {
        pair[i] = _mm512_unpacklo_epi32(line[i], line[i + 1]);
        pair[i + 1] = _mm512_unpackhi_epi32(line[i], line[i + 1]);
    }
    ATEN_UNROLL for (i = 0; i < 16; i += 4) {
        line[i] = _mm512_unpacklo_epi64(pair[i], pair[i + 2]);
        line[i + 1] = _mm512_unpackhi_epi64(pair[i], pair[i + 2]);
        line[i + 2] = _mm512_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        line[i + 3] = _mm512_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
    ATEN_UNROLL for (i = 0; i < 4; i++) {
        pair[i] = _mm512_shuffle_i32x4(line[i], line[i + 4], 0x88);
        pair[i + 4] = _mm512_shuffle_i32x4(line[i], line[i + 4], 0xDD);
        pair[i + 8] = _mm512_shuffle_i32x4(line[i + 8], line[i + 12], 0x88);
        pair[i + 12] = _mm512_shuffle_i32x4(line[i + 8], line[i + 12], 0xDD);
    }
    ATEN_UNROLL for (i = 0; i < 4; i++) {
        line[i] = _mm512_shuffle_i32x4(pair[i], pair[i + 8], 0x88);
        line[i + 4] = _mm512_shuffle_i32x4(pair[i + 4], pair[i + 12], 0x88);
        line[i + 8] = _mm512_shuffle_i32x4(pair[i], pair[i + 8], 0xDD);
        line[i + 12] = _mm512_shuffle_i32x4(pair[i + 4], pair[i + 12], 0xDD);
    }
}

static inline __attribute__((always_inline, target("avx512f"))) __m512
aten_widen_brains(__m256i elements)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(elements), 16));
}

/* The nearest number of bfloat16, to even; NaN stays one. The processor's own instruction takes the
   smallest numbers for zeros. */
static inline __attribute__((always_inline, target("avx512f"))) __m256i
aten_narrow_brains(__m512 value)
{
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __mmask16 unordered = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(
        _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, unordered, quiet), 16));
}

/* The same of two vectors, by the processor's instruction where there are none of these numbers. */
static inline
    __attribute__((always_inline, target("avx512f,avx512vl,avx512dq,avx512bw,avx512bf16"))) __m512i
    aten_narrow_two_brains(__m512 low, __m512 high)
{
    enum { DENORMAL = 0x20 };
    if (_mm512_fpclass_ps_mask(low, DENORMAL) | _mm512_fpclass_ps_mask(high, DENORMAL))
        return _mm512_inserti64x4(_mm512_castsi256_si512(aten_narrow_brains(low)),
                                  aten_narrow_brains(high), 1);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}
#endif

#endif
