"""Convolutions and their transposes in one, two and three dimensions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from aten._core.tensor.tensor import Tensor
from aten.nn import functional, init
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter
from aten.registry import ops

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
]


def _repeated(given: Any, rank: int) -> tuple[int, ...]:
    return (given,) * rank if isinstance(given, int) else tuple(given)


class _Convolution(Module):
    _rank: ClassVar[int]
    _transposed: ClassVar[bool] = False

    def __init__(self, channels: tuple[int, int], bias: bool, made: Any, **settings: Any) -> None:
        super().__init__()
        self.in_channels, self.out_channels = channels
        for name, value in settings.items():
            setattr(self, name, value)
        name = type(self).__name__
        if self.groups <= 0:
            raise ValueError("convolution: groups must be at least 1")
        if self.in_channels % self.groups:
            raise ValueError(f"{name}: groups must divide in_channels")
        if self.out_channels % self.groups:
            raise ValueError(f"{name}: groups must divide out_channels")
        if self.padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"{name}: unknown padding_mode {self.padding_mode!r}")
        first, second = self.in_channels, self.out_channels
        if not self._transposed:
            first, second = second, first
        sizes = (first, second // self.groups, *self.kernel_size)
        self.weight = Parameter(ops.aten.empty(sizes, **made))
        self.register_parameter(
            "bias", Parameter(ops.aten.empty(self.out_channels, **made)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw evenly from ±1/√(what one output sums)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan = math.prod(self.weight.shape[1:])
        if self.bias is not None and fan:
            init.uniform_(self.bias, -1 / math.sqrt(fan), 1 / math.sqrt(fan))

    def extra_repr(self) -> str:
        rank = self._rank
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        ordinary = {
            "padding": (0,) * rank,
            "dilation": (1,) * rank,
            "output_padding": (0,) * rank,
            "groups": 1,
        }
        for name, value in ordinary.items():
            if getattr(self, name) != value:
                text += f", {name}={getattr(self, name)}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class _Forward(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        rank = self._rank
        named = isinstance(padding, str)
        if named and padding not in ("same", "valid"):
            raise ValueError(
                f"convolution: padding as a word is 'same' or 'valid', not {padding!r}"
            )
        if padding == "same" and any(step != 1 for step in _repeated(stride, rank)):
            raise ValueError("convolution: padding='same' needs strides of 1")
        super().__init__(
            (in_channels, out_channels),
            bias,
            {"device": device, "dtype": dtype},
            kernel_size=_repeated(kernel_size, rank),
            stride=_repeated(stride, rank),
            padding=padding if named else _repeated(padding, rank),
            dilation=_repeated(dilation, rank),
            output_padding=(0,) * rank,
            groups=groups,
            padding_mode=padding_mode,
        )

    def _margins(self) -> list[int]:
        """What to add before and after, last dimension first."""
        if self.padding == "valid":
            return [0, 0] * self._rank
        margins: list[int] = []
        for place in reversed(range(self._rank)):
            if self.padding == "same":
                total = self.dilation[place] * (self.kernel_size[place] - 1)
                margins += [total // 2, total - total // 2]
            else:
                margins += [self.padding[place]] * 2
        return margins

    def forward(self, input: Tensor) -> Any:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._margins(), mode=self.padding_mode)
            padding = (0,) * self._rank
        return getattr(ops.aten, f"conv{self._rank}d")(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )


class Conv1d(_Forward):
    """(N, in_channels, L) to (N, out_channels, L')."""

    _rank = 1


class Conv2d(_Forward):
    """(N, in_channels, H, W) to (N, out_channels, H', W')."""

    _rank = 2


class Conv3d(_Forward):
    """(N, in_channels, D, H, W) to (N, out_channels, D', H', W')."""

    _rank = 3


class _Transposed(_Convolution):
    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__}: padding_mode must be 'zeros', got {padding_mode!r}"
            )
        rank = self._rank
        super().__init__(
            (in_channels, out_channels),
            bias,
            {"device": device, "dtype": dtype},
            kernel_size=_repeated(kernel_size, rank),
            stride=_repeated(stride, rank),
            padding=_repeated(padding, rank),
            dilation=_repeated(dilation, rank),
            output_padding=_repeated(output_padding, rank),
            groups=groups,
            padding_mode=padding_mode,
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        if output_size is None:
            return self.output_padding  # type: ignore[no-any-return]
        rank = self._rank
        wanted = tuple(output_size)[-rank:]
        least = [
            (input.shape[place - rank] - 1) * self.stride[place]
            - 2 * self.padding[place]
            + self.dilation[place] * (self.kernel_size[place] - 1)
            + 1
            for place in range(rank)
        ]
        extra = tuple(size - low for size, low in zip(wanted, least, strict=True))
        if any(not 0 <= one < self.stride[place] for place, one in enumerate(extra)):
            raise ValueError(
                f"{type(self).__name__}: requested an output size of {wanted}, but valid sizes "
                f"begin at {tuple(least)} and are less than a stride of {self.stride} more"
            )
        return extra

    def forward(self, input: Tensor, output_size: Any = None) -> Any:
        return getattr(ops.aten, f"conv_transpose{self._rank}d")(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_Transposed):
    """(N, in_channels, L) to (N, out_channels, L')."""

    _rank = 1


class ConvTranspose2d(_Transposed):
    """(N, in_channels, H, W) to (N, out_channels, H', W')."""

    _rank = 2


class ConvTranspose3d(_Transposed):
    """(N, in_channels, D, H, W) to (N, out_channels, D', H', W')."""

    _rank = 3
