"""`Module`: parameters, buffers and other modules by name, and what is done to all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.nn.modules import hooks, state
from aten.nn.modules.hooks import (
    RemovableHandle,
    add_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from aten.nn.parameter import Buffer, Parameter
from aten.registry import ops

__all__ = [
    "Module",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def _without_forward(self: Any, *input: Any) -> Any:
    raise NotImplementedError(f"{type(self).__name__} has no method forward to be called by")


class Module:
    """A part of a network. Subclasses make their parts in `__init__`, and compute in `forward`.

    Parameters, buffers and modules that are assigned as attributes are found by name.
    """

    training: bool
    # Of what it keeps in a state dict, which is noted there.
    _version: int = 1

    def __init__(self) -> None:
        made = self.__dict__
        made["training"] = True
        made["_parameters"] = {}
        made["_buffers"] = {}
        made["_non_persistent_buffers_set"] = set()
        made["_modules"] = {}
        for name in ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks"):
            made[name] = {}
        for name in ("_backward_hooks", "_state_dict_hooks", "_load_state_dict_pre_hooks"):
            made[name] = {}
        made["_state_dict_pre_hooks"] = {}
        made["_load_state_dict_post_hooks"] = {}
        made["_hooked"] = False

    forward: Callable[..., Any] = _without_forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.__dict__.get("_hooked", True) and not hooks.everywhere:
            return self.forward(*args, **kwargs)
        if "_hooked" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__}: Module.__init__() was not called")
        return hooks.called(self, args, kwargs)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)` before each call; what it gives takes the arguments' place."""
        self._hooked = True
        return add_hook(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """`hook(module, args, result)` after each call; what it gives takes the result's place.

        With `always_call` it is called with None for a result, too, where `forward` raises.
        """
        self._hooked = True
        return add_hook(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` once gradients of the arguments are known."""
        self._hooked = True
        return add_hook(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(module, grad_output)` before the module goes backward."""
        self._hooked = True
        return add_hook(self._backward_pre_hooks, hook, prepend)

    register_backward_hook = register_full_backward_hook

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` before `state_dict`."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A hook before `load_state_dict`, which may change the dict that is loaded.

        It gets module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys
        and error_msgs; what it adds to the lists is reported.
        """
        return add_hook(self._load_state_dict_pre_hooks, (hook, True))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return add_hook(self._load_state_dict_pre_hooks, (hook, with_module))

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` after `state_dict`."""
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, incompatible_keys)` after `load_state_dict`."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # Attributes

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for place in ("_parameters", "_buffers", "_modules"):
            if place in own and name in own[place]:
                return own[place][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            self.add_module(name, value)
        elif isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        else:
            self._set_plain(name, value)

    def _set_plain(self, name: str, value: Any) -> None:
        own = self.__dict__
        for place, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", Tensor)):
            if name not in own.get(place, ()):
                continue
            if value is not None and not isinstance(value, kind):
                raise TypeError(
                    f"cannot assign {type(value).__name__} to '{name}': {kind.__name__} or None "
                    f"expected"
                )
            own[place][name] = value
            return
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def _forget(self, name: str, kept: str) -> None:
        """Take a name from wherever it is but from `kept`, where something has its place."""
        own = self.__dict__
        if "_parameters" not in own:
            raise AttributeError(
                f"cannot assign '{name}' before Module.__init__() of {type(self).__name__}"
            )
        own.pop(name, None)
        for place in ("_buffers", "_modules", "_parameters"):
            if place != kept:
                own[place].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _check_name(self, kind: str, name: str, place: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"Module: the name of a {kind} must be a str, not {type(name).__name__}"
            )
        if "." in name:
            raise KeyError(f"Module: the name of a {kind} must have no dot, got {name!r}")
        if name == "":
            raise KeyError(f"Module: the name of a {kind} must not be empty")
        if hasattr(self, name) and name not in place:
            raise KeyError(f"Module: there is an attribute {name!r} already")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Keep a parameter, or None in its place. Raises KeyError for names that are taken."""
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"Module: the parameter {name!r} cannot be a {type(param).__name__}: "
                f"expected a Parameter or None"
            )
        for hook in tuple(hooks.of_parameters.values()):
            changed = hook(self, name, param)
            param = param if changed is None else changed
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that is not trained. Raises KeyError for names that are taken."""
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"Module: the buffer {name!r} cannot be a {type(tensor).__name__}: "
                f"expected a tensor or None"
            )
        for hook in tuple(hooks.of_buffers.values()):
            changed = hook(self, name, tensor)
            tensor = tensor if changed is None else changed
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Keep a module. Raises KeyError for names that are taken."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"Module: expected a module as child, got {type(module).__name__}")
        self._check_name("module", name, self._modules)
        for hook in tuple(hooks.of_modules.values()):
            changed = hook(self, name, module)
            module = module if changed is None else changed
        self._modules[name] = module

    register_module = add_module

    # Walks

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all within, each once unless `remove_duplicate` is False."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """As `named_modules`, without names."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules just below, each once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """As `named_children`, without names."""
        return (module for _, module in self.named_children())

    def _named_members(
        self, place: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        walk = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in walk if recurse else [(prefix, self)]:
            for name, value in getattr(module, place).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters of this module and, with `recurse`, of all within."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """As `named_parameters`, without names."""
        return (one for _, one in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers of this module and, with `recurse`, of all within."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """As `named_buffers`, without names."""
        return (one for _, one in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a path, "encoder.0". Raises AttributeError where there is none."""
        found: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{type(found).__name__} has nothing called {name!r}")
            found = getattr(found, name)
            if not isinstance(found, Module):
                raise AttributeError(f"{name!r} is no module")
        return found  # type: ignore[no-any-return]

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module in the place of the one at a path, which has to be there with `strict`.

        Raises AttributeError where the path leads to none, ValueError for an empty path.
        """
        if not target:
            raise ValueError("set_submodule: the path must not be empty")
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if strict and not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has nothing called {name!r}")
        if not isinstance(getattr(owner, name, module), Module):
            raise AttributeError(f"{name!r} is no module")
        setattr(owner, name, module)

    def _member(self, target: str, place: str, kind: str) -> Any:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has nothing called {name!r}")
        if name not in getattr(owner, place):
            raise AttributeError(f"{name!r} is not {kind}")
        return getattr(owner, place)[name]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path. Raises AttributeError where there is none."""
        return self._member(target, "_parameters", "a parameter")  # type: ignore[no-any-return]

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path. Raises AttributeError where there is none."""
        return self._member(target, "_buffers", "a buffer")  # type: ignore[no-any-return]

    # State

    def get_extra_state(self) -> Any:
        """What a subclass keeps in its state dict besides tensors."""
        raise RuntimeError(f"{type(self).__name__} has no extra state")

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` gave."""
        raise RuntimeError(f"{type(self).__name__} has no extra state")

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by name, detached unless `keep_vars`."""
        made: Any = state.fresh() if destination is None else destination
        noted = {"version": self._version}
        if hasattr(made, "_metadata"):
            made._metadata[prefix[:-1]] = noted
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(made, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=made, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            changed = hook(self, made, prefix, noted)
            made = made if changed is None else changed
        return made  # type: ignore[no-any-return]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put what this module keeps itself into `destination`."""
        for name, value in self._parameters.items():
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[f"{prefix}_extra_state"] = self.get_extra_state()

    def _upgrade_state(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        """Bring what a former version of the module kept up to date."""

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> state.IncompatibleKeys:
        """Take the values of a state dict, or with `assign` its tensors themselves.

        Raises RuntimeError for sizes and, with `strict`, names that differ; nothing is written
        then, but where post hooks, which see what was written, have a say about names.
        """
        return state.load(self, state_dict, strict, assign)

    # Everything at once

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` with every module within, then with this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, change: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        for module in self.children() if recurse else ():
            module._apply(change)
        with no_grad():
            for one in self._parameters.values():
                if one is not None:
                    one.data = change(one.data)
                    if one.grad is not None:
                        one.grad = change(one.grad)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = change(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """As `Tensor.to`, in place; only numbers with a point take another type."""
        probe = ops.aten.empty(0).to(*args, **kwargs)
        kinds = [one for one in (*args, *kwargs.values()) if isinstance(one, (dtype, Tensor))]
        if not kinds:
            return self._apply(lambda tensor: tensor.to(*args, **kwargs))
        if not (probe.is_floating_point() or probe.is_complex()):
            raise TypeError(
                f"Module.to: expected a type with a point or a complex one, got {probe.dtype}"
            )

        def changed(tensor: Tensor) -> Tensor:
            if tensor.is_floating_point() or tensor.is_complex():
                return tensor.to(device=probe.device, dtype=probe.dtype)
            return tensor.to(device=probe.device)

        return self._apply(changed)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Parameters and buffers on a device, of which nothing is initialized."""
        return self._apply(lambda tensor: ops.aten.empty_like(tensor, device=device), recurse)

    def type(self, dst_type: Any) -> Self:
        """Every parameter and buffer to a type."""
        return self._apply(lambda tensor: tensor.to(dtype=dst_type))

    def _to_point(self, wanted: dtype) -> Self:
        return self._apply(
            lambda tensor: tensor.to(dtype=wanted) if tensor.is_floating_point() else tensor
        )

    def float(self) -> Self:
        """Numbers with a point to float32."""
        return self._to_point(DTYPES["float32"])

    def double(self) -> Self:
        """Numbers with a point to float64."""
        return self._to_point(DTYPES["float64"])

    def half(self) -> Self:
        """Numbers with a point to float16."""
        return self._to_point(DTYPES["float16"])

    def bfloat16(self) -> Self:
        """Numbers with a point to bfloat16."""
        return self._to_point(DTYPES["bfloat16"])

    def cpu(self) -> Self:
        """Parameters and buffers to the host's memory."""
        return self._apply(lambda tensor: tensor.to("cpu"))

    def train(self, mode: bool = True) -> Self:
        """Let this module and all within train, or not. Raises ValueError unless it is a bool."""
        if not isinstance(mode, bool):
            raise ValueError("train: mode must be a bool")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Let this module and all within not train."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let parameters be trained, or not."""
        for one in self.parameters():
            one.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget gradients, or let them be zeros."""
        for one in self.parameters():
            if one.grad is None:
                continue
            if set_to_none:
                one.grad = None
            else:
                one.grad = one.grad.detach().zero_()

    def share_memory(self) -> Self:
        """Nothing to do: processes here are forked, or given copies."""
        return self

    # Words

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Settings, for `repr`."""
        return ""

    def __repr__(self) -> str:
        lines = self.extra_repr().split("\n") if self.extra_repr() else []
        inner = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if not inner and len(lines) <= 1:
            return f"{self._get_name()}({''.join(lines)})"
        return "\n  ".join([f"{self._get_name()}(", *lines, *inner]) + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_state_dict_pre_hooks", {})


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
