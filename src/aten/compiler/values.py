"""Operators of a program, run on graph values: several of them become one graph of primitives.

Each operator's definition is called as for its own kernel, with values in the place of tensors.
What it gives has the type that eager calls give, so that what is computed between two operators is
rounded as if it had been in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.making import meta_window
from aten._core.tensor.tensor import Tensor
from aten.backends.decomposition import pointwise_value
from aten.backends.memories import Memory
from aten.backends.structured import definition_of, has_definition
from aten.compiler.calls import operator_of
from aten.compiler.gathers import Gather, gather_of
from aten.graph.ir import Node, TensorMeta, map_nodes
from aten.loops.addressing import element, from_the_end, inside, number
from aten.ops.folding import run_reduction
from aten.prims import Graph, GraphInterpreter, Prim, Value

_OVER_ELEMENTS = ("pointwise", "reduction")
# In what is known of a node: its recorded sizes are those of one call, of a program for several.
SIZED_BY_CALL = "sized_by_call"


_ON_THE_HOST = empty_strided((0,), (1,), DTYPES["float32"], device("cpu"))


def is_as_made(op: OpOverload) -> bool:
    """Whether calls with tensors of the host end in the kernel that the operator came with."""
    return op.is_plain(_ON_THE_HOST)


def is_own(node: Node) -> bool:
    """Whether a node calls an operator that nobody has given another kernel for the host."""
    op = operator_of(node)
    return op is not None and is_as_made(op)


def is_row_major(meta: TensorMeta) -> bool:
    """Whether strides say so, those of dimensions of one element as well."""
    expected: list[Any] = [1]
    for size in meta.shape[:0:-1]:
        expected.append(expected[-1] * size)
    return tuple(meta.stride) == tuple(expected[::-1][: len(meta.shape)])


def is_over_elements(op: OpOverload) -> bool:
    """Whether an operator's results are arithmetic on elements that its definition says."""
    return (
        op.entry.kind in _OVER_ELEMENTS
        and op.entry.variant == "functional"
        and has_definition(op)
        and definition_of(op).options.meta is None
    )


class Composition:
    """The values of a stretch of a program, and what is known of them as tensors.

    Attributes:
        inputs: the values that are read from memory.
        memories: where each of them is, among the tensors that were given.
        numbers: the sizes and strides that index expressions have.
        rows: the places of inputs of which rows are read at indices.
        apart: those of inputs of which neighbours are read at an index each.
    """

    def __init__(self) -> None:
        self.interpreter = GraphInterpreter()
        self.inputs: list[Value] = []
        self.memories: list[Memory] = []
        self.numbers: list[int] = []
        self.rows: set[int] = set()
        self.apart: set[int] = set()
        self._places: dict[Node, int] = {}
        # By the identity of the tensors that describe them, which are kept: no other one gets it.
        self._values: dict[int, Value] = {}
        self._described: dict[Node, Any] = {}

    def add_input(self, node: Node, tensor: Tensor, *, is_table: bool = False) -> None:
        """Let `node` be a tensor like this one: the next of those given.

        Of a table, elements are read by index alone.
        """
        described = meta_window(tensor)
        self._described[node] = described
        self._places[node] = len(self._places)
        if is_table:
            return
        memory = Memory(
            self._places[node], tensor.dtype, tuple(tensor.shape), tuple(tensor.stride())
        )
        self._values[id(described)] = self._read(memory)

    def add(self, node: Node) -> None:
        """Compute `node`, whose operands are there.

        Raises what the operator raises for operands like these.
        """
        if node.target == "operator.getitem":
            whole, place = node.args
            self._described[node] = self._described[whole][place]
            return
        op = operator_of(node)
        assert op is not None
        args = [self._given(one) for one in node.args]
        kwargs = {name: self._given(one) for name, one in node.kwargs.items()}
        described = op(*args, **kwargs)
        gather = gather_of(node)
        if gather is not None:
            results: tuple[Value, ...] = (self._element(gather, described),)
        else:
            results = self._results(op, args, kwargs)
        self._described[node] = described
        listed = (described,) if isinstance(described, Tensor) else described
        for one, value in zip(listed, results, strict=True):
            self._values[id(one)] = value

    def described(self, node: Node) -> Tensor:
        """A tensor of the meta device that is like the node's."""
        return self._described[node]  # type: ignore[no-any-return]

    def value(self, node: Node) -> Value:
        """The value of a node."""
        return self._values[id(self._described[node])]

    def graph(self, name: str, outputs: Sequence[Node]) -> Graph:
        """The graph that computes the nodes."""
        inputs = [value.payload for value in self.inputs]
        return Graph(name, inputs, [self.value(node).payload for node in outputs])

    def _read(self, memory: Memory) -> Value:
        """The value that the walk meets there."""
        value = self.interpreter.input(len(self.inputs), memory.dtype, memory.sizes)
        self.inputs.append(value)
        self.memories.append(memory)
        return value

    def _element(self, gather: Gather, described: Tensor) -> Value:
        """What lies at an index: the window on the table stays where it is along that."""
        table, index = self._described[gather.table], self._described[gather.index]
        sizes = tuple(described.shape)
        window = self._read(
            Memory(self._places[gather.table], table.dtype, sizes, gather.strides(table.stride()))
        )
        first = len(self.numbers)
        self.numbers += [table.size(gather.dim), table.stride(gather.dim) * table.itemsize]
        is_apart = gather.reads_apart(sizes, index.stride())
        (self.apart if is_apart else self.rows).add(len(self.inputs) - 1)
        size, step = (number(window, first + at) for at in range(2))
        at = self._value_of(index)
        if gather.wraps:
            at = from_the_end(at, size)
        offset = Prim.table["broadcast_in_dim"](
            inside(at, size) * step, shape=sizes, broadcast_dimensions=gather.places
        )
        return element(window, offset)

    def _given(self, argument: Any) -> Any:
        return map_nodes(argument, lambda node: self._described[node])

    def _results(
        self, op: OpOverload, args: list[Any], kwargs: dict[str, Any]
    ) -> tuple[Value, ...]:
        definition = definition_of(op)
        named = {p.name: p.default for p in definition.parameters if p.has_default}
        named.update(zip((p.name for p in definition.parameters), args, strict=False))
        named.update(kwargs)
        ordered = {p.name: named[p.name] for p in definition.parameters}
        if op.entry.kind == "pointwise":
            return (pointwise_value(definition, ordered, self.interpreter, self._value_of),)
        results, _ = run_reduction(definition, list(ordered.values()), self._value_of)
        return results

    def _value_of(self, tensor: Tensor) -> Value:
        return self._values[id(tensor)]


def composed(
    nodes: Iterable[Node], inputs: Sequence[Node], tensors: Sequence[Tensor]
) -> Composition:
    """The values of `nodes` where `inputs` are tensors like these."""
    composition = Composition()
    nodes = list(nodes)
    read = {one for node in nodes for one in _read_by(node)}
    for node, tensor in zip(inputs, tensors, strict=True):
        composition.add_input(node, tensor, is_table=node not in read)
    for node in nodes:
        composition.add(node)
    return composition


def _read_by(node: Node) -> Sequence[Node]:
    """What a node reads wherever the walk is."""
    gather = gather_of(node)
    return node.all_input_nodes if gather is None else (gather.index,)
