"""Results of operators on symbolic sizes: the operator is asked for several, and that is compared.

Meta kernels know sizes as numbers. For each call they run for the hints and for other sizes that
the symbols may have. Sizes, strides and offsets that come out are expressions of those that went in
(`fitting.py`). Where the operator refuses some sizes, or does something else, a condition is looked
for that keeps these away, and becomes a guard; the last resort is to fix symbols.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.memory.storage import Storage
from aten._core.tensor.making import meta_storage, meta_window, tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.graph.pytree import rebuilt
from aten.graph.symbolic import Expression
from aten.transforms.symbols.environment import ShapeEnvironment
from aten.transforms.symbols.fitting import fitted
from aten.transforms.symbols.geometry import Geometry, describe, geometry_of
from aten.transforms.symbols.numbers import SymFloat, SymInt, fix, sized
from aten.transforms.symbols.polynomials import Polynomial, factor, number

Sizes = Mapping[str, int]
Condition = tuple[str, Polynomial, Polynomial]


class Outcome(NamedTuple):
    """What a call gave: all that must be alike for all sizes, and numbers that depend on them."""

    form: Any
    numbers: list[int]


class Given(NamedTuple):
    """The sizes in a call's arguments: those that count something, and all."""

    counts: list[Polynomial]
    parts: list[Polynomial]

    def symbols(self) -> set[str]:
        return {name for one in (*self.counts, *self.parts) for name in one.symbols()}


def given_in(values: Any) -> Given:
    """The sizes in arguments."""
    given = Given([], [])
    _collect(values, given)
    return given


def _collect(value: Any, given: Given) -> None:
    if isinstance(value, SymInt):
        given.counts.append(value.size)
        given.parts.append(value.size)
    elif isinstance(value, int) and not isinstance(value, bool):
        given.counts.append(number(value))
    elif isinstance(value, SymFloat):
        for name in sorted(set(value.expression.symbols())):
            given.parts.append(factor(Expression(name)))
    elif isinstance(value, Tensor):
        known = geometry_of(value)
        if known is None:
            given.counts.extend(number(int(one)) for one in value.shape)
            return
        parts = known.parts()
        given.counts.extend(parts[: value.dim()])
        given.parts.extend(parts)
        given.parts.extend((known.environment.simplified(known.count), known.storage_bytes))
    elif isinstance(value, (list, tuple)):
        for one in value:
            _collect(one, given)
    elif isinstance(value, dict):
        for one in value.values():
            _collect(one, given)


