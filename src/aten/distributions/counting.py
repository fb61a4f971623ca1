"""Distributions of whole numbers and of categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.distributions import constraints
from aten.distributions.distribution import (
    Distribution,
    Number,
    broadcast,
    epsilon,
    smallest,
    uniform,
)
from aten.registry import ops


def _one_of(probs: Any, logits: Any) -> None:
    if (probs is None) is (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def _inner(probabilities: Tensor) -> Tensor:
    """Kept away from 0 and 1, so that logarithms are finite."""
    eps = epsilon(probabilities)
    return probabilities.clamp(min=eps, max=1 - eps)


class _Binary(Distribution):
    """Given by the probability `probs` of 1, or its `logits`: the other one follows."""

    probs: Tensor
    logits: Tensor

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # noqa: RUF012

    def _given(self, probs: Number | None, logits: Number | None) -> Tensor:
        _one_of(probs, logits)
        if probs is not None:
            (given,) = broadcast(probs)
            self.__dict__["probs"] = given
        else:
            (given,) = broadcast(logits)
            self.__dict__["logits"] = given
        return given

    def __getattr__(self, name: str) -> Any:
        given = self.__dict__
        if name == "logits" and "probs" in given:
            inner = _inner(given["probs"])
            return inner.log() - (-inner).log1p()
        if name == "probs" and "logits" in given:
            return given["logits"].sigmoid()
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class Bernoulli(_Binary):
    """1 with the probability `probs`, else 0."""

    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self,
        probs: Number | None = None,
        logits: Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._given(probs, logits).shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        found = (self.probs >= 0.5).to(self.probs)
        found[self.probs == 0.5] = math.nan
        return found

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return ops.aten.bernoulli(self.probs.expand(self._extended(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value)
        logits, value = ops.aten.broadcast_tensors([self.logits, value])
        return -_cross_entropy(logits, value)

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = ops.aten.arange(2, dtype=self.probs.dtype, device=self.probs.device)
        return _values(values, self.batch_shape, expand)


def _cross_entropy(logits: Tensor, value: Tensor) -> Tensor:
    from aten.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(logits, value, reduction="none")


def _values(values: Tensor, batch: Sequence[int], expand: bool) -> Tensor:
    values = values.view((-1, *(1 for _ in batch)))
    return values.expand((-1, *batch)) if expand else values


class Geometric(_Binary):
    """How many zeros come before the first 1."""

    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Number | None = None,
        logits: Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._given(probs, logits).shape, validate_args=validate_args)
        if self._checks and probs is not None and not bool((self.probs > 0).all()):
            raise ValueError(f"Geometric: expected positive probabilities probs, got\n{probs}")

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return ops.aten.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = uniform(self._extended(sample_shape), self.probs).clamp(min=smallest(self.probs))
        found: Tensor = (drawn.log() / (-self.probs).log1p()).floor()
        return found

    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = ops.aten.broadcast_tensors([self._check_value(value), self.probs])
        probs = probs.clone()
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs) / self.probs


class Poisson(Distribution):
    """How often something happens that happens `rate` times on average."""

    arg_constraints = {"rate": constraints.nonnegative}  # noqa: RUF012
    support = constraints.nonnegative_integer

    def __init__(self, rate: Number, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return ops.aten.poisson(self.rate.expand(self._extended(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast(self.rate, self._check_value(value))
        return value.xlogy(rate) - rate - (value + 1).lgamma()


class Binomial(_Binary):
    """How many of `total_count` draws of a Bernoulli variable are 1."""

    arg_constraints = {  # noqa: RUF012
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Number = 1,
        probs: Number | None = None,
        logits: Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._given(probs, logits)
        name = "logits" if probs is None else "probs"
        self.total_count, self.__dict__[name] = broadcast(total_count, given)
        self.total_count = self.total_count.type_as(given)
        super().__init__(self.total_count.shape, validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended(sample_shape)
        return ops.aten.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value, count, logits = self._check_value(value), self.total_count, self.logits
        ways = (count + 1).lgamma() - (value + 1).lgamma() - (count - value + 1).lgamma()
        # log(1 + exp(logits)), without overflow.
        softplus = logits.clamp(min=0) + (-logits.abs()).exp().log1p()
        return ways + value * logits - count * softplus

    def entropy(self) -> Tensor:
        count = int(self.total_count.max())
        if not bool((self.total_count == count).all()):
            raise NotImplementedError("Binomial: entropy of different total_count")
        logarithms = self.log_prob(self.enumerate_support(False))
        return -(logarithms.exp() * logarithms).sum((0,))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = int(self.total_count.max())
        if not bool((self.total_count == count).all()):
            raise NotImplementedError("Binomial: enumerate_support of different total_count")
        values = ops.aten.arange(count + 1, dtype=self.probs.dtype, device=self.probs.device)
        return _values(values, self.batch_shape, expand)


class NegativeBinomial(_Binary):
    """How many ones come before `total_count` zeros."""

    arg_constraints = {  # noqa: RUF012
        "total_count": constraints.nonnegative,
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Number,
        probs: Number | None = None,
        logits: Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._given(probs, logits)
        name = "logits" if probs is None else "probs"
        self.total_count, self.__dict__[name] = broadcast(total_count, given)
        self.total_count = self.total_count.type_as(given)
        super().__init__(self.total_count.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        from aten.distributions.gamma import standard_gamma

        shape = self._extended(sample_shape)
        rates = standard_gamma(self.total_count.expand(shape)) * self.logits.exp()
        return ops.aten.poisson(rates)

    def log_prob(self, value: Tensor) -> Tensor:
        from aten.nn.functional import logsigmoid

        value = self._check_value(value)
        count, logits = self.total_count, self.logits
        chances = count * logsigmoid(-logits) + value * logsigmoid(logits)
        ways = -(count + value).lgamma() + (1 + value).lgamma() + count.lgamma()
        ways = ways.masked_fill(count + value == 0, 0.0)
        return chances - ways


class Categorical(Distribution):
    """The number of a category, drawn with probabilities `probs` along the last dimension.

    They need not sum to 1; or their logarithms are given, as `logits`.
    """

    probs: Tensor
    logits: Tensor

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        _one_of(probs, logits)
        given = logits if probs is None else probs
        assert given is not None
        if given.dim() < 1:
            name = "logits" if probs is None else "probs"
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            self.__dict__["logits"] = given - given.logsumexp(-1, keepdim=True)
        else:
            self.__dict__["probs"] = probs / probs.sum((-1,), keepdim=True)
        self._events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    def __getattr__(self, name: str) -> Any:
        given = self.__dict__
        if name == "logits" and "probs" in given:
            return _inner(given["probs"]).log()
        if name == "probs" and "logits" in given:
            return given["logits"].softmax(-1)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._events - 1)

    @property
    def param_shape(self) -> Any:
        """The shape of `probs`."""
        return self.probs.shape

    @property
    def mean(self) -> Tensor:
        return self.probs.new_full(self.batch_shape, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended(sample_shape)
        rows = self.probs.reshape(-1, self._events)
        drawn = ops.aten.multinomial(rows, math.prod(tuple(sample_shape)), True)
        return drawn.t().reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value).to(dtype=DTYPES["int64"]).unsqueeze(-1)
        shape = ops.aten.broadcast_tensors([value, self.logits[..., :1]])[0].shape[:-1]
        logits = self.logits.expand((*shape, self._events))
        return logits.gather(-1, value.expand((*shape, 1))).squeeze(-1)

    def entropy(self) -> Tensor:
        least = _least(self.logits)
        return -(self.logits.clamp(min=least) * self.probs).sum((-1,))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = ops.aten.arange(self._events, device=self.probs.device)
        return _values(values, self.batch_shape, expand)


def _least(like: Tensor) -> float:
    from aten.type_info import finfo

    return finfo(like.dtype).min


class OneHotCategorical(Distribution):
    """A category as a vector of zeros with a 1 in its place."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categories = Categorical(probs, logits, validate_args)
        shape = self._categories.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categories.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categories.logits

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._vectors(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _vectors(self, categories: Tensor) -> Tensor:
        return ops.aten.one_hot(categories, self.event_shape[0]).to(self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._vectors(self._categories.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        return self._categories.log_prob(self._check_value(value).max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categories.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        values = ops.aten.eye(count, dtype=self.probs.dtype, device=self.probs.device)
        values = values.view((count, *(1 for _ in self.batch_shape), count))
        found: Tensor = values.expand((count, *self.batch_shape, count)) if expand else values
        return found


class Multinomial(Distribution):
    """How often each category comes in `total_count` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # noqa: RUF012

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("Multinomial: total_count must be an int")
        self.total_count = total_count
        self._categories = Categorical(probs, logits, validate_args)
        shape = self._categories.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categories.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categories.logits

    @property
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self._categories.sample((self.total_count, *sample_shape))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = drawn.new_zeros(self._extended(sample_shape))
        counts.scatter_add_(-1, drawn, ops.aten.ones_like(drawn))
        return counts.type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = ops.aten.broadcast_tensors([self.logits, self._check_value(value)])
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = (value.sum((-1,)) + 1).lgamma() - (value + 1).lgamma().sum((-1,))
        return ways + (logits * value).sum((-1,))

    def entropy(self) -> Tensor:
        # Of draws in their order, less that of the order: E log of the multinomial coefficient.
        count = self.total_count
        each = Binomial(count, self.probs, validate_args=False)
        values = each.enumerate_support(False)[1:]
        arranged = (each.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return count * self._categories.entropy() - math.lgamma(count + 1) + arranged
