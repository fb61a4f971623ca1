"""Stretches of a program as one kernel: what `FusedKernel` asks when it meets new operands."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from aten._core.base.keys import DispatchKey
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.plan import FusedKernel, Plan, is_plain
from aten.backends.cpu.target import HOST
from aten.backends.plans import Generate, Memory, Parts, plan_graph
from aten.backends.structured import loop_backend
from aten.compiler.values import Composition, composed
from aten.graph.ir import Node
from aten.loops.expand import without_index_folds
from aten.loops.geometry import Space, find_space
from aten.loops.program import FOLDS
from aten.prims import Graph

# Operands of one kernel, and of one program graph; what is joined beyond is not faster.
MAXIMUM_OPERANDS = 16
MAXIMUM_NODES = 96
# Points of a fold that threads share, and elements that one thread may well fold alone.
_LEAST_POINTS = 8
_FEW_ELEMENTS = 1 << 14


class FusedGroup:
    """Operators that one kernel computes.

    Attributes:
        nodes: the operators, in order.
        inputs: what they read that is none of them.
        outputs: those of them that others read.
    """

    def __init__(
        self, label: str, nodes: Sequence[Node], inputs: Sequence[Node], outputs: Sequence[Node]
    ) -> None:
        self.label = label
        self.nodes = tuple(nodes)
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)

    def kernel(self) -> FusedKernel:
        """What runs the group on its inputs' tensors."""
        return FusedKernel(self.label, self, len(self.inputs))

    def plan(self, kernel: FusedKernel, tensors: Sequence[Tensor]) -> Plan:
        """How to run the group on tensors like these."""
        plan: Plan = self.planned(tensors, loop_backend(DispatchKey.CPU).generate)
        return plan

    def planned(
        self, tensors: Sequence[Tensor], generate: Generate, parts: Parts | None = None
    ) -> Any:
        """The plan for tensors like these, with the code that `generate` gives; of `parts`, where
        somebody wants to know it and not to run it."""
        composition = composed(self.nodes, self.inputs, tensors)
        backend = loop_backend(DispatchKey.CPU)
        memories = [
            Memory(place, one.dtype, tuple(one.shape), one.stride())
            for place, one in enumerate(tensors)
        ]
        return plan_graph(
            backend.prepared(composition.graph(self.label, self.outputs)),
            memories,
            generate=generate,
            device_type=backend.device_type,
            single=len(self.outputs) == 1,
            strides=[composition.described(one).stride() for one in self.outputs],
            parts=parts,
        )

    def resolved(self, tensors: Sequence[Any]) -> tuple[Tensor, ...]:
        """The tensors with lazy conjugates and signs carried out.

        Raises RuntimeError where one is not on the CPU, or of a class that wants to be asked.
        """
        plain = []
        for place, one in enumerate(tensors):
            made = one.resolve_conj().resolve_neg()
            if not is_plain(made):
                raise RuntimeError(
                    f"{self.label}: expected plain tensors on the CPU, got a "
                    f"{type(one).__name__} on {one.device} as operand {place}"
                )
            plain.append(made)
        return tuple(plain)


def refusal(composition: Composition, label: str, outputs: Sequence[Node]) -> str:
    """Why these values are not computed by one kernel, or nothing.

    Raises UnsupportedGraphError where no one walk meets each element of every result once.
    """
    if len(composition.inputs) + len(outputs) > MAXIMUM_OPERANDS:
        return f"more than {MAXIMUM_OPERANDS} operands"
    for one in outputs:
        value, described = composition.value(one), composition.described(one)
        if value.shape != tuple(described.shape) or value.dtype is not described.dtype:
            return "a result that does not depend on all of its operands' dimensions"
    graph = without_index_folds(composition.graph(label, outputs))
    space = find_space(graph)
    if len(graph.nodes()) > 8 * MAXIMUM_NODES:
        return "too many primitives"
    return _loss(graph, space) if space.reduced else ""


def _loss(graph: Graph, space: Space) -> str:
    """Why one kernel would be slower than several: what threads or buffers cannot do in it."""
    folded = prod(space.shape[axis] for axis in space.reduced)
    points = prod(size for axis, size in enumerate(space.shape) if axis not in space.reduced)
    rows = all(not _moves(node, space) for node in graph.outputs)
    if points < _LEAST_POINTS and folded * points > _FEW_ELEMENTS and not rows:
        return "a fold to few elements beside results that threads share"
    if folded > HOST.buffered and _is_computed_again(graph):
        return "costly values that would be computed again after the fold of a long row"
    return ""


def _moves(node: Any, space: Space) -> bool:
    """Whether a value differs along the folded dimensions."""
    return bool(set(space.axes.get(id(node), ())) & set(space.reduced))


def _is_computed_again(graph: Graph) -> bool:
    """Whether a fold's operand is costly, and wanted by what comes after the fold, too."""
    cost: dict[int, int] = {}
    after: dict[int, bool] = {}
    levels: dict[int, set[bool]] = {}
    for node in graph.nodes():
        operands = [id(one) for one in node.inputs]
        cost[id(node)] = 1 + sum(cost[one] for one in operands)
        after[id(node)] = node.prim in FOLDS or any(after[one] for one in operands)
        for one in operands:
            levels.setdefault(one, set()).add(after[id(node)] and node.prim not in FOLDS)
            if node.prim in FOLDS:
                levels[one].add(False)
    return any(
        cost[key] >= HOST.costly and not after[key] and found == {True, False}
        for key, found in levels.items()
    )
