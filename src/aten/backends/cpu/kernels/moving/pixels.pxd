"""Small images as columns, and with other channels. For calls of the operators pixel_shuffle,
pixel_unshuffle, im2col and col2im, of which `base` is the first argument; None for other than ordinary ones."""

from cpython.object cimport PyObject

from aten._core.tensor.tensor_impl cimport TensorImpl

cdef object shuffle_pixels(TensorImpl base, PyObject** stack)
cdef object gather_pixels(TensorImpl base, PyObject** stack)
cdef object columns_of_blocks(TensorImpl base, PyObject** stack)
cdef object blocks_added(TensorImpl base, PyObject** stack)
