# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions of float32 and float64 by kernels of our own.

There are three ways. Channels that see one channel each slide their taps over a copy of its plane:
with padding around it, and parted by the steps of the window, so that every tap looks at a run of
memory. All others are products of the weights with panels: what a strip of positions sees is
packed for a stretch of channels, as the kernel comes to it, and stays in the nearest cache while
all rows of weights pass by.

Threads claim planes, or pieces of the result. A result is summed over channels and taps in order,
in stretches that the weights' sizes alone decide, so how it is cut may depend on the number of
threads and on what lies beside it, and its bits do not.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, data_pointer,
                                            require_memory)
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.windows.gliding cimport glide_all, glide_here, may_glide
from aten.backends.cpu.kernels.windows.sliding cimport slide_all, spread_line
from aten.backends.cpu.kernels.windows.window_strips cimport (
    FEW_LEFT, LEFT_OVER, TOGETHER, Panels, columns_of, cut_depth, cut_result, cut_strips,
    describe_strip, place_of, plan_panels,
)
from aten.backends.cpu.kernels.windows.winograd cimport convolve_tiles, has_tiles

cdef extern from "convolution_levels.h" nogil:
    int aten_widest_window_vectors()
    bint aten_make_pair_kernels(aten_window_kernels* made)
    void aten_pair_lines(const void* source, int64_t channels, int64_t count, int64_t begin,
                         int64_t end, void* target)
    const aten_window_kernels* aten_window_kernels_of(int is_double, int vector_bytes)

cdef enum:
    # Channels of a result that slide over one copy of what they see.
    FEW_OUTPUTS = 4
    # Multiplications worth a claim of their own.
    CLAIM = 1 << 15
    # Bytes of panels that are made before all products.
    MADE_AHEAD = 1 << 23
    # Threads that each make all panels for themselves in less time than it takes to read those that
    # others made: some, and one more for so many channels of the result.
    FEW_THREADS = 3
    ROWS_OF_A_THREAD = 48
    # Rows that are multiplied with one strip before the next one has its turn.
    ROWS_TOGETHER = 64

cdef int _vector_bytes = aten_widest_window_vectors()
cdef aten_window_kernels _pair_kernels
cdef bint _has_pair_kernels = aten_make_pair_kernels(&_pair_kernels)

cdef struct Strip:
    # One that is being multiplied.
    int64_t place
    int64_t columns
    int64_t width
    const char* source      # of whole vectors, which the first rows make the panel of; or nothing
    const char* next        # the source of a strip that has its turn soon; or nothing
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


cdef void pair_lines(const void* source, int64_t channels, int64_t count, int64_t begin,
                     int64_t end, void* target) noexcept nogil:
    aten_pair_lines(source, channels, count, begin, end, target)


cdef bint convolve_directly(const aten_windows* work, bint is_double) noexcept nogil:
    cdef const aten_window_kernels* kernels = kernels_of(is_double)
    cdef int size = 8 if is_double else 4
    cdef int taken
    if work.inputs == 1 and work.outputs <= FEW_OUTPUTS and work.taps > 0:
        taken = slide_all(work, kernels, size)
        if taken != 0:
            return taken > 0
    taken = glide_all(work, kernels, kernels, size, size)
    if taken != 0:
        return taken > 0
    if not is_double and has_tiles(work):
        return _convolve_tiles(work, kernels, size, False)
    return _multiply_all(work, kernels, size, size)


cdef bint convolve_taps_first(const aten_windows* work) noexcept nogil:
    return _convolve_tiles(work, kernels_of(False), 4, True)


cdef bint sums_in_order(const aten_windows* work) noexcept nogil:
    # Copies of few channels are summed in stretches of their own.
    if may_glide(work) and work.inputs * work.taps > work.stretch:
        return False
    return not (work.inputs == 1 and work.outputs <= FEW_OUTPUTS or has_tiles(work))


cdef bint has_pair_kernels() noexcept nogil:
    return _has_pair_kernels and _vector_bytes == 64


