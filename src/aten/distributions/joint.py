"""Distributions of vectors, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.distributions import constraints
from aten.distributions.counting import Categorical
from aten.distributions.distribution import Distribution, normal
from aten.registry import ops


class Independent(Distribution):
    """A distribution whose last batch dimensions are part of one event."""

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        shape = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(shape):
            raise ValueError(
                f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(shape)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        split = len(shape) - reinterpreted_batch_ndims
        events = shape[split:] + base_distribution.event_shape
        super().__init__(shape[:split], events, validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def _together(self, values: Tensor) -> Tensor:
        count = self.reinterpreted_batch_ndims
        return values.sum(tuple(range(-count, 0))) if count else values

    def log_prob(self, value: Tensor) -> Tensor:
        return self._together(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self._together(self.base_dist.entropy())

    def expand(self, batch_shape: Sequence[int]) -> Independent:
        events = self.event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*batch_shape, *events))
        return Independent(base, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """One of the components that the last batch dimension lists, drawn by a categorical one."""

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "aten.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of "
                "aten.distributions.Distribution"
            )
        components = component_distribution.batch_shape
        if mixture_distribution.param_shape[-1] != components[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_distribution.param_shape[-1]}) does "
                f"not equal `component_distribution.batch_shape[-1]` ({components[-1]})"
            )
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        super().__init__(
            components[:-1], component_distribution.event_shape, validate_args=validate_args
        )

    def _weights(self) -> Tensor:
        inner = (1,) * len(self.event_shape)
        probs: Tensor = self.mixture_distribution.probs
        return probs.reshape((*probs.shape, *inner))

    def _folded(self) -> int:
        return -1 - len(self.event_shape)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self.component_distribution.mean).sum((self._folded(),))

    @property
    def variance(self) -> Tensor:
        weights, dim = self._weights(), self._folded()
        inner = (weights * self.component_distribution.variance).sum((dim,))
        away = self.component_distribution.mean - self.mean.unsqueeze(dim)
        return inner + (weights * away.pow(2.0)).sum((dim,))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        chosen = self.mixture_distribution.sample(sample_shape)
        drawn = self.component_distribution.sample(sample_shape)
        events = tuple(self.event_shape)
        index = chosen.reshape((*chosen.shape, 1, *(1 for _ in events)))
        index = index.expand((*chosen.shape, 1, *events))
        return drawn.gather(self._folded(), index).squeeze(self._folded())

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._check_value(value).unsqueeze(self._folded())
        densities = self.component_distribution.log_prob(value)
        weights = self.mixture_distribution.logits.log_softmax(-1)
        found: Tensor = (densities + weights).logsumexp(-1)
        return found

    def cdf(self, value: Tensor) -> Tensor:
        reached = self.component_distribution.cdf(self._check_value(value).unsqueeze(-1))
        found: Tensor = (reached * self.mixture_distribution.probs).sum((-1,))
        return found

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution}, {self.component_distribution})"


class MultivariateNormal(Distribution):
    """Normal vectors of mean `loc`, given by one of three matrices."""

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        told = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if len(told) != 1:
            raise ValueError(f"Exactly one of {' or '.join(given)} may be specified.")
        ((name, matrix),) = told
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional")
        batch = _common(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, loc.shape[-1]))
        self.__dict__[name] = matrix.expand((*batch, *matrix.shape[-2:]))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._lower = _lower_factor(name, matrix)

    def __getattr__(self, name: str) -> Any:
        if name not in ("covariance_matrix", "precision_matrix", "scale_tril"):
            raise AttributeError(f"'MultivariateNormal' object has no attribute '{name}'")
        lower = self._lower.expand((*self.batch_shape, *self._lower.shape[-2:]))
        if name == "scale_tril":
            return lower
        if name == "covariance_matrix":
            return lower @ lower.mT
        return ops.aten.cholesky_inverse(lower)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._lower.pow(2).sum((-1,)).expand(self.batch_shape + self.event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = normal(self._extended(sample_shape), self.loc)
        return self.loc + (self._lower @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        away = self._check_value(value) - self.loc
        solved = ops.aten.linalg_solve_triangular(self._lower, away.unsqueeze(-1), upper=False)
        squares = solved.squeeze(-1).pow(2).sum((-1,))
        determinant = self._lower.diagonal(dim1=-2, dim2=-1).log().sum((-1,))
        count = self.event_shape[0]
        found: Tensor = -0.5 * (count * math.log(2 * math.pi) + squares) - determinant
        return found

    def entropy(self) -> Tensor:
        determinant = self._lower.diagonal(dim1=-2, dim2=-1).log().sum((-1,))
        count = self.event_shape[0]
        found = 0.5 * count * (1.0 + math.log(2 * math.pi)) + determinant
        return found.expand(self.batch_shape)


def _common(*shapes: Sequence[int]) -> tuple[int, ...]:
    from aten.functional import broadcast_shapes

    return tuple(broadcast_shapes(*(tuple(one) for one in shapes)))


def _lower_factor(name: str, matrix: Tensor) -> Tensor:
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return ops.aten.linalg_cholesky(matrix)
    # The factor of the inverse: that of the matrix read from its end, turned over.
    flipped = ops.aten.linalg_cholesky(matrix.flip((-2, -1)))
    turned = flipped.flip((-2, -1)).mT
    identity = ops.aten.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    factor: Tensor = ops.aten.linalg_solve_triangular(turned, identity, upper=False)
    return factor
