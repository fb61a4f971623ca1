"""Fresh tensors of random numbers whose distribution other tensors describe."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.random.generator import Generator
from aten._core.tensor.making import has_data
from aten._core.tensor.memory import write_out
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.linear_algebra.matmul import broadcast_shapes
from aten.ops.requirements import refusal
from aten.registry import ops

_CPU = device("cpu")
_FLOAT64, _INT64 = DTYPES["float64"], DTYPES["int64"]
_MAXIMUM_WEIGHTS = 1 << 24  # all integers up to which are numbers of float32


def _fresh(out: Tensor | None, like: Tensor, sizes: Sequence[int]) -> Tensor:
    """Uninitialized, of the dtype and order of `out`, or else row-major and like another."""
    if out is None:
        return ops.aten.new_empty(like, sizes)
    if out.shape == tuple(sizes):
        return ops.aten.empty_like(out)
    return ops.aten.new_empty(out, sizes)


def delivered(name: str, out: Tensor | None, drawn: Tensor) -> Tensor:
    """`drawn`, or `out` with its elements."""
    if out is None:
        return drawn
    write_out(name, out, drawn, ops.aten.copy_.default)
    return out


# Of what weights are refused.
UNFIT_WEIGHTS = "multinomial: expected weights that are finite and at least 0"
NO_WEIGHTS = "multinomial: expected each row of weights to have a positive sum"


@op("bernoulli")
def bernoulli(
    self: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """1 with the probability that stands in its place, else 0."""
    drawn = ops.aten.bernoulli_.Tensor(_fresh(out, self, self.shape), self, generator=generator)
    return delivered("bernoulli", out, drawn)


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
    drawn = ops.aten.bernoulli_.float(_fresh(out, self, self.shape), p, generator=generator)
    return delivered("bernoulli", out, drawn)


@op("bernoulli.Tensor")
def bernoulli_tensor(
    self: Tensor, p: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """As `bernoulli.p`, each element with a probability of its own."""
    drawn = ops.aten.bernoulli_.Tensor(_fresh(out, self, self.shape), p, generator=generator)
    return delivered("bernoulli", out, drawn)


@op("normal.Tensor_float")
def normal_around(
    mean: Tensor,
    std: float = 1.0,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Normal numbers, each around a mean of its own."""
    drawn = ops.aten.normal_(_fresh(out, mean, mean.shape), 0.0, std, generator=generator)
    return delivered("normal", out, drawn.add_(mean))


