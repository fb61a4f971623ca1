"""From an operator's name in a graph to the function that computes it.

Arithmetic on sizes, and the operators that only read a tensor's metadata, are plain Python here:
they take no part in dispatch. Everything else is an operator of the registry.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import FallthroughKernel
from aten.graph import higher_order
from aten.graph.errors import UnknownOperatorError
from aten.graph.ir import Graph
from aten.registry import find_operator

Function = Callable[..., Any]


def _sym_sum(*terms: Any) -> Any:
    return sum(terms[0] if len(terms) == 1 and isinstance(terms[0], (list, tuple)) else terms)


def _sym_if(condition: bool, chosen: Any, otherwise: Any) -> Any:
    return chosen if condition else otherwise


# Where a program is captured, sizes may be symbols, and stay so.
def _sym_size(self: Any, dim: int) -> Any:
    return self.size(dim)


def _sym_stride(self: Any, dim: int) -> Any:
    return self.stride(dim)


def _sym_numel(self: Any) -> Any:
    return self.numel()


def _sym_storage_offset(self: Any) -> Any:
    return self.storage_offset()


def _sym_max(left: Any, right: Any) -> Any:
    return _by_protocol("__sym_max__", max, left, right)


def _sym_min(left: Any, right: Any) -> Any:
    return _by_protocol("__sym_min__", min, left, right)


def _by_protocol(method: str, function: Function, left: Any, right: Any) -> Any:
    if hasattr(left, method):
        return getattr(left, method)(right)
    return getattr(right, method)(left) if hasattr(right, method) else function(left, right)


def _sym_float(self: Any) -> Any:
    return self.__sym_float__() if hasattr(self, "__sym_float__") else float(self)


def _assert_scalar(self: Any, assert_msg: str) -> None:
    if not self:
        raise RuntimeError(assert_msg)


def _sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"the size {size} computed by the program is not in {min}..{max}")


def _assert_tensor_metadata(
    a: Any,
    size: list[int] | None = None,
    stride: list[int] | None = None,
    dtype: Any = None,
    *,
    device: Any = None,
    layout: Any = None,
) -> None:
    recorded = {"size": size, "stride": stride, "dtype": dtype, "layout": layout}
    for name, expected in recorded.items():
        if expected is None:
            continue
        found = getattr(a, name)
        found = list(found()) if name in ("size", "stride") else found
        if found != expected:
            raise RuntimeError(f"Tensor {name} mismatch! Expected: {expected}, Got: {found}")


_OPERATOR_FUNCTIONS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs"),
    *("eq", "ne", "lt", "le", "gt", "ge"),
    *("and_", "or_", "xor", "lshift", "rshift", "invert", "getitem"),
)
_MATH_FUNCTIONS = (
    *("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan"),
    *("exp", "log", "asinh", "log2", "floor", "ceil", "trunc"),
)

PYTHON_FUNCTIONS: dict[str, Function] = {
    **{f"operator.{name}": getattr(operator, name) for name in _OPERATOR_FUNCTIONS},
    **{f"math.{name}": getattr(math, name) for name in _MATH_FUNCTIONS},
    **{f"sym_{name}": getattr(math, name) for name in _MATH_FUNCTIONS},
    "math.pow": pow,
    "round": round,
    "sym_max": _sym_max,
    "sym_min": _sym_min,
    "sym_int": math.trunc,
    "sym_float": _sym_float,
    "sym_not": operator.not_,
    "sym_sum": _sym_sum,
    "sym_ite": _sym_if,
    "aten.sym_size.int": _sym_size,
    "aten.sym_stride.int": _sym_stride,
    "aten.sym_numel.default": _sym_numel,
    "aten.sym_storage_offset.default": _sym_storage_offset,
    "aten.sym_constrain_range.default": _sym_constrain_range,
    "aten.sym_constrain_range_for_size.default": _sym_constrain_range,
    "aten._assert_scalar.default": _assert_scalar,
    "aten._assert_tensor_metadata.default": _assert_tensor_metadata,
    **{f"higher_order.{name}": function for name, function in higher_order.FUNCTIONS.items()},
}


def find(target: str) -> Function | None:
    """The function of that name, or None where there is none that could run."""
    function = PYTHON_FUNCTIONS.get(target)
    return function if function is not None else _registered(target)


def _registered(target: str) -> Function | None:
    namespace, _, name = target.partition(".")
    op = find_operator(f"{namespace}::{name}")
    if op is None:
        return None
    kernel, _ = op.registrations.resolve(DispatchKey.CPU)
    return None if kernel is None or isinstance(kernel, FallthroughKernel) else op


def resolve(targets: Iterable[str]) -> dict[str, Function]:
    """The functions of all these names.

    Raises:
        UnknownOperatorError: some are not there; the message names every one.
    """
    found = {target: find(target) for target in targets}
    missing = sorted(target for target, function in found.items() if function is None)
    if missing:
        raise UnknownOperatorError(
            f"the program calls {len(missing)} operator{'s' * (len(missing) > 1)} "
            f"that aten does not have: {', '.join(missing)}"
        )
    return {target: function for target, function in found.items() if function is not None}


def resolve_graph(graph: Graph, *also: str) -> dict[str, Function]:
    """The functions of every operator in the graph and its subgraphs, and of those in `also`."""
    return resolve([*graph.targets(), *also])
