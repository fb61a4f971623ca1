"""Expressions for sizes that were seen: what an operator's results are of what it was given.

An operator's meta kernel is asked for several sizes of the symbols. What comes out is compared with
what went in: with numbers, with the sizes themselves and their products, with sums of these, with
quotients rounded down, and with the larger or smaller of two. What agrees everywhere is the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm

from aten.transforms.symbols.polynomials import Polynomial, largest, number, smallest

Bindings = Sequence[Mapping[str, int]]

# Numbers before symbols in windows and strides stay below this in what is found.
_LARGEST_DIVISOR = 24
_MOST_FACTORS = 4
_MOST_PRODUCTS = 120
# What sums are looked for among, and of how many products.
_MOST_IN_SUMS = 9
_MOST_TERMS = 3


def fitted(
    values: Sequence[int], given: Sequence[Polynomial], points: Bindings, dense: bool
) -> Polynomial | None:
    """A size that has these values at the points, made of the sizes given; None if there is none.

    Args:
        values: the size at each point.
        given: the sizes that it may depend on.
        points: the symbols' sizes, alike for no two points.
        dense: whether there are enough points next to each other to tell quotients apart.
    """
    if len(set(values)) == 1:
        return number(values[0])
    sizes = _different(given)
    for one in sizes:
        if _agrees(one, values, points):
            return one
    for product in _products(sizes):
        found = _linear(product, values, points, _LARGEST_DIVISOR if dense else 1)
        if found is not None:
            return found
    found = _clamped(sizes, values, points)
    if found is None and dense:
        found = _rounded(sizes, values, points)
    return _sum(sizes, values, points, dense) if found is None else found


def _different(given: Sequence[Polynomial]) -> list[Polynomial]:
    found: list[Polynomial] = []
    for one in given:
        if not one.is_constant and one not in found:
            found.append(one)
    return found


def _agrees(size: Polynomial, values: Sequence[int], points: Bindings) -> bool:
    return all(size.evaluate(point) == value for value, point in zip(values, points, strict=True))


def _products(sizes: Sequence[Polynomial]) -> Iterator[Polynomial]:
    """Products of the sizes, those of few first."""
    simple = sorted(sizes, key=lambda one: (len(one.terms), len(str(one))))
    count = 0
    for factors in range(1, _MOST_FACTORS + 1):
        for chosen in itertools.combinations_with_replacement(simple, factors):
            made = number(1)
            for one in chosen:
                made = made * one
            yield made
            count += 1
            if count >= _MOST_PRODUCTS:
                return


def _linear(
    size: Polynomial, values: Sequence[int], points: Bindings, largest_divisor: int
) -> Polynomial | None:
    """`a * size + b`, for an integer b; where a is a fraction, its quotient is whole."""
    seen = [size.evaluate(point) for point in points]
    slope = _slope(seen, values)
    if slope is None or slope.denominator > largest_divisor:
        return None
    times, divisor = slope.numerator, slope.denominator
    added = divisor * values[0] - times * seen[0]
    pairs = zip(seen, values, strict=True)
    if any(divisor * value != times * one + added for one, value in pairs):
        return None
    return (number(times) * size + number(added)) // number(divisor)


def _slope(sizes: Sequence[int], values: Sequence[int]) -> Fraction | None:
    """How values grow with sizes, between the least and the largest of these."""
    least, most = (
        min(range(len(sizes)), key=sizes.__getitem__),
        max(range(len(sizes)), key=sizes.__getitem__),
    )
    if sizes[least] == sizes[most]:
        return None
    return Fraction(values[most] - values[least], sizes[most] - sizes[least])


def _sum(
    sizes: Sequence[Polynomial], values: Sequence[int], points: Bindings, dense: bool
) -> Polynomial | None:
    """A sum of several products and a number, with integers before each: solved for these."""
    products = _different(list(itertools.islice(_products(sizes), _MOST_IN_SUMS)))
    for count in range(2, min(len(points) - 1, _MOST_TERMS + 1)):
        for chosen in itertools.combinations(products, count):
            found = _solved(chosen, values, points, _LARGEST_DIVISOR if dense else 1)
            if found is not None:
                return found
    return None


def _solved(
    products: Sequence[Polynomial],
    values: Sequence[int],
    points: Bindings,
    largest_divisor: int,
) -> Polynomial | None:
    unknowns = len(products) + 1
    if len(points) < unknowns + 1:
        return None
    rows = [
        [Fraction(one.evaluate(point)) for one in products] + [Fraction(1), Fraction(value)]
        for point, value in zip(points[:unknowns], values, strict=False)
    ]
    for column in range(unknowns):
        pivot = next((row for row in rows[column:] if row[column]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        rows.insert(column, [one / pivot[column] for one in pivot])
        rows = [
            row
            if place == column
            else [one - row[column] * other for one, other in zip(row, rows[column], strict=True)]
            for place, row in enumerate(rows)
        ]
    counts = [rows[place][-1] for place in range(unknowns)]
    divisor = lcm(*(one.denominator for one in counts))
    if divisor > largest_divisor:
        return None
    made = number(int(counts[-1] * divisor))
    for one, times in zip(products, counts, strict=False):
        made = made + one * number(int(times * divisor))
    exact = [value * divisor for value in values]
    return made // number(divisor) if _agrees(made, exact, points) else None


def _rounded(
    sizes: Sequence[Polynomial], values: Sequence[int], points: Bindings
) -> Polynomial | None:
    """`(p * size + r) // q` for integers p, q and r."""
    for size in _products(sizes):
        seen = [size.evaluate(point) for point in points]
        slope = _slope(seen, values)
        if slope is None or slope <= 0:
            continue
        near = slope.limit_denominator(_LARGEST_DIVISOR)
        times, divisor = near.numerator, near.denominator
        pairs = list(zip(seen, values, strict=True))
        for many in range(1, _LARGEST_DIVISOR // divisor + 1):
            p, q = times * many, divisor * many
            if q == 1:
                continue
            least = max(q * value - p * one for one, value in pairs)
            most = min(q * value - p * one + q - 1 for one, value in pairs)
            if least == most:
                return (number(p) * size + number(least)) // number(q)
            if least < most and many == 1 and p == 1:
                # Every remainder was seen only if there is one answer left.
                break
    return None


def _clamped(
    sizes: Sequence[Polynomial], values: Sequence[int], points: Bindings
) -> Polynomial | None:
    """The larger or smaller of two sizes, or of one and a number."""
    others = [*sizes, *(number(value) for value in sorted(set(values)))]
    for one, other in itertools.product(sizes, others):
        for function in (smallest, largest):
            found = function(one, other)
            if _agrees(found, values, points):
                return found
    return None
