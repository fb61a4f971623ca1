"""Normalization by the statistics of a batch, of groups, of rows, and of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from aten._core.dispatch.functions import forwards
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]


def _require_several(name: str, count: int, shape: Sequence[int]) -> None:
    """One value has no deviation. Raises ValueError."""
    if count == 1:
        raise ValueError(f"{name}: statistics need more than one value, but the input is {shape}")


@forwards(
    "batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)",
    several="input",
)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Raises ValueError in training on one value per channel.

    Example:

        >>> aten.nn.functional.batch_norm(aten.tensor([[1.0], [3.0]]), None, None, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    if training:
        _require_several("batch_norm", prod(input.shape[:1] + input.shape[2:]), input.shape)
    return ops.aten.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


@forwards(
    "instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,"
    " True)",
    several="input",
)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Raises ValueError where the input's statistics are those of one value.

    Example:

        >>> aten.nn.functional.instance_norm(aten.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats:
        _require_several("instance_norm", prod(input.shape[2:]), input.shape)
    return ops.aten.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


@forwards("group_norm(input, num_groups, weight, bias, eps)", several="input")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Raises ValueError for groups of one value.

    Example:

        >>> aten.nn.functional.group_norm(aten.tensor([[[1.0, 3.0], [2.0, 6.0]]]), 2)
        tensor([[[-1.0000,  1.0000],
                 [-1.0000,  1.0000]]])
    """
    if input.dim() >= 2 and num_groups > 0:
        count = input.shape[0] * input.shape[1] // num_groups * prod(input.shape[2:])
        _require_several("group_norm", count, input.shape)
    return ops.aten.group_norm(input, num_groups, weight, bias, eps)


@forwards("layer_norm(input, normalized_shape, weight, bias, eps)")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dimensions, `normalized_shape`, with mean 0 and variance 1, then × weight + bias.

    Example:

        >>> aten.nn.functional.layer_norm(aten.tensor([[1.0, 2.0, 3.0]]), (3,))
        tensor([[-1.2247,  0.0000,  1.2247]])
    """
    return ops.aten.layer_norm(input, normalized_shape, weight, bias, eps)


@forwards("rms_norm(input, normalized_shape, weight, eps)")
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """`input` divided by the root of its mean square over `normalized_shape`, times `weight`.

    Example:

        >>> aten.nn.functional.rms_norm(aten.tensor([[3.0, 4.0]]), (2,))
        tensor([[0.8485, 1.1314]])
    """
    return ops.aten.rms_norm(input, normalized_shape, weight, eps)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """`input` (N, C, *) over (k + alpha * mean)^beta, the mean of `size` neighbours' squares.

    Neighbours are channels; there are zeros around them. Krizhevsky et al., ImageNet Classification
    with Deep Convolutional Neural Networks (2012), section 3.3. Raises ValueError below three
    dimensions.

    Example:

        >>> aten.nn.functional.local_response_norm(aten.ones(1, 2, 2), 2)
        tensor([[[1.0000, 1.0000],
                 [0.9999, 0.9999]]])
    """
    if input.dim() < 3:
        raise ValueError(f"local_response_norm: expected (N, C, *), but got {list(input.shape)}")
    if input.numel() == 0:
        return input
    spatial = (0, 0) * (input.dim() - 2)
    squares = ops.aten.pad(input * input, (*spatial, size // 2, (size - 1) // 2))
    total = squares.unfold(1, size, 1).sum([-1])
    mode = None if input.is_floating_point() else "trunc"
    mean = ops.aten.div.Tensor_mode(total, size, rounding_mode=mode)
    return input / (mean * alpha + k).pow(beta)


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int | Sequence[int] = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """`input` over its p-norm along `dim`, which counts as at least `eps`.

    Example:

        >>> aten.nn.functional.normalize(aten.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    dims = [dim] if isinstance(dim, int) else list(dim)
    length: Tensor = ops.aten.norm.ScalarOpt_dim(input, p, dims, True)
    length = length.clamp_min(eps).expand(input.shape)
    return ops.aten.div(input, length) if out is None else ops.aten.div(input, length, out=out)
