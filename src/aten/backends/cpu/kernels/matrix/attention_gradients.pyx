# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Gradients of attention: weights are computed anew from scores and the logarithms of their sums.

With weights P = exp(S - logarithms) and D = Σ gradient · out over a row, values get Pᵀ gradient,
and scores P · (gradient @ valueᵀ - D), of which queries get the product with keys, and keys that
with queries. (Dao et al., FlashAttention (2022), appendix B.2.) A task has a head of keys with all
of the queries it serves, in order: the same bits come out for any number of threads.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from aten._core.base.dtypes cimport BFLOAT16, FLOAT16, FLOAT32, item_size
from aten._core.tensor.tensor_impl cimport TensorImpl, count_write
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.matrix.attention cimport even_strip, pack_rows, score
from aten.backends.cpu.kernels.matrix.attention_operands cimport (
    CHUNK, KEPT_BYTES, Attention, Block, Heads, check_attention, describe_attention, is_near, keys_at,
    most_seen, read_heads, row_at, seen_by, use_floats)
from aten.backends.cpu.kernels.matrix.panel_strips cimport aten_panel_tile, run_strip
from aten.backends.cpu.kernels.moving.transfer cimport transfer_run

cdef enum:
    # Rows of a block, and the most lanes of a strip.
    BLOCK = 64
    STRIP = 48

cdef struct Gradients:
    Attention all
    Heads gradient
    Heads of_query
    Heads of_key
    Heads of_value
    int64_t lanes           # floats of a row of queries and keys
    int64_t value_lanes

cdef struct Room:
    # What a task needs, rows of whole vectors.
    Block block
    float* gradient
    float* weighed          # gradients of weights, then of scores
    float* of_query
    float* of_key
    float* of_value
    float* bases
    char* packed


cdef inline int64_t _up(int64_t count, int64_t unit) noexcept nogil:
    return (count + unit - 1) // unit * unit


def attend_back(TensorImpl gradient not None, TensorImpl query not None, TensorImpl key not None,
                TensorImpl value not None, TensorImpl mask, bint is_causal, double scale,
                TensorImpl out not None, TensorImpl logarithms not None,
                tuple gradients not None):
    """Write gradients of query, key and value to `gradients`, three tensors like these.

    The other operands are those of `attend` and what it wrote; `gradient` is that of `out`.
    Raises MemoryError where there is none for the blocks.
    """
    cdef Gradients work
    cdef Attention* all = &work.all
    cdef TensorImpl of_query, of_key, of_value
    of_query, of_key, of_value = gradients
    check_attention(query, key, value, mask, out, logarithms)
    check_attention(of_query, of_key, of_value, None, gradient, logarithms)
    if (of_query.sizes[2] != query.sizes[2] or of_key.sizes[2] != key.sizes[2]
            or of_key.sizes[1] != key.sizes[1] or of_query.sizes[3] != query.sizes[3]
            or gradient.sizes[3] != out.sizes[3] or gradient.dtype_code != query.dtype_code):
        raise RuntimeError("attend_back: operands do not go together")
    read_heads(&work.of_query, of_query, True)
    read_heads(&work.of_key, of_key, True)
    read_heads(&work.of_value, of_value, True)
    read_heads(&work.gradient, gradient, False)
    read_heads(&all.out, out, False)
    read_heads(&all.logarithms, logarithms, False)
    describe_attention(all, query, key, value, mask, is_causal, scale)
    # Scores are computed as float32 from the rows that keys' gradients are made of.
    use_floats(all)
    all.block = BLOCK
    all.blocks = (all.group * all.queries + BLOCK - 1) // BLOCK
    work.lanes = _up(all.width, all.tiles.lanes)
    work.value_lanes = _up(all.value_width, all.tiles.lanes)
    all.kept = all.blocks > 1 and all.chunks * CHUNK * (all.width + all.value_width) * 4 <= KEPT_BYTES
    with nogil:
        parallel_for(all.batch * all.key_heads, 1, _run_heads, &work)
    for tensor in gradients:
        count_write(tensor)
    if all.failed:
        raise MemoryError("scaled_dot_product_attention: no memory for gradients")


