/* Products of bfloat16 and of bytes by the tile registers of Intel's AMX: sixteen rows times
   sixteen columns over sixteen pairs, or quads of bytes, in one instruction.

   Sums of an instruction's pairs begin at zero, those of first and of second numbers apart, and are
   added to what was there. So the depth is gone through in sixteens of pairs from its beginning on,
   whatever the rows and columns: a row has the same bits alone and among others. Those of bytes are
   exact up to what 32 bits hold. What was summed before is where sums start; there is no addend.
   Included by panel_levels.h. */

#define TARGET                                                                                   \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,amx-tile,amx-bf16,amx-int8")))

enum { ATEN_AMX_SIDE = 16 };

/* Registers 0 to 2 for sums, 3 for the left operand, 4 to 6 for the right one. Their contents are
   lost. */
static TARGET void aten_amx_shape(int rows, int units, int columns)
{
    aten_tile_shapes shapes = {1, 0, {0}, {0}, {0}};
    int i;
    for (i = 0; i < 3; i++) {
        shapes.rows[i] = (uint8_t)rows;
        shapes.row_bytes[i] = (uint16_t)(columns * 4);
        shapes.rows[4 + i] = (uint8_t)units;
        shapes.row_bytes[4 + i] = (uint16_t)(columns * 4);
    }
    shapes.rows[3] = (uint8_t)rows;
    shapes.row_bytes[3] = (uint16_t)(units * 4);
    aten_shape_tiles(&shapes);
}

static inline __attribute__((always_inline)) TARGET void
aten_amx_reshape(int rows, int units, int *shaped)
{
    if (*shaped == rows * 32 + units)
        return;
    *shaped = rows * 32 + units;
    aten_amx_shape(rows, units, ATEN_AMX_SIDE);
}

static inline __attribute__((always_inline)) TARGET void
aten_amx_take(const int vectors, const uint32_t *from, int64_t step)
{
    if (!from) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        return;
    }
    _tile_loadd(0, from, step);
    if (vectors > 1)
        _tile_loadd(1, from + 16, step);
    if (vectors > 2)
        _tile_loadd(2, from + 32, step);
}

static inline __attribute__((always_inline)) TARGET void
aten_amx_give(const int vectors, uint32_t *to, int64_t step)
{
    _tile_stored(0, to, step);
    if (vectors > 1)
        _tile_stored(1, to + 16, step);
    if (vectors > 2)
        _tile_stored(2, to + 32, step);
}

#define NAME(stem) aten_amx_brains_##stem
#define DOT(sums, left, right) _tile_dpbf16ps(sums, left, right)
#define STRETCH ATEN_PANEL_STRETCH
#include "panel_amx_strips.h"

static TARGET void aten_amx_brains_rounded(const aten_panel_tile *tile,
                                           const aten_panel_rounding *rounding, int64_t rows,
                                           int64_t columns, int64_t group)
{
    aten_amx_brains_all_rows(tile, rounding, rows, columns, group);
}

/* The left bytes are signed, the right ones are not. */
#define NAME(stem) aten_amx_quads_##stem
#define DOT(sums, left, right) _tile_dpbsud(sums, left, right)
#define STRETCH ATEN_QUADS_STRETCH
#include "panel_amx_strips.h"

/* A few rows times columns that lie as runs of memory: those are the left operand then. */
static TARGET void aten_amx_columns(const aten_panel_columns *work)
{
    uint32_t zipped[ATEN_AMX_SIDE * ATEN_PANEL_STRETCH];
    uint32_t sums[ATEN_AMX_SIDE * ATEN_AMX_SIDE] __attribute__((aligned(64))) = {0};
    const int64_t rows = work->rows, step = rows * 4;
    const int64_t whole = work->units / ATEN_AMX_SIDE * ATEN_AMX_SIDE, rest = work->units - whole;
    int64_t first, k, row, i, units;
    for (row = 0; row < rows; row++)
        for (k = 0; k < work->units; k++)
            memcpy(zipped + k * rows + row, work->left + row * work->left_row + 4 * k, 4);
    ATEN_IS_READ(zipped);
    for (first = 0; first < work->columns; first += ATEN_AMX_SIDE) {
        const int count = work->columns - first < ATEN_AMX_SIDE ? (int)(work->columns - first)
                                                                : ATEN_AMX_SIDE;
        const char *from = work->right + first * work->right_column;
        uint32_t *out = (uint32_t *)work->out + first;
        int begun = work->adds;
        if (begun)
            for (row = 0; row < rows; row++)
                for (i = 0; i < count; i++)
                    sums[i * ATEN_AMX_SIDE + row] = out[row * work->out_row + i];
        for (k = 0; k < work->units; k += units) {
            units = k < whole ? whole : rest;
            aten_amx_shape(count, k < whole ? ATEN_AMX_SIDE : (int)rest, (int)rows);
            ATEN_IS_READ(sums);
            aten_amx_take(1, begun ? sums : NULL, 64);
            for (i = k; i < k + units; i += ATEN_AMX_SIDE)
                aten_amx_brains_add(1, from + 4 * i, work->right_column,
                                    (const char *)(zipped + i * rows), step);
            aten_amx_give(1, sums, 64);
            begun = 1;
        }
        for (row = 0; row < rows; row++)
            for (i = 0; i < count; i++)
                out[row * work->out_row + i] = sums[i * ATEN_AMX_SIDE + row];
    }
    _tile_release();
}

/* Whether the processor has these registers, and the kernel lets this process use them. */
static int aten_may_use_amx(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18 };
    if (!ATEN_MAY_USE(64, "amx-tile"))
        return 0;
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

#undef TARGET
