# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Pixels of small images traded for channels, blocks of them as columns, and back: one move each.

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
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, data_pointer
from aten.backends.cpu.kernels.moving.framing cimport CONSTANT, write_framed
from aten.backends.cpu.kernels.moving.moving cimport move_elements

cdef extern from "Python.h":
    bint PyTuple_CheckExact(PyObject*) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t) noexcept

ctypedef fused real:
    float
    double

cdef struct Blocks:
    # Of an image, by rows and columns.
    int64_t sizes[2]
    int64_t kernel[2]
    int64_t dilation[2]
    int64_t padding[2]
    int64_t stride[2]
    int64_t counts[2]
    # Of the columns, in elements: images, places in blocks, blocks.
    int64_t steps[3]

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


cdef object blocks_added(TensorImpl base, PyObject** stack):
    """Images of a size with columns added to their blocks, by kernel size, dilation, padding, stride."""
    cdef Blocks blocks
    cdef int64_t shape[4]
    cdef int64_t window
    cdef int place, dim
    cdef Tensor columns = make_alias(base), out
    if (columns.rank not in (2, 3) or not 0 < columns.count <= MOST_PADDED
            or columns.dtype_code not in (FLOAT32, FLOAT64) or columns.storage.data == NULL
            or not _read_blocks(&blocks, stack)):
        return None
    dim = columns.rank - 2
    window = blocks.kernel[0] * blocks.kernel[1]
    if (columns.sizes[dim] % window
            or columns.sizes[dim + 1] != blocks.counts[0] * blocks.counts[1]):
        return None
    for place in range(3):
        blocks.steps[place] = columns.strides[place + dim - 1] if place + dim else 0
    shape[0] = columns.sizes[0] if dim else 1
    shape[dim] = columns.sizes[dim] // window
    shape[dim + 1], shape[dim + 2] = blocks.sizes[0], blocks.sizes[1]
    window = shape[dim] * (shape[0] if dim else 1)
    if window * shape[dim + 1] * shape[dim + 2] > MOST_PADDED:
        return None
    out = make_contiguous(columns.dtype_code, columns.rank + 1, shape, CPU, columns.device_index)
    if columns.dtype_code == FLOAT32:
        _add_blocks(&blocks, window, shape[dim], <float*>data_pointer(out),
                    <const float*>const_data_pointer(columns))
    else:
        _add_blocks(&blocks, window, shape[dim], <double*>data_pointer(out),
                    <const double*>const_data_pointer(columns))
    return out


cdef bint _read_blocks(Blocks* blocks, PyObject** stack) except -1:
    """Whether the arguments behind the columns are ordinary, and blocks fit into the image."""
    cdef int64_t reach
    cdef int place
    if not (_read_pair(stack[1], blocks.sizes) and len(<tuple>stack[1]) == 2
            and _read_pair(stack[2], blocks.kernel) and _read_pair(stack[3], blocks.dilation)
            and _read_pair(stack[4], blocks.padding) and _read_pair(stack[5], blocks.stride)):
        return False
    for place in range(2):
        if min(blocks.sizes[place], blocks.kernel[place], blocks.dilation[place],
               blocks.stride[place]) < 1:
            return False
        reach = blocks.sizes[place] + 2 * blocks.padding[place]
        reach -= blocks.dilation[place] * (blocks.kernel[place] - 1) + 1
        if reach < 0:
            return False
        blocks.counts[place] = reach // blocks.stride[place] + 1
    return True


cdef void _add_blocks(const Blocks* blocks, int64_t images, int64_t channels, real* out,
                      const real* columns) noexcept nogil:
    """Each pixel is the sum of what blocks have for it, in the order of their places."""
    cdef int64_t size = blocks.sizes[0] * blocks.sizes[1], image, y, x
    cdef const real* place
    memset(out, 0, images * size * sizeof(real))
    for image in range(images):
        place = columns + image // channels * blocks.steps[0]
        place += (image % channels * blocks.kernel[0] * blocks.kernel[1]) * blocks.steps[1]
        for y in range(blocks.kernel[0]):
            for x in range(blocks.kernel[1]):
                _add_places(blocks, y * blocks.dilation[0] - blocks.padding[0],
                            x * blocks.dilation[1] - blocks.padding[1], out + image * size, place)
                place += blocks.steps[1]


cdef inline void _add_places(const Blocks* blocks, int64_t row, int64_t column, real* image,
                             const real* given) noexcept nogil:
    """One element of each block, that of the first at a row and column of the image."""
    cdef int64_t line, place, y, x
    for line in range(blocks.counts[0]):
        y = row + line * blocks.stride[0]
        if y < 0 or y >= blocks.sizes[0]:
            continue
        for place in range(blocks.counts[1]):
            x = column + place * blocks.stride[1]
            if 0 <= x < blocks.sizes[1]:
                image[y * blocks.sizes[1] + x] += given[
                    (line * blocks.counts[1] + place) * blocks.steps[2]]
