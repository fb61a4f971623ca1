/* Kernels of convolutions for one element type and one vector width.

   Included once for each, with
     ELEMENT, LANES           the type, and how many of them a vector holds; INTEGER has its size
     ROWS                     of the largest tile held in registers, 4 or 8; it is 3 vectors wide
     NAME(stem)               the stem with a suffix that is this inclusion's own
     TARGET                   the attribute that allows the processor's instructions
     MASK, MAKE_MASK(low, high)   what LOAD_PART(from, mask) and STORE_PART(to, mask, vector) take
                              to touch those lanes only; others are loaded as zero
     TURN(from, k, to, to_row)   transposes a square of four elements a side, whose lines are k
                              elements behind the addresses `from`
     TURN_SQUARE, SQUARE      where there is one: the same for a larger side
     LANES_OF(bits)           the mask of lanes whose bits are set
     MINIMUM(limit, value), MAXIMUM(limit, value)   NaN where the value is
     CURVED                   where there are activations other than limits, and transforms of tiles
     SUM_OF(vector)           where there is one: the sum of its lanes, in the order of `sum`
     ZIPPED(half, even, odd)  where there is one: a half of two vectors' lanes by turns, and then
     NOT_FINITE(mask, value)  those of the masked lanes that are infinite or NaN
     SCALED(value, power)     where there is one: value times two to the power, a whole number
     PERMUTED(order, low, high)   where there is one: the lanes of two vectors that numbers name
     PAIRED                   where an element stands for two of bfloat16 as it is multiplied, with
                              ADD_PRODUCT(sum, factor, right) and ADD_PRODUCTS(sum, left, right);
                              then there are products alone, and what makes pairs
     LOAD_EVEN(from, mask), EVEN_MASK(low, high)   where there is one: those lanes of elements that
                              lie two apart
     LOAD_FOURTH(from, mask)  where there is one: the same for four apart
     LOADED_ONCE(from), KEPT(vector)   where planes are seen as they lie: an element in all lanes,
                              straight from memory, and a vector that is in a register now; then
     SHIFTED(low, high, n)    there are lanes of two vectors from the n-th on, n up to 3 or from
                              LANES - 3 on, and
     PARTED(odd, low, high)   the even or the odd ones

   A result is summed over channels and taps in order, in one lane, or, at the last positions of an
   image, in sixteen: neither how a convolution is cut nor what lies beside a result changes its
   bits. */

typedef ELEMENT NAME(vector) __attribute__((vector_size(LANES * sizeof(ELEMENT))));
typedef ELEMENT NAME(unaligned) __attribute__((vector_size(LANES * sizeof(ELEMENT)),
                                               aligned(sizeof(ELEMENT)), may_alias));
typedef INTEGER NAME(bits) __attribute__((vector_size(LANES * sizeof(ELEMENT))));

static inline __attribute__((always_inline)) TARGET NAME(vector) NAME(load)(const ELEMENT *from)
{
    return (NAME(vector))*(const NAME(unaligned) *)from;
}

#include "convolution_epilogues.h"
#include "convolution_tiles.h"

#ifdef PAIRED
#include "convolution_pairs.h"
#else
#include "convolution_packs.h"
#include "convolution_slides.h"

/* What `rows` lines of a gradient and `columns` lines of what taps see sum up to. Lanes that are no
   positions do not count. */
static inline __attribute__((always_inline)) TARGET void
NAME(weigh_block)(const int rows, const int columns, const aten_weighing *block, int64_t row,
                  int64_t column)
{
    const ELEMENT *gradient = (const ELEMENT *)block->gradient + row * block->gradient_row;
    const ELEMENT *data = block->data;
    const int64_t *offsets = block->offsets + column;
    const uint16_t *lanes = block->lanes;
    ELEMENT *out = (ELEMENT *)block->out + row * block->out_row + column;
    NAME(vector) total[4][6], line[4];
    int64_t k;
    int i, j;
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < columns; j++)
            total[i][j] = (NAME(vector)){0};
    for (k = 0; k < block->count; k += LANES) {
        const MASK mask = LANES_OF(lanes[k / 16] >> (k % 16));
        ATEN_UNROLL for (i = 0; i < rows; i++)
            line[i] = (NAME(vector))LOAD_PART(gradient + i * block->gradient_row + k, mask);
        ATEN_UNROLL for (j = 0; j < columns; j++) {
            const NAME(vector) seen = (NAME(vector))LOAD_PART(data + offsets[j] + k, mask);
            ATEN_UNROLL for (i = 0; i < rows; i++)
                total[i][j] += line[i] * seen;
        }
    }
    ATEN_UNROLL for (i = 0; i < rows; i++)
        ATEN_UNROLL for (j = 0; j < columns; j++) {
            const ELEMENT sum = NAME(sum)(total[i][j]);
            ELEMENT *to = out + i * block->out_row + j;
            *to = block->adds ? *to + sum : sum;
        }
}

#define WEIGH_OF(rows, columns)                                                                  \
    static __attribute__((noinline)) TARGET void NAME(weigh_##rows##_##columns)(                 \
        const aten_weighing *block, int64_t row, int64_t column)                                 \
    {                                                                                            \
        NAME(weigh_block)(rows, columns, block, row, column);                                    \
    }