class Windows:
    """Arguments with numbers and meta tensors for one choice of sizes."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.made: list[tuple[Tensor, Tensor]] = []
        self.storages: dict[int, Storage] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, (SymInt, SymFloat)):
            return _at(value, self.sizes)
        if isinstance(value, (list, tuple)):
            return rebuilt(value, [self.of(one) for one in value])
        if isinstance(value, device):
            return device("meta")
        return self.window(value) if isinstance(value, Tensor) else value

    def window(self, tensor: Tensor) -> Tensor:
        known = next((window for one, window in self.made if one is tensor), None)
        if known is None:
            geometry = geometry_of(tensor)
            known = meta_window(tensor)
            if geometry is not None:
                known = self.sized_window(tensor, known, geometry)
            self.made.append((tensor, known))
        return known

    def sized_window(self, tensor: Tensor, like: Tensor, geometry: Geometry) -> Tensor:
        numbers = [one.evaluate(self.sizes) for one in geometry.parts()]
        rank = tensor.dim()
        storage = self.storage(tensor, geometry.storage_bytes.evaluate(self.sizes))
        made = tensor_from_buffer(
            storage,
            tensor.dtype,
            numbers[:rank],
            numbers[rank:-1],
            numbers[-1] * tensor.dtype.itemsize,
        )
        return meta_window_like(made, like)

    def storage(self, tensor: Tensor, count: int) -> Storage:
        key = id(tensor.untyped_storage())
        if key not in self.storages:
            self.storages[key] = meta_storage(count)
        return self.storages[key]


def _at(value: SymInt | SymFloat, sizes: Sizes) -> int | float:
    if isinstance(value, SymInt):
        return value.size.evaluate(sizes)
    return float(value.expression.evaluate(sizes))


def meta_window_like(window: Tensor, like: Tensor) -> Tensor:
    """`window`, conjugate and negative as `like` is."""
    if like.is_conj():
        window = window.conj()
    return window._neg_view() if like.is_neg() else window


def outcome_of(results: Any, written: Iterable[Tensor]) -> Outcome:
    """What there is to say about results, and about arguments that were written to."""
    numbers: list[int] = []
    form = _form(results, numbers), tuple(_form(one, numbers) for one in written)
    return Outcome(form, numbers)


def _form(value: Any, numbers: list[int]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(_form(one, numbers) for one in value)
    if isinstance(value, Tensor):
        numbers.extend((*value.shape, *value.stride(), value.storage_offset()))
        numbers.append(value.untyped_storage().nbytes())
        return "tensor", value.dim(), value.dtype, value.is_conj(), value.is_neg()
    if isinstance(value, int) and not isinstance(value, bool):
        numbers.append(value)
        return "int"
    return value


class Question:
    """Something asked of sizes: an operator's results, or whether a tensor is contiguous.

    Args:
        environment: the environment of the symbols.
        ask: gives the outcome for sizes of the symbols; what it raises is a refusal.
        given: the sizes in the arguments.
        expected: the outcome for the hints.
        reason: what is asked, for the guards.
    """

    def __init__(
        self,
        environment: ShapeEnvironment,
        ask: Callable[[Sizes], Outcome],
        given: Given,
        expected: Outcome,
        reason: str,
    ) -> None:
        self.environment = environment
        self.ask = ask
        self.given = given
        self.expected = expected
        self.reason = reason

    def answers(self) -> list[Polynomial]:
        """The outcome's numbers as expressions. Guards are added as they are needed."""
        while True:
            symbols = self.symbols()
            if not symbols:
                return [number(one) for one in self.expected.numbers]
            points = self.environment.others(symbols)
            outcomes = [self.outcome(point) for point in points]
            if not points or any(one is None for one in outcomes):
                self.keep_away(symbols)
                continue
            found = self.fit(points, [one for one in outcomes if one is not None])
            if found is not None:
                return found
            self.fit_larger(symbols)

    def symbols(self) -> set[str]:
        simplified = self.environment.simplified
        return {name for one in self.given.parts for name in simplified(one).symbols()}

    def outcome(self, sizes: Sizes) -> Outcome | None:
        """What comes out for other sizes; None where that is nothing, or something else."""
        try:
            found = self.ask(sizes)
        except Exception:
            return None
        return found if found.form == self.expected.form else None

    def fit(self, points: Sequence[Sizes], outcomes: Sequence[Outcome]) -> list[Polynomial] | None:
        parts = [self.environment.simplified(one) for one in self.given.parts]
        points = [self.environment.hints, *points]
        outcomes = [self.expected, *outcomes]
        found: list[Polynomial] = []
        extended = False
        for place in range(len(self.expected.numbers)):
            one = fitted([each.numbers[place] for each in outcomes], parts, points, extended)
            if one is None and not extended:
                more = self.neighbours(points)
                points = [*points, *(point for point, _ in more)]
                outcomes = [*outcomes, *(each for _, each in more)]
                extended = True
                one = fitted([each.numbers[place] for each in outcomes], parts, points, True)
            if one is None:
                return None
            found.append(one)
            # Strides are products of sizes that were found before them.
            parts.append(one)
        return found

    def neighbours(self, points: Sequence[Sizes]) -> list[tuple[Sizes, Outcome]]:
        """More points, close to each other, for what is rounded."""
        found: list[tuple[Sizes, Outcome]] = []
        for point in self.environment.neighbours(self.symbols()):
            outcome = None if point in points else self.outcome(point)
            if outcome is not None:
                found.append((point, outcome))
        return found

    def fit_larger(self, symbols: set[str]) -> None:
        """Keep small sizes away where results of the others are known functions of theirs, or else
        have a symbol stand for its hint."""
        bounds: list[Condition] = [
            (">=", factor(Expression(name)), number(self.environment.hints[name]))
            for name in sorted(symbols)
        ]
        for chosen in (*([one] for one in bounds), bounds):
            if any(self.is_news(one) for one in chosen) and self.fits_with(chosen):
                self.require(chosen)
                return
        name = max(symbols, key=list(self.environment.hints).index)
        fix(self.environment, {name}, f"{self.reason} is no known function of {name}")

    def fits_with(self, conditions: Sequence[Condition]) -> bool:
        """Whether results are known functions of the sizes wherever the conditions hold."""
        known = self.environment
        self.environment = known.copy()
        try:
            self.require(conditions)
            points = self.environment.others(self.symbols())
            outcomes = [one for one in map(self.outcome, points) if one is not None]
            return len(outcomes) == len(points) > 0 and self.fit(points, outcomes) is not None
        finally:
            self.environment = known

    def keep_away(self, symbols: set[str]) -> None:
        """Add guards that keep sizes away for which the outcome is another, or none."""
        conditions = self.conditions()
        for one in conditions:
            if self.suffices([one]):
                self.require([self.loosened(one)])
                return
        fixed: list[Condition] = [
            ("==", factor(Expression(name)), number(self.environment.hints[name]))
            for name in sorted(symbols)
        ]
        for one in fixed:
            if self.suffices([one]):
                self.require([one])
                return
        equal = [one for one in conditions if one[0] == "=="]
        for chosen in (equal, [one for one in conditions if one not in equal], conditions):
            if self.suffices(chosen):
                self.require(self.least(chosen))
                return
        self.require(self.least(fixed, whole=True))

    def require(self, conditions: Sequence[Condition]) -> None:
        for comparison, left, right in conditions:
            self.environment.compare(comparison, left, right, self.reason)

    def conditions(self) -> list[Condition]:
        """Conditions that hold for the hints, those first that keep the fewest sizes away."""
        environment = self.environment
        counts = list(dict.fromkeys(environment.simplified(one) for one in self.given.counts))
        moving = [one for one in counts if not one.is_constant]
        whole = [environment.simplified(one) for one in self.given.parts]
        wholes = [one for one in dict.fromkeys((*moving, *whole)) if not one.is_constant]
        found: list[Condition] = []
        for name in sorted(self.symbols()):
            symbol, hint = factor(Expression(name)), number(environment.hints[name])
            found += [(">=", symbol, hint), ("<=", symbol, hint)]
        found += [
            ("<=", left, right)
            for left, right in itertools.permutations(counts, 2)
            if not (left.is_constant and right.is_constant)
        ]
        divisors = sorted({one.value for one in counts if one.is_constant and one.value > 1})
        for one, divisor in itertools.product(wholes, divisors):
            found.append(("==", one % number(divisor), number(0)))
        product = number(1)
        for one in counts:
            product = product * one
        found += [("==", left, right) for left, right in itertools.combinations(moving, 2)]
        found += [("==", left, right) for left in moving for right in counts if right.is_constant]
        return [one for one in dict.fromkeys(found) if self.holds(one) and self.is_news(one)]

    def holds(self, condition: Condition) -> bool:
        comparison, left, right = condition
        first, second = self.environment.hint(left), self.environment.hint(right)
        return {"==": first == second, "<=": first <= second, ">=": first >= second}[comparison]

    def is_news(self, condition: Condition) -> bool:
        comparison, left, right = condition
        return self.environment.decided(comparison, left - right) is None

    def suffices(self, conditions: Sequence[Condition]) -> bool:
        """Whether the outcome is the same wherever the conditions hold."""
        trial = self.environment.copy()
        for comparison, left, right in conditions:
            if not trial.compare(comparison, left, right, self.reason):
                return False
        symbols = {name for one in self.given.parts for name in trial.simplified(one).symbols()}
        points = trial.others(symbols)
        if symbols and not points:
            return False
        return all(self.outcome(point) is not None for point in points)

    def least(self, conditions: Sequence[Condition], whole: bool = False) -> list[Condition]:
        """Those of the conditions that are needed."""
        kept = list(conditions)
        for one in list(reversed(kept)):
            fewer = [other for other in kept if other is not one]
            if (fewer or not whole) and self.suffices(fewer):
                kept = fewer
        return kept

    def loosened(self, condition: Condition) -> Condition:
        """The least bound that suffices, of a bound from below that is a number."""
        comparison, left, right = condition
        if comparison != ">=" or not right.is_constant:
            return condition
        name = next(iter(left.symbols()))
        low, high = self.environment.ranges[name].lower or 0, right.value
        while low < high:
            middle = (low + high) // 2
            if self.suffices([(">=", left, number(middle))]) and self.accepts(name, middle):
                high = middle
            else:
                low = middle + 1
        return comparison, left, number(high)

    def accepts(self, name: str, size: int) -> bool:
        """Whether the least size of a symbol that is left gives the outcome."""
        return self.outcome({**self.environment.hints, name: size}) is not None


