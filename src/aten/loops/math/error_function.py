"""The error function, its complement and its inverse."""

from __future__ import annotations

from aten.loops.math import coefficients
from aten.loops.math.building_blocks import (
    choose,
    computed_in_float64,
    is_float32,
    polynomial,
    two_product,
)
from aten.loops.math.exponential import scaled_exp
from aten.prims import Value
from aten.prims import arithmetic as a


def erf(x: Value) -> Value:
    """The error function: ``x + x P(x^2 - 1/2)`` up to 1.125, and ``1 - erfc(x)`` beyond.

    In float32 the complement is a polynomial too, and nothing from 3.9375 on.

    Error: float32 0.89 ULP (all inputs), float64 1 ULP.
    """
    magnitude = a.abs(x)
    terms = coefficients.ERF_CENTER_FLOAT32 if is_float32(x) else coefficients.ERF_CENTER
    square = a.fma(magnitude, magnitude, a.constant(x, -0.5))
    small = a.fma(magnitude, polynomial(square, terms), magnitude)
    if is_float32(x):
        limited = choose(magnitude > 3.9375, x, 3.9375, magnitude)
        complement = polynomial(limited - 2.53125, coefficients.ERFC_TAIL_FLOAT32)
    else:
        complement = erfc_of_positive(magnitude, precise=True)
    return a.copysign(a.where(magnitude < 1.125, small, 1.0 - complement), x)


@computed_in_float64
def erfc(x: Value, precise: bool) -> Value:
    """1 - erf(x), also where it is small.

    Error: float32 0.51 ULP (all inputs), float64 4 ULP.
    """
    complement = erfc_of_positive(a.abs(x), precise)
    return a.where(x < 0.0, 2.0 - complement, complement)


def erfc_of_positive(x: Value, precise: bool) -> Value:
    """``exp(-x^2)`` times a function that varies little, which is a polynomial in (x-4)/(x+4).

    Shepherd and Laframboise, Mathematics of Computation 36 (1981), with newly fitted coefficients.
    The rounding error of ``x^2`` is made good after the exponential.
    """
    end = 28.0 if precise else 10.25
    limited = choose(x > end, x, end, x)
    square, rest = two_product(limited, limited)
    decay = scaled_exp(-square, precise)
    decay = a.fma(-decay, rest, decay)
    terms = coefficients.ERFCX if precise else coefficients.ERFCX_SHORT
    envelope = polynomial((limited - 4.0) / (limited + 4.0), terms)
    return decay * (envelope / (limited + limited + 1.0))
