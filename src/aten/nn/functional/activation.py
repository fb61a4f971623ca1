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


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.relu_ if inplace else ops.aten.relu)(input)
    return result


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.relu6_ if inplace else ops.aten.relu6)(input)
    return result


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.elu_ if inplace else ops.aten.elu)(input, alpha)
    return result


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.selu_ if inplace else ops.aten.selu)(input)
    return result


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.celu_ if inplace else ops.aten.celu)(input, alpha)
    return result


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.leaky_relu_ if inplace else ops.aten.leaky_relu)(
        input, negative_slope
    )
    return result


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must not be above max_val: {min_val} > {max_val}")
    result: Tensor = (ops.aten.hardtanh_ if inplace else ops.aten.hardtanh)(input, min_val, max_val)
    return result


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.hardswish_ if inplace else ops.aten.hardswish)(input)
    return result


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.hardsigmoid_ if inplace else ops.aten.hardsigmoid)(input)
    return result


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.silu_ if inplace else ops.aten.silu)(input)
    return result


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.mish_ if inplace else ops.aten.mish)(input)
    return result


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    result: Tensor = (ops.aten.threshold_ if inplace else ops.aten.threshold)(
        input, threshold, value
    )
    return result


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
