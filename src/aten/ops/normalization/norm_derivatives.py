"""Derivatives of normalizations, from the statistics that their forward operators give."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op, operation_type
from aten.ops.requirements import refusal

_Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]


def _check(name: str, gradient: Tensor, input: Tensor) -> None:
    if gradient.shape != input.shape:
        raise RuntimeError(
            f"{name}: grad_out of {list(gradient.shape)} must have the sizes of the input, "
            f"{list(input.shape)}"
        )
    if not input.is_floating_point():
        raise refusal(name, input.dtype)


def _wide(value: Tensor) -> Tensor:
    return value.to(operation_type(value.dtype))


def _through(gradient: Tensor, centred: Tensor, scale: Tensor, dims: Sequence[int]) -> Tensor:
    """The gradient of what was centred and scaled over `dims`; `centred` is the result of that."""
    mean = gradient.mean(dims, True)
    along = (gradient * centred).mean(dims, True)
    return (gradient - mean - centred * along) * scale


@op
def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> _Gradients:
    """The gradients of input, weight and bias of `native_layer_norm`, as far as asked for.

    Raises RuntimeError for sizes that do not fit.
    """
    name = "native_layer_norm_backward"
    _check(name, grad_out, input)
    rank = len(normalized_shape)
    if rank == 0 or list(input.shape[-rank:]) != list(normalized_shape):
        raise RuntimeError(
            f"{name}: input of {list(input.shape)} does not end in {list(normalized_shape)}"
        )
    inner = list(range(input.dim() - rank, input.dim()))
    outer = list(range(input.dim() - rank))
    gradient, rows = _wide(grad_out), [*input.shape[:-rank], *[1] * rank]
    scale = _wide(rstd.reshape(rows))
    centred = (_wide(input) - _wide(mean.reshape(rows))) * scale
    weighed = gradient if weight is None else gradient * weight
    has_weight, has_bias = weight is not None, bias is not None
    results = (
        _through(weighed, centred, scale, inner) if output_mask[0] else None,
        _summed(gradient * centred, outer) if output_mask[1] and has_weight else None,
        _summed(gradient, outer) if output_mask[2] and has_bias else None,
    )
    return _narrow(results, (input, weight, bias))


def _summed(value: Tensor, dims: Sequence[int]) -> Tensor:
    return value.sum(dims) if dims else value.clone()


def _narrow(results: _Gradients, like: Sequence[Tensor | None]) -> _Gradients:
    first, second, third = (
        made if made is None or one is None else made.to(one.dtype)
        for made, one in zip(results, like, strict=True)
    )
    return first, second, third


@op
def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,  # noqa: N803
    C: int,  # noqa: N803
    HxW: int,  # noqa: N803
    group: int,
    output_mask: Sequence[bool],
) -> _Gradients:
    """The gradients of input, weight and bias of `native_group_norm`, as far as asked for.

    Raises RuntimeError for sizes that do not fit.
    """
    name = "native_group_norm_backward"
    _check(name, grad_out, input)
    if group <= 0 or C % group or input.numel() != N * C * HxW:
        raise RuntimeError(
            f"{name}: {list(input.shape)} is not {N} x {C} x {HxW} in {group} groups"
        )
    if mean.numel() != N * group or rstd.numel() != N * group:
        raise RuntimeError(f"{name}: expected statistics of {N} x {group} groups")
    sizes = (N, group, C // group, HxW)
    gradient = _wide(grad_out.contiguous()).view(sizes)
    scale = _wide(rstd.contiguous()).view(N, group, 1, 1)
    centred = _wide(input.contiguous()).view(sizes) - _wide(mean.contiguous()).view(N, group, 1, 1)
    centred = centred * scale
    weighed = gradient
    if weight is not None:
        weighed = gradient * weight.view(1, group, C // group, 1)
    results = (
        _through(weighed, centred, scale, (2, 3)).view(input.shape) if output_mask[0] else None,
        (gradient * centred).sum([0, 3]).view(C) if output_mask[1] else None,
        gradient.sum([0, 3]).view(C) if output_mask[2] else None,
    )
    like = input if weight is None else weight
    return _narrow(results, (input, like, like))


@op
def native_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> _Gradients:
    """The gradients of input, weight and bias of `native_batch_norm`, as far as asked for.

    Raises RuntimeError where the statistics that `train` asks for are missing.
    """
    name = "native_batch_norm_backward"
    _check(name, grad_out, input)
    average, deviation = (save_mean, save_invstd) if train else (running_mean, running_var)
    if average is None or deviation is None:
        raise RuntimeError(f"{name}: the statistics are missing")
    channels = [1, -1, *[1] * (input.dim() - 2)]
    dims = [dim for dim in range(input.dim()) if dim != 1]
    scale = _wide(deviation) if train else (_wide(deviation) + eps).rsqrt()
    scale = scale.view(channels)
    gradient = _wide(grad_out)
    centred = (_wide(input) - _wide(average).view(channels)) * scale
    weighed = gradient if weight is None else gradient * _wide(weight).view(channels)
    made = None
    if output_mask[0]:
        made = _through(weighed, centred, scale, dims) if train else weighed * scale
    results = (
        made,
        (gradient * centred).sum(dims) if output_mask[1] else None,
        gradient.sum(dims) if output_mask[2] else None,
    )
    like = input if weight is None else weight
    return _narrow(results, (input, like, like))
