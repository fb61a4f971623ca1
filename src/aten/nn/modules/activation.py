"""Activations as modules."""

from __future__ import annotations

from typing import Any, ClassVar

import aten.nn.functional as functional
from aten._core.tensor.tensor import Tensor
from aten.nn.init import constant_
from aten.nn.modules.module import Module
from aten.nn.modules.settings import SettingsModule
from aten.nn.parameter import Parameter
from aten.registry import ops

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class ReLU(SettingsModule):
    """max(x, 0)."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Any:
        return functional.relu(input, self.inplace)


class ReLU6(SettingsModule):
    """min(max(x, 0), 6)."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Any:
        return functional.relu6(input, self.inplace)


class SiLU(SettingsModule):
    """x · sigmoid(x)."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Any:
        return functional.silu(input, self.inplace)


class Mish(SettingsModule):
    """x · tanh(softplus(x))."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Any:
        return functional.mish(input, self.inplace)


class SELU(SettingsModule):
    """Scaled ELU with fixed points."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Any:
        return functional.selu(input, self.inplace)


class Hardswish(SettingsModule):
    """x · relu6(x + 3) / 6."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Any:
        return functional.hardswish(input, self.inplace)


class Hardsigmoid(SettingsModule):
    """relu6(x + 3) / 6."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Any:
        return functional.hardsigmoid(input, self.inplace)


class ELU(SettingsModule):
    """x above 0, alpha · (exp(x) - 1) below."""

    alpha: float = 1.0
    inplace: bool = False
    _shown: ClassVar[str] = "alpha={alpha}"

    def forward(self, input: Tensor) -> Any:
        return functional.elu(input, self.alpha, self.inplace)


class CELU(SettingsModule):
    """As ELU, with a continuous derivative for every alpha."""

    alpha: float = 1.0
    inplace: bool = False
    _shown: ClassVar[str] = "alpha={alpha}"

    def forward(self, input: Tensor) -> Any:
        return functional.celu(input, self.alpha, self.inplace)


class LeakyReLU(SettingsModule):
    """x above 0, negative_slope · x below."""

    negative_slope: float = 0.01
    inplace: bool = False
    _shown: ClassVar[str] = "negative_slope={negative_slope}"

    def forward(self, input: Tensor) -> Any:
        return functional.leaky_relu(input, self.negative_slope, self.inplace)


class Hardtanh(SettingsModule):
    """x within [min_val, max_val], else the nearer end."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    _shown: ClassVar[str] = "min_val={min_val}, max_val={max_val}"

    def forward(self, input: Tensor) -> Any:
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Threshold(SettingsModule):
    """x above threshold, else value."""

    threshold: float
    value: float
    inplace: bool = False
    _shown: ClassVar[str] = "threshold={threshold}, value={value}"

    def forward(self, input: Tensor) -> Any:
        return functional.threshold(input, self.threshold, self.value, self.inplace)


class GELU(SettingsModule):
    """x · Φ(x), or nearly with approximate='tanh'."""

    approximate: str = "none"
    _shown: ClassVar[str] = "approximate={approximate!r}"

    def forward(self, input: Tensor) -> Any:
        return functional.gelu(input, approximate=self.approximate)


class GLU(SettingsModule):
    """Half of a dimension times the sigmoid of the other half."""

    dim: int = -1
    _shown: ClassVar[str] = "dim={dim}"

    def forward(self, input: Tensor) -> Any:
        return functional.glu(input, self.dim)


class Hardshrink(SettingsModule):
    """x, but 0 within ±lambd."""

    lambd: float = 0.5
    _shown: ClassVar[str] = "{lambd}"

    def forward(self, input: Tensor) -> Any:
        return functional.hardshrink(input, self.lambd)


class Softshrink(SettingsModule):
    """x towards 0 by lambd."""

    lambd: float = 0.5
    _shown: ClassVar[str] = "{lambd}"

    def forward(self, input: Tensor) -> Any:
        return functional.softshrink(input, self.lambd)


class Softplus(SettingsModule):
    """log(1 + exp(beta · x)) / beta."""

    beta: float = 1.0
    threshold: float = 20.0
    _shown: ClassVar[str] = "beta={beta}, threshold={threshold}"

    def forward(self, input: Tensor) -> Any:
        return functional.softplus(input, self.beta, self.threshold)


class Softmax(SettingsModule):
    """exp(x) / Σ exp(x) along a dimension."""

    dim: int | None = None
    _shown: ClassVar[str] = "dim={dim}"

    def forward(self, input: Tensor) -> Any:
        return functional.softmax(input, self.dim, _stacklevel=5)


class Softmin(SettingsModule):
    """Softmax of -x."""

    dim: int | None = None
    _shown: ClassVar[str] = "dim={dim}"

    def forward(self, input: Tensor) -> Any:
        return functional.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(SettingsModule):
    """log(softmax(x)) along a dimension."""

    dim: int | None = None
    _shown: ClassVar[str] = "dim={dim}"

    def forward(self, input: Tensor) -> Any:
        return functional.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(SettingsModule):
    """Softmax over the channels of (N, C, H, W)."""

    def forward(self, input: Tensor) -> Any:
        return functional.softmax(input, -3)


class Sigmoid(SettingsModule):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Any:
        return functional.sigmoid(input)


class Tanh(SettingsModule):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Any:
        return functional.tanh(input)


class Softsign(SettingsModule):
    """x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Any:
        return functional.softsign(input)


class Tanhshrink(SettingsModule):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Any:
        return functional.tanhshrink(input)


class LogSigmoid(SettingsModule):
    """log(sigmoid(x))."""

    def forward(self, input: Tensor) -> Any:
        return functional.logsigmoid(input)


class PReLU(Module):
    """x above 0, weight · x below; one weight, or one for each channel (He et al. 2015)."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(ops.aten.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Every weight as at first."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Any:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(SettingsModule):
    """x above 0; below, x times a slope drawn from [lower, upper], or their mean."""

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False
    _shown: ClassVar[str] = "lower={lower}, upper={upper}"

    def forward(self, input: Tensor) -> Any:
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)
