"""Numbers that sizes depend on: integers and floats that know their expression.

They are no Python numbers, so that nothing reads one without asking: whoever needs a number
(`int(size)`, `range(size)`, a list's index) fixes the size, which is kept as a guard.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from aten._core.dispatch.argument_values import install_symbolic_numbers
from aten.graph.symbolic import Expression, constant
from aten.graph.symbolic_functions import power, true_quotient
from aten.transforms.symbols.environment import ShapeEnvironment
from aten.transforms.symbols.polynomials import (
    Polynomial,
    largest,
    number,
    smallest,
)


class SymInt:
    """An integer that depends on symbolic sizes.

    Arithmetic gives others; comparisons give answers for the hints, which become guards of the
    environment unless what it knows answers them. Where a number is asked for, the size is fixed.

    Attributes:
        environment: the environment of the symbols.
    """

    __slots__ = ("_size", "environment")

    def __init__(self, environment: ShapeEnvironment, size: Polynomial) -> None:
        self.environment = environment
        self._size = size

    @property
    def size(self) -> Polynomial:
        """The size in its canonical form."""
        return self.environment.simplified(self._size)

    @property
    def expression(self) -> Expression:
        """The size as a tree of symbols and numbers."""
        return self.size.expression

    @property
    def hint(self) -> int:
        """The number that it is for the hints; asking for it fixes nothing."""
        return self.environment.hint(self._size)

    def _made(self, size: Polynomial) -> Any:
        return sized(self.environment, size)

    def _combined(self, other: Any, function: Callable[..., Polynomial]) -> Any:
        size = size_of(other)
        return NotImplemented if size is None else self._made(function(self.size, size))

    def _compared(self, comparison: str, other: Any) -> Any:
        size = size_of(other)
        if size is not None:
            return self.environment.compare(comparison, self.size, size, "a comparison")
        if isinstance(other, (float, SymFloat)):
            return self.__sym_float__()._compared(comparison, other)
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._combined(other, operator.add) if _whole(other) else self._float(other, "+")

    def __radd__(self, other: Any) -> Any:
        return self.__add__(other)

    def __sub__(self, other: Any) -> Any:
        return self._combined(other, operator.sub) if _whole(other) else self._float(other, "-")

    def __rsub__(self, other: Any) -> Any:
        if not _whole(other):
            return self._float(other, "-", reflected=True)
        return self._combined(other, lambda one, two: two - one)

    def __mul__(self, other: Any) -> Any:
        return self._combined(other, operator.mul) if _whole(other) else self._float(other, "*")

    def __rmul__(self, other: Any) -> Any:
        return self.__mul__(other)

    def __floordiv__(self, other: Any) -> Any:
        return self._combined(other, self._divide)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combined(other, lambda one, two: self._divide(two, one))

    def __mod__(self, other: Any) -> Any:
        return self._combined(other, self._remainder)

    def __rmod__(self, other: Any) -> Any:
        return self._combined(other, lambda one, two: self._remainder(two, one))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __truediv__(self, other: Any) -> Any:
        return self._float(other, "/")

    def __rtruediv__(self, other: Any) -> Any:
        return self._float(other, "/", reflected=True)

    def __pow__(self, other: Any) -> Any:
        if not isinstance(other, int) or other < 0:
            return self._float(other, "**")
        result: Any = 1
        for _ in range(other):
            result = result * self
        return result

    def __rpow__(self, other: Any) -> Any:
        if isinstance(other, int):
            return other ** int(self)
        return self._float(other, "**", reflected=True)

    def _float(self, other: Any, head: str, reflected: bool = False) -> Any:
        return self.__sym_float__()._combined(other, head, reflected)

    def _divide(self, left: Polynomial, right: Polynomial) -> Polynomial:
        return left // self._not_zero(right)

    def _remainder(self, left: Polynomial, right: Polynomial) -> Polynomial:
        return left % self._not_zero(right)

    def _not_zero(self, divisor: Polynomial) -> Polynomial:
        if self.environment.compare("==", divisor, number(0), "a division"):
            raise ZeroDivisionError("integer division or modulo by zero")
        return divisor

    def __neg__(self) -> Any:
        return self._made(-self.size)

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __invert__(self) -> Any:
        return -self - 1

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << int(other))

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << int(other))

    def __round__(self, digits: int | None = None) -> Any:
        return self

    def __trunc__(self) -> Any:
        return self

    def __floor__(self) -> Any:
        return self

    def __ceil__(self) -> Any:
        return self

    def __eq__(self, other: object) -> Any:
        return self._compared("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compared("!=", other)

    def __lt__(self, other: Any) -> Any:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared(">=", other)

    def __hash__(self) -> int:
        return hash(int(self))

    def __bool__(self) -> bool:
        return not self.environment.compare("==", self.size, number(0), "bool()")

    def __int__(self) -> int:
        return self.__index__()

    def __index__(self) -> int:
        hint = self.hint
        self.environment.compare("==", self.size, number(hint), "a size was asked for as a number")
        return hint

    def __float__(self) -> float:
        return float(int(self))

    def __sym_float__(self) -> SymFloat:
        return SymFloat(self.environment, self.expression)

    def __sym_max__(self, other: Any) -> Any:
        return self._combined(other, largest)

    def __sym_min__(self, other: Any) -> Any:
        return self._combined(other, smallest)

    def __str__(self) -> str:
        return str(int(self) if self.environment.are_texts_of_numbers else self.size)

    def __repr__(self) -> str:
        return str(self)

    def __format__(self, specification: str) -> str:
        if self.environment.are_texts_of_numbers:
            return format(int(self), specification)
        return format(str(self), specification)

    def __copy__(self) -> SymInt:
        return self

    def __deepcopy__(self, memo: Any) -> SymInt:
        return self


_FLOAT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": true_quotient,
    "**": power,
}


class SymFloat:
    """A float that depends on symbolic sizes: a quotient of them, a scale.

    Attributes:
        environment: the environment of the symbols.
        expression: the number as a tree.
    """

    __slots__ = ("environment", "expression")

    def __init__(self, environment: ShapeEnvironment, expression: Expression) -> None:
        self.environment = environment
        self.expression = expression

    @property
    def hint(self) -> float:
        """The number that it is for the hints; asking for it fixes nothing."""
        return float(self.expression.evaluate(self.environment.hints))

    def _combined(self, other: Any, head: str, reflected: bool = False) -> Any:
        if isinstance(other, (SymInt, SymFloat)):
            right = other.expression
        elif isinstance(other, (int, float)):
            right = constant(other)
        else:
            return NotImplemented
        pair = (right, self.expression) if reflected else (self.expression, right)
        made = Expression(head, function=_FLOAT_FUNCTIONS[head], arguments=pair)
        return SymFloat(self.environment, made)

    def _compared(self, comparison: str, other: Any) -> Any:
        """For the hints; the sizes that the numbers depend on are fixed."""
        if not isinstance(other, (int, float, SymInt, SymFloat)):
            return NotImplemented
        right = float(other)
        return {
            "==": operator.eq,
            "!=": operator.ne,
            "<": operator.lt,
            "<=": operator.le,
            ">": operator.gt,
            ">=": operator.ge,
        }[comparison](float(self), right)

    def __add__(self, other: Any) -> Any:
        return self._combined(other, "+")

    def __radd__(self, other: Any) -> Any:
        return self._combined(other, "+", reflected=True)

    def __sub__(self, other: Any) -> Any:
        return self._combined(other, "-")

    def __rsub__(self, other: Any) -> Any:
        return self._combined(other, "-", reflected=True)

    def __mul__(self, other: Any) -> Any:
        return self._combined(other, "*")

    def __rmul__(self, other: Any) -> Any:
        return self._combined(other, "*", reflected=True)

    def __truediv__(self, other: Any) -> Any:
        return self._combined(other, "/")

    def __rtruediv__(self, other: Any) -> Any:
        return self._combined(other, "/", reflected=True)

    def __pow__(self, other: Any) -> Any:
        return self._combined(other, "**")

    def __rpow__(self, other: Any) -> Any:
        return self._combined(other, "**", reflected=True)

    def __neg__(self) -> Any:
        return self._combined(-1.0, "*")

    def __eq__(self, other: object) -> Any:
        return self._compared("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compared("!=", other)

    def __lt__(self, other: Any) -> Any:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared(">=", other)

    def __hash__(self) -> int:
        return hash(float(self))

    def __bool__(self) -> bool:
        return bool(float(self))

    def __float__(self) -> float:
        fix(self.environment, set(self.expression.symbols()), "a size was asked for as a float")
        return self.hint

    def __int__(self) -> Any:
        return int(float(self))

    def __trunc__(self) -> Any:
        return self._rounded("trunc", math.trunc)

    def __floor__(self) -> Any:
        return self._rounded("floor", math.floor)

    def __ceil__(self) -> Any:
        return self._rounded("ceiling", math.ceil)

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self), digits)

    def _rounded(self, head: str, function: Callable[[float], int]) -> Any:
        made = Expression(head, function=function, arguments=(self.expression,))
        return sized(self.environment, Polynomial({(str(made),): 1}, {str(made): made}))

    def __sym_float__(self) -> SymFloat:
        return self

    def __str__(self) -> str:
        return str(float(self) if self.environment.are_texts_of_numbers else self.expression)

    def __repr__(self) -> str:
        return str(self)

    def __format__(self, specification: str) -> str:
        if self.environment.are_texts_of_numbers:
            return format(float(self), specification)
        return format(str(self), specification)


def _whole(value: Any) -> bool:
    return not isinstance(value, (float, SymFloat))


def sized(environment: ShapeEnvironment, size: Polynomial) -> int | SymInt:
    """A size as what Python code gets: a number where it is known, else a SymInt."""
    size = environment.simplified(size)
    return size.value if size.is_constant else SymInt(environment, size)


def size_of(value: Any) -> Polynomial | None:
    """The canonical form of an integer, symbolic or not; None for other values."""
    if isinstance(value, SymInt):
        return value.size
    return number(value) if isinstance(value, int) else None


def fix(environment: ShapeEnvironment, symbols: set[str], reason: str) -> None:
    """Have symbols stand for their hints from now on."""
    from aten.transforms.symbols.polynomials import factor

    for name in sorted(symbols):
        size = factor(Expression(name))
        environment.compare("==", size, number(environment.hints[name]), reason)


def sym_max(left: Any, right: Any) -> Any:
    """The larger of two integers, without a guard about which that is."""
    return _chosen("__sym_max__", max, left, right)


def sym_min(left: Any, right: Any) -> Any:
    """The smaller of two integers, without a guard about which that is."""
    return _chosen("__sym_min__", min, left, right)


def _chosen(method: str, function: Callable[..., Any], left: Any, right: Any) -> Any:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, SymInt):
            return getattr(one, method)(other)
    return function(left, right)


install_symbolic_numbers(SymInt, SymFloat)
Integral.register(SymInt)
Real.register(SymFloat)