cdef char* _lay_out(const Gradients* work, Room* room) noexcept nogil:
    cdef const Attention* all = &work.all
    cdef int64_t lanes = work.lanes, values = work.value_lanes
    cdef int64_t keys = _up(all.keys, 16)
    cdef int64_t packed = STRIP * max(CHUNK, max(lanes, values))
    cdef int64_t key_panel = STRIP * all.width, value_panel = STRIP * all.value_width
    if all.kept:
        key_panel = all.chunks * CHUNK * all.width
        value_panel = all.chunks * CHUNK * all.value_width
    cdef int64_t floats = (BLOCK * (2 * lanes + values + 2 * CHUNK + 16) + CHUNK
                           + keys * (lanes + values) + packed + key_panel + value_panel)
    cdef char* made = <char*>malloc(floats * sizeof(float) + 64)
    cdef float* place
    if made == NULL:
        return NULL
    place = <float*>((<size_t>made + 63) & ~<size_t>63)
    room.block.query = <char*>place
    room.block.query_row = lanes * sizeof(float)
    room.of_query = place + BLOCK * lanes
    room.gradient = room.of_query + BLOCK * lanes
    room.block.scores = room.gradient + BLOCK * values
    room.weighed = room.block.scores + BLOCK * CHUNK
    room.bases = room.weighed + BLOCK * CHUNK
    room.block.masked = room.bases + BLOCK * 16
    room.of_key = room.block.masked + CHUNK
    room.of_value = room.of_key + keys * lanes
    room.packed = <char*>(room.of_value + keys * values)
    room.block.keys = room.packed + packed * sizeof(float)
    room.block.values = room.block.keys + key_panel * sizeof(float)
    return made


