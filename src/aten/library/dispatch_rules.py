"""What modes and classes of tensors make of operators of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aten.backends.modes import set_dispatch_rule
from aten.library.registration import name_of
from aten.registry import operator

if TYPE_CHECKING:
    from aten._core.dispatch.dispatcher import OpOverload
    from aten.library.registration import Library, NamedOperator


def register_torch_dispatch(
    op: str | OpOverload | NamedOperator,
    torch_dispatch_class: type,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers `func(cls, op, types, args, kwargs)` in the place of `__torch_dispatch__`.

    It serves one operator for one class: of tensors, or of a mode, which `func` gets as its first
    argument. Without `func` it is a decorator.

    Raises LookupError where there is no such operator.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        found = operator(name_of(op))
        set_dispatch_rule(found, torch_dispatch_class, function)
        if lib is not None:
            lib.when_closed(lambda: set_dispatch_rule(found, torch_dispatch_class, None))
        return function

    return register if func is None else register(func)
