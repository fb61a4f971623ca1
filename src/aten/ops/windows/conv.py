"""Convolutions over one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory_order import ordered_like, suggested_format
from aten.ops.requirements import refusal
from aten.registry import ops

_COMPLEX64 = DTYPES["complex64"]
# Dtypes whose convolutions over three dimensions take over the order of channels in memory.
_ORDERED_3D = ("float32", "bfloat16", "complex64")
_CXX_NAMES = {"float32": "float", "float64": "double"}


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
    """`input` (N, C, *) with `weight` (out, C/groups, *), or (C, out/groups, *) if transposed.

    Raises RuntimeError for sizes and element types that do not go together, NotImplementedError
    for types without products.
    """
    window = checked_window(weight, stride, padding, dilation, transposed, output_padding, groups)
    sizes = checked_sizes(input, weight, bias, window)
    if input.dtype.name == "complex32":
        return through_complex64(input, weight, bias, window)
    check_dtype(input.dtype, transposed or max(window.dilation) > 1)
    low, high, steps = window.padding, window.padding, window.stride
    spread: Sequence[int] = (1,) * window.rank
    kernels = weight
    if transposed:
        kernels = _turned(weight, groups)
        reach = [
            gap * (size - 1) for gap, size in zip(window.dilation, weight.shape[2:], strict=True)
        ]
        low = [far - pad for far, pad in zip(reach, window.padding, strict=True)]
        high = [before + more for before, more in zip(low, window.output_padding, strict=True)]
        steps, spread = spread, window.stride
    if 0 in sizes:
        return input.new_empty(sizes)
    out: Tensor = ops.prims.conv_general(
        input, kernels, steps, low, high, window.dilation, spread, groups
    )
    if bias is not None:
        out = out + bias.reshape((-1, *(1 for _ in range(window.rank))))
    return in_order(out, input, weight)


def _turned(weight: Tensor, groups: int) -> Tensor:
    """The weights (C, out/groups, *) of a transposed convolution as those of a plain one."""
    channels, outputs, *sizes = weight.shape
    apart = weight.reshape((groups, channels // groups, outputs, *sizes)).transpose(1, 2)
    whole = apart.reshape((groups * outputs, channels // groups, *sizes))
    return ops.prims.rev(whole, list(range(2, weight.dim())))  # type: ignore[no-any-return]


class Window(NamedTuple):
    """How the weights move, with one number for each spatial dimension."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    transposed: bool
    output_padding: Sequence[int]
    groups: int

    @property
    def rank(self) -> int:
        """Spatial dimensions."""
        return len(self.stride)


def checked_window(
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Window:
    """Raises RuntimeError for numbers that no convolution with such weights has."""
    rank = weight.dim() - 2
    if rank < 1:
        raise RuntimeError("weight should have at least three dimensions")
    stride = _for_each_dim("stride", stride, rank)
    padding = _for_each_dim("padding", padding, rank)
    dilation = _for_each_dim("dilation", dilation, rank)
    output_padding = _for_each_dim("output_padding", output_padding, rank)
    _check_window(stride, padding, dilation, groups)
    return Window(stride, padding, dilation, transposed, output_padding, groups)


def checked_sizes(input: Tensor, weight: Tensor, bias: Tensor | None, window: Window) -> list[int]:
    """The sizes of the result. Raises RuntimeError for operands that do not go together."""
    _check_operands(input, weight, bias, window.transposed, window.groups)
    if window.transposed:
        return _transposed_sizes(input, weight, window)
    return _forward_sizes(input, weight, window.stride, window.padding, window.dilation)


def through_complex64(input: Tensor, weight: Tensor, bias: Tensor | None, window: Window) -> Tensor:
    """A convolution of complex32, computed in the wider type."""
    wide = [one if one is None else one.to(_COMPLEX64) for one in (input, weight, bias)]
    narrow: Tensor = ops.aten.convolution.default(*wide, *window).to(input.dtype)
    return narrow.contiguous() if window.rank == 3 else narrow


def in_order(out: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    """`out`, row-major, in the order that torch gives results of such operands."""
    if input.dim() == 5 and input.dtype.name not in _ORDERED_3D:
        return out
    return ordered_like(out, input if suggested_format(input) is not None else weight)


def check_dtype(element: dtype, spread: bool) -> None:
    """Narrow integers are for convolutions that are neither transposed nor dilated."""
    if element.kind == "bool" or (
        spread and element.kind in ("signed", "unsigned") and element.name != "int64"
    ):
        raise refusal("convolution", element)


def _for_each_dim(name: str, given: Sequence[int], rank: int) -> Sequence[int]:
    if len(given) == rank:
        return given
    if len(given) == 1:
        return list(given) * rank
    raise RuntimeError(
        f"expected {name} to be a single integer value or a list of {rank} values to match the "
        f"convolution dimensions, but got {name}={list(given)}"
    )


def _check_window(
    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def _check_operands(
    input: Tensor, weight: Tensor, bias: Tensor | None, transposed: bool, groups: int
) -> None:
    if weight.dim() > 5:
        raise RuntimeError(
            f"convolution: weight should have at most five dimensions, but got {weight.dim()}"
        )
    if input.dim() != weight.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight "
            f"{list(weight.shape)}, but got {input.dim()}-dimensional input of size "
            f"{list(input.shape)} instead"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{list(input.shape)}"
        )
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({_cxx_name(input)}) and weight type ({_cxx_name(weight)}) should be "
            f"the same"
        )
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({_cxx_name(input)}) and bias type ({_cxx_name(bias)}) should be the same"
        )
    for operand in (weight, bias):
        if operand is not None and operand.device != input.device:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, "
                f"{input.device} and {operand.device}!"
            )
    _check_channels(input, weight, bias, transposed, groups)


