/* Sums of products of small numbers in one instruction, for vectors of 64 bytes: of bytes and pairs of
   shorts, and of pairs of bfloat16. Part of panel_levels.h, whose macros it uses. */

#define TARGET                                                                                   \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512vnni,prefer-vector-width=512")))

#define UNIT uint32_t
#define LANES 16
#define SPREAD aten_spread_64
#define SUMS aten_panel_ints_64
#define NAME(stem) aten_panel_##stem##_pairs_vnni
#define ADD(sums, left, right)                                                                   \
    ((aten_panel_ints_64)_mm512_dpwssd_epi32((__m512i)(sums), (__m512i)(left), (__m512i)(right)))
#include "panel_tiles.h"

#define UNIT uint32_t
#define LANES 16
#define SPREAD aten_spread_64
#define SUMS aten_panel_ints_64
#define NAME(stem) aten_panel_##stem##_quads_vnni
#define ADD(sums, left, right)                                                                   \
    ((aten_panel_ints_64)_mm512_dpbusd_epi32((__m512i)(sums), (__m512i)(right), (__m512i)(left)))
#include "panel_tiles.h"

/* The sum of bytes that lie side by side; `count` is below 2^24. */
static TARGET int64_t aten_panel_sum_bytes_vnni(const int8_t *bytes, int64_t count)
{
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i total = _mm512_setzero_si512(), other = total;
    int64_t i = 0;
    for (; i + 128 <= count; i += 128) {
        total = _mm512_dpbusd_epi32(total, ones, _mm512_loadu_si512(bytes + i));
        other = _mm512_dpbusd_epi32(other, ones, _mm512_loadu_si512(bytes + i + 64));
    }
    for (; i < count; i += 64) {
        const __mmask64 there = count - i < 64 ? ((__mmask64)1 << (count - i)) - 1 : ~(__mmask64)0;
        total = _mm512_dpbusd_epi32(total, ones, _mm512_maskz_loadu_epi8(there, bytes + i));
    }
    return _mm512_reduce_add_epi32(_mm512_add_epi32(total, other));
}

#undef TARGET
#define TARGET                                                                                   \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512vbmi")))

/* Rows far apart are asked for so many rows ahead: nothing else guesses them. */
#define ATEN_ROWS_AHEAD 64

/* Whole quads of bytes of rows `step` apart, a unit for each column, whose bits are flipped by
   `by`: `count` is a multiple of four. Units up to the next sixteen columns are written. */
static TARGET void aten_zip_bytes_vbmi(const uint8_t *source, int64_t step, int64_t count,
                                       int64_t columns, int64_t width, uint32_t *target,
                                       uint32_t by)
{
    const __m512i flipped = _mm512_set1_epi32((int)by);
    /* Byte 4 i + row of the result is byte 16 row + i. */
    const __m512i order = _mm512_add_epi32(
        _mm512_set1_epi32(0x30201000),
        _mm512_mullo_epi32(_mm512_set1_epi32(0x01010101),
                           _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                             15)));
    int64_t row, column;
    for (row = 0; row < count; row += 4) {
        const uint8_t *from = source + row * step;
        uint32_t *to = target + row / 4 * width;
        int i;
        for (i = ATEN_ROWS_AHEAD; i < ATEN_ROWS_AHEAD + 4; i++) {
            __builtin_prefetch(from + i * step, 0, 2);
            __builtin_prefetch(from + i * step + columns - 1, 0, 2);
        }
        for (column = 0; column < columns; column += 16) {
            const __mmask16 there
                = columns - column < 16 ? (__mmask16)((1u << (columns - column)) - 1) : 0xffff;
            __m512i quads = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(there, from + column));
            quads = _mm512_inserti32x4(quads, _mm_maskz_loadu_epi8(there, from + step + column), 1);
            quads = _mm512_inserti32x4(
                quads, _mm_maskz_loadu_epi8(there, from + 2 * step + column), 2);
            quads = _mm512_inserti32x4(
                quads, _mm_maskz_loadu_epi8(there, from + 3 * step + column), 3);
            quads = _mm512_permutexvar_epi8(order, quads);
            _mm512_storeu_si512(to + column, _mm512_xor_si512(quads, flipped));
        }
    }
}

#undef TARGET
#define TARGET                                                                                   \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512bf16,prefer-vector-width=512")))

#define UNIT uint32_t
#define LANES 16
#define SPREAD aten_spread_64
#define SUMS aten_panel_floats_64
#define NAME(stem) aten_panel_##stem##_brains_64
#define ADD(sums, left, right)                                                                   \
    ((aten_panel_floats_64)_mm512_dpbf16_ps((__m512)(sums), (__m512bh)(left), (__m512bh)(right)))
#include "panel_tiles.h"

#define SUMS aten_panel_floats_64
#define NAME(stem) aten_panel_##stem##_brains_64
#define BYTES 4
#define TOGETHER 1
#define UNIT(line, place) (line)
#define LINE(from, count) _mm512_maskz_loadu_epi32((__mmask16)((1u << (count)) - 1), from)
#define ADD(sums, left, right)                                                                   \
    ((aten_panel_floats_64)_mm512_dpbf16_ps((__m512)(sums), (__m512bh)(left), (__m512bh)(right)))
#include "panel_columns.h"

#undef TARGET
