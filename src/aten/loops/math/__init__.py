"""Math functions as expressions over arithmetic.

Each function takes `aten.prims` values and returns the expression that computes it, in float32 or
float64, without a call to any library: one definition for every backend. The stated errors are
in units in the last place of the result; those of float32 are measured on all inputs by
``benchmarks/accuracy.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from aten.loops.math import complex_functions, complex_inverse
from aten.loops.math.error_function import erf, erfc, erfinv, ndtr
from aten.loops.math.estimate import reciprocal_estimate, rsqrt_estimate
from aten.loops.math.exponential import exp, exp2, expm1, sigmoid, sigmoid_by_division
from aten.loops.math.gamma import digamma, lgamma
from aten.loops.math.hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh, tanh_by_division
from aten.loops.math.inverse_trigonometric import acos, asin, atan, atan2
from aten.loops.math.logarithm import log, log1p, log2, log10
from aten.loops.math.lookup import lookup
from aten.loops.math.power import pow, rsqrt, sqrt
from aten.loops.math.remainder import fmod
from aten.loops.math.trigonometric import cos, sin, tan
from aten.prims import Value

EXPANSIONS: dict[str, Callable[..., Value]] = {
    "acos": acos,
    "acosh": acosh,
    "asin": asin,
    "asinh": asinh,
    "atan": atan,
    "atan2": atan2,
    "atanh": atanh,
    "cos": cos,
    "cosh": cosh,
    "digamma": digamma,
    "erf": erf,
    "erfc": erfc,
    "erfinv": erfinv,
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "fmod": fmod,
    "lgamma": lgamma,
    "log": log,
    "log10": log10,
    "log1p": log1p,
    "log2": log2,
    "ndtr": ndtr,
    "pow": pow,
    "rsqrt": rsqrt,
    "sigmoid": sigmoid,
    "sin": sin,
    "sinh": sinh,
    "sqrt": sqrt,
    "tan": tan,
    "tanh": tanh,
}
"""From the name of a prim to the function that expands it."""

OPTIONAL: dict[str, Callable[..., Value]] = {
    "lookup": lookup,
    "reciprocal_estimate": reciprocal_estimate,
    "rsqrt_estimate": rsqrt_estimate,
}
"""The same for what loops know as it is, but a device may not."""

WITHOUT_TABLES: dict[str, Callable[..., Value]] = {
    "sigmoid": sigmoid_by_division,
    "tanh": tanh_by_division,
}
"""The same for devices on which a look-up takes more than a few multiplications."""

DECOMPOSITIONS: dict[str, Callable[..., Value]] = {**EXPANSIONS, **OPTIONAL}

COMPLEX_EXPANSIONS: dict[str, Callable[..., Value]] = {
    name: getattr(module, name)
    for module, names in (
        (complex_functions, "cos cosh exp exp2 expm1 log10 log2 pow rsqrt sigmoid sin sinh sqrt"),
        (complex_functions, "tan tanh"),
        (complex_inverse, "acos acosh asin asinh atan atanh log log1p"),
    )
    for name in names.split()
}
"""The same for complex numbers."""
