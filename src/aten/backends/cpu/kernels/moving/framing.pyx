# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Tensors with more, or fewer, elements at their borders, in one walk over the rows of the result.

Rows are those of the result's memory, whatever its order of dimensions. Each is copied from one row
of the source, but for what stands beyond that row's ends.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.string cimport memcpy

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, is_lazy)
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.moving.moving cimport fill_elements, move_run

cdef extern from "copies.h" nogil:
    void aten_copy_row(char*, const char*, int64_t) noexcept

cdef enum:
    # Bytes in one chunk of work for the threads.
    GRAIN_BYTES = 1 << 16
    # Places at the ends of a row whose elements are looked up, not computed for each row.
    MOST_LISTED = 32

cdef struct Frame:
    int rank
    int width                           # bytes of an element
    int mode
    int64_t sizes[MAXIMUM_DIMS]         # of the result, in the order of its memory
    int64_t extents[MAXIMUM_DIMS]       # of the source
    int64_t steps[MAXIMUM_DIMS]         # of the source, in bytes
    int64_t before[MAXIMUM_DIMS]
    int64_t low                         # places of a row that lie within the source's
    int64_t high
    bint listed                         # whether `ends` has the places outside of these
    int64_t ends[MOST_LISTED]           # what they show, in elements from the row or `element`
    const char* source
    char* target
    const char* element


cdef inline int64_t _place(int mode, int64_t place, int64_t extent) noexcept nogil:
    """Where in the source a place beyond its ends is found; -1 for nowhere."""
    if 0 <= place < extent:
        return place
    if mode == REPLICATE:
        return 0 if place < 0 else extent - 1
    if mode == REFLECT:
        return -place if place < 0 else 2 * (extent - 1) - place
    if mode == CIRCULAR:
        return place + extent if place < 0 else place - extent
    return -1


ctypedef fused Unit:
    int8_t
    int16_t
    int32_t
    int64_t


cdef inline void _write_units(Unit* target, const char* row, Unit beyond, int mode, int64_t before,
                              int64_t extent, int64_t step, int64_t begin,
                              int64_t end) noexcept nogil:
    cdef int64_t column, place
    if mode == CONSTANT:
        for column in range(begin, end):
            target[column] = beyond
        return
    for column in range(begin, end):
        place = _place(mode, column - before, extent)
        target[column] = (<const Unit*>(row + place * step))[0]


cdef inline void _write_ends(const Frame* frame, const char* row, char* target, int64_t begin,
                             int64_t end) noexcept nogil:
    """The places of a row from `begin` to `end`, which are beyond the source's."""
    cdef int last = frame.rank - 1, mode = frame.mode, width = frame.width
    cdef int64_t before = frame.before[last], extent = frame.extents[last]
    cdef int64_t step = frame.steps[last], column, place
    cdef const char* element = frame.element if mode == CONSTANT else row
    if begin >= end:
        return
    if mode == CIRCULAR and step == width:
        # What goes round at an end lies side by side.
        aten_copy_row(target + begin * width, row + _place(mode, begin - before, extent) * width,
                      (end - begin) * width)
        return
    if width == 4:
        _write_units(<int32_t*>target, row, (<const int32_t*>element)[0], mode, before, extent, step,
                     begin, end)
    elif width == 2:
        _write_units(<int16_t*>target, row, (<const int16_t*>element)[0], mode, before, extent, step,
                     begin, end)
    elif width == 8:
        _write_units(<int64_t*>target, row, (<const int64_t*>element)[0], mode, before, extent, step,
                     begin, end)
    elif width == 1:
        _write_units(<int8_t*>target, row, (<const int8_t*>element)[0], mode, before, extent, step,
                     begin, end)
    else:
        for column in range(begin, end):
            place = _place(mode, column - before, extent)
            memcpy(target + column * width, element if place < 0 else row + place * step, width)


