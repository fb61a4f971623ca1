"""Walks in tiles, for operands that are closest in memory along different dimensions."""

from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.moving.iterator cimport MAXIMUM_OPERANDS, Walk

cdef enum:
    # Operands that may be turned at once: each needs a part of a thread's stack.
    MAXIMUM_TURNED = 2

cdef struct Tiling:
    Walk* walk
    int turned                          # operands read through a buffer
    int places[MAXIMUM_TURNED]          # which those are
    int64_t widths[MAXIMUM_TURNED]      # bytes of their elements
    int64_t steps[MAXIMUM_TURNED]       # their own byte strides along dimension 0
    int64_t lengths[2]                  # of a tile, in points
    int64_t counts[2]                   # tiles along dimensions 0 and 1

cdef bint tile(Walk* walk, const int64_t* widths, Tiling* tiling) noexcept nogil
cdef void run_tiles(Tiling* tiling, int64_t grain) noexcept nogil
# `rows` rows of `columns` neighbours, of `width` bytes each, turned into rows of columns.
cdef void turn(const char* source, int64_t source_step, char* target, int64_t target_step,
               int64_t rows, int64_t columns, int64_t width) noexcept nogil
