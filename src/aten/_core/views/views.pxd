"""Views: other sizes, strides and offsets over the same storage."""

from libc.stdint cimport int64_t

from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef class ViewKernel(Kernel):
    cdef readonly str native
    cdef readonly str place
    cdef void* function

cdef Tensor view_of(TensorImpl base, int rank, const int64_t* sizes, const int64_t* strides,
                    int64_t offset)
cdef void slice_bounds(int64_t size, object start, object stop, int64_t* first,
                       int64_t* end) except *
cdef Tensor swapped(TensorImpl base, int first, int second)
cdef Tensor unsqueezed(TensorImpl base, int place)
cdef Tensor selected(TensorImpl base, int dim, int64_t index)
cdef int inferred_sizes(TensorImpl base, object wanted, int64_t* sizes) except -1
cdef bint view_strides(TensorImpl base, int rank, const int64_t* sizes, int64_t* strides) except -1
