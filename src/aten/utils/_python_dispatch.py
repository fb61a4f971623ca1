"""`__torch_dispatch__`: modes and classes of tensors that say what operators give.

They are asked below gradients: what comes to them are operators, not the functions that call them.
The protocol and its names are torch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aten._core.base.keys import ExcludeDispatchKeyGuard
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends import modes

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "no_dispatch",
    "return_and_correct_aliasing",
]


class TorchDispatchMode(modes.DispatchMode):
    """A context whose `__torch_dispatch__` is asked what every operator gives.

    Arguments that say what the schema says anyway are left out. Inside of `__torch_dispatch__` the
    modes entered before are in force, and this one is not.

    Example:

        >>> class Names(aten.utils._python_dispatch.TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     y = aten.ones(2) + 1
        aten.ones.default
        aten.add.Tensor
    """

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What the operator gives; subclasses say it."""
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `__torch_dispatch__`, or a rule registered for the mode's class, gives."""
        types = tuple(type(one) for one in modes.asked_operands((*args, *kwargs.values())))
        given, named = modes.without_defaults(op, args, kwargs)
        rule = modes.dispatch_rule_of(op, type(self))
        if rule is not None:
            result = rule(self, op, types, given, named)
        else:
            result = self.__torch_dispatch__(op, types, given, named)
        return op(*args, **kwargs) if result is NotImplemented else result


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that calls the operator."""

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What the operator gives."""
        return func(*args, **(kwargs or {}))


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Inside the block neither modes nor classes are asked what operators give."""
    with ExcludeDispatchKeyGuard(modes.KEYS_OF_MODES):
        yield


def is_traceable_wrapper_subclass(value: object) -> bool:
    """Whether a tensor's class says what tensors it is made of, and how it is made of them."""
    return (
        isinstance(value, Tensor)
        and type(value) is not Tensor
        and hasattr(value, "__tensor_flatten__")
        and hasattr(value, "__tensor_unflatten__")
    )


def return_and_correct_aliasing(
    func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
) -> Any:
    """`out`, or in its place the arguments that the operator writes to and returns."""
    bound = dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | kwargs
    written = {
        str(one.annotation): bound.get(one.name) for one in func._schema.arguments if one.is_write
    }
    returns = func._schema.returns
    if not returns or not any(one.is_write for one in returns):
        return out
    results = [out] if len(returns) == 1 else list(out)
    chosen = [
        written.get(str(one.annotation), result) if one.is_write else result
        for one, result in zip(returns, results, strict=True)
    ]
    return chosen[0] if len(returns) == 1 else tuple(chosen)


def transform_subclass(value: Any, callback: Callable[[str, Tensor], Any]) -> Any:
    """A wrapper made of what `callback(name, tensor)` gives for the tensors it is made of."""
    names, context = value.__tensor_flatten__()
    inner = {name: callback(name, getattr(value, name)) for name in names}
    return type(value).__tensor_unflatten__(inner, context, value.shape, value.stride())


def _get_current_dispatch_mode_stack() -> list[modes.DispatchMode]:
    """The modes in force, the outermost first."""
    return modes.entered_modes()


def _get_current_dispatch_mode() -> modes.DispatchMode | None:
    """The innermost mode in force, or None."""
    entered = modes.entered_modes()
    return entered[-1] if entered else None
