"""What operators check and change about their outputs' memory."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef struct Geometry:
    PyObject* storage           # borrowed, to be compared only
    int64_t offset
    int rank
    int64_t sizes[MAXIMUM_DIMS]
    int64_t strides[MAXIMUM_DIMS]

cdef int keep_geometry(TensorImpl tensor, Geometry* kept) noexcept
cdef int restore_geometry(TensorImpl tensor, const Geometry* kept) except -1

# A kernel that has read sizes or addresses, and runs Python code before it uses them, takes the
# count of changes (`LocalState.changes`) before it reads, and lets this raise RuntimeError where the
# code has changed sizes or the storage of any tensor.
cdef int check_unchanged(str name, int64_t changes) except -1
cdef int resize_tensor(TensorImpl tensor, int rank, const int64_t* sizes) except -1
cdef int prepare_out(str name, TensorImpl out, int rank, const int64_t* sizes) except -1
cdef int check_internal_overlap(TensorImpl out) except -1
cdef bint may_overlap(TensorImpl left, TensorImpl right) noexcept
cdef bint same_geometry(TensorImpl left, TensorImpl right) noexcept
