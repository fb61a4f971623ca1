"""Rows of tables, picked and added up."""

from __future__ import annotations

from aten._core.taking import take as take_slices
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.places import INDEX_TYPES


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
