"""Convolutions with what follows them: a residual that is added, and an activation.

The operator is one of the namespace `fused`, which compiled programs call and nobody else. It is
what its parts are one after the other; the CPU does them while sums are in registers and caches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

# What becomes of sums, by name, with the numbers it takes.
ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "none": lambda sums: sums,
    "relu": lambda sums: ops.aten.relu.default(sums),
    "hardtanh": lambda sums, low, high: ops.aten.hardtanh.default(sums, low, high),
    "sigmoid": lambda sums: ops.aten.sigmoid.default(sums),
    "silu": lambda sums: ops.aten.silu.default(sums),
    "hardswish": lambda sums: ops.aten.hardswish.default(sums),
    "gelu": lambda sums: ops.aten.gelu.default(sums),
    "gelu_tanh": lambda sums: ops.aten.gelu.default(sums, approximate="tanh"),
}
_NUMBERS = {"hardtanh": 2}


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
    """activation(convolution(input, weight, bias) + residual), of which the last two may be absent.

    `padding` has a number for each dimension, or two: those before an image, then those behind it.
    `activation` is a name in `ACTIVATIONS`, `values` the numbers it takes: the limits of
    "hardtanh". `residual` broadcasts with the convolution's result. Raises RuntimeError for other
    names and numbers, and what the operators it is made of raise.
    """
    check_activation(activation, values)
    input, padding = padded_alike(input, padding, len(stride))
    sums = ops.aten.convolution.default(
        input, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups
    )
    if residual is not None:
        sums = ops.aten.add.Tensor(sums, residual)
    return ACTIVATIONS[activation](sums, *values)


def expanded_convolution(
    input: Tensor,
    expansion: Tensor,
    weight: Tensor,
    expansion_bias: Tensor | None,
    bias: Tensor | None,
    expansion_stride: Sequence[int],
    expansion_padding: Sequence[int],
    expansion_dilation: Sequence[int],
    expansion_activation: str,
    expansion_values: Sequence[float],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    activation: str,
    values: Sequence[float],
) -> Tensor:
    """The convolution by `expansion`, (channels, C, *), and then the one by `weight`,
    (channels, 1, *), which sees its channels one by one; each with a bias and an activation.

    Numbers and activations are those of `convolution_epilogue`.
    """
    expanded = ops.fused.convolution_epilogue.default(
        input,
        expansion,
        expansion_bias,
        None,
        expansion_stride,
        expansion_padding,
        expansion_dilation,
        1,
        expansion_activation,
        expansion_values,
    )
    channels = expansion.shape[0]
    return ops.fused.convolution_epilogue.default(  # type: ignore[no-any-return]
        expanded, weight, bias, None, stride, padding, dilation, channels, activation, values
    )


def inverted_residual(
    input: Tensor,
    expansion: Tensor,
    weight: Tensor,
    projection: Tensor,
    expansion_bias: Tensor | None,
    bias: Tensor | None,
    projection_bias: Tensor | None,
    residual: Tensor | None,
    *numbers: Any,
) -> Tensor:
    """`expanded_convolution` by the first two weights, and then the convolution by `projection`,
    (out, channels, 1, 1), to which `residual` is added: the block of MobileNet-v2.

    `numbers` are those of `expanded_convolution`.
    """
    seen = ops.fused.expanded_convolution.default(
        input, expansion, weight, expansion_bias, bias, *numbers
    )
    return ops.fused.convolution_epilogue.default(  # type: ignore[no-any-return]
        *(seen, projection, projection_bias, residual),
        *([1, 1], [0, 0], [1, 1], 1, "none", []),
    )


def padded_alike(
    input: Tensor, padding: Sequence[int], dimensions: int
) -> tuple[Tensor, Sequence[int]]:
    """The images and their padding on both sides: where these differ, images come with it."""
    if len(padding) != 2 * dimensions:
        return input, padding
    if min(padding) < 0:
        raise RuntimeError(
            f"convolution_epilogue: expected padding of at least 0, got {list(padding)}"
        )
    before, behind = padding[:dimensions], padding[dimensions:]
    if list(before) == list(behind):
        return input, before
    sides = [size for pair in zip(before[::-1], behind[::-1], strict=True) for size in pair]
    return ops.aten.constant_pad_nd.default(input, sides), [0] * dimensions


def check_activation(activation: str, values: Sequence[float]) -> None:
    """Raises RuntimeError for an unknown name, and for numbers that it does not take."""
    if activation not in ACTIVATIONS:
        raise RuntimeError(
            f"convolution_epilogue: expected activation to be one of {', '.join(ACTIVATIONS)}, "
            f"got {activation!r}"
        )
    expected = _NUMBERS.get(activation, 0)
    if len(values) != expected:
        raise RuntimeError(
            f"convolution_epilogue: expected {expected} values for the activation {activation}, "
            f"got {len(values)}"
        )


def strips_convolution(
    input: Tensor,
    strips: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    columns: int,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    activation: str,
    values: Sequence[float],
) -> Tensor:
    """The same for a weight that lies in strips, and images of one group.

    `input` is (N, C, *), the result (N, `columns`, *). `strips` are those of the weight as a matrix
    of (taps and their channels, `columns`), as `fused::strips_product` takes them. Windows of more
    than one position, and steps, are for two dimensions.
    """
    check_activation(activation, values)
    if any(one < 1 for one in dilation):
        raise RuntimeError(
            f"strips_convolution: expected dilation to be positive, got {list(dilation)}"
        )
    batch, channels, *spatial = input.shape
    if any(one != 1 for one in (*kernel, *stride)) or any(padding):
        taps = prod(kernel)
        input = ops.aten.im2col.default(input, kernel, dilation, padding, stride)
        spatial = [
            (size + 2 * pad - by * (extent - 1) - 1) // step + 1
            for size, extent, step, pad, by in zip(
                spatial, kernel, stride, padding, dilation, strict=True
            )
        ]
        by_taps = ops.aten.reshape.default(input, [batch, channels, taps, prod(spatial)])
        input, channels = ops.aten.transpose.int(by_taps, 1, 2), taps * channels
    positions = prod(spatial)
    seen = ops.aten.reshape.default(input, [batch, channels, positions])
    rows = ops.aten.reshape.default(
        ops.aten.transpose.int(seen, 1, 2), [batch * positions, channels]
    )
    product = ops.fused.strips_product.default(rows, strips, bias, columns)
    apart = ops.aten.reshape.default(product, [batch, positions, columns])
    sums = ops.aten.reshape.default(ops.aten.transpose.int(apart, 1, 2), [batch, columns, *spatial])
    sums = ops.aten.contiguous.default(sums)
    if residual is not None:
        sums = ops.aten.add.Tensor(sums, residual)
    return ACTIVATIONS[activation](sums, *values)


# Their schemas.
EPILOGUES: dict[str, Callable[..., Tensor]] = {
    "convolution_epilogue(Tensor input, Tensor weight, Tensor? bias, Tensor? residual,"
    " SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups, str activation,"
    " float[] values) -> Tensor": convolution_epilogue,
    "expanded_convolution(Tensor input, Tensor expansion, Tensor weight, Tensor? expansion_bias,"
    " Tensor? bias, SymInt[] expansion_stride, SymInt[] expansion_padding,"
    " SymInt[] expansion_dilation, str expansion_activation, float[] expansion_values,"
    " SymInt[] stride, SymInt[] padding, SymInt[] dilation, str activation, float[] values)"
    " -> Tensor": expanded_convolution,
    "inverted_residual(Tensor input, Tensor expansion, Tensor weight, Tensor projection,"
    " Tensor? expansion_bias, Tensor? bias, Tensor? projection_bias, Tensor? residual,"
    " SymInt[] expansion_stride, SymInt[] expansion_padding, SymInt[] expansion_dilation,"
    " str expansion_activation, float[] expansion_values, SymInt[] stride, SymInt[] padding,"
    " SymInt[] dilation, str activation, float[] values) -> Tensor": inverted_residual,
    "strips_convolution(Tensor input, Tensor strips, Tensor? bias, Tensor? residual,"
    " SymInt columns, int[] kernel, int[] stride, int[] padding, int[] dilation, str activation,"
    " float[] values) -> Tensor": strips_convolution,
}
