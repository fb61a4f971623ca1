"""Symbolic sizes and guards: a small parser and evaluator for the expressions in exported programs.

torch writes a dynamic size as a constructor expression, `Add(Symbol('s77'), Integer(1))`, and a
guard as an arithmetic one, `4*(L['x'].size()[0] % 5) < 2`. Both are read here by one grammar into
one tree, without eval:

    operators, weakest first: or, and, not, comparisons, |, ^, &, << >>, + -, * / // %, unary, **
    term       := number | name | call | path | "(" expression ")"
    path       := "L" ("[" (string | integer) "]" | "." name ["()"])*

A guard's path stays one symbol, spelled as written, and is bound like any other.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from aten.graph.errors import FormatError
from aten.graph.symbolic_functions import (
    CHOICES,
    CONSTANTS,
    FUNCTIONS,
    WITHOUT_VALUE,
    all_of,
    any_of,
    inverted,
    is_fraction,
    no_value,
    power,
    shift_left,
    true_quotient,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fractions import Fraction

Number = int | float | bool

_LONGEST_TEXT = 20_000
_DEEPEST_NESTING = 100
_LONGEST_INTEGER = 1024  # digits; far beyond any size

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<string>'[^'\\]*'|\"[^\"\\]*\")"
    r"|(?P<operator>\*\*|//|<<|>>|<=|>=|==|!=|[-+*/%<>()\[\],=.&|^~]))",
    re.ASCII,
)


class SymbolicError(FormatError):
    """A symbolic expression cannot be parsed, or has no value for the sizes given."""


# Binary operators: how tightly each binds, and the function it stands for.
_COMPARISON = 4
_BINARY: dict[str, tuple[int, Callable[..., Number | Fraction]]] = {
    "or": (1, any_of),
    "and": (2, all_of),
    "<": (_COMPARISON, operator.lt),
    "<=": (_COMPARISON, operator.le),
    ">": (_COMPARISON, operator.gt),
    ">=": (_COMPARISON, operator.ge),
    "==": (_COMPARISON, operator.eq),
    "!=": (_COMPARISON, operator.ne),
    "|": (5, operator.or_),
    "^": (6, operator.xor),
    "&": (7, operator.and_),
    "<<": (8, shift_left),
    ">>": (8, operator.rshift),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, true_quotient),
    "//": (10, operator.floordiv),
    "%": (10, operator.mod),
    "**": (12, power),
}
_NOT, _UNARY, _POWER = 3, 11, 12
_PAIR = "ExprCondPair"
_SIGNS: dict[str, Callable[..., Number | Fraction]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": inverted,
}

# How the constructor spelling prints: operator and how tightly it binds.
_INFIX = {
    "Add": ("+", 9),
    "Mul": ("*", 10),
    "FloorDiv": ("//", 10),
    "CleanDiv": ("//", 10),
    "Mod": ("%", 10),
    "PythonMod": ("%", 10),
    "IntTrueDiv": ("/", 10),
    "FloatTrueDiv": ("/", 10),
    "Pow": ("**", 12),
    "PowByNatural": ("**", 12),
    "FloatPow": ("**", 12),
    "Eq": ("==", 4),
    "Ne": ("!=", 4),
    "Lt": ("<", 4),
    "Le": ("<=", 4),
    "Gt": (">", 4),
    "Ge": (">=", 4),
    "Equality": ("==", 4),
    "Unequality": ("!=", 4),
    "StrictLessThan": ("<", 4),
    "LessThan": ("<=", 4),
    "StrictGreaterThan": (">", 4),
    "GreaterThan": (">=", 4),
    "And": ("and", 2),
    "Or": ("or", 1),
}


class Expression:
    """A node of the tree: a number, a symbol, or a function of other nodes. Immutable.

    Attributes:
        head: the function's or operator's name as written; a symbol's name; "" for a number.
        value: the number, for numbers.
        arguments: the function's arguments; empty for numbers and symbols.
        hint: the value it had when the program was exported, where that is known. It takes no
            part in comparisons.
    """

    __slots__ = ("arguments", "function", "head", "hint", "value")

    def __init__(
        self,
        head: str,
        value: Number | None = None,
        function: Callable[..., Number | Fraction] | None = None,
        arguments: tuple[Expression, ...] = (),
        hint: Number | None = None,
    ) -> None:
        self.head = head
        self.value = value
        self.function = function
        self.arguments = arguments
        self.hint = hint

    def with_hint(self, hint: Number | None) -> Expression:
        """The same expression with the value that it had when the program was exported."""
        return Expression(self.head, self.value, self.function, self.arguments, hint)

    @property
    def is_symbol(self) -> bool:
        return self.function is None and self.value is None

    def symbols(self) -> Iterator[str]:
        """The names of the symbols, each as often as it occurs, left to right."""
        if self.is_symbol:
            yield self.head
        for argument in self.arguments:
            yield from argument.symbols()

    def evaluate(self, bindings: Mapping[str, Number]) -> Number:
        """The value where every symbol has the value given. A fraction that is left is a float.

        Raises:
            SymbolicError: a symbol is not bound, or there is no result (division by zero).
        """
        try:
            value = self._evaluate(bindings)
            if isinstance(value, int) or not is_fraction(value):
                return value  # type: ignore[return-value]
            return int(value) if value.denominator == 1 else float(value)
        except KeyError as error:
            raise SymbolicError(f"{self}: the size {error.args[0]} is not known") from None
        except (ArithmeticError, TypeError, ValueError) as error:
            raise SymbolicError(f"{self}: no value: {error}") from None

    def _evaluate(self, bindings: Mapping[str, Number]) -> Number | Fraction:
        if self.value is not None:
            return self.value
        if self.function is None:
            return bindings[self.head]
        if self.head in CHOICES:
            arguments = self.arguments
            if self.head == "Piecewise":
                arguments = tuple(part for pair in arguments for part in pair.arguments)
            return self.function(*[partial(one._evaluate, bindings) for one in arguments])
        return self.function(*[argument._evaluate(bindings) for argument in self.arguments])

    def __str__(self) -> str:
        return self._format(0)

    def __repr__(self) -> str:
        return f"Expression({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def _format(self, outer: int) -> str:
        """The arithmetic spelling, in parentheses where `outer` binds more tightly."""
        if self.value is not None:
            text = str(self.value)
            return f"({text})" if text.startswith("-") and outer > 10 else text
        if self.function is None:
            return self.head
        if not self.arguments:
            return self.head
        if len(self.arguments) == 1 and self.head in _SIGNS:
            text = self.head + self.arguments[0]._format(_UNARY)
            return f"({text})" if outer > _UNARY else text
        infix = _INFIX.get(self.head) or (
            (self.head, _BINARY[self.head][0]) if self.head in _BINARY else None
        )
        if infix is None or len(self.arguments) < 2:
            return f"{self.head}({', '.join(argument._format(0) for argument in self.arguments)})"
        sign, strength = infix
        # A comparison on the left would read as a chain.
        tighter = sign == "**" or strength == _COMPARISON
        first = self.arguments[0]._format(strength + tighter)
        text = first
        for argument in self.arguments[1:]:
            term = argument._format(strength + (sign != "**"))
            negative = sign == "+" and term.startswith("-") and argument.head in ("", "Mul", "*")
            text += f" - {term[1:]}" if negative else f" {sign} {term}"
        return f"({text})" if strength < outer else text


def _has_loose_pair(expression: Expression, within: str) -> bool:
    if expression.head == _PAIR and expression.arguments and within != "Piecewise":
        return True
    return any(_has_loose_pair(one, expression.head) for one in expression.arguments)


class _Parser:
    """One pass over the tokens; binding strengths decide how far an operand reaches."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST_TEXT:
            raise SymbolicError(f"symbolic expression of {len(text)} characters: too long")
        self.text = text
        self.tokens = list(self.split())
        self.position = 0
        self.depth = 0

    def error(self, reason: str) -> SymbolicError:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return SymbolicError(f"symbolic expression {shown!r}: {reason}")

    def split(self) -> Iterator[tuple[str, str]]:
        position, end = 0, len(self.text.rstrip())
        while position < end:
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise self.error(f"unexpected {self.text[position:].strip()[:1]!r}")
            kind = str(match.lastgroup)
            yield kind, match.group(kind)
            position = match.end()
        yield "end", ""

    def parse(self) -> Expression:
        result = self.expression(0)
        if self.tokens[self.position][0] != "end":
            raise self.error(f"unexpected {self.tokens[self.position][1]!r}")
        if _has_loose_pair(result, ""):
            raise self.error("a pair of value and condition stands outside of a Piecewise")
        return result

    def take(self) -> tuple[str, str]:
        token = self.tokens[self.position]
        if token[0] == "end":
            raise self.error("it ends too early")
        self.position += 1
        return token

    def at(self, text: str) -> bool:
        kind, found = self.tokens[self.position]
        return found == text and kind in ("operator", "name")

    def accept(self, text: str) -> bool:
        if not self.at(text):
            return False
        self.position += 1
        return True

    def expect(self, text: str) -> None:
        kind, found = self.take()
        if found != text or kind != "operator":
            raise self.error(f"expected {text!r}, found {found!r}")

    def expression(self, weakest: int) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST_NESTING:
            raise self.error("nested too deeply")
        left = self.prefix()
        compared: Expression | None = None  # the right side of the last comparison in a chain
        while True:
            kind, sign = self.tokens[self.position]
            strength, function = _BINARY.get(sign, (-1, None))
            if kind not in ("operator", "name") or strength < weakest or function is None:
                break
            self.position += 1
            right = self.expression(strength if sign == "**" else strength + 1)
            operand = left if compared is None or strength != _COMPARISON else compared
            joined = Expression(sign, function=function, arguments=(operand, right))
            if strength == _COMPARISON and compared is not None:
                joined = Expression("and", function=all_of, arguments=(left, joined))
            left, compared = joined, right if strength == _COMPARISON else None
        self.depth -= 1
        return left

    def prefix(self) -> Expression:
        if self.accept("not"):
            return Expression("Not", function=operator.not_, arguments=(self.expression(_NOT),))
        for sign, function in _SIGNS.items():
            if self.accept(sign):
                operand = self.expression(_UNARY)
                if sign == "-" and operand.value is not None:
                    return Expression("", value=-operand.value)
                return Expression(sign, function=function, arguments=(operand,))
        return self.term()

    def term(self) -> Expression:
        kind, text = self.take()
        if kind == "number":
            return Expression("", value=self.number(text))
        if text == "(" and kind == "operator":
            inner = self.expression(0)
            if self.accept(","):
                inner = self.pair(inner, self.expression(0))
            self.expect(")")
            return inner
        if kind != "name":
            raise self.error(f"unexpected {text!r}")
        if self.at("(") and text not in ("L", "G"):
            return self.call(text)
        if text in CONSTANTS:
            return Expression("", value=CONSTANTS[text])
        if text in WITHOUT_VALUE:
            return Expression(text, function=no_value)
        return Expression(self.path(text))

    def number(self, text: str) -> Number:
        if not text.isdigit():
            return float(text)
        if len(text) > _LONGEST_INTEGER:
            raise self.error("an integer is too long")
        return int(text)

    def path(self, root: str) -> str:
        """A guard's path to a size, as one symbol; a plain name is the shortest path."""
        text = root
        while True:
            if self.accept("["):
                kind, key = self.take()
                if kind not in ("string", "number"):
                    raise self.error(f"unexpected {key!r} as an index")
                text += f"['{key[1:-1]}']" if kind == "string" else f"[{key}]"
                self.expect("]")
            elif "[" in text and self.accept("("):
                text += "()"
                self.expect(")")
            elif "[" in text and self.accept("."):
                text += "." + self.take()[1]
            else:
                return text

    def pair(self, value: Expression, condition: Expression) -> Expression:
        """A value and its condition, which only a Piecewise may hold."""
        return Expression(_PAIR, function=no_value, arguments=(value, condition))

    def call(self, name: str) -> Expression:
        arguments, options = self.arguments()
        if name in ("Symbol", "Dummy"):
            if not arguments or not isinstance(arguments[0], str):
                raise self.error("a Symbol needs a name")
            return Expression(arguments[0])
        if name in ("Integer", "Float"):
            return Expression("", value=self.literal(name, arguments))
        function = no_value if name == _PAIR else CHOICES.get(name) or FUNCTIONS.get(name)
        if function is None:
            raise self.error(f"unknown function {name!r}")
        operands = [argument for argument in arguments if isinstance(argument, Expression)]
        if options or len(operands) != len(arguments) or not operands:
            raise self.error(f"{name} takes expressions")
        if name == _PAIR:
            if len(operands) != 2:
                raise self.error(f"{_PAIR} takes a value and a condition")
            return self.pair(*operands)
        if name == "Piecewise" and any(operand.head != _PAIR for operand in operands):
            raise self.error("Piecewise takes pairs of a value and a condition")
        if len(operands) == 1 and name in ("Max", "Min", "max", "min"):
            return operands[0]
        return Expression(name, function=function, arguments=tuple(operands))

    def literal(self, name: str, arguments: list[Expression | str]) -> Number:
        argument = arguments[0] if arguments else None
        if isinstance(argument, Expression) and argument.value is not None:
            return argument.value
        if name == "Float" and isinstance(argument, str):
            try:
                return float(argument)
            except ValueError:
                pass
        raise self.error(f"{name} needs a number")

    def arguments(self) -> tuple[list[Expression | str], bool]:
        """What stands between the parentheses, and whether any of it was `name=value`.

        Options say what torch assumed of a symbol (`positive=True`); they do not change values.
        """
        self.expect("(")
        found: list[Expression | str] = []
        options = False
        while not self.accept(")"):
            if found or options:
                self.expect(",")
            kind = self.tokens[self.position][0]
            following = self.tokens[min(self.position + 1, len(self.tokens) - 1)][1]
            if kind == "string":
                found.append(self.take()[1][1:-1])
            elif kind == "name" and following == "=":
                self.position += 2
                self.expression(0)
                options = True
            else:
                found.append(self.expression(0))
        return found, options


