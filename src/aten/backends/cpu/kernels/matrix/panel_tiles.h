/* Tiles of products whose operands are in units: what a lane multiplies and sums in one step, which
   is one number, two of 16 bits or four of 8.

   Included once for each kind of unit and vector width, with
     UNIT, LANES              a unit's bits as an integer, and how many of them a vector holds
     SUMS                     the vector of sums
     ROWS                     of the largest tile held in registers, 4 or 8; it is 3 vectors wide
     NAME(stem)               the stem with a suffix that is this inclusion's own
     TARGET                   the attribute that allows the processor's instructions
     SPREAD(from)             a vector of the unit at an address
     ADD(sums, left, right)   the sums with the products of two vectors of units

   A result is summed over a stretch of the depth in order, in one lane, whatever tile it lies in. */

typedef UNIT NAME(units) __attribute__((vector_size(LANES * sizeof(UNIT)), aligned(sizeof(UNIT)),
                                        may_alias));
typedef SUMS NAME(sums) __attribute__((aligned(sizeof(UNIT)), may_alias));

static inline __attribute__((always_inline)) TARGET void
NAME(tile)(const int rows, const int vectors, const aten_panel_tile *tile)
{
    SUMS total[ROWS][3];
    const char *left = tile->left, *right = tile->right;
    const int64_t left_row = tile->left_row, left_step = tile->left_step;
    const int64_t right_step = tile->right_step, out_row = tile->out_row;
    const char *lower = left + 4 * left_row;
    const UNIT *start = tile->start, *addend = tile->addend;
    UNIT *out = tile->out;
    int64_t k;
    int i, j;
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            total[i][j] = (SUMS){0};
    if (tile->base)
        ATEN_UNROLL for (i = 0; i < rows; i++) {
            const SUMS first = (SUMS)SPREAD((const char *)tile->base + i * sizeof(UNIT));
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                total[i][j] = first;
        }
    if (start)
        ATEN_UNROLL for (i = 0; i < rows; i++) {
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                total[i][j] = *(const NAME(sums) *)(start + j * LANES);
            start += out_row;
        }
    for (k = 0; k < tile->units; k++) {
        SUMS line[3];
        if (rows == 1)
            /* The operand may lie where it is, and come from far. */
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                __builtin_prefetch(right + ATEN_STEPS_AHEAD * right_step
                                   + j * LANES * sizeof(UNIT));
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            line[j] = (SUMS)*(const NAME(units) *)(right + j * LANES * sizeof(UNIT));
        ATEN_UNROLL for (i = 0; i < rows; i++) {
            const SUMS factor
                = (SUMS)SPREAD(i < 4 ? left + i * left_row : lower + (i - 4) * left_row);
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                total[i][j] = ADD(total[i][j], factor, line[j]);
        }
        left += left_step;
        lower += left_step;
        right += right_step;
    }
    if (addend)
        ATEN_UNROLL for (i = 0; i < rows; i++) {
            ATEN_UNROLL for (j = 0; j < vectors; j++)
                total[i][j] += *(const NAME(sums) *)(addend + j * LANES);
            addend += out_row;
        }
    ATEN_UNROLL for (i = 0; i < rows; i++) {
        ATEN_UNROLL for (j = 0; j < vectors; j++)
            *(NAME(sums) *)(out + j * LANES) = total[i][j];
        out += out_row;
    }
}

#define TILE_OF(rows, vectors)                                                                   \
    static __attribute__((noinline)) TARGET void NAME(tile_##rows##_##vectors)(                  \
        const aten_panel_tile *tile)                                                             \
    {                                                                                            \
        NAME(tile)(rows, vectors, tile);                                                         \
    }
#define TILES_OF(rows) TILE_OF(rows, 1) TILE_OF(rows, 2) TILE_OF(rows, 3)

TILES_OF(1)
TILES_OF(2)
TILES_OF(4)
#if ROWS == 8
TILES_OF(8)
#endif

#define TILE_NAMES(rows) {NAME(tile_##rows##_1), NAME(tile_##rows##_2), NAME(tile_##rows##_3)}

static const aten_panel_tiles NAME(tiles) = {
    LANES,
    ROWS,
    sizeof(UNIT),
    {
        TILE_NAMES(1),
        TILE_NAMES(2),
        TILE_NAMES(4),
#if ROWS == 8
        TILE_NAMES(8),
#endif
    },
};

#undef TILE_OF
#undef TILES_OF
#undef TILE_NAMES
#undef UNIT
#undef LANES
#undef SUMS
#undef NAME
#undef SPREAD
#undef ADD
