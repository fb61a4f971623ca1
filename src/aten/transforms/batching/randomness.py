"""Random operators under vmap: refused, one draw for each row, or one for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import registry
from aten._core.base.keys import DispatchKey, DispatchKeySet, ExcludeDispatchKeyGuard
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.random.generator import default_generator
from aten._core.tensor.tensor import Tensor
from aten.registry import ops
from aten.transforms.batching.call import (
    COMPOSITE,
    Call,
    argument_names,
    arranged,
    called,
    is_composite,
    of_row,
    one_by_one,
    writes,
)
from aten.transforms.batching.wrapping import (
    Level,
    level_of,
    levels,
    repeated,
    row_of,
)


def install(key: DispatchKey, keys: DispatchKeySet) -> None:
    """Let every random operator ask under vmap how it is to draw."""
    for op in registry.operators_tagged("nondeterministic_seeded"):
        op.py_impl(key)(_taken_apart(op) if is_composite(op) else _kernel(op, keys))


def _taken_apart(op: OpOverload) -> Callable[..., Any]:
    """What a composite calls, of a row where each is to get a draw of its own."""

    def run(*args: Any, **kwargs: Any) -> Any:
        level = levels.entered[-1]
        alike = level_of((*args, *kwargs.values())) < level.number
        if level.randomness == "different" and alike and not writes(op) and args:
            first = args[0]
            if isinstance(first, Tensor):
                args = (row_of(repeated(first, level.size), level.number), *args[1:])
        return op.redispatch(COMPOSITE, *args, **kwargs)

    return run


def _kernel(op: OpOverload, keys: DispatchKeySet) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        level = levels.entered.pop()
        try:
            if levels.entered:
                return _drawn(op, args, kwargs, level)
            with ExcludeDispatchKeyGuard(keys):
                return _drawn(op, args, kwargs, level)
        finally:
            levels.entered.append(level)

    return draw


def _drawn(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], level: Level) -> Any:
    if level.randomness == "error":
        raise RuntimeError(
            f"{op.name}: vmap refuses random operators unless randomness='different' (a draw for "
            f"each row) or randomness='same' (one for all)"
        )
    has_rows = level_of((*args, *kwargs.values())) >= level.number
    if level.randomness == "same":
        return _same(op, args, kwargs, level) if has_rows else op(*args, **kwargs)
    if has_rows:
        return _for_rows(op, args, kwargs)
    return _for_each(op, args, kwargs, level)


def _same(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], level: Level) -> Any:
    """The same draw for every row: the generator begins with each where it began with the first."""
    call = Call(op, args, kwargs)
    generator = call.given.get("generator") or default_generator
    state = generator.get_state()
    rows = []
    for row in range(call.size):
        generator.set_state(state)
        rows.append(of_row(call, row))
    if writes(op):
        return call.given[argument_names(op)[0]]
    if isinstance(rows[0], Tensor):
        return call.rows(ops.aten.stack(rows, 0))
    return tuple(call.rows(ops.aten.stack(list(column), 0)) for column in zip(*rows, strict=True))


def _for_rows(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A draw for each row, where rows are among the operands."""
    call = Call(op, args, kwargs)
    operands = [call.given[name] for name in call.tensors()]
    if not all(map(call.has, operands)) or len({one.dim() for one in operands}) > 1:
        return one_by_one(call)
    if op.name == "multinomial":
        return one_by_one(call)
    return call.run()


def _for_each(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], level: Level) -> Any:
    """A draw for each row, where all operands are the same for them."""
    call = Call(op, args, kwargs, level)
    if writes(op):
        raise RuntimeError(
            f"{op.name}: under vmap with randomness='different' self is the same for every row, "
            f"and cannot hold a draw for each"
        )
    names = call.tensors()
    if names:
        given = {
            **call.given,
            names[0]: row_of(repeated(call.given[names[0]], level.size), level.number),
        }
        listed, named = arranged(op, given)
        return _for_rows(op, tuple(listed), named)
    if "size" in call.given:
        given = {**call.given, "size": [level.size, *call.given["size"]]}
        return row_of(called(op, given), level.number)
    return row_of(ops.aten.stack([op(*args, **kwargs) for _ in range(level.size)], 0), level.number)
