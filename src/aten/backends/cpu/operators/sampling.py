"""Random numbers of distributions that tensors describe, drawn by the CPU's generator."""

from __future__ import annotations

from typing import Any

from aten._core.base.device import device, layout
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.random.generator import Generator
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.accumulating import require_weights, running_shares
from aten.backends.cpu.operators.random import fill, given_or_default
from aten.ops.definition import op
from aten.ops.random.random_factory import empty_permutation
from aten.ops.random.sampling import (
    NO_WEIGHTS,
    UNFIT_WEIGHTS,
    check_poisson,
    check_sampling,
    checked_binomial,
    delivered,
    sampled,
)
from aten.registry import ops

_FLOAT64, _INT64 = DTYPES["float64"], DTYPES["int64"]


@op
def poisson(self: Tensor, generator: Generator | None = None) -> Tensor:
    check_poisson(self)
    made = self.new_empty(self.shape)
    if self.numel() == 0:
        return made
    if not bool(self.ge(0).all()):
        raise RuntimeError("poisson: expected all rates to be at least 0")
    rates = self.to(_FLOAT64).contiguous()
    source = given_or_default(generator)
    return fill(made, _FLOAT64, lambda out: source.draw("poisson", out, rates))


@op
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    made = count.new_empty(checked_binomial(count, prob))
    if made.numel() == 0:
        return made
    counts, probabilities = (
        given.expand(made.shape).to(_FLOAT64).contiguous() for given in (count, prob)
    )
    source = given_or_default(generator)
    return fill(made, _FLOAT64, lambda out: source.draw("binomial", out, counts, probabilities))


@op
def multinomial(
    self: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    check_sampling(self, num_samples, replacement, out)
    drawn = sampled(self, num_samples, replacement, generator, _check_weights, _shares)
    return delivered("multinomial", out, drawn)


def _check_weights(self: Tensor) -> None:
    require_weights(_wide(self).contiguous(), UNFIT_WEIGHTS, NO_WEIGHTS)


def _wide(weights: Tensor) -> Tensor:
    return weights.float() if weights.itemsize < 4 else weights


def _shares(rows: Tensor) -> Tensor:
    """Of sums one after the other, each rounded; those of half types are float32."""
    made: Tensor = ops.aten.empty.memory_format(rows.shape, dtype=_FLOAT64)
    running_shares(_wide(rows).contiguous(), made)
    return made


@op("randperm")
@op("randperm.generator")
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    options: dict[str, Any] = {"layout": layout, "device": device, "pin_memory": pin_memory}
    made = empty_permutation(n, dtype, options)
    return fill(made, _INT64, given_or_default(generator).shuffle)
