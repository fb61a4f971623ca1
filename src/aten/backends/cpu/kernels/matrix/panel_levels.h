/* Tiles and packs of products in units for each level of vector instructions, and the choice. */

#ifndef ATEN_PANEL_LEVELS
#define ATEN_PANEL_LEVELS

#include <stdint.h>
#include <string.h>

#include "_core/base/tile_registers.h"
#include "_core/base/vector_widths.h"
#include "_core/base/wide_vectors.h"

#include "../moving/halves.h"
#include "panel_structures.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define ATEN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATEN_UNROLL _Pragma("GCC unroll 16")
#endif

/* Steps of the depth that a single row asks for ahead of their turn. */
#define ATEN_STEPS_AHEAD 16

static inline void aten_turn_units(const uint32_t *from, int64_t row, uint32_t *to, int64_t to_row)
{
    int i, j;
    for (i = 0; i < 4; i++)
        for (j = 0; j < 4; j++)
            to[i * to_row + j] = from[j * row + i];
}

static inline void aten_turn_double_units(const uint64_t *from, int64_t row, uint64_t *to,
                                          int64_t to_row)
{
    const uint64_t a = from[0], b = from[1], c = from[row], d = from[row + 1];
    to[0] = a;
    to[1] = c;
    to[to_row] = b;
    to[to_row + 1] = d;
}

/* Sixteen bytes of each of four rows, side by side. */
static inline void aten_zip_quads(const uint8_t *from, int64_t step, uint32_t *to)
{
#if defined(__x86_64__)
    const __m128i first = _mm_loadu_si128((const __m128i *)from);
    const __m128i second = _mm_loadu_si128((const __m128i *)(from + step));
    const __m128i third = _mm_loadu_si128((const __m128i *)(from + 2 * step));
    const __m128i fourth = _mm_loadu_si128((const __m128i *)(from + 3 * step));
    const __m128i low = _mm_unpacklo_epi8(first, second);
    const __m128i high = _mm_unpackhi_epi8(first, second);
    const __m128i other_low = _mm_unpacklo_epi8(third, fourth);
    const __m128i other_high = _mm_unpackhi_epi8(third, fourth);
    _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi16(low, other_low));
    _mm_storeu_si128((__m128i *)(to + 4), _mm_unpackhi_epi16(low, other_low));
    _mm_storeu_si128((__m128i *)(to + 8), _mm_unpacklo_epi16(high, other_high));
    _mm_storeu_si128((__m128i *)(to + 12), _mm_unpackhi_epi16(high, other_high));
#else
    int i;
    for (i = 0; i < 16; i++)
        to[i] = (uint32_t)from[i] | (uint32_t)from[step + i] << 8
            | (uint32_t)from[2 * step + i] << 16 | (uint32_t)from[3 * step + i] << 24;
#endif
}

#define ATEN_MULTIPLY_ADD(sums, left, right) ((sums) + (left) * (right))

/* Vectors of 16 bytes, which every processor has. Pairs are spread out. */

typedef float aten_panel_floats_16 __attribute__((vector_size(16)));
typedef double aten_panel_doubles_16 __attribute__((vector_size(16)));
typedef uint32_t aten_panel_ints_16 __attribute__((vector_size(16)));
typedef uint64_t aten_panel_longs_16 __attribute__((vector_size(16)));

static inline aten_panel_ints_16 aten_spread_16(const char *from)
{
    uint32_t unit;
    memcpy(&unit, from, 4);
    return (aten_panel_ints_16){unit, unit, unit, unit};
}

typedef double aten_panel_pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline aten_panel_longs_16 aten_spread_long_16(const char *from)
{
    uint64_t unit;
    memcpy(&unit, from, 8);
    return (aten_panel_longs_16){unit, unit};
}

