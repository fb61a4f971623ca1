"""Distances and angles between vectors along a dimension, and the losses made of them."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.folding import fold
from aten.ops.losses.loss import MEAN, NONE
from aten.prims import Value
from aten.prims import elementwise as p
from aten.prims.prim import broadcast
from aten.registry import ops

_LEAST_SQUARE = 1e-12


def reduced_tensor(losses: Tensor, reduction: int) -> Tensor:
    """The losses themselves, their mean, or their sum."""
    if reduction == NONE:
        return losses
    return losses.mean() if reduction == MEAN else losses.sum()


@op
def cosine_similarity(x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """The cosine of the angle between vectors along `dim`; lengths count as at least `eps`."""
    if not x1.dtype.is_floating_point:
        raise RuntimeError(f"cosine_similarity: expected floating types, but got {x1.dtype}")
    x1, x2 = broadcast((x1, x2))
    product, first, second = (fold("sum", value, dim) for value in (x1 * x2, x1 * x1, x2 * x2))
    lengths = p.maximum(p.sqrt(first), eps) * p.maximum(p.sqrt(second), eps)
    return product / lengths


@op
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm along the last dimension of `x1 - x2 + eps`."""
    difference = x1 - x2 + eps
    return ops.aten.norm.ScalarOpt_dim(difference, p, [-1], keepdim)


@op
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Tensor:
    """One minus the cosine where the target is 1; its excess over `margin` where it is -1.

    Inputs (N, D) and target (N), or (D) and a 0-d one. Raises RuntimeError for other ranks.
    """
    rank = target.dim()
    if rank > 1 or input1.dim() != rank + 1 or input2.dim() != rank + 1:
        raise RuntimeError(
            "cosine_embedding_loss: expected inputs (N, D) with target (N), or (D) with a 0-d "
            f"target, but got {list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}"
        )
    product = (input1 * input2).sum([rank])
    first = (input1 * input1).sum([rank]) + _LEAST_SQUARE
    second = (input2 * input2).sum([rank]) + _LEAST_SQUARE
    cosine = product / (first * second).sqrt()
    apart = (cosine - margin).clamp_min(0).where(target.eq(-1), 0)
    return reduced_tensor(apart + (1 - cosine).where(target.eq(1), 0), reduction)


@op
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = MEAN,
) -> Tensor:
    """How much the distance to `negative` lacks to exceed that to `positive` by `margin`.

    Balntas et al., Learning Local Feature Descriptors with Triplets (2016), and there `swap`.
    Raises RuntimeError for tensors of different ranks.
    """
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_loss: anchor, positive and negative must have as many dimensions, but "
            f"they are {anchor.dim()}-d, {positive.dim()}-d and {negative.dim()}-d"
        )
    distance = ops.aten.pairwise_distance.default
    near = distance(anchor, positive, p, eps)
    far = distance(anchor, negative, p, eps)
    if swap:
        far = ops.aten.minimum(far, distance(positive, negative, p, eps))
    return reduced_tensor((near - far + margin).clamp_min(0), reduction)
