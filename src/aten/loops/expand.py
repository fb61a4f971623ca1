"""Rewrites of the Prims graph that come before loops: math functions and index reductions.

A pass rebuilds the graph through a fresh interpreter, replacing the primitives that have an
expansion by expressions over simpler ones; hash-consing makes shared parts shared again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from aten._core.base.dtypes import DTYPES
from aten.loops.addressing import ADDRESSING, NUMBER
from aten.prims import Graph, GraphInterpreter, Node, Prim, Value
from aten.prims import elementwise as p

Rule = Callable[..., Value]


def _index_of(extreme: str) -> Rule:
    """The first position where the extreme stands: a fold for it, a fold for where it is."""

    def rule(value: Value, *, dims: tuple[int, ...]) -> Value:
        folded = Prim.table[extreme](value, dims=dims)
        kept = tuple(dim for dim in range(len(value.shape)) if dim not in dims)
        spread = Prim.table["broadcast_in_dim"](
            folded, shape=value.shape, broadcast_dimensions=kept
        )
        found = value == spread
        if value.dtype.is_floating_point:
            found = found | (value != value)
        place = Prim.table["position"](value, dims=dims)
        return Prim.table["amin"](p.where(found, place, (1 << 63) - 1), dims=dims)

    return rule


# No primitive, but what a device may lack as well: look-ups of an instruction or two.
QUICK_LOOKUPS = "quick lookups"
_EXPANDED = (DTYPES["float32"], DTYPES["float64"])
_RULES: dict[str, Rule] = {
    "argmax": _index_of("amax"),
    "argmin": _index_of("amin"),
}


def expand(graph: Graph, lacking: Collection[str] = ()) -> Graph:
    """`graph` in terms of what loops know, without the optional primitives in `lacking`.

    It may have `QUICK_LOOKUPS`, too.
    """
    # A large part of what `import aten` would import, and not needed before the first kernel.
    from aten.loops.math import COMPLEX_EXPANSIONS, EXPANSIONS, OPTIONAL, WITHOUT_TABLES

    expansions = {**EXPANSIONS, **(WITHOUT_TABLES if QUICK_LOOKUPS in lacking else {})}

    def rule_for(node: Node) -> Rule | None:
        if node.prim in _RULES:
            return _RULES[node.prim]
        if node.prim in COMPLEX_EXPANSIONS and node.inputs[0].dtype.is_complex:
            return COMPLEX_EXPANSIONS[node.prim]
        if node.prim in expansions and node.inputs[0].dtype in _EXPANDED:
            return expansions[node.prim]
        return None

    expanded = _rewritten(graph, rule_for)
    if not any(node.prim in lacking for node in expanded.nodes()):
        return expanded
    return _rewritten(expanded, lambda node: OPTIONAL[node.prim] if node.prim in lacking else None)


def without_index_folds(graph: Graph) -> Graph:
    """`graph` with index folds expanded, and nothing else."""
    return _rewritten(graph, lambda node: _RULES.get(node.prim))


def general(graph: Graph) -> Graph:
    """`graph` with the general value in the place of every rare choice."""
    if not any("rare" in node.params for node in graph.nodes()):
        return graph
    return _rewritten(graph, lambda node: _take_general if "rare" in node.params else None)


def _take_general(condition: Value, general: Value, usual: Value, *, rare: str) -> Value:
    return general


def _rewritten(graph: Graph, rule_for: Callable[[Node], Rule | None]) -> Graph:
    interpreter = GraphInterpreter()
    made: dict[int, Value] = {}

    def rebuilt(node: Node) -> Value:
        operands = [made[id(operand)] for operand in node.inputs]
        rule = rule_for(node)
        if rule is not None:
            return rule(*operands, **node.params)
        if node.prim == "constant":
            return interpreter.constant(node.params["value"], node.dtype)
        if node.prim == NUMBER:
            return interpreter.value(node)
        prim = ADDRESSING.get(node.prim) or Prim.table[node.prim]
        return interpreter.bind(prim, tuple(operands), node.params)

    inputs = []
    for node in graph.nodes():
        if node.prim == "input":
            made[id(node)] = interpreter.input(node.params["position"], node.dtype, node.shape)
            inputs.append(made[id(node)].payload)
            continue
        made[id(node)] = rebuilt(node)
    outputs = [made[id(node)].payload for node in graph.outputs]
    return Graph(graph.name, inputs, outputs)
