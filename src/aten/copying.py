"""Tensors through pickle and `copy.deepcopy`: views of one storage stay views of one storage."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from aten import registry
from aten._core.base.dtypes import dtype
from aten._core.memory.storage import Storage
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor

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
        tensor.requires_grad,
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
    requires_grad: bool = False,
) -> Tensor:
    """The tensor that `reduce` took apart. Raises ValueError where it leaves its storage."""
    made = tensor_from_buffer(storage, element, sizes, strides, offset * element.itemsize)
    if is_conj:
        made = registry.ops.aten._conj(made)
    if is_neg:
        made = registry.ops.aten._neg_view(made)
    made = made if kind is Tensor else made.as_subclass(kind)
    return made.requires_grad_() if requires_grad else made


def deep_copy(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy of the tensor on a copy of its storage, which other tensors in `memo` may share.

    Raises RuntimeError for a tensor that a recorded operator made: its graph cannot be copied.
    """
    if not tensor.is_leaf:
        raise RuntimeError(
            f"deepcopy: only leaves can be copied with their gradients, and {tensor.grad_fn} made "
            f"this tensor; detach() gives one that can be"
        )
    storage, *window = _parts(tensor)
    copied = rebuild(deepcopy(storage, memo), *window)
    memo[id(tensor)] = copied
    if tensor.grad is not None:
        copied.grad = deepcopy(tensor.grad, memo)
    vars(copied).update(deepcopy(vars(tensor), memo))
    return copied
