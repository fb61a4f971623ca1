"""Plans for operators with folds: from a definition and its operands to launches.

A reduction of many elements to one point is cut into chunks of a fixed number of elements, folded
to partial results by the threads, which a second launch then folds. Where the cuts fall depends on
a row's length alone, so results do not depend on the number of threads, nor on other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aten._core.dtypes import DTYPES, dtype
from aten._core.plan import Launch, Plan
from aten.loops.geometry import (
    Dimension,
    Operand,
    Space,
    access,
    axis_strides,
    dimensions,
    find_space,
    is_row,
)
from aten.loops.pipeline import lower
from aten.loops.program import FOLDS, SCANS, Program
from aten.prims import Graph, GraphInterpreter, Node, Prim

Generate = Callable[[Program], tuple[int, Any]]

# Elements in one chunk of a reduction that is cut, and the least number of chunks worth it.
_CHUNK = 1 << 16
_LEAST_CHUNKS = 4


@dataclass(slots=True)
class Memory:
    """A tensor of a plan: its place in the plan's list, its element type, sizes and strides."""

    source: int
    dtype: dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def operand(self, node: Node) -> Operand:
        """As an operand of a graph, strides in bytes."""
        return Operand(node, tuple(stride * self.dtype.itemsize for stride in self.strides))


def row_major(sizes: Sequence[int]) -> tuple[int, ...]:
    """Strides of `sizes` without gaps, the last dimension innermost."""
    strides = []
    stride = 1
    for size in reversed(sizes):
        strides.append(stride)
        stride *= max(size, 1)
    return tuple(reversed(strides))


