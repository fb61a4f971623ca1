# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False
"""Operators that name the dimensions of a convolution: they ask the one that serves all of them."""

from cpython.object cimport PyObject

from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport Py_False, Py_True
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef enum:
    # Arguments of `aten::convolution`; these have the first five, too.
    DILATION = 5
    TRANSPOSED = 6
    OUTPUT_PADDING = 7
    GROUPS = 8
    ARGUMENTS = 9

# Spatial dimensions, and whether the convolution is transposed.
NAMES = {
    "conv1d": (1, False),
    "conv2d": (2, False),
    "conv3d": (3, False),
    "conv_transpose1d": (1, True),
    "conv_transpose2d": (2, True),
    "conv_transpose3d": (3, True),
}
cdef object _FIRST = 0


cdef class NamedConvolutionKernel(FastPath):
    """Convolutions of batches, and of single images, which are batches for a while."""

    cdef OpOverload convolution
    cdef OpOverload unsqueeze
    cdef OpOverload squeeze
    cdef int rank
    cdef bint transposed
    cdef object nothing                 # padding behind the result, where it is not given

    def __init__(self, native, replaced, find, Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.rank, self.transposed = NAMES[native]
        self.nothing = (0,) * self.rank
        self.convolution = find("convolution")
        self.unsqueeze = find("unsqueeze")
        self.squeeze = find("squeeze.dim")

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* given[ARGUMENTS]
        cdef int rank = (<TensorImpl>stack[0]).rank, place
        if rank != self.rank + 1 and rank != self.rank + 2:
            return None
        for place in range(DILATION):
            given[place] = stack[place]
        if self.transposed:
            given[OUTPUT_PADDING], given[GROUPS], given[DILATION] = stack[5], stack[6], stack[7]
            given[TRANSPOSED] = Py_True
        else:
            given[DILATION], given[GROUPS] = stack[5], stack[6]
            given[OUTPUT_PADDING], given[TRANSPOSED] = <PyObject*>self.nothing, Py_False
        if rank == self.rank + 2:
            return self.convolution.call_stack(given)
        batch = _along_first(self.unsqueeze, stack[0])
        given[0] = <PyObject*>batch
        made = self.convolution.call_stack(given)
        return _along_first(self.squeeze, <PyObject*>made)


cdef object _along_first(OpOverload op, PyObject* tensor):
    cdef PyObject* given[2]
    given[0], given[1] = tensor, <PyObject*>_FIRST
    return op.call_stack(given)