#if ROWS == 8
#define TOGETHER 6
WEIGH_OF(4, 6) WEIGH_OF(1, 6)
#define WEIGH_FOUR NAME(weigh_4_6)
#define WEIGH_ONE NAME(weigh_1_6)
#else
#define TOGETHER 2
WEIGH_OF(4, 2) WEIGH_OF(1, 2)
#define WEIGH_FOUR NAME(weigh_4_2)
#define WEIGH_ONE NAME(weigh_1_2)
#endif
WEIGH_OF(4, 1) WEIGH_OF(1, 1)

/* Every line of the gradient with every line of what taps see. */
static TARGET void NAME(weigh)(const aten_weighing *block)
{
    int64_t row = 0, column;
    for (; row + 4 <= block->rows; row += 4) {
        for (column = 0; column + TOGETHER <= block->columns; column += TOGETHER)
            WEIGH_FOUR(block, row, column);
        for (; column < block->columns; column++)
            NAME(weigh_4_1)(block, row, column);
    }
    for (; row < block->rows; row++) {
        for (column = 0; column + TOGETHER <= block->columns; column += TOGETHER)
            WEIGH_ONE(block, row, column);
        for (; column < block->columns; column++)
            NAME(weigh_1_1)(block, row, column);
    }
}

/* `rows` rows of `count` elements to columns of a panel whose rows are `width` long. */
static TARGET void NAME(turn)(const void *source, int64_t source_row, int64_t rows, int64_t count,
                              void *target, int64_t width)
{
    const ELEMENT *from = source, *line[4];
    ELEMENT *to = target;
    int64_t row = 0, k, i;
    for (; row + 4 <= rows; row += 4) {
        /* Short rows are soon read, and come from far. */
        if (source_row <= ATEN_LINE)
            for (k = 0; k < 4 * source_row; k += ATEN_LINE)
                __builtin_prefetch(from + (row + 4 * ATEN_LINE) * source_row + k);
        for (i = 0; i < 4; i++)
            line[i] = from + (row + i) * source_row;
        for (k = 0; k + 4 <= count; k += 4)
            TURN(line, k, to + k * width + row, width);
        for (; k < count; k++)
            for (i = row; i < row + 4; i++)
                to[k * width + i] = from[i * source_row + k];
    }
    for (; row < rows; row++)
        for (k = 0; k < count; k++)
            to[k * width + row] = from[row * source_row + k];
}

#ifndef SQUARE
#define SQUARE 4
#define TURN_SQUARE TURN
#endif

/* `count` elements of each of `columns` lines of data as columns of a panel, and whatever follows
   as far as squares reach. */
static TARGET void NAME(turn_lines)(const void *data, const int64_t *offsets, int64_t columns,
                                    int64_t count, void *panel, int64_t width)
{
    const ELEMENT *line[SQUARE];
    int64_t column, k;
    int i;
    for (column = 0; column < columns; column += SQUARE) {
        for (i = 0; i < SQUARE; i++)
            line[i] = (const ELEMENT *)data + offsets[column + i < columns ? column + i : column];
        for (k = 0; k < count; k += SQUARE)
            TURN_SQUARE(line, k, (ELEMENT *)panel + k * width + column, width);
    }
}

#if defined(LOADED_ONCE) && defined(ZIPPED)
#define PLANES NAME(slide_plane), NAME(spread_plane)
#elif defined(LOADED_ONCE)
#define PLANES NAME(slide_plane), NULL
#else
#define PLANES NULL, NULL
#endif

#ifdef CURVED
#include "convolution_transforms.h"
#define TRANSFORMS                                                                               \
    NAME(see_tiles), NAME(part_weights), NAME(spread_weights), NAME(part_lines),          \
    NAME(copy_spread), NAME(join_tiles)
#else
#define TRANSFORMS NULL, NULL, NULL, NULL, NULL, NULL
#endif

static const aten_window_kernels NAME(kernels) = {
    LANES, ROWS, NAME(pack), NAME(multiply), NAME(dots), NAME(slide), NAME(slide_grid),
    PLANES,    NAME(copy_lines), NAME(zip_lines), NAME(weigh), NAME(turn), NAME(turn_lines),
    NAME(slide_channels), NAME(finish), TRANSFORMS,
};

#endif

#undef TRANSFORMS
#undef PLANES
#undef LOADED_ONCE
#undef SHIFTED
#undef PARTED
#undef KEPT
#undef ZIPPED
#undef NOT_FINITE
#undef SCALED
#undef PERMUTED
#undef WEIGH_OF
#undef WEIGH_FOUR
#undef WEIGH_ONE
#undef TOGETHER
#undef GRID_OF
#undef SLIDE_OF
#undef TILE_OF
#undef GLIDE_OF
#undef TILES_OF
#undef TILE_NAMES
#undef ELEMENT
#undef INTEGER
#undef LANES
#undef ROWS
#undef NAME
#undef MASK
#undef MINIMUM
#undef SUM_OF
#undef MAXIMUM
#undef CURVED
#undef TURN
#undef TURN_SQUARE
#undef SQUARE
#undef PAIRED
#undef ADD_PRODUCT
#undef ADD_PRODUCTS
#undef LANES_OF
#undef MAKE_MASK
#undef LOAD_PART
#undef STORE_PART
#undef LOAD_EVEN
#undef LOAD_FOURTH
#undef EVEN_MASK
