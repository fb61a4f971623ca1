"""Floating-point operations of a call, from the sizes of its operands and results.

A multiplication and an addition are two. What is counted is the arithmetic of the definition: what
a kernel does more of (padding) or less of (a fast algorithm) does not matter.

| operators | operations |
|---|---|
| products of matrices | 2 for each element of the result and each summand |
| convolutions | 2 for each element of the result, each input channel of its group, each tap |
| transposed convolutions | the same for each element of the input and output channel |
| their gradients | as many for each of input and weight that is asked for |
| fused attention | 2 for each query, key and feature, of both products |
| pointwise | 1 for each element of the result |
| reductions and scans | 1 for each element of the first operand |

Operators of which nothing is said here, and that call others, do what these do.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from aten._core.dispatch.dispatcher import OpOverload
from aten.profiler.details import Details


class Call:
    """Sizes and values of a call's arguments, by their names in the schema."""

    def __init__(self, op: OpOverload, details: Details) -> None:
        names = [argument.name for argument in op._schema.arguments]
        self.shapes: dict[str, Any] = dict(zip(names, details.shapes, strict=True))
        self.values: dict[str, Any] = dict(zip(names, details.concrete, strict=True))
        self.output: list[int] = details.output[0] if details.output else []


def _product(left: str) -> Callable[[Call], int]:
    """2·m·k·n for each matrix: `left` has the summands in its last dimension."""
    return lambda call: 2 * prod(call.output) * call.shapes[left][-1]


def _dot(call: Call) -> int:
    return int(2 * prod(call.shapes["self"]))


def _convolution(call: Call) -> int:
    weight = call.shapes["weight"]
    each = 2 * prod(weight[1:])
    return int(each * prod(call.shapes["input"] if call.values["transposed"] else call.output))


def _convolution_backward(call: Call) -> int:
    weight, gradient = call.shapes["weight"], call.shapes["grad_output"]
    each = 2 * prod(weight[1:])
    once = each * prod(call.shapes["input"] if call.values["transposed"] else gradient)
    to_input, to_weight, _ = call.values["output_mask"]
    return int(once * (bool(to_input) + bool(to_weight)))


def _convolution_tbc(call: Call) -> int:
    taps, channels, _ = call.shapes["weight"]
    return int(2 * prod(call.output) * taps * channels)


def _attention(call: Call) -> int:
    query, key, value = (call.shapes[name] for name in ("query", "key", "value"))
    products = prod(query[:-1]) * key[-2]
    return int(2 * products * (query[-1] + value[-1]))


_FORMULAS: dict[str, Callable[[Call], int]] = {
    "mm": _product("self"),
    "addmm": _product("mat1"),
    "bmm": _product("self"),
    "baddbmm": _product("batch1"),
    "mv": _product("self"),
    "dot": _dot,
    "convolution": _convolution,
    "_convolution": _convolution,
    "convolution_backward": _convolution_backward,
    "conv_tbc": _convolution_tbc,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
}
_KINDS: dict[str, Callable[[Call, list[Any]], int]] = {
    "pointwise": lambda call, _: prod(call.output),
    "reduction": lambda _, shapes: prod(shapes[0]),
    "scan": lambda _, shapes: prod(shapes[0]),
}


def formula_of(op: OpOverload) -> Callable[[Call], int] | None:
    """How operations of a product are counted: matrices, convolutions, attention; else None."""
    return _FORMULAS.get(op.name.removesuffix("_")) if op.namespace == "aten" else None


def flops_of(op: OpOverload, details: Details) -> int | None:
    """How many a call takes; None where no formula is about the operator, or none fits the call.

    Example:

        >>> with aten.profiler.profile(with_flops=True) as prof:
        ...     product = aten.mm(aten.ones(2, 3), aten.ones(3, 4))
        >>> prof.events()[-1].flops
        48
    """
    if op.namespace != "aten" or not details.output:
        return None
    call, formula = Call(op, details), formula_of(op)
    if formula is not None:
        return formula(call)
    by_kind = _KINDS.get(getattr(op.entry, "kind", ""))
    shapes = [shape for shape in details.shapes if shape and isinstance(shape[0], int)]
    return by_kind(call, shapes or [[]]) if by_kind is not None else None
