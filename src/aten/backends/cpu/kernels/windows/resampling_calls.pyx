# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Ordinary calls of what resizes images: row-major ones of float32 and float64 in a batch."""

from cpython.object cimport PyObject
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.device cimport CPU, default_device
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.base.keys cimport DispatchKeySet
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.making cimport make_alias, make_contiguous, make_tensor
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, is_lazy

from aten._core.base.keys import DispatchKey
from aten.backends.cpu.kernels.windows.resampling import repeat_planes, weigh, weigh_planes

cdef extern from "Python.h":
    bint PyTuple_CheckExact(PyObject*) noexcept
    bint PyFloat_CheckExact(PyObject*) noexcept
    double PyFloat_AS_DOUBLE(PyObject*) noexcept

cdef enum:
    SPATIAL = 3
    # Behind these two, image and sizes, operators have align_corners or not, then factors.
    SIZES = 1
    BEHIND = 2
    MOST_ARGUMENTS = BEHIND + 1 + SPATIAL

cdef double LARGE = 1 << 40
# Of tensors whose sizes may be symbols, of which sizes of results are to be made.
cdef uint64_t PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits

# Those with loops of their own.
NAMES = ("upsample_nearest2d", "_upsample_nearest_exact2d", "upsample_linear1d",
         "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
         "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")


cdef class SizeKernel(FastPath):
    """Asks `target`, which has a size and a factor for each of `rank` dimensions, for images whose sizes
    are given, or as factors of theirs."""

    cdef OpOverload target
    cdef int rank
    cdef int factors                    # the stack position of the factors, in both operators

    def __init__(self, OpOverload target not None, int rank, tuple replaced not None, find,
                 Kernel otherwise not None):
        FastPath.__init__(self, f"call of {target.name} by sizes", replaced, find, otherwise)
        self.target, self.rank = target, rank
        self.factors = <int>len(target._schema.arguments) - rank

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* given[MOST_ARGUMENTS]
        cdef TensorImpl input = <TensorImpl>stack[0]
        cdef PyObject* sizes = stack[SIZES]
        cdef PyObject* factors = stack[self.factors]
        cdef int place
        if (input.rank != self.rank + 2 or input.keys & PYTHON
                or (sizes == <PyObject*>None) == (factors == <PyObject*>None)):
            return None
        if sizes == <PyObject*>None:
            wanted = self.multiplied(input, factors)
            if wanted is None:
                return None
            sizes = <PyObject*>wanted
        elif not PyTuple_CheckExact(sizes) or len(<tuple>sizes) != self.rank:
            return None
        given[0], given[SIZES] = stack[0], sizes
        if self.factors > BEHIND:
            given[BEHIND] = stack[BEHIND]
        for place in range(self.rank):
            given[self.factors + place] = <PyObject*>None
            if factors != <PyObject*>None:
                given[self.factors + place] = <PyObject*>(<tuple>factors)[place]
        return self.target.call_stack(given)

    cdef tuple multiplied(self, TensorImpl input, PyObject* factors):
        """Sizes times factors; None where those are none for the dimensions, or sizes are large."""
        cdef double wanted[SPATIAL]
        cdef int place
        if not PyTuple_CheckExact(factors) or len(<tuple>factors) != self.rank:
            return None
        for place in range(self.rank):
            factor = (<tuple>factors)[place]
            if not PyFloat_CheckExact(<PyObject*>factor):
                return None
            wanted[place] = input.sizes[place + 2] * PyFloat_AS_DOUBLE(<PyObject*>factor)
            if not fabs(wanted[place]) < LARGE:
                return None
        return tuple([<int64_t>wanted[place] for place in range(self.rank)])


cdef class ResizeKernel(FastPath):
    """`prepare`, given the operator's name, the type and sizes of an image and the other `arguments`, gives
    the sizes of the result, whether elements are repeated, and tables for each dimension, the last one
    first; None for what it does not know."""

    cdef object prepare
    cdef int arguments

    def __init__(self, native, prepare not None, int arguments, tuple replaced not None, find,
                 Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.prepare = prepare
        self.arguments = arguments

    cdef object ordinary(self, PyObject** stack):
        cdef int64_t sizes[SPATIAL + 2]
        cdef Tensor image, out
        cdef int dim
        # Others may run, and change what they can reach.
        image = make_alias(<TensorImpl>stack[0])
        if not _is_ordinary(image) or default_device() is not None:
            return None
        shape = tuple([image.sizes[dim] for dim in range(image.rank)])
        given = []
        for dim in range(1, self.arguments):
            given.append(<object>stack[dim])
        prepared = self.prepare(self.native, image.dtype_code == FLOAT64, shape, *given)
        if prepared is None:
            return None
        wanted, repeats, tables = prepared
        for dim in range(image.rank):
            sizes[dim] = wanted[dim]
        if repeats:
            out = make_contiguous(image.dtype_code, image.rank, sizes, CPU, -1)
            repeat_planes(_planes(image), _planes(out), tables[0], tables[1])
            return out
        return _weighed(image, sizes, tables)


cdef bint _is_ordinary(TensorImpl image) noexcept:
    """Whether it is row-major, says so in its strides, and holds pixels of the CPU, more than one each."""
    cdef int64_t stride = 1
    cdef int dim
    if (image.device_type != CPU or image.dtype_code not in (FLOAT32, FLOAT64)
            or not 3 <= image.rank <= SPATIAL + 2 or image.count == 0
            or image.storage.data == NULL or is_lazy(image)):
        return False
    for dim in range(image.rank - 1, -1, -1):
        if image.strides[dim] != stride:
            return False
        stride *= image.sizes[dim]
    return image.count > image.sizes[0] * image.sizes[1]


cdef Tensor _planes(Tensor images):
    """The window of all planes, whichever image they belong to."""
    cdef int64_t sizes[3]
    cdef int64_t strides[3]
    sizes[0] = images.sizes[0] * images.sizes[1]
    sizes[1], sizes[2] = images.sizes[2], images.sizes[3]
    strides[0], strides[1], strides[2] = images.strides[1], images.strides[2], images.strides[3]
    return make_tensor(images.storage, images.dtype_code, 3, sizes, strides, images.offset)


cdef Tensor _weighed(Tensor image, const int64_t* sizes, tuple tables):
    """Resized in the last dimension, or the last two together, and then in the one before."""
    cdef int64_t shape[SPATIAL + 2]
    cdef Tensor out
    cdef int dim, planes = 2 if image.rank > 3 else 1
    for dim in range(image.rank):
        shape[dim] = sizes[dim] if dim >= image.rank - planes else image.sizes[dim]
    out = make_contiguous(image.dtype_code, image.rank, shape, CPU, -1)
    if planes == 1:
        weigh(image, out, 2, tables[0][0], tables[0][1], tables[0][2])
    else:
        weigh_planes(image, out, image.rank - 2, tables[0], tables[1])
    if image.rank < SPATIAL + 2:
        return out
    image = out
    out = make_contiguous(image.dtype_code, image.rank, sizes, CPU, -1)
    weigh(image, out, 2, tables[2][0], tables[2][1], tables[2][2])
    return out
