"""Numbers that differ between traces, as expressions of the sizes that differ.

A program is traced at several points: assignments of values to its dynamic sizes. Every number in
it is a vector then, one value for each point, and an expression is looked for that has these
values: a size itself, what was found before, sums and products of sizes, and quotients rounded
down. What is found is right at all points; whoever asks checks it at others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from random import Random

from aten.graph.symbolic import Expression, Number, constant
from aten.graph.symbolic_functions import FUNCTIONS

_LARGEST_DIVISOR = 64
_DEEPEST_PRODUCT = 3
_FEW = 4
_ROUNDING = 4 * 2.0**-52
SPAN = 40  # how far above their least value sizes are drawn
LARGE = 10_007  # a size where there is no limit

Vector = tuple[int, ...]


class UnsolvedError(ValueError):
    """No expression of the kinds that are looked for has the values."""


def call(head: str, *arguments: Expression | Number) -> Expression:
    """A function of expressions and numbers, by its constructor's name."""
    operands = tuple(one if isinstance(one, Expression) else constant(one) for one in arguments)
    return Expression(head, function=FUNCTIONS[head], arguments=operands)


class Solver:
    """Expressions by the values that they have at some points.

    Args:
        points: for each trace the value of every symbol.
        unhinted: symbols whose values in the first trace say nothing of the example: data choose
            them.
    """

    def __init__(
        self, points: Sequence[Mapping[str, int]], unhinted: frozenset[str] = frozenset()
    ) -> None:
        self.points = points
        self.unhinted = unhinted
        self.known: dict[Vector, Expression | int] = {}
        self.composites: list[tuple[Expression, Vector]] = []
        self.symbols: list[tuple[Expression, Vector]] = []
        for name in points[0]:
            vector = tuple(point[name] for point in points)
            symbol = Expression(name)
            self.symbols.append((symbol, vector))
            self.known[vector] = symbol

    @staticmethod
    def points_needed(symbols: int, chosen: int = 0) -> int:
        """How many points decide between the sums and products that are looked for.

        Products with sizes that data choose, of which there may be dozens, are among the terms of
        sums only where sizes are few.
        """
        count = symbols + chosen
        multiplied = count if count <= _FEW else symbols
        return 1 + count + multiplied * (multiplied + 1) // 2 + 3

    def integer(self, vector: Vector) -> Expression | int:
        """An integer expression, with its value at the first point as the hint, where it has one.

        Raises UnsolvedError.
        """
        if len(set(vector)) == 1:
            return vector[0]
        found = self.known.get(vector)
        if found is None:
            found = self._searched(vector, _DEEPEST_PRODUCT)
            self.known[vector] = found
            if isinstance(found, Expression):
                self.composites.append((found, vector))
        return self.hinted(found, vector[0]) if isinstance(found, Expression) else found

    def hinted(self, expression: Expression, value: Number) -> Expression:
        """The expression with a hint, unless data choose its value."""
        if self.unhinted and not self.unhinted.isdisjoint(expression.symbols()):
            return expression.with_hint(None)
        return expression.with_hint(value)

    def real(self, values: Sequence[float]) -> Expression | float:
        """A float expression: of a size, a quotient of two, or the root of one."""
        if len(set(values)) == 1:
            return values[0]
        for base, vector in [*self.symbols, *self.composites]:
            for made in self._reals(base):
                found = [made.evaluate(point) for point in self.points]
                if all(float(one) == value for one, value in zip(found, values, strict=True)):
                    return self.hinted(made, values[0])
            ratios = {value * size for value, size in zip(values, vector, strict=True)}
            if len(ratios) == 1:
                return self.hinted(call("FloatTrueDiv", ratios.pop(), base), values[0])
            made_of = self._bessel(base, vector, values)
            if made_of is not None:
                return self.hinted(made_of, values[0])
            scales = {value / size for value, size in zip(values, vector, strict=True) if size}
            if len(scales) == 1:
                made = call("Mul", scales.pop(), call("ToFloat", base))
                return self.hinted(made, values[0])
        raise UnsolvedError(f"the values {list(values)}")

    def _bessel(
        self, base: Expression, vector: Vector, values: Sequence[float]
    ) -> Expression | None:
        """A multiple of n / (n - 1), or of 1 / (n - 1): what unbiased variances are made with."""
        for shift in (-1, 1):
            pairs = list(zip(values, vector, strict=True))
            if any(size + shift == 0 for _, size in pairs):
                continue
            less = call("Add", base, shift)
            for factor in (call("FloatTrueDiv", base, less), call("FloatTrueDiv", 1.0, less)):
                known = [factor.evaluate(point) for point in self.points]
                scale = values[0] / known[0]
                # Rounding differs by how it is computed.
                if all(
                    abs(value - scale * one) <= _ROUNDING * abs(value)
                    for value, one in zip(values, known, strict=True)
                ):
                    return call("Mul", _shortest(scale), factor)
        return None

    def _reals(self, base: Expression) -> list[Expression]:
        real = call("ToFloat", base)
        return [
            real,
            call("FloatTrueDiv", 1.0, real),
            call("FloatPow", real, 0.5),
            call("FloatPow", real, -0.5),
        ]

    def _searched(self, vector: Vector, depth: int) -> Expression | int:
        if len(set(vector)) == 1:
            return vector[0]
        found = self.known.get(vector)
        if found is not None:
            return found
        for attempt in (self._sum, self._multiple_of_known, self._product, self._quotient):
            made = attempt(vector, depth)
            if made is not None:
                return made
        raise UnsolvedError(f"the values {list(vector)}")

    def _sum(self, vector: Vector, depth: int) -> Expression | int | None:
        """A linear expression of the sizes, or one of the second degree."""
        varying = [one for one in self.symbols if len(set(one[1])) > 1]
        linear = [([symbol], values) for symbol, values in varying]
        given = [one for one in varying if one[0].head not in self.unhinted]
        for multiplied in ([], given, varying):
            products = [
                ([left[0], right[0]], tuple(a * b for a, b in zip(left[1], right[1], strict=True)))
                for left, right in combinations_with_replacement(multiplied, 2)
            ]
            basis = linear + products
            if len(basis) + 1 >= len(vector):
                continue
            found = _combination([values for _, values in basis], vector)
            if found is None or any(one.denominator != 1 for one in found):
                continue
            terms = [
                _times([*factors], int(count))
                for (factors, _), count in zip(basis, found[1:], strict=True)
                if count
            ]
            return _plus(terms, int(found[0]))
        return None

    def _multiple_of_known(self, vector: Vector, depth: int) -> Expression | None:
        """A multiple of what was found before, and a constant."""
        for base, values in self.composites:
            found = _combination([values], vector)
            if found is not None and all(one.denominator == 1 for one in found) and found[1]:
                made = _plus([_times([base], int(found[1]))], int(found[0]))
                assert isinstance(made, Expression)
                return made
        return None

    def _product(self, vector: Vector, depth: int) -> Expression | None:
        if not depth:
            return None
        for base, values in [*self.symbols, *self.composites]:
            pairs = list(zip(vector, values, strict=True))
            if any(not size or value % size for value, size in pairs):
                continue
            try:
                rest = self._searched(tuple(value // size for value, size in pairs), depth - 1)
            except UnsolvedError:
                continue
            return _times(
                [base] if isinstance(rest, int) else [base, rest],
                rest if isinstance(rest, int) else 1,
            )
        return None

    def _quotient(self, vector: Vector, depth: int) -> Expression | None:
        """A size and a constant, divided and rounded down; the smallest divisor that fits."""
        bases = [*self.symbols, *self.composites]
        for divisor in range(2, _LARGEST_DIVISOR + 1):
            for base, values in bases:
                pairs = list(zip(vector, values, strict=True))
                lowest = max(value * divisor - size for value, size in pairs)
                highest = min(value * divisor + divisor - 1 - size for value, size in pairs)
                if lowest <= highest:
                    offset = min(max(0, lowest), highest)
                    return call("FloorDiv", _plus([base], offset), divisor)
        return None


def _shortest(value: float) -> float:
    """The shortest decimal number within some units in the last place."""
    for digits in range(1, 17):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= _ROUNDING * abs(value):
            return short
    return value


def _combination(basis: Sequence[Vector], vector: Vector) -> list[Fraction] | None:
    """The constant and the factors with which the basis gives the vector; None if none do.

    Gauss elimination in fractions. None, too, where the points do not decide between factors.
    """
    width = len(basis) + 1
    rows = [
        [Fraction(1), *(Fraction(values[place]) for values in basis), Fraction(value)]
        for place, value in enumerate(vector)
    ]
    pivots: list[int] = []
    for column in range(width):
        chosen = next((row for row in range(len(pivots), len(rows)) if rows[row][column]), None)
        if chosen is None:
            continue
        top = len(pivots)
        rows[top], rows[chosen] = rows[chosen], rows[top]
        pivot = rows[top][column]
        rows[top] = [one / pivot for one in rows[top]]
        for row in range(len(rows)):
            factor = rows[row][column]
            if row != top and factor:
                rows[row] = [
                    one - factor * other for one, other in zip(rows[row], rows[top], strict=True)
                ]
        pivots.append(column)
    if len(pivots) < width or any(row[width] for row in rows[width:]):
        return None
    return [row[width] for row in rows[:width]]


def _times(factors: list[Expression], count: int) -> Expression:
    if count == 1 and len(factors) == 1:
        return factors[0]
    parts = [part for one in factors for part in (one.arguments if one.head == "Mul" else [one])]
    return call("Mul", *([] if count == 1 else [count]), *parts)


def _plus(terms: list[Expression], offset: int) -> Expression | int:
    if not terms:
        return offset
    if not offset and len(terms) == 1:
        return terms[0]
    return call("Add", *terms, *([offset] if offset else []))


def chosen_points(
    examples: Mapping[str, int],
    limits: Mapping[str, tuple[int, int | None]],
    count: int,
    avoided: Sequence[Mapping[str, int]] = (),
    allowed: Callable[[Mapping[str, int]], bool] = lambda point: True,
) -> list[dict[str, int]]:
    """Points to trace at, the example first: sizes of at least 2, drawn from within the limits,
    the same ones every time. Fewer than `count` where the limits leave no others."""
    points = [] if avoided else [dict(examples)]
    seen = {tuple(sorted(point.items())) for point in (*avoided, *points)}
    drawn = Random(len(avoided))
    for _ in range(16 * count):
        point = {}
        for name in examples:
            lower, upper = limits[name]
            lower = max(lower, 2)
            highest = lower + SPAN if upper is None else max(lower, min(upper, lower + SPAN))
            point[name] = drawn.randint(lower if upper is None or upper > 2 else upper, highest)
        # Equal sizes would hide which of them a number is made of.
        key = tuple(sorted(point.items()))
        if key not in seen and allowed(point):
            seen.add(key)
            points.append(point)
        if len(points) == count:
            break
    return points
