"""What optimizers share: groups of parameters with settings, and a state per parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, ClassVar

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import enable_grad, no_grad
from aten.nn.modules.hooks import RemovableHandle, add_hook
from aten.registry import ops

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]

# How torch lets users choose the way of a step; here there is one for all parameters at once.
_WAYS = {"foreach": None, "fused": None, "capturable": False, "differentiable": False}
_hooks_before: dict[int, Any] = {}
_hooks_after: dict[int, Any] = {}


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` before each step of any optimizer that is made afterwards.

    Example:

        >>> from aten.optim.optimizer import register_optimizer_step_pre_hook
        >>> seen = []
        >>> with register_optimizer_step_pre_hook(lambda *given: seen.append("step")):
        ...     aten.optim.SGD([aten.ones(1, requires_grad=True)]).step()
        >>> seen
        ['step']
    """
    return add_hook(_hooks_before, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` after each step of any optimizer that is made afterwards.

    Example:

        >>> from aten.optim.optimizer import register_optimizer_step_post_hook
        >>> seen = []
        >>> with register_optimizer_step_post_hook(lambda *given: seen.append("step")):
        ...     aten.optim.SGD([aten.ones(1, requires_grad=True)]).step()
        >>> seen
        ['step']
    """
    return add_hook(_hooks_after, hook)


_HOOKS = (
    "_step_pre_hooks",
    "_step_post_hooks",
    "_state_dict_pre_hooks",
    "_state_dict_post_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _alike(parameter: Tensor, name: str, value: Any) -> Any:
    """A copy of what was kept for a parameter: on its device and of its type, but for numbers."""
    copied = deepcopy(value)
    if name == "step" or not isinstance(copied, Tensor) or copied.dim() == 0:
        return copied
    if parameter.is_floating_point() and copied.is_floating_point():
        return copied.to(device=parameter.device, dtype=parameter.dtype)
    return copied.to(device=parameter.device)


def _real(value: Any) -> Any:
    if isinstance(value, Tensor) and value.is_complex():
        return ops.aten.view_as_real(value)
    return value


class Optimizer:
    """Groups of parameters, each with its settings. Subclasses write `_step_group`.

    Raises TypeError for parameters that are no tensors; ValueError for none, for one in two
    groups, for tensors that are no leaves, and for settings below 0.
    """

    _from_zero: ClassVar[tuple[str, ...]] = ("lr", "weight_decay", "eps", "momentum")
    _known_ways: ClassVar[tuple[str, ...]] = ("foreach", "capturable", "differentiable")
    _ways: dict[str, Any]
    _stepped = False
    _step_pre_hooks: dict[int, Any]
    _step_post_hooks: dict[int, Any]
    _state_dict_pre_hooks: dict[int, Any]
    _state_dict_post_hooks: dict[int, Any]
    _load_state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_post_hooks: dict[int, Any]

    def _take_ways(self, ways: dict[str, Any]) -> None:
        """Note how a step is to go. Raises TypeError for settings that the optimizer has not,
        ValueError for differentiable steps, RuntimeError for ways that exclude each other."""
        name = type(self).__name__
        unknown = [one for one in ways if one not in self._known_ways]
        if unknown:
            raise TypeError(f"{name}: there is no setting {unknown[0]!r}")
        if ways.get("differentiable"):
            raise ValueError(f"{name}: steps are not differentiable")
        if ways.get("fused") and ways.get("foreach"):
            raise RuntimeError(f"{name}: a step is fused or foreach, not both")
        known = {one: default for one, default in _WAYS.items() if one in self._known_ways}
        self._ways = {**known, **ways}

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "Optimizer: params must be tensors or dicts, one after the other, not one tensor"
            )
        self.defaults = {**defaults, **self.__dict__.pop("_ways", {})}
        for name in _HOOKS:
            self.__dict__[name] = {}
        if _hooks_before or _hooks_after:
            self._watch_steps()
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        listed = list(params)
        if not listed:
            raise ValueError("Optimizer: params must not be empty")
        groups = listed if isinstance(listed[0], dict) else [{"params": listed}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """One more group: "params", and settings that differ from the optimizer's."""
        if not isinstance(param_group, dict):
            raise TypeError(f"Optimizer: a group must be a dict, not {type(param_group).__name__}")
        given = param_group["params"]
        listed = [given] if isinstance(given, Tensor) else list(given)
        named = [one for one in listed if isinstance(one, tuple)]
        if named and len(named) != len(listed):
            raise ValueError("Optimizer: either all params have names, or none")
        listed = [one[1] if isinstance(one, tuple) else one for one in listed]
        if any(bool(named) != ("param_names" in group) for group in self.param_groups):
            raise ValueError("Optimizer: either the params of all groups have names, or of none")
        known = {id(one) for group in self.param_groups for one in group["params"]}
        for one in listed:
            if not isinstance(one, Tensor):
                raise TypeError(f"Optimizer: params must be tensors, got {type(one).__name__}")
            if not one.is_leaf:
                raise ValueError("Optimizer: params must be leaves")
            if id(one) in known:
                raise ValueError("Optimizer: a parameter is in two groups")
        made = {**self.defaults, **param_group, "params": listed}
        if named:
            made["param_names"] = [one[0] for one in named]
        self._check(made)
        self.param_groups.append(made)

    def _check(self, group: dict[str, Any]) -> None:
        for name in self._from_zero:
            if name in group and not group[name] >= 0:
                raise ValueError(f"{type(self).__name__}: invalid {name}: {group[name]}")
        for beta in group.get("betas", ()):
            if not 0 <= beta < 1:
                raise ValueError(f"{type(self).__name__}: invalid beta: {beta}")

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("defaults", "state", "param_groups")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, {})

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` before each step; what it gives takes their place."""
        self._watch_steps()
        return add_hook(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` after each step."""
        self._watch_steps()
        return add_hook(self._step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` before `state_dict`."""
        return add_hook(self._state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` after `state_dict`; what it gives takes its place."""
        return add_hook(self._state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` before `load_state_dict`; what it gives is loaded."""
        return add_hook(self._load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` after `load_state_dict`."""
        return add_hook(self._load_state_dict_post_hooks, hook, prepend)

    def _watch_steps(self) -> None:
        """Have `step` call hooks, which it does not look for otherwise."""
        if "step" in self.__dict__:
            return

        def step(*args: Any, **kwargs: Any) -> Any:
            # Hooks get the optimizer among the arguments, too.
            args = (self, *args)
            for hook in [*_hooks_before.values(), *self._step_pre_hooks.values()]:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    args, kwargs = changed
            result = type(self).step(*args, **kwargs)
            for hook in [*self._step_post_hooks.values(), *_hooks_after.values()]:
                hook(self, args, kwargs)
            return result

        self.__dict__["step"] = step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient; gives what `closure` does."""
        self._stepped = True
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                parameters = [one for one in group["params"] if one.grad is not None]
                if parameters:
                    self._step_group(group, parameters, [one.grad for one in parameters])
        return loss

    def _states(self, parameters: Iterable[Tensor], make: Callable[[Tensor], Any]) -> list[Any]:
        found = []
        for one in parameters:
            if not self.state.get(one):
                self.state[one] = make(one)
            found.append(self.state[one])
        return found

    def _real_lists(
        self, parameters: list[Tensor], gradients: list[Any], make: Callable[[Tensor], Any]
    ) -> tuple[list[Any], list[Any], list[dict[str, Any]]]:
        """Parameters, gradients and states; complex numbers step as pairs of real ones."""
        states = self._states(parameters, make)
        if any(one.is_complex() for one in parameters):
            states = [{name: _real(value) for name, value in one.items()} for one in states]
        return [_real(one) for one in parameters], [_real(one) for one in gradients], states

    def _refuse_complex(self, parameters: Iterable[Tensor]) -> None:
        """Raises RuntimeError where a parameter is complex."""
        if any(one.is_complex() for one in parameters):
            raise RuntimeError(f"{type(self).__name__}: complex parameters are not supported")

    def has_stepped(self) -> bool:
        """Whether `step` was called, as far as is known: subclasses may have their own."""
        return self._stepped or not type(self).step.__module__.startswith("aten.optim")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget gradients, or let them be zeros."""
        for group in self.param_groups:
            for one in group["params"]:
                if one.grad is None:
                    continue
                if set_to_none:
                    one.grad = None
                else:
                    one.grad = one.grad.detach().zero_()

    def state_dict(self) -> dict[str, Any]:
        """States by the parameters' numbers, and groups with numbers for parameters."""
        for hook in tuple(self._state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for one in group["params"]:
                numbers.setdefault(id(one), len(numbers))
            kept = {name: value for name, value in group.items() if name != "params"}
            groups.append({**kept, "params": [numbers[id(one)] for one in group["params"]]})
        state = {numbers[id(one)]: value for one, value in self.state.items()}
        made = {"state": state, "param_groups": groups}
        for hook in tuple(self._state_dict_post_hooks.values()):
            changed = hook(self, made)
            made = made if changed is None else changed
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave. Raises ValueError where groups differ in number or size."""
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("load_state_dict: the number of groups is another one")
        pairs = list(zip(self.param_groups, groups, strict=True))
        if any(len(own["params"]) != len(given["params"]) for own, given in pairs):
            raise ValueError(
                "load_state_dict: a group has another number of parameters than the optimizer's"
            )
        owners: dict[int, Tensor] = {}
        for own, given in pairs:
            owners.update(zip(given["params"], own["params"], strict=True))
            settings = {name: value for name, value in given.items() if name != "params"}
            own.update(deepcopy(settings))
        self.state = defaultdict(dict)
        for number, kept in state_dict["state"].items():
            owner = owners[number]
            self.state[owner] = {name: _alike(owner, name, one) for name, one in kept.items()}
        for hook in tuple(self._load_state_dict_post_hooks.values()):
            hook(self)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            names = sorted(name for name in group if name != "params")
            lines += [f"    {name}: {group[name]}" for name in names]
        return "\n".join([*lines, ")"])
