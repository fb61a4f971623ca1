"""Several traces of one program at different sizes, as one graph with symbolic sizes.

All traces must call the same operators in the same order. Every integer and float that differs
between them becomes an expression of the dynamic sizes ([solving.py]); where an operator takes one,
nodes compute it from the sizes of the inputs. What cannot be said so is an error that names the
line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from aten._core.base.keys import ExcludeDispatchKeyGuard
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import KEYS_OF_MODES
from aten.export.data_sizes import DataSize
from aten.export.dimensions import CaptureError, Dynamic
from aten.export.solving import Solver, UnsolvedError, call
from aten.export.tracing import Trace
from aten.graph.ir import Graph, Node, TensorMeta
from aten.graph.symbolic import Expression, ValueRange
from aten.graph.writing.expressions import kind_of
from aten.registry import ops
from aten.transforms.recording import used_calls

SLICE, ALIAS = "aten.slice.Tensor", "aten.alias.default"
_OPERATORS = {"Add": "operator.add", "Mul": "operator.mul", "FloorDiv": "operator.floordiv"}
_REAL_OPERATORS = {"FloatTrueDiv": "operator.truediv", "FloatPow": "operator.pow"}


class DifferingError(Exception):
    """Two traces do other things; `node` is where, in the first trace, if that is known."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node


