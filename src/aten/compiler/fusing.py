"""Stretches of a program as one kernel: what `FusedKernel` asks when it meets new operands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any

from aten._core.base.keys import DispatchKey
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.plan import FusedKernel, Plan, is_plain
from aten.backends.cpu.target import HOST
from aten.backends.plans import Generate, Parts, plan_graph
from aten.backends.structured import loop_backend
from aten.compiler.values import Composition, composed
from aten.graph.ir import Node
from aten.loops.addressing import ELEMENT
from aten.loops.expand import without_index_folds
from aten.loops.geometry import Space, find_space
from aten.loops.math import EXPANSIONS
from aten.loops.program import FOLDS
from aten.prims import Graph

# Operands of one kernel, and of one program graph; what is joined beyond is not faster.
MAXIMUM_OPERANDS = 16
MAXIMUM_NODES = 96
# Points of a fold that threads share, and elements that one thread may well fold alone.
_LEAST_POINTS = 8
_FEW_ELEMENTS = 1 << 14
# Elements of a row at an index from which on it is as good as any row.
_LEAST_ROW = 5


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
        return plan_graph(
            backend.prepared(composition.graph(self.label, self.outputs)),
            composition.memories,
            generate=generate,
            device_type=backend.device_type,
            single=len(self.outputs) == 1,
            strides=[composition.described(one).stride() for one in self.outputs],
            parts=parts,
            tensors=len(tensors),
            numbers=composition.numbers,
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
    return _loss_of_elements(composition, graph, space) or (
        _loss(composition, graph, space) if space.reduced else ""
    )


def _loss_of_elements(composition: Composition, graph: Graph, space: Space) -> str:
    """Why elements that are read one by one, at indices of their own, are better in memory.

    Measured on float32: what is read twice, or once for each of several rows, took up to 2.6 times
    as long as a call of its own and a kernel that reads neighbours; functions of many steps 1.5
    times, for they are not computed in vectors then; many rows of two to four elements up to 1.2
    times. All else took 0.2 to 0.95 times as long.
    """
    rows = [node for node in graph.nodes() if _is_element(node, composition.rows)]
    if any(prod(one.shape) > _FEW_ELEMENTS and _row_of(one.shape) < _LEAST_ROW for one in rows):
        return "many rows at indices that have few elements each"
    apart = [node for node in graph.nodes() if _is_element(node, composition.apart)]
    if not apart:
        return ""
    if any(prod(node.shape) != prod(space.shape) for node in apart):
        return "elements at indices that would be read again for each row"
    if any(id(node) in _wanted_again(graph) for node in apart):
        return "elements at indices that would be read again after a fold"
    if space.reduced and max(_moving(space)) not in space.reduced:
        return "elements at indices that would be folded across columns"
    if any(node.prim in EXPANSIONS for node in graph.nodes()):
        return "functions of elements that are no neighbours in memory"
    return ""


def _row_of(shape: tuple[int, ...]) -> int:
    """How many elements the innermost dimension has along which there are several."""
    return next((size for size in reversed(shape) if size != 1), 1)


def _is_element(node: Any, windows: Collection[int]) -> bool:
    """Whether a value is read at an index, from one of these inputs."""
    return node.prim == ELEMENT.name and node.inputs[0].params["position"] in windows


def _moving(space: Space) -> list[int]:
    return [axis for axis, size in enumerate(space.shape) if size != 1] or [0]


def _loss(composition: Composition, graph: Graph, space: Space) -> str:
    """Why one kernel would be slower than several: what threads or buffers cannot do in it."""
    folded = prod(space.shape[axis] for axis in space.reduced)
    points = prod(size for axis, size in enumerate(space.shape) if axis not in space.reduced)
    rows = all(not _moves(node, space) for node in graph.outputs)
    if points < _LEAST_POINTS and folded * points > _FEW_ELEMENTS and not rows:
        return "a fold to few elements beside results that threads share"
    if folded > HOST.buffered and _is_computed_again(composition, graph):
        return "costly values that would be computed again after the fold of a long row"
    return ""


def _moves(node: Any, space: Space) -> bool:
    """Whether a value differs along the folded dimensions."""
    return bool(set(space.axes.get(id(node), ())) & set(space.reduced))


def _is_computed_again(composition: Composition, graph: Graph) -> bool:
    """Whether a fold's operand is costly, and wanted by what comes after the fold, too."""
    cost: dict[int, int] = {}
    for node in graph.nodes():
        # The address of a row is computed once.
        operands = () if _is_element(node, composition.rows) else node.inputs
        cost[id(node)] = 1 + sum(cost[id(one)] for one in operands)
    return any(cost[key] >= HOST.costly for key in _wanted_again(graph))


def _wanted_again(graph: Graph) -> set[int]:
    """Identities of values that folds want, and what comes after these folds, too."""
    after: dict[int, bool] = {}
    levels: dict[int, set[bool]] = {}
    for node in graph.nodes():
        operands = [id(one) for one in node.inputs]
        after[id(node)] = node.prim in FOLDS or any(after[one] for one in operands)
        for one in operands:
            levels.setdefault(one, set()).add(after[id(node)] and node.prim not in FOLDS)
            if node.prim in FOLDS:
                levels[one].add(False)
    return {key for key, found in levels.items() if not after[key] and found == {True, False}}
