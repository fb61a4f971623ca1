/* Products of attention in bfloat16, by the tile registers of Intel's AMX: queries times keys, and
   weights times values.

   A weight is the sum of two numbers of bfloat16, which together are off by 2^-17 of it, so results are
   rounded once. 32 weights of a row are 32 first and 32 second numbers; they meet as many keys, whose
   values are pairs of two keys each, in a step: sums of its pairs begin at zero, those of even and of
   odd keys apart, and are added to what the steps before gave, those of second numbers after those of
   first ones. Few rows are summed in vectors, in the same order, from values as they lie, which gives
   the same bits. Numbers below the least normal one count as zero. Up to 64 columns of many rows are
   summed while vectors turn scores into weights: neither waits for the other.

   A second number of zero makes a NaN of an infinite value: what is none with first numbers alone is
   taken from them. */

#ifndef ATEN_ATTENTION_REGISTERS
#define ATEN_ATTENTION_REGISTERS

#include <stdint.h>
#include <string.h>

#include "_core/base/tile_registers.h"
#include "_core/base/wide_vectors.h"
#include "attention_levels.h"

/* Keys of a step, and bytes of the weights of one. */
enum { ATEN_STEP_KEYS = 32, ATEN_STEP_BYTES = 128 };

typedef struct {
    /* Scores of `rows` queries, whose numbers fill `steps` of 32 with zeros, with `keys`: sixteen keys are
       packed as the pairs of each step, 1024 bytes. There is memory for 32 queries and rows of scores,
       and for sixteen scores at a time. */
    const char *queries;
    int64_t queries_row, rows, steps;
    const char *keys;
    int64_t count;
    float *out;
    int64_t out_row;
} aten_register_keys;

typedef struct {
    /* Results of `rows` rows, of `width` columns, a whole number of vectors, from `first` on: weights in
       `steps` of the keys, values in pairs, whose rows are `width` units. There is memory for 32 rows of
       weights, and for the values of whole steps. */
    const char *weights;
    int64_t weights_row, rows, steps;
    const char *values;
    int64_t width, first;
    float *out;
    int64_t out_row;
} aten_register_values;

typedef struct {
    /* The same of the first 64 columns at most, from scores: a row sees the first `counts` of them, and
       its weights are exp((score - largest) · scale), whose sums go to `totals`. If they are to be kept,
       they take the place of scores, zeros in all `steps` where nothing is seen. */
    float *scores;
    int64_t scores_row, rows, steps;
    int keeps;
    const int64_t *counts;
    const float *largest;
    float scale;
    const char *values;
    int64_t width;
    float *totals;
    float *out;
    int64_t out_row;
} aten_register_scores;

typedef struct {
    /* The same of up to four rows, of `keys` keys as they lie, `step` bytes apart. */
    const char *weights;
    int64_t weights_row, rows, keys;
    const char *values;
    int64_t step, width;
    float *out;
    int64_t out_row;
} aten_register_lines;

typedef struct {
    /* `count` weights, a whole number of steps, in place. */
    void (*score)(const aten_register_keys *work);
    void (*split)(float *weights, int64_t count);
    void (*multiply)(const aten_register_values *work);
    void (*sum)(const aten_register_lines *work);
    /* False where some results are no numbers: only weights that are kept say which of them are. Other
       rows' may be missing then, unless they are kept. */
    int (*weigh)(const aten_register_scores *work);
} aten_attention_registers;

#ifdef ATEN_KNOWS_TILE_REGISTERS
#define TARGET                                                                                     \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512bf16,fma,amx-tile,"           \
                          "amx-bf16,prefer-vector-width=512")))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* Words 1, 3, 5 and so on of two vectors. */
static const uint16_t aten_second_words[32] __attribute__((aligned(64)))
    = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
       33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};

/* The weights of a step, which are no larger than 1. Both numbers are rounded as integers: the
   processor's own conversion would wait for its tile registers. */
