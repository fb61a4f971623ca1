"""Symbolic expressions: both spellings, Python's precedence, and no way to run anything."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aten.graph.symbolic import SymbolicError, ValueRange, constant, parse, solve

S = "Symbol('s77', positive=True, integer=True)"


@pytest.mark.parametrize(
    ("text", "printed", "value"),
    [
        (S, "s77", 7),
        (f"Mul(Integer(2), {S})", "2 * s77", 14),
        (f"Add({S}, Integer(-1))", "s77 - 1", 6),
        (f"Add(FloorDiv(Add({S}, Integer(-3)), Integer(2)), Integer(1))", "(s77 - 3) // 2 + 1", 3),
        (f"Pow({S}, Integer(2))", "s77 ** 2", 49),
        (f"Mod({S}, Integer(5))", "s77 % 5", 2),
        (f"Max(Integer(1), {S})", "Max(1, s77)", 7),
        (
            f"TruncToInt(Mul(Float('1.5', precision=53), ToFloat({S})))",
            "TruncToInt(1.5 * ToFloat(s77))",
            10,
        ),
        (f"GreaterThan({S}, Integer(0))", "s77 >= 0", True),
        ("s77", "s77", 7),
        ("2*s77 + 1", "2 * s77 + 1", 15),
        ("s77//2", "s77 // 2", 3),
        ("10 - s77 - 2", "10 - s77 - 2", 1),
        ("10 - (s77 - 2)", "10 - (s77 - 2)", 5),
        ("-s77**2", "-s77 ** 2", -49),
        ("2**3**2", "2 ** 3 ** 2", 512),
        ("(2**3)**2", "(2 ** 3) ** 2", 64),
        ("(-2) + 2*(s77 // 2) < s77", "-2 + 2 * (s77 // 2) < s77", True),
        ("2 <= s77 < 7", "2 <= s77 and s77 < 7", False),
        ("not s77 == 3", "Not(s77 == 3)", True),
        ("s77 > 3 and s77 < 5 or s77 == 7", "s77 > 3 and s77 < 5 or s77 == 7", True),
        ("s77 & 3 | 8", "s77 & 3 | 8", 11),
        ("1 << s77 >> 1", "1 << s77 >> 1", 64),
        ("math.trunc(s77 / 2) == 3", "math.trunc(s77 / 2) == 3", True),
        ("Min(s77, 3) + Max(s77, 9)", "Min(s77, 3) + Max(s77, 9)", 12),
        ("1e2 + .5", "100.0 + 0.5", 100.5),
        ("oo > s77", "inf > s77", True),
    ],
)
def test_parses_prints_and_evaluates(text: str, printed: str, value: object) -> None:
    expression = parse(text)
    assert str(expression) == printed
    result = expression.evaluate({"s77": 7})
    assert result == value
    assert type(result) is type(value)


def test_guard_paths_are_symbols() -> None:
    guard = parse("4*(L['x'].size()[0] % 5) < L['d']['a'][1].size()[2]")
    first, second = "L['x'].size()[0]", "L['d']['a'][1].size()[2]"
    assert list(guard.symbols()) == [first, second]
    assert guard.evaluate({first: 10, second: 1}) is True
    assert guard.evaluate({first: 11, second: 1}) is False


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "ends too early"),
        ("1 +", "ends too early"),
        ("(1", "ends too early"),
        ("1 2", "unexpected '2'"),
        ("1)", r"unexpected '\)'"),
        ("s77 @ 2", "unexpected '@'"),
        ("x = 1", "unexpected '='"),
        ("__import__('os')", "unknown function '__import__'"),
        ("eval('1')", "unknown function 'eval'"),
        ("L['x'].__class__.__mro__[lambda]", "unexpected 'lambda' as an index"),
        ("().__class__", "unexpected"),
        ("[1, 2]", r"unexpected '\['"),
        ("'text'", "unexpected \"'text'\""),
        ("Symbol()", "needs a name"),
        ("Integer('1')", "needs a number"),
        ("Add(1, x=2)", "takes expressions"),
        ("Max()", "takes expressions"),
        ("1 if s77 else 2", "unexpected 'if'"),
        ("(" * 500 + "1" + ")" * 500, "nested too deeply"),
        ("-" * 500 + "1", "nested too deeply"),
        ("1" * 2000, "too long"),
        ("1+" * 20_000 + "1", "too long"),
    ],
)
def test_refuses_anything_else(text: str, reason: str) -> None:
    with pytest.raises(SymbolicError, match=reason):
        parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("s77 // 0", "no value"),
        ("s99 + 1", "the size s99 is not known"),
        ("9 ** 9 ** 9 ** 9", "too large"),
        ("1 << 99999999", "out of range"),
        ("2.5 & 1", "no value"),
        ("Max(1)(2)", "unexpected"),
        ("(0 - 2) ** 0.5", "not a real number"),
        ("FloorDiv(1)", "no value"),
    ],
)
def test_no_value_is_an_error(text: str, reason: str) -> None:
    with pytest.raises(SymbolicError, match=reason):
        parse(text).evaluate({"s77": 7})


def integer_expressions() -> st.SearchStrategy[str]:
    atoms = st.one_of(st.integers(0, 20).map(str), st.sampled_from(["a", "b"]))
    operators = st.sampled_from(["+", "-", "*", "//", "%", "<", "==", "&", "|", "^"])

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        binary = st.tuples(inner, operators, inner).map(" ".join)
        return st.one_of(binary, inner.map(lambda t: f"({t})"), inner.map(lambda t: f"-({t})"))

    return st.recursive(atoms, extend, max_leaves=12)


@given(integer_expressions(), st.integers(1, 9), st.integers(1, 9))
def test_agrees_with_python_and_survives_printing(text: str, a: int, b: int) -> None:
    values = {"a": a, "b": b}
    try:
        expected = eval(text, {}, dict(values))
    except (ArithmeticError, ValueError):
        return
    expression = parse(text)
    assert expression.evaluate(values) == expected
    assert parse(str(expression)).evaluate(values) == expected


def test_solves_for_one_unknown() -> None:
    assert solve(parse("2*s0 + 1"), 9, {}) == ("s0", 4)
    assert solve(parse("2*s0 + 1"), 8, {}) is None
    assert solve(parse("s0*s1"), 12, {"s1": 4}) == ("s0", 3)
    assert solve(parse("s0*s1"), 12, {}) is None
    assert solve(parse("s0**2"), 9, {}) is None
    assert solve(constant(3), 3, {}) is None


def test_value_range() -> None:
    assert 4096 in ValueRange(1, 4096)
    assert 0 not in ValueRange(1, 4096)
    assert 10**12 in ValueRange(2, None)
    assert str(ValueRange(1, 4096)) == "1..4096"
    assert str(ValueRange(2, None)) == "at least 2"
    assert str(ValueRange(None, 2)) == "at most 2"
    assert str(ValueRange(None, None)) == "any"
    with pytest.raises(SymbolicError, match="empty"):
        ValueRange(3, 2)


PIECES = (
    "Piecewise(ExprCondPair(Integer(1), StrictGreaterThan(s, Integer(9))), ExprCondPair(s, true))"
)


@pytest.mark.parametrize(
    ("text", "size", "value"),
    [
        (PIECES, 10, 1),
        (PIECES, 4, 4),
        ("Piecewise((1, s > 9), (s, True))", 4, 4),
        ("Piecewise((10//s, s > 0), (0, True))", 0, 0),
        ("true", 0, True),
        ("Or(s > 3, false)", 4, True),
        ("s != 0 and 10 % s == 0", 0, False),
        ("s == 0 or 10 % s == 0", 0, True),
        ("Where(Eq(s, 0), 0, 10//s)", 0, 0),
        ("~((s > 3) & (s < 9))", 4, False),
        ("~s", 4, -5),
        ("Mul(Rational(1, 49), s)", 49, 1),
        ("floor(Mul(Rational(1, 49), s))", 49 * 3**30, 3**30),
        ("Mul(s, Pow(Integer(3), Integer(-1)))", 7, 7 / 3),
        ("Pow(s, Rational(1, 2))", 49, 7),
        ("Pow(s, Rational(1, 2))", 50, 50**0.5),
        ("IntTrueDiv(s, 2)", 4, 2.0),
        ("RoundDecimal(s, 1)", 4, 4.0),
        ("FloatPow(s, 2)", 4, 16.0),
        ("TruncToFloat(s / 3)", 7, 2.0),
        ("TruncToInt(-oo)", 0, -math.inf),
        ("CeilDiv(s, 3)", 7, 3),
        ("IsNonOverlappingAndDenseIndicator(2, s, s, 1)", 5, 1),
        ("IsNonOverlappingAndDenseIndicator(2, s, 1, 1)", 5, 0),
        ("Xor(s > 3, s > 4)", 4, True),
        ("ITE(s > 3, s > 9, s < 2)", 4, False),
    ],
)
def test_what_sympy_prints_has_its_value(text: str, size: int, value: object) -> None:
    found = parse(text).evaluate({"s": size})
    assert found == value
    assert type(found) is type(value)
    assert parse(str(parse(text))).evaluate({"s": size}) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(1, True)", "outside of a Piecewise"),
        ("1 + (1, True)", "outside of a Piecewise"),
        ("Max(ExprCondPair(1, true), 2)", "outside of a Piecewise"),
        ("Piecewise((1, (2, True)))", "outside of a Piecewise"),
        ("Piecewise(1, true)", "takes pairs"),
        ("Piecewise()", "takes expressions"),
        ("ExprCondPair(1)", "a value and a condition"),
        ("(1, 2, 3)", r"expected '\)'"),
    ],
)
def test_pairs_stand_in_piecewise_only(text: str, reason: str) -> None:
    with pytest.raises(SymbolicError, match=reason):
        parse(text)


@pytest.mark.parametrize(
    "text",
    ["zoo", "Piecewise((1, s > 9))", "Pow(Integer(0), Integer(-1))", "Pow(-1, 0.5)", "s << -1"],
)
def test_what_has_no_value_says_so(text: str) -> None:
    with pytest.raises(SymbolicError, match="no value"):
        parse(text).evaluate({"s": 4})
