# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Cross products of vectors that lie in row-major tensors of one shape."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.base.strides cimport is_row_major
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_dim
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, is_lazy
from aten._core.threads.parallel cimport parallel_for

cdef enum:
    # Products in one chunk of work for the threads.
    GRAIN = 4096
    # Dimensions beyond have memory formats, which the general way keeps.
    MOST_DIMS = 3

ctypedef fused Real:
    float
    double

cdef struct Products:
    const void* first
    const void* second
    void* out
    int64_t inner               # between the elements of a vector
    bint is_wide


cdef class CrossKernel(FastPath):
    """linalg_cross(self, other, *, dim) of float32 and float64."""

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl first = <TensorImpl>stack[0], second = <TensorImpl>stack[1]
        cdef Tensor out
        cdef Products work
        cdef int dim, place
        if (not _is_plain(first) or not _is_plain(second) or first.rank != second.rank
                or first.dtype_code != second.dtype_code or not reads_dim(stack[2], first, &dim)
                or first.sizes[dim] != 3):
            return None
        for place in range(first.rank):
            if first.sizes[place] != second.sizes[place]:
                return None
        # Other threads may run meanwhile, and change what is read then.
        first, second = make_alias(first), make_alias(second)
        out = make_contiguous(first.dtype_code, first.rank, first.sizes, CPU, first.device_index)
        work.first, work.second = const_data_pointer(first), const_data_pointer(second)
        work.out = out.storage.data
        work.is_wide = first.dtype_code == FLOAT64
        work.inner = 1
        for place in range(dim + 1, first.rank):
            work.inner *= first.sizes[place]
        with nogil:
            parallel_for(first.count // 3, GRAIN, _cross, &work)
        return out


cdef bint _is_plain(TensorImpl tensor) noexcept:
    return (tensor.device_type == CPU and tensor.dtype_code in (FLOAT32, FLOAT64)
            and 0 < tensor.rank <= MOST_DIMS and tensor.count > 0 and not is_lazy(tensor)
            and is_row_major(tensor.rank, tensor.sizes, tensor.strides))


cdef void _cross(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef const Products* work = <const Products*>context
    if work.is_wide:
        _cross_vectors(work, begin, end, <const double*>work.first)
    else:
        _cross_vectors(work, begin, end, <const float*>work.first)


cdef void _cross_vectors(const Products* work, int64_t begin, int64_t end,
                         const Real* first) noexcept nogil:
    cdef const Real* second = <const Real*>work.second
    cdef Real* out = <Real*>work.out
    cdef int64_t vector, x, y, z
    for vector in range(begin, end):
        x = vector // work.inner * 3 * work.inner + vector % work.inner
        y = x + work.inner
        z = y + work.inner
        out[x] = first[y] * second[z] - first[z] * second[y]
        out[y] = first[z] * second[x] - first[x] * second[z]
        out[z] = first[x] * second[y] - first[y] * second[x]
