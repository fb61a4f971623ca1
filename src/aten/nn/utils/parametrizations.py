"""Weights as a length and a direction, and weights of norm 1."""

from __future__ import annotations

from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.nn import functional
from aten.nn.modules.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from aten.nn.modules.module import Module
from aten.nn.utils.parametrize import register_parametrization
from aten.refusals import refuse
from aten.registry import ops

__all__ = ["spectral_norm", "weight_norm"]

_TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
_FIRST_ITERATIONS = 15


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, length: Tensor, direction: Tensor) -> Any:
        return ops.aten._weight_norm(direction, length, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return ops.aten.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """A weight as its lengths along all dimensions but `dim`, `original0`, and its direction,
    `original1` (Salimans & Kingma 2016). Raises ValueError where there is no such weight."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(
                f"spectral_norm: dim must be a dimension of a {weight.dim()}-d weight, got {dim}"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations must be at least 1, got {n_power_iterations}"
            )
        self.dim = dim % weight.dim()
        self.n_power_iterations, self.eps = n_power_iterations, eps
        if weight.dim() > 1:
            matrix = self._matrix(weight.detach())
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                drawn = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(name, self._unit(drawn))
            self._iterate(matrix, _FIRST_ITERATIONS)

    def _unit(self, vector: Tensor) -> Tensor:
        return functional.normalize(vector, dim=0, eps=self.eps)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, count: int) -> None:
        """Towards the singular vectors of the largest singular value."""
        with no_grad():
            for _ in range(count):
                self._u.copy_(self._unit(ops.aten.mv(matrix, self._v)))
                self._v.copy_(self._unit(ops.aten.mv(matrix.mH, self._u)))

    def forward(self, weight: Tensor) -> Any:
        if weight.dim() == 1:
            return self._unit(weight)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # The buffers change at the next call, and gradients need what they are now.
        left, right = self._u.clone(), self._v.clone()
        return weight / ops.aten.vdot(left, ops.aten.mv(matrix, right))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """A weight over its largest singular value, which is followed by `n_power_iterations` at each
    call while training (Miyato et al. 2018). Raises ValueError where there is no such weight."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"spectral_norm: {type(module).__name__} has no tensor {name!r}")
    if dim is None:
        dim = 1 if isinstance(module, _TRANSPOSED) else 0
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, made)


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
