"""Programs whose sizes are symbols: captured once, and bound to the sizes of each kind of call.

Numbers of a captured graph that depend on sizes become inputs of it. Machine code never knows
sizes; what is left to do for others is to see whether the captured conditions hold, to evaluate
those numbers, and to plan how the kernels walk, all of which is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.compiler.programs import CompiledProgram
from aten.compiler.values import SIZED_BY_CALL
from aten.graph.ir import Graph, Node, TensorMeta, concrete
from aten.graph.pytree import map_tensors
from aten.graph.symbolic import Expression, Number, SymbolicError
from aten.transforms.recording import Recording
from aten.transforms.symbols.environment import ShapeEnvironment
from aten.transforms.symbols.numbers import SymFloat, SymInt

# Sizes that no symbol stands for: programs are others there.
_LEAST_SIZE = 2
Symbols = dict[int, tuple[SymInt | None, ...]]


class BoundProgram(NamedTuple):
    """A program for calls of some sizes.

    Attributes:
        program: the program of all sizes.
        sizes: its numbers that depend on sizes.
        results: what it returns, as a nest of tensors and numbers.
    """

    program: CompiledProgram
    sizes: tuple[Number, ...]
    results: Any

    @property
    def writes(self) -> bool:
        """Whether it writes to arguments or constants."""
        return self.program.writes

    def stands(self) -> bool:
        """Whether the kernels stand for what their operators' rows hold."""
        return self.program.stands()

    def __call__(self, tensors: Sequence[Tensor]) -> Any:
        """The function's results for these tensors."""
        values = iter(self.program.values([*tensors, *self.sizes]))
        return map_tensors(lambda _: next(values), self.results)


class DynamicProgram:
    """A recorded function whose arguments have symbolic sizes.

    Attributes:
        program: what runs, for all of them.
        environment: the symbols, and what the program relies on.
        expressions: what numbers and sizes of it are computed of symbols.
    """

    def __init__(self, recording: Recording, environment: ShapeEnvironment, count: int) -> None:
        self.environment = environment
        self.records: list[TensorMeta] = [
            node.meta["val"] for node in recording.graph.placeholders[:count]
        ]
        self.expressions: set[Expression] = set()
        for node in recording.graph.nodes:
            _note(node.meta.get("val"), self.expressions)
        graph, self._numbers = _with_inputs_for_numbers(recording.graph, count, environment)
        self.expressions.update(self._numbers)
        self._results = recording.results
        self.program = CompiledProgram(graph, recording.constants, recording.results)
        self.program.sizes = str(self)

    def bound(self, tensors: Sequence[Tensor]) -> BoundProgram | str:
        """The program for tensors like these, or which condition of it they do not keep."""
        bindings: dict[str, Number] = {}
        for record, one in zip(self.records, tensors, strict=True):
            for size, given in zip(record.shape, one.shape, strict=True):
                if isinstance(size, Expression) and size.is_symbol:
                    bindings.setdefault(size.head, given)
        try:
            reason = self._broken(tensors, bindings)
            if reason:
                return reason
            sizes = tuple(one.evaluate(bindings) for one in self._numbers)
            results = map_numbers(self._results, lambda one: one.evaluate(bindings))
        except SymbolicError as error:
            return str(error)
        return BoundProgram(self.program, sizes, results)

    def _broken(self, tensors: Sequence[Tensor], bindings: dict[str, Number]) -> str:
        for name, size in bindings.items():
            if size not in self.environment.ranges[name]:
                return f"{name} is {size}, out of {self.environment.ranges[name]}"
        for place, (record, one) in enumerate(zip(self.records, tensors, strict=True)):
            sizes = tuple(concrete(size, bindings) for size in record.shape)
            if sizes != tuple(one.shape):
                return f"argument {place} is of {list(one.shape)}, not {list(sizes)}"
            strides = tuple(concrete(size, bindings) for size in record.stride)
            if strides != one.stride():
                return f"argument {place} lies with strides {one.stride()}, not {strides}"
        sizes_of = {name: int(size) for name, size in bindings.items()}
        for guard in self.environment.guards:
            if not guard.holds(sizes_of):
                given = ", ".join(f"{name} = {sizes_of[name]}" for name in _symbols_of(guard))
                return f"{guard} does not hold for {given}"
        return ""

    def __str__(self) -> str:
        """Which sizes it is for."""
        known = self.environment
        free = [name for name in known.ranges if name not in known.replaced]
        ranges = [f"{name} {known.ranges[name]}" for name in free]
        guards = dict.fromkeys(map(str, known.guards))
        return f"sizes {', '.join([*ranges, *guards])}"


