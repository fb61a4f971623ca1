"""Products of matrices and vectors of any rank, made of the products of two matrices."""

from __future__ import annotations

from math import prod

from aten._core.tensor.tensor import Tensor
from aten._core.views.views import try_view
from aten.ops.definition import op


@op
def matmul(self: Tensor, other: Tensor) -> Tensor:
    """Vectors at the end are rows or columns; leading dimensions are batches, and broadcast.

    Raises RuntimeError for numbers, and for sizes that do not go together.
    """
    left, right = self.dim(), other.dim()
    if left == 0 or right == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D"
        )
    if left <= 2 and right <= 2:
        return _matrix_or_vector_product(self, other)
    if right == 1:
        rows = self.reshape(-1, self.shape[-1]) if self.numel() else _empty_rows(self)
        return rows.mv(other).view(self.shape[:-1])
    if right == 2 and self.numel() and try_view(self, (-1, self.shape[-1])) is not None:
        folded = self.view(-1, self.shape[-1])
        return folded.mm(other).view((*self.shape[:-1], other.shape[-1]))
    if left == 1:
        return _batched(self.unsqueeze(0), other).squeeze(-2)
    return _batched(self, other)


def _matrix_or_vector_product(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 2:
        return self.mm(other) if other.dim() == 2 else self.mv(other)
    if other.dim() == 1:
        return self.dot(other)
    return self.unsqueeze(0).mm(other).squeeze(0)


def _empty_rows(batches: Tensor) -> Tensor:
    return batches.reshape(prod(batches.shape[:-1]), batches.shape[-1])


def _batched(self: Tensor, other: Tensor) -> Tensor:
    """The product of batches of matrices, over the common shape of their leading dimensions."""
    shape = broadcast_shapes(self.shape[:-2], other.shape[:-2])
    product = folded_batches(self, shape).bmm(folded_batches(other, shape))
    return product.view((*shape, self.shape[-2], other.shape[-1]))


def folded_batches(matrices: Tensor, batch: tuple[int, ...]) -> Tensor:
    """(…, rows, columns) repeated over `batch`, as one batch dimension; a view where strides
    allow one."""
    count = prod(batch)
    rows, columns = matrices.shape[-2:]
    if matrices.dim() == 3 and matrices.shape[0] == count:
        return matrices
    return matrices.expand((*batch, rows, columns)).reshape((count, rows, columns))


def broadcast_shapes(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape. Raises RuntimeError where sizes differ and neither is 1."""
    rank = max(len(left), len(right))
    first = (1,) * (rank - len(left)) + tuple(left)
    second = (1,) * (rank - len(right)) + tuple(right)
    for dim in range(rank):
        if first[dim] != second[dim] and 1 not in (first[dim], second[dim]):
            raise RuntimeError(
                f"The size of tensor a ({first[dim]}) must match the size of tensor b "
                f"({second[dim]}) at non-singleton dimension {dim}"
            )
    return tuple(b if a == 1 else a for a, b in zip(first, second, strict=True))


@op
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`: input (*, in), weight (out, in) or (in), bias (out)."""
    transposed = weight.t()
    if bias is None:
        return input.matmul(transposed)
    if input.dim() == 2:
        return bias.addmm(input, transposed)
    if input.dim() > 2 and weight.dim() == 2 and bias.dim() == 1 and input.numel():
        folded = input.reshape(-1, input.shape[-1])
        result = bias.addmm(folded, transposed)
        return result.view((*input.shape[:-1], weight.shape[0]))
    return input.matmul(transposed) + bias


@op
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 @ weight[k] @ input2 for every k, plus bias.

    input1 (*, in1), input2 (*, in2), weight (out, in1, in2), bias (out). Raises RuntimeError for
    other sizes.
    """
    batch, sizes = input1.shape[:-1], (input1.shape[-1:] + input2.shape[-1:])
    if weight.dim() != 3 or input2.shape[:-1] != batch or sizes != weight.shape[1:]:
        raise RuntimeError(
            f"bilinear: expected (*, A), (*, B) and weight (C, A, B), but got "
            f"{list(input1.shape)}, {list(input2.shape)} and {list(weight.shape)}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(f"bilinear: bias is {list(bias.shape)} for {weight.shape[0]} results")
    out, first, second = weight.shape
    left = input1.reshape(prod(batch), first).mm(
        weight.transpose(0, 1).reshape(first, out * second)
    )
    result = left.view((prod(batch), out, second)).bmm(input2.reshape(prod(batch), second, 1))
    result = result.view((*batch, out))
    return result if bias is None else result + bias
