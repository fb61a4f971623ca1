"""Dropout: elements, or whole channels, left out at random; and the randomized leaky ReLU."""

from __future__ import annotations

import math

from aten._core.base.dtypes import DTYPES
from aten._core.random.generator import Generator
from aten._core.tensor.making import has_data
from aten._core.tensor.memory import before_write, check_writable, write_outs
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op, operation_type
from aten.ops.requirements import refusal
from aten.prims import Number
from aten.registry import ops

_BOOL, _FLOAT64 = DTYPES["bool"], DTYPES["float64"]
# The negative of what SELU tends to for small arguments, which alpha dropout puts for zero.
_ALPHA = 1.7580993408473766


def _keeps_everything(input: Tensor, p: float, train: bool) -> bool:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout: expected a probability between 0 and 1, got {p}")
    return p == 0 or not train or input.numel() == 0


def _noise(input: Tensor, p: float, whole_channels: bool) -> Tensor:
    """Ones and, with probability p, zeros: for each element, or for each of the first two dims."""
    if not whole_channels:
        return ops.aten.bernoulli_.float(ops.aten.empty_like(input), 1 - p)
    if input.dim() < 2:
        raise RuntimeError(
            f"feature_dropout: expected at least 2 dimensions, got {input.dim()} of them"
        )
    sizes = (*input.shape[:2], *(1 for _ in input.shape[2:]))
    return ops.aten.bernoulli_.float(ops.aten.new_empty(input, sizes), 1 - p)


def _plain(name: str, input: Tensor, p: float, train: bool, whole_channels: bool) -> Tensor:
    """`name`: the product that puts the result together, "mul" or "mul_"."""
    if _keeps_everything(input, p, train):
        return input
    multiply = getattr(input, name)
    if p == 1:
        return multiply(ops.aten.new_zeros(input, ()))  # type: ignore[no-any-return]
    return multiply(_noise(input, p, whole_channels).div_(1 - p))  # type: ignore[no-any-return]


