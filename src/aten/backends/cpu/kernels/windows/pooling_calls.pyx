# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Ordinary calls of pooling: row-major images of float32 and float64 in a batch."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcmp, memcpy

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT64
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.memory.storage cimport Storage
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport require_memory
from aten.backends.cpu.kernels.windows.pooling cimport SPATIAL, find_averages, find_maxima

# How the operators' windows are made, their spatial dimensions, and what is found in each window.
KINDS = {
    "max_pool1d": ("maxima", 1, "largest"),
    "max_pool2d": ("maxima", 2, "largest"),
    "max_pool3d": ("maxima", 3, "largest"),
    "max_pool1d_with_indices": ("maxima", 1, "places"),
    "max_pool2d_with_indices": ("maxima", 2, "places"),
    "max_pool3d_with_indices": ("maxima", 3, "places"),
    "adaptive_max_pool2d": ("adaptive", 2, "places"),
    "adaptive_max_pool3d": ("adaptive", 3, "places"),
    "avg_pool2d": ("averages", 2, "average"),
    "avg_pool3d": ("averages", 3, "average"),
    "_adaptive_avg_pool2d": ("adaptive", 2, "average"),
    "_adaptive_avg_pool3d": ("adaptive", 3, "average"),
}


cdef class PoolKernel(FastPath):
    """`prepare`, given the kind and rank of KINDS, the sizes of an image and the other `arguments` of the
    operator, gives the windows and steps of each dimension, the sizes of the result, whether padding
    does not count, and what to divide by or zero; None for what it does not know.

    Where zeros of both signs are the largest elements of a window, and nobody asks for its place, it may
    give another one of them than those who look for that.
    """

    cdef object prepare
    cdef object kind
    cdef object found
    cdef int rank
    cdef bint is_line
    cdef int arguments

    def __init__(self, str native not None, prepare not None, int arguments,
                 tuple replaced not None, find, Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.prepare = prepare
        self.kind, self.rank, self.found = KINDS[native]
        self.is_line = native == "max_pool1d"
        self.arguments = arguments

    cdef bint takes(self, Tensor input):
        """Whether it is an image of a batch in row-major order, and in no other by its strides; the one
        operator that makes its result row-major does not look at these."""
        return (input.rank == self.rank + 2 and input.contiguous and input.count > 0
                and input.device_type == CPU and input.dtype_code in (FLOAT32, FLOAT64)
                and (self.is_line or input.strides[1] > input.strides[input.rank - 1]))

    cdef object ordinary(self, PyObject** stack):
        cdef int64_t sizes[SPATIAL + 2]
        cdef int64_t seen[SPATIAL + 2]
        cdef Tensor input = <Tensor>stack[0], out, places = None
        cdef int dim, code
        # What is read stays, whatever others make of the tensor meanwhile.
        cdef Storage storage
        if not self.takes(input):
            return None
        code = input.dtype_code
        memcpy(seen, input.sizes, (self.rank + 2) * sizeof(int64_t))
        shape = tuple([seen[dim] for dim in range(self.rank + 2)])
        given = []
        for dim in range(1, self.arguments):
            given.append(<object>stack[dim])
        prepared = self.prepare(self.kind, self.rank, shape, *given)
        if prepared is None:
            return None
        windows, steps, results, inside, divisor = prepared
        for dim in range(self.rank + 2):
            sizes[dim] = results[dim]
        out = make_contiguous(code, self.rank + 2, sizes, CPU, -1)
        if self.found == "places":
            if out.count == 0:
                return None
            places = make_contiguous(INT64, self.rank + 2, sizes, CPU, -1)
        require_memory(input)
        # All of this may have run the code of others.
        if (not self.takes(input) or input.dtype_code != code
                or memcmp(seen, input.sizes, (self.rank + 2) * sizeof(int64_t)) != 0):
            return None
        storage = input.storage
        if self.found == "average":
            find_averages(input, out, windows, steps, inside, divisor)
            return out
        find_maxima(input, out, places, windows, steps, False)
        return out if places is None else (out, places)
