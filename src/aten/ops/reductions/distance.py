"""Distances between points, the rows of matrices."""

from __future__ import annotations

from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op, operation_type
from aten.ops.reductions.reduction import vector_norm
from aten.prims import Number, Prim, Value, broadcast_shapes
from aten.registry import ops

# Where the Euclidean distance of so many points goes through a matrix product.
_MANY_POINTS = 25
_ALWAYS_BY_PRODUCT, _NEVER_BY_PRODUCT = 1, 2


@op
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    """The p-norm of each row of x1 (*, n, m) minus each row of x2 (*, k, m): (*, n, k).

    `compute_mode` 1 takes the Euclidean distance from a matrix product, 2 never; without it, many
    points do. Raises RuntimeError for other ranks and sizes, negative p and integers.
    """
    _require_points(x1, x2, p)
    if compute_mode not in (None, 0, _ALWAYS_BY_PRODUCT, _NEVER_BY_PRODUCT):
        raise RuntimeError(f"cdist: expected compute_mode 0, 1 or 2, got {compute_mode}")
    many = compute_mode in (None, 0) and max(x1.shape[-2], x2.shape[-2]) > _MANY_POINTS
    if p == 2 and (many or compute_mode == _ALWAYS_BY_PRODUCT):
        return ops.aten._euclidean_dist(x1, x2)
    return ops.aten._cdist_forward(x1, x2, p, compute_mode)


@op
def _cdist_forward(x1: Value, x2: Value, p: float, compute_mode: int | None) -> Value:
    """The distances in one walk over pairs of rows."""
    _require_points(x1, x2, p)
    *_, rows, size = x1.shape
    columns = x2.shape[-2]
    shape = (*broadcast_shapes([x1.shape[:-2], x2.shape[:-2]]), rows, columns, size)
    difference = _spread_points(x1, shape, len(shape) - 3) - _spread_points(
        x2, shape, len(shape) - 2
    )
    return vector_norm(difference, float(p), -1, False)


def _require_points(x1: Tensor | Value, x2: Tensor | Value, p: float) -> None:
    for name, points in (("x1", x1), ("x2", x2)):
        if len(points.shape) < 2:
            raise RuntimeError(
                f"cdist: expected {name} of two dimensions or more, got {len(points.shape)}"
            )
        if not points.dtype.is_floating_point:
            raise RuntimeError(f"cdist: expected {name} of a floating dtype, got {points.dtype}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"cdist: x1 and x2 have rows of {x1.shape[-1]} and {x2.shape[-1]} elements"
        )
    if not p >= 0:
        raise RuntimeError(f"cdist: expected p to be 0 or more, got {p}")


def _spread_points(points: Value, shape: tuple[int, ...], row_dim: int) -> Value:
    """Points (*, rows, m) repeated along one of two dimensions of rows in `shape`."""
    first = len(shape) - 1 - len(points.shape)
    batches = range(first, len(shape) - 3)
    dimensions = (*batches, row_dim, len(shape) - 1)
    return Prim.table["broadcast_in_dim"](points, shape=shape, broadcast_dimensions=dimensions)


@op
def _euclidean_dist(x1: Tensor, x2: Tensor) -> Tensor:
    """√(|a|² - 2 a·b + |b|²) for rows a of x1 and b of x2, as one product of matrices."""
    squares = [(points * points).sum([-1], keepdim=True) for points in (x1, x2)]
    ones = [ops.aten.ones_like(column) for column in squares]
    left = ops.aten.cat([x1 * -2, squares[0], ones[0]], -1)
    right = ops.aten.cat([x2, ones[1], squares[1]], -1)
    product: Tensor = left.matmul(right.transpose(-2, -1))
    return product.clamp_min(0).sqrt()


@op
def pdist(self: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms between rows of a matrix (n, m), for every two rows: (n (n - 1) / 2)."""
    if self.dim() != 2:
        raise RuntimeError(f"pdist: expected a matrix, got a tensor of rank {self.dim()}")
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"pdist: expected a floating dtype, got {self.dtype}")
    if not p >= 0:
        raise RuntimeError(f"pdist: expected p to be 0 or more, got {p}")
    return ops.aten._pdist_forward(self.contiguous(), p)


@op
def _pdist_forward(self: Tensor, p: float = 2.0) -> Tensor:
    """The distances of the rows, those above the diagonal of all of them."""
    count = self.shape[0]
    if not has_data(self):
        return self.new_empty([count * max(count - 1, 0) // 2])
    every: Tensor = ops.aten._cdist_forward(self, self, p, None)
    rows = ops.aten.arange(count, device=self.device)
    return every.masked_select(rows.unsqueeze(1) < rows)


@op
def dist(self: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """The p-norm of the difference of two tensors that broadcast."""
    difference = self - other
    if difference.dtype.kind not in ("float", "complex"):
        raise RuntimeError(f"dist: expected floating or complex operands, got {difference.dtype}")
    return ops.aten.linalg_vector_norm(difference, p)


@op
def renorm(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """`self` with each slice along `dim` of a p-norm above maxnorm scaled down to it."""
    rank = self.dim()
    if rank < 2:
        raise RuntimeError(f"renorm: expected a tensor of two dimensions or more, got {rank}")
    if isinstance(p, complex) or not p > 0:
        raise RuntimeError(f"renorm: expected a positive p, got {p}")
    if isinstance(maxnorm, complex) or not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be 0 or more, got {maxnorm}")
    kept = wrap_dimension(dim, rank)
    if self.dtype.kind not in ("float", "complex"):
        raise RuntimeError(f"renorm: expected floating or complex elements, got {self.dtype}")
    others = [axis for axis in range(rank) if axis != kept]
    wide = operation_type(self.dtype)
    norms = ops.aten.linalg_vector_norm(self, p, others, True, dtype=wide)
    scale = (maxnorm / (norms + 1e-7)).to(self.dtype.to_real())
    return ops.aten.where(norms > maxnorm, self * scale, self)
