"""Promotion against torch: every pair of types, in every pair of ranks, and operators' results."""

import itertools

import pytest
import torch

import aten

NAMES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"),
]
FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
NUMBERS = [True, 3, 2.5, 1j]


def answer(function):
    """A dtype's name, or the type of the exception."""
    try:
        return str(function()).rpartition(".")[2]
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("left", NAMES + FLOAT8)
def test_promote_types(left):
    for right in NAMES + FLOAT8:
        expected = answer(lambda: torch.promote_types(getattr(torch, left), getattr(torch, right)))
        found = answer(lambda: aten.promote_types(getattr(aten, left), getattr(aten, right)))
        assert found == expected, (left, right)


@pytest.mark.parametrize("from_", NAMES + FLOAT8)
def test_can_cast(from_):
    for to in NAMES + FLOAT8:
        expected = torch.can_cast(getattr(torch, from_), getattr(torch, to))
        assert aten.can_cast(getattr(aten, from_), getattr(aten, to)) == expected, (from_, to)


def operands(lib, name):
    element = getattr(lib, name)
    return [lib.ops.aten.empty_strided([2], [1], dtype=element, device="meta"),
            lib.ops.aten.empty_strided([], [], dtype=element, device="meta")]  # fmt: skip


@pytest.mark.parametrize("left", NAMES)
def test_result_type(left):
    for right in NAMES:
        pairs = zip(
            itertools.product(operands(aten, left), operands(aten, right)),
            itertools.product(operands(torch, left), operands(torch, right)),
            strict=True,
        )
        for ours, theirs in pairs:
            expected = answer(lambda pair=theirs: torch.result_type(*pair))
            assert answer(lambda pair=ours: aten.result_type(*pair)) == expected, (left, right)


@pytest.mark.parametrize("name", NAMES)
def test_result_type_with_numbers(name):
    pairs = zip(operands(aten, name), operands(torch, name), strict=True)
    for (ours, theirs), number in itertools.product(pairs, NUMBERS):
        expected = answer(lambda: torch.result_type(theirs, number))
        assert answer(lambda: aten.result_type(ours, number)) == expected, (name, number)


@pytest.mark.parametrize("left", NAMES)
@pytest.mark.parametrize("operator", ["add", "mul", "div", "eq"])
def test_operators(operator, left):
    for right in NAMES:
        if "uint" in left + right and left != right:
            continue  # torch has no such kernels; ours are tested with the operators
        expected = answer(
            lambda: (
                getattr(torch, operator)(operands(torch, left)[0], operands(torch, right)[1]).dtype
            )
        )
        found = answer(
            lambda: getattr(aten, operator)(operands(aten, left)[0], operands(aten, right)[1]).dtype
        )
        assert found == expected, (left, right)
