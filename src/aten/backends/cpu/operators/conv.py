"""The CPU's convolutions; the loops are in kernels/windows."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.windows.convolution import convolve
from aten.ops.definition import op
from aten.ops.windows.conv import (
    check_dtype,
    checked_sizes,
    checked_window,
    in_order,
    through_complex64,
)
from aten.ops.windows.memory_order import suggested_format
from aten.registry import ops


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
    stride, padding, dilation = window[:3]
    check_dtype(input.dtype, transposed or max(dilation) > 1)
    given = input
    if transposed or suggested_format(input) is not None:
        # Channels are gathered one by one: cheaper, where each is a plane without gaps.
        input = input.contiguous()
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=input.dtype)
    convolve(input, weight.contiguous(), bias, out, stride, padding, dilation, transposed, groups)
    return in_order(out, given, weight)
