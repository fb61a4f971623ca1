"""Operands of products in units: which rows and columns a thread multiplies, and how it packs them."""

from libc.stdint cimport int32_t, int64_t, int8_t

from aten._core.base.dtypes cimport item_size
from aten.backends.cpu.kernels.matrix.panel_strips cimport (
    aten_panel_columns_function, aten_panel_factor, aten_panel_features, aten_panel_finish,
    aten_panel_packs, aten_panel_tile, aten_panel_tiles)
from aten.backends.cpu.kernels.moving.transfer cimport Block

cdef enum:
    # The widest strip, in lanes.
    STRIP_LANES = 48
    # Rows of sums up to which the right operand is read as it lies in memory, from end to end.
    FEW_ROWS = 16
    # Bytes between the rows of a packed left operand, so that they do not push each other out.
    GAP = 64
    # Columns of a piece: its sums stay in the second cache.
    PIECE_COLUMNS = 480
    # Rows of sums for a row of complex results that are made of three products of real numbers.
    THREE = 3

cdef struct Way:
    int vector_bytes
    aten_panel_features features
    const aten_panel_tiles* tiles
    const aten_panel_packs* packs
    aten_panel_finish finish
    # What multiplies so many rows with columns as they lie, if that is faster, and what adds bytes.
    aten_panel_columns_function (*columns)(int kind, int pack, int64_t rows) noexcept nogil
    int64_t (*sum_bytes)(int vector_bytes, const int8_t* bytes, int64_t count) noexcept nogil
    int kind                # of units, and how they are packed
    int pack
    bint flips              # whether bytes of the right operand are made unsigned
    int lines               # rows of sums for a row of results; three: as many products of parts

cdef struct Piece:
    const Way* way
    int64_t rows
    int64_t columns
    int64_t depth
    Block left
    Block right
    Block addend
    Block out
    aten_panel_factor alpha
    aten_panel_factor beta
    int64_t sums_row        # lanes from one row of sums to the next
    char* sums
    char* begun             # the sums of a stretch that is not done
    char* packed_left
    char* packed_right
    char* packed_sums       # of both parts of complex numbers
    int64_t* bases          # what sums of bytes made unsigned are above those that are meant
    int32_t* below          # the same, with the other sign
    bint direct             # whether sums are the results, and lie where these do

# The rows of the left operand over so many steps: where they lie, or packed. Where complex numbers
# are multiplied by three products, sums of both parts follow a row.
cdef void take_left(const Piece* piece, int64_t begin, int64_t count,
                    aten_panel_tile* tile) noexcept nogil
# A strip of the right operand over so many steps.
cdef void pack_right(const Piece* piece, int64_t begin, int64_t count, int64_t column,
                     int64_t strip, aten_panel_tile* tile) noexcept nogil
# Strips from the column `first` to `end`, one behind the other; and the one from `column` on of
# those that were packed from the column `first` on.
cdef void pack_strips(Piece* piece, int64_t begin, int64_t count, int64_t first, int64_t end,
                      int64_t strip, aten_panel_tile* tile) noexcept nogil
cdef void take_strip(const Piece* piece, int64_t first, int64_t column, int64_t strip,
                     aten_panel_tile* tile) noexcept nogil
# Sums of both parts of a packed strip of complex numbers, where these are needed.
cdef void add_parts(const Piece* piece, const aten_panel_tile* tile) noexcept nogil


cdef inline char* at(const Block* block, int64_t place, int64_t row,
                      int64_t column) noexcept nogil:
    return block.data + (place * block.batch_stride + row * block.row_stride
                         + column * block.column_stride) * item_size(block.code)


cdef inline int64_t units_of(const Piece* piece, int64_t count) noexcept nogil:
    """Units of so many steps of the depth."""
    cdef const aten_panel_packs* packs = piece.way.packs
    return (count + packs.group - 1) // packs.group * packs.parts


cdef inline char* sums_of(const Piece* piece, const aten_panel_tile* tile) noexcept nogil:
    """Where the sums of both parts of a packed strip lie: half as many as there are parts."""
    return piece.packed_sums + (tile.right - piece.packed_right) // 2


cdef inline int64_t strip_at(const Piece* piece, int64_t column, int64_t strip) noexcept nogil:
    """Columns of the strip there: two strips of two vectors in place of one of three and one of one,
    whose few sums wait for each other."""
    cdef int64_t lanes = piece.way.tiles.lanes, ahead = piece.columns - column
    if strip == 3 * lanes and strip < ahead <= 4 * lanes:
        return 2 * lanes
    return min(strip, ahead)
