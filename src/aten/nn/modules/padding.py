"""Padding as modules."""

from __future__ import annotations

from typing import Any, ClassVar

import aten.nn.functional as functional
from aten._core.tensor.tensor import Tensor
from aten.nn.modules.settings import SettingsModule

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Padding(SettingsModule):
    """How much is added before and behind each dimension, the last one first."""

    padding: Any
    _rank: ClassVar[int]
    _mode: ClassVar[str] = "constant"
    _shown: ClassVar[str] = "{padding}"

    def _check(self) -> None:
        given = self.padding
        self.padding = (given,) * (2 * self._rank) if isinstance(given, int) else tuple(given)

    def forward(self, input: Tensor) -> Any:
        return functional.pad(input, self.padding, self._mode)


class _ConstantPadding(_Padding):
    value: float
    _shown: ClassVar[str] = "padding={padding}, value={value}"

    def forward(self, input: Tensor) -> Any:
        return functional.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadding):
    """(*, W), a number around."""

    _rank: ClassVar[int] = 1


class ConstantPad2d(_ConstantPadding):
    """(*, H, W), a number around."""

    _rank: ClassVar[int] = 2


class ConstantPad3d(_ConstantPadding):
    """(*, D, H, W), a number around."""

    _rank: ClassVar[int] = 3


class ZeroPad1d(_Padding):
    """(*, W), zeros around."""

    _rank: ClassVar[int] = 1


class ZeroPad2d(_Padding):
    """(*, H, W), zeros around."""

    _rank: ClassVar[int] = 2


class ZeroPad3d(_Padding):
    """(*, D, H, W), zeros around."""

    _rank: ClassVar[int] = 3


class _CircularPadding(_Padding):
    _mode: ClassVar[str] = "circular"

    def forward(self, input: Tensor) -> Any:
        if input.dim() not in (self._rank + 1, self._rank + 2):
            raise ValueError(
                f"{type(self).__name__}: expected input of {self._rank + 1}D or "
                f"{self._rank + 2}D, got {input.dim()}D"
            )
        return super().forward(input)


class CircularPad1d(_CircularPadding):
    """(N, C, W), going on from the other end."""

    _rank: ClassVar[int] = 1


class CircularPad2d(_CircularPadding):
    """(N, C, H, W), going on from the other end."""

    _rank: ClassVar[int] = 2


class CircularPad3d(_CircularPadding):
    """(N, C, D, H, W), going on from the other end."""

    _rank: ClassVar[int] = 3


class ReflectionPad1d(_Padding):
    """(N, C, W), mirrored at its ends."""

    _rank: ClassVar[int] = 1
    _mode: ClassVar[str] = "reflect"


class ReflectionPad2d(_Padding):
    """(N, C, H, W), mirrored at its ends."""

    _rank: ClassVar[int] = 2
    _mode: ClassVar[str] = "reflect"


class ReflectionPad3d(_Padding):
    """(N, C, D, H, W), mirrored at its ends."""

    _rank: ClassVar[int] = 3
    _mode: ClassVar[str] = "reflect"


class ReplicationPad1d(_Padding):
    """(N, C, W), its ends repeated."""

    _rank: ClassVar[int] = 1
    _mode: ClassVar[str] = "replicate"


class ReplicationPad2d(_Padding):
    """(N, C, H, W), its ends repeated."""

    _rank: ClassVar[int] = 2
    _mode: ClassVar[str] = "replicate"


class ReplicationPad3d(_Padding):
    """(N, C, D, H, W), its ends repeated."""

    _rank: ClassVar[int] = 3
    _mode: ClassVar[str] = "replicate"
