# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Pixels of small images traded for channels, and blocks of them as columns: one move each.

Of more elements the general ways have tiles and threads. As in rearranging.pyx a function returns None
for arguments that it does not serve.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport BFLOAT16, COMPLEX32, FLOAT32, FLOAT64, item_size
from aten._core.base.strides cimport contiguous_strides, is_row_major
from aten._core.tensor.given cimport reads_integer
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer
from aten.backends.cpu.kernels.moving.framing cimport CONSTANT, write_framed
from aten.backends.cpu.kernels.moving.moving cimport move_elements

cdef extern from "Python.h":
    bint PyTuple_CheckExact(PyObject*) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t) noexcept

cdef enum:
    MOST_ELEMENTS = 1 << 12
    # Of an image with its padding that is made for few blocks.
    MOST_PADDED = 1 << 14


cdef bint _is_small_image(TensorImpl base, PyObject* given, int64_t* number) except -1:
    """Whether `base` has rows, columns and channels, in row-major order and in no other by its strides,
    and so few elements that one thread moves them; and `given` is a number above one."""
    return (base.rank in (3, 4) and 0 < base.count <= MOST_ELEMENTS
            and is_row_major(base.rank, base.sizes, base.strides) and base.dtype_code != COMPLEX32
            and (base.rank == 3 or base.strides[1] > base.strides[3])
            and reads_integer(given, number) and 1 < number[0] <= MOST_ELEMENTS)


cdef object shuffle_pixels(TensorImpl base, PyObject** stack):
    """(*, C r², H, W) to (*, C, H r, W r)."""
    cdef int64_t sizes[5]
    cdef int64_t steps[5]
    cdef int64_t factor = 0, height, width
    cdef int dim = base.rank - 3
    if not _is_small_image(base, stack[1], &factor) or base.sizes[dim] % (factor * factor):
        return None
    height, width = base.sizes[dim + 1], base.sizes[dim + 2]
    sizes[0] = base.count // (height * width * factor * factor)
    sizes[1], sizes[2], sizes[3], sizes[4] = height, factor, width, factor
    steps[0], steps[1], steps[2] = height * width * factor * factor, width, height * width * factor
    steps[3], steps[4] = 1, height * width
    return _spread(base, base.sizes[dim] // (factor * factor), height * factor, width * factor,
                   sizes, steps)


cdef object gather_pixels(TensorImpl base, PyObject** stack):
    """(*, C, H r, W r) to (*, C r², H, W)."""
    cdef int64_t sizes[5]
    cdef int64_t steps[5]
    cdef int64_t factor = 0, height, width
    cdef int dim = base.rank - 3
    if not _is_small_image(base, stack[1], &factor):
        return None
    height, width = base.sizes[dim + 1], base.sizes[dim + 2]
    if height % factor or width % factor or height == factor or width == factor:
        return None
    sizes[0] = base.count // (height * width)
    sizes[1], sizes[2], sizes[3], sizes[4] = factor, factor, height // factor, width // factor
    steps[0], steps[1], steps[2] = height * width, width, 1
    steps[3], steps[4] = width * factor, factor
    return _spread(base, base.sizes[dim] * factor * factor, height // factor, width // factor,
                   sizes, steps)


cdef Tensor _spread(TensorImpl base, int64_t channels, int64_t height, int64_t width,
                    const int64_t* sizes, const int64_t* steps):
    """Elements that lie so far apart in a row-major image, in one of so many channels and pixels."""
    cdef int64_t shape[4]
    cdef int64_t strides[5]
    cdef Tensor out
    shape[0] = base.sizes[0]
    shape[base.rank - 3] = channels
    shape[base.rank - 2] = height
    shape[base.rank - 1] = width
    out = make_contiguous(base.dtype_code, base.rank, shape, CPU, base.device_index)
    contiguous_strides(5, sizes, strides)
    move_elements(item_size(base.dtype_code), 5, sizes, out.storage.data, strides,
                  const_data_pointer(base), steps)
    return out


cdef object columns_of_blocks(TensorImpl base, PyObject** stack):
    """The blocks of an image as columns, by kernel size, dilation, padding and stride."""
    cdef int64_t given[4][2]
    cdef int64_t sizes[6]
    cdef int64_t steps[6]
    cdef int64_t strides[6]
    cdef int64_t shape[4]
    cdef int64_t reach
    cdef int place, dim = base.rank - 3
    cdef TensorImpl image = base
    cdef Tensor out
    if (base.rank not in (3, 4) or base.count == 0
            or base.dtype_code not in (FLOAT32, FLOAT64, BFLOAT16)):
        return None
    for place in range(4):
        if not _read_pair(stack[1 + place], given[place]):
            return None
    sizes[0], sizes[1] = base.sizes[0] if dim else 1, base.sizes[dim]
    for place in range(2):
        sizes[2 + place] = given[0][place]
        reach = given[1][place] * (given[0][place] - 1) + 1
        reach = base.sizes[dim + 1 + place] + 2 * given[2][place] - reach
        if min(given[0][place], given[1][place], given[3][place]) < 1 or reach < 0:
            return None
        sizes[4 + place] = reach // given[3][place] + 1
    shape[0] = sizes[0]
    shape[dim] = sizes[1] * sizes[2] * sizes[3]
    shape[dim + 1] = sizes[4] * sizes[5]
    # Of one image, one row or one column the strides are others.
    if (shape[dim + 1] < 2 or shape[dim] < 2 or sizes[0] * sizes[1] < 2
            or sizes[0] * shape[dim] * shape[dim + 1] > MOST_ELEMENTS):
        return None
    if given[2][0] or given[2][1]:
        image = _padded(base, given[2])
        if image is None:
            return None
    steps[0], steps[1] = image.strides[0] if dim else 0, image.strides[dim]
    for place in range(2):
        steps[2 + place] = image.strides[dim + 1 + place] * given[1][place]
        steps[4 + place] = image.strides[dim + 1 + place] * given[3][place]
    out = make_contiguous(base.dtype_code, base.rank - 1, shape, CPU, base.device_index)
    contiguous_strides(6, sizes, strides)
    move_elements(item_size(base.dtype_code), 6, sizes, out.storage.data, strides,
                  const_data_pointer(image), steps)
    return out


cdef bint _read_pair(PyObject* values, int64_t* pair) except -1:
    """Two ordinary integers, or one for both, that are not negative and not large."""
    cdef Py_ssize_t count
    if not PyTuple_CheckExact(values):
        return False
    count = PyTuple_GET_SIZE(values)
    if count not in (1, 2):
        return False
    if not reads_integer(PyTuple_GET_ITEM(values, 0), &pair[0]):
        return False
    if not reads_integer(PyTuple_GET_ITEM(values, count - 1), &pair[1]):
        return False
    return 0 <= min(pair[0], pair[1]) and max(pair[0], pair[1]) <= MOST_ELEMENTS


cdef Tensor _padded(TensorImpl base, const int64_t* padding):
    """The image with zeros around it; None where it would be large."""
    cdef int64_t sizes[4]
    cdef int64_t before[4]
    cdef int64_t count = 1
    cdef int place
    cdef char element[16]
    cdef Tensor out
    for place in range(base.rank):
        before[place] = padding[place - base.rank + 2] if place >= base.rank - 2 else 0
        sizes[place] = base.sizes[place] + 2 * before[place]
        count *= sizes[place]
        if count > MOST_PADDED:
            return None
    memset(element, 0, sizeof(element))
    out = make_contiguous(base.dtype_code, base.rank, sizes, CPU, base.device_index)
    return out if write_framed(out, base, before, CONSTANT, element) else None
