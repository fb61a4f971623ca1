"""The compiler's middle: from a Prims graph to a checked program.

`prepare` rewrites the graph into the primitives that loops know; `lower` lays it out as loops.
Between them the caller finds out how the operands are walked.
"""

from __future__ import annotations

from collections.abc import Collection

from aten.loops.expand import expand, general
from aten.loops.program import Program
from aten.loops.schedule import schedule
from aten.loops.spec import verify
from aten.prims import Graph


def prepare(graph: Graph, lacking: Collection[str] = ()) -> Graph:
    """`graph` with math functions and index folds expanded.

    `lacking` are the optional primitives that the code generator does not know.
    """
    return expand(graph, lacking)


def lower(
    graph: Graph,
    *,
    accesses: tuple[str, ...],
    row_inputs: frozenset[int] = frozenset(),
    full_outputs: frozenset[int] = frozenset(),
    reduced_rank: int = 0,
    order: str = "row",
    buffered: bool = False,
    costly: int = 1,
) -> Program:
    """The program that computes a prepared graph; see `schedule` for the arguments.

    Only maps test for what is rare.
    """
    return verify(
        schedule(
            general(graph) if reduced_rank else graph,
            accesses=accesses,
            row_inputs=row_inputs,
            full_outputs=full_outputs,
            reduced_rank=reduced_rank,
            order=order,
            buffered=buffered,
            costly=costly,
        )
    )
