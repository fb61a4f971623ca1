"""Python's operators of the namespace's arrays: the standard's functions of the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.array_api import elementwise, linear_algebra
from aten.array_api.array import Array, plain

# Slot → function. The arithmetic ones also have a reflected and an in-place form.
_ARITHMETIC = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_SINGLE = {"abs": "abs", "invert": "bitwise_invert", "neg": "negative", "pos": "positive"}
# Others get a chance to answer for themselves.
_OPERANDS = (Tensor, bool, int, float, complex)


def _is_operand(value: Any) -> bool:
    return isinstance(value, _OPERANDS) or hasattr(value, "__array_interface__")


def _binary(function: Callable[..., Array]) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        return function(self, other) if _is_operand(other) else NotImplemented

    return method


def _reflected(function: Callable[..., Array]) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        return function(other, self) if _is_operand(other) else NotImplemented

    return method


def _in_place(slot: str, function: Callable[..., Array]) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        if not _is_operand(other):
            return NotImplemented
        result = function(self, other)
        if result.dtype is not self.dtype or result.shape != self.shape:
            raise TypeError(
                f"{slot}: the result, {list(result.shape)} of {result.dtype}, does not fit the "
                f"array, {list(self.shape)} of {self.dtype}"
            )
        plain(self).copy_(plain(result))
        return self

    return method


def _single(function: Callable[..., Array]) -> Callable[[Array], Array]:
    def method(self: Array, /) -> Array:
        return function(self)

    return method


def _install(slot: str, method: Callable[..., Any], text: str) -> None:
    name = f"__{slot}__"
    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    method.__doc__ = text
    setattr(Array, name, method)


def install() -> None:
    """Fill the operators of `Array`."""
    functions = {**elementwise.FUNCTIONS, "matmul": linear_algebra.matmul}
    for slot, name in {**_ARITHMETIC, "matmul": "matmul"}.items():
        function = functions[name]
        _install(slot, _binary(function), f"`{name}(self, other)`.")
        _install(f"r{slot}", _reflected(function), f"`{name}(other, self)`.")
        _install(
            f"i{slot}", _in_place(f"__i{slot}__", function), f"`{name}`, written to the array."
        )
    for slot, name in _COMPARISONS.items():
        _install(slot, _binary(functions[name]), f"`{name}(self, other)`.")
    for slot, name in _SINGLE.items():
        _install(slot, _single(functions[name]), f"`{name}(self)`.")
