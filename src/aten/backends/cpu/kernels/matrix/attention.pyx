# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Attention that never holds all scores: softmax(query @ key.T * scale + mask) @ value.

Some rows of queries meet some keys at a time, CHUNK of them from the first on. The scores of a
chunk become weights relative to the largest of the chunk, and these weigh the values; the chunks
of a row are then brought to a common largest one and added, in order. (Milakov and Gimelshein,
Online normalizer calculation for softmax (2018); Dao et al., FlashAttention (2022).) So nothing of
a row depends on the rows beside it, and chunks of few rows may be shared out over the threads: the
same bits come out. Chunks that no row may see are skipped. The heads of queries that a head of keys
serves are rows beside each other. Half types are widened as they are packed, but for products of
bfloat16 where the processor has fast ones, whose sums are exact but for the order; with tile registers
weights become two numbers of bfloat16 each. What is packed of
a head's keys and values serves all blocks of its rows, as far as there is room. Few rows read both as
they lie, in the same order: packing would take longer than all else.
"""

from libc.math cimport INFINITY, log
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from aten._core.base.dtypes cimport FLOAT32, item_size
from aten._core.tensor.tensor_impl cimport TensorImpl, count_write
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.matrix.attention_operands cimport (
    ATEN_STEP_KEYS, KEPT_BYTES, STEP_UNITS, Attention, Block, Heads, aten_attention_mask,
    aten_attention_values, aten_register_keys, aten_register_lines, aten_register_scores,
    aten_register_values, check_attention, describe_attention, is_near, key_panel, keys_at, lanes_of,
    most_seen, read_heads, read_mask, round_up, row_at, rows_of, seen_by, units_of, value_panel)
from aten.backends.cpu.kernels.matrix.panels cimport panel_columns, panel_packs
from aten.backends.cpu.kernels.matrix.panel_strips cimport (
    ATEN_PACK_SHORTS, ATEN_PACK_SINGLES, STRETCH, aten_panel_columns, aten_panel_columns_function,
    aten_panel_packs, aten_panel_tile, pack_columns, run_strip)
from aten.backends.cpu.kernels.moving.transfer cimport transfer_run

cdef enum:
    # Rows up to which keys and values are read where they lie; keys that are on their way to the
    # cache then while one is read, or bytes where there are no gaps between them.
    FEW_ROWS = 8
    KEYS_AHEAD = 96
    BYTES_AHEAD = 1 << 13
    # Multiplications that are worth a thread's claim.
    CLAIM_WORK = 1 << 19
    # The most lanes of a strip.
    STRIP = 48
    # Rows of two tile registers, keys of one, and lanes of values up to which four hold all sums of a
    # row.
    REGISTER_ROWS = 32
    REGISTER_KEYS = 16
    WEIGHED_LANES = 64


def attend(TensorImpl query not None, TensorImpl key not None, TensorImpl value not None,
           TensorImpl mask, bint is_causal, double scale, TensorImpl out not None,
           TensorImpl logarithms not None):
    """Write attention to `out` and the logarithms of its rows' sums to `logarithms`.

    query (N, H, L, E), key (N, G, S, E) and value (N, G, S, Ev) of one floating type up to 32 bits,
    H a multiple of G, rows of neighbours, nothing empty; mask of (N, H, L, S), where dimensions may
    have step 0, of bool or of that type. `out` (N, H, L, Ev) is of that type with rows
    of neighbours, `logarithms` (N, H, L) of float32. Rows that may see nothing become zeros.
    Raises MemoryError where there is none for the blocks.
    """
    cdef Attention all
    cdef int64_t tasks
    check_attention(query, key, value, mask, out, logarithms)
    read_heads(&all.out, out, True)
    read_heads(&all.logarithms, logarithms, True)
    describe_attention(&all, query, key, value, mask, is_causal, scale)
    all.kept = all.blocks > 1 and all.chunks * (key_panel(&all) + value_panel(&all)) <= KEPT_BYTES
    tasks = all.batch * all.key_heads * all.blocks
    with nogil:
        _attend(&all, tasks)
    count_write(out)
    count_write(logarithms)
    if all.failed:
        raise MemoryError("scaled_dot_product_attention: no memory for a block of scores")


cdef void _attend(Attention* all, int64_t tasks) noexcept nogil:
    cdef int64_t part = _part_size(all), together
    if tasks < 4 * thread_count() and all.chunks > 1:
        all.parts = <float*>malloc(tasks * all.chunks * part * sizeof(float))
    if all.parts == NULL:
        together = CLAIM_WORK // _work_of(all, all.keys)
        if together < tasks:
            together = min(together, tasks // thread_count())
        if all.kept:
            together = max(together, min(all.blocks, tasks // (2 * thread_count())))
        parallel_for(tasks, max(<int64_t>1, together), _run_blocks, all)
        return
    all.kept = False
    together = CLAIM_WORK // _work_of(all, all.chunk)
    parallel_for(tasks * all.chunks, max(<int64_t>1, together), _run_chunks, all)
    if not all.failed:
        parallel_for(tasks, 1, _join_chunks, all)
    free(all.parts)


cdef inline int64_t _work_of(const Attention* all, int64_t keys) noexcept nogil:
    """Multiplications of a block over so many keys, packing included."""
    return max((rows_of(all) + FEW_ROWS) * keys * (all.width + all.value_width), <int64_t>1)


cdef inline int64_t _part_size(const Attention* all) noexcept nogil:
    """Floats that a chunk gives: weighed values, and of each row the largest score and the sum."""
    return rows_of(all) * (lanes_of(all) + 2)


cdef char* _lay_out(const Attention* all, Block* block) noexcept nogil:
    """Memory for what a block needs; NULL where there is none."""
    cdef int64_t rows = rows_of(all), lanes = lanes_of(all), units = units_of(all)
    cdef int64_t query, keys = round_up(STRIP * units * 4, 64)
    cdef int64_t values = all.chunk * min(lanes, <int64_t>STRIP) * 4
    if all.registers != NULL:
        rows = round_up(rows, REGISTER_ROWS)
        keys = key_panel(all)
        values = value_panel(all)
    query = round_up(rows * (units * 4 + 64), 64)
    if all.kept:
        keys = all.chunks * key_panel(all)
        values = all.chunks * value_panel(all)
    cdef int64_t scores = rows * all.scores_row * 4
    cdef int64_t sums = rows * lanes * 4
    cdef int64_t row_floats = round_up(rows * 4, 64)
    cdef char* room = <char*>malloc(query + keys + values + scores + 2 * sums + all.scores_row * 4
                                    + 7 * row_floats + 64)
    cdef char* place
    if room == NULL:
        return NULL
    place = <char*>((<size_t>room + 63) & ~<size_t>63)
    block.packed = place
    block.keys = block.packed + query
    block.values = block.keys + keys
    block.scores = <float*>(block.values + values)
    block.gained = <float*>(<char*>block.scores + scores)
    block.sums = <float*>(<char*>block.gained + sums)
    block.masked = <float*>(<char*>block.sums + sums)
    block.largest = block.masked + all.scores_row
    block.totals = <float*>(<char*>block.largest + 2 * row_floats)
    block.bases = <float*>(<char*>block.totals + 2 * row_floats)
    block.counts = <int64_t*>(<char*>block.bases + row_floats)
    return room


cdef void _begin(const Attention* all, int64_t task, Block* block) noexcept nogil:
    """The rows of a task, and their queries as units."""
    cdef int64_t index, filled = (all.width + all.packs.group - 1) // all.packs.group * 4
    block.first = task % all.blocks * all.block
    block.head = task // all.blocks % all.key_heads
    block.batch = task // all.blocks // all.key_heads
    block.count = min(all.block, all.group * all.queries - block.first)
    block.query = block.packed
    block.query_row = units_of(all) * 4 + 64
    if all.group == 1 and all.pack == ATEN_PACK_SINGLES and is_near(&all.query):
        block.query = row_at(&all.query, all, block, 0)
        block.query_row = all.query.row * sizeof(float)
        return
    for index in range(block.count):
        all.packs.run(row_at(&all.query, all, block, index), 1, all.width,
                      block.query + index * block.query_row)
        if filled < block.query_row - 64:
            memset(block.query + index * block.query_row + filled, 0,
                   block.query_row - 64 - filled)


cdef void _run_blocks(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Blocks with all of their chunks."""
    cdef Attention* all = <Attention*>context
    cdef Block block
    cdef char* room = _lay_out(all, &block)
    cdef int64_t task, chunk, rows = rows_of(all), head = -1
    if room == NULL:
        all.failed = True
        return
    for task in range(begin, end):
        _begin(all, task, &block)
        if task // all.blocks != head:
            head = task // all.blocks
            block.keys_packed = block.values_packed = 0
        for chunk in range(all.chunks):
            if chunk and most_seen(all, &block, chunk * all.chunk) == 0:
                break
            if chunk == 0:
                _attend_chunk(all, &block, 0, block.sums, block.largest, block.totals)
                continue
            _attend_chunk(all, &block, chunk * all.chunk, block.gained, block.largest + rows,
                          block.totals + rows)
            all.rows.join(block.count, lanes_of(all), block.largest, block.totals, block.sums,
                          block.largest + rows, block.totals + rows, block.gained)
        _finish(all, &block)
    free(room)


