"""Blocks of images as columns and back, and channels traded for pixels."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory_order import ordered_like
from aten.ops.requirements import refusal
from aten.registry import ops


class _Blocks:
    """The blocks of one size in images of another: steps between elements, and how many fit."""

    def __init__(
        self,
        name: str,
        sizes: Sequence[int],
        kernel_size: Sequence[int],
        dilation: Sequence[int],
        padding: Sequence[int],
        stride: Sequence[int],
    ) -> None:
        given = (sizes, kernel_size, dilation, padding, stride)
        if any(len(one) not in (1, 2) for one in given):
            raise RuntimeError(f"{name}: sizes are one number or two, got {given}")
        pairs = [tuple(one) * (3 - len(one)) for one in given]
        self.sizes, self.kernel, self.dilation, self.padding, self.stride = pairs
        if min(*self.kernel, *self.dilation, *self.stride) <= 0 or min(self.padding) < 0:
            raise RuntimeError(
                f"{name}: kernel size, dilation and stride should be greater than zero and padding "
                f"not negative, but got kernel_size={list(self.kernel)}, dilation="
                f"{list(self.dilation)}, padding={list(self.padding)}, stride={list(self.stride)}"
            )
        self.padded = [size + 2 * pad for size, pad in zip(self.sizes, self.padding, strict=True)]
        self.counts = [
            (size - spread * (kernel - 1) - 1) // step + 1
            for size, spread, kernel, step in zip(
                self.padded, self.dilation, self.kernel, self.stride, strict=True
            )
        ]
        if min(self.counts) < 1:
            raise RuntimeError(
                f"{name}: no block of {list(self.kernel)}, dilated by {list(self.dilation)}, fits "
                f"into {list(self.sizes)} with padding {list(self.padding)}"
            )

    def in_image(self, padded: Tensor) -> Tensor:
        """A view (N, C, kernel, kernel, count, count) of an image with its padding."""
        batch, channel, *line = padded.stride()
        return padded.as_strided(
            [*padded.shape[:2], *self.kernel, *self.counts],
            [
                batch,
                channel,
                *(step * spread for step, spread in zip(line, self.dilation, strict=True)),
                *(step * stride for step, stride in zip(line, self.stride, strict=True)),
            ],
            padded.storage_offset(),
        )


def _require_dtype(kernel: str, self: Tensor) -> None:
    if self.dtype.kind in ("signed", "unsigned") or self.dtype.name == "complex32":
        raise refusal(kernel, self.dtype)


@op
def im2col(
    self: Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    """The blocks of (N, C, H, W) or (C, H, W) as columns: (N, C * block, count).

    Raises RuntimeError for other ranks and for blocks that do not fit.
    """
    if self.dim() not in (3, 4) or 0 in self.shape[-3:]:
        raise RuntimeError(
            f"im2col: expected 3D or 4D (batch mode) tensor with no size of zero but the batch's, "
            f"but got {list(self.shape)}"
        )
    blocks = _Blocks("im2col", self.shape[-2:], kernel_size, dilation, padding, stride)
    _require_dtype("im2col_out_cpu", self)
    height, width = blocks.padding
    padded = ops.aten.constant_pad_nd.default(self, [width, width, height, height], 0)
    columns = blocks.in_image(padded if self.dim() == 4 else padded.unsqueeze(0)).contiguous()
    columns = columns.flatten(1, 3).flatten(2)
    return columns if self.dim() == 4 else columns.squeeze(0)


@op
def col2im(
    self: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    """Images of `output_size` with the columns (N, C * block, count) added to their blocks.

    Raises RuntimeError for columns that the blocks of such an image do not make.
    """
    if len(output_size) != 2 or min(output_size) <= 0:
        raise RuntimeError(f"col2im: output_size is two positive sizes, got {list(output_size)}")
    if self.dim() not in (2, 3) or 0 in self.shape[-2:]:
        raise RuntimeError(
            f"col2im: expected 2D or 3D (batch mode) tensor with no size of zero but the batch's, "
            f"but got {list(self.shape)}"
        )
    blocks = _Blocks("col2im", output_size, kernel_size, dilation, padding, stride)
    window = blocks.kernel[0] * blocks.kernel[1]
    if self.shape[-2] % window or self.shape[-1] != blocks.counts[0] * blocks.counts[1]:
        raise RuntimeError(
            f"col2im: for output_size={list(output_size)} and blocks of {list(blocks.kernel)}, "
            f"expected a multiple of {window} rows and {blocks.counts[0] * blocks.counts[1]} "
            f"columns, but got {list(self.shape)}"
        )
    _require_dtype("col2im_out_cpu", self)
    batch = self if self.dim() == 3 else self.unsqueeze(0)
    channels = self.shape[-2] // window
    padded = self.new_zeros([batch.shape[0], channels, *blocks.padded])
    columns = batch.reshape([batch.shape[0], channels, *blocks.kernel, *blocks.counts])
    places = blocks.in_image(padded)
    for row in range(blocks.kernel[0]):
        for column in range(blocks.kernel[1]):
            places[:, :, row, column].add_(columns[:, :, row, column])
    image = padded
    for dim, pad, size in zip((2, 3), blocks.padding, output_size, strict=True):
        image = image.narrow(dim, pad, size)
    if max(blocks.padding) > 0:
        image = image.new_empty(image.shape).copy_(image)
    return image if self.dim() == 3 else image.squeeze(0)


def _check_channels(name: str, self: Tensor, divisor: int, least: int) -> None:
    if self.dim() < least:
        raise RuntimeError(
            f"{name}: expects input to have at least {least} dimensions, but got {self.dim()}"
        )
    if divisor <= 0:
        raise RuntimeError(f"{name}: expects a positive factor, but got {divisor}")
    if self.dtype.name == "complex32":
        raise refusal(name, self.dtype)


@op
def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    """(*, C r², H, W) to (*, C, H r, W r): a channel's pixels spread into squares.

    Shi et al., Real-time single image and video super-resolution (2016). Raises RuntimeError where
    the channels are no multiple of r².
    """
    _check_channels("pixel_shuffle", self, upscale_factor, 3)
    factor = upscale_factor
    *batch, channels, height, width = self.shape
    if channels % factor**2:
        raise RuntimeError(
            f"pixel_shuffle: expects the channels to be divisible by {factor}², but got {channels}"
        )
    count = len(batch)
    squares = self.reshape([*batch, channels // factor**2, factor, factor, height, width])
    order = [*range(count + 1), count + 3, count + 1, count + 4, count + 2]
    spread = squares.permute(order).contiguous()
    sizes = [*batch, channels // factor**2, height * factor, width * factor]
    return ordered_like(_fresh(spread.view(sizes), self), self)


@op
def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    """(*, C, H r, W r) to (*, C r², H, W): the way back from `pixel_shuffle`."""
    _check_channels("pixel_unshuffle", self, downscale_factor, 3)
    factor = downscale_factor
    *batch, channels, height, width = self.shape
    if height % factor or width % factor:
        raise RuntimeError(
            f"pixel_unshuffle: expects height and width to be divisible by {factor}, but got "
            f"{height} and {width}"
        )
    count = len(batch)
    pixels = self.reshape([*batch, channels, height // factor, factor, width // factor, factor])
    order = [*range(count + 1), count + 2, count + 4, count + 1, count + 3]
    gathered = pixels.permute(order).contiguous()
    sizes = [*batch, channels * factor**2, height // factor, width // factor]
    return ordered_like(_fresh(gathered.view(sizes), self), self)


def _fresh(made: Tensor, self: Tensor) -> Tensor:
    """`made`, or a copy of it where nothing had to move."""
    return made.clone() if made.data_ptr() == self.data_ptr() and made.numel() else made


@op("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(self: Tensor, groups: int) -> Tensor:
    """(N, C, *) with the channels of `groups` dealt out in turn.

    Zhang et al., ShuffleNet (2018). Raises RuntimeError where the groups do not divide the
    channels.
    """
    _check_channels("channel_shuffle", self, groups, 3)
    batch, channels, *spatial = self.shape
    if channels % groups:
        raise RuntimeError(
            f"channel_shuffle: number of channels must be divisible by groups, but got {channels} "
            f"channels and {groups} groups"
        )
    if self.numel() == 0:
        return ops.aten.alias.default(self)
    dealt = self.reshape([batch, groups, channels // groups, *spatial]).transpose(1, 2)
    return ordered_like(_fresh(dealt.reshape(self.shape), self), self)
