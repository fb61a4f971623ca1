"""Tensors through pickle and `copy.deepcopy`: views of one storage stay views of one storage."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from aten import registry
from aten._core.dtypes import dtype
from aten._core.making import tensor_from_buffer
from aten._core.storage import Storage
from aten._core.tensor import Tensor

_Arguments = tuple[Any, ...]


def reduce(
    tensor: Tensor, protocol: int
) -> tuple[Callable[..., Tensor], _Arguments, dict[str, Any] | None]:
    """What pickle keeps of a tensor: its storage, once, the window on it, class and attributes."""
    return rebuild, _parts(tensor), vars(tensor) or None


def _parts(tensor: Tensor) -> _Arguments:
    return (
        tensor.untyped_storage(),
        tensor.dtype,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
        type(tensor),
        tensor.is_conj(),
        tensor.is_neg(),
    )


def rebuild(
    storage: Storage,
    element: dtype,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    kind: type[Tensor] = Tensor,
    is_conj: bool = False,
    is_neg: bool = False,
) -> Tensor:
    """The tensor that `reduce` took apart. Raises ValueError where it leaves its storage."""
    made = tensor_from_buffer(storage, element, sizes, strides, offset * element.itemsize)
    if is_conj:
        made = registry.ops.aten._conj(made)
    if is_neg:
        made = registry.ops.aten._neg_view(made)
    return made if kind is Tensor else made.as_subclass(kind)


def deep_copy(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy of the tensor on a copy of its storage, which other tensors in `memo` may share."""
    storage, *window = _parts(tensor)
    copied = rebuild(deepcopy(storage, memo), *window)
    memo[id(tensor)] = copied
    vars(copied).update(deepcopy(vars(tensor), memo))
    return copied
