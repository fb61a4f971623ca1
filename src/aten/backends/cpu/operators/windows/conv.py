"""The CPU's convolutions; the loops are in kernels/windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.windows.channels_last import convolve_last, suits_last
from aten.backends.cpu.kernels.windows.convolution import convolve
from aten.backends.cpu.kernels.windows.pairs import convolve_pairs, suits_pairs
from aten.backends.cpu.kernels.windows.registers import convolve_in_registers, suits_registers
from aten.backends.cpu.kernels.windows.weight_gradient import weigh
from aten.ops.definition import op
from aten.ops.memory_order import suggested_format
from aten.ops.windows.conv import (
    Window,
    check_dtype,
    checked_sizes,
    checked_window,
    in_order,
    through_complex64,
)
from aten.ops.windows.conv_backward import gradients, weight_gradient
from aten.ops.windows.epilogues import check_activation, padded_alike
from aten.ops.windows.epilogues import convolution_epilogue as composed_epilogue
from aten.registry import ops

_FLOAT32 = DTYPES["float32"]
_ROW_MAJOR = MEMORY_FORMATS["contiguous_format"]
_LAST = MEMORY_FORMATS["channels_last"]
_HALVES = ("float16", "bfloat16")
# What kernels call activations that are curves. Others are limits.
_CURVES = {"sigmoid": 1, "silu": 2, "hardswish": 3, "gelu": 4, "gelu_tanh": 5}


class _Finish(NamedTuple):
    """What kernels do to a result before they store it."""

    residual: Tensor | None
    low: float
    high: float
    activation: int

    def beside(self, out: Tensor) -> tuple[Tensor | None, float, float, int]:
        """The same with the residual lying as `out` does."""
        residual = self.residual
        if residual is not None and residual.stride() != out.stride():
            laid: Tensor = ops.aten.empty_like.default(out)
            residual = laid.copy_(residual)
        return residual, self.low, self.high, self.activation


@op
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """`input` (N, C, *) with `weight` (out, C/groups, *), or (C, out/groups, *) if transposed."""
    window = checked_window(weight, stride, padding, dilation, transposed, output_padding, groups)
    sizes = checked_sizes(input, weight, bias, window)
    if input.dtype.name == "complex32":
        return through_complex64(input, weight, bias, window)
    if input.dtype.name in _HALVES:
        return _of_halves(input, weight, bias, window)
    stride, padding, dilation = window[:3]
    check_dtype(input.dtype, transposed or max(dilation) > 1)
    given = input
    if not transposed and suggested_format(input) is _LAST:
        last = _with_channels_last(input, weight, bias, sizes, window)
        if last is not None:
            return last
    if transposed or suggested_format(input) is not None:
        # Channels are gathered one by one: cheaper, where each is a plane without gaps.
        input = input.contiguous()
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=input.dtype)
    convolve(input, weight, bias, out, stride, padding, dilation, transposed, groups)
    return in_order(out, given, weight)


def _with_channels_last(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    sizes: Sequence[int],
    window: Window,
    finish: _Finish | None = None,
) -> Tensor | None:
    """The convolution of images with channels last, where there are kernels for it."""
    given = (window.stride, window.padding, window.dilation, window.groups)
    if not suits_last(input, weight, bias, sizes, *given):
        return None
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=input.dtype, memory_format=_LAST)
    input = input.contiguous(memory_format=_LAST)
    convolve_last(input, weight, bias, out, *given, finish and finish.beside(out))
    return out


def convolution_epilogue(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    activation: str,
    values: Sequence[float],
) -> Tensor:
    """What its parts are, in one pass where there are kernels for it."""
    check_activation(activation, values)
    input, padding = padded_alike(input, padding, len(stride))
    window = checked_window(weight, stride, padding, dilation, False, [0] * len(stride), groups)
    sizes = checked_sizes(input, weight, bias, window)
    name = input.dtype.name
    kind = _CURVES.get(activation, 0)
    if (
        (name != "float32" and (name != "float64" or kind))
        or 0 in sizes
        or (values and not values[0] <= values[1])
        or (residual is not None and not _is_like(residual, input, sizes))
        or suggested_format(weight) is not suggested_format(input)
    ):
        return composed_epilogue(
            input, weight, bias, residual, *window[:3], groups, activation, values
        )
    low, high = (0.0, inf) if activation == "relu" else tuple(values) or (-inf, inf)
    finish = _Finish(residual, low, high, kind)
    if suggested_format(input) is _LAST:
        last = _with_channels_last(input, weight, bias, sizes, window, finish)
        if last is not None:
            return last
    given = input
    if suggested_format(input) is not None:
        input = input.contiguous()
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=input.dtype)
    convolve(input, weight, bias, out, *window[:3], False, groups, finish.beside(out))
    return in_order(out, given, weight)


def _is_like(residual: Tensor, input: Tensor, sizes: Sequence[int]) -> bool:
    return (
        list(residual.shape) == list(sizes)
        and residual.dtype is input.dtype
        and residual.device == input.device
    )


def _of_halves(input: Tensor, weight: Tensor, bias: Tensor | None, window: Window) -> Tensor:
    """A convolution of half types, whose sums are rounded once."""
    if not window.transposed and suggested_format(input) is _LAST and _is_of_pixels(weight, window):
        return _multiplied_pixels(input, weight, bias)
    if input.dtype.name == "bfloat16" and not window.transposed:
        multiplied = _in_brains(input, weight, bias, window)
        if multiplied is not None:
            return multiplied
    wide = [one if one is None else one.to(_FLOAT32) for one in (input, weight, bias)]
    narrow: Tensor = ops.aten.convolution.default(*wide, *window).to(input.dtype)
    return narrow


def _is_of_pixels(weight: Tensor, window: Window) -> bool:
    """Whether each pixel of the result is a product of weights and one pixel."""
    return (
        weight.numel() > 0
        and window.groups == 1
        and all(size == 1 for size in (*weight.shape[2:], *window.stride))
        and not any(window.padding)
    )


def _multiplied_pixels(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The convolution of images with channels last by weights of one tap."""
    pixels = input.contiguous(memory_format=_LAST).permute((0, 2, 3, 1))
    made: Tensor = ops.aten.linear.default(pixels, weight.flatten(1), bias)
    return made.permute((0, 3, 1, 2))


