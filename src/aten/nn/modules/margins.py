"""Losses of margins between scores and distances, and likelihoods of counts and normals."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import aten.nn.functional as functional
from aten._core.tensor.tensor import Tensor
from aten.nn.modules.distance import PairwiseDistance
from aten.nn.modules.loss import NLLLoss
from aten.nn.modules.settings import SettingsModule

__all__ = [
    "CosineEmbeddingLoss",
    "GaussianNLLLoss",
    "MarginRankingLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class MarginRankingLoss(SettingsModule):
    """What the first lacks to be `margin` above the second, or below where the target is -1."""

    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Any:
        return functional.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(SettingsModule):
    """Angles of pairs against 1 and -1."""

    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Any:
        return functional.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MultiLabelSoftMarginLoss(SettingsModule):
    """Scores (N, C) against 0 and 1, each class by itself."""

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.multilabel_soft_margin_loss(
            input, target, self.weight, reduction=self.reduction
        )


class MultiMarginLoss(SettingsModule):
    """Scores (N, C) against classes, which should be `margin` above the others."""

    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def _check(self) -> None:
        if self.p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: p must be 1 or 2, got {self.p}")
        if self.weight is not None and self.weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: weight must be 1-d, got {self.weight.dim()}-d")

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """`NLLLoss` under the name it once had for pictures."""

    def _check(self) -> None:
        warnings.warn("NLLLoss2d is NLLLoss now", FutureWarning, stacklevel=4)


class PoissonNLLLoss(SettingsModule):
    """Rates of counts, or their logarithms, against counts."""

    log_input: bool = True
    full: bool = False
    size_average: bool | None = None
    eps: float = 1e-8
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, log_input: Tensor, target: Tensor) -> Any:
        return functional.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(SettingsModule):
    """Means and variances of normal distributions against what was drawn."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"
    _kind: ClassVar[Any] = inspect.Parameter.KEYWORD_ONLY

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Any:
        return functional.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


def _check_margin(module: Any) -> None:
    if module.margin <= 0:
        raise ValueError(f"{type(module).__name__}: margin must be above 0, got {module.margin}")


class TripletMarginLoss(SettingsModule):
    """How much the distance to the negative lacks to exceed that to the positive by `margin`."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def _check(self) -> None:
        _check_margin(self)

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Any:
        return functional.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(SettingsModule):
    """`TripletMarginLoss` with any distance; `PairwiseDistance` where none is given."""

    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"
    _kind: ClassVar[Any] = inspect.Parameter.KEYWORD_ONLY

    def _check(self) -> None:
        _check_margin(self)
        if self.distance_function is None:
            self.__dict__.pop("distance_function")
            self.distance_function = PairwiseDistance()

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Any:
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
