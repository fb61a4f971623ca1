/* What kernels of convolutions are given. Those who call them include this alone: the kernels
   themselves, in convolution_levels.h, take long to read. */

#ifndef ATEN_CONVOLUTION_STRUCTURES
#define ATEN_CONVOLUTION_STRUCTURES

#include <stdint.h>

/* The longest stretch of the depth that is summed in registers. */
#define ATEN_STRETCH 256

/* Vectors side by side in a tile, and lanes of the widest ones. */
#define ATEN_VECTORS 3
#define ATEN_MOST_LANES 16

/* Planes so many bytes apart fall on the same lines of caches, where few of them have room. */
#define ATEN_ALIAS 4096

/* Activations; the first are limits alone. */
enum {
    ATEN_CUT,
    ATEN_SIGMOID,
    ATEN_SILU,
    ATEN_HARDSWISH,
    ATEN_GELU,
    ATEN_GELU_TANH,
};

typedef struct {
    /* What becomes of finished sums: with `adds` they have added to them what lies `residual` bytes
       further on, then come limits, which may be infinite, then the activation. */
    int64_t residual;
    double low, high;
    int adds, activation;
} aten_finish;

typedef struct {
    /* Strides and steps in elements. `outputs` and `inputs` are channels of one group. A position
       p of the result sees, at tap t and along each dimension, the input at p · step + place[t];
       outside there are zeros. */
    const void *input, *weight, *bias;
    void *out;
    int64_t batch, groups, inputs, outputs, taps;
    int64_t stretch;              /* of the depth, at most ATEN_STRETCH, summed in registers */
    int64_t weight_row, bias_step;
    int64_t input_sizes[3], input_strides[3], input_batch, input_channel;
    int64_t sizes[3], step[3];
    int64_t out_batch, out_channel, out_strides[3];
    const int64_t *places[3];
    const aten_finish *finish;    /* or nothing */
} aten_windows;

typedef struct {
    /* Neighbouring positions of one line, and of one vector of the strip. */
    int64_t column, count, z, y, x;
} aten_piece;

typedef struct {
    /* Positions side by side, in pieces from left to right; rows of the panel are `width` long, a
       number of vectors. */
    int64_t columns, width;
    int pieces;
    aten_piece piece[ATEN_VECTORS * ATEN_MOST_LANES];
} aten_strip;

typedef struct {
    /* out = left @ right, plus the bias, or with `adds` plus what is there. `ahead` says that as
       many rows follow, `far` that what is read and written lies far away, and `asked` that the
       results of this tile were asked for; it is a tile's own. */
    int64_t columns, depth, width;
    const void *left, *right, *bias;
    void *out;
    int64_t left_row, out_row, bias_step;
    int adds, ahead, far, asked;
    const void *addend;           /* or nothing: a row that is added instead of what is there */
    const aten_finish *finish;    /* or nothing; residual and limits */
    const void *source;           /* or nothing: rows of whole vectors, so far apart, of which */
    int64_t source_row;           /* `right` is made meanwhile */
    const int64_t *offsets;       /* or nothing: where whole vectors lie from `right` on, for each
                                     step of the depth */
    const void *next;             /* or nothing: so many rows of a source, `source_row` apart, that */
    int64_t next_rows;            /* will be read soon, and are asked for meanwhile */
    int64_t next_each;            /* of them after each line of steps: a tile's own */
} aten_window_tile;

typedef struct {
    /* Taps in `height` lines of `taps` each, weights in order; a tap of the first line sees what
       lies offsets[tap] further on, those of others as many lines of data below. */
    const void *data, *weights, *bias;
    void *out;
    const int64_t *offsets;
    int64_t height, taps, pitch, out_line, rows, columns;
    /* Of planes as they lie, with as many taps as lines: the line that the first tap sees at the
       first position, and where the plane ends. Offsets may lie before it. */
    int64_t top, seen_rows, seen_columns;
    const aten_finish *finish;    /* or nothing; residual and limits */
} aten_grid;

