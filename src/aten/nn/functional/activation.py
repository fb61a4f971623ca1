"""Activation functions; `inplace` writes the result over the input."""

from __future__ import annotations

from aten._core.tensor import Tensor
from aten.registry import ops

__all__ = [
    "celu",
    "elu",
    "glu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]


def _apply(name: str, inplace: bool, input: Tensor, *numbers: float) -> Tensor:
    result: Tensor = getattr(ops.aten, f"{name}_" if inplace else name)(input, *numbers)
    return result


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return _apply("relu", inplace, input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return _apply("relu6", inplace, input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return _apply("elu", inplace, input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return _apply("selu", inplace, input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return _apply("celu", inplace, input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return _apply("leaky_relu", inplace, input, negative_slope)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must not be above max_val: {min_val} > {max_val}")
    return _apply("hardtanh", inplace, input, min_val, max_val)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return _apply("hardswish", inplace, input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return _apply("hardsigmoid", inplace, input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return _apply("silu", inplace, input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return _apply("mish", inplace, input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return _apply("threshold", inplace, input, threshold, value)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim`, gated by the sigmoid of the second."""
    return ops.aten.glu(input, dim)  # type: ignore[no-any-return]


def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    return input.tanh()
