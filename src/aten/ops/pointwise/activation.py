"""Activation functions."""

from __future__ import annotations

import math
from collections.abc import Mapping

from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.pointwise.selection import limited
from aten.ops.requirements import (
    refusal,
    refuse_complex,
    require_floating,
    require_inexact,
    require_number,
)
from aten.ops.value_checks import negative_lambda, zero_alpha
from aten.prims import Number, Value
from aten.prims import elementwise as p
from aten.registry import ops

_HALF_TYPES = ("float16", "bfloat16")
SQRT_TWO_OVER_PI = math.sqrt(2 / math.pi)
# Klambauer et al., Self-Normalizing Neural Networks (2017), equation 14.
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@op
def relu(self: Value) -> Value:
    refuse_complex("clamp is not supported for complex types", self)
    if self.dtype.kind == "bool":
        raise RuntimeError("Boolean inputs not supported for relu")
    return p.where(self < 0, 0, self)


@op
def gelu(self: Value, *, approximate: str = "none") -> Value:
    """x Phi(x) with the normal distribution's Phi, or with tanh in its place.

    Hendrycks and Gimpel, Gaussian Error Linear Units (2016).
    """
    require_floating("GeluKernelImpl", self)
    if approximate == "none":
        return self * p.ndtr(self)
    if approximate == "tanh":
        inner = SQRT_TWO_OVER_PI * (self + 0.044715 * self * self * self)
        return 0.5 * self * (1 + p.tanh(inner))
    raise RuntimeError("approximate argument must be either none or tanh.")


@op
def silu(self: Value) -> Value:
    require_inexact("silu_cpu", self)
    return self * p.sigmoid(self)


@op
def mish(self: Value) -> Value:
    """x tanh(softplus(x)). Misra, Mish: A Self Regularized Non-Monotonic Activation (2019)."""
    require_floating("mish_cpu", self)
    growth = p.exp(self)
    gate = growth * (growth + 2)  # tanh(log(1 + e^x)) is gate / (gate + 2)
    return p.where(self > 20, self, self * (gate / (gate + 2)))


@op
def softplus(self: Value, beta: Value | Number = 1, threshold: Value | Number = 20) -> Value:
    require_floating("softplus_cpu", self)
    scaled = self * beta
    smooth = p.maximum(scaled, 0) + p.log1p(p.exp(-p.abs(scaled)))
    return p.where(scaled > threshold, self, smooth / beta)


@op
def log_sigmoid(self: Value) -> Value:
    require_floating("log_sigmoid_cpu", self)
    return p.minimum(self, 0) - p.log1p(p.exp(-p.abs(self)))


@op
def elu(
    self: Value,
    alpha: Value | Number = 1,
    scale: Value | Number = 1,
    input_scale: Value | Number = 1,
) -> Value:
    require_floating("elu_cpu", self)
    below = p.expm1(self * input_scale) * alpha * scale
    return p.where(self > 0, self * scale, below)


@op
def selu(self: Value) -> Value:
    return elu(self, SELU_ALPHA, SELU_SCALE)


@op(check=zero_alpha)
def celu(self: Value, alpha: Value | Number = 1.0) -> Value:
    return elu(self, alpha, 1, 1 / alpha)


@op
def leaky_relu(self: Value, negative_slope: Value | Number = 0.01) -> Value:
    require_floating("leaky_relu_cpu", self)
    return p.where(self > 0, self, self * negative_slope)


@op
def hardtanh(self: Value, min_val: Value | float = -1, max_val: Value | float = 1) -> Value:
    if self.dtype.kind == "bool":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if self.dtype.kind == "unsigned" and not isinstance(min_val, Value) and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return limited(self, min_val, max_val)


@op
def relu6(self: Value) -> Value:
    return hardtanh(self, 0, 6)


@op
def hardsigmoid(self: Value) -> Value:
    require_floating("hardsigmoid_cpu", self)
    return limited(self + 3, 0, 6) / 6


@op
def hardswish(self: Value) -> Value:
    require_floating("hardswish_cpu", self)
    return self * limited(self + 3, 0, 6) / 6


@op
def threshold(self: Value, threshold: Value, value: Value) -> Value:
    require_number("threshold_cpu", self)
    return p.where(self <= threshold, value, self)


@op
def log_sigmoid_forward(self: Tensor) -> tuple[Tensor, Tensor]:
    """log(sigmoid(x)), and exp(-|x|), which the derivative needs."""
    return ops.aten.log_sigmoid(self), self.abs().neg().exp()


@op(check=negative_lambda)
def softshrink(self: Value, lambd: Value | Number = 0.5) -> Value:
    """Zero within `lambd` of zero; outside, nearer to zero by `lambd`. NaN stays."""
    require_floating("softshrink_cpu", self)
    outside = p.where(self > lambd, self - lambd, p.where(self < -lambd, self + lambd, 0))
    return p.where(self != self, self, outside)


@op
def hardshrink(self: Value, lambd: Value | Number = 0.5) -> Value:
    require_floating("hardshrink_cpu", self)
    return p.where((self >= -lambd) & (self <= lambd), 0, self)


@op
def _prelu_kernel(self: Value, weight: Value) -> Value:
    require_floating("prelu_cpu", self)
    return p.where(self > 0, self, self * weight)


@op
def prelu(self: Tensor, weight: Tensor) -> Tensor:
    """Elements below zero times `weight`: one number, or one for each channel (dimension 1).

    Raises RuntimeError for other weights, and for several with a 0-d input.
    """
    if self.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: input is {self.dtype}, but weight is {weight.dtype}")
    if weight.dim() > 1:
        raise RuntimeError(
            f"prelu: weight must be 0-d or 1-d, but it has {weight.dim()} dimensions"
        )
    count = weight.numel()
    if count != 1:
        channels = self.shape[1] if self.dim() > 1 else min(self.dim(), 1)
        if channels != count:
            raise RuntimeError(f"prelu: {count} weights for an input of {list(self.shape)}")
        weight = weight.view((-1,) + (1,) * (self.dim() - 2))
    elif self.dim():
        weight = weight.view((1,) * self.dim())
    else:
        weight = weight.view(())
    return ops.aten._prelu_kernel(self, weight)


@op
def glu(self: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim`, gated by the sigmoid of the second.

    Dauphin et al., Language Modeling with Gated Convolutional Networks (2016). Raises RuntimeError
    for a 0-d input and an odd size.
    """
    if self.dim() == 0:
        raise RuntimeError("glu: a 0-d input has no halves")
    if not self.is_floating_point():
        raise refusal("glu_cpu", self.dtype)
    half, odd = divmod(self.shape[wrap_dimension(dim, self.dim())], 2)
    if odd:
        raise RuntimeError(f"glu: dimension {dim} must have an even size, but it is {2 * half + 1}")
    return self.narrow(dim, 0, half) * self.narrow(dim, half, half).sigmoid()


@op
def _add_relu(
    self: Value, other: Value, alpha: Value | Number = 1, *, types: Mapping[str, dtype]
) -> Value:
    """A sum without what is below zero; of float32, float64 and signed integers."""
    for element in (types["self"], types["other"]):
        if element.kind in ("bool", "unsigned", "complex") or element.name in _HALF_TYPES:
            raise refusal("add_relu_cpu", element)
    total = self + other * alpha
    return p.where(total < 0, 0, total)