static inline aten_panel_ints_16 aten_add_pairs_16(aten_panel_ints_16 sums,
                                                   aten_panel_ints_16 left,
                                                   aten_panel_ints_16 right)
{
#if defined(__x86_64__)
    return sums + (aten_panel_ints_16)_mm_madd_epi16((__m128i)left, (__m128i)right);
#else
    typedef int32_t lanes __attribute__((vector_size(16)));
    const lanes a = (lanes)left, b = (lanes)right;
    return sums + (aten_panel_ints_16)((a << 16 >> 16) * (b << 16 >> 16))
        + (aten_panel_ints_16)((a >> 16) * (b >> 16));
#endif
}

#define TARGET
#define ROWS 4

#define UNIT uint32_t
#define LANES 4
#define SPREAD aten_spread_16
#define SUMS aten_panel_floats_16
#define NAME(stem) aten_panel_##stem##_floats_16
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define UNIT uint32_t
#define LANES 4
#define SPREAD aten_spread_16
#define SUMS aten_panel_ints_16
#define NAME(stem) aten_panel_##stem##_ints_16
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define UNIT uint32_t
#define LANES 4
#define SPREAD aten_spread_16
#define SUMS aten_panel_ints_16
#define NAME(stem) aten_panel_##stem##_pairs_16
#define ADD aten_add_pairs_16
#include "panel_tiles.h"

#define UNIT uint64_t
#define LANES 2
#define SPREAD aten_spread_long_16
#define SUMS aten_panel_doubles_16
#define NAME(stem) aten_panel_##stem##_doubles_16
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define UNIT uint64_t
#define LANES 2
#define SPREAD aten_spread_long_16
#define SUMS aten_panel_longs_16
#define NAME(stem) aten_panel_##stem##_longs_16
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define LEVEL 16
#define SINGLES 4
#define DOUBLES 2
#define BOTH_SINGLES(from) aten_spread_long_16((const char *)(from))
#define BOTH_DOUBLES(from) (*(const aten_panel_pair *)(from))
#include "panel_complex.h"

#define NAME(stem) aten_panel_##stem##_16
#define TURN_SINGLES aten_turn_units
#define TURN_DOUBLES aten_turn_double_units
#define SINGLES_SIDE 4
#define DOUBLES_SIDE 2
#define WIDEN_HALVES(from, to) SIXTEEN(aten_widen_half, from, to)
#include "panel_packs.h"

#undef ROWS
#undef TARGET

#if defined(__x86_64__)

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define ROWS 4

typedef float aten_panel_floats_32 __attribute__((vector_size(32)));
typedef double aten_panel_doubles_32 __attribute__((vector_size(32)));
typedef uint32_t aten_panel_ints_32 __attribute__((vector_size(32)));
typedef uint64_t aten_panel_longs_32 __attribute__((vector_size(32)));

static inline __attribute__((always_inline, target("avx2"))) __m256i
aten_spread_32(const char *from)
{
    int32_t unit;
    memcpy(&unit, from, 4);
    return _mm256_set1_epi32(unit);
}

static inline __attribute__((always_inline, target("avx2"))) __m256i
aten_spread_long_32(const char *from)
{
    int64_t unit;
    memcpy(&unit, from, 8);
    return _mm256_set1_epi64x(unit);
}

#define UNIT uint32_t
#define LANES 8
#define SPREAD aten_spread_32
#define SUMS aten_panel_floats_32
#define NAME(stem) aten_panel_##stem##_floats_32
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define UNIT uint32_t
#define LANES 8
#define SPREAD aten_spread_32
#define SUMS aten_panel_ints_32
#define NAME(stem) aten_panel_##stem##_ints_32
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define UNIT uint32_t
#define LANES 8
#define SPREAD aten_spread_32
#define SUMS aten_panel_ints_32
#define NAME(stem) aten_panel_##stem##_pairs_32
#define ADD(sums, left, right)                                                                   \
    ((sums) + (aten_panel_ints_32)_mm256_madd_epi16((__m256i)(left), (__m256i)(right)))
#include "panel_tiles.h"

