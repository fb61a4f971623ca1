"""Special functions: Bessel's and Airy's, the normal distribution's, Chebyshev's polynomials.

The functions themselves are in `aten.loops.math`; here is which types they are there for.
"""

from __future__ import annotations

from collections.abc import Mapping

from aten._core.base.dtypes import dtype
from aten.loops.math import bessel, chebyshev, normal
from aten.ops.definition import op
from aten.ops.requirements import refusal, require_floating
from aten.prims import Value
from aten.prims import elementwise as p

Types = Mapping[str, dtype]
PREFIX = "special_"


def _function(operator: str) -> str:
    """ "special_i0e" → "i0e"."""
    return operator.removeprefix(PREFIX)


def _require_wide(operator: str, types: Types, value: Value) -> None:
    """Refuse complex numbers and half types."""
    require_floating(operator, value)
    for element in types.values():
        if element.is_floating_point and element.itemsize == 2:
            raise refusal(operator, element)


@op("i0", "special_i0e", "special_i1", "special_i1e")
def modified_bessel(self: Value, operator: str) -> Value:
    require_floating(operator, self)
    return getattr(bessel, _function(operator))(self)  # type: ignore[no-any-return]


@op(
    "special_bessel_j0",
    "special_bessel_j1",
    "special_bessel_y0",
    "special_bessel_y1",
    "special_modified_bessel_i0",
    "special_modified_bessel_i1",
    "special_modified_bessel_k0",
    "special_modified_bessel_k1",
)
def bessel_function(self: Value, operator: str, types: Types) -> Value:
    _require_wide(operator, types, self)
    return getattr(bessel, _function(operator))(self)  # type: ignore[no-any-return]


@op(
    "special_airy_ai",
    "special_scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k1",
    "special_spherical_bessel_j0",
)
def bessel_function_of_x(x: Value, operator: str, types: Types) -> Value:
    return bessel_function(x, operator, types)


@op("special_erfcx", "special_log_ndtr", "special_ndtri")
def normal_function(self: Value, operator: str, types: Types) -> Value:
    _require_wide(operator, types, self)
    return getattr(normal, _function(operator))(self)  # type: ignore[no-any-return]


@op("special_ndtr")
def special_ndtr(self: Value) -> Value:
    require_floating("special_ndtr", self)
    return normal.ndtr(self)


@op
def special_entr(self: Value) -> Value:
    """-x log(x), the entropy of one outcome; 0 at 0 and -infinity below."""
    require_floating("special_entr", self)
    entropy = p.where(self == 0, self - self, -self * p.log(self))
    return p.where(self < 0, float("-inf"), entropy)


@op
def special_xlog1py(self: Value, other: Value) -> Value:
    """self log(1 + other); 0 where self is 0, unless other is NaN."""
    require_floating("special_xlog1py", self)
    product = p.where(self == 0, self - self, self * p.log1p(other))
    return p.where(other != other, other, product)


@op(
    "special_chebyshev_polynomial_t",
    "special_chebyshev_polynomial_u",
    "special_chebyshev_polynomial_v",
    "special_chebyshev_polynomial_w",
    "special_shifted_chebyshev_polynomial_t",
    "special_shifted_chebyshev_polynomial_u",
    "special_shifted_chebyshev_polynomial_v",
    "special_shifted_chebyshev_polynomial_w",
)
def chebyshev_polynomial(x: Value, n: Value, operator: str, types: Types) -> Value:
    """Of degree n, a number that is cut to an integer; shifted ones live on [0, 1]."""
    _require_wide(operator, types, x)
    function = getattr(chebyshev, operator[-1])
    return function(x + x - 1 if "shifted" in operator else x, n)  # type: ignore[no-any-return]
