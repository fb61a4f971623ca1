"""Contractions of tensors over dimensions they share, made of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op, operation_type
from aten.prims import Number
from aten.registry import ops


@op
def vdot(self: Tensor, other: Tensor) -> Tensor:
    """The product of two vectors, the first of them conjugated."""
    return ops.aten.conj_physical(self).dot(other) if self.is_complex() else self.dot(other)


@op
def outer(self: Tensor, vec2: Tensor) -> Tensor:
    """Every element of a vector (n) times every one of another (m): (n, m)."""
    _require_rank("outer", "self", self, 1)
    _require_rank("outer", "vec2", vec2, 1)
    return self.reshape(-1, 1) * vec2


@op
def inner(self: Tensor, other: Tensor) -> Tensor:
    """Products over the last dimension: (*a, n) and (*b, n) make (*a, *b); numbers scale."""
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner: the last dimensions differ, {self.shape[-1]} of self and {other.shape[-1]} "
            "of other"
        )
    return contract(self, other, [self.dim() - 1], [other.dim() - 1])


@op
def tensordot(
    self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]
) -> Tensor:
    """Sums products over pairs of dimensions; the others of self come first, then those of other.

    A dimension of size one is repeated. Raises RuntimeError for sizes that differ otherwise.
    """
    if len(dims_self) != len(dims_other):
        raise RuntimeError(
            f"tensordot: dims of self and other go in pairs, but there are {len(dims_self)} and "
            f"{len(dims_other)}"
        )
    if self.dtype != other.dtype:
        raise RuntimeError(
            f"tensordot: expected operands of one dtype, got {self.dtype} and {other.dtype}"
        )
    left = [wrap_dimension(dim, self.dim()) for dim in dims_self]
    right = [wrap_dimension(dim, other.dim()) for dim in dims_other]
    _require_once(left)
    _require_once(right)
    for one, two in zip(left, right, strict=True):
        sizes = self.shape[one], other.shape[two]
        if sizes[0] == sizes[1]:
            continue
        if sizes[1] == 1:
            self = self.sum([one], keepdim=True, dtype=self.dtype)
        elif sizes[0] == 1:
            other = other.sum([two], keepdim=True, dtype=other.dtype)
        else:
            raise RuntimeError(
                f"tensordot: dimension {one} of self has size {sizes[0]}, dimension {two} of "
                f"other has size {sizes[1]}"
            )
    return contract(self, other, left, right)


def contract(self: Tensor, other: Tensor, left: list[int], right: list[int]) -> Tensor:
    """The sum of products over dimensions `left` and `right` of equal sizes, as one product of
    matrices."""
    rows = [dim for dim in range(self.dim()) if dim not in left]
    columns = [dim for dim in range(other.dim()) if dim not in right]
    row_sizes = [self.shape[dim] for dim in rows]
    column_sizes = [other.shape[dim] for dim in columns]
    depth = prod(self.shape[dim] for dim in left)
    first = self.permute(rows + left).reshape(prod(row_sizes), depth)
    second = other.permute(right + columns).reshape(depth, prod(column_sizes))
    return first.mm(second).reshape(row_sizes + column_sizes)


@op
def addmv(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """`beta self + alpha mat @ vec`: self broadcasts to (n), mat (n, m), vec (m)."""
    if mat.dim() != 2 or vec.dim() != 1 or self.dim() > 1:
        raise RuntimeError(
            "addmv: expected self, mat and vec of ranks 1, 2 and 1, got "
            f"{self.dim()}, {mat.dim()} and {vec.dim()}"
        )
    if mat.shape[1] != vec.shape[0] or (self.dim() and self.shape[0] not in (1, mat.shape[0])):
        raise RuntimeError(
            f"addmv: sizes do not go together: self {list(self.shape)}, mat {list(mat.shape)}, "
            f"vec {list(vec.shape)}"
        )
    column = self.unsqueeze(-1)
    return column.addmm(mat, vec.unsqueeze(1), beta=beta, alpha=alpha).squeeze(1)


@op
def addbmm(
    self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta self + alpha Σ batch1 @ batch2`: batch1 (b, n, m), batch2 (b, m, p), self (n, p).

    The sum over the batch is one product of matrices (n, b m) and (b m, p).
    """
    _require_rank("addbmm", "batch1", batch1, 3)
    _require_rank("addbmm", "batch2", batch2, 3)
    batch, rows, depth = batch1.shape
    if tuple(batch2.shape[:2]) != (batch, depth):
        raise RuntimeError(
            f"addbmm: batch1 {list(batch1.shape)} and batch2 {list(batch2.shape)} cannot be "
            "multiplied"
        )
    left = batch1.transpose(0, 1).reshape(rows, batch * depth)
    right = batch2.reshape(batch * depth, batch2.shape[2])
    return self.addmm(left, right, beta=beta, alpha=alpha)


@op
def addr(
    self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta self + alpha vec1 vec2ᵀ`: self broadcasts to (n, m); for bool, with or and and."""
    _require_rank("addr", "vec1", vec1, 1)
    _require_rank("addr", "vec2", vec2, 1)
    common = result_type(self, vec1, vec2)
    for name, number in (("beta", beta), ("alpha", alpha)):
        _require_number_for(name, number, common.kind)
    column = vec1.unsqueeze(1)
    addend = self.expand((vec1.shape[0], vec2.shape[0]))
    if common.kind == "bool":
        product = ops.aten.logical_and(column, vec2) if alpha else addend.new_zeros(addend.shape)
        return ops.aten.logical_or(addend, product) if beta else product
    wide = operation_type(common)
    if beta == 0:  # even where self is not finite
        return (column.to(wide) * vec2.to(wide) * alpha).to(common)
    scaled = addend.to(wide) if beta == 1 else addend.to(wide) * beta
    sum = ops.aten.addcmul(scaled, column.to(wide), vec2.to(wide), value=alpha)
    return sum.to(common)


@op
def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices, in the order that multiplies least."""
    if not matrices:
        raise RuntimeError("chain_matmul: expected at least one matrix")
    for matrix in matrices:
        _require_rank("chain_matmul", "each of matrices", matrix, 2)
    return matrices[0] if len(matrices) == 1 else ops.aten.linalg_multi_dot(matrices)


@op
def _addmm_activation(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    use_gelu: bool = False,
) -> Tensor:
    """relu, or gelu, of addmm."""
    product = self.addmm(mat1, mat2, beta=beta, alpha=alpha)
    return ops.aten.gelu(product) if use_gelu else product.relu()


def _require_rank(name: str, argument: str, given: Tensor, rank: int) -> None:
    if given.dim() != rank:
        raise RuntimeError(f"{name}: expected {argument} of rank {rank}, got {given.dim()}")


def _require_once(dims: list[int]) -> None:
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"tensordot: a dimension is named twice in {dims}")


def _require_number_for(name: str, number: Number, kind: str) -> None:
    """Refuse numbers of a category that results of `kind` cannot hold."""
    if isinstance(number, bool):
        if kind != "bool":
            raise RuntimeError(f"addr: {name} is a bool, which only bool results take")
    elif isinstance(number, complex) and kind != "complex":
        raise RuntimeError(f"addr: {name} is complex, the result is not")
    elif isinstance(number, float) and kind not in ("float", "complex"):
        raise RuntimeError(f"addr: {name} is a floating number, the result integral")
