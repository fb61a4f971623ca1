"""Losses. `reduction` is "none", "mean" or "sum"; `size_average` and `reduce` are its old spelling.

What a loss computes is said at the operator of its name.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from aten._core.dispatch.functions import forwards
from aten._core.tensor.tensor import Tensor
from aten.nn.functional.reduction import reduction_number
from aten.registry import ops

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multilabel_soft_margin_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def _reduced(losses: Tensor, reduction: int) -> Tensor:
    if reduction == 0:
        return losses
    return losses.mean() if reduction == 1 else losses.sum()


def _warn_of_sizes(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        warnings.warn(
            f"{name}: input {tuple(input.shape)} and target {tuple(target.shape)} are broadcast; "
            "sizes that differ are often a mistake",
            stacklevel=3,
        )


def _weighted(losses: Tensor, weight: Tensor, reduction: int, *, by_weight: bool) -> Tensor:
    """Losses times `weight`; their mean is by the sum of the weights, or by the count."""
    if weight.shape != losses.shape:
        raise ValueError(
            f"weight must have the input's size {tuple(losses.shape)}, not {tuple(weight.shape)}"
        )
    weighted = losses * weight
    if reduction == 1 and by_weight:
        return weighted.sum() / weight.sum()
    return _reduced(weighted, reduction)


@forwards("mse_loss(input, target, 1)", alike=("input", "target"))
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squares of differences.

    Example:

        >>> aten.nn.functional.mse_loss(aten.tensor([1.0, 2.0]), aten.tensor([1.0, 4.0]))
        tensor(2.)
    """
    _warn_of_sizes("mse_loss", input, target)
    number = reduction_number(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(ops.aten.mse_loss(input, target, 0), weight, number, by_weight=True)
    result: Tensor = ops.aten.mse_loss(input, target, number)
    return result


@forwards("l1_loss(input, target, 1)", alike=("input", "target"))
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The magnitudes of differences.

    Example:

        >>> aten.nn.functional.l1_loss(aten.tensor([1.0, 2.0]), aten.tensor([1.0, 4.0]))
        tensor(1.)
    """
    _warn_of_sizes("l1_loss", input, target)
    number = reduction_number(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(ops.aten.l1_loss(input, target, 0), weight, number, by_weight=True)
    result: Tensor = ops.aten.l1_loss(input, target, number)
    return result


@forwards("smooth_l1_loss(input, target, 1, beta)", alike=("input", "target"))
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Half the square of differences over `beta` up to that, and beyond it a line.

    Example:

        >>> aten.nn.functional.smooth_l1_loss(aten.tensor([0.0, 0.0]), aten.tensor([1.0, 3.0]))
        tensor(1.5000)
    """
    _warn_of_sizes("smooth_l1_loss", input, target)
    number = reduction_number(reduction, size_average, reduce)
    result: Tensor = ops.aten.smooth_l1_loss(input, target, number, beta)
    return result


@forwards("huber_loss(input, target, 1, delta)", alike=("input", "target"))
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the square of differences up to `delta`, and beyond it a line.

    Example:

        >>> aten.nn.functional.huber_loss(aten.tensor([0.0, 0.0]), aten.tensor([1.0, 3.0]))
        tensor(1.5000)
    """
    _warn_of_sizes("huber_loss", input, target)
    number = reduction_number(reduction)
    if weight is not None:
        losses = ops.aten.huber_loss(input, target, 0, delta)
        return _weighted(losses, weight, number, by_weight=False)
    result: Tensor = ops.aten.huber_loss(input, target, number, delta)
    return result


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """`reduction` may also be "batchmean", the sum divided by the first size.

    Example:

        >>> aten.nn.functional.kl_div(
        ...     aten.tensor([-1.0, -0.5]), aten.tensor([0.4, 0.6]), reduction="sum"
        ... )
        tensor(0.0270)
    """
    legacy = size_average is not None or reduce is not None
    by_batch = reduction == "batchmean" and not legacy
    number = reduction_number("sum" if by_batch else reduction, size_average, reduce)
    losses: Tensor = ops.aten.kl_div(input, target, number, log_target=log_target)
    return losses / input.shape[0] if by_batch and input.dim() else losses


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of counts whose rate, or its logarithm, is `input`.

    Example:

        >>> aten.nn.functional.poisson_nll_loss(aten.tensor([0.0, 1.0]), aten.tensor([1.0, 2.0]))
        tensor(0.8591)
    """
    number = reduction_number(reduction, size_average, reduce)
    result: Tensor = ops.aten.poisson_nll_loss(input, target, log_input, full, eps, number)
    return result


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of `target` under normal distributions around `input`.

    `var` is one number, of the input's size, or without its last dimension; it counts as at least
    `eps`. `full` adds the constant log(2 pi) / 2. Nix and Weigend, Estimating the Mean and Variance
    of the Target Probability Distribution (1994). Raises ValueError for other sizes and for
    negative variances.

    Example:

        >>> aten.nn.functional.gaussian_nll_loss(
        ...     aten.tensor([1.0]), aten.tensor([3.0]), aten.tensor([2.0])
        ... )
        tensor(1.3466)
    """
    variance = _variance(input, var)
    number = reduction_number(reduction)
    variance = variance.clamp_min(eps)
    difference = input - target
    losses = 0.5 * (variance.log() + difference * difference / variance)
    return _reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, number)


def _variance(input: Tensor, var: Tensor | float) -> Tensor:
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: var must not be negative, but it is {var}")
        full: Tensor = ops.aten.full_like(input, var)
        return full
    if bool(var.lt(0).any()):
        raise ValueError("gaussian_nll_loss: var must not be negative")
    if var.shape == input.shape:
        return var
    if var.shape == input.shape[:-1]:
        return var.unsqueeze(-1)
    if var.shape != (*input.shape[:-1], 1):
        raise ValueError(
            f"gaussian_nll_loss: var is {tuple(var.shape)}, for an input of {tuple(input.shape)}"
        )
    return var


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """x where the target is 1, what it lacks to `margin` where it is -1.

    Example:

        >>> aten.nn.functional.hinge_embedding_loss(
        ...     aten.tensor([0.5, 0.5]), aten.tensor([1.0, -1.0])
        ... )
        tensor(0.5000)
    """
    number = reduction_number(reduction, size_average, reduce)
    result: Tensor = ops.aten.hinge_embedding_loss(input, target, margin, number)
    return result


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target × input)), for targets 1 and -1.

    Example:

        >>> aten.nn.functional.soft_margin_loss(aten.tensor([0.0, 2.0]), aten.tensor([1.0, 1.0]))
        tensor(0.4100)
    """
    number = reduction_number(reduction, size_average, reduce)
    result: Tensor = ops.aten.soft_margin_loss(input, target, number)
    return result


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What the first lacks to be `margin` above the second; below it, where the target is -1.

    Example:

        >>> aten.nn.functional.margin_ranking_loss(
        ...     aten.tensor([1.0]), aten.tensor([3.0]), aten.tensor([1.0])
        ... )
        tensor(2.)
    """
    number = reduction_number(reduction, size_average, reduce)
    result: Tensor = ops.aten.margin_ranking_loss(input1, input2, target, margin, number)
    return result


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """One minus the cosine where the target is 1; its excess over `margin` where it is -1.

    Example:

        >>> aten.nn.functional.cosine_embedding_loss(
        ...     aten.tensor([[1.0, 0.0]]), aten.tensor([[0.0, 1.0]]), aten.tensor([1])
        ... )
        tensor(1.)
    """
    number = reduction_number(reduction, size_average, reduce)
    result: Tensor = ops.aten.cosine_embedding_loss(input1, input2, target, margin, number)
    return result


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the distance to `negative` lacks to exceed that to `positive` by `margin`.

    Example:

        >>> aten.nn.functional.triplet_margin_loss(
        ...     aten.tensor([[0.0]]), aten.tensor([[1.0]]), aten.tensor([[1.5]])
        ... )
        tensor(0.5000)
    """
    number = reduction_number(reduction, size_average, reduce)
    _check_margin("triplet_margin_loss", margin)
    result: Tensor = ops.aten.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, number
    )
    return result


