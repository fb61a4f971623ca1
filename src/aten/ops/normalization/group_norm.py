"""Group normalization, and weights split into direction and length."""

from __future__ import annotations

from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory.conversion import as_type, wide
from aten.ops.normalization.normalization import check_parameter_types
from aten.ops.requirements import refusal
from aten.registry import ops

_CHANNELS_LAST = MEMORY_FORMATS["channels_last"]


def _check(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, channels: int, groups: int
) -> None:
    if groups <= 0 or channels % groups:
        raise RuntimeError(f"group_norm: {channels} channels do not make {groups} groups")
    types = {"input": input.dtype}
    for name, operand in (("weight", weight), ("bias", bias)):
        if operand is None:
            continue
        types[name] = operand.dtype
        if tuple(operand.shape) != (channels,):
            raise RuntimeError(
                f"group_norm: {name} must be ({channels},), but is {tuple(operand.shape)}"
            )
    if not input.is_floating_point():
        raise refusal("GroupNormKernelImpl", input.dtype)
    check_parameter_types("group_norm", types)


@op
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,  # noqa: N803
    C: int,  # noqa: N803
    HxW: int,  # noqa: N803
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`input` (N, C, *) normalized by groups of channels; means and reciprocal deviations (N, G).

    Wu and He, Group Normalization (2018). Raises RuntimeError for sizes that do not go together.
    """
    _check(input, weight, bias, C, group)
    if input.numel() != N * C * HxW:
        raise RuntimeError(f"group_norm: {list(input.shape)} is not {N} x {C} x {HxW}")
    rows = input.contiguous().view((N, group, C // group, HxW))
    each = (1, group, C // group, 1)
    out, mean, deviation = ops.fused.normalized(
        rows,
        None if weight is None else weight.reshape(each),
        None if bias is None else bias.reshape(each),
        (2, 3),
        eps,
    )
    out = out.view(input.shape)
    if input.dim() == 4 and input.is_contiguous(memory_format=_CHANNELS_LAST):
        out = out.contiguous(memory_format=_CHANNELS_LAST)
    return out, mean, deviation


@op
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError(f"group_norm: expected (N, C, *), but got {list(input.shape)}")
    samples, channels = input.shape[:2]
    positions = 1
    for size in input.shape[2:]:
        positions *= size
    normalized: tuple[Tensor, ...] = ops.aten.native_group_norm.default(
        input, weight, bias, samples, channels, positions, num_groups, eps
    )
    return normalized[0]


def _lengths(v: Tensor, dim: int) -> Tensor:
    """2-norms of the slices of `v` along `dim`; of the whole for -1."""
    dims = None if dim == -1 else [axis for axis in range(v.dim()) if axis != dim]
    return ops.aten.linalg_vector_norm(v, 2, dims, dim != -1)


@op
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """`v` with its slices along `dim` at lengths `g`.

    Salimans and Kingma, Weight Normalization (2016).
    """
    return v * (g / _lengths(v, dim))


@op
def _weight_norm_interface(v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
    """`_weight_norm`, and the lengths that `v` had; those of bfloat16 in float32."""
    if dim not in (0, v.dim() - 1):
        raise RuntimeError(f"_weight_norm_interface: dim must be 0 or {v.dim() - 1}, not {dim}")
    lengths = _lengths(wide(v) if v.dtype is DTYPES["bfloat16"] else v, dim)
    return as_type(v * (g / lengths), v.dtype), lengths


@op
def _weight_norm_interface_backward(
    grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Gradients of direction and length. Salimans and Kingma (2016), equation 3."""
    dims = [axis for axis in range(saved_v.dim()) if axis != dim]
    unit = saved_v / saved_norms
    of_length = (grad_w * unit).sum(dims, True)
    of_direction = saved_g / saved_norms * (grad_w - unit * of_length)
    return as_type(of_direction, saved_v.dtype), as_type(of_length, saved_g.dtype)
