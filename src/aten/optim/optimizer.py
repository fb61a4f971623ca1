"""What optimizers share: groups of parameters with settings, and a state per parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, ClassVar

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import enable_grad, no_grad

__all__ = ["Optimizer", "check_ways"]

# How torch lets users choose the way of a step; here there is one for all parameters at once.
_WAYS = ("foreach", "fused", "capturable", "differentiable")


def check_ways(name: str, ways: dict[str, Any]) -> None:
    """Raises TypeError for settings that an optimizer has not, ValueError for differentiable."""
    unknown = [one for one in ways if one not in _WAYS]
    if unknown:
        raise TypeError(f"{name}: there is no setting {unknown[0]!r}")
    if ways.get("differentiable"):
        raise ValueError(f"{name}: steps are not differentiable")


class Optimizer:
    """Groups of parameters, each with its settings. Subclasses write `_step_group`.

    Raises TypeError for parameters that are no tensors; ValueError for none, for one in two
    groups, for tensors that are no leaves, and for settings below 0.
    """

    _from_zero: ClassVar[tuple[str, ...]] = ("lr", "weight_decay", "eps", "momentum")

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "Optimizer: params must be tensors or dicts, one after the other, not one tensor"
            )
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = {}
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
        listed = [one[1] if isinstance(one, tuple) else one for one in listed]
        known = {id(one) for group in self.param_groups for one in group["params"]}
        for one in listed:
            if not isinstance(one, Tensor):
                raise TypeError(f"Optimizer: params must be tensors, got {type(one).__name__}")
            if not one.is_leaf:
                raise ValueError("Optimizer: params must be leaves")
            if id(one) in known:
                raise ValueError("Optimizer: a parameter is in two groups")
        made = {**self.defaults, **param_group, "params": listed}
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

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient; gives what `closure` does."""
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
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for one in group["params"]:
                numbers.setdefault(id(one), len(numbers))
            kept = {name: value for name, value in group.items() if name != "params"}
            groups.append({**kept, "params": [numbers[id(one)] for one in group["params"]]})
        state = {numbers[id(one)]: value for one, value in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave. Raises ValueError where groups differ in number or size."""
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
        self.state = {
            owners[number]: deepcopy(value) for number, value in state_dict["state"].items()
        }

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            names = sorted(name for name in group if name != "params")
            lines += [f"    {name}: {group[name]}" for name in names]
        return "\n".join([*lines, ")"])
