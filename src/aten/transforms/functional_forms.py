"""Operators that write, and the functional ones that compute what they would have written."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from aten._core.base.dtypes import can_cast
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import options_of
from aten.registry import find_operator, operator, ops

# Functional operators that the names do not lead to.
_NAMED_APART = {
    "aten::copy_": "aten::copy",
    "prims::copy_to": "aten::copy",
    "prims::resize": "aten::resize",
    "aten::normal_": "aten::normal_functional",
    "aten::bernoulli_.float": "aten::bernoulli.p",
    "aten::bernoulli.float_out": "aten::bernoulli.p",
    "aten::native_batch_norm": "aten::_native_batch_norm_legit_functional",
}
# What a factory takes from its out= tensor.
_OPTIONS = ("dtype", "layout", "device")


class Form(NamedTuple):
    """How a writing operator is computed: by `functional`, or by itself on copies where there is
    none. `written` are its arguments that are written to, `fresh` counts results besides these."""

    functional: OpOverload | None
    written: tuple[str, ...]
    fresh: int


@cache
def written_names(op: OpOverload) -> tuple[str, ...]:
    """The arguments that the operator writes to, said by the schema or not."""
    named = tuple(one.name for one in op._schema.arguments if one.is_write)
    function = op.entry.function if op.namespace == "aten" else ""
    return named + (options_of(function).writes if function and op.entry.variant != "out" else ())


@cache
def form_of(op: OpOverload) -> Form:
    """How to compute what a writing operator writes.

    The functional operator of an out= overload may itself write, to operands.
    """
    written = written_names(op)
    is_out = any(one.is_out for one in op._schema.arguments)
    if is_out:
        written = tuple(one.name for one in op._schema.arguments if one.is_out)
    fresh = sum(not one.is_write for one in op._schema.returns)
    for name in _candidates(op):
        found = find_operator(name)
        if found is None or found is op or (written_names(found) and not is_out):
            continue
        if len(found._schema.returns) == fresh + len(written):
            return Form(found, written, fresh)
    return Form(None, written, fresh)


def _candidates(op: OpOverload) -> list[str]:
    if op.qualified_name in _NAMED_APART:
        return [_NAMED_APART[op.qualified_name]]
    suffix = f".{op.overload}" if op.overload else ""
    plain = f"{op.namespace}::{op.name.removesuffix('_')}"
    base = getattr(op.entry, "base", "")
    return [
        *([f"aten::{base}"] if base and op.namespace == "aten" else []),
        *(f"{plain}_functional{suffix}", f"{plain}{suffix}"),
    ]


def arguments_of(form: OpOverload, op: OpOverload, named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the functional operator, by name, from those of the writing one."""
    outs = [one.name for one in op._schema.arguments if one.is_out]
    given = [(name, value) for name, value in named.items() if name not in outs]
    names = [one.name for one in form._schema.arguments]
    mapped = {name: value for name, value in given if name in names}
    positions = [one.name for one in op._schema.arguments if one.name not in outs]
    for name, value in given:
        if name not in names and positions.index(name) < len(names):
            mapped.setdefault(names[positions.index(name)], value)
    if len(outs) != 1 or not isinstance(named[outs[0]], Tensor):
        return mapped
    out = named[outs[0]]
    if "device" in names:
        mapped.update({one: mapped.get(one) or getattr(out, one) for one in _OPTIONS})
    elif "dtype" in names and mapped.get("dtype") is None and _widens(out, given):
        mapped["dtype"] = out.dtype
    return mapped


def _widens(out: Tensor, given: list[tuple[str, Any]]) -> bool:
    """Whether results that are cast to `out` are better computed in its dtype."""
    tensors = [value for _, value in given if isinstance(value, Tensor)]
    return all(can_cast(one.dtype, out.dtype) and not one.is_complex() for one in tensors)


def by_name(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments by their names in the schema; those left out are left out."""
    names = (one.name for one in op._schema.arguments)
    return {**dict(zip(names, args, strict=False)), **kwargs}


def converted(name: str, target: Tensor, result: Tensor) -> Tensor:
    """`result` in the dtype of the tensor that it is written to.

    Raises RuntimeError where it cannot be cast, or is on another device.
    """
    if not can_cast(result.dtype, target.dtype):
        raise RuntimeError(
            f"{name}: result type {result.dtype.scalar_type_name} can't be cast to the desired "
            f"output type {target.dtype.scalar_type_name}"
        )
    if target.device != result.device:
        raise RuntimeError(
            f"{name}: expected the written tensor on device {result.device}, but it is on "
            f"{target.device}"
        )
    if result.dtype is target.dtype:
        return result
    made = ops.aten._to_copy(result, dtype=target.dtype)
    assert isinstance(made, Tensor)
    return made


def call_by_name(op: OpOverload, named: dict[str, Any]) -> Any:
    """Calls with positional arguments as far as they go, as other callers do."""
    positional = []
    rest = dict(named)
    for one in op._schema.arguments:
        if one.keyword_only or one.name not in rest:
            break
        positional.append(rest.pop(one.name))
    return op(*positional, **rest)


def functional_of_view(op: OpOverload) -> OpOverload:
    """The view that an in-place one makes of its tensor: `t` for `t_`."""
    return operator(f"aten::{op.entry.base}")
