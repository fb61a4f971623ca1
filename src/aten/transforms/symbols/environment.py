"""What is known of symbolic sizes: hints, ranges, and the conditions that programs relied on."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from aten.graph.symbolic import Expression, SymbolicError, ValueRange
from aten.transforms.symbols.polynomials import (
    Polynomial,
    factor,
    polynomial,
    with_symbols,
)

if TYPE_CHECKING:
    from aten.transforms.symbols.numbers import SymInt

_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
# How far above the least size others are tried, and how often a fitting one is looked for.
_SPREADS = (6, 13, 40, 150, 700, 2400)
_TRIES = 400
_MOST_LEAST = 4
# How many sizes in a row tell what divisor a quotient has.
_NEIGHBOURS = 13


class Guard(NamedTuple):
    """A condition that what was computed relies on.

    Attributes:
        comparison: one of `== != < <= > >=`.
        left, right: the sizes compared.
        reason: what asked for it.
    """

    comparison: str
    left: Polynomial
    right: Polynomial
    reason: str

    @property
    def expression(self) -> Expression:
        arguments = (self.left.expression, self.right.expression)
        return Expression(self.comparison, function=_HOLDS[self.comparison], arguments=arguments)

    def holds(self, bindings: Mapping[str, int]) -> bool:
        left, right = self.left.evaluate(bindings), self.right.evaluate(bindings)
        return _HOLDS[self.comparison](left, right)

    def __str__(self) -> str:
        return str(self.expression)


class ShapeEnvironment:
    """Symbols for sizes, and what a program that ran with them relied on.

    Every symbol has a hint, a size for which the program runs. Conditions on sizes that Python code
    or operators ask for are answered for the hints, and kept as guards, unless what is known
    answers them. Sizes 0 and 1 are not stood for by symbols, unless `minimum` says so.

    Attributes:
        hints: the symbols' sizes while the program runs.
        ranges: the sizes each symbol may take.
        guards: the conditions that were relied on, in the order they came up.
        replaced: symbols that others, or numbers, turned out to be equal to.
        are_texts_of_numbers: whether `str(size)` is that of a number, which fixes the size, for
            programs that do not know of symbols.

    Example:

        >>> sizes = aten.transforms.ShapeEnvironment()
        >>> batch = sizes.symbol("batch", 4)
        >>> with aten.transforms.FakeTensorMode():
        ...     x = aten.empty(batch, 3)
        ...     y = aten.cat([x, x.relu()]).flatten()
        >>> y.shape
        aten.Size([6*batch])
        >>> bool(batch > 8)
        False
        >>> [str(guard) for guard in sizes.guards]
        ['batch <= 8']
    """

    def __init__(self, *, are_texts_of_numbers: bool = False) -> None:
        self.are_texts_of_numbers = are_texts_of_numbers
        self.hints: dict[str, int] = {}
        self.ranges: dict[str, ValueRange] = {}
        self.guards: list[Guard] = []
        self.replaced: dict[str, Polynomial] = {}
        self._tried: dict[frozenset[str], list[dict[str, int]]] = {}

    def symbol(
        self, name: str | None = None, hint: int = 8, minimum: int = 2, maximum: int | None = None
    ) -> SymInt:
        """A new symbol.

        Raises ValueError where the name is taken, or the hint is not in the range.
        """
        from aten.transforms.symbols.numbers import SymInt

        if name is None:
            name = next(f"s{n}" for n in itertools.count() if f"s{n}" not in self.hints)
        if name in self.hints:
            raise ValueError(f"symbol: there is a symbol {name} already")
        limits = ValueRange(minimum, maximum)
        if hint not in limits:
            raise ValueError(f"symbol: the hint of {name}, {hint}, is not in {limits}")
        self.hints[name] = hint
        self.ranges[name] = limits
        return SymInt(self, factor(Expression(name)))

    def simplified(self, size: Polynomial) -> Polynomial:
        """The size with what symbols turned out to be in their place."""
        return with_symbols(size, self.replaced)

    def hint(self, size: Polynomial) -> int:
        """The size for the symbols' hints."""
        return size.evaluate(self.hints)

    def compare(self, comparison: str, left: Polynomial, right: Polynomial, reason: str) -> bool:
        """Whether the sizes compare so: by what is known, or else for the hints, and guarded."""
        left, right = self.simplified(left), self.simplified(right)
        known = self.decided(comparison, left - right)
        if known is not None:
            return known
        holds = _HOLDS[comparison](self.hint(left), self.hint(right))
        self.require(comparison if holds else _OPPOSITE[comparison], left, right, reason)
        return holds

    def decided(self, comparison: str, difference: Polynomial) -> bool | None:
        """Whether a difference compares so with zero for all sizes, or None."""
        lower, upper = self.bounds(difference)
        if comparison in ("==", "!="):
            if lower is not None and lower == upper:
                return (lower == 0) == (comparison == "==")
            apart = (lower is not None and lower > 0) or (upper is not None and upper < 0)
            return (comparison == "!=") if apart else None
        if comparison in ("<=", ">"):
            answer = _at_most(lower, upper, 0)
            return answer if comparison == "<=" or answer is None else not answer
        answer = _at_most(lower, upper, -1)
        return answer if comparison == "<" or answer is None else not answer

    def bounds(self, size: Polynomial) -> tuple[int | None, int | None]:
        """The least and the greatest that a size may be; None where nothing says."""
        lower: int | None = 0
        upper: int | None = 0
        for product, count in size.terms.items():
            least: int | None = 1
            greatest: int | None = 1
            for name in product:
                low, high = self._bounds_of_factor(size.factors[name])
                if low is None or low < 0:
                    return None, None
                least = None if least is None else least * low
                greatest = None if greatest is None or high is None else greatest * high
            if count < 0:
                least, greatest = greatest, least
            lower = None if lower is None or least is None else lower + count * least
            upper = None if upper is None or greatest is None else upper + count * greatest
        return lower, upper

    def _bounds_of_factor(self, expression: Expression) -> tuple[int | None, int | None]:
        if expression.is_symbol:
            limits = self.ranges.get(expression.head)
            return (limits.lower, limits.upper) if limits else (None, None)
        if expression.head not in ("//", "%", "Max", "Min") or len(expression.arguments) != 2:
            return None, None
        (low, high), (other_low, other_high) = (
            self.bounds(polynomial(one)) for one in expression.arguments
        )
        if expression.head == "Max":
            lows = [one for one in (low, other_low) if one is not None]
            return max(lows, default=None), _both(max, high, other_high)
        if expression.head == "Min":
            highs = [one for one in (high, other_high) if one is not None]
            return _both(min, low, other_low), min(highs, default=None)
        if other_low is None or other_low <= 0:
            return None, None
        if expression.head == "%":
            return 0, None if other_high is None else other_high - 1
        lowest = None if low is None or other_high is None else low // other_high
        if lowest is None and low is not None and low >= 0:
            lowest = 0
        return lowest, None if high is None else high // other_low

    def require(self, comparison: str, left: Polynomial, right: Polynomial, reason: str) -> None:
        """Keep a condition that holds for the hints, and use what it says."""
        guard = Guard(comparison, left, right, reason)
        self.guards.append(guard)
        self._tried.clear()
        if comparison == "==":
            self._replace(left - right)
        elif comparison != "!=":
            self._narrow(comparison, left - right)

    def _replace(self, difference: Polynomial) -> None:
        """A symbol that the others determine, where a difference is zero, is what they say."""
        for name in reversed(self.hints):
            count = difference.terms.get((name,), 0)
            others = Polynomial(
                {one: times for one, times in difference.terms.items() if one != (name,)},
                difference.factors,
            )
            if not count or name in others.symbols():
                continue
            if any(times % count for times in others.terms.values()):
                continue
            found = Polynomial(
                {one: -times // count for one, times in others.terms.items()}, others.factors
            )
            self.replaced = {
                known: with_symbols(one, {name: found}) for known, one in self.replaced.items()
            }
            self.replaced[name] = found
            return

    def _narrow(self, comparison: str, difference: Polynomial) -> None:
        """A comparison of one symbol with a number makes its range smaller."""
        product = next((one for one in difference.terms if one), ())
        if len(product) != 1 or len(difference.terms) > 2 or product[0] not in self.ranges:
            return
        if len(difference.terms) == 2 and () not in difference.terms:
            return
        count, added = difference.terms[product], difference.value
        if comparison in (">", ">="):
            count, added = -count, -added
        # count * size + added <= slack
        slack = -1 if comparison in ("<", ">") else 0
        known = self.ranges[product[0]]
        lower, upper = known.lower, known.upper
        if count > 0:
            bound = (slack - added) // count
            upper = bound if upper is None else min(upper, bound)
        else:
            bound = -((slack - added) // -count)
            lower = bound if lower is None else max(lower, bound)
        self.ranges[product[0]] = ValueRange(lower, upper)

    def copy(self) -> ShapeEnvironment:
        """An environment that knows the same, to try conditions in."""
        made = ShapeEnvironment()
        made.hints, made.ranges = dict(self.hints), dict(self.ranges)
        made.guards, made.replaced = list(self.guards), dict(self.replaced)
        return made

    def others(self, symbols: Iterable[str]) -> list[dict[str, int]]:
        """Other sizes for which all guards hold, of all symbols; those named differ from the hints.

        Fewer than there could be where they are hard to find, and none where there are none.
        """
        wanted = frozenset(symbols)
        if wanted not in self._tried:
            self._tried[wanted] = self._found(sorted(wanted))
        return self._tried[wanted]

    def _found(self, wanted: Sequence[str]) -> list[dict[str, int]]:
        free = [name for name in self._needed(wanted) if name not in self.replaced]
        if not free:
            return []
        chance = random.Random(0)
        guards = [guard for guard in self.guards if not guard.left.is_constant]
        found: list[dict[str, int]] = []
        # Each symbol once as small as it can be, while the others are not.
        turns = [(place, _SPREADS[place % 2]) for place in range(min(len(free), _MOST_LEAST))]
        turns += [(-1, spread) for spread in _SPREADS]
        for turn, (least, spread) in enumerate(turns):
            for attempt in range(_TRIES):
                drawn: dict[str, int] = {}
                for place, name in enumerate(free):
                    # At first, all remainders by small numbers occur.
                    rest = turn + 3 * place if attempt < _TRIES // 2 else None
                    drawn[name] = self._drawn(name, 0 if place == least else spread, chance, rest)
                sizes = self._completed(drawn)
                if sizes is not None and sizes not in found and _allowed(self, guards, sizes):
                    found.append(sizes)
                    break
        return found

    def neighbours(self, symbols: Iterable[str]) -> list[dict[str, int]]:
        """Sizes next to each other, for which all guards hold: one symbol moves at a time."""
        found: list[dict[str, int]] = []
        starts = self.others(symbols)[1:3]
        guards = [guard for guard in self.guards if not guard.left.is_constant]
        for name in sorted(set(symbols) - set(self.replaced)):
            for start, step in itertools.product(starts, range(1, _NEIGHBOURS)):
                sizes = {one: size for one, size in start.items() if one not in self.replaced}
                sizes[name] += step * self._step(name)
                completed = self._completed(sizes)
                if completed is not None and _allowed(self, guards, completed):
                    found.append(completed)
        return found

    def _needed(self, wanted: Sequence[str]) -> list[str]:
        """The symbols, and all that their guards and replacements speak of."""
        needed = set(wanted)
        linked = [guard.left.symbols() | guard.right.symbols() for guard in self.guards]
        linked += [one.symbols() | {name} for name, one in self.replaced.items()]
        while True:
            more = needed.union(*(one for one in linked if one & needed))
            if more == needed:
                return [name for name in self.hints if name in needed]
            needed = more

    def _drawn(self, name: str, spread: int, chance: random.Random, rest: int | None) -> int:
        """A size in a symbol's range; `rest` is what it leaves by the number of spreads."""
        limits = self.ranges[name]
        least = 2 if limits.lower is None else limits.lower
        step = self._step(name)
        if spread == 0:
            return limits.nearest(least + (self.hints[name] - least) % step)
        if rest is None and chance.randrange(8) == 0:
            return self.hints[name]
        size = least + chance.randrange(spread + 1)
        if rest is not None:
            size += (rest - size) % len(_SPREADS)
        if limits.upper is not None and size > limits.upper:
            size = least + (size - least) % (limits.upper - least + 1)
        size += (self.hints[name] - size) % step
        return limits.nearest(size)

    def _step(self, name: str) -> int:
        """What differences of a symbol's sizes are multiples of, by its guards."""
        step = 1
        for guard in self.guards:
            one = guard.left.factors
            if guard.comparison != "==" or len(one) != 1 or not guard.right.is_constant:
                continue
            (expression,) = one.values()
            by = expression.arguments[1].value if expression.head == "%" else None
            if isinstance(by, int) and name in expression.symbols() and step % by:
                step *= by
        return step

    def _completed(self, sizes: dict[str, int]) -> dict[str, int] | None:
        """Sizes of all symbols, of those that were not drawn what follows, or their hints."""
        try:
            for name, one in self.replaced.items():
                if one.symbols() <= sizes.keys():
                    sizes[name] = one.evaluate(sizes)
        except SymbolicError:
            return None
        return {**self.hints, **sizes}


def _allowed(
    environment: ShapeEnvironment, guards: Sequence[Guard], sizes: Mapping[str, int]
) -> bool:
    if any(size not in environment.ranges[name] for name, size in sizes.items()):
        return False
    try:
        return all(
            guard.holds(sizes)
            for guard in guards
            if (guard.left.symbols() | guard.right.symbols()) <= sizes.keys()
        )
    except SymbolicError:
        return False


def _at_most(lower: int | None, upper: int | None, limit: int) -> bool | None:
    if upper is not None and upper <= limit:
        return True
    return False if lower is not None and lower > limit else None


def _both(function: Callable[[int, int], int], left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else function(left, right)
