"""A program run at as many sizes as it takes to know what its sizes are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aten.export.dimensions import CaptureError, Dynamic, Symbol
from aten.export.places import place_of_error
from aten.export.solving import Solver, chosen_points
from aten.export.tracing import Trace
from aten.export.unification import DifferingError, Unified, explained
from aten.graph.ir import Node, TensorMeta
from aten.graph.symbolic import Expression, SymbolicError, ValueRange

Point = Mapping[str, int]
_CHECKS = 2  # traces at which what was found is tried
_ROUNDS = 3
_LARGE = 10_007

Sources = Mapping[str, tuple[str, "int | None", Dynamic]]


def captured(
    run: Callable[[Point], Trace],
    symbols: Mapping[str, Symbol],
    sources: Sources,
    numbers: Mapping[str, Node] | None = None,
    allowed: Callable[[Point], bool] = lambda point: True,
) -> tuple[Unified, dict[str, ValueRange]]:
    """One graph of a program, and the sizes it is right for.

    What is found from some traces has to hold at others, or the number of traces is raised. Sizes 0
    and 1 are tried where the limits have them; where the program is another one there, they are
    left out of the range.

    Args:
        run: traces the program with these sizes.
        symbols: the dynamic sizes.
        sources: where each is read.
        numbers: placeholders of dynamic integers by name.
        allowed: whether the program is to run with these sizes; it is with the examples.
    """
    if not symbols:
        return Unified([run({})], Solver([{}]), sources), {}
    examples = {name: one.example for name, one in symbols.items()}
    limits = {name: (one.lower, one.upper) for name, one in symbols.items()}
    points = chosen_points(examples, limits, Solver.points_needed(len(symbols)), allowed=allowed)
    traces = [_traced(run, point, symbols, first=point is points[0]) for point in points]
    found = _unified(traces, points, sources, numbers, symbols)
    for round_number in range(_ROUNDS):
        further = chosen_points(examples, limits, _CHECKS, avoided=points, allowed=allowed)
        if round_number == 0:
            outermost = [one for one in _outermost(limits) if allowed(one)]
            further += [one for one in outermost if one not in [*points, *further]]
        if not further:
            break
        points = [*points, *further]
        traces += [_traced(run, point, symbols, first=False) for point in further]
        again = _unified(traces, points, sources, numbers, symbols)
        if _same(found, again):
            break
        found = again
    else:
        raise CaptureError(
            f"the program's sizes are no sums, products and quotients of {_listed(symbols)}"
        )
    return found, {name: _range(run, found, one, examples) for name, one in symbols.items()}


def _outermost(limits: Mapping[str, tuple[int, int | None]]) -> list[dict[str, int]]:
    """The smallest sizes of at least 2, and the largest, or large ones where there is no limit.

    Branches on sizes that lie between are found if a size on the other side is tried.
    """
    smallest, largest = {}, {}
    large = min(_LARGE, 1 << (40 // len(limits)))  # no more elements than can be counted
    for place, (name, (lower, upper)) in enumerate(limits.items()):
        smallest[name] = max(lower, 2) if upper is None else min(max(lower, 2), upper)
        largest[name] = max(lower, large + place) if upper is None else upper
    return [smallest, largest]


def _listed(symbols: Mapping[str, Symbol]) -> str:
    return ", ".join(str(one) for one in symbols.values())


def _traced(
    run: Callable[[Point], Trace], point: Point, symbols: Mapping[str, Symbol], first: bool
) -> Trace:
    try:
        return run(point)
    except CaptureError:
        raise
    except Exception as error:
        if first:
            raise
        place = place_of_error(error.__traceback__)
        sizes = ", ".join(f"{symbols[name]} = {value}" for name, value in point.items())
        raise CaptureError(
            f"{'' if place is None else f'{place}: {place.source!r}: '}the program does not run "
            f"with {sizes}, which its Dims allow: {error}. Limit them, say what they are multiples "
            f"of (8 * Dim('n')), use the same Dim where sizes must be equal, or none"
        ) from error


def _unified(
    traces: list[Trace],
    points: list[dict[str, int]],
    sources: Sources,
    numbers: Mapping[str, Node] | None,
    symbols: Mapping[str, Symbol],
) -> Unified:
    try:
        return Unified(traces, Solver(points), sources, numbers)
    except DifferingError as error:
        raise explained(error, traces, _listed(symbols)) from None


def _same(one: Unified, other: Unified) -> bool:
    def text(unified: Unified) -> list[str]:
        nodes = [*unified.inputs.values(), *unified.calls]
        made = [f"{node.name} {node.target} {node.args} {node.kwargs}" for node in nodes]
        made += [_record_text(node.meta.get("val")) for node in nodes]
        return [*made, str(unified.results)]

    return text(one) == text(other)


def _record_text(record: Any) -> str:
    if isinstance(record, TensorMeta):
        return f"{record} {record.stride} {record.storage_offset}"
    if isinstance(record, (list, tuple)):
        return str([_record_text(one) for one in record])
    return str(record)


def _range(
    run: Callable[[Point], Trace], found: Unified, symbol: Symbol, examples: Point
) -> ValueRange:
    lower = symbol.lower
    if lower > 1:
        return ValueRange(lower, symbol.upper)
    lowest = 2
    for value in range(1, lower - 1, -1):
        if symbol.upper is not None and value > symbol.upper:
            continue
        point = {**examples, symbol.name: value}
        if not _holds(run, found, point):
            break
        lowest = value
    if symbol.upper is not None and lowest > symbol.upper:
        raise CaptureError(f"the program is another one for {symbol} of {symbol.upper}")
    return ValueRange(lowest, symbol.upper)


def _holds(run: Callable[[Point], Trace], found: Unified, point: Point) -> bool:
    """Whether the program does the same at a point, with the sizes that the graph says.

    Strides are not looked at: where a size is 1 or 0 they mean nothing.
    """
    try:
        traced = run(point)
    except Exception:
        return False
    calls = [node for node in found.calls if node.name in found.recorded]
    if [one.target for one in traced.calls] != [node.target for node in calls]:
        return False
    if len(traced.constants) != len(found.constants):
        return False
    try:
        return all(
            _sizes(node.meta.get("val"), point) == _sizes(one.meta.get("val"), point)
            and _sizes(found.arguments[node], point) == _sizes(_plain(one), point)
            for node, one in zip(calls, traced.calls, strict=True)
        )
    except SymbolicError:
        return False


def _plain(node: Node) -> Any:
    return [node.args, node.kwargs]


def _sizes(value: Any, point: Point) -> Any:
    """A record or arguments with numbers in the place of expressions, and without strides."""
    if isinstance(value, Expression):
        return value.evaluate(point)
    if isinstance(value, TensorMeta):
        return value.dtype, [_sizes(size, point) for size in value.shape]
    if isinstance(value, Node):
        return value.name
    if isinstance(value, dict):
        return {key: _sizes(one, point) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_sizes(one, point) for one in value]
    return value
