"""Distributions: drawn from, and their densities, moments, entropies and divergences.

Parameters are broadcast: their common shape, without the last dimensions that one event takes up,
is the `batch_shape`, and what one draw takes up the `event_shape`. `sample((n,))` draws from
`aten.default_generator`, and gives (n, *batch_shape, *event_shape).
"""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

from aten.distributions import constraints
from aten.distributions.continuous import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    LogNormal,
    Normal,
    Pareto,
    Uniform,
    Weibull,
)
from aten.distributions.counting import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    Poisson,
)
from aten.distributions.distribution import Distribution
from aten.distributions.divergence import kl_divergence, register_kl
from aten.distributions.gamma import (
    Beta,
    Chi2,
    Dirichlet,
    FisherSnedecor,
    Gamma,
    InverseGamma,
    StudentT,
)
from aten.distributions.joint import Independent, MixtureSameFamily, MultivariateNormal
from aten.names.refusals import refuse

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "FisherSnedecor",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Laplace",
    "LogNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "Pareto",
    "Poisson",
    "StudentT",
    "Uniform",
    "Weibull",
    "constraints",
    "kl_divergence",
    "register_kl",
]


def _module_of(kind: type[Distribution]) -> ModuleType:
    """torch's module of the distribution: `aten.distributions.half_normal` has HalfNormal."""
    short = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    short = {"student_t": "studentT"}.get(short, short)
    name = f"{__name__}.{short}"
    if name not in sys.modules:
        sys.modules[name] = ModuleType(name, f"Has {kind.__name__}.")
    setattr(sys.modules[name], kind.__name__, kind)
    kind.__module__ = __name__
    return sys.modules[name]


for _kind in [globals()[_name] for _name in __all__ if _name[0].isupper()]:
    if not hasattr(sys.modules[__name__], _module_of(_kind).__name__.rpartition(".")[2]):
        setattr(
            sys.modules[__name__], _module_of(_kind).__name__.rpartition(".")[2], _module_of(_kind)
        )


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