cdef void _run_chunks(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Single chunks of blocks, kept apart."""
    cdef Attention* all = <Attention*>context
    cdef Block block
    cdef char* room = _lay_out(all, &block)
    cdef int64_t index, task = -1, chunk, rows = rows_of(all)
    cdef float* part
    if room == NULL:
        all.failed = True
        return
    for index in range(begin, end):
        if index // all.chunks != task:
            task = index // all.chunks
            _begin(all, task, &block)
        chunk = index % all.chunks
        part = all.parts + index * _part_size(all)
        _attend_chunk(all, &block, chunk * all.chunk, part + 2 * rows, part, part + rows)
    free(room)


cdef void _join_chunks(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Attention* all = <Attention*>context
    cdef int64_t task, chunk, rows = rows_of(all)
    cdef Block block
    cdef float* part
    for task in range(begin, end):
        block.first = task % all.blocks * all.block
        block.head = task // all.blocks % all.key_heads
        block.batch = task // all.blocks // all.key_heads
        block.count = min(all.block, all.group * all.queries - block.first)
        part = all.parts + task * all.chunks * _part_size(all)
        block.largest = part
        block.totals = part + rows
        block.sums = part + 2 * rows
        for chunk in range(1, all.chunks):
            part += _part_size(all)
            if most_seen(all, &block, chunk * all.chunk) == 0:
                break
            all.rows.join(block.count, lanes_of(all), block.largest, block.totals, block.sums, part,
                          part + rows, part + 2 * rows)
        _finish(all, &block)


cdef void _attend_chunk(const Attention* all, Block* block, int64_t begin, float* gained,
                        float* largest, float* totals) noexcept nogil:
    """The weighed values of a chunk of keys, the largest score of each row and the sum of weights
    relative to it."""
    cdef int64_t seen = most_seen(all, block, begin), index
    if seen == 0:
        for index in range(block.count):
            largest[index] = -INFINITY
            totals[index] = 0
        return
    _multiply_keys(all, block, begin, seen, block.scores)
    if all.registers != NULL and block.count > FEW_ROWS:
        _weigh_scores(all, block, begin, seen, gained, largest, totals)
        return
    for index in range(block.count):
        _weigh_row(all, block, index, begin, seen, largest + index, totals + index)
    _weigh_values(all, block, begin, seen, gained)


cdef void _weigh_scores(const Attention* all, Block* block, int64_t begin, int64_t seen,
                        float* gained, float* largest, float* totals) noexcept nogil:
    """Weigh values by scores that are products of queries and keys."""
    cdef aten_register_scores work
    cdef int64_t index
    cdef bint ordered
    work.scale = _look_at_scores(all, block, begin, largest)
    work.scores = block.scores
    work.scores_row = all.scores_row
    work.rows = block.count
    work.steps = (seen + ATEN_STEP_KEYS - 1) // ATEN_STEP_KEYS
    work.keeps = lanes_of(all) > WEIGHED_LANES
    work.counts = block.counts
    work.largest = block.bases
    work.values = _pack_pairs(all, block, begin, seen)
    work.width = lanes_of(all)
    work.totals = totals
    work.out = gained
    work.out_row = work.width
    ordered = all.registers.weigh(&work)
    if not ordered and not work.keeps:
        _keep_weights(all, block, seen, work.scale, largest, totals)
        _multiply_values(all, block, begin, seen, 0, gained)
        return
    if work.keeps:
        _multiply_values(all, block, begin, seen, WEIGHED_LANES if ordered else 0, gained)
    for index in range(block.count):
        largest[index] *= work.scale
        if largest[index] == -INFINITY and totals[index] != totals[index]:
            largest[index] = totals[index]


cdef float _look_at_scores(const Attention* all, Block* block, int64_t begin,
                           float* largest) noexcept nogil:
    """Mask scores; the largest of each row, what is taken from all of them, and how many there are.
    Returns what they are still to be multiplied by."""
    cdef aten_attention_mask mask
    cdef int64_t index
    cdef float scale = all.scale
    for index in range(block.count):
        block.counts[index] = seen_by(all, block, index, begin)
        read_mask(all, block, index, begin, block.counts[index], &mask)
        scale = all.rows.look(block.scores + index * all.scores_row, block.counts[index], all.scale,
                              &mask, largest + index)
        # Where all scores are minus infinity, their powers are zeros.
        block.bases[index] = 0 if largest[index] == -INFINITY else largest[index]
    return scale


cdef void _keep_weights(const Attention* all, const Block* block, int64_t seen, float scale,
                        float* largest, float* totals) noexcept nogil:
    """Scores that are masked become weights of tile registers."""
    cdef aten_attention_mask none
    cdef int64_t index, room = round_up(seen, ATEN_STEP_KEYS)
    cdef float* row
    none.added = NULL
    none.allowed = NULL
    for index in range(block.count):
        row = block.scores + index * all.scores_row
        all.rows.weigh(row, block.counts[index], room, scale, &none, largest + index, totals + index)
        all.registers.split(row, room)


cdef void _weigh_row(const Attention* all, const Block* block, int64_t index, int64_t begin,
                     int64_t seen, float* largest, float* total) noexcept nogil:
    """Products of a row with keys become weights."""
    cdef float* row = block.scores + index * all.scores_row
    cdef int64_t count = seen_by(all, block, index, begin)
    cdef aten_attention_mask mask
    read_mask(all, block, index, begin, count, &mask)
    if all.registers != NULL:
        seen = round_up(seen, ATEN_STEP_KEYS)
    all.rows.weigh(row, count, seen, all.scale, &mask, largest, total)
    if all.registers != NULL:
        all.registers.split(row, seen)


cdef void score(const Attention* all, Block* block, int64_t begin, int64_t seen,
                float* scores) noexcept nogil:
    """Masked scores of the block's rows with so many keys of the chunk at `begin`."""
    cdef int64_t index, count
    cdef aten_attention_mask mask
    _multiply_keys(all, block, begin, seen, scores)
    for index in range(block.count):
        count = seen_by(all, block, index, begin)
        read_mask(all, block, index, begin, count, &mask)
        all.rows.mask(scores + index * all.scores_row, count, all.scale, &mask)


cdef void _multiply_keys(const Attention* all, Block* block, int64_t begin, int64_t seen,
                         float* scores) noexcept nogil:
    """Products of the block's rows with so many keys of the chunk at `begin`."""
    cdef int64_t strip = 3 * all.tiles.lanes, index, column, columns
    cdef const char* keys = keys_at(&all.key, block, begin)
    cdef aten_panel_tile tile
    if _multiply_few(all, block, keys, seen, scores):
        return
    if all.registers != NULL:
        _score_in_registers(all, block, begin, seen, scores)
        return
    tile.units = units_of(all)
    tile.left = block.query
    tile.left_row = block.query_row
    tile.left_step = 4
    tile.start = tile.base = tile.addend = NULL
    tile.out_row = all.scores_row
    for index in range((seen + strip - 1) // strip):
        column = index * strip
        columns = min(strip, seen - column)
        tile.right = pack_rows(all, &all.key, all.packs, all.width, block, begin, column, columns,
                               block.keys, &block.keys_packed, &tile.right_step)
        tile.out = scores + column
        run_strip(all.score_tiles, &tile, block.count, columns, 0)


cdef void _score_in_registers(const Attention* all, Block* block, int64_t begin, int64_t seen,
                              float* scores) noexcept nogil:
    cdef aten_register_keys work
    cdef int64_t units = units_of(all), first, count = seen
    cdef int64_t filled = (all.width + 1) // 2
    cdef char* panel = block.keys
    cdef char* keys
    if all.kept:
        panel += begin * units * 4
        count = min(all.chunk, all.keys - begin)
    if not all.kept or block.keys_packed <= begin:
        for first in range((count + REGISTER_KEYS - 1) // REGISTER_KEYS):
            keys = panel + first * REGISTER_KEYS * units * 4
            first *= REGISTER_KEYS
            pack_columns(all.packs, keys_at(&all.key, block, begin + first), all.key.row, 4, all.width,
                         min(<int64_t>REGISTER_KEYS, count - first), REGISTER_KEYS, False, keys)
            memset(keys + filled * REGISTER_KEYS * 4, 0, (units - filled) * REGISTER_KEYS * 4)
        block.keys_packed = begin + count
    work.queries = block.query
    work.queries_row = block.query_row
    work.rows = block.count
    work.steps = units // STEP_UNITS
    work.keys = panel
    work.count = seen
    work.out = scores
    work.out_row = all.scores_row
    all.registers.score(&work)


cdef const char* pack_rows(const Attention* all, const Heads* heads,
                           const aten_panel_packs* packs, int64_t width, const Block* block,
                           int64_t begin, int64_t column, int64_t columns, char* panel,
                           int64_t* packed, int64_t* step) noexcept nogil:
    cdef int64_t units = (width + packs.group - 1) // packs.group, lanes
    if all.kept:
        # As many as the strip has, so that it need not be packed again for rows that see more.
        columns = min(3 * <int64_t>all.tiles.lanes, min(all.chunk, all.keys - begin) - column)
        panel += (begin + column) * units * 4
    lanes = round_up(columns, all.tiles.lanes)
    step[0] = lanes * 4
    if all.kept and begin + column < packed[0]:
        return panel
    pack_columns(packs, keys_at(heads, block, begin + column), heads.row, 4, width, columns, lanes,
                 False, panel)
    packed[0] = begin + column + columns
    return panel


cdef bint _multiply_few(const Attention* all, const Block* block, const char* keys, int64_t seen,
                        float* scores) noexcept nogil:
    """The same of few rows with keys as they lie; False where these have to be packed."""
    cdef aten_panel_columns work
    cdef aten_panel_columns_function run = NULL
    if all.registers != NULL and all.width // all.packs.group > STRETCH:
        return False
    if block.count <= FEW_ROWS and all.width % all.packs.group == 0:
        run = panel_columns(all.kind, all.pack, block.count)
    if run == NULL:
        return False
    work.units = all.width // all.packs.group
    work.columns = seen
    work.left = block.query
    work.left_row = block.query_row
    work.right = keys
    work.right_column = all.key.row * item_size(all.key.code)
    work.ahead = KEYS_AHEAD * work.right_column
    if work.right_column == all.width * item_size(all.key.code):
        work.ahead = BYTES_AHEAD
    work.out = scores
    work.out_row = all.scores_row
    work.rows = block.count
    work.adds = False
    run(&work)
    return True


cdef void _weigh_values(const Attention* all, Block* block, int64_t begin, int64_t seen,
                        float* gained) noexcept nogil:
    """weights @ values of the chunk."""
    cdef int64_t lanes = all.tiles.lanes, strip = even_strip(all, all.value_width), packed = 0, index, column, columns
    cdef const char* values = keys_at(&all.value, block, begin)
    cdef char* panel = block.values
    cdef aten_panel_tile tile
    if all.registers != NULL and (block.count > FEW_ROWS or all.sum == NULL):
        _multiply_values(all, block, begin, seen, 0, gained)
        return
    if all.registers != NULL:
        _sum_lines(all, block, values, seen, gained)
        return
    if block.count <= FEW_ROWS and all.sum != NULL:
        _sum_values(all, block, values, seen, gained)
        return
    if all.kept:
        panel += begin * lanes_of(all) * 4
        packed = min(max(block.values_packed - begin, <int64_t>0), seen)
    tile.units = seen
    tile.left = <char*>block.scores
    tile.left_row = all.scores_row * 4
    tile.left_step = 4
    tile.start = tile.base = tile.addend = NULL
    tile.out_row = lanes_of(all)
    if all.value_width % lanes == 0 and is_near(&all.value):
        tile.right_step = all.value.row * sizeof(float)
        for index in range((all.value_width + strip - 1) // strip):
            column = index * strip
            tile.right = values + column * sizeof(float)
            tile.out = gained + column
            run_strip(all.tiles, &tile, block.count, min(strip, all.value_width - column), 0)
        return
    for index in range((all.value_width + strip - 1) // strip):
        column = index * strip
        columns = min(strip, all.value_width - column)
        tile.right_step = round_up(columns, lanes) * 4
        tile.right = panel + (column * all.chunk * 4 if all.kept else 0)
        if packed < seen:
            all.value_packs.zip(
                values + (packed * all.value.row + column) * item_size(all.value.code),
                all.value.row, seen - packed, columns, round_up(columns, lanes),
                <char*>tile.right + packed * tile.right_step)
        tile.out = gained + column
        run_strip(all.tiles, &tile, block.count, columns, 0)
    block.values_packed = max(block.values_packed, begin + seen)


cdef void _multiply_values(const Attention* all, Block* block, int64_t begin, int64_t seen,
                           int64_t first, float* gained) noexcept nogil:
    """The same by tile registers, of columns from `first` on."""
    cdef aten_register_values work
    work.weights = <const char*>block.scores
    work.weights_row = all.scores_row * 4
    work.rows = block.count
    work.steps = (seen + ATEN_STEP_KEYS - 1) // ATEN_STEP_KEYS
    work.values = _pack_pairs(all, block, begin, seen)
    work.width = lanes_of(all)
    work.first = first
    work.out = gained
    work.out_row = work.width
    all.registers.multiply(&work)


cdef const char* _pack_pairs(const Attention* all, Block* block, int64_t begin,
                             int64_t seen) noexcept nogil:
    """Values of the chunk as tile registers take them."""
    cdef int64_t lanes = lanes_of(all), units, count = seen
    cdef char* panel = block.values
    if all.kept:
        panel += begin * lanes * 2
        # As many as the chunk has: pairs of rows that see fewer would not be those of others.
        count = min(all.chunk, all.keys - begin)
    units = (count + 1) // 2
    if not all.kept or block.values_packed <= begin:
        panel_packs(ATEN_PACK_SHORTS).zip(keys_at(&all.value, block, begin), all.value.row, count,
                                          all.value_width, lanes, panel)
        memset(panel + units * lanes * 4, 0, (round_up(units, ATEN_STEP_KEYS // 2) - units) * lanes * 4)
        block.values_packed = begin + count
    return panel


cdef void _sum_lines(const Attention* all, const Block* block, const char* values, int64_t seen,
                     float* gained) noexcept nogil:
    """The same of few rows: values are read where they lie."""
    cdef aten_register_lines work
    cdef int64_t row = 0
    work.weights_row = all.scores_row * 4
    work.values = values
    work.step = all.value.row * 2
    work.keys = seen
    work.width = all.value_width
    work.out_row = lanes_of(all)
    while row < block.count:
        work.rows = min(<int64_t>4, block.count - row)
        work.weights = <const char*>(block.scores + row * all.scores_row)
        work.out = gained + row * work.out_row
        all.registers.sum(&work)
        row += work.rows


cdef void _sum_values(const Attention* all, const Block* block, const char* values, int64_t seen,
                      float* gained) noexcept nogil:
    """The same of few rows: values are read where they lie."""
    cdef aten_attention_values work
    cdef int64_t row = 0
    work.weights_row = all.scores_row
    work.values = values
    work.step = all.value.row * item_size(all.value.code)
    work.count = seen
    work.width = all.value_width
    work.out_row = lanes_of(all)
    while row < block.count:
        work.weights = block.scores + row * all.scores_row
        work.out = gained + row * work.out_row
        row += all.sum(&work, block.count - row)


cdef int64_t even_strip(const Attention* all, int64_t width) noexcept nogil:
    cdef int64_t vectors = (width + all.tiles.lanes - 1) // all.tiles.lanes
    cdef int64_t strips = (vectors + 2) // 3
    return (vectors + strips - 1) // strips * all.tiles.lanes


cdef void _finish(const Attention* all, Block* block) noexcept nogil:
    """Divide by the sums of weights, and write."""
    cdef int64_t lanes = lanes_of(all), index
    cdef int64_t head = block.head * all.group + block.first // all.queries
    cdef int64_t place = block.first % all.queries
    cdef float total
    cdef float* sums
    cdef char* out
    for index in range(block.count):
        if place == all.queries:
            place = 0
            head += 1
        total = block.totals[index]
        sums = block.sums + index * lanes
        out = all.out.data + (block.batch * all.out.batch + head * all.out.head
                              + place * all.out.row) * item_size(all.out.code)
        if total == 0:
            memset(sums, 0, lanes * sizeof(float))
            total = 1
        if all.out.code == FLOAT32:
            all.rows.scale_to(<float*>out, sums, all.value_width, 1 / total)
        else:
            all.rows.scale_to(sums, sums, lanes, 1 / total)
            transfer_run(<char*>sums, FLOAT32, 1, out, all.out.code, 1, all.value_width)
        (<float*>all.logarithms.data)[block.batch * all.logarithms.batch
                                      + head * all.logarithms.head
                                      + place * all.logarithms.row] = <float>(
            block.largest[index] + log(block.totals[index]))
        place += 1
