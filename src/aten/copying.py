"""Tensors through pickle and `copy.deepcopy`: views of one storage stay views of one storage."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from aten._core.dtypes import dtype
from aten._core.storage import Storage
from aten._core.tensor import Tensor, tensor_from_buffer


def reduce(tensor: Tensor, protocol: int) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
    """What pickle keeps of a tensor: its storage, once, and the window on it."""
    return rebuild, (
        tensor.untyped_storage(),
        tensor.dtype,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
    )


def rebuild(
    storage: Storage,
    element: dtype,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> Tensor:
    """The tensor that `reduce` took apart. Raises ValueError where it leaves its storage."""
    return tensor_from_buffer(storage, element, sizes, strides, offset * element.itemsize)


def deep_copy(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy of the tensor on a copy of its storage, which other tensors in `memo` may share."""
    copied = rebuild(
        deepcopy(tensor.untyped_storage(), memo),
        tensor.dtype,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
    )
    memo[id(tensor)] = copied
    return copied
