"""Losses for classes: negative log likelihood, cross entropy, margins between scores.

Scores are (N, C, *) or (C), with classes in dimension 1 or 0; targets (N, *) or 0-d name a class.
"""

from __future__ import annotations

import math

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.losses.loss import MEAN, NONE
from aten.ops.losses.similarity import reduced_tensor
from aten.ops.memory.conversion import as_type
from aten.ops.requirements import refusal
from aten.prims import Number
from aten.registry import operator, ops

_INT64 = DTYPES["int64"]
# Scores from which on it takes less time not to write the logarithms of all.
MANY_SCORES = 1 << 16
# The logarithm of zero counts as this much, so that certain mistakes have a finite loss.
_LEAST_LOGARITHM = -100


def _bounds(values: Tensor) -> tuple[float, float] | None:
    """The smallest and the largest value; None where there are none, or they are not at hand.

    To wait for those of another device would take longer than the loss.
    """
    if values.device.type != "cpu" or values.numel() == 0:
        return None
    return _real(values.min()), _real(values.max())


def _real(value: Tensor) -> float:
    number = value.item()
    assert not isinstance(number, complex)
    return number


def _check_classes(
    name: str, target: Tensor, classes: int, error: type[Exception], least: int = 0
) -> None:
    bounds = _bounds(target)
    if bounds is not None and not least <= bounds[0] <= bounds[1] < classes:
        raise error(
            f"{name}: targets must be from {least} to {classes - 1}, but they are from "
            f"{bounds[0]} to {bounds[1]}"
        )


def _require_indices(name: str, target: Tensor, *names: str) -> None:
    if target.dtype.name not in names:
        raise RuntimeError(f"{name}: target must be {' or '.join(names)}, not {target.dtype}")


def _require_same_type(name: str, self: Tensor, **others: Tensor | None) -> None:
    for argument, other in others.items():
        if other is not None and other.dtype is not self.dtype:
            raise RuntimeError(f"{name}: {argument} must be {self.dtype}, but is {other.dtype}")


def _require_floating(kernel: str, self: Tensor) -> None:
    if not self.is_floating_point():
        raise refusal(kernel, self.dtype)


@op
def binary_cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN
) -> Tensor:
    """-(target log(x) + (1 - target) log(1 - x)).

    Raises RuntimeError for probabilities outside of [0, 1], in `self` or `target`.
    """
    _require_floating("binary_cross_entropy", self)
    _require_same_type("binary_cross_entropy", self, target=target, weight=weight)
    for argument, values in (("input", self), ("target", target)):
        bounds = _bounds(values)
        if bounds is not None and not (bounds[0] >= 0 and bounds[1] <= 1):
            raise RuntimeError(f"binary_cross_entropy: {argument} must be from 0 to 1")
    first = self.log().clamp_min(_LEAST_LOGARITHM)
    second = self.neg().log1p().clamp_min(_LEAST_LOGARITHM)
    losses = (target - 1) * second - target * first
    return reduced_tensor(losses if weight is None else losses * weight, reduction)


