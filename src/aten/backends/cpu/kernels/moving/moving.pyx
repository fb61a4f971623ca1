# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Elements moved between strided places as they are, and places filled with one element.

What an element means does not matter here, only how wide it is. Strides may be negative or zero in
the source: reversed and repeated tensors are ordinary moves.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten.backends.cpu.kernels.moving.iterator cimport Walk, begin_walk, coalesce, reorder, run_walk
from aten.backends.cpu.kernels.moving.tiles cimport turn

cdef extern from *:
    """
    #include <stdint.h>
    typedef struct { uint64_t low, high; } aten_wide_element;
    """
    ctypedef struct aten_wide_element:
        uint64_t low
        uint64_t high

cdef extern from "copies.h" nogil:
    void aten_copy_row(char*, const char*, int64_t) noexcept
    void aten_reverse_bytes(char*, const char*, int64_t) noexcept

cdef enum:
    # Bytes in one chunk of work for the threads.
    GRAIN_BYTES = 1 << 17
    # Rows and columns of a tile whose lines stay in the nearest cache.
    TILE = 16
    # Bytes of a side of squares that are turned: lines of the source are read whole.
    TURNED_BYTES = 256

ctypedef fused Raw:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    aten_wide_element


cdef inline void _move_typed(Raw* target, int64_t target_step, const Raw* source,
                             int64_t source_step, int64_t count) noexcept nogil:
    """`count` elements; the usual steps, which are in elements, have loops of their own."""
    cdef int64_t index
    cdef Raw value
    if target_step == 1 and source_step == 1:
        aten_copy_row(<char*>target, <const char*>source, count * sizeof(Raw))
    elif target_step == 1 and source_step == -1 and Raw is uint8_t:
        aten_reverse_bytes(<char*>target, <const char*>source, count)
    elif target_step == 1 and source_step == -1:
        for index in range(count):
            target[index] = source[-index]
    elif target_step == 1 and source_step == 0:
        value = source[0]
        for index in range(count):
            target[index] = value
    elif target_step == 1 and source_step == 2:
        for index in range(count):
            target[index] = source[2 * index]
    elif target_step == 2 and source_step == 1:
        for index in range(count):
            target[2 * index] = source[index]
    else:
        for index in range(count):
            target[index * target_step] = source[index * source_step]


cdef inline void _move_tiles(Raw* target, const Raw* source, int64_t n0, int64_t target_step0,
                             int64_t source_step0, int64_t n1, int64_t target_step1,
                             int64_t source_step1) noexcept nogil:
    """Rows that are columns of the source, so that each line of it is read once."""
    cdef int64_t row = 0, column, i, j
    while row < n1:
        column = 0
        while column < n0:
            for i in range(row, min(row + TILE, n1)):
                for j in range(column, min(column + TILE, n0)):
                    target[i * target_step1 + j * target_step0] = (
                        source[i * source_step1 + j * source_step0])
            column += TILE
        row += TILE


cdef void _turn_tiles(char* target, int64_t target_step, const char* source, int64_t source_step,
                      int64_t rows, int64_t columns, int64_t width) noexcept nogil:
    """`rows` rows of the source, whose `columns` elements are neighbours, as columns of the target."""
    cdef int64_t side = TURNED_BYTES // width, row = 0, column
    while row < rows:
        column = 0
        while column < columns:
            turn(source + row * source_step + column * width, source_step,
                 target + column * target_step + row * width, target_step,
                 min(side, rows - row), min(side, columns - column), width)
            column += side
        row += side


