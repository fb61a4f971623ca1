"""Activation functions."""

from __future__ import annotations

import math

from aten.ops.definition import op
from aten.ops.requirements import (
    refuse_complex,
    require_floating,
    require_inexact,
    require_number,
)
from aten.ops.selection import limited
from aten.ops.value_checks import zero_alpha
from aten.prims import Number, Value
from aten.prims import elementwise as p

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
    if self.dtype.is_complex:
        return self * p.sigmoid(self)
    return self / (1 + p.exp(-self))


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
    return p.where(scaled > threshold, self, p.log1p(p.exp(scaled)) / beta)


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
