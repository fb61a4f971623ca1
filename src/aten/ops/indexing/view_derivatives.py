"""Derivatives of views and of what picks elements: zeros with the gradient where it came from."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.registry import ops


def _zeros(like: Tensor, sizes: Sequence[int]) -> Tensor:
    return ops.aten.zeros(sizes, dtype=like.dtype, device=like.device)


@op
def view_backward(
    called: OpOverload, grad_output: Tensor, input_sizes: Sequence[int], *places: int
) -> Tensor:
    """Zeros of `input_sizes`, of which the view of this name and these places is the gradient."""
    zeros = _zeros(grad_output, input_sizes)
    name = {"slice": "slice.Tensor", "select": "select.int"}.get(
        called.name.removesuffix("_backward"), called.name.removesuffix("_backward")
    )
    packet, _, overload = name.partition(".")
    view = getattr(getattr(ops.aten, packet), overload or "default")
    view(zeros, *places).copy_(grad_output)
    return zeros


@op
def trace_backward(grad: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient on the diagonal of a matrix. Raises RuntimeError for other than two sizes."""
    if len(sizes) != 2:
        raise RuntimeError(f"trace_backward: expected a matrix, but sizes is {list(sizes)}")
    zeros = _zeros(grad, sizes)
    zeros.diagonal().copy_(grad)
    return zeros


@op
def unfold_backward(
    grad_in: Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int
) -> Tensor:
    """The gradient of `unfold`: elements of several windows get the sum of theirs."""
    zeros = _zeros(grad_in, input_sizes)
    if not input_sizes:
        return zeros.add_(grad_in.sum())
    dim = wrap_dimension(dim, len(input_sizes))
    places = ops.aten.arange(input_sizes[dim], dtype=DTYPES["int64"], device=grad_in.device)
    windows = places.unfold(0, size, step)
    parts = grad_in.movedim(-1, dim + 1).flatten(dim, dim + 1)
    return zeros.index_add_(dim, windows.flatten(), parts)


@op
def value_selecting_reduction_backward(
    grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool
) -> Tensor:
    """The gradient of what takes one element of each row: at the places of these elements."""
    if not keepdim and len(sizes) > 0:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return _zeros(grad, sizes).scatter_(dim, indices, grad)


@op
def index_select_backward(
    grad: Tensor, self_sizes: Sequence[int], dim: int, index: Tensor
) -> Tensor:
    return _zeros(grad, self_sizes).index_add_(dim, index, grad)


@op
def cummaxmin_backward(grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
    """The gradient of running extremes: added up at the elements that they were."""
    if input.numel() == 0:
        return input
    return _zeros(input, input.shape).scatter_add_(dim, indices, grad)


@op
def gather_backward(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, sparse_grad: bool
) -> Tensor:
    """The gradient of `gather`. Raises NotImplementedError where a sparse one is asked for."""
    if sparse_grad:
        raise NotImplementedError("gather_backward: there are no sparse gradients")
    return _zeros(grad, self.shape).scatter_add_(dim, index, grad)


@op
def masked_select_backward(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
    """The gradient where the mask chose; where it was repeated, the sum."""
    common = ops.aten.broadcast_tensors([input, mask])
    sizes = common[0].shape
    spread = _zeros(grad, sizes).masked_scatter_(mask, grad)
    return spread.sum_to_size(input.shape)


@op
def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of the source of `masked_scatter`: zeros where it was not needed."""
    count = 1
    for size in sizes:
        count *= size
    chosen = grad_output.masked_select(mask)
    missing = count - chosen.numel()
    if missing > 0:
        chosen = ops.aten.cat((chosen, _zeros(grad_output, (missing,))))
    return chosen.view(sizes)


@op
def embedding_dense_backward(
    grad_output: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Tensor:
    """The gradient of an embedding's rows, by how often they were used if that is asked for.

    Raises RuntimeError for indices other than int32 and int64.
    """
    if indices.dtype.name not in ("int32", "int64"):
        raise RuntimeError(
            f"embedding_dense_backward: indices must be int32 or int64, but are {indices.dtype}"
        )
    rows = grad_output.reshape(indices.numel(), grad_output.shape[-1])
    places = indices.reshape(-1).long()
    padded = (places == padding_idx).unsqueeze(1)
    if scale_grad_by_freq:
        counts = _zeros(places, (num_weights,)).index_add_(0, places, ops.aten.ones_like(places))
        # In the rows' type: of whole numbers those that are used twice count for nothing.
        rows = rows * counts[places].double().reciprocal().unsqueeze(1).to(rows.dtype)
    return _zeros(grad_output, (num_weights, rows.shape[1])).index_add_(
        0, places, rows.masked_fill(padded, 0)
    )


@op
def embedding_backward(
    grad: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Tensor:
    """`embedding_dense_backward`. Raises NotImplementedError for a sparse gradient."""
    if sparse:
        raise NotImplementedError("embedding_backward: there are no sparse gradients")
    return ops.aten.embedding_dense_backward(
        grad, indices, num_weights, padding_idx, scale_grad_by_freq
    )


@op
def affine_grid_generator_backward(
    grad: Tensor, size: Sequence[int], align_corners: bool
) -> Tensor:
    """The gradient of `theta`: products of the grid before the transformation with `grad`."""
    rank = len(size) - 2
    whole = ops.aten.eye(rank, rank + 1, dtype=grad.dtype, device=grad.device)
    plain = ops.aten.affine_grid_generator(
        whole.expand(size[0], rank, rank + 1), size, align_corners
    ).reshape(size[0], -1, rank)
    base = ops.aten.cat((plain, ops.aten.ones_like(plain.narrow(2, 0, 1))), 2)
    return (base.mT @ grad.reshape(size[0], -1, rank)).mT
