"""Handles of hooks, and gradients seen where they enter and leave a module."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.autograd.function import Function

__all__ = ["RemovableHandle", "add_hook", "observed"]

_numbers = itertools.count()


class RemovableHandle:
    """What registering a hook gives: `remove()` takes it away. Also a context that does."""

    def __init__(self, *places: dict[int, Any]) -> None:
        self.id = next(_numbers)
        self._places = places

    def remove(self) -> None:
        """Take the hook away; once more is no error."""
        for place in self._places:
            place.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


def add_hook(place: dict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    """Put a hook last, or first with `prepend`."""
    handle = RemovableHandle(place)
    place[handle.id] = hook
    if prepend:
        for number in [one for one in place if one != handle.id]:
            place[number] = place.pop(number)
    return handle


class _Observe(Function):
    """Passes tensors on; their gradients, all at once, go through a function."""

    @staticmethod
    def forward(ctx: Any, see: Callable[..., Any], *tensors: Tensor) -> Any:
        ctx.see = see
        return tuple(one.view_as(one) for one in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, *ctx.see(gradients))


def observed(values: tuple[Any, ...], see: Callable[..., Any]) -> tuple[Any, ...]:
    """`values` with its tensors that require grad passed through a node that calls `see`."""
    places = [i for i, one in enumerate(values) if isinstance(one, Tensor) and one.requires_grad]
    if not places:
        return values
    passed = _Observe.apply(see, *(values[place] for place in places))
    listed = list(values)
    for place, one in zip(places, passed, strict=True):
        listed[place] = one
    return tuple(listed)