#define UNIT uint64_t
#define LANES 4
#define SPREAD aten_spread_long_32
#define SUMS aten_panel_doubles_32
#define NAME(stem) aten_panel_##stem##_doubles_32
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define UNIT uint64_t
#define LANES 4
#define SPREAD aten_spread_long_32
#define SUMS aten_panel_longs_32
#define NAME(stem) aten_panel_##stem##_longs_32
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define LEVEL 32
#define SINGLES 8
#define DOUBLES 4
#define BOTH_SINGLES(from) aten_spread_long_32((const char *)(from))
#define BOTH_DOUBLES(from) _mm256_broadcast_pd((const __m128d *)(from))
#include "panel_complex.h"

#define NAME(stem) aten_panel_##stem##_32
#define TURN_SINGLES aten_turn_units
#define TURN_DOUBLES aten_turn_double_units
#define SINGLES_SIDE 4
#define DOUBLES_SIDE 2
#define WIDEN_HALVES(from, to)                                                                   \
    do {                                                                                         \
        _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from))));         \
        _mm256_storeu_ps((to) + 8,                                                               \
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)((from) + 8))));       \
    } while (0)
#include "panel_packs.h"

#undef ROWS
#undef TARGET
#define TARGET                                                                                   \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")))
#define ROWS 8

typedef float aten_panel_floats_64 __attribute__((vector_size(64)));
typedef double aten_panel_doubles_64 __attribute__((vector_size(64)));
typedef uint32_t aten_panel_ints_64 __attribute__((vector_size(64)));
typedef uint64_t aten_panel_longs_64 __attribute__((vector_size(64)));

static inline __attribute__((always_inline, target("avx512f"))) __m512i
aten_spread_64(const char *from)
{
    int32_t unit;
    memcpy(&unit, from, 4);
    return _mm512_set1_epi32(unit);
}

static inline __attribute__((always_inline, target("avx512f"))) __m512i
aten_spread_long_64(const char *from)
{
    int64_t unit;
    memcpy(&unit, from, 8);
    return _mm512_set1_epi64(unit);
}

static inline __attribute__((always_inline, target("avx512f"))) void
aten_turn_lines(__m512i line[16], uint32_t *to, int64_t to_row)
{
    int i;
    aten_turn_square(line);
    ATEN_UNROLL for (i = 0; i < 16; i++)
        _mm512_storeu_si512(to + i * to_row, line[i]);
}

/* Each row is read at once: where rows lie far apart, they share few places of the cache. */
static inline __attribute__((always_inline, target("avx512f"))) void
aten_turn_sixteen(const uint32_t *from, int64_t row, uint32_t *to, int64_t to_row)
{
    __m512i line[16];
    int i;
    ATEN_UNROLL for (i = 0; i < 16; i++)
        line[i] = _mm512_loadu_si512(from + i * row);
    aten_turn_lines(line, to, to_row);
}

/* Sixteen bfloat16 in vectors of half the width, as floats. */
static inline __attribute__((always_inline, target("avx512f"))) __m512i
aten_widen_sixteen_brains(__m256i brains)
{
    return _mm512_slli_epi32(_mm512_cvtepu16_epi32(brains), 16);
}

/* The same of bfloat16, as floats. */
static inline __attribute__((always_inline, target("avx512f"))) void
aten_turn_sixteen_brains(const uint16_t *from, int64_t row, uint32_t *to, int64_t to_row)
{
    __m512i line[16];
    int i;
    ATEN_UNROLL for (i = 0; i < 16; i++)
        line[i] = aten_widen_sixteen_brains(
            _mm256_loadu_si256((const __m256i *)(from + i * row)));
    aten_turn_lines(line, to, to_row);
}

/* And of float16. */
static inline __attribute__((always_inline, target("avx512f"))) void
aten_turn_sixteen_halves(const uint16_t *from, int64_t row, uint32_t *to, int64_t to_row)
{
    __m512i line[16];
    int i;
    ATEN_UNROLL for (i = 0; i < 16; i++)
        line[i] = (__m512i)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + i * row)));
    aten_turn_lines(line, to, to_row);
}

