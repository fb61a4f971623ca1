# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""The largest elements of pooling windows, and where they are.

Many windows are gone through at once, element by element: the first of each, the second, and so on.
So the comparisons are one loop without jumps, which would be taken at random, over neighbours, whose
places are as wide as they are: positions in 32 bits, where the plane has no more.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t, uint8_t

from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT16, INT32, INT8, UINT8
from aten.backends.cpu.kernels.windows.pooling cimport (
    MOST_PIXELS, SPATIAL, Pool, aten_pixels, aten_pixels_of, list_pixels, locate, locate_pixel)

cdef extern from "maxima_levels.h" nogil:
    enum:
        ATEN_MAXIMA_FLOAT
        ATEN_MAXIMA_DOUBLE
        ATEN_MAXIMA_UINT8
        ATEN_MAXIMA_INT8
        ATEN_MAXIMA_INT16
        ATEN_MAXIMA_INT32
        ATEN_MAXIMA_INT64
    ctypedef struct aten_maxima:
        void (*fold)(const void** lines, int64_t count, void* out, int64_t columns) noexcept nogil
        void (*keep)(const void* line, void* kept, int64_t columns) noexcept nogil
        void (*join)(const void* values, int64_t columns, int64_t step, void* out,
                     int64_t count) noexcept nogil
        void (*take)(const void* values, int64_t step, int64_t count, int64_t place, void* most,
                     void* places) noexcept nogil
    const aten_maxima* aten_maxima_of(int type)

cdef enum:
    # Windows gone through at once.
    BLOCK = 256
    # Lines with fewer windows are gone through window by window.
    LEAST_WINDOWS = 4
    # Windows with fewer columns are not folded column by column first.
    LEAST_COLUMNS = 4
    # Elements of a line that is folded as a whole.
    LONGEST_LINE = 2048
    # Windows that take as long as one call for them, and as one that is gone through alone.
    CALL = 32
    LANES = 8
    # Lines that are folded at once.
    FEW_LINES = 3
    # Windows of two by two elements in a line from which on it is folded as others are.
    WIDE_SQUARES = 32

cdef int64_t NARROW_PLANE = <int64_t>1 << 31

ctypedef fused Element:
    float
    double
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef fused Place:
    int32_t
    int64_t


cdef struct Whole:
    # Windows begin … end of a line, which have all their `columns` and are `step` apart.
    int64_t begin
    int64_t end
    int64_t columns
    int64_t step


cdef inline Element _lowest(Element unused) noexcept nogil:
    """What a window gives that dilation leads past the only elements there are."""
    if Element is float or Element is double:
        return -INFINITY
    elif Element is uint8_t:
        return 0
    else:
        return <Element>(<uint64_t>1 << (8 * sizeof(Element) - 1))


cdef inline bint _is_nan(Element value) noexcept nogil:
    if Element is float or Element is double:
        return value != value
    else:
        return False


cdef inline void _begin(Element* largest, Place* places, Place first, int64_t count) noexcept nogil:
    cdef int64_t index
    for index in range(count):
        largest[index] = _lowest(<Element>0)
        places[index] = first


cdef inline void _take(const aten_maxima* loops, const Element* values, int64_t step,
                       Element* largest, Place* places, Place place, int64_t count) noexcept nogil:
    """The next element of each window, at `place`; a NaN is larger than all numbers."""
    cdef int64_t index
    cdef bint wins
    if (Element is float or Element is int32_t) and Place is int64_t:
        for index in range(count):
            wins = (values[index * step] > largest[index]) | _is_nan(values[index * step])
            largest[index] = values[index * step] if wins else largest[index]
            places[index] = place if wins else places[index]
    else:
        loops.take(values, step, count, place, largest, places)


cdef inline bint _is_narrow(const Pool* pool) noexcept nogil:
    return pool.sizes[0] * pool.sizes[1] * pool.sizes[2] < NARROW_PLANE


