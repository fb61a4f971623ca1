"""Plans for operators with folds: from a definition and its operands to launches.

A reduction of many elements to one point is cut into pieces, folded to partial results by the
threads, which a last launch then folds. Pieces are chunks of a fixed number of elements; where
elements lie few steps apart, every so manieth element of a chunk, so that the vector loop runs over
many pieces that are neighbours in memory. Where the cuts fall depends on a row's length and step
alone, so results do not depend on the number of threads, nor on other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten.backends.cpu.kernels.folding.plan import Launch, Plan
from aten.backends.cpu.target import HOST
from aten.backends.fold_order import (
    depending_on_folds,
    folds_rows,
    following_folds,
    has_few,
    loop_order,
    points_of_few,
    writable,
)
from aten.backends.memories import Memory, in_order_of, straightened
from aten.backends.terms import LaunchTerms
from aten.loops.geometry import (
    Dimension,
    Operand,
    Space,
    access,
    axis_strides,
    dimensions,
    find_space,
    in_memory_order,
    is_row,
    joined,
)
from aten.loops.pipeline import lower
from aten.loops.program import FOLDS, SCANS, Program
from aten.loops.structural import Step, Steps, row_major, spread_node
from aten.loops.target import Target
from aten.prims import Graph, GraphInterpreter, Node, Prim

# Of columns that are folded beside each other, so that a thread takes as many as fill vectors: a
# line of memory is read for all of them, or once for each.
_MOST_WORK_ACROSS = 512

Generate = Callable[[Program], tuple[int, Any]]


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
    target: Target = HOST,
    strides: Sequence[tuple[int, ...]] | None = None,
    parts: Parts | None = None,
    tensors: int | None = None,
    numbers: Sequence[int] = (),
) -> Plan:
    """The plan that runs `graph` on tensors like `inputs`; without `generate`, metadata only.

    `generate` makes code for `target`, which says how folds are cut. `strides` are those of the
    results, which have no gaps; without them, results lie as folds leave them, or as the first
    operand of their shape. Where inputs are windows, some on the same tensor, `tensors` says how
    many of these there are, and `numbers` go into index expressions.

    Raises UnsupportedGraphError where one walk cannot fill its results, for metadata alike.
    """
    parts = parts or Parts()
    count = len(inputs) if tensors is None else tensors
    outputs = [
        Memory(
            count + place,
            node.dtype,
            node.shape,
            strides[place] if strides is not None else _output_strides(graph, node, inputs),
        )
        for place, node in enumerate(graph.outputs)
    ]
    described = [(memory.dtype, memory.sizes, memory.strides) for memory in outputs]
    temporaries: list[Memory] = []
    launches: list[Launch] = []
    last: list[Launch] = []
    space = find_space(graph)
    if generate is not None and any(0 not in memory.sizes for memory in outputs):
        first = count + len(outputs)
        memories = [*inputs, *outputs]
        if not numbers and tensors is None:
            moved = straightened(graph, space, memories)
            for place, steps in moved.items():
                given = memories[place]
                memories[place] = Memory(first + len(temporaries), given.dtype, given.sizes, steps)
                temporaries.append(memories[place])
                if place < len(inputs):
                    launches += _copies(given, memories[place], generate, target, parts)
                else:
                    last += _copies(memories[place], given, generate, target, parts)
        builder = _Builder(
            *(graph, space, memories, temporaries, generate, target, parts),
            by_output=bool(numbers),
            in_order=bool(numbers),
        )
        builder.numbers = list(numbers)
        builder.first_temporary = first
        launches += [*builder.launches(), *last]
    plan: Plan = parts.plan(
        launches,
        described,
        [(memory.dtype, memory.sizes, memory.strides) for memory in temporaries],
        count,
        single,
        device_type,
        generate is not None,
    )
    return plan


def _copies(
    memory: Memory, straight: Memory, generate: Generate, target: Target, parts: Parts
) -> list[Launch]:
    """The launch that fills `straight` with the elements of `memory`."""
    node = GraphInterpreter().input(0, memory.dtype, memory.sizes).payload
    graph = Graph("copy", [node], [node])
    space = find_space(graph)
    builder = _Builder(
        graph, space, [memory, straight], [], generate, target, parts, by_output=True
    )
    return builder.launches()


def plan_steps(
    lowered: Steps,
    inputs: int,
    *,
    generate: Generate | None,
    device_type: int,
    prepared: Callable[[Graph], Graph],
    target: Target = HOST,
    parts: Parts | None = None,
) -> Plan:
    """The plan of a structural primitive with so many tensors; see `plan_graph`."""
    parts = parts or Parts()
    made, *kept = [(one.dtype, one.sizes, one.strides) for one in (lowered.result, *lowered.kept)]
    launches: list[Launch] = []
    if generate is not None:
        for step in lowered.steps:
            launches += _launches_of(step, generate, prepared, target, parts)
    plan: Plan = parts.plan(launches, [made], kept, inputs, True, device_type, generate is not None)
    return plan


def _launches_of(
    step: Step,
    generate: Generate,
    prepared: Callable[[Graph], Graph],
    target: Target,
    parts: Parts,
) -> list[Launch]:
    graph = _filling(prepared(step.graph), step)
    space = find_space(graph)
    if step.serial:
        space.reduced = step.serial
    kept = [size for dim, size in enumerate(space.shape) if dim not in space.reduced]
    if 0 in kept or (step.serial and 0 in space.shape):
        return []
    memories = [Memory(one.source, one.dtype, one.sizes, one.strides) for one in step.windows]
    offsets = [one.offset * one.dtype.itemsize for one in step.windows]
    builder = _Builder(graph, space, memories, [], generate, target, parts, by_output=True)
    builder.across = step.across
    return builder.launches_at(offsets, step.numbers)


def _filling(graph: Graph, step: Step) -> Graph:
    """`graph`, the outputs of which have an element for each of their windows'."""
    windows = step.windows[len(graph.inputs) :]
    outputs = [
        spread_node(node, window.sizes) for node, window in zip(graph.outputs, windows, strict=True)
    ]
    return Graph(graph.name, graph.inputs, outputs)