#define UNIT uint32_t
#define LANES 16
#define SPREAD aten_spread_64
#define SUMS aten_panel_floats_64
#define NAME(stem) aten_panel_##stem##_floats_64
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define UNIT uint32_t
#define LANES 16
#define SPREAD aten_spread_64
#define SUMS aten_panel_ints_64
#define NAME(stem) aten_panel_##stem##_ints_64
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define UNIT uint32_t
#define LANES 16
#define SPREAD aten_spread_64
#define SUMS aten_panel_ints_64
#define NAME(stem) aten_panel_##stem##_pairs_64
#define ADD(sums, left, right)                                                                   \
    ((sums) + (aten_panel_ints_64)_mm512_madd_epi16((__m512i)(left), (__m512i)(right)))
#include "panel_tiles.h"

#define UNIT uint64_t
#define LANES 8
#define SPREAD aten_spread_long_64
#define SUMS aten_panel_doubles_64
#define NAME(stem) aten_panel_##stem##_doubles_64
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define UNIT uint64_t
#define LANES 8
#define SPREAD aten_spread_long_64
#define SUMS aten_panel_longs_64
#define NAME(stem) aten_panel_##stem##_longs_64
#define ADD ATEN_MULTIPLY_ADD
#include "panel_tiles.h"

#define LEVEL 64
#define SINGLES 16
#define DOUBLES 8
#define BOTH_SINGLES(from) aten_spread_long_64((const char *)(from))
#define BOTH_DOUBLES(from) _mm512_broadcast_f64x2(_mm_loadu_pd(from))
#define SOME_SINGLES(from, count)                                                                \
    ((aten_panel_floats_64)_mm512_maskz_loadu_ps((__mmask16)((1u << (count)) - 1), from))
#define SOME_DOUBLES(from, count)                                                                \
    ((aten_panel_doubles_64)_mm512_maskz_loadu_pd((__mmask8)((1u << (count)) - 1), from))
#define KEEP_SOME_SINGLES(to, sums, count)                                                       \
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << (count)) - 1), (__m512)(sums))
#define KEEP_SOME_DOUBLES(to, sums, count)                                                       \
    _mm512_mask_storeu_pd(to, (__mmask8)((1u << (count)) - 1), (__m512d)(sums))
#include "panel_complex.h"

#define NAME(stem) aten_panel_##stem##_64
#define TURN_SINGLES aten_turn_sixteen
#define TURN_DOUBLES aten_turn_double_units
#define TURN_HALVES aten_turn_sixteen_halves
#define TURN_BRAINS aten_turn_sixteen_brains
#define SINGLES_SIDE 16
#define DOUBLES_SIDE 2
#define WIDEN_HALVES(from, to)                                                                   \
    _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from))))
#include "panel_packs.h"

#define SUMS aten_panel_floats_64
#define NAME(stem) aten_panel_##stem##_halves_64
#define BYTES 2
#define TOGETHER 1
#define UNIT(line, place) (line)
#define LINE(from, count)                                                                        \
    ((__m512i)_mm512_cvtph_ps(_mm256_maskz_loadu_epi16((__mmask16)((1u << (count)) - 1), from)))
#define ADD ATEN_MULTIPLY_ADD
#include "panel_columns.h"

#define SUMS aten_panel_floats_64
#define NAME(stem) aten_panel_##stem##_singles_64
#define BYTES 4
#define TOGETHER 1
#define UNIT(line, place) (line)
#define LINE(from, count) _mm512_maskz_loadu_epi32((__mmask16)((1u << (count)) - 1), from)
#define ADD ATEN_MULTIPLY_ADD
#include "panel_columns.h"

#define SUMS aten_panel_floats_64
#define NAME(stem) aten_panel_##stem##_tiled_brains_64
#define BYTES 4
#define TOGETHER 1
#define LINE(from, count) _mm512_maskz_loadu_epi32((__mmask16)((1u << (count)) - 1), from)
#define FIRST(unit) _mm512_slli_epi32(unit, 16)
#define SECOND(unit) _mm512_and_si512(unit, _mm512_set1_epi32((int)0xFFFF0000))
#define ADD ATEN_MULTIPLY_ADD
#include "panel_columns.h"