@op("normal.float_Tensor")
def normal_with_deviations(
    mean: float, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Normal numbers, each with a deviation of its own."""
    _check_deviations(std)
    drawn = ops.aten.normal_(_fresh(out, std, std.shape), generator=generator)
    return delivered("normal", out, drawn.mul_(std).add_(mean))


@op("normal.Tensor_Tensor")
def normal_of_tensors(
    mean: Tensor, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Normal numbers, each with mean and deviation of its own; these are broadcast."""
    _check_deviations(std)
    sizes = broadcast_shapes(mean.shape, std.shape)
    drawn = ops.aten.normal_(_fresh(out, mean, sizes), generator=generator)
    return delivered("normal", out, drawn.mul_(std).add_(mean))


def _check_deviations(std: Tensor) -> None:
    if std.is_complex():
        raise RuntimeError(f"normal: expected std to be real, got {std.dtype}")
    ops.aten._assert_async.msg(std.ge(0).all(), "normal: expected all of std to be at least 0")


def check_poisson(self: Tensor) -> None:
    """Raises NotImplementedError for bool, integers and complex numbers."""
    if not self.is_floating_point():
        raise refusal("poisson_cpu", self.dtype)


@op
def poisson(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts of events that come at the given rates.

    Raises RuntimeError for negative rates, NotImplementedError for bool, integers and complex.
    """
    check_poisson(self)
    if not has_data(self):
        return _fresh(None, self, self.shape)
    return ops.aten.poisson(self.to(_CPU), generator).to(self.device)


def checked_binomial(count: Tensor, prob: Tensor) -> tuple[int, ...]:
    """The common shape. Raises ValueError, RuntimeError or NotImplementedError for dtypes."""
    for name, given in (("count", count), ("prob", prob)):
        if not given.is_floating_point():
            raise ValueError(f"binomial: expected {name} of a floating dtype, got {given.dtype}")
    if count.dtype is not prob.dtype:
        raise RuntimeError(f"binomial: expected one dtype, got {count.dtype} and {prob.dtype}")
    if count.itemsize < 4:
        raise refusal("binomial_cpu", count.dtype)
    return broadcast_shapes(count.shape, prob.shape)


@op
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`; the two are broadcast.

    Raises ValueError where a count is no floating number, RuntimeError where the dtypes differ.
    """
    sizes = checked_binomial(count, prob)
    if not has_data(count):
        return count.new_empty(sizes)
    return ops.aten.binomial(count.to(_CPU), prob.to(_CPU), generator).to(count.device)


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
    check_sampling(self, num_samples, replacement, out)
    drawn = sampled(self, num_samples, replacement, generator, _check_weights, _shares)
    return delivered("multinomial", out, drawn)


def sampled(
    self: Tensor,
    num_samples: int,
    replacement: bool,
    generator: Generator | None,
    check_weights: Callable[[Tensor], None],
    shares: Callable[[Tensor], Tensor],
) -> Tensor:
    """What `multinomial` gives; `check_weights` raises for weights that are refused, `shares` are
    the running sums of each row of a matrix, divided by the last, float64."""
    sizes = (*self.shape[:-1], num_samples)
    if 0 in sizes:
        return self.new_empty(sizes, dtype=_INT64)
    check_weights(self)
    if replacement and num_samples > 1:
        rows = self.reshape((-1, self.shape[-1]))
        return _places(shares(rows), num_samples, generator).reshape(sizes)
    keys = self.div(ops.aten.exponential_(ops.aten.empty_like(self), generator=generator))
    if num_samples == 1:
        return keys.argmax(-1, keepdim=True)
    return _indices_of_largest(keys, num_samples)


def _check_weights(self: Tensor) -> None:
    ops.aten._assert_async.msg(self.ge(0).logical_and(self.lt(float("inf"))).all(), UNFIT_WEIGHTS)
    ops.aten._assert_async.msg(self.sum((-1,)).gt(0).all(), NO_WEIGHTS)


def check_sampling(self: Tensor, num_samples: int, replacement: bool, out: Tensor | None) -> None:
    """Raises RuntimeError for what `multinomial` refuses whatever the weights are."""
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
    if out is not None and out.dtype is not _INT64:
        raise RuntimeError(f"multinomial: expected out of dtype int64, got {out.dtype}")
    if self.shape[-1] > _MAXIMUM_WEIGHTS:
        raise RuntimeError(
            f"multinomial: expected at most {_MAXIMUM_WEIGHTS} weights in a row, got "
            f"{self.shape[-1]}"
        )


def _indices_of_largest(keys: Tensor, count: int) -> Tensor:
    order: Tensor = ops.aten.argsort.stable(keys, stable=True, dim=-1, descending=True)
    return order.narrow(-1, 0, count).contiguous()


def _places(shares: Tensor, count: int, generator: Generator | None) -> Tensor:
    """Where uniform numbers fall among the shares of a row: (rows, count)."""
    drawn = ops.prims.uniform(
        (shares.shape[0], count),
        low=0.0,
        high=1.0,
        dtype=_FLOAT64,
        device=shares.device,
        stride=(count, 1),
        generator=generator,
    )
    return ops.aten.searchsorted(shares, drawn)


def _shares(rows: Tensor) -> Tensor:
    """Running sums, divided by the last one, which becomes 1 whatever it is."""
    sums = (rows.float() if rows.itemsize < 4 else rows).cumsum(-1)
    divided = (sums / sums.narrow(-1, -1, 1)).to(_FLOAT64)
    # What the weights were seen to be they may not be any more.
    within = divided.narrow(-1, 0, divided.shape[-1] - 1)
    return ops.aten.cat([within, within.new_ones((divided.shape[0], 1))], -1)
