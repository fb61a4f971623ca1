"""How operators of one's own are applied to a whole batch at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aten.library.registration import name_of
from aten.registry import operator

if TYPE_CHECKING:
    from aten._core.dispatch.dispatcher import OpOverload
    from aten.library.registration import Library, NamedOperator

# By the operator's qualified name, as kernels are.
_rules: dict[str, Callable[..., Any]] = {}


def register_vmap(
    op: str | OpOverload | NamedOperator,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers `func(info, in_dims, *args)`: the operator for operands with a batch dimension.

    `in_dims` has for each argument the place of its batch dimension, or None; `info.batch_size` is
    how long that is. `func` gives the result and the place of the result's. Without `func` it is a
    decorator.

    Raises:
        LookupError: there is no such operator.
        TypeError: `func` is not callable.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise TypeError(
                f"register_vmap(): func must be callable, not {type(function).__name__}"
            )
        name = operator(name_of(op)).qualified_name
        _rules[name] = function
        if lib is not None:
            lib.when_closed(lambda: _rules.pop(name, None))
        return function

    return register if func is None else register(func)


def vmap_rule_of(op: OpOverload) -> Callable[..., Any] | None:
    """What `register_vmap` was given for the operator, or None."""
    return _rules.get(op.qualified_name)
