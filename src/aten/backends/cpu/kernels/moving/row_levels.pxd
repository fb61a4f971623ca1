"""Weighed sums of rows of a table, by the widest vectors: see the header."""

from libc.stdint cimport int64_t, uint16_t

cdef extern from "backends/cpu/kernels/moving/row_levels.h" nogil:
    # The table, from a row to the next, the rows, their weights or NULL, how many, columns, whether
    # the sums are begun, and the sums.
    void aten_add_rows_float(const float*, int64_t, const int64_t*, const float*, int64_t, int64_t,
                             bint, float*) noexcept
    void aten_add_rows_double(const double*, int64_t, const int64_t*, const double*, int64_t,
                              int64_t, bint, double*) noexcept
    void aten_add_rows_brains(const uint16_t*, int64_t, const int64_t*, const float*, int64_t,
                              int64_t, bint, float*) noexcept
