"""Graphs that are made from others: what rewrites have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aten._core.base.device import device
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.tensor import Tensor
from aten.compiler.calls import is_written, operator_of
from aten.graph.ir import Graph, Node, TensorMeta, concrete, map_nodes, nodes_in

_META = device("meta")


class Rewriting:
    """A graph that is being made from another one.

    Attributes:
        nodes: those made so far.
        current: what stands for a node of the other graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.current: dict[Node, Node] = {}
        self._names = {node.name for node in graph.nodes}

    def keep(self, node: Node) -> Node:
        """The node over what its operands are by now."""
        made = Node(
            node.name, node.op, node.target, self.of(node.args), self.of(node.kwargs), node.meta
        )
        self.nodes.append(made)
        self.current[node] = made
        return made

    def of(self, value: Any) -> Any:
        """Arguments with nodes of the graph that is being made."""
        return map_nodes(value, lambda node: self.current.get(node, node))

    def call(self, target: str, *args: Any, **kwargs: Any) -> Node:
        """A new call of an operator, with its result described by the operator itself.

        Arguments are nodes of the new graph; operators with several results are not for this.
        """
        node = Node(self._free_name(target), "call_function", target, args, kwargs)
        op = operator_of(node)
        assert op is not None
        given = map_nodes(args, lambda one: described(one.meta["val"]))
        named = map_nodes(kwargs, lambda one: described(one.meta["val"]))
        node.meta["val"] = _recorded(op(*given, **named))
        self.nodes.append(node)
        return node

    def drop(self, node: Node) -> None:
        """Take a node out again that nothing reads."""
        self.nodes.remove(node)

    def finished(self) -> Graph:
        """The new graph."""
        made = Graph()
        made.subgraphs = self.graph.subgraphs
        made.returns_single = self.graph.returns_single
        made.nodes = self.nodes
        return made

    def _free_name(self, target: str) -> str:
        stem = target.split(".")[1]
        name, count = stem, 0
        while name in self._names:
            count += 1
            name = f"{stem}_{count}"
        self._names.add(name)
        return name


def described(meta: TensorMeta) -> Tensor:
    """A tensor of the meta device that is like what was recorded."""
    sizes = [int(concrete(one, {})) for one in meta.shape]
    strides = [int(concrete(one, {})) for one in meta.stride]
    return empty_strided(sizes, strides, meta.dtype, _META)


def users_of(graph: Graph) -> dict[Node, list[Node]]:
    """The nodes that read a node, in their order."""
    users: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for one in node.all_input_nodes:
            users.setdefault(one, []).append(node)
    return users


def only_user(node: Node, users: dict[Node, list[Node]]) -> Node | None:
    """The node that reads a node, where it is one."""
    found = users.get(node, [])
    return found[0] if len(found) == 1 else None


def looks_like(one: Node, other: Node) -> bool:
    """Whether both are tensors of the same sizes and dtype."""
    found, expected = one.meta["val"], other.meta["val"]
    return (
        isinstance(found, TensorMeta)
        and found.shape == expected.shape
        and found.dtype is expected.dtype
    )


def given(node: Node, name: str) -> Any:
    """An argument of a call: by its place or its name, or what the operator takes without it."""
    op = operator_of(node)
    assert op is not None
    arguments = op._schema.arguments
    place = next(place for place, one in enumerate(arguments) if one.name == name)
    if place < len(node.args):
        return node.args[place]
    return node.kwargs.get(name, arguments[place].default)


def written_inputs(graph: Graph) -> set[Node]:
    """The inputs that calls with written arguments have among these."""
    return {
        one
        for node in graph.nodes
        if is_written(node)
        for one in node.all_input_nodes
        if one.op == "placeholder"
    }


def with_copies(graph: Graph, inputs: set[Node]) -> Graph:
    """The graph over copies of these inputs, which each call makes."""
    rewriting = Rewriting(graph)
    for node in graph.placeholders:
        rewriting.keep(node)
    for node in graph.placeholders:
        if node in inputs:
            copied = rewriting.current[node]
            rewriting.current[node] = rewriting.call("aten.clone.default", copied)
    for node in graph.nodes:
        if node.op != "placeholder":
            rewriting.keep(node)
    return rewriting.finished()


def handed_out(graph: Graph) -> set[Node]:
    """What a result is or may be a view of."""
    return with_bases(graph.output_node.all_input_nodes)


def written_values(graph: Graph) -> set[Node]:
    """What calls write to, and what that is or may be a view of."""
    return with_bases([one for node in graph.nodes for one in written_operands(node)])


def written_operands(node: Node) -> list[Node]:
    """What a call writes to, lists taken apart."""
    op = operator_of(node)
    if op is None or not is_written(node):
        return []
    found: list[Node] = []
    for place, one in enumerate(op._schema.arguments):
        if one.is_write:
            value = node.args[place] if place < len(node.args) else node.kwargs.get(one.name)
            found += nodes_in(value)
    return found


def with_bases(nodes: Iterable[Node]) -> set[Node]:
    """These values, and those whose memory they have or may have."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        if may_be_view(node):
            waiting += node.all_input_nodes
    return found


def may_be_view(node: Node) -> bool:
    """Whether a value may have memory of an operand."""
    op = operator_of(node)
    return op is None or op._schema.is_view or op.entry.kind == "composite"


def _recorded(tensor: Tensor) -> TensorMeta:
    return TensorMeta(
        tensor.dtype,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
        device("cpu"),
        tensor.layout,
        False,
    )
