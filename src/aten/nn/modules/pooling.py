"""Pooling as modules."""

from __future__ import annotations

from typing import Any, ClassVar

import aten.nn.functional as functions
from aten._core.tensor.tensor import Tensor
from aten.nn.modules.settings import SettingsModule

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]

# What they give depends on `return_indices`, a setting that checkers do not know.
functional: Any = functions


class MaxPool1d(SettingsModule):
    """The largest of each window, and where it was with return_indices."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False
    _shown: ClassVar[str] = (
        "kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, "
        "ceil_mode={ceil_mode}"
    )

    def _check(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size

    def forward(self, input: Tensor) -> Any:
        return functional.max_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class AvgPool1d(SettingsModule):
    """The average of each window."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    _shown: ClassVar[str] = "kernel_size={kernel_size}, stride={stride}, padding={padding}"

    def _check(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size
        for name in ("kernel_size", "stride", "padding"):
            if isinstance(getattr(self, name), int):
                setattr(self, name, (getattr(self, name),))

    def forward(self, input: Tensor) -> Any:
        return functional.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class AdaptiveAvgPool1d(SettingsModule):
    """Averages over as many windows as output_size says."""

    output_size: Any
    _shown: ClassVar[str] = "output_size={output_size}"

    def forward(self, input: Tensor) -> Any:
        return functional.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveMaxPool1d(SettingsModule):
    """The largest of as many windows as output_size says."""

    output_size: Any
    return_indices: bool = False
    _shown: ClassVar[str] = "output_size={output_size}"

    def forward(self, input: Tensor) -> Any:
        return functional.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class MaxPool2d(SettingsModule):
    """The largest of each window, and where it was with return_indices."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False
    _shown: ClassVar[str] = (
        "kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, "
        "ceil_mode={ceil_mode}"
    )

    def _check(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size

    def forward(self, input: Tensor) -> Any:
        return functional.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class AvgPool2d(SettingsModule):
    """The average of each window."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None
    _shown: ClassVar[str] = "kernel_size={kernel_size}, stride={stride}, padding={padding}"

    def _check(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size

    def forward(self, input: Tensor) -> Any:
        return functional.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AdaptiveAvgPool2d(SettingsModule):
    """Averages over as many windows as output_size says."""

    output_size: Any
    _shown: ClassVar[str] = "output_size={output_size}"

    def forward(self, input: Tensor) -> Any:
        return functional.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveMaxPool2d(SettingsModule):
    """The largest of as many windows as output_size says."""

    output_size: Any
    return_indices: bool = False
    _shown: ClassVar[str] = "output_size={output_size}"

    def forward(self, input: Tensor) -> Any:
        return functional.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class MaxPool3d(SettingsModule):
    """The largest of each window, and where it was with return_indices."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False
    _shown: ClassVar[str] = (
        "kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, "
        "ceil_mode={ceil_mode}"
    )

    def _check(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size

    def forward(self, input: Tensor) -> Any:
        return functional.max_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class AvgPool3d(SettingsModule):
    """The average of each window."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None
    _shown: ClassVar[str] = "kernel_size={kernel_size}, stride={stride}, padding={padding}"

    def _check(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size

    def forward(self, input: Tensor) -> Any:
        return functional.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AdaptiveAvgPool3d(SettingsModule):
    """Averages over as many windows as output_size says."""

    output_size: Any
    _shown: ClassVar[str] = "output_size={output_size}"

    def forward(self, input: Tensor) -> Any:
        return functional.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool3d(SettingsModule):
    """The largest of as many windows as output_size says."""

    output_size: Any
    return_indices: bool = False
    _shown: ClassVar[str] = "output_size={output_size}"

    def forward(self, input: Tensor) -> Any:
        return functional.adaptive_max_pool3d(input, self.output_size, self.return_indices)
