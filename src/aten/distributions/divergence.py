"""Kullback-Leibler divergences, by the kinds of both distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.distributions.continuous import Exponential, Laplace, Normal, Uniform
from aten.distributions.counting import (
    Bernoulli,
    Categorical,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from aten.distributions.distribution import Distribution
from aten.distributions.gamma import Beta, Dirichlet, Gamma
from aten.distributions.joint import Independent, MultivariateNormal
from aten.registry import ops

_Divergence = Callable[[Any, Any], Tensor]
_rules: dict[tuple[type, type], _Divergence] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[_Divergence], _Divergence]:
    """A decorator: the function gives the divergence for these kinds, and kinds made of them.

    Raises TypeError for what is no kind of distribution.
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected a Distribution subclass but got {kind}")

    def register(function: _Divergence) -> _Divergence:
        _rules[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under p of log p - log q. Raises NotImplementedError for kinds without a rule."""
    for left in type(p).__mro__:
        for right in type(q).__mro__:
            rule = _rules.get((left, right))
            if rule is not None:
                return rule(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normals(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Exponential, Exponential)
def _exponentials(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Laplace, Laplace)
def _laplaces(p: Laplace, q: Laplace) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Uniform, Uniform)
def _uniforms(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    outside = (q.low > p.low) | (q.high < p.high)
    return found.masked_fill(outside, math.inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoullis(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (p.logits - q.logits)
    return ones + _softplus(q.logits) - _softplus(p.logits)


def _softplus(value: Tensor) -> Tensor:
    return ops.aten.logaddexp(value, ops.aten.zeros_like(value))


@register_kl(Geometric, Geometric)
def _geometrics(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poissons(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Categorical, Categorical)
def _categories(p: Categorical, q: Categorical) -> Tensor:
    found = p.probs * (p.logits - q.logits)
    found = found.masked_fill((q.probs == 0).expand(found.shape), math.inf)
    return found.masked_fill((p.probs == 0).expand(found.shape), 0).sum((-1,))


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hots(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categories(p._categories, q._categories)


@register_kl(Gamma, Gamma)
def _gammas(p: Gamma, q: Gamma) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + q.concentration.lgamma()
        - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Beta, Beta)
def _betas(p: Beta, q: Beta) -> Tensor:
    return _dirichlets(p._base(), q._base())


@register_kl(Dirichlet, Dirichlet)
def _dirichlets(p: Dirichlet, q: Dirichlet) -> Tensor:
    total, other = p.concentration.sum((-1,)), q.concentration.sum((-1,))
    sums = total.lgamma() - other.lgamma()
    each = (p.concentration.lgamma() - q.concentration.lgamma()).sum((-1,))
    weights = p.concentration.digamma() - total.digamma().unsqueeze(-1)
    return sums - each + ((p.concentration - q.concentration) * weights).sum((-1,))


@register_kl(MultivariateNormal, MultivariateNormal)
def _normal_vectors(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two normal vectors of different sizes")
    diagonals = [one._lower.diagonal(dim1=-2, dim2=-1).log().sum((-1,)) for one in (q, p)]
    spread = ops.aten.linalg_solve_triangular(q._lower, p._lower, upper=False)
    away = (q.loc - p.loc).unsqueeze(-1)
    moved = ops.aten.linalg_solve_triangular(q._lower, away, upper=False)
    squares = spread.pow(2).sum((-2, -1)) + moved.pow(2).sum((-2, -1))
    return diagonals[0] - diagonals[1] + 0.5 * (squares - p.event_shape[0])


@register_kl(Independent, Independent)
def _independents(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of Independent with different reinterpreted_batch_ndims")
    return p._together(kl_divergence(p.base_dist, q.base_dist))
