"""Functions about places of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aten._core.base.annotating import overload
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.construction import tensor
from aten.registry import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

__all__ = ["nonzero", "unravel_index"]

_INT64 = DTYPES["int64"]


@overload
def nonzero(
    input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False
) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero(
    input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False
) -> Tensor | tuple[Tensor, ...]:
    """The indices of elements that are not zero: a row for each; or a vector for each dimension.

    Raises RuntimeError for `out` with `as_tuple`.

    Example:

        >>> aten.nonzero(aten.tensor([0, 3, 4]))
        tensor([[1],
                [2]])
    """
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero: out is for a result that is one tensor")
        return ops.aten.where(input)
    given = {} if out is None else {"out": out}
    return ops.aten.nonzero(input, **given)


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """For each dimension of `shape`, where positions in row-major order lie in it.

    Raises TypeError for indices and sizes that are no integers, ValueError for negative sizes.

    Example:

        >>> aten.unravel_index(aten.tensor([1, 5]), (2, 3))
        (tensor([0, 1]), tensor([1, 2]))
    """
    if indices.dtype.kind not in ("signed", "unsigned"):
        raise TypeError(f"unravel_index: expected integers as indices, got {indices.dtype}")
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if not all(isinstance(size, int) for size in sizes):
        raise TypeError(f"unravel_index: expected integers as sizes, got {shape!r}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index: sizes must not be negative, got {tuple(sizes)}")
    if indices.numel() == 0:
        sizes = [max(size, 1) for size in sizes]
    steps = [math.prod(sizes[dim + 1 :]) for dim in range(len(sizes))]
    place, limit = (tensor(numbers, dtype=_INT64).to(indices.device) for numbers in (steps, sizes))
    rows = ops.aten.floor_divide(indices.unsqueeze(-1), place)
    return tuple(ops.aten.unbind(ops.aten.remainder(rows, limit), -1))


def _segment_reduce(data: Tensor, reduce: str, **options: Any) -> Tensor:
    """Another name of `segment_reduce`."""
    return ops.aten.segment_reduce(data, reduce, **options)
