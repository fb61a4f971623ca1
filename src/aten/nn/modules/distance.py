"""Distances as modules."""

from __future__ import annotations

from typing import Any

import aten.nn.functional as functional
from aten._core.tensor.tensor import Tensor
from aten.nn.modules.settings import SettingsModule

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(SettingsModule):
    """The cosine of the angle between two tensors along a dimension."""

    dim: int = 1
    eps: float = 1e-8

    def forward(self, x1: Tensor, x2: Tensor) -> Any:
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(SettingsModule):
    """The p-norm of differences of rows."""

    p: float = 2.0
    eps: float = 1e-6
    keepdim: bool = False

    def forward(self, x1: Tensor, x2: Tensor) -> Any:
        return functional.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)
