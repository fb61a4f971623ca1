"""Derivatives of activation functions: the gradient of the input from that of the result."""

from __future__ import annotations

import math

from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.pointwise.activation import SQRT_TWO_OVER_PI
from aten.ops.requirements import refusal, require_floating, require_inexact, require_number
from aten.prims import Value
from aten.prims import elementwise as p
from aten.registry import ops


def _conjugate(value: Value) -> Value:
    return p.complex(p.real(value), -p.imag(value)) if value.dtype.is_complex else value


@op
def sigmoid_backward(grad_output: Value, output: Value) -> Value:
    require_inexact("sigmoid_backward_cpu", output)
    return grad_output * _conjugate((1 - output) * output)


@op
def tanh_backward(grad_output: Value, output: Value) -> Value:
    require_inexact("tanh_backward_cpu", output)
    return grad_output * _conjugate(1 - output * output)


@op
def silu_backward(grad_output: Value, self: Value) -> Value:
    require_inexact("silu_backward_cpu", self)
    gate = p.sigmoid(self)
    return grad_output * (gate * (1 + self * (1 - gate)))


@op
def mish_backward(grad_output: Value, self: Value) -> Value:
    require_floating("mish_backward_cpu", self)
    softplus = p.maximum(self, 0) + p.log1p(p.exp(-p.abs(self)))
    gate = p.tanh(softplus)
    return grad_output * (gate + self * p.sigmoid(self) * (1 - gate * gate))


@op
def gelu_backward(grad_output: Value, self: Value, *, approximate: str = "none") -> Value:
    require_floating("GeluBackwardKernelImpl", self)
    if approximate == "none":
        density = p.exp(-0.5 * self * self) / math.sqrt(2 * math.pi)
        return grad_output * (p.ndtr(self) + self * density)
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    gate = p.tanh(SQRT_TWO_OVER_PI * (self + 0.044715 * self * self * self))
    slope = SQRT_TWO_OVER_PI * (1 + 3 * 0.044715 * self * self)
    return grad_output * (0.5 * (1 + gate) + 0.5 * self * (1 - gate * gate) * slope)


@op
def hardshrink_backward(
    self: Value, lambd: Value, grad_out: Value | None = None, grad_output: Value | None = None
) -> Value:
    """Nothing within `lambd` of zero. The two operators name the gradient differently."""
    gradient = grad_output if grad_out is None else grad_out
    assert gradient is not None
    require_floating("shrink_backward_cpu", self)
    return p.where((self >= -lambd) & (self <= lambd), 0, gradient)


@op
def hardsigmoid_backward(grad_output: Value, self: Value) -> Value:
    require_floating("hardsigmoid_backward", self)
    return p.where((self > -3) & (self < 3), grad_output / 6, 0)


@op
def hardswish_backward(grad_output: Value, self: Value) -> Value:
    require_floating("hardswish_backward_cpu", self)
    inside = p.where(self < 3, grad_output * (self / 3 + 0.5), grad_output)
    return p.where(self <= -3, 0, inside)


@op
def hardtanh_backward(grad_output: Value, self: Value, min_val: Value, max_val: Value) -> Value:
    require_floating("hardshrink_backward_cpu", self)
    return p.where((self <= min_val) | (self >= max_val), 0, grad_output)


def _require_reversible(name: str, slope: float) -> None:
    if slope < 0:
        raise RuntimeError(
            f"{name}: in-place results tell of their inputs only with a slope of 0 or more below "
            f"zero, but it is {slope}"
        )


def _reversible_slope(negative_slope: float, self_is_result: bool) -> None:
    if self_is_result:
        _require_reversible("leaky_relu_backward", negative_slope)


def _reversible_alpha(alpha: float, is_result: bool) -> None:
    if is_result:
        _require_reversible("elu_backward", alpha)


@op(check=_reversible_slope)
def leaky_relu_backward(
    grad_output: Value, self: Value, negative_slope: Value, self_is_result: bool
) -> Value:
    """The sign of the result is that of the input, so either will do."""
    require_floating("leaky_relu_backward_cpu", self)
    return p.where(self > 0, grad_output, grad_output * negative_slope)


