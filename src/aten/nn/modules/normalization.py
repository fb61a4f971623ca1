"""Norms over batches, instances, layers and groups."""

from __future__ import annotations

from typing import Any, ClassVar

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.nn import functional, init
from aten.nn.modules.module import Module
from aten.nn.modules.settings import SettingsModule
from aten.nn.parameter import Parameter
from aten.registry import ops

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
]


def _parameter(module: Module, name: str, sizes: Any, wanted: bool, made: Any) -> None:
    module.register_parameter(name, Parameter(ops.aten.empty(sizes, **made)) if wanted else None)


def _reset(module: Module) -> None:
    """Weights of 1 and biases of 0, where there are some."""
    if module._parameters.get("weight") is not None:
        init.ones_(module.weight)
    if module._parameters.get("bias") is not None:
        init.zeros_(module.bias)


class _Running(Module):
    """A norm per channel that may keep running averages of means and variances."""

    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        made = {"device": device, "dtype": dtype}
        _parameter(self, "weight", num_features, affine, made)
        _parameter(self, "bias", num_features, affine and bias, made)
        tracked = track_running_stats
        self.register_buffer(
            "running_mean", ops.aten.zeros(num_features, **made) if tracked else None
        )
        self.register_buffer(
            "running_var", ops.aten.ones(num_features, **made) if tracked else None
        )
        count = ops.aten.zeros((), dtype=DTYPES["int64"], device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Means of 0, variances of 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weights of 1, biases of 0, no statistics."""
        self.reset_running_stats()
        _reset(self)

    def _upgrade_state(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        # Version 1 did not count batches.
        count = f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.num_batches_tracked is not None:
            state.setdefault(count, self.num_batches_tracked.detach())

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Running):
    _ranks: ClassVar[tuple[int, ...]]

    def _check(self, input: Tensor) -> None:
        if input.dim() not in self._ranks:
            wanted = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(
                f"{type(self).__name__}: expected input of {wanted}, got {input.dim()} dimensions"
            )

    def forward(self, input: Tensor) -> Any:
        self._check(input)
        factor = 0.0 if self.momentum is None else self.momentum
        counted = self.training and self.track_running_stats
        if counted and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        kept = not self.training or self.track_running_stats
        return functional.batch_norm(
            input,
            self.running_mean if kept else None,
            self.running_var if kept else None,
            self.weight,
            self.bias,
            of_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """(N, C) or (N, C, L), with mean 0 and variance 1 per channel, then weight and bias."""

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """(N, C, H, W), with mean 0 and variance 1 per channel, then weight and bias."""

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """(N, C, D, H, W), with mean 0 and variance 1 per channel, then weight and bias."""

    _ranks = (5,)


class _InstanceNorm(_Running):
    _rank: ClassVar[int]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        kept = track_running_stats
        super().__init__(num_features, eps, momentum, affine, kept, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Any:
        if input.dim() not in (self._rank, self._rank - 1):
            raise ValueError(
                f"expected {self._rank - 1} or {self._rank} dimensions, got {input.dim()}"
            )
        alone = input.dim() == self._rank - 1
        result = functional.instance_norm(
            input.unsqueeze(0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if alone else result


class InstanceNorm1d(_InstanceNorm):
    """(N, C, L), with mean 0 and variance 1 per instance and channel."""

    _rank = 3


class InstanceNorm2d(_InstanceNorm):
    """(N, C, H, W), with mean 0 and variance 1 per instance and channel."""

    _rank = 4


class InstanceNorm3d(_InstanceNorm):
    """(N, C, D, H, W), with mean 0 and variance 1 per instance and channel."""

    _rank = 5


def _sizes(given: Any) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last dimensions, then weight and bias."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = {"device": device, "dtype": dtype}
        _parameter(self, "weight", self.normalized_shape, elementwise_affine, made)
        _parameter(self, "bias", self.normalized_shape, elementwise_affine and bias, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights of 1, biases of 0."""
        _reset(self)

    def forward(self, input: Tensor) -> Any:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        text = (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )
        return f"{text}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Divided by the root of the mean square over the last dimensions, times weight."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = {"device": device, "dtype": dtype}
        _parameter(self, "weight", self.normalized_shape, elementwise_affine, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights of 1."""
        _reset(self)

    def forward(self, input: Tensor) -> Any:
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """(N, C, *), with mean 0 and variance 1 per group of channels, then weight and bias."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: {num_groups} groups do not divide {num_channels} channels"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        made = {"device": device, "dtype": dtype}
        _parameter(self, "weight", num_channels, affine, made)
        _parameter(self, "bias", num_channels, affine and bias, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights of 1, biases of 0."""
        _reset(self)

    def forward(self, input: Tensor) -> Any:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(SettingsModule):
    """(N, C, *), each element over a power of its neighbours in C (Krizhevsky et al. 2012)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0
    _shown: ClassVar[str] = "{size}, alpha={alpha}, beta={beta}, k={k}"

    def forward(self, input: Tensor) -> Any:
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)