class Unified:
    """One graph made of traces.

    Args:
        traces: the first is the one whose values become hints.
        solver: what its points were.
        sources: for each symbol the input, the dimension, None for a number itself, and what the
            size is of the symbol.

    Attributes:
        calls: nodes, those that compute sizes among them, in order.
        results: what is returned: nodes, and plain values.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        solver: Solver,
        sources: Mapping[str, tuple[str, int | None, Dynamic]],
        numbers: Mapping[str, Node] | None = None,
    ) -> None:
        self.traces = traces
        self.solver = solver
        self.sources = sources
        self.nodes: dict[Node, Node] = {}
        self.peers: dict[Node, tuple[Node, ...]] = {}
        self.calls: list[Node] = []
        self.computed: dict[Expression, Node] = {}
        self.graphs: dict[str, Graph] = {}
        self.in_region = False
        # Where sizes that data choose are read.
        self.chosen: dict[str, tuple[Node, int]] = {}
        # Calls that give nothing, and stay.
        self.checks: list[Node] = []
        self.numbers = numbers or {}
        # Calls by their names, without those that compute sizes, and what they were called with.
        self.recorded: set[str] = set()
        self.arguments: dict[Node, Any] = {}
        self.used = {name for one in traces for name in one.inputs}
        self.used |= {node.name for node in (*traces[0].calls, *self.numbers.values())}
        self.inputs = {name: self.input(name) for name in traces[0].inputs}
        self.constants = self.met_constants()
        self.unify_calls()
        first = traces[0]
        self.mutations = {
            self.nodes[target]: self.nodes[value] for target, value in first.mutations.items()
        }
        self.check_mutations()
        self.results = self.unify_results()

    def record(self, values: Sequence[Any], node: Node | None) -> Any:
        """What is recorded of a value in the traces, with symbolic sizes."""
        first = values[0]
        if isinstance(first, TensorMeta):
            self.same([one[:1] + one[4:] for one in values], node, "a tensor's type or device")
            if len({len(one.shape) for one in values}) > 1:
                raise DifferingError("a tensor has other numbers of dimensions", node)
            shape, stride, offset = (
                self.solved([getattr(one, name) for one in values], node)
                for name in ("shape", "stride", "storage_offset")
            )
            return first._replace(shape=tuple(shape), stride=tuple(stride), storage_offset=offset)
        if isinstance(first, (list, tuple)):
            if len({len(one) for one in values}) > 1:
                raise DifferingError("an operator has other numbers of results", node)
            return [self.record(group, node) for group in zip(*values, strict=True)]
        return self.solved(values, node)

    def solved(self, values: Sequence[Any], node: Node | None) -> Any:
        """A value, or list of values, in which numbers that differ are expressions."""
        first = values[0]
        if all(type(one) is type(first) for one in values):
            if isinstance(first, (list, tuple)):
                if len({len(one) for one in values}) > 1:
                    raise DifferingError("a list of numbers has other lengths", node)
                return [self.solved(group, node) for group in zip(*values, strict=True)]
            if type(first) is int:
                return self.number(values, node, self.solver.integer)
            if type(first) is float:
                return self.number(values, node, self.solver.real)
        self.same(values, node, "a value")
        return first

    def number(self, values: Sequence[Any], node: Node | None, solve: Callable[..., Any]) -> Any:
        try:
            return solve(tuple(values))
        except UnsolvedError as error:
            raise DifferingError(
                f"a number depends on sizes in an unknown way: {error}", node
            ) from None

    def same(self, values: Sequence[Any], node: Node | None, what: str) -> None:
        if any(type(one) is not type(values[0]) or one != values[0] for one in values):
            found = ", ".join(dict.fromkeys(repr(one) for one in values))
            raise DifferingError(f"{what} depends on sizes: {found}", node)

    def input(self, name: str) -> Node:
        peers = tuple(one.inputs[name] for one in self.traces)
        node = Node(name, "placeholder", name)
        node.meta["val"] = self.record([one.meta["val"] for one in peers], None)
        self.known(peers, node)
        return node

    def known(self, peers: tuple[Node, ...], node: Node) -> None:
        for one in peers:
            self.nodes[one] = node
        self.peers[peers[0]] = peers

    def met_constants(self) -> list[tuple[Node, Tensor]]:
        """Constants, which must be the same whatever the sizes are."""
        if len({len(one.constants) for one in self.traces}) > 1:
            raise DifferingError("the program makes constants by its sizes")
        made = []
        for group in zip(*(one.constants for one in self.traces), strict=True):
            tensors = [tensor for _, tensor in group]
            if not all(one is tensors[0] or _equal(one, tensors[0]) for one in tensors):
                raise DifferingError(
                    "the program makes a constant tensor of its sizes: what depends on them is "
                    "made by operators, as aten.full and aten.arange"
                )
            node = Node(group[0][0].name, "placeholder", group[0][0].target)
            node.meta["val"] = group[0][0].meta["val"]
            self.known(tuple(one for one, _ in group), node)
            made.append((node, tensors[0]))
        return made

    def unify_calls(self) -> None:
        calls = [one.calls for one in self.traces]
        for group in zip(*calls, strict=False):
            self.unify_call(group)
        shortest = min(map(len, calls))
        longer = next((one for one in calls if len(one) > shortest), None)
        if longer is not None:
            first = self.traces[0].calls
            node = first[min(shortest, len(first) - 1)] if first else None
            raise DifferingError(f"more operators are called ({longer[shortest].target})", node)

    def unify_call(self, peers: tuple[Node, ...]) -> None:
        first = peers[0]
        if first.op == "get_attr" and all(one.op == "get_attr" for one in peers):
            self.unify_region(peers)
            return
        calls = _slices(peers)
        targets = list(dict.fromkeys(one.target for one in calls))
        if len(targets) > 1:
            raise DifferingError(f"other operators are called: {' or '.join(targets)}", first)
        args = self.argument([one.args for one in calls], first)
        kwargs = self.argument([one.kwargs for one in calls], first)
        meta = dict(first.meta)
        meta["val"] = self.record([one.meta.get("val") for one in peers], first)
        origin = self.traces[0].came_from.get(first)
        if origin is not None:
            meta.update(origin.metadata())
        node = Node(first.name, first.op, targets[0], args, kwargs, meta)
        self.calls.append(node)
        self.recorded.add(node.name)
        self.arguments[node] = self.symbolic([list(one) for one in _arguments(calls)])
        self.known(peers, node)
        self.note_chosen(node)

    def note_chosen(self, node: Node) -> None:
        """Notes where sizes that data choose can be read from a call's result."""
        record = node.meta.get("val")
        if self.in_region or not isinstance(record, TensorMeta):
            return
        for dim, size in enumerate(record.shape):
            if isinstance(size, Expression) and size.is_symbol:
                self.chosen.setdefault(size.head, (node, dim))

    def unify_region(self, peers: tuple[Node, ...]) -> None:
        """A function that an operator takes, as a graph."""
        first = peers[0]
        regions = [one.regions[node.target] for one, node in zip(self.traces, peers, strict=True)]
        outer, self.calls, self.in_region = (self.calls, self.in_region), [], True
        if len({len(one.inputs) for one in regions}) > 1:
            raise DifferingError("a function uses other tensors", first)
        inputs = []
        for group in zip(*(one.inputs for one in regions), strict=True):
            node = Node(group[0].name, "placeholder", group[0].target)
            node.meta["val"] = self.record([one.meta["val"] for one in group], first)
            self.known(group, node)
            inputs.append(node)
        if len({len(one.calls) for one in regions}) > 1:
            raise DifferingError("a function calls other operators", first)
        for group in zip(*(one.calls for one in regions), strict=True):
            self.unify_call(group)
        results = tuple(
            self.peer(group, first) for group in zip(*(one.results for one in regions), strict=True)
        )
        graph = pruned(inputs, self.calls, results, self.graphs)
        graph.returns_single = regions[0].single
        self.calls, self.in_region = outer
        node = Node(first.name, "get_attr", first.target)
        self.graphs[first.target] = graph
        self.calls.append(node)
        self.recorded.add(node.name)
        self.arguments[node] = [[], {}]
        self.known(peers, node)

    def symbolic(self, values: Sequence[Any]) -> Any:
        """Arguments with the traces' first nodes, and expressions where numbers differ."""
        first = values[0]
        if isinstance(first, dict):
            return {key: self.symbolic([one[key] for one in values]) for key in first}
        if isinstance(first, (list, tuple)):
            return [self.symbolic(group) for group in zip(*values, strict=True)]
        return first if isinstance(first, Node) else self.solved(values, None)

    def argument(self, values: Sequence[Any], node: Node) -> Any:
        """An argument, with nodes where the traces have nodes or different numbers."""
        first = values[0]
        if isinstance(first, Node):
            return self.peer(values, node)
        if any(type(one) is not type(first) for one in values):
            raise DifferingError("an argument is of other kinds", node)
        if isinstance(first, (list, tuple)):
            if len({len(one) for one in values}) > 1:
                raise DifferingError("an argument has other lengths", node)
            made = [self.argument(group, node) for group in zip(*values, strict=True)]
            return made if isinstance(first, list) else tuple(made)
        if isinstance(first, dict):
            if any(one.keys() != first.keys() for one in values):
                raise DifferingError("other arguments are given", node)
            return {key: self.argument([one[key] for one in values], node) for key in first}
        found = self.solved(values, node)
        return self.compute(found) if isinstance(found, Expression) else found

    def peer(self, values: Sequence[Any], node: Node | None) -> Node:
        made = self.nodes.get(values[0])
        if made is None or any(self.nodes.get(one) is not made for one in values):
            raise DifferingError("operators are called with other tensors", node)
        return made

    def check_mutations(self) -> None:
        for one in self.traces[1:]:
            found = {
                self.nodes[target]: self.nodes[value] for target, value in one.mutations.items()
            }
            if found != self.mutations:
                raise DifferingError("other arguments or buffers are written to")

    def unify_results(self) -> list[Any]:
        if any(one.out_spec != self.traces[0].out_spec for one in self.traces):
            raise DifferingError("what is returned is nested otherwise")
        made = []
        for group in zip(*(one.results for one in self.traces), strict=True):
            if isinstance(group[0], Node):
                made.append(self.peer(group, None))
                continue
            found = self.solved(group, None)
            made.append(self.compute(found) if isinstance(found, Expression) else found)
        return made

    def compute(self, expression: Expression) -> Node:
        """The node that computes an expression of sizes; the same one for the same expression."""
        if self.in_region:
            raise DifferingError(
                f"a function that an operator takes computes with the size {expression}"
            )
        known = self.computed.get(expression)
        if known is not None:
            return known
        node = self.size_of(expression) if expression.is_symbol else self.arithmetic(expression)
        self.computed[expression] = node
        return node

    def size_of(self, symbol: Expression) -> Node:
        """A symbol's node, from an input's size: the size is factor * symbol + offset. What data
        choose is the size of a result."""
        if symbol.head in self.solver.unhinted:
            return self.call("sym_size_int", "aten.sym_size.int", self.chosen[symbol.head], symbol)
        name, dim, dynamic = self.sources[symbol.head]
        size = self._sized(symbol, dynamic)
        if dim is None:
            node = self.numbers[name]
        else:
            args = (self.inputs[name], dim)
            node = self.call("sym_size_int", "aten.sym_size.int", args, size)
        for target, factor in (
            ("operator.sub", dynamic.offset),
            ("operator.floordiv", 0 if dynamic.factor == 1 else dynamic.factor),
        ):
            if factor:
                node = self.call(target.split(".")[1], target, (node, factor), symbol)
        return node

    def _sized(self, symbol: Expression, dynamic: Dynamic) -> Expression:
        vector = tuple(
            point[symbol.head] * dynamic.factor + dynamic.offset for point in self.solver.points
        )
        found = self.solver.integer(vector)
        assert isinstance(found, Expression)
        return found

    def arithmetic(self, expression: Expression) -> Node:
        head = expression.head
        operands = [
            one.value if one.value is not None else self.compute(one)
            for one in expression.arguments
        ]
        if head == "ToFloat":
            return self.call("sym_float", "sym_float", tuple(operands), expression)
        target = _OPERATORS.get(head) or _REAL_OPERATORS[head]
        node = operands[0]
        for place, operand in enumerate(operands[1:], 2):
            part = Expression(head, None, expression.function, expression.arguments[:place])
            whole = place == len(operands)
            node = self.call(
                target.split(".")[1], target, (node, operand), expression if whole else part
            )
        assert isinstance(node, Node)
        return node

    def call(self, name: str, target: str, args: tuple[Any, ...], value: Expression) -> Node:
        hint = value.evaluate(self.solver.points[0])
        node = Node(self.free_name(name), "call_function", target, args)
        hint = float(hint) if kind_of(value) == "sym_float" else hint
        node.meta["val"] = self.solver.hinted(value, hint)
        self.calls.append(node)
        return node

    def check_least(self, size: DataSize, least: int) -> None:
        """Lets the program check, where it learns a size that data choose, that it is no less."""
        symbol = Expression(size.name)
        calls = self.calls
        source, _ = self.chosen[size.name]
        place = calls.index(self.computed.get(symbol, source)) + 1
        self.calls = []
        node = self.compute(symbol)
        holds = self.call("ge", "operator.ge", (node, least), call("GreaterThan", symbol, least))
        message = f"{size} is below {least}, where what was exported does something else"
        check = Node(
            self.free_name("_assert_scalar"),
            "call_function",
            "aten._assert_scalar.default",
            (holds, message),
        )
        self.checks.append(check)
        self.calls = [*calls[:place], *self.calls, check, *calls[place:]]

    def free_name(self, name: str) -> str:
        count, made = 0, name
        while made in self.used:
            count += 1
            made = f"{name}_{count}"
        self.used.add(made)
        return made


