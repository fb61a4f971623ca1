"""Programs for inputs of many sizes on their way to a file; `frozen_sizes` reads them.

A program is captured with a symbol in the place of the size: that says for which sizes it is right,
and what follows from them. If all of it is polynomials, what it does for a few sizes says what it
does for all of them: numbers of its plans are interpolated, and more sizes than a polynomial needs
have to agree with it. Rows that are folded must have the same length for all sizes: how they are
cut follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.compiler.dynamic import DynamicProgram
from aten.compiler.files.encoding import UnwritableProgramError, Written
from aten.compiler.files.freezing import Constants, frozen
from aten.compiler.files.frozen_sizes import at_size
from aten.compiler.functions import CompiledFunction
from aten.grad_mode import no_grad
from aten.graph.ir import TensorMeta
from aten.graph.symbolic import Expression, ValueRange

# Sizes that no model has for anything else, of both parities; and one that is large.
_USUAL_SIZES = (5, 7, 11, 16, 23, 211)
_MOST_SIZES = len(_USUAL_SIZES)
# A polynomial takes up to three, and another one has to agree.
_FEWEST_SIZES = 4
_HIGHEST_DEGREE = 2
_POLYNOMIAL = frozenset({"", "Add", "Mul", "+", "-", "*"})
# What may depend on the size, by the names and positions that lead there.
_VARYING = frozenset(
    {
        *("inputs", "template"),
        *("groups.operands", "groups.outputs", "groups.temporaries"),
        *(f"groups.launches.{name}" for name in ("sizes", "strides", "numbers", "offsets", "work")),
    }
)


class _Served(NamedTuple):
    """The sizes a program is right for, and the input and its dimension that has the size."""

    sizes: ValueRange
    place: int
    dimension: int


def frozen_sizes(
    function: Any, inputs_of: Callable[[int], list[Any]], allowed: ValueRange, constants: Constants
) -> Written:
    """What a function of inputs, which gives a flat list of tensors, does for all allowed sizes of
    these for which it is one program. `inputs_of` gives inputs of a size.

    Raises UnwritableProgramError where that is no program, or one that files do not keep.
    """
    served = _served(function, inputs_of, _usual(allowed))
    within = ValueRange(
        max(allowed.lower or 0, served.sizes.lower or 0),
        min((one for one in (allowed.upper, served.sizes.upper) if one is not None), default=None),
    )
    sizes = _usual(within)
    plans = [frozen(function, inputs_of(size), constants) for size in sizes]
    return {
        "least": within.lower,
        "most": within.upper,
        "place": [served.place, served.dimension],
        "plan": _general(plans, sizes, ""),
    }


def is_covered(written: Written, plan: Written, size: int) -> bool:
    """Whether what is written for many sizes is this plan for this one."""
    most = written["most"]
    within = written["least"] <= size and (most is None or size <= most)
    return within and bool(at_size(written["plan"], size) == plan)


def _usual(allowed: ValueRange) -> list[int]:
    """The sizes that are looked at. Raises UnwritableProgramError where there are too few."""
    usual = [one for one in _USUAL_SIZES if one in allowed]
    if len(usual) < _FEWEST_SIZES and allowed.upper is not None:
        first = max(allowed.lower or 0, 2)
        step = max((allowed.upper - first) // (_MOST_SIZES - 1), 1)
        usual = list(range(first, allowed.upper + 1, step))[:_MOST_SIZES]
    if len(usual) < _FEWEST_SIZES:
        raise UnwritableProgramError("it is for too few sizes")
    return usual


def _served(function: Any, inputs_of: Callable[[int], list[Any]], sizes: Sequence[int]) -> _Served:
    compiled = CompiledFunction(function)
    inputs = inputs_of(sizes[0])
    with no_grad():
        # The size that moves becomes a symbol.
        compiled.capture(*inputs)
        compiled.capture(*inputs_of(sizes[1]))
    found = compiled.dynamic_programs()
    if len(found) != 1 or found[0].program.writes:
        raise UnwritableProgramError("; ".join(compiled.breaks) or "it is no program of all sizes")
    known = found[0].environment
    free = [name for name in known.ranges if name not in known.replaced]
    if len(free) != 1:
        raise UnwritableProgramError("it has several sizes")
    for guard in known.guards:
        if not known.decided(guard.comparison, known.simplified(guard.left - guard.right)):
            raise UnwritableProgramError(f"it is for sizes with {guard} alone")
    for one in found[0].expressions:
        if not _is_polynomial(one):
            raise UnwritableProgramError(f"it computes {one} of sizes")
    place, dimension = _place_of(found[0], free[0])
    tensors = [number for number, one in enumerate(inputs) if isinstance(one, Tensor)]
    return _Served(known.ranges[free[0]], tensors[place], dimension)


def _place_of(program: DynamicProgram, symbol: str) -> tuple[int, int]:
    """Which tensor among the arguments has the size, and in which dimension."""
    for place, record in enumerate(program.records):
        assert isinstance(record, TensorMeta)
        for dimension, size in enumerate(record.shape):
            if isinstance(size, Expression) and size.is_symbol and size.head == symbol:
                return place, dimension
    raise UnwritableProgramError("no input has the size")


def _is_polynomial(one: Expression) -> bool:
    is_known = one.is_symbol or one.head in _POLYNOMIAL
    return is_known and all(map(_is_polynomial, one.arguments))


def _general(values: Sequence[Any], sizes: Sequence[int], where: str) -> Any:
    """What is written for all sizes, of what is written for each of these."""
    first = values[0]
    if all(type(one) is type(first) and one == first for one in values):
        return first
    if isinstance(first, dict) and all(_same_keys(first, one) for one in values):
        start = f"{where}." if where else ""
        return {
            name: _general([one[name] for one in values], sizes, _inner(start, name, where))
            for name in first
        }
    if isinstance(first, list) and all(
        isinstance(one, list) and len(one) == len(first) for one in values
    ):
        columns = zip(*values, strict=True)
        return [_general(column, sizes, where) for column in columns]
    if where in _VARYING and all(type(one) is int for one in values):
        return {"size": _interpolated(values, sizes)}
    raise UnwritableProgramError(f"{where or 'it'} is something else for other sizes")


def _inner(start: str, name: str, where: str) -> str:
    # Below what may vary, all may.
    return where if where in _VARYING else f"{start}{name}"


def _same_keys(one: Any, other: Any) -> bool:
    return isinstance(other, dict) and list(one) == list(other)


def _interpolated(values: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """The polynomial, the constant first, that has these values.

    Raises UnwritableProgramError where that is none of low degree and of whole numbers.
    """
    # Newton's divided differences: those of an order above the degree are zero.
    column = [Fraction(one) for one in values]
    leading = []
    for order in range(_HIGHEST_DEGREE + 1):
        leading.append(column[0])
        column = [
            (after - before) / (sizes[place + order + 1] - sizes[place])
            for place, (before, after) in enumerate(pairwise(column))
        ]
    made = [Fraction(0)]
    for order in reversed(range(_HIGHEST_DEGREE + 1)):
        # What there is so far times (size - sizes[order]), and the next.
        grown = [Fraction(0), *made]
        for place, one in enumerate(made):
            grown[place] -= one * sizes[order]
        grown[0] += leading[order]
        made = grown
    while made and not made[-1]:
        made.pop()
    if any(column) or any(one.denominator != 1 for one in made):
        raise UnwritableProgramError("a number of it is no polynomial of the size")
    return [int(one) for one in made]
