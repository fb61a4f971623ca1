"""Primitives that only move elements: broadcasting and, with time, gathers and layout changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.dtypes import dtype
from aten.prims.prim import Prim, Shape


def _same(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return types[0]


def _broadcast_reference(array: Any, *, shape: Shape, broadcast_dimensions: Shape) -> Any:
    import numpy

    placed = [1] * len(shape)
    for dim, target in enumerate(broadcast_dimensions):
        placed[target] = array.shape[dim]
    return numpy.broadcast_to(array.reshape(placed), shape)


broadcast_in_dim = Prim(
    "broadcast_in_dim",
    schema="broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)",
    kind="shape",
    result_type=_same,
    result_shape=lambda shapes, params: tuple(params["shape"]),
    reference=_broadcast_reference,
    doc="Dimension i of the operand becomes dimension broadcast_dimensions[i] of `shape`.",
)
