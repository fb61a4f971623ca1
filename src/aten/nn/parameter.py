"""Tensors that modules keep by name: what is trained, and what goes along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from aten._core.autograd import node
from aten._core.dispatch.overriding import not_asked
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A leaf over the memory of `data` that modules list as something to train.

    Raises TypeError where `data` is no tensor.
    """

    __torch_function__ = staticmethod(not_asked)

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        made = _leaf(cls, "Parameter", data)
        return made.requires_grad_(requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self)(self.detach().as_subclass(Tensor).clone(), self.requires_grad)
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (self.detach().as_subclass(Tensor), self.requires_grad)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"Parameter containing:\n{self.detach().as_subclass(Tensor).__repr__()[:-1]}" + (
            ", requires_grad=True)" if self.requires_grad else ")"
        )


class Buffer(Tensor):
    """A tensor that a module keeps, saves unless `persistent` is False, and does not train."""

    persistent: bool
    __torch_function__ = staticmethod(not_asked)

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        made = _leaf(cls, "Buffer", data)
        made.persistent = persistent
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        data = self.detach().as_subclass(Tensor).clone()
        copied = type(self)(data, persistent=self.persistent)
        memo[id(self)] = copied
        return copied


def _leaf(cls: Any, name: str, data: Tensor | None) -> Any:
    if data is None:
        data = ops.aten.empty(0)
    if not isinstance(data, Tensor):
        raise TypeError(f"{name}: data must be a tensor, not {type(data).__name__}")
    made = data.detach().as_subclass(cls)
    node.forget_base(made)
    return made
