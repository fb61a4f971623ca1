"""Adam for gradients that are sparse tensors, which there are none of here."""

from __future__ import annotations

from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.optim.optimizer import Optimizer

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that moves what a sparse gradient names, and leaves the rest alone.

    Gradients are dense here, and its step refuses them as torch's does, with RuntimeError. Raises
    ValueError for settings out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        for name, value in (("lr", lr), ("eps", eps)):
            if not value > 0:
                raise ValueError(f"SparseAdam: {name} must be above 0, not {value}")
        for value in betas:
            if not 0 <= value < 1:
                raise ValueError(f"SparseAdam: betas must be from [0, 1), not {betas}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        if gradients:
            raise RuntimeError("SparseAdam: gradients are dense, and Adam is for these")
