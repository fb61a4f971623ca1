"""Attention in blocks of rows and chunks of keys: what the backward kernels need of it."""

from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.matrix.attention_operands cimport Attention, Block, Heads
from aten.backends.cpu.kernels.matrix.panel_strips cimport aten_panel_packs

# Masked scores of the block's rows with so many keys of the chunk at `begin`.
cdef void score(const Attention* all, Block* block, int64_t begin, int64_t seen,
                float* scores) noexcept nogil
# Rows of keys or values, a strip of the chunk at `begin`, as columns of units `step` bytes apart. Where
# they are kept, `panel` is that of the head, of which the first `packed` are there.
cdef const char* pack_rows(const Attention* all, const Heads* heads, const aten_panel_packs* packs,
                           int64_t width, const Block* block, int64_t begin, int64_t column,
                           int64_t columns, char* panel, int64_t* packed,
                           int64_t* step) noexcept nogil
# Columns of a row of such a width that are computed together, about as many each time.
cdef int64_t even_strip(const Attention* all, int64_t width) noexcept nogil
