"""Numbers rounded to what a quantized type could hold, but kept as floating numbers.

Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference (2018).
"""

from __future__ import annotations

from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops


def require_floating_tensor(name: str, self: Tensor) -> None:
    if not self.is_floating_point():
        raise refusal(name, self.dtype)


def _rounded(
    name: str, self: Tensor, scale: Tensor, zero_point: Tensor, limits: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """The rounded numbers, and where they are within the limits."""
    low, high = limits
    if low > high:
        raise RuntimeError(f"{name}: quant_min must not be above quant_max, but {low} > {high}")
    require_floating_tensor(name, self)
    steps = (self * scale.reciprocal()).round() + zero_point
    if zero_point.is_floating_point() and zero_point.dim():
        steps = (self * scale.reciprocal() + zero_point).round()
    mask = (steps >= low) & (steps <= high)
    # In float32, which scales are of, for double numbers, too: as torch's.
    whole = (steps.clamp(low, high) - zero_point).to(scale.dtype)
    return (whole * scale).to(self.dtype), mask


def _number(value: float | Tensor, like: Tensor, element: str) -> Tensor:
    """One number as a 0-d tensor."""
    if isinstance(value, Tensor):
        return value.reshape(()).to(DTYPES[element])
    return ops.aten.full((), value, dtype=DTYPES[element], device=like.device)


def _check_zero_point(name: str, zero_point: float | Tensor, low: int, high: int) -> None:
    if not isinstance(zero_point, Tensor) and not low <= zero_point <= high:
        raise RuntimeError(
            f"{name}: zero_point must be between quant_min and quant_max, but is {zero_point}"
        )


@op
def fake_quantize_per_tensor_affine_cachemask(
    called: OpOverload,
    self: Tensor,
    scale: float | Tensor,
    zero_point: int | Tensor,
    *limits: Any,
) -> tuple[Tensor, Tensor]:
    """The rounded numbers, and where they were not cut off, with one scale for all of them.

    Before the limits may be a tensor of whether to round at all. Raises RuntimeError for limits
    and zero points that do not fit.
    """
    *enabled, low, high = limits
    _check_zero_point(called.name, zero_point, low, high)
    require_floating_tensor(called.name, self)
    if enabled and not enabled[0].item():
        return self.clone(), ops.aten.ones_like(self, dtype=DTYPES["bool"])
    one, zero = _number(scale, self, "float32"), _number(zero_point, self, "int64")
    return _rounded(called.name, self, one, zero, (low, high))


@op
def fake_quantize_per_tensor_affine(
    called: OpOverload,
    self: Tensor,
    scale: float | Tensor,
    zero_point: int | Tensor,
    quant_min: int,
    quant_max: int,
) -> Tensor:
    """The first result of `fake_quantize_per_tensor_affine_cachemask`."""
    if isinstance(scale, Tensor):
        always = ops.aten.ones((1,), dtype=DTYPES["int64"])
        rounding = ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default
        return rounding(self, scale, zero_point, always, quant_min, quant_max)[0]
    rounded = ops.aten.fake_quantize_per_tensor_affine_cachemask.default
    return rounded(self, scale, zero_point, quant_min, quant_max)[0]


def _along(name: str, self: Tensor, axis: int, **parameters: Tensor) -> list[Tensor]:
    """Parameters with a number for each place along `axis`, shaped to go with `self`."""
    if axis < 0:
        raise RuntimeError(f"{name}: axis must be from 0 to {self.dim() - 1}, but is {axis}")
    axis = wrap_dimension(axis, self.dim())
    sizes = [size if place == axis else 1 for place, size in enumerate(self.shape)]
    for named, one in parameters.items():
        if one.dim() != 1 or one.numel() != self.shape[axis]:
            raise RuntimeError(
                f"{name}: {named} must have one dimension of {self.shape[axis]}, as self along "
                f"{axis}, but its sizes are {list(one.shape)}"
            )
    return [one.view(sizes) for one in parameters.values()]


@op
def fake_quantize_per_channel_affine_cachemask(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> tuple[Tensor, Tensor]:
    """`fake_quantize_per_tensor_affine_cachemask` with a scale for each place along `axis`.

    Raises RuntimeError for parameters that do not fit, in type or size or by the limits.
    """
    name = "fake_quantize_per_channel_affine_cachemask"
    if scale.dtype.name != "float32":
        raise RuntimeError(f"{name}: scale must be float32, but is {scale.dtype}")
    if zero_point.dtype.name not in ("int32", "float32", "float16"):
        raise RuntimeError(
            f"{name}: zero_point must be int32, float32 or float16, but is {zero_point.dtype}"
        )
    if not zero_point.is_floating_point() and zero_point.numel():
        for extreme in (zero_point.min(), zero_point.max()):
            _check_zero_point(name, int(extreme.item()), quant_min, quant_max)
    one, zero = _along(name, self, axis, scale=scale, zero_point=zero_point)
    return _rounded(name, self, one, zero, (quant_min, quant_max))


@op
def fake_quantize_per_channel_affine(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """The first result of `fake_quantize_per_channel_affine_cachemask`."""
    rounded = ops.aten.fake_quantize_per_channel_affine_cachemask
    return rounded(self, scale, zero_point, axis, quant_min, quant_max)[0]


@op
def fake_quantize_backward(called: OpOverload, grad: Tensor, mask: Tensor) -> Tensor:
    """The gradient where the number was not cut off. Raises RuntimeError for other masks."""
    if mask.dtype.name != "bool" or mask.numel() != grad.numel():
        raise RuntimeError(
            f"{called.name}: mask must be bool, with {grad.numel()} elements, but is {mask.dtype} "
            f"with {mask.numel()}"
        )
    if grad.numel() == 0:
        return grad
    return grad * mask


def _learnt_points(zero_point: Tensor, low: int, high: int) -> Tensor:
    """Zero points that were learnt, as the whole numbers between the limits that they stand for."""
    return zero_point.round().clamp(low, high)


def _learnt(
    name: str, self: Tensor, scale: Tensor, zero_point: Tensor, axis: int | None, limits: Any
) -> tuple[Tensor, Tensor]:
    """Scales and zero points that go with `self`. Raises RuntimeError for those that do not."""
    low, high = limits
    require_floating_tensor(name, self)
    for named, one in (("scale", scale), ("zero_point", zero_point)):
        if one.dtype.name != "float32":
            raise RuntimeError(f"{name}: {named} must be float32, but is {one.dtype}")
    if low > 0 or high < 0:
        raise RuntimeError(f"{name}: zero must lie between the limits {low} and {high}")
    points = _learnt_points(zero_point, low, high)
    if axis is None:
        return scale.reshape(-1)[0], points.reshape(-1)[0]
    one, zero = _along(name, self, axis, scale=scale, zero_point=points)
    return one, zero


@op
def _fake_quantize_learnable(
    called: OpOverload,
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    *limits: Any,
    grad_factor: float = 1.0,
) -> Tensor:
    """Rounding with scales and zero points that are learnt: one, or one for each place of an axis.

    Where there is an axis it comes before the limits; the factor is for gradients only. Esser et
    al., Learned Step Size Quantization (2020). Raises RuntimeError for types beside float32 and for
    limits with zero outside.
    """
    axis, low, high = _axis_and_limits(called.name, limits)
    one, zero = _learnt(called.name, self, scale, zero_point, axis, (low, high))
    steps = (self * one.reciprocal()).round() + zero
    return ((steps.clamp(low, high) - zero) * one).to(self.dtype)


def _axis_and_limits(name: str, given: Any) -> tuple[int | None, int, int]:
    if "per_channel" in name:
        return given[0], given[1], given[2]
    return None, given[0], given[1]


@op
def _fake_quantize_learnable_backward(
    called: OpOverload,
    grad: Tensor,
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    *limits: Any,
    grad_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of numbers, scales and zero points."""
    axis, low, high = _axis_and_limits(called.name, limits)
    rest = limits[2:] if axis is None else limits[3:]
    factor = rest[0] if rest else grad_factor
    one, zero = _learnt(called.name, self, scale, zero_point, axis, (low, high))
    if grad.shape != self.shape:
        raise RuntimeError(f"{called.name}: grad must have the sizes of self, {list(self.shape)}")
    steps = (self * one.reciprocal() + zero).round()
    inside = (steps >= low) & (steps <= high)
    rounded = (steps.clamp(low, high) - zero) * one
    cut = ops.aten.where(steps < low, low - zero, high - zero)
    of_scale = ops.aten.where(inside, (rounded - self) * one.reciprocal(), cut) * grad * factor
    of_point = ops.aten.where(inside, 0.0, -one) * grad * factor
    dims = [place for place in range(self.dim()) if axis is None or place != axis]

    def summed(parts: Tensor) -> Tensor:
        result: Tensor = parts.sum(dims) if dims else parts
        return result.reshape(scale.shape)

    return grad * inside, summed(of_scale), summed(of_point)
