"""The Prims graph: what an operator's function leaves behind when graph values pass through it.

Nodes are hash-consed, so that equal expressions are one node, and a few algebraic identities are
applied as nodes are made: what remains is what has to be computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype
from aten.prims.prim import Number, Prim, Shape, Value


class Node:
    """An application of a primitive, an input, or a constant, with its type and shape."""

    __slots__ = ("dtype", "inputs", "params", "prim", "shape")

    def __init__(
        self,
        prim: str,
        inputs: tuple[Node, ...],
        params: dict[str, Any],
        element: dtype,
        shape: Shape,
    ) -> None:
        self.prim = prim
        self.inputs = inputs
        self.params = params
        self.dtype = element
        self.shape = shape


class Graph:
    """Inputs, outputs, and all nodes between them in the order of computation."""

    __slots__ = ("inputs", "name", "outputs")

    def __init__(self, name: str, inputs: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)

    def nodes(self) -> list[Node]:
        """Every node the outputs need, operands before users; inputs first, in order."""
        order: dict[int, Node] = {id(node): node for node in self.inputs}
        for output in self.outputs:
            stack: list[tuple[Node, bool]] = [(output, False)]
            while stack:
                node, visited = stack.pop()
                if id(node) in order:
                    continue
                if visited:
                    order[id(node)] = node
                    continue
                stack.append((node, True))
                stack.extend((operand, False) for operand in reversed(node.inputs))
        return list(order.values())

    def __str__(self) -> str:
        names: dict[int, str] = {}
        lines: list[str] = []
        for node in self.nodes():
            if node.prim == "constant":
                names[id(node)] = _constant_text(node)
                continue
            names[id(node)] = f"%{len(lines)}"
            operands = [names[id(operand)] for operand in node.inputs]
            operands += [f"{key}={_param_text(value)}" for key, value in node.params.items()]
            shape = list(node.shape)
            lines.append(
                f"  %{len(lines)}: {node.dtype.name}{shape} = {node.prim}({', '.join(operands)})"
            )
        results = ", ".join(names[id(output)] for output in self.outputs)
        return "\n".join([f"graph {self.name}:", *lines, f"  return {results}"])


def _param_text(value: object) -> str:
    return value.name if isinstance(value, dtype) else repr(value)


def _constant_text(node: Node) -> str:
    return f"{node.params['value']!r}:{node.dtype.name}"


def _constant_key(value: Number) -> object:
    """Distinguishes 0.0 from -0.0, True from 1, and holds NaN equal to itself."""
    return (type(value), repr(value))


class GraphInterpreter:
    """Records bound primitives as nodes."""

    def __init__(self) -> None:
        self._made: dict[object, Node] = {}

    def input(self, position: int, element: dtype, shape: Shape) -> Value:
        """A new graph input."""
        node = Node("input", (), {"position": position}, element, shape)
        return self.value(node)

    def value(self, node: Node) -> Value:
        """The value an operator's function sees for `node`."""
        return Value(self, node, node.dtype, node.shape)

    def constant(self, value: Number, element: dtype) -> Value:
        """A constant of type `element`, converted as a machine would."""
        value = _converted_number(value, element)
        key = ("constant", element.code, _constant_key(value))
        node = self._made.get(key)
        if node is None:
            node = Node("constant", (), {"value": value}, element, ())
            self._made[key] = node
        return self.value(node)

    def bind(self, prim: Prim, operands: tuple[Value, ...], params: dict[str, Any]) -> Value:
        """The node for `prim` applied to `operands`: an old one if it was made before."""
        rule = _IDENTITIES.get(prim.name)
        if rule is not None:
            simpler = rule(operands, params)
            if simpler is not None:
                return simpler
        nodes = tuple(operand.payload for operand in operands)
        if prim.kind == "elementwise" and all(node.prim == "constant" for node in nodes):
            folded = _fold(prim, nodes, params)
            if folded is not None:
                return self.constant(folded, prim.result_type([n.dtype for n in nodes], params))
        key = (prim.name, tuple(map(id, nodes)), tuple(sorted(params.items(), key=_first)))
        node = self._made.get(key)
        if node is None:
            element = prim.result_type([operand.dtype for operand in operands], params)
            shape = prim.result_shape([operand.shape for operand in operands], params)
            node = Node(prim.name, nodes, params, element, shape)
            self._made[key] = node
        return self.value(node)


def _first(item: tuple[str, Any]) -> str:
    return item[0]


def _converted_number(value: Number, element: dtype) -> Number:
    if element.kind == "bool":
        return bool(value)
    if element.kind in ("signed", "unsigned"):
        bits = 8 * element.itemsize
        if isinstance(value, complex):
            value = value.real
        if isinstance(value, float) and not math.isfinite(value):
            return 0 if element.kind == "unsigned" else -(1 << (bits - 1))
        wrapped = int(value) & ((1 << bits) - 1)
        if element.kind == "signed" and wrapped >> (bits - 1):
            wrapped -= 1 << bits
        return wrapped
    if element.kind == "complex":
        return complex(value)
    if isinstance(value, complex):
        value = value.real
    return float(value)


def _is_constant(value: Value, number: Number) -> bool:
    node = value.payload
    return (
        node.prim == "constant"
        and node.params["value"] == number
        and not (number == 0 and math.copysign(1.0, float(node.params["value"].real)) < 0)
    )


def _multiply_by_one(operands: tuple[Value, ...], params: dict[str, Any]) -> Value | None:
    left, right = operands
    if _is_constant(right, 1):
        return left
    if _is_constant(left, 1):
        return right
    return None


def _divide_by_one(operands: tuple[Value, ...], params: dict[str, Any]) -> Value | None:
    return operands[0] if _is_constant(operands[1], 1) else None


def _convert_to_same(operands: tuple[Value, ...], params: dict[str, Any]) -> Value | None:
    return operands[0] if operands[0].dtype is params["dtype"] else None


def _broadcast_to_same(operands: tuple[Value, ...], params: dict[str, Any]) -> Value | None:
    (operand,) = operands
    in_order = tuple(params["broadcast_dimensions"]) == tuple(range(len(operand.shape)))
    same = in_order and operand.shape == tuple(params["shape"])
    return operand if same or operand.payload.prim == "constant" else None


_IDENTITIES: dict[str, Callable[[tuple[Value, ...], dict[str, Any]], Value | None]] = {
    "mul": _multiply_by_one,
    "div": _divide_by_one,
    "convert_element_type": _convert_to_same,
    "broadcast_in_dim": _broadcast_to_same,
}


def _fold(prim: Prim, nodes: tuple[Node, ...], params: dict[str, Any]) -> Number | None:
    """The value of a primitive on constants, where plain arithmetic on them is exact enough."""
    values: list[Number] = [node.params["value"] for node in nodes]
    if prim.name == "convert_element_type":
        return _converted_number(values[0], params["dtype"])
    if prim.name == "neg" and nodes[0].dtype.kind in ("float", "signed"):
        return -values[0]
    if nodes[0].dtype is not DTYPES["float64"]:
        return None
    if prim.name == "mul":
        return values[0] * values[1]
    if prim.name == "add":
        return values[0] + values[1]
    if prim.name == "sub":
        return values[0] - values[1]
    return None