cdef bint convolve_pairs_directly(const aten_windows* work) noexcept nogil:
    cdef int taken = glide_all(work, &_pair_kernels, kernels_of(False), 4, 2)
    return taken > 0 if taken != 0 else _multiply_all(work, &_pair_kernels, 4, 2)


cdef bint _convolve_tiles(const aten_windows* work, const aten_window_kernels* kernels, int size,
                          bint taps_first) noexcept nogil:
    """By fewer products, and images whose results are not all finite by all of them."""
    cdef char* redo = <char*>calloc(work.batch, 1)
    cdef float* turned = NULL
    cdef bint done
    cdef int64_t image
    cdef aten_windows one = work[0]
    if redo == NULL:
        return False
    done = convolve_tiles(work, kernels, redo, taps_first)
    one.batch = 1
    for image in range(work.batch):
        if done and redo[image]:
            if taps_first and turned == NULL:
                turned = _with_taps_last(work)
                one.weight = turned
                done = turned != NULL
                if not done:
                    break
            one.input = <const char*>work.input + image * work.input_batch * size
            one.out = <char*>work.out + image * work.out_batch * size
            done = _multiply_all(&one, kernels, size, size)
    free(turned)
    free(redo)
    return done


cdef float* _with_taps_last(const aten_windows* work) noexcept nogil:
    """The weights as all other kernels read them, or NULL without memory."""
    cdef int64_t channels = work.groups * work.outputs, channel, input, tap
    cdef float* turned = <float*>malloc(channels * work.weight_row * sizeof(float))
    cdef const float* weight = <const float*>work.weight
    if turned == NULL:
        return NULL
    for channel in range(channels):
        for input in range(work.inputs):
            for tap in range(work.taps):
                turned[channel * work.weight_row + input * work.taps + tap] = (
                    weight[channel * work.weight_row + tap * work.inputs + input])
    return turned


cdef bint _multiply_all(const aten_windows* work, const aten_window_kernels* kernels, int size,
                        int out_size) noexcept nogil:
    cdef Panels panels
    panels.work = work
    panels.kernels = kernels
    panels.size = size
    panels.out_size = out_size
    panels.failed = panels.by_rows = False
    panels.made = NULL
    cut_depth(&panels)
    cut_result(&panels)
    if panels.by_rows:
        _make_panels(&panels)
    parallel_for(work.batch * work.groups * panels.across * panels.down,
                 max(<int64_t>1, CLAIM // max(<int64_t>1, panels.strips_each * panels.width
                                              * panels.rows_each * work.inputs * work.taps)),
                 _run_pieces, &panels)
    free(panels.made)
    return not panels.failed