def _arguments(nodes: Sequence[Node]) -> list[tuple[Any, Any]]:
    return [(node.args, node.kwargs) for node in nodes]


def _slices(peers: tuple[Node, ...]) -> Sequence[Node]:
    """Calls of which some take all of a dimension, which is no slice, as slices all of them."""
    if {one.target for one in peers} != {SLICE, ALIAS}:
        return peers
    dim = next(one.args[1] for one in peers if one.target == SLICE)
    ends = {one.args[3] for one in peers if one.target == SLICE}
    made = []
    for one in peers:
        if one.target == ALIAS:
            [whole] = one.args
            end = whole.meta["val"].shape[dim] if len(ends) > 1 else min(ends)
            one = Node(one.name, one.op, SLICE, (whole, dim, 0, end, 1), {}, one.meta)
        made.append(one)
    return made


def _equal(left: Tensor, right: Tensor) -> bool:
    with ExcludeDispatchKeyGuard(KEYS_OF_MODES):
        return (
            left.dtype is right.dtype
            and left.shape == right.shape
            and bool(ops.aten.equal(left, right))
        )


def pruned(
    graph_inputs: list[Node],
    calls: list[Node],
    returned: tuple[Any, ...],
    graphs: Mapping[str, Graph] | None = None,
    checks: Sequence[Node] = (),
) -> Graph:
    """A graph of the calls that something is used of, and of checks whose sizes are."""
    output = Node("output", "output", "output", (returned,))
    graph = Graph()
    used = used_calls(calls, Node("output", "output", "output", ((*returned, *checks),)))
    graph.nodes = [*graph_inputs, *used, output]
    graph.subgraphs = {
        node.target: graphs[node.target]
        for node in graph.nodes
        if graphs is not None and node.op == "get_attr"
    }
    return graph


def ranges_of(graph: Graph, ranges: Mapping[str, ValueRange]) -> dict[str, ValueRange]:
    """The ranges of symbols that something in the graph is recorded with."""
    used = {name for node in graph.nodes for name in _symbols_of(node.meta.get("val"))}
    return {name: limits for name, limits in ranges.items() if name in used}


def _symbols_of(record: Any) -> Iterator[str]:
    if isinstance(record, Expression):
        yield from record.symbols()
    elif isinstance(record, (list, tuple)):
        # A tensor's record is a tuple, of sizes and strides among others.
        for one in record:
            yield from _symbols_of(one)


def explained(
    error: DifferingError, traces: Sequence[Trace], sizes: str, is_of_data: bool = False
) -> CaptureError:
    """The error for users: which line does other things for other sizes."""
    place = traces[0].place(error.node) if error.node is not None else None
    where = "" if place is None else f"{place}: {place.source!r}: "
    advice = "Give that size no Dim, if it has one" if is_of_data else "Give that size no Dim"
    return CaptureError(
        f"{where}the program branches on a dynamic size ({sizes}): {error.reason}. "
        f"{advice}, or say with aten.cond what is to be decided while it runs"
    )
