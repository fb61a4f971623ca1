"""Norms of matrices and vectors over two dimensions, and products of vectors."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.dtypes import dtype
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.prims import Number
from aten.registry import ops

Dims = int | Sequence[int] | None

_INFINITY = float("inf")


@op
def linalg_matrix_norm(
    self: Tensor,
    ord: Number | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
) -> Tensor:
    """Norms over two dimensions: "fro", "nuc", or inf, 1 and 2, or the least of these, negative."""
    name = "linalg.matrix_norm"
    matrix = _prepared(name, self, dtype)
    rank = matrix.dim()
    if rank < 2:
        raise RuntimeError(f"{name}: expected a tensor of two dimensions or more, got {rank}")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: expected dim to be two dimensions, got {list(dim)}")
    rows, columns = (wrap_dimension(one, rank) for one in dim)
    if rows == columns:
        raise RuntimeError(f"{name}: expected two dimensions, got {rows} twice")
    if ord == "fro":
        return ops.aten.linalg_vector_norm(matrix, 2, [rows, columns], keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        return _norm_of_singular_values(matrix, ord, rows, columns, keepdim)
    if isinstance(ord, (str, complex)) or abs(ord) not in (1, _INFINITY):
        raise RuntimeError(f"{name}: {ord!r} is not one of 'fro', 'nuc', inf, 1, 2 and negatives")
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = ops.aten.linalg_vector_norm(matrix, 1, [summed], True)
    if ord > 0 and matrix.shape[kept] == 0:
        extreme: Tensor = sums.sum([kept], keepdim=True)  # of nothing, that is 0
    else:
        extreme = sums.amax([kept], True) if ord > 0 else sums.amin([kept], True)
    return extreme if keepdim else extreme.squeeze([rows, columns])


def _prepared(name: str, given: Tensor, element: dtype | None) -> Tensor:
    """`given` as `element`. Raises RuntimeError for integers, and for types it does not go to."""
    if given.dtype.kind not in ("float", "complex"):
        raise RuntimeError(f"{name}: expected floating or complex elements, got {given.dtype.name}")
    if element is None:
        return given
    if element.kind not in ("float", "complex") or (given.is_complex() and not element.is_complex):
        raise RuntimeError(f"{name}: {given.dtype.name} cannot be computed as {element.name}")
    if result_type(given, given.new_empty([0], dtype=element)) != element:
        raise RuntimeError(f"{name}: {element.name} is narrower than {given.dtype.name}")
    return given.to(element)


def _norm_of_singular_values(
    matrix: Tensor, ord: Number | str, rows: int, columns: int, keepdim: bool
) -> Tensor:
    values: Tensor = ops.aten.linalg_svdvals.default(matrix.movedim([rows, columns], [-2, -1]))
    if ord == "nuc" or (ord == 2 and values.shape[-1] == 0):
        made: Tensor = values.sum([-1])
    else:
        made = values.amin([-1]) if ord == -2 else values.amax([-1])
    if not keepdim:
        return made
    for axis in sorted((rows, columns)):
        made = made.unsqueeze(axis)
    return made


@op
def linalg_norm(
    self: Tensor,
    ord: Number | str | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
) -> Tensor:
    """A vector norm over one dimension, a matrix norm over two; without `ord`, of all elements
    alike."""
    name = "linalg.norm"
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    if dims is not None and len(dims) not in (1, 2) and ord is not None:
        raise RuntimeError(f"{name}: with ord, dim must be one or two dimensions, got {dims}")
    if dims is None and ord is not None and self.dim() not in (1, 2):
        raise RuntimeError(
            f"{name}: with ord and without dim, expected rank 1 or 2, got {self.dim()}"
        )
    over = self.dim() if dims is None else len(dims)
    if isinstance(ord, str) or (ord is not None and over == 2):
        return ops.aten.linalg_matrix_norm(
            self, ord, [0, 1] if dims is None else dims, keepdim, dtype=dtype
        )
    _prepared(name, self, None)
    power = 2 if ord is None else ord
    return ops.aten.linalg_vector_norm(self, power, dims, keepdim, dtype=dtype)


@op("nuclear_norm.dim")
def nuclear_norm(self: Tensor, dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Tensor:
    return ops.aten.linalg_matrix_norm.str_ord(self, "nuc", dim, keepdim)


@op("nuclear_norm")
def nuclear_norm_of_matrix(self: Tensor, keepdim: bool = False) -> Tensor:
    return ops.aten.linalg_matrix_norm.str_ord(self, "nuc", (-2, -1), keepdim)


@op
def frobenius_norm(self: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """The square root of the sum of squares over at most two dimensions."""
    dims = [dim] if isinstance(dim, int) else list(dim or ())
    if len(dims) > 2:
        raise RuntimeError(f"frobenius_norm: expected at most two dimensions, got {dims}")
    return ops.aten.linalg_vector_norm(self, 2, dims or None, keepdim)


@op
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Products of vectors along a dimension, those of x conjugated; the others broadcast."""
    if x.dtype.kind not in ("float", "complex"):
        raise RuntimeError(f"linalg.vecdot: expected floating or complex x, got {x.dtype.name}")
    left = ops.aten.conj_physical(x) if x.is_complex() else x
    wrap_dimension(dim, max(x.dim(), y.dim()))
    product: Tensor = left * y
    return product.sum([dim])


@op
def linalg_cross(self: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product along a dimension of size 3; the others broadcast."""
    name = "linalg.cross"
    if self.dim() != other.dim():
        raise RuntimeError(
            f"{name}: expected operands of one rank, got {self.dim()} and {other.dim()}"
        )
    axis = wrap_dimension(dim, self.dim())
    if self.dim() == 0 or self.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"{name}: expected size 3 in dimension {dim}, got shapes {list(self.shape)} and "
            f"{list(other.shape)}"
        )
    first = [self.narrow(axis, place, 1) for place in range(3)]
    second = [other.narrow(axis, place, 1) for place in range(3)]
    parts = []
    for place in range(3):
        one, two = (place + 1) % 3, (place + 2) % 3
        parts.append(first[one] * second[two] - first[two] * second[one])
    return ops.aten.cat(parts, axis)


@op
def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along `dim`, or else along the first dimension of size 3."""
    if dim is None:
        if 3 not in self.shape:
            raise RuntimeError(
                f"cross: no dimension of self has size 3, its shape is {list(self.shape)}"
            )
        dim = list(self.shape).index(3)
    return ops.aten.linalg_cross.default(self, other, dim=dim)


@op
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Norms over all dimensions but one, which keep their places; over all for dim -1."""
    if dim == -1:
        return ops.aten.norm(v, pow)
    kept = wrap_dimension(dim, v.dim())
    if kept == v.dim() - 1 > 0:
        norms = ops.aten.norm(v.reshape((-1, v.shape[-1])), pow, [0], False)
        return norms.view((*(1 for _ in v.shape[1:]), -1))
    front = v.transpose(0, kept)
    norms = ops.aten.norm(front.reshape((front.shape[0], -1)), pow, [1], False)
    return norms.view((-1, *(1 for _ in front.shape[1:]))).transpose(0, kept)
