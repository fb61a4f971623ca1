"""Modes: Python code that sees every operator that a thread calls, above all kernels.

A mode is a kernel of the dispatch key Python that the thread includes while the mode is entered.
Calls without one pay nothing for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from aten._core.base.keys import (
    DispatchKey,
    DispatchKeySet,
    ExcludeDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    thread_excluded,
)
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.overriding import not_asked
from aten._core.dispatch.python_kernel import register_fallback
from aten._core.tensor.making import is_fake
from aten._core.tensor.tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

_KEY = DispatchKey.__members__["Python"]
_KEYS = DispatchKeySet(_KEY)
# Modes that have a key of their own, above Python: operators may register what they do there.
_FUNCTIONALIZE = DispatchKey.__members__["Functionalize"]
_FUNCTIONALIZES = DispatchKeySet(_FUNCTIONALIZE)
# What is excluded where no mode is to see a call.
KEYS_OF_MODES = DispatchKeySet(_KEY, _FUNCTIONALIZE)


class _Modes(threading.local):
    def __init__(self) -> None:
        self.entered: list[DispatchMode] = []
        self.guards: list[IncludeDispatchKeyGuard] = []


_modes = _Modes()
_fake_mode: DispatchMode | None = None


class DispatchMode:
    """A context in which `call` is asked to run every operator; subclass it.

    Inside of `call` the modes entered before this one are in force, and this one is not: calling
    the operator there runs it, and `with self:` puts the mode in force again. The innermost mode
    comes first.

    Example:

        >>> from aten.transforms import DispatchMode
        >>> class Counting(DispatchMode):
        ...     count = 0
        ...
        ...     def call(self, op, args, kwargs):
        ...         self.count += 1
        ...         return op(*args, **kwargs)
        >>> with Counting() as counting:
        ...     y = aten.ones(2) + 1
        >>> counting.count
        2
    """

    # The keys that a thread includes while the mode is entered.
    keys = _KEYS

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the operator gives for these arguments; here, what it gives anyway."""
        return op(*args, **kwargs)

    def __enter__(self) -> Self:
        guard = IncludeDispatchKeyGuard(self.keys)
        guard.__enter__()
        _modes.guards.append(guard)
        _modes.entered.append(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not _modes.entered or _modes.entered[-1] is not self:
            raise RuntimeError(f"{type(self).__name__}: modes are left in the order of their entry")
        _modes.entered.pop()
        _modes.guards.pop().__exit__(*exc_info)


def in_force() -> tuple[DispatchMode, ...]:
    """The modes that see operators of this thread, the outermost first."""
    return () if thread_excluded().has(_KEY) else tuple(_modes.entered)


def _call(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    entered = _modes.entered
    if not entered:
        found = asked_operands((*args, *kwargs.values()))
        if found:
            return _asked(op, found, args, kwargs)
        if _fake_mode is not None and _has_fakes((*args, *kwargs.values())):
            return _fake_mode.call(op, args, kwargs)
        with ExcludeDispatchKeyGuard(_KEYS):
            return op(*args, **kwargs)
    mode = entered.pop()
    try:
        return mode.call(op, args, kwargs)
    finally:
        entered.append(mode)


def _call_functionalize(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """The key Functionalize: the innermost mode, if it is one of this key, else what is below."""
    entered = _modes.entered
    if entered and entered[-1].keys is KEYS_OF_MODES:
        return _call(op, *args, **kwargs)
    with ExcludeDispatchKeyGuard(_FUNCTIONALIZES):
        return op(*args, **kwargs)


def _asked(op: OpOverload, found: list[Tensor], args: Any, kwargs: Any) -> Any:
    """What the first of the operands' classes that does not decline says that the operator gives.

    Raises TypeError where all of them decline.
    """
    given, named = without_defaults(op, args, kwargs)
    types = tuple(type(one) for one in found)
    for cls in types:
        rule = _rules.get((op.qualified_name, cls))
        if rule is not None:
            result = rule(cls, op, types, given, named)
        else:
            result = cls.__torch_dispatch__(op, types, given, named)  # type: ignore[attr-defined]
        if result is not NotImplemented:
            return _written(op, args, kwargs, result)
    raise TypeError(
        f"{op}: __torch_dispatch__ of {', '.join(one.__name__ for one in types)} gave "
        f"NotImplemented: there is no implementation for these types"
    )


def _written(op: OpOverload, args: Any, kwargs: Any, result: Any) -> Any:
    """The argument that the operator writes to and returns, where it returns one; else `result`."""
    returns = op._schema.returns
    if len(returns) != 1 or not returns[0].is_write:
        return result
    for place, argument in enumerate(op._schema.arguments):
        if argument.is_write and argument.annotation == returns[0].annotation:
            return args[place] if place < len(args) else kwargs[argument.name]
    return result


def without_defaults(
    op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call's arguments without those that say what the schema says: the last of the positional
    ones, and any by keyword."""
    arguments = op._schema.arguments
    count = len(args)
    while count and _is_default(arguments[count - 1], args[count - 1]):
        count -= 1
    by_name = {one.name: one for one in arguments}
    named = {name: one for name, one in kwargs.items() if not _is_default(by_name[name], one)}
    return args[:count], named


def _is_default(argument: Any, value: Any) -> bool:
    if not argument.has_default or isinstance(value, (Tensor, list)):
        return False
    if isinstance(value, tuple):
        return isinstance(argument.default, (tuple, list)) and value == tuple(argument.default)
    return bool(type(value) is type(argument.default) and value == argument.default)


def asked_operands(values: Any) -> list[Tensor]:
    """One operand of each class with `__torch_dispatch__`: subclasses first, else as they come."""
    found: list[Tensor] = []
    for value in values:
        members = value if isinstance(value, (list, tuple)) else (value,)
        for one in members:
            cls = type(one)
            if cls is Tensor or not isinstance(one, Tensor) or not has_torch_dispatch(cls):
                continue
            if any(type(other) is cls for other in found):
                continue
            earlier = [n for n, other in enumerate(found) if issubclass(cls, type(other))]
            found.insert(earlier[0] if earlier else len(found), one)
    return found


def has_torch_dispatch(cls: type) -> bool:
    """Whether tensors of the class are asked what operators give."""
    rule = getattr(cls, "__torch_dispatch__", not_asked)
    return rule is not not_asked


# By the operator's qualified name and the class: asked in the place of `__torch_dispatch__`.
_rules: dict[tuple[str, type], Callable[..., Any]] = {}


def set_dispatch_rule(op: OpOverload, cls: type, rule: Callable[..., Any] | None) -> None:
    """Let `rule(cls, func, types, args, kwargs)` serve the operator for a class; None: no more."""
    if rule is None:
        _rules.pop((op.qualified_name, cls), None)
    else:
        _rules[op.qualified_name, cls] = rule


def dispatch_rule_of(op: OpOverload, cls: type) -> Callable[..., Any] | None:
    """What `set_dispatch_rule` was told, or None."""
    return _rules.get((op.qualified_name, cls))


def entered_modes() -> list[DispatchMode]:
    """The modes of this thread that are in force, the outermost first."""
    return list(_modes.entered)


def set_fake_mode(mode: DispatchMode) -> None:
    """Let `mode` serve calls with fake tensors where no mode has been entered."""
    global _fake_mode
    _fake_mode = mode


def _has_fakes(values: Any) -> bool:
    if isinstance(values, Tensor):
        return is_fake(values)
    return isinstance(values, (list, tuple)) and any(map(_has_fakes, values))


def install() -> None:
    """Let modes serve their key."""
    register_fallback(_KEY, _call, "aten/backends/modes.py")
    register_fallback(_FUNCTIONALIZE, _call_functionalize, "aten/backends/modes.py")
