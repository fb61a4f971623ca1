# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The common type of several operands.

Operands rank by what they are: tensors with dimensions, 0-d tensors, Python numbers. A lower rank
decides the type only where it brings a higher category (bool < integral < floating < complex);
within a rank, the promotion table decides. Algorithm: torch's `result_type`, as documented.
"""

from aten._core.base.dtypes cimport (BOOL, COMPLEX128, COMPLEX32, COMPLEX64, FLOAT16, FLOAT64,
                                     INT64, category_of, default_dtype_code, dtype_from_code,
                                     promote_codes)
from aten._core.base.dtypes import promote_types
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl

cdef enum:
    FLOATING = 2
    COMPLEX = 3


cdef void begin_promotion(Promotion* state) noexcept nogil:
    state.dimensioned = -1
    state.zero_dimensional = -1
    state.number = -1


cdef inline int _joined(int left, int right) except -2:
    cdef int code
    if left < 0 or right < 0:
        return right if left < 0 else left
    code = promote_codes(left, right)
    if code < 0:
        promote_types(dtype_from_code(left), dtype_from_code(right))
    return code


cdef int _complex_of(int code) noexcept nogil:
    if code == FLOAT16:
        return COMPLEX32
    return COMPLEX128 if code == FLOAT64 else COMPLEX64


cdef int promote_tensor(Promotion* state, TensorImpl tensor) except -1:
    """Let a tensor take part."""
    if tensor.wrapped_number:
        return promote_number(state, tensor.dtype_code)
    if tensor.rank > 0:
        state.dimensioned = _joined(state.dimensioned, tensor.dtype_code)
    else:
        state.zero_dimensional = _joined(state.zero_dimensional, tensor.dtype_code)
    return 0


cdef int promote_number(Promotion* state, int code) except -1:
    """Let a Python number of type `code` take part; floats stand for the default dtype."""
    if category_of(code) == COMPLEX:
        code = _complex_of(default_dtype_code())
    elif category_of(code) == FLOATING:
        code = default_dtype_code()
    state.number = _joined(state.number, code)
    return 0


cdef int _combined(int higher, int lower) except -2:
    if higher < 0 or lower < 0:
        return lower if higher < 0 else higher
    if category_of(higher) == COMPLEX:
        return higher
    if category_of(higher) == FLOATING:
        return _complex_of(higher) if category_of(lower) == COMPLEX else higher
    if category_of(lower) == COMPLEX:
        return lower
    if higher == BOOL or category_of(lower) == FLOATING:
        return _joined(higher, lower)
    return higher


cdef int promoted(Promotion* state) except -2:
    """The common type; -1 where nothing took part."""
    return _combined(state.dimensioned, _combined(state.zero_dimensional, state.number))


def result_type(*operands):
    """The dtype arithmetic on `operands` (tensors and Python numbers) has.

    Raises RuntimeError where they have no common type, TypeError for other operands.

    Example:

        >>> aten.result_type(aten.tensor([1, 2]), 1.5)
        aten.float32
    """
    cdef Promotion state
    begin_promotion(&state)
    for operand in operands:
        if isinstance(operand, Tensor):
            promote_tensor(&state, <TensorImpl>operand)
        elif isinstance(operand, bool):
            promote_number(&state, BOOL)
        elif isinstance(operand, int):
            promote_number(&state, INT64)
        elif isinstance(operand, float):
            promote_number(&state, FLOAT64)
        elif isinstance(operand, complex):
            promote_number(&state, COMPLEX128)
        else:
            raise TypeError(f"result_type(): operands must be tensors or numbers, not "
                            f"{type(operand).__name__}")
    return dtype_from_code(promoted(&state))
