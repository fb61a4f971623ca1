"""Tensor, the handle users hold and subclass."""

from cpython.object cimport PyObject

from aten._core.tensor.tensor_impl cimport TensorImpl

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

cdef class Tensor(TensorImpl):
    pass

cdef bint is_tensor(object value) noexcept
cdef void set_binary_call(BinaryCall call) noexcept