def _check_margin(name: str, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"{name}: margin must be above 0, but got {margin}")


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance; `pairwise_distance` where none is given.

    Example:

        >>> aten.nn.functional.triplet_margin_with_distance_loss(
        ...     aten.tensor([[0.0]]), aten.tensor([[1.0]]), aten.tensor([[1.5]])
        ... )
        tensor(0.5000)
    """
    number = reduction_number(reduction)
    _check_margin("triplet_margin_with_distance_loss", margin)
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_with_distance_loss: anchor, positive and negative must have as many "
            f"dimensions, but they are {anchor.dim()}-d, {positive.dim()}-d and {negative.dim()}-d"
        )
    distance = distance_function or ops.aten.pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.aten.minimum(far, distance(positive, negative))
    return _reduced((near - far + margin).clamp_min(0), number)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Raises ValueError for a target of another size; a weight is broadcast to it.

    Example:

        >>> aten.nn.functional.binary_cross_entropy(
        ...     aten.tensor([0.5, 0.9]), aten.tensor([0.0, 1.0])
        ... )
        tensor(0.3993)
    """
    number = reduction_number(reduction, size_average, reduce)
    _require_same_size("binary_cross_entropy", input, target)
    if weight is not None:
        weight = weight.expand(target.shape)
    result: Tensor = ops.aten.binary_cross_entropy(input, target, weight, number)
    return result


def _require_same_size(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ValueError(
            f"{name}: input and target must have one size, but they are {tuple(input.shape)} and "
            f"{tuple(target.shape)}"
        )


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Raises ValueError for a target of another size.

    Example:

        >>> aten.nn.functional.binary_cross_entropy_with_logits(
        ...     aten.tensor([0.0, 2.0]), aten.tensor([0.0, 1.0])
        ... )
        tensor(0.4100)
    """
    number = reduction_number(reduction, size_average, reduce)
    _require_same_size("binary_cross_entropy_with_logits", input, target)
    result: Tensor = ops.aten.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, number
    )
    return result


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes (the last dimension) of their binary cross entropies.

    Example:

        >>> aten.nn.functional.multilabel_soft_margin_loss(
        ...     aten.tensor([[0.0, 2.0]]), aten.tensor([[0.0, 1.0]])
        ... )
        tensor(0.4100)
    """
    number = reduction_number(reduction, size_average, reduce)
    losses: Tensor = ops.aten.binary_cross_entropy_with_logits(input, target, weight, None, 0)
    return _reduced(losses.mean([-1]), number)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log likelihoods of targets under log_probs (T, N, C), summed over all alignments.

    Example:

        >>> aten.nn.functional.ctc_loss(
        ...     aten.zeros(2, 1, 3).log_softmax(-1), aten.tensor([[1]]), [2], [1]
        ... )
        tensor(1.0986)
    """
    number = reduction_number(reduction)
    loss: Any = ops.aten.ctc_loss  # two operators: lengths are tensors in one
    result: Tensor = loss(
        log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity
    )
    return result
