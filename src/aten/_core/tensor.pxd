"""TensorImpl, what a tensor is, and Tensor, the handle users hold and subclass."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from aten._core.storage cimport Storage

cdef enum:
    INLINE_DIMS = 5
    MAXIMUM_DIMS = 64

cdef enum:
    # Positions in the slot table, in the order of `_SLOT_NAMES`.
    SLOT_ADD, SLOT_SUB, SLOT_MUL, SLOT_TRUEDIV, SLOT_FLOORDIV, SLOT_MOD, SLOT_POW, SLOT_MATMUL
    SLOT_AND, SLOT_OR, SLOT_XOR, SLOT_LSHIFT, SLOT_RSHIFT
    SLOT_RADD, SLOT_RSUB, SLOT_RMUL, SLOT_RTRUEDIV, SLOT_RFLOORDIV, SLOT_RMOD, SLOT_RPOW
    SLOT_RMATMUL, SLOT_RAND, SLOT_ROR, SLOT_RXOR, SLOT_RLSHIFT, SLOT_RRSHIFT
    SLOT_IADD, SLOT_ISUB, SLOT_IMUL, SLOT_ITRUEDIV, SLOT_IFLOORDIV, SLOT_IMOD, SLOT_IPOW
    SLOT_IMATMUL, SLOT_IAND, SLOT_IOR, SLOT_IXOR, SLOT_ILSHIFT, SLOT_IRSHIFT
    SLOT_LT, SLOT_LE, SLOT_EQ, SLOT_NE, SLOT_GT, SLOT_GE
    SLOT_NEG, SLOT_POS, SLOT_ABS, SLOT_INVERT, SLOT_BOOL, SLOT_GETITEM, SLOT_SETITEM, SLOT_REPR
    SLOT_CONTAINS, SLOT_REDUCE, SLOT_DEEPCOPY, SLOT_FORMAT, SLOT_ARRAY, SLOT_DLPACK
    SLOT_COUNT

ctypedef object (*BinaryCall)(PyObject* filled, object left, object right)

cdef class TensorImpl:
    cdef Storage storage
    cdef uint64_t keys
    cdef int64_t offset                     # in elements from the start of the storage
    cdef int64_t count                      # elements
    cdef int64_t* sizes                     # `rank` sizes, then `rank` strides, in elements
    cdef int64_t* strides
    cdef int64_t inline_geometry[10]        # 2 * INLINE_DIMS; deeper tensors hold theirs elsewhere:
    cdef bytes geometry_memory              # there, which is None or NULL for the others
    cdef int rank
    cdef signed char dtype_code
    cdef signed char device_type
    cdef signed char device_index           # -1: the device type's only or current one
    cdef bint contiguous                    # row-major without gaps, kept up to date
    cdef bint wrapped_number                # made from a Python number: weakest in promotion
    cdef object __weakref__
    cdef dict __dict__

cdef class Tensor(TensorImpl):
    pass

cdef bint is_lazy(TensorImpl tensor) noexcept   # a conjugate or negative not carried out in memory
cdef uint64_t conjugate_bit() noexcept
cdef uint64_t negative_bit() noexcept
# The address of the first element: to write, with the memory no longer shared with lazy copies; to
# read. An address to write is asked for before those to read: what is shared stays where it is, but
# shows what was there before.
cdef char* data_pointer(TensorImpl tensor) except? NULL
cdef const char* const_data_pointer(TensorImpl tensor) noexcept nogil
cdef int require_memory(TensorImpl tensor) except -1
cdef bint is_tensor(object value) noexcept
cdef int wrap_dim(int64_t dim, int ndim) except -1
cdef int refresh_geometry(TensorImpl tensor) except -1
cdef int set_geometry(TensorImpl tensor, int rank, const int64_t* sizes,
                      const int64_t* strides) except -1
cdef int format_strides(int memory_format_code, int rank, const int64_t* sizes,
                        int64_t* strides) except -1
cdef int contiguous_strides(int ndim, const int64_t* sizes, int64_t* strides) except -1
cdef int64_t storage_extent(int ndim, const int64_t* sizes, const int64_t* strides) noexcept nogil
cdef Py_ssize_t read_sizes(object values, int64_t* sizes, int limit) except -1
cdef Tensor make_tensor(Storage storage, int dtype_code, int ndim, const int64_t* sizes,
                        const int64_t* strides, int64_t offset)
cdef Tensor make_contiguous(int dtype_code, int ndim, const int64_t* sizes, int device_type,
                            int device_index)
cdef Tensor make_strided(int dtype_code, int ndim, const int64_t* sizes, const int64_t* strides,
                         int device_type, int device_index)
cdef void set_binary_call(BinaryCall call) noexcept
