/* Products of bfloat16 by the tile registers of Intel's AMX: sixteen rows times sixteen columns over
   sixteen pairs in one instruction.

   Sums of an instruction's pairs begin at zero, those of first and of second numbers apart, and are
   added to what was there. So the depth is gone through in sixteens of pairs from its beginning on,
   whatever the rows and columns: a row has the same bits alone and among others. What was summed
   before is where sums start, and there is no addend. Included by panel_levels.h. */

#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,amx-tile,amx-bf16")))

enum { ATEN_AMX_SIDE = 16 };

typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64))) aten_amx_shapes;

/* Registers 0 to 2 for sums, 3 for the left operand, 4 to 6 for the right one. Their contents are
   lost. */
static TARGET void aten_amx_shape(int rows, int units, int columns)
{
    aten_amx_shapes shapes = {1, 0, {0}, {0}, {0}};
    int i;
    for (i = 0; i < 3; i++) {
        shapes.rows[i] = (uint8_t)rows;
        shapes.row_bytes[i] = (uint16_t)(columns * 4);
        shapes.rows[4 + i] = (uint8_t)units;
        shapes.row_bytes[4 + i] = (uint16_t)(columns * 4);
    }
    shapes.rows[3] = (uint8_t)rows;
    shapes.row_bytes[3] = (uint16_t)(units * 4);
    _tile_loadconfig(&shapes);
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
aten_amx_take(const int vectors, const float *from, int64_t step)
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
aten_amx_give(const int vectors, float *to, int64_t step)
{
    _tile_stored(0, to, step);
    if (vectors > 1)
        _tile_stored(1, to + 16, step);
    if (vectors > 2)
        _tile_stored(2, to + 32, step);
}

static inline __attribute__((always_inline)) TARGET void
aten_amx_add(const int vectors, const char *left, int64_t left_row, const char *right,
             int64_t right_step)
{
    _tile_loadd(3, left, left_row);
    _tile_loadd(4, right, right_step);
    _tile_dpbf16ps(0, 3, 4);
    if (vectors > 1) {
        _tile_loadd(5, right + 64, right_step);
        _tile_dpbf16ps(1, 3, 5);
    }
    if (vectors > 2) {
        _tile_loadd(6, right + 128, right_step);
        _tile_dpbf16ps(2, 3, 6);
    }
}

/* Up to sixteen rows of a strip, whose units follow each other. `shaped` is what registers are shaped
   for. */
static inline __attribute__((always_inline)) TARGET void
aten_amx_rows(const int vectors, const aten_panel_tile *tile, const char *left, int64_t left_row,
              int64_t first, int rows, int *shaped)
{
    float sums[ATEN_AMX_SIDE * 48] __attribute__((aligned(64)));
    const int64_t whole = tile->units / ATEN_AMX_SIDE * ATEN_AMX_SIDE, rest = tile->units - whole;
    const int64_t step = tile->out_row * 4;
    const float *start = tile->start ? (const float *)tile->start + first * tile->out_row : NULL;
    float *out = (float *)tile->out + first * tile->out_row;
    int64_t k;
    /* Without any units there are no shapes for them. */
    aten_amx_reshape(rows, rest && !whole ? (int)rest : ATEN_AMX_SIDE, shaped);
    aten_amx_take(vectors, start, step);
    for (k = 0; k < whole; k += ATEN_AMX_SIDE)
        aten_amx_add(vectors, left + 4 * k, left_row, tile->right + k * tile->right_step,
                     tile->right_step);
    if (rest) {
        if (whole) {
            aten_amx_give(vectors, sums, 192);
            aten_amx_reshape(rows, (int)rest, shaped);
            aten_amx_take(vectors, sums, 192);
        }
        aten_amx_add(vectors, left + 4 * whole, left_row, tile->right + whole * tile->right_step,
                     tile->right_step);
    }
    aten_amx_give(vectors, out, step);
}

/* All rows of a strip. Rows whose units lie side by side, sixteen rows in a `group` of so many bytes,
   are brought into runs first. */
static TARGET void aten_amx_strip(const aten_panel_tile *tile, int64_t rows, int64_t columns,
                                  int64_t group)
{
    uint32_t turned[ATEN_AMX_SIDE * ATEN_PANEL_STRETCH];
    const int vectors = (int)((columns + 15) / 16);
    int shaped = 0;
    int64_t row, k, i;
    for (row = 0; row < rows; row += ATEN_AMX_SIDE) {
        const int count = rows - row < ATEN_AMX_SIDE ? (int)(rows - row) : ATEN_AMX_SIDE;
        const char *left = tile->left + row * tile->left_row;
        int64_t left_row = tile->left_row;
        if (group) {
            left = tile->left + row / ATEN_AMX_SIDE * group;
            for (k = 0; k < tile->units; k++)
                for (i = 0; i < count; i++)
                    memcpy(turned + i * ATEN_PANEL_STRETCH + k,
                           left + k * tile->left_step + i * tile->left_row, 4);
            left = (const char *)turned;
            left_row = ATEN_PANEL_STRETCH * 4;
        }
        if (vectors == 1)
            aten_amx_rows(1, tile, left, left_row, row, count, &shaped);
        else if (vectors == 2)
            aten_amx_rows(2, tile, left, left_row, row, count, &shaped);
        else
            aten_amx_rows(3, tile, left, left_row, row, count, &shaped);
    }
    _tile_release();
}

/* A few rows times columns that lie as runs of memory: those are the left operand then. */
static TARGET void aten_amx_columns(const aten_panel_columns *work)
{
    uint32_t zipped[ATEN_AMX_SIDE * ATEN_PANEL_STRETCH];
    float sums[ATEN_AMX_SIDE * ATEN_AMX_SIDE] __attribute__((aligned(64))) = {0};
    const int64_t rows = work->rows, step = rows * 4;
    const int64_t whole = work->units / ATEN_AMX_SIDE * ATEN_AMX_SIDE, rest = work->units - whole;
    int64_t first, k, row, i, units;
    for (row = 0; row < rows; row++)
        for (k = 0; k < work->units; k++)
            memcpy(zipped + k * rows + row, work->left + row * work->left_row + 4 * k, 4);
    for (first = 0; first < work->columns; first += ATEN_AMX_SIDE) {
        const int count = work->columns - first < ATEN_AMX_SIDE ? (int)(work->columns - first)
                                                                : ATEN_AMX_SIDE;
        const char *from = work->right + first * work->right_column;
        float *out = (float *)work->out + first;
        int begun = work->adds;
        if (begun)
            for (row = 0; row < rows; row++)
                for (i = 0; i < count; i++)
                    sums[i * ATEN_AMX_SIDE + row] = out[row * work->out_row + i];
        for (k = 0; k < work->units; k += units) {
            units = k < whole ? whole : rest;
            aten_amx_shape(count, k < whole ? ATEN_AMX_SIDE : (int)rest, (int)rows);
            aten_amx_take(1, begun ? sums : NULL, 64);
            for (i = k; i < k + units; i += ATEN_AMX_SIDE)
                aten_amx_add(1, from + 4 * i, work->right_column,
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
    if (!ATEN_MAY_USE(64, "amx-tile") || !ATEN_MAY_USE(64, "amx-bf16"))
        return 0;
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

#undef TARGET
