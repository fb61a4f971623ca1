"""A small stand-in for `aten.prims`: expressions, and their values on NumPy arrays.

It offers what the expansions of `aten.loops.math` use, so that they are tested apart from the
compiler: an expression is recorded first, then evaluated in one pass over its nodes.
"""

from __future__ import annotations

import importlib
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DType:
    name: str


DTYPES = {name: DType(name) for name in ("float32", "float64", "int32", "int64", "bool")}
NUMPY_DTYPES = {name: np.dtype(name) for name in DTYPES}
ESTIMATES = {
    "reciprocal_estimate": lambda x: 1 / x,
    "rsqrt_estimate": lambda x: 1 / np.sqrt(x),
}


class Value:
    """A node: an operation, its operands, and the dtype of its result."""

    def __init__(self, operation: str, operands: tuple[Any, ...], dtype: str) -> None:
        self.operation = operation
        self.operands = operands
        self.dtype = DTYPES[dtype]

    def _other(self, other: Any) -> Value:
        if isinstance(other, Value):
            assert other.dtype is self.dtype, (other.dtype, self.dtype)
            return other
        return constant(self, other)

    def _binary(self, operation: str, other: Any, dtype: str | None = None) -> Value:
        return Value(operation, (self, self._other(other)), dtype or self.dtype.name)

    def _reflected(self, operation: str, other: Any) -> Value:
        return Value(operation, (self._other(other), self), self.dtype.name)

    def __add__(self, other: Any) -> Value:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Value:
        return self._reflected("add", other)

    def __sub__(self, other: Any) -> Value:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any) -> Value:
        return self._reflected("subtract", other)

    def __mul__(self, other: Any) -> Value:
        return self._binary("multiply", other)

    def __rmul__(self, other: Any) -> Value:
        return self._reflected("multiply", other)

    def __truediv__(self, other: Any) -> Value:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._reflected("divide", other)

    def __and__(self, other: Any) -> Value:
        return self._binary("bitwise_and", other)

    def __or__(self, other: Any) -> Value:
        return self._binary("bitwise_or", other)

    def __xor__(self, other: Any) -> Value:
        return self._binary("bitwise_xor", other)

    def __lshift__(self, other: Any) -> Value:
        return self._binary("left_shift", other)

    def __rshift__(self, other: Any) -> Value:
        return self._binary("right_shift", other)

    def __lt__(self, other: Any) -> Value:
        return self._binary("less", other, "bool")

    def __le__(self, other: Any) -> Value:
        return self._binary("less_equal", other, "bool")

    def __gt__(self, other: Any) -> Value:
        return self._binary("greater", other, "bool")

    def __ge__(self, other: Any) -> Value:
        return self._binary("greater_equal", other, "bool")

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        return self._binary("equal", other, "bool")

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return self._binary("not_equal", other, "bool")

    __hash__ = object.__hash__

    def __neg__(self) -> Value:
        return Value("negative", (self,), self.dtype.name)

    def __invert__(self) -> Value:
        return Value("invert", (self,), self.dtype.name)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value: use arithmetic.where")


def constant(like: Value, number: float) -> Value:
    if like.dtype.name.startswith("int"):
        assert isinstance(number, int), number
    return Value("constant", (number,), like.dtype.name)


def fma(x: Value, y: Value, z: Value) -> Value:
    assert x.dtype is y.dtype is z.dtype
    return Value("fma", (x, y, z), x.dtype.name)


def where(condition: Value, x: Value, y: Value) -> Value:
    assert condition.dtype.name == "bool"
    assert x.dtype is y.dtype
    return Value("where", (condition, x, y), x.dtype.name)


def convert(x: Value, dtype: str) -> Value:
    return Value("convert", (x,), dtype)


def bitcast(x: Value, dtype: str) -> Value:
    return Value("bitcast", (x,), dtype)


def lookup(table: tuple[float, ...], index: Value) -> Value:
    assert index.dtype.name == "int32"
    return Value("lookup", (table, index), "float32")


def _other(like: Value, operand: Any) -> Value:
    return operand if isinstance(operand, Value) else constant(like, operand)


def _unary(operation: str) -> Any:
    return lambda x: Value(operation, (x,), x.dtype.name)


def _binary(operation: str) -> Any:
    return lambda x, y: Value(operation, (x, _other(x, y)), x.dtype.name)


