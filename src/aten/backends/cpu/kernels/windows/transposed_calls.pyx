# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Ordinary calls of transposed convolutions: row-major float32 and float64 on the CPU.

Operands that go together are handed to the loops at once; what says how others do not is elsewhere.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.base.sizes cimport read_sizes
from aten._core.tensor.given cimport reads_integer
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, is_lazy

from aten.backends.cpu.kernels.windows.convolution import convolve

cdef extern from "Python.h":
    bint PyTuple_CheckExact(PyObject*) noexcept
    bint PyList_CheckExact(PyObject*) noexcept

cdef enum:
    SPATIAL = 3
    # Sizes and steps of which sums of products of two are no overflow.
    LARGE = 1 << 28
    # Arguments of `aten::convolution`.
    INPUT = 0
    WEIGHT = 1
    BIAS = 2
    STRIDE = 3
    PADDING = 4
    DILATION = 5
    OUTPUT_PADDING = 7
    GROUPS = 8


cdef object convolved_transposed(PyObject** stack):
    cdef int64_t sizes[SPATIAL + 2]
    cdef int64_t groups = 0
    # Others may run, and change what they can reach.
    cdef Tensor input = make_alias(<TensorImpl>stack[INPUT])
    cdef Tensor weight = make_alias(<TensorImpl>stack[WEIGHT])
    cdef Tensor bias = None, out
    if stack[BIAS] != <PyObject*>None:
        bias = make_alias(<TensorImpl>stack[BIAS])
    if not reads_integer(stack[GROUPS], &groups) or not _go_together(input, weight, bias, groups):
        return None
    if not _read_sizes(stack, input, weight, sizes):
        return None
    sizes[0], sizes[1] = input.sizes[0], weight.sizes[1] * groups
    out = make_contiguous(input.dtype_code, input.rank, sizes, CPU, -1)
    convolve(input, weight, bias, out, <object>stack[STRIDE], <object>stack[PADDING],
             <object>stack[DILATION], True, groups)
    return out


cdef bint _go_together(TensorImpl input, TensorImpl weight, TensorImpl bias,
                       int64_t groups) noexcept:
    """Whether there are images and weights for them, of one type, and channels are as many."""
    cdef int code = input.dtype_code
    if code != FLOAT32 and code != FLOAT64:
        return False
    if not 3 <= input.rank <= SPATIAL + 2 or weight.rank != input.rank:
        return False
    if not _is_row_major(input, code) or not _is_row_major(weight, code):
        return False
    if not 0 < groups <= LARGE or weight.sizes[0] % groups or weight.sizes[0] != input.sizes[1]:
        return False
    return bias is None or (bias.rank == 1 and _is_row_major(bias, code)
                            and bias.sizes[0] == weight.sizes[1] * groups)


cdef bint _is_row_major(TensorImpl tensor, int code) noexcept:
    """Whether it has elements of the type in the CPU's memory, and says in its strides how they lie."""
    cdef int64_t stride = 1
    cdef int dim
    if (tensor.device_type != CPU or tensor.dtype_code != code or is_lazy(tensor)
            or tensor.storage.data == NULL):
        return False
    for dim in range(tensor.rank - 1, -1, -1):
        if tensor.strides[dim] != stride or not 0 < tensor.sizes[dim] <= LARGE:
            return False
        stride *= tensor.sizes[dim]
    return True


cdef bint _read_sizes(PyObject** stack, TensorImpl input, TensorImpl weight,
                      int64_t* sizes) except -1:
    """Whether strides and paddings are none that are refused; then the sizes of the result."""
    cdef int64_t stride[SPATIAL]
    cdef int64_t padding[SPATIAL]
    cdef int64_t dilation[SPATIAL]
    cdef int64_t behind[SPATIAL]
    cdef int dim, rank = input.rank - 2
    if not (_reads(stack[STRIDE], rank, stride) and _reads(stack[PADDING], rank, padding)
            and _reads(stack[DILATION], rank, dilation)
            and _reads(stack[OUTPUT_PADDING], rank, behind)):
        return False
    for dim in range(rank):
        if stride[dim] == 0 or dilation[dim] == 0 or behind[dim] >= max(stride[dim], dilation[dim]):
            return False
        sizes[dim + 2] = ((input.sizes[dim + 2] - 1) * stride[dim] - 2 * padding[dim]
                          + dilation[dim] * (weight.sizes[dim + 2] - 1) + behind[dim] + 1)
        if sizes[dim + 2] <= 0:
            return False
    return True


cdef bint _reads(PyObject* given, int rank, int64_t* numbers) except -1:
    """Whether it says a number for each dimension, none of them negative or large."""
    cdef int dim
    if not PyTuple_CheckExact(given) and not PyList_CheckExact(given):
        return False
    if len(<object>given) != rank or read_sizes(<object>given, numbers, SPATIAL) != rank:
        return False
    for dim in range(rank):
        if not 0 <= numbers[dim] <= LARGE:
            return False
    return True
