"""Sequences and random numbers: what is compiled gives what the operator's own function gives."""

import itertools
from importlib import import_module

import pytest

import aten
from aten.registry import operator

factory, random, random_factory = (
    import_module(f"aten.{name}")
    for name in (
        "ops.memory.factory",
        "backends.cpu.operators.random",
        "ops.random.random_factory",
    )
)

_BOUNDS = [0, 1, -3, 7, 2.5, -0.1, 1e9, float("inf"), float("nan"), True, 1 << 53, -(1 << 70)]
_STEPS = [1, 2, -1, -3, 0, 0.5, -0.3, 1e-3 + 1, float("nan"), 1 << 62]
_OPTIONS = [
    {},
    {"dtype": aten.int64},
    {"dtype": aten.int32},
    {"dtype": aten.float32},
    {"dtype": aten.float64},
    {"dtype": aten.float16},
    {"dtype": aten.bool},
    {"device": aten.device("cpu"), "pin_memory": False},
    {"device": aten.device("meta")},
    {"pin_memory": True},
]


def _outcome(call, *arguments, **keywords):
    """What a call gives, in comparable words."""
    try:
        made = call(*arguments, **keywords)
    except Exception as error:
        return type(error), str(error)
    values = None if made.is_meta else str(made.tolist())
    return made.dtype, tuple(made.shape), made.stride(), made.device, values, made._version


def _is_short(start, end, step) -> bool:
    """Whether the sequence is empty, refused, or short enough to be made here."""
    try:
        return not (end - start) / step > 1000
    except (ZeroDivisionError, OverflowError):
        return True


@pytest.mark.parametrize("options", _OPTIONS, ids=str)
def test_sequences(options) -> None:
    for start, end, step in itertools.product(_BOUNDS, _BOUNDS, _STEPS):
        if not _is_short(start, end, step):
            continue
        expected = _outcome(factory.arange_start_step, start, end, step, **options)
        found = _outcome(operator("aten::arange.start_step"), start, end, step, **options)
        assert found == expected, (start, end, step)
    for start, end in itertools.product(_BOUNDS, _BOUNDS):
        if _is_short(start, end, 1):
            expected = _outcome(factory.arange_start, start, end, **options)
            assert _outcome(operator("aten::arange.start"), start, end, **options) == expected
    for end in _BOUNDS:
        if _is_short(0, end, 1):
            expected = _outcome(factory.arange, end, **options)
            assert _outcome(operator("aten::arange"), end, **options) == expected


@pytest.mark.parametrize("name", ["rand", "randn"])
@pytest.mark.parametrize("options", _OPTIONS, ids=str)
def test_random_numbers_of_a_size(name, options) -> None:
    function = getattr(random_factory, name)
    for size in [(), (4,), (2, 30), (3, 0), (-1,)]:
        outcomes = []
        for call in (function, operator(f"aten::{name}")):
            aten.manual_seed(7)
            outcomes.append((_outcome(call, size, **options), aten.initial_seed(), aten.rand(3)))
        assert str(outcomes[0]) == str(outcomes[1])
        one, other = aten.Generator().manual_seed(3), aten.Generator().manual_seed(3)
        expected = _outcome(function, size, generator=one, **options)
        found = _outcome(operator(f"aten::{name}.generator"), size, generator=other, **options)
        assert found == expected
        assert aten.equal(one.get_state(), other.get_state())


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64, aten.bfloat16, aten.int64], ids=str)
@pytest.mark.parametrize("parameters", [(), (2.0, 0.5), (0.0, -1.0), (0.0, float("nan")), (1, 0)])
def test_normal_numbers_in_place(dtype, parameters) -> None:
    for make in (
        lambda: aten.zeros(3, 40, dtype=dtype),
        lambda: aten.zeros(40, 3, dtype=dtype).t(),
        lambda: aten.zeros(0, dtype=dtype),
        lambda: aten.zeros(1, dtype=dtype).expand(3),
    ):
        outcomes = []
        for call in (random.normal_, operator("aten::normal_")):
            aten.manual_seed(11)
            outcomes.append(_outcome(call, make(), *parameters))
        assert outcomes[0] == outcomes[1]
