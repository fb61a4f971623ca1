"""Convolutions as products of matrices, for code that has no kernels of its own for them.

What each window sees is copied to a column, and the columns are one operand of a product, whose
rows are long where those of windows are short.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from aten._core.tensor.tensor import Tensor
from aten.ops.windows.epilogues import ACTIVATIONS, padded_alike
from aten.registry import ops


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
    """`fused::convolution_epilogue` for (N, C, *) and (out, C/groups, *)."""
    input, padding = padded_alike(input, padding, len(stride))
    sums = _convolved(input, weight, stride, padding, dilation, groups)
    if bias is not None:
        sums = ops.aten.add.Tensor(sums, bias.view([-1, *[1] * len(stride)]))
    if residual is not None:
        sums = ops.aten.add.Tensor(sums, residual)
    return ACTIVATIONS[activation](sums, *values)


def _convolved(
    input: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    if any(padding):
        sides = [one for size in reversed(padding) for one in (size, size)]
        input = ops.aten.constant_pad_nd.default(input, sides)
    input = input.contiguous()
    batch, _channels, *spatial = input.shape
    outs, inner, *window = weight.shape
    counts = [
        (size - by * (extent - 1) - 1) // step + 1
        for size, extent, step, by in zip(spatial, window, stride, dilation, strict=True)
    ]
    steps = input.stride()
    sizes = [batch, groups, inner, *window, *counts]
    strides = [steps[0], inner * steps[1], steps[1]]
    strides += [one * by for one, by in zip(steps[2:], dilation, strict=True)]
    strides += [one * by for one, by in zip(steps[2:], stride, strict=True)]
    seen = ops.aten.as_strided.default(input, sizes, strides)
    columns = seen.contiguous().view(batch, groups, inner * prod(window), prod(counts))
    rows = weight.contiguous().view(groups, outs // groups, inner * prod(window))
    # (groups, out of each, batch, positions)
    made: Tensor = ops.prims.dot_general(
        rows, columns, contract_a=[2], contract_b=[2], batch_a=[0], batch_b=[1]
    )
    return made.permute(2, 0, 1, 3).contiguous().view(batch, outs, *counts)
