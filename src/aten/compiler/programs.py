"""Recorded graphs with kernels for their groups, ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from aten._core.dispatch.replaying import WriteGuard
from aten._core.memory.collecting import resting
from aten._core.tensor.tensor import Tensor
from aten.compiler.fusing import FusedGroup
from aten.compiler.partition import LEAST_OPERATORS, Partition, partition
from aten.compiler.rewrites.choosing import Choices
from aten.compiler.rewrites.passes import constant_part, prepared, writes
from aten.compiler.rewrites.rewriting import Rewriting
from aten.compiler.values import is_as_made, operator_of
from aten.grad_mode import no_grad
from aten.graph.interpreter import Interpreter
from aten.graph.ir import Graph, Node, map_nodes
from aten.graph.mapping import reread
from aten.graph.operators import resolve_graph
from aten.graph.pytree import map_tensors

_REREAD = "mapping.reread"


class CompiledProgram:
    """A recorded graph whose groups of operators run as one kernel each.

    Its first inputs are arguments, the others are `constants`. Groups have at least `least`
    operators; with `strips` weights of products are laid out as this processor's kernels read them.
    Where there are two ways, `choices` say which it is.

    Attributes:
        recorded: the program as it was captured.
        graph: the program as it runs.
        partition: what was fused.
        constants: tensors that the function used besides its arguments.
        preparation: gives what it computes of constants alone.
        results: a nest with a tensor in the place of each of its results.
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
    ) -> None:
        choices = choices or Choices()
        self.recorded = graph
        self.writes = writes(graph)
        self.constants = constants
        steady = _steady(graph, constants)
        graph, self.preparation = _parted(
            prepared(graph, steady, strips, choices), constants, steady
        )
        self._prepares = self.preparation.is_empty()
        self.notes = tuple(choices.notes)
        self.partition = partition(graph, least)
        fused = [
            operator_of(node) for group in self.partition.fused.values() for node in group.nodes
        ]
        fused += [one for node in graph.nodes for one in node.meta.get("stands_for", ())]
        self.fused_operators = frozenset(one for one in fused if one is not None)
        self.graph, self._functions = _with_kernels(graph, self.partition)
        self.results = results
        self._returns_tensor = isinstance(self.results, Tensor)

    def stands(self) -> bool:
        """Whether the kernels stand for what their operators' rows hold."""
        return all(map(is_as_made, self.fused_operators))

    def __call__(self, tensors: Sequence[Tensor]) -> Any:
        """The function's results for these tensors."""
        values = self.values(tensors)
        if self._returns_tensor:
            return values[0]
        remaining = iter(values)
        return map_tensors(lambda _: next(remaining), self.results)

    def values(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The tensors of its results, one after the other; `inputs` are all but constants.

        The first time nothing of what it computes of constants stays: each value is there while it
        is read. So the first result does not wait for memory that only later calls repay.
        """
        if self._prepares:
            return self._interpreter.run([*inputs, *self.constants, *self.preparation()])
        self._prepares = True
        with resting:
            return self.preparation.within(self.graph, self._functions).run(
                [*inputs, *self.constants]
            )

    @cached_property
    def _interpreter(self) -> Interpreter:
        return Interpreter(self.graph, self._functions)


class _Preparation:
    """What a program computes of constants alone: once, and again where these were written to.

    Results that share no call are parts, of which the largest come first: what one needs meanwhile
    is gone when the next one begins, and most is needed while least is kept.
    """

    def __init__(self, graph: Graph, constants: Sequence[Tensor]) -> None:
        self._graph = graph
        self._constants = constants
        self._results: tuple[Node, ...] = graph.output_node.args[0]
        self._guard: WriteGuard | None = None
        self._values: tuple[Any, ...] = ()

    def is_empty(self) -> bool:
        """Whether nothing is computed of constants."""
        return not self._results

    @cached_property
    def _parts(self) -> list[_Part]:
        parts = [_Part(nodes, self._graph, self._constants) for nodes in _apart(self._graph)]
        return sorted(parts, key=_Part.size, reverse=True)

    @cached_property
    def _sources(self) -> list[Tensor]:
        # Each once: they are looked at in every call.
        return list({id(one): one for part in self._parts for one in part.sources}.values())

    def within(self, graph: Graph, functions: dict[str, Any]) -> Interpreter:
        """A program that computes these values itself, each just before it is first read, and takes
        the constants alone."""
        places = dict(zip(graph.placeholders[-len(self._results) :], self._results, strict=True))
        made = _Sinking(self._graph, places)
        for node in graph.nodes:
            if node not in places:
                made.add(node)
        whole = Graph()
        whole.subgraphs = graph.subgraphs
        whole.returns_single = graph.returns_single
        whole.nodes = made.nodes
        return Interpreter(whole, {**resolve_graph(self._graph), **functions, _REREAD: reread})

    def __call__(self) -> tuple[Any, ...]:
        if self._guard is None or not self._guard.holds():
            guard = WriteGuard(self._sources)
            values: list[Any] = [None] * len(self._results)
            for part in self._parts:
                for place, value in zip(part.places, part(), strict=True):
                    values[place] = value
            # In this order: another thread sees values that are at least as new.
            self._values, self._guard = tuple(values), guard
        return self._values


class _Sinking:
    """Calls of a program, and before them the calls over constants that they are the first to read.

    Attributes:
        nodes: those added so far.
    """

    def __init__(self, constant: Graph, places: dict[Node, Node]) -> None:
        self.nodes: list[Node] = []
        self._order = {node: place for place, node in enumerate(constant.nodes)}
        self._places = places
        self._current: dict[Node, Node] = {}
        self._read: dict[Node, Node] = {}

    def add(self, node: Node) -> None:
        """Append a node of the program."""
        for one in node.all_input_nodes:
            if one in self._places and one not in self._current:
                self._current[one] = self._computed(self._places[one])
        self._append(node, self._current)

    def _computed(self, wanted: Node) -> Node:
        missing: set[Node] = set()
        waiting = [wanted]
        while waiting:
            node = waiting.pop()
            if node in self._current or node in missing:
                continue
            missing.add(node)
            waiting += node.all_input_nodes
        for node in sorted(missing, key=self._order.__getitem__):
            inputs = node.all_input_nodes
            self._append(node, {one: self._source(one) for one in inputs})
        return self._current[wanted]

    def _source(self, node: Node) -> Node:
        """What a call over constants reads: of a constant, a copy that lasts as long as it."""
        made = self._current[node]
        if node.op != "placeholder":
            return made
        if node not in self._read:
            read = Node(f"read_{node.name}", "call_function", _REREAD, (made,), None, node.meta)
            self._read[node] = read
            self.nodes.append(read)
        return self._read[node]

    def _append(self, node: Node, current: dict[Node, Node]) -> None:
        args, kwargs = (map_nodes(one, current.__getitem__) for one in (node.args, node.kwargs))
        made = Node(node.name, node.op, node.target, args, kwargs, node.meta)
        self._current[node] = made
        self.nodes.append(made)


class _Part:
    """Calls over constants, and where what they give stands among the results.

    Attributes:
        sources: the constants that are read.
        places: of its results.
    """

    def __init__(self, nodes: set[Node], whole: Graph, constants: Sequence[Tensor]) -> None:
        read = {one for node in nodes for one in node.all_input_nodes}
        given = [
            (node, one)
            for node, one in zip(whole.placeholders, constants, strict=True)
            if node in read
        ]
        self.sources = [one for _, one in given]
        results = list(enumerate(whole.output_node.args[0]))
        self.places = [place for place, node in results if node in nodes]
        graph = Graph()
        graph.nodes = [
            *(node for node, _ in given),
            *(node for node in whole.nodes if node in nodes),
            Node(
                "output", "output", "output", (tuple(node for _, node in results if node in nodes),)
            ),
        ]
        self._interpreter = Interpreter(graph, resolve_graph(graph))

    def size(self) -> int:
        """The bytes of what it reads."""
        return sum(one.numel() * one.itemsize for one in self.sources)

    def __call__(self) -> tuple[Any, ...]:
        with no_grad():
            # Each is read this once: pages of mapped files need not be this process's for that.
            return self._interpreter.run([reread(one) for one in self.sources])


def _apart(graph: Graph) -> list[set[Node]]:
    """The calls of a graph, those together that results have in common."""
    groups: list[set[Node]] = []
    inputs = set(graph.placeholders)
    for result in graph.output_node.args[0]:
        group: set[Node] = set()
        waiting = [result]
        while waiting:
            node = waiting.pop()
            if node not in group and node not in inputs:
                group.add(node)
                waiting += node.all_input_nodes
        shared = [one for one in groups if not one.isdisjoint(group)]
        groups = [one for one in groups if one not in shared]
        groups.append(group.union(*shared))
    return groups


def _steady(graph: Graph, constants: Sequence[Tensor]) -> frozenset[str]:
    """The names of constants of which it can be told that they have changed."""
    # Writes to tensors of inference mode are not counted.
    inputs = graph.placeholders[-len(constants) :] if constants else []
    pairs = zip(inputs, constants, strict=True)
    return frozenset(node.name for node, one in pairs if not one.is_inference())


def _parted(
    graph: Graph, constants: Sequence[Tensor], steady: frozenset[str]
) -> tuple[Graph, _Preparation]:
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
    return rewriting.finished(), _Preparation(first, constants)


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
    output = graph.output_node
    made.nodes.append(Node(output.name, "output", "output", current(output.args)))
    return made, functions


def _calls(group: FusedGroup, current: Any, renewed: dict[Node, Node]) -> list[Node]:
    call = Node(group.label, "call_function", f"fused.{group.label}", current(group.inputs))
    if len(group.outputs) == 1:
        call.meta = group.outputs[0].meta
        renewed[group.outputs[0]] = call
        return [call]
    call.meta = {"val": [one.meta["val"] for one in group.outputs]}
    parts = []
    for place, one in enumerate(group.outputs):
        part = Node(one.name, "call_function", "operator.getitem", (call, place), None, one.meta)
        renewed[one] = part
        parts.append(part)
    return [call, *parts]
