"""Convolutions under the names that torch's kernels have: each calls `convolution`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops


@op
def named_convolution(
    called: OpOverload,
    self: Tensor,
    weight: Tensor,
    kernel_size: Sequence[int],
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    *others: Sequence[int],
) -> Tensor:
    """(N, C, *) or (C, *), two or three dimensions, by a kernel of `kernel_size`.

    `others` are the padding of the output, where it is transposed, and the dilation, where there is
    one. Raises RuntimeError where the weight is for another kernel size or for other channels.
    """
    rank, transposed = len(kernel_size), "transpose" in called.name
    check_kernel(called.name, weight, kernel_size)
    zeros, ones = (0,) * rank, (1,) * rank
    output_padding = others[0] if transposed and others else zeros
    dilation = others[-1] if len(others) > transposed else ones
    image = self if self.dim() == rank + 2 else self.unsqueeze(0)
    options = (_several(stride, rank), _several(padding, rank), _several(dilation, rank))
    result: Tensor = ops.aten.convolution(
        image, weight, bias, *options, transposed, _several(output_padding, rank), 1
    )
    # As torch's: a single image comes out of one of them as a batch.
    keeps = image is self or called.name == "slow_conv_transpose2d"
    return result if keeps else result.squeeze(0)


@op
def named_convolution_forward(
    called: OpOverload,
    self: Tensor,
    weight: Tensor,
    kernel_size: Sequence[int],
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
) -> Tensor:
    """`named_convolution` of these defaults."""
    forward = {
        "slow_conv3d": ops.aten.slow_conv3d_forward,
        "thnn_conv2d": ops.aten._slow_conv2d_forward,
    }[called.name]
    rank = len(kernel_size)
    options = (_several(stride, rank), _several(padding, rank))
    result: Tensor = forward(self, weight, kernel_size, bias, *options)
    return result


def _several(numbers: Sequence[int], rank: int) -> Sequence[int]:
    return numbers if len(numbers) == rank else tuple(numbers) * rank


def check_kernel(name: str, weight: Tensor, kernel_size: Sequence[int]) -> None:
    """Raises RuntimeError unless `weight` is one of as many dimensions and of these sizes."""
    if min(kernel_size) <= 0:
        raise RuntimeError(f"{name}: kernel sizes must be above 0, but are {list(kernel_size)}")
    if weight.dim() != len(kernel_size) + 2 or tuple(weight.shape[2:]) != tuple(kernel_size):
        raise RuntimeError(
            f"{name}: weight of {list(weight.shape)} is not for a kernel of {list(kernel_size)}"
        )


@op("_slow_conv2d_backward.output_mask")
def _slow_conv2d_backward(
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_mask: Sequence[bool],
) -> Any:
    """The gradients of image, weight and bias, as far as `output_mask` asks for them."""
    check_kernel("_slow_conv2d_backward", weight, kernel_size)
    options = (stride, padding, (1, 1), False, (0, 0), 1)
    return ops.aten.convolution_backward(
        grad_output, self, weight, [weight.shape[0]], *options, output_mask
    )
