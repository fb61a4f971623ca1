"""Derivatives of losses: the gradient of the input from that of the loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aten._core.base.dtypes import dtype
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.folding import extent
from aten.ops.losses.loss import MEAN, NONE
from aten.ops.requirements import refusal
from aten.prims import Value
from aten.prims import elementwise as p
from aten.registry import ops

_Types = Mapping[str, dtype]


def _require_floating(kernel: str, element: dtype) -> None:
    """The gradient is of the input's type, which nothing else widens."""
    if not element.is_floating_point:
        raise refusal(kernel, element)


def _share(losses: Value, gradient: Value, reduction: int) -> Value:
    """Each loss's part in the gradient of their mean, or of their sum."""
    return gradient / extent(losses, None) if reduction == MEAN else gradient


@op
def mse_loss_backward(
    grad_output: Value, self: Value, target: Value, reduction: int, *, types: _Types
) -> Value:
    _require_floating("mse_backward_cpu_out", types["self"])
    difference = self - target
    return 2 * difference * _share(difference, grad_output, reduction)


@op
def smooth_l1_loss_backward(
    grad_output: Value, self: Value, target: Value, reduction: int, beta: float, *, types: _Types
) -> Value:
    _require_floating("smooth_l1_backward_cpu_out", types["self"])
    distance = self - target
    gradient = _share(distance, grad_output, reduction)
    near = gradient * distance / beta if beta else gradient * distance
    return p.where(distance <= -beta, -gradient, p.where(distance >= beta, gradient, near))


@op
def huber_loss_backward(
    grad_output: Value, self: Value, target: Value, reduction: int, delta: float, *, types: _Types
) -> Value:
    _require_floating("huber_backward_cpu_out", types["self"])
    distance = self - target
    gradient = _share(distance, grad_output, reduction)
    beyond = p.where(distance >= delta, gradient * delta, gradient * distance)
    return p.where(distance <= -delta, -gradient * delta, beyond)


@op
def soft_margin_loss_backward(
    grad_output: Value, self: Value, target: Value, reduction: int, *, types: _Types
) -> Value:
    _require_floating("soft_margin_loss_backward", types["self"])
    growth = p.exp(-target * self)
    return -target * growth / (growth + 1) * _share(growth, grad_output, reduction)


@op
def binary_cross_entropy_backward(
    grad_output: Value,
    self: Value,
    target: Value,
    weight: Value | None = None,
    reduction: int = 1,
    *,
    types: _Types,
) -> Value:
    _require_floating("binary_cross_entropy_backward_cpu", types["self"])
    difference = (self - target) / p.maximum((1 - self) * self, 1e-12)
    weighed = difference if weight is None else difference * weight
    return weighed * _share(difference, grad_output, reduction)


def _require_targets(name: str, self: Tensor, target: Tensor) -> None:
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(f"{name}: target must be int64 or uint8, but is {target.dtype}")
    if not self.is_floating_point():
        raise refusal(name, self.dtype)


def _per_class(self: Tensor, weight: Tensor | None, classes: int, name: str) -> Tensor | None:
    if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
        raise RuntimeError(
            f"{name}: weight must have an element for each of the {classes} classes, but its sizes "
            f"are {list(weight.shape)}"
        )
    return weight


