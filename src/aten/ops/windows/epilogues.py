"""Convolutions with what follows them: a residual that is added, and an activation.

The operator is one of the namespace `fused`, which compiled programs call and nobody else. It is
what its parts are one after the other; the CPU does them while sums are in registers and caches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

# What becomes of sums, by name, with the numbers it takes.
ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "none": lambda sums: sums,
    "relu": lambda sums: ops.aten.relu.default(sums),
    "hardtanh": lambda sums, low, high: ops.aten.hardtanh.default(sums, low, high),
    "sigmoid": lambda sums: ops.aten.sigmoid.default(sums),
    "silu": lambda sums: ops.aten.silu.default(sums),
    "hardswish": lambda sums: ops.aten.hardswish.default(sums),
    "gelu": lambda sums: ops.aten.gelu.default(sums),
    "gelu_tanh": lambda sums: ops.aten.gelu.default(sums, approximate="tanh"),
}
_NUMBERS = {"hardtanh": 2}


def convolution_epilogue(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    activation: str,
    values: Sequence[float],
) -> Tensor:
    """activation(convolution(input, weight, bias) + residual), of which the last two may be absent.

    `activation` is a name in `ACTIVATIONS`, `values` the numbers it takes: the limits of
    "hardtanh". `residual` broadcasts with the convolution's result. Raises RuntimeError for other
    names and numbers, and what the operators it is made of raise.
    """
    check_activation(activation, values)
    sums = ops.aten.convolution.default(
        input, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups
    )
    if residual is not None:
        sums = ops.aten.add.Tensor(sums, residual)
    return ACTIVATIONS[activation](sums, *values)


def check_activation(activation: str, values: Sequence[float]) -> None:
    """Raises RuntimeError for an unknown name, and for numbers that it does not take."""
    if activation not in ACTIVATIONS:
        raise RuntimeError(
            f"convolution_epilogue: expected activation to be one of {', '.join(ACTIVATIONS)}, "
            f"got {activation!r}"
        )
    expected = _NUMBERS.get(activation, 0)
    if len(values) != expected:
        raise RuntimeError(
            f"convolution_epilogue: expected {expected} values for the activation {activation}, "
            f"got {len(values)}"
        )


# Their schemas.
EPILOGUES: dict[str, Callable[..., Tensor]] = {
    "convolution_epilogue(Tensor input, Tensor weight, Tensor? bias, Tensor? residual,"
    " SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups, str activation,"
    " float[] values) -> Tensor": convolution_epilogue,
}
