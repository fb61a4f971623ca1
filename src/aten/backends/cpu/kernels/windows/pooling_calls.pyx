# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Ordinary calls of pooling: row-major images of float32 and float64 in a batch, and nobody asks where
the largest elements are."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport require_memory
from aten.backends.cpu.kernels.windows.pooling cimport SPATIAL, find_averages, find_maxima

# The operators: spatial dimensions, arguments, and whether they average.
cdef dict _KINDS = {
    "max_pool1d": (1, 6, False),
    "max_pool2d": (2, 6, False),
    "max_pool3d": (3, 6, False),
    "avg_pool2d": (2, 7, True),
    "avg_pool3d": (3, 7, True),
    "_adaptive_avg_pool2d": (2, 2, True),
    "_adaptive_avg_pool3d": (3, 2, True),
}
NAMES = tuple(_KINDS)


cdef class PoolKernel(FastPath):
    """`prepare` gives, for the sizes of an image and what else the operator is given, the windows and
    steps of each dimension, the sizes of the result, whether padding does not count, and what to
    divide by or zero; or None for what it does not know.

    Where zeros of both signs are the largest elements of a window, it may give another one of them than
    those who look for its place."""

    cdef object prepare
    cdef int rank
    cdef int arguments
    cdef bint averages

    def __init__(self, str native not None, prepare not None, tuple replaced not None, find,
                 Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.prepare = prepare
        self.rank, self.arguments, self.averages = _KINDS[native]

    cdef object ordinary(self, PyObject** stack):
        cdef int64_t sizes[SPATIAL + 2]
        cdef Tensor input = <Tensor>stack[0], out
        cdef int dim
        if (input.rank != self.rank + 2 or not input.contiguous or input.count == 0
                or input.device_type != CPU or input.dtype_code not in (FLOAT32, FLOAT64)):
            return None
        given = []
        for dim in range(1, self.arguments):
            given.append(<object>stack[dim])
        found = self.prepare(self.native, input.shape, *given)
        if found is None:
            return None
        windows, steps, results, inside, divisor = found
        for dim in range(input.rank):
            sizes[dim] = results[dim]
        require_memory(input)
        out = make_contiguous(input.dtype_code, input.rank, sizes, input.device_type,
                              input.device_index)
        if self.averages:
            find_averages(input, out, windows, steps, inside, divisor)
        else:
            find_maxima(input, out, None, windows, steps, False)
        return out
