"""Control flow over rows, run as it comes, and one operator of a program that is captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten.graph import higher_order
from aten.graph.pytree import flattened


def scan(combine_fn: Callable[..., Any], init: Any, xs: Any) -> tuple[Any, Any]:
    """Feeds a function what it carries and the rows of `xs` one after the other.

    Args:
        combine_fn: takes (carry, row), and gives the next carry and what is kept of the row.
        init: the first carry, nested of tensors.
        xs: tensors with one size in dimension 0, nested.

    Returns the last carry, and what was kept, stacked.

    Example:

        >>> step = lambda total, row: (total + row, total * row)
        >>> aten.export.scan(step, aten.tensor(0.0), aten.tensor([1.0, 2.0, 3.0]))
        (tensor(6.), tensor([0., 2., 9.]))
    """
    carried, carry_spec = flattened(init)
    rows, row_spec = flattened(xs)
    kept_spec: list[Any] = []

    def flat(*leaves: Any) -> tuple[Any, ...]:
        carry = carry_spec.unflatten(list(leaves[: len(carried)]))
        row = row_spec.unflatten(list(leaves[len(carried) : len(carried) + len(rows)]))
        following, kept = combine_fn(carry, row)
        kept_leaves, spec = flattened(kept)
        kept_spec[:] = [spec]
        return (*flattened(following)[0], *kept_leaves)

    made = list(higher_order.scan(flat, carried, rows))
    last = carry_spec.unflatten(made[: len(carried)])
    return last, kept_spec[0].unflatten(made[len(carried) :])


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """What a function gives for each row of `xs`, stacked.

    Args:
        f: takes a row, nested as `xs` is, and `args`.
        xs: tensors with one size in dimension 0, nested.

    Example:

        >>> aten.export.map(lambda row, by: row.sum() * by, aten.ones(2, 3), aten.tensor(2.0))
        tensor([6., 6.])
    """
    rows, spec = flattened(xs)
    others, other_spec = flattened(args)
    out_spec: list[Any] = []

    def flat(*leaves: Any) -> tuple[Any, ...]:
        row = spec.unflatten(list(leaves[: len(rows)]))
        rest = other_spec.unflatten(list(leaves[len(rows) : len(rows) + len(others)]))
        made, found = flattened(f(row, *rest))
        out_spec[:] = [found]
        return tuple(made)

    made = higher_order.map_impl(flat, rows, others)
    return out_spec[0].unflatten(list(made))
