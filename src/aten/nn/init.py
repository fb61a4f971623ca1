"""Initial values of weights, drawn into tensors that are there, which are given back.

"Fan in" is what one output sums: a weight (out, in, *kernel) has in · kernel; "fan out" is
out · kernel. Glorot & Bengio, Understanding the difficulty of training deep feedforward neural
networks (2010); He et al., Delving deep into rectifiers (2015); Saxe et al., Exact solutions to
the nonlinear dynamics of learning in deep linear neural networks (2013).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from aten._core.random.generator import Generator
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.registry import ops

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = (
    *("linear", "conv1d", "conv2d", "conv3d", "sigmoid"),
    *("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much weights before a nonlinearity are larger. Raises ValueError for unknown ones."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity == "selu":
        return 3 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@no_grad()
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Evenly from [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal, of what lies in [a, b]; what does not is drawn again.

    Where that would be most of it, from an even distribution that is thinned to the normal one.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_: the values may be off",
            stacklevel=2,
        )
    if not has_data(tensor):
        return tensor
    low, high = ((1 + math.erf((end - mean) / std / math.sqrt(2))) / 2 for end in (a, b))
    draw = _within_bounds if high - low > 0.3 else _thinned
    return draw(tensor, mean, std, (a, b), generator)


def _within_bounds(
    tensor: Tensor,
    mean: float,
    std: float,
    bounds: tuple[float, float],
    generator: Generator | None,
) -> Tensor:
    # As the tensor's type rounds them.
    low, high = (float(tensor.new_full((), bound, device="cpu")) for bound in bounds)
    tensor.normal_(mean, std, generator=generator)
    outside = (tensor < low) | (tensor > high)
    while bool(outside.any()):
        again = ops.aten.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(ops.aten.where(outside, again, tensor))
        outside = (tensor < low) | (tensor > high)
    return tensor


def _thinned(
    tensor: Tensor,
    mean: float,
    std: float,
    bounds: tuple[float, float],
    generator: Generator | None,
) -> Tensor:
    peak = -0.5 * ((max(bounds[0], min(mean, bounds[1])) - mean) / std) ** 2

    def dropped(drawn: Tensor) -> Tensor:
        level = ops.aten.empty_like(drawn).uniform_(generator=generator).log_()
        return level > drawn.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)

    tensor.uniform_(*bounds, generator=generator)
    left = dropped(tensor)
    while bool(left.any()):
        again = ops.aten.empty_like(tensor).uniform_(*bounds, generator=generator)
        tensor.copy_(ops.aten.where(left, again, tensor))
        left = left & dropped(again)
    return tensor


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """1 on the diagonal of a matrix, 0 elsewhere. Raises ValueError for other ranks."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(ops.aten.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A kernel of convolution that leaves channels as they are.

    Raises ValueError for ranks other than 3 to 5, and for outputs that groups do not divide.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    outputs = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(outputs, tensor.shape[1])):
            tensor[(group * outputs + channel, channel, *middle)] = 1
    return tensor


def _fans(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


@no_grad()
def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Evenly, with the variance gain² · 2 / (fan in + fan out). Raises ValueError for vectors."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(sum(_fans(tensor))))
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal, with the variance gain² · 2 / (fan in + fan out). Raises ValueError for vectors."""
    deviation = gain * math.sqrt(2.0 / float(sum(_fans(tensor))))
    return tensor.normal_(0.0, deviation, generator=generator)


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@no_grad()
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Evenly, with the variance gain² / fan. Raises ValueError for vectors and unknown modes."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal, with the variance gain² / fan. Raises ValueError for vectors and unknown modes."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return tensor.normal_(0, _kaiming(tensor, a, mode, nonlinearity), generator=generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Orthogonal rows, or columns where they are fewer. Raises ValueError for vectors."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    if rows < columns:
        drawn = drawn.t()
    made, upper = ops.aten.linalg_qr(drawn)
    # So that the decomposition is the only one: Mezzadri, How to generate random matrices (2007).
    made = made * upper.diagonal(0).sign()
    if rows < columns:
        made = made.t()
    tensor.view_as(made).copy_(made)
    return tensor.mul_(gain)


@no_grad()
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Normal, but for a part of each column that is 0. Raises ValueError unless it is a matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[ops.aten.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(current: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function under its name of old, without the underscore of what writes to its operand."""
    name = current.__name__

    @wraps(current)
    def called(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"nn.init.{name[:-1]} is deprecated: nn.init.{name} does the same",
            FutureWarning,
            stacklevel=2,
        )
        return current(*args, **kwargs)

    called.__name__ = called.__qualname__ = name[:-1]
    return called


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
