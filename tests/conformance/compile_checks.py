"""What is asked of an entry of torch's operator database where it is compiled as a program."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import aten

# Of results that one kernel folds in another order than two.
TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "complex64": 2e-6}


def compare(function: Callable[..., Any], args: Any, kwargs: dict[str, Any], values: bool) -> None:
    """A program around the operator gives what it gives eagerly: dtypes, sizes, strides, and
    `values` if wanted, when it is captured and when it is replayed."""
    compiled = aten.compile(lambda *args, **kwargs: program(function, args, kwargs))
    written, written_by_name = copied(args), copied(kwargs)
    aten.manual_seed(0)
    try:
        expected = program(function, written, written_by_name)
    except Exception as error:
        _compare_errors(compiled, args, kwargs, type(error))
        return
    for _ in range(2):
        given, given_by_name = copied(args), copied(kwargs)
        aten.manual_seed(0)
        _compare(compiled(*given, **given_by_name), expected, values)
        _compare(tensors((given, given_by_name)), tensors((written, written_by_name)), values)


def program(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """The operator, and arithmetic on what it gives, for kernels to share with it."""
    return [_after(one) for one in tensors(function(*args, **kwargs))]


def _after(value: Any) -> Any:
    if value.dtype is aten.bool:
        return value ^ (value == value)
    return (value * 3 - value) * value


def copied(value: Any) -> Any:
    """A nest with tensors of their own, of the same sizes, strides and values."""
    if isinstance(value, aten.Tensor):
        return copy.deepcopy(value)
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(copied, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(copied, value))
    return value


def tensors(value: Any) -> list[Any]:
    """The tensors of a nest, in order."""
    if isinstance(value, aten.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (list, tuple)):
        return []
    return [one for part in value for one in tensors(part)]


def _compare(given: list[Any], expected: list[Any], values: bool) -> None:
    assert len(given) == len(expected)
    for place, (one, other) in enumerate(zip(given, expected, strict=True)):
        found, wanted = _described(one), _described(other)
        assert found == wanted, f"result {place}: {found}, expected {wanted}"
        if not values:
            continue
        tolerance = TOLERANCES.get(one.dtype.name, 1e-13)
        scale = _largest(other)
        close = aten.isclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        assert bool(close.all()), f"result {place}: {one}, expected {other}"


def _largest(value: Any) -> float:
    """The largest finite magnitude."""
    wide = value.to(aten.complex128 if value.dtype.is_complex else aten.float64)
    return float(wide.abs().nan_to_num(0, 0, 0).max()) if value.numel() else 0.0


def _described(value: Any) -> tuple[Any, ...]:
    return value.dtype, tuple(value.shape), value.stride()


def _compare_errors(compiled: Any, args: Any, kwargs: dict[str, Any], error: type) -> None:
    try:
        compiled(*args, **kwargs)
    except error:
        return
    raise AssertionError(f"expected {error.__name__}")
