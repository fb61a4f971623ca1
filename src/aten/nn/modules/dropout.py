"""Dropout as modules."""

from __future__ import annotations

from typing import Any, ClassVar

import aten.nn.functional as functional
from aten._core.tensor.tensor import Tensor
from aten.nn.modules.settings import SettingsModule

__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
]


class Dropout(SettingsModule):
    """Elements are 0 with probability p, the others scaled up, while training."""

    p: float = 0.5
    inplace: bool = False
    _shown: ClassVar[str] = "p={p}, inplace={inplace}"

    def forward(self, input: Tensor) -> Any:
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(SettingsModule):
    """Whole channels of (N, C, L)."""

    p: float = 0.5
    inplace: bool = False
    _shown: ClassVar[str] = "p={p}, inplace={inplace}"

    def forward(self, input: Tensor) -> Any:
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(SettingsModule):
    """Whole channels of (N, C, H, W)."""

    p: float = 0.5
    inplace: bool = False
    _shown: ClassVar[str] = "p={p}, inplace={inplace}"

    def forward(self, input: Tensor) -> Any:
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(SettingsModule):
    """Whole channels of (N, C, D, H, W)."""

    p: float = 0.5
    inplace: bool = False
    _shown: ClassVar[str] = "p={p}, inplace={inplace}"

    def forward(self, input: Tensor) -> Any:
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(SettingsModule):
    """Dropout that keeps mean and variance after SELU."""

    p: float = 0.5
    inplace: bool = False
    _shown: ClassVar[str] = "p={p}, inplace={inplace}"

    def forward(self, input: Tensor) -> Any:
        return functional.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(SettingsModule):
    """As AlphaDropout, by whole channels."""

    p: float = 0.5
    inplace: bool = False
    _shown: ClassVar[str] = "p={p}, inplace={inplace}"

    def forward(self, input: Tensor) -> Any:
        return functional.feature_alpha_dropout(input, self.p, self.training, self.inplace)