def symbols_for(
    environment: ShapeEnvironment, tensors: Sequence[Tensor], moving: Callable[[int, int], bool]
) -> Symbols:
    """Symbols for those sizes of the tensors, by argument and dimension, that are to move."""
    made: Symbols = {}
    for place, one in enumerate(tensors):
        made[place] = tuple(
            environment.symbol(hint=size) if size >= _LEAST_SIZE and moving(place, dim) else None
            for dim, size in enumerate(one.shape)
        )
    return {place: sizes for place, sizes in made.items() if any(one is not None for one in sizes)}


def map_numbers(value: Any, function: Callable[[Any], Any]) -> Any:
    """A nest with what `function` gives for the expressions of its symbolic numbers."""
    if isinstance(value, SymInt):
        return function(value.expression)
    if isinstance(value, SymFloat):
        # A float, also where the number is a whole one: the dtypes of results depend on it.
        return function(Expression("float", function=float, arguments=(value.expression,)))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_numbers(one, function) for one in value))
    if isinstance(value, (list, tuple)):
        return type(value)(map_numbers(one, function) for one in value)
    if isinstance(value, dict):
        return {key: map_numbers(one, function) for key, one in value.items()}
    return value


def _symbols_of(guard: Any) -> Iterator[str]:
    yield from sorted(guard.left.symbols() | guard.right.symbols())


def _with_inputs_for_numbers(
    graph: Graph, count: int, environment: ShapeEnvironment
) -> tuple[Graph, list[Expression]]:
    """The graph with an input, behind its arguments, for each number that depends on sizes, and
    these numbers. What is recorded of values is what holds for the hints."""
    numbers: dict[str, tuple[Expression, Node]] = {}

    def node_of(expression: Expression) -> Node:
        known = numbers.get(str(expression))
        if known is None:
            name = f"size_{len(numbers)}"
            value = expression.evaluate(environment.hints)
            known = expression, Node(name, "placeholder", name, meta={"val": value})
            numbers[str(expression)] = known
        return known[1]

    for node in graph.nodes:
        node.args = map_numbers(node.args, node_of)
        node.kwargs = map_numbers(node.kwargs, node_of)
        if "val" in node.meta:
            symbolic: set[Expression] = set()
            _note(node.meta["val"], symbolic)
            if symbolic:
                node.meta[SIZED_BY_CALL] = True
            node.meta["val"] = _for_hints(node.meta["val"], environment)
    made = Graph()
    made.subgraphs, made.returns_single = graph.subgraphs, graph.returns_single
    inputs = graph.placeholders
    others = [node for node in graph.nodes if node.op != "placeholder"]
    given = [node for _, node in numbers.values()]
    made.nodes = [*inputs[:count], *given, *inputs[count:], *others]
    return made, [expression for expression, _ in numbers.values()]


def _note(record: Any, found: set[Expression]) -> None:
    """Add the sizes, strides and offsets that are no numbers."""
    if isinstance(record, TensorMeta):
        every = (*record.shape, *record.stride, record.storage_offset)
        found.update(one for one in every if isinstance(one, Expression))
    elif isinstance(record, (list, tuple)):
        for one in record:
            _note(one, found)
    elif isinstance(record, Expression):
        found.add(record)


def _for_hints(record: Any, environment: ShapeEnvironment) -> Any:
    hints: dict[str, Number] = dict(environment.hints)
    if isinstance(record, TensorMeta):
        return record._replace(
            shape=tuple(int(concrete(one, hints)) for one in record.shape),
            stride=tuple(int(concrete(one, hints)) for one in record.stride),
            storage_offset=int(concrete(record.storage_offset, hints)),
        )
    if isinstance(record, (list, tuple)):
        return [_for_hints(one, environment) for one in record]
    return record
