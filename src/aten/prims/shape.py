"""Primitives that only move elements: broadcasting and, with time, gathers and layout changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from aten._core.base.dtypes import dtype
from aten.prims.prim import Prim, Shape


def _same(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return types[0]


def _broadcast_reference(array: Any, *, shape: Shape, broadcast_dimensions: Shape) -> Any:
    import numpy

    placed = [1] * len(shape)
    for dim, target in enumerate(broadcast_dimensions):
        placed[target] = array.shape[dim]
    return numpy.broadcast_to(array.reshape(placed), shape)


def _broadcast_shape(shapes: Sequence[Shape], params: dict[str, Any]) -> Shape:
    """The shape asked for. Raises RuntimeError where the operand does not spread to it."""
    shape, places = tuple(params["shape"]), tuple(params["broadcast_dimensions"])
    rising = all(before < after for before, after in pairwise(places))
    inside = all(0 <= place < len(shape) for place in places)
    if len(places) != len(shapes[0]) or not rising or not inside:
        raise RuntimeError(
            f"prims.broadcast_in_dim: broadcast_dimensions must name a dimension of shape "
            f"{list(shape)} for each of the operand's {len(shapes[0])}, in rising order, but is "
            f"{list(places)}"
        )
    for size, place in zip(shapes[0], places, strict=True):
        if size not in (1, shape[place]):
            raise RuntimeError(
                f"prims.broadcast_in_dim: an operand of shape {list(shapes[0])} does not spread to "
                f"{list(shape)} along broadcast_dimensions {list(places)}: size {size} is neither "
                f"1 nor {shape[place]}"
            )
    return shape


broadcast_in_dim = Prim(
    "broadcast_in_dim",
    schema="broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)",
    kind="shape",
    result_type=_same,
    result_shape=_broadcast_shape,
    reference=_broadcast_reference,
    doc="Dimension i of the operand becomes dimension broadcast_dimensions[i] of `shape`.",
)
