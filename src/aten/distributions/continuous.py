"""Distributions of real numbers with a closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.distributions import constraints
from aten.distributions.distribution import (
    Distribution,
    Number,
    broadcast,
    epsilon,
    normal,
    smallest,
    uniform,
)
from aten.registry import ops

_EULER = 0.57721566490153286060


class Normal(Distribution):
    """Mean `loc`, standard deviation `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended(sample_shape)
        return ops.aten.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.loc + normal(self._extended(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        return (
            -((value - self.loc) ** 2) / (2 * self.variance)
            - self.scale.log()
            - math.log(math.sqrt(2 * math.pi))
        )

    def cdf(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class LogNormal(Distribution):
    """exp of a normal variable of mean `loc` and standard deviation `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _base(self) -> Normal:
        return Normal(self.loc, self.scale, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._base().sample(sample_shape).exp()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._base().rsample(sample_shape).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        logarithm = self._check_value(value).log()
        return self._base().log_prob(logarithm) - logarithm

    def cdf(self, value: Tensor) -> Tensor:
        return self._base().cdf(self._check_value(value).log())

    def icdf(self, value: Tensor) -> Tensor:
        return self._base().icdf(value).exp()

    def entropy(self) -> Tensor:
        return self._base().entropy() + self.loc


class HalfNormal(Distribution):
    """|x| of a normal variable of mean 0 and standard deviation `scale`."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Number, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _base(self) -> Normal:
        return Normal(0, self.scale, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return ops.aten.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._base().rsample(sample_shape).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        density = self._base().log_prob(value) + math.log(2)
        return ops.aten.where(value >= 0, density, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self._base().cdf(self._check_value(value)) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self._base().icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self._base().entropy() - math.log(2)


class Uniform(Distribution):
    """Evenly from [low, high)."""

    arg_constraints = {"low": constraints.real, "high": constraints.real}  # noqa: RUF012
    has_rsample = True

    def __init__(self, low: Number, high: Number, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._checks and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low >= high")

    @property
    def support(self) -> constraints.Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return self.high * math.nan

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = uniform(self._extended(sample_shape), self.low)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.type_as(self.low).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Exponential(Distribution):
    """Waiting times at the rate `rate`."""

    arg_constraints = {"rate": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Number, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return ops.aten.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self.rate.new_empty(self._extended(sample_shape)).exponential_()
        return drawn / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * self._check_value(value)

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - (-self.rate * self._check_value(value)).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - self.rate.log()


class Laplace(Distribution):
    """Density exp(-|x - loc| / scale) / (2 scale)."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self.loc.new_empty(self._extended(sample_shape))
        drawn = drawn.uniform_(epsilon(self.loc) - 1, 1)
        return self.loc - self.scale * drawn.sign() * (-drawn.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        away = self._check_value(value) - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


class Cauchy(Distribution):
    """Ratio of two normal variables, moved by `loc` and spread by `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _everywhere(self, number: float) -> Tensor:
        return ops.aten.full(self.batch_shape, number, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self) -> Tensor:
        return self._everywhere(math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._everywhere(math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self.loc.new_empty(self._extended(sample_shape)).cauchy_()
        return self.loc + drawn * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        away = (self._check_value(value) - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (away**2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return ((self._check_value(value) - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class HalfCauchy(Distribution):
    """|x| of a Cauchy variable around 0."""

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Number, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _base(self) -> Cauchy:
        return Cauchy(0, self.scale, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return ops.aten.full_like(self.scale, math.inf)

    @property
    def mode(self) -> Tensor:
        return ops.aten.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self._base().variance

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._base().rsample(sample_shape).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        density = self._base().log_prob(value) + math.log(2)
        return ops.aten.where(value >= 0, density, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self._base().cdf(self._check_value(value)) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self._base().icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self._base().entropy() - math.log(2)


class Gumbel(Distribution):
    """Of the greatest of many exponential variables: density exp(-(z + exp(-z))) / scale."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * _EULER

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = uniform(self._extended(sample_shape), self.loc)
        drawn = drawn.clamp(smallest(self.loc), 1 - epsilon(self.loc))
        return self.loc - self.scale * (-drawn.log()).log()

    def log_prob(self, value: Tensor) -> Tensor:
        away = (self.loc - self._check_value(value)) / self.scale
        return (away - away.exp()) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        return (-((self.loc - self._check_value(value)) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + _EULER)


class Pareto(Distribution):
    """From `scale` on, with the density alpha scale^alpha / x^(alpha + 1)."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}  # noqa: RUF012
    has_rsample = True

    def __init__(self, scale: Number, alpha: Number, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self.scale.new_empty(self._extended(sample_shape)).exponential_()
        return self.scale * (drawn / self.alpha).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - (self.scale / self._check_value(value)).pow(self.alpha)

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (1 - value).pow(-self.alpha.reciprocal())

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(Distribution):
    """scale · E^(1 / concentration) of a standard exponential variable E."""

    arg_constraints = {  # noqa: RUF012
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(
        self, scale: Number, concentration: Number, validate_args: bool | None = None
    ) -> None:
        self.scale, self.concentration = broadcast(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _moment(self, order: int) -> Any:
        return (1 + order / self.concentration).lgamma()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._moment(1).exp()  # type: ignore[no-any-return]

    @property
    def mode(self) -> Tensor:
        power = (self.concentration - 1) / self.concentration
        return self.scale * power.pow(self.concentration.reciprocal())

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (self._moment(2).exp() - (2 * self._moment(1)).exp())  # type: ignore[no-any-return]

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self.scale.new_empty(self._extended(sample_shape)).exponential_()
        return self.scale * drawn.pow(self.concentration.reciprocal())

    def log_prob(self, value: Tensor) -> Tensor:
        value, shape = self._check_value(value), self.concentration
        return (
            (shape / self.scale).log()
            + (shape - 1) * (value / self.scale).log()
            - (value / self.scale).pow(shape)
        )

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - (-(self._check_value(value) / self.scale).pow(self.concentration)).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p()).pow(self.concentration.reciprocal())

    def entropy(self) -> Tensor:
        inverse = self.concentration.reciprocal()
        return _EULER * (1 - inverse) + (self.scale * inverse).log() + 1
