"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.nn.modules.module import Module
from aten.nn.modules.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d
from aten.registry import ops

# In the place of a tensor that a module has not had before.
_NOTHING = object()


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What a module gives with other tensors for some of its parameters and buffers.

    Args:
        module: is as it was afterwards, also where it raises.
        parameter_and_buffer_dicts: tensors by name, as `named_parameters` and `named_buffers` name
            them; or several such dicts, which share no name.
        args: the module's arguments: a tuple of them, or one that is no tuple.
        tie_weights: whether a tensor takes the places of all names that a parameter has.
        strict: whether every name must be given.

    Raises:
        ValueError: two dicts have a name in common; a tensor that has several names is given
            different ones.
        RuntimeError: with `strict`, names lack or are unknown. Otherwise the module has what is
            given by other names while it is called.
        AttributeError: a name leads through a module that is not there.
        TypeError: a name is that of something else.

    Example:

        >>> layer = aten.nn.Linear(2, 1, bias=False)
        >>> aten.func.functional_call(layer, {"weight": aten.ones(1, 2)}, (aten.ones(2),))
        tensor([2.])
    """
    given = _merged(parameter_and_buffer_dicts)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _swapped(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _merged(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(one, Mapping) for one in dicts):
        raise ValueError(
            f"functional_call: expected a dict of tensors or a sequence of them, not "
            f"{type(dicts).__name__}"
        )
    merged: dict[str, Tensor] = {}
    for one in dicts:
        repeated = sorted(set(merged) & set(one))
        if repeated:
            raise ValueError(f"functional_call: several dicts have {', '.join(repeated)}")
        merged.update(one)
    return merged


@contextmanager
def _swapped(
    module: Module, given: dict[str, Tensor], tie_weights: bool, strict: bool
) -> Iterator[None]:
    known = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    if strict and set(known) != set(given):
        lacking, unknown = sorted(set(known) - set(given)), sorted(set(given) - set(known))
        raise RuntimeError(
            f"functional_call: with strict every name is given: {lacking} lack, {unknown} are "
            f"unknown to {type(module).__name__}"
        )
    wanted = _with_ties(known, given) if tie_weights else given
    kept = []
    try:
        for name, tensor in wanted.items():
            owner, _, own_name = name.rpartition(".")
            place = _place(module.get_submodule(owner), own_name, name)
            kept.append((place, own_name, place.get(own_name, _NOTHING)))
            place[own_name] = tensor
        yield
    finally:
        for place, own_name, was in reversed(kept):
            if was is _NOTHING:
                del place[own_name]
            else:
                place[own_name] = was


def _place(owner: Module, name: str, whole: str) -> dict[str, Any]:
    places: tuple[dict[str, Any], ...] = (owner._parameters, owner._buffers)
    for place in places:
        if name in place:
            return place
    if hasattr(owner, name):
        raise TypeError(
            f"functional_call: {whole!r} of {type(owner).__name__} is no parameter or buffer"
        )
    buffers: dict[str, Any] = owner._buffers
    return buffers


def _with_ties(known: dict[str, Any], given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors given, for all names of what they take the place of."""
    names: dict[int, list[str]] = {}
    for name, tensor in known.items():
        if tensor is not None:
            names.setdefault(id(tensor), []).append(name)
    wanted = dict(given)
    for tied in names.values():
        chosen = [given[name] for name in tied if name in given]
        if len({id(one) for one in chosen}) > 1:
            raise ValueError(
                f"functional_call: {', '.join(tied)} are one tensor, and different ones are given "
                f"for them; tie_weights=False unties them"
            )
        if chosen:
            wanted.update(dict.fromkeys(tied, chosen[0]))
    return wanted


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of modules of one kind, each stacked along a new first
    dimension: `vmap` over them runs all modules at once.

    Raises RuntimeError where there are none, or they are of several kinds or modes.

    Example:

        >>> models = [aten.nn.Linear(2, 3) for _ in range(4)]
        >>> parameters, buffers = aten.func.stack_module_state(models)
        >>> parameters["weight"].shape
        aten.Size([4, 3, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: there are no modules")
    if any(type(one) is not type(models[0]) for one in models):
        raise RuntimeError("stack_module_state: the modules are of several kinds")
    if any(one.training != models[0].training for one in models):
        raise RuntimeError("stack_module_state: some modules are in training mode, others are not")
    parameters = {
        name: _stacked([dict(one.named_parameters())[name] for one in models])
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: _stacked([dict(one.named_buffers())[name] for one in models])
        for name, _ in models[0].named_buffers()
    }
    return parameters, buffers


def _stacked(tensors: list[Tensor]) -> Tensor:
    wanted = tensors[0].requires_grad
    if any(one.requires_grad != wanted for one in tensors):
        raise RuntimeError(
            "stack_module_state: a parameter requires gradients in some modules, not in others"
        )
    stacked: Tensor = ops.aten.stack([ops.aten.detach(one) for one in tensors], 0)
    return stacked.requires_grad_(wanted)


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Has every batch norm within `root` take the statistics of what it is called with, and keep
    none: under `vmap` there would be some for each row. Returns `root`.

    Example:

        >>> model = aten.nn.Sequential(aten.nn.BatchNorm1d(2))
        >>> aten.func.replace_all_batch_norm_modules_(model)[0].running_mean is None
        True
    """
    for module in root.modules():
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
