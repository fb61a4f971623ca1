# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions of float32 and float64 by kernels of our own.

There are two ways. Channels that see one channel each slide their taps over a copy of its plane:
with padding around it, and parted by the steps of the window, so that every tap looks at a run of
memory. All others are products of the weights with panels: what a strip of positions sees is
packed for a stretch of channels, as the kernel comes to it, and stays in the nearest cache while
all rows of weights pass by.

Threads claim planes, or pieces of the result. A result is summed over channels and taps in order,
in stretches that the weights' sizes alone decide, so how it is cut may depend on the number of
threads and on what lies beside it, and its bits do not.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from aten._core.tensor.tensor cimport (
    Tensor, TensorImpl, const_data_pointer, data_pointer, require_memory,
)
from aten._core.threads.parallel cimport parallel_for, thread_count

cdef enum:
    # Channels of a result that slide over one copy of what they see.
    FEW_OUTPUTS = 4
    # Elements of such a copy: it stays in the second cache. And those from which on panels, which
    # copy nothing that is not seen, are the better way.
    PLANE = 1 << 14
    LARGE_PLANE = 1 << 17
    # Multiplications worth a claim of their own.
    CLAIM = 1 << 15
    # Pieces for each thread, to even out a slow one; and elements of the result in one, which is
    # read again at every stretch.
    PIECES_PER_THREAD = 2
    PIECE = 1 << 16
    FEWEST_ROWS = 32
    # Strips whose panels are multiplied by turns, so that weights that have no room in the second
    # cache are read once for all of them: so many bytes, a few rows at a time.
    TOGETHER = 4
    MANY_WEIGHTS = 1 << 17
    ROWS_TOGETHER = 64
    # Positions that are left over of so many are summed along the depth if they are few.
    LEFT_OVER = 16
    FEW_LEFT = 8

cdef int _vector_bytes = aten_widest_window_vectors()

cdef struct Panels:
    const aten_windows* work
    const aten_window_kernels* kernels
    int64_t size
    int64_t channels        # of a stretch, and its taps
    int64_t taps
    int64_t width           # positions of a strip
    int64_t positions       # of an image; those from `whole` on are the few left over
    int64_t whole
    int64_t strips          # of an image, and of a piece
    int64_t strips_each
    int64_t rows_each
    int64_t across          # pieces of an image, along positions and channels
    int64_t down
    int64_t together        # strips
    int64_t panel           # bytes
    bint holds              # a piece is summed elsewhere: its positions have gaps in memory, or
    bint is_dense           # its channels keep each other out of the caches
    bint is_straight        # what positions see follows each other in memory as they do
    bint failed

cdef struct Strip:
    # One that is being multiplied.
    int64_t place
    int64_t columns
    int64_t width
    const char* source      # of whole vectors, which the first rows make the panel of; or nothing
    char* panel


def vector_bytes():
    """The width of the vectors in use."""
    return _vector_bytes


def set_vector_bytes(int count):
    """Use vectors of 16, 32 or 64 bytes. Raises ValueError where the processor has none."""
    global _vector_bytes
    if count not in (16, 32, 64) or count > aten_widest_window_vectors():
        raise ValueError(
            f"expected 16, 32 or 64 and at most {aten_widest_window_vectors()}, got {count}")
    _vector_bytes = count


cdef int read_finish(aten_finish* finish, TensorImpl out, given) except -1:
    """Raises ValueError for a residual that does not lie as `out` does."""
    cdef Tensor residual
    cdef int dim
    residual, finish.low, finish.high, finish.activation = given
    if not ATEN_CUT <= finish.activation <= ATEN_GELU_TANH:
        raise ValueError(f"there is no activation {finish.activation}")
    finish.adds = residual is not None
    finish.residual = 0
    if residual is None:
        return 0
    require_memory(<TensorImpl>residual)
    if residual.rank != out.rank or residual.dtype_code != out.dtype_code:
        raise ValueError("a residual has to be like the result")
    for dim in range(out.rank):
        if residual.sizes[dim] != out.sizes[dim] or (
                residual.strides[dim] != out.strides[dim] and out.sizes[dim] != 1):
            raise ValueError("a residual has to lie as the result does")
    finish.residual = <int64_t>const_data_pointer(residual) - <int64_t>data_pointer(out)
    return 0


