"""Batch normalization, by stored statistics or by those of the batch.

Either way a channel is scaled and shifted: what that takes is worked out on numbers per channel,
and one loop over the input applies it.
"""

from __future__ import annotations

from typing import Any

from aten._core.autograd.operators import own_storages_from
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.memory import write_outs
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory.conversion import as_type, wide
from aten.registry import ops


def _check(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
) -> None:
    """Raises RuntimeError for missing statistics and for sizes other than the channels'."""
    if input.dim() < 2:
        raise RuntimeError(
            f"batch_norm: expected input of at least two dimensions, but got {list(input.shape)}"
        )
    channels = input.shape[1]
    named = {
        "running_mean": running_mean,
        "running_var": running_var,
        "weight": weight,
        "bias": bias,
    }
    for name, operand in named.items():
        if operand is None:
            if not training and name.startswith("running"):
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif operand.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {operand.numel()}")
        elif name.startswith("running") and operand.dim() != 1:
            raise RuntimeError(
                f"batch_norm: expected {name} of one dimension, but got {list(operand.shape)}"
            )
    if not input.is_floating_point():
        raise NotImplementedError(
            f"\"batch_norm\" not implemented for '{input.dtype.scalar_type_name}'"
        )


def transformed(input: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """`input * scale + shift` in the input's type, laid out as it is."""
    if scale.dtype is input.dtype:
        return ops.aten.addcmul.default(shift, input, scale)
    out = ops.aten.empty_like.default(input)
    return ops.aten.addcmul.out(shift, input, scale, out=out)


def affine(
    mean: Tensor, deviation: Tensor, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """What `(input - mean) * deviation * weight + bias` scales by, and what it adds then.

    `deviation` is the reciprocal one.
    """
    scale = deviation if weight is None else deviation * wide(weight)
    if bias is None:
        return scale, mean * -scale
    return scale, ops.aten.addcmul.default(wide(bias), mean, -scale)


def _normalized(
    input: Tensor, mean: Tensor, deviation: Tensor, weight: Tensor | None, bias: Tensor | None
) -> Tensor:
    shape = (-1,) + (1,) * (input.dim() - 2)
    scale, shift = affine(mean, deviation, weight, bias)
    return transformed(input, scale.view(shape), shift.view(shape))


def _by_statistics(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    deviation = ops.aten.rsqrt.default(wide(running_var) + eps)
    out = _normalized(input, wide(running_mean), deviation, weight, bias)
    unused = ops.aten.new_empty.default
    return out, unused(running_mean, (0,)), unused(running_mean, (0,))


def _by_batch(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
) -> tuple[tuple[Tensor, Tensor, Tensor], list[tuple[Tensor, Tensor]]]:
    """Normalize by the batch; the stored statistics, and what moves towards the batch's."""
    dims = [dim for dim in range(input.dim()) if dim != 1]
    var, mean = ops.aten.var_mean.correction(wide(input), dims, correction=0)
    deviation = ops.aten.rsqrt.default(var + eps)
    out = _normalized(input, mean, deviation, weight, bias)
    moved = []
    if running_mean is not None:
        moved.append((running_mean, running_mean.mul(1 - momentum).add(mean, alpha=momentum)))
    if running_var is not None:
        count = input.numel() // max(input.shape[1], 1)
        share = momentum * (count / (count - 1) if count > 1 else float("nan"))
        moved.append((running_var, running_var.mul(1 - momentum).add(var, alpha=share)))
    return (out, mean, deviation), moved


def _store(moved: list[tuple[Tensor, Tensor]]) -> None:
    """Write all new statistics, or, where there is no memory for one of them, none."""
    if moved:
        stored, values = zip(*moved, strict=True)
        write_outs("batch_norm", stored, values, ops.aten.copy_.default)


@op(writes=("running_mean", "running_var"))
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`input` (N, C, *) normalized, and, when training, mean and reciprocal deviation per channel.

    Training normalizes by the batch and updates the running statistics in place. Raises
    RuntimeError for sizes that do not go together.
    """
    _check(input, running_mean, running_var, weight, bias, training)
    if not training:
        assert running_mean is not None
        assert running_var is not None
        return _by_statistics(input, weight, bias, running_mean, running_var, eps)
    (out, mean, deviation), moved = _by_batch(
        input, weight, bias, running_mean, running_var, momentum, eps
    )
    given = (operand for operand in (weight, bias, running_mean) if operand is not None)
    element = next(given, input).dtype
    results = out, as_type(mean, element), as_type(deviation, element)
    _store(moved)
    return results


@op
def _native_batch_norm_legit_no_training(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`native_batch_norm` by stored statistics."""
    _check(input, running_mean, running_var, weight, bias, False)
    return _by_statistics(input, weight, bias, running_mean, running_var, eps)


@op("_native_batch_norm_legit")
def _native_batch_norm_legit(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    """`native_batch_norm` with stored statistics, which training changes."""
    return native_batch_norm(*arguments)


@op("_native_batch_norm_legit.no_stats")
def _native_batch_norm_legit_no_stats(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """`native_batch_norm` without stored statistics."""
    return native_batch_norm(input, weight, bias, None, None, *rest)


@op
def batch_norm(input: Tensor, *rest: Any) -> Tensor:
    """The first result of `native_batch_norm`; `rest` ends with `cudnn_enabled`."""
    if input.numel() == 0:
        return input.clone()
    return ops.aten.native_batch_norm.default(input, *rest[:-1])[0]


@op
def _native_batch_norm_legit_functional(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    *rest: Any,
) -> tuple[Tensor, ...]:
    """`native_batch_norm` that leaves the statistics alone and returns new ones."""
    moved = running_mean.clone(), running_var.clone()
    return *native_batch_norm(input, weight, bias, *moved, *rest), *moved


def _reserved(input: Tensor) -> Tensor:
    """What other libraries keep for the derivative; nothing, here."""
    return input.new_empty((0,), dtype=DTYPES["uint8"])


@op
def _batch_norm_with_update(input: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """`native_batch_norm` in training, and an empty tensor of bytes."""
    weight, bias, mean, var, *numbers = rest
    results = native_batch_norm(input, weight, bias, mean, var, True, *numbers)
    return *results, _reserved(input)


@op
def _batch_norm_with_update_functional(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    *rest: Any,
) -> tuple[Tensor, ...]:
    """`_batch_norm_with_update` that leaves the statistics alone and returns new ones."""
    moved = running_mean.clone(), running_var.clone()
    return *_batch_norm_with_update(input, weight, bias, *moved, *rest), *moved


@op
def _batch_norm_no_update(input: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """`native_batch_norm` by stored statistics, and an empty tensor of bytes."""
    weight, bias, mean, var, *numbers = rest
    results = native_batch_norm(input, weight, bias, mean, var, False, *numbers)
    return *results, _reserved(input)


@op
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Batch norm of every sample by itself; stored statistics move towards the samples' mean.

    Ulyanov et al., Instance Normalization (2016). `input` (N, C, *). Raises RuntimeError where
    neither the input's statistics are used nor stored ones are there.
    """
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("instance_norm: without use_input_stats, running statistics are needed")
    if (running_mean is None) is not (running_var is None):
        raise ValueError("instance_norm: running_mean and running_var are needed both, or neither")
    if input.dim() < 2:
        raise RuntimeError(f"instance_norm: expected (N, C, *), but got {list(input.shape)}")
    samples, channels = input.shape[:2]
    rows = input.contiguous().view((1, samples * channels, *input.shape[2:]))

    def repeated(one: Tensor | None) -> Tensor | None:
        return None if one is None else one.expand((samples, channels)).reshape(-1)

    # Copies: where nothing is repeated a view would be moved before all else is computed.
    mean, var = (
        None if one is None else one.clone()
        for one in (repeated(running_mean), repeated(running_var))
    )
    out: Tensor = ops.aten.native_batch_norm.default(
        rows, repeated(weight), repeated(bias), mean, var, use_input_stats, momentum, eps
    )[0]
    if use_input_stats:
        _store_whoever_made_them(
            [
                (stored, moved.view((samples, channels)).mean([0]))
                for stored, moved in ((running_mean, mean), (running_var, var))
                if stored is not None and moved is not None
            ]
        )
    return out.view(input.shape)


def _store_whoever_made_them(moved: list[tuple[Tensor, Tensor]]) -> None:
    """`_store`, in functions being differentiated, too: statistics have no gradients to lose."""
    known = own_storages_from(0)
    try:
        _store(moved)
    finally:
        own_storages_from(known)
