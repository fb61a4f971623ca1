"""`__torch_function__`: classes and modes that say themselves what functions of tensors give.

The protocol and its names are torch's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Self

from aten import registry
from aten._core.dispatch import overriding
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.overriding import DisableTorchFunction, DisableTorchFunctionSubclass
from aten._core.dispatch.packets import MethodDescriptor, OpOverloadPacket
from aten._core.tensor.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


class TorchFunctionMode:
    """A context whose `__torch_function__` is asked what every call of a function gives.

    Inside of it the modes entered before are in force, and this one is not. The innermost mode is
    asked first.

    Example:

        >>> class Names(aten.overrides.TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     y = aten.ones(2).add(1)
        ones
        add
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What the call gives; subclasses say it."""
        raise NotImplementedError(f"{type(self).__name__} has no __torch_function__")

    def __enter__(self) -> Self:
        overriding.push_mode(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        overriding.pop_mode(self)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls the function."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What the function gives."""
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the values has a `__torch_function__` to be asked, or a mode is in force."""
    return bool(overriding.state.modes) or any(
        overriding.state.disabled == overriding.ENABLED and overriding.is_overriding(one)
        for one in relevant_args
    )


def has_torch_function_unary(tensor: Any) -> bool:
    """`has_torch_function` of one value."""
    return has_torch_function((tensor,))


def has_torch_function_variadic(*tensors: Any) -> bool:
    """`has_torch_function` of the arguments."""
    return has_torch_function(tensors)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What modes and the classes of `relevant_args` say that `public_api(*args, **kwargs)` gives.

    Raises TypeError where all of them give NotImplemented.
    """
    found = overriding.overriding_values(relevant_args)
    return overriding.ask(public_api, found, args, kwargs)


def wrap_torch_function(
    dispatcher: Callable[..., Iterable[Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that lets a function be overridden.

    `dispatcher`, called with the function's arguments, gives those whose classes are asked.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or its class has `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is a method of tensors, or reads one of their properties."""
    return func in _functions_of_tensors() or getattr(func, "__name__", "") == "__get__"


@functools.cache
def _functions_of_tensors() -> frozenset[Any]:
    found = (getattr(Tensor, name, None) for name in dir(Tensor))
    return frozenset(one for one in found if callable(one))


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name by which users know a function or method; None for what is none of the package's."""
    if isinstance(f, (OpOverload, OpOverloadPacket)):
        if isinstance(f, OpOverloadPacket) and registry.find_packet("aten", f.name) is f:
            return f"{f.__module__}.{f.__qualname__}"
        return str(f)
    if isinstance(f, MethodDescriptor):
        return f"aten.Tensor.{f.__name__}"
    module, name = getattr(f, "__module__", None), getattr(f, "__qualname__", None)
    if name is None:
        return None
    if f in _functions_of_tensors():
        return f"aten.Tensor.{f.__name__}"
    return f"{module}.{name}" if module and module.partition(".")[0] == "aten" else None


@functools.cache
def get_ignored_functions() -> frozenset[Callable[..., Any]]:
    """Functions of the package for which nobody is asked: what makes no call of an operator."""
    aten = import_module("aten")
    overridable = {one for listed in get_overridable_functions().values() for one in listed}
    found = [getattr(aten, name) for name in dir(aten)]
    return frozenset(
        one
        for one in [*found, *_functions_of_tensors()]
        if callable(one) and not isinstance(one, type) and _is_hashable(one)
        and one not in overridable
    )  # fmt: skip


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@functools.cache
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions for which modes and operands are asked, by the place where they are."""
    aten = import_module("aten")
    spaces = (aten, aten.nn.functional, aten.linalg, aten.fft, aten.special)
    found: dict[Any, list[Callable[..., Any]]] = {
        space: [
            one
            for one in (getattr(space, name) for name in dir(space))
            if isinstance(one, OpOverloadPacket)
        ]
        for space in spaces
    }
    slots = ("__getitem__", "__setitem__")
    found[Tensor] = [
        *(one for one in _functions_of_tensors() if isinstance(one, MethodDescriptor)),
        *(getattr(Tensor, name) for name in slots),
    ]
    return found


def get_default_nowrap_functions() -> frozenset[Callable[..., Any]]:
    """Functions whose results the default `__torch_function__` leaves as they are: none."""
    return frozenset()
