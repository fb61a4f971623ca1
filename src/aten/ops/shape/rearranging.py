"""Elements in another order, repeated, or taken by their place in a matrix: always copies."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.requirements import require_ordinary
from aten.registry import ops


@op
def flip(self: Tensor, dims: Sequence[int]) -> Tensor:
    """The order along `dims` reversed. Raises RuntimeError for a dimension named twice."""
    chosen = [wrap_dimension(dim, self.dim()) for dim in dims]
    if len(set(chosen)) < len(chosen):
        raise RuntimeError(f"flip: a dimension appears multiple times in dims, {list(dims)}")
    reversed_dims = [dim for dim in chosen if self.dim() and self.shape[dim] > 1]
    if not reversed_dims or self.numel() == 0:
        return self.clone()
    for dim in reversed_dims:
        order = ops.aten.arange.start_step(self.shape[dim] - 1, -1, -1, device=self.device)
        out = ops.aten.empty_like.default(self)
        self = ops.aten.index_select.out(self, dim, order, out=out)
    return self


@op
def fliplr(self: Tensor) -> Tensor:
    """Columns in reverse order. Raises RuntimeError for tensors of less than 2 dimensions."""
    if self.dim() < 2:
        raise RuntimeError(f"fliplr: self must have 2 dimensions or more, but it has {self.dim()}")
    return ops.aten.flip.default(self, (1,))


@op
def flipud(self: Tensor) -> Tensor:
    """Rows in reverse order. Raises RuntimeError for 0-d tensors."""
    if self.dim() < 1:
        raise RuntimeError("flipud: self must have 1 dimension or more, but it has none")
    return ops.aten.flip.default(self, (0,))


@op
def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """What leaves at one end of a dimension enters at the other; without `dims`, as if 1-d."""
    if len(shifts) == 0 or ((dims or len(shifts) != 1) and len(shifts) != len(dims)):
        raise RuntimeError(
            f"roll: shifts and dims must have the same length, got {list(shifts)} and {list(dims)}"
        )
    if self.numel() == 0:
        return self.clone()
    if not dims:
        return _rolled(self.reshape(-1), shifts[0], 0).view(self.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        if self.dim() == 0:
            raise IndexError(f"roll: there is no dimension {dim} in a 0-d tensor")
        self = _rolled(self, shift, wrap_dimension(dim, self.dim()))
    return self


def _rolled(self: Tensor, shift: int, dim: int) -> Tensor:
    start = -shift % self.size(dim)
    pieces = (self.narrow(dim, start, self.size(dim) - start), self.narrow(dim, 0, start))
    return ops.aten.cat(pieces, dim)


@op
def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """`k` quarter turns in the plane of two dimensions, from the first towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"rot90: dims must be two dimensions, got {list(dims)}")
    if self.dim() < 2:
        raise RuntimeError(f"rot90: self must have 2 dimensions or more, but it has {self.dim()}")
    first, second = (wrap_dimension(dim, self.dim()) for dim in dims)
    if first == second:
        raise RuntimeError(f"rot90: dims must be different, got {list(dims)}")
    turns = k % 4
    if turns == 0:
        return self.contiguous().clone()
    if turns == 2:
        return ops.aten.flip.default(self, (first, second))
    return ops.aten.flip.default(self, (second if turns == 1 else first,)).transpose(first, second)


@op
def repeat(self: Tensor, repeats: Sequence[int]) -> Tensor:
    """The tensor so many times along each dimension; further repeats are dimensions in front."""
    leading = len(repeats) - self.dim()
    if leading < 0:
        raise RuntimeError(
            f"repeat: {len(repeats)} repeats for a tensor of {self.dim()} dimensions, expected as "
            "many or more"
        )
    source = (1,) * leading + tuple(self.shape)
    sizes = [size * times for size, times in zip(source, repeats, strict=True)]
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=self.dtype, device=self.device)
    if out.numel() == 0:
        return out
    # Each dimension that is repeated becomes two: which copy, and where in it.
    blocks: list[int] = []
    within: list[int] = []
    for size, times in zip(source, repeats, strict=True):
        blocks += [times, size] if times > 1 else [size]
        within += [1, size] if times > 1 else [size]
    out.view(blocks).copy_(self.reshape(within))
    return out


@op
def tile(self: Tensor, dims: Sequence[int]) -> Tensor:
    """`repeat`, where missing repeats in front are 1."""
    return ops.aten.repeat.default(self, (1,) * (self.dim() - len(dims)) + tuple(dims))


@op
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """A copy of a matrix's diagonal; of a vector, the matrix with that diagonal."""
    if self.dim() == 1:
        return ops.aten.diag_embed.default(self, diagonal)
    if self.dim() != 2:
        raise RuntimeError(f"diag: self must have 1 or 2 dimensions, but it has {self.dim()}")
    return ops.aten.diagonal_copy(self, diagonal)


@op
def diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Zeros with the last dimension along a diagonal of the new dimensions `dim1` and `dim2`."""
    rank = self.dim() + 1
    first, second = wrap_dimension(dim1, rank), wrap_dimension(dim2, rank)
    if first == second:
        raise RuntimeError(f"diag_embed: dim1 and dim2 must be different, got {dim1} and {dim2}")
    sizes = list(self.shape[:-1])
    for dim in sorted((first, second)):
        sizes.insert(dim, self.shape[-1] + abs(offset))
    out: Tensor = ops.aten.zeros(sizes, dtype=self.dtype, device=self.device)
    out.diagonal(offset, first, second).copy_(self)
    return out


@op
def diagflat(self: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements along a diagonal."""
    return ops.aten.diag.default(self.reshape(-1), offset)


@op
def tril(self: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros above the diagonal."""
    return _triangle("tril", self, diagonal)


@op
def triu(self: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros below the diagonal."""
    return _triangle("triu", self, diagonal)


def _triangle(name: str, self: Tensor, diagonal: int) -> Tensor:
    if self.dim() < 2:
        raise RuntimeError(f"{name}: self must have 2 dimensions or more, but it has {self.dim()}")
    if self.numel():
        require_ordinary(name, self.dtype)
    kept = triangle_mask(name, self.shape[-2], self.shape[-1], diagonal, self)
    out: Tensor = ops.aten.empty.memory_format(self.shape, dtype=self.dtype, device=self.device)
    return ops.aten.where.self_out(kept, self, self.new_zeros(()), out=out)


def triangle_mask(name: str, rows: int, columns: int, diagonal: int, like: Tensor) -> Tensor:
    """Where a matrix of this size has its triangle: true on the diagonal, too."""
    # Beyond the matrix's corners nothing changes any more, and sums stay within int64.
    diagonal = max(-rows - 1, min(diagonal, columns + 1))
    column = ops.aten.arange.start_step(0, columns, device=like.device)
    row = ops.aten.arange.start_step(diagonal, rows + diagonal, device=like.device).unsqueeze(1)
    return column <= row if name == "tril" else column >= row


@op
def kron(self: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: each element of `self` times all of `other`, dimension by dimension."""
    rank = max(self.dim(), other.dim())
    left = (1,) * (rank - self.dim()) + tuple(self.shape)
    right = (1,) * (rank - other.dim()) + tuple(other.shape)
    blocks = self.reshape([part for size in left for part in (size, 1)])
    within = other.reshape([part for size in right for part in (1, size)])
    sizes = [outer * inner for outer, inner in zip(left, right, strict=True)]
    return (blocks * within).reshape(sizes)