cdef void _make_panels(Panels* panels) noexcept nogil:
    """All of them, by all threads, where they are copies and have room in a cache."""
    cdef const aten_windows* work = panels.work
    cdef int64_t count
    cdef char* memory
    if panels.is_straight or panels.down < 2 or work.taps == 0 or work.inputs == 0:
        return
    if thread_count() <= FEW_THREADS + work.outputs // ROWS_OF_A_THREAD:
        return
    panels.stretches = ((work.taps + panels.taps - 1) // panels.taps
                        * ((work.inputs + panels.channels - 1) // panels.channels))
    count = work.batch * work.groups * panels.strips * panels.stretches
    if count * panels.panel > MADE_AHEAD:
        return
    memory = <char*>malloc(count * panels.panel + 64)
    if memory == NULL:
        return
    panels.made = memory
    parallel_for(count, 1, _pack_panels, panels)
    panels.together = panels.strips_each


cdef inline char* _made_at(const Panels* panels, int64_t image, int64_t group, int64_t strip,
                           int64_t stretch) noexcept nogil:
    cdef int64_t index = (image * panels.work.groups + group) * panels.strips + strip
    cdef char* aligned = <char*>((<size_t>panels.made + 63) // 64 * 64)
    return aligned + (index * panels.stretches + stretch) * panels.panel


cdef void _pack_panels(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Panels* panels = <const Panels*>context
    cdef const aten_windows* work = panels.work
    cdef int64_t parts = (work.taps + panels.taps - 1) // panels.taps
    cdef int64_t index, image, place, channel, tap
    cdef const char* data
    cdef aten_strip strip
    for index in range(begin, end):
        place = index // panels.stretches % panels.strips
        image = index // panels.stretches // panels.strips
        channel = index % panels.stretches // parts * panels.channels
        tap = index % panels.stretches % parts * panels.taps
        data = _seen_by(work, image // work.groups, image % work.groups, panels.size)
        describe_strip(panels, place_of(panels, place), &strip)
        panels.kernels.pack(work, &strip, data + channel * work.input_channel * panels.size,
                            min(panels.channels, work.inputs - channel), tap,
                            min(tap + panels.taps, work.taps),
                            _made_at(panels, image // work.groups, image % work.groups, place,
                                     index % panels.stretches))


cdef inline const char* _seen_by(const aten_windows* work, int64_t image, int64_t group,
                                 int64_t size) noexcept nogil:
    """The first channel of an image that a group sees."""
    return <const char*>work.input + (
        image * work.input_batch + group * work.inputs * work.input_channel) * size


cdef bint leaves_few(const aten_windows* work) noexcept nogil:
    cdef int64_t positions = work.sizes[0] * work.sizes[1] * work.sizes[2]
    return 0 < positions % LEFT_OVER <= FEW_LEFT


cdef bint multiply_here(const aten_windows* work, const aten_window_kernels* kernels,
                        int size) noexcept nogil:
    cdef int taken = glide_here(work, kernels, size)
    if taken != 0:
        return taken > 0
    return multiply_panels_here(work, kernels, size)


cdef bint multiply_panels_here(const aten_windows* work, const aten_window_kernels* kernels,
                                int size) noexcept nogil:
    cdef Panels panels
    panels.work = work
    panels.kernels = kernels
    panels.size = panels.out_size = size
    panels.failed = panels.by_rows = False
    panels.made = NULL
    cut_depth(&panels)
    # The last positions of a band are not the last of an image.
    cut_strips(&panels, False)
    panels.rows_each = work.outputs
    panels.strips_each = panels.strips
    panels.across = panels.down = 1
    plan_panels(&panels)
    _run_pieces(&panels, 0, work.batch * work.groups)
    return not panels.failed


cdef void _run_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Panels* panels = <Panels*>context
    cdef const aten_windows* work = panels.work
    cdef int64_t panel = panels.panel
    cdef int64_t held = _held_row(panels) * panels.rows_each * panels.size if panels.holds else 0
    cdef int64_t room = panel * panels.together if panels.made == NULL else 0
    cdef char* memory = <char*>malloc(room + held + 64)
    cdef char* aligned = <char*>((<size_t>memory + 63) // 64 * 64)
    cdef int64_t index, piece, image, strip, row
    if memory == NULL:
        panels.failed = True
        return
    for index in range(begin, end):
        image = index // (panels.across * panels.down)
        piece = index - image * panels.across * panels.down
        if panels.by_rows:
            strip, row = piece % panels.across, piece // panels.across
        else:
            strip, row = piece // panels.down, piece % panels.down
        _run_piece(panels, image // work.groups, image % work.groups, strip * panels.strips_each,
                   row * panels.rows_each, aligned, aligned + room)
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
    cdef const char* input = _seen_by(work, image, group, size)
    cdef const char* weight = <const char*>work.weight + first * work.weight_row * size
    cdef char* final = <char*>work.out + (
        image * work.out_batch + first * work.out_channel) * panels.out_size
    cdef char* out = final
    cdef int64_t channel = 0, tap = 0, channels, taps, index, stretch = 0
    cdef aten_window_tile tile
    memset(&tile, 0, sizeof(tile))
    tile.left_row = work.weight_row
    tile.out_row = work.out_channel
    if panels.holds:
        tile.out_row = _held_row(panels)
        out = held - place_of(panels, strip) * size
    tile.bias_step = work.bias_step
    if work.bias != NULL:
        tile.bias = <const char*>work.bias + first * work.bias_step * size
    tile.far = panels.is_far and not panels.holds
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
                             tap, tap + taps, index, min(index + panels.together, end), end, rows,
                             out, panel if panels.made == NULL
                             else _made_at(panels, image, group, index, stretch))
            index += panels.together
        stretch += 1
        tile.adds = True
        tap += taps
        if tap == work.taps:
            tap = 0
            channel += channels
        if channel >= work.inputs:
            break
    if panels.holds:
        for index in range(strip, end):
            _write_strip(panels, place_of(panels, index), rows, out,
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
    describe_strip(panels, place, &strip)
    if panels.is_dense:
        out += place * panels.out_size
        panels.kernels.copy_lines(held + place * size, held_row, 1, 0, strip.columns, strip.columns,
                                  rows, out, work.out_channel)
        if work.finish != NULL:
            panels.kernels.finish(work.finish, True, out, work.out_channel, rows, strip.columns)
        return
    for index in range(strip.pieces):
        piece = &strip.piece[index]
        for row in range(rows):
            spread_line(held + (row * held_row + place + piece.column) * size,
                         out + (row * work.out_channel + piece.z * work.out_strides[0]
                                + piece.y * work.out_strides[1]
                                + piece.x * work.out_strides[2]) * size,
                         work.out_strides[2], piece.count, size)


cdef void _multiply_strips(const Panels* panels, aten_window_tile* stretch, const char* data,
                           int64_t channels, int64_t begin, int64_t end, int64_t first,
                           int64_t last, int64_t all, int64_t rows, char* out,
                           char* panel) noexcept nogil:
    """Strips first … last of `all` over one stretch, a few rows of weights after the other."""
    cdef int64_t size = panels.size
    cdef int64_t count = last - first
    cdef int64_t step = rows if count == 1 else <int64_t>ROWS_TOGETHER
    cdef int64_t row = 0
    cdef int64_t index
    cdef int64_t between = panels.panel * (1 if panels.made == NULL else panels.stretches)
    cdef Strip strips[TOGETHER]
    cdef Strip* strip
    cdef aten_window_tile tile = stretch[0]
    for index in range(count):
        strip = &strips[index]
        strip.place = place_of(panels, first + index)
        strip.panel = panel + index * between
        strip.next = _seen_next(panels, data, last + index, all)
        _prepare_strip(panels, strip, data, channels, begin, end)
    while row < rows:
        tile.left = <const char*>stretch.left + row * tile.left_row * size
        if stretch.bias != NULL:
            tile.bias = <const char*>stretch.bias + row * tile.bias_step * size
        tile.next_rows = min(row + step, rows) * channels // rows - row * channels // rows
        for index in range(count):
            strip = &strips[index]
            tile.next = NULL
            if strip.next != NULL:
                tile.next = strip.next + row * channels // rows * tile.source_row * size
            tile.columns = strip.columns
            tile.width = strip.width
            tile.right = strip.panel
            tile.source = strip.source if row == 0 else NULL
            tile.out = out + (row * tile.out_row + strip.place) * size
            _multiply_rows(panels, &tile, strip.place < panels.whole, min(step, rows - row))
        row += step


cdef inline const char* _seen_next(const Panels* panels, const char* data, int64_t strip,
                                   int64_t all) noexcept nogil:
    """Where a strip's source lies, if there is such a one and it has one."""
    if panels.made != NULL or not panels.is_straight or strip >= all:
        return NULL
    return data + place_of(panels, strip) * panels.size


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
    if panels.made != NULL:
        given.columns = columns_of(panels, given.place)
        given.width = (given.columns + lanes - 1) // lanes * lanes
        return
    if panels.is_straight and given.place < panels.whole:
        given.columns = given.width = columns_of(panels, given.place)
        if given.columns % lanes == 0:
            given.source = data + given.place * panels.size
            return
    describe_strip(panels, given.place, &strip)
    panels.kernels.pack(panels.work, &strip, data, channels, begin, end, given.panel)
    given.columns = strip.columns
    given.width = strip.width
