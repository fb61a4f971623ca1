"""`autograd.Function` under vmap: by its own `vmap`, or by a rule generated from what it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.autograd.function import Function, FunctionCtx
from aten.graph.pytree import map_tensors
from aten.registry import ops
from aten.transforms.batching.levels import EnteredLevel
from aten.transforms.batching.wrapping import (
    VmapInfo,
    batched,
    level_of,
    levels,
    repeated,
    value_of,
)
from aten.transforms.trees import leaves, spread, with_leaves


def of_rows(function: type[Any], args: tuple[Any, ...]) -> Any:
    """A Function's results for rows.

    Raises RuntimeError where it has neither `vmap` nor `generate_vmap_rule`, or has both.
    """
    level = max(map(level_of, leaves(args)), default=0)
    own = function.vmap is not Function.vmap
    if own == function.generate_vmap_rule:
        has = "both vmap and generate_vmap_rule" if own else "neither vmap nor generate_vmap_rule"
        raise RuntimeError(
            f"{function.__name__}: under vmap a Function needs a staticmethod vmap, or "
            f"generate_vmap_rule = True; it has {has}"
        )
    if not own:
        return _generated(function, args, level)
    return by_rule(function.vmap, f"{function.__name__}.vmap", args, {})


def by_rule(rule: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The results as rows of a user's rule `(info, in_dims, *args)`, which gives them and where
    the rows lie in them."""
    level = max(map(level_of, leaves(args)))
    given = leaves(args)
    values = [value_of(one, level) if isinstance(one, Tensor) else None for one in given]
    size = next(value.shape[0] for value in values if value is not None)
    dims = with_leaves(args, [None if value is None else 0 for value in values])
    inside = with_leaves(
        args, [one if value is None else value for one, value in zip(given, values, strict=True)]
    )
    results, out_dims = rule(VmapInfo(size, _randomness_on(level)), dims, *inside, **kwargs)
    places = spread(out_dims, results, f"{name}: out_dims")
    return with_leaves(
        results,
        [
            one if place is None else batched(ops.aten.movedim(one, place, 0), level)
            for one, place in zip(leaves(results), places, strict=True)
        ],
    )


def _randomness_on(level: int) -> str:
    return next((one.randomness for one in levels.entered if one.number == level), "error")


def _generated(function: type[Any], args: tuple[Any, ...], level: int) -> Any:
    """The results by a Function of batches, whose parts are those of `function` over rows."""
    given = [value_of(one, level) if isinstance(one, Tensor) else None for one in args]
    were_rows = [value is not None for value in given]
    size = next(value.shape[0] for value in given if value is not None)
    randomness = _randomness_on(level)

    def rows_of(values: Any, are_rows: list[bool], number: int) -> list[Any]:
        return [
            batched(one, number) if is_row else one
            for one, is_row in zip(values, are_rows, strict=True)
        ]

    def whole(one: Any, number: int) -> Any:
        if not isinstance(one, Tensor):
            return one
        value = value_of(one, number)
        return repeated(one, size) if value is None else value

    class Generated(Function):
        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            inner = FunctionCtx()
            inner.needs_input_grad = ctx.needs_input_grad
            with EnteredLevel(size, randomness) as number:
                rows = rows_of(values, were_rows, number)
                results = function._computed(inner, tuple(rows), {})
                listed = results if isinstance(results, tuple) else (results,)
                if inner._dirty:
                    raise RuntimeError(
                        f"{function.__name__}: a rule cannot be generated where forward marks "
                        f"operands dirty; write vmap"
                    )
                made = tuple(whole(one, number) for one in listed)
                kept = inner._to_save
                ctx.kept_rows = [
                    isinstance(one, Tensor) and value_of(one, number) is not None for one in kept
                ]
                known = [*zip(listed, made, strict=True), *zip(rows, values, strict=True)]
                ctx.save_for_backward(*(_counterpart(one, known, number) for one in kept))
                without = [any(one is other for other in inner._without) for one in listed]
                ctx.mark_non_differentiable(
                    *(one for one, chosen in zip(made, without, strict=True) if chosen)
                )
            ctx.inner = inner
            ctx.set_materialize_grads(inner.materialize_grads)
            return made if isinstance(results, tuple) else made[0]

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            with EnteredLevel(size, randomness) as number:
                ctx.inner._to_save = tuple(rows_of(ctx.saved_tensors, ctx.kept_rows, number))
                rows = [None if one is None else batched(one, number) for one in gradients]
                goes_back = function.vjp if function.vjp is not Function.vjp else function.backward
                found = goes_back(ctx.inner, *rows)
                listed = found if isinstance(found, tuple) else (found,)
                return tuple(
                    _gathered(whole(one, number), is_row)
                    for one, is_row in zip(listed, were_rows, strict=True)
                )

    Generated.__name__ = function.__name__
    inside = [one if value is None else value for one, value in zip(args, given, strict=True)]
    results = Generated.apply(*inside)
    return map_tensors(lambda one: batched(one, level), results)


def _gathered(gradient: Any, is_row: bool) -> Any:
    """The gradient of one operand; of what rows had in common, that of all of them."""
    if gradient is None or is_row:
        return gradient
    return ops.aten.sum(gradient, [0])


def _counterpart(one: Any, known: list[tuple[Any, Any]], number: int) -> Any:
    """The batch that stands for what a function saved: an operand's or a result's own."""
    for row, value in known:
        if one is row:
            return value
    if not isinstance(one, Tensor):
        return one
    value = value_of(one, number)
    return one if value is None else value
