# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Kernels of the matrix products: from a stack of arguments to a `Product`, and back.

One kernel serves an operator in all its variants. It checks ranks, sizes and element types, makes
or resizes the result, and leaves the arithmetic to `gemm`. On a backend that does not execute it
stops before that.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from aten._core.base.device cimport device_from_codes
from aten._core.base.dtypes cimport COMPLEX128, COMPLEX64, INT32, INT8, dtype_from_code
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.memory cimport (Geometry, check_internal_overlap, keep_geometry, may_overlap,
                                       prepare_out, restore_geometry, same_geometry)
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, count_write, data_pointer
from aten.backends.cpu.kernels.matrix.gemm cimport multiplies, multiply, multiply_vectors
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Product
from aten.backends.cpu.kernels.moving.transfer cimport Block

cdef enum:
    # The products, in the order of FORMS.
    MATRICES = 0            # mm
    BATCHES = 1             # bmm
    ADDED_MATRICES = 2      # addmm
    ADDED_BATCHES = 3       # baddbmm
    MATRIX_VECTOR = 4       # mv
    VECTORS = 5             # dot
    BYTES = 6               # _int_mm, whose results are of 32 bits
    ADDED_ARGUMENTS = 5     # an addend, two operands, and two factors

FORMS = ("mm", "bmm", "addmm", "baddbmm", "mv", "dot", "_int_mm")

_CXX_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half",
              "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
              "complex128": "c10::complex<double>", "int64": "long", "int32": "int",
              "int16": "short", "int8": "signed char", "uint8": "unsigned char", "bool": "bool"}

cdef class ProductKernel(Kernel):
    """Runs a matrix product. Raises LookupError where no product is called `form`."""

    def __init__(self, OpOverload op not None, str form not None, bint executes):
        if form not in FORMS:
            raise LookupError(f"{op.name}: no matrix product is called {form!r}")
        self.form = form
        self.code = FORMS.index(form)
        self.executes = executes
        self.first = 1 if self.code in (ADDED_MATRICES, ADDED_BATCHES) else 0
        self.inplace = op.entry.variant == "inplace"
        self.out_position = -1
        if self.inplace:
            self.out_position = 0
        elif op.entry.variant == "out":
            self.out_position = 2 + self.first * 3

    def describe(self):
        return f"compiled matrix product {self.form}"

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef TensorImpl left = <TensorImpl>stack[self.first]
        cdef TensorImpl right = <TensorImpl>stack[self.first + 1]
        cdef TensorImpl addend = <TensorImpl>stack[0] if self.first else None
        cdef TensorImpl out
        cdef Geometry kept
        cdef int64_t sizes[3]
        cdef Product product
        cdef int rank
        cdef bint batched = self.code == BATCHES or self.code == ADDED_BATCHES
        product.alpha = 1
        product.beta = 0
        if self.first:
            # Reading a tensor as a number is a call, which is over before sizes are read.
            product.alpha = _number(stack[4], left.dtype_code)
            product.beta = _number(stack[3], left.dtype_code)
        _check_ranks(self.code, addend, left, right)
        _check_types(self.code, addend, left, right)
        _check_device(left, right)
        product.batch = left.sizes[0] if batched else 1
        read_operand(&product.left, left, self.code == VECTORS, batched)
        read_operand(&product.right, right, False, batched)
        product.rows = 1 if self.code == VECTORS else left.sizes[left.rank - 2]
        product.depth = left.sizes[left.rank - 1]
        product.columns = 1 if right.rank == 1 else right.sizes[right.rank - 1]
        _check_sizes(self.code, left, right)
        rank = _result_sizes(self.code, &product, sizes)
        product.addend.data = NULL
        if self.first:
            _check_device(addend, left)
            _expand_addend(&product.addend, addend, rank, sizes, self.inplace)
        product.apart = False
        if (self.executes and not multiplies(left.dtype_code)
                and _count(rank, sizes) != 0):
            raise NotImplementedError(
                f"\"{self.form}\" not implemented for '{_scalar_name(left)}'")
        if self.out_position < 0:
            out = make_contiguous(self.result_code(left), rank, sizes, left.device_type,
                                  left.device_index)
            return self.multiplied(&product, out)
        out = <TensorImpl>stack[self.out_position]
        if _moves_operand(op, out, rank, sizes, addend, left, right):
            self.multiplied_first(op, &product, out, rank, sizes, left)
            return out
        keep_geometry(out, &kept)
        try:
            _prepare_given(op, out, rank, sizes, left, self.result_code(left))
            product.apart = (may_overlap(out, left) or may_overlap(out, right)
                             or (addend is not None and may_overlap(out, addend)
                                 and not same_geometry(out, addend)))
            self.multiplied(&product, out)
        except BaseException:
            restore_geometry(out, &kept)
            raise
        return out

    cdef int result_code(self, TensorImpl left) noexcept:
        """The element type of the result."""
        return INT32 if self.code == BYTES else left.dtype_code

    cdef int multiplied_first(self, OpOverload op, Product* product, TensorImpl out, int rank,
                              const int64_t* sizes, TensorImpl left) except -1:
        """Compute to memory of its own what then goes to `out`, which is resized."""
        cdef int code = self.result_code(left)
        cdef Tensor fresh = make_contiguous(code, rank, sizes, left.device_type,
                                            left.device_index)
        self.multiplied(product, fresh)
        _prepare_given(op, out, rank, sizes, left, code)
        if self.executes and out.count:
            memcpy(data_pointer(out), fresh.storage.data, fresh.storage.bytes)
            count_write(out)
        return 0

    cdef object multiplied(self, Product* product, TensorImpl out):
        if not self.executes or out.count == 0:
            return out
        read_result(&product.out, out, self.code == BATCHES or self.code == ADDED_BATCHES)
        if self.code == VECTORS:
            multiply_vectors(product)
        else:
            multiply(product)
        if self.out_position >= 0:
            count_write(out)
        return out


