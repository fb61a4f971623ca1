# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Ordinary calls of what samples images: float32 and float64, at points that lie row by row."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_flag, reads_integer
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, is_lazy
from aten.backends.cpu.kernels.windows.sampling cimport take_samples

cdef enum:
    PLANE = 4
    VOLUME = 5
    BICUBIC = 2

NAMES = ("grid_sampler_2d", "grid_sampler_3d")


cdef bint _go_together(PyObject** stack) except -1:
    """Whether image, grid and modes are none that sampling refuses, but for their types."""
    cdef TensorImpl input = <TensorImpl>stack[0], grid = <TensorImpl>stack[1]
    cdef int64_t mode = 0, padding = 0
    cdef int dim, rank = input.rank
    if rank not in (PLANE, VOLUME) or grid.rank != rank or input.dtype_code != grid.dtype_code:
        return False
    if input.device_type != grid.device_type or input.device_index != grid.device_index:
        return False
    if input.sizes[0] != grid.sizes[0] or grid.sizes[rank - 1] != rank - 2:
        return False
    for dim in range(2, rank):
        if input.sizes[dim] == 0:
            return False
    return (reads_integer(stack[2], &mode) and reads_integer(stack[3], &padding)
            and 0 <= mode <= BICUBIC and 0 <= padding <= 2 and (mode != BICUBIC or rank == PLANE))


cdef class SamplerKernel(FastPath):
    """Asks the operator for images, or the one for volumes, of grids that go together with them."""

    cdef OpOverload of_planes
    cdef OpOverload of_volumes

    def __init__(self, OpOverload of_planes not None, OpOverload of_volumes not None,
                 tuple replaced not None, find, Kernel otherwise not None):
        FastPath.__init__(self, "grid sampler by rank", replaced, find, otherwise)
        self.of_planes, self.of_volumes = of_planes, of_volumes

    cdef object ordinary(self, PyObject** stack):
        if not _go_together(stack):
            return None
        if (<TensorImpl>stack[0]).rank == PLANE:
            return self.of_planes.call_stack(stack)
        return self.of_volumes.call_stack(stack)


cdef class SampleKernel(FastPath):
    """Samples images of the rank that `native` says."""

    cdef int rank

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.rank = PLANE if native == NAMES[0] else VOLUME

    cdef object ordinary(self, PyObject** stack):
        cdef Tensor input = <Tensor>stack[0], grid = <Tensor>stack[1], out
        cdef int64_t sizes[VOLUME]
        cdef int64_t mode = 0, padding = 0
        cdef bint align_corners = False
        cdef int dim
        if (input.rank != self.rank or input.device_type != CPU or not grid.contiguous
                or input.dtype_code not in (FLOAT32, FLOAT64) or is_lazy(input) or is_lazy(grid)
                or not _go_together(stack) or not reads_flag(stack[4], &align_corners)):
            return None
        reads_integer(stack[2], &mode)
        reads_integer(stack[3], &padding)
        # Other threads may run while samples are taken, and change what is read then.
        input, grid = make_alias(input), make_alias(grid)
        sizes[0], sizes[1] = input.sizes[0], input.sizes[1]
        for dim in range(2, self.rank):
            sizes[dim] = grid.sizes[dim - 1]
        out = make_contiguous(input.dtype_code, self.rank, sizes, CPU, input.device_index)
        take_samples(input, grid, out, <int>mode, <int>padding, align_corners)
        return out
