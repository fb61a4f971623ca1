"""Recorded graphs with kernels for their groups, ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.compiler.calls import operator_of
from aten.compiler.fusing import FusedGroup
from aten.compiler.gathers import CHECK, check_of, gather_of
from aten.compiler.partition import LEAST_OPERATORS, Partition, partition
from aten.compiler.ready import Preparation, ReadyProgram
from aten.compiler.rewrites.choosing import Choices
from aten.compiler.rewrites.passes import constant_part, prepared, writes
from aten.compiler.rewrites.rewriting import Rewriting
from aten.compiler.values import is_as_made
from aten.graph.ir import Graph, Node, map_nodes
from aten.graph.operators import resolve, resolve_graph


class CompiledProgram(ReadyProgram):
    """A recorded graph whose groups of operators run as one kernel each.

    Its first inputs are arguments, the others are `constants`. Groups have at least `least`
    operators; with `strips` weights of products are laid out as this processor's kernels read them.
    Where there are two ways, `choices` say which it is. With `has_gathers`, kernels may read
    elements at indices, which a call looks at before.

    Attributes:
        recorded: the program as it was captured.
        partition: what was fused.
        fused_operators: the operators that kernels of several stand for.
        writes: whether it writes to arguments or constants.
        sizes: which sizes it is for, where it is for more than one.
        notes: what there is to say about choices.
    """

    sizes = ""

    def __init__(
        self,
        graph: Graph,
        constants: Sequence[Tensor],
        results: Any,
        least: int = LEAST_OPERATORS,
        strips: bool = True,
        choices: Choices | None = None,
        *,
        has_gathers: bool = True,
    ) -> None:
        choices = choices or Choices()
        self.recorded = graph
        self.writes = writes(graph)
        steady = _steady(graph, constants)
        whole = prepared(graph, steady, strips, choices)
        graph, preparation = _parted(whole, constants, steady)
        self.notes = tuple(choices.notes)
        self.partition = partition(graph, least, has_gathers=has_gathers)
        fused = [
            operator_of(node) for group in self.partition.fused.values() for node in group.nodes
        ]
        fused += [one for node in graph.nodes for one in node.meta.get("stands_for", ())]
        fused += [one for node in whole.nodes for one in node.meta.get("made_once", ())]
        self.fused_operators = frozenset(one for one in fused if one is not None)
        graph, functions = _with_kernels(graph, self.partition)
        super().__init__(graph, functions, constants, preparation, results)

    def stands(self) -> bool:
        """Whether the kernels stand for what their operators' rows hold."""
        return all(map(is_as_made, self.fused_operators))


def _steady(graph: Graph, constants: Sequence[Tensor]) -> frozenset[str]:
    """The names of constants of which it can be told that they have changed."""
    # Writes to tensors of inference mode are not counted.
    inputs = graph.placeholders[-len(constants) :] if constants else []
    pairs = zip(inputs, constants, strict=True)
    return frozenset(node.name for node, one in pairs if not one.is_inference())


def _parted(
    graph: Graph, constants: Sequence[Tensor], steady: frozenset[str]
) -> tuple[Graph, Preparation]:
    """The graph without what depends on steady constants alone, which it takes as further inputs,
    and what computes these."""
    inputs = graph.placeholders[-len(constants) :] if constants else []
    same = constant_part(graph, {node for node in inputs if node.name in steady})
    members = set(same)
    rest = [node for node in graph.nodes if node not in members]
    wanted = dict.fromkeys(one for node in rest for one in node.all_input_nodes if one in members)
    first = Graph()
    first.nodes = [
        *inputs,
        *same,
        Node("output", "output", "output", (tuple(wanted),)),
    ]
    given = {
        node: Node(f"prepared_{place}", "placeholder", f"prepared_{place}", meta=node.meta)
        for place, node in enumerate(wanted)
    }
    rewriting = Rewriting(graph)
    rewriting.current.update(given)
    rewriting.nodes += graph.placeholders
    rewriting.nodes += given.values()
    for node in rest:
        if node.op != "placeholder":
            rewriting.keep(node)
    return rewriting.finished(), Preparation(first, constants)


def _with_kernels(graph: Graph, parted: Partition) -> tuple[Graph, dict[str, Any]]:
    """The graph with one call for each fused group, and the functions of its targets."""
    functions = dict(resolve_graph(graph))
    made = Graph()
    made.subgraphs = graph.subgraphs
    made.returns_single = graph.returns_single
    made.nodes = [node for node in graph.nodes if node.op in ("placeholder", "get_attr")]
    renewed: dict[Node, Node] = {}

    def current(value: Any) -> Any:
        return map_nodes(value, lambda node: renewed.get(node, node))

    for nodes in parted.groups:
        group = parted.fused.get(nodes[0])
        if group is not None:
            functions[f"fused.{group.label}"] = group.kernel()
            made.nodes += _calls(group, current, renewed)
            continue
        for node in nodes:
            renewed[node] = Node(
                node.name, node.op, node.target, current(node.args), current(node.kwargs), node.meta
            )
            made.nodes.append(renewed[node])
    if any(node.target == CHECK for node in made.nodes):
        functions.update(resolve([CHECK]))
    output = graph.output_node
    made.nodes.append(Node(output.name, "output", "output", current(output.args)))
    return made, functions


def _checked(group: FusedGroup, current: Any) -> tuple[list[Node], list[Node]]:
    """What looks at the indices that a group computes addresses of, and what the group reads."""
    checks: dict[Any, Node] = {}
    checked: dict[Node, Node] = {}
    for node in group.nodes:
        gather = gather_of(node)
        if gather is None:
            continue
        check = check_of(node, gather)
        if check.args in checks:
            continue
        checks[check.args] = check
        index, *others = check.args
        check.args = (checked.get(index, current(index)), *current(others))
        checked[index] = check
    return list(checks.values()), [checked.get(one, current(one)) for one in group.inputs]


def _calls(group: FusedGroup, current: Any, renewed: dict[Node, Node]) -> list[Node]:
    checks, given = _checked(group, current)
    call = Node(group.label, "call_function", f"fused.{group.label}", tuple(given))
    if len(group.outputs) == 1:
        call.meta = group.outputs[0].meta
        renewed[group.outputs[0]] = call
        return [*checks, call]
    call.meta = {"val": [one.meta["val"] for one in group.outputs]}
    parts = []
    for place, one in enumerate(group.outputs):
        part = Node(one.name, "call_function", "operator.getitem", (call, place), None, one.meta)
        renewed[one] = part
        parts.append(part)
    return [*checks, call, *parts]
