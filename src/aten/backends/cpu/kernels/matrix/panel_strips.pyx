# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Strips of products in units, for products and for kernels that are made of them."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset


cdef void run_strip(const aten_panel_tiles* tiles, aten_panel_tile* tile, int64_t rows,
                    int64_t columns, int64_t group) noexcept nogil:
    cdef int64_t next = tile.out_row * tiles.unit, row = 0
    cdef int vectors = <int>((columns - 1) // tiles.lanes)
    cdef int shape = 3 if tiles.rows == 8 else 2
    cdef aten_panel_tile one = tile[0]
    if tiles.strip != NULL:
        tiles.strip(tile, rows, columns, group)
        return
    while row < rows:
        while rows - row < <int64_t>1 << shape:
            shape -= 1
        one.left = tile.left + row * tile.left_row
        if group:
            one.left = tile.left + row // LEFT_LANES * group + row % LEFT_LANES * tile.left_row
        one.out = <char*>tile.out + row * next
        if tile.base != NULL:
            one.base = <const char*>tile.base + row * tiles.unit
        if tile.start != NULL:
            one.start = <const char*>tile.start + row * next
        if tile.addend != NULL:
            one.addend = <const char*>tile.addend + row * next
        tiles.tiles[shape][vectors](&one)
        row += <int64_t>1 << shape


cdef void turn_around(int unit, void* first, void* second, int64_t count) noexcept nogil:
    cdef uint64_t* single = <uint64_t*>first
    cdef uint64_t* turned = <uint64_t*>second
    cdef double* wide = <double*>first
    cdef double* apart = <double*>second
    cdef int64_t place
    if unit == 4:
        # Both parts are one word, the imaginary one above.
        for place in range(count):
            turned[place] = single[place] << 32 | single[place] >> 32
            single[place] ^= <uint64_t>1 << 63
        return
    for place in range(0, 2 * count, 2):
        apart[place] = wide[place + 1]
        apart[place + 1] = wide[place]
        wide[place + 1] = -wide[place + 1]


cdef void pack_columns(const aten_panel_packs* packs, const char* source, int64_t column_step,
                       int unit, int64_t count, int64_t columns, int64_t width,
                       bint goes_on, char* target) noexcept nogil:
    cdef int64_t step = column_step * packs.size, read = unit if packs.as_is else packs.size
    cdef int64_t ahead = STRETCH if goes_on else step // read * LEFT_LANES
    cdef int64_t units = (count + packs.group - 1) // packs.group * packs.parts, row
    if packs.turn_elements != NULL and count % packs.group == 0 and step % read == 0:
        packs.turn_elements(source, step // read, units, columns, width, ahead, target)
    else:
        _turn_packed(packs, source, step, count, columns, width, target)
    if columns < width:
        for row in range(units):
            memset(target + (row * width + columns) * unit, 0, (width - columns) * unit)


cdef void _turn_packed(const aten_panel_packs* packs, const char* source, int64_t step,
                       int64_t count, int64_t columns, int64_t width, char* target) noexcept nogil:
    """Columns whose elements make no units where they lie: units of four bytes all of them."""
    cdef uint32_t some[16 * (STRETCH + 16)]
    cdef int64_t stretch = STRETCH * packs.group, begin = 0, column, group, together, row, steps
    while begin < count:
        steps = min(stretch, count - begin)
        for group in range((columns + 15) // 16):
            column = group * 16
            together = min(<int64_t>16, columns - column)
            for row in range(together):
                packs.run(source + (column + row) * step + begin * packs.size, 1, steps,
                          some + row * (STRETCH + 16))
            packs.turn(some, STRETCH + 16, (steps + packs.group - 1) // packs.group, together,
                       width, 0, target + (begin // packs.group * width + column) * 4)
        begin += stretch
