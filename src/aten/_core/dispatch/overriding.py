"""`__torch_function__`: what modes and operands' classes are asked before an operator is called.

Tensors of subclasses have the key Overriding, and so has every call of a thread with modes: calls
of plain tensors without modes pay for one bit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from aten._core.base.keys import set_overriding
from aten._core.tensor.tensor import Tensor, install_attribute, install_overriding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ENABLED, SUBCLASSES_DISABLED, ALL_DISABLED = range(3)


class _State(threading.local):
    def __init__(self) -> None:
        self.modes: list[Any] = []
        self.disabled = ENABLED


state = _State()


def _settle() -> None:
    every = bool(state.modes) and state.disabled < ALL_DISABLED
    set_overriding(every, state.disabled > ENABLED and not every)


def push_mode(mode: Any) -> None:
    """Puts a mode in force for this thread's calls, before those that are."""
    state.modes.append(mode)
    _settle()


def pop_mode(mode: Any) -> None:
    """Takes the innermost mode out of force. RuntimeError where that is another one."""
    if not state.modes or state.modes[-1] is not mode:
        raise RuntimeError(f"{type(mode).__name__}: modes are left in the order of their entry")
    state.modes.pop()
    _settle()


class DisableTorchFunctionSubclass:
    """Inside the block, `__torch_function__` of operands' classes is not asked; modes are."""

    level = SUBCLASSES_DISABLED

    def __init__(self) -> None:
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(state.disabled)
        state.disabled = max(state.disabled, self.level)
        _settle()

    def __exit__(self, *exc_info: object) -> None:
        state.disabled = self._before.pop()
        _settle()


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside the block, `__torch_function__` is not asked at all, of modes neither."""

    level = ALL_DISABLED


def not_asked(
    func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """Stands as `__torch_function__` in classes whose operators give plain tensors."""
    return NotImplemented


def default_override(
    cls: type,
    func: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """What tensors' classes do: call the function, and give its tensors as this class."""
    if not all(issubclass(cls, one) for one in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        return converted(func(*args, **(kwargs or {})), cls)


def converted(value: Any, cls: type) -> Any:
    """`value` with the tensors in it as `cls`; those that are one stay as they are."""
    if cls is Tensor:
        return value
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[converted(one, cls) for one in value])
    if isinstance(value, (tuple, list)):
        made = [converted(one, cls) for one in value]
        try:
            return type(value)(made)
        except TypeError:
            return type(value)(*made)
    return value


def is_overriding(value: Any) -> bool:
    """Whether a value's class has a `__torch_function__` that is to be asked."""
    cls = type(value)
    if cls is Tensor:
        return False
    asked = getattr(cls, "__torch_function__", None)
    return asked is not None and asked is not not_asked


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def are_overriding(values: Iterable[Any]) -> bool:
    """Whether one of the values, or of lists among them, is."""
    return state.disabled == ENABLED and any(is_overriding(one) for one in _flat(values))


def overriding_values(values: Iterable[Any]) -> list[Any]:
    """One value of each class that is to be asked: subclasses first, else as they come."""
    found: list[Any] = []
    if state.disabled != ENABLED:
        return found
    for value in _flat(values):
        cls = type(value)
        if not is_overriding(value) or any(type(one) is cls for one in found):
            continue
        place = next(
            (number for number, one in enumerate(found) if issubclass(cls, type(one))), len(found)
        )
        found.insert(place, value)
    return found


def override(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What modes and operands say that the call gives; if nobody is there to ask, what it gives.

    Raises TypeError where all of them decline.
    """
    return ask(function, overriding_values((*args, *kwargs.values())), args, kwargs)


def ask(
    function: Callable[..., Any],
    found: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`override` with the values whose classes are to be asked."""
    types = tuple(type(one) for one in found)
    asked: list[Any] = []
    if state.modes and state.disabled < ALL_DISABLED:
        mode = state.modes.pop()
        _settle()
        asked.append(type(mode))
        try:
            result = mode.__torch_function__(function, types, args, kwargs)
        finally:
            state.modes.append(mode)
            _settle()
        if result is not NotImplemented:
            return result
    elif not found:
        return without_asking(function, *args, **kwargs)
    for one in found:
        asked.append(type(one))
        result = one.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(function, "__qualname__", None) or repr(function)
    raise TypeError(
        f"{name}: __torch_function__ of {', '.join(one.__name__ for one in asked)} gave "
        f"NotImplemented: there is no implementation for these types"
    )


def without_asking(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The call, of which nobody is asked."""
    with DisableTorchFunction():
        return function(*args, **kwargs)


def install() -> None:
    """Let tensors be asked."""
    install_overriding(override, without_asking, not_asked)
    install_attribute("__torch_function__", classmethod(default_override))
