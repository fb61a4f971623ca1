"""Losses that compare elements: one loss per element, then their mean or sum, in one kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping

from aten._core.base.dtypes import dtype, get_default_dtype, promote_types
from aten.ops.definition import converted, op
from aten.ops.folding import extent, fold
from aten.ops.requirements import require_floating
from aten.prims import Value
from aten.prims import elementwise as p

NONE, MEAN, SUM = 0, 1, 2


def reduced(losses: Value, reduction: int) -> Value:
    """The losses themselves, their mean, or their sum."""
    if reduction == NONE:
        return losses
    if reduction == MEAN and losses.dtype.kind not in ("float", "complex"):
        raise RuntimeError(f"the mean of losses of type {losses.dtype} is not one of them")
    total = fold("sum", losses, None)
    return total / extent(losses, None) if reduction == MEAN else total


def _refuse_bool(name: str, value: Value) -> None:
    if value.dtype.kind == "bool":
        raise RuntimeError(f"{name}: bool has no differences")


@op
def mse_loss(self: Value, target: Value, reduction: int = MEAN) -> Value:
    require_floating("mse_cpu", self)
    difference = self - target
    return reduced(difference * difference, reduction)


@op
def l1_loss(self: Value, target: Value, reduction: int = MEAN) -> Value:
    _refuse_bool("l1_loss", self)
    return reduced(p.abs(self - target), reduction)


@op
def smooth_l1_loss(self: Value, target: Value, reduction: int = MEAN, beta: float = 1.0) -> Value:
    """Quadratic where the difference is below `beta`. Girshick, Fast R-CNN (2015), equation 3."""
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss: beta must not be negative, but got {beta}")
    if beta == 0:
        return l1_loss(self, target, reduction)
    require_floating("smooth_l1_cpu", self)
    distance = p.abs(self - target)
    near = 0.5 * distance * distance / beta
    return reduced(p.where(distance < beta, near, distance - 0.5 * beta), reduction)


@op
def huber_loss(self: Value, target: Value, reduction: int = MEAN, delta: float = 1.0) -> Value:
    """Huber, Robust Estimation of a Location Parameter (1964)."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss: delta must be above 0, but got {delta}")
    require_floating("huber_cpu", self)
    distance = p.abs(self - target)
    near = 0.5 * distance * distance
    return reduced(p.where(distance <= delta, near, delta * (distance - 0.5 * delta)), reduction)


@op
def soft_margin_loss(self: Value, target: Value, reduction: int = MEAN) -> Value:
    """log(1 + exp(-target * x))."""
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"soft_margin_loss: the result is no {self.dtype}")
    return reduced(p.log1p(p.exp(-target * self)), reduction)


@op
def binary_cross_entropy_with_logits(
    self: Value,
    target: Value,
    weight: Value | None = None,
    pos_weight: Value | None = None,
    reduction: int = MEAN,
) -> Value:
    """Cross entropy between `target` and sigmoid(x); `pos_weight` weighs the first of its terms."""
    require_floating("log_sigmoid_cpu", self)
    log_sigmoid = p.minimum(self, 0) - p.log1p(p.exp(-p.abs(self)))
    if pos_weight is not None:
        log_sigmoid = log_sigmoid * ((pos_weight - 1) * target + 1)
    losses = (1 - target) * self - log_sigmoid
    return reduced(losses if weight is None else losses * weight, reduction)


@op
def kl_div(self: Value, target: Value, reduction: int = MEAN, *, log_target: bool = False) -> Value:
    """target log(target) - target x: how far exp(x) is from `target`, or from its exponential.

    Kullback and Leibler, On Information and Sufficiency (1951).
    """
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"kl_div: expected floating types, but got {self.dtype}")
    if log_target:
        return reduced(p.exp(target) * (target - self), reduction)
    own = p.where(target == 0, 0, target * p.log(target))
    return reduced(own - target * self, reduction)


@op
def poisson_nll_loss(
    input: Value, target: Value, log_input: bool, full: bool, eps: float, reduction: int
) -> Value:
    """Negative log likelihood of counts; with `full`, and Stirling's term for log(target!)."""
    losses = p.exp(input) - target * input if log_input else input - target * p.log(input + eps)
    if full:
        stirling = target * p.log(target) - target + 0.5 * p.log(2 * math.pi * target)
        losses = losses + p.where(target <= 1, 0, stirling)
    return reduced(losses, reduction)


@op
def hinge_embedding_loss(
    self: Value, target: Value, margin: float = 1.0, reduction: int = MEAN
) -> Value:
    """x where the target is 1, what it lacks to `margin` where it is -1."""
    _refuse_bool("hinge_embedding_loss", self)
    apart = p.where(target != 1, p.maximum(margin - self, 0), 0)
    return reduced(apart + p.where(target != -1, self, 0), reduction)


@op
def margin_ranking_loss(
    input1: Value,
    input2: Value,
    target: Value,
    margin: float = 0.0,
    reduction: int = MEAN,
    *,
    types: Mapping[str, dtype],
) -> Value:
    """What the first lacks to be `margin` above the second; below it, where the target is -1."""
    if not len(input1.shape) == len(input2.shape) == len(target.shape):
        raise RuntimeError(
            f"margin_ranking_loss: both inputs and target must have as many dimensions, but they "
            f"are {list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}"
        )
    if any(one.kind == "bool" for one in types.values()):
        raise RuntimeError("margin_ranking_loss: bool has no differences")
    common, between = input1.dtype, promote_types(types["input1"], types["input2"])
    # Integers wrap in their own type, beside floating targets or inputs as well.
    if between.kind in ("float", "complex"):
        difference = input1 - input2
    else:
        difference = converted(converted(input1, between) - converted(input2, between), common)
    if types["target"].kind in ("float", "complex"):
        negative = -target
    else:
        negative = converted(-converted(target, types["target"]), common)
    lacking = negative * difference
    if common.kind not in ("float", "complex"):
        lacking = converted(lacking, get_default_dtype())
    return reduced(p.maximum(lacking + margin, 0), reduction)
