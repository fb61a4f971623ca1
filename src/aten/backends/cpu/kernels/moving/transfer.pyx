# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Blocks of elements copied between strided places, converted between half types and float32.

What matrix products need around their kernels: operands packed to strides these take, half
types widened and rounded. Rows are shared out over the threads.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from aten._core.base.dtypes cimport BFLOAT16, FLOAT16, FLOAT32, item_size
from aten._core.threads.parallel cimport parallel_for

cdef extern from *:
    """
    #include <stdint.h>
    typedef struct { uint64_t low, high; } aten_wide;
    """
    ctypedef struct aten_wide:
        pass

cdef extern from "halves.h" nogil:
    float aten_widen_brain(uint16_t) noexcept nogil
    uint16_t aten_round_brain(float) noexcept nogil
    float aten_widen_half(uint16_t) noexcept nogil
    uint16_t aten_round_half(float) noexcept nogil

cdef extern from "half_runs.h" nogil:
    void aten_widen_brains_of(const uint16_t*, float*, int64_t) noexcept nogil
    void aten_round_brains_of(const float*, uint16_t*, int64_t) noexcept nogil
    void aten_widen_halves_of(const uint16_t*, float*, int64_t) noexcept nogil
    void aten_round_halves_of(const float*, uint16_t*, int64_t) noexcept nogil

cdef enum:
    # Elements in one chunk of work for the threads.
    GRAIN = 32768

ctypedef fused Raw:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    aten_wide

cdef struct Move:
    const Block* source
    const Block* target
    int64_t rows
    int64_t columns
    # The inner loop runs over rows where these lie closer together than columns.
    bint by_columns


cdef void _copy_run(const Raw* source, int64_t source_step, Raw* target, int64_t target_step,
                    int64_t count) noexcept nogil:
    cdef int64_t index
    if source_step == 1 and target_step == 1:
        memcpy(target, source, count * sizeof(Raw))
        return
    for index in range(count):
        target[index * target_step] = source[index * source_step]


cdef void _convert_run(const char* source, int source_code, int64_t source_step, char* target,
                       int target_code, int64_t target_step, int64_t count) noexcept nogil:
    cdef const uint16_t* halves = <const uint16_t*>source
    cdef const float* floats = <const float*>source
    cdef float* widened = <float*>target
    cdef uint16_t* rounded = <uint16_t*>target
    cdef int64_t index
    if source_step == 1 and target_step == 1:
        if source_code == BFLOAT16:
            aten_widen_brains_of(halves, widened, count)
        elif source_code == FLOAT16:
            aten_widen_halves_of(halves, widened, count)
        elif target_code == BFLOAT16:
            aten_round_brains_of(floats, rounded, count)
        else:
            aten_round_halves_of(floats, rounded, count)
    elif source_code == BFLOAT16:
        for index in range(count):
            widened[index * target_step] = aten_widen_brain(halves[index * source_step])
    elif source_code == FLOAT16:
        for index in range(count):
            widened[index * target_step] = aten_widen_half(halves[index * source_step])
    elif target_code == BFLOAT16:
        for index in range(count):
            rounded[index * target_step] = aten_round_brain(floats[index * source_step])
    else:
        for index in range(count):
            rounded[index * target_step] = aten_round_half(floats[index * source_step])


cdef void transfer_run(const char* source, int source_code, int64_t source_step, char* target,
                       int target_code, int64_t target_step, int64_t count) noexcept nogil:
    cdef int size = item_size(source_code)
    if source_code != target_code:
        _convert_run(source, source_code, source_step, target, target_code, target_step, count)
    elif size == 4:
        _copy_run(<const uint32_t*>source, source_step, <uint32_t*>target, target_step, count)
    elif size == 8:
        _copy_run(<const uint64_t*>source, source_step, <uint64_t*>target, target_step, count)
    elif size == 2:
        _copy_run(<const uint16_t*>source, source_step, <uint16_t*>target, target_step, count)
    elif size == 1:
        _copy_run(<const uint8_t*>source, source_step, <uint8_t*>target, target_step, count)
    else:
        _copy_run(<const aten_wide*>source, source_step, <aten_wide*>target, target_step, count)


cdef void _move_runs(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Runs begin … end of all runs of the batch."""
    cdef Move* move = <Move*>context
    cdef const Block* source = move.source
    cdef const Block* target = move.target
    cdef int64_t runs = move.columns if move.by_columns else move.rows
    cdef int64_t length = move.rows if move.by_columns else move.columns
    cdef int64_t index, place, run, source_offset, target_offset
    for index in range(begin, end):
        place = index // runs
        run = index - place * runs
        source_offset = place * source.batch_stride
        target_offset = place * target.batch_stride
        if move.by_columns:
            source_offset += run * source.column_stride
            target_offset += run * target.column_stride
        else:
            source_offset += run * source.row_stride
            target_offset += run * target.row_stride
        transfer_run(source.data + source_offset * item_size(source.code), source.code,
                     source.row_stride if move.by_columns else source.column_stride,
                     target.data + target_offset * item_size(target.code), target.code,
                     target.row_stride if move.by_columns else target.column_stride, length)


cdef void transfer(const Block* source, const Block* target, int64_t batch, int64_t rows,
                   int64_t columns) noexcept nogil:
    cdef Move move
    cdef int64_t runs, length
    if batch == 0 or rows == 0 or columns == 0:
        return
    move.source = source
    move.target = target
    move.rows = rows
    move.columns = columns
    move.by_columns = (columns == 1 or target.row_stride < target.column_stride) and rows > 1
    runs = columns if move.by_columns else rows
    length = rows if move.by_columns else columns
    parallel_for(batch * runs, max(1, GRAIN // length), _move_runs, &move)
