"""Graphs with their kernels, as they run: what depends on constants alone is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from aten._core.dispatch.replaying import WriteGuard
from aten._core.memory.collecting import resting
from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.graph.interpreter import Interpreter
from aten.graph.ir import Graph, Node, map_nodes
from aten.graph.mapping import MappedFile, reread
from aten.graph.operators import resolve_graph
from aten.graph.pytree import map_tensors
from aten.graph.strip_products import product_once
from aten.registry import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_REREAD, _PRODUCT_ONCE = "mapping.reread", "strip_products.product_once"
_SCALED, _SCALE = "ready.scaled", "aten.mul.Tensor"
_VIEWS = frozenset({"aten.permute.default", "aten.t.default", "aten.transpose.int"})
_STRIPS_PRODUCT, _STRIPS = "fused.strips_product.default", "fused.strips.default"


class ReadyProgram:
    """A graph over arguments, constants and what `preparation` computes of these.

    Attributes:
        graph: the program as it runs.
        constants: tensors that the function used besides its arguments.
        preparation: gives what it computes of constants alone.
        results: a nest with a tensor in the place of each of its results.
    """

    def __init__(
        self,
        graph: Graph,
        functions: Mapping[str, Any],
        constants: Sequence[Tensor],
        preparation: Preparation,
        results: Any,
    ) -> None:
        self.graph = graph
        self.functions = functions
        self.constants = constants
        self.preparation = preparation
        self.results = results
        # What is told of the first call, once that is over.
        self.when_run: Callable[[], None] | None = None
        self._returns_tensor = isinstance(results, Tensor)
        self._has_run = False

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
        if self._has_run:
            return self._interpreter.run([*inputs, *self.constants, *self.preparation()])
        self._has_run = True
        with resting:
            made = self._interpreter_once().run([*inputs, *self.constants])
            told, self.when_run = self.when_run, None
            if told is not None:
                told()
        return made

    def _interpreter_once(self) -> Interpreter:
        if self.preparation.is_empty():
            return self._interpreter
        return self.preparation.within(self.graph, self.functions)

    @cached_property
    def _interpreter(self) -> Interpreter:
        return Interpreter(self.graph, self.functions)


class Preparation:
    """What a program computes of constants alone: once, and again where these were written to.

    Results that share no call are parts, of which the largest come first: what one needs meanwhile
    is gone when the next one begins, and most is needed while least is kept.

    Attributes:
        graph: takes the constants, and gives the results.
    """

    def __init__(self, graph: Graph, constants: Sequence[Tensor]) -> None:
        self.graph = graph
        self._constants = constants
        self._results: tuple[Node, ...] = graph.output_node.args[0]
        self._guard: WriteGuard | None = None
        self._values: tuple[Any, ...] = ()

    def is_empty(self) -> bool:
        """Whether nothing is computed of constants."""
        return not self._results

    @cached_property
    def _parts(self) -> list[_Part]:
        readers, functions = _readers_of(self.graph), {**resolve_graph(self.graph), **_OWN}
        parts = [
            _Part(nodes, self.graph, self._constants, _Reading(readers), functions)
            for nodes in _apart(self.graph)
        ]
        return sorted(parts, key=_Part.size, reverse=True)

    @cached_property
    def _sources(self) -> list[Tensor]:
        # Each once: they are looked at in every call.
        return list({id(one): one for part in self._parts for one in part.sources}.values())

    def within(self, graph: Graph, functions: Mapping[str, Any]) -> Interpreter:
        """A program that computes these values itself, each just before it is first read, and takes
        the constants alone."""
        places = dict(zip(graph.placeholders[-len(self._results) :], self._results, strict=True))
        made = _Sinking(self.graph, places)
        for node in graph.nodes:
            if node not in places:
                made.add(node)
        whole = Graph()
        whole.subgraphs = graph.subgraphs
        whole.returns_single = graph.returns_single
        whole.nodes = made.nodes
        return Interpreter(whole, {**resolve_graph(self.graph), **functions, **_OWN})

    def __call__(self) -> tuple[Any, ...]:
        if self._guard is None or not self._guard.holds():
            guard = WriteGuard(self._sources, MappedFile)
            values: list[Any] = [None] * len(self._results)
            for part in self._parts:
                for place, value in zip(part.places, part(), strict=True):
                    values[place] = value
            # In this order: another thread sees values that are at least as new.
            self._values, self._guard = tuple(values), guard
        return self._values


def scaled(constant: Tensor, factor: Tensor) -> Tensor:
    """Their product, in the memory of a copy that was read of the constant, if one was."""
    copy = reread(constant)
    takes_it = copy is not constant and _is_product_like(copy, factor)
    multiply = ops.aten.mul_.Tensor if takes_it else ops.aten.mul.Tensor
    return multiply(copy, factor)


def _is_product_like(tensor: Tensor, factor: Tensor) -> bool:
    """Whether their product lies in memory as the tensor does."""
    sizes = tensor.shape[tensor.dim() - factor.dim() :]
    return (
        tensor.dtype is factor.dtype
        and tensor.is_contiguous()
        and factor.dim() <= tensor.dim()
        and all(one in (1, size) for one, size in zip(factor.shape, sizes, strict=True))
    )


# What is no operator, by the targets of calls.
_OWN: dict[str, Any] = {_REREAD: reread, _PRODUCT_ONCE: product_once, _SCALED: scaled}


def _readers_of(graph: Graph) -> Counter[Node]:
    """How many of the graph's calls read a value."""
    return Counter(one for node in graph.nodes for one in node.all_input_nodes)