cdef void _run_heads(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Gradients* work = <Gradients*>context
    cdef Attention* all = &work.all
    cdef Room room
    cdef char* made = _lay_out(work, &room)
    cdef int64_t task, place, chunk, keys = _up(all.keys, 16)
    if made == NULL:
        all.failed = True
        return
    for task in range(begin, end):
        room.block.head = task % all.key_heads
        room.block.batch = task // all.key_heads
        room.block.keys_packed = room.block.values_packed = 0
        memset(room.of_key, 0, keys * (work.lanes + work.value_lanes) * sizeof(float))
        for place in range(all.blocks):
            _begin(work, &room, place * BLOCK)
            for chunk in range(all.chunks):
                if most_seen(all, &room.block, chunk * CHUNK) == 0:
                    break
                _go_back(work, &room, chunk * CHUNK)
            for chunk in range(room.block.count):
                transfer_run(<char*>(room.of_query + chunk * work.lanes), FLOAT32, 1,
                             row_at(&work.of_query, all, &room.block, chunk),
                             work.of_query.code, 1, all.width)
        for place in range(all.keys):
            transfer_run(<char*>(room.of_key + place * work.lanes), FLOAT32, 1,
                         keys_at(&work.of_key, &room.block, place), work.of_key.code, 1,
                         all.width)
            transfer_run(<char*>(room.of_value + place * work.value_lanes), FLOAT32, 1,
                         keys_at(&work.of_value, &room.block, place), work.of_value.code, 1,
                         all.value_width)
    free(made)


cdef void _begin(const Gradients* work, Room* room, int64_t first) noexcept nogil:
    """Queries and gradients of a block's rows, as float32."""
    cdef const Attention* all = &work.all
    cdef Block* block = &room.block
    cdef int64_t index, place
    cdef float* row
    cdef float* other
    cdef float total
    block.first = first
    block.count = min(<int64_t>BLOCK, all.group * all.queries - first)
    memset(room.of_query, 0, block.count * work.lanes * sizeof(float))
    for index in range(block.count):
        row = <float*>(block.query + index * block.query_row)
        all.packs.run(row_at(&all.query, all, block, index), 1, all.width, row)
        _clear(row, all.width, work.lanes)
        row = room.gradient + index * work.value_lanes
        other = room.weighed
        all.packs.run(row_at(&work.gradient, all, block, index), 1, all.value_width, row)
        _clear(row, all.value_width, work.value_lanes)
        total = 0
        for place in range(all.value_width):
            total += row[place] * _number(row_at(&all.out, all, block, index), all.out.code, place)
        room.bases[index] = total


cdef inline float _number(const char* row, int code, int64_t place) noexcept nogil:
    cdef float made
    if code == FLOAT32:
        return (<const float*>row)[place]
    transfer_run(row + place * 2, code, 1, <char*>&made, FLOAT32, 1, 1)
    return made


cdef inline void _clear(float* row, int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t place
    for place in range(begin, end):
        row[place] = 0


cdef void _go_back(const Gradients* work, Room* room, int64_t begin) noexcept nogil:
    """What the block's rows and a chunk of keys do for each other."""
    cdef const Attention* all = &work.all
    cdef Block* block = &room.block
    cdef int64_t seen = most_seen(all, block, begin), index
    cdef float* weights = block.scores
    score(all, block, begin, seen, weights)
    for index in range(block.count):
        all.rows.weigh_again(weights + index * CHUNK, seen_by(all, block, index, begin), seen,
                             (<float*>row_at(&all.logarithms, all, block, index))[0])
    _weigh_gradients(work, room, begin, seen)
    _add_turned(work, room, weights, room.gradient, work.value_lanes, seen,
                room.of_value + begin * work.value_lanes)
    for index in range(block.count):
        all.rows.go_back(weights + index * CHUNK, room.weighed + index * CHUNK, seen,
                         room.bases[index], all.scale)
    _add_keys(work, room, begin, seen)
    _add_turned(work, room, room.weighed, <float*>block.query, work.lanes, seen,
                room.of_key + begin * work.lanes)


cdef void _weigh_gradients(const Gradients* work, Room* room, int64_t begin,
                           int64_t seen) noexcept nogil:
    """gradient @ values.T"""
    cdef const Attention* all = &work.all
    cdef int64_t strip = 3 * all.tiles.lanes, index, column, columns
    cdef Block* block = &room.block
    cdef aten_panel_tile tile
    tile.units = all.value_width
    tile.left = <char*>room.gradient
    tile.left_row = work.value_lanes * 4
    tile.left_step = 4
    tile.start = tile.base = tile.addend = NULL
    tile.out_row = CHUNK
    for index in range((seen + strip - 1) // strip):
        column = index * strip
        columns = min(strip, seen - column)
        tile.right = pack_rows(all, &all.value, all.value_packs, all.value_width, block, begin, column,
                               columns, block.values, &block.values_packed, &tile.right_step)
        tile.out = room.weighed + column
        run_strip(all.tiles, &tile, block.count, columns, 0)


cdef void _add_turned(const Gradients* work, Room* room, const float* left, const float* right,
                      int64_t lanes, int64_t seen, float* out) noexcept nogil:
    """out += left.T @ right, over the rows of the block."""
    cdef const Attention* all = &work.all
    cdef int64_t strip = even_strip(all, lanes), index
    cdef aten_panel_tile tile
    tile.units = room.block.count
    tile.left = <char*>left
    tile.left_row = 4
    tile.left_step = CHUNK * 4
    tile.start = tile.base = NULL
    tile.right_step = lanes * 4
    tile.out_row = lanes
    for index in range((lanes + strip - 1) // strip):
        tile.right = <char*>(right + index * strip)
        tile.out = tile.addend = out + index * strip
        run_strip(all.tiles, &tile, seen, min(strip, lanes - index * strip), 0)


cdef void _add_keys(const Gradients* work, Room* room, int64_t begin, int64_t seen) noexcept nogil:
    """of_query += gradients of scores @ keys"""
    cdef const Attention* all = &work.all
    cdef int64_t strip = even_strip(all, all.width), index, column, columns, width
    cdef bint near = all.width % all.tiles.lanes == 0 and is_near(&all.key)
    cdef const char* keys = keys_at(&all.key, &room.block, begin)
    cdef aten_panel_tile tile
    tile.units = seen
    tile.left = <char*>room.weighed
    tile.left_row = CHUNK * 4
    tile.left_step = 4
    tile.start = tile.base = NULL
    tile.out_row = work.lanes
    for index in range((all.width + strip - 1) // strip):
        column = index * strip
        columns = min(strip, all.width - column)
        tile.right = keys + column * item_size(all.key.code)
        tile.right_step = all.key.row * sizeof(float)
        if not near:
            width = _up(columns, all.tiles.lanes)
            all.value_packs.zip(tile.right, all.key.row, seen, columns, width, room.packed)
            tile.right = room.packed
            tile.right_step = width * 4
        tile.out = tile.addend = room.of_query + column
        run_strip(all.tiles, &tile, room.block.count, columns, 0)
