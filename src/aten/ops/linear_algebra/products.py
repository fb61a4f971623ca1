"""Products of matrices and vectors, as contractions."""

from __future__ import annotations

from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.prims import Number
from aten.registry import ops


def _require_rank(name: str, rank: int, **operands: Tensor) -> None:
    for which, operand in operands.items():
        if operand.dim() != rank:
            raise RuntimeError(f"{name}: {which} must have {rank} dims, got {operand.dim()}")


def _contracted(name: str, left: Tensor, right: Tensor, batches: int) -> Tensor:
    """Sums of products over the last dimension of `left` and the first behind the batches of
    `right`. Raises RuntimeError where dtypes or sizes do not go together."""
    if left.dtype is not right.dtype:
        raise RuntimeError(
            f"{name}: expected m1 and m2 to have the same dtype, but got: "
            f"{left.dtype.scalar_type_name} != {right.dtype.scalar_type_name}"
        )
    if left.dtype.kind == "bool":
        raise refusal(name, left.dtype)
    last = left.dim() - 1
    if left.shape[:batches] != right.shape[:batches] or left.shape[last] != right.shape[batches]:
        raise RuntimeError(
            f"{name}: operands of sizes {list(left.shape)} and {list(right.shape)} do not go "
            "together"
        )
    both = tuple(range(batches))
    return ops.prims.dot_general(  # type: ignore[no-any-return]
        left, right, (last,), (batches,), both, both
    )


@op
def mm(self: Tensor, mat2: Tensor) -> Tensor:
    """(rows, inner) @ (inner, columns). Raises RuntimeError for other ranks, sizes, dtypes."""
    _require_rank("mm", 2, self=self, mat2=mat2)
    return _contracted("mm", self, mat2, 0)


@op
def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """(batch, rows, inner) @ (batch, inner, columns)."""
    _require_rank("bmm", 3, batch1=self, batch2=mat2)
    return _contracted("bmm", self, mat2, 1)


@op
def mv(self: Tensor, vec: Tensor) -> Tensor:
    """(rows, inner) @ (inner)."""
    _require_rank("mv", 2, self=self)
    _require_rank("mv", 1, vec=vec)
    return _contracted("mv", self, vec, 0)


@op
def dot(self: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements."""
    _require_rank("dot", 1, self=self, tensor=tensor)
    return _contracted("dot", self, tensor, 0)


@op
def addmm(
    self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """beta * self + alpha * (mat1 @ mat2); `self` is not looked at where beta is 0."""
    return _added(self, ops.aten.mm(mat1, mat2), beta, alpha)


@op
def baddbmm(
    self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """beta * self + alpha * (batch1 @ batch2), for each of a batch."""
    return _added(self, ops.aten.bmm(batch1, batch2), beta, alpha)


def _added(self: Tensor, product: Tensor, beta: Number, alpha: Number) -> Tensor:
    scaled = _scaled(product, alpha)
    spread = self.expand(product.shape)
    return scaled if beta == 0 else scaled + _scaled(spread, beta)


def _scaled(tensor: Tensor, factor: Number) -> Tensor:
    """The factor is cut off to an integer where the elements are."""
    if factor == 1:
        return tensor
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        if isinstance(factor, complex):
            raise RuntimeError(f"beta and alpha must be real for {tensor.dtype}, got {factor}")
        factor = int(factor)
    return tensor * factor


@op("mm.dtype")
def mm_in_type(self: Tensor, mat2: Tensor, out_dtype: dtype) -> Tensor:
    """As `mm`, computed in `out_dtype`."""
    return ops.aten.mm(self.to(out_dtype), mat2.to(out_dtype))


@op("bmm.dtype")
def bmm_in_type(self: Tensor, mat2: Tensor, out_dtype: dtype) -> Tensor:
    """As `bmm`, computed in `out_dtype`."""
    return ops.aten.bmm(self.to(out_dtype), mat2.to(out_dtype))


@op("addmm.dtype")
def addmm_in_type(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    out_dtype: dtype,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Tensor:
    """As `addmm`, computed in `out_dtype`."""
    return _added(self.to(out_dtype), ops.aten.mm.dtype(mat1, mat2, out_dtype), beta, alpha)


@op("baddbmm.dtype")
def baddbmm_in_type(
    self: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    out_dtype: dtype,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Tensor:
    """As `baddbmm`, computed in `out_dtype`."""
    return _added(self.to(out_dtype), ops.aten.bmm.dtype(batch1, batch2, out_dtype), beta, alpha)
