"""Pointwise calls of few elements, made again: the way that is remembered gives what torch gives.

The first call of a kind goes the general way, the ones after it may not. All of them must agree in
values, types, strides and what is written.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import aten

CALLS = 3

# Shapes of a binary operator's tensors; None is a number.
SHAPES: list[tuple[tuple[int, ...] | None, tuple[int, ...] | None]] = [
    ((4,), (4,)),
    ((4,), None),
    (None, (4,)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 3), (2, 1)),
    ((2, 1), (2, 3)),
    ((2, 3), (1, 1)),
    ((2, 3), ()),
    ((), (2, 3)),
    ((), ()),
    ((), None),
    ((1,), ()),
    ((1, 1), (1,)),
    ((2, 3, 4), (3, 4)),
    ((2, 3, 4), (2, 1, 1)),
    ((2, 3, 4), (2, 3, 1)),
    ((2, 3, 4), (1, 3, 1)),
    ((2, 3, 4), (3, 1)),
    ((1, 4), (3, 1)),
    ((2, 1, 4), (1, 4)),
    ((0,), (1,)),
    ((0, 3), (3,)),
    ((130, 130), (130,)),
]
TYPES = ["float32", "float64", "bfloat16", "int64", "uint8", "bool", "complex64"]
BINARY = ["add", "mul", "sub", "div", "lt", "eq", "pow", "maximum", "atan2", "logical_and"]
UNARY = [
    "neg",
    "exp",
    "abs",
    "isnan",
    "sqrt",
    "relu",
    "sigmoid",
    "logical_not",
    "sign",
    "bitwise_not",
]


def of(lib: Any, array: np.ndarray, name: str) -> Any:
    """The numbers as a tensor of `lib` with dtype `name`."""
    made = lib.from_numpy(array.copy())
    return made.to(getattr(lib, name)) if name == "bfloat16" else made


def numbers(shape: tuple[int, ...], name: str, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).integers(-3, 4, shape)
    if name == "bool":
        return np.asarray(drawn > 0)
    if name == "uint8":
        return np.asarray(np.abs(drawn), dtype=name)
    return np.asarray(drawn, dtype="float32" if name == "bfloat16" else name)


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or the kind of error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return type(error).__name__


def assert_same(ours: Any, theirs: Any, where: str) -> None:
    if isinstance(theirs, str) or isinstance(ours, str):
        assert isinstance(ours, str) == isinstance(theirs, str), f"{where}: {ours} {theirs}"
        return
    assert str(ours.dtype).removeprefix("aten.") == str(theirs.dtype).removeprefix("torch."), where
    assert tuple(ours.shape) == tuple(theirs.shape), where
    assert ours.stride() == theirs.stride(), where
    if theirs.dtype == torch.bfloat16:
        ours, theirs = ours.to(aten.float32), theirs.float()
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-6, atol=1e-7, err_msg=where)


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators_over_shapes_and_types(name: str) -> None:
    for (left, right), (one, other) in itertools.product(
        SHAPES,
        [
            *zip(TYPES, TYPES, strict=True),
            ("int64", "float32"),
            ("float32", "float64"),
            ("bool", "uint8"),
            ("uint8", "int64"),
            ("bfloat16", "float32"),
        ],
    ):

        def operands(lib: Any) -> list[Any]:
            return [
                2 if shape is None else of(lib, numbers(shape, kind, seed), kind)
                for seed, (shape, kind) in enumerate(((left, one), (right, other)))
            ]

        if name == "pow" and one == "complex64":
            continue  # zero has several negative powers
        if left is None and name in ("lt", "eq", "maximum", "atan2", "logical_and", "sub", "div"):
            continue
        theirs = outcome(lambda: getattr(torch, name)(*operands(torch)))
        for time in range(CALLS):
            ours = outcome(lambda: getattr(aten, name)(*operands(aten)))
            assert_same(ours, theirs, f"{name} {left} {right} {one} {other}, call {time}")


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize(
    "layout", ["rows", "transposed", "gaps", "expanded", "repeated with gaps", "0-d"]
)
def test_unary_operators_over_layouts(name: str, layout: str) -> None:
    def operand(lib: Any, kind: str) -> Any:
        made = of(lib, numbers((3, 4), kind, 1), kind)
        if layout == "transposed":
            return made.t()
        if layout == "gaps":
            return made[:, ::2]
        if layout == "expanded":
            return made[:, :1].expand(3, 4)
        if layout == "repeated with gaps":
            # Spans as many elements as it has, and yet does not fill them.
            return made.as_strided((2, 2), (0, 3))
        return made[0, 0] if layout == "0-d" else made

    for kind in TYPES:
        theirs = outcome(lambda: getattr(torch, name)(operand(torch, kind)))
        for time in range(CALLS):
            ours = outcome(lambda: getattr(aten, name)(operand(aten, kind)))
            assert_same(ours, theirs, f"{name} {kind}, call {time}")


@pytest.mark.parametrize("value", [2, 2.5, True, -1, 3, 0.5])
@pytest.mark.parametrize("name", ["add", "mul", "rsub", "pow", "div", "floor_divide", "gt", "fmod"])
def test_numbers_take_part_as_numbers(name: str, value: float) -> None:
    for kind, shape in itertools.product(TYPES, [(4,), ()]):
        theirs = outcome(
            lambda: getattr(torch, name)(of(torch, numbers(shape, kind, 2), kind), value)
        )
        for time in range(CALLS):
            ours = outcome(
                lambda: getattr(aten, name)(of(aten, numbers(shape, kind, 2), kind), value)
            )
            assert_same(ours, theirs, f"{name} {kind} {shape}, call {time}")


def test_the_default_type_is_looked_at_in_each_call() -> None:
    count = aten.tensor([1, 2, 3])
    try:
        for default in ("float32", "float64", "float32"):
            aten.set_default_dtype(getattr(aten, default))
            for _ in range(CALLS):
                assert (count * 0.5).dtype is getattr(aten, default)
                assert (count / 2).dtype is getattr(aten, default)
                assert count.exp().dtype is getattr(aten, default)
    finally:
        aten.set_default_dtype(aten.float32)


# Writing

IN_PLACE: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("add_", lambda a, b: a.add_(b)),
    ("add_ of itself", lambda a, b: a.add_(a)),
    ("add_ of a number", lambda a, b: a.add_(2)),
    ("add_ times a number", lambda a, b: a.add_(b, alpha=2)),
    ("add_ of a row", lambda a, b: a.add_(b[0])),
    ("add_ of a column", lambda a, b: a.add_(b[:, :1])),
    ("add_ of its own row", lambda a, b: a[1:].add_(a[0])),
    ("add_ of its own element", lambda a, b: a.add_(a[0, 0])),
    ("add_ of its neighbours", lambda a, b: a[0, 1:].add_(a[0, :-1])),
    ("mul_ of a view of all", lambda a, b: a.mul_(a.view(a.shape))),
    ("mul_ of the transpose", lambda a, b: a.t().mul_(b.t())),
    ("exp_", lambda a, b: a.exp_()),
    ("zero_", lambda a, b: a.zero_()),
    ("fill_", lambda a, b: a.fill_(2)),
    ("fill_ of a 0-d tensor", lambda a, b: a.fill_(b[0, 0])),
    ("copy_", lambda a, b: a.copy_(b)),
    ("copy_ of a row", lambda a, b: a.copy_(b[1])),
    ("div_", lambda a, b: a.div_(2)),
    ("masked_fill_", lambda a, b: a.masked_fill_(b > 0, 7)),
    ("clamp_", lambda a, b: a.clamp_(-1, 1)),
]


@pytest.mark.parametrize(("what", "call"), IN_PLACE, ids=[what for what, _ in IN_PLACE])
def test_operators_in_place(what: str, call: Callable[[Any, Any], Any]) -> None:
    for kind, other in [
        ("float32", "float32"),
        ("float64", "float32"),
        ("int64", "int64"),
        ("int64", "float32"),
        ("bool", "bool"),
        ("uint8", "int64"),
    ]:

        def operands(lib: Any) -> tuple[Any, Any]:
            return tuple(of(lib, numbers((3, 4), k, s), k) for s, k in enumerate((kind, other)))

        a, b = operands(torch)
        theirs = outcome(lambda: call(a, b))
        for time in range(CALLS):
            x, y = operands(aten)
            version = x._version
            ours = outcome(lambda: call(x, y))
            where = f"{what} {kind} {other}, call {time}"
            assert_same(ours, theirs, where)
            if not isinstance(ours, str):
                assert_same(x, a, where)
                assert x._version == version + 1, where


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (2, 1), (0,)])
def test_results_written_to_out(kind: str, shape: tuple[int, ...]) -> None:
    def call(lib: Any) -> Any:
        out = of(lib, numbers(shape, kind, 5), kind)
        a, b = (of(lib, numbers((2, 3), "float32", seed), "float32") for seed in (0, 1))
        assert lib.add(a, b, out=out) is out
        return out

    theirs = outcome(lambda: call(torch))
    for time in range(CALLS):
        assert_same(outcome(lambda: call(aten)), theirs, f"{kind} {shape}, call {time}")


def test_what_a_check_refuses_is_refused_every_time() -> None:
    bytes_ = aten.zeros(3, dtype=aten.uint8)
    mask = aten.tensor([True, False, True])
    for _ in range(CALLS):
        bytes_.fill_(255)
        with pytest.raises(RuntimeError, match="overflow"):
            bytes_.fill_(256)
        assert bytes_.masked_fill(mask, 7).tolist() == [7, 255, 7]
        with pytest.raises(RuntimeError, match="overflow"):
            bytes_.masked_fill(mask, 1000)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            aten.floor_divide(bytes_, 0)
        assert (bytes_ // 2).tolist() == [127, 127, 127]
        assert (bytes_ // (bytes_ - 253)).tolist() == [127, 127, 127]
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            bytes_ // (bytes_ - 255)
        with pytest.raises(RuntimeError, match="negative integer powers"):
            bytes_.to(aten.int64).pow(-7)
        assert bytes_.to(aten.int64).pow(7).tolist() == [255**7] * 3


def test_attributes_choose_their_own_code() -> None:
    value = aten.tensor([-3.5, 1.25, 7.0])
    for _ in range(CALLS):
        assert aten.div(value, 2, rounding_mode="floor").tolist() == [-2.0, 0.0, 3.0]
        assert aten.div(value, 2, rounding_mode="trunc").tolist() == [-1.0, 0.0, 3.0]
        assert aten.div(value, 2).tolist() == [-1.75, 0.625, 3.5]
        for power in (2, 3, 2.0, 4, 0, 1, True):
            expected = torch.tensor([-3.5, 1.25, 7.0]).pow(power)
            assert aten.pow(value, power).tolist() == pytest.approx(expected.tolist())
        assert value.clamp(min=0).tolist() == [0.0, 1.25, 7.0]
        assert value.clamp(max=0).tolist() == [-3.5, 0.0, 0.0]
        assert value.clamp(-1, 1).tolist() == [-1.0, 1.0, 1.0]


def test_large_integers_are_exact() -> None:
    value = aten.tensor([1], dtype=aten.uint64)
    for _ in range(CALLS):
        assert (value + (2**64 - 2)).tolist() == [2**64 - 1]
        with pytest.raises((OverflowError, RuntimeError)):
            value + 2**64


def test_more_kinds_of_calls_than_are_remembered() -> None:
    kinds = ["float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bfloat16"]
    operands = [aten.tensor([1, 2, 3]).to(getattr(aten, kind)) for kind in kinds]
    for _ in range(2):
        for left, right in itertools.product(operands, operands):
            total = left + right
            assert total.to(aten.int64).tolist() == [2, 4, 6]
            assert total.dtype is aten.promote_types(left.dtype, right.dtype)
