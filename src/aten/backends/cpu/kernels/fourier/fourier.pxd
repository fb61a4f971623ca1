"""Fourier transforms along one dimension."""

from libc.stdint cimport int64_t

from aten._core.tensor.tensor cimport Tensor

# What `transform` does. Raises as that.
cdef int transform_lines(Tensor given, Tensor out, int dim, int64_t length, bint inverse,
                         double scale) except -1
