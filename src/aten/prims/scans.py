"""Primitives that run along a dimension, each element folded with all before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.dtypes import dtype
from aten.prims.prim import Prim, Shape


def _same(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return types[0]


def _shape(shapes: Sequence[Shape], params: dict[str, Any]) -> Shape:
    return shapes[0]


def _reference(name: str) -> Callable[..., Any]:
    def call(array: Any, *, dims: Shape) -> Any:
        import numpy

        return getattr(numpy, name)(array, axis=dims[0]).astype(array.dtype)

    return call


def scan(name: str, reference: Callable[..., Any]) -> Prim:
    """Define a scan primitive; `dims` names its one dimension, which stays."""
    return Prim(
        name,
        schema=f"{name}(Tensor inp, int[] dims) -> Tensor",
        kind="scan",
        result_type=_same,
        result_shape=_shape,
        reference=reference,
        doc="Each element folded with all before it along the dimension.",
    )


def _extreme_reference(name: str) -> Callable[..., Any]:
    def call(array: Any, *, dims: Shape) -> Any:
        import numpy

        return getattr(numpy, name).accumulate(array, axis=dims[0])

    return call


cumsum = scan("cumsum", _reference("cumsum"))
cumprod = scan("cumprod", _reference("cumprod"))
cummax = scan("cummax", _extreme_reference("maximum"))
cummin = scan("cummin", _extreme_reference("minimum"))