class _Reading:
    """Calls over constants, which read copies of them that last as long as the calls.

    Pages of mapped files need not be this process's for being read once.
    """

    def __init__(self, readers: Counter[Node]) -> None:
        self._readers = readers
        self._read: dict[Node, Node] = {}

    def add(self, node: Node, current: dict[Node, Node], nodes: list[Node]) -> Node:
        """Append a call, and what reads its constants, to `nodes`; `current` has what stands for
        those of the graph so far."""
        if self._scales(node):
            constant, factor = node.args
            args: Any = (current[constant], self._source(factor, current, nodes))
            made = Node(node.name, node.op, _SCALED, args, None, node.meta)
        else:
            sources = {one: self._source(one, current, nodes) for one in node.all_input_nodes}
            made = _moved(node, sources)
        nodes.append(made)
        return made

    def _scales(self, node: Node) -> bool:
        """Whether it multiplies a constant that nothing else of the graph reads."""
        return (
            node.target == _SCALE
            and len(node.all_input_nodes) == 2
            and node.args[0].op == "placeholder"
            and self._readers[node.args[0]] == 1
        )

    def _source(self, node: Node, current: dict[Node, Node], nodes: list[Node]) -> Node:
        made = current[node]
        if node.op != "placeholder":
            return made
        if node not in self._read:
            read = Node(f"read_{node.name}", "call_function", _REREAD, (made,), None, node.meta)
            self._read[node] = read
            nodes.append(read)
        return self._read[node]


def _moved(node: Node, current: Mapping[Node, Node]) -> Node:
    """The same call of what stands for its arguments."""
    args, kwargs = (map_nodes(one, current.__getitem__) for one in (node.args, node.kwargs))
    return Node(node.name, node.op, node.target, args, kwargs, node.meta)


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
        self._reading = _Reading(_readers_of(constant))
        self._windows: dict[Node, Node] = {}

    def add(self, node: Node) -> None:
        """Append a node of the program."""
        if node.target == _STRIPS_PRODUCT and node.args[1] in self._places:
            strips = self._places[node.args[1]]
            if strips.target == _STRIPS:
                self._append_product(node, strips.args[0])
                return
        for one in node.all_input_nodes:
            if one in self._places and one not in self._current:
                self._current[one] = self._computed(self._places[one])
        self._append(node)

    def _append_product(self, node: Node, matrix: Node) -> None:
        """A product with a matrix that is laid out while it is multiplied, a piece at a time."""
        left, _, bias, columns, *limits = node.args
        for one in (left, bias):
            if one in self._places and one not in self._current:
                self._current[one] = self._computed(self._places[one])
        window = self._window(matrix)
        args = map_nodes((left, bias, columns), lambda one: self._current[one])
        given = (args[0], window, *args[1:], *limits)
        made = Node(node.name, "call_function", _PRODUCT_ONCE, given, None, node.meta)
        self._current[node] = made
        self.nodes.append(made)

    def _window(self, matrix: Node) -> Node:
        """A matrix: where it is a view of a constant, over that one's own memory."""
        views = []
        source = matrix
        while source.target in _VIEWS:
            views.append(source)
            source = source.args[0]
        if source.op != "placeholder":
            return self._computed(matrix)
        made = self._current[source]
        for one in reversed(views):
            if one not in self._windows:
                args = (made, *one.args[1:])
                self._windows[one] = Node(one.name, one.op, one.target, args, one.kwargs, one.meta)
                self.nodes.append(self._windows[one])
            made = self._windows[one]
        return made

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
            if node.op == "placeholder":
                self._append(node)
            else:
                self._current[node] = self._reading.add(node, self._current, self.nodes)
        return self._current[wanted]

    def _append(self, node: Node) -> None:
        self._current[node] = _moved(node, self._current)
        self.nodes.append(self._current[node])


class _Part:
    """Calls over constants, and where what they give stands among the results.

    Attributes:
        sources: the constants that are read.
        places: of its results.
    """

    def __init__(
        self,
        nodes: set[Node],
        whole: Graph,
        constants: Sequence[Tensor],
        reading: _Reading,
        functions: Mapping[str, Any],
    ) -> None:
        read = {one for node in nodes for one in node.all_input_nodes}
        given = [
            (node, one)
            for node, one in zip(whole.placeholders, constants, strict=True)
            if node in read
        ]
        self.sources = [one for _, one in given]
        results = whole.output_node.args[0]
        self.places = [place for place, node in enumerate(results) if node in nodes]
        graph = Graph()
        graph.nodes = [node for node, _ in given]
        current = {node: node for node in graph.nodes}
        for node in whole.nodes:
            if node in nodes:
                current[node] = reading.add(node, current, graph.nodes)
        made = tuple(current[node] for node in results if node in nodes)
        graph.nodes.append(Node("output", "output", "output", (made,)))
        self._interpreter = Interpreter(graph, functions)

    def size(self) -> int:
        """The bytes of what it reads."""
        return sum(one.numel() * one.itemsize for one in self.sources)

    def __call__(self) -> tuple[Any, ...]:
        with no_grad():
            return self._interpreter.run(self.sources)


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
