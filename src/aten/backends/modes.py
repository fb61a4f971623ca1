"""Modes: Python code that sees every operator that a thread calls, above all kernels.

A mode is a kernel of the dispatch key Python that the thread includes while the mode is entered.
Calls without one pay nothing for it.
"""

from __future__ import annotations

import threading
from typing import Any, Self

from aten._core.base.keys import (
    DispatchKey,
    DispatchKeySet,
    ExcludeDispatchKeyGuard,
    IncludeDispatchKeyGuard,
)
from aten._core.dispatch.dispatcher import OpOverload, register_fallback
from aten._core.tensor.making import is_fake
from aten._core.tensor.tensor import Tensor

_KEY = DispatchKey.__members__["Python"]
_KEYS = DispatchKeySet(_KEY)


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

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the operator gives for these arguments; here, what it gives anyway."""
        return op(*args, **kwargs)

    def __enter__(self) -> Self:
        guard = IncludeDispatchKeyGuard(_KEYS)
        guard.__enter__()
        _modes.guards.append(guard)
        _modes.entered.append(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not _modes.entered or _modes.entered[-1] is not self:
            raise RuntimeError(f"{type(self).__name__}: modes are left in the order of their entry")
        _modes.entered.pop()
        _modes.guards.pop().__exit__(*exc_info)


def _call(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    entered = _modes.entered
    if not entered:
        if _fake_mode is not None and _has_fakes((*args, *kwargs.values())):
            return _fake_mode.call(op, args, kwargs)
        with ExcludeDispatchKeyGuard(_KEYS):
            return op(*args, **kwargs)
    mode = entered.pop()
    try:
        return mode.call(op, args, kwargs)
    finally:
        entered.append(mode)


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
