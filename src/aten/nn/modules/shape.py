"""Elements in other places: flattened, shuffled, resampled."""

from __future__ import annotations

from typing import Any, ClassVar

import aten.nn.functional as functional
from aten._core.tensor.tensor import Tensor
from aten.nn.modules.settings import SettingsModule

__all__ = [
    "ChannelShuffle",
    "Flatten",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class Flatten(SettingsModule):
    """Dimensions start_dim to end_dim as one."""

    start_dim: int = 1
    end_dim: int = -1
    _shown: ClassVar[str] = "start_dim={start_dim}, end_dim={end_dim}"

    def forward(self, input: Tensor) -> Any:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(SettingsModule):
    """One dimension as several."""

    dim: int
    unflattened_size: Any
    _shown: ClassVar[str] = "dim={dim}, unflattened_size={unflattened_size}"

    def forward(self, input: Tensor) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)


class PixelShuffle(SettingsModule):
    """(N, C · r², H, W) to (N, C, H · r, W · r)."""

    upscale_factor: int
    _shown: ClassVar[str] = "upscale_factor={upscale_factor}"

    def forward(self, input: Tensor) -> Any:
        return functional.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(SettingsModule):
    """(N, C, H · r, W · r) to (N, C · r², H, W)."""

    downscale_factor: int
    _shown: ClassVar[str] = "downscale_factor={downscale_factor}"

    def forward(self, input: Tensor) -> Any:
        return functional.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(SettingsModule):
    """Channels in groups, dealt out in turn."""

    groups: int
    _shown: ClassVar[str] = "groups={groups}"

    def forward(self, input: Tensor) -> Any:
        return functional.channel_shuffle(input, self.groups)


class Upsample(SettingsModule):
    """To a size, or by a factor."""

    size: Any = None
    scale_factor: Any = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def forward(self, input: Tensor) -> Any:
        return functional.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        which = "size" if self.scale_factor is None else "scale_factor"
        return f"{which}={getattr(self, which)}, mode={self.mode!r}"

    def _check(self) -> None:
        given = self.scale_factor
        if given is not None:
            several = isinstance(given, (list, tuple))
            self.scale_factor = tuple(map(float, given)) if several else float(given)


class UpsamplingNearest2d(Upsample):
    """(N, C, H, W), to a size or by a factor; each element the nearest one."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """(N, C, H, W), to a size or by a factor; linear in between, corners on corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class Fold(SettingsModule):
    """Blocks (N, C · block, L) added up to a picture (N, C, *output_size)."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
    _shown: ClassVar[str] = (
        "output_size={output_size}, kernel_size={kernel_size}, dilation={dilation}, "
        "padding={padding}, stride={stride}"
    )

    def forward(self, input: Tensor) -> Any:
        places = (self.dilation, self.padding, self.stride)
        return functional.fold(input, self.output_size, self.kernel_size, *places)


class Unfold(SettingsModule):
    """The blocks (N, C · block, L) that a window meets in a picture (N, C, H, W)."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
    _shown: ClassVar[str] = (
        "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}"
    )

    def forward(self, input: Tensor) -> Any:
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
