"""Distributions made of gamma variables.

Marsaglia & Tsang, A Simple Method for Generating Gamma Variables (2000): rejection, all elements at
once until none is left. The numbers drawn are not those that torch draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.distributions import constraints
from aten.distributions.distribution import (
    Distribution,
    Number,
    broadcast,
    normal,
    smallest,
    uniform,
)
from aten.registry import ops


def standard_gamma(concentration: Tensor) -> Tensor:
    """Draws of gamma variables of rate 1, one for each element.

    Below 1 a variable is that of one more, times a uniform one's power.
    """
    small = concentration < 1
    shape = ops.aten.where(small, concentration + 1, concentration)
    step = shape - 1 / 3
    spread = (9 * step).rsqrt()
    drawn, accepted = _attempt(step, spread)
    while not bool(accepted.all()):
        again, found = _attempt(step, spread)
        drawn = ops.aten.where(accepted, drawn, again)
        accepted = accepted | found | ~(step == step)
    lowered = (1 - uniform(drawn.shape, drawn)).pow(concentration.reciprocal())
    drawn = ops.aten.where(small, drawn * lowered, drawn)
    return drawn.clamp(min=smallest(drawn))


def _attempt(step: Tensor, spread: Tensor) -> tuple[Tensor, Tensor]:
    point = normal(step.shape, step)
    cube = (1 + spread * point) ** 3
    level = 1 - uniform(step.shape, step)
    positive = cube > 0
    bound = 0.5 * point.square() + step - step * cube + step * cube.log()
    return step * cube, positive & (level.log() < bound)


class Gamma(Distribution):
    """Density rate^c x^(c - 1) exp(-rate x) / Γ(c) for the concentration c."""

    arg_constraints = {  # noqa: RUF012
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True

    def __init__(
        self, concentration: Number, rate: Number, validate_args: bool | None = None
    ) -> None:
        self.concentration, self.rate = broadcast(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended(sample_shape)
        return standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        value, shape = self._check_value(value), self.concentration
        return (
            shape.xlogy(self.rate) + (shape - 1).xlogy(value) - self.rate * value - shape.lgamma()
        )

    def cdf(self, value: Tensor) -> Tensor:
        reached = self.rate * self._check_value(value)
        return ops.aten.special_gammainc(self.concentration, reached)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1.0 - shape) * shape.digamma()


class Chi2(Gamma):
    """The sum of `df` squares of standard normal variables."""

    arg_constraints = {"df": constraints.positive}  # noqa: RUF012

    def __init__(self, df: Number, validate_args: bool | None = None) -> None:
        (self.df,) = broadcast(df)
        super().__init__(0.5 * self.df, 0.5, validate_args=validate_args)


class InverseGamma(Distribution):
    """1 / x of a gamma variable."""

    arg_constraints = {  # noqa: RUF012
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(
        self, concentration: Number, rate: Number, validate_args: bool | None = None
    ) -> None:
        self.concentration, self.rate = broadcast(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def _base(self) -> Gamma:
        return Gamma(self.concentration, self.rate, validate_args=False)

    @property
    def mean(self) -> Tensor:
        shape = self.concentration
        found = self.rate / (shape - 1)
        return ops.aten.where(shape > 1, found, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        shape = self.concentration
        found = self.rate.square() / ((shape - 1).square() * (shape - 2))
        return ops.aten.where(shape > 2, found, math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._base().rsample(sample_shape).reciprocal()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        return self._base().log_prob(value.reciprocal()) - 2 * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - self._base().cdf(self._check_value(value).reciprocal())

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape + self.rate.log() + shape.lgamma() - (1 + shape) * shape.digamma()


class Dirichlet(Distribution):
    """Vectors that sum to 1: gamma variables by their sum."""

    arg_constraints = {  # noqa: RUF012
        "concentration": constraints.Constraint(
            "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)", lambda x: (x > 0).all(-1), 1
        )
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum((-1,), True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        found = above / above.sum((-1,), True)
        flat = (self.concentration < 1).all(dim=-1)
        if bool(flat.any()):
            found[flat] = ops.aten.one_hot(found[flat].argmax(dim=-1), above.shape[-1]).to(found)
        return found

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum((-1,), True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = standard_gamma(self.concentration.expand(self._extended(sample_shape)))
        return drawn / drawn.sum((-1,), True)

    def log_prob(self, value: Tensor) -> Tensor:
        value, shape = self._check_value(value), self.concentration
        norm = shape.sum((-1,)).lgamma() - shape.lgamma().sum((-1,))
        return (shape - 1.0).xlogy(value).sum((-1,)) + norm

    def entropy(self) -> Tensor:
        shape, count = self.concentration, self.concentration.shape[-1]
        total = shape.sum((-1,))
        return (
            shape.lgamma().sum((-1,))
            - total.lgamma()
            - (count - total) * total.digamma()
            - ((shape - 1.0) * shape.digamma()).sum((-1,))
        )


class Beta(Distribution):
    """Density x^(a - 1) (1 - x)^(b - 1), by the beta function of a and b."""

    arg_constraints = {  # noqa: RUF012
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        concentration1: Number,
        concentration0: Number,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _base(self) -> Dirichlet:
        both = ops.aten.stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(both, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._base().mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._base().rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        return self._base().log_prob(ops.aten.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._base().entropy()


class StudentT(Distribution):
    """A normal variable by the root of the mean of `df` squares of others."""

    arg_constraints = {  # noqa: RUF012
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Number,
        loc: Number = 0.0,
        scale: Number = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return ops.aten.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        found = self.scale.pow(2) * self.df / (self.df - 2)
        found = ops.aten.where(self.df > 2, found, math.inf)
        return ops.aten.where(self.df > 1, found, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended(sample_shape)
        point = normal(shape, self.df)
        squares = 2 * standard_gamma((0.5 * self.df).expand(shape))
        return self.loc + self.scale * point * (squares / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        away = (self._check_value(value) - self.loc) / self.scale
        norm = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + (0.5 * self.df).lgamma()
            - (0.5 * (self.df + 1.0)).lgamma()
        )
        return -0.5 * (self.df + 1.0) * (away**2.0 / self.df).log1p() - norm

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return (
            self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta
        )


class FisherSnedecor(Distribution):
    """The ratio of two means of squares, of `df1` and of `df2` standard normal variables."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}  # noqa: RUF012
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Number, df2: Number, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        found = self.df2 / (self.df2 - 2)
        return ops.aten.where(self.df2 > 2, found, math.nan)

    @property
    def mode(self) -> Tensor:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return ops.aten.where(self.df1 > 2, found, math.nan)

    @property
    def variance(self) -> Tensor:
        one, two = self.df1, self.df2
        found = 2 * two.pow(2) * (one + two - 2) / (one * (two - 2).pow(2) * (two - 4))
        return ops.aten.where(two > 4, found, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended(sample_shape)
        means = [
            standard_gamma((0.5 * one).expand(shape)) / (0.5 * one) for one in (self.df1, self.df2)
        ]
        return means[0] / means[1].clamp(min=smallest(means[1]))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        one, two = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        norm = (one + two).lgamma() - one.lgamma() - two.lgamma()
        density = one * ratio.log() + (one - 1) * value.log()
        return norm + density - (one + two) * (ratio * value).log1p()
