"""What operators check and change about their outputs' memory."""

from libc.stdint cimport int64_t

from aten._core.sizes cimport MAXIMUM_DIMS
from aten._core.tensor cimport TensorImpl

cdef struct Geometry:
    int rank
    int64_t sizes[MAXIMUM_DIMS]
    int64_t strides[MAXIMUM_DIMS]

cdef int keep_geometry(TensorImpl tensor, Geometry* kept) noexcept
cdef int restore_geometry(TensorImpl tensor, const Geometry* kept) except -1

cdef int resize_tensor(TensorImpl tensor, int rank, const int64_t* sizes) except -1
cdef int prepare_out(str name, TensorImpl out, int rank, const int64_t* sizes) except -1
cdef int check_internal_overlap(TensorImpl out) except -1
cdef bint may_overlap(TensorImpl left, TensorImpl right) noexcept
cdef bint same_geometry(TensorImpl left, TensorImpl right) noexcept