def multiplied(ProductKernel kernel not None, *arguments):
    """What a functional product gives for its operator's arguments, all of them in its order.

    None where they are no tensors, or not as many. This is for programs that are loaded with all
    that they call, without the operator.
    """
    cdef PyObject* given[ADDED_ARGUMENTS]
    cdef Py_ssize_t place
    cdef Py_ssize_t count = ADDED_ARGUMENTS if kernel.first else 2
    if kernel.out_position >= 0 or len(arguments) != count:
        return None
    for place in range(count):
        value = arguments[place]
        if place < 2 + kernel.first and not isinstance(value, Tensor):
            return None
        given[place] = <PyObject*>value
    return kernel.call(None, 0, given)


cdef bint _moves_operand(OpOverload op, TensorImpl out, int rank, const int64_t* sizes,
                         TensorImpl addend, TensorImpl left, TensorImpl right) noexcept:
    """Whether `out` has to be resized, and thereby the memory of an operand."""
    cdef bint same = out.rank == rank
    cdef int dim
    if (out.storage is not left.storage and out.storage is not right.storage
            and (addend is None or out.storage is not addend.storage)):
        return False
    for dim in range(rank if same else 0):
        same = same and out.sizes[dim] == sizes[dim]
    return not same and op.entry.variant == "out"


cdef inline int64_t _count(int rank, const int64_t* sizes) noexcept:
    cdef int64_t count = 1
    cdef int dim
    for dim in range(rank):
        count *= sizes[dim]
    return count


cdef str _cxx_name(TensorImpl tensor):
    return _cxx_name_of(tensor.dtype_code)


cdef str _cxx_name_of(int code):
    name = dtype_from_code(code).name
    return _CXX_NAMES.get(name, name)


cdef str _scalar_name(TensorImpl tensor):
    return dtype_from_code(tensor.dtype_code).scalar_type_name


cdef str _shape(TensorImpl tensor):
    return "x".join([str(tensor.sizes[dim]) for dim in range(tensor.rank)])


cdef list _list(int rank, const int64_t* sizes):
    return [sizes[dim] for dim in range(rank)]


cdef int _check_device(TensorImpl left, TensorImpl right) except -1:
    if left.device_type == right.device_type and left.device_index == right.device_index:
        return 0
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, "
        f"{device_from_codes(left.device_type, left.device_index)} and "
        f"{device_from_codes(right.device_type, right.device_index)}!")


