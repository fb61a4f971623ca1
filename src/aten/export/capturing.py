"""A program run at as many sizes as it takes to know what its sizes are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from aten.export.comparing import Point, agrees, same_graph
from aten.export.data_sizes import LARGEST, ORDINARY, SMALLEST, DataSize, Draws
from aten.export.dimensions import CaptureError, Dynamic, Symbol
from aten.export.places import place_of_error
from aten.export.solving import LARGE, Solver, chosen_points
from aten.export.tracing import Trace
from aten.export.unification import DifferingError, Unified, explained
from aten.graph.ir import Node
from aten.graph.symbolic import ValueRange

_CHECKS = 2  # traces at which what was found is tried
_ROUNDS = 3
_FEW = 12  # sizes of which those drawn may not tell what is made of them; all of them are tried

Sources = Mapping[str, tuple[str, "int | None", Dynamic]]


class _Program(NamedTuple):
    """What is captured; see `captured`."""

    run: Callable[[Point], Trace]
    symbols: Mapping[str, Symbol]
    sources: Sources
    numbers: Mapping[str, Node] | None
    allowed: Callable[[Point], bool]


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
    left out of the range. A size that data choose is checked by the program then.

    Args:
        run: traces the program with these sizes.
        symbols: the dynamic sizes.
        sources: where each is read.
        numbers: placeholders of dynamic integers by name.
        allowed: whether the program is to run with these sizes; it is with the examples.
    """
    program = _Program(run, symbols, sources, numbers, allowed)
    first = _Capture(program)
    try:
        return first.found()
    except CaptureError as error:
        few = frozenset(one.name for one in first.data_limits() if _has_few(one))
        if not few:
            raise
        try:
            return _Capture(program, few).found()
        except CaptureError:
            raise error from None


