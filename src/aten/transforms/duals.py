"""Tensors with a tangent: forward mode, operator by operator.

A dual tensor shows the memory of its primal, and carries the dispatch key FuncTorchGradWrapper,
whose kernel serves every operator: views show the tangent as they show the primal, composites are
what they call, and of every other operator the change is what `jvp` gives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from aten._core.base.keys import DispatchKey, DispatchKeySet
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.python_kernel import register_fallback
from aten._core.tensor.making import add_keys, with_keys
from aten._core.tensor.tensor import Tensor
from aten._core.threads import forks
from aten.autograd.function import Function, FunctionCtx, set_function_of_duals
from aten.graph.pytree import map_tensors, rebuilt
from aten.registry import ops
from aten.transforms.batching.call import (
    COMPOSITE,
    argument_names,
    arranged,
    called,
    has_out,
    is_composite,
    writes,
)
from aten.transforms.gradients import jvp
from aten.transforms.trees import leaves, with_leaves

_KEY = DispatchKey.__members__["FuncTorchGradWrapper"]
_KEYS = DispatchKeySet(_KEY)
_FIELD = "_dual"


class Dual(NamedTuple):
    """What a dual tensor is made of; the tangent says nothing once its level is left."""

    primal: Tensor
    tangent: Tensor
    level: object


class _Entered(threading.local):
    level: object = None


_entered = _Entered()
# Held by the thread that enters the first level of all.
_installing = threading.RLock()
forks.hold(_installing)


def enter_level() -> None:
    """Begin a level. Raises RuntimeError where there is one: they do not nest."""
    if _entered.level is not None:
        raise RuntimeError(
            "dual_level: a level has been entered already; aten.func.jvp can be nested"
        )
    with _installing:
        _register()
    _entered.level = object()


@cache
def _register() -> None:
    register_fallback(_KEY, _call, "aten/transforms/duals.py")
    set_function_of_duals(_function_of_duals)


def leave_level() -> None:
    """End the level: the tangents of its tensors are gone. Raises RuntimeError without one."""
    if _entered.level is None:
        raise RuntimeError("exit_dual_level: no level has been entered")
    _entered.level = None


def made_dual(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tensor with a tangent.

    Raises:
        RuntimeError: there is no level, or the two are of different shapes or types.
    """
    if _entered.level is None:
        raise RuntimeError("make_dual: there is no level; enter one by dual_level()")
    if primal.shape != tangent.shape or primal.dtype is not tangent.dtype:
        raise RuntimeError(
            f"make_dual: the tangent is {tangent.dtype} of shape {list(tangent.shape)}, and the "
            f"tensor {primal.dtype} of shape {list(primal.shape)}"
        )
    if not (primal.is_floating_point() or primal.is_complex()):
        raise ValueError(
            f"make_dual: expected a tensor of real or complex numbers, not {primal.dtype}"
        )
    shown = with_keys(primal, _KEYS)
    setattr(shown, _FIELD, Dual(primal, tangent, _entered.level))
    return shown


