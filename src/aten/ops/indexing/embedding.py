"""Rows of tables, picked and added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.dtypes import dtype
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.indexing.scatter import INDEX_TYPES, INT64, integer
from aten.registry import ops

_SUM, _MEAN, _MAX = 0, 1, 2
_Bags = tuple[Tensor, Tensor, Tensor, Tensor]


def check_indices(indices: Tensor) -> None:
    """Refuse other dtypes than int32 and int64. Raises RuntimeError."""
    if indices.dtype.name not in INDEX_TYPES:
        raise RuntimeError(
            "Expected tensor for argument 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {indices.dtype.scalar_type_name} instead"
        )


def check_table(weight: Tensor, indices: Tensor) -> None:
    """Raises RuntimeError for other ranks and dtypes than embedding takes."""
    if weight.dim() != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.dim()}-D")
    check_indices(indices)


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
    rows = ops.aten.index_select(weight, 0, indices.reshape((-1,)))
    return rows.reshape((*indices.shape, weight.size(1)))


@op
def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors of `num_classes` zeros, but for a one at the place that the element names.

    Without a number of classes there are as many as the largest element asks for. Raises
    RuntimeError for other dtypes than int64 and for elements out of range.
    """
    if self.dtype is not INT64:
        raise RuntimeError(f"one_hot: expected int64, got {self.dtype.scalar_type_name}")
    if num_classes >= 0 and not has_data(self):
        return self.new_empty((*self.shape, num_classes))
    if self.numel() == 0 and num_classes <= 0:
        raise RuntimeError("one_hot: no elements say how many classes there are")
    if self.numel():
        least, greatest = integer(self.min()), integer(self.max())
        if num_classes == -1:
            num_classes = greatest + 1
        if least < 0 or greatest >= num_classes:
            wrong = least if least < 0 else greatest
            raise RuntimeError(f"one_hot: class {wrong} is not one of {max(num_classes, 0)}")
    made = self.new_zeros((*self.shape, num_classes))
    return ops.aten.scatter_.value(made, -1, self.unsqueeze(-1), 1)


def check_renorm(self: Tensor, indices: Tensor) -> None:
    """Raises RuntimeError for other ranks and dtypes than embedding_renorm_ takes."""
    if self.dim() != 2:
        raise RuntimeError(f"embedding_renorm_: expected a matrix, got {self.dim()}-d")
    check_indices(indices)


@op
def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows of `self` at `indices` whose norm is larger down to `max_norm`."""
    check_renorm(self, indices)
    if indices.numel() == 0:
        return self
    met = self.new_zeros((self.size(0),), dtype=INT64)
    met = ops.aten.index_fill(met, 0, indices.reshape((-1,)).to(INT64), 1).unsqueeze(1)
    norms = ops.aten.norm.ScalarOpt_dim(self, norm_type, [1], True)
    scales = (max_norm / (norms + 1e-7)).to(self.dtype)
    larger = met.ne(0).logical_and(norms > max_norm)
    return self.copy_(ops.aten.where.self(larger, self * scales, self))


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
    count = offsets.numel() - include_last_offset
    none = offsets.new_zeros((count,))
    bags = bags_of(indices, offsets)
    # What comes after the last bag goes to one more, which is left out of the results.
    targets = bags.clamp(max=count)
    counted = (indices != padding_idx) if padding_idx >= 0 else ops.aten.ones_like(indices).ne(0)
    rows = ops.aten.embedding(weight, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    rows = rows.masked_fill(counted.logical_not().unsqueeze(1), 0)
    room = weight.new_zeros((count + 1, weight.size(1)))
    sums = ops.aten.index_add(room, 0, targets, rows).narrow(0, 0, count).clone()
    if mode == _SUM:
        asked = bags
        if not gives_bags(weight, per_sample_weights, padding_idx):
            asked = bags.new_empty((0,))
        return sums, asked.to(indices.dtype), none, none.clone()
    lengths = indices.new_zeros((count + 1,), dtype=INT64)
    sizes = ops.aten.index_add(lengths, 0, targets, counted.to(INT64)).narrow(0, 0, count)
    if mode == _MEAN:
        means = sums / sizes.clamp(min=1).unsqueeze(1).to(sums.dtype)
        sizes = sizes.to(offsets.dtype)
        return means, bags.to(indices.dtype), sizes, sizes.clone()
    maxima, origins = _maxima(rows, targets, indices, counted, count)
    return maxima, bags.to(indices.dtype), sizes.to(offsets.dtype), origins


def embedding_bags(
    weights: Sequence[Tensor],
    indices: Sequence[Tensor],
    offsets: Sequence[Tensor],
    include_last_offset: bool = False,
) -> list[Tensor]:
    """The sums of bags of rows of several tables, as `_embedding_bag` has them.

    Raises RuntimeError for lists of different lengths, and what `_embedding_bag` raises.
    """
    check_shelf(weights, indices, offsets)
    bag = ops.aten._embedding_bag.default
    given = zip(weights, indices, offsets, strict=True)
    return [bag(*one, include_last_offset=include_last_offset)[0] for one in given]


def check_shelf(*lists: Sequence[Tensor]) -> None:
    """Raises RuntimeError for lists of different lengths."""
    lengths = [len(one) for one in lists]
    if len(set(lengths)) > 1:
        raise RuntimeError(
            f"embedding_bags: expected indices and offsets for each table, got {lengths[1]} and"
            f" {lengths[2]} for {lengths[0]} tables"
        )


# Operators of the namespace `fused`, which compiled programs call and nobody else: their schemas.
FUSED_BAGS: dict[str, Callable[..., list[Tensor]]] = {
    "embedding_bags(Tensor[] weights, Tensor[] indices, Tensor[] offsets,"
    " bool include_last_offset=False) -> Tensor[]": embedding_bags,
}


def gives_bags(weight: Tensor, per_sample_weights: Tensor | None, padding_idx: int) -> bool:
    """Whether sums come with the bag of each index: torch's kernel of most tables gives none."""
    is_quick = weight.dtype.name != "float64" and weight.stride(1) == 1
    is_dense = per_sample_weights is None or per_sample_weights.stride(0) == 1
    return padding_idx >= 0 or not (is_quick and is_dense)


