# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Matrices along a diagonal, with zeros beside them: few elements, in one move for each."""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport COMPLEX32, item_size
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, data_pointer, is_lazy)
from aten.backends.cpu.kernels.moving.moving cimport move_elements

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept

cdef enum:
    MOST_ELEMENTS = 1 << 14
    MOST_BLOCKS = 64


cdef class BlockDiagonalKernel(FastPath):
    """Of matrices, vectors and numbers of one type."""

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl block
        cdef Tensor out
        cdef int64_t sizes[2]
        cdef list blocks
        if (not PyTuple_CheckExact(stack[0])
                or not 0 < len(<tuple>stack[0]) <= MOST_BLOCKS):
            return None
        blocks = []
        for given in <tuple>stack[0]:
            if Py_TYPE(<PyObject*>given) != <PyTypeObject*>Tensor:
                return None
            # Others may run, and change what they can reach.
            blocks.append(make_alias(<TensorImpl>given))
        sizes[0] = sizes[1] = 0
        for given in blocks:
            block = <TensorImpl>given
            if not _is_ordinary(block) or block.dtype_code != (<TensorImpl>blocks[0]).dtype_code:
                return None
            sizes[0] += block.sizes[0] if block.rank == 2 else 1
            sizes[1] += block.sizes[block.rank - 1] if block.rank else 1
        if sizes[0] * sizes[1] > MOST_ELEMENTS:
            return None
        out = make_contiguous((<TensorImpl>blocks[0]).dtype_code, 2, sizes, CPU,
                              (<TensorImpl>blocks[0]).device_index)
        _place(blocks, out)
        return out


cdef bint _is_ordinary(TensorImpl block) noexcept:
    return (block.rank <= 2 and 0 < block.count <= MOST_ELEMENTS and block.device_type == CPU
            and block.dtype_code != COMPLEX32 and not is_lazy(block)
            and block.storage.data != NULL)


cdef int _place(list blocks, TensorImpl out) except -1:
    cdef TensorImpl block
    cdef int width = item_size(out.dtype_code)
    cdef char* place = data_pointer(out)
    cdef int64_t sizes[2]
    cdef int64_t strides[2]
    memset(place, 0, out.count * width)
    for given in blocks:
        block = <TensorImpl>given
        sizes[0] = block.sizes[0] if block.rank == 2 else 1
        strides[0] = block.strides[0] if block.rank == 2 else 0
        sizes[1] = block.sizes[block.rank - 1] if block.rank else 1
        strides[1] = block.strides[block.rank - 1] if block.rank else 1
        move_elements(width, 2, sizes, place, out.strides, const_data_pointer(block), strides)
        place += (sizes[0] * out.strides[0] + sizes[1]) * width
    return 0
