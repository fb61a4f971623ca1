"""Symbolic sizes in the constructor spelling that torch reads."""

from __future__ import annotations

import math

from aten.graph.errors import FormatError
from aten.graph.symbolic import Expression, Number

# What the arithmetic spelling of a guard is called as a constructor.
_CONSTRUCTORS = {
    "+": "Add",
    "*": "Mul",
    "//": "FloorDiv",
    "%": "PythonMod",
    "/": "IntTrueDiv",
    "**": "PowByNatural",
    "<<": "LShift",
    ">>": "RShift",
    "==": "Equality",
    "!=": "Unequality",
    "<": "StrictLessThan",
    "<=": "LessThan",
    ">": "StrictGreaterThan",
    ">=": "GreaterThan",
    "and": "And",
    "or": "Or",
}
_CONDITIONS = frozenset(
    {
        *("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "Equality", "Unequality", "StrictLessThan"),
        *("LessThan", "StrictGreaterThan", "GreaterThan", "And", "Or", "Not", "Xor"),
        *("==", "!=", "<", "<=", ">", ">=", "and", "or", "Implies"),
    }
)
_FRACTIONS = frozenset(
    {"IntTrueDiv", "FloatTrueDiv", "FloatPow", "ToFloat", "TruncToFloat", "RoundDecimal", "/"}
)
_ROUNDING = frozenset({"FloorToInt", "CeilToInt", "TruncToInt", "RoundToInt", "floor", "ceiling"})


def spelled(expression: Expression) -> str:
    """The expression as constructor calls: `Add(Symbol('s77', ...), Integer(1))`."""
    if expression.value is not None:
        return _number(expression.value)
    if expression.is_symbol:
        return f"Symbol('{expression.head}'{_assumed(expression.head)})"
    operands = [spelled(argument) for argument in expression.arguments]
    if not operands:
        return expression.head
    if expression.head == "-":
        [*kept, last] = operands
        negated = f"Mul(Integer(-1), {last})"
        return f"Add({kept[0]}, {negated})" if kept else negated
    name = _CONSTRUCTORS.get(expression.head, expression.head)
    if not name.isidentifier():
        raise FormatError(f"{expression}: the operator {name!r} has no name in a file")
    return f"{name}({', '.join(operands)})"


def _number(value: Number) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"Integer({value})"
    if math.isinf(value):
        return "oo" if value > 0 else "NegativeInfinity"
    return f"Float('{value!r}', precision=53)"


def _assumed(name: str) -> str:
    """What torch assumes of a symbol by its kind: sizes it traced with, or found while running."""
    if name.startswith("s"):
        return ", positive=True, integer=True"
    return ", integer=True" if name.startswith("u") else ""


def kind_of(value: Expression | Number) -> str:
    """Whether a value is a "sym_int", a "sym_float" or a "sym_bool"."""
    if not isinstance(value, Expression):
        named = {bool: "sym_bool", int: "sym_int", float: "sym_float"}
        return named[type(value)]
    if value.value is not None:
        return kind_of(value.value)
    if value.head in _CONDITIONS:
        return "sym_bool"
    if value.head in _FRACTIONS or (value.is_symbol and value.head.startswith("z")):
        return "sym_float"
    if value.head in _ROUNDING:
        return "sym_int"
    kinds = [kind_of(argument) for argument in value.arguments]
    return "sym_float" if "sym_float" in kinds else "sym_int"