def _picked(
    self: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """Losses of the targets and how much they count: nothing where the target is ignored."""
    name, dim = "nll_loss", min(self.dim(), 2) - 1
    _require_floating("nll_loss_out_frame", self)
    _require_indices(name, target, "int64", "uint8")
    _require_same_type(name, self, weight=weight)
    classes = self.shape[dim]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(f"{name}: weight must be ({classes},), but is {tuple(weight.shape)}")
    ignored = target.eq(ignore_index)
    index = target.to(_INT64).masked_fill(ignored, 0)
    _check_classes(name, index, classes, IndexError)
    logarithms = self.gather(dim, index.unsqueeze(dim)).squeeze(dim)
    counts = ops.aten.ones_like(logarithms) if weight is None else weight.take(index)
    counts = counts.masked_fill(ignored, 0)
    return -(logarithms * counts).masked_fill(ignored, 0), counts


def _likelihood_loss(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    losses, counts = _picked(self, target, weight, ignore_index)
    if reduction == NONE:
        return losses, ops.aten.new_zeros(self, ())
    total = counts.sum()
    return (losses.sum() / total if reduction == MEAN else losses.sum()), total


@op
def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """Minus the scores of the targets, weighted, and the sum of the weights.

    `self` (N, C) or (C), `target` (N) or 0-d. The mean is by weight. Raises RuntimeError for other
    sizes and types, IndexError for targets that are no class.
    """
    if self.dim() not in (1, 2) or target.dim() > 1:
        raise RuntimeError(
            f"nll_loss: expected input (N, C) or (C) and target (N) or (), but got "
            f"{tuple(self.shape)} and {tuple(target.shape)}"
        )
    if self.dim() == 1 and target.dim() == 1:
        if target.numel() != 1:
            raise ValueError(f"nll_loss: {target.numel()} targets for one row of scores")
        target = target.view(())
    elif self.shape[:-1] != target.shape:
        raise RuntimeError(
            f"nll_loss: {tuple(target.shape)} targets for an input of {tuple(self.shape)}"
        )
    losses, total = _likelihood_loss(self, target, weight, reduction, ignore_index)
    if reduction == NONE and self.dim() == 1:
        return losses, ops.aten.ones_like(losses) if weight is None else total
    return losses, total


@op
def nll_loss2d_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """`nll_loss_forward` for `self` (N, C, H, W) and `target` (N, H, W)."""
    _check_sizes(self, target, 4)
    return _likelihood_loss(self, target, weight, reduction, ignore_index)


def _check_sizes(self: Tensor, target: Tensor, rank: int) -> None:
    if self.dim() != rank or target.shape != (*self.shape[:1], *self.shape[2:]):
        raise RuntimeError(
            f"nll_loss: expected {rank}-d scores (N, C, *) and target (N, *), but got "
            f"{tuple(self.shape)} and {tuple(target.shape)}"
        )


@op
def nll_loss(self: Tensor, target: Tensor, weight: Tensor | None = None, *rest: int) -> Tensor:
    return ops.aten.nll_loss_forward.default(self, target, weight, *rest)[0]


@op
def nll_loss2d(self: Tensor, target: Tensor, weight: Tensor | None = None, *rest: int) -> Tensor:
    return ops.aten.nll_loss2d_forward.default(self, target, weight, *rest)[0]


@op
def nll_loss_nd(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
) -> Tensor:
    """`nll_loss` for scores of any rank. Raises ValueError for 0-d ones and other batch sizes."""
    rank = self.dim()
    if rank == 0:
        raise ValueError("nll_loss: scores must have at least one dimension")
    if rank > 1 and (target.dim() == 0 or self.size(0) != target.size(0)):
        raise ValueError(
            f"nll_loss: input {tuple(self.shape)} and target {tuple(target.shape)} differ in "
            "their batch sizes"
        )
    if rank <= 2:
        return ops.aten.nll_loss.default(self, target, weight, reduction, ignore_index)
    _check_sizes(self, target, rank)
    images, places = self, target
    if rank != 4:
        samples, classes = self.shape[:2]
        positions = math.prod(self.shape[2:])
        images = self.reshape((samples, classes, 1, positions))
        places = target.reshape((samples, 1, positions))
    losses = ops.aten.nll_loss2d.default(images, places, weight, reduction, ignore_index)
    return losses.view(target.shape) if reduction == NONE else losses


# What `_by_classes` computes at once.
_REPLACED = (
    *("log_softmax.int", "_log_softmax", "nll_loss_nd", "nll_loss", "nll_loss_forward"),
    *("nll_loss2d", "nll_loss2d_forward"),
)


@op
def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between softmax(scores) and classes, or probabilities of the scores' shape.

    `label_smoothing` mixes the target with the uniform distribution. Szegedy et al., Rethinking the
    Inception Architecture (2016), section 7. Raises RuntimeError for a mix outside of [0, 1], for
    ignored classes where the target has probabilities, and for types and sizes that do not go
    together.
    """
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"cross_entropy: label_smoothing {label_smoothing} is not in [0, 1]")
    rank = self.dim()
    dim = 1 if rank > 1 else rank - 1
    has_probabilities = rank == target.dim() and self.shape == target.shape
    if label_smoothing == 0 and weight is None and _goes_by_classes(self, target):
        return _by_classes(self, target, reduction, ignore_index)
    if has_probabilities:
        if not target.is_floating_point():
            raise RuntimeError(f"cross_entropy: probabilities cannot be {target.dtype}")
        if ignore_index >= 0:
            raise RuntimeError("cross_entropy: probabilities have no class to be ignored")
    logarithms: Tensor = ops.aten.log_softmax.int(self, dim)
    if has_probabilities:
        return _by_probabilities(logarithms, target, weight, reduction, label_smoothing, dim)
    losses: Tensor = ops.aten.nll_loss_nd.default(
        logarithms, target, weight, reduction, ignore_index
    )
    if label_smoothing == 0:
        return losses
    uniform = _against_all(logarithms, target, weight, reduction, ignore_index, dim)
    share = label_smoothing / max(self.shape[dim], 1)
    return losses * (1 - label_smoothing) + uniform * share


def _goes_by_classes(scores: Tensor, target: Tensor) -> bool:
    return _are_many_with_classes(scores, target) and all(
        operator(name).is_plain(scores, target) for name in _REPLACED
    )


def _are_many_with_classes(scores: Tensor, target: Tensor) -> bool:
    """Whether many `scores` (N, C) come with one class each, and nothing of them is to be refused.

    The logarithms of few are written and read again in less time than two more calls take.
    """
    return (
        scores.numel() >= MANY_SCORES
        and scores.dim() == 2
        and target.dim() == 1
        and scores.shape[0] == target.shape[0]
        and scores.shape[1] > 0
        and target.dtype is _INT64
        and scores.is_floating_point()
    )


def _by_classes(self: Tensor, target: Tensor, reduction: int, ignore_index: int) -> Tensor:
    """Cross entropy without the logarithms of the classes that are not asked for."""
    ignored = target.eq(ignore_index)
    index = target.masked_fill(ignored, 0)
    _check_classes("nll_loss", index, self.shape[1], IndexError)
    largest, logarithm = ops.fused.exponential_sum(self, 1)
    score = self.gather(1, index.unsqueeze(1)).squeeze(1)
    losses = as_type(logarithm - (score - largest), self.dtype).masked_fill(ignored, 0)
    if reduction == NONE:
        return losses
    return losses.sum() / ignored.logical_not().sum() if reduction == MEAN else losses.sum()


def _class_weights(logarithms: Tensor, weight: Tensor, dim: int) -> Tensor:
    """`weight` (C), lined up with dimension `dim`."""
    if tuple(weight.shape) != (logarithms.shape[dim],):
        raise RuntimeError(
            f"cross_entropy: weight must be ({logarithms.shape[dim]},), but is "
            f"{tuple(weight.shape)}"
        )
    return weight.view((-1,) + (1,) * (logarithms.dim() - 1 - dim))


def _by_probabilities(
    logarithms: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    label_smoothing: float,
    dim: int,
) -> Tensor:
    classes = logarithms.shape[dim]
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / max(classes, 1)
    products = logarithms * target
    if weight is not None:
        products = products * _class_weights(logarithms, weight, dim)
    losses = -products.sum([dim])
    if reduction == MEAN and not classes:
        return losses.sum() * float("nan")  # no class, no mean
    return reduced_tensor(losses, reduction)


def _against_all(
    logarithms: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    dim: int,
) -> Tensor:
    """The sum of the losses of all classes, where the target is not ignored."""
    products = logarithms
    if weight is not None:
        products = logarithms * _class_weights(logarithms, weight, dim)
    ignored = target.eq(ignore_index)
    losses = (-products.sum([dim])).masked_fill(ignored, 0)
    if reduction != MEAN:
        return reduced_tensor(losses, reduction)
    if weight is None:
        counts = ignored.logical_not()
    else:
        index = target.to(_INT64).masked_fill(ignored, 0)
        counts = weight.take(index).masked_fill(ignored, 0)
    return losses.sum() / counts.sum()


def _require_scores(name: str, self: Tensor) -> None:
    """One row of scores or several, and no row without any."""
    if self.dim() > 2 or (self.numel() == 0 and (self.dim() < 2 or self.shape[1] == 0)):
        raise RuntimeError(f"{name}: expected scores (N, C) or (C), but got {list(self.shape)}")


def _marks(index: Tensor, classes: int) -> Tensor:
    """True where a class (in the last dimension) is the one that `index` (*, 1) names."""
    every: Tensor = ops.aten.arange(classes, device=index.device)
    return index.eq(every)


@op
def multi_margin_loss(
    self: Tensor,
    target: Tensor,
    p: Number = 1,
    margin: Number = 1,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:
    """The mean over classes of what the target's score lacks to be `margin` above the others.

    Crammer and Singer, Multiclass Kernel-based Vector Machines (2001); `p` 1 or 2 is the exponent.
    Raises ValueError for other exponents, RuntimeError for sizes and types.
    """
    name = "multi_margin_loss"
    if p not in (1, 2):
        raise ValueError(f"{name}: p must be 1 or 2, but got {p}")
    _require_scores(name, self)
    rows = self.view((-1, max(self.shape[-1:], default=1))) if self.dim() < 2 else self
    if target.dim() > 1 or target.numel() != rows.shape[0]:
        raise RuntimeError(f"{name}: {list(target.shape)} targets for scores {list(self.shape)}")
    if weight is not None and tuple(weight.shape) != tuple(rows.shape[1:]):
        raise RuntimeError(f"{name}: {list(weight.shape)} weights for scores {list(self.shape)}")
    _require_indices(name, target, "int64")
    _require_floating(name, self)
    _require_same_type(name, self, weight=weight)
    _check_classes(name, target, rows.shape[1], RuntimeError)
    if self.numel() == 0:
        return self.new_empty((0,))
    index = target.reshape(-1, 1)
    lacking = (rows - rows.gather(1, index) + margin).clamp_min(0)
    lacking = lacking * lacking if p == 2 else lacking
    if weight is not None:
        lacking = lacking * weight.take(index)
    others = lacking.masked_fill(_marks(index, rows.shape[1]), 0)
    losses = others.sum([1]) / rows.shape[1]
    return reduced_tensor(losses.view(target.shape), reduction)


@op
def multilabel_margin_loss_forward(
    self: Tensor, target: Tensor, reduction: int
) -> tuple[Tensor, Tensor]:
    """Hinge losses between a row's target classes and its others, and which are targets.

    Targets of a row come first, -1 ends them. Raises RuntimeError for sizes, types and targets that
    are no class.
    """
    name = "multilabel_margin_loss"
    _require_scores(name, self)
    if target.shape != self.shape:
        raise RuntimeError(f"{name}: {list(target.shape)} targets for scores {list(self.shape)}")
    _require_indices(name, target, "int64")
    _require_floating(name, self)
    classes = self.shape[-1] if self.dim() else 1
    _check_classes(name, target, classes, RuntimeError, least=-1)
    rows, targets = self.reshape(-1, classes), target.reshape(-1, classes)
    ended = targets.lt(0).cumsum(1).gt(0)
    index = targets.masked_fill(ended, 0)
    is_target = _marks(targets.masked_fill(ended, -1).unsqueeze(2), classes).any(1)
    wanted = rows.gather(1, index).masked_fill(ended, float("inf"))
    lacking = (rows.unsqueeze(1) - wanted.unsqueeze(2) + 1).clamp_min(0)
    lacking = lacking.masked_fill(is_target.unsqueeze(1), 0)
    losses = lacking.sum([1, 2]) / classes
    marks = is_target.to(self.dtype).view(target.shape)
    return reduced_tensor(losses.view(self.shape[:-1]), reduction), marks


@op
def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    return ops.aten.multilabel_margin_loss_forward.default(self, target, reduction)[0]
