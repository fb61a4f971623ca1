"""Weights as a length and a direction, weights of norm 1, and orthogonal ones."""

from __future__ import annotations

from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.names.refusals import refuse
from aten.nn import functional
from aten.nn.modules.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from aten.nn.modules.module import Module
from aten.nn.utils.parametrize import register_parametrization
from aten.registry import ops
from aten.type_info import finfo

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
_FIRST_ITERATIONS = 15
_MAPS = ("matrix_exp", "cayley", "householder")


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


class _Orthogonal(Module):
    """What makes a matrix with orthonormal columns, or rows, of any matrix."""

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("orthogonal: the householder map is of real matrices")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, given: Tensor) -> Any:
        wide = given.shape[-2] < given.shape[-1]
        tall = given.mT if wide else given
        made = self._by_reflections(tall) if self._reflects else self._by_skew(tall)
        if self.use_trivialization:
            made = ops.aten.matmul(self.base, made)
        return made.mT if wide else made

    @property
    def _reflects(self) -> bool:
        return self.orthogonal_map == "householder"

    def _by_skew(self, given: Tensor) -> Tensor:
        """By a skew-Hermitian matrix, to which the map gives a unitary one."""
        rows, columns = given.shape[-2:]
        lower = given.tril()
        if rows != columns:
            blank = lower.new_zeros((*lower.shape[:-1], rows - columns))
            lower = ops.aten.cat([lower, blank], -1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            made = ops.aten.linalg_matrix_exp(skew)
        else:
            one = ops.aten.eye(rows, dtype=skew.dtype, device=skew.device)
            made = ops.aten.linalg_solve(one - skew / 2, one + skew / 2)
        return made.narrow(-1, 0, columns)

    def _by_reflections(self, given: Tensor) -> Tensor:
        """By the vectors of reflections below the diagonal, with the signs on it."""
        vectors = given.tril(-1)
        factors = 2.0 / (1.0 + vectors.square().sum(-2))
        made = ops.aten.linalg_householder_product(vectors, factors)
        signs = given.diagonal(0, -2, -1).to(DTYPES["int32"]).unsqueeze(-2)
        return made * signs

    def right_inverse(self, wanted: Tensor) -> Tensor:
        """What gives `wanted`, or what is orthogonal and near it.

        Raises ValueError for another shape, NotImplementedError for maps without an inverse.
        """
        if wanted.shape != self.shape:
            raise ValueError(
                f"orthogonal: expected a matrix of shape {tuple(self.shape)}, got "
                f"{tuple(wanted.shape)}"
            )
        wide = wanted.shape[-2] < wanted.shape[-1]
        tall = wanted.mT if wide else wanted
        if self.use_trivialization:
            self.base = self._completed(tall)
            start = ops.aten.zeros_like(wanted)
            start.diagonal(0, -2, -1).fill_(-1.0)
            return start
        if not self._reflects:
            raise NotImplementedError(
                f"orthogonal: nothing can be assigned by {self.orthogonal_map} unless with "
                f"use_trivialization=True"
            )
        vectors, factors = ops.aten.geqrf(tall)
        diagonal = vectors.diagonal(0, -2, -1)
        diagonal.sign_()
        diagonal.mul_(ops.aten.where(factors == 0.0, -1.0, 1.0).to(diagonal.dtype))
        return vectors.mT if wide else vectors

    def _completed(self, tall: Tensor) -> Tensor:
        """A square orthogonal matrix whose first columns are these, made orthonormal."""
        rows, columns = tall.shape[-2:]
        if rows == columns and _is_orthogonal(tall):
            return tall.clone()
        more = ops.aten.randn(
            (*tall.shape[:-1], rows - columns), dtype=tall.dtype, device=tall.device
        )
        return _made_orthogonal(ops.aten.cat([tall, more], -1))


def _made_orthogonal(given: Tensor) -> Tensor:
    vectors, factors = ops.aten.geqrf(given)
    made = ops.aten.linalg_householder_product(vectors, factors)
    return made * vectors.diagonal(0, -2, -1).sgn().unsqueeze(-2)


def _is_orthogonal(given: Tensor) -> bool:
    rows, columns = given.shape[-2:]
    one = ops.aten.eye(columns, dtype=given.dtype, device=given.device)
    near = 10 * rows * finfo(given.dtype).eps
    return bool(ops.aten.allclose(ops.aten.matmul(given.mH, given), one, atol=near))


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """A weight that is an orthogonal matrix, or a batch of them, of orthonormal columns or rows.

    `orthogonal_map` makes it of any matrix: "matrix_exp" and "cayley" of a skew one, "householder"
    by reflections; the first for square and complex weights, else the last, unless said. With
    `use_trivialization` it is taken around the matrix that was assigned last (Lezcano Casado 2019).
    Raises ValueError where there is no such weight, for less than two dimensions, and for other
    maps.

    Example:

        >>> layer = aten.nn.utils.parametrizations.orthogonal(aten.nn.Linear(2, 3))
        >>> bool(aten.allclose(layer.weight.mT @ layer.weight, aten.eye(2), atol=1e-6))
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"orthogonal: {type(module).__name__} has no tensor {name!r}")
    if weight.dim() < 2:
        raise ValueError(f"orthogonal: expected a matrix, got {weight.dim()} dimensions")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f"orthogonal: orthogonal_map must be one of {', '.join(_MAPS)}, not {orthogonal_map!r}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
