"""The compiler's middle: one list of passes from a Prims graph to a checked program."""

from __future__ import annotations

from aten.loops.expand import expand
from aten.loops.program import Program
from aten.loops.schedule import schedule
from aten.loops.spec import verify
from aten.prims import Graph


def lower(
    graph: Graph,
    *,
    accesses: tuple[str, ...],
    row_inputs: frozenset[int] = frozenset(),
    reduced_rank: int = 0,
    order: str = "row",
) -> Program:
    """The program that computes `graph`; see `schedule` for the arguments."""
    graph = expand(graph)
    return verify(
        schedule(
            graph,
            accesses=accesses,
            row_inputs=row_inputs,
            reduced_rank=reduced_rank,
            order=order,
        )
    )