@op
def nll_loss_backward(
    called: OpOverload,
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """The gradient of `nll_loss_forward` and, with pixels behind classes, of `nll_loss2d_forward`.

    Raises RuntimeError for sizes that do not fit, and targets that are not int64 or uint8;
    IndexError for targets that are no classes.
    """
    name = called.name
    _require_targets(name, self, target)
    pixels = 2 if "2d" in name else 0
    ranks = (4,) if pixels else (1, 2)
    wanted = tuple(self.shape[:-1]) if not pixels else (self.shape[0], *self.shape[2:])
    if self.dim() not in ranks or tuple(target.shape) not in (
        (wanted, (1,)) if self.dim() == 1 else (wanted,)
    ):
        raise RuntimeError(
            f"{name}: self of {list(self.shape)} has no target of {list(target.shape)}"
        )
    if total_weight.numel() != 1:
        raise RuntimeError(f"{name}: total_weight must be one number, not {total_weight.numel()}")
    sizes = wanted if reduction == NONE and self.dim() > 1 else ()
    if tuple(grad_output.shape) != sizes and (sizes or grad_output.numel() != 1):
        raise RuntimeError(
            f"{name}: grad_output must be of {list(sizes)}, but is of {list(grad_output.shape)}"
        )
    dim = 0 if self.dim() == 1 else 1
    classes = self.shape[dim]
    _per_class(self, weight, classes, name)
    target = target.reshape(wanted).long()
    ignored = target == ignore_index
    chosen = target.masked_fill(ignored, 0)
    if chosen.numel() and self.is_cpu and (chosen.min() < 0 or chosen.max() >= classes):
        raise IndexError(f"{name}: targets must be from 0 to below {classes}")
    parts = -grad_output.reshape(sizes)
    if reduction == MEAN:
        parts = parts / total_weight.reshape(())
    parts = parts.expand(target.shape)
    if weight is not None:
        parts = parts * weight[chosen]
    parts = parts.masked_fill(ignored, 0).to(self.dtype)
    zeros = ops.aten.zeros_like(self, memory_format=None)
    return zeros.scatter_(dim, chosen.unsqueeze(dim), parts.unsqueeze(dim))


def _rows(name: str, self: Tensor) -> tuple[Tensor, int]:
    """`self` as a matrix with a row for each sample."""
    if self.dim() > 2:
        raise RuntimeError(f"{name}: self must have 2 dimensions at most, but has {self.dim()}")
    rows = self if self.dim() == 2 else self.reshape(1, -1)
    return rows, rows.shape[1]


@op
def multi_margin_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    p: float,
    margin: float,
    weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """The gradient of `multi_margin_loss`.

    Raises RuntimeError for sizes that do not fit, classes that are none, and `p` beside 1 and 2.
    """
    name = "multi_margin_loss_backward"
    if p not in (1, 2):
        raise RuntimeError(f"{name}: p must be 1 or 2, but is {p}")
    rows, classes = _rows(name, self)
    if target.numel() != rows.shape[0] or target.dim() > 1:
        raise RuntimeError(f"{name}: inconsistent target size, got: {list(target.shape)}")
    if not self.is_floating_point():
        raise refusal(name, self.dtype)
    _per_class(self, weight, classes, name)
    chosen = target.reshape(-1, 1)
    if chosen.numel() and self.is_cpu and (chosen.min() < 0 or chosen.max() >= classes):
        raise RuntimeError(f"{name}: target out of range")
    distances = margin - rows.gather(1, chosen) + rows
    slopes = (distances > 0).to(rows.dtype)
    if p == 2:
        slopes = slopes * distances * 2
    if weight is not None:
        slopes = slopes * weight[chosen]
    slopes = slopes.scatter(1, chosen, 0) / classes
    slopes = slopes.scatter(1, chosen, -slopes.sum(1, keepdim=True))
    return _times(slopes, grad_output, reduction, rows.shape[0]).reshape(self.shape)


def _times(slopes: Tensor, gradient: Tensor, reduction: int, count: int) -> Tensor:
    """Slopes of samples times the gradients of their losses, or their share in the loss's."""
    if reduction == NONE and gradient.numel() == count:
        return slopes * gradient.reshape(-1, 1)
    return slopes * (gradient.reshape(()) / count if reduction == MEAN else gradient)


@op
def multilabel_margin_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor
) -> Tensor:
    """The gradient of `multilabel_margin_loss_forward`, whose second result is `is_target`.

    Raises RuntimeError for sizes that do not fit.
    """
    name = "multilabel_margin_loss_backward"
    rows, classes = _rows(name, self)
    if target.shape != self.shape or is_target.shape != target.shape:
        raise RuntimeError(
            f"{name}: target of {list(target.shape)} and is_target of {list(is_target.shape)} must "
            f"be of the sizes of self, {list(self.shape)}"
        )
    if not self.is_floating_point():
        raise refusal(name, self.dtype)
    labels, marks = target.reshape(rows.shape), is_target.reshape(rows.shape)
    # Labels count until the first negative one.
    counts = (labels < 0).to(labels.dtype).cumsum(1) == 0
    chosen = labels.masked_fill(~counts, 0)
    own = rows.gather(1, chosen)
    lacking: Any = 1 - own.unsqueeze(2) + rows.unsqueeze(1)
    active = (lacking > 0) & counts.unsqueeze(2) & (marks == 0).unsqueeze(1)
    slopes = active.to(rows.dtype)
    made = slopes.sum(1).scatter_add(1, chosen, -slopes.sum(2)) / classes
    return _times(made, grad_output, reduction, rows.shape[0]).reshape(self.shape)