def in_order_of(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of `sizes` without gaps, dimensions in memory in the order that `strides` has."""
    order = sorted(range(len(sizes)), key=lambda axis: (-strides[axis], axis))
    packed = row_major([sizes[axis] for axis in order])
    return tuple(packed[order.index(axis)] for axis in range(len(sizes)))


def _output_strides(graph: Graph, node: Node, inputs: Sequence[Memory]) -> tuple[int, ...]:
    """Results of folds and scans are row-major; others lie as the first operand of their shape."""
    if not any(made.prim in FOLDS or made.prim in SCANS for made in graph.nodes()):
        for memory in inputs:
            if memory.sizes == node.shape and 0 not in (*memory.sizes, *memory.strides):
                return in_order_of(memory.sizes, memory.strides)
    return row_major(node.shape)


def plan_graph(
    graph: Graph,
    inputs: Sequence[Memory],
    *,
    generate: Generate | None,
    device_type: int,
    single: bool,
) -> Plan:
    """The plan that runs `graph` on tensors like `inputs`; without `generate`, metadata only."""
    outputs = [
        Memory(len(inputs) + place, node.dtype, node.shape, _output_strides(graph, node, inputs))
        for place, node in enumerate(graph.outputs)
    ]
    described = [(memory.dtype, memory.sizes, memory.strides) for memory in outputs]
    temporaries: list[Memory] = []
    launches: list[Launch] = []
    if generate is not None and any(0 not in memory.sizes for memory in outputs):
        builder = _Builder(graph, [*inputs, *outputs], temporaries, generate)
        launches = builder.launches()
    return Plan(
        launches,
        described,
        [(memory.dtype, memory.sizes, memory.strides) for memory in temporaries],
        len(inputs),
        single,
        device_type,
        generate is not None,
    )


class _Builder:
    """Makes the launches of one plan."""

    def __init__(
        self, graph: Graph, memories: list[Memory], temporaries: list[Memory], generate: Generate
    ) -> None:
        self.graph = graph
        self.memories = memories
        self.temporaries = temporaries
        self.generate = generate
        self.space = find_space(graph)
        self.operands = [
            memory.operand(node)
            for memory, node in zip(memories, (*graph.inputs, *graph.outputs), strict=True)
        ]
        ordered = any(node.prim == "position" for node in graph.nodes())
        self.kept, self.reduced = dimensions(self.space, self.operands, keep_order=ordered)

    def launches(self) -> list[Launch]:
        """One launch, or two where the reduction is cut."""
        if not self._worth_cutting():
            return [self._launch(self.graph, self.space, self.kept, self.reduced, self.memories)]
        return self._cut_launches()

    def _launch(
        self,
        graph: Graph,
        space: Space,
        kept: list[Dimension],
        reduced: list[Dimension],
        memories: list[Memory],
        *,
        extent: int | None = None,
        offsets: list[int] | None = None,
    ) -> Launch:
        nodes = (*graph.inputs, *graph.outputs)
        folded = bool(space.reduced)
        if folded and not reduced:
            reduced = [Dimension(1, [0] * len(nodes))]
        order = _order(kept, reduced, [node.dtype.itemsize for node in nodes]) if folded else "row"
        along = reduced[-1] if folded and order == "row" else (kept[-1] if kept else None)
        accesses = tuple(
            "unit" if along is None else access(along.strides[place], node.dtype.itemsize)
            for place, node in enumerate(nodes)
        )
        program = lower(
            graph,
            accesses=_writable(accesses, len(graph.inputs)),
            row_inputs=frozenset(
                place for place, node in enumerate(graph.inputs) if is_row(node, space)
            ),
            reduced_rank=len(reduced) if folded else 0,
            order=order,
        )
        address, owner = self.generate(program)
        count = _product(dimension.size for dimension in reduced)
        words = [count if extent is None else extent, *(one.size for one in reduced)]
        for place in range(len(nodes)):
            words += [dimension.strides[place] for dimension in reduced]
        return Launch(
            graph.name,
            address,
            owner,
            [dimension.size for dimension in reversed(kept)],
            [dimension.strides for dimension in reversed(kept)],
            words if folded else [],
            [memory.source for memory in memories],
            offsets or [0] * len(nodes),
            count * max(1, len(graph.nodes()) // 4),
        )

    def _worth_cutting(self) -> bool:
        """One level of folds, no full results, many elements in one run.

        How many points there are does not matter: a row's bits would depend on it.
        """
        if len(self.reduced) != 1:
            return False
        if self.reduced[0].size < _CHUNK * _LEAST_CHUNKS:
            return False
        nodes = self.graph.nodes()
        folds = [node for node in nodes if node.prim in FOLDS]
        return (
            not any(node.prim in ("position", "argmax", "argmin") for node in nodes)
            and not any(_depends_on_fold(fold) for fold in folds)
            and all(is_row(node, self.space) for node in self.graph.outputs)
            and all(_follows_folds(node) for node in self.graph.outputs)
        )

    def _cut_launches(self) -> list[Launch]:
        folds = [node for node in self.graph.nodes() if node.prim in FOLDS]
        size = self.reduced[0].size
        whole, rest = divmod(size, _CHUNK)
        chunks = whole + (rest > 0)
        partials = [self._temporary(fold, chunks) for fold in folds]
        launches = [self._partial_launch(folds, partials, 0, whole, _CHUNK)]
        if rest:
            launches.append(self._partial_launch(folds, partials, whole, 1, rest))
        launches.append(self._joining_launch(folds, partials, size))
        return launches

    def _temporary(self, fold: Node, chunks: int) -> Memory:
        points = _product(dimension.size for dimension in self.kept)
        sizes = (points, chunks)
        source = len(self.memories) + len(self.temporaries)
        memory = Memory(source, fold.dtype, sizes, row_major(sizes))
        self.temporaries.append(memory)
        return memory

    def _partial_launch(
        self, folds: list[Node], partials: list[Memory], first: int, count: int, size: int
    ) -> Launch:
        """Fold `count` chunks of `size` elements, beginning with chunk number `first`."""
        graph = Graph(f"{self.graph.name}_partial", self.graph.inputs, folds)
        inputs: list[Operand] = self.operands[: len(graph.inputs)]
        (along,) = self.reduced
        strides = [along.strides[place] for place in range(len(inputs))]
        chunk = Dimension(
            count, [_CHUNK * stride for stride in strides] + [fold.dtype.itemsize for fold in folds]
        )
        kept = [chunk, *self._points(inputs, partials)]
        offsets = [first * stride for stride in chunk.strides]
        memories = [*self.memories[: len(inputs)], *partials]
        reduced = [Dimension(size, strides + [0] * len(folds))]
        return self._launch(graph, self.space, kept, reduced, memories, offsets=offsets)

    def _points(self, inputs: list[Operand], partials: list[Memory]) -> list[Dimension]:
        """The kept dimensions in the order of the shape, as partial results are laid out."""
        axes = [axis for axis in range(len(self.space.shape)) if axis not in self.space.reduced]
        steps = row_major([self.space.shape[axis] for axis in axes])
        strides = [axis_strides(operand, self.space) for operand in inputs]
        return [
            Dimension(
                self.space.shape[axis],
                [operand[axis] for operand in strides]
                + [step * partial.strides[0] * partial.dtype.itemsize for partial in partials],
            )
            for axis, step in zip(axes, steps, strict=True)
            if self.space.shape[axis] != 1
        ]

    def _joining_launch(self, folds: list[Node], partials: list[Memory], extent: int) -> Launch:
        """Fold the partial results, and compute what follows from the folds."""
        interpreter = GraphInterpreter()
        made: dict[int, Any] = {}
        inputs = []
        for place, (fold, partial) in enumerate(zip(folds, partials, strict=True)):
            value = interpreter.input(place, partial.dtype, partial.sizes)
            inputs.append(value)
            made[id(fold)] = _folded_widely(fold, value)
        for node in self.graph.nodes():
            if id(node) in made or not _follows_folds(node):
                continue
            if node.prim == "constant":
                made[id(node)] = interpreter.constant(node.params["value"], node.dtype)
            elif node.prim == "extent":
                made[id(node)] = Prim.table["extent"](inputs[0], dims=(1,), dtype=node.dtype)
            elif node.prim == "broadcast_in_dim":
                made[id(node)] = made[id(node.inputs[0])]
            else:
                values = tuple(made[id(operand)] for operand in node.inputs)
                made[id(node)] = interpreter.bind(Prim.table[node.prim], values, node.params)
        results = [made[id(node)].payload for node in self.graph.outputs]
        graph = Graph(self.graph.name, [value.payload for value in inputs], results)
        outputs = self.memories[len(self.graph.inputs) :]
        flat = [
            Memory(memory.source, memory.dtype, node.shape, row_major(node.shape))
            for memory, node in zip(outputs, results, strict=True)
        ]
        memories = [*partials, *flat]
        space = find_space(graph)
        operands = [
            memory.operand(node)
            for memory, node in zip(memories, (*graph.inputs, *graph.outputs), strict=True)
        ]
        kept, reduced = dimensions(space, operands, keep_order=False)
        return self._launch(graph, space, kept, reduced, memories, extent=extent)


def _folded_widely(fold: Node, partial: Any) -> Any:
    """Partial results folded; those of float32 in float64, for there are few of them."""
    folded = Prim.table[fold.prim]
    if fold.dtype.name != "float32":
        return folded(partial, dims=(1,))
    convert = Prim.table["convert_element_type"]
    return convert(folded(convert(partial, dtype=DTYPES["float64"]), dims=(1,)), dtype=fold.dtype)


def _depends_on_fold(node: Node) -> bool:
    return any(
        operand.prim in FOLDS or operand.prim == "extent" or _depends_on_fold(operand)
        for operand in node.inputs
    )


def _follows_folds(node: Node) -> bool:
    """Whether a value needs nothing but folds, extents and constants."""
    if node.prim in FOLDS or node.prim in ("extent", "constant"):
        return True
    return bool(node.inputs) and all(_follows_folds(operand) for operand in node.inputs)


def _order(kept: list[Dimension], reduced: list[Dimension], widths: list[int]) -> str:
    """Whether the vector loop runs along a row or across columns: along the smaller stride.

    A row of neighbours is never folded as a column: its bits would depend on the rows beside it.
    """
    steps = reduced[-1].strides
    first = next((place for place, step in enumerate(steps) if step), None)
    if not kept or first is None or steps[first] == widths[first]:
        return "row"
    for inner, outer in zip(kept[-1].strides, steps, strict=True):
        if inner and outer:
            return "column" if inner < outer else "row"
    return "row"


def _writable(accesses: tuple[str, ...], inputs: int) -> tuple[str, ...]:
    """Outputs that the innermost loop stays on are written outside it: any step will do."""
    return accesses[:inputs] + tuple("unit" if one == "zero" else one for one in accesses[inputs:])


def _product(sizes: Any) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product
