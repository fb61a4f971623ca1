"""Which operators of a program share a kernel.

A graph's nodes are taken in order; each that is arithmetic on elements joins the groups of its
operands, where one kernel can compute them all and none of them would have to wait for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aten.backends.fast_paths import has_fast_path
from aten.compiler.calls import has_effect, operator_of
from aten.compiler.fusing import MAXIMUM_NODES, MAXIMUM_OPERANDS, FusedGroup, refusal
from aten.compiler.gathers import Gather, gathers_of
from aten.compiler.rewrites.rewriting import (
    described,
    may_be_view,
    written_operands,
    written_values,
)
from aten.compiler.values import Composition, composed, is_as_made, is_over_elements
from aten.graph.ir import Graph, Node, TensorMeta
from aten.loops.geometry import UnsupportedGraphError

# Operators whose one kernel does more than its own definition: they are fused with others only.
LEAST_OPERATORS = 2


@dataclass(slots=True)
class _Group:
    """Nodes that run together.

    `place` is a bit; `before` has those of all groups that have to run first.
    """

    place: int
    nodes: list[Node] = field(default_factory=list)
    before: int = 0
    fused: bool = False


@dataclass(slots=True)
class Partition:
    """A program as groups, in an order in which they can run.

    Attributes:
        groups: nodes that run together; a group of one is an ordinary call.
        fused: the groups, by their first node, that are one kernel.
        refusals: why a node did not join its operands, where it could have.
    """

    groups: list[list[Node]]
    fused: dict[Node, FusedGroup]
    refusals: dict[Node, str]


def partition(graph: Graph, least: int = LEAST_OPERATORS, *, has_gathers: bool = True) -> Partition:
    """The groups of a graph of functional operators, of which sizes are known.

    `least` operators make a kernel of their own; with 1, also those that no others join and whose
    own kernel is nothing but their definition. With `has_gathers`, elements at indices may be read
    by the kernels that want them.
    """
    gathers = gathers_of(graph) if has_gathers else {}
    while True:
        made = _Partitioner(graph, least, gathers).run()
        outputs = {one for group in made.fused.values() for one in group.outputs}
        shared = gathers.keys() & outputs
        if not shared:
            return made
        # What others read, too, has to be in memory: it is no load then.
        gathers = {node: one for node, one in gathers.items() if node not in shared}


def _memory_order(graph: Graph) -> dict[Node, list[Node]]:
    """Before a call: what writes to memory that it reads, and, where it writes, what reads it."""
    written = written_values(graph)
    behind: dict[Node, list[Node]] = {}
    if not written:
        return behind
    bases: dict[Node, set[Node]] = {}
    users: dict[Node, list[Node]] = {}
    writers: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        memories = {base for one in node.all_input_nodes for base in bases.get(one, ())}
        bases[node] = {node} if node in written else set()
        if may_be_view(node):
            bases[node] |= memories
        if node.op != "call_function":
            continue
        overwritten = {base for one in written_operands(node) for base in bases[one]}
        behind[node] = [one for base in memories for one in writers.get(base, ())]
        behind[node] += [one for base in overwritten for one in users.get(base, ())]
        for base in memories:
            users.setdefault(base, []).append(node)
        for base in overwritten:
            writers[base] = [node]
    return behind


class _Partitioner:
    def __init__(self, graph: Graph, least: int, gathers: Mapping[Node, Gather]) -> None:
        self.graph = graph
        self.least = least
        self.gathers = gathers
        self.index = {node: place for place, node in enumerate(graph.nodes)}
        self.users: dict[Node, list[Node]] = {}
        for node in graph.nodes:
            for one in node.all_input_nodes:
                self.users.setdefault(one, []).append(node)
        self.home: dict[Node, _Group] = {}
        self.groups: list[_Group] = []
        self.refusals: dict[Node, str] = {}
        # Nodes that have to wait for others whose results they do not read.
        self.behind = _memory_order(graph)

    def run(self) -> Partition:
        last_effect: _Group | None = None
        for node in self.graph.nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            group = self._placed(node)
            if has_effect(node):
                # What draws or writes stays in its order.
                if last_effect is not None:
                    self._put_before(group, last_effect)
                last_effect = group
        fused = {}
        ordered = [group.nodes for group in self._ordered()]
        for place, nodes in enumerate(ordered):
            calls = [node for node in nodes if node.target != "operator.getitem"]
            if self.home[nodes[0]].fused and self._is_worth_it(nodes, calls):
                label = "_".join(dict.fromkeys(node.target.split(".")[1] for node in calls))
                inputs, outputs = self._edges(nodes)
                fused[nodes[0]] = FusedGroup(f"fused_{place}_{label}"[:80], nodes, inputs, outputs)
        return Partition(ordered, fused, self.refusals)

    def _placed(self, node: Node) -> _Group:
        if node in self.home:
            return self.home[node]
        # What an operator gives is taken apart where it is computed.
        parts = [one for one in self.users.get(node, ()) if one.target == "operator.getitem"]
        group = _Group(1 << len(self.groups), [node, *parts])
        for one in (*node.all_input_nodes, *self.behind.get(node, ())):
            if one in self.home:
                group.before |= self.home[one].before | self.home[one].place
        self.groups.append(group)
        self.home.update(dict.fromkeys(group.nodes, group))
        op = operator_of(node)
        is_load = self._is_load(node)
        if op is None or not (is_load or is_over_elements(op)) or not self._is_known(node):
            return group
        if not is_as_made(op):
            self.refusals[node] = "the operator has kernels of others"
            return group
        if "alone" in node.meta:
            self.refusals[node] = node.meta["alone"]
            return group
        group.fused = True
        if is_load:
            return group
        for one in node.all_input_nodes:
            other = self.home.get(one)
            if other is not None and other is not group and other.fused:
                group = self._joined(group, other, node)
        return group

    def _is_load(self, node: Node) -> bool:
        """Whether a node gives elements at indices, to nothing but operators over elements."""
        if node not in self.gathers:
            return False
        readers = map(operator_of, self.users.get(node, ()))
        return all(one is not None and is_over_elements(one) for one in readers)

    def _is_worth_it(self, nodes: list[Node], calls: list[Node]) -> bool:
        if len(calls) >= LEAST_OPERATORS or len(calls) < self.least:
            return len(calls) >= self.least
        op = operator_of(calls[0])
        if op is None or calls[0] in self.gathers or has_fast_path(op):
            return False
        try:
            return not self._refusal(nodes)
        except UnsupportedGraphError:
            return False

    def _is_known(self, node: Node) -> bool:
        """Whether sizes and types of all that a node reads are recorded, and are on the CPU."""
        metas = [one.meta.get("val") for one in node.all_input_nodes]
        return bool(metas) and all(
            isinstance(one, TensorMeta)
            and one.device.type == "cpu"
            and all(isinstance(size, int) for size in (*one.shape, *one.stride))
            for one in metas
        )

    def _joined(self, group: _Group, other: _Group, node: Node) -> _Group:
        """Both groups as one, where that can be and is worth it; else the former."""
        if self._waits(group, other) or self._waits(other, group):
            return group
        nodes = sorted([*group.nodes, *other.nodes], key=self.index.__getitem__)
        if len(nodes) > MAXIMUM_NODES:
            self.refusals[node] = f"more than {MAXIMUM_NODES} operators"
            return group
        try:
            why = self._refusal(nodes)
        except UnsupportedGraphError:
            why = "no one walk"
        if why:
            self.refusals[node] = why
            return group
        other.nodes = nodes
        for one in group.nodes:
            self.home[one] = other
        self.groups = [other if one is group else one for one in self.groups]
        before = (group.before | other.before) & ~other.place & ~group.place
        for waiting in self.groups:
            if waiting.before & (group.place | other.place):
                waiting.before = (waiting.before & ~group.place) | other.place | before
        other.before = before
        return other

    def _waits(self, group: _Group, other: _Group) -> bool:
        """Whether something else has to run between `other` and `group`, which reads it."""
        return any(
            one.before & other.place
            for one in self._distinct()
            if one is not group and one is not other and group.before & one.place
        )

    def _put_before(self, group: _Group, first: _Group) -> None:
        if group is first or group.before & first.place:
            return
        added = first.place | first.before
        group.before |= added
        for one in self.groups:
            if one.before & group.place:
                one.before |= added

    def _refusal(self, nodes: list[Node]) -> str:
        inputs, outputs = self._edges(nodes)
        if len(inputs) + len(outputs) > MAXIMUM_OPERANDS:
            return f"more than {MAXIMUM_OPERANDS} operands"
        gathers = [self.gathers[node] for node in nodes if node in self.gathers]
        if any(one in nodes for gather in gathers for one in (gather.table, gather.index)):
            return "an index, or what it chooses from, is not in memory before"
        return refusal(self._composed(nodes, inputs), "group", outputs)

    def _composed(self, nodes: list[Node], inputs: list[Node]) -> Composition:
        return composed(nodes, inputs, [described(one.meta["val"]) for one in inputs])

    def _edges(self, nodes: list[Node]) -> tuple[list[Node], list[Node]]:
        """What a group reads, and what of it others read."""
        members = set(nodes)
        inputs = dict.fromkeys(
            one for node in nodes for one in node.all_input_nodes if one not in members
        )
        outputs = [
            node
            for node in nodes
            if isinstance(node.meta.get("val"), TensorMeta)
            and any(user not in members for user in self.users.get(node, ()))
        ]
        return list(inputs), outputs

    def _distinct(self) -> Iterator[_Group]:
        yield from {id(one): one for one in self.groups}.values()

    def _ordered(self) -> list[_Group]:
        """The groups, each behind those that it waits for, otherwise as they were written."""
        waiting = list(self._distinct())
        done = 0
        ordered = []
        while waiting:
            place = next(
                place for place, one in enumerate(waiting) if not one.before & ~done & ~one.place
            )
            group = waiting.pop(place)
            done |= group.place
            ordered.append(group)
        return ordered
