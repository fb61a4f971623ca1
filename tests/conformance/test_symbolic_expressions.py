"""Symbolic sizes as torch.export writes them: every function read, and its value sympy's own."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
import sympy
import torch.utils._sympy.functions as symbolic
from torch.utils._sympy.numbers import int_oo

from aten.graph.symbolic import SymbolicError, parse

S = [sympy.Symbol(f"s{place}", integer=True) for place in range(4)]
a, b, c, d = S
BELOW_ZERO, FROM_ONE = (-40, 40), (1, 40)


def dense(sizes: list[int], strides: list[int]) -> Any:
    return symbolic.IsNonOverlappingAndDenseIndicator(*sizes, *strides)


# An expression of symbols, or of numbers, and the range of each.
EXPRESSIONS: dict[str, tuple[Callable[..., Any], list[tuple[int, int]]]] = {
    "FloorDiv": (symbolic.FloorDiv, [BELOW_ZERO, FROM_ONE]),
    "FloorDiv by either sign": (lambda x, y: symbolic.FloorDiv(x, -y), [BELOW_ZERO, FROM_ONE]),
    "CleanDiv": (lambda x, y: symbolic.CleanDiv(x, y), [FROM_ONE, FROM_ONE]),
    "CeilDiv": (symbolic.CeilDiv, [BELOW_ZERO, FROM_ONE]),
    "ModularIndexing": (symbolic.ModularIndexing, [(0, 400), FROM_ONE, FROM_ONE]),
    "PythonMod": (symbolic.PythonMod, [BELOW_ZERO, FROM_ONE]),
    "PythonMod of minus": (lambda x, y: symbolic.PythonMod(x, -y), [BELOW_ZERO, FROM_ONE]),
    "Mod": (symbolic.Mod, [(0, 40), FROM_ONE]),
    "sympy's Mod": (sympy.Mod, [BELOW_ZERO, FROM_ONE]),
    "Where": (lambda x, y: symbolic.Where(x > 3, x, y), [BELOW_ZERO, BELOW_ZERO]),
    "LShift": (symbolic.LShift, [BELOW_ZERO, (0, 20)]),
    "RShift": (symbolic.RShift, [BELOW_ZERO, (0, 20)]),
    # Past 2^63 torch's is infinite.
    "PowByNatural": (symbolic.PowByNatural, [BELOW_ZERO, (0, 11)]),
    "FloatPow": (
        lambda x, y: symbolic.FloatPow(symbolic.ToFloat(x), symbolic.ToFloat(y)),
        [FROM_ONE, (-5, 5)],
    ),
    "IntTrueDiv": (symbolic.IntTrueDiv, [BELOW_ZERO, FROM_ONE]),
    "FloatTrueDiv": (
        lambda x, y: symbolic.FloatTrueDiv(symbolic.ToFloat(x), symbolic.ToFloat(y)),
        [BELOW_ZERO, FROM_ONE],
    ),
    "ToFloat": (symbolic.ToFloat, [BELOW_ZERO]),
    "Identity": (lambda x: symbolic.Identity(x) + 1, [BELOW_ZERO]),
    **{
        name: (
            lambda x, y, name=name: getattr(symbolic, name)(symbolic.IntTrueDiv(x, y)),
            [BELOW_ZERO, FROM_ONE],
        )
        for name in ("CeilToInt", "FloorToInt", "TruncToInt", "TruncToFloat", "RoundToInt")
    },
    "RoundDecimal": (
        lambda x, y: symbolic.RoundDecimal(symbolic.IntTrueDiv(x, y), sympy.Integer(2)),
        [BELOW_ZERO, FROM_ONE],
    ),
    "Max": (lambda x, y: symbolic.Max(x, y, 3), [BELOW_ZERO, BELOW_ZERO]),
    "Min": (lambda x, y: symbolic.Min(x, y, 3), [BELOW_ZERO, BELOW_ZERO]),
    "sympy's Max": (lambda x, y: sympy.Max(x, y), [BELOW_ZERO, BELOW_ZERO]),
    "dense, one": (lambda x, y: dense([x], [y]), [(0, 3), (0, 3)]),
    "dense, two": (
        lambda x, y, z, w: dense([x, y], [z, w]),
        [(1, 3), (1, 3), (1, 3), (1, 3)],
    ),
    **{
        name: (getattr(symbolic, name), [(0, 300), (0, 300)])
        for name in ("BitwiseFn_bitwise_and", "BitwiseFn_bitwise_or", "BitwiseFn_bitwise_xor")
    },
    "Add, Mul, Pow": (lambda x, y: 3 * x**2 - 2 * x * y + y - 7, [BELOW_ZERO, BELOW_ZERO]),
    "Rational": (lambda x, y: x * sympy.Rational(3, 49) + y / 7, [BELOW_ZERO, BELOW_ZERO]),
    "floor of a Rational": (lambda x: sympy.floor(x * sympy.Rational(1, 49)), [(-400, 400)]),
    "ceiling of a Rational": (lambda x: sympy.ceiling(x / 3), [BELOW_ZERO]),
    "quotient": (lambda x, y: x / y, [BELOW_ZERO, FROM_ONE]),
    "Abs": (sympy.Abs, [BELOW_ZERO]),
    "sign": (sympy.sign, [BELOW_ZERO]),
    "Piecewise": (
        lambda x, y: sympy.Piecewise((x, x > 3), (y, sympy.Eq(y, 2) | (x < 0)), (7, True)),
        [BELOW_ZERO, (0, 4)],
    ),
    "relations": (
        lambda x, y: sympy.And(sympy.Or(x > y, sympy.Eq(x, 3), y <= 2), sympy.Ne(x, -1), x >= -30),
        [BELOW_ZERO, BELOW_ZERO],
    ),
    "Not": (lambda x, y: sympy.Not(sympy.And(x < y, x > 2)), [BELOW_ZERO, BELOW_ZERO]),
    "Not of an equation": (lambda x: ~sympy.And(sympy.Eq(x, 3), x < 9), [BELOW_ZERO]),
    "Xor": (lambda x, y: sympy.Xor(x > 3, y < 2), [BELOW_ZERO, BELOW_ZERO]),
    "ITE": (lambda x, y: sympy.ITE(x > 3, y < 2, y > 5), [BELOW_ZERO, BELOW_ZERO]),
    "Implies": (lambda x, y: sympy.Implies(x > 3, y < 2), [BELOW_ZERO, BELOW_ZERO]),
    "Equivalent": (lambda x, y: sympy.Equivalent(x > 3, y < 2), [BELOW_ZERO, BELOW_ZERO]),
    **{
        f"OpaqueUnaryFn_{name}": (
            lambda x, name=name: getattr(symbolic, f"OpaqueUnaryFn_{name}")(x),
            [(1, 30)],
        )
        for name in (
            *("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh"),
            *("atan", "exp", "log", "asinh", "log2"),
        )
    },
}


def expected(function: Callable[..., Any], values: list[int]) -> Any:
    """What torch and sympy compute for numbers, as Python's."""
    found = sympy.sympify(function(*map(sympy.Integer, values)))
    found = found.replace(symbolic.Identity, lambda inner: inner)
    if found.is_Boolean:
        return bool(found)
    return int(found) if found.is_Integer else float(found)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_are_read_and_have_sympy_s_value(name: str) -> None:
    function, ranges = EXPRESSIONS[name]
    expression = function(*S[: len(ranges)])
    readings = [parse(sympy.srepr(expression)), parse(str(expression))]
    source = random.Random(name)
    for _ in range(60):
        values = [source.randint(*one) for one in ranges]
        wanted = expected(function, values)
        bindings = {f"s{place}": value for place, value in enumerate(values)}
        found = readings[0].evaluate(bindings)
        assert type(found) is type(wanted), (values, found, wanted)
        assert found == pytest.approx(wanted, rel=1e-15, abs=0), values
        # The spelling as arithmetic divides as Python does: each quotient is rounded.
        near = pytest.approx(wanted, rel=1e-15, abs=1e-14)
        assert readings[1].evaluate(bindings) == near, values
        assert parse(str(readings[0])).evaluate(bindings) == found