def parse(text: str) -> Expression:
    """The expression that `text` spells, as a constructor expression or as arithmetic.

    Raises:
        SymbolicError: the text is no such expression.
    """
    try:
        return _Parser(text).parse()
    except RecursionError:
        raise SymbolicError("symbolic expression: nested too deeply") from None


def constant(value: Number) -> Expression:
    """The expression that is this number."""
    return Expression("", value=value)


def solve(
    expression: Expression, value: int, bindings: Mapping[str, Number]
) -> tuple[str, int] | None:
    """The one unbound symbol of a linear expression, and its value where the whole is `value`.

    None where there is no single such symbol, or no integer solves the equation.
    """
    unbound = {name for name in expression.symbols() if name not in bindings}
    if len(unbound) != 1:
        return None
    name = unbound.pop()
    if expression.is_symbol:
        return name, value
    at_zero, at_one = (expression.evaluate({**bindings, name: x}) for x in (0, 1))
    slope = at_one - at_zero
    if not slope or (value - at_zero) % slope:
        return None
    solution = int((value - at_zero) // slope)
    solved = expression.evaluate({**bindings, name: solution}) == value
    return (name, solution) if solved else None


class ValueRange:
    """The sizes a symbol may take, both ends included; None leaves an end open."""

    __slots__ = ("lower", "upper")

    def __init__(self, lower: int | None, upper: int | None) -> None:
        if lower is not None and upper is not None and lower > upper:
            raise SymbolicError(f"the range {lower}..{upper} is empty")
        self.lower = lower
        self.upper = upper

    def __contains__(self, value: Number) -> bool:
        above = self.lower is None or value >= self.lower
        return above and (self.upper is None or value <= self.upper)

    def nearest(self, value: int) -> int:
        """The value in the range that is nearest to the one given."""
        if self.lower is not None and value < self.lower:
            return self.lower
        return self.upper if self.upper is not None and value > self.upper else value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueRange):
            return NotImplemented
        return (self.lower, self.upper) == (other.lower, other.upper)

    def __hash__(self) -> int:
        return hash((self.lower, self.upper))

    def __str__(self) -> str:
        if self.upper is None:
            return "any" if self.lower is None else f"at least {self.lower}"
        return f"at most {self.upper}" if self.lower is None else f"{self.lower}..{self.upper}"

    def __repr__(self) -> str:
        return f"ValueRange({self.lower}, {self.upper})"
