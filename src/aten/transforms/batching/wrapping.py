"""Tensors that stand for one row of a batch.

Such a tensor has a row's sizes and no data. The batch itself is another tensor, with the rows along
its first dimension. Levels tell nested batches apart: where a call has operands of several, the
highest is dealt with first, and the tensors inside are of lower levels, or of none.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from aten._core.base.keys import DispatchKey, DispatchKeySet
from aten._core.tensor.making import mark_row, row_window
from aten._core.tensor.making import row_of as _row_of
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

KEY = DispatchKey.__members__["FuncTorchBatched"]
_KEYS = DispatchKeySet(KEY)


class Batched(NamedTuple):
    """What a row stands for: `value` has the batch as its first dimension."""

    value: Tensor
    level: int


class VmapInfo(NamedTuple):
    """What rules of users are told: the number of rows, and what random operators do."""

    batch_size: int
    randomness: str


class Level(NamedTuple):
    """A batch that a function is being mapped over."""

    number: int
    size: int
    randomness: str


class _Levels(threading.local):
    def __init__(self) -> None:
        self.entered: list[Level] = []


levels = _Levels()


def batched(value: Tensor, level: int) -> Tensor:
    """One row of `value`, which has the batch as its first dimension."""
    made = row_window(value, _KEYS)
    mark_row(made, Batched(value, level))
    return made


def known_of(given: Any) -> Batched | None:
    """The batch that a tensor is a row of, on its highest level; None for other values."""
    found: Batched | None = _row_of(given)
    return found


def level_of(given: Any) -> int:
    """The highest level of a tensor, or of those in a list; 0 for none."""
    if isinstance(given, Tensor):
        known = known_of(given)
        return 0 if known is None else known.level
    if isinstance(given, (list, tuple)):
        return max(map(level_of, given), default=0)
    return 0


def value_of(given: Tensor, level: int) -> Tensor | None:
    """The batch along the first dimension, of a row of `level`; None for another tensor.

    A row of a higher level as well stays one of that.
    """
    known = known_of(given)
    if known is None or known.level < level:
        return None
    if known.level == level:
        return known.value
    inner = value_of(known.value, level)
    return None if inner is None else batched(ops.aten.transpose(inner, 0, 1), known.level)


def row_of(value: Tensor, level: int) -> Tensor:
    """A row of `value` on `level`, below the levels that it has already."""
    known = known_of(value)
    if known is None or known.level < level:
        return batched(value, level)
    inner = row_of(ops.aten.transpose(known.value, 0, 1), level)
    return batched(inner, known.level)


def repeated(given: Tensor, size: int) -> Tensor:
    """The tensor as every row of a batch, without a copy."""
    return ops.aten.expand(ops.aten.unsqueeze(given, 0), [size, *given.shape])


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What a tensor stands for under `vmap`: the whole batch, on all levels with `recurse`.

    To look at alone: what is computed of it is not mapped.

    Example:

        >>> def shown(row):
        ...     print(aten.func.debug_unwrap(row).shape)
        ...     return row
        >>> _ = aten.vmap(shown)(aten.ones(3, 2))
        aten.Size([3, 2])
    """
    known = known_of(tensor)
    if known is None:
        return tensor
    return debug_unwrap(known.value) if recurse else known.value
