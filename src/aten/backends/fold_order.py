"""Which nodes of a graph come before and after its folds, and which way a fold's loop runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aten.loops.addressing import indices_of, is_placed, windows_of
from aten.loops.geometry import Dimension
from aten.loops.program import FOLDS
from aten.prims import Graph, Node

# Up to so many elements a row is no vector. It is folded one element after the other, beside other
# rows.
_FEW = 8


def depending_on_folds(nodes: Sequence[Node]) -> set[int]:
    """Identities of nodes that need a fold or an extent; operands come before their users.

    Each node is looked at once: expanded functions use a value many times, and so do those values.
    """
    found: set[int] = set()
    for node in nodes:
        for operand in node.inputs:
            if operand.prim in FOLDS or operand.prim == "extent" or id(operand) in found:
                found.add(id(node))
                break
    return found


def following_folds(nodes: Sequence[Node]) -> set[int]:
    """Identities of nodes that need nothing but folds, extents and constants; operands first."""
    found: set[int] = set()
    for node in nodes:
        begins = node.prim in FOLDS or node.prim in ("extent", "constant")
        if begins or (node.inputs and all(id(operand) in found for operand in node.inputs)):
            found.add(id(node))
    return found


def folds_rows(
    graph: Graph, kept: list[Dimension], reduced: list[Dimension], widths: list[int]
) -> bool:
    """Whether rows at indices are folded, one after the other: their elements are neighbours."""
    steps = reduced[-1].strides
    if not kept or not any(steps[place] for place in indices_of(graph)):
        return False
    return any(
        not steps[place] and kept[-1].strides[place] == widths[place] for place in windows_of(graph)
    )


def has_few(graph: Graph, reduced: list[Dimension]) -> bool:
    """Whether there are so few elements under a point that points fill vectors and rows do not."""
    return math.prod(one.size for one in reduced) <= _FEW and any(
        node.prim in FOLDS for node in graph.nodes()
    )


def points_of_few(kept: list[Dimension], operands: int) -> list[Dimension]:
    """The points above rows of few elements: not just a few last, for the loop across.

    What changes places hardly depends on sizes, which files leave open.
    """
    if not kept:
        return [Dimension(1, [0] * operands)]
    if kept[-1].size < min(_FEW, kept[0].size):
        return [*kept[1:], kept[0]]
    return kept


def loop_order(kept: list[Dimension], reduced: list[Dimension], widths: list[int]) -> str:
    """Whether the vector loop runs along a row or across columns: along the smaller stride.

    A row of neighbours is never folded as a column: its bits would depend on the rows beside it.
    """
    steps = reduced[-1].strides
    first = next((place for place, step in enumerate(steps) if step), None)
    if not kept or first is None or steps[first] == widths[first]:
        return "row"
    for inner, outer in zip(kept[-1].strides, steps, strict=True):
        if inner and outer:
            return "column" if inner < outer else "row"
    return "row"


def writable(accesses: tuple[str, ...], graph: Graph) -> tuple[str, ...]:
    """Outputs that the innermost loop stays on are written outside it: any step will do, but for
    those that are written at computed addresses."""
    first = len(graph.inputs)
    outputs = [
        "unit" if one == "zero" and not is_placed(node) else one
        for one, node in zip(accesses[first:], graph.outputs, strict=True)
    ]
    return (*accesses[:first], *outputs)
