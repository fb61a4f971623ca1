"""Batch norms whose statistics are those of all processes, of which there is one."""

from __future__ import annotations

from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.nn.modules.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """(N, C, *), with mean 0 and variance 1 per channel over the batches of all processes.

    A program here is one process: it does what BatchNorm does, for any number of dimensions from
    two on. Raises ValueError for fewer, and where there is no channel.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"SyncBatchNorm: expected at least 2D input, got {input.dim()}D")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm: the number of channels must not be zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with SyncBatchNorm, over the same weights, for all its batch norms.

        Example:

            >>> made = aten.nn.SyncBatchNorm.convert_sync_batchnorm(
            ...     aten.nn.Sequential(aten.nn.BatchNorm2d(3))
            ... )
            >>> type(made[0]).__name__
            'SyncBatchNorm'
        """
        made = module
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            made = cls._like(module, process_group)
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made

    @classmethod
    def _like(cls, module: Any, process_group: Any) -> Any:
        made = cls(
            module.num_features,
            module.eps,
            module.momentum,
            module.affine,
            module.track_running_stats,
            process_group,
            bias=module.bias is not None,
        )
        made._parameters.update(module._parameters)
        made._buffers.update(module._buffers)
        made.train(module.training)
        return made
