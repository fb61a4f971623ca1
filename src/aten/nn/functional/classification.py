"""Losses for targets that name a class, or give each class a probability."""

from __future__ import annotations

from aten._core.dispatch.functions import forwards
from aten._core.tensor.tensor import Tensor
from aten.nn.functional.reduction import reduction_number
from aten.ops.definition import operation_type
from aten.registry import ops

__all__ = [
    "cross_entropy",
    "linear_cross_entropy",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "nll_loss",
]

_IGNORE_INDEX = -100


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = _IGNORE_INDEX,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the elements of log probabilities (N, C, *) at the target classes (N, *), weighted.

    Example:

        >>> aten.nn.functional.nll_loss(aten.tensor([[-0.5, -1.0]]), aten.tensor([0]))
        tensor(0.5000)
    """
    number = reduction_number(reduction, size_average, reduce)
    return ops.aten.nll_loss_nd(input, target, weight, number, ignore_index)


@forwards("cross_entropy_loss(input, target, weight, 1, ignore_index, label_smoothing)")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = _IGNORE_INDEX,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """How little of softmax(input) (N, C, *) falls to the targets: classes (N, *) or probabilities
    (N, C, *).

    Example:

        >>> aten.nn.functional.cross_entropy(aten.tensor([[2.0, 0.0, 0.0]]), aten.tensor([0]))
        tensor(0.2395)
    """
    number = reduction_number(reduction, size_average, reduce)
    return ops.aten.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> Tensor:
    """`cross_entropy` of a linear layer's results.

    input (N, I) or (I); linear_weight (C, I) or, for an input of several rows, (C, *, I); target as
    for scores (N, C, *). `options` are hints how to save memory; with them half types are widened
    before the scores are made, as torch's pieces are, and the result alone is rounded.
    Raises RuntimeError for sizes that do not go together.

    Example:

        >>> aten.nn.functional.linear_cross_entropy(
        ...     aten.tensor([[1.0, 0.0]]), aten.eye(2), aten.tensor([0])
        ... )
        tensor(0.3133)
    """
    _check_layer(input, linear_weight, linear_bias)
    if target.is_floating_point() and ignore_index is not None:
        raise RuntimeError("linear_cross_entropy: probabilities have no class to be ignored")
    outer = linear_weight.shape[:-1]
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    table = linear_weight.reshape(-1, input.shape[-1])
    element = input.dtype if options is None else operation_type(input.dtype)
    bias, weight = (one if one is None else one.to(element) for one in (bias, weight))
    rows = ops.aten.linear(input.to(element), table.to(element), bias)
    loss = cross_entropy(
        rows.view((*input.shape[:-1], *outer)),
        target.to(element) if target.is_floating_point() else target,
        weight,
        ignore_index=_IGNORE_INDEX if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
    return loss.to(input.dtype)


def _check_layer(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    name, sizes = "linear_cross_entropy", f"{tuple(input.shape)} and {tuple(weight.shape)}"
    if input.dim() not in (1, 2):
        raise RuntimeError(f"{name}: input must be (N, I) or (I), but is {tuple(input.shape)}")
    if weight.dim() < 2 or (weight.dim() > 2 and input.dim() == 1):
        raise RuntimeError(f"{name}: input and linear_weight do not go together: {sizes}")
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(f"{name}: input and linear_weight differ in their last size: {sizes}")
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(
            f"{name}: linear_bias must be {tuple(weight.shape[:-1])}, not {tuple(bias.shape)}"
        )


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Raises ValueError for `p` other than 1 and 2 and for a weight that is not 1-d.

    Example:

        >>> aten.nn.functional.multi_margin_loss(aten.tensor([[0.1, 0.9]]), aten.tensor([1]))
        tensor(0.1000)
    """
    number = reduction_number(reduction, size_average, reduce)
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss: weight must be 1-d, but it is {weight.dim()}-d")
    return ops.aten.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What each element of no target lacks to be 1 below each target's; the first -1 ends the
    targets.

    Example:

        >>> aten.nn.functional.multilabel_margin_loss(
        ...     aten.tensor([[0.1, 0.9]]), aten.tensor([[1, -1]])
        ... )
        tensor(0.1000)
    """
    number = reduction_number(reduction, size_average, reduce)
    return ops.aten.multilabel_margin_loss(input, target, number)
