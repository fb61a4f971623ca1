"""Orthogonal polynomials by their three-term recurrences, in float64.

Abramowitz and Stegun, Handbook of Mathematical Functions (1964), table 22.7. The step from one
degree to the next is taken for all elements at once; each keeps the value of its own degree.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.pointwise.stepwise import as_float64, in_float64
from aten.prims import Number
from aten.registry import ops

Operand = Tensor | Number
Step = Callable[[int, Tensor, Tensor, Tensor], Tensor]

# Beyond, the polynomials of Hermite are not computed: NaN.
HERMITE_LIMITS = {"float32": 128, "float64": 512}
# A degree is a number of steps: more would take minutes.
MOST_STEPS = 1 << 20


def _polynomial(
    name: str,
    x: Operand,
    n: Operand,
    first: Callable[[Tensor], Tensor],
    step: Step,
    limits: dict[str, int] | None = None,
) -> Tensor:
    """Of degree n, which is cut to an integer; 0 below 0.

    `first` makes the polynomial of degree 1, `step(k, x, current, previous)` that of degree k + 1.
    Raises RuntimeError for degrees above `MOST_STEPS`.
    """
    element = in_float64(name, x, n, half=False)
    argument, degree = as_float64(x, n)
    degree = degree.trunc()
    limit = limits[element.name] if limits else math.inf
    within = ops.aten.where((degree <= limit) & ~degree.isnan(), degree, 0.0)
    steps = _largest(within)
    if steps > MOST_STEPS:
        raise RuntimeError(f"{name}: expected degrees up to {MOST_STEPS}, but got {steps:g}")
    previous, current = argument * 0 + 1, first(argument)
    previous = previous.masked_fill(degree <= 0, 1)
    value = ops.aten.where(degree >= 1, current, previous)
    for k in range(1, int(steps)):
        previous, current = current, step(k, argument, current, previous)
        value = ops.aten.where(degree > k, current, value)
    value = value.masked_fill(degree < 0, 0).masked_fill(degree > limit, math.nan)
    return value.to(element)


def _largest(degree: Tensor) -> float:
    if not has_data(degree) or degree.numel() == 0:
        return 0
    return degree.max().item().real


@op
def special_hermite_polynomial_h(x: Operand, n: Operand) -> Tensor:
    """The physicists'."""
    return _polynomial(
        "special_hermite_polynomial_h",
        x,
        n,
        lambda x: x + x,
        lambda k, x, current, previous: 2 * x * current - 2 * k * previous,
        HERMITE_LIMITS,
    )


@op
def special_hermite_polynomial_he(x: Operand, n: Operand) -> Tensor:
    """The probabilists'."""
    return _polynomial(
        "special_hermite_polynomial_he",
        x,
        n,
        lambda x: x,
        lambda k, x, current, previous: x * current - k * previous,
        HERMITE_LIMITS,
    )


@op
def special_laguerre_polynomial_l(x: Operand, n: Operand) -> Tensor:
    return _polynomial(
        "special_laguerre_polynomial_l",
        x,
        n,
        lambda x: 1 - x,
        lambda k, x, current, previous: ((2 * k + 1 - x) * current - k * previous) / (k + 1),
    )


@op
def special_legendre_polynomial_p(x: Operand, n: Operand) -> Tensor:
    return _polynomial(
        "special_legendre_polynomial_p",
        x,
        n,
        lambda x: x,
        lambda k, x, current, previous: ((2 * k + 1) * x * current - k * previous) / (k + 1),
    )
