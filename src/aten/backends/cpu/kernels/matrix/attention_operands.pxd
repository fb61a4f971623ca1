"""What attention is asked for, and what its forward and backward kernels know of a block of rows."""

from libc.stdint cimport int64_t, uint8_t

from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.matrix.panel_strips cimport aten_panel_packs, aten_panel_tiles

cdef extern from "attention_levels.h" nogil:
    ctypedef struct aten_attention_values:
        const float* weights
        int64_t weights_row
        const char* values
        int64_t step, count, width
        float* out
        int64_t out_row
    ctypedef struct aten_attention_mask:
        const float* added
        const uint8_t* allowed
        int64_t ahead
    ctypedef int64_t (*aten_attention_sum)(const aten_attention_values* work,
                                           int64_t rows) noexcept nogil
    ctypedef struct aten_attention_rows:
        int lanes
        float (*look)(float* row, int64_t count, float scale, const aten_attention_mask* mask,
                      float* most) noexcept nogil
        void (*weigh)(float* row, int64_t count, int64_t room, float scale,
                      const aten_attention_mask* mask, float* largest,
                      float* total) noexcept nogil
        void (*weigh_again)(float* row, int64_t count, int64_t room,
                            float logarithm) noexcept nogil
        void (*go_back)(const float* weights, float* gradients, int64_t count, float base,
                        float scale) noexcept nogil
        void (*join)(int64_t rows, int64_t lanes, float* largest, float* totals, float* sums,
                     const float* next_largest, const float* next_totals,
                     const float* gained) noexcept nogil
        void (*scale_to)(float* out, const float* given, int64_t count, float factor) noexcept nogil
        void (*mask)(float* row, int64_t count, float scale,
                          const aten_attention_mask* mask) noexcept nogil
        aten_attention_sum sum_singles, sum_brains, sum_halves
    const aten_attention_rows* aten_attention_rows_of(int vector_bytes)

cdef extern from "attention_registers.h" nogil:
    enum:
        ATEN_STEP_KEYS
    ctypedef struct aten_register_keys:
        const char* queries
        int64_t queries_row, rows, steps
        const char* keys
        int64_t count
        float* out
        int64_t out_row
    ctypedef struct aten_register_values:
        const char* weights
        int64_t weights_row, rows, steps
        const char* values
        int64_t width, first
        float* out
        int64_t out_row
    ctypedef struct aten_register_scores:
        float* scores
        int64_t scores_row, rows, steps
        int keeps
        const int64_t* counts
        const float* largest
        float scale
        const char* values
        int64_t width
        float* totals
        float* out
        int64_t out_row
    ctypedef struct aten_register_lines:
        const char* weights
        int64_t weights_row, rows, keys
        const char* values
        int64_t step, width
        float* out
        int64_t out_row
    ctypedef struct aten_attention_registers:
        void (*score)(const aten_register_keys* work) noexcept nogil
        void (*split)(float* weights, int64_t count) noexcept nogil
        void (*multiply)(const aten_register_values* work) noexcept nogil
        void (*sum)(const aten_register_lines* work) noexcept nogil
        int (*weigh)(const aten_register_scores* work) noexcept nogil
    const aten_attention_registers* aten_attention_registers_of()

cdef enum:
    # Units of a step of tile registers.
    STEP_UNITS = 16
    # Keys of a chunk, where they are not those of tile registers: a number of whole strips for
    # every width of vectors.
    CHUNK = 240
    # Bytes up to which the packed keys and values of a head are kept for all of its blocks.
    KEPT_BYTES = 1 << 22

cdef struct Heads:
    # A tensor (batch, heads, rows, width): steps in elements; rows of neighbours.
    char* data
    int code
    int64_t batch
    int64_t head
    int64_t row
    int64_t column          # of masks only

