# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Elements where a mask is true: their positions, the elements themselves, and others in their place.

A mask is cut into pieces. The true elements of each are counted first, so that threads know where
what they find belongs. No loop branches at an element: what is not chosen is written, too, and
overwritten by what comes next.

A mask may change once it has been counted. Of each piece no more is written then than there is room
for, and zeros stand for what is missing.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport BOOL, INT64, item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, set_geometry)
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.indexing.locating cimport require_memory

cdef enum:
    # Elements of a mask that are counted, and then dealt with, in one piece.
    PIECE = 1024
    # Pieces in one chunk of work for the threads.
    GRAIN = 32
    # Elements that are counted in a byte.
    COUNTED = 128

cdef extern from *:
    """
    #include <stdint.h>
    typedef struct { uint64_t low, high; } aten_masked_wide;
    """
    ctypedef struct aten_masked_wide:
        pass

ctypedef fused Raw:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    aten_masked_wide


cdef struct Places:
    const uint8_t* mask
    int64_t total
    int64_t* before             # for each piece, how many true elements come before it; last, all
    int64_t found               # in all
    int rank                    # of the coordinates
    int64_t sizes[MAXIMUM_DIMS]
    char* out
    char* source
    int width                   # bytes of an element


cdef inline int64_t _count(const uint8_t* mask, int64_t count) noexcept nogil:
    cdef int64_t begin = 0, at, end, found = 0
    cdef uint8_t some
    while begin < count:
        some = 0
        end = min(begin + COUNTED, count)
        for at in range(begin, end):
            some += mask[at] != 0
        found += some
        begin = end
    return found


cdef void _count_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Places* places = <Places*>context
    cdef int64_t piece
    for piece in range(begin, end):
        places.before[piece] = _count(places.mask + piece * PIECE,
                                      min(<int64_t>PIECE, places.total - piece * PIECE))


cdef Tensor _count_all(Places* places, TensorImpl mask):
    """Counts the true elements before each piece, in memory that the result holds."""
    cdef Tensor counts
    cdef int64_t pieces = (mask.count + PIECE - 1) // PIECE, piece, count, entries = pieces + 1
    require_memory(mask)
    if item_size(mask.dtype_code) != 1 or not mask.contiguous:
        raise ValueError("a mask is a row-major tensor of bools")
    counts = make_contiguous(INT64, 1, &entries, CPU, -1)
    places.mask = <uint8_t*>const_data_pointer(mask)
    places.total = mask.count
    places.before = <int64_t*>data_pointer(counts)
    places.found = 0
    if pieces <= GRAIN:
        _count_pieces(places, 0, pieces)
    else:
        with nogil:
            parallel_for(pieces, 4 * GRAIN, _count_pieces, places)
    for piece in range(pieces):
        count = places.before[piece]
        places.before[piece] = places.found
        places.found += count
    places.before[pieces] = places.found
    return counts


cdef int _write(Places* places, void (*task)(void*, int64_t, int64_t) noexcept nogil) except -1:
    cdef int64_t pieces = (places.total + PIECE - 1) // PIECE
    if places.found == 0:
        return 0
    if pieces <= GRAIN:
        task(places, 0, pieces)
        return 0
    with nogil:
        parallel_for(pieces, GRAIN, task, places)
    return 0


cdef inline int64_t _room(const Places* places, int64_t piece) noexcept nogil:
    """How many true elements of a piece were counted."""
    return places.before[piece + 1] - places.before[piece]


# Positions

cdef inline int64_t _find(const Places* places, int64_t piece, int64_t* found) noexcept nogil:
    """The positions of true elements of a piece; how many were counted."""
    cdef int64_t begin = piece * PIECE, at, next = 0, room = _room(places, piece)
    for at in range(begin, min(begin + PIECE, places.total)):
        found[next] = at
        next += places.mask[at] != 0
    if next < room:
        memset(found + next, 0, (room - next) * sizeof(int64_t))
    return room