def bags_of(indices: Tensor, offsets: Tensor) -> Tensor:
    """The bag of each index."""
    place = ops.aten.arange(indices.numel(), dtype=INT64, device=indices.device)
    starts = offsets.to(INT64)
    return ops.aten.searchsorted.Tensor(starts, place, right=True) - 1


def _maxima(
    rows: Tensor, bags: Tensor, indices: Tensor, counted: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """The maxima of bags, 0 for empty ones, and the index that each is from, or 0."""
    dims = rows.size(1)
    window = bags.unsqueeze(1).expand(rows.shape)
    lowest = rows.masked_fill(counted.logical_not().unsqueeze(1), float("-inf"))
    start = rows.new_full((count + 1, dims), float("-inf"))
    maxima = ops.aten.scatter_reduce.two(start, 0, window, lowest, "amax")
    length = indices.numel()
    place = ops.aten.arange(length, dtype=INT64, device=indices.device).unsqueeze(1)
    here = (lowest == ops.aten.gather(maxima, 0, window)).logical_and(counted.unsqueeze(1))
    candidates = ops.aten.where.ScalarOther(here, place, length)
    none = candidates.new_full((count + 1, dims), length)
    first = ops.aten.scatter_reduce.two(none, 0, window, candidates, "amin").narrow(0, 0, count)
    padded = ops.aten.cat([indices, indices.new_zeros((1,))])
    origins = ops.aten.take(padded, first)
    return maxima.narrow(0, 0, count).masked_fill(first.eq(length), 0), origins


def check_bags(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: int,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
) -> None:
    check_indices(indices)
    check_indices(offsets)
    if weight.dim() != 2 or indices.dim() != 1 or offsets.dim() != 1:
        raise RuntimeError(
            f"embedding_bag: expected a table and vectors of indices and offsets, got "
            f"{weight.dim()}-d, {indices.dim()}-d and {offsets.dim()}-d"
        )
    if weight.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
        raise RuntimeError(
            f"embedding_bag: expected a table of floating-point numbers, got "
            f"{weight.dtype.scalar_type_name}"
        )
    if mode not in (_SUM, _MEAN, _MAX):
        raise RuntimeError(f"embedding_bag: mode is 0 (sum), 1 (mean) or 2 (max), got {mode}")
    if include_last_offset and offsets.numel() < 1:
        raise RuntimeError("embedding_bag: include_last_offset needs at least one offset")
    _check_sample_weights(weight.dtype, indices, mode, per_sample_weights)


def _check_sample_weights(
    element: dtype, indices: Tensor, mode: int, per_sample_weights: Tensor | None
) -> None:
    if per_sample_weights is None:
        return
    if mode != _SUM:
        raise RuntimeError("embedding_bag: per_sample_weights are for sums only")
    if per_sample_weights.dtype is not element:
        raise RuntimeError(
            f"embedding_bag: expected per_sample_weights of the table's dtype, got "
            f"{per_sample_weights.dtype.scalar_type_name}"
        )
    if per_sample_weights.shape != indices.shape:
        raise RuntimeError(
            f"embedding_bag: expected a weight for each index, got "
            f"{list(per_sample_weights.shape)} for {list(indices.shape)}"
        )


@op("embedding_bag")
def embedding_bag(weight: Tensor, *arguments: Any) -> _Bags:
    """As `_embedding_bag`, without padding."""
    return ops.aten._embedding_bag.default(weight, *arguments)


@op("embedding_bag.padding_idx")
def embedding_bag_with_padding(weight: Tensor, *arguments: Any) -> _Bags:
    """As `_embedding_bag`; a negative `padding_idx` counts from the end of the table."""
    *others, padding_idx = arguments
    if padding_idx is not None:
        rows = weight.size(0) if weight.dim() else 0
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"embedding_bag: padding_idx {padding_idx} is not one of {rows} rows"
            )
        padding_idx %= rows
    return ops.aten._embedding_bag.default(
        weight, *others, -1 if padding_idx is None else padding_idx
    )