INLINE void aten_split_step(__m512 low, __m512 high, void *to)
{
    const __m512i half = _mm512_set1_epi32(0x8000), number = _mm512_set1_epi32(-0x10000);
    const __m512i words = _mm512_load_si512(aten_second_words);
    __m512i firsts = _mm512_add_epi32(_mm512_castps_si512(low), half);
    __m512i seconds = _mm512_add_epi32(_mm512_castps_si512(high), half);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(firsts, words, seconds));
    low = _mm512_sub_ps(low, _mm512_castsi512_ps(_mm512_and_si512(firsts, number)));
    high = _mm512_sub_ps(high, _mm512_castsi512_ps(_mm512_and_si512(seconds, number)));
    firsts = _mm512_add_epi32(_mm512_castps_si512(low), half);
    seconds = _mm512_add_epi32(_mm512_castps_si512(high), half);
    _mm512_storeu_si512((char *)to + 64, _mm512_permutex2var_epi16(firsts, words, seconds));
}

static TARGET void aten_split_weights(float *weights, int64_t count)
{
    int64_t i;
    for (i = 0; i < count; i += ATEN_STEP_KEYS)
        aten_split_step(_mm512_loadu_ps(weights + i), _mm512_loadu_ps(weights + i + 16), weights + i);
}

/* Of two registers of queries, or one, which stay where they are. */
INLINE void aten_score_near(const int downs, const int steps, const aten_register_keys *work,
                            int64_t row)
{
    const char *queries = work->queries + row * work->queries_row;
    const char *below = queries + 16 * work->queries_row, *keys = work->keys;
    float *out = work->out + row * work->out_row;
    int64_t key;
    _tile_loadd(4, queries, work->queries_row);
    if (steps > 1)
        _tile_loadd(5, queries + 64, work->queries_row);
    if (downs > 1)
        _tile_loadd(6, below, work->queries_row);
    if (downs > 1 && steps > 1)
        _tile_loadd(7, below + 64, work->queries_row);
    for (key = 0; key < work->count; key += 16, keys += 1024 * steps, out += 16) {
        _tile_zero(0);
        _tile_loadd(2, keys, 64);
        _tile_dpbf16ps(0, 4, 2);
        if (downs > 1) {
            _tile_zero(1);
            _tile_dpbf16ps(1, 6, 2);
        }
        if (steps > 1) {
            _tile_loadd(3, keys + 1024, 64);
            _tile_dpbf16ps(0, 5, 3);
            if (downs > 1)
                _tile_dpbf16ps(1, 7, 3);
        }
        _tile_stored(0, out, 4 * work->out_row);
        if (downs > 1)
            _tile_stored(1, out + 16 * work->out_row, 4 * work->out_row);
    }
}

INLINE void aten_score_far(const int downs, const aten_register_keys *work, int64_t row)
{
    const char *queries = work->queries + row * work->queries_row, *keys = work->keys;
    float *out = work->out + row * work->out_row;
    int64_t key, step;
    for (key = 0; key < work->count; key += 16, out += 16) {
        _tile_zero(0);
        if (downs > 1)
            _tile_zero(1);
        for (step = 0; step < work->steps; step++, keys += 1024) {
            _tile_loadd(2, keys, 64);
            _tile_loadd(4, queries + 64 * step, work->queries_row);
            _tile_dpbf16ps(0, 4, 2);
            if (downs > 1) {
                _tile_loadd(6, queries + 16 * work->queries_row + 64 * step, work->queries_row);
                _tile_dpbf16ps(1, 6, 2);
            }
        }
        _tile_stored(0, out, 4 * work->out_row);
        if (downs > 1)
            _tile_stored(1, out + 16 * work->out_row, 4 * work->out_row);
    }
}

static TARGET void aten_score_keys(const aten_register_keys *work)
{
    int64_t row;
    aten_shape_whole_tiles();
    for (row = 0; row < work->rows; row += 32) {
        const int downs = work->rows - row > 16;
        if (work->steps == 1 && downs)
            aten_score_near(2, 1, work, row);
        else if (work->steps == 1)
            aten_score_near(1, 1, work, row);
        else if (work->steps == 2 && downs)
            aten_score_near(2, 2, work, row);
        else if (work->steps == 2)
            aten_score_near(1, 2, work, row);
        else if (downs)
            aten_score_far(2, work, row);
        else
            aten_score_far(1, work, row);
    }
    _tile_release();
}

