"""Activation functions; `inplace` writes the result over the input."""

from __future__ import annotations

from aten._core.base.device import MEMORY_FORMATS
from aten._core.dispatch.functions import forwards
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "glu",
    "gumbel_softmax",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "mish",
    "relu",
    "relu6",
    "relu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]


@forwards("relu(input)")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(0, x).

    Example:

        >>> aten.nn.functional.relu(aten.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    return (ops.aten.relu_ if inplace else ops.aten.relu)(input)


@forwards("relu6(input)")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(0, x), 6).

    Example:

        >>> aten.nn.functional.relu6(aten.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """
    return (ops.aten.relu6_ if inplace else ops.aten.relu6)(input)


@forwards("elu(input, alpha)")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha × (exp(x) - 1)).

    Example:

        >>> aten.nn.functional.elu(aten.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.6321,  0.0000,  2.0000])
    """
    return (ops.aten.elu_ if inplace else ops.aten.elu)(input, alpha)


@forwards("selu(input)")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale × (max(0, x) + min(0, α (exp(x) - 1))), whose constants keep mean 0 and variance 1.

    Example:

        >>> aten.nn.functional.selu(aten.tensor([-1.0, 0.0, 1.0]))
        tensor([-1.1113,  0.0000,  1.0507])
    """
    return (ops.aten.selu_ if inplace else ops.aten.selu)(input)


@forwards("celu(input, alpha)")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha × (exp(x / alpha) - 1)).

    Example:

        >>> aten.nn.functional.celu(aten.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.6321,  0.0000,  2.0000])
    """
    return (ops.aten.celu_ if inplace else ops.aten.celu)(input, alpha)


@forwards("leaky_relu(input, negative_slope)")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x, or negative_slope × x below 0.

    Example:

        >>> aten.nn.functional.leaky_relu(aten.tensor([-10.0, 0.0, 2.0]))
        tensor([-0.1000,  0.0000,  2.0000])
    """
    return (ops.aten.leaky_relu_ if inplace else ops.aten.leaky_relu)(input, negative_slope)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Each element, or the bound that it lies beyond.

    Example:

        >>> aten.nn.functional.hardtanh(aten.tensor([-2.0, 0.5, 2.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must not be above max_val: {min_val} > {max_val}")
    return (ops.aten.hardtanh_ if inplace else ops.aten.hardtanh)(input, min_val, max_val)


@forwards("hardswish(input)")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x × hardsigmoid(x).

    Example:

        >>> aten.nn.functional.hardswish(aten.tensor([-4.0, 1.0, 4.0]))
        tensor([-0.0000, 0.6667, 4.0000])
    """
    return (ops.aten.hardswish_ if inplace else ops.aten.hardswish)(input)


@forwards("hardsigmoid(input)")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6, a sigmoid of three lines.

    Example:

        >>> aten.nn.functional.hardsigmoid(aten.tensor([-4.0, 0.0, 4.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return (ops.aten.hardsigmoid_ if inplace else ops.aten.hardsigmoid)(input)


@forwards("silu(input)")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x / (1 + exp(-x)).

    Example:

        >>> aten.nn.functional.silu(aten.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    return (ops.aten.silu_ if inplace else ops.aten.silu)(input)


@forwards("mish(input)")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(log(1 + exp(x))).

    Example:

        >>> aten.nn.functional.mish(aten.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.3034,  0.0000,  1.9440])
    """
    return (ops.aten.mish_ if inplace else ops.aten.mish)(input)


@forwards("threshold(input, threshold, value)")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Each element, or `value` where it is at most `threshold`.

    Example:

        >>> aten.nn.functional.threshold(aten.tensor([-1.0, 0.5, 2.0]), 0.5, 20.0)
        tensor([20., 20.,  2.])
    """
    return (ops.aten.threshold_ if inplace else ops.aten.threshold)(input, threshold, value)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|).

    Example:

        >>> aten.nn.functional.softsign(aten.tensor([-1.0, 0.0, 3.0]))
        tensor([-0.5000,  0.0000,  0.7500])
    """
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    Example:

        >>> aten.nn.functional.tanhshrink(aten.tensor([0.0, 1.0, -10.0]))
        tensor([ 0.0000,  0.2384, -9.0000])
    """
    return input - input.tanh()


@forwards("glu(input, dim)")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim`, gated by the sigmoid of the second.

    Example:

        >>> aten.nn.functional.glu(aten.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """
    return ops.aten.glu(input, dim)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)).

    Example:

        >>> aten.nn.functional.sigmoid(aten.tensor([-1.0, 0.0, 1.0]))
        tensor([0.2689, 0.5000, 0.7311])
    """
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent.

    Example:

        >>> aten.nn.functional.tanh(aten.tensor([0.0, 1.0, -10.0]))
        tensor([ 0.0000,  0.7616, -1.0000])
    """
    return input.tanh()


# The same, written over the input.


def relu_(input: Tensor) -> Tensor:
    """`relu`, written into `input`.

    Example:

        >>> aten.nn.functional.relu_(aten.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return ops.aten.relu_(input)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu`, written into `input`.

    Example:

        >>> aten.nn.functional.elu_(aten.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return elu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """`selu`, written into `input`.

    Example:

        >>> aten.nn.functional.selu_(aten.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    return selu(input, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu`, written into `input`.

    Example:

        >>> aten.nn.functional.celu_(aten.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return celu(input, alpha, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu`, written into `input`.

    Example:

        >>> aten.nn.functional.leaky_relu_(aten.tensor([-1.0, 2.0]))
        tensor([-0.0100,  2.0000])
    """
    return leaky_relu(input, negative_slope, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh`, written into `input`.

    Example:

        >>> aten.nn.functional.hardtanh_(aten.tensor([-1.0, 2.0]))
        tensor([-1.,  1.])
    """
    return hardtanh(input, min_val, max_val, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold`, written into `input`.

    Example:

        >>> aten.nn.functional.threshold_(aten.tensor([-1.0, 2.0]), 0.5, 9.0)
        tensor([9., 2.])
    """
    return ops.aten.threshold_(input, threshold, value)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Samples of categories that are nearly one-hot, the more so the lower `tau`; `hard`: one-hot.

    softmax((logits + g) / tau) with g of the standard Gumbel distribution. Jang, Gu & Poole,
    Categorical Reparameterization with Gumbel-Softmax (2017). `eps` is there for old callers.

    Example:

        >>> _ = aten.manual_seed(0)
        >>> aten.nn.functional.gumbel_softmax(aten.zeros(4), hard=True).sum()
        tensor(1.)
    """
    exponential = ops.aten.empty_like(logits, memory_format=MEMORY_FORMATS["contiguous_format"])
    gumbel = exponential.exponential_().log().neg()
    soft: Tensor = ((logits + gumbel) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    zeros = ops.aten.zeros_like(logits, memory_format=MEMORY_FORMATS["contiguous_format"])
    # The value is the hard sample's; the gradient is the soft one's.
    return zeros.scatter_(dim, index, 1.0) - soft.detach() + soft
