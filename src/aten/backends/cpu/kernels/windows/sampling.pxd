"""Samples of images at given points."""

from aten._core.tensor.tensor cimport Tensor

# What `sample` does.
cdef int take_samples(Tensor input, Tensor grid, Tensor out, int mode, int padding,
                      bint align_corners) except -1
