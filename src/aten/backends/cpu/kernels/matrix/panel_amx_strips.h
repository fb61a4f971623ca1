/* Strips of products by tile registers, of one type. Part of panel_amx.h, whose functions it calls.

   Included with
     NAME(stem)               the stem with a prefix that is this inclusion's own
     DOT(sums, left, right)   the instruction, of the numbers of three registers
     STRETCH                  the most units of a stretch of the depth */

static inline __attribute__((always_inline)) TARGET void
NAME(add)(const int vectors, const char *left, int64_t left_row, const char *right,
          int64_t right_step)
{
    _tile_loadd(3, left, left_row);
    _tile_loadd(4, right, right_step);
    DOT(0, 3, 4);
    if (vectors > 1) {
        _tile_loadd(5, right + 64, right_step);
        DOT(1, 3, 5);
    }
    if (vectors > 2) {
        _tile_loadd(6, right + 128, right_step);
        DOT(2, 3, 6);
    }
}

/* Up to sixteen rows of a strip, whose units follow each other. `shaped` is what registers are
   shaped for. Sums are stored, or rounded if it is said where to. */
static inline __attribute__((always_inline)) TARGET void
NAME(rows)(const int vectors, const aten_panel_tile *tile, const aten_panel_rounding *rounding,
           int64_t columns, const char *left, int64_t left_row, int64_t first, int rows, int *shaped)
{
    uint32_t sums[ATEN_AMX_SIDE * 48] __attribute__((aligned(64)));
    const int64_t whole = tile->units / ATEN_AMX_SIDE * ATEN_AMX_SIDE, rest = tile->units - whole;
    const int64_t step = tile->out_row * 4;
    const uint32_t *begun = tile->start;
    const uint32_t *start = begun ? begun + first * tile->out_row : NULL;
    const uint32_t *base = tile->base ? (const uint32_t *)tile->base + first : NULL;
    uint32_t *out = (uint32_t *)tile->out + first * tile->out_row;
    int64_t k;
    int row, i;
    /* Without any units there are no shapes for them. */
    aten_amx_reshape(rows, rest && !whole ? (int)rest : ATEN_AMX_SIDE, shaped);
    if (base && !start) {
        for (row = 0; row < rows; row++)
            for (i = 0; i < 16 * vectors; i++)
                sums[row * 48 + i] = base[row];
        ATEN_IS_READ(sums);
        aten_amx_take(vectors, sums, 192);
    } else
        aten_amx_take(vectors, start, step);
    for (k = 0; k < whole; k += ATEN_AMX_SIDE)
        NAME(add)(vectors, left + 4 * k, left_row, tile->right + k * tile->right_step,
                  tile->right_step);
    if (rest) {
        if (whole) {
            aten_amx_give(vectors, sums, 192);
            aten_amx_reshape(rows, (int)rest, shaped);
            aten_amx_take(vectors, sums, 192);
        }
        NAME(add)(vectors, left + 4 * whole, left_row, tile->right + whole * tile->right_step,
                  tile->right_step);
    }
    if (!rounding) {
        aten_amx_give(vectors, out, step);
        return;
    }
    aten_amx_give(vectors, sums, 192);
    {
        aten_panel_rounding from = *rounding;
        if (rounding->addend)
            from.addend += first * (rounding->turned ? 2 : rounding->addend_step);
        from.out += first * (rounding->turned ? 2 : rounding->out_step);
        aten_round_brain_rows(&from, (const float *)sums, 48, rows, columns);
    }
}

/* All rows of a strip. Rows whose units lie side by side, sixteen rows in a `group` of so many
   bytes, are brought into runs first. */
static inline __attribute__((always_inline)) TARGET void
NAME(all_rows)(const aten_panel_tile *tile, const aten_panel_rounding *rounding, int64_t rows,
               int64_t columns, int64_t group)
{
    uint32_t turned[ATEN_AMX_SIDE * STRETCH];
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
                    memcpy(turned + i * STRETCH + k,
                           left + k * tile->left_step + i * tile->left_row, 4);
            ATEN_IS_READ(turned);
            left = (const char *)turned;
            left_row = STRETCH * 4;
        }
        if (vectors == 1)
            NAME(rows)(1, tile, rounding, columns, left, left_row, row, count, &shaped);
        else if (vectors == 2)
            NAME(rows)(2, tile, rounding, columns, left, left_row, row, count, &shaped);
        else
            NAME(rows)(3, tile, rounding, columns, left, left_row, row, count, &shaped);
    }
    _tile_release();
}

static TARGET void NAME(strip)(const aten_panel_tile *tile, int64_t rows, int64_t columns,
                               int64_t group)
{
    NAME(all_rows)(tile, NULL, rows, columns, group);
}

#undef NAME
#undef DOT
#undef STRETCH
