"""State dicts into modules: names compared, sizes checked before anything is written."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.nn.parameter import Parameter

if TYPE_CHECKING:
    from aten.nn.modules.module import Module

__all__ = ["IncompatibleKeys", "fresh", "load"]


def fresh() -> OrderedDict[str, Any]:
    """A state dict with nothing in it; `_metadata` has the versions of modules, by path."""
    made: OrderedDict[str, Any] = OrderedDict()
    vars(made)["_metadata"] = OrderedDict()
    return made


class IncompatibleKeys(NamedTuple):
    """What a state dict lacked, and what it had too much."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


def load(module: Module, state: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """Write a state dict into a module, or let its tensors be the module's with `assign`.

    Raises TypeError where it is no mapping; RuntimeError, before anything is written, for sizes
    that differ and, with `strict`, for names that do.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"load_state_dict: expected a dict, got {type(state).__name__}")
    metadata = getattr(state, "_metadata", {})
    state = dict(state)
    missing: list[str] = []
    unexpected: list[str] = []
    problems: list[str] = []
    for path, inner in module.named_modules(remove_duplicate=False):
        prefix, noted = f"{path}." if path else "", metadata.get(path, {})
        for hook, with_module in list(inner._load_state_dict_pre_hooks.values()):
            given = (state, prefix, noted, strict, missing, unexpected, problems)
            hook(*((inner, *given) if with_module else given))
        inner._upgrade_state(state, prefix, noted.get("version"))
    own: dict[str, Any] = {}
    for path, inner in module.named_modules(remove_duplicate=False):
        inner._save_to_state_dict(own, f"{path}." if path else "", True)
    missing += [name for name in own if name not in state]
    unexpected += [name for name in state if name not in own]
    problems += _problems(own, state)
    found = IncompatibleKeys(missing, unexpected)
    hooked = any(one._load_state_dict_post_hooks for one in module.modules())
    # Hooks may say that keys do not matter, and see what was written.
    _check(module, problems, found, strict and not hooked)
    with no_grad():
        for name in own:
            if name in state:
                _put(module, name, own[name], state[name], assign)
    if hooked:
        _run_hooks(module, found)
        _check(module, problems, found, strict)
    return found


def _check(module: Module, problems: list[str], found: IncompatibleKeys, strict: bool) -> None:
    listed = list(problems)
    if strict and found.unexpected_keys:
        listed.append(f"unexpected keys: {', '.join(map(repr, found.unexpected_keys))}")
    if strict and found.missing_keys:
        listed.append(f"missing keys: {', '.join(map(repr, found.missing_keys))}")
    if listed:
        shown = "\n\t".join(listed)
        raise RuntimeError(f"load_state_dict: {type(module).__name__} cannot take it:\n\t{shown}")


def _run_hooks(module: Module, found: IncompatibleKeys) -> None:
    """Hooks of modules within, then the module's own; what they change is the keys' lists."""
    for one in module.children():
        _run_hooks(one, found)
    for hook in list(module._load_state_dict_post_hooks.values()):
        if hook(module, found) is not None:
            raise AssertionError(
                "load_state_dict: a post hook returned something: keys are changed in their lists"
            )


def _problems(own: Mapping[str, Any], state: Mapping[str, Any]) -> list[str]:
    found = []
    for name, mine in own.items():
        if name not in state or not isinstance(mine, Tensor):
            continue
        given = state[name]
        if not isinstance(given, Tensor):
            found.append(f"{name}: expected a tensor, got {type(given).__name__}")
        elif given.shape != mine.shape:
            found.append(
                f"size mismatch for {name}: the state dict has {tuple(given.shape)}, the module "
                f"{tuple(mine.shape)}"
            )
    return found


def _put(module: Module, name: str, mine: Any, given: Any, assign: bool) -> None:
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    if last == "_extra_state":
        owner.set_extra_state(given)
    elif not assign:
        mine.copy_(given)
    elif isinstance(mine, Parameter):
        kept = given if isinstance(given, Parameter) else Parameter(given, mine.requires_grad)
        owner._parameters[last] = kept
    else:
        owner._buffers[last] = given