cdef struct Attention:
    const aten_panel_tiles* score_tiles
    const aten_panel_tiles* tiles
    const aten_panel_packs* packs       # of queries and keys
    const aten_panel_packs* value_packs
    const aten_attention_rows* rows
    aten_attention_sum sum              # of values as they lie, or NULL
    # What weighs values by tile registers, or NULL: scores are theirs, too, then.
    const aten_attention_registers* registers
    int kind                            # of units of queries and keys, and how these are packed
    int pack
    int value_pack
    Heads query
    Heads key
    Heads value
    Heads mask
    Heads out
    Heads logarithms        # float32, one for each row
    int64_t batch
    int64_t key_heads
    int64_t group           # heads of queries for each of keys
    int64_t queries
    int64_t keys
    int64_t width
    int64_t value_width
    float scale
    bint causal
    int64_t block           # rows of a block
    int64_t blocks          # for each head of keys
    int64_t chunk           # keys of a chunk
    int64_t scores_row      # floats from one row of scores to the next
    int64_t chunks          # of the keys
    float* parts            # what chunks give, where they are computed apart
    bint kept               # packed keys and values serve all blocks of a head
    bint failed             # there was no memory

cdef struct Block:
    # Some rows for a head of keys, and room for what they need.
    int64_t batch
    int64_t head
    int64_t first
    int64_t count
    char* packed            # room for queries
    char* query             # these, or where they lie
    int64_t query_row       # bytes
    char* keys              # packed: a strip, or where they are kept all of the head so far
    char* values
    int64_t keys_packed     # how many
    int64_t values_packed
    float* scores
    float* masked           # a row of the mask
    float* gained           # weighed values of a chunk
    float* sums             # and of the chunks before
    float* largest          # of a chunk, and of all before
    float* totals
    float* bases            # of rows, what is taken from their scores, and how many of these they see
    int64_t* counts


cdef inline int64_t round_up(int64_t count, int64_t unit) noexcept nogil:
    return (count + unit - 1) // unit * unit


cdef inline int64_t lanes_of(const Attention* all) noexcept nogil:
    """Floats of a row of weighed values."""
    return round_up(all.value_width, all.tiles.lanes)


cdef inline int64_t rows_of(const Attention* all) noexcept nogil:
    """The most rows of a block."""
    return min(all.block, all.group * all.queries)


cdef inline int64_t units_of(const Attention* all) noexcept nogil:
    """Units of a packed key; whole steps of tile registers."""
    cdef int64_t units = (all.width + all.packs.group - 1) // all.packs.group
    return units if all.registers == NULL else round_up(units, STEP_UNITS)


cdef inline int64_t key_panel(const Attention* all) noexcept nogil:
    """Bytes of a chunk's packed keys."""
    return all.chunk * units_of(all) * 4


cdef inline int64_t value_panel(const Attention* all) noexcept nogil:
    """Bytes of a chunk's packed values."""
    return all.chunk * lanes_of(all) * (2 if all.registers != NULL else 4)


# Raises RuntimeError for operands that do not go together.
cdef int check_attention(TensorImpl query, TensorImpl key, TensorImpl value, TensorImpl mask,
                         TensorImpl out, TensorImpl logarithms) except -1
cdef int read_heads(Heads* heads, TensorImpl tensor, bint written) except -1
cdef int describe_attention(Attention* all, TensorImpl query, TensorImpl key, TensorImpl value,
                            TensorImpl mask, bint is_causal, double scale) except -1
# Let scores be products of float32, whatever the processor has for others.
cdef void use_floats(Attention* all) noexcept nogil
# Where a row of the block lies in a tensor that has heads as queries do, and a key in one that has
# fewer.
cdef char* row_at(const Heads* heads, const Attention* all, const Block* block,
                  int64_t index) noexcept nogil
cdef char* keys_at(const Heads* heads, const Block* block, int64_t begin) noexcept nogil
# Keys of the chunk at `begin` that a row of the block may see, and any of its rows.
cdef int64_t seen_by(const Attention* all, const Block* block, int64_t index,
                     int64_t begin) noexcept nogil
cdef int64_t most_seen(const Attention* all, const Block* block, int64_t begin) noexcept nogil
# Whether these are floats that can be read where they lie.
cdef bint is_near(const Heads* heads) noexcept nogil
# What a row of the mask says of so many keys from `begin` on, in order and as floats.
cdef void read_mask(const Attention* all, const Block* block, int64_t index, int64_t begin,
                    int64_t count, aten_attention_mask* mask) noexcept nogil
