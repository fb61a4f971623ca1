"""All combinations of several tensors' elements or indices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.linear_algebra.matmul import broadcast_shapes
from aten.registry import ops

_BOOL = DTYPES["bool"]


@op
def broadcast_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of the common shape. Raises RuntimeError where there is none."""
    shape: tuple[int, ...] = ()
    for tensor in tensors:
        shape = broadcast_shapes(shape, tuple(tensor.shape))
    return tuple(tensor.expand(shape) for tensor in tensors)


@op("meshgrid.indexing")
def meshgrid(tensors: Sequence[Tensor], *, indexing: str = "ij") -> tuple[Tensor, ...]:
    """The vectors' elements at each point of their grid, as views; numbers are vectors of one.

    With indexing "xy" the first two dimensions change places. Raises RuntimeError for other words,
    for tensors with more dimensions, and for dtypes or devices that differ.
    """
    if not tensors:
        raise RuntimeError("meshgrid: tensors must not be empty")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"meshgrid: indexing must be 'ij' or 'xy', got {indexing!r}")
    first = tensors[0]
    for tensor in tensors:
        if tensor.dim() > 1:
            raise RuntimeError(
                f"meshgrid: tensors must have at most 1 dimension, but one has {tensor.dim()}"
            )
        if tensor.dtype is not first.dtype or tensor.device != first.device:
            raise RuntimeError(
                f"meshgrid: tensors must agree in dtype and device, got {first.dtype} on "
                f"{first.device} and {tensor.dtype} on {tensor.device}"
            )
    swapped = indexing == "xy" and len(tensors) > 1
    ordered = [tensors[1], tensors[0], *tensors[2:]] if swapped else list(tensors)
    sizes = [tensor.numel() for tensor in ordered]
    grids = [
        tensor.reshape([-1 if place == dim else 1 for place in range(len(sizes))]).expand(sizes)
        for dim, tensor in enumerate(ordered)
    ]
    return (grids[1], grids[0], *grids[2:]) if swapped else tuple(grids)


@op("meshgrid")
def meshgrid_in_order(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return ops.aten.meshgrid.indexing(tensors, indexing="ij")


@op
def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """All tuples of the vectors' elements, as rows; of one vector, the vector itself."""
    for tensor in tensors:
        if tensor.dim() != 1:
            raise RuntimeError(
                f"cartesian_prod: tensors must have 1 dimension, but one has {tensor.dim()}"
            )
    if len(tensors) == 1:
        return tensors[0]
    flat = [grid.reshape(-1) for grid in ops.aten.meshgrid.default(tensors)]
    return ops.aten.stack(flat, 1)


@op
def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector in its order, as rows."""
    if self.dim() != 1:
        raise RuntimeError(f"combinations: self must have 1 dimension, but it has {self.dim()}")
    if r < 0:
        raise RuntimeError(f"combinations: r must not be negative, got {r}")
    if r == 0:
        return self.new_empty((0,))
    numbers = ops.aten.arange(self.numel(), device=self.device)
    places = ops.aten.meshgrid.default([numbers] * r)
    mask: Tensor = ops.aten.ones_like(places[0], dtype=_BOOL)
    for before, after in pairwise(places):
        mask = mask & (before <= after if with_replacement else before < after)
    chosen = [grid.masked_select(mask) for grid in ops.aten.meshgrid.default([self] * r)]
    return ops.aten.stack(chosen, 1)


@op
def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """Zeros with the matrices along the diagonal; vectors are rows, numbers 1 × 1."""
    if not tensors:
        return ops.aten.empty.memory_format((1, 0))
    for place, tensor in enumerate(tensors):
        if tensor.dim() > 2:
            raise RuntimeError(
                f"block_diag: tensors must have at most 2 dimensions, but tensor {place} has "
                f"{tensor.dim()}"
            )
        if tensor.device != tensors[0].device:
            raise RuntimeError(
                f"block_diag: tensors must be on one device, but tensor {place} is on "
                f"{tensor.device}, not {tensors[0].device}"
            )
    blocks = [ops.aten.atleast_2d(tensor) for tensor in tensors]
    sizes = [sum(block.shape[dim] for block in blocks) for dim in (0, 1)]
    element = result_type(*tensors)
    out: Tensor = ops.aten.zeros(sizes, dtype=element, device=tensors[0].device)
    row = column = 0
    for block in blocks:
        rows, columns = block.shape
        out.narrow(0, row, rows).narrow(1, column, columns).copy_(block)
        row, column = row + rows, column + columns
    return out