def test_every_function_that_torch_has_for_sizes_is_read() -> None:
    covered = " ".join(
        sympy.srepr(function(*S[: len(ranges)])) for function, ranges in EXPRESSIONS.values()
    )
    for name, member in vars(symbolic).items():
        is_function = isinstance(member, type) and issubclass(member, sympy.Basic)
        if not is_function or member.__module__ != symbolic.__name__ or name == "MinMaxBase":
            continue
        # These become other functions when they are made, or have no real value for sizes.
        if name in ("CeilDiv", "LShift", "RShift", "OpaqueUnaryFn_asin", "OpaqueUnaryFn_acos"):
            parse(f"{name}(Symbol('x'), Integer(2))" if "Opaque" not in name else f"{name}(x)")
            continue
        assert f"{name}(" in covered, name


@pytest.mark.parametrize(
    ("constant", "value"),
    [
        (sympy.true, True),
        (sympy.false, False),
        (sympy.oo, math.inf),
        (-sympy.oo, -math.inf),
        (int_oo, math.inf),
        (-int_oo, -math.inf),
        (sympy.pi, math.pi),
        (sympy.E, math.e),
        (sympy.Rational(-1, 4), -0.25),
        (sympy.Float("0.1"), 0.1),
        (sympy.Float(1e300), 1e300),
        (sympy.Integer(2**70), 2**70),
    ],
)
def test_constants_are_read(constant: Any, value: Any) -> None:
    for text in (sympy.srepr(constant), str(constant)):
        found = parse(text).evaluate({})
        assert type(found) is type(value)
        assert found == pytest.approx(value, rel=1e-14, abs=0)


def test_what_is_no_number_is_read_and_has_no_value() -> None:
    assert math.isnan(parse(sympy.srepr(sympy.nan)).evaluate({}))  # type: ignore[arg-type]
    infinite = parse(sympy.srepr(sympy.zoo))
    with pytest.raises(SymbolicError, match="no value"):
        infinite.evaluate({})
