# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""The operands of attention: what they have to be, where their rows lie, and which keys a row sees."""

from libc.stdint cimport int64_t, uint8_t

from aten._core.base.dtypes cimport BFLOAT16, BOOL, FLOAT16, FLOAT32, item_size
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer
from aten.backends.cpu.kernels.matrix.panels cimport panel_bytes, panel_packs, panel_tiles
from aten.backends.cpu.kernels.matrix.panel_strips cimport (
    ATEN_BRAIN_PAIRS, ATEN_FLOATS, ATEN_PACK_BRAINS, ATEN_PACK_HALVES, ATEN_PACK_SHORTS,
    ATEN_PACK_SINGLES, aten_panel_tiles)
from aten.backends.cpu.kernels.moving.transfer cimport transfer_run

cdef enum:
    # Rows of a block, and of one whose last rows see more keys than its first.
    BLOCK = 256
    CAUSAL_BLOCK = 64
    # Bytes between rows of floats up to which they are read where they lie: rows further apart would
    # be in each other's way in the nearest cache.
    NEAR_ROWS = 512
    # Rows of a mask that are on their way to the cache while one is read.
    ROWS_AHEAD = 4
    # The most keys of a chunk by tile registers, and rows of a block: their scores stay in the second
    # cache.
    REGISTER_CHUNK = 1024
    REGISTER_BLOCK = 64
    # Floats of a line, which lies between rows of scores so that these do not push each other out.
    LINE = 16

cdef int check_attention(TensorImpl query, TensorImpl key, TensorImpl value, TensorImpl mask,
                TensorImpl out, TensorImpl logarithms) except -1:
    """What becomes an address is of this shape, whatever a caller made of it before."""
    cdef int code = query.dtype_code
    cdef bint fits = query.rank == key.rank == value.rank == out.rank == 4 and logarithms.rank == 3
    fits = fits and code in (FLOAT32, BFLOAT16, FLOAT16)
    fits = fits and key.dtype_code == value.dtype_code == out.dtype_code == code
    fits = fits and logarithms.dtype_code == FLOAT32
    if fits:
        fits = (query.sizes[0] == key.sizes[0] == value.sizes[0] == out.sizes[0]
                and key.sizes[1] == value.sizes[1] and key.sizes[2] == value.sizes[2]
                and query.sizes[3] == key.sizes[3] and key.sizes[1] > 0
                and query.sizes[1] % key.sizes[1] == 0
                and query.sizes[1] == out.sizes[1] == logarithms.sizes[1]
                and query.sizes[2] == out.sizes[2] == logarithms.sizes[2]
                and logarithms.sizes[0] == query.sizes[0] and out.sizes[3] == value.sizes[3]
                and query.count > 0 and key.count > 0 and value.count > 0)
        fits = fits and (query.strides[3] == 1 or query.sizes[3] == 1)
        fits = fits and (key.strides[3] == 1 or key.sizes[3] == 1)
        fits = fits and (value.strides[3] == 1 or value.sizes[3] == 1)
        fits = fits and (out.strides[3] == 1 or out.sizes[3] == 1)
    if fits and mask is not None:
        fits = (mask.rank == 4 and mask.dtype_code in (BOOL, code)
                and mask.sizes[0] == query.sizes[0] and mask.sizes[1] == query.sizes[1]
                and mask.sizes[2] == query.sizes[2] and mask.sizes[3] == key.sizes[2])
    if not fits:
        raise RuntimeError("attend: operands do not go together")
    return 0


cdef int read_heads(Heads* heads, TensorImpl tensor, bint written) except -1:
    heads.data = data_pointer(tensor) if written else <char*>const_data_pointer(tensor)
    heads.code = tensor.dtype_code
    heads.batch = tensor.strides[0]
    heads.head = tensor.strides[1]
    heads.row = tensor.strides[2]
    heads.column = tensor.strides[3] if tensor.rank == 4 else 1
    return 0


cdef int describe_attention(Attention* all, TensorImpl query, TensorImpl key, TensorImpl value,
                   TensorImpl mask, bint is_causal, double scale) except -1:
    cdef int code = query.dtype_code
    read_heads(&all.query, query, False)
    read_heads(&all.key, key, False)
    read_heads(&all.value, value, False)
    all.mask.data = NULL
    if mask is not None:
        read_heads(&all.mask, mask, False)
    all.batch = query.sizes[0]
    all.key_heads = key.sizes[1]
    all.group = query.sizes[1] // key.sizes[1]
    all.queries = query.sizes[2]
    all.keys = key.sizes[2]
    all.width = query.sizes[3]
    all.value_width = value.sizes[3]
    all.scale = <float>scale
    all.causal = is_causal
    all.tiles = panel_tiles(ATEN_FLOATS)
    all.rows = aten_attention_rows_of(panel_bytes())
    all.value_pack, all.sum = ATEN_PACK_SINGLES, all.rows.sum_singles
    if code == BFLOAT16:
        all.value_pack, all.sum = ATEN_PACK_BRAINS, all.rows.sum_brains
    elif code == FLOAT16:
        all.value_pack, all.sum = ATEN_PACK_HALVES, all.rows.sum_halves
    if all.value_width % all.rows.lanes != 0:
        all.sum = NULL
    all.value_packs = panel_packs(all.value_pack)
    use_floats(all)
    all.block = CAUSAL_BLOCK if is_causal else BLOCK
    if code == BFLOAT16:
        _use_pairs(all)
    all.blocks = (all.group * all.queries + all.block - 1) // all.block
    all.parts = NULL
    all.kept = False
    all.failed = False
    return 0