@dataclass(frozen=True)
class Parts:
    """What plans and launches are: the CPU's know addresses.

    A launch is made of its terms, its code and what owns that.
    """

    plan: Callable[..., Any] = Plan
    launch: Callable[..., Any] = Launch


class _Builder:
    """Makes the launches of one plan."""

    def __init__(
        self,
        graph: Graph,
        space: Space,
        memories: list[Memory],
        temporaries: list[Memory],
        generate: Generate,
        target: Target,
        parts: Parts,
        *,
        by_output: bool = False,
        in_order: bool = False,
    ) -> None:
        self.target = target
        self.parts = parts
        self.numbers: list[int] = []
        self.first_temporary = len(memories)
        self.across = False
        self.graph = graph
        self.space = space
        self.memories = memories
        self.temporaries = temporaries
        self.generate = generate
        self.operands = [
            memory.operand(node)
            for memory, node in zip(memories, (*graph.inputs, *graph.outputs), strict=True)
        ]
        ordered = in_order or any(node.prim == "position" for node in graph.nodes())
        self.kept, self.reduced = dimensions(
            self.space, self.operands, keep_order=ordered, by_output=by_output
        )

    def launches(self) -> list[Launch]:
        """One launch, or two where the reduction is cut."""
        if not self._worth_cutting():
            return [self._launch(self.graph, self.space, self.kept, self.reduced, self.memories)]
        return self._cut_launches()

    def launches_at(self, offsets: list[int], numbers: list[int]) -> list[Launch]:
        """One launch on windows that begin so many bytes behind their tensors."""
        self.numbers = numbers
        return [
            self._launch(
                self.graph, self.space, self.kept, self.reduced, self.memories, offsets=offsets
            )
        ]

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
        order = "row"
        if folded and has_few(graph, reduced):
            order, kept = "column", points_of_few(kept, len(nodes))
        elif folded:
            widths = [node.dtype.itemsize for node in nodes]
            across = self.across or folds_rows(graph, kept, reduced, widths)
            order = "column" if across and kept else loop_order(kept, reduced, widths)
        along = reduced[-1] if folded and order == "row" else (kept[-1] if kept else None)
        accesses = tuple(
            "unit" if along is None else access(along.strides[place], node.dtype.itemsize)
            for place, node in enumerate(nodes)
        )
        program = lower(
            graph,
            accesses=writable(accesses, graph),
            row_inputs=frozenset(
                place for place, node in enumerate(graph.inputs) if is_row(node, space)
            ),
            full_outputs=frozenset(
                place for place, node in enumerate(graph.outputs) if not is_row(node, space)
            ),
            reduced_rank=len(reduced) if folded else 0,
            order=order,
            buffered=(
                order == "row" and _product(one.size for one in reduced) <= self.target.buffered
            ),
            costly=self.target.costly,
        )
        code, owner = self.generate(program)
        count = _product(dimension.size for dimension in reduced)
        work = count * max(1, len(graph.nodes()) // 4)
        if order == "column":
            work = min(work, _MOST_WORK_ACROSS)
        words = [count if extent is None else extent, *(one.size for one in reduced)]
        for place in range(len(nodes)):
            words += [dimension.strides[place] for dimension in reduced]
        terms = LaunchTerms(
            label=graph.name,
            sizes=tuple(dimension.size for dimension in reversed(kept)),
            strides=tuple(tuple(dimension.strides) for dimension in reversed(kept)),
            reduced=(*(words if folded else ()), *self.numbers),
            sources=tuple(memory.source for memory in memories),
            offsets=tuple(offsets or [0] * len(nodes)),
            work=work,
        )
        launch: Launch = self.parts.launch(terms, code, owner)
        return launch

    def _worth_cutting(self) -> bool:
        """One level of folds, no full results, many elements in one run.

        How many points there are does not matter: a row's bits would depend on it.
        """
        if len(self.reduced) != 1:
            return False
        lanes, target = self._lanes(), self.target
        whole = target.chunk * target.least_chunks
        least = target.least_lane * lanes if lanes > 1 else whole
        if self.reduced[0].size < least:
            return False
        nodes = self.graph.nodes()
        depending, following = depending_on_folds(nodes), following_folds(nodes)
        return (
            not any(node.prim in ("position", "argmax", "argmin") for node in nodes)
            and not any(node.prim in FOLDS and id(node) in depending for node in nodes)
            and all(is_row(node, self.space) for node in self.graph.outputs)
            and all(id(node) in following for node in self.graph.outputs)
        )

    def _step(self) -> int:
        """How many elements a row's neighbours lie apart, in the first operand that moves."""
        for node, stride in zip(self.graph.inputs, self.reduced[0].strides, strict=False):
            if stride:
                return stride // node.dtype.itemsize
        return 1

    def _lanes(self) -> int:
        """How many interleaved pieces a chunk is cut into."""
        step = self._step()
        return self.target.wide // step if 1 < step <= self.target.narrow else 1

    def _reads_gaps(self) -> bool:
        """Whether all that lies between a row's neighbours is folded along, wanted or not.

        That is memory of the same tensor, but for what follows a row's last element, which is in
        no interleaved piece. The kernel then runs over memory without gaps; what comes of the
        elements in them is never read.
        """
        if len(self.graph.inputs) != 1:
            return False
        (memory,) = self.memories[:1]
        near = [
            (one.size, one.strides[0])
            for one in self._points(self.operands[:1], [])
            if one.size != 1 and one.strides[0] < self.reduced[0].strides[0]
        ]
        return not near or (len(near) == 1 and near[0][1] == memory.dtype.itemsize)

    def _cut_launches(self) -> list[Launch]:
        folds = [node for node in self.graph.nodes() if node.prim in FOLDS]
        size, lanes = self.reduced[0].size, self._lanes()
        pieces = _pieces(size, lanes, self.target)
        partials = [
            self._temporary(fold, sum(one.chunks * one.lanes for one in pieces), lanes)
            for fold in folds
        ]
        first = 0
        launches = []
        for one in pieces:
            launches.append(self._partial_launch(folds, partials, first, one))
            first += one.chunks * one.lanes
        return [*launches, self._joining_launch(folds, partials, size)]

    def _kept_axes(self) -> list[int]:
        return [axis for axis in range(len(self.space.shape)) if axis not in self.space.reduced]

    def _temporary(self, fold: Node, pieces: int, lanes: int) -> Memory:
        """The pieces of every point: side by side, or, where they are interleaved in the input,
        between the points that lie further apart than they do and those that lie closer.

        Those are no neighbours even where there is one point only, so that the order in which they
        are folded does not depend on it.
        """
        sizes = [self.space.shape[axis] for axis in self._kept_axes()]
        strides = [pieces * stride for stride in row_major(sizes)]
        step = 1
        if lanes > 1:
            steps = [one.strides[0] for one in self._points(self.operands[:1], [])]
            order = sorted(range(len(sizes)), key=lambda place: -steps[place])
            far = [place for place in order if steps[place] > self.reduced[0].strides[0]]
            near = [place for place in order if place not in far]
            gapless = self._step() if self._reads_gaps() else 2
            step = max(gapless, _product(sizes[place] for place in near))
            packed = row_major([*(sizes[place] for place in far), pieces * step])
            within = row_major([sizes[place] for place in near])
            for place, stride in zip((*far, *near), (*packed[:-1], *within), strict=True):
                strides[place] = stride
        source = self.first_temporary + len(self.temporaries)
        memory = Memory(source, fold.dtype, (*sizes, pieces), (*strides, step))
        self.temporaries.append(memory)
        return memory

    def _partial_launch(
        self, folds: list[Node], partials: list[Memory], first: int, pieces: _Pieces
    ) -> Launch:
        """Fold `pieces`, the first of which is piece number `first`."""
        graph = Graph(f"{self.graph.name}_partial", self.graph.inputs, folds)
        inputs: list[Operand] = self.operands[: len(graph.inputs)]
        (along,) = self.reduced
        strides = [along.strides[place] for place in range(len(inputs))]
        steps = [partial.strides[-1] * partial.dtype.itemsize for partial in partials]
        chunk = Dimension(
            pieces.chunks,
            [pieces.lanes * pieces.size * stride for stride in strides]
            + [pieces.lanes * step for step in steps],
        )
        lane = Dimension(pieces.lanes, strides + steps)
        points = self._points(inputs, partials)
        if pieces.lanes > 1 and self._reads_gaps():
            points = [one for one in points if one.strides[0] > along.strides[0]]
            widths = [node.dtype.itemsize for node in (*graph.inputs, *folds)]
            points.append(Dimension(self._step(), widths))
        kept = [chunk, *(one for one in points if one.size != 1)]
        if pieces.lanes > 1:
            kept = joined(in_memory_order([lane, *kept]))
        offsets = [pieces.begin * stride for stride in strides] + [first * step for step in steps]
        memories = [*self.memories[: len(inputs)], *partials]
        reduced = [
            Dimension(pieces.size, [pieces.lanes * one for one in strides] + [0] * len(folds))
        ]
        return self._launch(graph, self.space, kept, reduced, memories, offsets=offsets)

    def _points(self, inputs: list[Operand], partials: list[Memory]) -> list[Dimension]:
        """The kept dimensions in the order of the shape, as partial results are laid out."""
        strides = [axis_strides(operand, self.space) for operand in inputs]
        return [
            Dimension(
                self.space.shape[axis],
                [operand[axis] for operand in strides]
                + [partial.strides[place] * partial.dtype.itemsize for partial in partials],
            )
            for place, axis in enumerate(self._kept_axes())
        ]

    def _joining_launch(self, folds: list[Node], partials: list[Memory], extent: int) -> Launch:
        """Fold the partial results, and compute what follows from the folds."""
        interpreter = GraphInterpreter()
        made: dict[int, Any] = {}
        inputs = []
        last = (len(partials[0].sizes) - 1,)
        for place, (fold, partial) in enumerate(zip(folds, partials, strict=True)):
            value = interpreter.input(place, partial.dtype, partial.sizes)
            inputs.append(value)
            made[id(fold)] = _folded_widely(fold, value, last)
        nodes = self.graph.nodes()
        following = following_folds(nodes)
        for node in nodes:
            if id(node) in made or id(node) not in following:
                continue
            if node.prim == "constant":
                made[id(node)] = interpreter.constant(node.params["value"], node.dtype)
            elif node.prim == "extent":
                made[id(node)] = Prim.table["extent"](inputs[0], dims=last, dtype=node.dtype)
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


@dataclass(slots=True)
class _Pieces:
    """`chunks` stretches of a row from element `begin` on, each of `lanes` pieces of `size`.

    A piece has every `lanes`-th element of its chunk.
    """

    begin: int
    chunks: int
    lanes: int
    size: int


def _pieces(size: int, lanes: int, target: Target) -> list[_Pieces]:
    """How a row of `size` elements is cut: whole chunks, what is left of one, what is left then.

    The last element is never in an interleaved piece.
    """
    lane = target.chunk if lanes == 1 else target.lane
    last = 1 if lanes > 1 else 0
    chunks, rest = divmod(size - last, lanes * lane)
    length, single = divmod(rest, lanes)
    found = [
        _Pieces(0, chunks, lanes, lane),
        _Pieces(size - last - rest, 1, lanes, length),
        _Pieces(size - last - single, 1, 1, single + last),
    ]
    return [one for one in found if one.chunks and one.size]


def _folded_widely(fold: Node, partial: Any, dims: tuple[int, ...]) -> Any:
    """Partial results folded; those of float32 in float64, for there are few of them."""
    folded = Prim.table[fold.prim]
    if fold.dtype.name != "float32":
        return folded(partial, dims=dims)
    convert = Prim.table["convert_element_type"]
    return convert(folded(convert(partial, dtype=DTYPES["float64"]), dims=dims), dtype=fold.dtype)


def _product(sizes: Any) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product