def _alpha(name: str, input: Tensor, p: float, train: bool, whole_channels: bool) -> Tensor:
    """Klambauer et al., Self-Normalizing Neural Networks (2017): mean and variance are kept."""
    if _keeps_everything(input, p, train):
        return input
    multiply = getattr(input, name)
    if p == 1:
        return multiply(ops.aten.new_zeros(input, ()))  # type: ignore[no-any-return]
    noise = _noise(input, p, whole_channels)
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = noise.add(-1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    return multiply(noise.mul_(scale)).add_(shift)  # type: ignore[no-any-return]


@op
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Each element is left out with probability p, the others divided by 1 - p.

    `input` itself outside of training. Raises RuntimeError for a p outside of [0, 1], and for
    dtypes that hold no quotients.
    """
    return _plain("mul", input, p, train, False)


@op
def dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    return _plain("mul_", self, p, train, False)


@op
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """As `dropout`, but of whole channels: input (N, C, *)."""
    return _plain("mul", input, p, train, True)


@op
def feature_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    return _plain("mul_", self, p, train, True)


@op
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """As `dropout`, for networks that normalize themselves."""
    return _alpha("mul", input, p, train, False)


@op
def alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    return _alpha("mul_", self, p, train, False)


@op
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """As `alpha_dropout`, but of whole channels: input (N, C, *)."""
    return _alpha("mul", input, p, train, True)


@op
def feature_alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    return _alpha("mul_", self, p, train, True)


@op
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """The result of `dropout` and which elements were kept, as bool. Trains unless told not to."""
    if input.numel() == 0:
        return input, ops.aten.empty_like(input)
    if train is False:
        return input.clone(), ops.aten.ones_like(input, dtype=_BOOL)
    kept = ops.aten.bernoulli_.float(ops.aten.empty_like(input, dtype=_BOOL), 1 - p)
    return input.mul(kept.to(input.dtype).mul_(0.0 if p == 1 else 1 / (1 - p))), kept


@op
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient where `mask` kept elements, times `scale`; 0 elsewhere."""
    return grad_output.mul(mask.to(grad_output.dtype).mul(scale))


@op
def rrelu(
    self: Tensor,
    lower: Number = 0.125,
    upper: Number = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """x, times a random slope from [lower, upper) where x <= 0; outside of training the middle one.

    Xu et al., Empirical Evaluation of Rectified Activations in Convolutional Network (2015).
    Raises RuntimeError for slopes out of order, NotImplementedError for what is not floating.
    """
    noise = ops.aten.empty_like(self)
    return ops.aten.rrelu_with_noise.default(self, noise, lower, upper, training, generator)


@op
def rrelu_(
    self: Tensor,
    lower: Number = 0.125,
    upper: Number = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    noise = ops.aten.empty_like(self)
    return ops.aten.rrelu_with_noise_.default(self, noise, lower, upper, training, generator)


@op
def rrelu_with_noise(
    self: Tensor,
    noise: Tensor,
    lower: Number = 0.125,
    upper: Number = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """As `rrelu`; in training, `noise` gets the slopes."""
    check_writable(noise)
    found: Tensor
    found, slopes = ops.aten.rrelu_with_noise_functional(
        self, noise, lower, upper, training, generator
    )
    if training:
        noise.copy_(slopes)
    return found


@op
def rrelu_with_noise_(
    self: Tensor,
    noise: Tensor,
    lower: Number = 0.125,
    upper: Number = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    check_writable(self)
    check_writable(noise)
    found, slopes = ops.aten.rrelu_with_noise_functional(
        before_write(self), noise, lower, upper, training, generator
    )
    if not training:
        return self.copy_(found)
    write_outs("rrelu", (self, noise), (found, slopes), ops.aten.copy_.default)
    return self


@op
def rrelu_with_noise_functional(
    self: Tensor,
    noise: Tensor,
    lower: Number = 0.125,
    upper: Number = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """As `rrelu`, and what `noise` becomes."""
    if lower > upper:  # type: ignore[operator]
        raise RuntimeError(f"rrelu: expected lower <= upper, got {lower} and {upper}")
    if not self.is_floating_point() or (training and self.dtype.name == "float16"):
        raise refusal("rrelu_with_noise_out_cpu", self.dtype)
    if not training:
        return ops.aten.leaky_relu(self, (lower + upper) / 2), noise.clone()
    slopes = _random_slopes(self, lower, upper, generator)
    return slopes.mul(self).to(self.dtype), slopes.to(self.dtype)


def _random_slopes(
    self: Tensor, lower: Number, upper: Number, generator: Generator | None
) -> Tensor:
    """1 for positive elements; numbers are drawn for the others only, row by row.

    They are of the type that arithmetic is done in, and so are the bounds.
    """
    element = operation_type(self.dtype)
    slopes: Tensor = ops.aten.new_ones(self, self.shape, dtype=element)
    if not has_data(self):
        return slopes
    places = self.le(0)
    low, high = (
        float(ops.aten.scalar_tensor(bound, dtype=element).item()) for bound in (lower, upper)
    )
    # How many numbers are drawn, and so what others come after them, depends on the elements.
    count = int(places.sum().item().real)
    drawn = ops.prims.uniform(
        (count,),
        low=0.0,
        high=1.0,
        dtype=_FLOAT64,
        device=self.device,
        stride=(1,),
        generator=generator,
    )
    return slopes.masked_scatter(places, (drawn * (high - low) + low).to(element))


@op
def rrelu_with_noise_backward(
    grad_output: Tensor,
    self: Tensor,
    noise: Tensor,
    lower: Number,
    upper: Number,
    training: bool,
    self_is_result: bool,
) -> Tensor:
    """The gradient times the slopes that were used."""
    if training and upper - lower > 1e-6:  # type: ignore[operator]
        return grad_output.mul(noise)
    slope = (lower + upper) / 2
    return ops.aten.where(self.gt(0), grad_output, grad_output.mul(slope))
