"""Fresh tensors of random numbers whose distribution other tensors describe."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.accumulating import running_sums
from aten._core.construct import on_device
from aten._core.device import device
from aten._core.dtypes import DTYPES
from aten._core.generator import Generator
from aten._core.memory import write_out
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.matmul import broadcast_shapes
from aten.ops.random import (
    bernoulli_,
    bernoulli_tensor_,
    exponential_,
    fill,
    given_or_default,
    normal_,
)
from aten.ops.requirements import refusal
from aten.registry import ops

_CPU = device("cpu")
_FLOAT64, _INT64 = DTYPES["float64"], DTYPES["int64"]
_MAXIMUM_WEIGHTS = 1 << 24  # all integers up to which are numbers of float32


def _fresh(out: Tensor | None, like: Tensor, sizes: Sequence[int]) -> Tensor:
    """Uninitialized, of the dtype and order of `out`, or else row-major and like another."""
    if out is None:
        return ops.aten.new_empty(like, sizes)  # type: ignore[no-any-return]
    if out.shape == tuple(sizes):
        return ops.aten.empty_like(out)  # type: ignore[no-any-return]
    return ops.aten.new_empty(out, sizes)  # type: ignore[no-any-return]


def _delivered(name: str, out: Tensor | None, drawn: Tensor) -> Tensor:
    """`drawn`, or `out` with its elements."""
    if out is None:
        return drawn
    write_out(name, out, drawn, ops.aten.copy_.default)
    return out


@op("bernoulli")
def bernoulli(
    self: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """1 with the probability that stands in its place, else 0."""
    return bernoulli_tensor(self, self, generator=generator, out=out)


@op("bernoulli.p")
@op("bernoulli.float_out")
def bernoulli_p(
    self: Tensor,
    p: float = 0.5,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """As many of 1, with probability p, and 0 as `self` has elements."""
    drawn = bernoulli_(_fresh(out, self, self.shape), p, generator=generator)
    return _delivered("bernoulli", out, drawn)


@op("bernoulli.Tensor")
def bernoulli_tensor(
    self: Tensor, p: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """As `bernoulli.p`, each element with a probability of its own."""
    drawn = bernoulli_tensor_(_fresh(out, self, self.shape), p, generator=generator)
    return _delivered("bernoulli", out, drawn)


@op("normal.Tensor_float")
def normal_around(
    mean: Tensor,
    std: float = 1.0,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Normal numbers, each around a mean of its own."""
    drawn = normal_(_fresh(out, mean, mean.shape), 0.0, std, generator=generator)
    return _delivered("normal", out, drawn.add_(mean))


