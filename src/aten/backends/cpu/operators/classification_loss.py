"""The CPU's negative log likelihood: picked, weighed and added up in one pass."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.indexing.weighing import picked_and_weighed
from aten.ops.definition import op
from aten.ops.losses import classification_loss
from aten.ops.losses.loss import MEAN, NONE


def _loss_at_once(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor] | None:
    """The loss in one pass; None unless everything is as usual, and there are few rows.

    The rows of (C) and a 0-d target are not told from a sum.
    """
    if reduction == NONE and self.dim() == 1:
        return None
    found = picked_and_weighed(
        self, target, weight, ignore_index, reduction != NONE, reduction == MEAN
    )
    if found is not None and reduction == NONE:
        found[1].zero_()
    return found


@op
def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """Minus the scores of the targets, weighted, and the sum of the weights."""
    found = _loss_at_once(self, target, weight, reduction, ignore_index)
    if found is not None:
        return found
    return classification_loss.nll_loss_forward(self, target, weight, reduction, ignore_index)


@op
def nll_loss2d_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """`nll_loss_forward` for `self` (N, C, H, W) and `target` (N, H, W)."""
    if self.dim() == 4:
        found = _loss_at_once(self, target, weight, reduction, ignore_index)
        if found is not None:
            return found
    return classification_loss.nll_loss2d_forward(self, target, weight, reduction, ignore_index)