cdef inline void _move_rows(Raw* target, const Raw* source, int64_t n0, const int64_t* s0,
                            int64_t n1, const int64_t* s1) noexcept nogil:
    cdef int64_t row, width = sizeof(Raw)
    # Squares of two wide elements a side are no faster than one after the other.
    if (width <= 4 and s0[0] == width and s1[1] == width and n0 >= TILE and n1 >= TILE
            and s0[1] != width and s0[1] != 0):
        _turn_tiles(<char*>target, s1[0], <const char*>source, s0[1], n0, n1, width)
        return
    if (s0[0] == width and n1 >= TILE and (s1[1] == width or s1[1] == -width)
            and s0[1] != width and s0[1] != -width and s0[1] != 0):
        _move_tiles(target, source, n0, s0[0] // width, s0[1] // width, n1, s1[0] // width,
                    s1[1] // width)
        return
    for row in range(n1):
        _move_typed(<Raw*>(<char*>target + row * s1[0]), s0[0] // width,
                    <const Raw*>(<const char*>source + row * s1[1]), s0[1] // width, n0)


cdef void _move_bytes(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                      const int64_t* unused) noexcept nogil:
    _move_rows(<uint8_t*>data[0], <const uint8_t*>data[1], n0, s0, n1, s1)


cdef void _move_shorts(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                       const int64_t* unused) noexcept nogil:
    _move_rows(<uint16_t*>data[0], <const uint16_t*>data[1], n0, s0, n1, s1)


cdef void _move_words(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                      const int64_t* unused) noexcept nogil:
    _move_rows(<uint32_t*>data[0], <const uint32_t*>data[1], n0, s0, n1, s1)


cdef void _move_longs(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                      const int64_t* unused) noexcept nogil:
    _move_rows(<uint64_t*>data[0], <const uint64_t*>data[1], n0, s0, n1, s1)


cdef void _move_wide(char** data, int64_t n0, const int64_t* s0, int64_t n1, const int64_t* s1,
                     const int64_t* unused) noexcept nogil:
    _move_rows(<aten_wide_element*>data[0], <const aten_wide_element*>data[1], n0, s0, n1, s1)


cdef void move_run(int width, char* target, int64_t target_step, const char* source,
                   int64_t source_step, int64_t count) noexcept nogil:
    cdef int64_t steps[2]
    cdef int64_t zeros[2]
    cdef char* data[2]
    steps[0] = target_step
    steps[1] = source_step
    zeros[0] = zeros[1] = 0
    data[0] = target
    data[1] = <char*>source
    if width == 4:
        _move_words(data, count, steps, 1, zeros, NULL)
    elif width == 8:
        _move_longs(data, count, steps, 1, zeros, NULL)
    elif width == 1:
        _move_bytes(data, count, steps, 1, zeros, NULL)
    elif width == 2:
        _move_shorts(data, count, steps, 1, zeros, NULL)
    else:
        _move_wide(data, count, steps, 1, zeros, NULL)


cdef inline void _add_operand(Walk* walk, char* data, const int64_t* strides,
                              int width) noexcept nogil:
    cdef int dim
    for dim in range(walk.rank):
        walk.strides[dim][walk.operands] = strides[walk.rank - 1 - dim] * width
    walk.data[walk.operands] = data
    walk.operands += 1


cdef inline void _run(Walk* walk, int width) noexcept nogil:
    if width == 4:
        walk.kernel = _move_words
    elif width == 8:
        walk.kernel = _move_longs
    elif width == 1:
        walk.kernel = _move_bytes
    elif width == 2:
        walk.kernel = _move_shorts
    else:
        walk.kernel = _move_wide
    run_walk(walk, GRAIN_BYTES // width)


cdef void _columns_second(Walk* walk, int width) noexcept nogil:
    """Of a transposing move, the dimension along which the source lies in memory as the second."""
    cdef int dim, place
    if walk.strides[0][1] == width or walk.strides[0][1] == -width or walk.strides[0][1] == 0:
        return
    for dim in range(2, walk.rank):
        if walk.strides[dim][1] != width and walk.strides[dim][1] != -width:
            continue
        walk.sizes[1], walk.sizes[dim] = walk.sizes[dim], walk.sizes[1]
        for place in range(2):
            walk.strides[1][place], walk.strides[dim][place] = (
                walk.strides[dim][place], walk.strides[1][place])
        return


cdef void move_elements(int width, int rank, const int64_t* sizes, char* target,
                        const int64_t* target_strides, const char* source,
                        const int64_t* source_strides) noexcept nogil:
    cdef Walk walk
    cdef int permutation[MAXIMUM_DIMS]
    begin_walk(&walk, rank, sizes)
    _add_operand(&walk, target, target_strides, width)
    _add_operand(&walk, <char*>source, source_strides, width)
    reorder(&walk, permutation)
    coalesce(&walk)
    _columns_second(&walk, width)
    _run(&walk, width)


cdef void fill_elements(int width, int rank, const int64_t* sizes, char* target,
                        const int64_t* strides, const char* element) noexcept nogil:
    cdef int64_t zeros[MAXIMUM_DIMS]
    memset(zeros, 0, rank * sizeof(int64_t))
    move_elements(width, rank, sizes, target, strides, element, zeros)