cdef void use_floats(Attention* all) noexcept nogil:
    all.kind, all.pack = ATEN_FLOATS, all.value_pack
    all.score_tiles = all.tiles
    all.packs = all.value_packs
    all.registers = NULL
    _divide_keys(all, CHUNK, CHUNK)


cdef void _divide_keys(Attention* all, int64_t chunk, int64_t scores_row) noexcept nogil:
    all.chunk = chunk
    all.scores_row = scores_row
    all.chunks = (all.keys + chunk - 1) // chunk


cdef void _use_pairs(Attention* all) noexcept nogil:
    """Products of bfloat16, where the processor has fast ones: of scores, and with tile registers of
    values, too."""
    cdef const aten_panel_tiles* pairs = panel_tiles(ATEN_BRAIN_PAIRS)
    cdef int64_t chunk
    if pairs == NULL:
        return
    all.kind, all.pack = ATEN_BRAIN_PAIRS, ATEN_PACK_SHORTS
    all.score_tiles = pairs
    all.packs = panel_packs(all.pack)
    if pairs.strip == NULL:
        return
    all.registers = aten_attention_registers_of()
    chunk = min(<int64_t>REGISTER_CHUNK, round_up(all.keys, ATEN_STEP_KEYS))
    _divide_keys(all, chunk, chunk + LINE)
    all.block = REGISTER_BLOCK


cdef bint is_near(const Heads* heads) noexcept nogil:
    return heads.code == FLOAT32 and 0 <= heads.row * <int64_t>sizeof(float) <= NEAR_ROWS


cdef char* row_at(const Heads* heads, const Attention* all, const Block* block,
                          int64_t index) noexcept nogil:
    """Where a row of the block lies in a tensor that has heads as queries do."""
    cdef int64_t place = block.first + index
    cdef int64_t head = block.head * all.group + place // all.queries
    return heads.data + (block.batch * heads.batch + head * heads.head
                         + place % all.queries * heads.row) * item_size(heads.code)


cdef char* keys_at(const Heads* heads, const Block* block, int64_t begin) noexcept nogil:
    return heads.data + (block.batch * heads.batch + block.head * heads.head
                         + begin * heads.row) * item_size(heads.code)


cdef int64_t seen_by(const Attention* all, const Block* block, int64_t index,
                          int64_t begin) noexcept nogil:
    """Keys of the chunk at `begin` that a row of the block may see."""
    cdef int64_t end = all.keys
    if all.causal:
        end = min(end, (block.first + index) % all.queries + 1)
    return max(<int64_t>0, min(all.chunk, end - begin))


cdef int64_t most_seen(const Attention* all, const Block* block,
                               int64_t begin) noexcept nogil:
    """The same for all of its rows."""
    cdef int64_t last = block.first + block.count - 1
    if all.causal and block.first // all.queries == last // all.queries:
        return seen_by(all, block, block.count - 1, begin)
    if all.causal:
        # The last row of a head is among them.
        return max(<int64_t>0, min(all.chunk, min(all.keys, all.queries) - begin))
    return seen_by(all, block, 0, begin)


cdef void read_mask(const Attention* all, const Block* block, int64_t index, int64_t begin,
                     int64_t count, aten_attention_mask* mask) noexcept nogil:
    """What a row of the mask says of so many keys from `begin` on, in order and as floats."""
    cdef const char* row
    cdef int64_t step = all.mask.column, place
    mask.added = NULL
    mask.allowed = NULL
    mask.ahead = 0
    if all.mask.data == NULL:
        return
    row = row_at(&all.mask, all, block, index) + begin * step * item_size(all.mask.code)
    if all.mask.code == BOOL:
        mask.allowed = <const uint8_t*>row
        if step != 1:
            mask.allowed = <const uint8_t*>block.masked
            for place in range(count):
                (<uint8_t*>block.masked)[place] = row[place * step]
    elif all.mask.code == FLOAT32 and step == 1:
        mask.added = <const float*>row
        mask.ahead = ROWS_AHEAD * all.mask.row
    else:
        mask.added = block.masked
        transfer_run(row, all.mask.code, step, <char*>block.masked, FLOAT32, 1, count)
