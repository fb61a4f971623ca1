"""Tensors with more, or fewer, elements at their borders."""

from libc.stdint cimport int64_t

from aten._core.tensor.tensor_impl cimport TensorImpl

cdef enum:
    # What stands beyond a border: one element, the elements within mirrored at the last one, that
    # one repeated, or the elements from the other side.
    CONSTANT = 0
    REFLECT = 1
    REPLICATE = 2
    CIRCULAR = 3

# `out` has before[d] elements more than `base` at the beginning of each dimension, and whatever its
# sizes say at the end; negative counts crop. `element` is what CONSTANT adds. False, and nothing
# written, where `out` has gaps.
cdef bint write_framed(TensorImpl out, TensorImpl base, const int64_t* before, int mode,
                       const char* element) except -1
