# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Kernels of products that are made of other products: over batches, and with weights.

Where those would run compiled kernels anyway, and strides let the leading dimensions be read as
rows or as at most two levels of batches, the product is computed at once: no views are made, no
operator is called. Everything else, errors among it, is left to the functions that call these.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.device cimport CPU
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.matrix.gemm cimport multiplies, multiply, multiply_nested
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Nesting, Product
from aten.backends.cpu.kernels.matrix.products cimport apply_weight, read_operand, read_result


cdef class MatmulKernel(FastPath):
    """Products of tensors of any rank, by the rules of matmul.

    `products` are the operators of two matrices, a matrix and a vector, and two vectors.
    """

    cdef OpOverload matrices
    cdef OpOverload matrix_vector
    cdef OpOverload vectors

    def __init__(self, products, replaced, find, Kernel otherwise not None):
        FastPath.__init__(self, "products of any rank", replaced, find, otherwise)
        self.matrices, self.matrix_vector, self.vectors = products

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef TensorImpl left = <TensorImpl>stack[0]
        cdef TensorImpl right = <TensorImpl>stack[1]
        if left.rank == 2 and right.rank == 2:
            return self.matrices.call_stack(stack)
        if left.rank == 2 and right.rank == 1:
            return self.matrix_vector.call_stack(stack)
        if left.rank == 1 and right.rank == 1:
            return self.vectors.call_stack(stack)
        return FastPath.call(self, op, keys, stack)

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl left = <TensorImpl>stack[0]
        cdef TensorImpl right = <TensorImpl>stack[1]
        return _multiply_any(left, right) if _goes_together(left, right) else None


cdef class LinearKernel(FastPath):
    """`input @ weight.T + bias` over the last dimension of the input, at once."""

    def __init__(self, replaced, find, Kernel otherwise not None):
        FastPath.__init__(self, "linear layer", replaced, find, otherwise)

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl input = <TensorImpl>stack[0]
        cdef TensorImpl weight = <TensorImpl>stack[1]
        cdef TensorImpl bias = None
        if input.rank < 2 or weight.rank != 2 or not _goes_together(input, weight):
            return None
        if stack[2] != <PyObject*>None:
            bias = <TensorImpl>stack[2]
            if not _is_bias(bias, weight):
                return None
        return _apply_layer(input, weight, bias)


cdef inline bint _goes_together(TensorImpl left, TensorImpl right) noexcept:
    return (left.count > 0 and right.count > 0 and left.dtype_code == right.dtype_code
            and left.device_type == CPU and right.device_type == CPU
            and left.device_index == right.device_index and multiplies(left.dtype_code))


cdef inline bint _is_bias(TensorImpl bias, TensorImpl weight) noexcept:
    return (bias.rank == 1 and bias.sizes[0] == weight.sizes[0] and bias.count > 0
            and bias.dtype_code == weight.dtype_code and bias.device_type == CPU
            and bias.device_index == weight.device_index)


cdef bint _fold_rows(TensorImpl tensor, int64_t* rows, int64_t* stride) noexcept:
    """All dimensions but the last as one of rows; False where their strides do not allow it."""
    cdef int dim
    cdef int64_t count = 1
    cdef int64_t step = tensor.sizes[tensor.rank - 1]
    for dim in range(tensor.rank - 2, -1, -1):
        if tensor.sizes[dim] == 1:
            continue
        if count == 1:
            step = tensor.strides[dim]
        elif tensor.strides[dim] != count * step:
            return False
        count *= tensor.sizes[dim]
    rows[0] = count
    stride[0] = step
    return True


cdef TensorImpl _apply_layer(TensorImpl input, TensorImpl weight, TensorImpl bias):
    """The layer's result, or None where rows of the input do not fold or sizes differ."""
    cdef Product product
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef TensorImpl out
    cdef int dim
    if input.sizes[input.rank - 1] != weight.sizes[1]:
        return None
    read_operand(&product.left, input, False, False)
    if not _fold_rows(input, &product.rows, &product.left.row_stride):
        return None
    for dim in range(input.rank - 1):
        sizes[dim] = input.sizes[dim]
    sizes[input.rank - 1] = weight.sizes[0]
    out = make_contiguous(input.dtype_code, input.rank, sizes, input.device_type,
                          input.device_index)
    apply_weight(&product, weight, bias, out)
    return out


