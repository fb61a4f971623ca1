"""Images and windows of one to three spatial dimensions, read as those of three."""

from libc.stdint cimport int64_t

from aten._core.base.sizes cimport read_sizes
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer

cdef enum:
    SPATIAL = 3

cdef struct Image:
    # A batch of images (N, C, *): steps in elements.
    char* data
    int code
    int64_t sizes[SPATIAL]
    int64_t strides[SPATIAL]
    int64_t batch_stride
    int64_t channel_stride

cdef struct Window:
    int64_t kernel[SPATIAL]
    int64_t stride[SPATIAL]
    int64_t padding[SPATIAL]
    int64_t dilation[SPATIAL]


cdef inline void read_image(Image* image, TensorImpl tensor) noexcept:
    """`data` is to be read only; writing asks for it first."""
    cdef int dim, source
    image.data = <char*>const_data_pointer(tensor)
    image.code = tensor.dtype_code
    image.batch_stride = tensor.strides[0]
    image.channel_stride = tensor.strides[1]
    for dim in range(SPATIAL):
        source = tensor.rank - SPATIAL + dim
        image.sizes[dim] = tensor.sizes[source] if source >= 2 else 1
        image.strides[dim] = tensor.strides[source] if source >= 2 else 0


cdef inline int read_window(Window* window, TensorImpl weight, stride, padding,
                            dilation) except -1:
    """That of weights (O, I, *)."""
    cdef int64_t given[3][SPATIAL]
    cdef int rank = <int>read_sizes(stride, given[0], SPATIAL)
    cdef int dim, source
    read_sizes(padding, given[1], SPATIAL)
    read_sizes(dilation, given[2], SPATIAL)
    for dim in range(SPATIAL):
        source = dim - (SPATIAL - rank)
        window.kernel[dim] = weight.sizes[source + 2] if source >= 0 else 1
        window.stride[dim] = given[0][source] if source >= 0 else 1
        window.padding[dim] = given[1][source] if source >= 0 else 0
        window.dilation[dim] = given[2][source] if source >= 0 else 1
    return 0
