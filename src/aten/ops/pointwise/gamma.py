"""Functions of the gamma family that are made of other operators."""

from __future__ import annotations

import math

from aten._core.base.dtypes import get_default_dtype
from aten._core.tensor.memory import before_write
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.pointwise.stepwise import as_float64, in_float64, is_any, iterated
from aten.ops.requirements import refusal
from aten.prims import Number
from aten.registry import ops

# Beyond, n! is no float64.
_LARGEST_FACTORIAL = 170


@op
def mvlgamma(self: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function: `p` of lgamma's, half a unit apart.

    Raises RuntimeError for p < 1.
    """
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be at least 1, but got {p}")
    if self.dtype.kind in ("bool", "complex"):
        raise refusal("mvlgamma", self.dtype)
    element = self.dtype if self.dtype.is_floating_point else get_default_dtype()
    shifts = ops.aten.arange(p, dtype=element, device=self.device) * -0.5
    terms = (self.to(element).unsqueeze(-1) + shifts).lgamma()
    return terms.sum(-1).add_(p * (p - 1) / 4 * math.log(math.pi))


# Riemann's and Hurwitz's zeta function

DIRECT_TERMS = 9
# B_2j / (2j)! for j from 1 on
EULER_MACLAURIN = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
)


@op
def special_zeta(self: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The sum of (other + k)^-self over k >= 0.

    Infinite for other = 0, -1, …; NaN for self < 1, and for negative `other` unless self is an
    integer.
    """
    element = in_float64("special_zeta", self, other, half=False)
    exponent, start = as_float64(self, other)
    return _zeta(exponent, start).to(element)


def _zeta(s: Tensor, q: Tensor) -> Tensor:
    negative = q < 0
    value = _zeta_of_positive(s, q.masked_fill(negative, 1))
    if is_any(negative):
        value = ops.aten.where(negative, _zeta_of_negative(s, q), value)
    at_pole = (q <= 0) & (q == q.floor())
    undefined = (s < 1) | ((q < 0) & (s != s.trunc())) | s.isnan() | q.isnan()
    value = value.masked_fill(at_pole | (s == 1), math.inf)
    return value.masked_fill(undefined & ~(at_pole & (s >= 1)), math.nan)


def _zeta_of_negative(s: Tensor, q: Tensor) -> Tensor:
    """For integer s: the terms below 0 are the difference of two sums over positive ones."""
    whole = q.floor()
    fraction = q - whole
    below = _zeta_of_positive(s, 1 - fraction) - _zeta_of_positive(s, 1 - fraction - whole)
    sign = 1 - 2 * s.remainder(2)
    safe = fraction.masked_fill(fraction == 0, 0.5)
    return _zeta_of_positive(s, safe) + sign * below


def _zeta_of_positive(s: Tensor, q: Tensor) -> Tensor:
    """Nine terms, then the Euler-Maclaurin sum for the rest."""
    total: Tensor = ops.aten.zeros_like(q)
    for k in range(DIRECT_TERMS):
        total = total + (q + k) ** -s
    end = q + DIRECT_TERMS
    power = end**-s
    total = total + end * power / (s - 1) + power * 0.5
    factor, inverse = s * power / end, end**-2.0
    for j, coefficient in enumerate(EULER_MACLAURIN, 1):
        total = total + factor * coefficient
        factor = factor * ((s + (2 * j - 1)) * (s + 2 * j)) * inverse
    return total


@op
def polygamma(n: int, self: Tensor) -> Tensor:
    """The n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, self). RuntimeError for n < 0."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return self.digamma()
    element = in_float64("polygamma", self)
    (argument,) = as_float64(self)
    value = _zeta(ops.aten.full_like(argument, n + 1), argument)
    if n == 1:
        value = value.masked_fill(argument == math.inf, 0)  # where torch has a function of its own
    factor = float(math.factorial(n)) if n <= _LARGEST_FACTORIAL else math.inf
    return (value * (factor * (-1) ** (n + 1))).to(element)  # type: ignore[no-any-return]


@op("polygamma_")
def polygamma_in_place(self: Tensor, n: int) -> Tensor:
    """Raises RuntimeError where `self` holds integers."""
    result: Tensor = ops.aten.polygamma.default(n, before_write(self))
    if not self.dtype.is_floating_point:
        raise RuntimeError(
            f"polygamma_: result type {result.dtype.scalar_type_name} can't be cast to the desired "
            f"output type {self.dtype.scalar_type_name}"
        )
    return self.copy_(result)


# The incomplete gamma function

LARGE = 1e6  # from here on an asymptotic form serves both
# The most steps of a series or continued fraction; those beside LARGE take some 10,000.
MOST_STEPS = 1 << 14
STIRLING_FROM = 10.0
STIRLING_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


@op
def igamma(self: Tensor, other: Tensor) -> Tensor:
    """The regularized lower incomplete gamma function P(self, other)."""
    return _incomplete("igamma", self, other, lower=True)


@op
def igammac(self: Tensor, other: Tensor) -> Tensor:
    """The regularized upper incomplete gamma function Q(self, other) = 1 - P(self, other)."""
    return _incomplete("igammac", self, other, lower=False)


def _incomplete(name: str, self: Tensor, other: Tensor, *, lower: bool) -> Tensor:
    """By the series for P below other = self + 1, by the continued fraction for Q above.

    Abramowitz and Stegun (1964), 6.5.29 and 6.5.31.
    """
    element = in_float64(name, self, other, integers=False)
    a, x = as_float64(self, other)
    ordinary = (a > 0) & (x > 0) & (a < LARGE) & (x < math.inf)
    by_series = x < a + 1
    one = ops.aten.ones_like(a)
    inner, outer = ordinary & by_series, ordinary & ~by_series
    p = _lower_series(ops.aten.where(inner, a, one), ops.aten.where(inner, x, one))
    q = _upper_fraction(ops.aten.where(outer, a, one), ops.aten.where(outer, x, 2 * one))
    value = ops.aten.where(by_series, p if lower else 1 - p, 1 - q if lower else q)
    is_large = (a >= LARGE) & (x > 0) & (a < math.inf) & (x < math.inf)
    if is_any(is_large):
        asymptotic = _large_incomplete(
            ops.aten.where(is_large, a, one), ops.aten.where(is_large, x, one), lower=lower
        )
        value = ops.aten.where(is_large, asymptotic, value)
    zero, whole = (0.0, 1.0) if lower else (1.0, 0.0)
    value = value.masked_fill((x == 0) | (a == math.inf), zero)
    value = value.masked_fill((a == 0) | (x == math.inf), whole)
    undefined = (a < 0) | (x < 0) | a.isnan() | x.isnan()
    undefined = undefined | ((a == 0) & (x == 0)) | ((a == math.inf) & (x == math.inf))
    return value.masked_fill(undefined, math.nan).to(element)


def _prefactor(a: Tensor, x: Tensor) -> Tensor:
    """x^a exp(-x) / Gamma(a + 1); for large a by Stirling's series, so that nothing cancels."""
    direct = (a * x.log() - x - (a + 1).lgamma()).exp()
    large = a.clamp(min=STIRLING_FROM)
    offset = (x - large) / large
    inverse = 1 / large
    series = ops.aten.zeros_like(a)
    for coefficient in reversed(STIRLING_SERIES):
        series = series * inverse * inverse + coefficient
    exponent = large * (offset.log1p() - offset) - series * inverse
    stirling = exponent.exp() / (2 * math.pi * large).sqrt()
    return ops.aten.where(a < STIRLING_FROM, direct, stirling)


def _lower_series(a: Tensor, x: Tensor) -> Tensor:
    def step(lanes: list[Tensor], count: int) -> tuple[list[Tensor], Tensor]:
        total, term, a, x = lanes
        term = term * x / (a + count)
        total = total + term
        return [total, term, a, x], term > total * 2.0**-54

    one = ops.aten.ones_like(a)
    return iterated([one, one, a, x], step, MOST_STEPS) * _prefactor(a, x)


def _upper_fraction(a: Tensor, x: Tensor) -> Tensor:
    """Lentz's method: Thompson and Barnett, Journal of Computational Physics 64 (1986).

    What a step changes falls until it is rounding alone, which need not come below one unit.
    """

    def step(lanes: list[Tensor], count: int) -> tuple[list[Tensor], Tensor]:
        fraction, changed, a, b, c, d = lanes
        numerator = -count * (count - a)
        b = b + 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        change = c * d
        error = (change - 1).abs()
        goes_on = (error > 2.0**-53) & ((error > 2.0**-48) | (error < changed))
        return [fraction * change, error, a, b, c, d], goes_on

    b = x + 1 - a
    first = 1 / b
    whole = ops.aten.full_like(b, math.inf)
    lanes = [first, whole, a, b, ops.aten.full_like(b, 1e300), first]
    return iterated(lanes, step, MOST_STEPS) * _prefactor(a, x) * a


def _large_incomplete(a: Tensor, x: Tensor, *, lower: bool) -> Tensor:
    """Temme's uniform expansion to its first term (NIST Handbook, 8.12): error about 1/a."""
    offset = (x - a) / a
    eta = (2 * (offset - offset.log1p())).clamp(min=0).sqrt() * offset.sign()
    ratio = ops.aten.where(offset.abs() < 1e-3, eta / 12 - 1 / 3, 1 / offset - 1 / eta)
    rest = (-0.5 * a * eta * eta).exp() / (2 * math.pi * a).sqrt() * ratio
    side = -1 if lower else 1
    return 0.5 * (side * eta * (a * 0.5).sqrt()).erfc() + side * rest