cdef TensorImpl _multiply_any(TensorImpl left, TensorImpl right):
    """The product, or None where strides do not allow it at once, or sizes differ."""
    cdef Product product
    cdef Nesting nesting
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef TensorImpl out
    cdef int rank
    cdef bint folds = right.rank <= 2
    product.depth = left.sizes[left.rank - 1]
    if right.sizes[max(right.rank - 2, 0)] != product.depth:
        return None
    read_operand(&product.left, left, True, False)
    read_operand(&product.right, right, False, False)
    product.rows = left.sizes[left.rank - 2] if left.rank >= 2 else 1
    product.columns = right.sizes[right.rank - 1] if right.rank >= 2 else 1
    rank = _common_batch(left, right, sizes)
    if rank < 0:
        return None
    folds = folds and _fold_rows(left, &product.rows, &product.left.row_stride)
    nesting.levels = 0
    if not folds and not _nest(left, right, rank, sizes, &nesting):
        return None
    if left.rank >= 2:
        sizes[rank] = left.sizes[left.rank - 2]
        rank += 1
    if right.rank >= 2:
        sizes[rank] = product.columns
        rank += 1
    product.alpha = 1
    product.beta = 0
    product.apart = False
    product.addend.data = NULL
    out = make_contiguous(left.dtype_code, rank, sizes, left.device_type, left.device_index)
    read_result(&product.out, out, False)
    product.out.batch_stride = product.rows * product.columns
    product.out.row_stride = product.columns
    product.out.column_stride = 1
    product.batch = nesting.sizes[0] if nesting.levels >= 1 else 1
    product.left.batch_stride = nesting.left[0] if nesting.levels >= 1 else 0
    product.right.batch_stride = nesting.right[0] if nesting.levels >= 1 else 0
    if nesting.levels < 2:
        multiply(&product)
    else:
        multiply_nested(&product, &nesting)
    return out


cdef int _common_batch(TensorImpl left, TensorImpl right, int64_t* sizes) noexcept:
    """Broadcast the leading dimensions; return how many there are, -1 where sizes differ."""
    cdef int rank = max(max(left.rank, right.rank) - 2, 0)
    cdef int dim
    cdef int64_t first, second
    for dim in range(rank):
        first = _batch_size(left, dim - rank)
        second = _batch_size(right, dim - rank)
        if first != second and first != 1 and second != 1:
            return -1
        sizes[dim] = second if first == 1 else first
    return rank


cdef inline int64_t _batch_size(TensorImpl tensor, int dim) noexcept:
    """The size of a leading dimension, counted from behind; 1 where there is none."""
    cdef int place = tensor.rank - 2 + dim
    return tensor.sizes[place] if place >= 0 else 1


cdef inline int64_t _batch_stride(TensorImpl tensor, int dim) noexcept:
    """The step of a leading dimension; 0 where it is repeated."""
    cdef int place = tensor.rank - 2 + dim
    if place < 0 or tensor.sizes[place] == 1:
        return 0
    return tensor.strides[place]


cdef bint _nest(TensorImpl left, TensorImpl right, int rank, const int64_t* sizes,
                Nesting* nesting) noexcept:
    """Join the batch dimensions into at most two levels, the inner first; False: it takes more."""
    cdef int dim, level = -1
    cdef int64_t first, second
    for dim in range(rank - 1, -1, -1):
        if sizes[dim] == 1:
            continue
        first = _batch_stride(left, dim - rank)
        second = _batch_stride(right, dim - rank)
        if (level >= 0 and first == nesting.sizes[level] * nesting.left[level]
                and second == nesting.sizes[level] * nesting.right[level]):
            nesting.sizes[level] *= sizes[dim]
            continue
        level += 1
        if level == 2:
            return False
        nesting.sizes[level] = sizes[dim]
        nesting.left[level] = first
        nesting.right[level] = second
    nesting.levels = level + 1
    return True