cdef inline int _check_ranks(int form, TensorImpl addend, TensorImpl left,
                             TensorImpl right) except -1:
    cdef int wanted = 3 if form == BATCHES or form == ADDED_BATCHES else 2
    if form == VECTORS:
        if left.rank != 1 or right.rank != 1:
            raise RuntimeError(f"1D tensors expected, but got {left.rank}D and {right.rank}D "
                               f"tensors")
        return 0
    if left.rank == wanted and right.rank == (1 if form == MATRIX_VECTOR else wanted):
        return 0
    if form == MATRIX_VECTOR:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {left.rank}, {right.rank}")
    if form == MATRICES or form == BYTES:
        raise RuntimeError(f"{'self' if left.rank != 2 else 'mat2'} must be a matrix")
    if form == ADDED_MATRICES:
        if left.rank != 2:
            raise RuntimeError(f"mat1 must be a matrix, got {left.rank}-D tensor")
        raise RuntimeError(f"mat2 must be a matrix, got {right.rank}-D tensor")
    raise RuntimeError(f"{'batch1' if left.rank != 3 else 'batch2'} must be a 3D tensor")


cdef inline int _check_types(int form, TensorImpl addend, TensorImpl left,
                             TensorImpl right) except -1:
    cdef int code = left.dtype_code
    if form == BYTES and (code != INT8 or right.dtype_code != INT8):
        raise RuntimeError(f"_int_mm: expected int8, but got {left.dtype} and {right.dtype}")
    if right.dtype_code == code and (addend is None or addend.dtype_code == code):
        return 0
    if form == MATRICES:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: "
                           f"{_cxx_name(left)} != {_cxx_name(right)}")
    if form == BATCHES:
        raise RuntimeError(f"expected scalar type {_scalar_name(left)} but found "
                           f"{_scalar_name(right)}")
    if form == ADDED_MATRICES:
        if addend.dtype_code != right.dtype_code:
            raise RuntimeError(f"self and mat2 must have the same dtype, but got "
                               f"{_scalar_name(addend)} and {_scalar_name(right)}")
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got "
                           f"{_scalar_name(left)} and {_scalar_name(right)}")
    if form == ADDED_BATCHES:
        raise RuntimeError(f"Input dtypes must be the same, got: input {_cxx_name(addend)}, "
                           f"batch1: {_cxx_name(left)}, batch2: {_cxx_name(right)}")
    if form == MATRIX_VECTOR:
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got "
                           f"{_scalar_name(right)}, {_scalar_name(left)}, and "
                           f"{_scalar_name(right)}")
    raise RuntimeError(f"dot : expected both vectors to have same dtype, but found "
                       f"{_scalar_name(left)} and {_scalar_name(right)}")


cdef inline int _check_sizes(int form, TensorImpl left, TensorImpl right) except -1:
    cdef int64_t depth = left.sizes[left.rank - 1]
    if form == BATCHES or form == ADDED_BATCHES:
        if right.sizes[0] != left.sizes[0] or right.sizes[1] != depth:
            raise RuntimeError(
                f"Expected size for first two dimensions of batch2 tensor to be: "
                f"[{left.sizes[0]}, {depth}] but got: [{right.sizes[0]}, {right.sizes[1]}].")
        return 0
    if right.sizes[0] == depth:
        return 0
    if form == MATRIX_VECTOR:
        raise RuntimeError(f"size mismatch, got input ({left.sizes[0]}), mat ({_shape(left)}), "
                           f"vec ({right.sizes[0]})")
    if form == VECTORS:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{depth}] and src [{right.sizes[0]}] to "
            f"have the same number of elements, but got {depth} and {right.sizes[0]} elements "
            f"respectively")
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_shape(left)} and "
                       f"{_shape(right)})")


cdef void read_operand(Block* block, TensorImpl tensor, bint as_row, bint batched) noexcept:
    """A tensor as matrices: a vector is a column, or a row; a number, as a result, either."""
    block.data = <char*>const_data_pointer(tensor)
    _read_strides(block, tensor, as_row, batched)


cdef int read_result(Block* block, TensorImpl tensor, bint batched) except -1:
    """The same for a tensor that is written to. Raises RuntimeError without memory of its own."""
    block.data = data_pointer(tensor)
    _read_strides(block, tensor, False, batched)
    return 0


cdef int apply_weight(Product* product, TensorImpl weight, TensorImpl bias,
                      TensorImpl out) except -1:
    """The weight's first dimension is the result's columns, its second what is summed; others are 1.
    Raises RuntimeError where the result has no memory of its own."""
    read_operand(&product.right, weight, False, False)
    product.right.row_stride = weight.strides[1]
    product.right.column_stride = weight.strides[0]
    product.batch = 1
    product.columns = weight.sizes[0]
    product.depth = weight.sizes[1]
    product.alpha = 1
    product.beta = 0
    product.apart = False
    product.addend.data = NULL
    if bias is not None:
        read_operand(&product.addend, bias, True, False)
        product.addend.row_stride = 0
        product.beta = 1
    read_result(&product.out, out, False)
    product.out.row_stride = product.columns
    product.out.column_stride = 1
    multiply(product)
    return 0