cdef void find_lines(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Lines begin … end of the result."""
    cdef const Pool* pool = <const Pool*>context
    cdef int32_t narrow[BLOCK]
    cdef int64_t wide[BLOCK]
    if pool.code == FLOAT32 and _is_narrow(pool):
        _find_in_lines(pool, begin, end, <float*>pool.out, &narrow[0])
    elif pool.code == FLOAT32:
        _find_in_lines(pool, begin, end, <float*>pool.out, &wide[0])
    elif pool.code == FLOAT64:
        _find_in_lines(pool, begin, end, <double*>pool.out, &wide[0])
    elif pool.code == UINT8:
        _find_in_lines(pool, begin, end, <uint8_t*>pool.out, &wide[0])
    elif pool.code == INT8:
        _find_in_lines(pool, begin, end, <int8_t*>pool.out, &wide[0])
    elif pool.code == INT16:
        _find_in_lines(pool, begin, end, <int16_t*>pool.out, &wide[0])
    elif pool.code == INT32 and _is_narrow(pool):
        _find_in_lines(pool, begin, end, <int32_t*>pool.out, &narrow[0])
    elif pool.code == INT32:
        _find_in_lines(pool, begin, end, <int32_t*>pool.out, &wide[0])
    else:
        _find_in_lines(pool, begin, end, <int64_t*>pool.out, &wide[0])


cdef void find_pixels(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Pixels begin … end of the result, all channels of each."""
    cdef const Pool* pool = <const Pool*>context
    cdef int32_t narrow[BLOCK]
    cdef int64_t wide[BLOCK]
    if pool.code == FLOAT32 and _is_narrow(pool):
        _find_in_pixels(pool, begin, end, <float*>pool.out, &narrow[0])
    elif pool.code == FLOAT32:
        _find_in_pixels(pool, begin, end, <float*>pool.out, &wide[0])
    elif pool.code == FLOAT64:
        _find_in_pixels(pool, begin, end, <double*>pool.out, &wide[0])
    elif pool.code == UINT8:
        _find_in_pixels(pool, begin, end, <uint8_t*>pool.out, &wide[0])
    elif pool.code == INT8:
        _find_in_pixels(pool, begin, end, <int8_t*>pool.out, &wide[0])
    elif pool.code == INT16:
        _find_in_pixels(pool, begin, end, <int16_t*>pool.out, &wide[0])
    elif pool.code == INT32 and _is_narrow(pool):
        _find_in_pixels(pool, begin, end, <int32_t*>pool.out, &narrow[0])
    elif pool.code == INT32:
        _find_in_pixels(pool, begin, end, <int32_t*>pool.out, &wide[0])
    else:
        _find_in_pixels(pool, begin, end, <int64_t*>pool.out, &wide[0])


cdef void _find_in_lines(const Pool* pool, int64_t begin, int64_t end, Element* out,
                         Place* places) noexcept nogil:
    cdef int64_t line, x, count, offset, row, column, plane, at
    cdef int64_t width = pool.results[2]
    cdef const aten_maxima* loops = _loops_of(<Element>0)
    cdef Whole whole
    cdef bint even = _are_even(pool, &whole)
    cdef bint squares = _are_squares(pool)
    if even and _folds_lines(pool) and not (squares and width < WIDE_SQUARES):
        _fold_lines(pool, &whole, begin, end, out)
        return
    if squares:
        _find_in_squares(pool, loops, begin, end, out, places)
        return
    if _are_wide(pool) and not (even and _are_low(pool)):
        _find_by_columns(pool, loops, begin, end, out, places)
        return
    for line in range(begin, end):
        locate(pool, line, &offset, &row, &column)
        plane = line // (pool.results[0] * pool.results[1]) if pool.apart else 0
        if pool.present[0]:
            row += plane * pool.results[0]
        if pool.present[1]:
            column += plane * pool.results[1]
        at = line * width
        if width < LEAST_WINDOWS:
            for x in range(width):
                out[at + x] = _largest(pool, <Element*>pool.data + offset, row, column,
                                       x + plane * width,
                                       NULL if pool.indices == NULL else pool.indices + at + x)
            continue
        x = 0
        while x < width:
            if even and whole.begin <= x < whole.end:
                count = min(whole.end - x, <int64_t>BLOCK)
                _find_whole(pool, loops, &whole, <Element*>pool.data + offset, row, column, x, count,
                            out + at + x, places)
            else:
                count = min((whole.begin if even and x < whole.begin else width) - x,
                            <int64_t>BLOCK)
                _find_block(pool, loops, <Element*>pool.data + offset, row, column,
                            x + plane * width, count, out + at + x, places)
            if pool.indices != NULL:
                _keep_positions(pool, x + plane * width, count, places, pool.indices + at + x)
            x += count


cdef bint _folds_lines(const Pool* pool) noexcept nogil:
    """Whether nobody asks where the largest elements are, and lines are short runs of neighbours."""
    return (pool.indices == NULL and pool.strides[2] == 1 and pool.steps[2] == 1
            and pool.sizes[2] <= LONGEST_LINE)


cdef bint _are_even(const Pool* pool, Whole* whole) noexcept nogil:
    """Whether most windows of a line are whole, and as far from each other."""
    cdef const int64_t* begins = pool.begins[2]
    cdef const int64_t* ends = pool.ends[2]
    cdef int64_t width = pool.results[2], x
    if pool.apart or width < LEAST_WINDOWS:
        return False
    whole.columns = 0
    for x in range(width):
        whole.columns = max(whole.columns, ends[x] - begins[x])
    whole.begin = 0
    while ends[whole.begin] - begins[whole.begin] != whole.columns:
        whole.begin += 1
    whole.step = 1
    if whole.begin + 1 < width:
        whole.step = begins[whole.begin + 1] - begins[whole.begin]
    whole.end = whole.begin + 1
    while (whole.end < width and ends[whole.end] - begins[whole.end] == whole.columns
           and begins[whole.end] - begins[whole.end - 1] == whole.step):
        whole.end += 1
    return whole.columns > 0 and 2 * (whole.end - whole.begin) >= width


cdef inline const aten_maxima* _loops_of(Element unused) noexcept nogil:
    if Element is float:
        return aten_maxima_of(ATEN_MAXIMA_FLOAT)
    elif Element is double:
        return aten_maxima_of(ATEN_MAXIMA_DOUBLE)
    elif Element is uint8_t:
        return aten_maxima_of(ATEN_MAXIMA_UINT8)
    elif Element is int8_t:
        return aten_maxima_of(ATEN_MAXIMA_INT8)
    elif Element is int16_t:
        return aten_maxima_of(ATEN_MAXIMA_INT16)
    elif Element is int32_t:
        return aten_maxima_of(ATEN_MAXIMA_INT32)
    else:
        return aten_maxima_of(ATEN_MAXIMA_INT64)


cdef void _fold_lines(const Pool* pool, const Whole* whole, int64_t begin, int64_t end,
                      Element* out) noexcept nogil:
    """Lines begin … end: the largest of each column, and then of neighbouring ones.

    Loads that reach over several stores wait until those are in the cache. So columns of the next
    line are folded before neighbours of this one are joined.
    """
    cdef const aten_maxima* loops = _loops_of(<Element>0)
    cdef Element[2][LONGEST_LINE] folded
    cdef int64_t first = pool.begins[2][whole.begin], width = pool.results[2]
    cdef int64_t line, x
    cdef const Element* columns
    cdef const Element* following = _fold_columns(pool, loops, begin, &folded[begin & 1][0])
    cdef Element* to
    for line in range(begin, end):
        columns = following
        if line + 1 < end:
            following = _fold_columns(pool, loops, line + 1, &folded[(line + 1) & 1][0])
        to = out + line * width
        for x in range(whole.begin):
            to[x] = _largest_of(columns, pool.begins[2][x], pool.ends[2][x])
        for x in range(whole.end, width):
            to[x] = _largest_of(columns, pool.begins[2][x], pool.ends[2][x])
        loops.join(columns + first, whole.columns, whole.step, to + whole.begin,
                   whole.end - whole.begin)


cdef inline const Element* _fold_columns(const Pool* pool, const aten_maxima* loops, int64_t place,
                                         Element* largest) noexcept nogil:
    """The largest of each column of the lines that windows of this line of the result see: in
    `largest`, or in the image where they see but one."""
    cdef const void* lines[FEW_LINES]
    cdef int64_t count = 0, i, j, index, offset, row, column
    cdef const Element* line
    locate(pool, place, &offset, &row, &column)
    i = pool.begins[0][row]
    while i < pool.ends[0][row]:
        j = pool.begins[1][column]
        while j < pool.ends[1][column]:
            line = <Element*>pool.data + offset + i * pool.strides[0] + j * pool.strides[1]
            if count < FEW_LINES:
                lines[count] = line
            else:
                if count == FEW_LINES:
                    loops.fold(lines, FEW_LINES, largest, pool.sizes[2])
                loops.keep(line, largest, pool.sizes[2])
            count += 1
            j += pool.steps[1]
        i += pool.steps[0]
    if count == 1:
        return <const Element*>lines[0]
    if 1 < count <= FEW_LINES:
        loops.fold(lines, count, largest, pool.sizes[2])
    if count == 0:
        for index in range(pool.sizes[2]):
            largest[index] = _lowest(<Element>0)
    return largest


cdef inline Element _largest_of(const Element* values, int64_t begin, int64_t end) noexcept nogil:
    cdef Element largest = _lowest(<Element>0)
    cdef int64_t index
    for index in range(begin, end):
        if values[index] > largest or _is_nan(values[index]):
            largest = values[index]
    return largest


cdef bint _are_squares(const Pool* pool) noexcept nogil:
    """Whether the windows are two by two elements side by side, as most of images are."""
    cdef int64_t dim, place
    if pool.apart or not pool.present[1] or pool.sizes[0] != 1 or pool.strides[2] != 1:
        return False
    for dim in range(1, SPATIAL):
        if pool.steps[dim] != 1:
            return False
        for place in range(pool.results[dim]):
            if pool.begins[dim][place] != 2 * place or pool.ends[dim][place] != 2 * place + 2:
                return False
    return True


cdef void _find_in_squares(const Pool* pool, const aten_maxima* loops, int64_t begin, int64_t end,
                           Element* out, Place* places) noexcept nogil:
    """Lines begin … end of such windows; of small planes many lines at once."""
    cdef Element upper[2][BLOCK]
    cdef Element lower[2][BLOCK]
    cdef int64_t firsts[BLOCK]
    cdef int64_t line, x, count, index, offset, row, column, filled = 0
    cdef int64_t width = pool.results[2], start = begin * width, following = pool.sizes[2]
    cdef const Element* above
    cdef const Element* below
    for line in range(begin, end):
        locate(pool, line, &offset, &row, &column)
        above = <Element*>pool.data + offset + 2 * column * pool.strides[1]
        below = above + pool.strides[1]
        x = 0
        while x < width:
            count = min(width - x, BLOCK - filled)
            for index in range(count):
                upper[0][filled + index] = above[2 * (x + index)]
                upper[1][filled + index] = above[2 * (x + index) + 1]
                lower[0][filled + index] = below[2 * (x + index)]
                lower[1][filled + index] = below[2 * (x + index) + 1]
                firsts[filled + index] = 2 * (column * following + x + index)
            x += count
            filled += count
            if filled < BLOCK and (x < width or line + 1 < end):
                continue
            for index in range(filled):
                out[start + index] = upper[0][index]
                places[index] = 0
            _take(loops, upper[1], 1, out + start, places, 1, filled)
            _take(loops, lower[0], 1, out + start, places, <Place>following, filled)
            _take(loops, lower[1], 1, out + start, places, <Place>(following + 1), filled)
            if pool.indices != NULL:
                for index in range(filled):
                    pool.indices[start + index] = firsts[index] + places[index]
            start += filled
            filled = 0


cdef bint _are_wide(const Pool* pool) noexcept nogil:
    """Whether the windows are of many columns side by side, few of which are in none or several."""
    cdef int64_t dim, place, count, total = 0, last = pool.results[2] - 1
    if pool.apart or not pool.present[1] or pool.sizes[0] != 1 or pool.strides[2] != 1:
        return False
    if pool.steps[1] != 1 or pool.steps[2] != 1:
        return False
    for place in range(pool.results[2]):
        count = pool.ends[2][place] - pool.begins[2][place]
        if not LEAST_COLUMNS <= count <= BLOCK:
            return False
        total += count
    return pool.ends[2][last] - pool.begins[2][0] <= 2 * total


cdef bint _are_low(const Pool* pool) noexcept nogil:
    """Whether windows have so few rows that an element of all windows of a line, one after the other,
    takes less than columns of all rows and then those of each window."""
    cdef int64_t width = pool.results[2], rows = pool.ends[1][0] - pool.begins[1][0]
    return rows * (width + CALL) < LANES * width


cdef void _find_by_columns(const Pool* pool, const aten_maxima* loops, int64_t begin, int64_t end,
                           Element* out, Place* places) noexcept nogil:
    """Lines begin … end of such windows: the largest of each column, then of a window's columns."""
    cdef Element largest[BLOCK]
    cdef const int64_t* begins = pool.begins[2]
    cdef const int64_t* ends = pool.ends[2]
    cdef int64_t width = pool.results[2], columns = pool.sizes[2]
    cdef int64_t line, x, until, index, offset, row, column, first, span, j
    cdef const Element* plane
    for line in range(begin, end):
        locate(pool, line, &offset, &row, &column)
        plane = <Element*>pool.data + offset
        x = 0
        while x < width:
            first = begins[x]
            until = x + 1
            while until < width and ends[until] - first <= BLOCK:
                until += 1
            span = ends[until - 1] - first
            _begin(&largest[0], places, <Place>(pool.begins[1][column] * columns), span)
            for j in range(pool.begins[1][column], pool.ends[1][column]):
                _take(loops, plane + j * pool.strides[1] + first, 1, &largest[0], places,
                      <Place>(j * columns), span)
            for index in range(x, until):
                j = _first_largest(&largest[0], places, begins[index] - first, ends[index] - first)
                out[line * width + index] = largest[j]
                if pool.indices != NULL:
                    pool.indices[line * width + index] = places[j] + first + j
            x = until


cdef inline int64_t _first_largest(const Element* values, const Place* rows, int64_t begin,
                                   int64_t end) noexcept nogil:
    """Which column has the largest element, of equal ones that of the first row.

    Of columns with NaN, which are larger than all numbers, it is that of the last row: as if rows were
    gone through one by one.
    """
    cdef int64_t column, found = begin
    cdef Element value, most = values[begin]
    cdef bint wins
    for column in range(begin + 1, end):
        value = values[column]
        if _is_nan(value):
            wins = not _is_nan(most) or rows[column] >= rows[found]
        else:
            wins = (value > most) | ((value == most) & (rows[column] < rows[found]))
        found = column if wins else found
        most = value if wins else most
    return found


cdef inline void _keep_positions(const Pool* pool, int64_t x, int64_t count, const Place* places,
                                 int64_t* positions) noexcept nogil:
    cdef int64_t index
    for index in range(count):
        positions[index] = pool.begins[2][x + index] + places[index]


cdef void _find_whole(const Pool* pool, const aten_maxima* loops, const Whole* whole,
                      const Element* plane, int64_t row, int64_t column, int64_t x, int64_t count,
                      Element* largest, Place* places) noexcept nogil:
    """As `_find_block`, of windows that have all their columns and are as far from each other."""
    cdef int64_t step = whole.step * pool.strides[2], i, j, k, first
    cdef const Element* line
    i = pool.begins[0][row]
    j = pool.begins[1][column]
    _begin(largest, places, <Place>((i * pool.sizes[1] + j) * pool.sizes[2]), count)
    while i < pool.ends[0][row]:
        j = pool.begins[1][column]
        while j < pool.ends[1][column]:
            line = (plane + i * pool.strides[0] + j * pool.strides[1]
                    + pool.begins[2][x] * pool.strides[2])
            first = (i * pool.sizes[1] + j) * pool.sizes[2]
            k = 0
            while k < whole.columns:
                _take(loops, line + k * pool.strides[2], step, largest, places, <Place>(first + k),
                      count)
                k += pool.steps[2]
            j += pool.steps[1]
        i += pool.steps[0]


cdef void _find_block(const Pool* pool, const aten_maxima* loops, const Element* plane, int64_t row,
                      int64_t column, int64_t x, int64_t count, Element* largest,
                      Place* places) noexcept nogil:
    """`count` windows of a line, from window `x` on; places count from a window's first column."""
    cdef Element values[BLOCK]
    cdef const int64_t* begins = pool.begins[2] + x
    cdef const int64_t* ends = pool.ends[2] + x
    cdef int64_t step = pool.steps[2], stride = pool.strides[2]
    cdef int64_t shortest = ends[0] - begins[0], longest = shortest, i, j, k, index, first
    cdef const Element* line
    for index in range(1, count):
        shortest = min(shortest, ends[index] - begins[index])
        longest = max(longest, ends[index] - begins[index])
    i = pool.begins[0][row]
    j = pool.begins[1][column]
    _begin(largest, places, <Place>((i * pool.sizes[1] + j) * pool.sizes[2]), count)
    while i < pool.ends[0][row]:
        j = pool.begins[1][column]
        while j < pool.ends[1][column]:
            line = plane + i * pool.strides[0] + j * pool.strides[1]
            first = (i * pool.sizes[1] + j) * pool.sizes[2]
            k = 0
            while k < longest:
                if k < shortest:
                    for index in range(count):
                        values[index] = line[(begins[index] + k) * stride]
                else:
                    for index in range(count):
                        values[index] = _lowest(<Element>0)
                        if begins[index] + k < ends[index]:
                            values[index] = line[(begins[index] + k) * stride]
                _take(loops, &values[0], 1, largest, places, <Place>(first + k), count)
                k += step
            j += pool.steps[1]
        i += pool.steps[0]


cdef inline Element _largest(const Pool* pool, const Element* plane, int64_t row, int64_t column,
                             int64_t x, int64_t* position) noexcept nogil:
    """The largest element of one window, for lines that have too few of them for a block."""
    cdef int64_t i, j, k
    cdef int64_t first = pool.begins[0][row], second = pool.begins[1][column]
    cdef int64_t third = pool.begins[2][x]
    cdef int64_t found = (first * pool.sizes[1] + second) * pool.sizes[2] + third
    cdef const Element* line
    cdef Element largest = _lowest(<Element>0)
    cdef Element value
    i = first
    while i < pool.ends[0][row]:
        j = second
        while j < pool.ends[1][column]:
            line = plane + i * pool.strides[0] + j * pool.strides[1]
            k = third
            while k < pool.ends[2][x]:
                value = line[k * pool.strides[2]]
                if value > largest or _is_nan(value):
                    largest = value
                    found = (i * pool.sizes[1] + j) * pool.sizes[2] + k
                k += pool.steps[2]
            j += pool.steps[1]
        i += pool.steps[0]
    if position != NULL:
        position[0] = found
    return largest


cdef void _find_in_pixels(const Pool* pool, int64_t begin, int64_t end, Element* out,
                          Place* places) noexcept nogil:
    cdef int64_t place[SPATIAL]
    cdef int64_t pixel, offset, first, count, index
    cdef const aten_pixels* pixels = aten_pixels_of(Element is double)
    cdef const aten_maxima* loops = _loops_of(<Element>0)
    for pixel in range(begin, end):
        locate_pixel(pool, pixel, &offset, place)
        if _find_together(pool, pixels, <Element*>pool.data + offset, place, pixel, out):
            continue
        first = 0
        while first < pool.channels:
            count = min(pool.channels - first, <int64_t>BLOCK)
            _find_channels(pool, loops, <Element*>pool.data + offset + first, place, count,
                           out + pixel * pool.channels + first, places)
            if pool.indices != NULL:
                for index in range(count):
                    pool.indices[pixel * pool.channels + first + index] = places[index]
            first += count


cdef bint _find_together(const Pool* pool, const aten_pixels* loops, const Element* image,
                         const int64_t* place, int64_t pixel, Element* out) noexcept nogil:
    """All channels of one pixel of the result, in registers; False where its window is too large, or
    elements are of types that have no such loops."""
    cdef const void* lines[MOST_PIXELS]
    cdef int64_t places[MOST_PIXELS]
    cdef int64_t count
    if Element is float or Element is double:
        if not _is_narrow(pool):
            return False
        count = list_pixels(pool, <const char*>image, sizeof(Element), place, lines, places)
        if count <= 0:
            return False
        return _find_in_registers(pool, loops, lines, places, count, pixel, out)
    else:
        return False


cdef bint _find_in_registers(const Pool* pool, const aten_pixels* loops, const void** lines,
                             const int64_t* places, int64_t count, int64_t pixel,
                             Element* out) noexcept nogil:
    cdef int64_t unasked[BLOCK]
    cdef int64_t* found = unasked
    cdef int64_t first = 0, columns, index
    while first < pool.channels:
        columns = min(pool.channels - first, <int64_t>BLOCK)
        if pool.indices != NULL:
            found = pool.indices + pixel * pool.channels + first
        loops.find(lines, places, count, out + pixel * pool.channels + first, found, columns)
        for index in range(count):
            lines[index] = <const Element*>lines[index] + columns
        first += columns
    return True


cdef void _find_channels(const Pool* pool, const aten_maxima* loops, const Element* image,
                         const int64_t* place, int64_t count, Element* largest,
                         Place* places) noexcept nogil:
    """`count` neighbouring channels of one pixel of the result; places are positions."""
    cdef int64_t i = pool.begins[0][place[0]]
    cdef int64_t j = pool.begins[1][place[1]]
    cdef int64_t k = pool.begins[2][place[2]]
    _begin(largest, places, <Place>((i * pool.sizes[1] + j) * pool.sizes[2] + k), count)
    while i < pool.ends[0][place[0]]:
        j = pool.begins[1][place[1]]
        while j < pool.ends[1][place[1]]:
            k = pool.begins[2][place[2]]
            while k < pool.ends[2][place[2]]:
                _take(loops, image + i * pool.strides[0] + j * pool.strides[1] + k * pool.strides[2],
                      1, largest, places,
                      <Place>((i * pool.sizes[1] + j) * pool.sizes[2] + k), count)
                k += pool.steps[2]
            j += pool.steps[1]
        i += pool.steps[0]
