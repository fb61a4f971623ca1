# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Operands of products in units: where they lie, or packed into strips and rows.

Rows of the left operand are taken where they lie if they are units already and near each other.
"""

from libc.stdint cimport int64_t, uint32_t

from aten.backends.cpu.kernels.matrix.panel_strips cimport (
    ATEN_PACK_BYTES, LEFT_LANES, aten_panel_features, aten_panel_packs, aten_panel_tile,
    pack_columns, turn_around)
from aten.backends.cpu.kernels.moving.transfer cimport Block

cdef extern from "panel_levels.h" nogil:
    bint aten_zip_bytes(int vector_bytes, aten_panel_features features, const void* source,
                        int64_t step, int64_t count, int64_t columns, int64_t width, void* target,
                        uint32_t by)
    void aten_flip_units(int vector_bytes, uint32_t* units, int64_t count, uint32_t by)

cdef enum:
    # Bytes between rows of the left operand from which they push each other out where they lie.
    FAR_ROWS = 2048
    # Rows of the right operand that are packed from end to end before the next ones.
    TOGETHER = 16


cdef void take_left(const Piece* piece, int64_t begin, int64_t count,
                     aten_panel_tile* tile) noexcept nogil:
    """The rows of the left operand over so many steps: where they lie, or packed."""
    cdef const Block* left = &piece.left
    cdef const aten_panel_packs* packs = piece.way.packs
    cdef int64_t unit = piece.way.tiles.unit, row, group, size = packs.size
    cdef bint by_steps = left.column_stride == 1 or count == 1
    cdef char* target = piece.packed_left
    tile.left_step = unit
    if (by_steps and packs.as_is and packs.parts == 1 and count % packs.group == 0
            and (left.row_stride * size < FAR_ROWS or piece.columns <= 2 * STRIP_LANES
                 or piece.rows <= FEW_ROWS)):
        tile.left = at(left, 0, 0, begin)
        tile.left_row = left.row_stride * size
        return
    tile.left = target
    if not by_steps and left.row_stride == 1 and packs.parts == 1 and piece.rows > 2:
        tile.left_row = unit
        tile.left_step = LEFT_LANES * unit
        for group in range((piece.rows + LEFT_LANES - 1) // LEFT_LANES):
            row = group * LEFT_LANES
            packs.zip(at(left, 0, row, begin), left.column_stride, count,
                      min(<int64_t>LEFT_LANES, piece.rows - row), LEFT_LANES, target)
            target += tile.units * tile.left_step
        return
    tile.left_row = tile.units * unit + GAP
    if piece.way.lines == THREE:
        tile.left_row += count * unit
    for row in range(piece.rows):
        packs.run(at(left, 0, row, begin), left.column_stride if count > 1 else 1, count, target)
        if piece.way.lines == THREE:
            packs.complex_products.add(target, count, 1, target + tile.units * unit)
            target += tile.left_row
            continue
        if packs.parts == 2:
            turn_around(<int>unit, target, target + tile.left_row, count)
        target += tile.left_row * packs.parts


cdef void pack_right(const Piece* piece, int64_t begin, int64_t count, int64_t column,
                      int64_t strip, aten_panel_tile* tile) noexcept nogil:
    """A strip of the right operand over so many steps."""
    cdef const Block* right = &piece.right
    cdef const aten_panel_packs* packs = piece.way.packs
    cdef int64_t lanes = piece.way.tiles.lanes, unit = piece.way.tiles.unit
    cdef int64_t columns = min(strip, piece.columns - column)
    cdef int64_t width = (columns + lanes - 1) // lanes * lanes
    cdef char* source = at(right, 0, begin, column)
    cdef uint32_t flipped = 0x80808080U if piece.way.flips else 0
    tile.right = piece.packed_right
    tile.right_step = width * unit
    if (piece.way.pack == ATEN_PACK_BYTES and right.column_stride == 1
            and aten_zip_bytes(piece.way.vector_bytes, piece.way.features, source, right.row_stride, count,
                               columns, width, piece.packed_right, flipped)):
        return
    if right.column_stride == 1 or piece.columns == 1:
        packs.zip(source, right.row_stride, count, columns, width, piece.packed_right)
    else:
        pack_columns(packs, source, right.column_stride, <int>unit, count, columns, width,
                     count < piece.depth, piece.packed_right)
    if piece.way.flips:
        aten_flip_units(piece.way.vector_bytes, <uint32_t*>piece.packed_right,
                        tile.units * width, 0x80808080U)


cdef void take_strip(const Piece* piece, int64_t first, int64_t column, int64_t strip,
                             aten_panel_tile* tile) noexcept nogil:
    """The strip from `column` on of those that were packed from the column `first` on."""
    cdef int64_t lanes = piece.way.tiles.lanes, unit = piece.way.tiles.unit
    cdef int64_t width = (strip_at(piece, column, strip) + lanes - 1) // lanes * lanes
    tile.right = piece.packed_right + (column - first) * tile.units * unit
    tile.right_step = width * unit


cdef void pack_strips(Piece* piece, int64_t begin, int64_t count, int64_t first, int64_t end,
                      int64_t strip, aten_panel_tile* tile) noexcept nogil:
    """Strips of the right operand over so many steps, one behind the other.

    Rows far apart share few places of the caches: some of them are read from end to end before the
    next ones.
    """
    cdef const Block* right = &piece.right
    cdef const aten_panel_packs* packs = piece.way.packs
    cdef int64_t unit = piece.way.tiles.unit, column, row = 0, rows, width
    cdef char* source
    cdef char* target
    cdef int64_t together = max(1, TOGETHER // packs.group) * packs.group
    cdef char* packed = piece.packed_right
    cdef uint32_t flipped = 0x80808080U if piece.way.flips else 0
    cdef bint are_made = piece.way.pack == ATEN_PACK_BYTES
    if right.column_stride != 1 or end - first <= strip:
        column = first
        while column < end:
            piece.packed_right = packed + (column - first) * tile.units * unit
            width = strip_at(piece, column, strip)
            pack_right(piece, begin, count, column, width, tile)
            column += width
        piece.packed_right = packed
        return
    while row < count:
        rows = min(together, count - row)
        column = first
        while column < end:
            take_strip(piece, first, column, strip, tile)
            source = at(right, 0, begin + row, column)
            target = <char*>tile.right + units_of(piece, row) * tile.right_step
            width = strip_at(piece, column, strip)
            if are_made:
                # The last rows may be no whole units: then all of them are made in the other way.
                are_made = count % packs.group == 0 and aten_zip_bytes(
                    piece.way.vector_bytes, piece.way.features, source, right.row_stride, rows, width,
                    tile.right_step // unit, target, flipped)
            if not are_made:
                packs.zip(source, right.row_stride, rows, width, tile.right_step // unit, target)
            column += width
        row += rows
    if piece.way.flips and not are_made:
        rows = (<char*>tile.right - packed) // unit + tile.units * tile.right_step // unit
        aten_flip_units(piece.way.vector_bytes, <uint32_t*>packed, rows, 0x80808080U)


cdef void add_parts(const Piece* piece, const aten_panel_tile* tile) noexcept nogil:
    if piece.way.lines == THREE:
        piece.way.packs.complex_products.add(tile.right, tile.units // 2,
                                             tile.right_step // piece.way.tiles.unit,
                                             sums_of(piece, tile))