cdef inline void _write_row(const Frame* frame, const char* row, char* target) noexcept nogil:
    cdef int last = frame.rank - 1
    cdef int64_t columns = frame.sizes[last], one = 1
    if row == NULL:
        fill_elements(frame.width, 1, &columns, target, &one, frame.element)
        return
    _write_ends(frame, row, target, 0, frame.low)
    if frame.high > frame.low:
        row += (frame.low - frame.before[last]) * frame.steps[last]
        if frame.steps[last] == frame.width:
            aten_copy_row(target + frame.low * frame.width, row,
                          (frame.high - frame.low) * frame.width)
        else:
            move_run(frame.width, target + frame.low * frame.width, frame.width, row,
                     frame.steps[last], frame.high - frame.low)
        row -= (frame.low - frame.before[last]) * frame.steps[last]
    _write_ends(frame, row, target, frame.high, columns)


cdef void _list_ends(Frame* frame) noexcept:
    """What stands at a row's ends, if it is little."""
    cdef int last = frame.rank - 1
    cdef int64_t beyond = frame.sizes[last] - (frame.high - frame.low), place, column
    frame.listed = (frame.rank > 1 and frame.steps[last] == frame.width and frame.width <= 8
                    and frame.low < frame.high and beyond <= MOST_LISTED)
    if not frame.listed:
        return
    for place in range(beyond):
        column = place if place < frame.low else frame.high + place - frame.low
        frame.ends[place] = 0 if frame.mode == CONSTANT else _place(
            frame.mode, column - frame.before[last], frame.extents[last])


cdef const char* _plane(const Frame* frame, int64_t index, int lines) noexcept nogil:
    """Where the rows of a plane begin in the source; NULL for nowhere."""
    cdef const char* found = frame.source
    cdef int64_t place
    cdef int dim
    for dim in range(lines - 1, -1, -1):
        place = _place(frame.mode, index % frame.sizes[dim] - frame.before[dim],
                       frame.extents[dim])
        index //= frame.sizes[dim]
        if place < 0:
            return NULL
        found += place * frame.steps[dim]
    return found


cdef inline void _write_listed(const Frame* frame, const char* source, Unit* target, int64_t begin,
                               int64_t end) noexcept nogil:
    """Rows `begin` … `end` of a plane that have few places beyond the source's."""
    cdef int last = frame.rank - 1
    cdef int64_t low = frame.low, high = frame.high, columns = frame.sizes[last]
    cdef int64_t shift = low - frame.before[last], middle = (high - low) * sizeof(Unit)
    cdef int64_t line, place, index
    cdef const Unit* row
    cdef const Unit* beyond = <const Unit*>frame.element
    for line in range(begin, end):
        place = _place(frame.mode, line - frame.before[last - 1], frame.extents[last - 1])
        if source == NULL or place < 0:
            for index in range(columns):
                target[index] = beyond[0]
            target += columns
            continue
        row = <const Unit*>(source + place * frame.steps[last - 1])
        if frame.mode != CONSTANT:
            beyond = row
        aten_copy_row(<char*>(target + low), <const char*>(row + shift), middle)
        for index in range(low):
            target[index] = beyond[frame.ends[index]]
        for index in range(high, columns):
            target[index] = beyond[frame.ends[low + index - high]]
        target += columns


cdef void _write_plane(const Frame* frame, const char* source, char* target, int64_t begin,
                       int64_t end) noexcept nogil:
    """Rows `begin` … `end` of a plane that begins at `source`, if anywhere."""
    cdef int lines = frame.rank - 2
    cdef int64_t row_bytes = frame.sizes[frame.rank - 1] * frame.width, line, place
    if frame.listed and frame.width == 4:
        _write_listed(frame, source, <int32_t*>target, begin, end)
    elif frame.listed and frame.width == 2:
        _write_listed(frame, source, <int16_t*>target, begin, end)
    elif frame.listed and frame.width == 8:
        _write_listed(frame, source, <int64_t*>target, begin, end)
    elif frame.listed:
        _write_listed(frame, source, <int8_t*>target, begin, end)
    else:
        for line in range(begin, end):
            place = _place(frame.mode, line - frame.before[lines], frame.extents[lines])
            _write_row(frame, NULL if source == NULL or place < 0
                       else source + place * frame.steps[lines],
                       target + (line - begin) * row_bytes)


