/* Convolutions of bfloat16 by the tile registers of Intel's AMX.

   An image is copied with the zeros around it, so that 32 channels of a position are a line of the
   cache and positions follow each other: a register takes sixteen positions, wherever they begin. The
   other operand are weights of as many channels for sixteen channels of the result. A step of the
   depth is 32 channels seen by one tap; its pairs' sums begin at zero, those of first and of second
   numbers apart, and are added to what the steps before gave. So a result has the same bits wherever
   it lies in a block. Numbers below the least normal one count as zero. */

#ifndef ATEN_CONVOLUTION_REGISTERS
#define ATEN_CONVOLUTION_REGISTERS

#include <stdint.h>
#include <string.h>

#include "_core/base/tile_registers.h"
#include "_core/base/wide_vectors.h"

/* Rows and columns of a register, channels that one has beside each other, and bytes of one. */
enum {
    ATEN_REGISTER_SIDE = 16,
    ATEN_REGISTER_CHANNELS = 32,
    ATEN_REGISTER_BYTES = 1024
};

typedef struct {
    /* `count` positions of a line, `step` elements apart in the lines of the channels, whose first one
       sees what lies at `place` of them; some have no line. There are zeros outside of `length`
       elements. */
    const uint16_t *lines[ATEN_REGISTER_CHANNELS];
    int64_t places[ATEN_REGISTER_CHANNELS];
    int64_t step, length, count;
    uint32_t *to;
} aten_register_line;

typedef struct {
    /* The same where `channels` are neighbours, and positions `apart` elements from each other. */
    const uint16_t *line;
    int64_t channels, place, step, apart, length, count;
    uint32_t *to;
} aten_register_run;

typedef struct {
    /* A register of weights of up to sixteen channels of the result, `row` elements apart, of which
       those of a pair lie at `first` and `second`; -1 where there is none. Or of so many neighbours
       in a row, if any, from its first one on. */
    const uint16_t *weights;
    int64_t row, outputs, neighbours;
    int64_t first[ATEN_REGISTER_SIDE], second[ATEN_REGISTER_SIDE];
    uint32_t *to;
} aten_register_weights;

typedef struct {
    /* `count` of sixteen neighbouring positions, from the `lane`-th on, are neighbours in the result,
       too, or `apart` elements from each other, and begin `out` further on. */
    int64_t lane, count, out;
} aten_register_piece;

typedef struct {
    /* Sums of one or two registers of positions with one or two of weights, and of biases. What a step
       sees lies `offsets` bytes on from a position; weights of all registers of a step follow each
       other. Results of `outputs` channels, `out_channel` elements apart, are written where pieces
       say; those of a position are neighbours if `last`. */
    const char *image, *weights;
    const int64_t *offsets;
    int64_t steps, downs, vectors, outputs;
    const float *bias;
    int64_t bias_step;
    uint16_t *out;
    int64_t out_channel, out_position;
    int last;
    int64_t pieces[2];
    aten_register_piece piece[2][ATEN_REGISTER_SIDE];
} aten_register_block;

#ifdef ATEN_KNOWS_TILE_REGISTERS
#define TARGET                                                                                     \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512bf16,amx-tile,amx-bf16")))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* The bits of those of sixteen places that are from 0 up to `length`, the first of which is `place`. */
INLINE uint32_t aten_places_within(int64_t place, int64_t length, int64_t places)
{
    const int64_t low = place < 0 ? -place : 0, ahead = length - place;
    const int64_t high = ahead < places ? ahead : places;
    if (low >= high)
        return 0;
    return (uint32_t)((((uint64_t)1 << high) - 1) & ~(((uint64_t)1 << low) - 1));
}

/* Sixteen elements of a channel, from a position on, as lanes of 32 bits. */
INLINE __m512i aten_register_elements(const aten_register_line *work, int channel, int64_t position)
{
    const uint16_t *line = work->lines[channel];
    const int64_t place = work->places[channel] + position * work->step;
    uint32_t some[16];
    int64_t i, at;
    if (!line)
        return _mm512_setzero_si512();
    if (work->step == 1) {
        const __mmask16 within = (__mmask16)aten_places_within(place, work->length, 16);
        return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(within, line + place));
    }
    if (work->step == 2) {
        const __mmask32 within = aten_places_within(place, work->length, 32);
        return _mm512_and_si512(_mm512_maskz_loadu_epi16(within, line + place),
                                _mm512_set1_epi32(0xffff));
    }
    for (i = 0, at = place; i < 16; i++, at += work->step)
        some[i] = at >= 0 && at < work->length ? line[at] : 0;
    return _mm512_loadu_si512(some);
}

