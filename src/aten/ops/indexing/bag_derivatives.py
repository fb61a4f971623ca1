"""Gradients of sums, means and maxima of bags of rows."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.indexing.embedding import bags_of, check_indices
from aten.ops.indexing.scatter import INT64
from aten.registry import ops

_SUM, _MEAN, _MAX = 0, 1, 2


@op
def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """`_embedding_bag_dense_backward`; the bag of each index is found where it is not given.

    Raises NotImplementedError for a sparse gradient.
    """
    if sparse:
        raise NotImplementedError("_embedding_bag_backward: there are no sparse gradients")
    bags = offset2bag if offset2bag.numel() else bags_of(indices, offsets)
    return ops.aten._embedding_bag_dense_backward(
        grad,
        indices,
        bags,
        bag_size,
        maximum_indices,
        num_weights,
        scale_grad_by_freq,
        mode,
        per_sample_weights,
        padding_idx,
    )


@op
def _embedding_bag_dense_backward(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient (num_weights, width) of the table, from that of the bags (bags, width).

    Rows that `padding_idx` names, and those behind the last bag, get nothing. With
    `scale_grad_by_freq` a row's part is divided by how often it was used. Raises RuntimeError for
    other dtypes of indices and bags, and other modes.
    """
    check_indices(indices)
    if mode not in (_SUM, _MEAN, _MAX):
        raise RuntimeError(
            f"_embedding_bag_dense_backward: mode is 0 (sum), 1 (mean) or 2 (max), got {mode}"
        )
    made = grad.new_zeros((num_weights, grad.size(1)))
    if mode == _MAX:
        full = bag_size.ne(0).unsqueeze(1)
        return ops.aten.scatter_add(
            made, 0, maximum_indices.to(INT64), grad.masked_fill(full.logical_not(), 0)
        )
    places = indices.to(INT64)
    rows = _rows_of_bags(grad, offset2bag) * _shares(
        grad, places, offset2bag, bag_size, num_weights, scale_grad_by_freq, mode
    ).unsqueeze(1)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if padding_idx >= 0:
        rows = rows.masked_fill(places.eq(padding_idx).unsqueeze(1), 0)
    return ops.aten.index_add(made, 0, places, rows)


@op
def _embedding_bag_per_sample_weights_backward(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of the weight of each index: its row times the gradient of its bag.

    Raises RuntimeError for modes other than sums, which alone have weights.
    """
    check_indices(indices)
    if mode != _SUM:
        raise RuntimeError(
            "_embedding_bag_per_sample_weights_backward: per_sample_weights are for sums only"
        )
    bags = offset2bag if offset2bag.numel() else bags_of(indices, offsets)
    products = _rows_of_bags(grad, bags) * ops.aten.index_select(weight, 0, indices)
    made: Tensor = products.sum([1])
    return made.masked_fill(indices.eq(padding_idx), 0) if padding_idx >= 0 else made


def _rows_of_bags(grad: Tensor, bags: Tensor) -> Tensor:
    """For each index the row of its bag; zeros for those behind the last bag."""
    padded = ops.aten.cat([grad, grad.new_zeros((1, grad.size(1)))])
    return ops.aten.index_select(padded, 0, bags.to(INT64).clamp(max=grad.size(0)))


def _shares(
    grad: Tensor,
    places: Tensor,
    bags: Tensor,
    bag_size: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
) -> Tensor:
    """What part of its bag's gradient goes to each index."""
    divisors = ops.aten.ones_like(places)
    if scale_grad_by_freq:
        used = places.new_zeros((num_weights,))
        divisors = ops.aten.index_select(ops.aten.index_add(used, 0, places, divisors), 0, places)
    if mode == _MEAN:
        lengths = ops.aten.cat([bag_size.to(INT64), bag_size.new_ones((1,), dtype=INT64)])
        bounded = bags.to(INT64).clamp(max=bag_size.size(0))
        divisors = divisors * ops.aten.index_select(lengths, 0, bounded).clamp(min=1)
    return ops.aten.reciprocal(divisors.to(grad.dtype))
