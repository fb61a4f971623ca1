"""Losses as modules."""

from __future__ import annotations

from typing import Any

import aten.nn.functional as functional
from aten._core.tensor.tensor import Tensor
from aten.nn.modules.settings import SettingsModule

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MultiLabelMarginLoss",
    "NLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
]


class MSELoss(SettingsModule):
    """`nn.functional.mse_loss` as a module."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.mse_loss(input, target, reduction=self.reduction)


class L1Loss(SettingsModule):
    """`nn.functional.l1_loss` as a module."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.l1_loss(input, target, reduction=self.reduction)


class SoftMarginLoss(SettingsModule):
    """`nn.functional.soft_margin_loss` as a module."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(SettingsModule):
    """`nn.functional.multilabel_margin_loss` as a module."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)


class CrossEntropyLoss(SettingsModule):
    """Scores (N, C, *) against classes or probabilities."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"
    label_smoothing: float = 0.0

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(SettingsModule):
    """Log-probabilities (N, C, *) against classes."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.nll_loss(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class BCELoss(SettingsModule):
    """Probabilities against probabilities."""

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(SettingsModule):
    """Scores against probabilities."""

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class SmoothL1Loss(SettingsModule):
    """Squares below beta, absolute values above."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    beta: float = 1.0

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(SettingsModule):
    """Squares below delta, delta times absolute values above."""

    reduction: str = "mean"
    delta: float = 1.0

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(SettingsModule):
    """Log-probabilities against probabilities."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    log_target: bool = False

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.kl_div(
            input, target, reduction=self.reduction, log_target=self.log_target
        )


class HingeEmbeddingLoss(SettingsModule):
    """Distances against 1 and -1."""

    margin: float = 1.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.hinge_embedding_loss(
            input, target, margin=self.margin, reduction=self.reduction
        )


class CTCLoss(SettingsModule):
    """Log-probabilities (T, N, C) against sequences of labels."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Any:
        return functional.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
