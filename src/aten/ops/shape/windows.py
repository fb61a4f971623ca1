"""Copies of a tensor in which one window, a view, is replaced."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops


def _copy(self: Tensor) -> Tensor:
    """A copy of the storage up to the last element, with what lies between elements, and a window
    like `self`; a row-major copy where elements share memory.
    """
    if any(size > 1 and step == 0 for size, step in zip(self.shape, self.stride(), strict=True)):
        return self.clone()
    offset = self.storage_offset()
    extent = 1 + sum(
        (length - 1) * step for length, step in zip(self.shape, self.stride(), strict=True)
    )
    whole = self.as_strided((offset + extent if self.numel() else offset,), (1,), 0).clone()
    return whole.as_strided(self.shape, self.stride(), offset)


def _replace(name: str, window: Tensor, src: Tensor) -> None:
    """Raises RuntimeError where the window and its new contents differ in shape."""
    if window.shape != src.shape:
        raise RuntimeError(
            f"{name}: src must have the shape of what it replaces, {list(window.shape)}, got "
            f"{list(src.shape)}"
        )
    window.copy_(src)


@op("select_scatter", exact_out=True)
def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    made = _copy(self)
    _replace("select_scatter", made.select(dim, index), src)
    return made


@op("slice_scatter", exact_out=True)
def slice_scatter(
    self: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    made = _copy(self)
    _replace("slice_scatter", ops.aten.slice.Tensor(made, dim, start, end, step), src)
    return made


@op("diagonal_scatter", exact_out=True)
def diagonal_scatter(
    self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    made = _copy(self)
    _replace("diagonal_scatter", made.diagonal(offset, dim1, dim2), src)
    return made


@op("as_strided_scatter", exact_out=True)
def as_strided_scatter(
    self: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    made = _copy(self)
    place = self.storage_offset() if storage_offset is None else storage_offset
    _replace("as_strided_scatter", made.as_strided(size, stride, place), src)
    return made