static TARGET void aten_register_copy_line(const aten_register_line *work)
{
    __m512i square[16];
    int64_t position, i;
    for (position = 0; position < work->count; position += 16) {
        const int64_t ahead = work->count - position;
        ATEN_UNROLL for (i = 0; i < 16; i++)
            square[i] = _mm512_or_si512(
                aten_register_elements(work, (int)(2 * i), position),
                _mm512_slli_epi32(aten_register_elements(work, (int)(2 * i + 1), position), 16));
        aten_turn_square(square);
        ATEN_UNROLL for (i = 0; i < 16; i++)
            if (i < ahead)
                _mm512_storeu_si512(work->to + (position + i) * 16, square[i]);
    }
}

static TARGET void aten_register_copy_run(const aten_register_run *work)
{
    const __mmask32 there = aten_places_within(0, work->channels, ATEN_REGISTER_CHANNELS);
    int64_t position, place = work->place;
    for (position = 0; position < work->count; position++, place += work->step) {
        __m512i line = _mm512_setzero_si512();
        if (place >= 0 && place < work->length)
            line = _mm512_maskz_loadu_epi16(there, work->line + place * work->apart);
        _mm512_storeu_si512(work->to + position * 16, line);
    }
}

INLINE void aten_register_turn_weights(const aten_register_weights *work)
{
    const __mmask32 there = aten_places_within(0, work->neighbours, ATEN_REGISTER_CHANNELS);
    __m512i square[16];
    int i;
    ATEN_UNROLL for (i = 0; i < ATEN_REGISTER_SIDE; i++) {
        const uint16_t *row = work->weights + i * work->row;
        square[i] = _mm512_maskz_loadu_epi16(i < work->outputs ? there : 0, row);
    }
    aten_turn_square(square);
    ATEN_UNROLL for (i = 0; i < ATEN_REGISTER_SIDE; i++)
        _mm512_storeu_si512(work->to + i * 16, square[i]);
}

/* Elements are read as the upper ones of two, but for the first of a row. */
static TARGET void aten_register_pack_weights(const aten_register_weights *work)
{
    const __mmask16 there = (__mmask16)aten_places_within(0, work->outputs, 16);
    const __m512i zero = _mm512_setzero_si512(), upper = _mm512_set1_epi32((int)0xffff0000);
    __m512i rows = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    int i;
    if (work->neighbours) {
        aten_register_turn_weights(work);
        return;
    }
    rows = _mm512_mullo_epi32(rows, _mm512_set1_epi32((int)work->row));
    for (i = 0; i < ATEN_REGISTER_SIDE; i++) {
        const int64_t first = work->first[i], second = work->second[i];
        __m512i low = zero, high = zero;
        if (first > 0)
            low = _mm512_srli_epi32(_mm512_mask_i32gather_epi32(zero, there, rows,
                                                                work->weights + first - 1, 2), 16);
        else if (first == 0)
            low = _mm512_andnot_si512(upper, _mm512_mask_i32gather_epi32(zero, there, rows,
                                                                         work->weights, 2));
        if (second > 0)
            high = _mm512_and_si512(upper, _mm512_mask_i32gather_epi32(
                                               zero, there, rows, work->weights + second - 1, 2));
        _mm512_storeu_si512(work->to + i * 16, _mm512_or_si512(low, high));
    }
}