def parts_of(tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    """The primal and the tangent; the tensor itself and None where it has none."""
    known = _known(tensor)
    if known is None:
        return tensor, None
    return known.primal, known.tangent if known.level is _entered.level else None


def _known(given: Any) -> Dual | None:
    return getattr(given, _FIELD, None) if isinstance(given, Tensor) else None


def _primal(given: Tensor) -> Tensor:
    if _known(given) is None and given._dispatch_keys().has(_KEY):
        raise RuntimeError(
            "a tensor with a tangent was made one of another class, which has no place for it"
        )
    return parts_of(given)[0]


def _call(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    given = dict(zip(argument_names(op), args, strict=False)) | kwargs
    if all(_tangent(one) is None for one in leaves(list(given.values()))):
        return called(op, {name: map_tensors(_primal, one) for name, one in given.items()})
    if is_composite(op):
        listed, named = arranged(op, given)
        return op.redispatch(COMPOSITE, *listed, **named)
    if has_out(op):
        raise RuntimeError(f"{op.name}: out= has no tangent; use the result")
    if writes(op):
        return _written(op, given)
    return _viewed(op, given) if _is_view(op) else _changed(lambda one: called(op, one), given)


def _tangent(given: Any) -> Tensor | None:
    return parts_of(given)[1] if isinstance(given, Tensor) else None


def _is_view(op: OpOverload) -> bool:
    returns = op._schema.returns
    return bool(returns) and returns[0].annotation is not None


def _viewed(op: OpOverload, given: dict[str, Any]) -> Any:
    first = argument_names(op)[0]
    tangent = _tangent(given[first])
    # Of other operands sizes and strides are looked at, no elements.
    given = {name: map_tensors(_primal, one) for name, one in given.items()}
    shown = called(op, given)
    if tangent is None or op.name == "detach":
        return shown
    changes = called(op, {**given, first: tangent})
    if isinstance(shown, Tensor):
        return made_dual(shown, changes)
    return rebuilt(shown, [made_dual(*pair) for pair in zip(shown, changes, strict=True)])


def _changed(function: Callable[[dict[str, Any]], Any], given: dict[str, Any]) -> Any:
    """The function's results for arguments by name; those that vary have tangents."""
    flat = leaves(list(given.values()))
    inside = [_primal(one) if isinstance(one, Tensor) else one for one in flat]
    chosen = [place for place, one in enumerate(flat) if _tangent(one) is not None]

    def run(*replaced: Any) -> Any:
        whole = list(inside)
        for place, one in zip(chosen, replaced, strict=True):
            whole[place] = one
        values = with_leaves(list(given.values()), whole)
        results = function(dict(zip(given, values, strict=True)))
        return [one for one in leaves(results) if _varies(one)], results

    varying, changes, results = jvp(
        run,
        tuple(inside[place] for place in chosen),
        tuple(_tangent(flat[place]) for place in chosen),
        has_aux=True,
    )
    pairs = zip(varying, changes, strict=True)
    return with_leaves(
        results, [made_dual(*next(pairs)) if _varies(one) else one for one in leaves(results)]
    )


def _varies(one: Any) -> bool:
    return isinstance(one, Tensor) and (one.is_floating_point() or one.is_complex())


def _written(op: OpOverload, given: dict[str, Any]) -> Any:
    """An operator that writes to its first operand, whose tangent is written to as well."""
    first = argument_names(op)[0]
    target = given[first]
    if not isinstance(target, Tensor):
        raise RuntimeError(f"{op.name}: lists of tensors are not written to with tangents")
    primal, tangent = parts_of(target)
    if not _varies(primal):
        return called(op, {name: map_tensors(_primal, one) for name, one in given.items()})
    made = _changed(lambda one: called(op, {**one, first: ops.aten.clone(one[first])}), given)
    value, change = parts_of(made)
    assert change is not None
    ops.aten.copy_(primal, value)
    if tangent is None:
        tangent = _without_change(target)
    ops.aten.copy_(tangent, change)
    return target


def _without_change(target: Tensor) -> Tensor:
    """Give the tensor a tangent of zeros, a window of one that what it is a view of gets."""
    base = target._base
    if base is None:
        return _become_dual(target, ops.aten.zeros_like(target))
    whole = ops.aten.empty_strided(
        base.shape, base.stride(), dtype=base.dtype, device=base.device
    ).zero_()
    _become_dual(base, whole)
    offset = target.storage_offset() - base.storage_offset()
    return _become_dual(target, ops.aten.as_strided(whole, target.shape, target.stride(), offset))


def _become_dual(target: Tensor, tangent: Tensor) -> Tensor:
    setattr(target, _FIELD, Dual(ops.aten.alias(target), tangent, _entered.level))
    add_keys(target, _KEYS)
    return tangent


def _function_of_duals(
    function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any] | None:
    """What a Function gives for arguments with tangents, in a tuple; None where there are none.

    Its `jvp` is asked for the tangents of its results; without one its `backward` is gone through
    twice.
    """
    if all(_tangent(one) is None for one in args):
        return None
    if function.jvp is Function.jvp:
        return (_changed(lambda one: function.apply(*one["args"], **kwargs), {"args": args}),)
    inside = tuple(_primal(one) if isinstance(one, Tensor) else one for one in args)
    ctx = FunctionCtx()
    results = function._called(ctx, inside, kwargs)
    ctx._goes_forward = True
    changes = function.jvp(ctx, *[_change(ctx, one) for one in args])
    if not isinstance(results, tuple):
        return (_with_change(function, results, changes, args, inside),)
    if not isinstance(changes, tuple) or len(changes) != len(results):
        raise RuntimeError(
            f"{function.__name__}.jvp: expected {len(results)} tangents, one for each result, got "
            f"{len(changes) if isinstance(changes, tuple) else 1}"
        )
    return (
        tuple(
            _with_change(function, one, change, args, inside)
            for one, change in zip(results, changes, strict=True)
        ),
    )


def _change(ctx: FunctionCtx, given: Any) -> Any:
    tangent = _tangent(given)
    if tangent is None and _varies(given) and ctx.materialize_grads:
        return ops.aten.zeros_like(given)
    return tangent


def _with_change(
    function: type[Function], result: Any, change: Any, args: tuple[Any, ...], inside: Any
) -> Any:
    """A result as a dual tensor; an operand that was written to is that operand again."""
    if change is None:
        return result
    if not isinstance(result, Tensor) or not isinstance(change, Tensor):
        raise RuntimeError(
            f"{function.__name__}.jvp: expected a tensor or None for each result that is a tensor, "
            f"got {type(change).__name__} for {type(result).__name__}"
        )
    for given, primal in zip(args, inside, strict=True):
        if result is primal and isinstance(given, Tensor):
            setattr(given, _FIELD, Dual(primal, change, _entered.level))
            add_keys(given, _KEYS)
            return given
    return made_dual(result, change)
