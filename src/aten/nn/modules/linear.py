"""Layers that are one product: Identity, Linear, Bilinear."""

from __future__ import annotations

import math
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.nn import init
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter
from aten.registry import ops

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Gives back its input, whatever it is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """(*, in_features) to (*, out_features): input @ weightᵀ + bias."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        made = {"device": device, "dtype": dtype}
        self.weight = Parameter(ops.aten.empty((out_features, in_features), **made))
        self.register_parameter(
            "bias", Parameter(ops.aten.empty(out_features, **made)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw evenly from ±1/√in_features."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Any:
        return ops.aten.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """(*, in1_features) and (*, in2_features) to (*, out_features): input1 · A · input2 + bias."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"Bilinear: in1_features must be at least 1, got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        made = {"device": device, "dtype": dtype}
        sizes = (out_features, in1_features, in2_features)
        self.weight = Parameter(ops.aten.empty(sizes, **made))
        self.register_parameter(
            "bias", Parameter(ops.aten.empty(out_features, **made)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw evenly from ±1/√in1_features."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Any:
        return ops.aten.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` of `MultiheadAttention`, under the name that torch shows it by."""
