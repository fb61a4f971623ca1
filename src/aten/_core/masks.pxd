"""Elements where a mask is true."""

from aten._core.tensor cimport Tensor

cdef Tensor true_positions(Tensor mask, bint flat)
cdef Tensor compressed(Tensor source, Tensor mask)
