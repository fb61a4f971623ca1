# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions of channels that see one channel each: taps slide over a copy of its plane.

It has padding around it, and is parted by the steps of the window, so that every tap looks at a run
of memory.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.windows.direct cimport (
    ATEN_CUT, ATEN_MOST_LANES, aten_grid, aten_window_kernels, aten_windows,
)

cdef enum:
    # Elements of a copy: it stays in the second cache. And those from which on panels, which copy
    # nothing that is not seen, are the better way.
    PLANE = 1 << 14
    LARGE_PLANE = 1 << 17
    # Elements of a copy that is made ahead, and of results that curves go over at a time: they stay
    # in the first cache.
    SMALL_PLANE = 1 << 11
    FINISHED_TOGETHER = 1 << 11
    # Multiplications worth a claim of their own.
    CLAIM = 1 << 15


cdef int slide_all(const aten_windows* work, const aten_window_kernels* kernels,
                   int size) noexcept nogil:
    return _slide_planes(work, kernels, size, True)


cdef int slide_here(const aten_windows* work, const aten_window_kernels* kernels,
                    int size) noexcept nogil:
    return _slide_planes(work, kernels, size, False)


cdef int _slide_planes(const aten_windows* work, const aten_window_kernels* kernels, int size,
                       bint in_parallel) noexcept nogil:
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
    sliding.lines = _side_in_place(work) if kernels.slide_plane != NULL else 0
    sliding.in_place = sliding.lines != 0
    if not sliding.in_place:
        sliding.lines = _lines_of_taps(&sliding)
    else:
        # What lies before a part of a line is no padding.
        sliding.columns = work.sizes[2]
        sliding.across = 1
    planes = work.batch * work.groups * sliding.down * sliding.across
    each = sliding.rows * sliding.columns * (work.outputs * work.taps + 4)
    if in_parallel:
        parallel_for(planes, max(1, CLAIM // each), _slide, &sliding)
    else:
        _slide(&sliding, 0, planes)
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


cdef int64_t _side_in_place(const aten_windows* work) noexcept nogil:
    """3, 5 or 7 if the window is a square of so many taps a side, one line below the other, of which
    each position sees some in the plane; else 0."""
    cdef int64_t side = 3, tap
    while side * side < work.taps:
        side += 2
    if side * side != work.taps or side > 7 or work.sizes[0] != 1 or work.input_sizes[0] != 1:
        return 0
    if work.step[1] != work.step[2] or work.step[1] > 2:
        return 0
    if work.out_strides[2] != 1 or work.input_strides[2] != 1:
        return 0
    for tap in range(work.taps):
        if work.places[0][tap] != 0 or work.places[2][tap] != work.places[2][0] + tap % side:
            return 0
        if work.places[1][tap] != work.places[1][0] + tap // side:
            return 0
    if work.places[1][0] <= -side or (
            (work.sizes[1] - 1) * work.step[1] + work.places[1][0] >= work.input_sizes[1]):
        return 0
    return side


cdef struct Chunk:
    # Positions of one plane: where the first lies, and how many there are.
    int64_t image, group, z, y, x, rows, columns


cdef inline void _find_chunk(const Sliding* sliding, int64_t index, Chunk* chunk) noexcept nogil:
    cdef const aten_windows* work = sliding.work
    cdef int64_t each = sliding.down * sliding.across
    cdef int64_t bands = sliding.down // work.sizes[0]
    cdef int64_t plane = index // each
    cdef int64_t place = index - plane * each
    cdef int64_t band = place // sliding.across
    chunk.image = plane // work.groups
    chunk.group = plane - chunk.image * work.groups
    chunk.z = band // bands
    chunk.y = (band - chunk.z * bands) * sliding.rows
    chunk.x = (place - band * sliding.across) * sliding.columns
    _measure_chunk(sliding, chunk)


cdef inline void _measure_chunk(const Sliding* sliding, Chunk* chunk) noexcept nogil:
    chunk.rows = min(sliding.rows, sliding.work.sizes[1] - chunk.y)
    chunk.columns = min(sliding.columns, sliding.work.sizes[2] - chunk.x)


cdef inline void _advance_chunk(const Sliding* sliding, Chunk* chunk) noexcept nogil:
    """The one behind it; divisions would take as long as a small plane."""
    cdef const aten_windows* work = sliding.work
    chunk.x += sliding.columns
    if chunk.x >= work.sizes[2]:
        chunk.x = 0
        chunk.y += sliding.rows
    if chunk.y >= work.sizes[1]:
        chunk.y = 0
        chunk.z += 1
    if chunk.z == work.sizes[0]:
        chunk.z = 0
        chunk.group += 1
    if chunk.group == work.groups:
        chunk.group = 0
        chunk.image += 1
    _measure_chunk(sliding, chunk)


cdef void _slide(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Chunks begin … end of all planes.

    Loads that reach over several stores wait until those are in the cache. So a small plane is
    copied before its predecessor is seen, and curves go over many planes at once.
    """
    cdef Sliding* sliding = <Sliding*>context
    cdef const aten_windows* work = sliding.work
    cdef int64_t held = sliding.slots.count * sliding.height * sliding.pitch + ATEN_MOST_LANES
    cdef int64_t results = sliding.rows * sliding.pitch + ATEN_MOST_LANES
    cdef bint ahead = held <= SMALL_PLANE and not sliding.in_place
    cdef bint unfinished = _is_unfinished(sliding)
    cdef bint together = unfinished and _lie_together(sliding)
    cdef int64_t pending = begin, index
    cdef char* copied[2]
    cdef Chunk chunk
    cdef Chunk following
    copied[0] = <char*>malloc((held * (1 + ahead) + results) * sliding.size)
    if copied[0] == NULL:
        sliding.failed = True
        return
    copied[1] = copied[0] + held * ahead * sliding.size
    _find_chunk(sliding, begin, &following)
    if not sliding.in_place:
        _copy_chunk(sliding, &following, copied[begin & 1])
    for index in range(begin, end):
        chunk = following
        if index + 1 < end:
            _advance_chunk(sliding, &following)
            if ahead:
                _copy_chunk(sliding, &following, copied[(index + 1) & 1])
        _slide_chunk(sliding, &chunk, unfinished and not together, copied[index & 1],
                     copied[1] + held * sliding.size)
        if not ahead and not sliding.in_place and index + 1 < end:
            _copy_chunk(sliding, &following, copied[0])
        if together and (index + 1 == end
                         or (index + 1 - pending) * work.out_channel >= FINISHED_TOGETHER):
            sliding.kernels.finish(
                work.finish, sliding.lines == 0,
                <char*>work.out + pending * work.out_channel * sliding.size, 0, 1,
                (index + 1 - pending) * work.out_channel)
            pending = index + 1
    free(copied[0])


cdef inline void _copy_chunk(const Sliding* sliding, const Chunk* chunk,
                             char* copied) noexcept nogil:
    """With zeros behind each slot: vectors are loaded whole, and what memory held before may be
    numbers so small that processors take a hundred times as long for them."""
    cdef int64_t slots = sliding.slots.count, slot, end, behind
    copy_slots(sliding, chunk.image, chunk.group, chunk.z, chunk.y, chunk.x, chunk.rows, copied)
    for slot in range(slots):
        end = (slot * sliding.height + chunk.rows + sliding.slots.reach_y) * sliding.pitch
        behind = (slot + 1) * sliding.height * sliding.pitch - end
        if slot + 1 == slots:
            behind += ATEN_MOST_LANES
        memset(copied + end * sliding.size, 0, min(behind, <int64_t>ATEN_MOST_LANES) * sliding.size)


cdef bint _lie_together(const Sliding* sliding) noexcept nogil:
    """Whether results lie one plane after the other, a chunk each."""
    cdef const aten_windows* work = sliding.work
    return (work.outputs == 1 and sliding.down * sliding.across == 1
            and work.out_strides[2] == 1 and work.out_strides[1] == work.sizes[2]
            and work.out_channel == work.sizes[1] * work.sizes[2]
            and (work.batch == 1 or work.out_batch == work.groups * work.out_channel))


cdef inline bint _is_unfinished(const Sliding* sliding) noexcept nogil:
    """Whether something is left to do for sums that are stored: all of it, or curves."""
    return (sliding.work.finish != NULL
            and (sliding.lines == 0 or sliding.work.finish.activation != ATEN_CUT))


cdef void _slide_chunk(const Sliding* sliding, const Chunk* chunk, bint finishes,
                       const char* copied, char* results) noexcept nogil:
    cdef const aten_windows* work = sliding.work
    cdef int64_t rows = chunk.rows, columns = chunk.columns
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
    if sliding.in_place:
        grid.data = <const char*>work.input + (
            chunk.image * work.input_batch + chunk.group * work.input_channel) * sliding.size
        grid.offsets = work.places[2]
        grid.pitch = work.input_strides[1]
        grid.top = chunk.y * work.step[1] + work.places[1][0]
        grid.seen_rows = work.input_sizes[1]
        grid.seen_columns = work.input_sizes[2]
    for output in range(work.outputs):
        channel = chunk.group * work.outputs + output
        if work.bias != NULL:
            bias = <const char*>work.bias + channel * work.bias_step * sliding.size
        out = <char*>work.out + (chunk.image * work.out_batch + channel * work.out_channel
                                 + chunk.z * work.out_strides[0] + chunk.y * work.out_strides[1]
                                 + chunk.x * work.out_strides[2]) * sliding.size
        grid.weights = <const char*>work.weight + channel * work.weight_row * sliding.size
        if sliding.lines != 0:
            grid.bias = bias
            grid.out = out
            if sliding.in_place:
                sliding.kernels.slide_plane(&grid, work.step[1])
            else:
                sliding.kernels.slide_grid(&grid)
            if finishes:
                sliding.kernels.finish(work.finish, False, out, work.out_strides[1], rows, columns)
            continue
        sliding.kernels.slide(copied, sliding.slots.offsets, grid.weights, work.taps, bias,
                              results, (rows - 1) * sliding.pitch + columns)
        if work.out_strides[2] == 1:
            sliding.kernels.copy_lines(results, sliding.pitch, 1, 0, columns, columns, rows, out,
                                       work.out_strides[1])
            if finishes:
                sliding.kernels.finish(work.finish, True, out, work.out_strides[1], rows, columns)
            continue
        for row in range(rows):
            spread_line(results + row * sliding.pitch * sliding.size, out, work.out_strides[2],
                         columns, sliding.size)
            out += work.out_strides[1] * sliding.size


cdef void spread_line(const char* line, char* out, int64_t step, int64_t count,
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