#define SUMS aten_panel_floats_64
#define NAME(stem) aten_panel_##stem##_wide_brains_64
#define BYTES 2
#define TOGETHER 2
#define LINE(from, count)                                                                        \
    _mm512_maskz_loadu_epi16((__mmask32)(((uint64_t)1 << (count)) - 1), from)
#define UNIT(line, place)                                                                        \
    ((place) ? _mm512_and_si512(line, _mm512_set1_epi32((int)0xFFFF0000))                         \
             : _mm512_slli_epi32(line, 16))
#define ADD ATEN_MULTIPLY_ADD
#include "panel_columns.h"

#undef TARGET
#include "panel_dots.h"
#undef ROWS

#include "panel_brains.h"

#ifdef ATEN_KNOWS_TILE_REGISTERS
#include <sys/syscall.h>
#include <unistd.h>

#include "panel_amx.h"
#include "panel_lines.h"
static const aten_panel_tiles aten_panel_tiles_brains_amx
    = {16, 8, 4, {{NULL}}, aten_amx_brains_strip, aten_sum_panel_lines, aten_amx_brains_rounded};
static const aten_panel_tiles aten_panel_tiles_quads_amx
    = {16, 8, 4, {{NULL}}, aten_amx_quads_strip};
#define ATEN_HAS_BRAIN_TILES                                                                       \
    (aten_may_use_amx() && ATEN_MAY_USE(64, "amx-bf16") && ATEN_MAY_USE(64, "avx512bf16"))
#define ATEN_HAS_BYTE_TILES (aten_may_use_amx() && ATEN_MAY_USE(64, "amx-int8"))
#else
#define ATEN_HAS_BRAIN_TILES 0
#define ATEN_HAS_BYTE_TILES 0
#endif
#endif

static aten_panel_features aten_find_panel_features(void)
{
    aten_panel_features found = {0, 0, 0, 0, 0};
#if defined(__x86_64__)
    __builtin_cpu_init();
    found.byte_sums = ATEN_MAY_USE(64, "avx512vnni");
    found.brain_sums = ATEN_HAS_FAST_BRAIN_DOTS;
    found.brain_tiles = ATEN_HAS_BRAIN_TILES;
    found.byte_tiles = ATEN_HAS_BYTE_TILES;
    found.byte_permutes = ATEN_MAY_USE(64, "avx512vbmi");
#endif
    return found;
}

static int aten_widest_panels(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (ATEN_MAY_USE_64 && ATEN_MAY_USE(64, "avx512bw"))
        return 64;
    if (ATEN_MAY_USE_32 && ATEN_MAY_USE(32, "f16c"))
        return 32;
#endif
    return 16;
}

static const aten_panel_packs *aten_panel_packs_of(int vector_bytes, int pack)
{
#if defined(__x86_64__)
    if (vector_bytes == 64)
        return aten_panel_packs_64 + pack;
    if (vector_bytes == 32)
        return aten_panel_packs_32 + pack;
#endif
    return aten_panel_packs_16 + pack;
}

/* Those who multiply unsigned bytes have the instructions for it. */
static int64_t aten_sum_bytes(int vector_bytes, const int8_t *bytes, int64_t count)
{
#if defined(__x86_64__)
    if (vector_bytes == 64)
        return aten_panel_sum_bytes_vnni(bytes, count);
#endif
    return aten_panel_sum_bytes_16(bytes, count);
}

/* Whether units were made: else the processor has no instructions for it. */
static int aten_zip_bytes(int vector_bytes, aten_panel_features features, const void *source,
                          int64_t step, int64_t count, int64_t columns, int64_t width,
                          void *target, uint32_t by)
{
#if defined(__x86_64__)
    if (vector_bytes == 64 && features.byte_permutes && count % 4 == 0) {
        aten_zip_bytes_vbmi(source, step, count, columns, width, target, by);
        return 1;
    }
#endif
    return 0;
}

