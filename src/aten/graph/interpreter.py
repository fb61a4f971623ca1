"""Runs a graph: compiled once into a flat list of steps over numbered slots, then replayed.

Every value, constant and weight has a slot, so an argument is always a slot number. Each step
knows which slots hold values that nobody reads after it, and clears them: a tensor's memory is free
as soon as its last user has run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from aten._core.dispatch.replaying import Replay
from aten.graph.ir import Graph, Node, nodes_in

Function = Callable[..., Any]


class Step(NamedTuple):
    """One call: slots of the arguments and of the result, and the slots to clear afterwards."""

    function: Function
    arguments: tuple[int, ...]
    keywords: tuple[tuple[str, int], ...]
    destination: int
    unpack: tuple[tuple[int, int], ...]  # (index into the result, slot it goes to)
    dead: tuple[int, ...]
    target: str
    name: str


class Interpreter:
    """A graph ready to run.

    Args:
        graph: the graph.
        functions: the function of every target in the graph.
        own: the function of some calls, in the place of their target's.
    """

    def __init__(
        self,
        graph: Graph,
        functions: Mapping[str, Function],
        own: Mapping[Node, Function] = MappingProxyType({}),
    ) -> None:
        compiler = _Compiler(graph, functions, own)
        self.steps = compiler.steps()
        self.template = compiler.template
        self.input_slots = [compiler.slots[node] for node in graph.placeholders]
        self.output_slots = compiler.output_slots
        self.returns_single = graph.returns_single and len(self.output_slots) == 1
        self._replay = Replay(self.template, self.input_slots, self.steps, self.output_slots)

    def run(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """What the graph returns for inputs in placeholder order. Errors name the failing node."""
        return self._replay(inputs)

    def __call__(self, *inputs: Any) -> Any:
        """As an operator that takes a graph calls it: the bare result where there is only one."""
        results = self.run(inputs)
        return results[0] if self.returns_single else results


def _make_list(*items: Any) -> list[Any]:
    return list(items)


class _Compiler:
    """Assigns slots, flattens arguments, and finds each slot's last reader."""

    def __init__(
        self, graph: Graph, functions: Mapping[str, Function], own: Mapping[Node, Function]
    ) -> None:
        self.graph = graph
        self.functions = functions
        self.own = own
        self.template: list[Any] = []
        self.slots: dict[Node, int] = {}
        self.folded = self.find_folded()
        self.drafts: list[Step] = []
        for node in graph.nodes:
            self.compile(node)
        self.output_slots = [self.slot_of(value) for value in graph.output_node.args[0]]

    def find_folded(self) -> dict[Node, list[tuple[int, Node]]]:
        """Calls whose result is only taken apart, with the parts: their getitems need no step."""
        parts: dict[Node, list[tuple[int, Node]]] = {}
        whole: set[Node] = set()
        for node in self.graph.nodes:
            if node.target == "operator.getitem" and isinstance(node.args[1], int):
                parts.setdefault(node.args[0], []).append((node.args[1], node))
            else:
                whole.update(nodes_in((node.args, node.kwargs)))
        return {
            node: found
            for node, found in parts.items()
            if node not in whole
            and node.op == "call_function"
            and node.target != "operator.getitem"
        }

    def new_slot(self, value: Any = None) -> int:
        self.template.append(value)
        return len(self.template) - 1

    def slot_of(self, value: Any) -> int:
        """The slot of a node or constant; a list with nodes in it becomes a step of its own."""
        if isinstance(value, Node):
            return self.slots[value]
        if isinstance(value, (list, tuple)) and any(True for _ in nodes_in(value)):
            items = tuple(self.slot_of(item) for item in value)
            slot = self.new_slot()
            self.drafts.append(Step(_make_list, items, (), slot, (), (), "list", "a list"))
            return slot
        return self.new_slot(value)

    def compile(self, node: Node) -> None:
        if node.op == "output" or node in self.slots:
            return
        slot = self.slots[node] = self.new_slot()
        if node.op == "get_attr":
            self.template[slot] = Interpreter(self.graph.subgraphs[node.target], self.functions)
        if node.op != "call_function":
            return
        unpack = []
        for index, part in self.folded.get(node, ()):
            self.slots[part] = self.new_slot()
            unpack.append((index, self.slots[part]))
        arguments = tuple(self.slot_of(argument) for argument in node.args)
        keywords = tuple((key, self.slot_of(value)) for key, value in node.kwargs.items())
        function = self.own.get(node) or self.functions[node.target]
        self.drafts.append(
            Step(function, arguments, keywords, slot, tuple(unpack), (), node.target, node.name)
        )

    def steps(self) -> list[Step]:
        computed = {step.destination for step in self.drafts}
        computed.update(slot for step in self.drafts for _, slot in step.unpack)
        computed.update(self.slots[node] for node in self.graph.placeholders)
        last_use: dict[int, int] = {}
        for position, step in enumerate(self.drafts):
            written = [step.destination, *(slot for _, slot in step.unpack)]
            read = [*step.arguments, *(slot for _, slot in step.keywords)]
            last_use.update(dict.fromkeys([*written, *read], position))
        dead: dict[int, list[int]] = {}
        for slot, position in last_use.items():
            if slot in computed and slot not in self.output_slots:
                dead.setdefault(position, []).append(slot)
        return [
            step._replace(dead=tuple(dead.get(position, ())))
            for position, step in enumerate(self.drafts)
        ]