cdef void _write_rows(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Frame* frame = <const Frame*>context
    cdef int lines = frame.rank - 2         # the dimension of a plane's rows
    cdef int64_t row_bytes = frame.sizes[frame.rank - 1] * frame.width
    cdef int64_t height, plane, until, first = begin
    if lines < 0:
        _write_row(frame, frame.source, frame.target)
        return
    height = frame.sizes[lines]
    while first < end:
        plane = first // height
        until = min(end, (plane + 1) * height)
        _write_plane(frame, _plane(frame, plane, lines), frame.target + first * row_bytes,
                     first - plane * height, until - plane * height)
        first = until


cdef bint _read_order(TensorImpl out, int* order) noexcept:
    """The dimensions from the outermost one in memory on; False where there are gaps."""
    cdef int place, other, dim
    cdef int64_t expected = 1
    for place in range(out.rank):
        other = place
        dim = place
        while other > 0 and (out.strides[order[other - 1]] < out.strides[dim]
                             or out.strides[order[other - 1]] == out.strides[dim]
                             and out.sizes[order[other - 1]] < out.sizes[dim]):
            order[other] = order[other - 1]
            other -= 1
        order[other] = dim
    for place in range(out.rank - 1, -1, -1):
        dim = order[place]
        if out.sizes[dim] == 1:
            continue
        if out.strides[dim] != expected:
            return False
        expected *= out.sizes[dim]
    return True


cdef bint write_framed(TensorImpl out, TensorImpl base, const int64_t* before, int mode,
                       const char* element) except -1:
    cdef Frame frame
    cdef int order[MAXIMUM_DIMS]
    cdef int place, dim
    cdef int64_t rows = 1, first
    if out.count == 0:
        return True
    if out.rank == 0 or not _read_order(out, order):
        return False
    frame.rank = out.rank
    frame.width = item_size(out.dtype_code)
    frame.mode = mode
    for place in range(out.rank):
        dim = order[place]
        frame.sizes[place] = out.sizes[dim]
        frame.extents[place] = base.sizes[dim]
        frame.steps[place] = base.strides[dim] * frame.width
        frame.before[place] = before[dim]
        if mode != CONSTANT and not _reaches(mode, before[dim], out.sizes[dim], base.sizes[dim]):
            return False
        if place < out.rank - 1:
            rows *= out.sizes[dim]
    first = frame.before[out.rank - 1]
    frame.low = min(max(first, <int64_t>0), frame.sizes[out.rank - 1])
    frame.high = min(first + frame.extents[out.rank - 1], frame.sizes[out.rank - 1])
    frame.high = max(frame.low, frame.high)
    frame.target = data_pointer(out)
    frame.source = const_data_pointer(base)
    frame.element = element
    _list_ends(&frame)
    with nogil:
        parallel_for(rows, max(<int64_t>1, GRAIN_BYTES // (frame.sizes[frame.rank - 1]
                                                          * frame.width)), _write_rows, &frame)
    return True


cdef bint _reaches(int mode, int64_t before, int64_t size, int64_t extent) noexcept:
    """Whether both ends of the padded dimension are found in the source."""
    cdef int64_t first = _place(mode, -before, extent)
    cdef int64_t last = _place(mode, size - 1 - before, extent)
    return extent > 0 and 0 <= first < extent and 0 <= last < extent


cdef dict _MODES = {"reflect": REFLECT, "replicate": REPLICATE, "circular": CIRCULAR}


def frame(Tensor out not None, Tensor base not None, before not None, str mode not None):
    """Write `base` with borders of its own elements into `out`, another tensor of its dtype.

    `before` has for each dimension how many elements are added at its beginning; the sizes of `out`
    say what is added at the end. False, and nothing written, for tensors that are not both plain
    ones in the host's memory, and where a border reaches beyond the other end.
    """
    cdef int64_t counts[MAXIMUM_DIMS]
    cdef int dim
    if (out.dtype_code != base.dtype_code or out.device_type != CPU or base.device_type != CPU
            or is_lazy(out) or is_lazy(base) or out.rank != base.rank or len(before) != out.rank
            or out.storage is base.storage):
        return False
    for dim in range(out.rank):
        counts[dim] = before[dim]
    if (out.count and const_data_pointer(out) == NULL
            or base.count and const_data_pointer(base) == NULL):
        return False
    if not write_framed(out, base, counts, _MODES[mode], NULL):
        return False
    count_write(out)
    return True
