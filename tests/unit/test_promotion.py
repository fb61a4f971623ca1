"""The type that arithmetic has: dimensions outrank 0-d tensors, and these outrank numbers."""

import pytest

import aten

VECTOR, ZERO_DIMENSIONAL = [1], 1


def tensor(element, data=VECTOR):
    return aten.tensor(data, dtype=element)


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ((tensor(aten.int8), tensor(aten.uint8)), aten.int16),
        ((tensor(aten.int8), tensor(aten.int64, ZERO_DIMENSIONAL)), aten.int8),
        ((tensor(aten.int8), tensor(aten.float64, ZERO_DIMENSIONAL)), aten.float64),
        ((tensor(aten.float16), tensor(aten.float64, ZERO_DIMENSIONAL)), aten.float16),
        ((tensor(aten.float16), tensor(aten.complex128, ZERO_DIMENSIONAL)), aten.complex32),
        ((tensor(aten.int8), 3), aten.int8),
        ((tensor(aten.int8), 3.0), aten.float32),
        ((tensor(aten.float64), 3j), aten.complex128),
        ((tensor(aten.bool), 3), aten.int64),
        ((tensor(aten.bool), True), aten.bool),
        ((tensor(aten.int32, ZERO_DIMENSIONAL), 3), aten.int32),
        ((tensor(aten.int32, ZERO_DIMENSIONAL), 2.5), aten.float32),
        ((2, 2.5), aten.float32),
    ],
)
def test_result_type(operands, expected):
    assert aten.result_type(*operands) is expected
    assert aten.result_type(*reversed(operands)) is expected


def test_the_default_dtype_is_what_numbers_bring():
    aten.set_default_dtype(aten.float64)
    try:
        assert aten.result_type(tensor(aten.int8), 1.5) is aten.float64
        assert aten.result_type(tensor(aten.int8), 1j) is aten.complex128
    finally:
        aten.set_default_dtype(aten.float32)


def test_what_has_no_type_is_refused():
    with pytest.raises(TypeError, match="must be tensors or numbers, not str"):
        aten.result_type(tensor(aten.int8), "three")


def test_operators_promote_alike():
    assert (tensor(aten.int8) + tensor(aten.uint8)).dtype is aten.int16
    assert (tensor(aten.int8) + 1.5).dtype is aten.float32
    assert (tensor(aten.int8) + aten.tensor(1.5, dtype=aten.float64)).dtype is aten.float64
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        tensor(aten.int8).add_(1.5)
