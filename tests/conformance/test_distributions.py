"""Distributions: densities, moments, entropies and divergences as torch's; draws as they say.

Draws that torch makes by the same operators are the same numbers. The others are compared with the
moments that the distribution says it has.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from comparison import assert_same, from_torch

import aten

torch_distributions = torch.distributions
P = torch.tensor
CASES: list[tuple[str, dict[str, Any]]] = [
    ("Bernoulli", {"probs": P([0.2, 0.7, 0.5])}),
    ("Bernoulli", {"logits": P([[-2.0, 0.0], [1.0, 30.0]])}),
    ("Beta", {"concentration1": P([0.5, 2.0]), "concentration0": P([1.5, 3.0])}),
    ("Binomial", {"total_count": 7, "probs": P([0.2, 0.7])}),
    ("Binomial", {"total_count": P([5.0, 5.0]), "logits": P([0.2, -0.7])}),
    ("Categorical", {"probs": P([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])}),
    ("Categorical", {"logits": P([0.2, -1.0, 3.0])}),
    ("Cauchy", {"loc": P([0.0, 1.0]), "scale": P([[1.0], [2.5]])}),
    ("Chi2", {"df": P([1.0, 5.5])}),
    ("Dirichlet", {"concentration": P([[0.5, 1.0, 2.0], [3.0, 3.0, 0.2]])}),
    ("Exponential", {"rate": P([0.5, 2.0])}),
    ("Exponential", {"rate": 2.0}),
    ("FisherSnedecor", {"df1": P([3.0, 5.0]), "df2": P([6.0, 9.0])}),
    ("Gamma", {"concentration": P([0.3, 1.0, 7.5]), "rate": P([1.0, 2.0, 0.5])}),
    ("Geometric", {"probs": P([0.2, 0.9])}),
    ("Geometric", {"logits": P([0.2, -0.9])}),
    ("Gumbel", {"loc": P([0.0, 1.0]), "scale": 2.0}),
    ("HalfCauchy", {"scale": P([0.5, 2.0])}),
    ("HalfNormal", {"scale": P([0.5, 2.0])}),
    ("InverseGamma", {"concentration": P([2.5, 5.0]), "rate": P([1.0, 2.0])}),
    ("Laplace", {"loc": P([0.0, 1.0]), "scale": P([1.0, 0.5])}),
    ("LogNormal", {"loc": P([0.0, 1.0]), "scale": P([1.0, 0.5])}),
    ("Multinomial", {"total_count": 6, "probs": P([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])}),
    ("NegativeBinomial", {"total_count": P([3.0, 5.0]), "probs": P([0.2, 0.7])}),
    ("NegativeBinomial", {"total_count": 3, "logits": P([0.2, 0.7])}),
    ("Normal", {"loc": P([0.0, 1.0]), "scale": P([1.0, 0.5])}),
    ("Normal", {"loc": 0.0, "scale": 1.0}),
    ("Normal", {"loc": P([0.0, 1.0], dtype=torch.float64), "scale": 2}),
    ("OneHotCategorical", {"probs": P([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])}),
    ("Pareto", {"scale": P([1.0, 2.0]), "alpha": P([3.0, 2.5])}),
    ("Poisson", {"rate": P([0.5, 4.0])}),
    ("StudentT", {"df": P([1.5, 3.0, 8.0]), "loc": 1.0, "scale": P([1.0, 2.0, 0.5])}),
    ("Uniform", {"low": P([0.0, -1.0]), "high": P([1.0, 3.0])}),
    ("Weibull", {"scale": P([1.0, 2.0]), "concentration": P([1.5, 3.0])}),
    (
        "MultivariateNormal",
        {"loc": P([0.0, 1.0]), "covariance_matrix": P([[2.0, 0.3], [0.3, 1.0]])},
    ),
    (
        "MultivariateNormal",
        {"loc": P([[0.0, 1.0], [2.0, 3.0]]), "precision_matrix": P([[2.0, 0.3], [0.3, 1.0]])},
    ),
    ("MultivariateNormal", {"loc": P([0.0, 1.0]), "scale_tril": P([[2.0, 0.0], [0.3, 1.0]])}),
]
IDS = [f"{number}-{name}" for number, (name, _) in enumerate(CASES)]
# torch draws these by the very operators that are drawn by here.
SAME_DRAWS = frozenset(
    "Bernoulli Binomial Categorical Cauchy Exponential Geometric HalfCauchy HalfNormal Laplace "
    "LogNormal Multinomial MultivariateNormal Normal OneHotCategorical Poisson Uniform".split()
)


def translated(value: Any) -> Any:
    return from_torch(value) if isinstance(value, torch.Tensor) else value


def both(name: str, parameters: dict[str, Any]) -> tuple[Any, Any]:
    ours = {key: translated(value) for key, value in parameters.items()}
    return (
        getattr(aten.distributions, name)(**ours),
        getattr(torch_distributions, name)(**parameters),
    )


def outcome(function: Any) -> Any:
    try:
        return function()
    except NotImplementedError:
        return NotImplementedError


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=IDS)
def test_density_and_what_follows(name, parameters):
    ours, theirs = both(name, parameters)
    assert ours.batch_shape == tuple(theirs.batch_shape)
    assert ours.event_shape == tuple(theirs.event_shape)
    torch.manual_seed(0)
    value = theirs.sample((7,))
    close = {"tolerance": 1e-5, "absolute": 1e-5, "strides": False}
    assert_same(ours.log_prob(from_torch(value)), theirs.log_prob(value), **close)
    for what in ("cdf", "icdf"):
        at = value if what == "cdf" else torch.rand(7, *theirs.batch_shape)
        expected = outcome(lambda what=what, at=at: getattr(theirs, what)(at))
        if expected is not NotImplementedError:
            assert_same(getattr(ours, what)(from_torch(at)), expected, **close)
    for what in ("mean", "mode", "variance", "stddev"):
        expected = outcome(lambda what=what: getattr(theirs, what))
        if expected is not NotImplementedError:
            assert_same(getattr(ours, what), expected, **close)
    expected = outcome(theirs.entropy)
    if expected is not NotImplementedError:
        assert_same(ours.entropy(), expected, **close)
    if theirs.has_enumerate_support:
        assert_same(ours.enumerate_support(), theirs.enumerate_support(), strides=False)


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=IDS)
def test_draws(name, parameters):
    ours, theirs = both(name, parameters)
    torch.manual_seed(3)
    aten.manual_seed(3)
    expected, drawn = theirs.sample((4, 5)), ours.sample((4, 5))
    assert tuple(drawn.shape) == tuple(expected.shape)
    if name in SAME_DRAWS:
        assert_same(drawn, expected, tolerance=2e-6, absolute=1e-6, strides=False)
        return
    many = ours.sample((20000,))
    assert bool(aten.isfinite(ours.log_prob(many)).all())
    mean, deviation = ours.mean, ours.stddev
    known = aten.isfinite(mean) & aten.isfinite(deviation)
    error = (many.mean(0) - mean).abs()
    assert bool((error < 0.05 * deviation)[known].all())


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=IDS)
def test_expanded_and_shown(name, parameters):
    ours, theirs = both(name, parameters)
    shape = (3, *theirs.batch_shape)
    made, expected = ours.expand(shape), theirs.expand(shape)
    assert made.batch_shape == tuple(expected.batch_shape)
    torch.manual_seed(1)
    value = expected.sample()
    assert_same(
        made.log_prob(from_torch(value)),
        expected.log_prob(value),
        tolerance=1e-5,
        absolute=1e-5,
        strides=False,
    )
    # torch shows nothing of distributions that it makes of another one.
    shown = repr(theirs).replace("torch", "aten")
    assert repr(ours) == shown or shown == f"{name}()"


PAIRS = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "Exponential",
    "Gamma",
    "Geometric",
    "Laplace",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "Poisson",
    "Uniform",
]


@pytest.mark.parametrize("name", PAIRS)
def test_divergence(name):
    found = [parameters for kind, parameters in CASES if kind == name]
    pairs = [both(name, parameters) for parameters in (found[0], found[-1])]
    for (one, first), (other, second) in [(pairs[0], pairs[1]), (pairs[1], pairs[0])]:
        if one.batch_shape != other.batch_shape:
            continue
        assert_same(
            aten.distributions.kl_divergence(one, other),
            torch_distributions.kl_divergence(first, second),
            tolerance=1e-5,
            absolute=1e-6,
            strides=False,
        )


def test_joint_ones():
    def made(lib):
        place = lib.distributions
        normal = place.Normal(lib.tensor([[0.0, 1.0], [2.0, 3.0]]), lib.tensor([1.0, 0.5]))
        independent = place.Independent(normal, 1)
        mixture = place.MixtureSameFamily(place.Categorical(lib.tensor([0.3, 0.7])), independent)
        value = lib.tensor([[0.5, 1.5], [2.0, 2.0], [0.0, 3.0]])
        return (
            independent.log_prob(value[:2]),
            independent.entropy(),
            mixture.log_prob(value),
            mixture.mean,
            mixture.variance,
        )

    for one, other in zip(made(aten), made(torch), strict=True):
        assert_same(one, other, tolerance=1e-5, absolute=1e-6, strides=False)
    torch.manual_seed(0)
    aten.manual_seed(0)
    drawn = aten.distributions.MixtureSameFamily(
        aten.distributions.Categorical(aten.tensor([0.3, 0.7])),
        aten.distributions.Normal(aten.tensor([0.0, 9.0]), 1.0),
    ).sample((1000,))
    assert 0.6 < float((drawn > 4.5).float().mean()) < 0.8


WRONG = [
    lambda lib: lib.distributions.Normal(0.0, -1.0),
    lambda lib: lib.distributions.Normal("a", 1.0),
    lambda lib: lib.distributions.Bernoulli(1.5),
    lambda lib: lib.distributions.Bernoulli(),
    lambda lib: lib.distributions.Bernoulli(probs=0.5, logits=0.0),
    lambda lib: lib.distributions.Categorical(probs=lib.tensor(0.5)),
    lambda lib: lib.distributions.Uniform(1.0, 0.0),
    lambda lib: lib.distributions.Uniform(0.0, 1.0).log_prob(lib.tensor(2.0)),
    lambda lib: lib.distributions.Normal(0.0, 1.0).log_prob(lib.tensor(float("nan"))),
    lambda lib: lib.distributions.Poisson(1.0).log_prob(lib.tensor(0.5)),
    lambda lib: lib.distributions.Dirichlet(lib.tensor([1.0, -1.0])),
    lambda lib: lib.distributions.kl_divergence(
        lib.distributions.Normal(0.0, 1.0), lib.distributions.Poisson(1.0)
    ),
    lambda lib: lib.distributions.MultivariateNormal(lib.zeros(2)),
    lambda lib: lib.distributions.Normal(lib.zeros(2), lib.ones(3)),
    lambda lib: lib.distributions.Poisson(1.0).rsample(),
]


@pytest.mark.parametrize("wrong", range(len(WRONG)))
def test_wrong_ones_are_refused_as_by_torch(wrong, monkeypatch):
    # torch's compiler, which other tests ask, has distributions look at nothing from then on.
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)
    with pytest.raises(Exception) as expected:
        WRONG[wrong](torch)
    with pytest.raises(expected.type):
        WRONG[wrong](aten)
