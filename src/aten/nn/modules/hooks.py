"""Hooks of modules: their handles, calls with them, and gradients where they enter and leave."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.autograd.function import Function

__all__ = [
    "RemovableHandle",
    "add_hook",
    "called",
    "observed",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

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


# Hooks of all modules, by what they come to; `everywhere` has those of calls.
_before: dict[int, Any] = {}
_after: dict[int, Any] = {}
_entering: dict[int, Any] = {}
_leaving: dict[int, Any] = {}
everywhere: dict[int, Any] = {}
of_parameters: dict[int, Any] = {}
of_buffers: dict[int, Any] = {}
of_modules: dict[int, Any] = {}


def _add_everywhere(place: dict[int, Any], hook: Any) -> RemovableHandle:
    handle = RemovableHandle(place, everywhere)
    place[handle.id] = everywhere[handle.id] = hook
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, args)` before each call of any module; what it gives is called with instead.

    Example:

        >>> from aten.nn.modules.module import register_module_forward_pre_hook
        >>> with register_module_forward_pre_hook(lambda module, args: (args[0] * 2,)):
        ...     aten.nn.Identity()(aten.ones(1))
        tensor([2.])
    """
    return _add_everywhere(_before, (hook, False))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """`hook(module, args, result)` after each call of any module; what it gives is the result.

    Example:

        >>> from aten.nn.modules.module import register_module_forward_hook
        >>> with register_module_forward_hook(lambda module, args, result: result + 1):
        ...     aten.nn.Identity()(aten.ones(1))
        tensor([2.])
    """
    return _add_everywhere(_after, (hook, with_kwargs, always_call))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` once gradients of a module's arguments are known.

    Example:

        >>> from aten.nn.modules.module import register_module_full_backward_hook
        >>> x = aten.ones(1, requires_grad=True)
        >>> with register_module_full_backward_hook(lambda module, came, went: (went[0] * 3,)):
        ...     aten.nn.Identity()(x).backward()
        >>> x.grad
        tensor([3.])
    """
    return _add_everywhere(_leaving, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_output)` before any module goes backward.

    Example:

        >>> from aten.nn.modules.module import register_module_full_backward_pre_hook
        >>> x = aten.ones(1, requires_grad=True)
        >>> with register_module_full_backward_pre_hook(lambda module, came: (came[0] * 3,)):
        ...     aten.nn.Identity()(x).backward()
        >>> x.grad
        tensor([3.])
    """
    return _add_everywhere(_entering, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, parameter)` as a module gets a parameter, or another in its place.

    Example:

        >>> from aten.nn.modules.module import register_module_parameter_registration_hook
        >>> names = []
        >>> with register_module_parameter_registration_hook(lambda *given: names.append(given[1])):
        ...     _ = aten.nn.Linear(1, 1)
        >>> names
        ['weight', 'bias']
    """
    return add_hook(of_parameters, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, buffer)` as a module gets a buffer, or another in its place.

    Example:

        >>> from aten.nn.modules.module import register_module_buffer_registration_hook
        >>> names = []
        >>> with register_module_buffer_registration_hook(lambda *given: names.append(given[1])):
        ...     _ = aten.nn.BatchNorm1d(1)
        >>> names
        ['running_mean', 'running_var', 'num_batches_tracked']
    """
    return add_hook(of_buffers, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, submodule)` as a module gets a module, or another in its place.

    Example:

        >>> from aten.nn.modules.module import register_module_module_registration_hook
        >>> names = []
        >>> with register_module_module_registration_hook(lambda *given: names.append(given[1])):
        ...     _ = aten.nn.Sequential(aten.nn.ReLU())
        >>> names
        ['0']
    """
    return add_hook(of_modules, hook)


def called(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a module gives, with its hooks and those of all modules around its `forward`."""
    after = [*_after.values(), *module._forward_hooks.values()]
    ran: list[Any] = []
    try:
        return _called(module, args, kwargs, after, ran)
    except Exception:
        for entry in after:
            hook, with_kwargs, always = entry
            if always and not any(one is entry for one in ran):
                hook(*((module, args, kwargs, None) if with_kwargs else (module, args, None)))
        raise


def _called(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], after: list[Any], ran: list[Any]
) -> Any:
    for hook, with_kwargs in [*_before.values(), *module._forward_pre_hooks.values()]:
        if with_kwargs:
            changed = hook(module, args, kwargs)
            args, kwargs = (args, kwargs) if changed is None else changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    seen: list[Any] = [None]
    entering = [*_entering.values(), *module._backward_pre_hooks.values()]
    leaving = [*_leaving.values(), *module._backward_hooks.values()]
    watched = bool(entering or leaving)
    if watched:
        args = observed(args, lambda gradients: _left(module, gradients, leaving, seen))
    result = module.forward(*args, **kwargs)
    for entry in after:
        hook, with_kwargs, _ = entry
        ran.append(entry)
        given = (module, args, kwargs, result) if with_kwargs else (module, args, result)
        changed = hook(*given)
        result = result if changed is None else changed
    if not watched:
        return result
    outputs = result if isinstance(result, tuple) else (result,)
    outputs = observed(outputs, lambda gradients: _entered(module, gradients, entering, seen))
    return outputs if isinstance(result, tuple) else outputs[0]


def _entered(
    module: Any, gradients: tuple[Any, ...], entering: list[Any], seen: list[Any]
) -> tuple[Any, ...]:
    """Gradients of the results, as they come to the module."""
    for hook in entering:
        changed = hook(module, gradients)
        if changed is not None:
            gradients = changed if isinstance(changed, tuple) else (changed,)
    seen[0] = gradients
    return gradients


def _left(
    module: Any, gradients: tuple[Any, ...], leaving: list[Any], seen: list[Any]
) -> tuple[Any, ...]:
    """Gradients of the arguments, as they go on from the module."""
    for hook in leaving:
        changed = hook(module, gradients, seen[0])
        if changed is not None:
            gradients = changed if isinstance(changed, tuple) else (changed,)
    return gradients
