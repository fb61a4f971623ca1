"""Pooling by norms and in random windows, and the way back from the largest elements."""

from __future__ import annotations

from typing import Any, ClassVar

import aten.nn.functional as functions
from aten._core.tensor.tensor import Tensor
from aten.nn.modules.settings import SettingsModule

__all__ = [
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

# What they give depends on `return_indices`, a setting that checkers do not know.
functional: Any = functions


class _PowerAverage(SettingsModule):
    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False
    _rank: ClassVar[int]
    _shown: ClassVar[str] = (
        "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}"
    )

    def forward(self, input: Tensor) -> Any:
        pool = getattr(functional, f"lp_pool{self._rank}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_PowerAverage):
    """The norm of each window of (N, C, L)."""

    _rank: ClassVar[int] = 1


class LPPool2d(_PowerAverage):
    """The norm of each window of (N, C, H, W)."""

    _rank: ClassVar[int] = 2


class LPPool3d(_PowerAverage):
    """The norm of each window of (N, C, D, H, W)."""

    _rank: ClassVar[int] = 3


class _Unpool(SettingsModule):
    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    _rank: ClassVar[int]
    _shown: ClassVar[str] = "kernel_size={kernel_size}, stride={stride}, padding={padding}"

    def _check(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size
        for name in ("kernel_size", "stride", "padding"):
            given = getattr(self, name)
            setattr(self, name, (given,) * self._rank if isinstance(given, int) else tuple(given))

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Any:
        unpool = getattr(functional, f"max_unpool{self._rank}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_Unpool):
    """What `MaxPool1d` found where it found it, else zeros."""

    _rank: ClassVar[int] = 1


class MaxUnpool2d(_Unpool):
    """What `MaxPool2d` found where it found it, else zeros."""

    _rank: ClassVar[int] = 2


class MaxUnpool3d(_Unpool):
    """What `MaxPool3d` found where it found it, else zeros."""

    _rank: ClassVar[int] = 3


class _Fractional(SettingsModule):
    kernel_size: Any
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Tensor | None = None
    _rank: ClassVar[int]

    def _check(self) -> None:
        name = type(self).__name__
        for setting in ("kernel_size", "output_size", "output_ratio"):
            given = getattr(self, setting)
            if isinstance(given, (int, float)):
                setattr(self, setting, (given,) * self._rank)
        if (self.output_size is None) is (self.output_ratio is None):
            raise ValueError(f"{name}: give one of output_size and output_ratio")
        if self.output_ratio is not None and not all(0 < one < 1 for one in self.output_ratio):
            raise ValueError(
                f"{name}: output_ratio must be between 0 and 1, got {self.output_ratio}"
            )

    def forward(self, input: Tensor) -> Any:
        pool = getattr(functional, f"fractional_max_pool{self._rank}d")
        return pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_Fractional):
    """The largest of windows that start at random (Graham 2014)."""

    _rank: ClassVar[int] = 2


class FractionalMaxPool3d(_Fractional):
    """The largest of windows that start at random (Graham 2014)."""

    _rank: ClassVar[int] = 3