INLINE void aten_register_sum(const int downs, const int vectors, const aten_register_block *work,
                              float *sums)
{
    const char *weights = work->weights;
    int64_t step;
    _tile_zero(0);
    if (vectors > 1)
        _tile_zero(1);
    if (downs > 1)
        _tile_zero(2);
    if (downs > 1 && vectors > 1)
        _tile_zero(3);
    for (step = 0; step < work->steps; step++, weights += vectors * ATEN_REGISTER_BYTES) {
        const char *image = work->image + work->offsets[step];
        _tile_loadd(4, image, 64);
        _tile_loadd(6, weights, 64);
        _tile_dpbf16ps(0, 4, 6);
        if (vectors > 1) {
            _tile_loadd(7, weights + ATEN_REGISTER_BYTES, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (downs > 1) {
            _tile_loadd(5, image + ATEN_REGISTER_BYTES, 64);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (downs > 1 && vectors > 1)
            _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, 64);
    if (vectors > 1)
        _tile_stored(1, sums + 256, 64);
    if (downs > 1)
        _tile_stored(2, sums + 512, 64);
    if (downs > 1 && vectors > 1)
        _tile_stored(3, sums + 768, 64);
}

/* Sums of sixteen positions, for each of sixteen channels from the `channel`-th on. */
INLINE void aten_register_write_planes(const aten_register_block *work, int down, int64_t channel,
                                       const float *sums)
{
    const int64_t ahead = work->outputs - channel, outputs = ahead < 16 ? ahead : 16;
    __m512i square[16];
    __m256i narrow[16];
    __m512 line[16];
    int64_t i, k;
    ATEN_UNROLL for (i = 0; i < 16; i++)
        square[i] = _mm512_loadu_si512(sums + i * 16);
    aten_turn_square(square);
    ATEN_UNROLL for (i = 0; i < 16; i++) {
        line[i] = _mm512_castsi512_ps(square[i]);
        if (work->bias && i < outputs)
            line[i] = _mm512_add_ps(line[i],
                                    _mm512_set1_ps(work->bias[(channel + i) * work->bias_step]));
    }
    ATEN_UNROLL for (i = 0; i < 16; i += 2) {
        const __m512i both = aten_narrow_two_brains(line[i], line[i + 1]);
        narrow[i] = _mm512_castsi512_si256(both);
        narrow[i + 1] = _mm512_extracti64x4_epi64(both, 1);
    }
    for (k = 0; k < work->pieces[down]; k++) {
        const aten_register_piece *piece = &work->piece[down][k];
        const __mmask16 lanes = (__mmask16)aten_places_within(0, piece->lane + piece->count, 16)
                                & (__mmask16)(0xffffu << piece->lane);
        uint16_t *to = work->out + channel * work->out_channel + piece->out - piece->lane;
        for (i = 0; i < outputs; i++, to += work->out_channel)
            _mm256_mask_storeu_epi16(to, lanes, narrow[i]);
    }
}

/* The same of a position after the other, whose channels are neighbours: up to 32 of them. */
INLINE void aten_register_write_runs(const aten_register_block *work, int down, const float *sums)
{
    const int64_t most = 16 * work->vectors, outputs = work->outputs < most ? work->outputs : most;
    const __mmask32 lanes = outputs < 32 ? ((__mmask32)1 << outputs) - 1 : ~(__mmask32)0;
    float some[32] = {0};
    __m512 first, second;
    int64_t i, k;
    for (i = 0; work->bias && i < outputs; i++)
        some[i] = work->bias[i * work->bias_step];
    first = _mm512_loadu_ps(some);
    second = _mm512_loadu_ps(some + 16);
    for (k = 0; k < work->pieces[down]; k++) {
        const aten_register_piece *piece = &work->piece[down][k];
        uint16_t *to = work->out + piece->out;
        for (i = piece->lane; i < piece->lane + piece->count; i++, to += work->out_position) {
            __m512 low = _mm512_loadu_ps(sums + i * 16), high = low;
            if (work->vectors > 1)
                high = _mm512_loadu_ps(sums + 256 + i * 16);
            if (work->bias) {
                low = _mm512_add_ps(low, first);
                high = _mm512_add_ps(high, second);
            }
            _mm512_mask_storeu_epi16(to, lanes, aten_narrow_two_brains(low, high));
        }
    }
}

static TARGET void aten_register_multiply(const aten_register_block *work)
{
    float sums[4 * 256] __attribute__((aligned(64)));
    int down, vector;
    if (work->downs > 1 && work->vectors > 1)
        aten_register_sum(2, 2, work, sums);
    else if (work->downs > 1)
        aten_register_sum(2, 1, work, sums);
    else if (work->vectors > 1)
        aten_register_sum(1, 2, work, sums);
    else
        aten_register_sum(1, 1, work, sums);
    for (down = 0; down < work->downs; down++) {
        if (work->last)
            aten_register_write_runs(work, down, sums + 2 * down * 256);
        for (vector = 0; !work->last && vector < work->vectors; vector++)
            if (16 * vector < work->outputs)
                aten_register_write_planes(work, down, 16 * vector,
                                           sums + (2 * down + vector) * 256);
    }
}

/* Registers of sixteen lines of 64 bytes, until they are given back. */
static TARGET void aten_register_begin(void)
{
    aten_shape_whole_tiles();
}

static TARGET void aten_register_end(void)
{
    _tile_release();
}

#undef TARGET
#undef INLINE
#else
/* Nobody calls them where the processor has no tile registers. */
static void aten_register_copy_line(const aten_register_line *work) {}
static void aten_register_copy_run(const aten_register_run *work) {}
static void aten_register_pack_weights(const aten_register_weights *work) {}
static void aten_register_multiply(const aten_register_block *work) {}
static void aten_register_begin(void) {}
static void aten_register_end(void) {}
#endif

#endif