def _in_brains(input: Tensor, weight: Tensor, bias: Tensor | None, window: Window) -> Tensor | None:
    """A convolution of bfloat16 by the processor's own products, where there are kernels for it."""
    sizes = checked_sizes(input, weight, bias, window)
    given = (*window[:3], window.groups)
    last = suggested_format(input) is _LAST
    if suits_registers(input, weight, sizes, last, *given):
        convolve_brains, format = convolve_in_registers, _LAST if last else _ROW_MAJOR
    elif suits_pairs(input, weight, sizes, window.groups):
        convolve_brains, format = convolve_pairs, _ROW_MAJOR
    else:
        return None
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=input.dtype, memory_format=format)
    wide_bias = bias if bias is None else bias.to(_FLOAT32)
    images = input.contiguous(memory_format=format)
    convolve_brains(images, weight.contiguous(), wide_bias, out, *given)
    return in_order(out, input, weight)


@op
def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients for input, weight and bias of `convolution`, those that the mask asks for."""
    window = Window(stride, padding, dilation, transposed, output_padding, groups)
    return gradients(grad_output, input, weight, window, output_mask, _weight_gradient)


def _weight_gradient(
    wide: Tensor,
    narrow: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """Sums over positions, where windows do not reach too far; else a convolution."""
    window = (stride, padding, dilation, groups)
    if wide.dtype is not narrow.dtype:
        return weight_gradient(wide, narrow, weight, *window)
    if wide.dtype.name in _HALVES:
        exact = _weight_gradient(wide.to(_FLOAT32), narrow.to(_FLOAT32), weight, *window)
        return exact.to(wide.dtype)
    if wide.dtype.name in ("float32", "float64"):
        made: Tensor = ops.aten.empty.memory_format(weight.shape, dtype=wide.dtype)
        if weigh(wide.contiguous(), narrow.contiguous(), made, *window):
            return made
    return weight_gradient(wide, narrow, weight, *window)
