"""What the functions in symbolic expressions mean on Python's numbers.

Names are those that sympy, and torch's functions for it, print. Integers are exact, and so are
quotients where sympy's are: a `Rational`, an integer to a negative power. Names with `Float`,
`IntTrueDiv` and `/` give floats, as Python's division does. Choices look at no branch they do not
take.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from numbers import Integral, Rational

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any, TypeGuard

    Number = int | float | bool | Fraction
    # Gives a value that may not be wanted.
    Deferred = Callable[[], Number]

_WIDEST_INTEGER = 4096  # bits; far beyond any size, and small enough never to stall


def is_fraction(value: Any) -> TypeGuard[Fraction]:
    """Whether it is one of `fractions`: few programs have any, and this does not import it."""
    return isinstance(value, Rational) and not isinstance(value, Integral)


def all_of(*values: Deferred) -> bool:
    return all(value() for value in values)


def any_of(*values: Deferred) -> bool:
    return any(value() for value in values)


def _choose(condition: Deferred, chosen: Deferred, otherwise: Deferred) -> Number:
    return chosen() if condition() else otherwise()


def _implied(condition: Deferred, consequence: Deferred) -> bool:
    return not condition() or bool(consequence())


def _first_that_holds(*pairs: Deferred) -> Number:
    """Of values and conditions in turn, the first value whose condition holds."""
    for value, condition in zip(pairs[::2], pairs[1::2], strict=True):
        if condition():
            return value()
    raise ValueError("no condition of the Piecewise holds")


def _total(*values: Number) -> Number:
    return functools.reduce(operator.add, values)


def _product(*values: Number) -> Number:
    return functools.reduce(operator.mul, values)


def power(base: Number, exponent: Number) -> Number:
    """Exact for integers, for negative exponents too, and for roots that are integers."""
    if (isinstance(base, int) or is_fraction(base)) and isinstance(exponent, int):
        width = max(base.numerator.bit_length(), base.denominator.bit_length())
        if width * abs(exponent) > _WIDEST_INTEGER:
            raise OverflowError("the power is too large for a size")
        return _fraction(base) ** exponent if exponent < 0 else base**exponent
    if isinstance(base, int) and is_fraction(exponent):
        root = round(base ** (1 / exponent.denominator)) if base >= 0 else 0
        if root**exponent.denominator == base:
            return power(root, exponent.numerator)
    return _real(float(base) ** float(exponent))


def _fraction(*parts: Number) -> Fraction:
    # Few programs have any.
    from fractions import Fraction

    return Fraction(*parts)  # type: ignore[arg-type]


def _float_power(base: Number, exponent: Number) -> float:
    return _real(float(base) ** float(exponent))


def _real(value: float | complex) -> float:
    if isinstance(value, complex):
        raise ValueError("the power is not a real number")
    return value


def shift_left(value: Number, count: Number) -> Number:
    if not 0 <= count <= _WIDEST_INTEGER:
        raise OverflowError("the shift is out of range")
    return int(value) << int(count)


def _divide_ceiling(dividend: Number, divisor: Number) -> Number:
    return (dividend + divisor - 1) // divisor


def _modular_index(value: Number, divisor: Number, modulus: Number) -> Number:
    return value // divisor % modulus


def true_quotient(dividend: Number, divisor: Number) -> float:
    return float(dividend / divisor)


def _identity(value: Number) -> Number:
    return value


def inverted(value: Number) -> Number:
    """`~`: of bits, and in sympy's spelling of what is true."""
    return not value if isinstance(value, bool) else ~value  # type: ignore[operator]


def _sign(value: Number) -> int:
    return (value > 0) - (value < 0)


def _differ(*values: Number) -> bool:
    return sum(map(bool, values)) % 2 == 1


def _agree(*values: Number) -> bool:
    return len(set(map(bool, values))) < 2


def _to_integer(rounded: Callable[[Number], int]) -> Callable[[Number], Number]:
    """`rounded`, which leaves the infinities as they are."""

    def convert(value: Number) -> Number:
        return value if isinstance(value, float) and math.isinf(value) else rounded(value)

    return convert


def _truncated_float(value: Number) -> float:
    return value if isinstance(value, float) and math.isinf(value) else float(math.trunc(value))