@op("normal.float_Tensor")
def normal_with_deviations(
    mean: float, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Normal numbers, each with a deviation of its own."""
    _check_deviations(std)
    drawn = normal_(_fresh(out, std, std.shape), generator=generator)
    return _delivered("normal", out, drawn.mul_(std).add_(mean))


@op("normal.Tensor_Tensor")
def normal_of_tensors(
    mean: Tensor, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Normal numbers, each with mean and deviation of its own; these are broadcast."""
    _check_deviations(std)
    sizes = broadcast_shapes(mean.shape, std.shape)
    drawn = normal_(_fresh(out, mean, sizes), generator=generator)
    return _delivered("normal", out, drawn.mul_(std).add_(mean))


def _check_deviations(std: Tensor) -> None:
    if std.is_complex():
        raise RuntimeError(f"normal: expected std to be real, got {std.dtype}")
    if not std.is_meta and std.numel() and not bool(std.ge(0).all()):
        raise RuntimeError("normal: expected all of std to be at least 0")


@op
def poisson(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts of events that come at the given rates.

    Raises RuntimeError for negative rates, NotImplementedError for bool, integers and complex.
    """
    if not self.is_floating_point():
        raise refusal("poisson_cpu", self.dtype)
    made = _fresh(None, self, self.shape)
    if self.is_meta or self.numel() == 0:
        return made
    if not bool(self.ge(0).all()):
        raise RuntimeError("poisson: expected all rates to be at least 0")
    rates = self.to(_FLOAT64).contiguous()
    source = given_or_default(generator)
    return fill(made, _FLOAT64, lambda out: source.draw("poisson", out, rates))


@op
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`; the two are broadcast.

    Raises ValueError where a count is no floating number, RuntimeError where the dtypes differ.
    """
    for name, given in (("count", count), ("prob", prob)):
        if not given.is_floating_point():
            raise ValueError(f"binomial: expected {name} of a floating dtype, got {given.dtype}")
    if count.dtype is not prob.dtype:
        raise RuntimeError(f"binomial: expected one dtype, got {count.dtype} and {prob.dtype}")
    if count.itemsize < 4:
        raise refusal("binomial_cpu", count.dtype)
    sizes = broadcast_shapes(count.shape, prob.shape)
    made: Tensor = ops.aten.empty.memory_format(sizes, dtype=count.dtype, device=count.device)
    if made.is_meta or made.numel() == 0:
        return made
    counts, probabilities = (
        given.expand(sizes).to(_FLOAT64).contiguous() for given in (count, prob)
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
    """Indices into each row of weights (n) or (m, n), drawn with or without replacement.

    Without, weights are divided by exponential numbers, and the largest quotients win: Efraimidis
    & Spirakis, Weighted random sampling with a reservoir (2006). Raises RuntimeError for weights
    that are negative, not finite or all zero, and for more samples than there are to draw.
    """
    _check_sampling(self, num_samples, replacement)
    if out is not None and out.dtype is not _INT64:
        raise RuntimeError(f"multinomial: expected out of dtype int64, got {out.dtype}")
    return _delivered("multinomial", out, _sample(self, num_samples, replacement, generator))


def _sample(
    self: Tensor, num_samples: int, replacement: bool, generator: Generator | None
) -> Tensor:
    sizes = (*self.shape[:-1], num_samples)
    if self.is_meta or 0 in sizes:
        return ops.aten.empty.memory_format(sizes, dtype=_INT64, device=self.device)  # type: ignore[no-any-return]
    if not bool(self.ge(0).logical_and(self.lt(float("inf"))).all()):
        raise RuntimeError("multinomial: expected weights that are finite and at least 0")
    if not bool(self.sum((-1,)).gt(0).all()):
        raise RuntimeError("multinomial: expected each row of weights to have a positive sum")
    if replacement and num_samples > 1:
        return _with_replacement(self, num_samples, given_or_default(generator))
    keys = self.div(exponential_(ops.aten.empty_like(self), generator=generator))
    if num_samples == 1:
        return keys.argmax(-1, keepdim=True)
    return _indices_of_largest(keys, num_samples)


def _check_sampling(self: Tensor, num_samples: int, replacement: bool) -> None:
    if self.dim() not in (1, 2):
        raise RuntimeError(f"multinomial: expected 1 or 2 dimensions, got {self.dim()}")
    if not self.is_floating_point():
        raise RuntimeError(f"multinomial: expected weights of a floating dtype, got {self.dtype}")
    if num_samples <= 0:
        raise RuntimeError(f"multinomial: expected num_samples > 0, got {num_samples}")
    if not replacement and num_samples > self.shape[-1]:
        raise RuntimeError(
            f"multinomial: without replacement, expected num_samples of at most {self.shape[-1]}, "
            f"got {num_samples}"
        )
    if self.shape[-1] > _MAXIMUM_WEIGHTS:
        raise RuntimeError(
            f"multinomial: expected at most {_MAXIMUM_WEIGHTS} weights in a row, got "
            f"{self.shape[-1]}"
        )


def _indices_of_largest(keys: Tensor, count: int) -> Tensor:
    order: Tensor = ops.aten.argsort.stable(keys, stable=True, dim=-1, descending=True)
    return order.narrow(-1, 0, count).contiguous()


def _with_replacement(weights: Tensor, count: int, source: Generator) -> Tensor:
    """Where uniform numbers fall among the cumulative sums of the weights."""
    rows = on_device(weights.reshape((-1, weights.shape[-1])), _CPU)
    sums = _running_sums(rows.to(DTYPES["float32"]) if rows.dtype.name == "bfloat16" else rows)
    # What the weights were seen to be they may not be any more.
    sums = (sums / sums.narrow(-1, -1, 1)).to(_FLOAT64)
    sums.narrow(-1, -1, 1).fill_(1)
    places: Tensor = ops.aten.empty.memory_format(
        (rows.shape[0], count), dtype=_FLOAT64, device=_CPU
    )
    source.uniform(places, 0.0, 1.0)
    found: Tensor = ops.aten.searchsorted(sums, places)
    return found.reshape((*weights.shape[:-1], count)).to(device=weights.device)


def _running_sums(rows: Tensor) -> Tensor:
    """Sums one after the other, each rounded to the type of the rows."""
    made: Tensor = ops.aten.empty.memory_format(rows.shape, dtype=rows.dtype, device=_CPU)
    if rows.dtype.name in ("float32", "float64"):
        running_sums(rows.contiguous(), made)
        return made
    made.copy_(rows)
    for place in range(1, rows.shape[-1]):
        made.select(-1, place).add_(made.select(-1, place - 1))
    return made