def _check_channels(
    input: Tensor, weight: Tensor, bias: Tensor | None, transposed: bool, groups: int
) -> None:
    about = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    shape = list(weight.shape)
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {shape} instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{shape}] instead"
        )
    channels = shape[0] if transposed else shape[1] * groups
    if input.shape[1] != channels:
        raise RuntimeError(
            f"Given {about}, weight of size {shape}, expected input{list(input.shape)} to have "
            f"{channels} channels, but got {input.shape[1]} channels instead"
        )
    outputs = shape[1] * groups if transposed else shape[0]
    if bias is not None and tuple(bias.shape) != (outputs,):
        prefix = f"Given transposed={int(transposed)}, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{prefix} of size {shape}, expected bias to be 1-dimensional with {outputs} elements, "
            f"but got bias of size {list(bias.shape)} instead"
        )


def _cxx_name(tensor: Tensor) -> str:
    return _CXX_NAMES.get(tensor.dtype.name, tensor.dtype.name)


def _forward_sizes(
    input: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    padded = [size + 2 * pad for size, pad in zip(input.shape[2:], padding, strict=True)]
    kernel = [(size - 1) * step + 1 for size, step in zip(weight.shape[2:], dilation, strict=True)]
    if min(weight.shape[2:]) <= 0:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got {list(weight.shape[2:])}"
        )
    if any(one < other for one, other in zip(padded, kernel, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel "
            f"size: ({' x '.join(map(str, kernel))}). Kernel size can't be greater than actual "
            f"input size"
        )
    spatial = [
        (size - reach) // step + 1 for size, reach, step in zip(padded, kernel, stride, strict=True)
    ]
    return [input.shape[0], weight.shape[0], *spatial]


def _transposed_sizes(input: Tensor, weight: Tensor, window: Window) -> list[int]:
    stride, padding, dilation, _, output_padding, groups = window
    for extra, step, spread in zip(output_padding, stride, dilation, strict=True):
        if extra < 0:
            raise RuntimeError("negative output_padding is not supported")
        if extra >= max(step, spread):
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got "
                f"output_padding={list(output_padding)} stride={list(stride)} "
                f"dilation={list(dilation)}"
            )
    spatial = [
        (input.shape[dim + 2] - 1) * stride[dim]
        - 2 * padding[dim]
        + dilation[dim] * (weight.shape[dim + 2] - 1)
        + output_padding[dim]
        + 1
        for dim in range(len(stride))
    ]
    if min(spatial) < 0:
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, input.shape[2:]))}). Calculated "
            f"output size per channel: ({' x '.join(map(str, spatial))}). Output size is too small"
        )
    return [input.shape[0], weight.shape[1] * groups, *spatial]


def _convolved(
    name: str,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    output_padding: Sequence[int] | None = None,
) -> Tensor:
    """A convolution of a batch, or of one image without the batch dimension."""
    rank = int(name[-2])
    if input.dim() not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got "
            f"input of size: {list(input.shape)}"
        )
    batched = input if input.dim() == rank + 2 else input.unsqueeze(0)
    result: Tensor = ops.aten.convolution.default(
        batched,
        weight,
        bias,
        stride,
        padding,
        dilation,
        output_padding is not None,
        output_padding or [0] * rank,
        groups,
    )
    return result if batched is input else result.squeeze(0)