def load_expansions() -> dict[str, Any]:
    """`aten.loops.math.EXPANSIONS` over this module's values.

    The package is imported a second time with this module in the place of `aten.prims`; what
    others import is left as it was.
    """
    import aten.loops.math

    arithmetic = types.ModuleType("aten.prims.arithmetic")
    for name in ("constant", "fma", "where", "convert", "bitcast", "lookup"):
        setattr(arithmetic, name, globals()[name])
    arithmetic.where_rare = arithmetic.shortcut = where  # type: ignore[attr-defined]
    for name in ("abs", "sqrt", "floor", "trunc", "round", *ESTIMATES):
        setattr(arithmetic, name, _unary(name))
    for name in ("copysign", "fmod", "minimum", "maximum", "shift_right_logical"):
        setattr(arithmetic, name, _binary(name))
    prims = types.ModuleType("aten.prims")
    prims.Value = Value  # type: ignore[attr-defined]
    prims.arithmetic = arithmetic  # type: ignore[attr-defined]
    prims.elementwise = arithmetic  # type: ignore[attr-defined]

    def replaced(name: str) -> bool:
        return name.startswith(("aten.prims", "aten.loops.math"))

    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if replaced(name)}
    kept_attribute = aten.loops.math
    sys.modules["aten.prims"] = prims
    sys.modules["aten.prims.arithmetic"] = arithmetic
    sys.modules["aten.prims.elementwise"] = arithmetic
    try:
        return dict(importlib.import_module("aten.loops.math").EXPANSIONS)
    finally:
        for name in list(sys.modules):
            if replaced(name):
                del sys.modules[name]
        sys.modules.update(kept)
        aten.loops.math = kept_attribute


def operands_first(root: Value) -> list[Value]:
    """The nodes of an expression, each after its operands."""
    order: list[Value] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.append((node, True))
        stack += [(operand, False) for operand in node.operands if isinstance(operand, Value)]
    return order


def evaluate(expansion: Any, *arrays: np.ndarray) -> np.ndarray:
    """The expansion's values on arrays of one floating-point dtype."""
    inputs = [Value("input", (i,), array.dtype.name) for i, array in enumerate(arrays)]
    root = expansion(*inputs)
    results: dict[int, np.ndarray] = {}
    with np.errstate(all="ignore"):
        for node in operands_first(root):
            operands = [results[id(x)] if isinstance(x, Value) else x for x in node.operands]
            results[id(node)] = _apply(node, operands, arrays)
    return np.broadcast_to(results[id(root)], arrays[0].shape)


def _apply(node: Value, operands: list[Any], arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    dtype = NUMPY_DTYPES[node.dtype.name]
    match node.operation:
        case "input":
            return arrays[operands[0]]
        case "constant":
            return np.array(operands[0], dtype)
        case "fma":
            return _fma(*operands)
        case "convert":
            return operands[0].astype(dtype)
        case "bitcast":
            return np.ascontiguousarray(operands[0]).view(dtype).reshape(operands[0].shape)
        case "lookup":
            table, index = operands
            return np.array(table, dtype)[index & (len(table) - 1)]
        case "reciprocal_estimate" | "rsqrt_estimate":
            return _as_rough_as_allowed(ESTIMATES[node.operation](operands[0]))
        case "where" | "copysign" | "sqrt" | "floor" | "trunc" | "abs":
            return getattr(np, node.operation)(*operands)
        case "round":
            return np.rint(operands[0])
        case "minimum":
            return np.where(operands[0] < operands[1], *operands)
        case "shift_right_logical":
            unsigned = f"u{dtype.name}"
            shifted = operands[0].view(unsigned) >> operands[1].astype(unsigned)
            return shifted.view(dtype)
        case "maximum":
            return np.where(operands[0] > operands[1], *operands)
    return np.asarray(getattr(np, node.operation)(*operands))


def _as_rough_as_allowed(x: np.ndarray) -> np.ndarray:
    """Up to 2^-14 less: without the last bits but 15."""
    integer, dropped = (np.int32, 9) if x.dtype == np.float32 else (np.int64, 38)
    return (x.view(integer) & -(1 << dropped)).view(x.dtype)


def _fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """NumPy has no fused multiply-add; this one is rounded twice, at twice the precision first.

    float32: the product is exact in float64. float64: product and sum are carried with their
    rounding errors in long double (64-bit mantissa), which also has range to spare.
    """
    if x.dtype == np.float32:
        wide = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
        return wide.astype(np.float32)
    x, y, z = (value.astype(np.longdouble) for value in (x, y, z))
    x_high, y_high = _upper_half(x), _upper_half(y)
    x_low, y_low = x - x_high, y - y_high
    product = x * y
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    total = product + z
    from_z = total - product
    rest = (product - (total - from_z)) + (z - from_z) + error
    is_exact = ~np.isfinite(rest) | (rest == 0)  # a total of -0 stays that
    return np.where(is_exact, total, total + rest).astype(np.float64)


def _upper_half(x: np.ndarray) -> np.ndarray:
    """The upper 32 bits of a 64-bit mantissa (Veltkamp)."""
    spread = x * np.longdouble(2**32 + 1)
    return spread - (spread - x)