cdef const aten_window_kernels* kernels_of(bint is_double) noexcept nogil:
    return aten_window_kernels_of(is_double, _vector_bytes)


cdef bint convolve_directly(const aten_windows* work, bint is_double) noexcept nogil:
    cdef const aten_window_kernels* kernels = kernels_of(is_double)
    cdef int size = 8 if is_double else 4
    cdef int taken
    if work.inputs == 1 and work.outputs <= FEW_OUTPUTS and work.taps > 0:
        taken = _slide_all(work, kernels, size)
        if taken != 0:
            return taken > 0
    return _multiply_all(work, kernels, size)


# Sliding

cdef int _slide_all(const aten_windows* work, const aten_window_kernels* kernels,
                    int size) noexcept nogil:
    """1 if done, 0 if panels are the better way, -1 without memory."""
    cdef Sliding sliding
    cdef int64_t* memory = <int64_t*>malloc(4 * work.taps * sizeof(int64_t))
    cdef int64_t planes, each
    if memory == NULL:
        return -1
    sliding.work = work
    sliding.kernels = kernels
    sliding.size = size
    sliding.failed = False
    if not plan_sliding(&sliding, memory, PLANE):
        free(memory)
        return 0
    sliding.lines = _lines_of_taps(&sliding)
    planes = work.batch * work.groups * sliding.down * sliding.across
    each = sliding.rows * sliding.columns * (work.outputs * work.taps + 4)
    parallel_for(planes, max(1, CLAIM // each), _slide, &sliding)
    free(memory)
    return -1 if sliding.failed else 1


cdef int64_t _least(const int64_t* numbers, int64_t count) noexcept nogil:
    cdef int64_t index, least = numbers[0]
    for index in range(1, count):
        least = min(least, numbers[index])
    return least


cdef void _find_slots(Sliding* sliding, int64_t* memory) noexcept nogil:
    """The slots that taps look into. Their offsets hold the slot for now."""
    cdef const aten_windows* work = sliding.work
    cdef Slots* slots = &sliding.slots
    cdef int64_t tap, slot, z, y, x, row, column
    cdef int64_t least_y = _least(work.places[1], work.taps)
    cdef int64_t least_x = _least(work.places[2], work.taps)
    slots.z = memory
    slots.y = memory + work.taps
    slots.x = memory + 2 * work.taps
    slots.offsets = memory + 3 * work.taps
    slots.count = slots.reach_y = slots.reach_x = 0
    for tap in range(work.taps):
        row = (work.places[1][tap] - least_y) // work.step[1]
        column = (work.places[2][tap] - least_x) // work.step[2]
        z = work.places[0][tap]
        y = work.places[1][tap] - row * work.step[1]
        x = work.places[2][tap] - column * work.step[2]
        slot = 0
        while slot < slots.count and not (slots.z[slot] == z and slots.y[slot] == y
                                          and slots.x[slot] == x):
            slot += 1
        if slot == slots.count:
            slots.z[slot] = z
            slots.y[slot] = y
            slots.x[slot] = x
            slots.count += 1
        slots.offsets[tap] = slot
        slots.reach_y = max(slots.reach_y, row)
        slots.reach_x = max(slots.reach_x, column)


cdef bint plan_sliding(Sliding* sliding, int64_t* memory, int64_t plane) noexcept nogil:
    """Slots, and chunks whose copies have about so many elements; False where they would be too
    large. `memory` has room for four numbers of each tap."""
    _find_slots(sliding, memory)
    if not _cut_plane(sliding, plane):
        return False
    _place_taps(sliding)
    return True


cdef bint _cut_plane(Sliding* sliding, int64_t plane) noexcept nogil:
    """Choose the chunks; False where copies of what they see would be too large."""
    cdef const aten_windows* work = sliding.work
    cdef const Slots* slots = &sliding.slots
    cdef int64_t lines, length
    if max(slots.reach_y, slots.reach_x) >= LARGE_PLANE:
        return False
    lines = slots.count * (slots.reach_y + 1)
    length = max(<int64_t>256, plane // lines - slots.reach_x)
    sliding.columns = min(work.sizes[2], length)
    sliding.across = (work.sizes[2] + sliding.columns - 1) // sliding.columns
    sliding.columns = (work.sizes[2] + sliding.across - 1) // sliding.across
    sliding.pitch = sliding.columns + slots.reach_x
    if sliding.pitch > LARGE_PLANE or lines > LARGE_PLANE // sliding.pitch:
        return False
    sliding.rows = max(<int64_t>1, plane // (slots.count * sliding.pitch) - slots.reach_y)
    sliding.rows = min(work.sizes[1], sliding.rows)
    sliding.down = (work.sizes[1] + sliding.rows - 1) // sliding.rows
    sliding.rows = (work.sizes[1] + sliding.down - 1) // sliding.down
    sliding.down = (work.sizes[1] + sliding.rows - 1) // sliding.rows * work.sizes[0]
    sliding.height = sliding.rows + slots.reach_y
    return True


cdef void _place_taps(Sliding* sliding) noexcept nogil:
    cdef const aten_windows* work = sliding.work
    cdef Slots* slots = &sliding.slots
    cdef int64_t tap, slot
    for tap in range(work.taps):
        slot = slots.offsets[tap]
        slots.offsets[tap] = (
            (slot * sliding.height + (work.places[1][tap] - slots.y[slot]) // work.step[1])
            * sliding.pitch + (work.places[2][tap] - slots.x[slot]) // work.step[2])


cdef int64_t _lines_of_taps(const Sliding* sliding) noexcept nogil:
    """3, 5 or 7 if so many lines of taps are alike, each a line of the copy below the other."""
    cdef const int64_t* offsets = sliding.slots.offsets
    cdef int64_t lines = sliding.slots.reach_y + 1
    cdef int64_t each = sliding.work.taps // lines
    cdef int64_t tap
    if lines not in (3, 5, 7) or each * lines != sliding.work.taps:
        return 0
    if sliding.work.out_strides[2] != 1:
        return 0
    for tap in range(each, sliding.work.taps):
        if offsets[tap] != offsets[tap - each] + sliding.pitch:
            return 0
    return lines


cdef void _slide(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Chunks begin … end of all planes."""
    cdef Sliding* sliding = <Sliding*>context
    cdef const aten_windows* work = sliding.work
    cdef int64_t each = sliding.down * sliding.across
    cdef int64_t held = sliding.slots.count * sliding.height * sliding.pitch + ATEN_MOST_LANES
    cdef int64_t results = sliding.rows * sliding.pitch + ATEN_MOST_LANES
    cdef char* copied = <char*>malloc((held + results) * sliding.size)
    cdef int64_t index, plane, chunk
    if copied == NULL:
        sliding.failed = True
        return
    for index in range(begin, end):
        plane = index // each
        chunk = index - plane * each
        _slide_chunk(sliding, plane // work.groups, plane % work.groups, chunk // sliding.across,
                     chunk % sliding.across * sliding.columns, copied,
                     copied + held * sliding.size)
    free(copied)


cdef void _slide_chunk(const Sliding* sliding, int64_t image, int64_t group, int64_t chunk,
                       int64_t x, char* copied, char* results) noexcept nogil:
    cdef const aten_windows* work = sliding.work
    cdef int64_t bands = sliding.down // work.sizes[0]
    cdef int64_t z = chunk // bands
    cdef int64_t y = chunk % bands * sliding.rows
    cdef int64_t rows = min(sliding.rows, work.sizes[1] - y)
    cdef int64_t columns = min(sliding.columns, work.sizes[2] - x)
    cdef int64_t output, channel, row
    cdef const char* bias = NULL
    cdef char* out
    cdef aten_grid grid
    grid.data = copied
    grid.offsets = sliding.slots.offsets
    grid.height = sliding.lines
    grid.taps = work.taps // max(<int64_t>1, sliding.lines)
    grid.pitch = sliding.pitch
    grid.out_line = work.out_strides[1]
    grid.rows = rows
    grid.columns = columns
    grid.finish = work.finish
    copy_slots(sliding, image, group, z, y, x, rows, copied)
    for output in range(work.outputs):
        channel = group * work.outputs + output
        if work.bias != NULL:
            bias = <const char*>work.bias + channel * work.bias_step * sliding.size
        out = <char*>work.out + (image * work.out_batch + channel * work.out_channel
                                 + z * work.out_strides[0] + y * work.out_strides[1]
                                 + x * work.out_strides[2]) * sliding.size
        grid.weights = <const char*>work.weight + channel * work.weight_row * sliding.size
        if sliding.lines != 0:
            grid.bias = bias
            grid.out = out
            sliding.kernels.slide_grid(&grid)
            if work.finish != NULL and work.finish.activation != ATEN_CUT:
                sliding.kernels.finish(work.finish, False, out, work.out_strides[1], rows, columns)
            continue
        sliding.kernels.slide(copied, sliding.slots.offsets, grid.weights, work.taps, bias,
                              results, (rows - 1) * sliding.pitch + columns)
        if work.out_strides[2] == 1:
            sliding.kernels.copy_lines(results, sliding.pitch, 1, 0, columns, columns, rows, out,
                                       work.out_strides[1])
            if work.finish != NULL:
                sliding.kernels.finish(work.finish, True, out, work.out_strides[1], rows, columns)
            continue
        for row in range(rows):
            _spread_line(results + row * sliding.pitch * sliding.size, out, work.out_strides[2],
                         columns, sliding.size)
            out += work.out_strides[1] * sliding.size


cdef void _spread_line(const char* line, char* out, int64_t step, int64_t count,
                       int64_t size) noexcept nogil:
    cdef int64_t index
    if size == 4:
        for index in range(count):
            (<float*>out)[index * step] = (<const float*>line)[index]
    else:
        for index in range(count):
            (<double*>out)[index * step] = (<const double*>line)[index]


cdef void copy_slots(const Sliding* sliding, int64_t image, int64_t group, int64_t z, int64_t y,
                      int64_t x, int64_t rows, char* copied) noexcept nogil:
    """What a chunk of positions sees, slot after slot, with zeros for padding."""
    cdef const aten_windows* work = sliding.work
    cdef const Slots* slots = &sliding.slots
    cdef const char* data = <const char*>work.input + (
        image * work.input_batch + group * work.input_channel) * sliding.size
    cdef int64_t step = work.step[2], length = work.input_sizes[2]
    cdef int64_t slot, plane, first, low, high, line, above, below
    cdef int64_t lines = rows + slots.reach_y
    cdef int64_t height = work.step[1]
    cdef char* to
    for slot in range(slots.count):
        plane = z * work.step[0] + slots.z[slot]
        first = x * step + slots.x[slot]
        line = y * height + slots.y[slot]
        _see(first, step, work.input_sizes[2], sliding.pitch, &low, &high)
        _see(line, height, work.input_sizes[1], lines, &above, &below)
        if not (0 <= plane < work.input_sizes[0]) or high == low:
            above = below = 0
        to = copied + slot * sliding.height * sliding.pitch * sliding.size
        memset(to, 0, above * sliding.pitch * sliding.size)
        sliding.kernels.copy_lines(
            data + (plane * work.input_strides[0] + (line + above * height) * work.input_strides[1]
                    + first * work.input_strides[2]) * sliding.size,
            height * work.input_strides[1], step * work.input_strides[2], low, high,
            sliding.pitch, below - above, to + above * sliding.pitch * sliding.size,
            sliding.pitch)
        memset(to + below * sliding.pitch * sliding.size, 0,
               (lines - below) * sliding.pitch * sliding.size)


cdef inline void _see(int64_t first, int64_t step, int64_t length, int64_t count, int64_t* low,
                      int64_t* high) noexcept nogil:
    """Which of `count` places, `step` apart from `first` on, lie within `length`."""
    low[0] = min(count, (step - 1 - first) // step) if first < 0 else 0
    high[0] = min(count, (length - first + step - 1) // step) if first < length else 0
    high[0] = max(low[0], high[0])


# Panels

cdef bint _multiply_all(const aten_windows* work, const aten_window_kernels* kernels,
                        int size) noexcept nogil:
    cdef Panels panels
    panels.work = work
    panels.kernels = kernels
    panels.size = size
    panels.failed = False
    _cut_depth(&panels)
    _cut_result(&panels)
    parallel_for(work.batch * work.groups * panels.across * panels.down,
                 max(<int64_t>1, CLAIM // max(<int64_t>1, panels.strips_each * panels.width
                                              * panels.rows_each * work.inputs * work.taps)),
                 _run_pieces, &panels)
    return not panels.failed


cdef int64_t _even_share(int64_t total, int64_t wanted) noexcept nogil:
    """The size of parts of about `wanted` that differ little."""
    cdef int64_t parts = max(<int64_t>1, (total + wanted - 1) // wanted)
    return (total + parts - 1) // parts


cdef void _cut_depth(Panels* panels) noexcept nogil:
    """Choose the stretches, by the weights' sizes alone."""
    cdef const aten_windows* work = panels.work
    cdef int64_t depth = work.stretch
    panels.channels = max(<int64_t>1, _even_share(work.inputs,
                                                  max(<int64_t>1, depth // max(<int64_t>1, work.taps))))
    panels.taps = _even_share(work.taps, depth)


cdef void _cut_result(Panels* panels) noexcept nogil:
    """Choose the strips and pieces."""
    cdef const aten_windows* work = panels.work
    cdef int lanes = panels.kernels.lanes
    cdef int64_t images = work.batch * work.groups
    cdef int64_t wanted = PIECES_PER_THREAD * thread_count()
    cdef int64_t vectors
    panels.positions = work.sizes[0] * work.sizes[1] * work.sizes[2]
    panels.whole = panels.positions
    if panels.positions % LEFT_OVER <= FEW_LEFT:
        panels.whole -= panels.positions % LEFT_OVER
    vectors = (panels.whole + lanes - 1) // lanes
    panels.strips = max(<int64_t>1, (vectors + ATEN_VECTORS - 1) // ATEN_VECTORS)
    panels.width = max(<int64_t>1, (vectors + panels.strips - 1) // panels.strips) * lanes
    panels.strips = (panels.whole + panels.width - 1) // panels.width
    if panels.whole < panels.positions:
        panels.strips += 1
    panels.rows_each = work.outputs
    panels.strips_each = max(<int64_t>1, PIECE // (panels.width * work.outputs))
    panels.strips_each = min(panels.strips_each,
                             max(<int64_t>1, panels.strips * images // wanted))
    panels.strips_each = _even_share(panels.strips, panels.strips_each)
    panels.across = (panels.strips + panels.strips_each - 1) // panels.strips_each
    panels.down = 1
    if images * panels.across < wanted:
        panels.down = (wanted + images * panels.across - 1) // (images * panels.across)
        panels.rows_each = max(<int64_t>FEWEST_ROWS,
                               (work.outputs + panels.down - 1) // panels.down)
        panels.rows_each = (panels.rows_each + 7) // 8 * 8
        panels.down = (work.outputs + panels.rows_each - 1) // panels.rows_each
    panels.is_dense = _is_dense(work.sizes, work.out_strides)
    panels.is_straight = _is_straight(work)
    panels.holds = not panels.is_dense or (work.out_channel * panels.size % ATEN_ALIAS == 0
                                           and panels.channels * panels.taps
                                           < work.inputs * work.taps)
    panels.panel = (panels.channels * panels.taps * max(panels.width, <int64_t>LEFT_OVER)
                    * panels.size + 63) // 64 * 64
    panels.together = 1
    if panels.rows_each * panels.channels * panels.taps * panels.size > MANY_WEIGHTS:
        panels.together = min(panels.strips_each, <int64_t>TOGETHER)


cdef bint _is_dense(const int64_t* sizes, const int64_t* strides) noexcept nogil:
    """Whether positions follow each other in memory."""
    cdef int64_t stride = 1
    cdef int dim
    for dim in range(2, -1, -1):
        if strides[dim] != stride and sizes[dim] != 1:
            return False
        stride *= sizes[dim]
    return True


cdef bint _is_straight(const aten_windows* work) noexcept nogil:
    cdef int dim
    if work.taps != 1 or not _is_dense(work.input_sizes, work.input_strides):
        return False
    for dim in range(3):
        if work.places[dim][0] != 0 or work.sizes[dim] != work.input_sizes[dim]:
            return False
        if work.step[dim] != 1 and work.sizes[dim] != 1:
            return False
    return True


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Panels* panels = <Panels*>context
    cdef const aten_windows* work = panels.work
    cdef int64_t panel = panels.panel
    cdef int64_t held = _held_row(panels) * panels.rows_each * panels.size if panels.holds else 0
    cdef char* memory = <char*>malloc(panel * panels.together + held + 64)
    cdef char* aligned = <char*>((<size_t>memory + 63) // 64 * 64)
    cdef int64_t index, piece, image
    if memory == NULL:
        panels.failed = True
        return
    for index in range(begin, end):
        image = index // (panels.across * panels.down)
        piece = index - image * panels.across * panels.down
        _run_piece(panels, image // work.groups, image % work.groups,
                   piece // panels.down * panels.strips_each,
                   piece % panels.down * panels.rows_each, aligned,
                   aligned + panel * panels.together)
    free(memory)


cdef inline int64_t _held_row(const Panels* panels) noexcept nogil:
    # An odd number of cache lines: rows do not keep each other out.
    return ((panels.strips_each * panels.width + LEFT_OVER + 15) // 16 | 1) * 16


cdef void _run_piece(const Panels* panels, int64_t image, int64_t group, int64_t strip,
                     int64_t row, char* panel, char* held) noexcept nogil:
    """Strips from `strip` on of channels from `row` on, stretch after stretch."""
    cdef const aten_windows* work = panels.work
    cdef int64_t size = panels.size
    cdef int64_t rows = min(panels.rows_each, work.outputs - row)
    cdef int64_t end = min(strip + panels.strips_each, panels.strips)
    cdef int64_t first = group * work.outputs + row
    cdef const char* input = <const char*>work.input + (
        image * work.input_batch + group * work.inputs * work.input_channel) * size
    cdef const char* weight = <const char*>work.weight + first * work.weight_row * size
    cdef char* final = <char*>work.out + (image * work.out_batch + first * work.out_channel) * size
    cdef char* out = final
    cdef int64_t channel = 0, tap = 0, channels, taps, index
    cdef aten_window_tile tile
    tile.left_row = work.weight_row
    tile.out_row = work.out_channel
    if panels.holds:
        tile.out_row = _held_row(panels)
        out = held - min(strip * panels.width, panels.whole) * size
    tile.bias_step = work.bias_step
    tile.bias = NULL
    if work.bias != NULL:
        tile.bias = <const char*>work.bias + first * work.bias_step * size
    tile.adds = False
    tile.ahead = False
    tile.finish = NULL
    tile.source_row = work.input_channel
    while True:
        channels = min(panels.channels, work.inputs - channel)
        taps = min(panels.taps, work.taps - tap)
        if channel + channels >= work.inputs and (tap + taps == work.taps or channels == 0):
            tile.finish = NULL if panels.holds else work.finish
        tile.depth = channels * taps
        tile.left = weight + (channel * work.taps + tap) * size
        index = strip
        while index < end:
            _multiply_strips(panels, &tile, input + channel * work.input_channel * size, channels,
                             tap, tap + taps, index, min(index + panels.together, end), rows, out,
                             panel)
            index += panels.together
        tile.adds = True
        tap += taps
        if tap == work.taps:
            tap = 0
            channel += channels
        if channel >= work.inputs:
            break
    if panels.holds:
        for index in range(strip, end):
            _write_strip(panels, min(index * panels.width, panels.whole), rows, out,
                         tile.out_row, final)


cdef void _write_strip(const Panels* panels, int64_t place, int64_t rows, const char* held,
                       int64_t held_row, char* out) noexcept nogil:
    """A strip that was summed elsewhere goes to where its positions lie."""
    cdef const aten_windows* work = panels.work
    cdef aten_strip strip
    cdef const aten_piece* piece
    cdef int64_t row
    cdef int64_t size = panels.size
    cdef int index
    _describe_strip(panels, place, &strip)
    if panels.is_dense:
        out += place * size
        panels.kernels.copy_lines(held + place * size, held_row, 1, 0, strip.columns, strip.columns,
                                  rows, out, work.out_channel)
        if work.finish != NULL:
            panels.kernels.finish(work.finish, True, out, work.out_channel, rows, strip.columns)
        return
    for index in range(strip.pieces):
        piece = &strip.piece[index]
        for row in range(rows):
            _spread_line(held + (row * held_row + place + piece.column) * size,
                         out + (row * work.out_channel + piece.z * work.out_strides[0]
                                + piece.y * work.out_strides[1]
                                + piece.x * work.out_strides[2]) * size,
                         work.out_strides[2], piece.count, size)


cdef void _multiply_strips(const Panels* panels, aten_window_tile* stretch, const char* data,
                           int64_t channels, int64_t begin, int64_t end, int64_t first,
                           int64_t last, int64_t rows, char* out, char* panel) noexcept nogil:
    """Strips first … last over one stretch, a few rows of weights after the other."""
    cdef int64_t size = panels.size
    cdef int64_t count = last - first
    cdef int64_t step = rows if count == 1 else <int64_t>ROWS_TOGETHER
    cdef int64_t row = 0
    cdef int64_t index
    cdef Strip strips[TOGETHER]
    cdef Strip* strip
    cdef aten_window_tile tile = stretch[0]
    for index in range(count):
        strip = &strips[index]
        strip.place = min((first + index) * panels.width, panels.whole)
        strip.panel = panel + index * panels.panel
        _prepare_strip(panels, strip, data, channels, begin, end)
    while row < rows:
        tile.left = <const char*>stretch.left + row * tile.left_row * size
        if stretch.bias != NULL:
            tile.bias = <const char*>stretch.bias + row * tile.bias_step * size
        for index in range(count):
            strip = &strips[index]
            tile.columns = strip.columns
            tile.width = strip.width
            tile.right = strip.panel
            tile.source = strip.source if row == 0 else NULL
            tile.out = out + (row * tile.out_row + strip.place) * size
            _multiply_rows(panels, &tile, strip.place < panels.whole, min(step, rows - row))
        row += step


cdef void _multiply_rows(const Panels* panels, const aten_window_tile* tile, bint is_whole,
                         int64_t rows) noexcept nogil:
    if is_whole:
        panels.kernels.multiply(tile, rows)
    else:
        panels.kernels.dots(tile, rows)
    if tile.finish != NULL and tile.finish.activation != ATEN_CUT:
        panels.kernels.finish(tile.finish, False, tile.out, tile.out_row, rows, tile.columns)


cdef void _prepare_strip(const Panels* panels, Strip* given, const char* data, int64_t channels,
                         int64_t begin, int64_t end) noexcept nogil:
    """Its panel, unless that can be made while the first rows are multiplied."""
    cdef int lanes = panels.kernels.lanes
    cdef aten_strip strip
    given.source = NULL
    if panels.is_straight and given.place < panels.whole:
        given.columns = min(panels.width, panels.whole - given.place)
        given.width = given.columns
        if given.columns % lanes == 0:
            given.source = data + given.place * panels.size
            return
    _describe_strip(panels, given.place, &strip)
    panels.kernels.pack(panels.work, &strip, data, channels, begin, end, given.panel)
    given.columns = strip.columns
    given.width = strip.width


cdef void _describe_strip(const Panels* panels, int64_t place, aten_strip* strip) noexcept nogil:
    """Cut the positions from `place` on into pieces."""
    cdef const int64_t* sizes = panels.work.sizes
    cdef int lanes = panels.kernels.lanes
    cdef int64_t line = place // sizes[2]
    cdef int64_t x = place - line * sizes[2]
    cdef int64_t z = line // sizes[1]
    cdef int64_t y = line - z * sizes[1]
    cdef int64_t column = 0
    cdef aten_piece* piece
    strip.columns = panels.positions - place
    if place < panels.whole:
        strip.columns = min(panels.width, panels.whole - place)
    strip.width = (strip.columns + lanes - 1) // lanes * lanes
    strip.pieces = 0
    while column < strip.columns:
        piece = &strip.piece[strip.pieces]
        piece.column = column
        piece.count = min(min(lanes - column % lanes, sizes[2] - x), strip.columns - column)
        piece.z = z
        piece.y = y
        piece.x = x
        strip.pieces += 1
        column += piece.count
        x += piece.count
        if x == sizes[2]:
            x = 0
            y += 1
        if y == sizes[1]:
            y = 0
            z += 1
