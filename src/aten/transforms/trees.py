"""Arguments nested of tuples, lists and dicts, and values that go with all below a place."""

from __future__ import annotations

from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.graph.pytree import rebuilt


def leaves(tree: Any) -> list[Any]:
    """What stands in a nested value, left to right."""
    if isinstance(tree, dict):
        return [leaf for one in tree.values() for leaf in leaves(one)]
    if isinstance(tree, (list, tuple)):
        return [leaf for one in tree for leaf in leaves(one)]
    return [tree]


def tensors_in(tree: Any) -> list[Tensor]:
    """The tensors that stand in a nested value."""
    return [leaf for leaf in leaves(tree) if isinstance(leaf, Tensor)]


def with_leaves(tree: Any, given: list[Any]) -> Any:
    """The nested value with other leaves."""
    remaining = iter(given)

    def built(one: Any) -> Any:
        if isinstance(one, dict):
            return type(one)((key, built(value)) for key, value in one.items())
        if isinstance(one, (list, tuple)):
            return rebuilt(one, [built(value) for value in one])
        return next(remaining)

    return built(tree)


def spread(prefix: Any, tree: Any, name: str) -> list[Any]:
    """For each leaf of `tree` what stands in `prefix`, at its place or above it.

    Raises ValueError where `prefix` is nested otherwise.
    """
    if not isinstance(prefix, (dict, list, tuple)):
        return [prefix] * len(leaves(tree))
    fits = isinstance(tree, dict) if isinstance(prefix, dict) else isinstance(tree, (list, tuple))
    if not fits or len(prefix) != len(tree):
        raise ValueError(f"{name} is not nested as what it goes with: {prefix!r}")
    if isinstance(prefix, dict):
        if set(prefix) != set(tree):
            raise ValueError(f"{name} has keys {sorted(map(str, prefix))}, not those it goes with")
        return [one for key in tree for one in spread(prefix[key], tree[key], name)]
    return [
        one for part, below in zip(prefix, tree, strict=True) for one in spread(part, below, name)
    ]