static aten_panel_finish aten_panel_finish_of(int vector_bytes, int finish)
{
#if defined(__x86_64__)
    if (vector_bytes == 64 && finish == ATEN_FINISH_BRAINS && ATEN_MAY_USE(64, "avx512bf16"))
        return aten_panel_finish_brain_pairs;
    if (vector_bytes == 64)
        return aten_panel_finishes_64[finish];
    if (vector_bytes == 32)
        return aten_panel_finishes_32[finish];
#endif
    return aten_panel_finishes_16[finish];
}

static void aten_flip_units(int vector_bytes, uint32_t *units, int64_t count, uint32_t by)
{
#if defined(__x86_64__)
    if (vector_bytes == 64) {
        aten_panel_flip_64(units, count, by);
        return;
    }
#endif
    aten_panel_flip_16(units, count, by);
}

/* For so many rows and elements that are packed in this way; NULL where packing is faster. */
static aten_panel_columns_function aten_panel_columns_of(int vector_bytes,
                                                         aten_panel_features features, int kind,
                                                         int pack, int64_t rows)
{
#if defined(__x86_64__)
    if (vector_bytes != 64)
        return NULL;
#ifdef ATEN_KNOWS_TILE_REGISTERS
    if (kind == ATEN_BRAIN_PAIRS && features.brain_tiles && rows <= 4)
        return aten_panel_columns_tiled_brains_64[rows - 1];
    if (kind == ATEN_BRAIN_PAIRS && features.brain_tiles)
        return rows <= ATEN_AMX_SIDE ? aten_amx_columns : NULL;
#endif
    if (rows > 4)
        return NULL;
    if (kind == ATEN_BRAIN_PAIRS && features.brain_sums)
        return aten_panel_columns_brains_64[rows - 1];
    if (pack == ATEN_PACK_BRAINS)
        return aten_panel_columns_wide_brains_64[rows - 1];
    if (pack == ATEN_PACK_HALVES)
        return aten_panel_columns_halves_64[rows - 1];
    if (pack == ATEN_PACK_SINGLES && kind == ATEN_FLOATS)
        return aten_panel_columns_singles_64[rows - 1];
#endif
    return NULL;
}

/* NULL where the processor has no such tiles. */
static const aten_panel_tiles *aten_panel_tiles_of(int vector_bytes, aten_panel_features features,
                                                   int kind)
{
    static const aten_panel_tiles *const of_sixteen[ATEN_UNIT_KINDS] = {
        &aten_panel_tiles_floats_16, &aten_panel_tiles_doubles_16, &aten_panel_tiles_ints_16,
        &aten_panel_tiles_longs_16, &aten_panel_tiles_pairs_16, NULL, NULL};
#if defined(__x86_64__)
    static const aten_panel_tiles *const of_more[2][ATEN_UNIT_KINDS] = {
        {&aten_panel_tiles_floats_32, &aten_panel_tiles_doubles_32, &aten_panel_tiles_ints_32,
         &aten_panel_tiles_longs_32, &aten_panel_tiles_pairs_32, NULL, NULL},
        {&aten_panel_tiles_floats_64, &aten_panel_tiles_doubles_64, &aten_panel_tiles_ints_64,
         &aten_panel_tiles_longs_64, &aten_panel_tiles_pairs_64, NULL, NULL}};
    if (vector_bytes == 64 && features.byte_sums && kind == ATEN_SHORT_PAIRS)
        return &aten_panel_tiles_pairs_vnni;
#ifdef ATEN_KNOWS_TILE_REGISTERS
    if (vector_bytes == 64 && features.byte_tiles && kind == ATEN_BYTE_QUADS)
        return &aten_panel_tiles_quads_amx;
    if (vector_bytes == 64 && features.brain_tiles && kind == ATEN_BRAIN_PAIRS)
        return &aten_panel_tiles_brains_amx;
#endif
    if (vector_bytes == 64 && features.byte_sums && kind == ATEN_BYTE_QUADS)
        return &aten_panel_tiles_quads_vnni;
    if (vector_bytes == 64 && features.brain_sums && kind == ATEN_BRAIN_PAIRS)
        return &aten_panel_tiles_brains_64;
    if (vector_bytes >= 32)
        return of_more[vector_bytes == 64][kind];
#endif
    return of_sixteen[kind];
}

#endif