cdef inline void _split(int64_t* positions, int64_t count, int64_t size, int64_t* out,
                        bint short) noexcept nogil:
    """Write positions modulo the size of a dimension, and leave what the outer ones count."""
    cdef int64_t at
    cdef uint32_t quotient, narrow = <uint32_t>size
    for at in range(count):
        if short:       # a division of half the width takes a fraction of the time
            quotient = <uint32_t>positions[at] // narrow
            out[at] = <uint32_t>positions[at] - quotient * narrow
            positions[at] = quotient
        else:
            out[at] = positions[at] % size
            positions[at] //= size


cdef void _write_positions(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Columns of coordinates; with rank 1, positions."""
    cdef Places* places = <Places*>context
    cdef int64_t found[PIECE]
    cdef int64_t* out = <int64_t*>places.out
    cdef int64_t piece, count, first
    cdef int dim
    cdef bint short = places.total < <int64_t>1 << 32
    for piece in range(begin, end):
        count = _find(places, piece, found)
        first = places.before[piece]
        for dim in range(places.rank - 1, 0, -1):
            if short:
                _split(found, count, places.sizes[dim], out + dim * places.found + first, True)
            else:
                _split(found, count, places.sizes[dim], out + dim * places.found + first, False)
        memcpy(out + first, found, count * sizeof(int64_t))


cdef Tensor true_positions(TensorImpl mask, bint flat):
    cdef Places places
    cdef Tensor counts, made
    cdef int64_t sizes[2]
    cdef int dim
    places.rank = 1 if flat else mask.rank
    for dim in range(mask.rank):
        places.sizes[dim] = mask.sizes[dim]
    counts = _count_all(&places, mask)
    sizes[0] = places.rank
    sizes[1] = places.found
    made = make_contiguous(INT64, 2, sizes, mask.device_type, mask.device_index)
    places.out = data_pointer(made)
    if places.rank > 0:
        _write(&places, _write_positions)
    return made


cdef object nonzero_ordinary(PyObject** stack):
    """nonzero(self) of bools."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef Tensor found
    cdef int64_t sizes[2]
    cdef int64_t strides[2]
    if self.device_type != CPU or self.dtype_code != BOOL or not self.contiguous:
        return None
    found = true_positions(self, False)
    sizes[0], sizes[1] = found.sizes[1], found.sizes[0]
    strides[0], strides[1] = found.strides[1], found.strides[0]
    set_geometry(found, 2, sizes, strides)
    return found


cdef object masked_select_ordinary(PyObject** stack):
    """masked_select(self, mask) of tensors of one shape."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef TensorImpl mask = <TensorImpl>stack[1]
    cdef int dim
    if (self.device_type != CPU or mask.device_type != CPU or mask.dtype_code != BOOL
            or self.rank != mask.rank or not self.contiguous or not mask.contiguous):
        return None
    for dim in range(self.rank):
        if self.sizes[dim] != mask.sizes[dim]:
            return None
    return compressed(self, mask)


def positions(Tensor mask not None, bint flat):
    """Where a row-major tensor of bools is true: (rank, count), coordinates; or flat, (1, count).

    In row-major order, int64.
    """
    return true_positions(mask, flat)


# Elements

cdef inline void _compress_piece(const Places* places, int64_t piece, Raw* room) noexcept nogil:
    cdef const Raw* source = <const Raw*>places.source
    cdef int64_t begin = piece * PIECE, at, next = 0, counted = _room(places, piece)
    for at in range(begin, min(begin + PIECE, places.total)):
        room[next] = source[at]
        next += places.mask[at] != 0
    if next < counted:
        memset(room + next, 0, (counted - next) * sizeof(Raw))
    memcpy(<Raw*>places.out + places.before[piece], room, counted * sizeof(Raw))


cdef void _compress_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Places* places = <Places*>context
    cdef aten_masked_wide room[PIECE]
    cdef int64_t piece
    for piece in range(begin, end):
        if places.width == 1:
            _compress_piece(places, piece, <uint8_t*>room)
        elif places.width == 2:
            _compress_piece(places, piece, <uint16_t*>room)
        elif places.width == 4:
            _compress_piece(places, piece, <uint32_t*>room)
        elif places.width == 8:
            _compress_piece(places, piece, <uint64_t*>room)
        else:
            _compress_piece(places, piece, <aten_masked_wide*>room)


cdef Tensor compressed(TensorImpl source, TensorImpl mask):
    cdef Places places
    cdef Tensor counts, made
    require_memory(source)
    if source.count != mask.count or not source.contiguous:
        raise ValueError("compress: expected row-major elements, one for each of the mask")
    # Before other threads may run: they may let `source` show something else.
    places.source = <char*>const_data_pointer(source)
    places.width = item_size(source.dtype_code)
    counts = _count_all(&places, mask)
    made = make_contiguous(source.dtype_code, 1, &places.found, source.device_type,
                           source.device_index)
    places.out = data_pointer(made)
    _write(&places, _compress_pieces)
    return made


def compress(Tensor source not None, Tensor mask not None):
    """The elements, in order, where a mask of as many bools is true: a vector. Both row-major."""
    return compressed(source, mask)


cdef inline void _expand_piece(const Places* places, int64_t piece, Raw unused) noexcept nogil:
    cdef const Raw* source = <const Raw*>places.source
    cdef Raw* out = <Raw*>places.out
    cdef int64_t begin = piece * PIECE, at, next = places.before[piece], last = places.found - 1
    cdef int64_t end = min(begin + PIECE, places.total)
    cdef bint chosen
    cdef Raw every
    if Raw is aten_masked_wide:
        for at in range(begin, end):
            if places.mask[at]:
                out[at] = source[min(next, last)]
                next += 1
    else:
        for at in range(begin, end):
            chosen = places.mask[at] != 0
            every = <Raw>(<Raw>0 - <Raw>chosen)
            # Behind the last one there may be nothing to read.
            out[at] ^= (out[at] ^ source[min(next, last)]) & every
            next += chosen


cdef void _expand_pieces(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Places* places = <Places*>context
    cdef aten_masked_wide wide
    cdef int64_t piece
    for piece in range(begin, end):
        if places.width == 1:
            _expand_piece(places, piece, <uint8_t>0)
        elif places.width == 2:
            _expand_piece(places, piece, <uint16_t>0)
        elif places.width == 4:
            _expand_piece(places, piece, <uint32_t>0)
        elif places.width == 8:
            _expand_piece(places, piece, <uint64_t>0)
        else:
            _expand_piece(places, piece, wide)


cdef int _require_places(TensorImpl out, int64_t count, TensorImpl source) except -1:
    if (out.count != count or not out.contiguous or not source.contiguous
            or out.dtype_code != source.dtype_code):
        raise ValueError("expand_into: expected row-major elements, one for each of the mask")
    return 0


def expand_into(Tensor out not None, Tensor mask not None, Tensor source not None):
    """Elements of `source` in order to where a mask is true in `out`. All are row-major.

    Returns how many are needed; nothing is written where `source` has fewer. Raises ValueError for
    tensors that are not row-major, of several dtypes, or a mask of another size.
    """
    cdef Places places
    cdef Tensor counts
    require_memory(out)
    require_memory(source)
    _require_places(out, mask.count, source)
    counts = _count_all(&places, mask)
    # Again: other threads may have run.
    _require_places(out, places.total, source)
    if source.count < places.found:
        return places.found
    places.out = data_pointer(out)
    places.source = <char*>const_data_pointer(source)
    places.width = item_size(source.dtype_code)
    _write(&places, _expand_pieces)
    count_write(out)
    return places.found
