"""Parameters that are computed from others: `module.weight` is what modules make of originals."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.names.refusals import refuse
from aten.nn.modules.containers import ModuleDict, ModuleList
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class _Kept(threading.local):
    """What was made within `cached`, and how many of these contexts there are."""

    depth = 0

    def __init__(self) -> None:
        self.made: dict[tuple[int, str], tuple[Any, Module]] = {}


_kept = _Kept()


@contextmanager
def cached() -> Iterator[None]:
    """A context in which each parametrized tensor is made once, when it is first asked for.

    Example:

        >>> from aten.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.orthogonal(aten.nn.Linear(2, 2))
        >>> with parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    _kept.depth += 1
    try:
        yield
    finally:
        _kept.depth -= 1
        if _kept.depth == 0:
            _kept.made.clear()


class ParametrizationList(ModuleList):
    """Modules that make a tensor, one after another, and in `original`, or `original0`, …, what
    they make it of."""

    def __init__(self, module: Module, original: Tensor) -> None:
        super().__init__([module])
        trained = isinstance(original, Parameter)
        with no_grad():
            try:
                given = _inverse(module, original)
            except NotImplementedError:
                # Nothing gives the value that was there: the original is that itself.
                given = original
        self.is_tensor = isinstance(given, Tensor)
        parts = [given] if isinstance(given, Tensor) else list(given)
        self.ntensors = len(parts)
        for name, part in zip(self._names(), parts, strict=True):
            if trained:
                self.register_parameter(name, _trained(part, original))
            else:
                self.register_buffer(name, part)

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{at}" for at in range(self.ntensors)]

    def forward(self) -> Any:
        first, *others = self._modules.values()
        found = first(*(getattr(self, name) for name in self._names()))
        for module in others:
            found = module(found)
        return found

    def right_inverse(self, value: Tensor) -> None:
        """Let the originals be such that `value` is made of them."""
        with no_grad():
            found: Any = value
            for module in reversed(list(self._modules.values())):
                found = _inverse(module, found)
            parts = [found] if self.is_tensor else list(found)
            for name, part in zip(self._names(), parts, strict=True):
                getattr(self, name).copy_(part)


def _trained(value: Tensor, like: Tensor) -> Parameter:
    """A parameter that is trained if another one is."""
    if isinstance(value, Parameter):
        return value
    return Parameter(value.detach(), like.requires_grad)


def _inverse(module: Any, value: Any) -> Any:
    inverse = getattr(module, "right_inverse", None)
    return value if inverse is None else inverse(value)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter or buffer be what a module makes of it, or of what `right_inverse` gives.

    Raises ValueError where there is no such tensor and, unless `unsafe`, where what is made has
    another shape or type.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        lists: Any = module.parametrizations
        before = getattr(module, tensor_name)
        if not unsafe:
            _check(parametrization(before), before)
        lists[tensor_name].append(parametrization)
        return module
    original = module._parameters.get(tensor_name, module._buffers.get(tensor_name))
    if original is None:
        raise ValueError(
            f"register_parametrization: {type(module).__name__} has no parameter or buffer "
            f"{tensor_name!r}"
        )
    made = ParametrizationList(parametrization, original)
    if not unsafe:
        _check(made(), original)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        kind = type(module)
        module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {})
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def _check(made: Any, original: Tensor) -> None:
    if not isinstance(made, Tensor):
        raise ValueError(
            f"register_parametrization: a tensor must be made, not a {type(made).__name__}"
        )
    if made.shape != original.shape or made.dtype != original.dtype:
        raise ValueError(
            f"register_parametrization: {made.dtype} of shape {tuple(made.shape)} is made of "
            f"{original.dtype} of shape {tuple(original.shape)}; unsafe=True allows it"
        )


def _property(name: str) -> property:
    def made(module: Any) -> Any:
        # Copies of a module share its class, and this one may be a plain tensor again in some.
        lists = module._modules.get("parametrizations", ())
        if name not in lists:
            return Module.__getattr__(module, name)
        if _kept.depth == 0:
            return lists[name]()
        place = id(module), name
        if place not in _kept.made:
            # With the module, so that its number is nobody else's meanwhile.
            _kept.made[place] = lists[name](), module
        return _kept.made[place][0]

    def put(module: Any, value: Tensor) -> None:
        _kept.made.pop((id(module), name), None)
        module.parametrizations[name].right_inverse(value)

    return property(made, put)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether anything of a module is computed so, or the tensor of a name is."""
    lists = module._modules.get("parametrizations")
    if not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before anything of it was parametrized.

    Example:

        >>> from aten.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.orthogonal(aten.nn.Linear(2, 2))
        >>> parametrize.type_before_parametrizations(layer).__name__
        'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Any, to_module: Any, tensor_name: str | None = None
) -> Any:
    """Give a module the parametrizations of another one, and what tensors are made of there.

    All of them, or those of `tensor_name`; gives `to_module`.

    Example:

        >>> from aten.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.orthogonal(aten.nn.Linear(2, 2))
        >>> other = parametrize.transfer_parametrizations_and_params(layer, aten.nn.Linear(2, 2))
        >>> bool((other.weight == layer.weight).all())
        True
    """
    if not is_parametrized(from_module, tensor_name):
        return to_module
    lists = from_module.parametrizations
    for name in list(lists) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            original = lists[name]._parameters or lists[name]._buffers
            setattr(to_module, name, next(iter(original.values())))
        for one in lists[name]._modules.values():
            register_parametrization(to_module, name, one, unsafe=True)
        made = to_module.parametrizations[name]
        made._parameters.update(lists[name]._parameters)
        made._buffers.update(lists[name]._buffers)
    return to_module


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Let a tensor be a plain one again: what was last made, or the original.

    Raises ValueError where it is no such tensor, and for an original that is several.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"remove_parametrizations: {tensor_name!r} of {type(module).__name__} has none"
        )
    lists: Any = module.parametrizations
    one = lists[tensor_name]
    if not leave_parametrized and not one.is_tensor:
        raise ValueError(
            f"remove_parametrizations: {tensor_name!r} is made of {one.ntensors} tensors, none "
            f"of which can take its place: leave_parametrized must be True"
        )
    original = getattr(one, one._names()[0])
    with no_grad():
        kept = getattr(module, tensor_name).clone() if leave_parametrized else original
    del lists[tensor_name]
    if not len(lists):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    if isinstance(original, Parameter):
        module._parameters[tensor_name] = _trained(kept, original)
    else:
        module._buffers[tensor_name] = kept
    return module


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
