/* What products in units are made of. Those who call their kernels include this alone: the kernels
   themselves, in panel_levels.h, take long to read. */

#ifndef ATEN_PANEL_STRUCTURES
#define ATEN_PANEL_STRUCTURES

#include <stdint.h>

/* Kinds of units: what their lanes multiply. */
enum {
    ATEN_FLOATS,
    ATEN_DOUBLES,
    ATEN_INTS,
    ATEN_LONGS,
    ATEN_SHORT_PAIRS,
    ATEN_BYTE_QUADS,    /* the right ones unsigned */
    ATEN_BRAIN_PAIRS,
    ATEN_UNIT_KINDS
};

/* How elements are packed into units. */
enum {
    ATEN_PACK_BYTES,
    ATEN_PACK_SIGNED_BYTES,
    ATEN_PACK_UNSIGNED_BYTES,
    ATEN_PACK_SHORTS,
    ATEN_PACK_HALVES,
    ATEN_PACK_BRAINS,
    ATEN_PACK_SINGLES,
    ATEN_PACK_DOUBLES,
    ATEN_PACK_COMPLEX_SINGLES,
    ATEN_PACK_COMPLEX_DOUBLES
};

/* How a row of sums becomes one of results. */
enum {
    ATEN_FINISH_BYTES,
    ATEN_FINISH_SHORTS,
    ATEN_FINISH_INTS,
    ATEN_FINISH_LONGS,
    ATEN_FINISH_HALVES,
    ATEN_FINISH_BRAINS,
    ATEN_FINISH_COMPLEX_SINGLES,
    ATEN_FINISH_COMPLEX_DOUBLES
};

/* Units of a stretch of the depth, those of quads of bytes, and the steps that these are of complex
   numbers. */
enum {
    ATEN_PANEL_STRETCH = 128,
    ATEN_QUADS_STRETCH = 256,
    ATEN_INTERLEAVED_STEPS = ATEN_PANEL_STRETCH / 2
};

typedef struct {
    /* Sums over `units` steps: they start at `start`, at `base`, which is a number for each row, or
       at zero, and get `addend` on top, if there is one. `start` and `addend` lie as `out` does,
       whose rows are `out_row` lanes apart. Other steps in bytes. */
    int64_t units;
    const char *left, *right;
    int64_t left_row, left_step, right_step;
    const void *start, *base, *addend;
    void *out;
    int64_t out_row;
} aten_panel_tile;

typedef void (*aten_panel_tile_function)(const aten_panel_tile *);

typedef struct {
    /* Sums over `units` steps of up to four rows and some columns, which lie as runs `right_column`
       bytes apart, as units or what becomes such; those that are there get more if `adds` says so, and
       there is room for them up to a whole vector. Rows of the left operand are `left_row` bytes apart,
       those of sums `out_row` lanes. What lies so many bytes `ahead` is fetched meanwhile. */
    int64_t units, columns;
    const char *left, *right;
    int64_t left_row, right_column, ahead;
    void *out;
    int64_t out_row, rows;
    int adds;
} aten_panel_columns;

typedef void (*aten_panel_columns_function)(const aten_panel_columns *);

/* Steps of the depth that a few rows take of lines as they lie at a time. */
enum { ATEN_LINES_TOGETHER = 32 };

typedef struct {
    /* Sums of up to four rows, whose elements are runs `left_row` bytes apart, over up to
       ATEN_LINES_TOGETHER `steps`, with as many lines of `columns` elements `right_step` bytes apart;
       added to what is there unless `begins`. */
    int64_t rows, steps, columns;
    const char *left, *right;
    int64_t left_row, right_step;
    float *out;
    int64_t out_row;
    int begins;
} aten_panel_lines;

typedef void (*aten_panel_lines_function)(const aten_panel_lines *);

/* All rows of a tile's columns at once; those of a group lie side by side, if its bytes are not 0. */
typedef void (*aten_panel_strip_function)(const aten_panel_tile *, int64_t rows, int64_t columns,
                                          int64_t group);

typedef struct {
    /* Where alpha * sums + beta * addend go, rounded to bfloat16: columns side by side and rows so many
       bytes apart, or if `turned` the other way round. Without an addend it is NULL. */
    float alpha, beta;
    const char *addend;
    char *out;
    int64_t addend_step, out_step;
    int turned;
} aten_panel_rounding;

/* A strip whose sums are not stored, but what they are rounded to. */
typedef void (*aten_panel_rounded_function)(const aten_panel_tile *, const aten_panel_rounding *,
                                            int64_t rows, int64_t columns, int64_t group);

typedef struct {
    int lanes, rows, unit;
    aten_panel_tile_function tiles[4][3];
    aten_panel_strip_function strip;    /* or NULL: by tiles */
    aten_panel_lines_function lines_of_few; /* or NULL: the right operand is packed for them, too */
    aten_panel_rounded_function rounded;    /* or NULL: sums are stored */
} aten_panel_tiles;

/* `row` and `ahead` are in what is read: units or elements. */
typedef void (*aten_panel_turn)(const void *source, int64_t row, int64_t units, int64_t columns,
                                int64_t width, int64_t ahead, void *target);

typedef struct {
    /* A product of matrices of complex numbers. Rows of the right one and of results are runs; all
       steps are in parts of numbers. */
    int64_t rows, columns, depth;
    const void *left, *right;
    int64_t left_row, left_step, right_row;
    void *out;
    int64_t out_row;
} aten_panel_interleaved;

/* Products of complex numbers: what three of real ones need, and that of operands as they lie. */
typedef struct {
    void (*add)(const void *pairs, int64_t steps, int64_t width, void *target);
    int (*join)(void *sums, int64_t row, int64_t count);
    void (*stream)(const aten_panel_tile *tile, int64_t rows, int64_t columns, void *totals,
                   int goes_on);
    void (*interleaved)(const aten_panel_interleaved *);
} aten_panel_parts;

typedef struct {
    void (*run)(const void *source, int64_t step, int64_t count, void *target);
    void (*zip)(const void *source, int64_t step, int64_t count, int64_t columns, int64_t width,
                void *target);
    aten_panel_turn turn, turn_elements;    /* of units, and of elements as they lie, or NULL */
    const aten_panel_parts *complex_products;   /* or NULL: of other numbers */
    int size, group, parts, as_is;  /* bytes of an element, elements a unit, units an element, and
                                       whether a run of elements is one of units */
} aten_panel_packs;

typedef struct {
    double real, imaginary;
    int64_t whole;
} aten_panel_factor;

typedef struct {
    /* `count` results of a row: steps in elements. `more` are the sums of imaginary parts. */
    const void *sums, *more, *addend;
    void *out;
    int64_t count, addend_step, out_step, base;
    aten_panel_factor alpha, beta;
} aten_panel_row;

typedef void (*aten_panel_finish)(const aten_panel_row *);

/* What the processor has besides vectors of 64 bytes. */
typedef struct {
    int byte_sums, brain_sums, byte_permutes, brain_tiles, byte_tiles;
} aten_panel_features;

#endif