def _convolved_by_name(
    name: str,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution with padding "valid", which is none, or "same", which keeps the sizes."""
    rank = int(name[-2])
    if padding == "valid":
        return _convolved(name, input, weight, bias, stride, [0] * rank, dilation, groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    stride = _for_each_dim("stride", stride, rank)
    dilation = _for_each_dim("dilation", dilation, rank)
    if any(step != 1 for step in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    if weight.dim() != rank + 2:
        raise RuntimeError(
            f"{name}: expected weight of {rank + 2} dimensions, but got {list(weight.shape)}"
        )
    total = [dilation[dim] * (weight.shape[dim + 2] - 1) for dim in range(rank)]
    before = [size // 2 for size in total]
    if any(size % 2 for size in total):
        # What is uneven goes to the end.
        extra = [amount for size in reversed(total) for amount in (0, size % 2)]
        input = ops.aten.constant_pad_nd(input, extra, 0)
    return _convolved(name, input, weight, bias, stride, before, dilation, groups)


@op
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Tensor:
    return _convolved("conv1d", input, weight, bias, stride, padding, dilation, groups)


@op("conv1d.padding")
def conv1d_padding(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: str = "valid",
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Tensor:
    return _convolved_by_name("conv1d", input, weight, bias, stride, padding, dilation, groups)


@op
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    dilation: Sequence[int] = (1,),
) -> Tensor:
    return _convolved(
        "conv_transpose1d",
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        groups,
        output_padding,
    )


@op
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Tensor:
    return _convolved("conv2d", input, weight, bias, stride, padding, dilation, groups)


@op("conv2d.padding")
def conv2d_padding(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: str = "valid",
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Tensor:
    return _convolved_by_name("conv2d", input, weight, bias, stride, padding, dilation, groups)


@op("conv_transpose2d")
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    output_padding: Sequence[int] = (0, 0),
    groups: int = 1,
    dilation: Sequence[int] = (1, 1),
) -> Tensor:
    return _convolved(
        "conv_transpose2d",
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        groups,
        output_padding,
    )


@op
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1, 1),
    padding: Sequence[int] = (0, 0, 0),
    dilation: Sequence[int] = (1, 1, 1),
    groups: int = 1,
) -> Tensor:
    return _convolved("conv3d", input, weight, bias, stride, padding, dilation, groups)


@op("conv3d.padding")
def conv3d_padding(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1, 1),
    padding: str = "valid",
    dilation: Sequence[int] = (1, 1, 1),
    groups: int = 1,
) -> Tensor:
    return _convolved_by_name("conv3d", input, weight, bias, stride, padding, dilation, groups)


@op("conv_transpose3d")
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1, 1),
    padding: Sequence[int] = (0, 0, 0),
    output_padding: Sequence[int] = (0, 0, 0),
    groups: int = 1,
    dilation: Sequence[int] = (1, 1, 1),
) -> Tensor:
    return _convolved(
        "conv_transpose3d",
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        groups,
        output_padding,
    )


@op
def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over time, channels last: (T, N, C) with `weight` (window, C, out).

    Raises RuntimeError for other ranks and channels.
    """
    if self.dim() != 3 or weight.dim() != 3 or bias.dim() != 1:
        raise RuntimeError(
            f"conv_tbc: expected input and weight of three dimensions and bias of one, but got "
            f"{self.dim()}, {weight.dim()} and {bias.dim()}"
        )
    if self.shape[2] != weight.shape[1] or bias.shape[0] != weight.shape[2]:
        raise RuntimeError(
            f"conv_tbc: channels of input {list(self.shape)}, weight {list(weight.shape)} and bias "
            f"{list(bias.shape)} do not go together"
        )
    result: Tensor = ops.aten.convolution.default(
        self.permute(1, 2, 0), weight.permute(2, 1, 0), bias, [1], [pad], [1], False, [0], 1
    )
    return result.permute(2, 0, 1).contiguous()


@op
def _convolution(*arguments: Any) -> Tensor:
    """`convolution`; the last four arguments are of no use here."""
    return ops.aten.convolution.default(*arguments[:-4])


@op
def _convolution_mode(input: Tensor, weight: Tensor, *window: Any) -> Tensor:
    """`convolution` of a batch with padding by name."""
    return _convolved_by_name(f"conv{weight.dim() - 2}d", input, weight, *window)
