"""The standard's functions of each element.

Most are operators under another name, called on operands of their common dtype. Raised everywhere:
TypeError for what is no array and for dtypes that do not mix, RuntimeError for dtypes that an
operator does not take and for shapes that do not broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from aten import registry
from aten._core.tensor.tensor import Tensor
from aten.array_api.array import Array, operands, plain, wrap

_Function = TypeVar("_Function", bound=Callable[..., Array])
_Unary = Callable[[Any], Array]
_Binary = Callable[[Any, Any], Array]
_NUMBERS = (bool, int, float, complex)

# Function → the operator that computes it, what it gives for each element.
_UNARY = {
    "abs": ("abs", "the absolute value, real for complex numbers"),
    "acos": ("acos", "the inverse cosine, in radians"),
    "acosh": ("acosh", "the inverse hyperbolic cosine"),
    "asin": ("asin", "the inverse sine, in radians"),
    "asinh": ("asinh", "the inverse hyperbolic sine"),
    "atan": ("atan", "the inverse tangent, in radians"),
    "atanh": ("atanh", "the inverse hyperbolic tangent"),
    "bitwise_invert": ("bitwise_not", "the integer with every bit inverted; not, for bools"),
    "ceil": ("ceil", "the least integer that is not less"),
    "conj": ("conj_physical", "the complex conjugate; real numbers as they are"),
    "cos": ("cos", "the cosine of radians"),
    "cosh": ("cosh", "the hyperbolic cosine"),
    "exp": ("exp", "e to its power"),
    "floor": ("floor", "the greatest integer that is not greater"),
    "isfinite": ("isfinite", "whether it is neither infinite nor NaN"),
    "isinf": ("isinf", "whether it, or a part of it, is infinite"),
    "isnan": ("isnan", "whether it, or a part of it, is NaN"),
    "log": ("log", "the natural logarithm"),
    "log10": ("log10", "the logarithm to base 10"),
    "log1p": ("log1p", "the natural logarithm of 1 more, exact for small numbers"),
    "log2": ("log2", "the logarithm to base 2"),
    "logical_not": ("logical_not", "whether it is zero"),
    "negative": ("neg", "its negative"),
    "positive": ("positive", "the element itself"),
    "reciprocal": ("reciprocal", "1 divided by it"),
    "signbit": ("signbit", "whether its sign bit is set"),
    "sin": ("sin", "the sine of radians"),
    "sinh": ("sinh", "the hyperbolic sine"),
    "sqrt": ("sqrt", "the square root"),
    "square": ("square", "its square"),
    "tan": ("tan", "the tangent of radians"),
    "tanh": ("tanh", "the hyperbolic tangent"),
    "trunc": ("trunc", "the integer part"),
}

# Function → the operator, what it gives for each pair of elements.
_BINARY = {
    "add": ("add", "the sum"),
    "atan2": ("atan2", "the angle in radians of the point (x2, x1)"),
    "bitwise_and": ("bitwise_and", "the bits that both have"),
    "bitwise_left_shift": ("bitwise_left_shift", "x1 with its bits x2 places further left"),
    "bitwise_or": ("bitwise_or", "the bits that either has"),
    "bitwise_right_shift": ("bitwise_right_shift", "x1 with its bits x2 places further right"),
    "bitwise_xor": ("bitwise_xor", "the bits that just one has"),
    "copysign": ("copysign", "the magnitude of x1 with the sign of x2"),
    "divide": ("div", "the quotient; the default float dtype for integers"),
    "equal": ("eq", "whether x1 = x2"),
    "greater": ("gt", "whether x1 > x2"),
    "greater_equal": ("ge", "whether x1 >= x2"),
    "hypot": ("hypot", "the length of the vector (x1, x2), without overflow on the way"),
    "less": ("lt", "whether x1 < x2"),
    "less_equal": ("le", "whether x1 <= x2"),
    "logaddexp": ("logaddexp", "the logarithm of e^x1 + e^x2"),
    "logical_and": ("logical_and", "whether neither is zero"),
    "logical_or": ("logical_or", "whether one is not zero"),
    "logical_xor": ("logical_xor", "whether just one is zero"),
    "maximum": ("maximum", "the greater one, NaN if one is"),
    "minimum": ("minimum", "the lesser one, NaN if one is"),
    "multiply": ("mul", "the product"),
    "nextafter": ("nextafter", "the number of the dtype next to x1 on the way to x2"),
    "not_equal": ("ne", "whether x1 and x2 differ"),
    "pow": ("pow", "x1 to the power x2"),
    "subtract": ("sub", "the difference x1 - x2"),
}

__all__ = [
    *_UNARY,
    *_BINARY,
    "clip",
    "expm1",
    "floor_divide",
    "imag",
    "real",
    "remainder",
    "round",
    "sign",
]


def _unary(name: str, operator: str, what: str) -> _Unary:
    packet = registry.packet("aten", operator)

    def function(x: Tensor, /) -> Array:
        return wrap(packet(plain(x)))

    return _named(function, name, f"Of each element: {what}.\n\nThe result has the shape of `x`.")


def _binary(name: str, operator: str, what: str) -> _Binary:
    packet = registry.packet("aten", operator)

    def function(x1: Tensor | complex, x2: Tensor | complex, /) -> Array:
        if isinstance(x1, Tensor) and isinstance(x2, Tensor) and x1.dtype is x2.dtype:
            return wrap(packet(x1, x2))
        return wrap(packet(*operands(name, x1, x2)))

    return _named(
        function,
        name,
        f"Of each pair of elements: {what}.\n\n"
        "Shapes broadcast, dtypes mix by the standard's rules, and one operand may be a number.",
    )


def _named(function: _Function, name: str, text: str) -> _Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def real(x: Tensor, /) -> Array:
    """The real parts, in the same memory; a real array itself."""
    return wrap(registry.ops.aten.real(plain(x)))


def imag(x: Tensor, /) -> Array:
    """The imaginary parts, in the same memory. Raises RuntimeError for real arrays."""
    return wrap(registry.ops.aten.imag(plain(x)))


def round(x: Tensor, /) -> Array:
    """The nearest integers, even ones where two are equally near; part by part for complex."""
    given = plain(x)
    if not given.is_complex():
        return wrap(registry.ops.aten.round(given))
    parts = registry.ops.aten.view_as_real(given.resolve_conj())
    return wrap(registry.ops.aten.view_as_complex(registry.ops.aten.round(parts)))


def sign(x: Tensor, /) -> Array:
    """-1, 0 or 1; complex numbers divided by their absolute value; NaN where a part is NaN."""
    given = plain(x)
    signs = registry.ops.aten.sgn(given)
    if not given.is_floating_point():
        return wrap(signs)
    return wrap(registry.ops.aten.where(registry.ops.aten.isnan(given), given, signs))


def expm1(x: Tensor, /) -> Array:
    """e to the power of each element, less 1, exact for small numbers.

    Complex numbers with an infinite real part have the limits of `exp`, where torch has NaN.
    """
    ops = registry.ops.aten
    given = plain(x)
    powers = ops.expm1(given)
    if not given.is_complex():
        return wrap(powers)
    limits = ops.sub(ops.exp(given), 1)
    return wrap(ops.where(ops.isinf(ops.real(given)), limits, powers))


def floor_divide(x1: Tensor | complex, x2: Tensor | complex, /) -> Array:
    """The greatest integers that are not greater than x1 / x2.

    Floats give what rounding the quotient down gives where one is infinite or zero; torch has NaN
    or -1 there. Raises RuntimeError for integers divided by zero.
    """
    ops = registry.ops.aten
    left, right = operands("floor_divide", x1, x2)
    quotients = ops.floor_divide(left, right)
    if not quotients.is_floating_point():
        return wrap(quotients)
    limits = ops.logical_or(ops.isinf(left), ops.isinf(right))
    return wrap(ops.where(limits, ops.floor(ops.div(left, right)), quotients))


def remainder(x1: Tensor | complex, x2: Tensor | complex, /) -> Array:
    """What division to `floor_divide` leaves, with the sign of `x2` even where it is zero.

    Raises RuntimeError for integers divided by zero.
    """
    ops = registry.ops.aten
    left, right = operands("remainder", x1, x2)
    rests = ops.remainder(left, right)
    if not rests.is_floating_point():
        return wrap(rests)
    return wrap(ops.where(ops.eq(rests, 0), ops.copysign(rests, right), rests))


def clip(
    x: Tensor,
    /,
    min: Tensor | float | None = None,
    max: Tensor | float | None = None,
) -> Array:
    """The elements, none below `min`, then none above `max`; NaN where one of them is.

    The bounds are numbers or arrays that broadcast. A new array also where there are no bounds.
    """
    given = plain(x)
    bounds = [bound for bound in (min, max) if bound is not None]
    first, *limits = operands("clip", given, *bounds)
    if not limits:
        return wrap(given.clone())
    if first.dtype is not given.dtype and not any(isinstance(b, _NUMBERS) for b in bounds):
        first, limits = given, [limit.to(given.dtype) for limit in limits]
    if min is not None:
        first = registry.ops.aten.maximum(first, limits.pop(0))
    if max is not None:
        first = registry.ops.aten.minimum(first, limits.pop(0))
    return wrap(first)


globals().update({name: _unary(name, *rest) for name, rest in _UNARY.items()})
globals().update({name: _binary(name, *rest) for name, rest in _BINARY.items()})
FUNCTIONS: dict[str, Callable[..., Array]] = {name: globals()[name] for name in __all__}