cdef inline void _read_strides(Block* block, TensorImpl tensor, bint as_row,
                               bint batched) noexcept:
    block.code = tensor.dtype_code
    block.batch_stride = tensor.strides[0] if batched else 0
    block.row_stride = 1
    block.column_stride = 1
    if tensor.rank >= 2:
        block.row_stride = tensor.strides[tensor.rank - 2]
        block.column_stride = tensor.strides[tensor.rank - 1]
    elif tensor.rank == 1 and as_row:
        block.column_stride = tensor.strides[0]
    elif tensor.rank == 1:
        block.row_stride = tensor.strides[0]


cdef inline int _result_sizes(int form, const Product* product, int64_t* sizes) noexcept:
    if form == VECTORS:
        return 0
    if form == MATRIX_VECTOR:
        sizes[0] = product.rows
        return 1
    if form == BATCHES or form == ADDED_BATCHES:
        sizes[0] = product.batch
        sizes[1] = product.rows
        sizes[2] = product.columns
        return 3
    sizes[0] = product.rows
    sizes[1] = product.columns
    return 2


cdef int _expand_addend(Block* block, TensorImpl addend, int rank, const int64_t* sizes,
                        bint inplace) except -1:
    """The addend as matrices of the result's sizes, of stride zero where it is repeated."""
    cdef int64_t strides[3]
    cdef int dim, source
    if addend.rank > rank:
        raise RuntimeError(
            f"expand({addend.dtype.name}{_list(addend.rank, addend.sizes)}, size="
            f"{_list(rank, sizes)}): the number of sizes provided ({rank}) must be greater or "
            f"equal to the number of dimensions in the tensor ({addend.rank})")
    for dim in range(rank):
        source = dim - (rank - addend.rank)
        if source < 0:
            strides[dim] = 0
        elif addend.sizes[source] == sizes[dim]:
            strides[dim] = addend.strides[source]
        elif addend.sizes[source] == 1:
            strides[dim] = 0
        else:
            raise RuntimeError(
                f"The expanded size of the tensor ({sizes[dim]}) must match the existing size "
                f"({addend.sizes[source]}) at non-singleton dimension {dim}.  Target sizes: "
                f"{_list(rank, sizes)}.  Tensor sizes: {_list(addend.rank, addend.sizes)}")
    block.data = <char*>const_data_pointer(addend)
    block.code = addend.dtype_code
    block.batch_stride = strides[0] if rank == 3 else 0
    block.row_stride = strides[rank - 2]
    block.column_stride = strides[rank - 1]
    return 0


cdef int _prepare_given(OpOverload op, TensorImpl out, int rank, const int64_t* sizes,
                        TensorImpl left, int code) except -1:
    """Check the tensor the result goes to, and resize it if it is an out= argument."""
    cdef int dim
    cdef bint same = out.rank == rank
    if out.dtype_code != code:
        raise RuntimeError(f"Expected out tensor to have dtype {_cxx_name_of(code)}, but got "
                           f"{_cxx_name(out)} instead")
    _check_device(left, out)
    if op.entry.variant == "out":
        prepare_out(op.name, out, rank, sizes)
        check_internal_overlap(out)
        return 0
    check_internal_overlap(out)
    for dim in range(rank):
        same = same and out.sizes[dim] == sizes[dim]
    if not same:
        raise RuntimeError(f"Bad in-place call: input tensor size {_list(out.rank, out.sizes)} "
                           f"and output tensor size {_list(rank, sizes)} should match")
    return 0


cdef double complex _number(PyObject* value, int code) except *:
    """`alpha` or `beta`; integers drop what follows the point. Raises RuntimeError for a complex
    number that real products cannot take."""
    cdef object number = <object>value
    if isinstance(number, int):
        return <double>number
    if not isinstance(number, complex):
        return <double>number
    if number.imag != 0 and code != COMPLEX64 and code != COMPLEX128:
        raise RuntimeError("value cannot be converted to type "
                           f"{_CXX_NAMES.get(dtype_from_code(code).name)} without overflow")
    return number
