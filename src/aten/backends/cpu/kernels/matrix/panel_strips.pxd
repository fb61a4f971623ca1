"""Strips of products in units: what they are made of, and how they are packed and multiplied."""

from libc.stdint cimport int64_t

cdef extern from "panel_structures.h" nogil:
    ctypedef struct aten_panel_tile:
        int64_t units
        const char* left
        const char* right
        int64_t left_row, left_step, right_step
        const void* start
        const void* base
        const void* addend
        void* out
        int64_t out_row
    ctypedef void (*aten_panel_tile_function)(const aten_panel_tile*) noexcept nogil
    ctypedef void (*aten_panel_strip_function)(const aten_panel_tile*, int64_t rows,
                                               int64_t columns, int64_t group) noexcept nogil
    ctypedef struct aten_panel_lines:
        int64_t rows, steps, columns
        const char* left
        const char* right
        int64_t left_row, right_step
        float* out
        int64_t out_row
        bint begins
    ctypedef void (*aten_panel_lines_function)(const aten_panel_lines*) noexcept nogil
    ctypedef struct aten_panel_rounding:
        float alpha, beta
        const char* addend
        char* out
        int64_t addend_step, out_step
        bint turned
    ctypedef void (*aten_panel_rounded_function)(
        const aten_panel_tile*, const aten_panel_rounding*, int64_t rows, int64_t columns,
        int64_t group) noexcept nogil
    ctypedef struct aten_panel_tiles:
        int lanes, rows, unit
        aten_panel_tile_function tiles[4][3]
        aten_panel_strip_function strip
        aten_panel_lines_function lines_of_few
        aten_panel_rounded_function rounded
    ctypedef struct aten_panel_interleaved:
        int64_t rows, columns, depth
        const void* left
        const void* right
        int64_t left_row, left_step, right_row
        void* out
        int64_t out_row
    ctypedef struct aten_panel_parts:
        void (*add)(const void* pairs, int64_t steps, int64_t width, void* target) noexcept nogil
        bint (*join)(void* sums, int64_t row, int64_t count) noexcept nogil
        void (*stream)(const aten_panel_tile* tile, int64_t rows, int64_t columns, void* totals,
                       bint goes_on) noexcept nogil
        void (*interleaved)(const aten_panel_interleaved* work) noexcept nogil
    ctypedef struct aten_panel_packs:
        void (*run)(const void* source, int64_t step, int64_t count, void* target) noexcept nogil
        void (*zip)(const void* source, int64_t step, int64_t count, int64_t columns,
                    int64_t width, void* target) noexcept nogil
        void (*turn)(const void* source, int64_t row, int64_t units, int64_t columns,
                     int64_t width, int64_t ahead, void* target) noexcept nogil
        void (*turn_elements)(const void* source, int64_t row, int64_t units, int64_t columns,
                              int64_t width, int64_t ahead, void* target) noexcept nogil
        const aten_panel_parts* complex_products
        int size, group, parts, as_is
    ctypedef struct aten_panel_columns:
        int64_t units, columns
        const char* left
        const char* right
        int64_t left_row, right_column, ahead
        void* out
        int64_t out_row, rows
        bint adds
    ctypedef void (*aten_panel_columns_function)(const aten_panel_columns*) noexcept nogil
    ctypedef struct aten_panel_features:
        int byte_sums, brain_sums, byte_permutes, brain_tiles, byte_tiles
    ctypedef struct aten_panel_factor:
        double real, imaginary
        int64_t whole
    ctypedef struct aten_panel_row:
        const void* sums
        const void* more
        const void* addend
        void* out
        int64_t count, addend_step, out_step, base
        aten_panel_factor alpha, beta
    ctypedef void (*aten_panel_finish)(const aten_panel_row*) noexcept nogil
    int ATEN_FLOATS, ATEN_DOUBLES, ATEN_INTS, ATEN_LONGS, ATEN_SHORT_PAIRS, ATEN_BYTE_QUADS
    int ATEN_BRAIN_PAIRS
    int ATEN_PACK_BYTES, ATEN_PACK_SIGNED_BYTES, ATEN_PACK_UNSIGNED_BYTES, ATEN_PACK_SHORTS
    int ATEN_PACK_HALVES, ATEN_PACK_BRAINS, ATEN_PACK_SINGLES, ATEN_PACK_DOUBLES
    int ATEN_PACK_COMPLEX_SINGLES, ATEN_PACK_COMPLEX_DOUBLES
    int ATEN_FINISH_BYTES, ATEN_FINISH_SHORTS, ATEN_FINISH_INTS, ATEN_FINISH_LONGS
    int ATEN_FINISH_HALVES, ATEN_FINISH_BRAINS, ATEN_FINISH_COMPLEX_SINGLES
    int ATEN_FINISH_COMPLEX_DOUBLES
    enum:
        STRETCH "ATEN_PANEL_STRETCH"
        # For four bytes a unit: their sums are exact, however they are cut.
        STRETCH_OF_QUADS "ATEN_QUADS_STRETCH"

cdef enum:
    # Rows of a left operand that lies by columns, packed together.
    LEFT_LANES = 16

# All rows of one strip. Rows of the left operand that are packed together follow each other in
# groups of `group` bytes, if that is not 0. What `tile` points to is as before when it returns.
cdef void run_strip(const aten_panel_tiles* tiles, aten_panel_tile* tile, int64_t rows,
                    int64_t columns, int64_t group) noexcept nogil
# `columns` columns of `count` steps, `column_step` elements apart, as a strip of units. The next
# steps of the same columns follow if the depth `goes_on`, else the next columns.
cdef void pack_columns(const aten_panel_packs* packs, const char* source, int64_t column_step,
                       int unit, int64_t count, int64_t columns, int64_t width,
                       bint goes_on, char* target) noexcept nogil
# From complex numbers, of parts of `unit` bytes, the rows that give the real parts of a product, and
# the imaginary.
cdef void turn_around(int unit, void* first, void* second, int64_t count) noexcept nogil
