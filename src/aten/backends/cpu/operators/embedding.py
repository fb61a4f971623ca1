"""Rows of tables, and sums of bags of them."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.indexing.bags import fold_bags, sum_bags
from aten.backends.cpu.kernels.indexing.taking import take as take_slices
from aten.backends.cpu.operators.places import check_range
from aten.ops.definition import op
from aten.ops.indexing import embedding as definitions
from aten.ops.indexing.embedding import (
    check_bags,
    check_renorm,
    check_shelf,
    check_table,
    gives_bags,
)
from aten.ops.indexing.scatter import INT64
from aten.registry import ops

_SUM, _MEAN = 0, 1
_Bags = tuple[Tensor, Tensor, Tensor, Tensor]


@op("embedding", exact_out=True)
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` at `indices`; the other arguments matter for derivatives only.

    Raises IndexError for indices that are negative or too large.
    """
    check_table(weight, indices)
    return take_slices(weight, 0, indices.contiguous(), False)


@op
def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows of `self` at `indices` whose norm is larger down to `max_norm`."""
    check_renorm(self, indices)
    if indices.numel() == 0:
        return self
    message = "index {index} is out of range for a table of {size} rows"
    check_range(indices, self.size(0), message, low=-self.size(0))
    met = self.new_zeros((self.size(0),), dtype=INT64)
    places = ops.aten.remainder(indices.reshape((-1,)).to(INT64), self.size(0))
    rows = ops.aten.nonzero(ops.aten.index_fill_(met, 0, places, 1)).select(1, 0)
    table = ops.aten.index_select(self, 0, rows)
    norms = ops.aten.norm.ScalarOpt_dim(table, norm_type, [1], True)
    scales = ops.aten.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0).to(self.dtype)
    ops.aten.index_put_(self, (rows,), table * scales)
    return self


@op("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag_from(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> _Bags:
    """The sums (mode 0), means (1) or maxima (2) of bags of rows of `weight`.

    A bag is what lies in `indices` from one of the `offsets` to the next; `padding_idx` counts for
    nothing. Returns with them the bag of each index, the bags' sizes, and where maxima are from;
    sums without padding need, and mostly give, none of that. Raises RuntimeError for indices out of
    range, offsets that run backwards or past the end (IndexError for means and maxima of which one
    in the middle is outside) and other dtypes.
    """
    check_bags(weight, indices, offsets, mode, per_sample_weights, include_last_offset)
    message = "embedding_bag: index {index} is out of range for a table of {size} rows"
    check_range(indices, weight.size(0), message, error=RuntimeError)
    count = offsets.numel() - include_last_offset
    weights = None if per_sample_weights is None else per_sample_weights.contiguous()
    asked = mode != _SUM or gives_bags(weight, per_sample_weights, padding_idx)
    made, bags, sizes, origins = fold_bags(
        weight, indices.contiguous(), offsets.contiguous(), mode, weights, count, padding_idx, asked
    )
    if mode == _SUM:
        none = offsets.new_zeros((count,))
        return made, _like(bags, indices), none, none.clone()
    sizes = _like(sizes, offsets)
    if mode == _MEAN:
        return made, _like(bags, indices), sizes, sizes.clone()
    return made, _like(bags, indices), sizes, _like(origins, indices)


def embedding_bags(
    weights: Sequence[Tensor],
    indices: Sequence[Tensor],
    offsets: Sequence[Tensor],
    include_last_offset: bool = False,
) -> list[Tensor]:
    """Sums of several tables: see `aten.ops.indexing.embedding.embedding_bags`."""
    check_shelf(weights, indices, offsets)
    made = sum_bags(weights, indices, offsets, int(include_last_offset))
    if made is None:
        return definitions.embedding_bags(weights, indices, offsets, include_last_offset)
    return made


def _like(numbers: Tensor, other: Tensor) -> Tensor:
    return numbers.to(other.dtype)