@op(check=_reversible_alpha)
def elu_backward(
    grad_output: Value,
    alpha: Value,
    scale: Value,
    input_scale: Value,
    is_result: bool,
    self_or_result: Value,
) -> Value:
    require_floating("elu_backward_cpu", self_or_result)
    low = alpha * scale
    if is_result:
        below = grad_output * input_scale * (self_or_result + low)
    else:
        below = grad_output * input_scale * low * p.exp(self_or_result * input_scale)
    return p.where(self_or_result <= 0, below, grad_output * scale)


@op
def log_sigmoid_backward(grad_output: Value, self: Value, buffer: Value) -> Value:
    """`buffer` holds exp(-|x|)."""
    require_floating("log_sigmoid_backward_cpu", self)
    near = buffer / (1 + buffer)
    return grad_output * p.where(self < 0, 1 - near, near)


@op
def logit_backward(grad_output: Value, self: Value, eps: float | None = None) -> Value:
    require_floating("logit_backward_cpu", self)
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    beyond = math.nan if eps is None else 0.0
    at_ends = (self == 0) | (self == 1)
    inside = p.where(at_ends, grad_output * math.inf, grad_output / (self * (1 - self)))
    return p.where((self < low) | (self > high), beyond, inside)


@op
def softplus_backward(grad_output: Value, self: Value, beta: Value, threshold: Value) -> Value:
    require_floating("softplus_backward_cpu", self)
    growth = p.exp(self * beta)
    smooth = grad_output * growth / (growth + 1)
    return p.where(self * beta > threshold, grad_output, smooth)


@op
def threshold_backward(grad_output: Value, self: Value, threshold: Value) -> Value:
    require_number("threshold_cpu", self)
    return p.where(self <= threshold, 0, grad_output)


@op
def _prelu_kernel_backward(
    grad_output: Tensor, self: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of the input and, not yet summed, of the weights."""
    above = self > 0
    return (
        ops.aten.where(above, grad_output, weight * grad_output),
        ops.aten.where(above, 0, self * grad_output),
    )


def _halves(name: str, self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    if self.dim() == 0:
        raise RuntimeError(f"{name}: a 0-d input has no halves")
    if not self.is_floating_point():
        raise refusal("glu_backward_cpu", self.dtype)
    half, odd = divmod(self.shape[wrap_dimension(dim, self.dim())], 2)
    if odd:
        raise RuntimeError(f"{name}: dimension {dim} must have an even size, not {2 * half + 1}")
    return self.narrow(dim, 0, half), self.narrow(dim, half, half)


@op
def glu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradient of both halves of what `glu` gates."""
    first, second = _halves("glu_backward", self, dim)
    gate = second.sigmoid()
    through = grad_output * gate
    return ops.aten.cat((through, through * (1 - gate) * first), dim)


@op
def glu_jvp(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
    """How `glu` changes where its input changes by `dx`."""
    _, second = _halves("glu_jvp", x, dim)
    first_change, second_change = _halves("glu_jvp", dx, dim)
    gate = second.sigmoid()
    return first_change * gate + glu * (1 - gate) * second_change


@op
def glu_backward_jvp(
    grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int
) -> Tensor:
    """How `glu_backward` changes with its gradient (`dgrad_glu`) and its input (`dx`)."""
    first, second = _halves("glu_backward_jvp", x, dim)
    first_change, second_change = _halves("glu_backward_jvp", dx, dim)
    gate = second.sigmoid()
    rest = 1 - gate
    moved = gate * rest * second_change
    through = dgrad_glu * gate + grad_glu * moved
    slope = gate * rest * first
    turned = moved * rest * first - gate * moved * first + gate * rest * first_change
    return ops.aten.cat((through, dgrad_glu * slope + grad_glu * turned), dim)


@op
def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """The derivative of `gelu`, in steps that have derivatives themselves."""
    normal = 0.5 * (1 + ops.aten.erf(self * math.sqrt(0.5)))
    density = (self * self * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
    return grad * (normal + self * density)
