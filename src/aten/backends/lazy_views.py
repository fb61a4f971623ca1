"""Operators on lazy conjugates and negatives: views that only say how memory is to be read.

Views of them are as lazy, and composites hand them on. Every other operator gets what they read as,
in memory of its own; where it writes to one, what it wrote goes back through the view.
"""

from __future__ import annotations

from aten._core.base.keys import DispatchKey, DispatchKeySet, ExcludeDispatchKeyGuard
from aten._core.dispatch.dispatcher import FallthroughKernel, OpOverload
from aten._core.dispatch.python_kernel import register_fallback
from aten._core.tensor.tensor import Tensor
from aten.registry import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KEYS = (DispatchKey.Conjugate, DispatchKey.Negative)


def _plain(tensor: Tensor) -> Tensor:
    """The tensor that has in memory what this one reads as, or its negative or conjugate."""
    if tensor.is_neg():
        tensor = operator("aten::_neg_view")(tensor)
    return operator("aten::_conj")(tensor) if tensor.is_conj() else tensor


def _carried_out(lazy: Tensor, plain: Tensor) -> Tensor:
    """The elements of `plain`, negated and conjugated as `lazy` says; both ways are the same."""
    if lazy.is_conj():
        plain = operator("aten::_conj_physical")(plain)
    return operator("aten::neg")(plain) if lazy.is_neg() else plain


class _Arguments:
    """Replaces lazy tensors among arguments, and remembers those that are written to."""

    def __init__(self) -> None:
        self.are_lazy = False
        self.written: list[tuple[Tensor, Tensor]] = []

    def resolved(self, value: Any, is_written: bool) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self.resolved(one, is_written) for one in value)
        if not isinstance(value, Tensor) or not (value.is_conj() or value.is_neg()):
            return value
        self.are_lazy = True
        made = _carried_out(value, _plain(value))
        if is_written:
            self.written.append((value, made))
        return made

    def write_back(self, result: Any) -> Any:
        for lazy, made in self.written:
            _plain(lazy).copy_(_carried_out(lazy, made))
            if result is made:
                result = lazy
        return result


def _call(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    arguments = _Arguments()
    named = {argument.name: argument.is_write for argument in op._schema.arguments}
    positional = [
        arguments.resolved(value, is_written)
        for value, is_written in zip(args, named.values(), strict=False)
    ]
    keywords = {name: arguments.resolved(value, named[name]) for name, value in kwargs.items()}
    if arguments.are_lazy:
        return arguments.write_back(op(*positional, **keywords))
    # A guard asked for the keys, and no tensor.
    with ExcludeDispatchKeyGuard(DispatchKeySet(*_KEYS)):
        return op(*positional, **keywords)


def install() -> None:
    """Serve both keys for all operators but views, which skip them."""
    for key in _KEYS:
        register_fallback(key, _call, "aten/backends/lazy_views.py")


def skip_laziness(op: OpOverload) -> None:
    """Let a view of a lazy tensor be as lazy."""
    for key in _KEYS:
        op.register(key, FallthroughKernel(), "aten/backends/lazy_views.py")