def _round_decimal(value: Number, digits: Number) -> float:
    return round(float(value), int(digits))


def _is_dense(*numbers: Number) -> int:
    """1 where as many sizes and strides as there are describe memory without gaps or overlaps."""
    rank = len(numbers) // 2
    if rank == 1:
        return int(numbers[1] == 1 or numbers[0] < 2)
    expected: Number = 1
    pairs = zip(numbers[:rank], numbers[rank:], strict=True)
    for size, stride in sorted(pairs, key=operator.itemgetter(1)):
        if size == 1:
            continue
        if stride != expected:
            return 0
        expected *= size
    return 1


def no_value(*values: Number) -> Number:
    raise ValueError("it stands for no real number")


def _spellings(*names: str) -> Iterator[tuple[str, Callable[..., Number]]]:
    for name in names:
        for prefix in ("OpaqueUnaryFn_", "math.", ""):
            yield prefix + name, getattr(math, name)


FUNCTIONS: dict[str, Callable[..., Number]] = {
    "Add": _total,
    "Mul": _product,
    "Pow": power,
    "PowByNatural": power,
    "FloatPow": _float_power,
    "pow": power,
    "Integer": int,
    "Float": float,
    "Rational": _fraction,
    "Max": max,
    "Min": min,
    "max": max,
    "min": min,
    "sym_max": max,
    "sym_min": min,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "CeilDiv": _divide_ceiling,
    "ModularIndexing": _modular_index,
    "IntTrueDiv": true_quotient,
    "FloatTrueDiv": true_quotient,
    "LShift": shift_left,
    "RShift": operator.rshift,
    "Abs": abs,
    "abs": abs,
    "sign": _sign,
    "floor": math.floor,
    "ceiling": math.ceil,
    "trunc": math.trunc,
    "frac": lambda value: value - math.floor(value),
    "FloorToInt": _to_integer(math.floor),
    "CeilToInt": _to_integer(math.ceil),
    "TruncToInt": _to_integer(math.trunc),
    "RoundToInt": _to_integer(round),
    "TruncToFloat": _truncated_float,
    "RoundDecimal": _round_decimal,
    "round": round,
    "ToFloat": float,
    "float": float,
    "int": int,
    "Identity": _identity,
    "IsNonOverlappingAndDenseIndicator": _is_dense,
    "Not": operator.not_,
    "Xor": _differ,
    "Equivalent": _agree,
    "Eq": operator.eq,
    "Ne": operator.ne,
    "Lt": operator.lt,
    "Le": operator.le,
    "Gt": operator.gt,
    "Ge": operator.ge,
    "Equality": operator.eq,
    "Unequality": operator.ne,
    "StrictLessThan": operator.lt,
    "LessThan": operator.le,
    "StrictGreaterThan": operator.gt,
    "GreaterThan": operator.ge,
    "BitwiseFn_bitwise_and": operator.and_,
    "BitwiseFn_bitwise_or": operator.or_,
    "BitwiseFn_bitwise_xor": operator.xor,
    "math.trunc": math.trunc,
    "math.floor": math.floor,
    "math.ceil": math.ceil,
    "sqrt": math.sqrt,
    "atan2": math.atan2,
    **dict(
        _spellings(
            *("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan"),
            *("exp", "log", "log2", "asinh", "acosh", "atanh"),
        )
    ),
}

# Functions that ask for the arguments they need, and for no others.
CHOICES: dict[str, Callable[..., Number]] = {
    "Where": _choose,
    "ITE": _choose,
    "Piecewise": _first_that_holds,
    "And": all_of,
    "Or": any_of,
    "and": all_of,
    "or": any_of,
    "Nand": lambda *values: not all_of(*values),
    "Nor": lambda *values: not any_of(*values),
    "Implies": _implied,
}

CONSTANTS: dict[str, int | float | bool] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "oo": math.inf,
    "int_oo": math.inf,
    "inf": math.inf,
    "Infinity": math.inf,
    "NegativeInfinity": -math.inf,
    "nan": math.nan,
    "pi": math.pi,
    "E": math.e,
}
# Constants that are no numbers: they are read, and have no value.
WITHOUT_VALUE = frozenset({"zoo", "ComplexInfinity"})