typedef struct {
    /* out[row][column] = the sum of gradient[row] times what lies offsets[column] further on in the
       data, over `count` elements of which `lanes` has a bit each, plus what is there if it adds. */
    const void *gradient, *data;
    const int64_t *offsets;
    const uint16_t *lanes;
    void *out;
    int64_t gradient_row, rows, columns, count, out_row;
    int adds;
} aten_weighing;

typedef struct {
    /* A line of `positions`, `step` apart in data whose `channels` are neighbours, as those of the
       result are, whose positions lie `out_step` apart. Each sees `rows` times `columns` taps with as
       many weights for each channel. */
    const void *data, *weights, *bias;
    void *out;
    int64_t rows, columns, row_step, column_step, weight_row, weight_column;
    int64_t channels, positions, step, out_step;
} aten_channels;

typedef struct {
    /* `count` tiles of a line, from `place` in a strip and `column` in an image on: results of one
       or two `lines` of the image, which begin `out` further on in a channel. */
    int64_t place, count, column, lines, out;
} aten_tile_piece;

typedef struct {
    /* `seen` sums of products for a strip of `width` tiles: `part` apart, a row for each channel.
       Results of a tile are `spread` apart in lines of `length`, `out_line` from line to line. */
    const void *sums, *bias;
    const aten_finish *finish;      /* or nothing */
    void *out;
    int64_t width, part, bias_step, out_channel, out_line, seen, spread, length;
    int64_t pieces;
    aten_tile_piece piece[ATEN_VECTORS * ATEN_MOST_LANES];
} aten_tiles;

typedef struct {
    int lanes, rows;
    void (*pack)(const aten_windows *work, const aten_strip *strip, const void *data,
                 int64_t channels, int64_t begin, int64_t end, void *panel);
    void (*multiply)(const aten_window_tile *strip, int64_t rows);
    void (*dots)(const aten_window_tile *strip, int64_t rows);
    void (*slide)(const void *data, const int64_t *offsets, const void *weights, int64_t taps,
                  const void *bias, void *out, int64_t count);
    void (*slide_grid)(const aten_grid *grid);
    void (*slide_plane)(const aten_grid *grid, int64_t step);   /* of 1 or 2; or nothing */
    void (*spread_plane)(const aten_grid *grid);                /* by 2; or nothing */
    void (*copy_lines)(const void *source, int64_t source_line, int64_t step, int64_t low,
                       int64_t high, int64_t count, int64_t lines, void *target,
                       int64_t target_line);
    void (*zip_lines)(const void *even, const void *odd, int64_t count, void *target);
    void (*weigh)(const aten_weighing *block);
    void (*turn)(const void *source, int64_t source_row, int64_t rows, int64_t count, void *target,
                 int64_t width);
    void (*turn_lines)(const void *data, const int64_t *offsets, int64_t columns, int64_t count,
                       void *panel, int64_t width);
    void (*slide_channels)(const aten_channels *line);
    void (*finish)(const aten_finish *finish, int settles, void *out, int64_t out_row, int64_t rows,
                   int64_t count);
    /* Of float32; see convolution_transforms.h. */
    void (*see_tiles)(const void *source, const int64_t *offsets, int64_t seen, int64_t channels,
                      int64_t from_channel, int64_t vectors, void *target, int64_t to_channel,
                      int64_t to_part);
    void (*part_weights)(const void *source, int64_t taps, int64_t channels, void *target,
                         int64_t width);
    void (*spread_weights)(const void *source, int64_t seen, int64_t width, int64_t count,
                           void *target, int64_t to_part);
    void (*part_lines)(const void *source, int64_t source_line, int64_t length, int64_t first,
                       int64_t count, int64_t lines, int64_t ahead, void *even, void *odd);
    void (*copy_spread)(const void *source, int64_t step, int64_t length, int64_t first,
                        int64_t spread, int64_t count, void *target);
    int (*join_tiles)(const aten_tiles *tiles, int64_t rows);
} aten_window_kernels;

#endif
