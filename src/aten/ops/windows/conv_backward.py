"""The gradients of convolutions, which are convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aten._core.base.device import MEMORY_FORMATS
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.windows.conv import Window, check_dtype, checked_sizes, checked_window
from aten.registry import ops

_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]


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
    """The gradients for input, weight and bias of `convolution`, those that the mask asks for.

    Raises RuntimeError for a gradient of another shape than the convolution's result.
    """
    window = Window(stride, padding, dilation, transposed, output_padding, groups)
    return gradients(grad_output, input, weight, window, output_mask, weight_gradient)


def gradients(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    window: Window,
    output_mask: Sequence[bool],
    of_weight: Callable[..., Tensor],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """`convolution_backward`, with the weights' gradient by `of_weight`."""
    given = checked_window(weight, *window)
    sizes = tuple(checked_sizes(input, weight, None, given))
    check_dtype(input.dtype, given.transposed or max(given.dilation) > 1)
    if grad_output.shape != sizes:
        raise RuntimeError(
            f"convolution_backward: expected grad_output of shape {list(sizes)}, but got "
            f"{list(grad_output.shape)}"
        )
    moves = (given.stride, given.padding, given.dilation)
    transposed, groups = given.transposed, given.groups
    wide, narrow = (grad_output, input) if transposed else (input, grad_output)
    return (
        _input_gradient(grad_output, input, weight, *moves, transposed, groups)
        if output_mask[0]
        else None,
        of_weight(wide, narrow, weight, *moves, groups) if output_mask[1] else None,
        grad_output.sum([0, *range(2, input.dim())]) if output_mask[2] else None,
    )


def _input_gradient(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    groups: int,
) -> Tensor:
    """The convolution the other way round, with the same weights."""
    window = (stride, padding, dilation)
    missing = [0] * len(stride)
    if not transposed:
        missing = [
            size - ((seen - 1) * step - 2 * pad + spread * (kernel - 1) + 1)
            for size, seen, kernel, step, pad, spread in zip(
                input.shape[2:], grad_output.shape[2:], weight.shape[2:], *window, strict=True
            )
        ]
    gradient = ops.aten.convolution.default(
        grad_output, weight, None, *window, not transposed, missing, groups
    )
    cropped = _cropped(gradient, input.shape[2:])
    return cropped if cropped.is_contiguous() else cropped.clone()


def weight_gradient(
    wide: Tensor,
    narrow: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """The narrow images moved over the wide ones: batches are channels, steps and spread swapped.

    `wide` is what the window moves over, input or gradient, `narrow` what has one element for each
    place of it.
    """
    batch, channels, *spatial = wide.shape
    each = channels // groups
    images = wide.reshape([batch, groups, each, *spatial]).transpose(0, 2)
    moved: Tensor = ops.aten.convolution.default(
        images.reshape([each, groups * batch, *spatial]),
        narrow.transpose(0, 1),
        None,
        dilation,
        padding,
        stride,
        False,
        [0] * len(stride),
        groups,
    )
    # A copy in any case: a dimension of one element has the strides of contiguous memory, too.
    cropped = _cropped(moved.transpose(0, 1), weight.shape[2:])
    return cropped.clone(memory_format=_CONTIGUOUS)


def _cropped(image: Tensor, sizes: Sequence[int]) -> Tensor:
    """The first elements of every spatial dimension."""
    for dim, size in enumerate(sizes, 2):
        if image.shape[dim] != size:
            image = image.narrow(dim, 0, size)
    return image
