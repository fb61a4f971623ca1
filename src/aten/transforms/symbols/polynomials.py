"""Sizes in a form in which equal ones are spelled alike: sums of products, with integer factors.

What is no sum or product (a quotient rounded down, a remainder, the larger of two) is one factor,
known by its spelling. Sizes are taken to be positive where something is cancelled.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from math import gcd
from typing import Any

from aten.graph.symbolic import Expression, Number, constant

# A product: its factors' spellings, in order, each as often as it occurs.
Product = tuple[str, ...]

_HIGHEST_POWER = 8


class Polynomial:
    """A sum of products with integer factors. Immutable; equal ones have equal terms.

    Attributes:
        terms: the factor before each product; the empty product is for what is constant.
        factors: the expressions that the products' spellings stand for.
    """

    __slots__ = ("_expression", "factors", "terms")

    def __init__(self, terms: Mapping[Product, int], factors: Mapping[str, Expression]) -> None:
        self.terms = {product: count for product, count in terms.items() if count}
        used = {name for product in self.terms for name in product}
        self.factors = {name: factors[name] for name in used}
        self._expression: Expression | None = None

    @property
    def is_constant(self) -> bool:
        return not self.factors

    @property
    def value(self) -> int:
        """The number, of one that is constant."""
        return self.terms.get((), 0)

    @property
    def expression(self) -> Expression:
        """The same as a tree, products of the most factors first."""
        if self._expression is None:
            self._expression = _spelled(self)
        return self._expression

    def symbols(self) -> set[str]:
        return {name for one in self.factors.values() for name in one.symbols()}

    def evaluate(self, bindings: Mapping[str, Number]) -> int:
        """The value where every symbol has the value given."""
        total = 0
        values = {name: one.evaluate(bindings) for name, one in self.factors.items()}
        for product, count in self.terms.items():
            total += int(reduce(operator.mul, (values[name] for name in product), count))
        return total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for product, count in other.terms.items():
            terms[product] = terms.get(product, 0) + count
        return Polynomial(terms, {**self.factors, **other.factors})

    def __neg__(self) -> Polynomial:
        return Polynomial({product: -count for product, count in self.terms.items()}, self.factors)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Product, int] = {}
        for left, first in self.terms.items():
            for right, second in other.terms.items():
                product = tuple(sorted(left + right))
                terms[product] = terms.get(product, 0) + first * second
        return Polynomial(terms, {**self.factors, **other.factors})

    def __floordiv__(self, other: Polynomial) -> Polynomial:
        """The quotient rounded down. Raises ZeroDivisionError for a divisor that is zero."""
        if other.is_constant and other.value == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        whole, rest = _divided(self, other)
        if not rest.terms:
            return whole
        if other.is_constant and rest.is_constant:
            return whole + number(rest.value // other.value)
        return whole + _quotient_of_quotient(rest, other)

    def __mod__(self, other: Polynomial) -> Polynomial:
        if self.is_constant and other.is_constant and other.value:
            return number(self.value % other.value)
        _, rest = _divided(self, other)
        if not rest.terms:
            return rest
        if other.is_constant and other.value > 0:
            # What is a multiple of the divisor leaves no remainder.
            kept = {one: count % other.value for one, count in rest.terms.items()}
            rest = Polynomial(kept, rest.factors)
            if rest.is_constant:
                return rest
        return function_of("%", operator.mod, rest, other)

    def __str__(self) -> str:
        return str(self.expression)

    def __repr__(self) -> str:
        return f"Polynomial({str(self)!r})"


def number(value: int) -> Polynomial:
    """What is always this number."""
    return Polynomial({(): value}, {})


def factor(expression: Expression) -> Polynomial:
    """What is this expression, known by its spelling."""
    name = str(expression)
    return Polynomial({(name,): 1}, {name: expression})


def function_of(head: str, function: Callable[..., Any], *given: Polynomial) -> Polynomial:
    """A factor that is a function of other sizes; a number where these are."""
    if all(one.is_constant for one in given):
        return number(int(function(*[one.value for one in given])))
    arguments = tuple(one.expression for one in given)
    return factor(Expression(head, function=function, arguments=arguments))


def largest(left: Polynomial, right: Polynomial) -> Polynomial:
    """The larger one, without asking which that is unless they differ by a number."""
    return _chosen("Max", max, left, right)


def smallest(left: Polynomial, right: Polynomial) -> Polynomial:
    """The smaller one, without asking which that is unless they differ by a number."""
    return _chosen("Min", min, left, right)


def _chosen(
    head: str, function: Callable[..., Any], left: Polynomial, right: Polynomial
) -> Polynomial:
    difference = left - right
    if difference.is_constant:
        return left if function(difference.value, 0) == difference.value else right
    return function_of(head, function, *sorted((left, right), key=str))


def polynomial(expression: Expression) -> Polynomial:
    """The canonical form of an expression of integers."""
    return substituted(expression, {})


def substituted(expression: Expression, known: Mapping[str, Polynomial]) -> Polynomial:
    """The canonical form of an expression with sizes in the place of symbols."""
    if expression.value is not None:
        return number(int(expression.value))
    if expression.is_symbol:
        return known.get(expression.head) or factor(expression)
    parts = [substituted(one, known) for one in expression.arguments]
    head = expression.head
    if head in ("+", "Add"):
        return reduce(operator.add, parts)
    if head in ("*", "Mul"):
        return reduce(operator.mul, parts)
    if head == "-":
        return -parts[0] if len(parts) == 1 else parts[0] - parts[1]
    if head in ("//", "FloorDiv", "CleanDiv"):
        return parts[0] // parts[1]
    if head in ("%", "Mod", "PythonMod"):
        return parts[0] % parts[1]
    if head in ("Max", "Min") and len(parts) == 2:
        return largest(*parts) if head == "Max" else smallest(*parts)
    if head in ("**", "Pow", "PowByNatural") and _is_small_power(parts[1]):
        return reduce(operator.mul, [parts[0]] * parts[1].value, number(1))
    assert expression.function is not None
    return function_of(head, expression.function, *parts)


def with_symbols(size: Polynomial, known: Mapping[str, Polynomial]) -> Polynomial:
    """A size with others in the place of symbols."""
    if not known or not any(name in known for name in size.symbols()):
        return size
    total = number(0)
    for product, count in size.terms.items():
        parts = [substituted(size.factors[name], known) for name in product]
        total += reduce(operator.mul, parts, number(count))
    return total


def _is_small_power(exponent: Polynomial) -> bool:
    return exponent.is_constant and 0 <= exponent.value <= _HIGHEST_POWER


def _divided(size: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
    """What `divisor` goes into without a remainder, divided by it, and what is left."""
    if len(divisor.terms) != 1:
        return (number(1), number(0)) if size == divisor else (number(0), size)
    ((product, count),) = divisor.terms.items()
    whole: dict[Product, int] = {}
    rest: dict[Product, int] = {}
    for given, times in size.terms.items():
        left = _without(given, product)
        if left is None or times % count:
            rest[given] = times
        else:
            whole[left] = times // count
    return Polynomial(whole, size.factors), Polynomial(rest, size.factors)


def _without(product: Product, factors: Product) -> Product | None:
    left = list(product)
    for name in factors:
        if name not in left:
            return None
        left.remove(name)
    return tuple(left)


def _quotient_of_quotient(size: Polynomial, divisor: Polynomial) -> Polynomial:
    """A quotient that is not whole; of a quotient and a number, one by both divisors at once."""
    inner = [product for product in size.terms if product]
    if divisor.is_constant and divisor.value > 0 and len(inner) == 1 and len(inner[0]) == 1:
        one = size.factors[inner[0][0]]
        by = one.arguments[1].value if one.head == "//" else None
        if size.terms[inner[0]] == 1 and isinstance(by, int) and by > 0:
            added = number(size.terms.get((), 0) * by)
            return (polynomial(one.arguments[0]) + added) // number(by * divisor.value)
    if divisor.is_constant and len(size.terms) == 1:
        common = gcd(divisor.value, *size.terms.values())
        if common > 1 and divisor.value > 0:
            reduced = {one: count // common for one, count in size.terms.items()}
            return Polynomial(reduced, size.factors) // number(divisor.value // common)
    return function_of("//", operator.floordiv, size, divisor)


def _spelled(size: Polynomial) -> Expression:
    ordered = sorted(size.terms.items(), key=lambda term: (-len(term[0]), term[0]))
    total: Expression | None = None
    for product, count in ordered:
        positive = _product(product, abs(count), size.factors)
        if total is None:
            total = positive if count > 0 else _product(product, count, size.factors)
        elif count > 0:
            total = Expression("+", function=operator.add, arguments=(total, positive))
        else:
            total = Expression("-", function=operator.sub, arguments=(total, positive))
    return constant(0) if total is None else total


def _product(product: Product, count: int, factors: Mapping[str, Expression]) -> Expression:
    parts = [factors[name] for name in product]
    if count == -1 and parts:
        return Expression("-", function=operator.neg, arguments=(_product(product, 1, factors),))
    if count != 1 or not parts:
        parts.insert(0, constant(count))
    return reduce(
        lambda left, right: Expression("*", function=operator.mul, arguments=(left, right)), parts
    )
