"""Batch norms in evaluation, taken into the layer before them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter
from aten.registry import ops

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def _fused(
    weight: Any,
    bias: Any,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    scale: Any,
    shift: Any,
    sizes: list[int],
) -> tuple[Parameter, Parameter]:
    before = ops.aten.zeros_like(mean) if bias is None else bias
    factor = ops.aten.rsqrt(variance + eps)
    if scale is not None:
        factor = factor * scale
    moved = (before - mean) * factor
    if shift is not None:
        moved = moved + shift
    wide = (weight * factor.reshape(sizes)).to(weight.dtype)
    trained = weight.requires_grad
    return Parameter(wide.detach(), trained), Parameter(moved.detach().to(before.dtype), trained)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does what a batch norm after it did.

    Example:

        >>> weight, bias = aten.nn.utils.fuse_conv_bn_weights(
        ...     aten.ones(1, 1, 1), None, aten.tensor([1.0]), aten.tensor([4.0]), 0.0, None, None
        ... )
        >>> weight.item(), bias.item()
        (0.5, -0.5)
    """
    sizes = [1] * conv_w.dim()
    sizes[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, sizes)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that does what a batch norm after it did.

    Example:

        >>> weight, bias = aten.nn.utils.fuse_linear_bn_weights(
        ...     aten.ones(1, 1), None, aten.tensor([1.0]), aten.tensor([4.0]), 0.0, None, None
        ... )
        >>> weight.item(), bias.item()
        (0.5, -0.5)
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _evaluating(name: str, layer: Module, norm: Any) -> Any:
    if layer.training or norm.training:
        raise AssertionError(f"{name}: both layers have to be in evaluation mode")
    if norm.running_mean is None or norm.running_var is None:
        raise AssertionError(f"{name}: the batch norm has no running statistics")
    return deepcopy(layer)


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Any:
    """A copy of a convolution that does what a batch norm after it does, too, in evaluation.

    Raises AssertionError where one of them trains, or the norm has no statistics.

    Example:

        >>> layer, norm = aten.nn.Conv1d(1, 2, 3).eval(), aten.nn.BatchNorm1d(2).eval()
        >>> fused, x = aten.nn.utils.fuse_conv_bn_eval(layer, norm), aten.rand(1, 1, 5)
        >>> aten.allclose(fused(x), norm(layer(x)), atol=1e-5)
        True
    """
    made = _evaluating("fuse_conv_bn_eval", conv, bn)
    norm: Any = bn
    made.weight, made.bias = fuse_conv_bn_weights(
        made.weight, made.bias, norm.running_mean, norm.running_var, norm.eps,
        norm.weight, norm.bias, transpose,
    )  # fmt: skip
    return made


def fuse_linear_bn_eval(linear: Module, bn: Module) -> Any:
    """A copy of a linear layer that does what a batch norm after it does, too, in evaluation.

    Raises AssertionError where one of them trains, the norm has no statistics, or another width.

    Example:

        >>> layer, norm = aten.nn.Linear(3, 2).eval(), aten.nn.BatchNorm1d(2).eval()
        >>> fused, x = aten.nn.utils.fuse_linear_bn_eval(layer, norm), aten.rand(4, 3)
        >>> aten.allclose(fused(x), norm(layer(x)), atol=1e-5)
        True
    """
    made = _evaluating("fuse_linear_bn_eval", linear, bn)
    norm: Any = bn
    if norm.num_features not in (made.out_features, 1):
        raise AssertionError(
            f"fuse_linear_bn_eval: the batch norm is {norm.num_features} wide, and the layer "
            f"{made.out_features}"
        )
    made.weight, made.bias = fuse_linear_bn_weights(
        made.weight, made.bias, norm.running_mean, norm.running_var, norm.eps,
        norm.weight, norm.bias,
    )  # fmt: skip
    return made
