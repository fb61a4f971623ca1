"""Rows of tables, picked and added up."""

from __future__ import annotations

from aten._core.bags import fold_bags
from aten._core.dtypes import dtype
from aten._core.taking import take as take_slices
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.places import INDEX_TYPES, INT64, check_range, integer
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
    if weight.dim() != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.dim()}-D")
    check_indices(indices)
    if weight.is_meta or indices.is_meta:
        return weight.new_empty((*indices.shape, weight.size(1)))
    return take_slices(weight, 0, indices.contiguous(), False)


@op
def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors of `num_classes` zeros, but for a one at the place that the element names.

    Without a number of classes there are as many as the largest element asks for. Raises
    RuntimeError for other dtypes than int64 and for elements out of range.
    """
    if self.dtype is not INT64:
        raise RuntimeError(f"one_hot: expected int64, got {self.dtype.scalar_type_name}")
    if self.is_meta:
        if num_classes < 0:
            raise NotImplementedError("one_hot: the elements are not known on the meta device")
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
    return ops.aten.scatter_.value(made, -1, self.unsqueeze(-1), 1)  # type: ignore[no-any-return]


@op
def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows of `self` at `indices` whose norm is larger down to `max_norm`."""
    if self.dim() != 2:
        raise RuntimeError(f"embedding_renorm_: expected a matrix, got {self.dim()}-d")
    check_indices(indices)
    if self.is_meta or indices.numel() == 0:
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
    sums without padding need, and give, none of that. Raises RuntimeError for indices out of range,
    offsets that run backwards or past the end (IndexError for means and maxima of which one in the
    middle is outside) and other dtypes.
    """
    _check_bags(weight, indices, offsets, mode, per_sample_weights, include_last_offset)
    count = offsets.numel() - include_last_offset
    if weight.is_meta or indices.is_meta:
        none = offsets.new_empty((count,))
        return weight.new_empty((count, weight.size(1))), indices.new_empty((0,)), none, none
    weights = None if per_sample_weights is None else per_sample_weights.contiguous()
    made, bags, sizes, origins = fold_bags(
        weight, indices.contiguous(), offsets.contiguous(), mode, weights, count, padding_idx
    )
    if mode == _SUM:
        none = offsets.new_zeros((count,))
        asked = bags if padding_idx >= 0 else bags.new_empty((0,))
        return made, _like(asked, indices), none, none.clone()
    sizes = _like(sizes, offsets)
    if mode == _MEAN:
        return made, _like(bags, indices), sizes, sizes.clone()
    return made, _like(bags, indices), sizes, _like(origins, indices)


def _like(numbers: Tensor, other: Tensor) -> Tensor:
    return numbers.to(other.dtype)


def _check_bags(
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
    if weight.is_meta or indices.is_meta or offsets.is_meta:
        return
    message = "embedding_bag: index {index} is out of range for a table of {size} rows"
    check_range(indices, weight.size(0), message, error=RuntimeError)


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


@op
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> _Bags:
    """As `_embedding_bag`; a negative `padding_idx` counts from the end of the table."""
    if padding_idx is not None:
        rows = weight.size(0) if weight.dim() else 0
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"embedding_bag: padding_idx {padding_idx} is not one of {rows} rows"
            )
        padding_idx %= rows
    return ops.aten._embedding_bag(  # type: ignore[no-any-return]
        weight,
        indices,
        offsets,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        -1 if padding_idx is None else padding_idx,
    )