/* Sums of one or two registers of rows with one or two of columns, into 32 rows of 32 lanes. */
INLINE void aten_sum_steps(const int downs, const int vectors, const int seconds,
                           const aten_register_values *work, int64_t row, int64_t column,
                           float *sums)
{
    const char *weights = work->weights + row * work->weights_row;
    const char *below = weights + 16 * work->weights_row;
    const char *values = work->values + 4 * column;
    const int64_t line = 4 * work->width;
    int64_t step;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (step = 0; step < work->steps; step++) {
        _tile_loadd(4, weights + step * ATEN_STEP_BYTES, work->weights_row);
        _tile_loadd(6, values + step * 16 * line, line);
        _tile_dpbf16ps(0, 4, 6);
        if (vectors > 1) {
            _tile_loadd(7, values + step * 16 * line + 64, line);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (downs > 1) {
            _tile_loadd(5, below + step * ATEN_STEP_BYTES, work->weights_row);
            _tile_dpbf16ps(2, 5, 6);
            if (vectors > 1)
                _tile_dpbf16ps(3, 5, 7);
        }
        if (!seconds)
            continue;
        _tile_loadd(4, weights + step * ATEN_STEP_BYTES + 64, work->weights_row);
        _tile_dpbf16ps(0, 4, 6);
        if (vectors > 1)
            _tile_dpbf16ps(1, 4, 7);
        if (downs > 1) {
            _tile_loadd(5, below + step * ATEN_STEP_BYTES + 64, work->weights_row);
            _tile_dpbf16ps(2, 5, 6);
            if (vectors > 1)
                _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, sums, 128);
    if (vectors > 1)
        _tile_stored(1, sums + 16, 128);
    if (downs > 1)
        _tile_stored(2, sums + 512, 128);
    if (downs > 1 && vectors > 1)
        _tile_stored(3, sums + 528, 128);
}

INLINE void aten_sum_block(const int seconds, const aten_register_values *work, int64_t row,
                           int64_t column, float *sums)
{
    const int downs = work->rows - row > 16, vectors = work->width - column > 16;
    if (downs && vectors)
        aten_sum_steps(2, 2, seconds, work, row, column, sums);
    else if (downs)
        aten_sum_steps(2, 1, seconds, work, row, column, sums);
    else if (vectors)
        aten_sum_steps(1, 2, seconds, work, row, column, sums);
    else
        aten_sum_steps(1, 1, seconds, work, row, column, sums);
}

static TARGET void aten_multiply_values(const aten_register_values *work)
{
    float sums[32 * 32] __attribute__((aligned(64))), firsts[32 * 32] __attribute__((aligned(64)));
    int64_t row, column, i, place;
    aten_shape_whole_tiles();
    for (row = 0; row < work->rows; row += 32)
        for (column = work->first; column < work->width; column += 32) {
            const int64_t count = work->rows - row < 32 ? work->rows - row : 32;
            const int64_t columns = work->width - column < 32 ? work->width - column : 32;
            __mmask16 unordered = 0;
            aten_sum_block(1, work, row, column, sums);
            for (i = 0; i < count; i++)
                for (place = 0; place < columns; place += 16) {
                    const __m512 line = _mm512_load_ps(sums + 32 * i + place);
                    unordered |= _mm512_cmp_ps_mask(line, line, _CMP_UNORD_Q);
                    _mm512_storeu_ps(work->out + (row + i) * work->out_row + column + place, line);
                }
            if (!unordered)
                continue;
            aten_sum_block(0, work, row, column, firsts);
            for (i = 0; i < count; i++)
                for (place = 0; place < columns; place += 16) {
                    const __m512 line = _mm512_load_ps(sums + 32 * i + place);
                    unordered = _mm512_cmp_ps_mask(line, line, _CMP_UNORD_Q);
                    _mm512_mask_storeu_ps(work->out + (row + i) * work->out_row + column + place,
                                          unordered, _mm512_load_ps(firsts + 32 * i + place));
                }
        }
    _tile_release();
}

INLINE __m512 aten_power(__m512 x, float factor)
{
    return (__m512)aten_attention_power_64((aten_attention_floats_64)x, factor);
}

/* Weights of a step of some rows, and their sums. */
INLINE void aten_weigh_step(const aten_register_scores *work, int64_t row, int64_t first, int64_t end,
                            int64_t step, char *weights, int64_t weights_row, __m512 *totals)
{
    const float factor = work->scale * ATEN_LOG2_E;
    const __m512 nothing = _mm512_set1_ps(-__builtin_inff());
    for (; first < end; first++) {
        const float *scores = work->scores + (row + first) * work->scores_row + step * ATEN_STEP_KEYS;
        const __m512 largest = _mm512_set1_ps(work->largest[row + first]);
        const int64_t seen = work->counts[row + first] - step * ATEN_STEP_KEYS;
        __m512 low = _mm512_loadu_ps(scores), high = _mm512_loadu_ps(scores + 16);
        if (seen < ATEN_STEP_KEYS) {
            const uint32_t some = seen > 0 ? (1u << seen) - 1 : 0;
            low = _mm512_mask_mov_ps(nothing, (__mmask16)some, low);
            high = _mm512_mask_mov_ps(nothing, (__mmask16)(some >> 16), high);
        }
        low = aten_power(_mm512_sub_ps(low, largest), factor);
        high = aten_power(_mm512_sub_ps(high, largest), factor);
        totals[first] = _mm512_add_ps(_mm512_add_ps(totals[first], low), high);
        aten_split_step(low, high, weights + first * weights_row);
    }
}

/* Up to sixteen rows. While registers multiply the weights of a step, vectors find those of the next. */
INLINE int aten_weigh_rows(const int vectors, const int keeps, const aten_register_scores *work,
                           int64_t row)
{
    char passing[3][16 * ATEN_STEP_BYTES] __attribute__((aligned(64)));
    char *kept = (char *)(work->scores + row * work->scores_row);
    const int64_t weights_row = keeps ? 4 * work->scores_row : ATEN_STEP_BYTES;
    float sums[16 * 64] __attribute__((aligned(64)));
    __m512 totals[16];
    const int64_t count = work->rows - row < 16 ? work->rows - row : 16;
    const int64_t share = (count + vectors - 1) / vectors, line = 4 * work->width;
    const char *values = work->values;
    __mmask16 unordered = 0;
    int64_t steps = 1, step, i;
    int vector;
    for (i = 0; i < 16; i++)
        totals[i] = _mm512_setzero_ps();
    for (i = 0; i < count; i++)
        if (work->counts[row + i] > steps * ATEN_STEP_KEYS)
            steps = (work->counts[row + i] + ATEN_STEP_KEYS - 1) / ATEN_STEP_KEYS;
    if (count < 16 && !keeps)
        memset(passing, 0, sizeof passing);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
#define WEIGHTS(step) (keeps ? kept + (step) * ATEN_STEP_BYTES : passing[(step) % 3])
    aten_weigh_step(work, row, 0, count, 0, WEIGHTS(0), weights_row, totals);
    if (steps > 1)
        aten_weigh_step(work, row, 0, count, 1, WEIGHTS(1), weights_row, totals);
    ATEN_ARE_WRITTEN();
    _tile_loadd(4, WEIGHTS(0), weights_row);
    _tile_loadd(5, WEIGHTS(0) + 64, weights_row);
    _tile_loadd(6, values, line);
    for (step = 0; step < steps; step++, values += 16 * line) {
        const char *next = WEIGHTS(step + 1);
        ATEN_UNROLL for (vector = 0; vector < vectors; vector++) {
            const int64_t first = vector * share < count ? vector * share : count;
            if (vector == 0) {
                _tile_dpbf16ps(0, 4, 6);
                _tile_dpbf16ps(0, 5, 6);
            } else if (vector == 1) {
                _tile_dpbf16ps(1, 4, 7);
                _tile_dpbf16ps(1, 5, 7);
            } else if (vector == 2) {
                _tile_dpbf16ps(2, 4, 6);
                _tile_dpbf16ps(2, 5, 6);
            } else {
                _tile_dpbf16ps(3, 4, 7);
                _tile_dpbf16ps(3, 5, 7);
            }
            if (vector + 1 < vectors) {
                if (vector % 2)
                    _tile_loadd(6, values + 64 * vector + 64, line);
                else
                    _tile_loadd(7, values + 64 * vector + 64, line);
            } else if (step + 1 < steps) {
                ATEN_ARE_WRITTEN();
                _tile_loadd(4, next, weights_row);
                _tile_loadd(5, next + 64, weights_row);
                _tile_loadd(6, values + 16 * line, line);
            }
            if (step + 2 < steps)
                aten_weigh_step(work, row, first, first + share < count ? first + share : count,
                                step + 2, WEIGHTS(step + 2), weights_row, totals);
        }
    }
#undef WEIGHTS
    _tile_stored(0, sums, 256);
    if (vectors > 1)
        _tile_stored(1, sums + 16, 256);
    if (vectors > 2)
        _tile_stored(2, sums + 32, 256);
    if (vectors > 3)
        _tile_stored(3, sums + 48, 256);
    for (i = 0; i < count; i++) {
        if (keeps)
            memset(kept + i * weights_row + steps * ATEN_STEP_BYTES, 0,
                   (work->steps - steps) * ATEN_STEP_BYTES);
        work->totals[row + i] = _mm512_reduce_add_ps(totals[i]);
        for (vector = 0; vector < vectors; vector++) {
            const __m512 sum = _mm512_load_ps(sums + 64 * i + 16 * vector);
            unordered |= _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
            _mm512_storeu_ps(work->out + (row + i) * work->out_row + 16 * vector, sum);
        }
    }
    return !unordered;
}

static TARGET int aten_weigh_scores(const aten_register_scores *work)
{
    int ordered = 1;
    int64_t row;
    aten_shape_whole_tiles();
    for (row = 0; row < work->rows && (ordered || work->keeps); row += 16)
        if (work->keeps)
            ordered &= aten_weigh_rows(4, 1, work, row);
        else if (work->width > 48)
            ordered = aten_weigh_rows(4, 0, work, row);
        else if (work->width > 32)
            ordered = aten_weigh_rows(3, 0, work, row);
        else if (work->width > 16)
            ordered = aten_weigh_rows(2, 0, work, row);
        else
            ordered = aten_weigh_rows(1, 0, work, row);
    _tile_release();
    return ordered;
}

/* Some rows times some vectors of columns from `column` on. With the first ones, whole rows of values are
   asked for so many rows ahead. */
#define ATEN_LINES_AHEAD 64
INLINE void aten_sum_some_lines(const int rows, const int vectors, const int parts,
                                const aten_register_lines *work, int64_t column, __m512 *total)
{
    /* Weights of a step, first numbers before second ones. */
    float weights[4][2 * ATEN_STEP_KEYS] __attribute__((aligned(64)));
    int64_t key, byte;
    int i, j, k, part, odd;
    ATEN_UNROLL for (i = 0; i < rows * vectors; i++)
        total[i] = _mm512_setzero_ps();
    for (key = 0; key < work->keys; key += ATEN_STEP_KEYS) {
        const int64_t ahead = work->keys - key;
        const int count = ahead < ATEN_STEP_KEYS ? (int)ahead : ATEN_STEP_KEYS;
        const char *line = work->values + key * work->step + 2 * column;
        __m512 sums[4][2][2];
        ATEN_UNROLL for (i = 0; i < rows; i++)
            ATEN_UNROLL for (part = 0; part < 2 * parts; part++)
                _mm512_store_ps(weights[i] + 16 * part,
                                aten_widen_brains(_mm256_loadu_si256(
                                    (const __m256i *)(work->weights + i * work->weights_row
                                                      + key / ATEN_STEP_KEYS * ATEN_STEP_BYTES)
                                    + part)));
        ATEN_UNROLL for (i = 0; i < rows * vectors; i++)
            ATEN_UNROLL for (part = 0; part < parts; part++)
                sums[i][part][0] = sums[i][part][1] = _mm512_setzero_ps();
        for (k = 0; k < count; k += 2)
            ATEN_UNROLL for (odd = 0; odd < 2; odd++, line += work->step) {
                if (k + odd == count)
                    break;
                for (byte = column ? 2 * work->width : 0; byte < 2 * work->width; byte += 64)
                    __builtin_prefetch(line + ATEN_LINES_AHEAD * work->step + byte, 0, 2);
                ATEN_UNROLL for (j = 0; j < vectors; j++) {
                    const __m512 value
                        = aten_widen_brains(_mm256_loadu_si256((const __m256i *)(line + 32 * j)));
                    ATEN_UNROLL for (i = 0; i < rows; i++)
                        ATEN_UNROLL for (part = 0; part < parts; part++)
                            sums[i * vectors + j][part][odd] = _mm512_fmadd_ps(
                                _mm512_set1_ps(weights[i][32 * part + k + odd]), value,
                                sums[i * vectors + j][part][odd]);
                }
            }
        ATEN_UNROLL for (i = 0; i < rows * vectors; i++)
            ATEN_UNROLL for (part = 0; part < parts; part++)
                total[i] = _mm512_add_ps(total[i],
                                         _mm512_add_ps(sums[i][part][0], sums[i][part][1]));
    }
}

INLINE void aten_sum_columns(const int rows, const int vectors, const aten_register_lines *work,
                             int64_t column)
{
    __m512 total[4], firsts[4];
    __mmask16 unordered = 0;
    int i;
    aten_sum_some_lines(rows, vectors, 2, work, column, total);
    ATEN_UNROLL for (i = 0; i < rows * vectors; i++)
        unordered |= _mm512_cmp_ps_mask(total[i], total[i], _CMP_UNORD_Q);
    if (unordered) {
        aten_sum_some_lines(rows, vectors, 1, work, column, firsts);
        ATEN_UNROLL for (i = 0; i < rows * vectors; i++) {
            unordered = _mm512_cmp_ps_mask(total[i], total[i], _CMP_UNORD_Q);
            total[i] = _mm512_mask_mov_ps(total[i], unordered, firsts[i]);
        }
    }
    ATEN_UNROLL for (i = 0; i < rows * vectors; i++)
        _mm512_storeu_ps(work->out + i / vectors * work->out_row + column + i % vectors * 16, total[i]);
}

INLINE void aten_sum_lines_of(const int rows, const int vectors, const aten_register_lines *work)
{
    int64_t column = 0;
    for (; column + 16 * vectors <= work->width; column += 16 * vectors)
        aten_sum_columns(rows, vectors, work, column);
    for (; column < work->width; column += 16)
        aten_sum_columns(rows, 1, work, column);
}

static TARGET void aten_sum_lines(const aten_register_lines *work)
{
    /* As tile registers do it: what is too small for a normal number is zero. */
    const unsigned state = _mm_getcsr();
    _mm_setcsr(state | 0x8040);
    if (work->rows == 1)
        aten_sum_lines_of(1, 4, work);
    else if (work->rows == 2)
        aten_sum_lines_of(2, 2, work);
    else if (work->rows == 3)
        aten_sum_lines_of(3, 1, work);
    else
        aten_sum_lines_of(4, 1, work);
    _mm_setcsr(state);
}

static const aten_attention_registers aten_registers_of_attention
    = {aten_score_keys, aten_split_weights, aten_multiply_values, aten_sum_lines, aten_weigh_scores};
#define ATEN_ATTENTION_REGISTERS_OR_NULL (&aten_registers_of_attention)

#undef TARGET
#undef INLINE
#else
#define ATEN_ATTENTION_REGISTERS_OR_NULL NULL
#endif

/* For processors that have tile registers; NULL where the compiler does not know them. */
static const aten_attention_registers *aten_attention_registers_of(void)
{
    return ATEN_ATTENTION_REGISTERS_OR_NULL;
}

#endif