class _Capture:
    """Traces of a program, each at another point.

    Args:
        program: what is traced.
        beyond: sizes of which data allow so few that larger ones are drawn, too.

    Attributes:
        data: the sizes that data choose, as the first trace met them.
    """

    def __init__(self, program: _Program, beyond: frozenset[str] = frozenset()) -> None:
        self.program = program
        self.symbols = program.symbols
        self.beyond = beyond
        self.examples = {name: one.example for name, one in self.symbols.items()}
        self.limits = {name: (one.lower, one.upper) for name, one in self.symbols.items()}
        self.traces: list[Trace] = []
        self.sizes: list[Point] = []
        self.draws: list[Draws] = []

    @property
    def data(self) -> list[DataSize]:
        return self.draws[0].found

    def found(self) -> tuple[Unified, dict[str, ValueRange]]:
        """See `captured`."""
        self.add(self.examples)
        if not self.symbols and not self.data:
            return Unified(self.traces, Solver([{}]), self.program.sources), {}
        count = Solver.points_needed(len(self.symbols), len(self.data))
        for sizes in self.further(count, [])[1:]:
            self.add(sizes)
        found = self.unified()
        for round_number in range(_ROUNDS):
            further = [(sizes, ORDINARY) for sizes in self.further(_CHECKS, self.sizes)]
            if round_number == 0:
                further += self.outermost([sizes for sizes, _ in further])
            if not further:
                break
            for sizes, kind in further:
                self.add(sizes, kind)
            again = self.unified()
            if same_graph(found, again):
                break
            found = again
        else:
            raise CaptureError(
                f"the program's sizes are no sums, products and quotients of {self.listed()}"
            )
        return found, self.ranges(found)

    def further(self, count: int, avoided: list[Point]) -> list[Point]:
        """Sizes to trace with; the example first, where none are avoided. Where there are no
        others, the same ones, with other sizes that data choose."""
        made: list[Point] = []
        if self.symbols:
            allowed = self.program.allowed
            made = list(chosen_points(self.examples, self.limits, count, avoided, allowed))
        if not self.data:
            return made
        known = [*made, *avoided] or [self.examples]
        return [*made, *(known[place % len(known)] for place in range(count - len(made)))]

    def outermost(self, others: list[Point]) -> list[tuple[Point, str]]:
        """The smallest and the largest sizes, and the largest that data choose of the smallest."""
        least, most = _outermost(self.limits, len(self.limits) + len(self.data))
        kinds: list[tuple[Point, str]] = [(least, SMALLEST), (most, LARGEST)]
        kinds += [(least, LARGEST)] * bool(self.symbols and self.data)
        made: list[tuple[Point, str]] = []
        for sizes, kind in kinds:
            if not self.program.allowed(sizes):
                continue
            if self.data or sizes not in [*self.sizes, *others]:
                made.append((sizes, kind))
        return made

    def draw(self, kind: str = ORDINARY, given: Mapping[str, int] | None = None) -> Draws:
        return Draws(len(self.traces), kind, given, self.beyond)

    def add(self, sizes: Point, kind: str = ORDINARY) -> None:
        """One more trace."""
        draws = self.draw(kind)
        self.draws.append(draws)
        self.sizes.append(sizes)
        self.traces.append(self.traced(sizes, draws))

    def traced(self, sizes: Point, draws: Draws) -> Trace:
        try:
            return self.run(sizes, draws)
        except CaptureError:
            raise
        except Exception as error:
            if not self.traces and not draws.found:
                raise
            raise self.failed(error, sizes, draws) from error

    def run(self, sizes: Point, draws: Draws) -> Trace:
        with draws.in_force():
            return self.program.run(sizes)

    def failed(self, error: Exception, sizes: Point, draws: Draws) -> CaptureError:
        place = place_of_error(error.__traceback__)
        where = "" if place is None else f"{place}: {place.source!r}: "
        given = [f"{self.symbols[name]} = {value}" for name, value in sizes.items()]
        listed = ", ".join([*given, *([str(draws)] if draws.found else [])])
        allowing = " and ".join(["its Dims"] * bool(sizes) + ["data"] * bool(draws.found))
        advice = (
            "Limit them, say what they are multiples of (8 * Dim('n')), use the same Dim where "
            "sizes must be equal, or none"
            if sizes
            else "Sizes that data choose are equal where they are of the same tensor"
        )
        return CaptureError(
            f"{where}the program does not run with {listed}, which {allowing} allow: {error}. "
            f"{advice}"
        )

    def unified(self) -> Unified:
        """One graph of the traces."""
        names = frozenset(one.name for one in self.data)
        try:
            self.check_data()
            points = [
                {**sizes, **draws.point}
                for sizes, draws in zip(self.sizes, self.draws, strict=True)
            ]
            return Unified(
                self.traces, Solver(points, names), self.program.sources, self.program.numbers
            )
        except DifferingError as error:
            raise explained(error, self.traces, self.listed(), is_of_data=bool(self.data)) from None

    def check_data(self) -> None:
        """Data choose the same sizes in all traces, and these can be told apart.

        Raises DifferingError, and CaptureError where data allow too few sizes for that.
        """
        kinds = [[one.counted for one in draws.found] for draws in self.draws]
        if any(one != kinds[0] for one in kinds):
            raise DifferingError("data choose other sizes", _first_difference(self.traces))
        drawn = ([one.value for one in draws.found] for draws in self.draws)
        values = list(zip(*drawn, strict=True))
        taken = [tuple(point[name] for point in self.sizes) for name in self.symbols]
        for size, vector in zip(self.data, values, strict=True):
            if len(set(vector)) == 1 or vector in taken:
                raise CaptureError(
                    f"data allow too few sizes {size} to find what depends on it: "
                    f"{size.least} to {size.most}"
                )
            taken.append(vector)

    def listed(self) -> str:
        return ", ".join(map(str, [*self.symbols.values(), *self.data]))

    def data_limits(self) -> list[DataSize]:
        """The sizes that data choose with limits that hold for all other sizes."""
        made = []
        for group in zip(*(draws.found for draws in self.draws), strict=False):
            least, most = {one.least for one in group}, {one.most for one in group}
            made.append(
                group[0]._replace(
                    least=least.pop() if len(least) == 1 else 0,
                    most=most.pop() if len(most) == 1 else None,
                )
            )
        return made

    def ranges(self, found: Unified) -> dict[str, ValueRange]:
        """The sizes that the program is right for. Of those that data choose, it checks them."""
        ranges = {
            name: self.range_of(found, str(one), name, one.lower, one.upper)
            for name, one in self.symbols.items()
        }
        chosen = self.data_limits()
        for one in chosen:
            ranges[one.name] = self.range_of(found, str(one), one.name, one.least, one.most)
            self.check_all(found, one)
        lowest = {one.name: ranges[one.name].lower or 0 for one in chosen}
        if len(chosen) > 1 and not self.holds(found, lowest):
            listed = ", ".join(f"{one} = {lowest[one.name]}" for one in chosen)
            raise CaptureError(f"the program is another one for {listed} together")
        for one in chosen:
            if lowest[one.name] > one.least:
                found.check_least(one, lowest[one.name])
        return ranges

    def range_of(
        self, found: Unified, shown: str, name: str, lower: int, upper: int | None
    ) -> ValueRange:
        """A size's limits, without 0 and 1 where the program is another one for them."""
        if lower > 1:
            return ValueRange(lower, upper)
        lowest = 2
        for value in range(1, lower - 1, -1):
            if upper is not None and value > upper:
                continue
            if not self.holds(found, {name: value}):
                break
            lowest = value
        if upper is not None and lowest > upper:
            raise CaptureError(f"the program is another one for {shown} of {upper}")
        return ValueRange(lowest, upper)

    def check_all(self, found: Unified, size: DataSize) -> None:
        """Raises CaptureError where the program is another one for a size of at least 2, of which
        data allow few."""
        if not _has_few(size):
            if size.name in self.beyond:
                raise CaptureError(f"data allow too few sizes {size} to find what depends on it")
            return
        assert size.most is not None
        for value in range(max(size.least, 2), size.most + 1):
            if not self.holds(found, {size.name: value}):
                raise CaptureError(f"the program is another one for {size} of {value}")

    def holds(self, found: Unified, given: Mapping[str, int]) -> bool:
        """Whether the program is the one found where some sizes are given."""
        sizes = {name: given.get(name, value) for name, value in self.examples.items()}
        draws = self.draw(given=given)
        try:
            traced = self.run(sizes, draws)
        except Exception:
            return False
        if [one.counted for one in draws.found] != [one.counted for one in self.data]:
            return False
        return agrees(found, traced, {**sizes, **draws.point})


def _has_few(size: DataSize) -> bool:
    return size.most is not None and size.most - size.least < _FEW


def _first_difference(traces: Sequence[Trace]) -> Node | None:
    """The first trace's call that is another one in another trace."""
    first: Node | None = None
    for group in zip(*(one.calls for one in traces), strict=False):
        first = group[0]
        if len({one.target for one in group}) > 1:
            break
    return first


def _outermost(
    limits: Mapping[str, tuple[int, int | None]], count: int
) -> tuple[dict[str, int], dict[str, int]]:
    """The smallest sizes of at least 2, and the largest, or large ones where there is no limit.

    `count` is how many sizes are dynamic. Branches on sizes that lie between are found if a size on
    the other side is tried.
    """
    smallest, largest = {}, {}
    large = min(LARGE, 1 << (40 // count))  # no more elements than can be counted
    for place, (name, (lower, upper)) in enumerate(limits.items()):
        smallest[name] = max(lower, 2) if upper is None else min(max(lower, 2), upper)
        largest[name] = max(lower, large + place) if upper is None else upper
    return smallest, largest
