"""Every pointwise operator of the registry against torch: values, types, strides, errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from pointwise_samples import DTYPES, FLOATS, INTEGERS, layouts, to_aten, to_torch, values

import aten
from aten._generated.table import OPERATORS
from aten.registry import operator

# How far results may be apart: relative, and absolute. Twice torch's own error where that is
# larger than ours. Bool and integers are exact.
TOLERANCES = {
    torch.float16: (2e-3, 1e-6),
    torch.bfloat16: (1.6e-2, 1e-30),
    torch.float32: (4e-6, 2e-7),
    torch.float64: (2e-13, 1e-15),
    torch.complex64: (1e-5, 1e-6),
}

# (operator, dtype or "*"): why the results differ.
KNOWN_DIFFERENCES: dict[tuple[str, str], str] = {}

KEYS = [
    key
    for key, row in OPERATORS.items()
    if row[1] == "pointwise" and row[2] == "functional" and row[3] == key and row[4]
]
BASES = {key: OPERATORS[key] for key in KEYS}
VARIANTS = [
    key
    for key, row in OPERATORS.items()
    if row[1] == "pointwise" and row[3] in BASES and row[2] != "functional"
]


def torch_operator(key: str) -> Any:
    name, _, overload = key.partition(".")
    return getattr(getattr(torch.ops.aten, name), overload or "default")


def number_for(name: str) -> Any:
    if name == "complex64":
        return 0.5 - 1j
    return 2 if name in INTEGERS else (True if name == "bool" else 0.75)


_NUMBERS = {"decimals": 1, "rounding_mode": "floor", "rtol": 1e-2, "atol": 1e-3}


class Sample:
    """A call's arguments, for torch."""

    def __init__(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs

    def for_aten(self) -> tuple[list[Any], dict[str, Any]]:
        return (
            [converted_argument(value) for value in self.args],
            {name: converted_argument(value) for name, value in self.kwargs.items()},
        )


def converted_argument(value: Any) -> Any:
    return to_aten(value) if isinstance(value, torch.Tensor) else value


def sample(
    key: str, name: str, tensors: list[torch.Tensor], *, number: Any = None, optional: bool = False
) -> Sample:
    """Arguments for the operator: `tensors` in turn, numbers of the kind of dtype `name`."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    remaining = iter(tensors)
    for argument in torch_operator(key)._schema.arguments:
        kind = str(argument.type)
        if argument.is_out:
            break
        if kind in ("Tensor", "Optional[Tensor]"):
            value: Any = next(remaining)
            if argument.name == "condition":
                value = torch.empty_like(value, dtype=torch.bool).copy_(value.abs() > 1)
            if key.startswith("fill") and argument.name == "value":
                value = value.flatten()[0] if value.numel() else torch.tensor(1, dtype=value.dtype)
        elif argument.name in _NUMBERS:
            value = _NUMBERS[argument.name]
        elif kind in ("number", "Scalar") or kind == "Optional[number]":
            if argument.has_default_value() and kind == "number" and not optional:
                continue
            value = number_for(name) if number is None else number
        else:
            continue
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return Sample(args, kwargs)


def outcome(call: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a call returns, or the exception it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(*args, **kwargs)
        except Exception as error:
            return error


def difference(expected: Any, found: Any, *, strides: bool = False) -> str:
    """What is wrong with the outcome `found`; empty if it is what torch's is."""
    if isinstance(expected, Exception) or isinstance(found, Exception):
        if type(expected) is type(found):
            return ""
        return f"expected {short(expected)}, found {short(found)}"
    if found.dtype.name != str(expected.dtype).removeprefix("torch."):
        return f"expected dtype {expected.dtype}, found {found.dtype}"
    if tuple(found.shape) != tuple(expected.shape):
        return f"expected shape {tuple(expected.shape)}, found {tuple(found.shape)}"
    if strides and expected.numel() > 0 and found.stride() != expected.stride():
        return f"expected strides {expected.stride()}, found {found.stride()}"
    return value_difference(expected, to_torch(found))


def value_difference(expected: torch.Tensor, found: torch.Tensor) -> str:
    if expected.dtype in TOLERANCES:
        relative, absolute = TOLERANCES[expected.dtype]
        close = torch.isclose(found, expected, relative, absolute, equal_nan=True)
    else:
        close = found == expected
    if bool(close.all()):
        return ""
    wrong = (~close).flatten().nonzero()[:4, 0].tolist()
    pairs = [(i, expected.flatten()[i].item(), found.flatten()[i].item()) for i in wrong]
    return f"{int((~close).sum())} values differ; (place, expected, found): {pairs}"


def short(value: Any) -> str:
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {str(value).splitlines()[0][:120]}"
    return f"a {value.dtype} result"


def compare(key: str, given: Sample, **options: Any) -> tuple[Any, str]:
    """torch's outcome, and how ours differs."""
    expected = outcome(torch_operator(key), given.args, given.kwargs)
    args, kwargs = given.for_aten()
    found = outcome(operator(key), args, kwargs)
    problem = difference(expected, found, **options)
    if problem and given.args:
        shown = [arg for arg in [*given.args, *given.kwargs.items()] if not hasattr(arg, "shape")]
        problem += f" with {shown}" if shown else ""
    return expected, problem


def known(key: str, name: str) -> bool:
    return (key, name) in KNOWN_DIFFERENCES or (key, "*") in KNOWN_DIFFERENCES


def without_zeros(tensor: torch.Tensor) -> torch.Tensor:
    return torch.where(tensor == 0, torch.ones_like(tensor), tensor)


def value_samples(key: str, name: str) -> Iterator[Sample]:
    tensors = [values(name, seed) for seed in range(3)]
    given = sample(key, name, tensors)
    yield given
    error = outcome(torch_operator(key), given.args, given.kwargs)
    if isinstance(error, RuntimeError) and str(error) == "ZeroDivisionError":
        yield sample(key, name, [without_zeros(tensor) for tensor in tensors])
    if name not in ("int32", "float32"):
        return
    for number in (3, -2, 1.25, True) if has_number(key) else ():
        yield sample(key, name, tensors, number=number, optional=True)


def has_number(key: str) -> bool:
    return any("number" in str(one.type) for one in torch_operator(key)._schema.arguments)


@pytest.mark.parametrize("key", KEYS)
def test_values_and_types(key: str) -> None:
    problems = []
    for name in DTYPES:
        if known(key, name):
            continue
        for given in value_samples(key, name):
            _, problem = compare(key, given)
            if problem:
                problems.append(f"{name}: {problem}")
    assert not problems, "\n" + "\n".join(problems)


def usual_dtype(key: str) -> str:
    """A dtype that torch has the operator for."""
    for name in ("float32", "int64", "bool"):
        tensors = [torch.ones(2, dtype=getattr(torch, name))] * 3
        given = sample(key, name, tensors)
        if not isinstance(outcome(torch_operator(key), given.args, given.kwargs), Exception):
            return name
    raise AssertionError(f"torch runs {key} on none of the dtypes")


@pytest.mark.parametrize("key", KEYS)
def test_layouts(key: str) -> None:
    name = usual_dtype(key)
    problems = []
    for layout, tensors in layouts(name):
        if name == "int64":
            tensors = [without_zeros(tensor) for tensor in tensors]
        _, problem = compare(key, sample(key, name, tensors), strides=True)
        if problem:
            problems.append(f"{layout}: {problem}")
    assert not problems, "\n" + "\n".join(problems)
