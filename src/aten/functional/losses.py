"""Losses that are not reduced unless that is asked for.

The schemas say that their operators take the mean, and so do the functions of `nn.functional`. The
functions of the same names at the top of torch do not read that default, and give all losses; what
was written for them counts on it. `reduction` is a number: 0 for none, 1 for the mean, 2 for the
sum.
"""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "ctc_loss",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "triplet_margin_loss",
]


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """-(target log σ(input) + (1 - target) log(1 - σ(input))), of each element.

    Example:

        >>> aten.binary_cross_entropy_with_logits(aten.tensor([0.0, 2.0]), aten.tensor([1.0, 1.0]))
        tensor([0.6931, 0.1269])
    """
    loss = ops.aten.binary_cross_entropy_with_logits
    return loss(input, target, weight, pos_weight, reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """1 - cos of rows (N, D) that belong together (target 1), max(0, cos - margin) of others (-1).

    Example:

        >>> one = aten.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> aten.cosine_embedding_loss(one, one, aten.tensor([1.0, -1.0]))
        tensor([0., 1.])
    """
    loss = ops.aten.cosine_embedding_loss
    return loss(input1, input2, target, margin, reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of each target: log_probs (T, N, C), targets (N, S).

    Graves et al., Connectionist temporal classification (2006).

    Example:

        >>> scores = aten.log_softmax(aten.zeros(4, 1, 3), 2)
        >>> aten.ctc_loss(scores, aten.tensor([[1, 2]]), [4], [2])
        tensor([1.6864])
    """
    loss: Any = ops.aten.ctc_loss  # two operators: lengths are tensors in one
    result: Tensor = loss(
        log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
    )
    return result


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """The distance itself where the target is 1, max(0, margin - distance) where it is -1.

    Example:

        >>> aten.hinge_embedding_loss(aten.tensor([0.25, 0.25]), aten.tensor([1.0, -1.0]))
        tensor([0.2500, 0.7500])
    """
    return ops.aten.hinge_embedding_loss(input, target, margin, reduction)


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """target (log target - input), of each element; `log_target` says that it is logarithms, too.

    Example:

        >>> aten.kl_div(aten.tensor([0.5]).log(), aten.tensor([1.0]))
        tensor([0.6931])
    """
    return ops.aten.kl_div(input, target, reduction, log_target=log_target)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """max(0, -target (input1 - input2) + margin): target 1 wants the first larger, -1 the second.

    Example:

        >>> one, other = aten.tensor([1.0, 1.0]), aten.tensor([3.0, 3.0])
        >>> aten.margin_ranking_loss(one, other, aten.tensor([1.0, -1.0]))
        tensor([2., 0.])
    """
    loss = ops.aten.margin_ranking_loss
    return loss(input1, input2, target, margin, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin) of rows, in the norm `p`.

    Example:

        >>> rows = aten.tensor([[0.0, 0.0]]), aten.tensor([[0.0, 3.0]]), aten.tensor([[4.0, 0.0]])
        >>> aten.triplet_margin_loss(*rows, margin=2.0)
        tensor([1.])
    """
    loss = ops.aten.triplet_margin_loss
    return loss(anchor, positive, negative, margin, p, eps, swap, reduction)