def answer(
    geometry: Geometry, predicate: Callable[[Tensor, Any], Any], arguments: Sequence[Any] = ()
) -> Any:
    """What a predicate says of a tensor with this geometry, for the hints and, guarded, for all.

    The predicate gets a meta tensor, and the arguments, with numbers for sizes.
    """
    environment = geometry.environment
    parts = geometry.parts()
    rank = len(parts) // 2

    def ask(sizes: Sizes) -> Outcome:
        numbers = [one.evaluate(sizes) for one in parts]
        storage = meta_storage(geometry.storage_bytes.evaluate(sizes))
        window = tensor_from_buffer(storage, DTYPES["uint8"], numbers[:rank], numbers[rank:-1])
        return Outcome(predicate(window, Windows(sizes).of(tuple(arguments))), [])

    expected = ask(environment.hints)
    given = Given([*parts[:rank], geometry.count], list(parts))
    _collect(list(arguments), given)
    Question(environment, ask, given, expected, "a tensor's order in memory").answers()
    return expected.form


class Answers:
    """The numbers of an outcome, handed out in the order they were written down."""

    def __init__(self, environment: ShapeEnvironment, numbers: Sequence[Polynomial]) -> None:
        self.environment = environment
        self.left = iter(numbers)

    def describe(self, tensor: Tensor) -> None:
        """Let a tensor say what its part of the numbers is."""
        rank = tensor.dim()
        parts = [next(self.left) for _ in range(2 * rank + 2)]
        made = Geometry(self.environment, parts[:rank], parts[rank : 2 * rank], *parts[-2:])
        describe(tensor, made)

    def with_symbols(self, results: Any) -> Any:
        """Results that say what they are; integers in them as sizes."""
        if isinstance(results, (list, tuple)):
            return rebuilt(results, [self.with_symbols(one) for one in results])
        if isinstance(results, Tensor):
            self.describe(results)
        elif isinstance(results, int) and not isinstance(results, bool):
            return sized(self.environment, next(self.left))
        return results
