# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Products with a matrix that lies in strips, as programs lay out weights once.

Row-major float32 and float64 on the CPU, in strips of the width that the processor's kernels have.
What is otherwise is left to a kernel that knows everything.
"""

from cpython.object cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath, read_arguments
from aten._core.memory.storage cimport Storage
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, is_lazy, require_memory
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport (
    Product, multiply_strips_within, strip_width,
)
from aten.backends.cpu.kernels.matrix.products cimport read_operand, read_result

cdef enum:
    # Arguments of `fused::strips_product`, by their places on the stack.
    SELF = 0
    STRIPS = 1
    BIAS = 2
    COLUMNS = 3
    LOW = 4
    HIGH = 5
    ARGUMENTS = 6
    # Multiplications from which on other Python threads may run meanwhile.
    RELEASE_THRESHOLD = 1 << 17


def width_of_strips(str element not None, int64_t columns):
    """How many columns are side by side in a strip of a float32 or float64 matrix."""
    return strip_width(element == "float64", columns)


cdef class StripsKernel(FastPath):
    """Runs ordinary calls of `fused::strips_product`, and gives others to `otherwise`."""

    def __init__(self, Kernel otherwise not None):
        FastPath.__init__(self, "strips_product", (), None, otherwise)

    cdef object ordinary(self, PyObject** stack):
        return _multiplied(stack)


def multiplied(*arguments):
    """What `fused::strips_product` gives for these arguments, all of them in its order.

    None where the call is none for the kernels: the operator knows what it is then. This is for
    programs that are loaded with all that they call, without the operator.
    """
    cdef PyObject* given[ARGUMENTS]
    if len(arguments) == LOW:
        arguments += (None, None)
    if not read_arguments(arguments, given, ARGUMENTS, BIAS, 1):
        return None
    return _multiplied(given)


def multiply_piece(TensorImpl out not None, TensorImpl left not None, TensorImpl strips not None,
                   TensorImpl bias, int64_t first, low=None, high=None):
    """Write columns from `first` on of `left @ matrix`, or of `bias + left @ matrix`, between limits.

    `strips` are some of the matrix, those of the columns from `first` on; `bias` is that of all
    columns. Bits are those of the whole product. False where the call is none for the kernels.
    """
    cdef Product product
    cdef int code = left.dtype_code
    cdef int64_t columns, width
    cdef double least = -INFINITY if low is None else low
    cdef double most = INFINITY if high is None else high
    # What is read stays, whatever others make of the tensors meanwhile.
    cdef Storage out_memory, left_memory, strips_memory, bias_memory = None
    if not _is_piece(out, left, strips, bias, first):
        return False
    out_memory, left_memory, strips_memory = out.storage, left.storage, strips.storage
    if bias is not None:
        bias_memory = bias.storage
    for tensor in (out, left, strips, bias):
        require_memory(tensor)
    width = strips.sizes[2]
    columns = min(strips.sizes[0] * width, out.sizes[1] - first)
    _describe(&product, left, strips, columns)
    read_result(&product.out, out, False)
    product.out.data += first * (8 if code == FLOAT64 else 4)
    if bias is not None:
        read_operand(&product.addend, bias, True, False)
        product.addend.row_stride = 0
        product.addend.data += first * (8 if code == FLOAT64 else 4)
    with nogil:
        multiply_strips_within(&product, width, least, most)
    return True


cdef bint _is_piece(TensorImpl out, TensorImpl left, TensorImpl strips, TensorImpl bias,
                    int64_t first) noexcept:
    cdef int code = left.dtype_code
    if code != FLOAT32 and code != FLOAT64 or left.rank != 2 or is_lazy(left):
        return False
    if left.device_type != CPU or left.count == 0 or strips.count == 0:
        return False
    if not is_without_gaps(out, code, 2) or out.sizes[0] != left.sizes[0]:
        return False
    if not 0 <= first < out.sizes[1] or not is_without_gaps(strips, code, 3):
        return False
    if (strips.sizes[1] != left.sizes[1]
            or strips.sizes[2] != strip_width(code == FLOAT64, out.sizes[1])):
        return False
    return bias is None or is_without_gaps(bias, code, 1) and bias.sizes[0] == out.sizes[1]


cdef void _describe(Product* product, TensorImpl left, TensorImpl strips, int64_t columns) noexcept:
    """A product with these operands, to which nothing is added."""
    product.batch = 1
    product.rows, product.columns, product.depth = left.sizes[0], columns, left.sizes[1]
    product.alpha = product.beta = 1
    product.apart = False
    read_operand(&product.left, left, False, False)
    read_operand(&product.right, strips, False, False)
    product.addend.data = NULL
    product.addend.batch_stride = product.addend.row_stride = 0
    product.addend.column_stride = 1


cdef Tensor _multiplied(PyObject** stack):
    """The result, or None where the call is none for the kernels."""
    cdef Product product
    cdef TensorImpl left = <TensorImpl>stack[SELF]
    cdef TensorImpl strips = <TensorImpl>stack[STRIPS]
    cdef TensorImpl bias = None
    cdef int64_t sizes[2]
    cdef int64_t width
    cdef double low, high
    cdef Tensor out
    # What is read stays, whatever others make of the tensors meanwhile.
    cdef Storage left_memory, strips_memory, bias_memory = None
    if type(<object>stack[COLUMNS]) is not int:
        return None
    if not _read_limit(<object>stack[LOW], -INFINITY, &low) or (
            not _read_limit(<object>stack[HIGH], INFINITY, &high)):
        return None
    if <object>stack[BIAS] is not None:
        bias = <TensorImpl>stack[BIAS]
    sizes[1] = <object>stack[COLUMNS]
    if not _is_ordinary(left, strips, bias, sizes[1]):
        return None
    sizes[0] = left.sizes[0]
    out = make_contiguous(left.dtype_code, 2, sizes, CPU, -1)
    # Making it may have run a collection, and that the code of others.
    if not _is_ordinary(left, strips, bias, sizes[1]) or left.sizes[0] != sizes[0]:
        return None
    left_memory, strips_memory = left.storage, strips.storage
    if bias is not None:
        bias_memory = bias.storage
    for tensor in (left, strips, bias):
        require_memory(tensor)
    width = strips.sizes[2]
    _describe(&product, left, strips, sizes[1])
    read_result(&product.out, out, False)
    if bias is not None:
        read_operand(&product.addend, bias, True, False)
        product.addend.row_stride = 0
    if product.rows * product.columns * product.depth < RELEASE_THRESHOLD:
        multiply_strips_within(&product, width, low, high)
        return out
    with nogil:
        multiply_strips_within(&product, width, low, high)
    return out


cdef bint _read_limit(number, double without, double* limit) noexcept:
    """Whether it is a number, or nothing. NaN is left to the operator."""
    limit[0] = without
    if number is None:
        return True
    if type(number) is not float:
        return False
    limit[0] = number
    return limit[0] == limit[0]


cdef bint _is_ordinary(TensorImpl left, TensorImpl strips, TensorImpl bias,
                       int64_t columns) noexcept:
    """Whether sizes go together, and everything lies as the kernels want it."""
    cdef int code = left.dtype_code
    if code != FLOAT32 and code != FLOAT64 or columns <= 0:
        return False
    if left.rank != 2 or left.count == 0 or left.device_type != CPU or is_lazy(left):
        return False
    return (are_strips(strips, code, left.sizes[1], columns)
            and (bias is None or is_without_gaps(bias, code, 1) and bias.sizes[0] == columns))


cdef bint are_strips(TensorImpl strips, int code, int64_t depth, int64_t columns) noexcept:
    cdef int64_t width = strip_width(code == FLOAT64, columns)
    return (is_without_gaps(strips, code, 3) and strips.sizes[0] == (columns + width - 1) // width
            and strips.sizes[1] == depth and strips.sizes[2] == width)


cdef bint is_without_gaps(TensorImpl tensor, int code, int rank) noexcept:
    return (tensor.device_type == CPU and tensor.dtype_code == code and tensor.rank == rank
            and tensor.contiguous and not is_lazy(tensor))
